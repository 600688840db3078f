/*
 * file: the files that redlock writes: one that grows by a line, one that is replaced as a whole,
 * one that is locked; and the files that it reads.
 *
 * A file that is written or locked has a place: its directory is opened once, and from then on only
 * the last part of its path is looked up, in that directory. Symbolic links above the last part are
 * followed. The last part may be a link only for file_open_append(), and only in a directory in
 * which no other user but root can put one. Pipes and devices are never waited for when they are
 * opened, and are refused where a file is locked or replaced. A draft is a new file with a name
 * that cannot be guessed. So root can write into another user's directory without touching a file
 * that the user chose elsewhere.
 *
 * Functions that return an int "or an errno" return 0 for success.
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "base/clock.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* strerror(), but links, pipes, devices and locks are named. */
const char *file_reason(int error);

/* ---- a file that grows ---- */

/*
 * Opens it for appending, closed at exec; a new file has mode 0640. A pipe without a reader is an
 * error, and writing to a full one never blocks. Returns 0 with *fd, or an errno.
 */
int file_open_append(const char *path, int *fd);

/* Appends by one write, so that lines are never mixed up. Returns -1 with *e (ERR_SYSTEM). */
int file_append(const char *path, const char *line, size_t len, struct err *e);

/* ---- a file that is locked, and replaced ---- */

struct file_place {
	int dir;
	char name[NAME_MAX + 1];
};

/* Returns 0, or an errno; file_leave() is for both. */
int file_find(struct file_place *p, const char *path);
void file_leave(struct file_place *p);

/*
 * Opens `name` in the directory of *p, a regular file, and locks it exclusively (flock), waiting
 * until `until` at most. `mode`: a missing file is made with it; 0: a missing file is ENOENT. The
 * name belonged to the locked file after it had been locked. Returns 0 with *fd, which is closed at
 * exec, or an errno (ETIMEDOUT: another process has it locked).
 */
int file_lock(const struct file_place *p, const char *name, mode_t mode, usec until, int *fd);

/*
 * Puts a new file with that text in the place of the old one at once. `is_new`: there must be no
 * old one (EEXIST). `lock`: the new file is locked before it has its name and is on disk when this
 * returns; *lock is its descriptor, closed at exec. Returns 0, or an errno: the old file is
 * unchanged then, unless the directory could not be synced.
 */
int file_put(const struct file_place *p, const char *text, size_t len, mode_t mode, bool is_new,
	int *lock);

/* What a file becomes; the caller frees it. NULL: there is no memory. */
typedef char *file_change(const char *old, size_t len, const void *arg, size_t *new_len);

/*
 * Puts what change() makes of the file ("", if there is none) in its place, for everybody to read
 * (0644). Meanwhile PATH.lock (0600) keeps others from doing the same: for ten seconds at most,
 * then it fails. Returns -1 with *e (ERR_SYSTEM).
 */
int file_replace(const char *path, file_change *change, const void *arg, struct err *e);

/* ---- files that are only read ---- */

/* The kinds of file that may be waited for: a pipe has an end only when its writer closes it. */
enum file_kind {
	FILE_REGULAR,
	FILE_OR_PIPE, /* or the null device, which is empty */
	FILE_ANY,
};

/*
 * Reads all of a file, NUL-terminated; *st is what fstat(2) says of the very file that was read.
 * Returns 0, or an errno: EFBIG if it does not fit, EINVAL if it is of another kind.
 */
int file_read(const char *path, enum file_kind kind, char *dst, size_t size, size_t *len,
	struct stat *st);

/* The same of its first line alone, without a mark of UTF-8; EILSEQ if it has a byte of zero. */
int file_read_line(const char *path, enum file_kind kind, char *dst, size_t size, struct stat *st);

#endif
