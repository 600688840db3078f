/*
 * attempt: the attempts to get a lock, from connecting to the majority. Private to src/lock: lock.c
 * calls one function for each phase of an attempt, at every event.
 *
 *	PHASE_CONNECT   attempt_connect()       a majority is ready: asks it, PHASE_ASK
 *	PHASE_ASK       attempt_count()         counts votes: PHASE_HELD, PHASE_FENCE or PHASE_PAUSE
 *	PHASE_FENCE     attempt_count_fence()   a majority took the fencing number: PHASE_HELD
 *
 * An attempt that fails releases the keys that nodes granted. It leads to PHASE_PAUSE, or to
 * PHASE_RELEASE if the client's wait has ended (release_begin()).
 */
#ifndef LOCK_ATTEMPT_H
#define LOCK_ATTEMPT_H

#include "lock/policy.h"

struct step;

void attempt_connect(struct step *s, usec *wake_at);
void attempt_count(struct step *s, usec *wake_at);
void attempt_count_fence(struct step *s);

/* The rule of the algorithm. `started` was read before the first byte of the round was sent, so the
 * key lives on every node at least until started + ttl by that node's clock. */
static inline usec lock_valid_until(const struct policy *p, usec started)
{
	return started + p->ttl - p->drift;
}

#endif
