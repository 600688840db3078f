#include "lock/lock.h"

#include "lock/step.h"

#include <assert.h>
#include <string.h>

/* What a node gets at least that is not ready when a majority is. */
#define LEAST_GRACE 200

/* Between the first and the second look at a majority that denies us. */
#define SECOND_LOOK (25 * USEC_MSEC)

#define RELEASE_TIME USEC_SEC

enum phase {
	PHASE_IDLE,
	PHASE_GATHER, /* connections are being made; nothing of this round was sent */
	PHASE_ASK, /* the votes of an attempt are coming in */
	PHASE_FENCE, /* a majority granted it, and is told its fencing number */
	PHASE_PAUSE, /* between two attempts */
	PHASE_KEEP, /* held */
	PHASE_LET_GO, /* releasing for good */
	PHASE_DONE,
};

/* The rule of the algorithm. `started` was read before the first byte of the round left, so every
 * node's key lives at least until started + ttl by that node's clock. */
static usec valid_until(const struct policy *p, usec started)
{
	return started + p->ttl - p->drift;
}

void lock_init(struct lock *lock, const struct policy *policy)
{
	assert(policy->nodes >= 1 && policy->nodes <= NODES_MAX);
	assert(policy->keys >= 1 && policy->keys <= KEYS_MAX);
	assert(policy->slots <= SLOTS_MAX && (policy->keys == 1 || !policy_has_slots(policy)));
	assert(policy->ttl > policy->drift + policy->safety_margin);
	memset(lock, 0, sizeof(*lock));
	lock->policy = *policy;
	lock->line = -1;
	tally_init(&lock->tally, policy->nodes);
	waiter_init(&lock->waiter);
	lock->worst_margin = NEVER;
}

bool lock_is_pausing(const struct lock *lock)
{
	return lock->phase == PHASE_PAUSE;
}

usec lock_extend_at(const struct lock *lock)
{
	return lock->extend_at;
}

int lock_unreleased(const struct lock *lock, usec *until)
{
	int n = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct peer *m = &lock->peer[i];

		if (!m->pending)
			continue;
		*until = n++ ? usec_max(*until, m->pending_until) : m->pending_until;
	}
	return n;
}

/* The first answer to the release of a held lock is a vote: did the key last to the end? A repeated
 * release may meet its own success, and after the validity the key may have expired. */
static void note_end(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct ballot *b = &lock->tally.ballot[ev->node];

	if (!lock->asking || ev->round != lock->stamp.round || ev->op == OP_UNDO ||
		b->vote != VOTE_NONE || s->now >= lock->valid_until)
		return;
	/* The seat's hand-over may have deleted the key first. */
	if (waiter_may_have_released(s, ev->node) && ev->reply->vote != VOTE_YES)
		return;
	b->vote = ev->reply->vote;
	b->reply = *ev->reply;
}

static void take_reply(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct ballot *b = &lock->tally.ballot[ev->node];
	const struct reply *reply = ev->reply;

	if (op_releases(ev->op)) {
		note_end(s, ev);
		if (reply->vote == VOTE_ABSENT)
			b->reply = *reply;
		peer_replied(s, ev, reply);
		return;
	}
	b->reply = *reply;
	/* A grant without the number that was asked for is none. */
	if (lock->policy.wants_fence && ev->op == OP_ACQUIRE && reply->vote == VOTE_YES &&
		reply->fence == 0)
		b->reply = reply_absent(REASON_GARBAGE, NULL);
	reply = &b->reply;
	if (reply->run_id[0])
		tally_identify(&lock->tally, ev->node, reply->run_id);
	/* Only the first word of this round counts: not an earlier round's, not a late one, and not
	 * a heal's, which would let a lock that a majority forgot confirm itself. */
	if (ev->round == lock->stamp.round && ev->op != OP_REPAIR && b->vote == VOTE_NONE)
		b->vote = reply->vote;
	peer_replied(s, ev, reply);
	if (reply->vote == VOTE_YES)
		waiter_granted(s, ev, reply, lock->phase == PHASE_ASK);
}

