#include "lock/semaphore.h"

#include "lock/step.h"

#include "lock/peer.h"

/* So many attempts in a row go at once to another slot that a node named as free. */
#define MOVES_MAX 8

usec semaphore_ends_in(const struct policy *p, const struct reply *reply)
{
	return policy_is_semaphore(p) ? reply->soonest : reply->pttl;
}

/* A slot that any node named as free; 0: none. A queue node that is the only one with the key of a
 * client that is gone names none. */
static int find_any_slot(const struct step *s)
{
	int nodes = s->lock->policy.nodes, first = (int)((s->random >> 32) % (uint64_t)nodes);

	for (int i = 0; i < nodes; i++) {
		const struct ballot *b = &s->lock->tally.ballot[(first + i) % nodes];

		if (b->vote == VOTE_FOREIGN && b->reply.slot > 0)
			return b->reply.slot;
	}
	return 0;
}

/* A free slot for an attempt at once: as the queue node says, if it refused this attempt. A queue
 * node that has slots of another limit names none; if it is alone, it may have them from a waiter
 * with that limit. */
static int find_slot(const struct step *s)
{
	const struct lock *lock = s->lock;
	int node = peer_queue_node(lock, 0);

	assert(node >= 0); /* a node refused us */
	if (lock->tally.ballot[node].vote == VOTE_FOREIGN &&
		lock->tally.ballot[node].reply.limit == 0)
		return lock->tally.ballot[node].reply.slot;
	return find_any_slot(s);
}

bool semaphore_has_next(const struct lock *lock)
{
	return lock->semaphore.next_slot > 0;
}

void semaphore_begin(struct step *s, int reserved)
{
	struct lock *lock = s->lock;
	struct semaphore *sem = &lock->semaphore;
	int slot = reserved > 0 ? reserved : sem->next_slot > 0 ? sem->next_slot : sem->named_slot;
	bool is_ours = slot > 0 && slot <= lock->policy.limit;

	sem->next_slot = sem->named_slot = 0;
	if (!policy_is_semaphore(&lock->policy))
		return;
	/* No slot above the limit, whatever a node says. The upper bits: the lower ones spread the
	 * delays. */
	lock->stamp.slot =
		is_ours ? slot : 1 + (int)((s->random >> 32) % (uint64_t)lock->policy.limit);
}

bool semaphore_moves_on(struct step *s, bool is_busy, usec wait_until)
{
	struct semaphore *sem = &s->lock->semaphore;

	bool may_move = is_busy && policy_is_semaphore(&s->lock->policy);

	sem->next_slot = may_move ? find_slot(s) : 0;
	sem->named_slot = may_move ? find_any_slot(s) : 0;
	sem->moves = sem->next_slot > 0 && sem->moves < MOVES_MAX ? sem->moves + 1 : 0;
	return sem->moves > 0 && s->now <= usec_add(wait_until, s->lock->policy.node_timeout);
}
