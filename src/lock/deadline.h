/*
 * deadline: when a command must be terminated and be gone, so that the command never outlives its
 * lock.
 *
 * deadline_init() when the command starts. The caller sets valid_until after each extension and
 * calls deadline_step() at once and then at *wake_at; it sends the signal that deadline_step() asks
 * for. deadline_lose(), deadline_asked() and deadline_finished() report events in between.
 *
 * Times are those of clock_now(). Nothing here owns memory, reads a clock or fails.
 */
#ifndef LOCK_DEADLINE_H
#define LOCK_DEADLINE_H

#include "base/clock.h"

#include <stdbool.h>

struct deadline_policy {
	int on_lost; /* the first signal after a loss; SIGKILL: without a grace; 0: none */
	usec grace; /* after a loss, between the first signal and KILL */
	usec kill_after; /* between any other signal and KILL. NEVER: after max_run KILL follows
			    after `grace`, after a request it does not follow */
	int signal; /* the first signal after max_run */
	usec reap; /* between KILL and the end of the validity, for the tree to die */
	usec max_run; /* longest run time; NEVER: no limit */
};

/* The first signal is due this long before the validity ends. */
usec deadline_margin(const struct deadline_policy *p);

/* The part of the TTL that the kernel has to end a killed process. */
usec deadline_reap_time(usec ttl);

/* The default of `grace`: a tenth of the TTL, at most 10 s. */
usec deadline_default_grace(usec ttl);

/* Why the command and its tree are terminated. */
enum deadline_cause {
	CAUSE_NONE,
	CAUSE_ASKED, /* redlock or the command received a terminating signal */
	CAUSE_MAX_RUN, /* the command ran for max_run */
	CAUSE_LOST, /* the lock is lost, or no process is left that extends it */
};

enum deadline_action {
	DEADLINE_WAIT,
	DEADLINE_TERM, /* send deadline_signal() to the whole tree */
	DEADLINE_SPREAD, /* send the request's signal to the processes that were alive when it came
			  */
	DEADLINE_KILL,
};

struct deadline {
	struct deadline_policy policy;
	usec valid_until; /* the caller sets it after each extension */
	usec run_until;
	usec term_at; /* time of the first signal after a loss or max_run; NEVER: none yet */
	usec asked_at; /* time of the first request to terminate; NEVER: none */
	bool has_spread; /* DEADLINE_SPREAD was returned */
	enum deadline_cause cause;
	bool killed;
};

/* The command starts at `now`. valid_until is NEVER if the command has no lock of its own. */
void deadline_init(
	struct deadline *l, const struct deadline_policy *policy, usec now, usec valid_until);

/* The lock is lost: the first signal is due at `now`. The caller must not raise valid_until after
 * this. */
void deadline_lose(struct deadline *l, usec now);

/* The command has received a request to terminate, and the lock is extended while it shuts down. A
 * second call changes nothing. */
void deadline_asked(struct deadline *l, usec now);

/* The command has exited: max_run no longer applies to its tree. */
void deadline_finished(struct deadline *l);

/* Raises the policy's `reap` to this time, if that is longer. */
void deadline_needs(struct deadline *l, usec reap);

/* The signal that is due at `now`. TERM and KILL are returned once each; *wake_at is the time of
 * the next call. */
enum deadline_action deadline_step(struct deadline *l, usec now, usec *wake_at);

/* The signal that goes with DEADLINE_TERM. */
int deadline_signal(const struct deadline *l);

#endif
