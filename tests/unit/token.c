/* token: which values are a redlock's. */
#include "base/token.h"

#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef01234567"

TEST(token_is_an_id_and_an_owner)
{
	static const struct {
		const char *value;
		bool ours;
	} cases[] = {
		{ID ":alice@web1:42 backup", true},
		{ID ":", true},
		{ID, false},
		{ID " ", false},
		{ID "0:", false},
		{"", false},
		{"31a0-uuid", false},
		{"0123456789ABCDEF0123456789abcdef01234567:x", false},
		{"g123456789abcdef0123456789abcdef01234567:x", false},
		{"0123456789abcdef0123456789abcdef0123456 :x", false},
	};

	CHECK_INT(strlen(ID), TOKEN_ID_LEN);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		unit_check(token_is_ours(cases[i].value, strlen(cases[i].value)) == cases[i].ours,
			__FILE__, __LINE__, "'%s'", cases[i].value);
	/* The rest of a longer value, and values that are not text. */
	CHECK(!token_is_ours(ID ":x", TOKEN_ID_LEN));
	CHECK(token_is_ours(ID ":x", TOKEN_ID_LEN + 1));
	CHECK(!token_is_ours("\0"
			     "123456789abcdef0123456789abcdef01234567:x",
		42));
	CHECK(!token_is_ours("0123456789abcdef0123456789abcdef0123456\0:x", 42));
	CHECK(!token_is_shared(ID ":x", TOKEN_ID_LEN + 2));
	CHECK(token_is_shared(TOKEN_READERS ":x", TOKEN_ID_LEN + 2));
	CHECK(!token_is_shared(TOKEN_READERS, TOKEN_ID_LEN));
}

/* Clients of the old style compare this number with the time of day. */
static double time_of(const char *value)
{
	double whole = (double)strtoll(value, NULL, 10), real = strtod(value, NULL);

	CHECK(whole == real);
	return whole;
}

TEST(token_reads_as_a_time_in_the_far_future)
{
	static const double year_2200_in_msec = 7258118400000;
	char token[TOKEN_MAX], before[TOKEN_MAX] = "";
	struct err e;

	for (int i = 0; i < 1000; i++) {
		CHECK_INT(token_make(token, "", "me", &e), 0);
		CHECK(token_is_ours(token, strlen(token)));
		CHECK(!token_has_no_holder(token));
		CHECK(time_of(token) > year_2200_in_msec);
		CHECK(strncmp(token, "9999999999999a", 14) == 0);
		CHECK(strcmp(token + 14, before + 14) != 0);
		memcpy(before, token, sizeof(before));
	}
	CHECK(time_of(TOKEN_READERS) > year_2200_in_msec);
	CHECK(token_has_no_holder(TOKEN_READERS ":x"));
	memcpy(token + 13, TOKEN_LEFT, 1);
	CHECK(time_of(token) > year_2200_in_msec);
	CHECK(token_is_ours(token, strlen(token)));
	CHECK(token_has_no_holder(token));
	CHECK(!token_has_no_holder(""));
	CHECK(!token_has_no_holder("9999999999999"));
	CHECK(!token_has_no_holder(ID ":x"));
}

TEST(token_since_and_owner)
{
	static const struct {
		const char *value;
		int64_t since;
		const char *owner;
	} cases[] = {
		{ID ":1700000000 alice", 1700000000, "alice"},
		{ID ":1700000000 ", 1700000000, ""},
		{ID ":0000000001 me", 1, "me"},
		{ID ":17000000001 me", 17000000001, "me"},
		/* Older values have no time; an owner may begin like a time. */
		{ID ":alice@web1:42 backup", 0, "alice@web1:42 backup"},
		{ID ":170000000 me", 0, "170000000 me"},
		{ID ":170000000012 me", 0, "170000000012 me"},
		{ID ":1700000000", 0, "1700000000"},
		{ID ":1700000000:x", 0, "1700000000:x"},
		{ID ":", 0, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t owner = 0;

		CHECK_INT(token_since(cases[i].value, strlen(cases[i].value), &owner),
			cases[i].since);
		CHECK_TEXT(cases[i].value + owner, cases[i].owner);
	}
}
