/* quorum: the rules of the lock, one by one. The tests play the transport; walk.c plays at random.
 */
#include "lock/lock.h"

#include "base/token.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define MS USEC_MSEC
#define BEGIN (1000 * USEC_SEC)
#define TTL (10 * USEC_SEC)
#define NODE_TIMEOUT (100 * MS)
#define GUARD USEC_SEC

enum { NOBODY = 0, OUTSIDER = -1 };

struct sent {
	enum op op;
	uint32_t round;
	int token;
	bool leads;
};

/* A node, and the connection to it, as the other side sees them. */
struct fake {
	enum link link;
	struct sent queue[3]; /* a request and a release; of the seat: JOIN, WAIT, HAND_OVER */
	int queued;
	int holder; /* whose key it carries: a token of ours, OUTSIDER or NOBODY */
	int kept_token; /* what it was last asked to keep, as in session.c */
	int left; /* the token that it was last told to keep until it ends by itself */
	int sends[OP_COUNT];
	int opens;
	int line; /* the seat's connection: where it was last opened to */
	bool silent; /* answers nothing */
	bool gone; /* refuses to be connected to again */
	const char *run_id;
};

struct rig {
	struct lock lock;
	struct update up;
	usec now;
	uint64_t random;
	int token; /* counts the tokens made */
	const char *text; /* what the last is made of; tests of split votes set it */
	struct fake fake[NODES_MAX + 1]; /* the last: the seat's connection, at policy.nodes */
};

/* ---- the rig ---- */

static void cut(struct fake *p)
{
	p->link = LINK_DOWN;
	p->queued = 0;
}

static bool is_parting(enum op op)
{
	return op == OP_UNDO || op == OP_HAND_OFF || op == OP_EXPIRE;
}

static int connection_of(const struct rig *r, const struct action *a)
{
	return a->target == TARGET_WAITER ? r->lock.policy.nodes : a->node;
}

static void enqueue(struct rig *r, const struct action *a)
{
	struct fake *p = &r->fake[connection_of(r, a)];
	struct sent *sent = &p->queue[p->queued];

	CHECK(p->link == LINK_UP);
	if (a->op == OP_WAIT)
		CHECK(p->queued == 1 && p->queue[0].op == OP_JOIN);
	else if (is_parting(a->op) && a->target == TARGET_NODE)
		CHECK(p->queued == 0 || (p->queued == 1 && !is_parting(p->queue[0].op)));
	else if (!is_parting(a->op))
		CHECK_INT(p->queued, 0);
	if (p->queued == 3)
		return;
	*sent = (struct sent){.op = a->op, .round = a->round, .token = r->token, .leads = a->leads};
	/* An earlier token is not left to others. */
	CHECK(a->op != OP_EXPIRE || (p->kept_token == r->token && r->lock.releasing.leave_for > 0));
	if (a->op == OP_UNDO || a->op == OP_HAND_OFF)
		sent->token = p->kept_token;
	else if (a->op != OP_EXTEND)
		p->kept_token = r->token;
	p->queued++;
	p->sends[a->op]++;
}

static void perform(struct rig *r, const struct action *a)
{
	struct fake *p = &r->fake[connection_of(r, a)];

	switch (a->kind) {
	case ACT_OPEN:
		CHECK(p->link == LINK_DOWN);
		p->link = LINK_OPENING;
		p->opens++;
		p->line = a->node;
		break;
	case ACT_CLOSE:
		CHECK(p->link != LINK_DOWN);
		cut(p);
		break;
	case ACT_SEND:
		enqueue(r, a);
		break;
	}
}

static void step(struct rig *r, struct event ev)
{
	ev.target = ev.node == r->lock.policy.nodes ? TARGET_WAITER : TARGET_NODE;
	ev.now = r->now;
	ev.random = r->random;
	ev.token = r->text;
	lock_step(&r->lock, &ev, &r->up);
	CHECK(r->up.count <= ACTIONS_MAX);
	if (r->up.new_token)
		r->token++;
	for (int i = 0; i < r->up.count; i++)
		perform(r, &r->up.action[i]);
}

/* When the next attempt, or extension, begins. */
static usec resume_at(const struct rig *r)
{
	return lock_is_pausing(&r->lock) ? r->lock.waiter.retry_at : lock_extend_at(&r->lock);
}

static void tick(struct rig *r)
{
	step(r, (struct event){.kind = EV_TIME});
}

static void let_go(struct rig *r)
{
	step(r, (struct event){.kind = EV_RELEASE});
}

static void leave(struct rig *r, usec leave_for)
{
	step(r, (struct event){.kind = EV_RELEASE, .leave_for = leave_for});
}

static void extend(struct rig *r)
{
	step(r, (struct event){.kind = EV_EXTEND});
}

/* Time passes; the machine is woken whenever it asked for it. */
static void wait_until(struct rig *r, usec until)
{
	int turns = 0;

	while (r->up.wake_at <= until && turns++ < 10000) {
		if (r->up.wake_at > r->now)
			r->now = r->up.wake_at;
		tick(r);
	}
	CHECK(turns < 10000);
	r->now = usec_max(r->now, until);
}

static void pass(struct rig *r, usec d)
{
	wait_until(r, r->now + d);
}

static void link_up(struct rig *r, int i)
{
	CHECK(r->fake[i].link == LINK_OPENING);
	r->fake[i].link = LINK_UP;
	step(r, (struct event){.kind = EV_LINK_UP, .node = i});
}

static void link_down(struct rig *r, int i, enum reason reason)
{
	struct reply reply = reply_absent(reason, NULL);

	CHECK(r->fake[i].link != LINK_DOWN);
	cut(&r->fake[i]);
	step(r, (struct event){.kind = EV_LINK_DOWN, .node = i, .reply = &reply});
}

static void all_up(struct rig *r)
{
	for (int i = 0; i < r->lock.policy.nodes; i++)
		if (r->fake[i].link == LINK_OPENING)
			link_up(r, i);
}

/* What a node that answers ABSENT did is unknown; the worst is that it did it. */
static void apply(struct fake *p, const struct sent *sent, enum vote vote)
{
	bool sets = sent->op == OP_ACQUIRE || sent->op == OP_REPAIR;

	if (sets && (vote == VOTE_YES || vote == VOTE_ABSENT) && p->holder != OUTSIDER)
		p->holder = sent->token;
	if ((sent->op == OP_UNDO || sent->op == OP_HAND_OFF) && vote == VOTE_YES)
		p->holder = NOBODY;
	if (sent->op == OP_EXPIRE && vote == VOTE_YES)
		p->left = sent->token;
}

static enum vote natural_vote(const struct fake *p)
{
	const struct sent *sent = &p->queue[0];

	if (p->holder == sent->token)
		return VOTE_YES;
	if (p->holder != NOBODY)
		return VOTE_FOREIGN;
	return sent->op == OP_ACQUIRE || sent->op == OP_REPAIR ? VOTE_YES : VOTE_GONE;
}

static struct sent take(struct fake *p)
{
	struct sent sent = p->queue[0];

	p->queue[0] = p->queue[1];
	p->queue[1] = p->queue[2];
	p->queued--;
	return sent;
}

/* The node answers the oldest request on its connection. */
static void reply_with(struct rig *r, int i, struct reply reply)
{
	struct fake *p = &r->fake[i];
	struct sent sent;

	if (!unit_check(p->queued > 0, __FILE__, __LINE__, "node %d was asked nothing", i))
		return;
	sent = take(p);
	if (reply.vote != VOTE_ABSENT && (sent.op == OP_ACQUIRE || sent.op == OP_REPAIR))
		snprintf(reply.run_id, sizeof(reply.run_id), "%s%d", p->run_id ? p->run_id : "life",
			p->run_id ? 0 : i);
	apply(p, &sent, reply.vote);
	step(r, (struct event){.kind = EV_REPLY,
			.node = i,
			.op = sent.op,
			.round = sent.round,
			.reply = &reply});
}

/* The holder's value may be binary. */
static void reply_text(struct rig *r, int i, enum vote vote, const char *text, size_t len)
{
	struct reply reply = {.vote = vote, .pttl = USEC_SEC};

	if (vote == VOTE_ABSENT)
		reply = reply_absent(REASON_LOADING, "LOADING");
	if (text) {
		memcpy(reply.text, text, len);
		reply.text_len = len;
	}
	reply_with(r, i, reply);
}

static void fake_reply(struct rig *r, int i, enum vote vote)
{
	reply_text(r, i, vote, NULL, 0);
}

/* One letter for each node: Y, G(one), F(oreign), A(bsent), or '.' for silence. */
static void votes(struct rig *r, const char *letters)
{
	for (int i = 0; letters[i]; i++)
		switch (letters[i]) {
		case 'Y':
			fake_reply(r, i, VOTE_YES);
			break;
		case 'G':
			fake_reply(r, i, VOTE_GONE);
			break;
		case 'F':
			fake_reply(r, i, VOTE_FOREIGN);
			break;
		case 'A':
			fake_reply(r, i, VOTE_ABSENT);
			break;
		}
}

static struct policy policy(int nodes, usec wait)
{
	return (struct policy){.nodes = nodes,
		.keys = 1,
		.ttl = TTL,
		.drift = policy_drift(TTL, 100),
		.node_timeout = NODE_TIMEOUT,
		.wait = wait,
		.safety_margin = GUARD};
}

static void start_with(struct rig *r, const struct policy *p)
{
	memset(r, 0, sizeof(*r));
	lock_init(&r->lock, p);
	/* Without a seat, everything is done by asking again; with one: see "the line" below. */
	r->lock.waiter.is_refused = true;
	for (int i = 0; i < p->nodes; i++)
		r->lock.policy.order[0][i] = i;
	r->now = BEGIN;
	r->text = "5555555555555555555555555555555555555555:us";
	step(r, (struct event){.kind = EV_START});
}

static void start(struct rig *r, int nodes, usec wait)
{
	struct policy p = policy(nodes, wait);

	start_with(r, &p);
}

/* Connected and asked, nothing answered. */
static void ask(struct rig *r, int nodes, usec wait)
{
	start(r, nodes, wait);
	all_up(r);
}

static void hold_with(struct rig *r, const struct policy *p)
{
	start_with(r, p);
	all_up(r);
	for (int i = 0; i < p->nodes; i++)
		fake_reply(r, i, VOTE_YES);
	CHECK_INT(lock_state(&r->lock), LOCK_HELD);
}

static void hold(struct rig *r, int nodes)
{
	struct policy p = policy(nodes, 0);

	hold_with(r, &p);
}

/* To the beginning of the next extension round; its requests are in flight then. */
static void next_round(struct rig *r)
{
	uint32_t round = r->lock.stamp.round;

	for (int turns = 0; turns < 100 && r->lock.stamp.round == round; turns++)
		wait_until(r, r->up.wake_at);
	CHECK_INT(r->lock.stamp.round, round + 1);
}

static usec validity(usec from)
{
	return from + TTL - policy_drift(TTL, 100);
}

/* By when a key that was set at `from` is surely gone: (TTL - drift) / drift is 8.98. */
static usec gone(usec from)
{
	return from + TTL + policy_drift(TTL, 100) + policy_drift(TTL, 100) / 8;
}

static int sends(const struct rig *r, enum op op)
{
	int n = 0;

	for (int i = 0; i < r->lock.policy.nodes; i++)
		n += r->fake[i].sends[op];
	return n;
}

/* One event from whoever has one to give. */
static bool serve(struct rig *r)
{
	for (int i = 0; i < r->lock.policy.nodes; i++) {
		struct fake *p = &r->fake[i];

		if (p->link == LINK_OPENING && !p->silent) {
			if (p->gone)
				link_down(r, i, REASON_CONNECT);
			else
				link_up(r, i);
			return true;
		}
		if (p->link == LINK_UP && p->queued > 0 && !p->silent) {
			fake_reply(r, i, natural_vote(p));
			return true;
		}
	}
	return false;
}

/* The nodes answer at once, until the machine is through. */
static void finish(struct rig *r)
{
	if (lock_state(&r->lock) < LOCK_RELEASING)
		let_go(r);
	for (int turns = 0; turns < 1000 && lock_state(&r->lock) != LOCK_OVER; turns++)
		if (!serve(r)) {
			if (!CHECK(r->up.wake_at != NEVER))
				return;
			wait_until(r, r->up.wake_at);
		}
	CHECK_INT(lock_state(&r->lock), LOCK_OVER);
}

/* What lies in a node's queue is carried out, whether or not anybody still listens. Then, of the
 * nodes with a whole connection, how many carry a token of ours? */
static int left_behind(struct rig *r)
{
	int n = 0;

	for (int i = 0; i < r->lock.policy.nodes; i++) {
		struct fake *p = &r->fake[i];

		while (p->link == LINK_UP && p->queued > 0) {
			enum vote vote = natural_vote(p);
			struct sent sent = take(p);

			apply(p, &sent, vote);
		}
		n += p->holder > NOBODY && p->left != p->holder;
	}
	return n;
}

/* ---- the rules ---- */

TEST(quorum_is_more_than_half_of_the_configured)
{
	static const int want[] = {0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8};

	for (int n = 1; n <= NODES_MAX; n++) {
		struct policy p = policy(n, 0);

		CHECK_INT(policy_quorum(&p), want[n]);
	}
	CHECK_INT(policy_drift(30 * USEC_SEC, 100), 3 * USEC_SEC + 2 * MS);
	CHECK_INT(policy_drift(USEC_SEC, 10), 12 * MS);
	CHECK_INT(policy_drift((usec)100 * 365 * 86400 * USEC_SEC, 500),
		(usec)50 * 365 * 86400 * USEC_SEC + 2 * MS);
}

enum fate {
	FATE_YES,
	FATE_FOREIGN,
	FATE_ERROR, /* answers with an error, after setting the key */
	FATE_BREAK, /* sets the key and breaks the connection */
	FATE_SILENT, /* takes the request and never answers */
	FATE_REFUSED, /* refuses the connection */
	FATE_BLACK_HOLE, /* neither accepts nor refuses it */
	FATES,
};

struct play {
	struct rig rig;
	int nodes;
	enum fate fate[NODES_MAX];
	int order[NODES_MAX];
	bool let_go_at_once; /* as soon as it is held, before the rest has answered */
	int yes, no, absent;
	int left_out; /* black holes, which were not asked, and might still be connected to */
	bool again; /* they could make a quorum: they are waited for */
	bool failed;
};

enum verdict { OPEN, HELD, BUSY, NO_QUORUM };

/* By what was heard so far, and nothing else. */
static enum verdict expected(const struct play *t)
{
	int quorum = t->nodes / 2 + 1, open = t->nodes - t->yes - t->no - t->absent;

	if (t->again)
		return OPEN;
	if (t->yes >= quorum)
		return HELD;
	if (t->yes + t->no + open < quorum)
		return NO_QUORUM;
	return t->yes + open < quorum && t->yes + t->no >= quorum ? BUSY : OPEN;
}

static enum verdict verdict(const struct play *t)
{
	const struct lock *lock = &t->rig.lock;

	if (lock_state(lock) == LOCK_TRYING) /* it insists: see below */
		return lock->attempt.rivals.retry_at || lock->attempt.rivals.retries > 0 ? BUSY
											 : OPEN;
	if (lock_state(lock) == LOCK_HELD || lock->tenure.confirmed > 0)
		return HELD;
	return lock->refusal == REFUSAL_BUSY        ? BUSY
	       : lock->refusal == REFUSAL_NO_QUORUM ? NO_QUORUM
						    : OPEN;
}

static void compare(struct play *t, const char *when)
{
	char fates[NODES_MAX + 1] = "", order[NODES_MAX + 1] = "";

	if (t->failed || verdict(t) == expected(t))
		return;
	for (int i = 0; i < t->nodes; i++) {
		fates[i] = "YFEBSRH"[t->fate[i]];
		order[i] = (char)('0' + t->order[i]);
	}
	t->failed = true;
	unit_check(false, __FILE__, __LINE__, "fates %s in the order %s, %s: verdict %d, not %d",
		fates, order, when, (int)verdict(t), (int)expected(t));
}

static void play_links(struct play *t)
{
	struct rig *r = &t->rig;

	for (int n = 0; n < t->nodes && lock_state(&r->lock) == LOCK_TRYING; n++) {
		int i = t->order[n];

		if (t->fate[i] == FATE_REFUSED) {
			t->absent++;
			link_down(r, i, REASON_CONNECT);
		} else if (t->fate[i] != FATE_BLACK_HOLE) {
			link_up(r, i);
		}
		/* Without a majority, the rest is waited for a little, for its reasons. */
		if (expected(t) != NO_QUORUM)
			compare(t, "connecting");
	}
	/* The grace, or the time-out if there is no majority. */
	for (int n = 0; n < t->nodes; n++)
		t->left_out += t->fate[n] == FATE_BLACK_HOLE;
	t->absent += t->left_out;
	if (lock_state(&r->lock) == LOCK_TRYING && sends(r, OP_ACQUIRE) == 0)
		wait_until(r, r->up.wake_at);
	compare(t, "connected");
}

static void play_answer(struct play *t, int i)
{
	struct rig *r = &t->rig;

	switch (t->fate[i]) {
	case FATE_YES:
		t->yes++;
		fake_reply(r, i, VOTE_YES);
		break;
	case FATE_FOREIGN:
		t->no++;
		fake_reply(r, i, VOTE_FOREIGN);
		break;
	case FATE_ERROR:
		t->absent++;
		fake_reply(r, i, VOTE_ABSENT);
		break;
	case FATE_BREAK:
		t->absent++;
		apply(&r->fake[i], &r->fake[i].queue[0], VOTE_YES);
		link_down(r, i, REASON_CLOSED);
		break;
	case FATE_SILENT:
	case FATE_REFUSED:
	case FATE_BLACK_HOLE:
	case FATES:
		break;
	}
}

