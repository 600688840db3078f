#include "lock/reservation.h"

#include "lock/step.h"

#include "lock/pace.h"
#include "lock/peer.h"
#include "lock/waiter.h"

#include <string.h>

/* The first node in the order whose vote is not absent; -1: none. */
static int first_node(const struct lock *lock, int key)
{
	for (int n = 0; n < lock->policy.nodes; n++)
		if (lock->tally.ballot[lock->policy.order[key][n]].vote != VOTE_ABSENT)
			return lock->policy.order[key][n];
	return -1;
}

/* A queue node has not answered yet. With --fair its word is needed, also if it is still
 * connecting; readers wait for a quarter of its time: a node that is only far away must be heard,
 * or writers starve. */
static bool is_queue_silent(const struct step *s, usec *wake_at)
{
	const struct lock *lock = s->lock;
	bool is_silent = false;

	for (int key = 0; key < lock->policy.keys; key++) {
		int node =
			lock->policy.is_fair ? first_node(lock, key) : peer_queue_node(lock, key);

		is_silent |= node >= 0 && lock->tally.ballot[node].vote == VOTE_NONE;
	}
	if (is_silent && !lock->policy.is_fair)
		return !step_grace_is_over(s,
			tally_yes(&lock->tally) + tally_no(&lock->tally) >=
				policy_quorum(&lock->policy),
			lock->policy.node_timeout / 4, wake_at);
	return is_silent;
}

/* The client was woken, or it is the first in the queue. */
static bool is_next(const struct waiter *w, int node, int key)
{
	return w->used_reservation ||
	       (w->state == WAITER_QUEUED && w->node == node && w->key == key && w->rank == 0);
}

/* The queue node refused, since other clients are first. With --fair that is so as well where it
 * still has a key that expired on the other nodes. */
static bool is_for_others(const struct lock *lock, int node, int key)
{
	const struct ballot *b = &lock->tally.ballot[node];

	if (b->vote != VOTE_FOREIGN || b->reply.key != key)
		return false;
	return b->reply.is_reserved || (lock->policy.is_fair && b->reply.waiters >> key & 1 &&
					       !is_next(&lock->waiter, node, key));
}

enum reserved reservation_for_others(const struct step *s, usec *wake_at)
{
	const struct lock *lock = s->lock;

	if (!policy_obeys_queue(&lock->policy))
		return RESERVED_NO;
	if (is_queue_silent(s, wake_at))
		return RESERVED_UNKNOWN;
	for (int key = 0; key < lock->policy.keys; key++) {
		int node = peer_queue_node(lock, key);

		if (node >= 0 && is_for_others(lock, node, key))
			return RESERVED_FOR_OTHERS;
	}
	return RESERVED_NO;
}

/* The vote that grants the key, or says that it is free. */
static enum vote vote_for(const struct lock *lock)
{
	return lock->policy.only_looks ? VOTE_GONE : VOTE_YES;
}

static enum refused refusal_by_reservation(const struct lock *lock, int node)
{
	/* The node itself answered, so a queue node is known. */
	int first = peer_queue_node(lock, lock->tally.ballot[node].reply.key);
	enum vote vote;

	assert(first >= 0);
	vote = lock->tally.ballot[first].vote;
	return vote == VOTE_NONE        ? REFUSED_UNCLEAR
	       : vote == vote_for(lock) ? REFUSED_IN_VAIN
					: REFUSED;
}

/* Another program is releasing the key, or takes it node by node: its request may still be on its
 * way to this node. */
static bool is_between_nodes(const struct lock *lock, const struct reply *reply)
{
	return waiter_watches(lock) && tally_yes(&lock->tally) > 0 && reply->is_watched &&
	       reply_has_foreign_holder(reply);
}

enum refused reservation_refusal(const struct lock *lock, int node)
{
	const struct waiter *w = &lock->waiter;
	const struct ballot *b = &lock->tally.ballot[node];
	bool is_early;

	if (b->vote != VOTE_FOREIGN)
		return REFUSED;
	if (b->reply.is_reserved)
		return refusal_by_reservation(lock, node);
	if (is_between_nodes(lock, &b->reply))
		return REFUSED_EARLY;
	if (!w->used_reservation || b->reply.text_len <= TOKEN_ID_LEN)
		return REFUSED;
	/* The reservation has the id of the token before; but the text of readers has no ids. At
	 * the queue node, they are gone. */
	is_early = b->reply.is_shared
			   ? lock->tally.ballot[w->node].vote == vote_for(lock)
			   : memcmp(b->reply.text, w->reservation[b->reply.key], TOKEN_ID_LEN) == 0;
	/* Where the queue node lost the key of the holder, no refusal is early: a retry would keep
	 * the holder from setting its key there. */
	return is_early && !pace_is_in_vain(w) ? REFUSED_EARLY : REFUSED;
}
