#include "lock/waiter.h"

#include "lock/step.h"

#include "lock/pace.h"
#include "lock/peer.h"
#include "lock/semaphore.h"

#include <string.h>

/* A client that gets no majority's answer for so long makes room for the next waiter. */
#define OUTAGE_MAX USEC_SEC

/* A client that waits for longer than this keeps only the connection to the queue node. */
#define SHED_AFTER USEC_SEC

static const struct peer *queue_peer(const struct lock *lock)
{
	return &lock->peer[lock->waiter.node];
}

/* ---- reservations ---- */

static void copy_id(char id[TOKEN_ID_LEN + 1], const struct reply *reply)
{
	size_t len = reply->text_len < TOKEN_ID_LEN ? reply->text_len : TOKEN_ID_LEN;

	memcpy(id, reply->text, len);
	id[len] = '\0';
}

/* Out of the queue of that key; the reservation, if any, is for the next waiter. If it cannot be
 * sent, the looks of the first two waiters find the key free. Slot 0 of a semaphore, no
 * reservation: any slot. */
static void pass_on(struct step *s, int node, int key, int slot, const char *id)
{
	const struct peer *p = &s->lock->peer[node];
	struct action *a;

	if (p->link != LINK_UP || peer_in_flight(p))
		return;
	a = peer_queue(s, node, OP_HAND_OFF, key);
	memcpy(a->woken_by, id, strlen(id) + 1);
	if (slot > 0)
		a->slot = slot;
}

/* Leaves the queue. Returns false if a reply must be read first: a reservation may arrive with it.
 */
static bool leave(struct step *s)
{
	struct waiter *w = &s->lock->waiter;
	const struct peer *p = queue_peer(s->lock);

	if (waiter_is_queued(w) && peer_in_flight(p) && !peer_is_late(p))
		return false;
	if (waiter_is_queued(w))
		pass_on(s, w->node, w->key, w->slot, w->reservation[w->key]);
	w->reservation[w->key][0] = '\0';
	w->state = WAITER_OFF;
	w->is_woken = false;
	return true;
}

/* The key is reserved for us. */
static void take_reservation(struct step *s, const struct event *ev, int key)
{
	struct waiter *w = &s->lock->waiter;
	const struct reply *reply = ev->reply;
	/* A holder passes it on, at once or after the reply that it waits for. */
	bool is_ours = ev->node == w->node && key == w->key &&
		       (w->state == WAITER_LEAVING ||
			       (waiter_is_queued(w) &&
				       (!step_holds(s) || peer_in_flight(queue_peer(s->lock)))));

	if (!is_ours) {
		char id[TOKEN_ID_LEN + 1];

		copy_id(id, reply);
		pass_on(s, ev->node, key, reply->slot, id);
		return;
	}
	/* One slot is enough. */
	if (w->is_woken && reply->slot != w->slot)
		pass_on(s, w->node, w->key, w->slot, w->reservation[key]);
	copy_id(w->reservation[key], reply);
	w->slot = reply->slot;
	w->is_woken = true;
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

/* The user may not queue, or the server is too old: the waiter polls. After other errors, it queues
 * at the next node. */
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
	pace_retry_in(s, pace_retry_delay(s));
}

/* A reservation was of no use: has the lock changed hands since the one before? A semaphore has
 * several holders, which refuse in turn. */
static void count_vain(struct lock *lock)
{
	struct waiter *w = &lock->waiter;
	int nodes;
	struct reply holder = tally_holder(&lock->tally, &nodes);

	w->in_vain++;
	if (holder.vote == VOTE_NONE || holder.is_reserved ||
		reply_same_text(&holder, &w->refused_by))
		return;
	if (!policy_is_semaphore(&lock->policy))
		w->in_vain = 1;
	w->refused_by = holder;
}

/* The node did not know the script by its digest. */
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
		if (is_due || (waiter_watches(lock) && !w->asked_to_watch))
			pace_retry_in(s, 0);
		return;
	}
	take_reservation(s, ev, w->key);
	w->look_at = NEVER;
	pace_retry_in(s, pace_use_delay(s));
}

