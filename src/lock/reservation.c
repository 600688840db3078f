#include "lock/reservation.h"

#include "lock/step.h"

#include "lock/peer.h"

/* The first node in the order with a vote that is not absent; -1: none. */
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
static bool is_next(const struct lock *lock, int node, int key)
{
	const struct waiter *w = &lock->waiter;

	return lock->attempt.is_woken ||
	       (w->state == WAITER_QUEUED && w->node == node && w->key == key && w->rank == 0);
}

/* The queue node refused, since other clients are first. With --fair that is so as well where it
 * still has a key that expired on the other nodes. */
static bool is_for_others(const struct lock *lock, int node, int key)
{
	const struct ballot *b = &lock->tally.ballot[node];

	if (b->vote != VOTE_FOREIGN || b->reply.key != key)
		return false;
	return b->reply.is_reserved ||
	       (lock->policy.is_fair && b->reply.waiters >> key & 1 && !is_next(lock, node, key));
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
