#include "lock/wakeup.h"

#include "lock/step.h"

#include "lock/pace.h"
#include "lock/peer.h"
#include "lock/rivals.h"

#include <string.h>

/* So many reservations in a row may fail because of one holder before the next one has to wait: a
 * client that asks at the same moment may be in the way of one. */
#define VAIN_MAX 2

/* The first retry; each later one waits as long as the attempt has taken, up to a quarter of the
 * node time-out. A client that waits retries a few times, and then has its place in the queue; one
 * that does not wait retries for two node time-outs: its rival may be far away, and take one for
 * its attempt, and may begin as much later. */
#define RETRY_AFTER 200
#define RETRY_TIMEOUTS 2

/* A holder that is releasing the lock reaches the other nodes within a node time-out. If there is
 * no release, because the queue node lost the key of the holder, a longer retry would keep the
 * holder from setting its key there. */
#define EARLY_TIMEOUTS 1
#define RETRIES_WAITING_MAX 3

/* A client with a majority retries so often, whatever its token, if a holder names other nodes: it
 * fails meanwhile if only its names are others. If both have a majority, the client with the
 * smaller token retries longer, by when the other one has given way. */
#define RETRIES_CONTESTED 2
#define RETRIES_CONTESTED_FIRST 4

static const struct peer *queue_peer(const struct lock *lock)
{
	return &lock->peer[lock->waiter.node];
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

static void pass_on_ours(struct step *s)
{
	const struct waiter *w = &s->lock->waiter;

	pass_on(s, w->node, w->key, s->lock->wakeup.slot, s->lock->wakeup.reservation[w->key]);
}

/* ---- 1: the message arrives ---- */

static void copy_id(char id[TOKEN_ID_LEN + 1], const struct reply *reply)
{
	size_t len = reply->text_len < TOKEN_ID_LEN ? reply->text_len : TOKEN_ID_LEN;

	memcpy(id, reply->text, len);
	id[len] = '\0';
}

void wakeup_reserved(struct step *s, const struct event *ev, int key)
{
	struct wakeup *wakeup = &s->lock->wakeup;
	const struct waiter *w = &s->lock->waiter;
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
	if (wakeup->is_unused && reply->slot != wakeup->slot)
		pass_on_ours(s);
	copy_id(wakeup->reservation[key], reply);
	wakeup->slot = reply->slot;
	wakeup->is_unused = true;
}

void wakeup_arrived(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	bool is_here = waiter_is_queued(w) && ev->node == w->node && ev->key == w->key;

	switch (ev->wake) {
	case WAKE_RESERVED:
		wakeup_reserved(s, ev, ev->key);
		if (!lock->wakeup.is_unused)
			break;
		if (wakeup_delay(s) == 0)
			w->tries = 0;
		pace_retry_in(s, wakeup_delay(s));
		break;
	case WAKE_LOOK:
		if (!is_here)
			break;
		w->rank = w->rank < 1 ? w->rank : 1;
		pace_look_in(s, LOOK_FIRST);
		break;
	case WAKE_CHANGED:
		if (lock->phase == PHASE_ASK) {
			lock->attempt.retry.is_hurried = true;
			lock->attempt.retry.at = usec_min(lock->attempt.retry.at, s->now);
		}
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

/* ---- 2: the attempt is due, at once or after a delay ---- */

static bool is_in_vain(const struct lock *lock)
{
	return lock->wakeup.in_vain >= VAIN_MAX;
}

/* Woken again and again while the same holder refuses: the queue node has lost the key that the
 * other nodes have, and waiters wake each other there. No such case are the release of that holder,
 * and a hand-off that a newcomer meets: it leads to another holder. The reservation must last until
 * it is used. */
usec wakeup_delay(const struct step *s)
{
	const struct lock *lock = s->lock;
	const struct wakeup *wakeup = &lock->wakeup;
	bool is_released = wakeup->refused_by.text_len >= TOKEN_ID_LEN &&
			   memcmp(wakeup->refused_by.text, wakeup->reservation[lock->waiter.key],
				   TOKEN_ID_LEN) == 0;

	if (!is_in_vain(lock) || is_released)
		return 0;
	return pace_is_watched(lock) ? lock->policy.node_timeout / 2
				     : usec_min(pace_retry_delay(s), lock->policy.node_timeout / 2);
}

/* ---- 3: an attempt uses the reservation ---- */

void wakeup_attempt_begins(struct step *s)
{
	struct lock *lock = s->lock;

	lock->attempt.retry = (struct retry){.count = 0};
	lock->attempt.is_woken = lock->wakeup.is_unused;
	lock->wakeup.is_unused = false;
}

int wakeup_slot(const struct lock *lock)
{
	return lock->attempt.is_woken ? lock->wakeup.slot : 0;
}

const char *wakeup_id(const struct lock *lock, int key)
{
	return !policy_obeys_queue(&lock->policy) || lock->attempt.is_woken
		       ? lock->wakeup.reservation[key]
		       : "";
}

/* ---- 4: nodes that refused are asked again ---- */

/* Why a node did not grant the key, or why it is not free, in the attempt under way. */
enum refused {
	REFUSED, /* for as long as its reply says */
	REFUSED_EARLY, /* the release before our reservation is still on its way to the node */
	REFUSED_UNCLEAR, /* for another waiter; whether it is alive, the queue node has not said yet
			  */
	REFUSED_IN_VAIN, /* for a waiter that is not in the queue any more: ask with `overrides` */
};

/* The vote that grants the key, or says that it is free. */
static enum vote vote_for(const struct lock *lock)
{
	return lock->policy.only_looks ? VOTE_GONE : VOTE_YES;
}

static enum refused refused_by_reservation(const struct lock *lock, int node)
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
	return lock->attempt.watches && tally_yes(&lock->tally) > 0 && reply->is_watched &&
	       reply_has_foreign_holder(reply);
}

static enum refused refused_by(const struct lock *lock, int node)
{
	const struct ballot *b = &lock->tally.ballot[node];
	bool is_early;

	if (b->vote != VOTE_FOREIGN)
		return REFUSED;
	if (b->reply.is_reserved)
		return refused_by_reservation(lock, node);
	if (is_between_nodes(lock, &b->reply))
		return REFUSED_EARLY;
	if (!lock->attempt.is_woken || b->reply.text_len <= TOKEN_ID_LEN)
		return REFUSED;
	/* The reservation has the id of the token before; but the text of readers has no ids. At
	 * the queue node, they are gone. */
	is_early = b->reply.is_shared
			   ? lock->tally.ballot[lock->waiter.node].vote == vote_for(lock)
			   : memcmp(b->reply.text, lock->wakeup.reservation[b->reply.key],
				     TOKEN_ID_LEN) == 0;
	/* Where the queue node lost the key of the holder, no refusal is early: a retry would keep
	 * the holder from setting its key there. */
	return is_early && !is_in_vain(lock) ? REFUSED_EARLY : REFUSED;
}

/* The client may retry: its rivals will not, or they will soon have failed. */
static bool is_to_retry(const struct step *s, const struct retry *r)
{
	const struct lock *lock = s->lock;
	bool is_first = rivals_give_way_to_us(s);

	if (tally_yes(&lock->tally) >= policy_quorum(&lock->policy))
		return r->count < (is_first ? RETRIES_CONTESTED_FIRST : RETRIES_CONTESTED);
	return is_first;
}

bool wakeup_retries(struct step *s, enum op op, usec wait_until, usec *wake_at)
{
	struct lock *lock = s->lock;
	struct retry *r = &lock->attempt.retry;
	usec asked_at = lock->attempt.asked_at, timeouts;
	unsigned refused = 0; /* bits: enum refused */
	bool is_early, is_void;

	/* A node that cannot be asked again is no reason for a retry. */
	for (int i = 0; i < lock->policy.nodes; i++)
		if (peer_is_ready(&lock->peer[i]))
			refused |= 1u << refused_by(lock, i);
	is_early = refused >> REFUSED_EARLY & 1;
	is_void = refused >> REFUSED_IN_VAIN & 1;
	timeouts = is_early ? EARLY_TIMEOUTS : RETRY_TIMEOUTS;
	if (refused >> REFUSED_UNCLEAR & 1 &&
		!step_grace_is_over(s, true, lock->policy.node_timeout / 4, wake_at))
		return true;
	if (!r->at) {
		if (s->now >= asked_at + timeouts * lock->policy.node_timeout ||
			(!is_early && r->count >= RETRIES_WAITING_MAX && s->now < wait_until) ||
			(!is_early && !is_void && !is_to_retry(s, r)))
			return false;
		/* No request is on its way that would change a reservation in vain. */
		r->at = s->now;
		if (!is_void && !r->is_hurried)
			r->at += usec_min(usec_max(RETRY_AFTER, s->now - asked_at),
				lock->policy.node_timeout / 4);
		r->count++;
	}
	if (s->now < r->at) {
		*wake_at = r->at;
		return true;
	}
	r->at = 0;
	r->is_hurried = false;
	r->silent = tally_silent(&lock->tally);
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN && peer_is_ready(&lock->peer[i]))
			peer_ask(s, i, op, lock->attempt.watches,
				refused_by(lock, i) == REFUSED_IN_VAIN);
	return tally_silent(&lock->tally) > 0;
}

/* ---- 5: the lock is held, or the reservation was of no use ---- */

void wakeup_held(struct step *s)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	enum vote vote = lock->tally.ballot[w->node].vote;
	int used = wakeup_slot(lock);

	if (!waiter_is_queued(w) || vote == VOTE_NONE)
		return;
	/* The node that grants the key takes us out of the queue, and the reservation with it. */
	if (vote == VOTE_YES && !lock->wakeup.is_unused && (used == 0 || used == lock->stamp.slot))
		w->state = WAITER_OFF;
	else
		(void)wakeup_leave(s);
}

