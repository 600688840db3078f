#include "lock/lock.h"

#include "lock/step.h"

#include <assert.h>
#include <string.h>

/* A random delay lets rivals that split the votes fall out of step; it grows up to fourfold. */
#define RETRY_DELAY (20 * USEC_MSEC)
#define RETRY_SPREAD (100 * USEC_MSEC)

/* The first time that one asks again those that split the votes with it; each time later, up to a
 * quarter of the node time-out. A client that waits does so a few times, and then has its place in
 * the queue; one that does not wait goes on for a node time-out: its rival may be far away. */
#define INSIST_AFTER 200
#define INSIST_WAITING_MAX 3

/* So often the line may say that it is another one's turn, without a wake-up between. */
#define SEAT_TRIES 3

/* So often one goes at once to another slot of a semaphore that was said to be free. */
#define MOVES_MAX 8

/* Who is not woken asks again after that time at the latest; so do those that stopped, crashed or
 * never knew how to wake. */
#define BACK_STOP (25 * USEC_SEC)
#define BACK_STOP_SPREAD (10 * USEC_SEC)

/* Who waits for longer than this keeps no connection but its seat. */
#define SHED_AFTER USEC_SEC

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
	lock->worst_margin = NEVER;
}

bool lock_is_pausing(const struct lock *lock)
{
	return lock->phase == PHASE_PAUSE;
}

