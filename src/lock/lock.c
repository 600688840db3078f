#include "lock/lock.h"

#include "lock/attempt.h"
#include "lock/fingerprint.h"
#include "lock/release.h"
#include "lock/step.h"

#include <assert.h>
#include <string.h>

/* Between the two extension rounds in which a majority must deny the key. */
#define SECOND_LOOK (25 * USEC_MSEC)

void lock_init(struct lock *lock, const struct policy *policy)
{
	assert(policy->nodes >= 1 && policy->nodes <= NODES_MAX);
	assert(policy->keys >= 1 && policy->keys <= KEYS_MAX);
	assert(policy->limit <= LIMIT_MAX && (policy->keys == 1 || !policy_is_semaphore(policy)));
	assert(policy->ttl > policy->drift + policy->safety_margin);
	memset(lock, 0, offsetof(struct lock, tally));
	lock->policy = *policy;
	tally_init(&lock->tally, policy->nodes);
	lock->tenure.worst_margin = NEVER;
	lock->waiter.ticket = policy->ticket;
}

enum lock_state lock_state(const struct lock *lock)
{
	static const enum lock_state states[] = {
		[PHASE_IDLE] = LOCK_TRYING,
		[PHASE_CONNECT] = LOCK_TRYING,
		[PHASE_ASK] = LOCK_TRYING,
		[PHASE_FENCE] = LOCK_TRYING,
		[PHASE_PAUSE] = LOCK_TRYING,
		[PHASE_HELD] = LOCK_HELD,
		[PHASE_EXPIRING] = LOCK_EXPIRING,
		[PHASE_LOST] = LOCK_LOST,
		[PHASE_RELEASE] = LOCK_RELEASING,
		[PHASE_OVER] = LOCK_OVER,
	};

	return states[lock->phase];
}

bool lock_is_pausing(const struct lock *lock)
{
	return lock->phase == PHASE_PAUSE;
}

/* The node answered that our key is not there, after a majority had confirmed the lock in this
 * round. */
static bool needs_repair(const struct lock *lock, int node)
{
	enum vote vote = lock->tally.ballot[node].vote;

	return lock->tenure.confirmed == lock->stamp.round &&
	       (vote == VOTE_GONE || vote == VOTE_FOREIGN);
}

usec lock_extend_at(const struct lock *lock)
{
	usec at = lock->tenure.extend_at;

	for (int i = 0; i < lock->policy.nodes; i++)
		if (needs_repair(lock, i))
			at = usec_min(at, lock->peer[i].repair_at);
	return at;
}

bool lock_awaits_replies(const struct lock *lock)
{
	bool awaits = false;

	for (int i = 0; i < lock->policy.nodes; i++)
		awaits |= lock->peer[i].asked != OP_NONE;
	return awaits;
}

int lock_other_limit(const struct lock *lock)
{
	int nodes;

	return policy_is_semaphore(&lock->policy) ? tally_holder(&lock->tally, &nodes).limit : 0;
}

bool lock_is_contested(const struct lock *lock)
{
	const struct tally *t = &lock->tally;
	int yes = lock->policy.only_looks ? tally_count(t, VOTE_GONE) : tally_yes(t);

	return lock->loss == LOSS_CONTESTED ||
	       (lock->refusal == REFUSAL_BUSY && lock->contest.nodes &&
		       yes >= policy_quorum(&lock->policy));
}

const struct reply *lock_contested_by(const struct lock *lock)
{
	const struct tally *t = &lock->tally;

	for (int i = 0; i < lock->policy.nodes && lock_is_contested(lock); i++)
		if (lock->contest.nodes >> i & 1 && t->ballot[i].reply.vote == VOTE_FOREIGN)
			return &t->ballot[i].reply;
	return NULL;
}

int lock_unreleased(const struct lock *lock, usec *until)
{
	int n = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct peer *p = &lock->peer[i];

		if (!p->pending || (lock->releasing.is_flushed && p->releasing))
			continue;
		*until = n++ ? usec_max(*until, p->pending_until) : p->pending_until;
	}
	return n;
}

bool lock_is_released(const struct lock *lock)
{
	return lock->policy.nodes - lock_unreleased(lock, &(usec){0}) >=
	       policy_quorum(&lock->policy);
}

/* Does the request of this round still serve? */
static bool is_current(const struct lock *lock, uint32_t round)
{
	return round == lock->stamp.round &&
	       (lock->phase == PHASE_ASK || lock->phase == PHASE_FENCE ||
		       lock->phase == PHASE_HELD);
}