/* ---- time ---- */

/* Time is called only when nothing else has come in: an answer that is here is never late, however
 * long this machine slept before it looked. */
static void overdue(struct step *s)
{
	waiter_overdue(s);
	for (int i = 0; i < s->policy->nodes; i++)
		peer_overdue(s, i);
}

/* ---- a round ---- */

static void begin_votes(struct step *s)
{
	struct lock *lock = s->lock;

	lock->stamp.round++;
	tally_begin(&lock->tally, s->now);
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_begin_round(&lock->peer[i]);
}

static void begin_round(struct step *s)
{
	begin_votes(s);
	waiter_begin_round(s);
}

/* ---- trying ---- */

/* The release of a held lock is a round of its own, in which each node is asked for a vote. For a
 * lock that was not held, the votes of the last attempt stay: they tell why. */
static void begin_release(struct step *s)
{
	struct lock *lock = s->lock;

	lock->asking = lock->state == LOCK_HELD && lock->tally.duplicate[0] < 0;
	if (lock->asking)
		begin_votes(s);
}

static void let_go(struct step *s)
{
	struct lock *lock = s->lock;

	waiter_leave(s);
	begin_release(s);
	lock->tally.began = s->now;
	lock->tally.enough_at = 0;
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_begin_round(&lock->peer[i]);
	lock->release_until = s->now + usec_min(RELEASE_TIME, lock->policy.ttl / 2);
	lock->state = LOCK_RELEASING;
	lock->phase = PHASE_LET_GO;
	/* A node that never had the key is told as well: others may wait there. */
	for (int i = 0; i < lock->policy.nodes && lock->proved && !lock->leave_for; i++) {
		struct peer *m = &lock->peer[i];

		if (!m->pending && m->link == LINK_UP && !peer_in_flight(m))
			peer_send(s, i, OP_HAND_OFF);
	}
}

/* This attempt asked the others without this node, which was not ready. The next attempt may have
 * it. */
static bool was_left_out(const struct lock *lock, const struct peer *m)
{
	return lock->phase != PHASE_GATHER && m->asked_in != lock->stamp.round &&
	       (m->link == LINK_OPENING ||
		       (m->link == LINK_UP && !peer_is_late(m) && !m->release_refused));
}

/* With the nodes that were left out there may be a quorum: the next attempt follows at once, and
 * waits for all nodes that are not ready, for a node time-out at most. It is the only one. */
static bool needs_those_left_out(const struct lock *lock)
{
	int gone = 0;

	for (int i = 0; i < lock->policy.nodes; i++)
		gone += lock->tally.ballot[i].vote == VOTE_ABSENT &&
			!was_left_out(lock, &lock->peer[i]);
	return !lock->waits_for_all && lock->policy.nodes - gone >= policy_quorum(&lock->policy);
}

static void fail_attempt(struct step *s, enum refusal refusal)
{
	struct lock *lock = s->lock;
	bool is_busy = refusal == REFUSAL_BUSY, is_moving, gives_up;
	/* Those who gave way to us wait for a word. If there is a holder, or a rival to give way
	 * to, it is theirs to say. */
	enum op op;

	lock->waits_for_all = refusal == REFUSAL_NO_QUORUM && needs_those_left_out(lock);
	is_moving = semaphore_moves_on(s, is_busy, lock->wait_until) || lock->waits_for_all;
	gives_up = refusal == REFUSAL_DUPLICATE || (s->now >= lock->wait_until && !is_moving);
	op = gives_up || (lock->rivals.retries > 0 && rivals_split_votes(s)) ? OP_HAND_OFF
									     : OP_UNDO;
	lock->refusal = refusal;
	if (is_busy)
		waiter_refused(s);
	/* Behind its SET on the same connection, the release cannot overtake it. */
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];

		if (m->pending && m->link == LINK_UP && !m->releasing)
			peer_send(s, i, op);
	}
	if (gives_up) {
		let_go(s);
		return;
	}
	lock->phase = PHASE_PAUSE;
	waiter_pause(s, is_busy, is_moving, lock->wait_until);
}

