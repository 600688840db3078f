/* lock_acquire: the attempts to get a lock, and why they fail. */
#include "unit/rig.h"

/* ---- votes ---- */

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
	FATE_LATE, /* accepts it after the others have answered, and grants the key */
	FATES,
};

struct play {
	struct rig rig;
	int nodes;
	enum fate fate[NODES_MAX];
	int order[NODES_MAX];
	bool let_go_at_once; /* as soon as the lock is held, before the other nodes have answered */
	int yes, no, absent;
	bool failed;
};

enum verdict { OPEN, HELD, BUSY, NO_QUORUM };

/* The verdict that follows from the replies so far, and from nothing else. */
static enum verdict expected(const struct play *t)
{
	int quorum = t->nodes / 2 + 1, open = t->nodes - t->yes - t->no - t->absent;

	if (t->yes >= quorum)
		return HELD;
	if (t->yes + t->no + open < quorum)
		return NO_QUORUM;
	return t->yes + open < quorum && t->yes + t->no >= quorum ? BUSY : OPEN;
}

static enum verdict verdict(const struct play *t)
{
	const struct lock *lock = &t->rig.lock;

	if (lock_state(lock) == LOCK_TRYING) /* it retries refused nodes: wakeup.c */
		return lock->attempt.retry.at || lock->attempt.retry.count > 0 ? BUSY : OPEN;
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
		fates[i] = "YFEBSRHL"[t->fate[i]];
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
		} else if (t->fate[i] != FATE_BLACK_HOLE && t->fate[i] != FATE_LATE) {
			link_up(r, i);
		}
		/* Without a majority, the lock waits briefly for the other nodes, for their
		 * reasons. */
		if (expected(t) != NO_QUORUM)
			compare(t, "connecting");
	}
	if (lock_state(&r->lock) == LOCK_TRYING && expected(t) == NO_QUORUM)
		wait_until(r, r->up.wake_at);
	compare(t, "connected");
}

