#include "lock/waiter.h"

#include "lock/step.h"

#include "lock/pace.h"
#include "lock/peer.h"
#include "lock/semaphore.h"

/* A client that gets no majority's answer for so long makes room for the next waiter. */
#define OUTAGE_MAX USEC_SEC

/* A client that waits for longer than this keeps only the connection to the queue node. */
#define SHED_AFTER USEC_SEC

/* A client that may not queue tries it again after so long: it may have got the rights. */
#define POLLS_FOR (5 * USEC_SEC)

static const struct peer *queue_peer(const struct lock *lock)
{
	return &lock->peer[lock->waiter.node];
}

/* The requests of an attempt ask the nodes to tell when the key changes: its holder wakes no
 * waiter.
 */
static bool should_watch(const struct lock *lock)
{
	return lock->waiter.met_foreign && lock->waiter.rank == 0 &&
	       !policy_is_semaphore(&lock->policy);
}

/* Of several keys the one to wait for: as the queue node of the last one says, or else any node. */
static int key_in_the_way(const struct lock *lock)
{
	int node = peer_queue_node(lock, lock->waiter.busy_key), key = lock->waiter.busy_key;

	assert(node >= 0); /* a node refused us */
	if (lock->tally.ballot[node].vote == VOTE_FOREIGN)
		return lock->tally.ballot[node].reply.key;
	for (int i = lock->policy.nodes - 1; i >= 0; i--)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN)
			key = lock->tally.ballot[i].reply.key;
	return key;
}

/* ---- the queue ---- */

/* The user may not queue, or the server is too old: the waiter polls for a while. After other
 * errors, it queues at the next node. */
static void queue_is_refused(struct step *s, const struct event *ev)
{
	struct waiter *w = &s->lock->waiter;

	w->silent |= 1u << ev->node;
	if (ev->node != w->node)
		return;
	assert(w->state != WAITER_LEAVING); /* it asks only to leave */
	w->state = WAITER_OFF;
	if (ev->reply->reason != REASON_NOPERM && ev->reply->reason != REASON_SERVER)
		return;
	w->state = WAITER_POLLS;
	w->problem = *ev->reply;
	w->look_at = s->now + POLLS_FOR;
	pace_retry_in(s, pace_retry_delay(s));
}

/* The node did not know the script by its digest; or not that of the release before the join, which
 * has found the key of our own attempt. */
static void join_again(struct lock *lock, int node)
{
	struct waiter *w = &lock->waiter;

	if (w->state == WAITER_JOINING && node == w->node)
		w->state = WAITER_SUBSCRIBING;
}

static void join_replied(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	const struct reply *reply = ev->reply;

	/* The reply came so late that we have queued at another node. waiter_plan() returns to this
	 * one, if it is earlier in the order. */
	if (w->state != WAITER_JOINING || ev->node != w->node)
		return;
	w->state = WAITER_QUEUED;
	w->rank = reply->rank;
	if (reply->ticket != 0)
		w->ticket = reply->ticket;
	if (reply->vote != VOTE_YES) {
		/* The key may have changed since the attempt. */
		bool is_due = pace_is_watched(lock) && w->retry_at <= s->now;
		bool is_foreign = reply_has_foreign_holder(reply);

		w->met_foreign |= is_foreign;
		/* Each release makes a reservation: elsewhere, these attempts would be too many. */
		pace_schedule(s,
			reply->is_reserved && pace_full_nodes(lock)
				? NEVER
				: semaphore_ends_in(&lock->policy, reply),
			(is_foreign || pace_has_foreign_holder(lock)) && !pace_is_watched(lock));
		if (is_due || (should_watch(lock) && !lock->attempt.watches))
			pace_retry_in(s, 0);
		return;
	}
	wakeup_reserved(s, ev, w->key);
	w->look_at = NEVER;
	pace_retry_in(s, wakeup_delay(s));
}

/* A late reply means: not at present. A node that was not connected in time for the attempt is as
 * good as the others. */
static bool may_answer(const struct lock *lock, int node)
{
	const struct peer *p = &lock->peer[node];
	const struct ballot *b = &lock->tally.ballot[node];

	if (peer_is_late(p))
		return false;
	return b->vote != VOTE_ABSENT ||
	       (b->reply.reason == REASON_NOT_READY && p->link != LINK_DOWN);
}

/* The node to queue at; -1: none answers. All clients must find the same one: so a node that has
 * not answered yet is worth waiting for, but not worth leaving a queue for. */
static int find_queue(const struct lock *lock)
{
	const struct waiter *w = &lock->waiter;

	for (int n = 0; n < lock->policy.nodes; n++) {
		int i = lock->policy.order[w->busy_key][n];
		enum vote vote = lock->tally.ballot[i].vote;
		bool has_answered = vote != VOTE_NONE && vote != VOTE_ABSENT;

		if (!may_answer(lock, i) || w->silent >> i & 1)
			continue;
		if (has_answered || w->state == WAITER_OFF || i == w->node)
			return i;
	}
	return -1;
}