static enum op attempt_op(const struct lock *lock)
{
	return lock->policy.only_looks ? OP_LOOK : OP_ACQUIRE;
}

static void ask(struct step *s)
{
	struct lock *lock = s->lock;

	semaphore_begin(s);
	lock->stamp.attempt = lock->stamp.round;
	lock->valid_until = valid_until(&lock->policy, s->now);
	lock->phase = PHASE_ASK;
	lock->asked_at = s->now;
	lock->tally.enough_at = 0;
	lock->rivals = (struct rivals){0};
	s->up->new_token = true;
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_leave_out(s, i);
	lock->line = waiter_begin(s, lock->refusal == REFUSAL_BUSY && s->now < lock->wait_until);
	for (int i = 0; i < lock->policy.nodes; i++)
		if (peer_is_ready(&lock->peer[i]) && (lock->line < 0 || lock->line == i))
			peer_send(s, i, attempt_op(lock));
}

/* The line granted it, or does not decide. False if there is nobody else to ask. */
static bool ask_the_rest(struct step *s)
{
	struct lock *lock = s->lock;
	bool asked = false;

	lock->line = -1;
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_NONE) {
			peer_send(s, i, attempt_op(lock));
			asked = true;
		}
	return asked;
}

/*
 * An attempt asks only nodes whose connection stands when it begins, so that no request of it can
 * reach a node that restarted in the meantime. A node whose last release is unconfirmed is paid
 * first: it then never carries more than one token of ours.
 */
static void gather(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	int ready = 0, pending = 0;
	/* To pay a debt and to connect, one after the other, is not waited for twice. */
	usec until = lock->tally.began + lock->policy.node_timeout;
	/* Who goes on without a pause waits for the last answers as long as it did for the others.
	 */
	usec least = semaphore_is_moving(s)
			     ? usec_max(LEAST_GRACE, lock->tally.began - lock->asked_at)
			     : LEAST_GRACE;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];

		if (peer_is_hopeless(s, i))
			peer_close(s, i);
		if (m->link == LINK_DOWN && m->opened_in != lock->stamp.round)
			peer_open(s, i);
		if (m->link == LINK_UP && !peer_in_flight(m) && m->pending && !m->release_refused)
			peer_send(s, i, OP_UNDO);
		if (peer_is_ready(m))
			ready++;
		else if ((s->now < until || !s->is_timeout) && peer_may_answer(m))
			pending++;
	}
	if (pending > 0)
		*wake_at = until;
	/* What is wrong with the last ones is about to be known, too. */
	if (ready + pending < quorum &&
		(pending == 0 || step_grace_is_over(s, true, least, wake_at))) {
		for (int i = 0; i < lock->policy.nodes; i++)
			peer_leave_out(s, i);
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
	if (lock->phase == PHASE_GATHER && ready >= quorum &&
		(pending == 0 ||
			(!lock->waits_for_all && step_grace_is_over(s, true, least, wake_at))))
		ask(s);
}

static void hold(struct step *s)
{
	struct lock *lock = s->lock;

	if (s->now >= lock->valid_until - lock->policy.safety_margin) {
		fail_attempt(s, REFUSAL_SLOW);
		return;
	}
	waiter_held(s);
	lock->state = LOCK_HELD;
	lock->phase = PHASE_KEEP;
	lock->proved = lock->stamp.round;
	lock->refusal = REFUSAL_NONE;
	lock->extend_at = lock->tally.began + lock->policy.ttl / 3;
}

/*
 * The number is the largest that a node of our majority gave. If all gave the same, the next one to
 * come finds it in one of them. If not, they are told, so that it does; those that take it must be
 * a majority, and still have our key.
 */
static void choose_fence(struct step *s)
{
	struct lock *lock = s->lock;
	bool is_one = true;

	lock->fence = 0;
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_YES &&
			lock->tally.ballot[i].reply.fence != lock->fence) {
			is_one &= lock->fence == 0;
			lock->fence = lock->fence > lock->tally.ballot[i].reply.fence
					      ? lock->fence
					      : lock->tally.ballot[i].reply.fence;
		}
	if (is_one) {
		hold(s);
		return;
	}
	lock->phase = PHASE_FENCE;
}

