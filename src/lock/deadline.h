/*
 * leash: when a command must be told to end, and when it is killed, so that it is gone before the
 * lock that it runs under. Pure: it is told the time and says what to do.
 */
#ifndef LOCK_DEADLINE_H
#define LOCK_DEADLINE_H

#include "base/clock.h"

#include <stdbool.h>

struct deadline_policy {
	int on_lost; /* the signal that tells of the loss, SIGKILL for no grace; 0: none at all */
	usec kill_after; /* between TERM and KILL */
	usec reap; /* between KILL and the end of the validity: to die and be reaped */
	usec max_run; /* NEVER: as long as it likes */
};

/* The first signal is due this long before the validity ends. */
usec deadline_margin(const struct deadline_policy *p);

/* The part of the ttl that is set aside for the kernel to end a killed process. */
usec deadline_reap_time(usec ttl);

/* kill_after when the user names none: a tenth of the TTL, at most 10 s. */
usec deadline_default_kill_after(usec ttl);

/* Why the command, and all that it started, has to go. */
enum deadline_cause {
	CAUSE_NONE,
	CAUSE_ASKED, /* a signal asked for it */
	CAUSE_MAX_RUN, /* its time is over */
	CAUSE_LOST, /* the lock has ended, or nobody is left who could keep it */
};

enum deadline_action {
	DEADLINE_WAIT,
	DEADLINE_TERM, /* send deadline_signal() */
	DEADLINE_KILL,
};

struct deadline {
	struct deadline_policy policy;
	usec valid_until; /* set it anew after each extension */
	usec run_until;
	usec term_at; /* when the first signal was sent; NEVER: not yet */
	enum deadline_cause cause;
	bool killed;
};

/* Starts now. Without a lock of its own, valid_until is NEVER. */
void deadline_init(
	struct deadline *l, const struct deadline_policy *policy, usec now, usec valid_until);

/* The lock is known to be lost: the first signal is due now. valid_until must not be raised after.
 */
void deadline_lose(struct deadline *l, usec now);

/* Somebody sent TERM, and the command has it already. */
void deadline_asked(struct deadline *l, usec now);

/* The command has ended by itself: max_run has nothing more to say. */
void deadline_finished(struct deadline *l);

/* This much time is needed between KILL and the end of the validity, if that is more than the
 * policy's. */
void deadline_needs(struct deadline *l, usec reap);

/* What is due now. TERM and KILL are each said once; *wake_at is when to ask again. */
enum deadline_action deadline_step(struct deadline *l, usec now, usec *wake_at);

/* The signal that goes with DEADLINE_TERM. */
int deadline_signal(const struct deadline *l);

#endif
