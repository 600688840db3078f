/*
 * probe: a process that finds out which signals main's whole process group has received. The
 * command is usually in this group and has then received them, too: main must not pass them on.
 *
 *     probe_open()     after the command has started: makes the probe
 *     probe_check()    at each SIGCHLD
 *     probe_mark()     for all signals that main has read
 *     probe_dismiss()  when the command has ended
 *     probe_close()    at the end
 *
 * The probe blocks every signal, and reports each one with its sender. It has another name than
 * redlock and, unless redlock is linked statically, another program file, so that senders that
 * select processes by one of them do not reach it: such a signal does not reach the command. It is
 * no child of main, but of main's child, as far from main as the command is: some senders signal a
 * process and its children. After a signal that would have ended it, the probe ends, and its parent
 * with it, because some CI systems signal each process in turn, and wait for its end; main then
 * makes another one.
 *
 * No function reports errors: without a probe, probe_mark() marks nothing. A struct probe of zeros
 * has no process.
 */
#ifndef PROC_PROBE_H
#define PROC_PROBE_H

#include "base/clock.h"
#include "proc/signals.h"

#include <stdbool.h>
#include <sys/types.h>

/* The number of signals that probe_mark() can mark at once, and that main remembers. */
#define PROBE_SIGNALS 64

struct probe_report {
	int number; /* 0: the answer to a question */
	pid_t sender;
	usec at;
};

struct probe {
	pid_t pid; /* of the probe's parent; 0: none */
	int fd; /* -1: the probe was dismissed */
	bool has_answered; /* the last question */
	unsigned count; /* the newest reports are kept */
	struct probe_report reports[PROBE_SIGNALS];
};

/* main calls it with its argv, of two words or more. Does not return in a process that redlock has
 * executed as the probe. */
void probe_continue(char *const argv[]);

/* Call it after supervisor_detach(). The extender thread may run. */
void probe_open(struct probe *p);

/* Continues a probe that was stopped, and reaps one that has ended. If it has ended by itself,
 * makes another one; if another process killed it, does not. */
void probe_check(struct probe *p);

/* Sets `group` of each signal that the whole group has received from the same sender. Waits some
 * milliseconds for the signals of an unknown group. */
void probe_mark(struct probe *p, struct caught caught[], int count);

/* Lets the probe end, and does not wait for that: the release comes first. Call probe_close()
 * later, and nothing else. */
void probe_dismiss(struct probe *p);

/* Returns when the probe is gone. Harmless without a probe. */
void probe_close(struct probe *p);

#endif
