/*
 * follow: watches another process, by a descriptor that names this process and never a later
 * process with the same pid (pidfd, Linux 5.3).
 *
 * follow_open(), then poll `fd` or call follow_wait(); follow_signal() sends a signal;
 * follow_close() at the end. A struct with pid 0 follows no process: it never ends, and signals to
 * it are dropped.
 */
#ifndef PROC_FOLLOW_H
#define PROC_FOLLOW_H

#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct follow {
	pid_t pid; /* 0: no process is followed */
	int fd; /* readable when the process has ended; -1: no process is followed */
};

/* may_signal: fail if this user must not signal the process. Returns -1 with *e (ERR_USAGE: no such
 * process; it has ended but has not been reaped; or it must not be signalled). */
int follow_open(struct follow *f, pid_t pid, bool may_signal, struct err *e);

/* Has the process ended? Always false without a process. */
bool follow_has_ended(const struct follow *f);

/* Sends the signal to the process, if it still exists. */
void follow_signal(const struct follow *f, int number);

/* Waits for the end of the process, no longer than `most`; returns true if it has ended. */
bool follow_wait(const struct follow *f, usec most);

/* Closes the descriptor; the process is not affected. */
void follow_close(struct follow *f);

#endif