static void play_answers(struct play *t)
{
	struct rig *r = &t->rig;

	for (int n = 0; n < t->nodes && lock_state(&r->lock) != LOCK_OVER; n++) {
		int i = t->order[n];
		bool told = expected(t) != OPEN;

		if (r->fake[i].sends[OP_ACQUIRE] == 0 || t->fate[i] == FATE_SILENT)
			continue;
		play_answer(t, i);
		t->again |= expected(t) == NO_QUORUM &&
			    t->nodes - t->absent + t->left_out >= t->nodes / 2 + 1;
		/* Once it is told, it stays. */
		if (!told)
			compare(t, "asking");
		else if (!t->let_go_at_once)
			t->failed |= !CHECK(verdict(t) != OPEN);
		if (t->let_go_at_once && lock_state(&r->lock) == LOCK_HELD)
			let_go(r);
	}
}

static bool play(struct play *t)
{
	struct rig *r = &t->rig;
	int silent = 0;

	t->yes = t->no = t->absent = t->left_out = 0;
	t->again = t->failed = false;
	start(r, t->nodes, 0);
	for (int i = 0; i < t->nodes; i++) {
		r->fake[i].holder = t->fate[i] == FATE_FOREIGN ? OUTSIDER : NOBODY;
		silent += r->fake[i].silent = t->fate[i] == FATE_SILENT;
	}
	play_links(t);
	if (lock_state(&r->lock) == LOCK_TRYING)
		play_answers(t);
	if (lock_state(&r->lock) == LOCK_TRYING && r->lock.attempt.rivals.retry_at == 0) {
		CHECK(r->up.wake_at <= r->now + NODE_TIMEOUT);
		pass(r, NODE_TIMEOUT);
		t->absent = t->nodes - t->yes - t->no;
		silent += t->again;
		t->again = false;
		compare(t, "at the time-out");
	}
	finish(r);
	t->failed |= !CHECK(r->lock.attempt.rivals.retries > 0 || sends(r, OP_ACQUIRE) <= t->nodes);
	t->failed |= !CHECK(silent > 0 || lock_unreleased(&r->lock, &(usec){0}) == 0);
	t->failed |= !CHECK_INT(left_behind(r), 0);
	if (t->failed)
		unit_check(false, __FILE__, __LINE__, "%d nodes, fates %d %d %d %d %d %d %d",
			t->nodes, t->fate[0], t->fate[1], t->fate[2], t->fate[3], t->fate[4],
			t->fate[5], t->fate[6]);
	return !t->failed;
}

/* Forward, backward, and one of the other orders. */
static void set_order(struct play *t, int which, unsigned seed)
{
	for (int i = 0; i < t->nodes; i++)
		t->order[i] = which == 1 ? t->nodes - 1 - i : i;
	for (int i = t->nodes - 1; which == 2 && i > 0; i--) {
		int j, held = t->order[i];

		seed = seed * 1103515245 + 12345;
		j = (int)(seed >> 16) % (i + 1);
		t->order[i] = t->order[j];
		t->order[j] = held;
	}
}

static bool play_all(int nodes, int fates, int orders)
{
	struct play t = {.nodes = nodes};
	long combinations = 1;

	for (int i = 0; i < nodes; i++)
		combinations *= fates;
	for (long n = 0; n < combinations; n++) {
		long rest = n;

		for (int i = 0; i < nodes; i++, rest /= fates)
			t.fate[i] = (enum fate)(rest % fates);
		for (int which = 0; which < orders; which++) {
			set_order(&t, which, (unsigned)n);
			for (int early = 0; early < 2; early++) {
				t.let_go_at_once = early;
				if (!play(&t))
					return false;
			}
		}
	}
	return true;
}

TEST(every_tally_of_up_to_five_nodes)
{
	for (int n = 1; n <= 4; n++)
		if (!CHECK(play_all(n, FATES, 3)))
			return;
	CHECK(play_all(5, FATES, 2));
}

TEST(every_tally_of_six_and_seven_nodes)
{
	CHECK(play_all(6, FATE_BREAK + 1, 3) && play_all(7, FATE_ERROR + 1, 3));
}

/* ---- validity ---- */

TEST(validity_counts_from_before_the_first_byte)
{
	struct rig r;

	start(&r, 3, 0);
	pass(&r, 30 * MS);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	pass(&r, 40 * MS);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 30 * MS));
	pass(&r, 10 * MS);
	votes(&r, "..Y");
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 30 * MS));
	/* An extension counts from its own beginning. */
	next_round(&r);
	CHECK_INT(r.now, BEGIN + TTL / 3);
	pass(&r, 50 * MS);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 3));
	CHECK_INT(r.lock.tenure.extensions, 1);
}

TEST(a_majority_that_comes_too_late_is_not_held)
{
	struct policy p = {.nodes = 3,
		.keys = 1,
		.ttl = USEC_SEC,
		.drift = 102 * MS,
		.node_timeout = 450 * MS,
		.safety_margin = 500 * MS};
	const usec end = BEGIN + USEC_SEC - 102 * MS - 500 * MS;
	struct rig r;

	for (int late = 0; late < 2; late++) {
		start_with(&r, &p);
		all_up(&r);
		votes(&r, "Y");
		wait_until(&r, end - 1 + late);
		votes(&r, ".Y");
		CHECK_INT(lock_state(&r.lock), late ? LOCK_RELEASING : LOCK_HELD);
		CHECK_INT(r.lock.refusal, late ? REFUSAL_SLOW : REFUSAL_NONE);
		finish(&r);
		CHECK_INT(left_behind(&r), 0);
	}
}

TEST(an_answer_of_an_earlier_round_is_not_a_vote)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, ".FF");
	CHECK(lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	pass(&r, 200);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	votes(&r, "Y");
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_late_answer_is_not_a_vote)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, "Y");
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	CHECK_INT(r.lock.tally.ballot[1].vote, VOTE_ABSENT);

	hold(&r, 3);
	next_round(&r);
	votes(&r, "Y");
	pass(&r, NODE_TIMEOUT);
	votes(&r, ".YY");
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
	CHECK_INT(r.lock.tenure.extensions, 0);
}

TEST(a_heal_is_not_a_vote)
{
	struct policy p = policy(3, 0);
	struct rig r;
	usec valid;

	p.node_timeout = 2 * USEC_SEC;
	hold_with(&r, &p);
	next_round(&r);
	pass(&r, USEC_SEC);
	votes(&r, "YYG");
	valid = validity(BEGIN + TTL / 3);
	CHECK_INT(r.lock.tenure.valid_until, valid);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	/* Its answer comes when the next round already runs. */
	r.now = BEGIN + 2 * (TTL / 3);
	tick(&r);
	CHECK_INT(r.lock.stamp.round, 3);
	votes(&r, "Y");
	votes(&r, "..Y");
	CHECK_INT(r.lock.tally.ballot[2].vote, VOTE_NONE);
	CHECK_INT(r.lock.tenure.valid_until, valid);
	CHECK_INT(r.lock.tenure.extensions, 1);
	/* Then it is asked like any other. */
	CHECK_INT(r.fake[2].queue[0].op, OP_EXTEND);
	votes(&r, "..Y");
	CHECK_INT(r.lock.tenure.extensions, 2);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 2 * (TTL / 3)));
}

/* ---- the end of a held lock ---- */

TEST(expiring_at_the_guard_lost_at_the_end)
{
	struct rig r;
	usec end = validity(BEGIN);

	hold(&r, 3);
	for (int i = 0; i < 3; i++)
		r.fake[i].silent = true;
	wait_until(&r, end - GUARD - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK(r.up.wake_at <= end - GUARD);
	wait_until(&r, end - GUARD);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	wait_until(&r, end - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK(r.up.wake_at <= end);
	wait_until(&r, end);
	CHECK_INT(lock_state(&r.lock), LOCK_LOST);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	CHECK_INT(r.lock.tenure.valid_until, end);
}

TEST(no_answer_revives_a_lock_that_ended)
{
	static const struct {
		usec before_end;
		enum lock_state state;
	} cases[] = {
		{GUARD + 1, LOCK_HELD},
		{GUARD, LOCK_EXPIRING},
		{1, LOCK_EXPIRING},
		{0, LOCK_LOST},
		{-USEC_SEC, LOCK_LOST},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy p = policy(3, 0);
		struct rig r;

		p.node_timeout = 5 * USEC_SEC;
		hold_with(&r, &p);
		next_round(&r);
		/* This process was stopped: no wake-up came in between. */
		r.now = validity(BEGIN) - cases[i].before_end;
		votes(&r, "YYY");
		CHECK_INT(lock_state(&r.lock), cases[i].state);
		if (cases[i].state == LOCK_HELD) {
			CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 3));
		} else {
			CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
			CHECK_INT(r.lock.tenure.extensions, 0);
			CHECK_INT(r.lock.loss, LOSS_EXPIRED);
		}
	}
}

/* Rounds of votes (see votes()); a '.' is waited out. */
static void rounds(struct rig *r, const char *const *letters)
{
	for (int i = 0; letters[i]; i++) {
		next_round(r);
		CHECK_INT(lock_state(&r->lock), LOCK_HELD);
		votes(r, letters[i]);
		if (r->lock.tenure.asking)
			pass(r, NODE_TIMEOUT);
		/* Those who were late come in, so that the next round can ask them. */
		for (int n = 0; n < r->lock.policy.nodes; n++)
			if (letters[i][n] == '.')
				fake_reply(r, n, VOTE_ABSENT);
	}
}

TEST(denied_is_a_majority_of_no_twice_in_a_row)
{
	static const struct {
		const char *rounds[6];
		enum loss loss;
	} cases[] = {
		{{"GGG"}, LOSS_NONE},
		{{"GGG", "GGG"}, LOSS_DENIED},
		{{"FF.", "GG."}, LOSS_DENIED},
		{{"FGY", "GFY"}, LOSS_DENIED},
		{{"FYY", "FYY", "GYY"}, LOSS_NONE},
		{{"GG.", "YY.", "GG."}, LOSS_NONE},
		{{"GG.", "YY.", "GG.", "FF."}, LOSS_DENIED},
		{{"GG.", "Y..", "GG."}, LOSS_NONE},
		{{"GG.", "...", "GG."}, LOSS_NONE},
		{{"GG.", "...", "GG.", "GG."}, LOSS_DENIED},
		{{"G..", "G..", "GYA", "GYA"}, LOSS_NONE},
		{{"AAA", "AAA", "AAA"}, LOSS_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		hold(&r, 3);
		rounds(&r, cases[i].rounds);
		if (!CHECK_INT(r.lock.loss, cases[i].loss))
			printf("# in case %zu\n", i);
		CHECK_INT(lock_state(&r.lock), cases[i].loss ? LOCK_EXPIRING : LOCK_HELD);
		if (cases[i].loss) {
			wait_until(&r, r.lock.tenure.valid_until);
			CHECK_INT(lock_state(&r.lock), LOCK_LOST);
			CHECK_INT(r.lock.loss, LOSS_DENIED);
		}
	}
}

TEST(the_second_look_is_soon)
{
	struct rig r;
	usec denied_at;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "GG");
	denied_at = r.now;
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	votes(&r, "..Y");
	next_round(&r);
	CHECK_INT(r.now - denied_at, 25 * MS);
}

TEST(extensions_are_retried_until_the_guard)
{
	struct rig r;
	usec last = 0, end = validity(BEGIN) - GUARD;
	int failed = 0;

	hold(&r, 3);
	for (int turns = 0; lock_state(&r.lock) == LOCK_HELD && turns < 1000; turns++) {
		uint32_t round = r.lock.stamp.round;

		wait_until(&r, r.up.wake_at);
		if (r.lock.stamp.round == round)
			continue;
		CHECK(last == 0 || r.now - last <= 2 * (TTL / 30) + NODE_TIMEOUT);
		last = r.now;
		failed++;
		for (int i = 0; i < 3; i++)
			fake_reply(&r, i, VOTE_ABSENT);
	}
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.now, end);
	CHECK(failed > 5);
	CHECK(end - last <= 2 * (TTL / 30));
	CHECK_INT(sends(&r, OP_EXTEND), 3 * failed);
	/* And the one that works in the end is enough. */
	hold(&r, 3);
	next_round(&r);
	votes(&r, "AAA");
	next_round(&r);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.valid_until, validity(r.now));
}

/* A node that stopped answering keeps nobody from asking the others again. */
TEST(an_extension_round_does_not_wait_for_a_late_node)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YY");
	next_round(&r);
	CHECK_INT(r.fake[2].sends[OP_EXTEND], 1);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.extensions, 2);
	CHECK_INT(r.lock.tenure.valid_until, validity(r.now));
	/* Late for a sixth of the ttl: a new connection is tried. */
	CHECK_INT(r.fake[2].opens, 2);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].sends[OP_EXTEND], 2);
}

/* ---- heal ---- */

TEST(a_heal_needs_a_majority_proved_in_this_round)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "..G");
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	votes(&r, "Y");
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	votes(&r, ".Y");
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	CHECK_INT(sends(&r, OP_REPAIR), 1);
	votes(&r, "..A");
	CHECK_INT(sends(&r, OP_REPAIR), 1);
	/* Once more in the next round, if it is still gone. */
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 2);
	votes(&r, "..Y");
	CHECK_INT(r.fake[2].holder, r.token);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 2);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

TEST(no_heal_without_proof_nor_over_somebody_else)
{
	struct rig r;

	hold(&r, 5);
	next_round(&r);
	votes(&r, "YYG");
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(r.lock.tenure.extensions, 0);
	votes(&r, "...YY");
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	next_round(&r);
	votes(&r, "YYYFG");
	CHECK_INT(r.fake[3].sends[OP_REPAIR], 0);
	CHECK_INT(r.fake[4].sends[OP_REPAIR], 1);
	CHECK_INT(sends(&r, OP_REPAIR), 1);
}

/* ---- release ---- */

TEST(a_release_goes_behind_the_request_in_flight)
{
	struct rig r;

	ask(&r, 5, 0);
	votes(&r, "YYY");
	let_go(&r);
	for (int i = 0; i < 5; i++)
		CHECK_INT(r.fake[i].sends[OP_HAND_OFF], 1);
	for (int i = 3; i < 5; i++) {
		CHECK_INT(r.fake[i].queued, 2);
		CHECK_INT(r.fake[i].queue[0].op, OP_ACQUIRE);
		CHECK_INT(r.fake[i].queue[1].op, OP_HAND_OFF);
		CHECK_INT(r.fake[i].queue[1].token, r.token);
	}
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	finish(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 5);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_clean_no_owes_nothing_but_is_told_of_the_release)
{
	struct rig r;

	ask(&r, 5, 0);
	votes(&r, "YFF");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	votes(&r, "...F");
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[4].sends[OP_HAND_OFF], 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 2);
	finish(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 2);

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YYF");
	let_go(&r);
	CHECK_INT(r.lock.peer[2].pending, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
}

/* Of the answers to the first release of each node, a majority says that the key was not there. */
TEST(a_majority_that_denies_the_release_is_a_loss)
{
	static const char *const lost[] = {"GGG", "FFF", "GF.", "YGF", "AGG"};
	static const char *const kept[] = {"YYY", "YYG", "YAG", "GAA", "YG.", "FGA"};
	struct rig r;

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		for (int leaves = 0; leaves < 2; leaves++) {
			hold(&r, 3);
			leave(&r, leaves ? 5 * USEC_SEC : 0);
			votes(&r, lost[i]);
			finish(&r);
			CHECK_INT(r.lock.loss, LOSS_DENIED);
			CHECK_INT(r.lock.tenure.asking, false);
		}
	for (size_t i = 0; i + 1 < sizeof(kept) / sizeof(kept[0]); i++)
		for (int leaves = 0; leaves < 2; leaves++) {
			hold(&r, 3);
			leave(&r, leaves ? 5 * USEC_SEC : 0);
			votes(&r, kept[i]);
			while (lock_state(&r.lock) != LOCK_OVER)
				wait_until(&r, r.up.wake_at);
			CHECK_INT(r.lock.loss, LOSS_NONE);
		}
	/* One node is enough where there is one; and it is enough to confirm. */
	hold(&r, 1);
	let_go(&r);
	votes(&r, "F");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	/* The holder is known then. */
	hold(&r, 3);
	let_go(&r);
	for (int i = 0; i < 2; i++)
		reply_text(&r, i, VOTE_FOREIGN, "rival", 5);
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_FOREIGN), 2);
	CHECK_INT(tally_holder(&r.lock.tally, &(int){0}).text_len, 5);
}

TEST(a_repeated_release_may_meet_its_own_success)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	/* Done on two nodes, but nothing says so. */
	for (int i = 0; i < 2; i++) {
		r.fake[i].holder = NOBODY;
		link_down(&r, i, REASON_CLOSED);
		link_up(&r, i);
		CHECK_INT(r.fake[i].sends[OP_HAND_OFF], 2);
	}
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	/* The first release goes out late here, and counts. */
	hold(&r, 3);
	link_down(&r, 0, REASON_CLOSED);
	link_down(&r, 1, REASON_CLOSED);
	let_go(&r);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "GG.");
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
}

TEST(only_the_release_of_a_lock_that_is_valid_tells_of_a_loss)
{
	struct rig r;

	/* Whether a key lasts beyond the validity is not known. */
	hold(&r, 3);
	let_go(&r);
	r.now = r.lock.tenure.valid_until;
	votes(&r, "GGG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* The loss that was told stays. */
	hold(&r, 3);
	wait_until(&r, r.lock.tenure.valid_until - GUARD);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	let_go(&r);
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	/* It was never held. */
	ask(&r, 3, 0);
	let_go(&r);
	votes(&r, "AAA");
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* Two names of one server: the second release finds nothing. */
	ask(&r, 3, 0);
	r.fake[0].run_id = r.fake[2].run_id = "one";
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	let_go(&r);
	votes(&r, "YGG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

/* An answer to an earlier request, or about an earlier token, is no word about the end. */
TEST(only_answers_to_the_release_tell_of_the_end)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "G");
	let_go(&r);
	votes(&r, ".GG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_GONE), 0);
	votes(&r, "GYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 2);
}

/* The first time that a majority denies the lock, it is asked again: by the release, if the command
 * ends meanwhile. Then nothing is left to expire. */
TEST(a_release_is_a_second_look)
{
	struct rig r;

	for (int leaves = 0; leaves < 2; leaves++) {
		hold(&r, 3);
		next_round(&r);
		votes(&r, "GGG");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		leave(&r, leaves ? USEC_SEC : 0);
		CHECK_INT(sends(&r, OP_EXPIRE), 0);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, "G");
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, ".G");
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.lock.loss, LOSS_DENIED);
	}
}

