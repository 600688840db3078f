/*
 * attempt: the attempts to get a lock, from connecting to the majority. Private to src/lock: lock.c
 * calls one function for each phase of an attempt, at every event.
 *
 *	PHASE_CONNECT   attempt_connect()       a majority is ready: PHASE_ASK
 *	PHASE_ASK       attempt_count()         counts votes: PHASE_HELD, PHASE_FENCE or PHASE_PAUSE
 *	PHASE_FENCE     attempt_count_fence()   a majority took the fencing number: PHASE_HELD
 *
 * A node that gets ready later is asked then (attempt_ask()): an attempt waits for no node that it
 *can do without, and each node may vote that is ready within its time-out.
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
void attempt_count_fence(struct step *s, usec *wake_at);

/* Asks the nodes that are ready and were not asked yet; also while the lock is held, until the
 * first extension: a node that is slow to connect gets the key, too. */
void attempt_ask(struct step *s, usec *wake_at);

/* The rule of the algorithm. `started` was read before the first byte of the round was sent, so the
 * key lives on every node at least until started + ttl by that node's clock. */
static inline usec lock_valid_until(const struct policy *p, usec started)
{
	return started + p->ttl - p->drift;
}

#endif
