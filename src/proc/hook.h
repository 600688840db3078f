/*
 * hook: runs a command of the user for each event, next to redlock's own work.
 *
 *     hook_start()    forks the hook process; in it, the caller sets the environment and calls
 *     hook_serve()    which runs the command for one event after the other, and never returns
 *     hook_send()     in any other process of redlock
 *     hook_close()    after the last event: waits until all commands have ended
 *
 * The hook process has a session of its own, runs one command at a time in the order of the events,
 * and ends a command with its whole tree after HOOK_TIME. hook_send() never waits. So no command
 * delays the lock, and an error of a command is a message of the hook process and nothing more. If
 * redlock is killed, the hook process ends after the events that it has. A command that stops the
 * hook process delays its own events only: redlock continues the hook process at each event and at
 * the end, and the kernel does when redlock dies.
 *
 * The caller owns struct hook. Only hook_start() reports errors.
 */
#ifndef PROC_HOOK_H
#define PROC_HOOK_H

#include "base/clock.h"
#include "base/err.h"
#include "proc/follow.h"
#include "proc/signals.h"

#include <stdbool.h>
#include <sys/types.h>

/* TERM after this time, KILL a second later. */
#define HOOK_TIME UNLESS_HASTY(10 * USEC_SEC)

struct hook {
	int fd; /* valid if is_open */
	bool is_open;
	int sent; /* by this process and those that it was forked from */
	struct follow process; /* the hook process; not in that process */
};

/* One event: its name, and the variables NAME=VALUE that the command gets, each ended by NUL. */
struct hook_event {
	char name[16];
	size_t used; /* of `variables` */
	char variables[1024];
};

/* Forks; the caller must have one thread, apart from those that look names up (net/resolve). In the
 * hook process, which has one thread and looks no name up, *pid is 0. Returns -1 with *e if no
 * process was made. */
int hook_start(struct hook *h, pid_t *pid, struct err *e);

/*
 * Runs `command` by /bin/sh for each event, with the present environment and working directory, the
 * signals that redlock found, and stdin from /dev/null. The output goes to stderr, or with `silent`
 * to /dev/null; then stderr of the hook process itself is closed, too.
 */
_Noreturn void hook_serve(
	struct hook *h, const char *command, const struct signals *signals, bool silent);

/* Adds a variable to an event; drops it if it does not fit. */
void hook_add(struct hook_event *ev, const char *name, const char *value);

/* Hands the event over. Harmless if the hook is not open. */
void hook_send(struct hook *h, const struct hook_event *ev);

/* Returns when the commands of all events have ended, or earlier when `signals` has a fatal signal.
 * Kills a hook process that does not end in its time, and its commands. */
void hook_close(struct hook *h, struct signals *signals);

#endif
