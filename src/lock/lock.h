/*
 * quorum: one lock over N nodes, from the first attempt to the last release, as a state machine.
 *
 * lock_step() takes an event and answers with what to do next. It has no clock, socket, memory
 * or randomness of its own: all of them come with the event. It cannot fail and calls nothing back.
 * The algorithm is Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/);
 * where it goes further, the reason stands beside the line in quorum.c.
 */
#ifndef LOCK_LOCK_H
#define LOCK_LOCK_H

#include "base/token.h"
#include "lock/event.h"
#include "lock/peer.h"
#include "lock/rivals.h"
#include "lock/semaphore.h"
#include "lock/tally.h"
#include "lock/waiter.h"

#include <stdbool.h>

enum lock_state {
	LOCK_TRYING,
	LOCK_HELD,
	LOCK_EXPIRING, /* the end is near or certain: end the command now */
	LOCK_LOST, /* the validity is over */
	LOCK_RELEASING, /* giving back whatever may be ours */
	LOCK_OVER,
};

/* Why the lock was not obtained. */
enum refusal {
	REFUSAL_NONE,
	REFUSAL_BUSY, /* a majority answered, and somebody else is in the way */
	REFUSAL_NO_QUORUM, /* fewer than a majority answered */
	REFUSAL_DUPLICATE, /* two nodes are one server */
	REFUSAL_SLOW, /* a majority granted it, but so late that too little validity was left */
};

/* Why a held lock came to its end. */
enum loss {
	LOSS_NONE,
	LOSS_EXPIRED, /* no majority confirmed it in time */
	LOSS_STOOD_STILL, /* the same, but we were not there to hear them */
	LOSS_DENIED, /* a majority said, twice or to the release, that the key is gone or another's
		      */
};

struct lock {
	struct policy policy;
	enum lock_state state;
	enum refusal refusal;
	enum loss loss;
	struct tally tally; /* the votes of the current round */

	int phase; /* enum phase in quorum.c */
	struct stamp stamp; /* of the requests that are sent now */
	uint32_t proved; /* the last round that a majority confirmed */
	int extensions; /* how many of those were extensions, */
	int64_t fence; /* the fencing number; 0: none */
	usec worst_margin; /* and the least that was left of the validity when one came in; NEVER */

	usec valid_until; /* HELD and later */
	usec wait_until; /* of the wait */
	usec extend_at; /* HELD: when the next extension round begins */
	usec release_until;
	usec leave_for; /* the last word to the nodes: 0 deletes the key, else it is the key's rest
			 */
	usec asked_at; /* when this attempt's first request was sent */
	bool waits_for_all; /* this attempt gives nodes that are not ready all their time */
	int line; /* asked first, and alone, in this attempt; -1: all were asked at once */
	bool asking; /* an extension round, or the release of a held lock, is undecided */
	bool denied; /* the last extension round was a majority of NO */

	struct rivals rivals;
	struct semaphore semaphore;
	struct waiter waiter;
	struct peer peer[NODES_MAX];
};

void lock_init(struct lock *lock, const struct policy *policy);

/* One event in; what to do about it out. */
void lock_step(struct lock *lock, const struct event *ev, struct update *up);

/* The slot that is held, or was asked for last; 0: not a semaphore. */
static inline int lock_slot(const struct lock *lock)
{
	return policy_has_slots(&lock->policy) ? lock->stamp.slot : 0;
}

/* Between two attempts: the votes of the last one can be told about. The seat may be taken. */
bool lock_is_pausing(const struct lock *lock);

/* HELD, and no extension is under way: when the next one is due. */
usec lock_extend_at(const struct lock *lock);

/* Nodes on which the lock may still be, against our will, after the release, and until when in
 * *until (if any). */
int lock_unreleased(const struct lock *lock, usec *until);

#endif
