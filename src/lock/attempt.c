#include "lock/attempt.h"

#include "lock/release.h"
#include "lock/reservation.h"
#include "lock/rivals.h"
#include "lock/step.h"

/* When no majority can get ready, the least time in which further nodes may say why. */
#define LEAST_GRACE 200

/* When a majority has voted, the least time in which the votes that are about to come may do so: if
 * the client could begin its command; if it was refused. */
#define LEAST_HEARING (10 * USEC_MSEC)
#define LEAST_HEARING_REFUSED USEC_MSEC

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

static bool is_hopeless(const struct lock *lock)
{
	return tally_is_hopeless(&lock->tally) ||
	       (lock->policy.refused_is_permanent &&
		       reply_is_absent(&lock->tally.ballot[0].reply, REASON_CONNECT));
}

static void fail_attempt(struct step *s, enum refusal refusal)
{
	struct lock *lock = s->lock;
	bool is_busy = refusal == REFUSAL_BUSY, is_moving, gives_up, did_rivals_yield;
	/* Rivals that gave way to this client wait for a wake-up. If another client holds the lock,
	 * or this one gives way, that client wakes them. With --fair, the join that follows wakes
	 * the first waiter, which may be this client. */
	enum op op;

	patience_failed(&lock->patience, refusal != REFUSAL_NO_QUORUM, is_hopeless(lock),
		lock->tally.began, s->now);
	lock->wait_until = patience_until(&lock->patience, &lock->policy);
	is_moving = semaphore_moves_on(s, is_busy, lock->wait_until);
	gives_up = refusal == REFUSAL_DUPLICATE || (s->now >= lock->wait_until && !is_moving);
	did_rivals_yield =
		!lock->policy.is_fair && lock->attempt.retry.count > 0 && rivals_split_votes(lock);
	op = gives_up || did_rivals_yield ? OP_HAND_OFF : OP_UNDO;
	lock->refusal = refusal;
	for (int i = 0; i < lock->policy.nodes && refusal == REFUSAL_NO_QUORUM; i++)
		if (lock->peer[i].asked_in != lock->stamp.round)
			peer_leave_out(s, i);
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

/* The end of the time in which nodes may get ready: connecting and a pending release share one node
 * time-out. */
static usec ready_until(const struct lock *lock)
{
	return lock->tally.began + lock->policy.node_timeout;
}

/* The node is not ready, and may still be in time. */
static bool is_getting_ready(const struct step *s, int node)
{
	const struct peer *p = &s->lock->peer[node];

	return !peer_is_ready(p) && (s->now < ready_until(s->lock) || !s->is_timeout) &&
	       peer_may_answer(p);
}

/* So a node never has keys of ours under more than one token. */
static void release_old_token(struct step *s, int node)
{
	const struct peer *p = &s->lock->peer[node];

	if (p->link == LINK_UP && !peer_in_flight(p) && p->pending && !p->release_refused)
		peer_send(s, node, OP_UNDO);
}

/* Each node is asked once, when it is ready; and never on a connection that was opened again after
 * that, so that no request reaches a node that forgot our key in the meantime. The vote of a node
 * that is getting ready is open. */
void attempt_ask(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;

	for (int i = 0; i < lock->policy.nodes; i++) {
		if (lock->peer[i].asked_in == lock->stamp.round ||
			lock->tally.ballot[i].vote != VOTE_NONE)
			continue;
		release_old_token(s, i);
		if (peer_is_ready(&lock->peer[i]))
			peer_ask(s, i, attempt_op(lock), lock->attempt.watches, false);
		else if (is_getting_ready(s, i))
			*wake_at = usec_min(*wake_at, ready_until(lock));
		else
			peer_leave_out(s, i);
	}
}

static void begin_asking(struct step *s)
{
	struct lock *lock = s->lock;

	waiter_begin(s);
	wakeup_attempt_begins(s);
	semaphore_begin(s, wakeup_slot(lock));
	lock->stamp.attempt = lock->stamp.round;
	lock->tenure.valid_until = lock_valid_until(&lock->policy, s->now);
	lock->phase = PHASE_ASK;
	lock->attempt.asked_at = s->now;
	lock->tally.enough_at = 0;
	lock->last_run = (struct last_run){.known = 0};
	lock->contest = (struct contest){.look_at = NEVER};
	step_act(s, ACT_RENEW, 0);
}

/* So many nodes are late that the others are no majority: more likely, a firewall has forgotten all
 * connections of this client than that all these servers are busy. */
static bool is_cut_off(const struct lock *lock)
{
	int late = 0;

	for (int i = 0; i < lock->policy.nodes; i++)
		late += peer_is_late(&lock->peer[i]);
	return lock->policy.nodes - late < policy_quorum(&lock->policy);
}

/* An attempt begins to ask when a majority is ready: with fewer nodes it would only be in the way
 * of others. */
void attempt_connect(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	int ready = 0, getting_ready = 0;
	bool is_dead = is_cut_off(lock);

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		if (peer_is_stuck(s, i) || (is_dead && peer_is_late(p)))
			peer_close(s, i);
		if (p->link == LINK_DOWN && p->opened_in != lock->stamp.round) {
			peer_open(s, i);
			lock->tally.ballot[i].vote = VOTE_NONE;
		}
		release_old_token(s, i);
		ready += peer_is_ready(p);
		getting_ready += is_getting_ready(s, i);
	}
	if (getting_ready > 0)
		*wake_at = ready_until(lock);
	if (ready >= quorum) {
		begin_asking(s);
		return;
	}
	/* Wait a moment, until the errors of the other nodes are known, too. */
	if (ready + getting_ready >= quorum ||
		(getting_ready > 0 && !step_grace_is_over(s, true, LEAST_GRACE, wake_at)))
		return;
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_leave_out(s, i);
	fail_attempt(s, REFUSAL_NO_QUORUM);
}

