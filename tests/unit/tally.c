/* tally: the votes of one round, counted. */
#include "lock/tally.h"

#include "base/token.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define MS USEC_MSEC
#define BEGIN (1000 * USEC_SEC)
#define TTL (10 * USEC_SEC)

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define VALUE_A ID_A ":1700000000 alice"

static void question(struct tally *t, int nodes)
{
	tally_init(t, nodes);
	tally_clear(t, BEGIN);
}

static void names(struct tally *t, int node, const char *value, const char *token)
{
	struct reply a = {.vote = VOTE_FOREIGN, .pttl = USEC_SEC, .text_len = strlen(value)};

	memcpy(a.text, value, a.text_len);
	tally_take(t, node, &a, token);
}

/* Y: the token; 1, 2: another holder; R: reserved for the next waiter. */
static enum ownership holding(const char *letters)
{
	struct tally t;

	question(&t, (int)strlen(letters));
	for (int i = 0; letters[i]; i++) {
		struct reply a = {.vote = VOTE_NONE};

		if (letters[i] == 'Y')
			names(&t, i, VALUE_A, ID_A);
		else if (letters[i] == '1' || letters[i] == '2')
			names(&t, i, letters[i] == '1' ? ID_B ":" : "other", ID_A);
		else if (letters[i] == 'A')
			a = reply_absent(REASON_CLOSED, NULL);
		else if (letters[i] == 'G')
			a.vote = VOTE_GONE;
		else if (letters[i] == 'R')
			a = (struct reply){.vote = VOTE_FOREIGN, .is_reserved = true};
		if (a.vote != VOTE_NONE)
			tally_take(&t, i, &a, ID_A);
	}
	return tally_ownership(&t);
}

TEST(the_ownership_of_a_token)
{
	static const struct {
		const char *letters;
		enum ownership want;
	} cases[] = {{"YYY", OWNERSHIP_OWNED}, {"YYA", OWNERSHIP_OWNED}, {"YY.", OWNERSHIP_OWNED},
		{"YYGG.", OWNERSHIP_UNKNOWN}, {"YGA", OWNERSHIP_UNKNOWN},
		{"Y1.", OWNERSHIP_UNKNOWN}, {"YG.", OWNERSHIP_UNKNOWN}, {"AAG", OWNERSHIP_UNKNOWN},
		{"...", OWNERSHIP_UNKNOWN}, {"AA1", OWNERSHIP_UNKNOWN}, {"11.", OWNERSHIP_FOREIGN},
		{"11Y", OWNERSHIP_FOREIGN}, {"111", OWNERSHIP_FOREIGN}, {"11A", OWNERSHIP_FOREIGN},
		{"GGG", OWNERSHIP_EXPIRED}, {"GGY", OWNERSHIP_EXPIRED}, {"GGA", OWNERSHIP_EXPIRED},
		{"GG.", OWNERSHIP_EXPIRED}, {"12G", OWNERSHIP_EXPIRED}, {"G1Y", OWNERSHIP_EXPIRED},
		{"G1A", OWNERSHIP_EXPIRED},
		/* Not ours; the last node decides between expired and foreign. */
		{"G1.", OWNERSHIP_UNKNOWN}, {"12.", OWNERSHIP_UNKNOWN},
		/* Free, and reserved for a waiter. */
		{"RRR", OWNERSHIP_EXPIRED}, {"RRG", OWNERSHIP_EXPIRED}, {"Y", OWNERSHIP_OWNED},
		{"G", OWNERSHIP_EXPIRED}, {"1", OWNERSHIP_FOREIGN}, {"A", OWNERSHIP_UNKNOWN},
		{"YYGG", OWNERSHIP_EXPIRED}, {"11GG", OWNERSHIP_EXPIRED},
		{"11YGG", OWNERSHIP_EXPIRED}, {"111YY", OWNERSHIP_FOREIGN},
		{"YYYGG", OWNERSHIP_OWNED}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		unit_check(holding(cases[i].letters) == cases[i].want, __FILE__, __LINE__, "%s: %d",
			cases[i].letters, (int)holding(cases[i].letters));
}

TEST(a_token_is_the_id_or_the_whole_value)
{
	static const struct {
		const char *value, *token;
		bool is_it;
	} cases[] = {{VALUE_A, ID_A, true}, {VALUE_A, VALUE_A, true}, {VALUE_A, ID_B, false},
		{VALUE_A, ID_A ":", false}, {VALUE_A, ID_A ":1700000000 alic", false},
		{VALUE_A, "", false}, {VALUE_A, "aaaa", false}, {"other", "other", true},
		{"other", "othe", false}, {"other", "otter", false}, {ID_A, ID_A, true},
		{ID_A "x", ID_A, false}, {"", "", true}};
	struct reply yes = {.vote = VOTE_YES}, gone = {.vote = VOTE_GONE};
	struct tally t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		question(&t, 1);
		names(&t, 0, cases[i].value, cases[i].token);
		unit_check((t.ballot[0].vote == VOTE_YES) == cases[i].is_it, __FILE__, __LINE__,
			"'%s' of '%s'", cases[i].token, cases[i].value);
	}
	/* Without a token: the holder is reported, and no vote is ours. */
	names(&t, 0, VALUE_A, NULL);
	CHECK_INT(t.ballot[0].vote, VOTE_FOREIGN);
	CHECK_TEXT(t.ballot[0].reply.text, VALUE_A);
	/* After a change, the node's own reply counts. */
	tally_take(&t, 0, &yes, ID_B);
	CHECK_INT(t.ballot[0].vote, VOTE_YES);
	tally_take(&t, 0, &gone, ID_B);
	CHECK_INT(t.ballot[0].vote, VOTE_GONE);
	/* The next query begins without votes. */
	tally_clear(&t, BEGIN + 5);
	CHECK_INT(t.ballot[0].vote, VOTE_NONE);
	CHECK_INT(t.ballot[0].reply.vote, VOTE_NONE);
	CHECK_INT(t.began, BEGIN + 5);
}

