#include "lock/waiter.h"

#include "lock/step.h"

#include "lock/peer.h"
#include "lock/semaphore.h"
#include "lock/shared.h"

#include <string.h>

/* A random delay lets rivals that split the votes fall out of step; it grows up to fourfold. */
#define RETRY_DELAY (20 * USEC_MSEC)
#define RETRY_SPREAD (100 * USEC_MSEC)

/* So often the line may say that it is another one's turn, without a wake-up between. */
#define SEAT_TRIES 3

/* Who is not woken asks again after that time at the latest; so do those that stopped, crashed or
 * never knew how to wake. */
#define BACK_STOP (25 * USEC_SEC)
#define BACK_STOP_SPREAD (10 * USEC_SEC)

/* Who waits for longer than this keeps no connection but its seat. */
#define SHED_AFTER USEC_SEC

/* The first in a key's order that answers, as far as we know; -1: none. */
int waiter_queue_node(const struct step *s, int key)
{
	for (int n = 0; n < s->policy->nodes; n++) {
		int i = s->policy->order[key][n];
		const struct peer *m = &s->peer[i];
		const struct ballot *b = &s->tally->ballot[i];

		if (b->vote == VOTE_NONE ? m->link == LINK_UP && !peer_is_late(m)
					 : b->vote != VOTE_ABSENT)
			return i;
	}
	return -1;
}

/* The pause ends after that time, or as it would have. */
static void come_back(struct step *s, usec after)
{
	if (s->waiter->retry_at != NEVER)
		s->waiter->retry_at = usec_min(s->waiter->retry_at, usec_add(s->now, after));
}

static struct action *send_from_seat(struct step *s, enum op op)
{
	struct waiter *seat = s->waiter;
	struct action *a = step_act(s, ACT_SEND, seat->node);

	a->target = TARGET_WAITER;
	a->op = op;
	a->is_promoted = seat->leads && op != OP_HAND_OFF;
	if (op == OP_HAND_OFF)
		a->slot = seat->is_woken && !seat->waits ? seat->turn_slot : 0;
	seat->joins |= op == OP_JOIN;
	seat->waits |= op == OP_WAIT;
	seat->due = s->now + s->policy->node_timeout;
	return a;
}

/* The next in line need not wait for who does not use it. Nobody is behind a pop that is blocked.
 */
static void pass_turn_on(struct step *s)
{
	struct waiter *seat = s->waiter;

	if (seat->link != LINK_UP || seat->waits)
		return;
	send_from_seat(s, OP_HAND_OFF);
	seat->passes = true;
}

static void keep_turn(struct step *s, const struct reply *reply, int key, int slot)
{
	size_t len = reply->text_len < TOKEN_ID_LEN ? reply->text_len : TOKEN_ID_LEN;

	/* Two at once: one will do. */
	if (s->waiter->is_woken && slot != s->waiter->turn_slot)
		pass_turn_on(s);
	memcpy(s->waiter->turn[key], reply->text, len);
	s->waiter->turn[key][len] = '\0';
	s->waiter->turn_key = key;
	s->waiter->turn_slot = slot;
	s->waiter->is_woken = s->is_trying;
	come_back(s, 0);
}

static void open_seat(struct step *s, int line)
{
	struct waiter *seat = s->waiter;

	step_act(s, ACT_OPEN, line)->target = TARGET_WAITER;
	seat->link = LINK_OPENING;
	seat->leads &= seat->node == line && seat->key == s->waiter->busy_key;
	seat->node = line;
	seat->key = s->waiter->busy_key;
	seat->tried = s->stamp->round;
	seat->due = s->now + s->policy->node_timeout;
}

static void seat_is_down(struct step *s)
{
	struct waiter *seat = s->waiter;

	seat->link = LINK_DOWN;
	seat->joins = seat->waits = seat->passes = seat->leaves = false;
}

static void close_seat(struct step *s)
{
	if (s->waiter->link == LINK_DOWN)
		return;
	step_act(s, ACT_CLOSE, s->waiter->node)->target = TARGET_WAITER;
	seat_is_down(s);
}