/* A node without our key is not waited for, unless the others leave the end open. */
TEST(the_end_is_waited_for_while_it_is_open)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	pass(&r, 10 * MS);
	votes(&r, ".GY");
	pass(&r, NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "G");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	/* But no longer than a node may take. */
	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	votes(&r, ".GY");
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(a_broken_link_is_made_anew_to_release)
{
	struct rig r;
	usec until;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
	/* It breaks with the release in flight: once more. */
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_OPENING);
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 0);
	CHECK_INT(left_behind(&r), 0);
	/* Not for ever. */
	hold(&r, 3);
	r.fake[2].gone = true;
	link_down(&r, 2, REASON_CLOSED);
	finish(&r);
	CHECK(r.fake[2].opens <= 4);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK(until >= BEGIN + TTL);
}

TEST(a_late_node_is_not_waited_for)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	pass(&r, NODE_TIMEOUT);
	let_go(&r);
	CHECK_INT(r.fake[2].queued, 2);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_release_without_an_answer_ends_at_the_time_out)
{
	struct rig r;
	usec began;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	let_go(&r);
	began = r.now;
	for (int turns = 0; turns < 100 && lock_state(&r.lock) != LOCK_OVER; turns++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.now - began, NODE_TIMEOUT);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 3);
}

/* What is under way at the end may have landed as late as then; what was answered, no later. */
TEST(what_is_under_way_at_the_end_may_last_longer)
{
	struct rig r;
	usec until;

	hold(&r, 3);
	next_round(&r);
	pass(&r, NODE_TIMEOUT / 2);
	votes(&r, "YY.");
	let_go(&r);
	while (lock_state(&r.lock) != LOCK_OVER)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.peer[2].asked, true);
	lock_unreleased(&r.lock, &until);
	CHECK_INT(until, gone(r.now));
}

/* The grace for the rest must not reach beyond the time set aside for the release. */
TEST(a_release_ends_within_its_time)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 3 * USEC_SEC;
	start_with(&r, &p);
	all_up(&r);
	votes(&r, "YYY");
	let_go(&r);
	pass(&r, 500 * MS);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK(r.up.wake_at <= BEGIN + USEC_SEC);
	pass(&r, 500 * MS);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

TEST(a_release_has_a_second_at_most)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 3 * USEC_SEC;
	hold_with(&r, &p);
	let_go(&r);
	pass(&r, 500 * MS);
	/* Asked to let go once more: no new beginning. */
	let_go(&r);
	wait_until(&r, BEGIN + USEC_SEC - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	wait_until(&r, BEGIN + USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	let_go(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.up.count, 0);
}

/* It was put back late in the round, and has its own time-out. */
TEST(a_heal_in_flight_is_waited_for)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	pass(&r, NODE_TIMEOUT - 10 * MS);
	votes(&r, "YYG");
	pass(&r, 20 * MS);
	let_go(&r);
	CHECK_INT(r.fake[2].queued, 2);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "..Y");
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
}

/* The key was not there, but it may have landed since, and then the extension prolongs it. */
TEST(an_extension_in_flight_is_owed_where_the_key_was_sent)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	link_down(&r, 2, REASON_CLOSED);
	extend(&r);
	link_up(&r, 2);
	votes(&r, "YAG"); /* no majority, so it is not put back */
	CHECK_INT(r.lock.peer[2].pending, 0);
	r.fake[2].silent = true;
	extend(&r);
	votes(&r, "YY");
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[2].queue[1].op, OP_HAND_OFF);
}

TEST(an_extension_renews_the_debt)
{
	struct rig r;
	usec until = 0, asked_at;

	hold(&r, 3);
	next_round(&r);
	asked_at = r.now;
	votes(&r, "YYY");
	r.fake[2].gone = true;
	link_down(&r, 2, REASON_CLOSED);
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK_INT(until, gone(asked_at));
	/* And a yes is a debt, whatever was known before. */
	hold(&r, 3);
	next_round(&r);
	votes(&r, "AAG");
	CHECK_INT(lock_unreleased(&r.lock, &until), 2);
	next_round(&r);
	votes(&r, "AAY");
	CHECK_INT(lock_unreleased(&r.lock, &until), 3);
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
}

TEST(letting_go_at_the_end_is_a_loss)
{
	static const struct {
		usec before_end;
		enum loss loss;
	} cases[] = {
		{GUARD + 1, LOSS_NONE},
		{GUARD, LOSS_EXPIRED},
		/* Nobody listened while the nodes could still answer: theirs is not the fault. */
		{GUARD - NODE_TIMEOUT + 1, LOSS_EXPIRED},
		{GUARD - NODE_TIMEOUT, LOSS_STOOD_STILL},
		{0, LOSS_STOOD_STILL},
		{-USEC_SEC, LOSS_STOOD_STILL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		hold(&r, 3);
		r.now = validity(BEGIN) - cases[i].before_end;
		let_go(&r);
		CHECK_INT(r.lock.loss, cases[i].loss);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	}
}

TEST(a_vote_outlives_its_connection)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YA");
	link_down(&r, 0, REASON_CLOSED);
	link_down(&r, 1, REASON_CLOSED);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_YES);
	/* Of several reasons the first is the cause. */
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_LOADING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(an_error_on_release_is_not_asked_again)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	votes(&r, "YYA");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 1);
}

TEST(an_earlier_token_is_released_before_the_node_is_asked_again)
{
	struct rig r;
	int old;

	ask(&r, 3, NEVER);
	old = r.token;
	r.fake[0].holder = r.token;
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".FF");
	CHECK(lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK(r.fake[0].link == LINK_OPENING);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	pass(&r, 200);
	/* The others are asked; this one, not yet paid, takes no part. */
	CHECK_INT(r.token, old + 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	votes(&r, "Y");
	CHECK_INT(r.fake[0].holder, NOBODY);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].queue[0].token, old + 2);
}

TEST(a_node_that_refuses_to_release_takes_no_part)
{
	struct rig r;

	ask(&r, 3, NEVER);
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	link_up(&r, 0);
	votes(&r, "A");
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_LOADING);
	votes(&r, ".FF");
	CHECK(lock_is_pausing(&r.lock));
	r.fake[0].silent = true;
	while (serve(&r))
		;
	/* Asked once more when the attempt failed, and again by the next one. */
	CHECK_INT(r.fake[0].sends[OP_UNDO], 2);
	votes(&r, "A");
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 3);
	pass(&r, 200);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 3);
}

/* Nodes 1 and 2 hold; node 0 may carry the token of the first attempt, which is returned. */
static int hold_after_a_lost_request(struct rig *r)
{
	int old;

	ask(r, 3, NEVER);
	old = r->fake[0].holder = r->token;
	link_down(r, 0, REASON_CLOSED);
	votes(r, ".FF");
	wait_until(r, r->up.wake_at);
	link_down(r, 0, REASON_CONNECT);
	votes(r, ".YY");
	CHECK_INT(lock_state(&r->lock), LOCK_HELD);
	return old;
}

TEST(a_held_lock_spreads_to_a_node_that_owes_an_earlier_token)
{
	struct rig r;
	int old;

	old = hold_after_a_lost_request(&r);
	next_round(&r);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "YYY");
	CHECK_INT(r.fake[0].queue[0].op, OP_EXTEND);
	votes(&r, "G");
	CHECK_INT(r.fake[0].queue[0].op, OP_REPAIR);
	votes(&r, "Y");
	CHECK_INT(r.fake[0].holder, r.token);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

/* One clock fast and the other slow, each by half of the drift: the key lives that much longer. */
TEST(a_key_may_outlive_its_ttl_by_more_than_the_drift)
{
	double half = (double)policy_drift(TTL, 100) / TTL / 2;

	CHECK(gone(0) >= (usec)(TTL * (1 + half) / (1 - half)));
}

TEST(a_debt_ends_with_the_key)
{
	const usec end = gone(BEGIN);
	struct rig r;
	usec until = 0;

	ask(&r, 3, 0);
	link_down(&r, 0, REASON_CLOSED);
	r.fake[0].gone = true;
	votes(&r, ".FF");
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK_INT(until, end);
	r.now = end - 1;
	tick(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	r.now = end;
	tick(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 0);
}

TEST(letting_go_before_anything_was_asked)
{
	struct rig r;

	start(&r, 3, NEVER);
	let_go(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.token, 0);
	memset(&r, 0, sizeof(r));
	lock_init(&r.lock, &(struct policy){.nodes = 1, .keys = 1, .ttl = TTL, .node_timeout = 1});
	let_go(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.up.wake_at, NEVER);
}

/* ---- one server under two names ---- */

TEST(two_names_of_one_server_are_refused)
{
	struct rig r;

	ask(&r, 5, NEVER);
	r.fake[1].run_id = r.fake[3].run_id = "same";
	votes(&r, ".Y");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	votes(&r, "...Y");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
	CHECK_INT(r.lock.tally.duplicate[0], 1);
	CHECK_INT(r.lock.tally.duplicate[1], 3);
	finish(&r);
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
	CHECK_INT(left_behind(&r), 0);
	/* Even if this very answer makes the majority. */
	ask(&r, 3, NEVER);
	r.fake[0].run_id = r.fake[1].run_id = "same";
	votes(&r, "YY");
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
	/* And if somebody else holds it there. */
	ask(&r, 3, NEVER);
	r.fake[0].run_id = r.fake[1].run_id = "same";
	votes(&r, "FF");
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
}

TEST(two_names_of_one_server_are_only_noted_when_held)
{
	struct rig r;

	ask(&r, 3, 0);
	r.fake[1].run_id = r.fake[2].run_id = "same";
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tally.duplicate[0], -1);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tally.duplicate[0], 1);
	CHECK_INT(r.lock.tally.duplicate[1], 2);
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
}

/* ---- waiting ---- */

struct attempts {
	int count;
	usec last;
	usec shortest, longest;
};

/* Somebody else holds it, and every node says so at once. */
static struct attempts try_for(struct rig *r, usec wait, uint64_t random, usec at_most)
{
	struct attempts a = {.shortest = NEVER};

	start(r, 3, wait);
	r->random = random;
	for (int i = 0; i < 3; i++)
		r->fake[i].holder = OUTSIDER;
	all_up(r);
	while (lock_state(&r->lock) == LOCK_TRYING && r->now < BEGIN + at_most) {
		usec pause = r->now - a.last;

		if (a.count++ > 0) {
			a.shortest = usec_min(a.shortest, pause);
			a.longest = usec_max(a.longest, pause);
		}
		a.last = r->now;
		CHECK_INT(r->token, a.count);
		CHECK_INT(r->fake[0].sends[OP_ACQUIRE], a.count);
		while (lock_state(&r->lock) != LOCK_OVER && serve(r))
			;
		if (lock_state(&r->lock) != LOCK_TRYING)
			break;
		CHECK(lock_is_pausing(&r->lock));
		CHECK_INT(r->lock.refusal, REFUSAL_BUSY);
		wait_until(r, r->up.wake_at);
	}
	return a;
}

/* The delay doubles after four attempts and again after another four; the last is at the end. */
static int attempts_within(usec wait, usec delay)
{
	int n = 1;

	for (usec at = 0; at < wait; n++)
		at += delay << (n / 4 < 2 ? n / 4 : 2);
	return n;
}

TEST(the_wait_has_its_last_attempt_at_the_deadline)
{
	static const usec waits[] = {0, 1, 19 * MS, 20 * MS, 21 * MS, 50 * MS, USEC_SEC, 7777777};
	struct rig r;

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct attempts a = try_for(&r, waits[i], 31415, NEVER - BEGIN);

		CHECK_INT(a.last, BEGIN + waits[i]);
		CHECK_INT(r.now, BEGIN + waits[i]);
		CHECK_INT(a.count, attempts_within(waits[i], 20 * MS + 31415));
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	}
}

TEST(the_wait_can_have_no_end)
{
	struct rig r;
	struct attempts a = try_for(&r, NEVER, 99999, 86400 * USEC_SEC);

	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(a.count > 175000);
}

TEST(attempts_are_a_random_20_to_120_ms_apart_and_later_four_times_that)
{
	struct rig r;
	struct attempts a = try_for(&r, 10 * USEC_SEC, 0, NEVER - BEGIN);

	CHECK_INT(a.shortest, 20 * MS);
	CHECK_INT(a.longest, 80 * MS);
	a = try_for(&r, NEVER, 99999, 10 * USEC_SEC);
	CHECK_INT(a.longest, 4 * (120 * MS - 1));
	for (uint64_t random = 1; random; random <<= 1) {
		a = try_for(&r, NEVER, random - 1, 80 * MS);
		CHECK(a.shortest >= 20 * MS && a.longest < 120 * MS);
	}
	a = try_for(&r, NEVER, UINT64_MAX, USEC_SEC);
	CHECK(a.shortest >= 20 * MS && a.longest < 480 * MS);
}

/* ---- connecting ---- */

TEST(a_black_holed_minority_delays_by_the_grace_only)
{
	static const struct {
		usec connect, ask;
	} cases[] = {{0, 200}, {50, 250}, {100, 300}, {MS, 3 * MS}, {10 * MS, 30 * MS}};
	struct rig r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&r, 5, 0);
		pass(&r, cases[i].connect);
		for (int n = 0; n < 3; n++)
			link_up(&r, n);
		CHECK_INT(sends(&r, OP_ACQUIRE), 0);
		wait_until(&r, BEGIN + cases[i].ask - 1);
		CHECK_INT(sends(&r, OP_ACQUIRE), 0);
		wait_until(&r, BEGIN + cases[i].ask);
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
		/* Too late for this attempt. */
		link_up(&r, 3);
		link_up(&r, 4);
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
		votes(&r, "YYY");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		pass(&r, NODE_TIMEOUT);
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
		/* But for the next extension. */
		CHECK_INT(sends(&r, OP_EXTEND), 0);
		next_round(&r);
		CHECK_INT(sends(&r, OP_EXTEND), 5);
	}
}

/* Four connections of five are up sooner than the last one, by more than the grace. Two of those
 * nodes give no vote: with the last one there is a majority all the same. */
TEST(a_node_that_was_left_out_is_waited_for_before_there_is_no_quorum)
{
	static const char *const answers[] = {"..YY", "AAYY", ".AYY", "AA.Y", "AA.F"};
	struct rig r;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		start(&r, 5, 0);
		for (int n = 0; n < 4; n++)
			link_up(&r, n);
		r.fake[0].silent = answers[i][0] == '.';
		r.fake[1].silent = answers[i][1] == '.';
		wait_until(&r, BEGIN + 200);
		CHECK_INT(sends(&r, OP_ACQUIRE), 4);
		votes(&r, answers[i]);
		pass(&r, NODE_TIMEOUT / 2);
		/* The last one is too late for this attempt, and within its time-out. */
		link_up(&r, 4);
		for (int turns = 0; turns < 50 && lock_state(&r.lock) == LOCK_TRYING; turns++)
			if (!serve(&r))
				wait_until(&r, r.up.wake_at);
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK(r.now <= BEGIN + NODE_TIMEOUT + 200);
		CHECK_INT(r.lock.stamp.attempt, 2);
		finish(&r);
	}
}

/* Two of three say the same in both attempts. The second attempt waits for the third node for a
 * whole time-out, and is the last. */
TEST(a_node_that_was_left_out_is_waited_for_once)
{
	struct rig r;

	start(&r, 3, 0);
	link_up(&r, 0);
	link_up(&r, 1);
	wait_until(&r, BEGIN + 200);
	votes(&r, "AY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	/* Both release what they were asked to keep, and are not asked again before that. */
	votes(&r, "GY");
	wait_until(&r, BEGIN + NODE_TIMEOUT + 200 - 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 2);
	wait_until(&r, BEGIN + NODE_TIMEOUT + 200);
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	votes(&r, "AY");
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_CONNECT_TIMEOUT);
	CHECK_INT(r.lock.stamp.attempt, 2);
	finish(&r);
	/* The third node refuses the connection meanwhile: there is nothing to wait for. */
	start(&r, 3, 0);
	link_up(&r, 0);
	link_up(&r, 1);
	wait_until(&r, BEGIN + 200);
	link_down(&r, 2, REASON_CONNECT);
	votes(&r, "AY");
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	CHECK_INT(r.lock.stamp.attempt, 1);
	finish(&r);
}

TEST(all_are_refused_each_for_its_own_reason)
{
	struct rig r;

	for (int nodes = 3; nodes <= 5; nodes++) {
		start(&r, nodes, 0);
		for (int i = 0; i < nodes; i++) {
			CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
			link_down(&r, i, REASON_CONNECT);
		}
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.now, BEGIN);
		for (int i = 0; i < nodes; i++)
			CHECK_INT(r.lock.tally.ballot[i].reply.reason, REASON_CONNECT);
	}
	/* The last one is not waited for longer than it took the others. */
	start(&r, 3, 0);
	pass(&r, NODE_TIMEOUT / 100);
	link_down(&r, 0, REASON_CONNECT);
	link_down(&r, 1, REASON_CONNECT);
	wait_until(&r, BEGIN + NODE_TIMEOUT / 100 * 3 - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT / 100 * 3);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_NOT_READY);
	/* What becomes of it later is said. */
	start(&r, 3, NEVER);
	link_down(&r, 0, REASON_CONNECT);
	link_down(&r, 1, REASON_CONNECT);
	pass(&r, USEC_MSEC);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_NOT_READY);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	link_down(&r, 2, REASON_UNRESOLVED);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_UNRESOLVED);
}

