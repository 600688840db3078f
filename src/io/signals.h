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

struct caught {
	int number;
	bool is_fatal; /* it ends a process that does nothing about it: not CHLD, not WINCH */
	bool is_terminals; /* the terminal sent it to the whole foreground group: not to be passed
			      on */
};

/* Takes the next signal, without waiting; false if there is none. */
bool signals_next(struct signals *s, struct caught *caught);

/* In a new child: mask and dispositions as they were. Async-signal-safe. */
void signals_restore(const struct signals *s);

/* Dies of the signal, without a core dump of ours. */
_Noreturn void signals_die(int number);

#endif