/* All who waited at a node that is gone come at once: not in step, please. */
static usec retry_delay(const struct step *s)
{
	int grows = s->waiter->tries / 4;

	return (RETRY_DELAY + (usec)(s->random % RETRY_SPREAD)) << (grows < 2 ? grows : 2);
}

/* So much later than a key's end is asked for it: nodes are a grain late, and others wait too. */
static usec spread(const struct step *s)
{
	return 2 * USEC_MSEC + (usec)(s->random % RETRY_SPREAD);
}

usec waiter_due(const struct step *s)
{
	return s->waiter->link == LINK_OPENING || s->waiter->joins || s->waiter->passes
		       ? s->waiter->due
		       : NEVER;
}

static void take_turn(struct step *s, const struct reply *reply)
{
	keep_turn(s, reply, s->waiter->key, semaphore_own(s, reply->slot));
	s->waiter->is_fresh = true;
	s->waiter->was_free = false;
	s->waiter->tries = 0;
}

/* Others have a larger limit than we, and a slot that we do not. */
static void pass_slot_on(struct step *s, int slot)
{
	send_from_seat(s, OP_HAND_OFF)->slot = slot;
	s->waiter->passes = true;
}

static void seat_reply(struct step *s, const struct event *ev)
{
	struct waiter *seat = s->waiter;
	const struct reply *reply = ev->reply;

	switch (ev->op) {
	case OP_JOIN:
		seat->joins = false;
		if (reply->vote == VOTE_ABSENT)
			break;
		/* Free by now. If that did not help the last time, it is not free elsewhere. */
		if (reply->vote == VOTE_YES)
			semaphore_offer(s, reply->slot);
		if (reply->vote == VOTE_YES && reply->text_len > 0)
			take_turn(s, reply);
		/* So it is when this attempt has failed; and so is another one's turn, which may be
		 * nobody's. Among readers, each question is a word for the next in line: one will
		 * do. */
		else if (s->waiter->retry_at == NEVER &&
			 (reply->vote == VOTE_YES || (reply->is_reserved && !reply->is_shared)))
			seat->is_fresh = true;
		else if (reply->vote == VOTE_YES)
			come_back(s, seat->was_free ? retry_delay(s) : 0);
		/* It may be another key than those that refused us, and one that nobody gives back:
		 * then it is in the way of the hand-over, and its end wakes nobody. */
		else
			come_back(s, usec_add(reply->pttl, spread(s)));
		seat->was_free = reply->vote == VOTE_YES;
		return;
	case OP_WAIT:
		seat->waits = false;
		if (reply->vote == VOTE_ABSENT)
			break;
		if (policy_has_slots(s->policy) && reply->slot > s->policy->slots)
			pass_slot_on(s, reply->slot);
		else
			take_turn(s, reply);
		return;
	default: /* the turn was passed on */
		seat->passes = false;
		return;
	}
	/* A user who may not wait asks again and again; any other trouble may be over soon. */
	seat->is_refused = reply->reason == REASON_NOPERM;
	seat->trouble = *reply;
	close_seat(s);
	come_back(s, retry_delay(s));
}

/* Between two attempts, because somebody else has it: wait where the others wait. */
static void take_seat(struct step *s)
{
	struct waiter *seat = s->waiter;
	int line = waiter_queue_node(s, s->waiter->busy_key);

	if (seat->is_refused || seat->passes)
		return;
	assert(line >= 0); /* who refused us */
	if (seat->link != LINK_DOWN && (line != seat->node || s->waiter->busy_key != seat->key))
		close_seat(s);
	/* Once in a round at each: the next in order may be the line before the round is over. */
	if (seat->link == LINK_DOWN && (seat->tried != s->stamp->round || line != seat->node))
		open_seat(s, line);
	if (seat->link == LINK_UP && !seat->joins && !seat->waits) {
		send_from_seat(s, OP_JOIN);
		send_from_seat(s, OP_WAIT);
	}
}

/* It is somebody's turn again and again, and never ours: is our seat still there? */
static void doubt_seat(struct step *s)
{
	int line = waiter_queue_node(s, s->waiter->busy_key);

	if (s->waiter->tries > SEAT_TRIES && s->waiter->waits && line >= 0 &&
		s->tally->ballot[line].vote == VOTE_FOREIGN &&
		s->tally->ballot[line].reply.is_reserved)
		close_seat(s);
}

