/*
 * pace: when a waiter that is not woken looks at the queue, and when its next attempt begins. Only
 * times: nothing is sent here. Private to src/lock; waiter.c has the place in the queue.
 *
 *	pace_schedule()           after a refusal: by the place in the queue and the end of the key
 *	pace_retry_for_quorum()   after an attempt that too few nodes answered
 *	pace_retry_in(), pace_look_in()  at another time, if that is earlier
 *
 * These functions write only retry_at, look_at and `full` of the waiter. Times are absolute unless
 * a name ends in _delay, _in or _spread. Nothing here fails.
 */
#ifndef LOCK_PACE_H
#define LOCK_PACE_H

#include "base/clock.h"

#include <stdbool.h>

struct lock;
struct step;
struct waiter;

/* The first waiter attempts, and the second looks, so often: a lost wake-up costs no more time. The
 * second attempts half as often. */
#define LOOK_FIRST USEC_SEC

/* Between two attempts, 20 to 120 ms at first. */
usec pace_retry_delay(const struct step *s);

/* The whole crowd must join at once: the longer the queue, the longer that takes. */
usec pace_crowd_spread(const struct waiter *w);

void pace_retry_in(struct step *s, usec delay);
void pace_look_in(struct step *s, usec delay);

/* A node that refused named a holder that is not redlock's. */
bool pace_has_foreign_holder(const struct lock *lock);

/* A node that refused tells when the key changes there. */
bool pace_is_watched(const struct lock *lock);

/* The nodes in the order before the first one that answered, as far as they have too many clients:
 * bit i is node i. */
unsigned pace_full_nodes(const struct lock *lock);

/* The queue node does not reserve the key for us: it is taken for `ends_in`. is_foreign: by a
 * holder that wakes no waiter, and no node tells when the key changes. */
void pace_schedule(struct step *s, usec ends_in, bool is_foreign);

/* Without a refusal: too few nodes answered. */
usec pace_retry_for_quorum(const struct step *s);

#endif