usec lock_extend_at(const struct lock *lock)
{
	return lock->resume_at;
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

/* The first in a key's order that answers, as far as we know; -1: none. */
static int find_line(const struct lock *lock, int key)
{
	for (int n = 0; n < lock->policy.nodes; n++) {
		int i = lock->policy.order[key][n];
		const struct peer *m = &lock->peer[i];
		const struct ballot *b = &lock->tally.ballot[i];

		if (b->vote == VOTE_NONE ? m->link == LINK_UP && !peer_is_late(m)
					 : b->vote != VOTE_ABSENT)
			return i;
	}
	return -1;
}

/* The pause ends after that time, or as it would have. */
static void come_back(struct step *s, usec after)
{
	if (s->lock->phase == PHASE_PAUSE)
		s->lock->resume_at = usec_min(s->lock->resume_at, usec_add(s->now, after));
}

static int seat_of(const struct lock *lock)
{
	return lock->policy.nodes;
}

static struct action *send_from_seat(struct step *s, enum op op)
{
	struct seat *seat = &s->lock->seat;
	struct action *a = step_act(s, ACT_SEND, seat_of(s->lock));

	a->op = op;
	a->leads = seat->leads && op != OP_HAND_OFF;
	if (op == OP_HAND_OFF)
		a->slot = seat->is_woken && !seat->waits ? seat->turn_slot : 0;
	seat->joins |= op == OP_JOIN;
	seat->waits |= op == OP_WAIT;
	seat->due = s->now + s->lock->policy.node_timeout;
	return a;
}

/* The next in line need not wait for who does not use it. Nobody is behind a pop that is blocked.
 */
static void pass_turn_on(struct step *s)
{
	struct seat *seat = &s->lock->seat;

	if (seat->link != LINK_UP || seat->waits)
		return;
	send_from_seat(s, OP_HAND_OFF);
	seat->passes = true;
}

/* What is not within our limit, others may have: they have another one. */
static int slot_of(const struct lock *lock, int named)
{
	return named <= lock->policy.slots ? named : 0;
}

static void keep_turn(struct step *s, const struct reply *reply, int key, int slot)
{
	struct lock *lock = s->lock;
	size_t len = reply->text_len < TOKEN_ID_LEN ? reply->text_len : TOKEN_ID_LEN;

	/* Two at once: one will do. */
	if (lock->seat.is_woken && slot != lock->seat.turn_slot)
		pass_turn_on(s);
	memcpy(lock->seat.turn[key], reply->text, len);
	lock->seat.turn[key][len] = '\0';
	lock->seat.turn_key = key;
	lock->seat.turn_slot = slot;
	lock->seat.is_woken = lock->state == LOCK_TRYING;
	come_back(s, 0);
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
	if (lock->seat.parts && lock->seat.node == ev->node && ev->reply->vote != VOTE_YES)
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
	/* A turn that nobody came for: with it, the others will grant it as well. */
	if (reply->vote == VOTE_YES && ev->op == OP_ACQUIRE && reply->text_len > 0) {
		keep_turn(s, reply, reply->key, lock->stamp.slot);
		lock->used_turn |= lock->phase == PHASE_ASK;
	}
	/* Those who wait elsewhere see the line otherwise than we do, and will see to it. */
	for (int key = 0; key < lock->policy.keys && reply->vote == VOTE_YES; key++)
		if (ev->node == find_line(lock, key))
			lock->awaited =
				(lock->awaited & ~(1u << key)) | (reply->awaited & 1u << key);
}

/* ---- the seat ---- */

static void open_seat(struct step *s, int line)
{
	struct seat *seat = &s->lock->seat;

	step_act(s, ACT_OPEN, seat_of(s->lock))->line = line;
	seat->link = LINK_OPENING;
	seat->leads &= seat->node == line && seat->key == s->lock->busy_key;
	seat->node = line;
	seat->key = s->lock->busy_key;
	seat->tried = s->lock->stamp.round;
	seat->due = s->now + s->lock->policy.node_timeout;
}

static void seat_is_down(struct step *s)
{
	struct seat *seat = &s->lock->seat;

	seat->link = LINK_DOWN;
	seat->joins = seat->waits = seat->passes = seat->leaves = false;
}

static void close_seat(struct step *s)
{
	if (s->lock->seat.link == LINK_DOWN)
		return;
	step_act(s, ACT_CLOSE, seat_of(s->lock));
	seat_is_down(s);
}

/* All who waited at a node that is gone come at once: not in step, please. */
static usec retry_delay(const struct step *s)
{
	int grows = s->lock->tries / 4;

	return (RETRY_DELAY + (usec)(s->random % RETRY_SPREAD)) << (grows < 2 ? grows : 2);
}

/* So much later than a key's end is asked for it: nodes are a grain late, and others wait too. */
static usec spread(const struct step *s)
{
	return 2 * USEC_MSEC + (usec)(s->random % RETRY_SPREAD);
}

static usec seat_due(const struct lock *lock)
{
	return lock->seat.link == LINK_OPENING || lock->seat.joins || lock->seat.passes
		       ? lock->seat.due
		       : NEVER;
}

/* ---- time ---- */

/* Time is called only when nothing else has come in: an answer that is here is never late, however
 * long this machine slept before it looked. */
static void overdue(struct step *s)
{
	if (seat_due(s->lock) <= s->now) {
		close_seat(s);
		come_back(s, retry_delay(s));
	}
	for (int i = 0; i < s->policy->nodes; i++)
		peer_overdue(s, i);
}

/* ---- a round ---- */

static void begin_round(struct step *s)
{
	struct lock *lock = s->lock;

	lock->stamp.round++;
	tally_begin(&lock->tally, s->now);
	lock->awaited = 0;
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_begin_round(&lock->peer[i]);
}

/* For the moment in which the others may still answer, see tally_grace_is_over(). */
static bool grace_is_over(const struct step *s, bool enough, usec least, usec *wake_at)
{
	struct lock *lock = s->lock;

	return tally_grace_is_over(
		&lock->tally, s->now, enough, least, lock->policy.node_timeout / 4, wake_at);
}

static void take_turn(struct step *s, const struct reply *reply)
{
	keep_turn(s, reply, s->lock->seat.key, slot_of(s->lock, reply->slot));
	s->lock->seat.is_fresh = true;
	s->lock->seat.was_free = false;
	s->lock->tries = 0;
}

/* Others have a larger limit than we, and a slot that we do not. */
static void pass_slot_on(struct step *s, int slot)
{
	send_from_seat(s, OP_HAND_OFF)->slot = slot;
	s->lock->seat.passes = true;
}

static void seat_reply(struct step *s, const struct event *ev)
{
	struct seat *seat = &s->lock->seat;
	const struct reply *reply = ev->reply;

	switch (ev->op) {
	case OP_JOIN:
		seat->joins = false;
		if (reply->vote == VOTE_ABSENT)
			break;
		/* Free by now. If that did not help the last time, it is not free elsewhere. */
		if (reply->vote == VOTE_YES)
			s->lock->next_slot = slot_of(s->lock, reply->slot);
		if (reply->vote == VOTE_YES && reply->text_len > 0)
			take_turn(s, reply);
		/* So it is when this attempt has failed; and so is another one's turn, which may be
		 * nobody's. Among readers, each question is a word for the next in line: one will
		 * do. */
		else if (s->lock->phase != PHASE_PAUSE &&
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
		if (policy_has_slots(&s->lock->policy) && reply->slot > s->lock->policy.slots)
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
	struct lock *lock = s->lock;
	struct seat *seat = &lock->seat;
	int line = find_line(lock, lock->busy_key);

	if (lock->refusal != REFUSAL_BUSY || seat->is_refused || seat->passes)
		return;
	assert(line >= 0); /* who refused us */
	if (seat->link != LINK_DOWN && (line != seat->node || lock->busy_key != seat->key))
		close_seat(s);
	/* Once in a round at each: the next in order may be the line before the round is over. */
	if (seat->link == LINK_DOWN && (seat->tried != lock->stamp.round || line != seat->node))
		open_seat(s, line);
	if (seat->link == LINK_UP && !seat->joins && !seat->waits) {
		send_from_seat(s, OP_JOIN);
		send_from_seat(s, OP_WAIT);
	}
}

/* It is somebody's turn again and again, and never ours: is our seat still there? */
static void doubt_seat(struct step *s)
{
	const struct lock *lock = s->lock;
	int line = find_line(lock, lock->busy_key);

	if (lock->tries > SEAT_TRIES && lock->seat.waits && line >= 0 &&
		lock->tally.ballot[line].vote == VOTE_FOREIGN &&
		lock->tally.ballot[line].reply.is_reserved)
		close_seat(s);
}

/* Readers have the key that we wait for: who leaves the line then lets others in. */
static bool is_behind_readers(const struct lock *lock)
{
	const struct reply *a = &lock->tally.ballot[lock->seat.node].reply;

	return a->vote == VOTE_FOREIGN && a->is_shared;
}

/* What is not needed while waiting is closed after a while. */
static void shed_links(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;

	if (!lock->seat.waits)
		return;
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];

		if (m->link != LINK_UP || peer_in_flight(m) ||
			(i == lock->seat.node && is_behind_readers(lock)))
			continue;
		if (s->now >= lock->shed_at)
			peer_close(s, i);
		else
			*wake_at = usec_min(*wake_at, lock->shed_at);
	}
}

/* ---- trying ---- */

/* A turn that came before the pop is known to be ours while the pop is still blocked; so is it that
 * nobody passes readers by who waits behind us. */
static void pass_turn_beside_the_seat(struct step *s)
{
	const struct seat *seat = &s->lock->seat;
	const struct peer *m = &s->lock->peer[seat->node];
	struct action *a;

	/* Woken while another program had the key, we used no turn; yet the nodes keep it. */
	if (!seat->waits || m->link != LINK_UP || m->pending ||
		(!seat->is_woken && !seat->turn[seat->key][0] && !is_behind_readers(s->lock)))
		return;
	a = peer_send(s, seat->node, OP_HAND_OFF);
	a->is_leaving = true;
	a->slot = seat->is_woken ? seat->turn_slot : 0;
	a->leads = seat->leads;
	s->lock->seat.passes_beside = true;
}

/* That word serves our own pop, and what stands behind it serves the next in line: a node that
 * finds us gone in between drops it. */
static bool is_passing_beside(const struct lock *lock)
{
	const struct peer *m = &lock->peer[lock->seat.node];

	return lock->seat.passes_beside && peer_in_flight(m) && !peer_is_late(m);
}

/* The release of a held lock is a round of its own, in which each node is asked for a vote. For a
 * lock that was not held, the votes of the last attempt stay: they tell why. */
static void begin_release(struct step *s)
{
	struct lock *lock = s->lock;
	unsigned awaited = lock->awaited;

	lock->asking = lock->state == LOCK_HELD && lock->tally.duplicate[0] < 0;
	if (lock->asking)
		begin_round(s);
	lock->awaited = awaited;
}

static void let_go(struct step *s)
{
	struct lock *lock = s->lock;

	/* It was our turn, and we leave without having used it; or it may be by now, and behind the
	 * blocked pop this is only looked at if we were woken. */
	if (lock->seat.link == LINK_UP && !lock->seat.leaves &&
		(lock->seat.is_woken || lock->seat.waits || lock->seat.leads))
		send_from_seat(s, OP_HAND_OFF);
	lock->seat.parts = lock->seat.link == LINK_UP;
	pass_turn_beside_the_seat(s);

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

/* When who refused us may have something for us. */
static usec ends_in(const struct lock *lock, const struct reply *a)
{
	return policy_has_slots(&lock->policy) ? a->soonest : a->pttl;
}

/* Somebody is in the way who wakes nobody. */
static bool has_strangers(const struct lock *lock)
{
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN && !tally_is_taken(&lock->tally, i))
			return true;
	return false;
}

/* Rivals have the votes, none of them a majority: one of them can have what the others give back. A
 * node that does not answer is not counted for a holder: it is down for all far more often than it
 * has the key of one. To ask again in vain changes nothing. */
static bool is_split(const struct lock *lock)
{
	int quorum = policy_quorum(&lock->policy), most, rivals = 0;

	(void)tally_holder(&lock->tally, &most);
	for (int i = 0; i < lock->policy.nodes; i++)
		rivals +=
			tally_is_taken(&lock->tally, i) && !lock->tally.ballot[i].reply.is_reserved;
	return most < quorum &&
	       tally_yes(&lock->tally) + rivals + tally_count(&lock->tally, VOTE_NONE) >= quorum;
}

/* The next attempt, if nobody wakes us before. */
static usec retry_at(const struct step *s)
{
	const struct lock *lock = s->lock;
	usec delay = retry_delay(s);
	/* However long the key lasts: a wake-up may be lost. */
	usec back_stop = s->now + BACK_STOP + (usec)(s->random % BACK_STOP_SPREAD);
	int line = find_line(lock, lock->busy_key), most;

	if (lock->refusal == REFUSAL_NO_QUORUM && tally_quarantined_for(&lock->tally) > 0)
		return usec_min(
			usec_add(usec_add(s->now, spread(s)), tally_quarantined_for(&lock->tally)),
			back_stop);
	if (lock->refusal != REFUSAL_BUSY || lock->seat.is_refused || has_strangers(lock))
		return s->now + delay;
	if (tally_is_taken(&lock->tally, line))
		return usec_min(usec_add(s->now + spread(s),
					ends_in(lock, &lock->tally.ballot[line].reply)),
			back_stop);
	(void)tally_holder(&lock->tally, &most);
	if (most >= policy_quorum(&lock->policy))
		return usec_min(
			usec_add(s->now, usec_max(usec_add(spread(s),
							  tally_free_in(&lock->tally,
								  policy_has_slots(&lock->policy))),
						 delay)),
			back_stop);
	return s->now + delay;
}

/* Of several keys the one to wait for: as the line of the last one sees it, or else as anybody. */
static int key_in_the_way(const struct lock *lock)
{
	int line = find_line(lock, lock->busy_key), key = lock->busy_key;

	assert(line >= 0); /* who refused us */
	if (lock->tally.ballot[line].vote == VOTE_FOREIGN)
		return lock->tally.ballot[line].reply.key;
	for (int i = lock->policy.nodes - 1; i >= 0; i--)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN)
			key = lock->tally.ballot[i].reply.key;
	return key;
}