TEST(a_majority_of_refused_links_fails_at_once)
{
	struct rig r;

	start(&r, 5, 0);
	link_up(&r, 0);
	link_down(&r, 1, REASON_CONNECT);
	link_down(&r, 2, REASON_CONNECT);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	link_down(&r, 3, REASON_UNRESOLVED);
	pass(&r, USEC_MSEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[3].reply.reason, REASON_UNRESOLVED);
	CHECK_INT(sends(&r, OP_ACQUIRE), 0);
}

TEST(a_black_holed_majority_fails_at_the_time_out)
{
	struct rig r;

	start(&r, 3, 0);
	link_up(&r, 0);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_CONNECT_TIMEOUT);
	CHECK(r.fake[1].link == LINK_DOWN);
}

static void link_shakes(struct rig *r, int i)
{
	static const struct reply tls = {.vote = VOTE_ABSENT, .reason = REASON_TLS_TIMEOUT};

	CHECK(r->fake[i].link == LINK_OPENING);
	step(r, (struct event){.kind = EV_LINK_SHAKES, .node = i, .reply = &tls});
}

TEST(tls_is_part_of_the_time_to_connect)
{
	struct rig r;

	start(&r, 5, 0);
	link_up(&r, 0);
	link_shakes(&r, 1);
	link_shakes(&r, 2);
	pass(&r, NODE_TIMEOUT / 2);
	/* It cannot be asked yet. */
	link_up(&r, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 0);
	CHECK_INT(r.lock.peer[1].link, LINK_OPENING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_TLS_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[3].reply.reason, REASON_CONNECT_TIMEOUT);
	CHECK(r.fake[1].link == LINK_DOWN);
	/* The next time it may not come so far. */
	start(&r, 3, NEVER);
	link_shakes(&r, 1);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_TLS_TIMEOUT);
	for (int i = 0; i < 9 && r.fake[1].link == LINK_DOWN; i++)
		wait_until(&r, r.up.wake_at);
	CHECK(r.fake[1].link == LINK_OPENING);
	for (int i = 0; i < 9 && r.fake[1].link == LINK_OPENING; i++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_CONNECT_TIMEOUT);
}

/* Each of the two takes less than the time-out to connect and to answer. */
TEST(slow_nodes_are_good_enough_beside_a_black_hole)
{
	struct rig r;

	for (usec part = 10; part < 50; part += 5) {
		usec delay = part * NODE_TIMEOUT / 100;

		start(&r, 3, 0);
		pass(&r, delay);
		link_up(&r, 0);
		link_up(&r, 1);
		for (int turns = 0; turns < 10 && sends(&r, OP_ACQUIRE) == 0; turns++)
			wait_until(&r, r.up.wake_at);
		CHECK_INT(sends(&r, OP_ACQUIRE), 2);
		pass(&r, delay);
		for (int i = 0; i < 2 && lock_state(&r.lock) == LOCK_TRYING; i++)
			fake_reply(&r, i, VOTE_YES);
		if (!CHECK_INT(lock_state(&r.lock), LOCK_HELD))
			printf("# connecting and answering took %d%% of the time-out each\n",
				(int)part);
	}
}

/* The connection took its time, and so did the release of an earlier token; then nothing comes. */
TEST(an_attempt_that_began_late_ends_all_the_same)
{
	struct rig r;

	ask(&r, 1, 5 * USEC_SEC);
	link_down(&r, 0, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	pass(&r, NODE_TIMEOUT * 6 / 10);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	pass(&r, NODE_TIMEOUT * 6 / 10);
	votes(&r, "G");
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	CHECK(r.up.wake_at != NEVER);
	pass(&r, 10 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

/* First it takes its time to connect, then to take back an earlier token: that is one time-out, not
 * two. */
TEST(connecting_and_paying_a_debt_are_not_waited_for_twice)
{
	struct rig r;
	usec began;

	ask(&r, 1, 5 * USEC_SEC);
	link_down(&r, 0, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	began = r.now;
	pass(&r, NODE_TIMEOUT * 6 / 10);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	wait_until(&r, began + NODE_TIMEOUT - 1);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, began + NODE_TIMEOUT);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

/* Its connection breaks just before the ask, and is made anew in time. */
TEST(a_link_that_stands_again_before_the_ask_counts)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	link_down(&r, 1, REASON_CLOSED);
	link_up(&r, 1);
	pass(&r, 200);
	/* Others contend, so it begins with one. */
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	votes(&r, ".Y");
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	CHECK(!lock_is_pausing(&r.lock));
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* The network held the request back until the connection broke: the key was set no sooner. */
TEST(a_debt_counts_from_the_end_of_the_connection)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, ".FF");
	r.now = BEGIN + 2 * USEC_SEC;
	r.fake[0].holder = r.token;
	link_down(&r, 0, REASON_CLOSED);
	CHECK(r.lock.peer[0].pending > 0);
	CHECK(r.lock.peer[0].pending_until >= r.now + TTL);
}

/* This process was stopped while it connected: it hears of it long after the time-out. */
TEST(an_attempt_that_began_after_a_stop_ends_all_the_same)
{
	struct rig r;

	for (usec stopped = 90 * MS; stopped <= 400 * MS; stopped += 5 * MS) {
		/* Of several, the others are given up when the first is heard of. */
		start(&r, stopped % (10 * MS) ? 1 : 3, USEC_SEC);
		r.now += stopped;
		all_up(&r);
		CHECK(r.fake[0].sends[OP_ACQUIRE] == 0 || r.up.wake_at != NEVER);
		wait_until(&r, BEGIN + 10 * USEC_SEC);
		if (!CHECK_INT(lock_state(&r.lock), LOCK_OVER))
			return;
		CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	}
}

/* Connecting and answering share one time-out. */
TEST(a_slow_connection_leaves_less_time_to_answer)
{
	struct rig r;

	start(&r, 3, 0);
	pass(&r, 60 * MS);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_TIMEOUT);
}

/* Nobody knows yet when it lands. */
TEST(a_debt_does_not_end_with_its_request_in_flight)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	r.now = gone(BEGIN) + 1;
	tick(&r);
	CHECK(r.lock.peer[2].pending > 0);
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
}

/* It landed when the answer left, which may be long after it was sent. */
TEST(a_debt_counts_from_the_answer)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 2 * USEC_SEC;
	start_with(&r, &p);
	all_up(&r);
	pass(&r, USEC_SEC + 500 * MS);
	votes(&r, "YYA");
	for (int i = 0; i < 3; i++)
		CHECK(r.lock.peer[i].pending_until >= gone(r.now));
}

/* ---- extending out of turn ---- */

TEST(asked_to_extend_it_does_so_at_once)
{
	struct rig r;

	hold(&r, 3);
	pass(&r, 10 * MS);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	extend(&r);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_EXTEND), 3);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 10 * MS));
	CHECK_INT(lock_extend_at(&r.lock), BEGIN + 10 * MS + TTL / 3);
	votes(&r, "..Y");
	/* The next one is due in its turn. */
	next_round(&r);
	CHECK_INT(r.now, BEGIN + 10 * MS + TTL / 3);
	/* A node whose connection broke is connected to, as in any other round. */
	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_DOWN);
	extend(&r);
	CHECK(r.fake[2].link == LINK_OPENING);
	/* This machine slept for so long that the extension is overdue anyway. */
	hold(&r, 3);
	r.now = BEGIN + TTL / 2;
	extend(&r);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 2));
	CHECK_INT(lock_extend_at(&r.lock), BEGIN + TTL / 2 + TTL / 3);
}

TEST(asked_to_extend_while_a_round_is_under_way_it_goes_on)
{
	struct rig r;
	usec wake_at;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "Y");
	pass(&r, 10 * MS);
	wake_at = r.up.wake_at;
	extend(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, wake_at);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_EXTEND), 3);
	votes(&r, ".Y");
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 3));
	votes(&r, "..Y");
	/* It is not kept in mind either. */
	CHECK_INT(lock_extend_at(&r.lock), BEGIN + TTL / 3 + TTL / 3);
	CHECK_INT(r.lock.stamp.round, 2);
	next_round(&r);
	CHECK_INT(r.now, BEGIN + 2 * (TTL / 3));
	/* Nor when the round fails. */
	extend(&r);
	votes(&r, "AAA");
	CHECK(lock_extend_at(&r.lock) >= r.now + TTL / 30);
	CHECK_INT(sends(&r, OP_EXTEND), 6);
	/* But then a new one may be asked for. */
	extend(&r);
	CHECK_INT(sends(&r, OP_EXTEND), 9);
}

TEST(nothing_is_extended_before_it_is_held)
{
	struct rig r;
	usec wake_at;

	memset(&r, 0, sizeof(r));
	lock_init(&r.lock, &(struct policy){.nodes = 1, .keys = 1, .ttl = TTL, .node_timeout = 1});
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, NEVER);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	/* connecting */
	start(&r, 3, NEVER);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.lock.stamp.round, 1);
	/* asking */
	all_up(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	/* between two attempts: it is not shortened */
	votes(&r, "FFF");
	CHECK(lock_is_pausing(&r.lock));
	wake_at = r.up.wake_at;
	CHECK_INT(wake_at, BEGIN + 20 * MS);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, wake_at);
	CHECK(lock_is_pausing(&r.lock));
	pass(&r, 10 * MS);
	extend(&r);
	CHECK_INT(r.up.wake_at, wake_at);
	CHECK_INT(r.lock.stamp.round, 1);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	/* And it is not kept in mind for when it is held. */
	wait_until(&r, wake_at);
	pass(&r, 200);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	CHECK_INT(lock_extend_at(&r.lock), r.lock.tally.began + TTL / 3);
}

TEST(nothing_is_extended_after_it_was_held)
{
	static const usec before_end[] = {GUARD, 1, 0, -USEC_SEC};
	usec end = validity(BEGIN);
	struct rig r;

	for (size_t i = 0; i < sizeof(before_end) / sizeof(before_end[0]); i++) {
		hold(&r, 3);
		r.now = end - before_end[i];
		extend(&r);
		CHECK_INT(lock_state(&r.lock), before_end[i] > 0 ? LOCK_EXPIRING : LOCK_LOST);
		extend(&r);
		CHECK_INT(sends(&r, OP_EXTEND), 0);
		CHECK_INT(r.lock.stamp.round, 1);
		CHECK_INT(r.up.wake_at, before_end[i] > 0 ? end : NEVER);
	}
	/* In time by a hair. */
	hold(&r, 3);
	r.now = end - GUARD - 1;
	extend(&r);
	CHECK_INT(sends(&r, OP_EXTEND), 3);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.valid_until, validity(r.now));
	/* let go */
	hold(&r, 3);
	let_go(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	finish(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, NEVER);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	CHECK_INT(left_behind(&r), 0);
}

/* A majority of the acquisition has answered; the rest is still in flight. */
TEST(an_answer_to_the_acquisition_is_no_vote_for_an_early_extension)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	extend(&r);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_EXTEND), 2);
	votes(&r, "Y.Y");
	CHECK_INT(r.lock.tenure.extensions, 0);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	/* It is asked like the others as soon as it has answered. */
	CHECK_INT(r.fake[2].sends[OP_EXTEND], 1);
	votes(&r, "..Y");
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
}

TEST(the_second_look_may_be_asked_for)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "GGG");
	CHECK(r.lock.tenure.denied);
	extend(&r);
	CHECK_INT(r.lock.stamp.round, 3);
	CHECK_INT(sends(&r, OP_EXTEND), 6);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	votes(&r, "YYG");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(!r.lock.tenure.denied);
	/* It counts as one. */
	hold(&r, 3);
	extend(&r);
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	extend(&r);
	votes(&r, "GG");
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
}

/* ---- leaving the key ---- */

TEST(a_lock_is_left_on_every_node_that_has_it)
{
	struct rig r;

	hold(&r, 5);
	pass(&r, 10 * MS);
	leave(&r, 5 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.lock.releasing.leave_for, 5 * USEC_SEC);
	for (int i = 0; i < 5; i++) {
		CHECK_INT(r.fake[i].sends[OP_EXPIRE], 1);
		CHECK_INT(r.fake[i].queue[0].token, r.token);
	}
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 5);
	votes(&r, "YYYY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "....Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.up.wake_at, NEVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_INT(r.fake[i].holder, r.token);
		CHECK_INT(r.fake[i].left, r.token);
	}
	CHECK_INT(r.lock.releasing.leave_for, 5 * USEC_SEC);
}

TEST(a_lock_is_not_left_where_it_is_not)
{
	struct rig r;

	hold(&r, 5);
	next_round(&r);
	votes(&r, "YYYF");
	r.fake[3].holder = OUTSIDER;
	leave(&r, USEC_SEC);
	CHECK_INT(r.fake[3].sends[OP_EXPIRE], 0);
	/* Behind the extension in flight. */
	CHECK_INT(r.fake[4].queued, 2);
	CHECK_INT(r.fake[4].queue[0].op, OP_EXTEND);
	CHECK_INT(r.fake[4].queue[1].op, OP_EXPIRE);
	CHECK_INT(sends(&r, OP_EXPIRE), 4);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	finish(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(sends(&r, OP_EXPIRE), 4);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(left_behind(&r), 0);
}

/* It lost the key, and gets it back while the command ends. */
TEST(a_lock_is_left_behind_its_heal)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(r.fake[2].queue[0].op, OP_REPAIR);
	leave(&r, USEC_SEC);
	CHECK_INT(r.fake[2].queued, 2);
	CHECK_INT(r.fake[2].queue[1].op, OP_EXPIRE);
	CHECK_INT(r.fake[2].queue[1].token, r.token);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[2].left, r.token);
}

TEST(a_clean_no_to_leaving_is_no_debt)
{
	struct rig r;

	hold(&r, 3);
	leave(&r, USEC_SEC);
	votes(&r, "GFY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	/* Each answer tells whether the key was there to the end. */
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}

TEST(an_error_on_leaving_is_not_asked_again)
{
	struct rig r;
	usec until = 0;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	leave(&r, USEC_SEC);
	votes(&r, "YAA");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[1].sends[OP_EXPIRE], 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	/* Not left, and not released: then it ends when it would have ended. */
	CHECK_INT(lock_unreleased(&r.lock, &until), 2);
	CHECK_INT(until, gone(BEGIN));
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_LOADING);
	CHECK(r.lock.peer[1].release_refused && !r.lock.peer[0].release_refused);
}

TEST(leaving_without_an_answer_ends_at_the_time_out)
{
	struct rig r;
	usec began;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	leave(&r, 5 * USEC_SEC);
	began = r.now;
	for (int turns = 0; turns < 100 && lock_state(&r.lock) != LOCK_OVER; turns++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.now - began, NODE_TIMEOUT);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 3);
	/* A few round trips behind a majority. */
	hold(&r, 3);
	leave(&r, 5 * USEC_SEC);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.up.wake_at, BEGIN + 2 * MS);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 1);
}

TEST(a_broken_link_is_made_anew_to_leave)
{
	struct rig r;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	leave(&r, USEC_SEC);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(r.fake[2].left, r.token);
}

TEST(an_earlier_token_is_deleted_when_the_lock_is_left)
{
	struct rig r;
	int old;

	old = hold_after_a_lost_request(&r);
	leave(&r, USEC_SEC);
	CHECK_INT(sends(&r, OP_EXPIRE), 2);
	CHECK(r.fake[0].link == LINK_OPENING);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	CHECK_INT(r.fake[0].sends[OP_EXPIRE], 0);
	CHECK_INT(r.fake[0].holder, NOBODY);
	CHECK_INT(r.fake[1].left, r.token);
	CHECK_INT(r.fake[2].left, r.token);
}

/* The first attempt's request, with its release behind it, is still in flight. */
TEST(a_release_in_flight_is_not_followed_by_leaving)
{
	struct rig r;
	int old;

	ask(&r, 3, NEVER);
	old = r.token;
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	pass(&r, 200);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[0].queue[1].op, OP_UNDO);
	leave(&r, USEC_SEC);
	CHECK_INT(r.fake[0].queued, 2);
	CHECK_INT(sends(&r, OP_EXPIRE), 2);
	votes(&r, "YYY");
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	CHECK_INT(r.fake[0].sends[OP_EXPIRE], 0);
	CHECK_INT(r.fake[0].holder, NOBODY);
}