/* The votes of the attempt bring the record; later rounds do not. Of several records, the one with
 * the latest start counts. */
static void note_record(struct lock *lock, int node, const struct reply *reply, usec now)
{
	struct last_run *last = &lock->last_run;
	bool is_same = last->known && strcmp(last->text, reply->text) == 0;

	last->granted |= 1u << node;
	if (!reply->has_record)
		return;
	if (reply->record_age == NEVER) {
		last->is_void |= 1u << node;
		return;
	}
	if (is_same)
		last->known |= 1u << node;
	if (last->known && reply->record_age >= last->age)
		return;
	if (!is_same)
		last->known = 1u << node;
	last->age = reply->record_age;
	last->started = now - reply->record_age;
	memcpy(last->text, reply->text, reply->text_len + 1);
}

/* A yes may be no vote because of the server that gives it. The key is set there all the same. An
 * extension is a yes of a server that has our key, whatever else it forgot. */
static void judge_server(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct reply *reply = &lock->tally.ballot[ev->node].reply;
	bool is_guarded = (ev->op == OP_ACQUIRE || ev->op == OP_REPAIR) && !reply->is_unguarded;
	usec left;

	/* An error may be another server's. */
	if (reply->run_id[0] || reply->vote != VOTE_ABSENT)
		tally_identify(&lock->tally, ev->node, reply->run_id, s->now);
	if (!reply->run_id[0] || reply->vote != VOTE_YES ||
		!tally_doubts(&lock->tally, ev->node, lock->policy.quarantine, s->now, &left))
		return;
	if (left == 0) {
		*reply = reply_absent(REASON_SEVERAL, NULL);
	} else if (is_guarded) {
		*reply = reply_absent(REASON_QUARANTINE, NULL);
		reply->pttl = left;
	}
}

/* If the two lists were safe, a majority of the other client would have refused this one. It may
 * only try, or have died: so a holder asks once more before it ends; its release asks, too. A node
 * that does not answer does not change what it said before. */
static void note_contest(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct contest *c = &lock->contest;
	const struct reply *reply = ev->reply;

	if (reply->vote == VOTE_ABSENT)
		return;
	if (reply->vote != VOTE_FOREIGN || reply->is_reserved ||
		!fingerprint_misses(
			lock->policy.fingerprint, reply->text, reply->text_len, NULL, NULL)) {
		c->nodes &= ~(1u << ev->node);
		return;
	}
	if (c->nodes == 0) {
		c->since = lock->stamp.round;
		c->look_at = s->now + lock->policy.node_timeout / 4;
	}
	c->nodes |= 1u << ev->node;
	if (ev->round <= c->since || !(lock->phase == PHASE_HELD || lock->releasing.asking))
		return;
	lock->loss = LOSS_CONTESTED;
	if (lock->phase == PHASE_HELD)
		lock->phase = PHASE_EXPIRING;
	lock->tenure.asking = false;
}

/* Each attempt has a new token, and tells it to a node once, and again by repairs: a node that has
 * it before that is another node's server, or has its data. */
static bool is_of_a_copy(
	const struct lock *lock, const struct peer *peer, enum op op, const struct reply *reply)
{
	return op == OP_ACQUIRE  ? reply->is_partial
	       : op == OP_REPAIR ? reply->is_partial && !peer->may_have_token
				 : op == OP_EXTEND && peer->was_sent != lock->stamp.attempt;
}

static void take_reply(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct ballot *b = &lock->tally.ballot[ev->node];
	const struct peer *peer = &lock->peer[ev->node];
	const struct reply *reply = ev->reply;

	if (peer_lacks_script(s, ev)) {
		if (is_current(lock, ev->round))
			peer_send_again(s, ev->node, ev->op, reply->reason == REASON_UNSURE);
		return;
	}
	if (peer_release_again(s, ev) || peer_queue_replied(s, ev))
		return;
	if (op_releases(ev->op)) {
		release_vote(s, ev);
		if (lock->releasing.asking)
			note_contest(s, ev);
		lock->releasing.stored |= (unsigned)reply->is_stored << ev->node;
		if (reply->vote == VOTE_ABSENT)
			b->reply = *reply;
		peer_replied(s, ev, reply);
		return;
	}
	b->reply = *reply;
	/* A grant without the fencing number that was asked for is no grant. */
	if (lock->policy.wants_fence && ev->op == OP_ACQUIRE && reply->vote == VOTE_YES &&
		reply->fence == 0)
		b->reply = reply_absent(REASON_GARBAGE, NULL);
	reply = &b->reply;
	judge_server(s, ev);
	note_contest(s, ev);
	if (reply->vote == VOTE_YES && is_of_a_copy(lock, peer, ev->op, reply))
		tally_note_copy(&lock->tally, ev->node);
	/* Only the first reply in this round is a vote: not one to an earlier round, not a late
	 * one, and not that of a repair, which would let a lock that a majority forgot confirm
	 * itself. */
	if (ev->round == lock->stamp.round && ev->op != OP_REPAIR && b->vote == VOTE_NONE)
		b->vote = reply->vote;
	if (lock->policy.wants_record && ev->op == OP_ACQUIRE && ev->round == lock->stamp.attempt &&
		reply->vote == VOTE_YES)
		note_record(lock, ev->node, reply, s->now);
	peer_replied(s, ev, ev->reply);
}

