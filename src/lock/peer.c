#include "lock/peer.h"

#include "lock/step.h"

#define REOPEN_MAX 2

/* The delay between a refused attempt and the repair; each further one is twice as long as the one
 * before. */
#define REPAIR_AGAIN (100 * USEC_MSEC)

/* Of a release, at most, if no node is slow. */
#define RELEASE_TIME USEC_SEC

/* When a key that a node sets, or extends, by `landed` has expired there. The node's clock may be
 * as slow against ours as drift allows: ttl / (1 - drift / ttl), rounded up. */
static usec key_gone_at(const struct policy *p, usec landed)
{
	return landed + p->ttl + p->drift + p->drift / usec_max((p->ttl - p->drift) / p->drift, 1);
}

/* A release that is sent again needs a new connection: with TLS, connecting and the reply take four
 * times as long as a reply alone. */
usec peer_release_time(const struct policy *policy, const struct peer *p)
{
	usec slow = usec_min(8 * p->usual, 4 * policy->node_timeout);

	return usec_min(usec_max(RELEASE_TIME, slow), policy->ttl / 2);
}

/* A node is silent if a release takes longer than this. Half of the time that a release may take is
 * left for a second one: a reply may have been read late, and then the node seems slow. */
static usec silence(const struct lock *lock, const struct peer *p)
{
	usec all = peer_release_time(&lock->policy, p);
	usec bound = usec_min(usec_max(all / 4, 4 * p->usual), all / 2);

	return lock->phase == PHASE_RELEASE ? usec_min(bound, lock->policy.node_timeout)
					    : lock->policy.node_timeout;
}

void peer_begin_round(struct peer *p)
{
	p->connecting = 0;
	p->release_refused = p->was_silent = false;
	p->repairs = 0;
	p->repair_at = 0;
}

bool peer_is_ready(const struct peer *p)
{
	return p->link == LINK_UP && !peer_in_flight(p) && !p->pending;
}

int peer_count_open(const struct lock *lock)
{
	int n = 0;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct peer *p = &lock->peer[i];
		const struct ballot *b = &lock->tally.ballot[i];

		n += b->vote == VOTE_NONE && peer_may_answer(p);
	}
	return n;
}

/* ---- the connection ---- */

void peer_open(struct step *s, int node)
{
	struct peer *p = &s->lock->peer[node];

	step_act(s, ACT_OPEN, node);
	p->link = LINK_OPENING;
	p->missing = REASON_CONNECT_TIMEOUT;
	p->opened_at = s->now;
	p->opened_in = s->lock->stamp.round;
}

void peer_reopen(struct step *s, int node)
{
	struct peer *p = &s->lock->peer[node];

	if (p->link != LINK_DOWN || p->reopened >= REOPEN_MAX)
		return;
	p->reopened++;
	peer_open(s, node);
}

static void link_up(struct step *s, struct peer *p)
{
	p->link = LINK_UP;
	p->no_digests = false;
	p->connecting = s->now - p->opened_at;
	/* Connected in time, but this process did not run: how long connecting took is unknown. */
	if (p->connecting >= s->lock->policy.node_timeout)
		p->connecting = 0;
}

void peer_may_land(struct step *s, int node)
{
	struct peer *p = &s->lock->peer[node];

	if (p->asked && p->pending)
		p->pending_until = key_gone_at(&s->lock->policy, s->now);
}

static void link_down(struct step *s, int node)
{
	struct peer *p = &s->lock->peer[node];

	peer_may_land(s, node);
	p->link = LINK_DOWN;
	/* An extension may land after the request that sets the key. */
	if (p->asked == OP_ACQUIRE || p->asked == OP_REPAIR ||
		(p->asked == OP_EXTEND && s->now < p->late_key_until))
		p->late_key_until = key_gone_at(&s->lock->policy, s->now);
	p->asked = OP_NONE;
	p->releasing = false;
	p->subscribed = 0;
}

void peer_close(struct step *s, int node)
{
	step_act(s, ACT_CLOSE, node);
	link_down(s, node);
}

/* The server refused the request of an attempt, because another one decides for the node: another
 * address, or the name by now, may lead there. The node is asked once more in this attempt: what it
 * refused, it has not stored. */
