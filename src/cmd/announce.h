/*
 * announce: tells the command of --on-event, and the service manager, what happens to a lock.
 *
 * announce_open() before the first thread; then announce_acquired(), announce_lost() if the lock is
 * lost, announce_stopping() when the command has ended or shuts down, announce_end() after the
 * release or the refusal, and announce_close() last. Each event is announced once: after "acquired"
 * comes "released" or "lost"; without it, "busy", "done", "no-quorum" or none.
 *
 * The caller owns the struct, zeroed; the settings and the lock must outlive it. No function waits,
 * but for announce_close().
 */
#ifndef CMD_ANNOUNCE_H
#define CMD_ANNOUNCE_H

#include "cli/settings.h"
#include "lock/lock.h"
#include "proc/hook.h"

struct announcer {
	const struct settings *settings; /* NULL: not open; all functions do nothing */
	const struct lock *lock;
	const char *name; /* the lock's keys, for messages */
	struct hook hook;
	bool is_service; /* the service manager hears of this lock */
	bool is_held, is_lost, is_waiting, is_stopping;
};

/* Returns -1 with *e. */
int announce_open(struct announcer *a, const struct settings *s, const struct lock *lock,
	const char *name, const struct signals *signals, struct err *e);

void announce_waiting(struct announcer *a);
void announce_acquired(struct announcer *a, long slot);
void announce_lost(struct announcer *a);
void announce_stopping(struct announcer *a);

/* The outcome is a word as in cmd/record.h. */
void announce_end(struct announcer *a, const char *outcome, int status);

/* Waits for the commands of the events, until a fatal signal arrives. */
void announce_close(struct announcer *a, struct signals *signals);

#endif