static void take_message(struct step *s, const struct event *ev)
{
	struct waiter *w = &s->lock->waiter;
	bool is_here = waiter_is_queued(w) && ev->node == w->node && ev->key == w->key;

	switch (ev->wake) {
	case WAKE_RESERVED:
		take_reservation(s, ev, ev->key);
		if (!w->is_woken)
			break;
		if (pace_use_delay(s) == 0)
			w->tries = 0;
		pace_retry_in(s, pace_use_delay(s));
		break;
	case WAKE_LOOK:
		if (!is_here)
			break;
		w->rank = w->rank < 1 ? w->rank : 1;
		pace_look_in(s, LOOK_FIRST);
		break;
	case WAKE_CHANGED:
		if (!step_holds(s))
			pace_retry_in(s, 0);
		break;
	case WAKE_REJOIN:
		if (is_here)
			pace_look_in(
				s, (usec)(s->random % (uint64_t)(USEC_SEC + pace_crowd_spread(w))));
		break;
	}
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
	if (w->state != WAITER_OFF && (node != w->node || w->busy_key != w->key) && !leave(s))
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
	w->used_reservation = w->is_woken;
	w->asked_to_watch = waiter_watches(s->lock);
	w->is_woken = false;
	w->silent = 0;
}

bool waiter_watches(const struct lock *lock)
{
	return lock->waiter.met_foreign && lock->waiter.rank == 0 &&
	       !policy_is_semaphore(&lock->policy);
}

void waiter_pause(struct step *s, bool is_busy, bool is_moving)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;

	w->tries += !is_moving;
	w->leaves_at = is_busy ? NEVER : usec_min(w->leaves_at, s->now + OUTAGE_MAX);
	w->shed_at = s->now + SHED_AFTER;
	w->retry_at = is_busy ? s->now + pace_retry_delay(s) : pace_retry_for_quorum(s);
	w->look_at = s->now;
	if (is_busy) {
		if (w->used_reservation)
			count_vain(lock);
		w->busy_key = key_in_the_way(lock);
		w->met_foreign |= pace_has_foreign_holder(lock);
		/* The reservation was of no use. If that is because of another key, moving to its
		 * queue passes the reservation on. Another program obeys no reservation: try again
		 * while this one lasts. */
		if (!w->is_woken && w->busy_key == w->key && !w->met_foreign)
			w->reservation[w->key][0] = '\0';
		/* OP_JOIN, which follows at once, says more. */
		if (w->state != WAITER_POLLS && !semaphore_has_next(lock)) {
			pace_schedule(
				s, NEVER, pace_has_foreign_holder(lock) && !pace_is_watched(lock));
			w->look_at = s->now;
		}
	} else {
		w->is_woken |= w->used_reservation;
	}
	/* A wake-up that arrived during the attempt is for the next one. */
	if (is_moving)
		w->retry_at = s->now;
	else if (is_busy && w->is_woken)
		w->retry_at = s->now + pace_use_delay(s);
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
		(void)leave(s);
	else if (waiter_is_queued(w))
		*wake_at = usec_min(*wake_at, w->leaves_at);
	shed_connections(s, wake_at);
	if (!is_asking)
		*wake_at = usec_min(*wake_at, usec_min(w->retry_at, lock->wait_until));
	return false;
}

void waiter_held(struct step *s)
{
	struct waiter *w = &s->lock->waiter;
	enum vote vote = s->lock->tally.ballot[w->node].vote;

	if (!waiter_is_queued(w) || vote == VOTE_NONE)
		return;
	/* The node that grants the key takes us out of the queue, and the reservation with it. */
	if (vote == VOTE_YES && !w->is_woken &&
		(!w->used_reservation || w->slot == 0 || w->slot == s->lock->stamp.slot))
		w->state = WAITER_OFF;
	else
		(void)leave(s);
}

bool waiter_leave(struct step *s)
{
	struct waiter *w = &s->lock->waiter;
	const struct peer *p = queue_peer(s->lock);

	if (!(waiter_is_queued(w) || w->state == WAITER_LEAVING) || p->link != LINK_UP ||
		peer_is_late(p))
		return false;
	if (peer_in_flight(p))
		return true;
	/* A wake-up that was sent before the node took us out of the queue arrives before the reply
	 * to the first hand-off. It needs another one. */
	if (w->state == WAITER_LEAVING && !w->is_woken) {
		w->state = WAITER_OFF;
		return false;
	}
	pass_on(s, w->node, w->key, w->slot, w->reservation[w->key]);
	w->state = WAITER_LEAVING;
	w->is_woken = false;
	return true;
}

static void take_reply(struct step *s, const struct event *ev)
{
	if (ev->op == OP_JOIN && reply_lacks_script(ev->reply))
		join_again(s->lock, ev->node);
	else if ((ev->op == OP_SUBSCRIBE || ev->op == OP_JOIN) && ev->reply->vote == VOTE_ABSENT)
		queue_is_refused(s, ev);
	else if (ev->op == OP_JOIN)
		join_replied(s, ev);
}

void waiter_event(struct step *s, const struct event *ev)
{
	if (ev->kind == EV_WAKE)
		take_message(s, ev);
	else
		take_reply(s, ev);
}