TEST(what_is_not_held_is_deleted)
{
	static const usec before_end[] = {GUARD, 1, 0, -USEC_SEC};
	struct rig r;

	/* asking: one has granted it, two may have */
	ask(&r, 3, NEVER);
	votes(&r, "Y");
	leave(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	finish(&r);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	CHECK_INT(left_behind(&r), 0);
	/* between two attempts */
	ask(&r, 3, NEVER);
	votes(&r, "YFF");
	CHECK(lock_is_pausing(&r.lock));
	leave(&r, USEC_SEC);
	finish(&r);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	CHECK_INT(left_behind(&r), 0);
	/* refused, and giving back */
	ask(&r, 3, 0);
	votes(&r, "YFF");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	link_down(&r, 0, REASON_CLOSED);
	leave(&r, USEC_SEC);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_HAND_OFF);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
	/* no longer held, though a majority may still carry it */
	for (size_t i = 0; i < sizeof(before_end) / sizeof(before_end[0]); i++) {
		hold(&r, 3);
		r.now = validity(BEGIN) - before_end[i];
		leave(&r, USEC_SEC);
		CHECK_INT(r.lock.releasing.leave_for, 0);
		CHECK_INT(r.lock.loss, before_end[i] == GUARD ? LOSS_EXPIRED : LOSS_STOOD_STILL);
		CHECK_INT(sends(&r, OP_EXPIRE), 0);
		CHECK_INT(sends(&r, OP_HAND_OFF), 3);
		finish(&r);
		CHECK_INT(left_behind(&r), 0);
	}
	hold(&r, 3);
	for (int i = 0; i < 2; i++) {
		next_round(&r);
		votes(&r, "YFF");
	}
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	leave(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	/* held, by a hair */
	hold(&r, 3);
	r.now = validity(BEGIN) - GUARD - 1;
	leave(&r, USEC_SEC);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(the_first_word_about_leaving_is_the_last)
{
	struct rig r;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	leave(&r, USEC_SEC);
	let_go(&r);
	leave(&r, 5 * USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, USEC_SEC);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	leave(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
}

/* ---- whose key it is ---- */

#define OUR_ID "0123456789abcdef0123456789abcdef01234567"
#define AN_ID "fedcba9876543210fedcba9876543210fedcba98"
#define OTHER_ID "00000000000000000000000000000000000000ff"

/* Three nodes say so of the key, in a first attempt; how many of them mean one of the ids? */
static int held_by(const char *ids, const char *value, size_t len, const struct reply **holder)
{
	static struct rig r;

	ask(&r, 3, NEVER);
	for (int i = 0; i < 3; i++)
		reply_text(&r, i, VOTE_FOREIGN, value, len);
	CHECK(lock_is_pausing(&r.lock));
	return tally_held_by(&r.lock.tally, ids, holder);
}

TEST(a_holder_is_known_by_its_id)
{
	char longest[REPLY_TEXT_MAX] = OUR_ID ":";
	const struct reply untouched = {.text = "untouched"}, *holder;
	static const char lead[] = "89abcdef01234567 fedcba9876543210fedcba9:x";
	static const struct {
		const char *ids, *value;
		size_t len; /* 0: all of it */
		bool ours;
	} cases[] = {
		{OUR_ID, OUR_ID ":alice@web1:42 make", 0, true},
		{OUR_ID, OUR_ID ":", 0, true},
		{AN_ID " " OUR_ID, OUR_ID ":x", 0, true},
		{OUR_ID " " AN_ID, OUR_ID ":x", 0, true},
		{OTHER_ID " " OUR_ID " " AN_ID, OUR_ID ":x", 0, true},
		{AN_ID "  " OUR_ID " ", OUR_ID ":x", 0, true},
		/* somebody else's */
		{OUR_ID, OTHER_ID ":x", 0, false},
		{OUR_ID " " AN_ID, OTHER_ID ":x", 0, false},
		{OUR_ID, "x:" OUR_ID ":x", 0, false},
		{OUR_ID, "0123456789ABCDEF0123456789ABCDEF01234567:x", 0, false},
		{"", OUR_ID ":x", 0, false},
		{" ", OUR_ID ":x", 0, false},
		{"0123456789abcdef", OUR_ID ":x", 0, false},
		/* too short: not a value of ours, and less than an id is in any list */
		{OUR_ID, OUR_ID, 0, false},
		{OUR_ID, OUR_ID ":", 39, false},
		{OUR_ID, OUR_ID ":", 1, false},
		{OUR_ID, "", 0, false},
		{OUR_ID, "(hash)", 0, false},
		/* it stands in the list, but across two ids */
		{OUR_ID " " AN_ID, lead, 0, false},
		/* not text */
		{OUR_ID, "\0" OUR_ID ":x", 43, false},
		{OUR_ID, "0123456789abcdef\0000123456789abcdef0123456:x", 42, false},
		{OUR_ID,
			"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			"\0\0\0\0\0\0\0",
			43, false},
		{OUR_ID, OUR_ID "\0\xff\n", 43, true},
		{OUR_ID, "\xff\xfe\xfd 89abcdef01234567 89abcdef01234567 89", 0, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = cases[i].len ? cases[i].len : strlen(cases[i].value);
		int n;

		holder = &untouched;
		n = held_by(cases[i].ids, cases[i].value, len, &holder);
		unit_check(n == (cases[i].ours ? 3 : 0), __FILE__, __LINE__, "case %zu: %d", i, n);
		CHECK_TEXT(holder->text, cases[i].ours ? cases[i].value : "untouched");
	}
	CHECK_INT(strlen(OUR_ID), TOKEN_ID_LEN);
	/* The longest value that a node tells of. */
	memset(longest + TOKEN_ID_LEN + 1, 'x', sizeof(longest) - TOKEN_ID_LEN - 2);
	CHECK_INT(held_by(OUR_ID, longest, sizeof(longest) - 1, &holder), 3);
	CHECK_TEXT(holder->text, longest);
}

TEST(a_holder_is_counted_by_nodes)
{
	struct rig r;
	const struct reply untouched = {.text = "untouched"}, *holder = &untouched;
	const char value[] = AN_ID ":x", other[] = OTHER_ID ":x";
	const char ids[] = OUR_ID " " AN_ID;
	size_t len = sizeof(value) - 1;

	start(&r, 7, NEVER);
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 0);
	all_up(&r);
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 0);
	/* Whatever else they say, only a key that is held by somebody has a holder. */
	reply_text(&r, 0, VOTE_FOREIGN, value, len);
	reply_text(&r, 1, VOTE_GONE, value, len);
	fake_reply(&r, 2, VOTE_YES);
	reply_text(&r, 3, VOTE_ABSENT, value, len);
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 1);
	CHECK_TEXT(holder->text, value);
	reply_text(&r, 4, VOTE_FOREIGN, other, len);
	reply_text(&r, 5, VOTE_FOREIGN, value, len);
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 2);
	CHECK_INT(tally_held_by(&r.lock.tally, OTHER_ID, &holder), 1);
	CHECK_TEXT(holder->text, other);
	holder = &untouched;
	CHECK_INT(tally_held_by(&r.lock.tally, OUR_ID, &holder), 0);
	CHECK_TEXT(holder->text, "untouched");
	reply_text(&r, 6, VOTE_FOREIGN, value, len);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 3);
	/* The next attempt asks anew. */
	wait_until(&r, r.up.wake_at);
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 0);
}

/* ---- the line ---- */

#define SMALLER "1111111111111111111111111111111111111111"
#define BIGGER "9999999999999999999999999999999999999999"
#define HUGE "ffffffffffffffffffffffffffffffffffffffff"
#define HELD_FOR (5 * USEC_SEC)

static struct reply told(enum vote vote, const char *text, usec left)
{
	struct reply a = {.vote = vote, .pttl = left, .text_len = strlen(text)};

	memcpy(a.text, text, a.text_len + 1);
	return a;
}

static struct reply held(usec left)
{
	return told(VOTE_FOREIGN, BIGGER ":the holder", left);
}

static struct reply reserved(usec left)
{
	struct reply a = told(VOTE_FOREIGN, "", left);

	a.is_reserved = true;
	return a;
}

static struct reply turn(void)
{
	return told(VOTE_YES, BIGGER, 0);
}

static int seat_of(const struct rig *r)
{
	return r->lock.policy.nodes;
}

static struct fake *seat(struct rig *r)
{
	return &r->fake[seat_of(r)];
}

/* Connected and asked, and ready to wait in line. */
static void contend(struct rig *r, int nodes, usec wait)
{
	start(r, nodes, wait);
	r->lock.waiter.is_refused = false;
	all_up(r);
}

/* All who are asked say that it is held; that holds for the release behind it as well. */
static void refuse(struct rig *r, usec left)
{
	for (int n = 0; n < 2 * r->lock.policy.nodes; n++) {
		int i = n % r->lock.policy.nodes;

		while (r->fake[i].queued > 0)
			reply_with(r, i, held(left));
	}
	CHECK(lock_is_pausing(&r->lock));
}

/* Refused, and in line. */
static void wait_in_line_for(struct rig *r, int nodes, usec wait)
{
	contend(r, nodes, wait);
	refuse(r, HELD_FOR);
	link_up(r, seat_of(r));
	reply_with(r, seat_of(r), held(HELD_FOR));
	CHECK_INT(seat(r)->queued, 1);
	CHECK_INT(seat(r)->queue[0].op, OP_WAIT);
}

static void wait_in_line(struct rig *r, int nodes)
{
	wait_in_line_for(r, nodes, NEVER);
}

/* Nobody wakes it. */
static void next_attempt(struct rig *r)
{
	uint32_t attempt = r->lock.stamp.attempt;

	wait_until(r, resume_at(r));
	all_up(r);
	CHECK_INT(r->lock.stamp.attempt, attempt + 1);
}

TEST(a_waiter_takes_a_seat_at_the_first_in_order_that_answers)
{
	static const struct {
		const char *absent;
		int line;
	} cases[] = {{"", 2}, {"..A", 0}, {"A", 2}, {"A.A", 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;
		struct policy p = policy(5, NEVER);

		start_with(&r, &p);
		r.lock.waiter.is_refused = false;
		memcpy(r.lock.policy.order[0], (int[]){2, 0, 1, 4, 3}, 5 * sizeof(int));
		all_up(&r);
		CHECK_INT(seat(&r)->opens, 0);
		votes(&r, cases[i].absent);
		refuse(&r, HELD_FOR);
		CHECK_INT(seat(&r)->opens, 1);
		CHECK_INT(seat(&r)->line, cases[i].line);
	}
}

TEST(a_waiter_joins_and_waits_in_one_step)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->link, LINK_OPENING);
	CHECK_INT(seat(&r)->queued, 0);
	link_shakes(&r, 3);
	CHECK_INT(seat(&r)->queued, 0);
	link_up(&r, 3);
	CHECK_INT(seat(&r)->queued, 2);
	CHECK_INT(seat(&r)->queue[0].op, OP_JOIN);
	CHECK_INT(seat(&r)->queue[1].op, OP_WAIT);
	/* Once is enough. */
	reply_with(&r, 3, held(HELD_FOR));
	tick(&r);
	CHECK_INT(seat(&r)->sends[OP_JOIN] + seat(&r)->sends[OP_WAIT], 2);
}

TEST(who_need_not_wait_takes_no_seat)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->opens, 0);
	/* no time */
	contend(&r, 3, 0);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(seat(&r)->opens, 0);
	/* nobody to wait for */
	contend(&r, 3, NEVER);
	votes(&r, "AAY");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	CHECK_INT(seat(&r)->opens, 0);
}

TEST(the_place_is_kept_while_it_tries_again)
{
	struct rig r;

	wait_in_line(&r, 3);
	for (int i = 0; i < 5; i++) {
		next_attempt(&r);
		CHECK_INT(seat(&r)->queued, 1);
		refuse(&r, HELD_FOR);
	}
	CHECK_INT(seat(&r)->opens, 1);
	CHECK_INT(seat(&r)->sends[OP_JOIN], 1);
	CHECK_INT(seat(&r)->sends[OP_WAIT], 1);
}

TEST(the_seat_moves_when_an_earlier_node_answers_again)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "A");
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->line, 1);
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 0);
	CHECK_INT(seat(&r)->link, LINK_OPENING);
}

TEST(the_seat_moves_when_its_node_is_absent)
{
	struct rig r;

	wait_in_line(&r, 3);
	wait_until(&r, resume_at(&r));
	link_down(&r, 0, REASON_CONNECT);
	all_up(&r);
	/* The line is another one now, and asked first. */
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 1, held(HELD_FOR));
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 1);
}

/* It was taken for the line because it stood and was not late yet. */
TEST(a_silent_node_keeps_nobody_from_a_seat)
{
	struct rig r;

	contend(&r, 3, NEVER);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	CHECK_INT(seat(&r)->line, 0);
	r.now += 3 * MS;
	link_up(&r, 3);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 1);
	link_up(&r, 3);
	CHECK_INT(seat(&r)->queued, 2);
}

/* What is heard while an attempt is under way is not lost when it fails. */
TEST(free_as_it_joins_in_the_midst_of_an_attempt_is_worth_another)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, 10 * MS);
	link_up(&r, 3);
	next_attempt(&r);
	CHECK(r.lock.waiter.joins);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	/* but one only */
	reply_with(&r, 0, held(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(resume_at(&r) >= r.now + HELD_FOR);
	/* and not where nobody can be asked */
	contend(&r, 3, NEVER);
	refuse(&r, 10 * MS);
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	fake_reply(&r, 0, VOTE_ABSENT);
	votes(&r, ".AA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(resume_at(&r) > r.now);
}

TEST(a_second_turn_is_not_lost_with_the_first)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, turn());
	CHECK(r.lock.waiter.used_turn && r.lock.waiter.waits);
	reply_with(&r, 3, told(VOTE_YES, SMALLER, 0));
	CHECK_TEXT(r.lock.waiter.turn[0], SMALLER);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* The first fails, and the second is tried and fails. */
	refuse(&r, HELD_FOR);
	CHECK_INT(sends(&r, OP_ACQUIRE), 9);
	CHECK(!r.lock.waiter.is_woken);
}

