/*
 * policy: what a lock asks of its nodes: how many there are, which of them are a majority, how long
 * the lock lives, and how long to try. The caller fills a struct policy and does not change it
 * while the lock is in use.
 */
#ifndef LOCK_POLICY_H
#define LOCK_POLICY_H

#include "base/clock.h"

#include <stdbool.h>

/* A lock over more nodes than this buys nothing and costs a round trip each. */
#define NODES_MAX 15

#define KEYS_MAX 16

/* The keys of one lock: all of them or none. */
struct key_list {
	int count;
	const char *key[KEYS_MAX];
};

/* The holders of a semaphore, each in a slot of its own. */
#define SLOTS_MAX 1000

/* For those who have one. */
#define ONE_KEY(name) ((struct key_list){.count = 1, .key = {(name)}})

struct policy {
	int nodes; /* configured nodes, 1..NODES_MAX */
	int keys; /* of this lock: all of them or none, 1..KEYS_MAX */
	int slots; /* of a semaphore, each a lock of its own, 2..SLOTS_MAX; less: it is none */
	usec ttl; /* the key's life on a node */
	usec drift; /* how much of it is not relied on: clocks run at different rates */
	usec node_timeout; /* longest wait for one node: connect plus answer */
	usec wait; /* how long to go on trying; 0: one attempt; NEVER: no limit */
	usec safety_margin; /* EXPIRING comes this long before the validity ends */
	bool is_fair; /* never before others who wait */
	bool is_shared; /* together with other readers; not before those who wait, either */
	bool wants_fence; /* a fencing number, larger than every earlier one of the key */
	usec quarantine; /* a node that forgot its keys has no vote for so long; 0: it has */
	bool only_looks; /* wait until the key is free, and leave it at that: OVER, with no refusal
			  */
	int order[KEYS_MAX][NODES_MAX]; /* of the nodes, for those who wait for a key: all agree */
};

/* More than half of the nodes *configured*, whoever happens to answer. */
static inline int policy_quorum(const struct policy *p)
{
	return p->nodes / 2 + 1;
}

static inline bool policy_has_slots(const struct policy *p)
{
	return p->slots > 1;
}

/* What the line says of those who wait counts as much as a majority. */
static inline bool policy_heeds_line(const struct policy *p)
{
	return p->is_fair || p->is_shared;
}

/* drift = ttl * factor_permille / 1000 + 2 ms. */
usec policy_drift(usec ttl, int factor_permille);

#endif
