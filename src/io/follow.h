/*
 * follow: another process, by a descriptor that means this very process and never a later one of
 * the same number (pidfd, Linux 5.3).
 */
#ifndef IO_FOLLOW_H
#define IO_FOLLOW_H

#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct follow {
	pid_t pid; /* 0: nobody is followed */
	int fd; /* readable when the process has ended; -1: nobody */
};

/* may_signal: this user must be allowed to. Returns -1 with *e (ERR_USAGE: no such process, it has
 * ended and only its parent does not know yet, or it may not be signalled). */
int follow_open(struct follow *f, pid_t pid, bool may_signal, struct err *e);

/* Has it ended? Nobody has not. */
bool follow_has_ended(const struct follow *f);

void follow_signal(const struct follow *f, int number);

/* Waits for its end, for `most` at most; true if it came. */
bool follow_wait(const struct follow *f, usec most);

void follow_close(struct follow *f);

#endif