static void queue(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	const struct peer *p;
	int node;

	if (w->state != WAITER_OFF && queue_peer(lock)->link == LINK_DOWN) {
		if (waiter_is_queued(w))
			w->look_at =
				s->now + (usec)(s->random % (uint64_t)(pace_crowd_spread(w) + 1));
		w->silent |= 1u << w->node;
		w->state = WAITER_OFF;
	}
	if (w->state == WAITER_OFF && s->now < w->look_at) {
		*wake_at = usec_min(*wake_at, w->look_at);
		return;
	}
	node = find_queue(lock);
	if (node < 0) {
		pace_retry_in(s, pace_retry_delay(s));
		return;
	}
	if (w->state != WAITER_OFF && (node != w->node || w->busy_key != w->key) &&
		!wakeup_leave(s))
		return;
	if (w->state == WAITER_OFF) {
		w->state = WAITER_SUBSCRIBING;
		w->node = node;
		w->key = w->busy_key;
	}
	p = queue_peer(lock);
	if (p->link == LINK_DOWN)
		peer_open(s, node);
	if (p->link != LINK_UP || p->asked)
		return;
	/* Also on a connection that an attempt opened again. */
	if (!(p->subscribed >> w->key & 1)) {
		peer_queue(s, node, OP_SUBSCRIBE, w->key);
	} else if (w->state == WAITER_SUBSCRIBING || s->now >= w->look_at) {
		peer_queue(s, node, OP_JOIN, w->key);
		w->state = WAITER_JOINING;
	} else {
		*wake_at = usec_min(*wake_at, w->look_at);
	}
}

/* A crowd of waiters costs each node but one no connection. The first two waiters at the first node
 * in the order ask all nodes every second or two. */
static void shed_connections(struct step *s, usec *wake_at)
{
	const struct waiter *w = &s->lock->waiter;

	if (!waiter_is_queued(w) || (w->rank <= 1 && !w->full))
		return;
	for (int i = 0; i < s->lock->policy.nodes; i++) {
		const struct peer *p = &s->lock->peer[i];

		if (i == w->node || p->link != LINK_UP || peer_in_flight(p))
			continue;
		if (s->now >= w->shed_at)
			peer_close(s, i);
		else
			*wake_at = usec_min(*wake_at, w->shed_at);
	}
}

/* ---- the border ---- */

static void make_id(struct step *s)
{
	char *id = s->lock->waiter.id;

	id[0] = s->lock->policy.is_shared ? 'r' : 'w';
	for (int i = 1; i < WAITER_ID_LEN; i++)
		id[i] = "0123456789abcdef"[s->random >> 4 * (WAITER_ID_LEN - 1 - i) & 15];
	id[WAITER_ID_LEN] = '\0';
}

void waiter_begin(struct step *s)
{
	struct waiter *w = &s->lock->waiter;

	if (!w->id[0])
		make_id(s);
	s->lock->attempt.watches = should_watch(s->lock);
	w->silent = 0;
}

void waiter_pause(struct step *s, bool is_busy, bool is_moving)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;

	w->tries += !is_moving;
	w->leaves_at = is_busy ? NEVER : usec_min(w->leaves_at, s->now + OUTAGE_MAX);
	w->shed_at = s->now + SHED_AFTER;
	w->retry_at = is_busy ? s->now + pace_retry_delay(s) : pace_retry_for_quorum(s);
	if (w->state == WAITER_POLLS && s->now >= w->look_at)
		w->state = WAITER_OFF;
	if (w->state != WAITER_POLLS)
		w->look_at = s->now;
	if (is_busy) {
		w->busy_key = key_in_the_way(lock);
		w->met_foreign = pace_has_foreign_holder(lock);
		/* OP_JOIN, which follows at once, says more. */
		if (w->state != WAITER_POLLS && !semaphore_has_next(lock)) {
			pace_schedule(
				s, NEVER, pace_has_foreign_holder(lock) && !pace_is_watched(lock));
			w->look_at = s->now;
		}
	}
	wakeup_attempt_failed(s, is_busy);
	if (is_moving)
		w->retry_at = s->now;
}

bool waiter_plan(struct step *s, bool is_busy, usec *wake_at)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	const struct peer *p = queue_peer(lock);
	/* Without the queue node's reply, the attempt would have to leave that node out. */
	bool is_asking = (w->state == WAITER_SUBSCRIBING || w->state == WAITER_JOINING) &&
			 p->asked && !peer_is_late(p);

	if (!is_asking && s->now >= usec_min(w->retry_at, lock->wait_until)) {
		/* A late reply would not be about this attempt any more. */
		if (w->state == WAITER_SUBSCRIBING || w->state == WAITER_JOINING)
			w->state = WAITER_OFF;
		return true;
	}
	if (is_busy && w->state != WAITER_POLLS)
		queue(s, wake_at);
	else if (waiter_is_queued(w) && s->now >= w->leaves_at)
		(void)wakeup_leave(s);
	else if (waiter_is_queued(w))
		*wake_at = usec_min(*wake_at, w->leaves_at);
	shed_connections(s, wake_at);
	if (!is_asking)
		*wake_at = usec_min(*wake_at, usec_min(w->retry_at, lock->wait_until));
	return false;
}

void waiter_replied(struct step *s, const struct event *ev)
{
	if ((ev->op == OP_JOIN || op_releases(ev->op)) && reply_lacks_script(ev->reply))
		join_again(s->lock, ev->node);
	else if ((ev->op == OP_SUBSCRIBE || ev->op == OP_JOIN) && ev->reply->vote == VOTE_ABSENT)
		queue_is_refused(s, ev);
	else if (ev->op == OP_JOIN)
		join_replied(s, ev);
}