TEST(who_is_woken_asks_all_at_once)
{
	struct rig r;

	wait_in_line(&r, 5);
	pass(&r, 10 * MS);
	reply_with(&r, 5, turn());
	CHECK(r.up.new_token);
	CHECK_INT(sends(&r, OP_ACQUIRE), 10);
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	votes(&r, "YYYYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(a_turn_is_an_id_and_no_more)
{
	struct rig r;

	wait_in_line(&r, 1);
	reply_with(&r, 1, told(VOTE_YES, BIGGER BIGGER, 0));
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	wait_in_line(&r, 1);
	reply_with(&r, 1, told(VOTE_YES, "1", 0));
	CHECK_TEXT(r.lock.waiter.turn[0], "1");
}

/* A node that is slow to notice that a seat was closed wakes who is not there any more: our own
 * release would be heard by nobody. */
TEST(a_holder_that_was_not_woken_keeps_its_seat_and_passes_on_what_its_release_wakes)
{
	struct rig r;

	wait_in_line(&r, 3);
	next_attempt(&r);
	votes(&r, "Y");
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->link, LINK_UP);
	let_go(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

TEST(a_holder_that_was_woken_needs_no_seat)
{
	struct rig r;

	wait_in_line(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, BIGGER, 0));
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(who_is_not_woken_asks_the_line_first_and_the_rest_if_it_grants)
{
	struct rig r;

	wait_in_line(&r, 3);
	CHECK_INT(resume_at(&r), BEGIN + HELD_FOR + 2 * MS);
	next_attempt(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	votes(&r, ".Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(refused_by_the_line_asks_nobody_else_before_its_key_ends)
{
	struct rig r;
	struct reply no[] = {held(3 * USEC_SEC), reserved(60 * MS)};

	for (int i = 0; i < 2; i++) {
		wait_in_line(&r, 3);
		next_attempt(&r);
		reply_with(&r, 0, no[i]);
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
		CHECK_INT(resume_at(&r), r.now + no[i].pttl + 2 * MS);
		CHECK_INT(sends(&r, OP_ACQUIRE), 4);
		CHECK_INT(sends(&r, OP_UNDO), 1); /* of the first attempt */
	}
	/* All who wait for that moment do not come in step. */
	wait_in_line(&r, 3);
	next_attempt(&r);
	r.random = 99999;
	reply_with(&r, 0, held(USEC_SEC));
	CHECK_INT(resume_at(&r), r.now + USEC_SEC + 2 * MS + 99999);
}

TEST(a_line_that_does_not_decide_is_passed_over)
{
	struct rig r;
	struct reply no[] = {reply_absent(REASON_LOADING, NULL),
		told(VOTE_FOREIGN, "a stranger", USEC_SEC), held(NEVER)};

	for (int i = 0; i < 3; i++) {
		wait_in_line(&r, 3);
		next_attempt(&r);
		reply_with(&r, 0, no[i]);
		CHECK_INT(sends(&r, OP_ACQUIRE), 6);
		votes(&r, ".YY");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	}
	/* silent */
	wait_in_line(&r, 3);
	next_attempt(&r);
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* nobody else is there */
	wait_in_line(&r, 3);
	next_attempt(&r);
	link_down(&r, 1, REASON_CLOSED);
	link_down(&r, 2, REASON_CLOSED);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(strangers_wake_nobody_and_are_asked_again_soon)
{
	struct rig r;
	struct reply no[] = {told(VOTE_FOREIGN, "a stranger", HELD_FOR), held(NEVER)};

	for (int i = 0; i < 4; i++) {
		contend(&r, 3, NEVER);
		/* one is enough, the line or not */
		reply_with(&r, 0, i < 2 ? no[i] : held(HELD_FOR));
		reply_with(&r, 1, i < 2 ? held(HELD_FOR) : no[i - 2]);
		reply_with(&r, 2, held(HELD_FOR));
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	}
}

TEST(the_next_attempt_is_when_a_majority_can_grant_it)
{
	struct rig r;

	/* One has it, but not at the line. */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(3 * USEC_SEC));
	reply_with(&r, 2, held(2 * USEC_SEC));
	CHECK_INT(resume_at(&r), BEGIN + 2 * USEC_SEC + 2 * MS);
	contend(&r, 5, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(USEC_SEC));
	reply_with(&r, 2, held(3 * USEC_SEC));
	reply_with(&r, 3, held(2 * USEC_SEC));
	CHECK_INT(resume_at(&r), BEGIN + 2 * USEC_SEC + 2 * MS);
	/* not sooner than others would */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(5 * MS));
	reply_with(&r, 2, held(5 * MS));
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
}

TEST(a_turn_that_comes_during_an_attempt_is_for_the_next)
{
	struct rig r;
	uint32_t round;

	wait_in_line(&r, 3);
	next_attempt(&r);
	round = r.lock.stamp.round;
	reply_with(&r, 3, turn());
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(r.lock.stamp.round, round + 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 7);
	/* It is used up now. */
	reply_with(&r, 0, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.waiter.is_woken);
	CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
	CHECK_INT(seat(&r)->opens, 1);
	CHECK_INT(seat(&r)->sends[OP_JOIN], 2);
	CHECK_INT(seat(&r)->sends[OP_WAIT], 2);
}

TEST(a_turn_lasts_through_an_attempt_that_had_no_quorum)
{
	struct rig r;

	wait_in_line(&r, 3);
	reply_with(&r, 3, turn());
	votes(&r, "AA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.waiter.is_woken);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	fake_reply(&r, 2, VOTE_YES);
	votes(&r, "YYY");
	next_attempt(&r);
	CHECK(r.lock.waiter.used_turn);
}

TEST(a_turn_not_used_at_the_end_is_handed_over_from_the_seat)
{
	struct rig r;

	wait_in_line(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, turn());
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	finish(&r);
	/* at the deadline as well */
	wait_in_line_for(&r, 3, USEC_SEC / 2);
	wait_until(&r, BEGIN + USEC_SEC / 2);
	reply_with(&r, 3, turn());
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	for (int i = 0; i < 3; i++)
		reply_with(&r, i, held(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	/* and its answer changes nothing */
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK(!r.lock.waiter.is_refused);
}

/* The wake-up may be on its way: behind the blocked pop, the last word is heard only if it is. */
TEST(a_turn_that_comes_as_we_leave_is_handed_over)
{
	struct rig r;

	/* still waiting */
	wait_in_line(&r, 3);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	CHECK_INT(seat(&r)->queue[0].op, OP_WAIT);
	CHECK_INT(seat(&r)->queue[1].op, OP_HAND_OFF);
	/* no way to say it */
	wait_in_line(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, turn());
	link_down(&r, 3, REASON_CLOSED);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(free_when_it_joins_is_worth_an_attempt_but_one_only)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	/* free at the line: nobody said that it is our turn */
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
	link_down(&r, 3, REASON_CLOSED);
	next_attempt(&r);
	reply_with(&r, 0, held(HELD_FOR));
	/* free again, and refused again? */
	link_up(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	/* A turn tells that things have changed. */
	reply_with(&r, 3, turn());
	CHECK(!r.lock.waiter.was_free);
}

/* A majority refused us before the line did; what is there may be a dead one's. */
TEST(a_key_of_the_line_that_ends_before_the_others_is_not_slept_over)
{
	static const struct {
		usec left, resume_in;
	} cases[] = {
		{50 * MS, 52 * MS}, {2 * HELD_FOR, HELD_FOR + 2 * MS}, {NEVER, HELD_FOR + 2 * MS}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		contend(&r, 3, NEVER);
		reply_with(&r, 1, held(HELD_FOR));
		reply_with(&r, 2, held(HELD_FOR));
		CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
		link_up(&r, 3);
		reply_with(&r, 3, told(VOTE_FOREIGN, HUGE ":another", cases[i].left));
		CHECK_INT(resume_at(&r), r.now + cases[i].resume_in);
	}
}

TEST(a_turn_ends_the_patience_of_many_failures)
{
	for (int woken = 0; woken < 2; woken++) {
		struct rig r;

		wait_in_line(&r, 3);
		for (int i = 0; i < 4; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
		}
		if (woken) {
			reply_with(&r, 3, turn());
			all_up(&r);
			for (int i = 0; i < 2; i++)
				reply_with(&r, i, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
		}
		link_down(&r, 3, REASON_CLOSED);
		CHECK_INT(resume_at(&r), r.now + (woken ? 20 : 40) * MS);
	}
}

TEST(a_seat_that_breaks_during_an_attempt_is_taken_again_after_it)
{
	struct rig r;

	wait_in_line(&r, 3);
	next_attempt(&r);
	link_down(&r, 3, REASON_CLOSED);
	CHECK_INT(seat(&r)->opens, 1);
	CHECK(!lock_is_pausing(&r.lock));
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(seat(&r)->opens, 2);
	link_up(&r, 3);
	CHECK_INT(seat(&r)->queued, 2);
}

TEST(a_turn_that_nobody_came_for_is_for_who_joins)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, turn());
	CHECK(r.lock.waiter.used_turn);
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
}

TEST(a_seat_that_cannot_be_had_in_time_is_given_up_and_asked_for_soon)
{
	struct rig r;

	/* it does not connect */
	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(seat(&r)->link, LINK_OPENING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->opens, 2);
	/* it does not answer */
	r.now += MS;
	link_up(&r, 3);
	wait_until(&r, r.now + NODE_TIMEOUT);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	/* it refuses to be connected to, or the connection breaks */
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	link_down(&r, 3, REASON_CONNECT);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	link_down(&r, 3, REASON_CLOSED);
	CHECK_INT(resume_at(&r), r.now + 40 * MS);
	CHECK_INT(seat(&r)->opens, 4);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->opens, 5);
	CHECK(!r.lock.waiter.is_refused);
}

TEST(who_waits_is_not_late)
{
	struct rig r;

	wait_in_line(&r, 3);
	wait_until(&r, BEGIN + HELD_FOR);
	CHECK_INT(seat(&r)->link, LINK_UP);
	CHECK_INT(seat(&r)->queued, 1);
}

TEST(who_may_not_wait_is_told_once_and_polls)
{
	for (int waits = 0; waits < 2; waits++) {
		struct rig r;

		contend(&r, 3, NEVER);
		refuse(&r, HELD_FOR);
		link_up(&r, 3);
		if (waits)
			reply_with(&r, 3, held(HELD_FOR));
		reply_with(&r, 3, reply_absent(REASON_NOPERM, "NOPERM"));
		CHECK(r.lock.waiter.is_refused);
		CHECK_INT(r.lock.waiter.trouble.reason, REASON_NOPERM);
		CHECK_INT(r.lock.waiter.node, 0);
		CHECK_INT(seat(&r)->link, LINK_DOWN);
		CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
		for (int i = 0; i < 3; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
			CHECK_INT(resume_at(&r), r.now + (i < 2 ? 20 : 40) * MS);
		}
		CHECK_INT(seat(&r)->opens, 1);
	}
}

TEST(only_the_seat_is_kept_for_longer_than_a_second)
{
	struct rig r;

	wait_in_line(&r, 3);
	wait_until(&r, BEGIN + USEC_SEC - 1);
	for (int i = 0; i < 4; i++)
		CHECK_INT(r.fake[i].link, LINK_UP);
	wait_until(&r, BEGIN + USEC_SEC);
	for (int i = 0; i < 3; i++)
		CHECK_INT(r.fake[i].link, LINK_DOWN);
	CHECK_INT(seat(&r)->link, LINK_UP);
	/* Woken, it connects first. */
	reply_with(&r, 3, turn());
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* What is under way is not cut off. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, held(HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	wait_until(&r, BEGIN + USEC_SEC);
	CHECK_INT(r.fake[0].link, LINK_DOWN);
	CHECK_INT(r.fake[2].link, LINK_UP);
}

TEST(the_line_has_its_last_attempt_at_the_deadline_and_at_all_nodes)
{
	struct rig r;

	wait_in_line_for(&r, 3, USEC_SEC / 2);
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC / 2);
	next_attempt(&r);
	CHECK_INT(r.now, BEGIN + USEC_SEC / 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

/* Each of three has one node; ours is the first. */
static void split(struct rig *r, usec wait, const char *second, const char *third)
{
	contend(r, 3, wait);
	r->now += MS;
	fake_reply(r, 0, VOTE_YES);
	reply_with(r, 1, told(VOTE_FOREIGN, second, HELD_FOR));
	reply_with(r, 2, told(VOTE_FOREIGN, third, HELD_FOR));
}

TEST(of_those_who_split_the_votes_the_smallest_token_goes_on)
{
	struct rig r;

	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	CHECK(!lock_is_pausing(&r.lock));
	CHECK_INT(sends(&r, OP_UNDO), 0);
	CHECK_INT(r.up.wake_at, r.now + MS);
	pass(&r, MS - 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	pass(&r, 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The validity counts from the first request. */
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
	/* Strangers give nothing back, whatever they are called. */
	split(&r, NEVER, "1", BIGGER ":a");
	CHECK(!lock_is_pausing(&r.lock));
}

TEST(of_those_who_split_the_votes_the_others_give_theirs_back_quietly)
{
	struct rig r;
	const char *const others[][2] = {{SMALLER ":a", BIGGER ":b"}, {BIGGER ":b", SMALLER ":a"}};

	for (int i = 0; i < 2; i++) {
		split(&r, NEVER, others[i][0], others[i][1]);
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
		CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	}
	/* Who has none has nothing to insist on. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":c", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
}

TEST(where_a_majority_names_one_holder_nobody_insists)
{
	struct rig r;

	split(&r, NEVER, BIGGER ":a", BIGGER ":a");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	/* nor where a stranger, or a waiter whose turn it is, has what a majority would take */
	for (int i = 0; i < 2; i++) {
		contend(&r, 3, NEVER);
		votes(&r, "Y.A");
		reply_with(&r, 1, i ? reserved(HELD_FOR) : told(VOTE_FOREIGN, "1", HELD_FOR));
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	}
}

/* A node that is down says nothing about a holder: with a minority down, rivals split the rest. */
TEST(an_absent_node_is_not_counted_for_a_rival)
{
	struct rig r;

	contend(&r, 3, 0);
	votes(&r, "Y.A");
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* It does not answer, or is far away: then a quarter of the node time-out tells. */
TEST(rivals_hear_all_nodes_but_late_ones)
{
	struct rig r;

	/* one that gives way, and one that goes on */
	for (int i = 0; i < 2; i++) {
		contend(&r, 3, 0);
		r.now += MS;
		fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 1, told(VOTE_FOREIGN, i ? BIGGER ":a" : SMALLER ":a", HELD_FOR));
		CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
		CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
		wait_until(&r, r.up.wake_at);
		CHECK_INT(lock_state(&r.lock), i ? LOCK_TRYING : LOCK_RELEASING);
	}
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* all have answered: none is late */
	contend(&r, 5, 0);
	fake_reply(&r, 0, VOTE_YES);
	for (int i = 1; i < 4; i++) {
		reply_with(&r, i, told(VOTE_FOREIGN, i < 2 ? BIGGER ":a" : HUGE ":b", HELD_FOR));
		CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
		CHECK_INT(r.lock.attempt.rivals.retry_at, 0);
	}
	reply_with(&r, 4, told(VOTE_FOREIGN, SMALLER ":c", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	/* also when they are asked again, after the first have taken their time */
	contend(&r, 5, 0);
	votes(&r, "YY");
	for (int i = 2; i < 4; i++)
		reply_with(&r, i, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 7);
	reply_with(&r, 2, told(VOTE_FOREIGN, SMALLER ":c", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(of_readers_and_writers_who_split_the_votes_a_writer_goes_on)
{
	struct rig r;

	start(&r, 3, 0);
	r.lock.policy.is_shared = true;
	all_up(&r);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	/* also where the line does not answer */
	start(&r, 3, 0);
	r.lock.policy.is_shared = true;
	all_up(&r);
	fake_reply(&r, 1, VOTE_YES);
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":a", HELD_FOR));
	CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
}

/* Each time later: a holder whose nodes are out of reach costs a node time-out, and few requests.
 */
TEST(insists_until_a_node_time_out_and_then_hands_over)
{
	struct rig r;
	int asked = 0;

	split(&r, 0, BIGGER ":a", HUGE ":b");
	while (lock_state(&r.lock) == LOCK_TRYING) {
		wait_until(&r, r.up.wake_at);
		asked++;
		CHECK_INT(sends(&r, OP_ACQUIRE), 3 + 2 * asked);
		reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
		reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	}
	CHECK(r.now >= BEGIN + NODE_TIMEOUT && r.now <= BEGIN + NODE_TIMEOUT * 5 / 4);
	CHECK(asked >= 3 && asked <= 12);
	/* The others gave way to us: they wait for a word. */
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(sends(&r, OP_UNDO), 0);
	/* A client that waits does not take so long before it queues. */
	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	for (asked = 0; !lock_is_pausing(&r.lock); asked++) {
		wait_until(&r, r.up.wake_at);
		reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
		reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	}
	CHECK_INT(asked, 3);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	/* If one of them got it meanwhile, that one will say it. */
	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	wait_until(&r, r.up.wake_at);
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
}

TEST(insists_within_a_node_time_out)
{
	struct rig r;

	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	r.now += NODE_TIMEOUT / 2;
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	r.now = BEGIN + NODE_TIMEOUT;
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	/* and not before the answers that come together have come */
	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK_INT(r.up.wake_at, BEGIN + 200);
	/* nobody is left to ask */
	link_down(&r, 1, REASON_CLOSED);
	link_down(&r, 2, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	CHECK(lock_is_pausing(&r.lock));
}

TEST(who_gives_up_hands_over)
{
	struct rig r;

	split(&r, 0, SMALLER ":a", BIGGER ":b");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(sends(&r, OP_UNDO), 0);
}

TEST(a_release_on_its_way_is_waited_for)
{
	struct rig r;
	usec began;

	wait_in_line(&r, 3);
	reply_with(&r, 3, turn());
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, reserved(HELD_FOR));
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].queued + r.fake[2].queued, 2);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* it never comes: for a time-out, and ever more slowly */
	wait_in_line(&r, 3);
	reply_with(&r, 3, turn());
	began = r.now;
	for (int i = 0; i < 20 && !lock_is_pausing(&r.lock); i++) {
		for (int n = 0; n < 3; n++)
			reply_with(&r, n, held(HELD_FOR));
		CHECK_INT(lock_is_pausing(&r.lock), r.now >= began + NODE_TIMEOUT);
		if (!lock_is_pausing(&r.lock))
			wait_until(&r, r.up.wake_at);
	}
	CHECK(lock_is_pausing(&r.lock));
	CHECK(r.now <= began + NODE_TIMEOUT * 5 / 4);
	CHECK(sends(&r, OP_ACQUIRE) <= 3 + 14 * 3);
}

TEST(whose_release_is_not_on_its_way_is_not_waited_for)
{
	struct rig r;
	struct reply no[] = {told(VOTE_FOREIGN, HUGE ":another", HELD_FOR),
		told(VOTE_FOREIGN, BIGGER, HELD_FOR)};

	/* another holder, or a stranger */
	for (int i = 0; i < 2; i++) {
		wait_in_line(&r, 3);
		reply_with(&r, 3, turn());
		reply_with(&r, 0, no[i]);
		reply_with(&r, 1, no[i]);
		CHECK(lock_is_pausing(&r.lock));
	}
	/* it is not our turn */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
}

TEST(a_turn_that_nobody_came_for_opens_the_other_nodes)
{
	struct rig r;

	for (int is_last = 0; is_last < 2; is_last++) {
		contend(&r, 3, NEVER);
		if (!is_last)
			reply_with(&r, 0, turn());
		reply_with(&r, 1, reserved(60 * MS));
		reply_with(&r, 2, reserved(60 * MS));
		CHECK(!lock_is_pausing(&r.lock));
		if (is_last)
			reply_with(&r, 0, turn());
		CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
		CHECK(!lock_is_pausing(&r.lock));
		wait_until(&r, r.up.wake_at);
		votes(&r, ".Y");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK(!r.lock.waiter.is_woken);
	}
}

TEST(whether_a_turn_is_somebodys_the_line_is_asked_for_a_while)
{
	struct rig r;

	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, r.now + r.lock.policy.node_timeout / 4);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* It says so. */
	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 0, reserved(60 * MS));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* Without it, the next one is the line, which has spoken. */
	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 0, VOTE_ABSENT);
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

TEST(the_line_tells_whether_others_wait)
{
	struct rig r;
	struct reply awaited = {.vote = VOTE_YES, .awaited = 1};

	for (int line = 0; line < 3; line++) {
		contend(&r, 3, NEVER);
		memcpy(r.lock.policy.order[0], (int[]){1, 0, 2}, 3 * sizeof(int));
		for (int i = 0; i < 3; i++)
			if (i == line)
				reply_with(&r, i, awaited);
			else
				fake_reply(&r, i, VOTE_YES);
		CHECK_INT(r.lock.waiter.awaited, line == 1);
	}
	/* Each extension tells it anew. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, awaited);
	votes(&r, ".YY");
	CHECK(r.lock.waiter.awaited);
	next_round(&r);
	CHECK(!r.lock.waiter.awaited);
	reply_with(&r, 0, awaited);
	CHECK(r.lock.waiter.awaited);
	/* When the line is absent, it is another one. */
	next_round(&r);
	votes(&r, "A");
	reply_with(&r, 1, awaited);
	CHECK(r.lock.waiter.awaited);
	/* Whoever refuses tells nothing. */
	contend(&r, 3, NEVER);
	awaited.vote = VOTE_FOREIGN;
	reply_with(&r, 0, awaited);
	CHECK(!r.lock.waiter.awaited);
}

static void contend_fairly(struct rig *r, usec wait)
{
	struct policy p = policy(3, wait);

	p.is_fair = true;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	all_up(r);
}

TEST(fair_hears_everybody_before_a_majority_counts)
{
	struct rig r;

	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The silent have the node time-out. */
	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Nobody is the line. */
	contend_fairly(&r, NEVER);
	votes(&r, "AAA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(fair_lets_others_pass_though_a_majority_would_grant_it)
{
	struct rig r;

	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	reply_with(&r, 0, reserved(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(sends(&r, OP_UNDO), 2);
	CHECK_INT(resume_at(&r), BEGIN + 62 * MS);
	CHECK_INT(seat(&r)->line, 0);
	/* the line only, and only a turn */
	contend_fairly(&r, NEVER);
	reply_with(&r, 1, reserved(60 * MS));
	votes(&r, "Y.Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	contend_fairly(&r, NEVER);
	reply_with(&r, 0, held(60 * MS));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Who does not ask for it does not mind. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, reserved(60 * MS));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* ---- who only looks ---- */

static void look_with(struct rig *r, int nodes, usec wait)
{
	struct policy p = policy(nodes, wait);

	p.only_looks = true;
	start_with(r, &p);
	all_up(r);
	CHECK_INT(sends(r, OP_LOOK), nodes);
	CHECK_INT(sends(r, OP_ACQUIRE), 0);
}

TEST(who_only_looks_is_done_when_a_majority_is_free)
{
	static const struct {
		const char *letters;
		enum refusal refusal;
	} cases[] = {{"GGG", REFUSAL_NONE}, {"FGG", REFUSAL_NONE}, {"AGG", REFUSAL_NONE},
		{"FFG", REFUSAL_BUSY}, {"FFF", REFUSAL_BUSY}, {"FAF", REFUSAL_BUSY},
		{"AFG", REFUSAL_BUSY}, {"AAG", REFUSAL_NO_QUORUM}, {"AAF", REFUSAL_NO_QUORUM}};
	struct rig r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		look_with(&r, 3, 0);
		for (int n = 0; n < 3 && lock_state(&r.lock) == LOCK_TRYING; n++)
			votes(&r, (char[]){n == 0 ? cases[i].letters[0] : '.',
					  n == 1 ? cases[i].letters[1] : '.',
					  n == 2 ? cases[i].letters[2] : '.', '\0'});
		pass(&r, NODE_TIMEOUT);
		unit_check(lock_state(&r.lock) == LOCK_OVER && r.lock.refusal == cases[i].refusal,
			__FILE__, __LINE__, "%s: state %d, refusal %d", cases[i].letters,
			(int)lock_state(&r.lock), (int)r.lock.refusal);
		/* Nothing was taken, nothing is owed. */
		CHECK_INT(sends(&r, OP_UNDO) + sends(&r, OP_HAND_OFF), 0);
	}
}

/* The turn was told before the pop, which is still blocked: the seat's own word would stand behind
 * it for ever. */
/* It joined the line, and was told there that it is its turn. */
static void look_and_be_woken(struct rig *r, struct reply a)
{
	look_with(r, 3, NEVER);
	r->lock.waiter.is_refused = false;
	for (int i = 0; i < 3; i++)
		reply_with(r, i, a);
	link_up(r, 3);
	reply_with(r, 3, turn());
}

TEST(who_only_looks_passes_on_the_turn_that_it_was_told_of)
{
	static const char *const replies[] = {"GG", ".GG"};
	struct rig r;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		look_and_be_woken(&r, held(HELD_FOR));
		CHECK(r.lock.waiter.used_turn && r.lock.waiter.waits);
		votes(&r, replies[i]);
		CHECK_INT(r.lock.refusal, REFUSAL_NONE);
		CHECK(lock_state(&r.lock) == LOCK_RELEASING || lock_state(&r.lock) == LOCK_OVER);
		CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
		CHECK_INT(sends(&r, OP_HAND_OFF), 1);
		CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	}
	/* No way to say it. */
	look_and_be_woken(&r, held(HELD_FOR));
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".GG");
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}

/* ---- standing still ---- */

/* What has come in while we were away is taken in before the time is looked at. */
TEST(who_was_away_while_links_came_up_asks_all)
{
	struct rig r;

	start(&r, 3, 0);
	r.now += 10 * NODE_TIMEOUT;
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	CHECK_INT(r.lock.peer[0].due, r.now + NODE_TIMEOUT);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Nothing more has come: then it is over. */
	start(&r, 3, 0);
	link_up(&r, 0);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(who_was_away_while_releases_were_answered_hears_them)
{
	struct rig r;
	usec ignored;

	hold(&r, 3);
	let_go(&r);
	r.now += 10 * USEC_SEC;
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 1, VOTE_YES);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &ignored), 0);
	/* Nothing has come. */
	hold(&r, 3);
	let_go(&r);
	wait_until(&r, r.now + 10 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &ignored), 3);
}

/* ---- fencing numbers ---- */

static struct reply granted(int64_t fence)
{
	struct reply a = told(VOTE_YES, "", 0);

	a.fence = fence;
	return a;
}

static void ask_for_number(struct rig *r, int nodes)
{
	struct policy p = policy(nodes, NEVER);

	p.wants_fence = true;
	start_with(r, &p);
	all_up(r);
}

TEST(one_number_from_a_majority_is_the_number)
{
	struct rig r;

	ask_for_number(&r, 3);
	reply_with(&r, 2, granted(7));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 0, granted(7));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.fence, 7);
	CHECK_INT(sends(&r, OP_FENCE), 0);
	/* Nobody waits for the third, whatever it says. */
	reply_with(&r, 1, granted(9));
	CHECK_INT(r.lock.tenure.fence, 7);
	CHECK_INT(sends(&r, OP_FENCE), 0);
}

TEST(who_is_gone_since_it_granted_is_not_told_the_number)
{
	struct rig r;

	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(6));
	link_down(&r, 0, REASON_CLOSED);
	reply_with(&r, 1, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(sends(&r, OP_FENCE), 1);
	reply_with(&r, 1, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 2, granted(9));
	CHECK_INT(sends(&r, OP_FENCE), 2);
	reply_with(&r, 2, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(the_largest_of_several_is_told_to_a_majority_before_the_lock_is_held)
{
	struct rig r;

	ask_for_number(&r, 5);
	reply_with(&r, 0, granted(6));
	reply_with(&r, 1, granted(11));
	reply_with(&r, 2, granted(6));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(sends(&r, OP_FENCE), 3);
	CHECK_INT(r.lock.tenure.fence, 11);
	reply_with(&r, 0, granted(11));
	reply_with(&r, 1, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	/* One that granted it late is told as well, and counts. */
	reply_with(&r, 3, granted(3));
	CHECK_INT(sends(&r, OP_FENCE), 4);
	reply_with(&r, 3, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.fence, 11);
}

/* The validity counts from before the first request, however long the second round takes. */
TEST(a_number_that_takes_too_long_is_given_back)
{
	struct rig r;

	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	r.now = r.lock.tenure.valid_until - r.lock.policy.safety_margin;
	reply_with(&r, 0, granted(2));
	reply_with(&r, 1, granted(2));
	CHECK_INT(r.lock.refusal, REFUSAL_SLOW);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(sends(&r, OP_UNDO) >= 2);
}

TEST(a_number_that_no_majority_takes_is_no_lock)
{
	struct reply larger = {.vote = VOTE_FOREIGN, .is_reserved = true, .is_partial = true};
	struct rig r;

	/* Somebody else has the keys by now. */
	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	reply_with(&r, 2, held(USEC_SEC));
	reply_with(&r, 0, held(USEC_SEC));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* A larger number was given on one: that key is ours still, and is released. */
	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	reply_with(&r, 2, told(VOTE_ABSENT, "", 0));
	reply_with(&r, 0, larger);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.peer[0].pending);
	CHECK_INT(sends(&r, OP_UNDO), 3);
	/* They do not answer. */
	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	reply_with(&r, 2, told(VOTE_ABSENT, "", 0));
	reply_with(&r, 0, told(VOTE_ABSENT, "", 0));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	/* A word about an earlier round is none. */
	CHECK_INT(r.lock.peer[1].fenced_in, 0);
}

TEST(a_grant_without_the_number_that_was_asked_for_is_no_vote)
{
	struct rig r;

	ask_for_number(&r, 1);
	reply_with(&r, 0, granted(0));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.peer[0].pending);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_GARBAGE);
}

TEST(two_names_of_one_server_have_one_number)
{
	struct rig r;

	ask_for_number(&r, 3);
	r.fake[0].run_id = r.fake[2].run_id = "same";
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	CHECK_INT(sends(&r, OP_FENCE), 2);
	reply_with(&r, 2, granted(2));
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
}

TEST(an_extension_leaves_the_number_as_it_is)
{
	struct rig r;

	ask_for_number(&r, 1);
	reply_with(&r, 0, granted(5));
	next_round(&r);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.fence, 5);
	CHECK_INT(tally_newest_fence(&r.lock.tally), 0);
	r.lock.tally.ballot[0].reply.fence = 8;
	CHECK_INT(tally_newest_fence(&r.lock.tally), 8);
}

/* ---- several keys ---- */

/* Key 1 has another order of the nodes than key 0. */
static void contend_for_two(struct rig *r, bool is_fair)
{
	struct policy p = policy(3, NEVER);

	p.keys = 2;
	p.is_fair = is_fair;
	start_with(r, &p);
	memcpy(r->lock.policy.order[1], (int[]){1, 2, 0}, 3 * sizeof(int));
	r->lock.waiter.is_refused = false;
	all_up(r);
}

static struct reply about(int key, struct reply a)
{
	a.key = key;
	return a;
}

/* Not by the one before us. */
static struct reply by_another(void)
{
	return told(VOTE_FOREIGN, "7777777777777777777777777777777777777777:x", HELD_FOR);
}

static void all_say(struct rig *r, struct reply a)
{
	for (int i = 0; i < 3; i++)
		while (r->fake[i].queued > 0)
			reply_with(r, i, a);
}

/* In line for key 1, and woken. */
static void be_woken_for_the_second(struct rig *r)
{
	contend_for_two(r, false);
	all_say(r, about(1, held(HELD_FOR)));
	CHECK_INT(r->lock.waiter.busy_key, 1);
	link_up(r, 3);
	reply_with(r, 3, held(HELD_FOR));
	reply_with(r, 3, turn());
	CHECK_INT(r->lock.waiter.turn_key, 1);
	CHECK_INT(sends(r, OP_ACQUIRE), 6);
}

/* On the way into the line for key 1, or in it; the next attempt begins. */
static void be_refused_the_second(struct rig *r, bool arrived)
{
	contend_for_two(r, false);
	all_say(r, about(1, held(20 * MS)));
	if (arrived) {
		link_up(r, 3);
		reply_with(r, 3, held(20 * MS));
	}
	next_attempt(r);
}

TEST(several_keys_the_seat_is_in_the_line_of_the_one_that_is_busy)
{
	struct rig r;

	contend_for_two(&r, false);
	all_say(&r, about(1, held(HELD_FOR)));
	CHECK_INT(seat(&r)->line, 1);
	CHECK_INT(r.lock.waiter.key, 1);
	/* Not everybody sees the same one: the line decides. */
	contend_for_two(&r, false);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, about(1, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.busy_key, 0);
	/* The line has it not: then anybody does. */
	contend_for_two(&r, false);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 2, about(1, held(HELD_FOR)));
	reply_with(&r, 1, about(1, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.busy_key, 1);
	/* Another one, while it is on its way there, and while it waits there. */
	for (int arrived = 0; arrived < 2; arrived++) {
		be_refused_the_second(&r, arrived);
		all_say(&r, held(HELD_FOR));
		CHECK_INT(seat(&r)->opens, 2);
		CHECK_INT(seat(&r)->line, 0);
		CHECK_INT(r.lock.waiter.key, 0);
		CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	}
	/* Both at one node: it is another list all the same. */
	contend_for_two(&r, false);
	memcpy(r.lock.policy.order[1], r.lock.policy.order[0], sizeof(r.lock.policy.order[0]));
	all_say(&r, about(1, held(20 * MS)));
	link_up(&r, 3);
	reply_with(&r, 3, held(20 * MS));
	next_attempt(&r);
	all_say(&r, held(HELD_FOR));
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 0);
}

TEST(several_keys_a_turn_that_is_of_no_use_is_passed_on)
{
	struct rig r;

	be_woken_for_the_second(&r);
	all_say(&r, by_another());
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	CHECK_INT(seat(&r)->opens, 1);
	/* It has been heard: now to the other line. */
	reply_with(&r, 3, told(VOTE_GONE, "", 0));
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 0);
	/* It is not heard. */
	be_woken_for_the_second(&r);
	all_say(&r, by_another());
	wait_until(&r, r.now + NODE_TIMEOUT);
	CHECK_INT(seat(&r)->opens, 2);
	/* The one that it is for is held again: that holder will wake the next. */
	be_woken_for_the_second(&r);
	all_say(&r, about(1, by_another()));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	CHECK_INT(seat(&r)->sends[OP_JOIN], 2);
}

/* It was not the seat that told of the turn. */
TEST(several_keys_what_is_not_known_to_be_ours_is_not_passed_on)
{
	struct rig r;

	for (int arrived = 0; arrived < 2; arrived++) {
		be_refused_the_second(&r, arrived);
		reply_with(&r, 1, about(1, told(VOTE_YES, BIGGER, 0)));
		reply_with(&r, 0, by_another());
		reply_with(&r, 2, by_another());
		CHECK_INT(r.lock.waiter.busy_key, 0);
		CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	}
}

TEST(several_keys_only_its_own_turn_is_insisted_on)
{
	struct rig r;

	be_woken_for_the_second(&r);
	reply_with(&r, 0, about(1, reserved(60 * MS)));
	reply_with(&r, 1, about(1, reserved(60 * MS)));
	CHECK(!lock_is_pausing(&r.lock));
	be_woken_for_the_second(&r);
	reply_with(&r, 0, reserved(60 * MS));
	reply_with(&r, 1, reserved(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
}

/* Woken for one of them, it finds that nobody came for the other's turn: it asks with both. */
TEST(several_keys_have_turns_of_their_own)
{
	struct rig r;

	be_woken_for_the_second(&r);
	reply_with(&r, 0, told(VOTE_YES, "6666666666666666666666666666666666666666", 0));
	CHECK_TEXT(r.lock.waiter.turn[0], "6666666666666666666666666666666666666666");
	CHECK_TEXT(r.lock.waiter.turn[1], BIGGER);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 8);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(several_keys_fair_hears_the_line_of_each)
{
	struct rig r;

	contend_for_two(&r, true);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 1, about(1, reserved(60 * MS)));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* Of the other key, node 0 is the line, and has granted it. */
	contend_for_two(&r, true);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 2, VOTE_YES);
	reply_with(&r, 1, about(0, reserved(60 * MS)));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(several_keys_each_line_tells_whether_others_wait)
{
	struct rig r;
	struct reply both = {.vote = VOTE_YES, .awaited = 3};

	for (int line = 0; line < 3; line++) {
		contend_for_two(&r, false);
		for (int i = 0; i < 3; i++)
			if (i == line)
				reply_with(&r, i, both);
			else
				fake_reply(&r, i, VOTE_YES);
		CHECK_INT(r.lock.waiter.awaited, line == 0 ? 1 : line == 1 ? 2 : 0);
	}
}

TEST(several_keys_where_one_is_lost_the_others_are_owed)
{
	struct rig r;
	struct policy p = policy(3, 0);
	struct reply partly = {.vote = VOTE_GONE, .is_partial = true};

	p.keys = 2;
	hold_with(&r, &p);
	next_round(&r);
	reply_with(&r, 0, partly);
	CHECK(r.lock.peer[0].pending);
	partly = about(1, held(HELD_FOR));
	partly.is_partial = true;
	reply_with(&r, 1, partly);
	CHECK(r.lock.peer[1].pending);
	reply_with(&r, 2, held(HELD_FOR));
	CHECK(!r.lock.peer[2].pending);
	let_go(&r);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[1].sends[OP_HAND_OFF], 1);
	/* Then nothing is. */
	reply_with(&r, 0, told(VOTE_GONE, "", 0));
	reply_with(&r, 1, held(HELD_FOR));
	CHECK(!r.lock.peer[0].pending && !r.lock.peer[1].pending);
}

TEST(several_keys_one_holder_of_two_is_told_of_each_by_itself)
{
	struct rig r;
	int nodes;

	contend_for_two(&r, false);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, about(1, held(HELD_FOR)));
	CHECK_INT(tally_holder(&r.lock.tally, &nodes).key, 0);
	CHECK_INT(nodes, 1);
	reply_with(&r, 2, about(1, held(HELD_FOR)));
	CHECK_INT(tally_holder(&r.lock.tally, &nodes).key, 1);
	CHECK_INT(nodes, 2);
}

/* ---- nodes that forgot ---- */

static struct reply quarantine(usec left)
{
	struct reply a = reply_absent(REASON_QUARANTINE, NULL);

	a.pttl = left;
	return a;
}

TEST(quarantine_is_no_vote_and_leaves_nothing_to_release)
{
	struct rig r;

	ask(&r, 3, 0);
	reply_with(&r, 0, quarantine(USEC_SEC));
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(r.lock.peer[0].pending, 0);
	reply_with(&r, 1, reply_absent(REASON_SKEWED, "ahead"));
	CHECK_INT(r.lock.peer[1].pending, 0);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(sends(&r, OP_UNDO) + sends(&r, OP_HAND_OFF), 1); /* of the third */
	ask(&r, 3, NEVER);
	reply_with(&r, 0, reply_absent(REASON_COUNTER, "redlock:fence:{k}"));
	CHECK_INT(r.lock.peer[0].pending, 0);
	/* Any other error may hide that it was done. */
	ask(&r, 3, NEVER);
	votes(&r, "A");
	CHECK(r.lock.peer[0].pending);
	/* A majority of the others is enough. */
	ask(&r, 3, NEVER);
	reply_with(&r, 0, quarantine(USEC_SEC));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(quarantine_is_waited_for_no_tighter_than_it_lasts)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, "Y");
	reply_with(&r, 1, quarantine(4 * USEC_SEC));
	reply_with(&r, 2, quarantine(3 * USEC_SEC));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(resume_at(&r), BEGIN + 3 * USEC_SEC + 2 * MS);
	/* Who is away for another reason may be back, but that would not do. */
	ask(&r, 3, NEVER);
	reply_with(&r, 0, quarantine(4 * USEC_SEC));
	reply_with(&r, 1, quarantine(3 * USEC_SEC));
	votes(&r, "..A");
	CHECK_INT(resume_at(&r), BEGIN + 3 * USEC_SEC + 2 * MS);
	/* Here it would. */
	ask(&r, 5, NEVER);
	reply_with(&r, 0, quarantine(4 * USEC_SEC));
	reply_with(&r, 1, quarantine(4 * USEC_SEC));
	votes(&r, "..AYY");
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	/* One without an end is no reason to sleep for ever, nor is a long one. */
	ask(&r, 1, NEVER);
	reply_with(&r, 0, quarantine(NEVER));
	CHECK(resume_at(&r) > BEGIN + USEC_SEC && resume_at(&r) < BEGIN + 60 * USEC_SEC);
	/* Not longer than one is willing to wait. */
	ask(&r, 1, USEC_SEC);
	reply_with(&r, 0, quarantine(4 * USEC_SEC));
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC);
}

TEST(quarantine_keeps_a_key_from_being_put_back)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "GYY");
	CHECK_INT(r.fake[0].sends[OP_REPAIR], 1);
	reply_with(&r, 0, quarantine(USEC_SEC));
	CHECK_INT(r.lock.peer[0].pending, 0);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The next round finds it gone, and tries again. */
	next_round(&r);
	votes(&r, "GYY");
	CHECK_INT(r.fake[0].sends[OP_REPAIR], 2);
}