static bool follow(struct step *s, const struct event *ev)
{
	struct peer *p = &s->lock->peer[ev->node];

	if (s->lock->phase != PHASE_ASK || p->asked_in != s->lock->stamp.round ||
		p->followed_in == s->lock->stamp.round ||
		s->lock->tally.ballot[ev->node].vote != VOTE_NONE ||
		!reply_is_elsewhere(ev->reply) || ev->reply->reason == REASON_LEFT)
		return false;
	p->followed_in = s->lock->stamp.round;
	p->asked_in = 0;
	p->pending = 0;
	peer_open(s, ev->node);
	return true;
}

void peer_link_event(struct step *s, const struct event *ev)
{
	struct peer *p = &s->lock->peer[ev->node];

	if (ev->kind == EV_LINK_SHAKES) {
		p->missing = ev->reply->reason;
	} else if (ev->kind == EV_LINK_UP) {
		link_up(s, p);
	} else {
		usec late_key_until = p->late_key_until;

		link_down(s, ev->node);
		/* The name leads to another server: no request sets a key there later. */
		if (reply_is_elsewhere(ev->reply))
			p->late_key_until = late_key_until;
		if (!follow(s, ev))
			tally_set_absent(&s->lock->tally, ev->node, ev->reply);
	}
}

/* ---- requests ---- */

/* The request may be carried out, or extend a key that landed late, whatever becomes of the reply:
 * so the release is pending from now on. */
static void expect_release(struct step *s, struct peer *p, enum op op)
{
	struct lock *lock = s->lock;

	if (op == OP_LOOK || op == OP_FENCE)
		return;
	if (op != OP_EXTEND) {
		p->was_sent = lock->stamp.attempt;
		p->slot = lock->stamp.slot;
	}
	p->may_have_token = p->pending == lock->stamp.attempt;
	if (p->was_sent == lock->stamp.attempt)
		p->pending = lock->stamp.attempt;
	p->pending_until = key_gone_at(&lock->policy, s->now);
}

/* Requests that are sent often, and that nothing depends on before their reply is read; and the
 * releases that OP_DELETE can follow if the client ends before it learns that the node did not know
 * the script. OP_DELETE knows no readers, and stores no record. */
static bool goes_by_digest(const struct lock *lock, const struct peer *p, enum op op)
{
	return lock->policy.by_digest && !p->no_digests &&
	       (op == OP_ACQUIRE || op == OP_EXTEND || op == OP_LOOK || op == OP_JOIN ||
		       (op == OP_UNDO && !lock->policy.is_shared) ||
		       (op == OP_HAND_OFF && !lock->policy.is_shared && !lock->releasing.stores));
}

static void send_request(struct step *s, int node, enum op op, bool by_digest)
{
	struct peer *p = &s->lock->peer[node];
	struct action *a = step_act(s, ACT_SEND, node);

	a->op = op;
	a->by_digest = p->by_digest = by_digest;
	a->watches = p->watches;
	a->overrides = p->overrides;
	p->asked = op;
	p->asked_at = s->now;
	expect_release(s, p, op);
}

static void begin_request(struct step *s, int node, enum op op)
{
	struct lock *lock = s->lock;
	struct peer *p = &lock->peer[node];

	assert(!peer_in_flight(p));
	p->late = false;
	p->asked_in = lock->stamp.round;
	/* The time-out covers connecting and answering. */
	p->due = s->now + lock->policy.node_timeout - p->connecting;
	p->was_resent = false;
	/* The end of an earlier connection is no answer to this request. */
	if (op != OP_REPAIR)
		lock->tally.ballot[node].vote = VOTE_NONE;
	else
		p->repair_at = NEVER;
	if (op == OP_ACQUIRE) {
		p->late_key_until = 0;
		p->repairs = 0;
	}
	send_request(s, node, op, goes_by_digest(lock, p, op));
}

static void send_release(struct step *s, int node, enum op op)
{
	struct peer *p = &s->lock->peer[node];
	struct action *a = step_act(s, ACT_SEND, node);

	a->op = op;
	/* After a connection that broke, NOSCRIPT may not arrive. */
	a->by_digest = p->reopened == 0 && goes_by_digest(s->lock, p, op);
	if (p->pending) /* maybe of an earlier attempt, for another slot */
		a->slot = p->slot;
	if (!peer_in_flight(p)) {
		p->due = s->now + silence(s->lock, p);
		p->late = false;
	}
	p->releasing = true;
}

void peer_send(struct step *s, int node, enum op op)
{
	struct peer *p = &s->lock->peer[node];

	if (op_releases(op)) {
		send_release(s, node, op);
		return;
	}
	p->watches = p->overrides = false;
	begin_request(s, node, op);
}

