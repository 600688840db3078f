/*
 * record: writes down how a run ended: a line of JSON (--record) and the metrics of its key
 * (--metrics-file).
 *
 * Call record_prepare() before the working directory changes, and record_run() once, when the lock
 * has been released. An error is printed and changes nothing else.
 */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include "cli/settings.h"
#include "lock/lock.h"

/* How a run ended; the caller owns the texts. */
struct run_summary {
	/* "completed" (0), "command-failed" (another status of the command), "signalled", "busy",
	 * "no-quorum", "too-slow", "duplicate-node", "lost", "max-run", "not-started",
	 * "interrupted" or "failed" */
	const char *outcome;
	int status; /* the exit status; 128 + n: redlock ends by signal n */
	usec waited;
	usec held; /* NEVER: the lock was not held */
	bool is_killed; /* the command got SIGKILL */
	const char *owner;
	const struct lock *lock; /* after the release */
};

/* Makes the file names in *s absolute. */
void record_prepare(struct settings *s);

/* Writes to the files that *s names, if any. */
void record_run(const struct settings *s, const struct run_summary *summary);

#endif