/* ---- time ---- */

/* Called on EV_TIME only: a reply that has arrived is not late, however long this machine slept
 * before it read the reply. */
static void overdue(struct step *s)
{
	for (int i = 0; i < s->lock->policy.nodes; i++)
		peer_overdue(s, i);
}

/* ---- held ---- */

/* This process did not run during all of the time in which a node could answer. */
static bool was_away(const struct lock *lock, usec now)
{
	return now >=
	       lock->tenure.valid_until - lock->policy.safety_margin + lock->policy.node_timeout;
}

static void look_at_expiry(struct lock *lock, usec now)
{
	if (lock->phase == PHASE_HELD &&
		now >= lock->tenure.valid_until - lock->policy.safety_margin) {
		lock->phase = PHASE_EXPIRING;
		lock->loss = was_away(lock, now) ? LOSS_STOOD_STILL : LOSS_EXPIRED;
		lock->tenure.asking = false;
	}
	if (lock->phase == PHASE_EXPIRING && now >= lock->tenure.valid_until)
		lock->phase = PHASE_LOST;
}

static void tally_extension(struct step *s)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	int yes = tally_yes(&lock->tally), no = tally_no(&lock->tally),
	    open = peer_count_open(lock);
	usec retry = usec_min(usec_max(lock->policy.ttl / 30, 10 * USEC_MSEC), USEC_SEC / 2);

	if (yes >= quorum) {
		/* The validity has not ended yet: look_at_expiry() was called before. */
		lock->tenure.worst_margin =
			usec_min(lock->tenure.worst_margin, lock->tenure.valid_until - s->now);
		lock->tenure.valid_until = lock_valid_until(&lock->policy, lock->tally.began);
		lock->tenure.extend_at = lock->tally.began + lock->policy.ttl / 3;
		lock->tenure.confirmed = lock->stamp.round;
		lock->tenure.extensions++;
		lock->tenure.asking = lock->tenure.denied = lock->tenure.unconfirmed = false;
	} else if (no >= quorum && lock->tenure.denied) {
		lock->phase = PHASE_EXPIRING;
		lock->loss = LOSS_DENIED;
		lock->tenure.asking = false;
	} else if (no >= quorum) {
		lock->tenure.denied = true;
		lock->tenure.asking = false;
		lock->tenure.extend_at = s->now + SECOND_LOOK;
	} else if (yes + open < quorum && no + open < quorum) {
		lock->tenure.denied = lock->tenure.asking = false;
		lock->tenure.unconfirmed = true;
		lock->tenure.extend_at = s->now + retry + (usec)(s->random % (uint64_t)retry);
	}
}

/* Sets the key on nodes that refused it or lost it, so that restarts far apart do not use up the
 * majority; only after a majority confirmed in this round that the lock never lapsed. Another
 * client may have the key there: the release of the holder before is on its way, or a waiter has
 * the key until its attempt fails. So the node is asked again, later and later, until the next
 * round. */
static void repair(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		if (!needs_repair(lock, i) || p->link != LINK_UP || peer_in_flight(p))
			continue;
		if (s->now >= p->repair_at)
			peer_send(s, i, OP_REPAIR);
		else
			*wake_at = usec_min(*wake_at, p->repair_at);
	}
}

