/*
 * lock: one lock over N nodes, from the first attempt to the last release, as a state machine. The
 * algorithm is Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
 *
 *	lock_init(&lock, &policy);
 *	lock_step(&lock, &event, &update);    EV_START first, then each event; carry out the update;
 *	                                      EV_TIME is due at update.wake_at
 *	... until lock_state(&lock) is LOCK_OVER
 *
 *	IDLE -> CONNECT -> ASK -> (FENCE) -> HELD -> EXPIRING -> LOST
 *	           ^        |        |         |         |         |
 *	           |        v        |         +---------+---------+- EV_RELEASE
 *	           +----- PAUSE <----+                   v
 *	                             |  no more time  RELEASE -> OVER
 *	                             +-------------------^
 *
 * A failed attempt leads to PAUSE and from there to the next attempt, or to RELEASE if the wait has
 * ended. HELD goes to EXPIRING one safety margin before the validity ends, or when a majority
 * denies the key twice. At the end of the validity EXPIRING becomes LOST. EV_RELEASE ends every
 * phase.
 *
 * attempt.c has the attempts (CONNECT, ASK, FENCE) and lock_valid_until(), which computes the
 * validity of an attempt and of an extension. waiter.c decides how long a PAUSE takes, and
 * wakeup.c has the way of a wake-up. lock.c keeps the lock: an extension that reaches no majority
 * is tried again until the validity ends. release.c has the end: when a release finds a connection
 * down, peer_reopen() connects again, a few times, within one second.
 *
 * lock_step() has no clock, socket, memory or randomness of its own: each comes with the event. It
 * cannot fail and calls nothing back. A struct lock owns no memory; its fields may be read.
 */
#ifndef LOCK_LOCK_H
#define LOCK_LOCK_H

#include "base/token.h"
#include "lock/event.h"
#include "lock/patience.h"
#include "lock/peer.h"
#include "lock/semaphore.h"
#include "lock/tally.h"
#include "lock/waiter.h"
#include "lock/wakeup.h"

#include <stdbool.h>

enum phase {
	PHASE_IDLE,
	PHASE_CONNECT, /* no majority is ready: no request of this round was sent */
	PHASE_ASK, /* the votes of an attempt arrive */
	PHASE_FENCE, /* a majority granted the lock and must store its fencing number */
	PHASE_PAUSE, /* between two attempts */
	PHASE_HELD,
	PHASE_EXPIRING, /* the end is near or certain: the command must be terminated now */
	PHASE_LOST, /* the validity has ended */
	PHASE_RELEASE, /* releasing every key that may be ours */
	PHASE_OVER,
};

/* The phase in the detail that callers need. */
enum lock_state {
	LOCK_TRYING,
	LOCK_HELD,
	LOCK_EXPIRING,
	LOCK_LOST,
	LOCK_RELEASING,
	LOCK_OVER,
};

/* Why the lock was not obtained. */
enum refusal {
	REFUSAL_NONE,
	REFUSAL_BUSY, /* a majority answered, and another client holds the lock or is first */
	REFUSAL_NO_QUORUM, /* fewer than a majority answered */
	REFUSAL_DUPLICATE, /* two nodes are one server */
	REFUSAL_SLOW, /* a majority granted it, but so late that too little validity was left */
};

/* Why a held lock was lost. */
enum loss {
	LOSS_NONE,
	LOSS_EXPIRED, /* no majority confirmed it in time */
	LOSS_STOOD_STILL, /* the same, because this process did not run in time */
	LOSS_DENIED, /* a majority denied the key twice, or at the release */
	LOSS_CONTESTED, /* a client that names other nodes may hold it, too */
};

/* Nodes that name a holder beside which this client could get a majority, because the two name
 * different nodes (fingerprint_misses()). Valid from an attempt on until the release. */
struct contest {
	unsigned nodes; /* bit i: by its last answer, node i does */
	uint32_t since; /* the round in which the first of them said so */
	usec look_at; /* HELD: when these nodes are asked once more; NEVER: they were */
};

/* The attempt under way, or the last one. */
struct attempt {
	usec asked_at; /* when its first request was sent */
	bool is_woken; /* it was made because of a reservation */
	bool watches; /* its requests ask for WAKE_CHANGED */
	struct retry retry;
};

