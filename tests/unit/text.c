/* text: building, quoting, reading and hashing strings. */
#include "base/text.h"

#include "unit/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

TEST(append_cuts_at_the_size)
{
	char dst[10] = "ZZZZZZZZZ";
	size_t used = 0;

	text_append(dst, 8, &used, "%s", "");
	CHECK_INT(used, 0);
	CHECK_TEXT(dst, "");
	text_append(dst, 8, &used, "%d-", 123);
	CHECK_INT(used, 4);
	text_append(dst, 8, &used, "%s", "abc");
	CHECK_INT(used, 7);
	CHECK_TEXT(dst, "123-abc");
	text_append(dst, 8, &used, "x");
	CHECK_INT(used, 7);
	CHECK_TEXT(dst, "123-abc");
	CHECK(dst[8] == 'Z');
	used = 5;
	text_append(dst, 8, &used, "longer than that");
	CHECK_INT(used, 7);
	CHECK_TEXT(dst, "123-alo");
}

TEST(number_within_bounds)
{
	static const struct {
		const char *text;
		bool ok;
		long want;
	} cases[] = {
		{"0", true, 0},
		{"255", true, 255},
		{"007", true, 7},
		{"256", false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1 ", false, 0},
		{"1x", false, 0},
		{"0x1", false, 0},
		{"1.0", false, 0},
		{"", false, 0},
		{"99999999999999999999999", false, 0},
	};
	long n;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		n = -7;
		unit_check(text_number(cases[i].text, 0, 255, &n) == cases[i].ok, __FILE__,
			__LINE__, "'%s'", cases[i].text);
		CHECK_INT(n, cases[i].ok ? cases[i].want : -7);
	}
	CHECK(!text_number("4", 5, 7, &n));
	CHECK(text_number("5", 5, 7, &n) && text_number("7", 5, 7, &n));
	CHECK(!text_number("8", 5, 7, &n));
	CHECK(!text_number("9223372036854775808", 0, LONG_MAX, &n));
	CHECK(text_number("9223372036854775807", 0, LONG_MAX, &n));
}

TEST(decimal_is_as_printf_writes_it)
{
	const int64_t numbers[] = {0, 7, 10, -1, 1795961320871, INT64_MAX, INT64_MIN};
	char got[TEXT_DECIMAL_MAX], want[TEXT_DECIMAL_MAX];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int len = snprintf(want, sizeof(want), "%lld", (long long)numbers[i]);

		CHECK_INT(text_decimal(got, numbers[i]), len);
		CHECK_TEXT(got, want);
	}
}

/* All versions, on all machines, have one order of the nodes, so these values never change. */
TEST(hash_never_changes)
{
	CHECK(text_hash(0, "") == 0xcbf29ce44fd0bfc1);
	CHECK(text_hash(0, "k") == 0xaf63e64c29621bc6);
	CHECK(text_hash(1, "k") == 0xaf63e74c29621871);
	CHECK(text_hash(0, "\xc3\xa9") == 0xac21707bdda0906); /* a char may be negative */
}

TEST(quote_for_the_shell)
{
	static const struct {
		const char *text, *want;
	} cases[] = {{"", "''"}, {"plain", "'plain'"}, {"it's", "'it'\\''s'"},
		{"'''", "''\\'''\\'''\\'''"}, {"$(id) `id` \\ \" \n", "'$(id) `id` \\ \" \n'"},
		{"\xff", "'\xff'"}};
	char quoted[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got = text_quote(quoted, sizeof(quoted), cases[i].text);

		CHECK(got == quoted);
		CHECK_TEXT(quoted, cases[i].want);
		/* a size that is always enough, and a size that is too small */
		CHECK(text_quote(quoted, 4 * strlen(cases[i].text) + 3, cases[i].text) == quoted);
		CHECK(text_quote(quoted, strlen(cases[i].want), cases[i].text) == NULL);
	}
	CHECK(text_quote(quoted, 2, "") == NULL);
}