static void hold(struct step *s)
{
	struct lock *lock = s->lock;

	if (s->now >= lock->tenure.valid_until - lock->policy.safety_margin) {
		fail_attempt(s, REFUSAL_SLOW);
		return;
	}
	wakeup_held(s);
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

void attempt_count_fence(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy), taken = 0, open = 0;

	attempt_ask(s, wake_at);
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
	else if (taken >= quorum && !lock->contest.nodes)
		hold(s);
	else if (taken >= quorum)
		fail_attempt(s, REFUSAL_BUSY);
	else if (taken + open < quorum)
		fail_attempt(
			s, tally_no(&lock->tally) >= quorum ? REFUSAL_BUSY : REFUSAL_NO_QUORUM);
}

/* A majority has voted. A node that was asked at nearly the same time answers at nearly the same
 * time, and may name a holder that has other nodes: so its vote is heard, if it takes no longer
 * than those of the majority, and a quarter of that time. A node that is farther away, or silent,
 * was not connected when the attempt began. */
static bool others_are_due(struct step *s, usec least, usec *wake_at)
{
	struct lock *lock = s->lock;
	usec *since = &lock->tally.enough_at, took, more, until = 0;

	if (!*since)
		*since = s->now;
	took = *since - lock->attempt.asked_at;
	more = usec_max(took / 4, least);
	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct peer *p = &lock->peer[i];

		if (lock->tally.ballot[i].vote == VOTE_NONE && p->asked && !p->late &&
			p->asked_at <= lock->attempt.asked_at + more)
			until = usec_max(until, p->asked_at + took + more);
	}
	if (s->now >= until)
		return false;
	*wake_at = usec_min(*wake_at, until);
	return true;
}

static bool retry(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;

	return wakeup_retries(s, attempt_op(lock),
		patience_for_holder(&lock->patience, &lock->policy, s->now), wake_at);
}

/* A node needs no release if its refusal is heard, and a client that waits has the time for it. */
static void refuse(struct step *s, usec *wake_at)
{
	if (s->lock->policy.wait > 0 && others_are_due(s, LEAST_HEARING_REFUSED, wake_at))
		return;
	fail_attempt(s, REFUSAL_BUSY);
}

void attempt_count(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	bool looks = lock->policy.only_looks;
	int yes, no, open;
	enum reserved reserved = RESERVED_NO;

	attempt_ask(s, wake_at);
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
		refuse(s, wake_at);
	} else if (yes >= quorum && lock->contest.nodes == 0 && lock->policy.fingerprint[0] &&
		   others_are_due(s, LEAST_HEARING, wake_at)) {
		return;
	} else if (yes >= quorum && lock->contest.nodes) {
		if (looks || (rivals_are_heard(s, yes, open, wake_at) && !retry(s, wake_at)))
			fail_attempt(s, REFUSAL_BUSY);
	} else if (yes >= quorum && looks) {
		/* `redlock wait` begins the quarantine of a restarted node (docs/nodes.md), so its
		 * first look hears every node that may answer. Later ones do not: the key may be
		 * reserved for this client, and the next waiter needs it. */
		if (open > 0 && lock->stamp.round == 1)
			return;
		lock->refusal = REFUSAL_NONE;
		release_begin(s);
	} else if (yes >= quorum && lock->policy.wants_fence) {
		choose_fence(s);
	} else if (yes >= quorum) {
		hold(s);
	} else if (yes + no >= quorum && rivals_are_heard(s, yes, open, wake_at)) {
		if (!retry(s, wake_at))
			refuse(s, wake_at);
	} else if (yes + no + open < quorum) {
		/* A majority of clean replies, which may still arrive, would mean "busy" instead.
		 */
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
}
