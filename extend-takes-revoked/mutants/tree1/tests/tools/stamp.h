/*
 * stamps: the file that the processes of `stamp` map and write, and that `loss` reads. Memory, not
 * write(2): the last write before a SIGKILL is known, no bytes wait in a buffer.
 */
#ifndef TOOLS_STAMP_H
#define TOOLS_STAMP_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The command, its child in a new session, and an orphan of the two. */
#define STAMPERS 3

struct stamps {
	struct stamper {
		_Atomic int64_t first, last;
		_Atomic int64_t term_at; /* the time of TERM; 0: none yet */
		_Atomic pid_t pid; /* set last */
	} by[STAMPERS];
	char token[1024]; /* REDLOCK_TOKEN */
	_Atomic int stop; /* set by the reader: end, with status 0 */
};

/* In microseconds. */
static inline int64_t stamp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

#endif