/* What is not needed while waiting is closed after a while. */
static void shed_links(struct step *s, usec *wake_at)
{
	if (!s->waiter->waits)
		return;
	for (int i = 0; i < s->policy->nodes; i++) {
		struct peer *m = &s->peer[i];

		if (m->link != LINK_UP || peer_in_flight(m) ||
			(i == s->waiter->node && shared_has_key(s, s->waiter->node)))
			continue;
		if (s->now >= s->waiter->shed_at)
			peer_close(s, i);
		else
			*wake_at = usec_min(*wake_at, s->waiter->shed_at);
	}
}

/* A turn that came before the pop is known to be ours while the pop is still blocked; so is it that
 * nobody passes readers by who waits behind us. */
static void pass_turn_beside_the_seat(struct step *s)
{
	const struct waiter *seat = s->waiter;
	const struct peer *m = &s->peer[seat->node];
	struct action *a;

	/* Woken while another program had the key, we used no turn; yet the nodes keep it. */
	if (!seat->waits || m->link != LINK_UP || m->pending ||
		(!seat->is_woken && !seat->turn[seat->key][0] &&
			!shared_has_key(s, s->waiter->node)))
		return;
	a = peer_send(s, seat->node, OP_HAND_OFF);
	a->is_leaving = true;
	a->slot = seat->is_woken ? seat->turn_slot : 0;
	a->is_promoted = seat->leads;
	s->waiter->passes_beside = true;
}

/* That word serves our own pop, and what stands behind it serves the next in line: a node that
 * finds us gone in between drops it. */
bool waiter_is_leaving(const struct step *s)
{
	const struct peer *m = &s->peer[s->waiter->node];

	return s->waiter->passes_beside && peer_in_flight(m) && !peer_is_late(m);
}

/* Somebody is in the way who wakes nobody. */
static bool has_strangers(const struct step *s)
{
	for (int i = 0; i < s->policy->nodes; i++)
		if (s->tally->ballot[i].vote == VOTE_FOREIGN && !tally_is_taken(s->tally, i))
			return true;
	return false;
}

/* The next attempt, if nobody wakes us before. */
static usec retry_at(const struct step *s, bool is_busy)
{
	usec delay = retry_delay(s);
	/* However long the key lasts: a wake-up may be lost. */
	usec back_stop = s->now + BACK_STOP + (usec)(s->random % BACK_STOP_SPREAD);
	int line = waiter_queue_node(s, s->waiter->busy_key), most;

	if (!is_busy && tally_quarantined_for(s->tally) > 0)
		return usec_min(
			usec_add(usec_add(s->now, spread(s)), tally_quarantined_for(s->tally)),
			back_stop);
	if (!is_busy || s->waiter->is_refused || has_strangers(s))
		return s->now + delay;
	if (tally_is_taken(s->tally, line))
		return usec_min(
			usec_add(s->now + spread(s),
				semaphore_ends_in(s->policy, &s->tally->ballot[line].reply)),
			back_stop);
	(void)tally_holder(s->tally, &most);
	if (most >= policy_quorum(s->policy))
		return usec_min(
			usec_add(s->now,
				usec_max(usec_add(spread(s), tally_free_in(s->tally,
								     policy_has_slots(s->policy))),
					delay)),
			back_stop);
	return s->now + delay;
}

/* Of several keys the one to wait for: as the line of the last one sees it, or else as anybody. */
static int key_in_the_way(const struct step *s)
{
	int line = waiter_queue_node(s, s->waiter->busy_key), key = s->waiter->busy_key;

	assert(line >= 0); /* who refused us */
	if (s->tally->ballot[line].vote == VOTE_FOREIGN)
		return s->tally->ballot[line].reply.key;
	for (int i = s->policy->nodes - 1; i >= 0; i--)
		if (s->tally->ballot[i].vote == VOTE_FOREIGN)
			key = s->tally->ballot[i].reply.key;
	return key;
}

/* It was our turn, but another one of our keys is somebody else's: the next in line need not wait
 * for that. */