TEST(a_query_finds_two_names_of_one_server)
{
	struct reply a = {.vote = VOTE_GONE, .run_id = "life"};
	struct tally t;

	question(&t, 3);
	tally_take(&t, 2, &a, NULL);
	CHECK_INT(t.duplicate[0], -1);
	tally_take(&t, 1, &a, NULL);
	CHECK_INT(t.duplicate[0], 1);
	CHECK_INT(t.duplicate[1], 2);
}

static usec time_left(const usec *left, int count, usec waited)
{
	struct tally t;

	question(&t, 5);
	for (int i = 0; i < count; i++) {
		struct reply a = {.vote = VOTE_YES, .pttl = left[i]};

		tally_take(&t, i, &a, NULL);
	}
	/* The times of other holders do not count. */
	for (int i = count; i < 5; i++)
		names(&t, i, "other", NULL);
	return tally_time_left(&t, 100, BEGIN + waited);
}

TEST(the_time_left_is_that_of_a_majority)
{
	static const usec spread[] = {10 * USEC_SEC, 30 * USEC_SEC, NEVER, 20 * USEC_SEC, USEC_SEC};
	static const usec endless[] = {NEVER, NEVER, NEVER};

	/* The third longest, less a tenth and 2 ms, less the time since the request. */
	CHECK_INT(time_left(spread, 5, 0), 18 * USEC_SEC - 2 * MS);
	CHECK_INT(time_left(spread, 5, 3 * USEC_SEC), 15 * USEC_SEC - 2 * MS);
	CHECK_INT(time_left(spread, 4, 0), 18 * USEC_SEC - 2 * MS);
	CHECK_INT(time_left(spread, 3, 0), 9 * USEC_SEC - 2 * MS);
	CHECK_INT(time_left(spread, 2, 0), 0);
	CHECK_INT(time_left(spread, 0, 0), 0);
	CHECK_INT(time_left(spread, 5, 60 * USEC_SEC), 0);
	CHECK(time_left(endless, 3, USEC_SEC) == NEVER);
}

TEST(another_data_type_belongs_to_no_token)
{
	struct reply list = {.vote = VOTE_FOREIGN, .text_len = 6, .text = "(list)", .pttl = NEVER};
	struct tally t;

	tally_init(&t, 1);
	tally_clear(&t, 0);
	tally_take(&t, 0, &list, "(list)");
	CHECK_INT(t.ballot[0].vote, VOTE_FOREIGN);
}

TEST(the_limit_of_held_slots)
{
	static const struct {
		int nodes, limit[5], expected;
	} cases[] = {
		{3, {0, 0, 0}, 0},
		{3, {0, 3, 3}, 3},
		{3, {2, 3, 3}, 3},
		{3, {2, 0, 3}, 0},
		{5, {2, 2, 3, 3, 0}, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tally t;

		question(&t, cases[i].nodes);
		for (int j = 0; j < cases[i].nodes; j++)
			t.ballot[j].reply.limit = cases[i].limit[j];
		CHECK_INT(tally_limit(&t), cases[i].expected);
	}
}

/* Another program, or a key without an expiry; but a reservation, and an error, have no holder. */
TEST(foreign_holders)
{
	static const char own[] = "9999999999999a11112222333344445555666677:1700000000 me";
	struct reply a = {.vote = VOTE_FOREIGN, .pttl = USEC_SEC, .text_len = 1, .text = "x"};
	struct reply error = reply_absent(REASON_TIMEOUT, NULL);

	CHECK(reply_has_foreign_holder(&a));
	a.is_reserved = true;
	CHECK(!reply_has_foreign_holder(&a));
	a.is_reserved = false;
	a.text_len = strlen(own);
	snprintf(a.text, sizeof(a.text), "%s", own);
	CHECK(!reply_has_foreign_holder(&a));
	a.pttl = NEVER;
	CHECK(reply_has_foreign_holder(&a));
	CHECK(!reply_has_foreign_holder(&error));
}
