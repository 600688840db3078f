/* fingerprint: clients that name different nodes. */
#include "lock/fingerprint.h"
#include "unit/rig.h"

/* ---- majorities of two lists ---- */

/* Some majority of the first `a` nodes of a row has no node in common with some majority of `b`
 * nodes, which begin after a - common nodes of the row: by trying all of them. */
static bool misses_by_trial(int a, int b, int common)
{
	int all = a + b - common, shift = a - common;

	for (unsigned set = 0; set < 1u << all; set++) {
		unsigned of_a = set & ((1u << a) - 1), rest = ~set & (((1u << b) - 1) << shift);

		if (__builtin_popcount(of_a) > a / 2 && __builtin_popcount(rest) > b / 2)
			return true;
	}
	return false;
}

TEST(majorities_miss_as_a_trial_of_all_pairs_up_to_seven_nodes_says)
{
	int pairs = 0;

	for (int a = 1; a <= 7; a++)
		for (int b = 1; b <= 7; b++)
			for (int common = 0; common <= (a < b ? a : b); common++, pairs++)
				unit_check(majorities_miss(a, b, common) ==
						   misses_by_trial(a, b, common),
					__FILE__, __LINE__, "%d and %d nodes, %d common", a, b,
					common);
	CHECK_INT(pairs, 189);
}

TEST(one_node_more_or_less_is_safe_and_one_other_node_is_safe_for_even_lists_only)
{
	for (int n = 1; n < NODES_MAX; n++) {
		CHECK(!majorities_miss(n, n, n));
		CHECK(!majorities_miss(n, n + 1, n));
		CHECK(!majorities_miss(n + 1, n, n));
		CHECK_INT(majorities_miss(n, n, n - 1), n % 2 == 1);
	}
}

/* ---- values ---- */

#define ID "9999999999999a00000000000000000000000001"

static const char *list_of(const char *names)
{
	static char fingerprint[4][FINGERPRINT_MAX];
	static int next;
	char *fp = fingerprint[next++ % 4];

	fp[0] = '\0';
	for (; *names; names++)
		fingerprint_add(fp, (char[]){*names, '\0'});
	return fp;
}

static const char *value_of(const char *names, const char *owner)
{
	static char value[TOKEN_MAX];

	snprintf(value, sizeof(value), ID ":1700000000 @%s %s", list_of(names), owner);
	return value;
}

static bool misses(const char *ours, const char *value)
{
	return fingerprint_misses(list_of(ours), value, strlen(value), NULL, NULL);
}

TEST(fingerprint_is_the_same_in_any_order)
{
	char a[FINGERPRINT_NAME_MAX], b[FINGERPRINT_NAME_MAX];
	const char *abc = list_of("abc"), *cab = list_of("cab"), *abd = list_of("abd");

	CHECK_TEXT(abc, cab);
	CHECK_INT(fingerprint_nodes(abc, strlen(abc)), 3);
	CHECK_INT(fingerprint_common(abc, abd, strlen(abd)), 2);
	CHECK_INT(strlen(fingerprint_name(a, abc, strlen(abc))), 8);
	CHECK_TEXT(fingerprint_name(b, cab, strlen(cab)), a);
	CHECK(strcmp(fingerprint_name(b, abd, strlen(abd)), a) != 0);
	/* A list of the largest size. */
	CHECK_INT(strlen(list_of("abcdefghijklmno")), FINGERPRINT_MAX - 1);
	CHECK_INT(fingerprint_nodes(list_of("abcdefghijklmno"), FINGERPRINT_MAX - 1), NODES_MAX);
	CHECK_INT(fingerprint_nodes(abc, 3), 0);
}