static void pass_useless_turn_on(struct step *s)
{
	if (s->waiter->busy_key != s->waiter->key)
		pass_turn_on(s);
}

/* It is our turn, but the release of the one before us has not reached this node yet. Readers' key
 * has none of their names: but at the line they are gone. */
bool waiter_expects_release(const struct step *s, const struct ballot *b)
{
	if (b->vote != VOTE_FOREIGN || !s->waiter->used_turn || b->reply.text_len <= TOKEN_ID_LEN)
		return false;
	if (b->reply.is_shared)
		return s->tally->ballot[s->waiter->node].vote ==
		       (s->policy->only_looks ? VOTE_GONE : VOTE_YES);
	return memcmp(b->reply.text, s->waiter->turn[b->reply.key], TOKEN_ID_LEN) == 0;
}

/* It is our turn, but we did not know that when we asked. */
bool waiter_has_reservation(const struct step *s, const struct ballot *b)
{
	return b->vote == VOTE_FOREIGN && s->waiter->used_turn && b->reply.is_reserved &&
	       s->waiter->turn[b->reply.key][0];
}

/* Of a key: it is there, and has not spoken yet. */
static bool is_the_line_silent(const struct step *s, int key)
{
	int line = waiter_queue_node(s, key);

	return line >= 0 && s->tally->ballot[line].vote == VOTE_NONE;
}

/* --fair: a line has not spoken yet. Readers wait for a quarter of its time: they would share; but
 * one that is only far away must be heard, or writers starve. */
static bool is_a_line_silent(const struct step *s, usec *wake_at)
{
	bool is_silent = false;

	for (int key = 0; key < s->policy->keys && policy_obeys_queue(s->policy); key++)
		is_silent |= is_the_line_silent(s, key);
	if (is_silent && !s->policy->is_fair)
		return !step_grace_is_over(s,
			tally_yes(s->tally) + tally_no(s->tally) >= policy_quorum(s->policy),
			s->policy->node_timeout / 4, wake_at);
	return is_silent;
}

/* A turn is kept: the line, which has not spoken yet, knows whether anybody comes for it. */
bool waiter_may_be_reserved(const struct step *s, usec *wake_at)
{
	bool is_silent = false;

	for (int i = 0; i < s->policy->nodes; i++)
		is_silent |= s->tally->ballot[i].vote == VOTE_FOREIGN &&
			     s->tally->ballot[i].reply.is_reserved &&
			     is_the_line_silent(s, s->tally->ballot[i].reply.key);
	return is_silent && !step_grace_is_over(s, true, s->policy->node_timeout / 4, wake_at);
}

/* --fair: it says that others come first, however many would grant it. */
static bool is_before_its_turn(const struct step *s)
{
	bool is_early = false;

	for (int key = 0; key < s->policy->keys && policy_obeys_queue(s->policy); key++) {
		int line = waiter_queue_node(s, key);

		is_early |= line >= 0 && s->tally->ballot[line].vote == VOTE_FOREIGN &&
			    s->tally->ballot[line].reply.is_reserved &&
			    s->tally->ballot[line].reply.key == key;
	}
	return is_early;
}

/* ---- the border ---- */

void waiter_init(struct waiter *w)
{
	*w = (struct waiter){.retry_at = NEVER};
}

void waiter_begin_round(struct step *s)
{
	s->waiter->awaited = 0;
}

int waiter_begin(struct step *s, bool is_contended)
{
	struct waiter *w = s->waiter;
	const int *i = s->policy->order[w->busy_key];

	w->used_turn = w->is_woken;
	w->is_fresh = false;
	/* Others contend and nobody has woken us: who gets the line goes on. Alone, or when it is
	 * our turn, one round trip does. */
	if (!is_contended || w->used_turn)
		return -1;
	while (!peer_is_ready(&s->peer[*i]))
		i++;
	return *i;
}

void waiter_granted(struct step *s, const struct event *ev, const struct reply *reply, bool in_time)
{
	struct waiter *w = s->waiter;

	/* A turn that nobody came for: with it, the others will grant it as well. */
	if (ev->op == OP_ACQUIRE && reply->text_len > 0) {
		keep_turn(s, reply, reply->key, s->stamp->slot);
		w->used_turn |= in_time;
	}
	/* Those who wait elsewhere see the line otherwise than we do, and will see to it. */
	for (int key = 0; key < s->policy->keys; key++)
		if (ev->node == waiter_queue_node(s, key))
			w->awaited = (w->awaited & ~(1u << key)) | (reply->waiters & 1u << key);
}

