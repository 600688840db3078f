/* child: the command. The only user of fork, exec and wait. */
#ifndef IO_CHILD_H
#define IO_CHILD_H

#include "base/err.h"
#include "io/signals.h"

#include <stdbool.h>
#include <sys/types.h>

/* Until child_reap() has said that it ended, the pid is its own and nobody else's: the kernel keeps
 * it for us to ask. SIGCHLD comes through io/signals when there is something to ask. */
struct child {
	pid_t pid; /* 0 once it is reaped */
};

/*
 * Starts argv (looked up in PATH) with the environment as it is now and the signal mask and
 * dispositions that redlock found. The kernel kills it when redlock dies. Must be called from the
 * main thread: the kernel's rule is about the death of the *thread* that forked (prctl(2)).
 * Returns -1 with *e: ERR_NOT_FOUND, ERR_CANNOT_RUN (the exec failed, nothing is left) or
 * ERR_SYSTEM.
 */
int child_start(struct child *c, char *const argv[], const struct signals *signals, struct err *e);

/* Sends a signal, if it still lives. */
void child_signal(const struct child *c, int signal);

/* True, with the status as waitpid(2) gives it, once it has ended. Does not wait. */
bool child_reap(struct child *c, int *status);

#endif
