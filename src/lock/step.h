/*
 * step: the data that the modules of a lock share while one event is handled. Private to src/lock.
 *
 * lock_step() fills a struct step and hands it down. The modules read the time and the lock in it,
 * and append actions with step_act(). Each module writes its own part of the lock; several modules
 * also write to the tally.
 */
#ifndef LOCK_STEP_H
#define LOCK_STEP_H

#include "lock/lock.h"

#include <assert.h>

struct step {
	struct lock *lock;

	usec now;
	uint64_t random;
	const char *token;
	bool is_timeout; /* no I/O was pending: an answer that was not read by now is late */

	struct update *up;
};

/* Appends an action about `node`. The caller sets its other fields. */
static inline struct action *step_act(struct step *s, enum action_kind kind, int node)
{
	struct action *a = &s->up->action[s->up->count++];

	assert(s->up->count <= ACTIONS_MAX);
	*a = (struct action){.kind = kind,
		.node = node,
		.round = s->lock->stamp.round,
		.slot = s->lock->stamp.slot};
	return a;
}

/* The lock is held, or was lost, and is not released yet. */
static inline bool step_holds(const struct step *s)
{
	return s->lock->phase >= PHASE_HELD && s->lock->phase < PHASE_RELEASE;
}

/* Every vote is open again. */
static inline void step_begin_round(struct step *s)
{
	struct lock *lock = s->lock;

	lock->stamp.round++;
	tally_begin(&lock->tally, s->now);
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_begin_round(&lock->peer[i]);
}

/* tally_grace_is_over() for this lock: nodes that have not answered get a quarter of the node
 * time-out at most. */
static inline bool step_grace_is_over(const struct step *s, bool enough, usec least, usec *wake_at)
{
	return tally_grace_is_over(
		&s->lock->tally, s->now, enough, least, s->lock->policy.node_timeout / 4, wake_at);
}

#endif