/* ---- a semaphore ---- */

/* Slot 2 is drawn first. */
static void contend_for_slots(struct rig *r, int slots, usec wait)
{
	struct policy p = policy(3, wait);

	p.slots = slots;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	r->random = (uint64_t)1 << 32;
	all_up(r);
	CHECK_INT(r->lock.stamp.slot, 2);
}

/* Held, and that other slot is free (0: none), or ends soonest. */
static struct reply taken(int slot, usec soonest)
{
	struct reply a = held(HELD_FOR);

	a.slot = slot;
	a.soonest = soonest;
	return a;
}

static struct reply turn_for(int slot)
{
	struct reply a = turn();

	a.slot = slot;
	return a;
}

static int last_slot(const struct rig *r, int node, enum op op)
{
	int slot = -1;

	for (int i = 0; i < r->up.count; i++)
		if (r->up.action[i].kind == ACT_SEND &&
			connection_of(r, &r->up.action[i]) == node && r->up.action[i].op == op)
			slot = r->up.action[i].slot;
	return slot;
}

/* In line, all slots taken. */
static void wait_for_slots(struct rig *r, int slots)
{
	contend_for_slots(r, slots, NEVER);
	all_say(r, taken(0, HELD_FOR));
	CHECK(lock_is_pausing(&r->lock));
	link_up(r, 3);
	reply_with(r, 3, held(HELD_FOR));
	CHECK_INT(seat(r)->queue[0].op, OP_WAIT);
}

