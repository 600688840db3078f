#include "lock/attempt.h"

#include "lock/release.h"
#include "lock/reservation.h"
#include "lock/step.h"

/* The least time for the other nodes to get ready after a majority is ready. */
#define LEAST_GRACE 200

/* This attempt asked the others without this node, which was not ready. The next attempt may have
 * it. */
static bool was_left_out(const struct lock *lock, const struct peer *p)
{
	return lock->phase != PHASE_CONNECT && p->asked_in != lock->stamp.round &&
	       (p->link == LINK_OPENING ||
		       (p->link == LINK_UP && !peer_is_late(p) && !p->release_refused));
}

/* The votes that grant the key, or say that it is free. */
static int count_yes(const struct lock *lock)
{
	return lock->policy.only_looks ? tally_count(&lock->tally, VOTE_GONE)
				       : tally_yes(&lock->tally);
}

static int count_no(const struct lock *lock)
{
	return lock->policy.only_looks ? tally_count(&lock->tally, VOTE_FOREIGN)
				       : tally_no(&lock->tally);
}

/* With the nodes that were left out there may be a quorum, or a majority of yes: one more attempt
 * follows at once. It waits for all nodes that are not ready, for a node time-out at most. */
static bool needs_those_left_out(const struct lock *lock, bool is_busy)
{
	int nodes = lock->policy.nodes, left_out = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		bool is_absent = lock->tally.ballot[i].vote == VOTE_ABSENT;
		bool is_left_out = is_absent && was_left_out(lock, &lock->peer[i]);

		left_out += is_left_out;
		nodes -= is_absent && !is_left_out;
	}
	if (is_busy)
		nodes -= count_no(lock);
	return !lock->attempt.waits_for_all && nodes >= policy_quorum(&lock->policy) &&
	       (!is_busy || left_out > 0);
}

static void fail_attempt(struct step *s, enum refusal refusal)
{
	struct lock *lock = s->lock;
	bool is_busy = refusal == REFUSAL_BUSY, is_moving, gives_up;
	/* Rivals that gave way to this client wait for a wake-up. If another client holds the lock,
	 * or this one gives way, that client wakes them. */
	enum op op;

	patience_failed(&lock->patience, refusal != REFUSAL_NO_QUORUM,
		tally_is_hopeless(&lock->tally), lock->tally.began, s->now);
	lock->wait_until = patience_until(&lock->patience, &lock->policy);
	lock->attempt.waits_for_all =
		(is_busy || refusal == REFUSAL_NO_QUORUM) && needs_those_left_out(lock, is_busy);
	is_moving = semaphore_moves_on(s, is_busy, lock->wait_until) || lock->attempt.waits_for_all;
	gives_up = refusal == REFUSAL_DUPLICATE || (s->now >= lock->wait_until && !is_moving);
	op = gives_up || (lock->attempt.rivals.retries > 0 && rivals_split_votes(lock))
		     ? OP_HAND_OFF
		     : OP_UNDO;
	lock->refusal = refusal;
	/* Sent on the same connection, the release cannot overtake the request. */
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		if (p->pending && p->link == LINK_UP && !p->releasing)
			peer_send(s, i, op);
	}
	if (gives_up) {
		release_begin(s);
		return;
	}
	lock->phase = PHASE_PAUSE;
	waiter_pause(s, is_busy, is_moving);
}

static enum op attempt_op(const struct lock *lock)
{
	return lock->policy.only_looks ? OP_LOOK : OP_ACQUIRE;
}

static void ask(struct step *s)
{
	struct lock *lock = s->lock;

	waiter_begin(s);
	semaphore_begin(s, waiter_reserved_slot(&s->lock->waiter));
	lock->stamp.attempt = lock->stamp.round;
	lock->tenure.valid_until = lock_valid_until(&lock->policy, s->now);
	lock->phase = PHASE_ASK;
	lock->attempt.asked_at = s->now;
	lock->tally.enough_at = 0;
	lock->last_run = (struct last_run){.known = 0};
	lock->attempt.rivals = (struct rivals){.is_second = lock->attempt.waits_for_all};
	s->up->new_token = true;
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_leave_out(s, i);
	for (int i = 0; i < lock->policy.nodes; i++)
		if (peer_is_ready(&lock->peer[i]))
			peer_ask(s, i, attempt_op(lock), waiter_watches(lock), false);
}

/* `redlock wait` begins the quarantine of a restarted node (docs/nodes.md), so its first look waits
 * for every node that may answer. Later ones do not: the key may be reserved for this client, and
 * the next waiter needs it. */
static bool looks_at_all(const struct lock *lock)
{
	return lock->policy.only_looks && lock->stamp.round == 1;
}

/* With --fair, the queue node's word counts as much as a majority. */
static bool is_needed(const struct lock *lock, int node)
{
	bool is_first = false;

	for (int key = 0; key < lock->policy.keys; key++)
		is_first |= lock->policy.order[key][0] == node;
	return lock->attempt.waits_for_all || looks_at_all(lock) ||
	       (lock->policy.is_fair && is_first);
}

/* An attempt asks only nodes that are connected when it begins, so that none of its requests can
 * reach a node that restarted in the meantime. A pending release is sent before: so a node never
 * has keys of ours under more than one token. */