static void tally_fence(struct step *s)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy), taken = 0, open = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];
		struct ballot *b = &lock->tally.ballot[i];

		/* Those that granted it late as well. */
		if (b->vote == VOTE_YES && m->fenced_in != lock->stamp.round && m->link == LINK_UP)
			peer_send(s, i, OP_FENCE);
		taken += m->fenced_in == lock->stamp.round;
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

static void tally_attempt(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	bool looks = lock->policy.only_looks;
	int yes, no, open;
	enum reserved reserved = RESERVED_NO;

	if (lock->line >= 0 && lock->tally.ballot[lock->line].vote == VOTE_NONE)
		return;
	if (lock->line >= 0 && tally_is_taken(&lock->tally, lock->line)) {
		fail_attempt(s, REFUSAL_BUSY);
		return;
	}
	if (lock->line >= 0 && ask_the_rest(s))
		return;
	yes = looks ? tally_count(&lock->tally, VOTE_GONE) : tally_yes(&lock->tally);
	no = looks ? tally_count(&lock->tally, VOTE_FOREIGN) : tally_no(&lock->tally);
	open = tally_count(&lock->tally, VOTE_NONE);
	if (lock->tally.duplicate[0] < 0)
		reserved = waiter_reserved(s, wake_at);
	if (lock->tally.duplicate[0] >= 0) {
		fail_attempt(s, REFUSAL_DUPLICATE);
	} else if (reserved == RESERVED_UNKNOWN) {
		return;
	} else if (reserved == RESERVED_FOR_OTHERS) {
		fail_attempt(s, REFUSAL_BUSY);
	} else if (yes >= quorum && looks) {
		lock->refusal = REFUSAL_NONE;
		let_go(s);
	} else if (yes >= quorum && lock->policy.wants_fence) {
		choose_fence(s);
	} else if (yes >= quorum) {
		hold(s);
	} else if (yes + no >= quorum && rivals_are_heard(s, yes, open, wake_at)) {
		if (!waiter_may_be_reserved(s, wake_at) &&
			!rivals_retry(s, &lock->rivals, attempt_op(lock), lock->asked_at,
				lock->wait_until, wake_at))
			fail_attempt(s, REFUSAL_BUSY);
	} else if (yes + no + open < quorum) {
		/* It failed; but "busy" and "no quorum" are told apart by a majority of clean
		 * answers, which may still come in. */
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
}

/* ---- held ---- */

/* Did we miss all of the time in which a node may answer? */
static bool was_away(const struct lock *lock, usec now)
{
	return now >= lock->valid_until - lock->policy.safety_margin + lock->policy.node_timeout;
}

static void look_at_expiry(struct lock *lock, usec now)
{
	if (lock->state == LOCK_HELD && now >= lock->valid_until - lock->policy.safety_margin) {
		lock->state = LOCK_EXPIRING;
		lock->loss = was_away(lock, now) ? LOSS_STOOD_STILL : LOSS_EXPIRED;
		lock->asking = false;
	}
	if (lock->state == LOCK_EXPIRING && now >= lock->valid_until)
		lock->state = LOCK_LOST;
}

/* Nodes that may still vote in this round. */
static int count_open(const struct lock *lock)
{
	int n = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct peer *m = &lock->peer[i];
		const struct ballot *b = &lock->tally.ballot[i];

		n += b->vote == VOTE_NONE && peer_may_answer(m);
	}
	return n;
}