/* It was our turn, but another one of our keys is somebody else's: the next in line need not wait
 * for that. */
static void pass_useless_turn_on(struct step *s)
{
	if (s->lock->busy_key != s->lock->seat.key)
		pass_turn_on(s);
}

/* Of a semaphore, another slot that is free: as the line sees it, or else as anybody. */
static int find_slot(const struct lock *lock)
{
	int line = find_line(lock, 0), slot = 0;

	assert(line >= 0); /* who refused us */
	if (lock->tally.ballot[line].vote == VOTE_FOREIGN)
		return slot_of(lock, lock->tally.ballot[line].reply.slot);
	for (int i = lock->policy.nodes - 1; i >= 0; i--)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			lock->tally.ballot[i].reply.slot > 0)
			slot = slot_of(lock, lock->tally.ballot[i].reply.slot);
	return slot;
}

/* A slot that is free is worth an attempt at once, even if we do not wait. */
static bool moves_on(struct step *s)
{
	struct lock *lock = s->lock;

	lock->moves = lock->next_slot > 0 && lock->moves < MOVES_MAX ? lock->moves + 1 : 0;
	return lock->moves > 0 && s->now <= usec_add(lock->wait_until, lock->policy.node_timeout);
}

/* Are readers in the way? As the line sees it, or else as anybody. */
static bool finds_readers(const struct lock *lock)
{
	const struct ballot *line = &lock->tally.ballot[lock->seat.node];
	bool found = false;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct ballot *b = &lock->tally.ballot[i];

		if (b == line || line->vote != VOTE_FOREIGN)
			found |= b->vote == VOTE_FOREIGN && b->reply.is_shared &&
				 b->reply.key == lock->seat.key;
	}
	return found;
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
	bool is_moving, gives_up;
	/* Those who gave way to us wait for a word. If there is a holder, or a rival to give way
	 * to, it is theirs to say. */
	enum op op;

	lock->next_slot =
		refusal == REFUSAL_BUSY && policy_has_slots(&lock->policy) ? find_slot(lock) : 0;
	lock->waits_for_all = refusal == REFUSAL_NO_QUORUM && needs_those_left_out(lock);
	is_moving = moves_on(s) || lock->waits_for_all;
	gives_up = refusal == REFUSAL_DUPLICATE || (s->now >= lock->wait_until && !is_moving);
	op = gives_up || (lock->insisted > 0 && is_split(lock)) ? OP_HAND_OFF : OP_UNDO;
	lock->refusal = refusal;
	if (refusal == REFUSAL_BUSY)
		lock->busy_key = key_in_the_way(lock);
	/* A writer that is woken, and finds readers, does not go to the end of the line. */
	lock->seat.leads |= refusal == REFUSAL_BUSY && lock->used_turn && !lock->policy.is_shared &&
			    finds_readers(lock);
	if (lock->used_turn && refusal == REFUSAL_BUSY && !lock->seat.is_fresh) {
		lock->seat.is_woken = false;
		pass_useless_turn_on(s);
	}
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
	lock->tries += !is_moving;
	lock->resume_at = is_moving             ? s->now
			  : lock->next_slot > 0 ? s->now + retry_delay(s)
						: retry_at(s);
	lock->resume_at = usec_min(lock->resume_at, usec_max(s->now, lock->wait_until));
	/* What was heard meanwhile came too late for this attempt. */
	if ((lock->seat.is_woken || lock->seat.is_fresh) && refusal == REFUSAL_BUSY)
		lock->resume_at = s->now;
	lock->shed_at = s->now + SHED_AFTER;
}