void attempt_connect(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	int ready = 0, pending = 0;
	bool is_one_needed = false;
	/* Connecting and a pending release share one node time-out. */
	usec until = lock->tally.began + lock->policy.node_timeout;
	/* Without a pause before it, the attempt waits for the last replies as long as for the
	 * others. */
	usec least = semaphore_is_moving(lock)
			     ? usec_max(LEAST_GRACE, lock->tally.began - lock->attempt.asked_at)
			     : LEAST_GRACE;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		if (peer_is_stuck(s, i))
			peer_close(s, i);
		if (p->link == LINK_DOWN && p->opened_in != lock->stamp.round)
			peer_open(s, i);
		if (p->link == LINK_UP && !peer_in_flight(p) && p->pending && !p->release_refused)
			peer_send(s, i, OP_UNDO);
		if (peer_is_ready(p))
			ready++;
		else if ((s->now < until || !s->is_timeout) && peer_may_answer(p)) {
			pending++;
			is_one_needed |= is_needed(lock, i);
		}
	}
	if (pending > 0)
		*wake_at = until;
	/* Wait a moment, until the errors of the other nodes are known, too. */
	if (ready + pending < quorum &&
		(pending == 0 || step_grace_is_over(s, true, least, wake_at))) {
		for (int i = 0; i < lock->policy.nodes; i++)
			peer_leave_out(s, i);
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
	if (lock->phase == PHASE_CONNECT && ready >= quorum &&
		(pending == 0 || (!is_one_needed && step_grace_is_over(s, true, least, wake_at))))
		ask(s);
}

static void hold(struct step *s)
{
	struct lock *lock = s->lock;

	if (s->now >= lock->tenure.valid_until - lock->policy.safety_margin) {
		fail_attempt(s, REFUSAL_SLOW);
		return;
	}
	waiter_held(s);
	lock->phase = PHASE_HELD;
	lock->tenure.confirmed = lock->stamp.round;
	lock->refusal = REFUSAL_NONE;
	lock->tenure.extend_at = lock->tally.began + lock->policy.ttl / 3;
}

/* The fencing number is the largest that a node of our majority gave. If all gave the same number,
 * the next holder finds it on at least one node. Otherwise the nodes are told the number; a
 * majority that still has our key must take it. */
static void choose_fence(struct step *s)
{
	struct lock *lock = s->lock;
	bool is_one = true;

	lock->tenure.fence = 0;
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_YES &&
			lock->tally.ballot[i].reply.fence != lock->tenure.fence) {
			is_one &= lock->tenure.fence == 0;
			lock->tenure.fence = lock->tenure.fence > lock->tally.ballot[i].reply.fence
						     ? lock->tenure.fence
						     : lock->tally.ballot[i].reply.fence;
		}
	if (is_one) {
		hold(s);
		return;
	}
	lock->phase = PHASE_FENCE;
}

void attempt_count_fence(struct step *s)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy), taken = 0, open = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];
		struct ballot *b = &lock->tally.ballot[i];

		/* Also nodes that granted the lock late. */
		if (b->vote == VOTE_YES && p->fenced_in != lock->stamp.round && p->link == LINK_UP)
			peer_send(s, i, OP_FENCE);
		taken += p->fenced_in == lock->stamp.round;
		open += b->vote == VOTE_NONE;
	}
	if (lock->tally.duplicate[0] >= 0)
		fail_attempt(s, REFUSAL_DUPLICATE);
	else if (taken >= quorum)
		hold(s);
	else if (taken + open < quorum)
		fail_attempt(
			s, tally_no(&lock->tally) >= quorum ? REFUSAL_BUSY : REFUSAL_NO_QUORUM);
}

void attempt_count(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	bool looks = lock->policy.only_looks;
	int yes, no, open;
	enum reserved reserved = RESERVED_NO;

	yes = count_yes(lock);
	no = count_no(lock);
	open = tally_count(&lock->tally, VOTE_NONE);
	if (lock->tally.duplicate[0] < 0)
		reserved = reservation_for_others(s, wake_at);
	if (lock->tally.duplicate[0] >= 0) {
		fail_attempt(s, REFUSAL_DUPLICATE);
	} else if (reserved == RESERVED_UNKNOWN) {
		return;
	} else if (reserved == RESERVED_FOR_OTHERS) {
		fail_attempt(s, REFUSAL_BUSY);
	} else if (yes >= quorum && looks) {
		if (open > 0 && looks_at_all(lock))
			return;
		lock->refusal = REFUSAL_NONE;
		release_begin(s);
	} else if (yes >= quorum && lock->policy.wants_fence) {
		choose_fence(s);
	} else if (yes >= quorum) {
		hold(s);
	} else if (yes + no >= quorum &&
		   rivals_are_heard(s, &lock->attempt.rivals, yes, open, wake_at)) {
		if (!rivals_retry(s, &lock->attempt.rivals, attempt_op(lock),
			    lock->attempt.asked_at,
			    patience_for_holder(&lock->patience, &lock->policy, s->now), wake_at))
			fail_attempt(s, REFUSAL_BUSY);
	} else if (yes + no + open < quorum) {
		/* A majority of clean replies, which may still arrive, would mean "busy" instead.
		 */
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
}