static void tally_extension(struct step *s)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	int yes = tally_yes(&lock->tally), no = tally_no(&lock->tally), open = count_open(lock);
	usec retry = usec_min(usec_max(lock->policy.ttl / 30, 10 * USEC_MSEC), USEC_SEC / 2);

	if (yes >= quorum) {
		/* The old validity has not ended: look_at_expiry() came first. */
		lock->worst_margin = usec_min(lock->worst_margin, lock->valid_until - s->now);
		lock->valid_until = valid_until(&lock->policy, lock->tally.began);
		lock->extend_at = lock->tally.began + lock->policy.ttl / 3;
		lock->proved = lock->stamp.round;
		lock->extensions++;
		lock->asking = lock->denied = false;
	} else if (no >= quorum && lock->denied) {
		lock->state = LOCK_EXPIRING;
		lock->loss = LOSS_DENIED;
		lock->asking = false;
	} else if (no >= quorum) {
		lock->denied = true;
		lock->asking = false;
		lock->extend_at = s->now + SECOND_LOOK;
	} else if (yes + open < quorum && no + open < quorum) {
		lock->denied = lock->asking = false;
		lock->extend_at = s->now + retry + (usec)(s->random % (uint64_t)retry);
	}
}

static void keep(struct step *s)
{
	struct lock *lock = s->lock;

	if (lock->state != LOCK_HELD)
		return;
	if (!lock->asking && s->now >= lock->extend_at) {
		begin_round(s);
		lock->asking = true;
	}
	if (lock->stamp.round == lock->stamp.attempt)
		return; /* the rest of the acquisition's answers may come; nothing to ask yet */
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];

		if (lock->asking && peer_is_hopeless(s, i))
			peer_close(s, i);
		if (lock->asking && m->link == LINK_DOWN && m->opened_in != lock->stamp.round)
			peer_open(s, i);
		if (m->link != LINK_UP || peer_in_flight(m) || m->release_refused)
			continue;
		if (peer_has_old_token(m, lock->stamp.attempt))
			peer_send(s, i, OP_UNDO);
		else if (m->asked_in != lock->stamp.round)
			peer_send(s, i, OP_EXTEND);
	}
	if (lock->asking)
		tally_extension(s);
	/* Put the key back where it is gone, so that restarts far apart do not wear the lock away;
	 * only once a majority proved in this very round that the lock never lapsed. */
	for (int i = 0; i < lock->policy.nodes && lock->proved == lock->stamp.round; i++) {
		struct peer *m = &lock->peer[i];
		struct ballot *b = &lock->tally.ballot[i];

		if (b->vote == VOTE_GONE && m->link == LINK_UP && !peer_in_flight(m) &&
			m->repaired_in != lock->stamp.round) {
			peer_send(s, i, OP_REPAIR);
		}
	}
}

/* ---- the end ---- */

/* Can the open votes still tell whether a majority had the key to the end? */
static bool is_end_open(const struct lock *lock)
{
	int quorum = policy_quorum(&lock->policy), yes = tally_yes(&lock->tally),
	    no = tally_no(&lock->tally);

	return lock->asking && yes < quorum && no < quorum &&
	       (yes > no ? yes : no) + count_open(lock) >= quorum;
}

static void end(struct step *s)
{
	struct lock *lock = s->lock;

	for (int i = 0; i < lock->policy.nodes; i++)
		peer_may_land(s, i);
	if (lock->asking && tally_no(&lock->tally) >= policy_quorum(&lock->policy))
		lock->loss = LOSS_DENIED;
	lock->asking = false;
	lock->phase = PHASE_DONE;
	lock->state = LOCK_OVER;
}

static void release(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int settled = 0, waited_for = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];

		if (!m->pending) {
			settled++;
			continue;
		}
		peer_reopen(s, i);
		if (m->link == LINK_UP && !m->releasing && !m->release_refused)
			peer_send(s, i,
				peer_has_old_token(m, lock->stamp.attempt) ? OP_UNDO
				: lock->leave_for                          ? OP_EXPIRE
									   : OP_HAND_OFF);
		/* Whoever is late already has the release in its queue and is not waited for. */
		waited_for += peer_may_answer(m);
	}
	if ((s->is_timeout && s->now >= lock->release_until) ||
		(!waiter_is_leaving(s) && !is_end_open(lock) &&
			(waited_for == 0 ||
				step_grace_is_over(s, settled >= policy_quorum(&lock->policy),
					2 * USEC_MSEC, wake_at)))) {
		end(s);
		*wake_at = NEVER;
		return;
	}
	*wake_at = usec_min(*wake_at, lock->release_until);
}

