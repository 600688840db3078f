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
#include "lock/tally.h"

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

/*
 * A place in the line of those who wait for the key: a connection of its own, on which the line
 * node wakes one after the other (OP_WAIT). The nodes are in one order for all clients, another for
 * each key: the line is at the first that answers. It is a hint: whoever is not woken asks all the
 * same when the key should be free, and keeps the place meanwhile.
 */
struct seat {
	enum link link;
	int node; /* the line */
	int key; /* of which key */
	usec due; /* connecting, and joining, must have been done by then */
	bool joins; /* OP_JOIN is not answered yet */
	bool waits; /* OP_WAIT is not */
	bool passes; /* nor is OP_HAND_OFF: another key is in the way, so it is others' turn */
	bool was_free; /* the key was free when we joined: that was worth an attempt */
	uint32_t tried; /* the last round in which it was opened */
	bool is_refused; /* this user may not wait; why is in trouble */
	struct reply trouble;
	bool is_woken; /* it is our turn, and we have not tried yet */
	bool is_fresh; /* there is news since this attempt began: a turn, or that it is free */
	char turn[KEYS_MAX][TOKEN_ID_LEN + 1]; /* for each key: what it was woken with, the last
						  time; "": never */
	int turn_key; /* which of them was the last, */
	int turn_slot; /* or slot; 0: any */
	bool leaves; /* OP_HAND_OFF stands behind OP_WAIT: who serves us passes it on */
	bool parts; /* it was up when the lock was let go: an OP_HAND_OFF went by it, too */
	bool passes_beside; /* another OP_HAND_OFF went by the line's own connection */
	bool leads; /* we were woken, and found readers: we come next, at the door */
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
	usec resume_at; /* of the next attempt, or extension round */
	usec release_until;
	usec leave_for; /* the last word to the nodes: 0 deletes the key, else it is the key's rest
			 */
	usec asked_at; /* when this attempt's first request was sent */
	usec insist_at; /* of the next request to those that refused; 0: none */
	int insisted; /* how often, in this attempt */
	bool used_turn; /* this attempt was made because it was our turn */
	bool waits_for_all; /* this attempt gives nodes that are not ready all their time */
	int tries; /* attempts in a row that failed without having been woken */
	int line; /* asked first, and alone, in this attempt; -1: all were asked at once */
	int busy_key; /* BUSY: which key somebody else has */
	int next_slot; /* what was said to be free; 0: nothing was */
	int moves; /* attempts in a row, without a pause, since each named another slot */
	usec shed_at; /* from then on the links for votes are closed while waiting */
	unsigned awaited; /* 1 << i: the nodes said that others wait for key i */
	bool asking; /* an extension round, or the release of a held lock, is undecided */
	bool denied; /* the last extension round was a majority of NO */

	struct seat seat;
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