void peer_ask(struct step *s, int node, enum op op, bool watches, bool overrides)
{
	s->lock->peer[node].watches = watches;
	s->lock->peer[node].overrides = overrides;
	begin_request(s, node, op);
}

bool peer_lacks_script(struct step *s, const struct event *ev)
{
	struct peer *p = &s->lock->peer[ev->node];
	bool is_unsure = reply_is_absent(ev->reply, REASON_UNSURE);

	if (!p->asked || op_releases(ev->op) || !reply_lacks_script(ev->reply) ||
		(is_unsure ? p->was_resent : !p->by_digest))
		return false;
	/* A waiter asks again by itself: then whole. */
	p->no_digests |= ev->reply->reason == REASON_NO_DIGESTS || ev->op == OP_JOIN;
	p->asked = OP_NONE;
	return true;
}

void peer_send_again(struct step *s, int node, enum op op, bool by_digest)
{
	struct peer *p = &s->lock->peer[node];

	assert(!peer_in_flight(p));
	p->was_resent = true;
	send_request(s, node, op, by_digest && goes_by_digest(s->lock, p, op));
}

bool peer_release_again(struct step *s, const struct event *ev)
{
	struct peer *p = &s->lock->peer[ev->node];

	if (!op_releases(ev->op) || !p->releasing || p->no_digests ||
		!reply_lacks_script(ev->reply))
		return false;
	p->no_digests = true;
	p->releasing = false;
	send_release(s, ev->node, ev->op);
	return true;
}

int peer_queue_node(const struct lock *lock, int key)
{
	for (int n = 0; n < lock->policy.nodes; n++) {
		int i = lock->policy.order[key][n];
		const struct peer *p = &lock->peer[i];
		const struct ballot *b = &lock->tally.ballot[i];

		if (b->vote == VOTE_NONE ? p->link == LINK_UP && !peer_is_late(p)
					 : b->vote != VOTE_ABSENT)
			return i;
	}
	return -1;
}

/* Nothing is pending, since no key is set; and the reply is no vote: the tally keeps that of the
 * attempt. */
struct action *peer_queue(struct step *s, int node, enum op op, int key)
{
	struct peer *p = &s->lock->peer[node];
	struct action *a = step_act(s, ACT_SEND, node);

	/* After a release, the reply to an OP_HAND_OFF could be that of either. */
	assert(!p->asked && (op != OP_HAND_OFF || !p->releasing) && !peer_is_late(p));
	a->op = op;
	a->key = key;
	a->is_leaving = op == OP_HAND_OFF;
	a->by_digest = p->by_digest = op == OP_JOIN && goes_by_digest(s->lock, p, op);
	if (op == OP_SUBSCRIBE)
		p->subscribed |= 1u << key;
	/* A release in flight is answered first: the request has all its time. */
	p->due = s->now + s->lock->policy.node_timeout;
	p->late = false;
	p->was_resent = false;
	p->asked = op;
	return a;
}

bool peer_queue_replied(struct step *s, const struct event *ev)
{
	struct peer *p = &s->lock->peer[ev->node];

	if (ev->op != OP_SUBSCRIBE && ev->op != OP_JOIN &&
		!(ev->op == OP_HAND_OFF && p->asked == OP_HAND_OFF))
		return false;
	if (ev->op == OP_SUBSCRIBE && ev->reply->vote != VOTE_YES)
		p->subscribed = 0;
	p->asked = OP_NONE;
	return true;
}

/* The node has not set the key. After `changed_nothing`, a key from before is still there. */
static bool is_clean_no(enum op op, const struct reply *reply)
{
	return reply->vote == VOTE_GONE || reply->vote == VOTE_FOREIGN ||
	       (reply->vote == VOTE_ABSENT &&
		       ((reply->changed_nothing && op == OP_ACQUIRE) ||
			       reply->reason == REASON_QUARANTINE ||
			       reply->reason == REASON_SKEWED || reply->reason == REASON_COUNTER));
}

/* A request that sets the holder's key was unanswered when its connection broke: the node may carry
 * it out after requests of a later connection. Of an earlier attempt, whose token will not be
 * extended, the key ends by itself; the node must take part in the next attempt. */
static bool may_set_key_later(const struct step *s, const struct peer *p)
{
	return s->lock->tenure.confirmed > 0 && p->pending == s->lock->stamp.attempt &&
	       s->now < p->late_key_until;
}