/* Before anybody is asked in this attempt: where to begin. A majority is ready. */
static int first_ready(const struct lock *lock)
{
	const int *i = lock->policy.order[lock->busy_key];

	while (!peer_is_ready(&lock->peer[*i]))
		i++;
	return *i;
}

static enum op attempt_op(const struct lock *lock)
{
	return lock->policy.only_looks ? OP_LOOK : OP_ACQUIRE;
}

/* That of our turn, or one that was said to be free, or any. */
static void choose_slot(struct step *s)
{
	struct lock *lock = s->lock;
	int slot = lock->seat.is_woken ? lock->seat.turn_slot : lock->next_slot;

	lock->next_slot = 0;
	if (!policy_has_slots(&lock->policy))
		return;
	/* The upper bits: the lower ones spread the delays. */
	lock->stamp.slot =
		slot > 0 ? slot : 1 + (int)((s->random >> 32) % (uint64_t)lock->policy.slots);
}

static void ask(struct step *s)
{
	struct lock *lock = s->lock;

	choose_slot(s);
	lock->stamp.attempt = lock->stamp.round;
	lock->valid_until = valid_until(&lock->policy, s->now);
	lock->phase = PHASE_ASK;
	lock->asked_at = s->now;
	lock->tally.enough_at = 0;
	lock->insist_at = 0;
	lock->insisted = 0;
	lock->used_turn = lock->seat.is_woken;
	lock->seat.is_fresh = false;
	s->up->new_token = true;
	for (int i = 0; i < lock->policy.nodes; i++)
		peer_leave_out(s, i);
	/* Others contend and nobody has woken us: who gets the line goes on. Alone, or when it is
	 * our turn, one round trip does. */
	lock->line = -1;
	if (lock->refusal == REFUSAL_BUSY && !lock->used_turn && s->now < lock->wait_until)
		lock->line = first_ready(lock);
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

/* It is our turn, but the release of the one before us has not reached this node yet. Readers' key
 * has none of their names: but at the line they are gone. */
static bool is_on_its_way(const struct lock *lock, const struct ballot *b)
{
	if (b->vote != VOTE_FOREIGN || !lock->used_turn || b->reply.text_len <= TOKEN_ID_LEN)
		return false;
	if (b->reply.is_shared)
		return lock->tally.ballot[lock->seat.node].vote ==
		       (lock->policy.only_looks ? VOTE_GONE : VOTE_YES);
	return memcmp(b->reply.text, lock->seat.turn[b->reply.key], TOKEN_ID_LEN) == 0;
}

/* It is our turn, but we did not know that when we asked. */
static bool is_kept_for_us(const struct lock *lock, const struct ballot *b)
{
	return b->vote == VOTE_FOREIGN && lock->used_turn && b->reply.is_reserved &&
	       lock->seat.turn[b->reply.key][0];
}

/* Of those who split the votes, the one with the smallest token goes on: as far as we see, it is
 * us. Readers have a token together that is larger than all others. */
static bool is_first_of_rivals(const struct step *s)
{
	const struct lock *lock = s->lock;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct reply *a = &lock->tally.ballot[i].reply;

		if (lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			token_is_ours(a->text, a->text_len) &&
			(lock->policy.is_shared || memcmp(a->text, s->token, TOKEN_ID_LEN) < 0))
			return false;
	}
	return tally_yes(&lock->tally) > 0;
}