/* ---- the machine ---- */

static void take_in(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;

	switch (ev->kind) {
	case EV_START:
		assert(lock->phase == PHASE_IDLE);
		lock->wait_until = usec_add(s->now, lock->policy.wait);
		begin_round(s);
		lock->phase = PHASE_GATHER;
		break;
	case EV_LINK_SHAKES:
		peer_shakes(s, ev->node, ev->reply->reason);
		break;
	case EV_LINK_UP:
		peer_up(s, ev->node);
		break;
	case EV_LINK_DOWN:
		/* What was in flight may have been carried out all the same: the debt stays. */
		peer_down(s, ev->node);
		tally_set_absent(&lock->tally, ev->node, ev->reply);
		break;
	case EV_REPLY:
		take_reply(s, ev);
		break;
	case EV_TIME:
		break;
	case EV_EXTEND:
		if (lock->phase == PHASE_KEEP && !lock->asking)
			lock->extend_at = usec_min(lock->extend_at, s->now);
		break;
	case EV_RELEASE:
		if (lock->phase < PHASE_LET_GO) {
			/* Only a lock that is held, and not in doubt, is left to expire. */
			lock->leave_for =
				lock->state == LOCK_HELD && !lock->denied ? ev->leave_for : 0;
			let_go(s);
		}
		break;
	}
}

static usec next_due(const struct step *s)
{
	usec at = waiter_due(s);

	for (int i = 0; i < s->policy->nodes; i++)
		at = usec_min(at, peer_due(&s->peer[i], s->policy->node_timeout));
	return at;
}

static usec advance(struct step *s)
{
	struct lock *lock = s->lock;
	usec wake_at = NEVER;

	switch ((enum phase)lock->phase) {
	case PHASE_IDLE:
	case PHASE_DONE:
		return NEVER;
	case PHASE_GATHER:
		gather(s, &wake_at);
		break;
	case PHASE_ASK:
		tally_attempt(s, &wake_at);
		break;
	case PHASE_FENCE:
		tally_fence(s);
		break;
	case PHASE_PAUSE:
		if (s->now >= lock->waiter.retry_at) {
			waiter_review(s);
			begin_round(s);
			lock->phase = PHASE_GATHER;
			break;
		}
		waiter_plan(s, lock->refusal == REFUSAL_BUSY, &wake_at);
		break;
	case PHASE_KEEP:
		keep(s);
		if (lock->state == LOCK_HELD)
			wake_at = usec_min(lock->asking ? NEVER : lock->extend_at,
				lock->valid_until - lock->policy.safety_margin);
		else if (lock->state == LOCK_EXPIRING)
			wake_at = lock->valid_until;
		break;
	case PHASE_LET_GO:
		release(s, &wake_at);
		break;
	}
	return usec_min(wake_at, next_due(s));
}

void lock_step(struct lock *lock, const struct event *ev, struct update *up)
{
	struct step s = {.policy = &lock->policy,
		.stamp = &lock->stamp,
		.tally = &lock->tally,
		.peer = lock->peer,
		.waiter = &lock->waiter,
		.semaphore = &lock->semaphore,
		.lock = lock,
		.up = up,
		.now = ev->now,
		.random = ev->random,
		.token = ev->token,
		.is_trying = lock->state == LOCK_TRYING,
		.is_timeout = ev->kind == EV_TIME};
	int phase;

	up->new_token = false;
	up->count = 0;
	/* Expiry is looked at before the event: no answer, however good, revives a lock that ended.
	 */
	look_at_expiry(lock, s.now);
	if (ev->target == TARGET_WAITER)
		waiter_event(&s, ev);
	else
		take_in(&s, ev);
	if (ev->kind == EV_TIME)
		overdue(&s);
	do {
		phase = lock->phase;
		up->wake_at = advance(&s);
	} while (lock->phase != phase);
}
