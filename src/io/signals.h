/* signals: taken from a descriptor, never by a handler. */
#ifndef IO_SIGNALS_H
#define IO_SIGNALS_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* readable when a signal has come */
	sigset_t old_mask; /* what the command shall find */
	struct sigaction old_child;
};

/*
 * From now on every signal that would end us, and those that users define, wait in `fd`. What was
 * ignored on entry (nohup) stays ignored, job control stays with the kernel. Call it before any
 * thread is made. Returns -1 with *e.
 */
int signals_open(struct signals *s, struct err *e);

/* Takes this one as well, though it was ignored on entry: for who has no other way of being told
 * anything. Returns -1 with *e. */
int signals_take_ignored(struct signals *s, int number, struct err *e);

struct caught {
	int number;
	bool is_fatal; /* it ends a process that does nothing about it: not CHLD, CONT, WINCH */
	bool is_terminals; /* the terminal sent it to the whole foreground group: not to be passed
			      on */
	pid_t sender; /* 0: the kernel */
};

/* Takes the next signal, without waiting; false if there is none. */
bool signals_next(struct signals *s, struct caught *caught);

/* In a new child: mask and dispositions as they were. Async-signal-safe. */
void signals_restore(const struct signals *s);

/* In a process that has nothing to do but to watch over others: every signal waits but those for
 * faults of its own, and only SIGCHLD is taken, from *fd. Returns -1 with *e. */
int signals_only_children(int *fd, struct err *e);

/* Takes what is there, for one who only wants to be woken. */
void signals_drain(int fd);

/*
 * The command was stopped. If that is the terminal's business, stops us as well, as ^Z would have
 * done without us: the shell waits for us to stop, not for the command. Returns when continued.
 */
void signals_stop_with(pid_t command);

/* Dies of the signal, without a core dump of ours. */
_Noreturn void signals_die(int number);

#endif
