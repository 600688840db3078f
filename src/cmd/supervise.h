/*
 * supervise: main's part of supervising a command: it forwards signals to the supervisor process
 * (proc/supervisor), reads its messages, and does its work if it is dead or stuck.
 *
 * Calling sequence: supervise_open(), supervisor_prepare(), supervise_start(); then
 * supervise_step() until is_over; at the end supervise_close(). A caller with a lock to extend
 * calls supervisor_start() and has a loop of its own instead: it polls the signals, supervisor_fd()
 * and the alarm, and calls supervise_take_signals(), supervise_read(), once supervise_detach(),
 * and, from replace_at on, supervise_replace(). `end` then tells how the command ended.
 *
 * The caller owns the signals; struct supervision owns the supervisor, the probe and the alarm.
 */
#ifndef CMD_SUPERVISE_H
#define CMD_SUPERVISE_H

#include "base/alarm.h"
#include "proc/probe.h"
#include "proc/supervisor.h"

struct supervision {
	struct supervisor supervisor;
	struct probe probe;
	struct signals *signals;
	int alarm; /* a timer for the caller's loop */
	usec detach_at; /* when main drops what it inherited for the command alone */
	const char *name; /* for messages */
	bool has_fatal_signal; /* a fatal signal has arrived */
	bool replacing; /* main does the supervisor's work */
	bool supervisor_is_dead;
	usec replace_at; /* when main acts next for the supervisor; NEVER: not */
	usec sweep_apart, stubborn_at;
	bool is_over;
	struct supervisor_message end; /* how the command ended */
};

/* Returns $SHELL; or /bin/sh, as cron does, if that is no shell or cannot be run. */
char *supervise_shell(void);

/* Returns -1 with *e. */
int supervise_open(struct supervision *v, struct signals *signals, const char *name, struct err *e);

/* Starts the command. */
void supervise_start(struct supervision *v);

/* Waits once for a signal, a message of the supervisor or a timer, and handles it; or until `other`
 * (-1: none) is readable. */
void supervise_step(struct supervision *v, int other);

/* Calls supervisor_detach() and makes the probe. Call it DETACH_AFTER the start of the command: a
 * command that ends earlier pays for neither. */
void supervise_detach(struct supervision *v);

/* Forwards the pending signals that the command does not have. Returns true if SIGCONT was among
 * them. */
bool supervise_take_signals(struct supervision *v);

/* Reads all messages of the supervisor. stop_is_old: ignore that the command was stopped, since it
 * was before we continued. */
void supervise_read(struct supervision *v, bool stop_is_old);

/* Takes over from the supervisor: kills the command's processes, once per call. */
void supervise_replace(struct supervision *v, usec now);

/* Returns when the supervisor and the probe are gone; a supervisor that stays with processes of the
 * command (end.stays) is left. Call it after the release, for which others wait. */
void supervise_close(struct supervision *v);

/* Prints why the command cannot be run, and returns the exit status. `by_shell`: the words that
 * precede a string for the shell, such as "sh -c". */
int supervise_cannot_run(
	const char *command, const struct program_failure *why, const char *by_shell);

/* The same for a command that the supervisor could not start. */
int supervise_not_started(const struct supervision *v, const char *command, const char *by_shell);

/* The same for a command after its supervisor was killed. */
int supervise_supervisor_killed(void);

/* Prints that the command got KILL, if it did; at_once: no other signal came before. */
void supervise_log_kill(const struct supervision *v, bool at_once);

/* Prints which processes of the command keep running without `what`. */
void supervise_log_remaining(const struct tree *tree, const char *what);

#endif
