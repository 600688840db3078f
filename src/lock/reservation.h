/*
 * reservation: before the votes of an attempt count: do they say that the key is reserved for other
 * clients? Private to src/lock; wakeup.c has the client's own reservation.
 *
 * Changes nothing, and nothing here fails.
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

#endif