static void play_answer(struct play *t, int i)
{
	struct rig *r = &t->rig;

	switch (t->fate[i]) {
	case FATE_YES:
	case FATE_LATE:
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

/* Of the nodes that were asked and have not answered. */
static void play_answers(struct play *t)
{
	struct rig *r = &t->rig;

	for (int n = 0; n < t->nodes && lock_state(&r->lock) != LOCK_OVER; n++) {
		int i = t->order[n];
		bool told = expected(t) != OPEN;

		if (r->fake[i].queued == 0 || r->fake[i].queue[0].op != OP_ACQUIRE ||
			t->fate[i] == FATE_SILENT)
			continue;
		play_answer(t, i);
		/* A verdict stays. */
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
	int silent = 0, broken = 0;

	t->yes = t->no = t->absent = 0;
	t->failed = false;
	start(r, t->nodes, 0);
	for (int i = 0; i < t->nodes; i++) {
		r->fake[i].holder = t->fate[i] == FATE_FOREIGN ? OUTSIDER : NO_HOLDER;
		silent += r->fake[i].silent = t->fate[i] == FATE_SILENT;
		broken += t->fate[i] == FATE_BREAK;
	}
	play_links(t);
	if (lock_state(&r->lock) == LOCK_TRYING) {
		play_answers(t);
		for (int i = 0; i < t->nodes; i++)
			if (t->fate[i] == FATE_LATE && r->fake[i].link == LINK_OPENING)
				link_up(r, i);
		play_answers(t);
	}
	if (lock_state(&r->lock) == LOCK_TRYING && r->lock.attempt.retry.at == 0) {
		CHECK(r->up.wake_at <= r->now + NODE_TIMEOUT);
		pass(r, NODE_TIMEOUT);
		t->absent = t->nodes - t->yes - t->no;
		compare(t, "at the time-out");
	}
	finish(r);
	t->failed |= !CHECK(r->lock.attempt.retry.count > 0 || sends(r, OP_ACQUIRE) <= t->nodes);
	t->failed |= !CHECK(silent > 0 || lock_unreleased(&r->lock, &(usec){0}) <=
						  (verdict(t) == HELD ? broken : 0));
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

/* ---- duplicates ---- */

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
	/* Even if this very reply makes the majority. */
	ask(&r, 3, NEVER);
	r.fake[0].run_id = r.fake[1].run_id = "same";
	votes(&r, "YY");
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
	/* And if another client holds the key there. */
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

TEST(a_node_that_has_a_token_which_it_was_never_told_is_a_copy)
{
	struct rig r;

	start(&r, 3, 0);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	next_round(&r);
	link_up(&r, 2);
	votes(&r, "Y.Y");
	CHECK_INT(r.lock.tally.duplicate[0], 2);
	CHECK_INT(tally_yes(&r.lock.tally), 1);
	CHECK(r.lock.tenure.confirmed != r.lock.stamp.round);
	votes(&r, ".Y");
	CHECK_INT(r.lock.tenure.confirmed, r.lock.stamp.round);
}

/* Its server has the key by the repair of its other name. A node that has lost one of several keys
 * has the others. */
TEST(a_repaired_node_that_has_the_token_already_is_a_copy)
{
	const struct reply has_it = {.vote = VOTE_YES, .is_partial = true, .pttl = TTL};
	const struct reply has_some = {.vote = VOTE_GONE, .is_partial = true};
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YYF");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	pass(&r, 100 * MS);
	CHECK_INT(r.fake[2].queue[0].op, OP_REPAIR);
	reply_with(&r, 2, has_it);
	CHECK_INT(r.lock.tally.duplicate[0], 2);

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YY");
	reply_with(&r, 2, has_some);
	CHECK_INT(r.fake[2].queue[0].op, OP_REPAIR);
	reply_with(&r, 2, has_it);
	CHECK_INT(r.lock.tally.duplicate[0], -1);
}

/* ---- polling ---- */

struct attempts {
	int count;
	usec last;
	usec shortest, longest;
};

/* Another client holds the key, and every node says so at once. */
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

/* ---- the holder ---- */

#define OUR_ID "0123456789abcdef0123456789abcdef01234567"
#define AN_ID "fedcba9876543210fedcba9876543210fedcba98"
#define OTHER_ID "00000000000000000000000000000000000000ff"

/* Three nodes report this value in a first attempt. Returns the number of nodes that report one of
 * the ids. */
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
		/* the id of another holder */
		{OUR_ID, OTHER_ID ":x", 0, false},
		{OUR_ID " " AN_ID, OTHER_ID ":x", 0, false},
		{OUR_ID, "x:" OUR_ID ":x", 0, false},
		{OUR_ID, "0123456789ABCDEF0123456789ABCDEF01234567:x", 0, false},
		{"", OUR_ID ":x", 0, false},
		{" ", OUR_ID ":x", 0, false},
		{"0123456789abcdef", OUR_ID ":x", 0, false},
		/* too short for a value of ours: a part of an id is in any list */
		{OUR_ID, OUR_ID, 0, false},
		{OUR_ID, OUR_ID ":", 39, false},
		{OUR_ID, OUR_ID ":", 1, false},
		{OUR_ID, "", 0, false},
		{OUR_ID, "(hash)", 0, false},
		/* it is in the list, but across two ids */
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
	/* The longest value that a node reports. */
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
	/* Only a reply VOTE_FOREIGN names a holder. */
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
	/* The next attempt asks again. */
	wait_until(&r, r.up.wake_at);
	CHECK_INT(tally_held_by(&r.lock.tally, ids, &holder), 0);
}

/* ---- a stopped process ---- */

/* Replies that arrived while this process was stopped count before the time does. */
TEST(a_process_that_was_stopped_while_links_came_up_asks_all)
{
	struct rig r;

	start(&r, 3, 0);
	r.now += 10 * NODE_TIMEOUT;
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	CHECK_INT(r.lock.peer[0].due, r.now + NODE_TIMEOUT);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Nothing more has arrived: the attempt fails. */
	start(&r, 3, 0);
	link_up(&r, 0);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(a_process_that_was_stopped_while_releases_were_answered_reads_them)
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
	/* Nothing has arrived. */
	hold(&r, 3);
	let_go(&r);
	wait_until(&r, r.now + 10 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &ignored), 3);
}

/* A command that ends soon may leave replies to its attempt unread. */
TEST(a_held_lock_awaits_the_replies_of_the_nodes_that_have_not_answered)
{
	struct rig r;

	ask(&r, 3, 0);
	CHECK(lock_awaits_replies(&r.lock));
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(lock_awaits_replies(&r.lock));
	fake_reply(&r, 2, VOTE_YES);
	CHECK(!lock_awaits_replies(&r.lock));
	next_round(&r);
	CHECK(lock_awaits_replies(&r.lock));
	votes(&r, "YYY");
	CHECK(!lock_awaits_replies(&r.lock));
}