TEST(slots_another_that_is_free_is_tried_at_once)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 0, taken(3, 0));
	reply_with(&r, 1, taken(1, 0));
	reply_with(&r, 2, taken(1, 0));
	/* As the line sees it, and it is asked alone. */
	all_say(&r, taken(3, 0));
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(r.lock.stamp.attempt > 1);
	CHECK_INT(r.now, BEGIN);
}

TEST(slots_where_the_line_grants_it_the_others_name_one)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(0, 5 * MS));
	/* Paid first, at the slot that it is about. */
	CHECK_INT(last_slot(&r, 0, OP_UNDO), 2);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK_INT(r.lock.stamp.attempt, 2);
	/* What is not among ours is none of ours. */
	contend_for_slots(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, taken(4, 0));
	reply_with(&r, 2, taken(0, 5 * MS));
	CHECK(lock_is_pausing(&r.lock));
}

TEST(slots_an_earlier_debt_is_paid_where_it_is)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	r.fake[0].silent = true;
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(3, 0));
	/* Without node 0, which has not answered; the others go on with slot 3. */
	pass(&r, 2 * MS);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK_INT(r.lock.peer[0].slot, 2);
	CHECK_INT(r.lock.stamp.attempt, 2);
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.peer[1].slot, 3);
	let_go(&r);
	CHECK_INT(last_slot(&r, 1, OP_HAND_OFF), 3);
}

TEST(slots_who_does_not_wait_tries_those_that_are_free)
{
	struct rig r;

	contend_for_slots(&r, 3, 0);
	all_say(&r, taken(3, 0));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(r.lock.stamp.slot, 3);
	all_say(&r, taken(0, HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* Not for much longer than that. */
	contend_for_slots(&r, 3, 0);
	r.now = BEGIN + NODE_TIMEOUT + 1;
	all_say(&r, taken(3, 0));
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

TEST(slots_it_moves_so_often_and_then_pauses)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	for (int n = 0; n < 100 && !lock_is_pausing(&r.lock); n++)
		if (r.fake[n % 3].queued > 0)
			reply_with(&r, n % 3, taken(3, 0));
	CHECK_INT(r.lock.stamp.attempt, 9);
	CHECK(resume_at(&r) >= r.now + 20 * MS && resume_at(&r) < r.now + USEC_SEC);
	CHECK_INT(r.lock.waiter.tries, 1);
	/* And that one is tried then. */
	next_attempt(&r);
	CHECK_INT(r.lock.stamp.slot, 3);
}

TEST(slots_the_next_attempt_is_when_the_first_of_them_ends)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, USEC_SEC));
	CHECK(resume_at(&r) >= r.now + USEC_SEC && resume_at(&r) < r.now + 2 * USEC_SEC);
	/* Though that is told by others than the line. */
	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 0, told(VOTE_ABSENT, "", 0));
	reply_with(&r, 1, taken(0, USEC_SEC));
	reply_with(&r, 2, taken(0, USEC_SEC));
	CHECK(resume_at(&r) >= r.now + USEC_SEC && resume_at(&r) < r.now + 2 * USEC_SEC);
	/* One that has no end is no reason to sleep for ever. */
	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, NEVER));
	CHECK(resume_at(&r) < r.now + 60 * USEC_SEC);
}

TEST(slots_who_is_woken_takes_that_one)
{
	struct rig r;

	wait_for_slots(&r, 3);
	reply_with(&r, 3, turn_for(3));
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(r.lock.waiter.used_turn);
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(slots_one_that_is_free_when_it_joins_is_tried)
{
	struct rig r;
	struct reply free_one = told(VOTE_YES, "", 0);

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	link_up(&r, 3);
	free_one.slot = 3;
	reply_with(&r, 3, free_one);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(!r.lock.waiter.used_turn);
	/* A turn that nobody came for. */
	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, turn_for(1));
	CHECK_INT(r.lock.stamp.slot, 1);
	CHECK(r.lock.waiter.used_turn);
}

/* It asked for another slot by itself when it was woken. */
static void be_woken_for_another(struct rig *r)
{
	wait_for_slots(r, 3);
	next_attempt(r);
	CHECK_INT(r->lock.stamp.slot, 2);
	reply_with(r, 3, turn_for(3));
}

TEST(slots_a_turn_for_another_than_is_held_is_passed_on)
{
	struct rig r;

	be_woken_for_another(&r);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	/* The seat is there until that is heard. */
	CHECK_INT(seat(&r)->link, LINK_UP);
	fake_reply(&r, 3, VOTE_YES);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	/* Its own is used. */
	wait_for_slots(&r, 3);
	reply_with(&r, 3, turn_for(3));
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
}

/* Which one the pop behind it will be served for is not known. */
TEST(slots_who_was_told_its_turn_and_still_waits_passes_on_whatever_comes)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, turn_for(2));
	CHECK(r.lock.waiter.is_woken && r.lock.waiter.waits);
	CHECK_INT(r.lock.stamp.slot, 2);
	let_go(&r);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 0);
}

/* While the limit is being raised, host by host. */
TEST(slots_a_turn_beyond_our_limit_is_passed_on)
{
	struct rig r;

	wait_for_slots(&r, 2);
	reply_with(&r, 3, turn_for(3));
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	CHECK(!r.lock.waiter.is_woken);
	CHECK(lock_is_pausing(&r.lock));
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(seat(&r)->queue[0].op, OP_JOIN);
	/* Within it, it is ours. */
	wait_for_slots(&r, 3);
	reply_with(&r, 3, turn_for(3));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	CHECK(r.lock.waiter.used_turn);
}

/* Found by the simulator: a node that has it though it was not asked for it, for it is another
 * node's server. */
TEST(slots_what_was_only_extended_is_given_back_by_its_slot)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	link_down(&r, 2, REASON_CLOSED);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	wait_until(&r, resume_at(&r));
	link_up(&r, 2);
	votes(&r, "YYY");
	let_go(&r);
	CHECK_INT(last_slot(&r, 2, OP_HAND_OFF), r.lock.stamp.slot);
}

TEST(slots_of_two_turns_one_is_passed_on)
{
	struct rig r;

	be_woken_for_another(&r);
	reply_with(&r, 0, told(VOTE_YES, SMALLER, 0));
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	CHECK_INT(r.lock.waiter.turn_slot, 2);
	CHECK_TEXT(r.lock.waiter.turn[0], SMALLER);
	/* Where there is no seat by then, nobody can be told. */
	be_woken_for_another(&r);
	link_down(&r, 3, REASON_CLOSED);
	reply_with(&r, 0, told(VOTE_YES, SMALLER, 0));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(slots_a_turn_that_is_not_used_is_handed_over_as_that)
{
	struct rig r;

	be_woken_for_another(&r);
	let_go(&r);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	/* It is not known which it may be woken for. */
	wait_for_slots(&r, 3);
	let_go(&r);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 0);
}

TEST(slots_a_holder_that_still_waits_has_its_wake_up_passed_on_by_the_node)
{
	struct rig r;

	wait_for_slots(&r, 3);
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 0);
	CHECK(r.lock.waiter.waits);
	reply_with(&r, 3, turn_for(3));
	fake_reply(&r, 3, VOTE_YES);
	CHECK(!r.lock.waiter.is_woken);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

/* ---- readers and writers ---- */

#define READERS TOKEN_READERS ":1700000000 2 readers: a, b"

static struct reply shared(usec left)
{
	struct reply a = told(VOTE_FOREIGN, READERS, left);

	a.is_shared = true;
	return a;
}

/* To a reader: others are before it. */
static struct reply others_first(usec left)
{
	struct reply a = shared(left);

	a.is_reserved = true;
	return a;
}

static void contend_as(struct rig *r, bool is_shared, int nodes)
{
	struct policy p = policy(nodes, NEVER);

	p.is_shared = is_shared;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	all_up(r);
}

/* Whatever they were asked, releases included. */
static void all_answer(struct rig *r, struct reply a)
{
	for (int n = 0; n < 2 * r->lock.policy.nodes; n++)
		while (r->fake[n % r->lock.policy.nodes].queued > 0)
			reply_with(r, n % r->lock.policy.nodes, a);
}

/* In line behind whoever says so. */
static void wait_behind(struct rig *r, bool is_shared, struct reply a)
{
	contend_as(r, is_shared, 3);
	all_answer(r, a);
	CHECK(lock_is_pausing(&r->lock));
	link_up(r, 3);
	reply_with(r, 3, a);
	CHECK_INT(seat(r)->queue[0].op, OP_WAIT);
}

static const struct action *last_action(const struct rig *r, int node, enum op op)
{
	static const struct action none = {.kind = ACT_OPEN};
	const struct action *found = &none;

	for (int i = 0; i < r->up.count; i++)
		if (r->up.action[i].kind == ACT_SEND &&
			connection_of(r, &r->up.action[i]) == node && r->up.action[i].op == op)
			found = &r->up.action[i];
	return found;
}

TEST(readers_heed_the_line_but_do_not_wait_for_its_silence)
{
	struct rig r;

	contend_as(&r, true, 3);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 0, others_first(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(sends(&r, OP_UNDO), 2);
	CHECK_INT(seat(&r)->line, 0);
	/* as long as the last answers are waited for, and no longer */
	contend_as(&r, true, 3);
	votes(&r, ".YY");
	CHECK(r.up.wake_at < BEGIN + NODE_TIMEOUT);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* one answer is no majority to begin with */
	contend_as(&r, true, 5);
	votes(&r, ".YY");
	wait_until(&r, BEGIN + NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 3, VOTE_YES);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(readers_that_were_woken_pass_the_word_on)
{
	struct rig r;

	wait_behind(&r, true, held(HELD_FOR));
	reply_with(&r, 3, turn());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_action(&r, 3, OP_HAND_OFF)->kind, ACT_OPEN); /* in the step before: */
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	CHECK(r.lock.waiter.passes);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	/* Who came without a word has none to pass on; nor has a writer. */
	contend_as(&r, true, 3);
	votes(&r, "YYY");
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	wait_behind(&r, false, held(HELD_FOR));
	reply_with(&r, 3, turn());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

/* Woken by a holder's release, and readers were faster. */
static void find_readers(struct rig *r, bool is_shared)
{
	wait_behind(r, is_shared, held(HELD_FOR));
	reply_with(r, 3, turn());
	all_answer(r, shared(HELD_FOR));
}

TEST(a_writer_that_is_woken_and_finds_readers_comes_next)
{
	struct rig r;

	find_readers(&r, false);
	CHECK(r.lock.waiter.leads);
	CHECK_INT(seat(&r)->queued, 2);
	CHECK(seat(&r)->queue[0].leads && seat(&r)->queue[1].leads);
	reply_with(&r, 3, shared(HELD_FOR));
	/* Its turn, in the end. */
	reply_with(&r, 3, turn());
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(!r.lock.waiter.leads);
	/* At the other end of the line, nobody knows it. */
	find_readers(&r, false);
	reply_with(&r, 3, shared(HELD_FOR));
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_ABSENT);
	all_answer(&r, shared(HELD_FOR));
	CHECK_INT(seat(&r)->line, 1);
	CHECK(!r.lock.waiter.leads);
	/* It was not woken; or is a reader, and in the way is a stranger. */
	wait_behind(&r, false, shared(HELD_FOR));
	CHECK(!r.lock.waiter.leads);
	find_readers(&r, true);
	CHECK(!r.lock.waiter.leads);
}

/* Its word would be lost with it. */
TEST(a_writer_that_finds_readers_in_the_end_passes_the_word_on)
{
	struct policy p = policy(3, USEC_SEC);
	struct rig r;

	start_with(&r, &p);
	r.lock.waiter.is_refused = false;
	all_up(&r);
	all_answer(&r, held(HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	r.now += 2 * USEC_SEC;
	reply_with(&r, 3, turn());
	all_up(&r);
	all_answer(&r, shared(HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

/* Who holds it reads no words. */
TEST(a_reader_that_got_in_unasked_has_its_word_passed_on_by_the_node)
{
	struct rig r;

	wait_behind(&r, true, others_first(HELD_FOR));
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_YES);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(r.lock.waiter.leaves);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

/* It may be nobody's by then, and no end of a key will tell. */
TEST(another_ones_turn_that_is_heard_of_meanwhile_is_looked_at)
{
	struct rig r;

	contend_as(&r, false, 3);
	all_answer(&r, held(20 * MS));
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, reserved(60 * MS));
	all_answer(&r, held(HELD_FOR));
	CHECK_INT(r.lock.stamp.attempt, 3);
	/* A reader's questions are words for those before it: one will do. */
	contend_as(&r, true, 3);
	all_answer(&r, others_first(20 * MS));
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, others_first(60 * MS));
	all_answer(&r, others_first(HELD_FOR));
	CHECK_INT(r.lock.stamp.attempt, 2);
}

/* The line's answer may come last, and it may be that others are in the way there. */
TEST(a_writer_finds_readers_as_the_line_sees_it_or_else_as_anybody)
{
	struct rig r;

	wait_behind(&r, false, held(HELD_FOR));
	reply_with(&r, 3, turn());
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK(r.lock.waiter.leads);
	wait_behind(&r, false, held(HELD_FOR));
	reply_with(&r, 3, turn());
	reply_with(
		&r, 0, told(VOTE_FOREIGN, "0000000000000000000000000000000000000007:x", HELD_FOR));
	all_answer(&r, shared(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.waiter.leads);
	/* Of several keys, it is about the seat's. */
	be_woken_for_the_second(&r);
	all_answer(&r, about(0, shared(HELD_FOR)));
	CHECK(!r.lock.waiter.leads);
	be_woken_for_the_second(&r);
	all_answer(&r, about(1, shared(HELD_FOR)));
	CHECK(r.lock.waiter.leads);
}

TEST(a_writer_insists_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	wait_behind(&r, false, shared(HELD_FOR));
	reply_with(&r, 3, turn());
	votes(&r, "Y");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].queued, 1);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(who_only_looks_insists_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	look_and_be_woken(&r, shared(HELD_FOR));
	votes(&r, "G");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	fake_reply(&r, 1, VOTE_GONE);
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
}

TEST(who_leaves_the_line_behind_readers_has_a_word_for_the_next)
{
	struct rig r;

	for (int is_shared = 0; is_shared < 2; is_shared++) {
		wait_behind(&r, is_shared, is_shared ? others_first(HELD_FOR) : shared(HELD_FOR));
		/* For that, the way there stays, the others' do not. */
		wait_until(&r, r.now + 2 * USEC_SEC);
		CHECK_INT(r.lock.peer[0].link, LINK_UP);
		CHECK_INT(r.lock.peer[1].link, LINK_DOWN);
		let_go(&r);
		CHECK(last_action(&r, 0, OP_HAND_OFF)->is_leaving);
		CHECK(!last_action(&r, 0, OP_HAND_OFF)->leads);
		CHECK_INT(last_action(&r, 1, OP_HAND_OFF)->kind, ACT_OPEN);
		/* It stays until that has been heard, but not for longer than an answer may take.
		 */
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		if (is_shared)
			fake_reply(&r, 0, VOTE_GONE);
		else
			wait_until(&r, r.now + r.lock.policy.node_timeout);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	}
	/* Who leads says that it does not any more. */
	find_readers(&r, false);
	reply_with(&r, 3, shared(HELD_FOR));
	let_go(&r);
	CHECK(last_action(&r, 0, OP_HAND_OFF)->leads);
	/* Behind anybody else, it is the holder's to say. */
	wait_behind(&r, false, held(HELD_FOR));
	wait_until(&r, r.now + 2 * USEC_SEC);
	CHECK_INT(r.lock.peer[0].link, LINK_DOWN);
	let_go(&r);
	CHECK_INT(last_action(&r, 0, OP_HAND_OFF)->kind, ACT_OPEN);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* While that is asked or has left a debt, the pop must do. */
	wait_behind(&r, false, shared(HELD_FOR));
	next_attempt(&r);
	CHECK_INT(r.fake[0].queued, 1);
	let_go(&r);
	CHECK(!last_action(&r, 0, OP_HAND_OFF)->is_leaving);
}
