/* child: starts the command. The only user of vfork and exec. */
#ifndef IO_CHILD_H
#define IO_CHILD_H

#include "base/err.h"
#include "io/alarm.h"
#include "io/signals.h"

#include <sys/types.h>

/*
 * Starts argv (looked up in PATH) with the environment as it is now and the signal mask and
 * dispositions that redlock found, and goes back to `turn`. What it says goes to `output`, a
 * descriptor; -1: where redlock's words go. The kernel kills it when the caller, which must have
 * one thread only, dies. Socket activation's LISTEN_PID, if it says `listener`, is made to say the
 * command. Does not return before exec has worked or failed. Returns 0 and the pid, or the errno of
 * what failed, with *pid -1 (fork) or 0 (exec; nothing is left).
 */
int child_start(char *const argv[], const struct signals *signals, pid_t listener,
	const struct alarm_priority *priority, int output, pid_t *pid);

/* Becomes the command itself. Returns the errno of exec. */
int child_become(char *const argv[]);

#endif
