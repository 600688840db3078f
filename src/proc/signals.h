/*
 * signals: signals as input of a descriptor, never by a handler.
 *
 * Each redlock calls signals_ignore_limit(). To receive signals, call signals_open() before the
 * first thread, poll `fd`, and read with signals_next() until it
 * returns false. Children call signals_restore() before exec. A process that only supervises calls
 * signals_only_children() and signals_drain() instead.
 *
 * The caller owns the descriptors.
 */
#ifndef PROC_SIGNALS_H
#define PROC_SIGNALS_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* readable when a signal has arrived */
	sigset_t old_mask; /* for the command */
	struct sigaction old_child;
};

/*
 * From now on a write beyond the limit of a file's size (ulimit -f) fails with EFBIG, in this
 * process and its forked children, and sends no signal. Call it before anything is written.
 */
void signals_ignore_limit(void);

/*
 * From now on `fd` receives every signal that would end redlock, and the user-defined signals. A
 * signal that was ignored at the start (nohup) is discarded there; the kernel keeps job control.
 * Call it before any thread is made. Returns -1 with *e.
 */
int signals_open(struct signals *s, struct err *e);

/* Receives this signal even if it was ignored at the start, for a process that has no other way to
 * receive a request; after signals_open(). Returns -1 with *e. */
int signals_take_ignored(int number, struct err *e);

struct caught {
	int number;
	bool is_fatal; /* its default action ends a process */
	bool command_has_it; /* from the terminal, which sent it to the whole foreground group: do
				not pass it on */
	pid_t sender; /* 0: the kernel */
	pid_t group; /* this process group has received it, too (proc/probe); 0: not known, or none
		      */
};

/* Reads the next signal, without waiting; false if there is none. */
bool signals_next(struct signals *s, struct caught *caught);

/* Restores mask and dispositions, before exec. Async-signal-safe. */
void signals_restore(const struct signals *s);

/* For a process that only supervises others: blocks every signal but those for its own faults, and
 * receives only SIGCHLD, from *fd. Returns -1 with *e. */
int signals_only_children(int *fd, struct err *e);

/* For a process that only reports signals: blocks and receives every one. Returns -1. */
int signals_open_all(struct signals *s);

/* Discards the signals that have arrived, for a process that only needs the wake-up. */
void signals_drain(int fd);

/*
 * Call it when the command was stopped. If the terminal is the reason, stops redlock as well, as ^Z
 * would do without a supervisor: the shell waits until redlock stops, not the command. Returns when
 * redlock is continued.
 */
void signals_stop_with(pid_t command);

/* Dies of the signal, without a core dump of redlock. */
_Noreturn void signals_die(int number);

#endif