/* A reservation was of no use: has the lock changed hands since the one before? A semaphore has
 * several holders, which refuse in turn. */
static void count_vain(struct lock *lock)
{
	struct wakeup *wakeup = &lock->wakeup;
	int nodes;
	struct reply holder = tally_holder(&lock->tally, &nodes);

	wakeup->in_vain++;
	if (holder.vote == VOTE_NONE || holder.is_reserved ||
		reply_same_text(&holder, &wakeup->refused_by))
		return;
	if (!policy_is_semaphore(&lock->policy))
		wakeup->in_vain = 1;
	wakeup->refused_by = holder;
}

void wakeup_attempt_failed(struct step *s, bool is_busy)
{
	struct lock *lock = s->lock;
	struct wakeup *wakeup = &lock->wakeup;
	struct waiter *w = &lock->waiter;

	if (!is_busy) {
		wakeup->is_unused |= lock->attempt.is_woken;
		return;
	}
	if (lock->attempt.is_woken)
		count_vain(lock);
	/* A wake-up that arrived during the attempt is for the next one. */
	if (wakeup->is_unused)
		w->retry_at = s->now + wakeup_delay(s);
	/* The reservation was of no use. If that is because of another key, moving to its queue
	 * passes the reservation on. Another program obeys no reservation: try again while this one
	 * lasts. */
	else if (w->busy_key == w->key && !w->met_foreign)
		wakeup->reservation[w->key][0] = '\0';
}

/* ---- 6: or the client leaves, and the reservation is for the next waiter ---- */

bool wakeup_leave(struct step *s)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	const struct peer *p = queue_peer(lock);

	if (waiter_is_queued(w) && peer_in_flight(p) && !peer_is_late(p))
		return false;
	if (waiter_is_queued(w))
		pass_on_ours(s);
	lock->wakeup.reservation[w->key][0] = '\0';
	lock->wakeup.is_unused = false;
	w->state = WAITER_OFF;
	return true;
}

bool wakeup_end(struct step *s)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	const struct peer *p = queue_peer(lock);

	if (!(waiter_is_queued(w) || w->state == WAITER_LEAVING) || p->link != LINK_UP ||
		peer_is_late(p))
		return false;
	if (peer_in_flight(p))
		return true;
	/* A wake-up that was sent before the node took us out of the queue arrives before the reply
	 * to the first hand-off. It needs another one. */
	if (w->state == WAITER_LEAVING && !lock->wakeup.is_unused) {
		w->state = WAITER_OFF;
		return false;
	}
	pass_on_ours(s);
	w->state = WAITER_LEAVING;
	lock->wakeup.is_unused = false;
	return true;
}
