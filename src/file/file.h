/*
 * file: the files that redlock writes: a file that grows by a line, a file that is replaced as a
 * whole, a file that is locked; and the files that it reads.
 *
 * To append, call file_append(), or file_open_append() and write(2). To change a file, call
 * file_replace(). To lock a file, call file_open_place(), then file_lock(); put a new locked file
 * there with file_put(); and call file_close_place() at the end. To read, call file_read() or
 * file_read_line().
 *
 * A file that is written or locked has a place: its directory is opened once, and after that only
 * the last part of its path is looked up, in that directory. Symbolic links before the last part
 * are followed. The last part may be a link only for file_open_append(), and only in a directory
 * where no other user but root can create one. Opening never waits for a pipe or a device; they are
 * refused where a file is locked or replaced. A draft is a new file with an unpredictable name, and
 * is locked (flock) until it has the name of the file. So root can write into another user's
 * directory without touching a file elsewhere that the user chose, and a draft whose process was
 * killed can be told from one in use.
 *
 * Functions that return an int "or an errno" return 0 for success. Descriptors belong to the
 * caller.
 */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include "base/clock.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Returns strerror(), or a better text for links, pipes, devices and locks. */
const char *file_reason(int error);

/* ---- a file that grows ---- */

/*
 * Opens a file for appending, closed at exec; a new file has mode 0640. A pipe without a reader is
 * an error, and writing to a full pipe never blocks. Returns 0 with *fd, or an errno.
 */
int file_open_append(const char *path, int *fd);

/* Appends by one write, so that lines of several processes do not mix. Returns -1 with *e
 * (ERR_SYSTEM). */
int file_append(const char *path, const char *line, size_t len, struct err *e);

/* ---- a file that is locked, and replaced ---- */

struct file_place {
	int dir;
	char name[NAME_MAX + 1];
};

/* Returns 0, or an errno; call file_close_place() in both cases. */
int file_open_place(struct file_place *p, const char *path);
void file_close_place(struct file_place *p);

/*
 * Opens `name` in the directory of *p, a regular file, and locks it exclusively (flock), waiting no
 * longer than until `until`. `mode`: the mode of the file if it has to be made; 0: a missing file
 * is ENOENT. The name still belonged to the file after the file had been locked. Returns 0 with
 * *fd, which is closed at exec, or an errno (ETIMEDOUT: another process holds the lock).
 */
int file_lock(const struct file_place *p, const char *name, mode_t mode, usec until, int *fd);

/*
 * Atomically replaces the file by a new file with that text, and removes this user's drafts of the
 * file that no process has locked. `is_new`: an old file is an error
 * (EEXIST). `lock`: the new file stays locked and is on disk when the function returns; *lock is
 * its descriptor, closed at exec. Returns 0, or an errno: then the old file is unchanged, unless
 * the directory could not be synced.
 */
int file_put(const struct file_place *p, const char *text, size_t len, mode_t mode, bool is_new,
	int *lock);

/* Makes the new text from the old; the caller frees it. NULL: out of memory. */
typedef char *file_change(const char *old, size_t len, const void *arg, size_t *new_len);

/*
 * Replaces the file by the text that change() makes of it ("" if there is no file), readable for
 * every user (0644). Other calls are kept out by PATH.lock (0600); waiting for it fails after ten
 * seconds. Returns -1 with *e (ERR_SYSTEM).
 */
int file_replace(const char *path, file_change *change, const void *arg, struct err *e);

/* ---- files that are only read ---- */

/* The kinds of file that may be read. A pipe ends only when its writer closes it. */
enum file_kind {
	FILE_REGULAR,
	FILE_OR_PIPE, /* or the null device, which is empty */
	FILE_ANY,
};

/* Until when to wait for the writer of a pipe; times of clock_now(). The writer must close the pipe
 * within a minute after the open, or by `until` if that is later. */
struct file_wait {
	usec until; /* without a writer; then ENODATA */
	usec slow; /* when is_slow() is called, without a writer */
	void (*is_slow)(const char *path); /* NULL: not called */
};

/*
 * Reads a whole file, NUL-terminated; *st is the fstat(2) of the file that was read. `wait`: for
 * each kind but FILE_REGULAR, which is never waited for. Returns 0, or an errno: EFBIG if the file
 * does not fit, EINVAL if it is of another kind, ENODATA if a pipe has no writer, ETIME if its
 * writer does not close it, EINTR if a blocked signal is pending that would end the program.
 */
int file_read(const char *path, enum file_kind kind, const struct file_wait *wait, char *dst,
	size_t size, size_t *len, struct stat *st);

/* As file_read(), of the first line alone, without a byte order mark; EILSEQ if the line has a
 * NUL. */
int file_read_line(const char *path, enum file_kind kind, const struct file_wait *wait, char *dst,
	size_t size, struct stat *st);

/* The same of an open descriptor, which stays open. Waits as read(2) does. */
int file_read_line_of(int fd, char *dst, size_t size);

#endif
