/*
 * record: what is left to others about a run once it is over: a line of JSON (--record) and the
 * series of its key (--metrics-file). What cannot be written is said, and changes nothing else.
 */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include "cli/settings.h"
#include "lock/lock.h"

/* What happened. */
struct run_summary {
	/* "completed" (0), "command-failed" (another status of the command's), "signalled", "busy",
	 * "no-quorum", "too-slow", "duplicate-node", "lost", "max-run", "not-started",
	 * "interrupted", "failed" */
	const char *outcome;
	int status; /* redlock's own; 128 + n: it dies of that signal */
	usec waited;
	usec held; /* NEVER: it was not */
	const char *owner;
	const struct lock *lock; /* as the run left it */
};

/* Before the working directory is left: names in *s that count from there become whole. */
void record_prepare(struct settings *s);

/* When the lock has been released. Does nothing if nobody asked for it. */
void record_run(const struct settings *s, const struct run_summary *a);

#endif