static void release_replied(const struct step *s, struct peer *p, const struct reply *reply)
{
	p->releasing = false;
	/* YES, GONE, FOREIGN: in each case our key is released, or was not there. */
	if (reply->vote == VOTE_ABSENT) {
		p->release_refused = true;
	} else if (may_set_key_later(s, p)) {
		p->release_refused = true;
		p->pending_until = p->late_key_until;
	} else {
		p->pending = 0;
	}
}

void peer_replied(struct step *s, const struct event *ev, const struct reply *reply)
{
	struct lock *lock = s->lock;
	struct peer *p = &lock->peer[ev->node];

	if (op_releases(ev->op)) {
		release_replied(s, p, reply);
		return;
	}
	if (p->asked)
		p->usual = usec_max(s->now - (p->due + p->connecting - lock->policy.node_timeout),
			usec_max(p->usual / 2, 1));
	p->asked = OP_NONE;
	if ((ev->op == OP_ACQUIRE || ev->op == OP_REPAIR) && reply->vote == VOTE_FOREIGN &&
		ev->round == lock->stamp.round)
		p->repair_at = s->now + (REPAIR_AGAIN << p->repairs++);
	/* The request was carried out between sending and now: the key expires by the later. */
	p->pending_until = key_gone_at(&lock->policy, s->now);
	if (ev->op == OP_FENCE && reply->vote == VOTE_YES && ev->round == lock->stamp.round)
		p->fenced_in = ev->round;
	/* A script changes all keys or none, so after a clean refusal there is nothing to release;
	 * unless the node refused the fencing number alone, or one of several keys is not ours any
	 * more. */
	if (is_clean_no(ev->op, reply) && !reply->is_partial) {
		if (!may_set_key_later(s, p))
			p->pending = 0;
	} else if (reply->vote == VOTE_YES && ev->op == OP_EXTEND) {
		p->pending = lock->stamp.attempt;
		p->slot = lock->stamp.slot;
	}
}

/* ---- time ---- */

/* The reason why there is no answer; it may be late for this attempt only. */
static enum reason late_reason(const struct step *s, const struct peer *p)
{
	usec until = p->link == LINK_UP ? p->due : p->opened_at + s->lock->policy.node_timeout;

	return s->now < until ? REASON_NOT_READY : p->link == LINK_UP ? REASON_TIMEOUT : p->missing;
}

static void set_absent(struct step *s, int node, enum reason reason)
{
	struct reply reply = reply_absent(reason, NULL);

	tally_set_absent(&s->lock->tally, node, &reply);
}

void peer_overdue(struct step *s, int node)
{
	struct peer *p = &s->lock->peer[node];

	if (p->pending && !peer_in_flight(p) && s->now >= p->pending_until)
		p->pending = 0;
	if (p->link == LINK_OPENING && s->now >= p->opened_at + s->lock->policy.node_timeout) {
		enum reason reason = late_reason(s, p);

		peer_close(s, node);
		set_absent(s, node, reason);
	}
	p->late |= peer_in_flight(p) && s->now >= p->due;
	if (p->asked && p->late && p->asked_in == s->lock->stamp.round)
		set_absent(s, node, REASON_TIMEOUT);
}

void peer_leave_out(struct step *s, int node)
{
	struct lock *lock = s->lock;
	const struct reply *last = &lock->tally.ballot[node].reply;

	if (peer_is_ready(&lock->peer[node]))
		return;
	if (last->vote == VOTE_ABSENT)
		tally_set_absent(&lock->tally, node, last);
	else
		set_absent(s, node, late_reason(s, &lock->peer[node]));
}

bool peer_is_stuck(const struct step *s, int node)
{
	const struct peer *p = &s->lock->peer[node];

	return peer_is_late(p) && s->now >= p->due + s->lock->policy.ttl / 6;
}

void peer_drop_silent(struct step *s, int node)
{
	struct peer *p = &s->lock->peer[node];

	if (p->link != LINK_UP || !peer_is_late(p) || p->reopened >= REOPEN_MAX ||
		p->asked == OP_ACQUIRE || p->asked == OP_REPAIR)
		return;
	p->was_silent |= p->releasing;
	peer_close(s, node);
	/* The first release may have been carried out: what the second one finds is no vote. */
	if (p->was_silent)
		set_absent(s, node, REASON_TIMEOUT);
}

usec peer_due(const struct peer *p, usec node_timeout)
{
	usec at = p->link == LINK_OPENING ? p->opened_at + node_timeout : NEVER;

	return peer_in_flight(p) && !p->late ? usec_min(at, p->due) : at;
}