TEST(value_tells_whether_its_holder_can_be_missed)
{
	char two[TOKEN_MAX];
	const char *theirs;
	size_t len;

	CHECK(!misses("123", value_of("123", "me")));
	CHECK(!misses("123", value_of("1234", "me")));
	CHECK(!misses("1234", value_of("124", "me")));
	CHECK(misses("123", value_of("345", "me")));
	CHECK(misses("123", value_of("124", "me")));
	CHECK(misses("1", value_of("123", "me")));
	CHECK(misses("123", value_of("1", "me")));
	CHECK(!misses("1234", value_of("1235", "me")));
	/* The fingerprint of the other one, for messages. */
	CHECK(fingerprint_misses(list_of("123"), value_of("345", "me"),
		strlen(value_of("345", "me")), &theirs, &len));
	CHECK_INT(len, 12);
	CHECK_INT(strncmp(theirs, list_of("345"), len), 0);
	/* Readers that share a key: one of them is enough. */
	snprintf(two, sizeof(two), TOKEN_READERS ":1700000000 @%s @%s 2 readers: a, b",
		list_of("123"), list_of("345"));
	CHECK(misses("123", two));
	CHECK(misses("1234", two));
	snprintf(two, sizeof(two), TOKEN_READERS ":1700000000 @%s @%s 2 readers: a, b",
		list_of("123"), list_of("1234"));
	CHECK(!misses("123", two));
	/* None, of older versions and of other programs; and what is no list. */
	CHECK(!misses("123", ID ":1700000000 me"));
	CHECK(!misses("123", ID ":@1234 me"));
	CHECK(!misses("123", ID ":1700000000 me @1234 x"));
	CHECK(!misses("123", ID ":1700000000 @12345 me"));
	CHECK(!misses("123", ID ":1700000000 @123x me"));
	CHECK(!misses("123", ID ":1700000000 @ me"));
	CHECK(!misses("123", ID ":1700000000 @1234"));
	CHECK(!misses("123", "7b4f1c0e8a6d4d0db7c2f7e7c8a9b0d1"));
}

/* ---- a lock ---- */

static void start_on(struct rig *r, const char *names, usec wait)
{
	struct policy p = policy((int)strlen(names), wait);

	snprintf(p.fingerprint, sizeof(p.fingerprint), "%s", list_of(names));
	start_with(r, &p);
	all_up(r);
}

static struct reply held_with(const char *names)
{
	return told(VOTE_FOREIGN, value_of(names, "other"), HELD_FOR);
}

/* Returns whether the node was asked. */
static bool pass_until_asked(struct rig *r, int node)
{
	for (int turns = 0;
		turns < 100 && r->fake[node].queued == 0 && lock_state(&r->lock) == LOCK_TRYING;
		turns++)
		wait_until(r, r->up.wake_at);
	return lock_state(&r->lock) == LOCK_TRYING;
}

/* Returns how often the node was asked in an attempt beside a holder that stays. */
static int try_beside_holder(struct rig *r, const char *token)
{
	int asked = 0;

	start_on(r, "123", 0);
	r->text = token;
	do
		reply_with(r, 2, held_with("345"));
	while (asked++ == 0 ? votes(r, "YY"), pass_until_asked(r, 2) : pass_until_asked(r, 2));
	return asked;
}

TEST(majority_beside_a_holder_with_other_nodes_is_no_lock)
{
	struct rig r;

	/* The other one may fail in this moment. So a client asks again: twice, and four times if
	 * it has the smaller token. */
	CHECK_INT(try_beside_holder(&r, HUGE ":us"), 3);
	CHECK_INT(try_beside_holder(&r, SMALLER ":us"), 5);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(lock_contested_by(&r.lock));
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "YY");
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);

	/* It has failed: the lock is ours. */
	start_on(&r, "123", 0);
	reply_with(&r, 2, held_with("345"));
	votes(&r, "YY");
	pass_until_asked(&r, 2);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);

	/* The node gives no answer: what it said before holds. */
	start_on(&r, "123", 0);
	reply_with(&r, 2, held_with("345"));
	votes(&r, "YY");
	pass_until_asked(&r, 2);
	fake_reply(&r, 2, VOTE_ABSENT);
	pass(&r, 3 * NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

TEST(holder_whose_majority_would_have_refused_changes_nothing)
{
	struct rig r;

	start_on(&r, "123", 0);
	reply_with(&r, 2, held_with("1234"));
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	start_on(&r, "123", 0);
	reply_with(&r, 2, told(VOTE_FOREIGN, ID ":1700000000 older", HELD_FOR));
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* A majority refuses: this is an ordinary holder, whatever its names are. */
	start_on(&r, "123", 0);
	reply_with(&r, 2, held_with("456"));
	reply_with(&r, 1, held_with("456"));
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(!lock_contested_by(&r.lock));
}

/* The vote of the third node is late. */
static void hold_by_majority(struct rig *r)
{
	votes(r, "YY");
	pass(r, 10 * MS);
	CHECK_INT(lock_state(&r->lock), LOCK_HELD);
}

TEST(votes_that_are_due_are_heard)
{
	struct policy p = policy(5, 0);
	struct rig r;

	/* A majority took 40 ms: the others get a quarter of that time. */
	snprintf(p.fingerprint, sizeof(p.fingerprint), "%s", list_of("12345"));
	start_with(&r, &p);
	for (int i = 0; i < 3; i++)
		link_up(&r, i);
	pass(&r, 5 * MS);
	link_up(&r, 3);
	pass(&r, 35 * MS);
	votes(&r, "YYY");
	/* Node 3 was asked 5 ms later, node 4 is connected now. */
	link_up(&r, 4);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + 54 * MS);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + 55 * MS);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Its vote ends the time. */
	start_on(&r, "123", 0);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.now, BEGIN);
}