enum reserved waiter_reserved(const struct step *s, usec *wake_at)
{
	if (is_a_line_silent(s, wake_at))
		return RESERVED_UNKNOWN;
	return is_before_its_turn(s) ? RESERVED_FOR_OTHERS : RESERVED_NO;
}

void waiter_refused(struct step *s)
{
	struct waiter *w = s->waiter;

	w->busy_key = key_in_the_way(s);
	/* A writer that is woken, and finds readers, does not go to the end of the line. */
	w->leads |= w->used_turn && !s->policy->is_shared && shared_is_in_the_way(s);
	if (w->used_turn && !w->is_fresh) {
		w->is_woken = false;
		pass_useless_turn_on(s);
	}
}

void waiter_pause(struct step *s, bool is_busy, bool is_moving, usec wait_until)
{
	struct waiter *w = s->waiter;

	w->tries += !is_moving;
	w->retry_at = is_moving               ? s->now
		      : semaphore_has_next(s) ? s->now + retry_delay(s)
					      : retry_at(s, is_busy);
	w->retry_at = usec_min(w->retry_at, usec_max(s->now, wait_until));
	/* What was heard meanwhile came too late for this attempt. */
	if ((w->is_woken || w->is_fresh) && is_busy)
		w->retry_at = s->now;
	w->shed_at = s->now + SHED_AFTER;
}

void waiter_plan(struct step *s, bool is_busy, usec *wake_at)
{
	if (is_busy)
		take_seat(s);
	shed_links(s, wake_at);
	*wake_at = usec_min(*wake_at, s->waiter->retry_at);
}

void waiter_review(struct step *s)
{
	doubt_seat(s);
	s->waiter->retry_at = NEVER;
}

void waiter_held(struct step *s)
{
	struct waiter *w = s->waiter;

	/* A seat that still waits is kept: the node may be slow to notice that it was closed, and
	 * our own release would then wake nobody but us. */
	if (w->is_woken && w->turn_slot != s->stamp->slot)
		pass_turn_on(s);
	/* The next in line may be a reader too. */
	if (w->used_turn && s->policy->is_shared)
		pass_turn_on(s);
	/* Another slot's release would wake us, or another reader's word: who serves us passes that
	 * on at once. */
	if (w->waits && (policy_has_slots(s->policy) || s->policy->is_shared)) {
		send_from_seat(s, OP_HAND_OFF);
		w->leaves = true;
	}
	if (!w->waits && !w->passes)
		close_seat(s);
	w->is_woken = w->leads = false;
}

void waiter_leave(struct step *s)
{
	struct waiter *w = s->waiter;

	/* It was our turn, and we leave without having used it; or it may be by now, and behind the
	 * blocked pop this is only looked at if we were woken. */
	if (w->link == LINK_UP && !w->leaves && (w->is_woken || w->waits || w->leads))
		send_from_seat(s, OP_HAND_OFF);
	w->parts = w->link == LINK_UP;
	w->retry_at = NEVER;
	pass_turn_beside_the_seat(s);
}

bool waiter_may_have_released(const struct step *s, int node)
{
	return s->waiter->parts && s->waiter->node == node;
}

void waiter_event(struct step *s, const struct event *ev)
{
	switch (ev->kind) {
	case EV_LINK_UP:
		s->waiter->link = LINK_UP;
		break;
	case EV_LINK_DOWN:
		seat_is_down(s);
		come_back(s, retry_delay(s));
		break;
	case EV_REPLY:
		seat_reply(s, ev);
		break;
	case EV_LINK_SHAKES:
	case EV_START:
	case EV_TIME:
	case EV_EXTEND:
	case EV_RELEASE:
		break;
	}
}

void waiter_overdue(struct step *s)
{
	if (waiter_due(s) <= s->now) {
		close_seat(s);
		come_back(s, retry_delay(s));
	}
}
