/*
 * reservation: what the votes of an attempt say about reservations: is the key reserved for other
 * clients, and is the refusal of a node final?
 * Private to src/lock; waiter.c has the client's own reservation.
 *
 *	reservation_for_others()  before the votes of an attempt count: are other clients first?
 *	reservation_refusal()     a node refused: is that final?
 *
 * These functions change nothing, and nothing here fails.
 */
#ifndef LOCK_RESERVATION_H
#define LOCK_RESERVATION_H

#include "base/clock.h"

struct lock;
struct step;

enum reserved {
	RESERVED_NO, /* the votes count */
	RESERVED_UNKNOWN, /* the queue node may still say that others are first: wait */
	RESERVED_FOR_OTHERS, /* other clients are first, however many nodes would grant the key */
};

enum reserved reservation_for_others(const struct step *s, usec *wake_at);

enum refused {
	REFUSED, /* for as long as its reply says */
	REFUSED_EARLY, /* the release before our reservation is still on its way to the node */
	REFUSED_UNCLEAR, /* for another waiter; whether it is alive, the queue node has not said yet
			  */
	REFUSED_IN_VAIN, /* for a waiter that is not in the queue any more: ask with `overrides` */
};

/* Why a node did not grant the key, or why it is not free, in the attempt under way. */
enum refused reservation_refusal(const struct lock *lock, int node);

#endif
