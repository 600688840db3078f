/*
 * foreign: recognises the lock values of other libraries and programs.
 *
 * Calling sequence: foreign_format() with a reply that names the holder, then foreign_timestamp()
 * for the format "timestamp", and foreign_libraries() for messages.
 *
 * The results are constants. The functions cannot fail: a value of no known form is "other".
 */
#ifndef REPORT_FOREIGN_H
#define REPORT_FOREIGN_H

#include "lock/reply.h"

/* "redlock", "hex32" (node-redlock, redis-py), "hex40", "hex64", "uuid", "timestamp" (the old
 * SETNX with a time), "structure" (Redisson's hash, or another data type), or "other". */
const char *foreign_format(const struct reply *holder);

/* The time of a "timestamp", in seconds since 1970. */
int64_t foreign_timestamp(const struct reply *holder);

/* Libraries that write values of this format; NULL: none is known. */
const char *foreign_libraries(const char *format);

#endif