static void keep(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;

	if (lock->contest.nodes)
		lock->tenure.extend_at = usec_min(lock->tenure.extend_at, lock->contest.look_at);
	if (!lock->tenure.asking && s->now >= lock->tenure.extend_at) {
		step_begin_round(s);
		lock->tenure.asking = true;
		lock->contest.look_at = NEVER;
	}
	if (lock->stamp.round == lock->stamp.attempt) { /* no extension is due */
		attempt_ask(s, wake_at);
		repair(s, wake_at);
		return;
	}
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		if (lock->tenure.asking && peer_is_stuck(s, i))
			peer_close(s, i);
		if (lock->tenure.asking && p->link == LINK_DOWN &&
			p->opened_in != lock->stamp.round)
			peer_open(s, i);
		if (p->link != LINK_UP || peer_in_flight(p) || p->release_refused)
			continue;
		if (peer_has_old_token(p, lock->stamp.attempt))
			peer_send(s, i, OP_UNDO);
		else if (p->asked_in != lock->stamp.round)
			peer_send(s, i, OP_EXTEND);
	}
	if (lock->tenure.asking)
		tally_extension(s);
	repair(s, wake_at);
}

/* ---- the machine ---- */

static void take_in(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;

	switch (ev->kind) {
	case EV_START:
		assert(lock->phase == PHASE_IDLE);
		patience_begin(&lock->patience, s->now);
		lock->wait_until = patience_until(&lock->patience, &lock->policy);
		step_begin_round(s);
		lock->phase = PHASE_CONNECT;
		break;
	case EV_LINK_SHAKES:
	case EV_LINK_UP:
	case EV_LINK_DOWN:
		peer_link_event(s, ev);
		break;
	case EV_REPLY:
		take_reply(s, ev);
		waiter_replied(s, ev);
		release_note_waiters(s, ev);
		if (step_holds(s))
			wakeup_held(s);
		break;
	case EV_WAKE:
		if (lock->phase != PHASE_OVER)
			wakeup_arrived(s, ev);
		break;
	case EV_TIME:
		break;
	case EV_EXTEND:
		if (lock->phase == PHASE_HELD && !lock->tenure.asking)
			lock->tenure.extend_at = usec_min(lock->tenure.extend_at, s->now);
		break;
	case EV_RELEASE:
		if (lock->phase < PHASE_RELEASE) {
			/* Only a lock that is held, and that no majority denied, is left to expire.
			 */
			lock->releasing.leave_for =
				lock->phase == PHASE_HELD && !lock->tenure.denied ? ev->leave_for
										  : 0;
			lock->releasing.stores = ev->stores;
			release_begin(s);
		}
		break;
	}
}

static usec next_due(const struct step *s)
{
	usec at = NEVER;

	for (int i = 0; i < s->lock->policy.nodes; i++)
		at = usec_min(at, peer_due(&s->lock->peer[i], s->lock->policy.node_timeout));
	return at;
}

static usec advance(struct step *s)
{
	struct lock *lock = s->lock;
	usec wake_at = NEVER;

	switch (lock->phase) {
	case PHASE_IDLE:
	case PHASE_OVER:
		return NEVER;
	case PHASE_CONNECT:
		attempt_connect(s, &wake_at);
		break;
	case PHASE_ASK:
		attempt_count(s, &wake_at);
		break;
	case PHASE_FENCE:
		attempt_count_fence(s, &wake_at);
		break;
	case PHASE_PAUSE:
		if (!waiter_plan(s, lock->refusal == REFUSAL_BUSY, &wake_at))
			break;
		step_begin_round(s);
		lock->phase = PHASE_CONNECT;
		break;
	case PHASE_HELD:
		keep(s, &wake_at);
		wake_at = usec_min(wake_at, lock->tenure.valid_until - lock->policy.safety_margin);
		if (!lock->tenure.asking)
			wake_at = usec_min(wake_at, lock->tenure.extend_at);
		break;
	case PHASE_EXPIRING:
		wake_at = lock->tenure.valid_until;
		break;
	case PHASE_LOST:
		break;
	case PHASE_RELEASE:
		release_advance(s, &wake_at);
		break;
	}
	return usec_min(wake_at, next_due(s));
}

void lock_step(struct lock *lock, const struct event *ev, struct update *up)
{
	struct step s = {.lock = lock,
		.now = ev->now,
		.random = ev->random,
		.token = ev->token,
		.is_timeout = ev->kind == EV_TIME,
		.up = up};
	enum phase phase;

	up->count = 0;
	/* Check the expiry before the event: no reply revives a lock that has expired. */
	look_at_expiry(lock, s.now);
	take_in(&s, ev);
	if (ev->kind == EV_TIME)
		overdue(&s);
	do {
		phase = lock->phase;
		up->wake_at = advance(&s);
	} while (lock->phase != phase);
}