TEST(late_vote_about_a_holder_with_other_nodes_ends_the_lock_at_the_second_look)
{
	struct rig r;
	usec until;

	start_on(&r, "123", 0);
	hold_by_majority(&r);
	reply_with(&r, 2, held_with("345"));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	until = r.now;
	next_round(&r);
	CHECK_INT(r.now, until + NODE_TIMEOUT / 4);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	reply_with(&r, 2, held_with("345"));
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_CONTESTED);
	CHECK(lock_contested_by(&r.lock));

	/* It only tried, and has failed since. */
	start_on(&r, "123", 0);
	hold_by_majority(&r);
	reply_with(&r, 2, held_with("345"));
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.contest.nodes, 0);
	/* Another one, later, is looked at twice, too. */
	next_round(&r);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(second_look_comes_once_if_the_node_is_silent)
{
	struct rig r;
	uint32_t round;

	start_on(&r, "123", 0);
	hold_by_majority(&r);
	reply_with(&r, 2, held_with("345"));
	next_round(&r);
	votes(&r, "YY");
	round = r.lock.stamp.round;
	pass(&r, 2 * NODE_TIMEOUT);
	CHECK_INT(r.lock.stamp.round, round);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Its answer, whenever it comes, decides. */
	reply_with(&r, 2, held_with("345"));
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
}

TEST(release_looks_for_the_second_time)
{
	struct rig r;

	start_on(&r, "123", 0);
	hold_by_majority(&r);
	reply_with(&r, 2, held_with("345"));
	let_go(&r);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	reply_with(&r, 2, held_with("345"));
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_CONTESTED);
	/* It has failed since. */
	start_on(&r, "123", 0);
	hold_by_majority(&r);
	reply_with(&r, 2, held_with("345"));
	let_go(&r);
	votes(&r, "YYG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* A holder that is met at the release may be the next one. */
	start_on(&r, "123", 0);
	votes(&r, "YYY");
	let_go(&r);
	votes(&r, "YY");
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(wait_does_not_take_a_key_for_free_beside_a_holder_with_other_nodes)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.only_looks = true;
	snprintf(p.fingerprint, sizeof(p.fingerprint), "%s", list_of("123"));
	start_with(&r, &p);
	all_up(&r);
	reply_with(&r, 2, held_with("345"));
	votes(&r, "GG");
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(lock_contested_by(&r.lock));
}

TEST(fencing_number_is_not_given_beside_a_holder_with_other_nodes)
{
	struct policy p = policy(3, 0);
	struct reply yes = {.vote = VOTE_YES, .fence = 7};
	struct rig r;

	p.wants_fence = true;
	snprintf(p.fingerprint, sizeof(p.fingerprint), "%s", list_of("123"));
	start_with(&r, &p);
	all_up(&r);
	reply_with(&r, 0, yes);
	yes.fence = 8;
	reply_with(&r, 1, yes);
	pass(&r, NODE_TIMEOUT / 4);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 2, held_with("345"));
	votes(&r, "YY");
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(lock_contested_by(&r.lock));
}