/*
 * The votes are split, and nobody can have a majority: one of us must go on, so it asks the others
 * again, who give theirs back at once. Or it is our turn, and the release that we heard of is still
 * on its way to the others. True while that is so.
 */
static bool insist(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	bool is_coming = false, is_kept = false;

	for (int i = 0; i < lock->policy.nodes; i++) {
		is_coming |= is_on_its_way(lock, &lock->tally.ballot[i]);
		is_kept |= is_kept_for_us(lock, &lock->tally.ballot[i]);
	}
	if (!lock->insist_at) {
		if (s->now >= lock->asked_at + lock->policy.node_timeout ||
			(!is_coming && lock->insisted >= INSIST_WAITING_MAX &&
				s->now < lock->wait_until) ||
			(!is_coming && !is_kept && !(is_split(lock) && is_first_of_rivals(s))))
			return false;
		lock->insist_at = s->now + usec_min(usec_max(INSIST_AFTER, s->now - lock->asked_at),
						   lock->policy.node_timeout / 4);
		lock->insisted++;
	}
	if (s->now < lock->insist_at) {
		*wake_at = lock->insist_at;
		return true;
	}
	lock->insist_at = lock->tally.enough_at = 0;
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *m = &lock->peer[i];
		struct ballot *b = &lock->tally.ballot[i];

		if (b->vote == VOTE_FOREIGN && peer_is_ready(m))
			peer_send(s, i, attempt_op(lock));
	}
	return tally_count(&lock->tally, VOTE_NONE) > 0;
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
	usec least = lock->moves > 0 ? usec_max(LEAST_GRACE, lock->tally.began - lock->asked_at)
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
	if (ready + pending < quorum && (pending == 0 || grace_is_over(s, true, least, wake_at))) {
		for (int i = 0; i < lock->policy.nodes; i++)
			peer_leave_out(s, i);
		fail_attempt(s, REFUSAL_NO_QUORUM);
	}
	if (lock->phase == PHASE_GATHER && ready >= quorum &&
		(pending == 0 || (!lock->waits_for_all && grace_is_over(s, true, least, wake_at))))
		ask(s);
}

