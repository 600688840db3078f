/*
 * policy: the parameters of a lock: its nodes and their majority, its TTL, its modes, and how long
 * to try.
 *
 * The caller fills a struct policy (cli/settings has the rules) and does not change it while the
 * lock is in use. Times are durations.
 */
#ifndef LOCK_POLICY_H
#define LOCK_POLICY_H

#include "base/clock.h"

#include <stdbool.h>

/* More nodes make no lock safer and cost a request each. */
#define NODES_MAX 15

#define KEYS_MAX 16

/* Of a fingerprint (lock/fingerprint.h), which ends with a NUL. */
#define FINGERPRINT_DIGITS 4
#define FINGERPRINT_MAX (NODES_MAX * FINGERPRINT_DIGITS + 1)

/* The keys of one lock. The lock has all of them or none. The strings belong to the caller. */
struct key_list {
	int count;
	const char *key[KEYS_MAX];
};

/* The largest limit of a semaphore: how many clients may hold it at once, each in a slot of its
 * own. So it is the largest number of a slot, too. */
#define LIMIT_MAX 1000

/* The list of a lock with one key. */
#define ONE_KEY(name) ((struct key_list){.count = 1, .key = {(name)}})

/* Requests a ticket that makes the waiter the first in the queue. */
#define TICKET_FIRST -1

struct policy {
	int nodes; /* configured nodes, 1..NODES_MAX */
	int keys; /* the lock's keys, 1..KEYS_MAX */
	int limit; /* 2..LIMIT_MAX: a semaphore with so many slots, each a lock of its own; less:
		      no semaphore */
	usec ttl; /* the key's TTL on each node */
	usec drift; /* the part of the TTL that is not used: clocks run at different rates */
	usec node_timeout; /* longest wait for a node: connection and reply together */
	usec wait; /* how long to try; 0: one attempt; NEVER: no limit */
	usec node_wait; /* how long to try without a majority; NEVER: as `wait` says, and shorter if
			   the nodes' errors are permanent (patience.h) */
	bool refused_is_permanent; /* a node that refuses connections does not get better: the only
				      node is the default, and no wait was given */
	usec safety_margin; /* termination starts this long before the validity ends */
	bool is_fair; /* never overtakes waiters */
	bool is_shared; /* shared with other readers; never overtakes waiters */
	bool wants_fence; /* with a fencing number, larger than all earlier ones of the key */
	bool wants_record; /* the votes bring the record of the last run, and the release stores one
			      (--once-per) */
	usec quarantine; /* a node that forgot its keys has no vote for this time; 0: no restart
			    guard */
	bool by_digest; /* requests may name their scripts by digest: all replies are read, also
			   while the lock is held */
	bool only_looks; /* ends without a refusal as soon as the key is free; takes no lock */
	int64_t ticket; /* before its first OP_JOIN: TICKET_FIRST, or 0: after all waiters */
	char fingerprint[FINGERPRINT_MAX]; /* of the nodes' names; "": none, and the token has none
					    */
	int order[KEYS_MAX][NODES_MAX]; /* for each key, the nodes in the order in which waiters
					   choose the queue node: the same for all clients */
};

/* More than half of the configured nodes. The number of nodes that answer does not matter. */
static inline int policy_quorum(const struct policy *p)
{
	return p->nodes / 2 + 1;
}

static inline bool policy_is_semaphore(const struct policy *p)
{
	return p->limit > 1;
}

/* The queue node's answer about waiters counts as much as a majority. */
static inline bool policy_obeys_queue(const struct policy *p)
{
	return p->is_fair || p->is_shared;
}

/* drift = ttl * factor_permille / 1000 + 2 ms, for clocks that differ in rate. Source: the Redlock
 * specification. */
usec policy_drift(usec ttl, int factor_permille);

#endif
