/*
 * file: files that others read: one that grows by a line, and one that is replaced as a whole. Many
 * processes may do so at once. Each returns -1 with *e (ERR_SYSTEM) if it could not be done.
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "base/err.h"

#include <stddef.h>

/* By one write, so that lines are never mixed up. A new file is for its owner and group (0640). */
int file_append(const char *path, const char *line, size_t len, struct err *e);

/* What a file becomes; the caller frees it. NULL: there is no memory. */
typedef char *file_change(const char *old, size_t len, const void *arg, size_t *new_len);

/*
 * Puts what change() makes of the file ("", if there is none) in its place, at once and for
 * everybody to read (0644). Meanwhile PATH.lock keeps others from doing the same: for ten seconds
 * at most, then it fails. PATH.tmp is where the new one is written.
 */
int file_replace(const char *path, file_change *change, const void *arg, struct err *e);

#endif