/* Of a key: it is there, and has not spoken yet. */
static bool is_the_line_silent(const struct lock *lock, int key)
{
	int line = find_line(lock, key);

	return line >= 0 && lock->tally.ballot[line].vote == VOTE_NONE;
}

/* --fair: a line has not spoken yet. Readers wait for a quarter of its time: they would share; but
 * one that is only far away must be heard, or writers starve. */
static bool is_a_line_silent(const struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	bool is_silent = false;

	for (int key = 0; key < lock->policy.keys && policy_heeds_line(&lock->policy); key++)
		is_silent |= is_the_line_silent(lock, key);
	if (is_silent && !lock->policy.is_fair)
		return !grace_is_over(s,
			tally_yes(&lock->tally) + tally_no(&lock->tally) >=
				policy_quorum(&lock->policy),
			lock->policy.node_timeout / 4, wake_at);
	return is_silent;
}

/* A turn is kept: the line, which has not spoken yet, knows whether anybody comes for it. */
static bool is_turn_in_doubt(const struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	bool is_silent = false;

	for (int i = 0; i < lock->policy.nodes; i++)
		is_silent |= lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			     lock->tally.ballot[i].reply.is_reserved &&
			     is_the_line_silent(lock, lock->tally.ballot[i].reply.key);
	return is_silent && !grace_is_over(s, true, lock->policy.node_timeout / 4, wake_at);
}

