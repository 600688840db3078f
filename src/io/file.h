/*
 * file: files that others read, one that grows by a line, and one that is replaced as a whole; and
 * files that others wrote. Many processes may do so at once. What writes returns -1 with *e
 * (ERR_SYSTEM) if it could not be done.
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* By one write, so that lines are never mixed up. A new file is for its owner and group (0640). */
int file_append(const char *path, const char *line, size_t len, struct err *e);

/*
 * Reads all of a file, NUL-terminated; *mode is what stat(2) calls st_mode. Returns 0, or an errno:
 * EFBIG if it does not fit.
 */
int file_read(const char *path, char *dst, size_t size, size_t *len, unsigned *mode);

/* The same of its first line alone, without a mark of UTF-8; EILSEQ if that has a byte of zero. A
 * pipe, whose end may be waited for, is read only if `patient`. */
int file_read_line(const char *path, char *dst, size_t size, unsigned *mode, bool patient);

/* What a file becomes; the caller frees it. NULL: there is no memory. */
typedef char *file_change(const char *old, size_t len, const void *arg, size_t *new_len);

/*
 * Puts what change() makes of the file ("", if there is none) in its place, at once and for
 * everybody to read (0644). Meanwhile PATH.lock keeps others from doing the same: for ten seconds
 * at most, then it fails. PATH.tmp is where the new one is written.
 */
int file_replace(const char *path, file_change *change, const void *arg, struct err *e);

#endif
