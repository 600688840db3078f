/*
 * supervise: main's part in watching over a command (io/supervisor): signals go to it, its stops
 * and its end are heard, and a supervisor that does not do its work is replaced. The loop around
 * that is the caller's.
 */
#ifndef CMD_SUPERVISE_H
#define CMD_SUPERVISE_H

#include "io/alarm.h"
#include "io/supervisor.h"

struct supervision {
	struct supervisor supervisor;
	struct signals *signals;
	int alarm; /* the loop's */
	const char *name; /* of what ends with the command, for words */
	bool was_asked; /* a signal that ends has come */
	bool replacing; /* main does the supervisor's work: it is dead, or stuck, */
	bool supervisor_is_dead;
	usec replace_at; /* and the next look at the tree is due then; NEVER: it is not */
	usec sweep_apart, stubborn_at;
	bool is_over;
	struct supervisor_message end; /* how it ended */
};

/* $SHELL, or /bin/sh. */
char *supervise_shell(void);

/* Returns -1 with *e. */
int supervise_open(struct supervision *v, struct signals *signals, const char *name, struct err *e);

/* Passes on what signals there are; true if we were stopped, and now go on. */
bool supervise_take_signals(struct supervision *v);

/* Hears what the supervisor has to say. stop_is_old: that the command was stopped was before we
 * went on. */
void supervise_hear(struct supervision *v, bool stop_is_old);

/* Does the supervisor's work, now that `replace_at` has come or it is time to. */
void supervise_replace(struct supervision *v, usec now);

/* Says why the command cannot be run, by exec's errno, and returns the status for that. */
int supervise_cannot_run(const char *command, int error);

/* The same of one that the supervisor could not start. */
int supervise_not_started(const struct supervision *v, const char *command);

/* The same of a command that lost its supervisor. */
int supervise_supervisor_killed(void);

/* Says what the command left behind, that runs on without `what`. */
void supervise_tell_left(const struct tree *tree, const char *what);

#endif