/* --fair: it says that others come first, however many would grant it. */
static bool is_before_its_turn(const struct lock *lock)
{
	bool is_early = false;

	for (int key = 0; key < lock->policy.keys && policy_heeds_line(&lock->policy); key++) {
		int line = find_line(lock, key);

		is_early |= line >= 0 && lock->tally.ballot[line].vote == VOTE_FOREIGN &&
			    lock->tally.ballot[line].reply.is_reserved &&
			    lock->tally.ballot[line].reply.key == key;
	}
	return is_early;
}

static void hold(struct step *s)
{
	struct lock *lock = s->lock;

	if (s->now >= lock->valid_until - lock->policy.safety_margin) {
		fail_attempt(s, REFUSAL_SLOW);
		return;
	}
	/* A seat that still waits is kept: the node may be slow to notice that it was closed, and
	 * our own release would then wake nobody but us. */
	if (lock->seat.is_woken && lock->seat.turn_slot != lock->stamp.slot)
		pass_turn_on(s);
	/* The next in line may be a reader too. */
	if (lock->used_turn && lock->policy.is_shared)
		pass_turn_on(s);
	/* Another slot's release would wake us, or another reader's word: who serves us passes that
	 * on at once. */
	if (lock->seat.waits && (policy_has_slots(&lock->policy) || lock->policy.is_shared)) {
		send_from_seat(s, OP_HAND_OFF);
		lock->seat.leaves = true;
	}
	if (!lock->seat.waits && !lock->seat.passes)
		close_seat(s);
	lock->seat.is_woken = lock->seat.leads = false;
	lock->state = LOCK_HELD;
	lock->phase = PHASE_KEEP;
	lock->proved = lock->stamp.round;
	lock->refusal = REFUSAL_NONE;
	lock->resume_at = lock->tally.began + lock->policy.ttl / 3;
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

/* A majority has answered, and we have none. Where rivals split the votes, each hears of all that
 * it got before it gives way, or goes on: but for those that are late. */
static bool is_refused(const struct step *s, int yes, int open, usec *wake_at)
{
	struct lock *lock = s->lock;

	if (!is_split(lock))
		return yes + open < policy_quorum(&lock->policy);
	return open == 0 || grace_is_over(s, true, lock->policy.node_timeout / 4, wake_at);
}

static void tally_attempt(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int quorum = policy_quorum(&lock->policy);
	bool looks = lock->policy.only_looks;
	int yes, no, open;

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
	if (lock->tally.duplicate[0] >= 0) {
		fail_attempt(s, REFUSAL_DUPLICATE);
	} else if (is_a_line_silent(s, wake_at)) {
		return;
	} else if (is_before_its_turn(lock)) {
		fail_attempt(s, REFUSAL_BUSY);
	} else if (yes >= quorum && looks) {
		lock->refusal = REFUSAL_NONE;
		let_go(s);
	} else if (yes >= quorum && lock->policy.wants_fence) {
		choose_fence(s);
	} else if (yes >= quorum) {
		hold(s);
	} else if (yes + no >= quorum && is_refused(s, yes, open, wake_at)) {
		if (!is_turn_in_doubt(s, wake_at) && !insist(s, wake_at))
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
		lock->resume_at = lock->tally.began + lock->policy.ttl / 3;
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
		lock->resume_at = s->now + SECOND_LOOK;
	} else if (yes + open < quorum && no + open < quorum) {
		lock->denied = lock->asking = false;
		lock->resume_at = s->now + retry + (usec)(s->random % (uint64_t)retry);
	}
}

static void keep(struct step *s)
{
	struct lock *lock = s->lock;

	if (lock->state != LOCK_HELD)
		return;
	if (!lock->asking && s->now >= lock->resume_at) {
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
		(!is_passing_beside(lock) && !is_end_open(lock) &&
			(waited_for == 0 ||
				grace_is_over(s, settled >= policy_quorum(&lock->policy),
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
		if (ev->node != seat_of(lock))
			lock->peer[ev->node].missing = ev->reply->reason;
		break;
	case EV_LINK_UP:
		if (ev->node == seat_of(lock))
			lock->seat.link = LINK_UP;
		else
			peer_up(s, ev->node);
		break;
	case EV_LINK_DOWN:
		if (ev->node == seat_of(lock)) {
			seat_is_down(s);
			come_back(s, retry_delay(s));
			break;
		}
		/* What was in flight may have been carried out all the same: the debt stays. */
		peer_down(s, ev->node);
		tally_set_absent(&lock->tally, ev->node, ev->reply);
		break;
	case EV_REPLY:
		if (ev->node == seat_of(lock)) {
			seat_reply(s, ev);
			break;
		}
		take_reply(s, ev);
		break;
	case EV_TIME:
		break;
	case EV_EXTEND:
		if (lock->phase == PHASE_KEEP && !lock->asking)
			lock->resume_at = usec_min(lock->resume_at, s->now);
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

static usec next_due(const struct lock *lock)
{
	usec at = seat_due(lock);

	for (int i = 0; i < lock->policy.nodes; i++)
		at = usec_min(at, peer_due(&lock->peer[i], lock->policy.node_timeout));
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
		if (s->now >= lock->resume_at) {
			doubt_seat(s);
			begin_round(s);
			lock->phase = PHASE_GATHER;
			break;
		}
		take_seat(s);
		shed_links(s, &wake_at);
		wake_at = usec_min(wake_at, lock->resume_at);
		break;
	case PHASE_KEEP:
		keep(s);
		if (lock->state == LOCK_HELD)
			wake_at = usec_min(lock->asking ? NEVER : lock->resume_at,
				lock->valid_until - lock->policy.safety_margin);
		else if (lock->state == LOCK_EXPIRING)
			wake_at = lock->valid_until;
		break;
	case PHASE_LET_GO:
		release(s, &wake_at);
		break;
	}
	return usec_min(wake_at, next_due(lock));
}

void lock_step(struct lock *lock, const struct event *ev, struct update *up)
{
	struct step s = {.policy = &lock->policy,
		.stamp = &lock->stamp,
		.tally = &lock->tally,
		.peer = lock->peer,
		.lock = lock,
		.up = up,
		.now = ev->now,
		.random = ev->random,
		.token = ev->token,
		.is_timeout = ev->kind == EV_TIME};
	int phase;

	up->new_token = false;
	up->count = 0;
	/* Expiry is looked at before the event: no answer, however good, revives a lock that ended.
	 */
	look_at_expiry(lock, s.now);
	take_in(&s, ev);
	if (ev->kind == EV_TIME)
		overdue(&s);
	do {
		phase = lock->phase;
		up->wake_at = advance(&s);
	} while (lock->phase != phase);
}