/* Valid from PHASE_HELD on. */
struct tenure {
	usec valid_until; /* set by the attempt, and by each extension */
	usec extend_at; /* HELD: when the next extension round begins */
	bool asking; /* an extension round is under way */
	bool denied; /* a majority said in the last extension round that the key is not ours */
	bool unconfirmed; /* the last extension round ended without a majority */
	uint32_t confirmed; /* the last round that a majority confirmed; 0: never held */
	int extensions; /* the number of confirmed extensions */
	usec worst_margin; /* the least validity left at a confirmed extension; NEVER: none yet */
	int64_t fence; /* the fencing number; 0: none */
};

/* Valid with policy.wants_record, from PHASE_HELD on: the last run, as the nodes that granted the
 * lock recorded it. */
struct last_run {
	unsigned granted; /* bit i: node i granted the lock, */
	unsigned known; /* and its record is this one; 0: there is none */
	unsigned is_void; /* node i has a record without a start, or with one in the future */
	usec age; /* the run started so long before the vote, by the node's clock */
	usec started; /* the same by our clock */
	char text[REPLY_TEXT_MAX];
};

/* Valid in PHASE_RELEASE and PHASE_OVER. */
struct releasing {
	usec until; /* the time at which the release is given up */
	usec leave_for; /* 0: the key is deleted; else it is left to expire after this time */
	bool asking; /* it is open whether a majority had the key until now */
	bool stores; /* the hand-offs store a record, */
	unsigned stored; /* and did so on these nodes: bit i */
	bool is_flushed; /* ended while the last releases were on their way */
};

struct lock {
	struct policy policy;
	enum phase phase;
	enum refusal refusal; /* of the last attempt */
	enum loss loss;
	struct patience patience;
	usec wait_until; /* patience_until() */
	struct stamp stamp; /* of the requests that are sent now */
	unsigned awaited; /* bit i: the queue node of key i said that it has waiters */

	struct attempt attempt;
	struct contest contest;
	struct tenure tenure;
	struct last_run last_run;
	struct releasing releasing;

	struct semaphore semaphore;
	struct waiter waiter;
	struct wakeup wakeup;
	struct peer peer[NODES_MAX];
	struct tally tally; /* the votes of the current round. At the end: the ballots of nodes that
			       are not configured are never touched */
};

void lock_init(struct lock *lock, const struct policy *policy);

/* Handles one event and fills *up with the actions that the caller must carry out. */
void lock_step(struct lock *lock, const struct event *ev, struct update *up);

/* Slots are held with this limit, which is not ours, so that we get none; 0: not so. */
int lock_other_limit(const struct lock *lock);

/* The client had a majority, or would have had it: but a holder that names other nodes may have
 * one, too. */
bool lock_is_contested(const struct lock *lock);

/* The reply that names this holder. NULL: not so, or a later reply of the node is in its place. */
const struct reply *lock_contested_by(const struct lock *lock);

/* The slot that is held, or was requested last; 0: not a semaphore. */
static inline int lock_slot(const struct lock *lock)
{
	return policy_is_semaphore(&lock->policy) ? lock->stamp.slot : 0;
}

enum lock_state lock_state(const struct lock *lock);

/* Between two attempts: the votes of the last attempt can be reported. */
bool lock_is_pausing(const struct lock *lock);

/* When the next extension, or a repair before it, is due; valid in HELD while no extension is under
 * way. */
usec lock_extend_at(const struct lock *lock);

/* A node that was asked for the lock has not answered. */
bool lock_awaits_replies(const struct lock *lock);

/* The number of nodes that may still have our key after the release; if any, the last of these keys
 * ends at *until. A node that is about to read the release is not counted if a majority has
 * answered. */
int lock_unreleased(const struct lock *lock, usec *until);

/* The number of nodes that said at the release that they have stored the record. */
static inline int lock_stored(const struct lock *lock)
{
	return __builtin_popcount(lock->releasing.stored);
}

/* The keys that have waiters at another node than this one: bit i for key i. The queue node itself
 * knows better whether they still live. */
static inline unsigned lock_far_waiters(const struct lock *lock, int node)
{
	unsigned far = lock->awaited;

	for (int key = 0; key < lock->policy.keys; key++)
		if (lock->policy.order[key][0] == node)
			far &= ~(1u << key);
	return far;
}

/* After the release: a majority of the nodes cannot have our key any more. */
bool lock_is_released(const struct lock *lock);

#endif
