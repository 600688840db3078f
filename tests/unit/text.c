/* text: durations, signals, and strangers' bytes made safe. */
#include "base/text.h"

#include "unit/unit.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MS USEC_MSEC
#define DAY (86400 * USEC_SEC)

TEST(duration_parse_accepts)
{
	static const struct {
		const char *text;
		usec want;
	} cases[] = {
		{"250ms", 250 * MS},
		{"1.5s", 1500 * MS},
		{"30s", 30 * USEC_SEC},
		{"5m", 300 * USEC_SEC},
		{"2h", 7200 * USEC_SEC},
		{"1d", DAY},
		{"30", 30 * USEC_SEC},
		{"0", 0},
		{"0s", 0},
		{"0.0", 0},
		{"00", 0},
		{"007s", 7 * USEC_SEC},
		{".5s", 500 * MS},
		{".5", 500 * MS},
		{"1.", USEC_SEC},
		{"1.s", USEC_SEC},
		{"0.25d", 6 * 3600 * USEC_SEC},
		{"1.5m", 90 * USEC_SEC},
		/* rounded up to the next millisecond */
		{"0.1ms", MS},
		{"1.0001ms", 2 * MS},
		{"0.0001s", MS},
		{"0.0011", 2 * MS},
		{"0.001", MS},
		{"1.0000000000000000000000001", 1001 * MS},
		{"1.0000000000000000000000000", USEC_SEC},
		{"0.00000000000000000000000000001d", MS},
		{"0.99999999999999999999s", USEC_SEC},
		{"1.999999999999999999999ms", 2 * MS},
		{"0.333333333333333333333d", 28800 * USEC_SEC},
		{"0000000000000000000000000000000000000001s", USEC_SEC},
		/* the longest */
		{"36500d", DURATION_MAX},
		{"876000h", DURATION_MAX},
		{"3153600000", DURATION_MAX},
		{"3153600000000ms", DURATION_MAX},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		usec got = -1;
		const char *why = duration_parse(cases[i].text, &got);

		unit_check(!why && got == cases[i].want, __FILE__, __LINE__, "'%s': %s %lld",
			cases[i].text, why ? why : "is", (long long)got);
	}
}

TEST(duration_torn_from_its_unit)
{
	CHECK(duration_hint("m") && duration_hint("ms") && duration_hint("minutes"));
	CHECK(!duration_hint("") && !duration_hint("10m") && !duration_hint("make"));
}

TEST(duration_parse_refuses)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "is empty"},
		{"-", "is not a duration"},
		{"-x", "is not a duration"},
		{"-1", "is negative"},
		{"-0", "is negative"},
		{".", "is not a duration"},
		{".s", "is not a duration"},
		{"s", "is not a duration"},
		{"ms", "is not a duration"},
		{"abc", "is not a duration"},
		{"+5", "is not a duration"},
		{" 5", "is not a duration"},
		{"NaN", "is not a duration"},
		{"5 ", "has an unknown unit"},
		{"5 s", "has an unknown unit"},
		{"5y", "has an unknown unit"},
		{"5S", "has an unknown unit"},
		{"5sec", "has an unknown unit"},
		{"5us", "has an unknown unit"},
		{"1m30s", "has an unknown unit"},
		{"1.5.5", "has an unknown unit"},
		{"1e3", "has an unknown unit"},
		{"0x10", "has an unknown unit"},
		{"1,5", "has an unknown unit"},
		{"5s\n", "has an unknown unit"},
		{"36501d", "is too long"},
		{"36500.0001d", "is too long"},
		{"36500.00000000000000000001d", "is too long"},
		{"3153600000001ms", "is too long"},
		{"9223372036854775807", "is too long"},
		{"9223372036854775808", "is too long"},
		{"18446744073709551617s", "is too long"},
		{"99999999999999999999999999999999999999999ms", "is too long"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		usec got = -1;
		const char *why = duration_parse(cases[i].text, &got);

		unit_check(why && strncmp(why, cases[i].why, strlen(cases[i].why)) == 0, __FILE__,
			__LINE__, "'%s': '%s', not '%s'", cases[i].text, why ? why : "accepted",
			cases[i].why);
		CHECK_INT(got, -1);
	}
}

/* One digit more or less in the fraction never makes it shorter. */
TEST(duration_parse_never_rounds_down)
{
	static const char *const units[] = {"ms", "s", "m", "h", "d"};
	static const long double lengths[] = {1e3L, 1e6L, 60e6L, 3600e6L, 86400e6L};
	uint64_t random = 7;

	for (int n = 0; n < 20000; n++) {
		char text[40];
		int digits = 1 + n % 12;
		size_t unit = (size_t)n % COUNT_OF(units);
		long double value = 0, scale = 1;
		size_t used = 0;
		usec got = -1;

		text_append(text, sizeof(text), &used, "%d.", n % 3);
		for (int i = 0; i < digits; i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			value = value * 10 + (long double)((random >> 33) % 10);
			text_append(text, sizeof(text), &used, "%d", (int)((random >> 33) % 10));
			scale *= 10;
		}
		text_append(text, sizeof(text), &used, "%s", units[unit]);
		value = (n % 3 + value / scale) * lengths[unit];
		if (!CHECK(duration_parse(text, &got) == NULL) ||
			!unit_check((long double)got >= value - 0.01L &&
					    (long double)got <= value + 1002 && got % MS == 0,
				__FILE__, __LINE__, "'%s' is %lld", text, (long long)got))
			return;
	}
}

TEST(duration_format_as_people_say_it)
{
	static const struct {
		usec d;
		const char *want;
	} cases[] = {
		{0, "0ms"},
		{-1, "0ms"},
		{INT64_MIN, "0ms"},
		{999, "0ms"},
		{MS, "1ms"},
		{250 * MS, "250ms"},
		{999 * MS, "999ms"},
		{USEC_SEC - 1, "999ms"},
		{USEC_SEC, "1s"},
		{1050 * MS, "1s"},
		{1500 * MS, "1.5s"},
		{9999 * MS, "9.9s"},
		{10 * USEC_SEC, "10s"},
		{10500 * MS, "10s"},
		{90 * USEC_SEC, "90s"},
		{120 * USEC_SEC - 1, "119s"},
		{120 * USEC_SEC, "2m"},
		{150 * USEC_SEC, "2m"},
		{300 * USEC_SEC, "5m"},
		{3600 * USEC_SEC, "1h"},
		{9000 * USEC_SEC, "2h30m"},
		{DAY - 1, "23h59m"},
		{DAY, "1d"},
		{DAY + 1800 * USEC_SEC, "1d"},
		{DAY + 3600 * USEC_SEC, "1d1h"},
		{3 * DAY, "3d"},
		{DURATION_MAX, "36500d"},
		{NEVER, "106751991d4h"},
	};
	char text[DURATION_TEXT_MAX];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK(duration_format(text, cases[i].d) == text);
		CHECK_TEXT(text, cases[i].want);
	}
}

static const char *escaped(const char *src, size_t size)
{
	static char dst[256];

	memset(dst, 'Z', sizeof(dst));
	CHECK(text_escape(dst, size, src, strlen(src)) == dst);
	CHECK(dst[size] == 'Z');
	return dst;
}

TEST(escape_shows_what_is_safe)
{
	static const struct {
		const char *src, *want;
	} cases[] = {
		{"", ""},
		{"plain text ~!'\"", "plain text ~!'\""},
		{"back\\slash", "back\\\\slash"},
		{"\n\t\x1b[31m\x7f", "\\x0a\\x09\\x1b[31m\\x7f"},
		{"Gr\xc3\xbc\xc3\x9f"
		 "e \xe2\x82\xac \xf0\x9f\x94\x92",
			"Gr\xc3\xbc\xc3\x9f"
			"e \xe2\x82\xac \xf0\x9f\x94\x92"},
		{"\xc2\xa0", "\xc2\xa0"},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		/* C1 controls: 0x9b starts an escape sequence */
		{"\xc2\x9b"
		 "31m",
			"\\xc2\\x9b31m"},
		{"\xc2\x80", "\\xc2\\x80"},
		{"\x9b"
		 "31m",
			"\\x9b31m"},
		/* not UTF-8 */
		{"\xff", "\\xff"},
		{"\xc3", "\\xc3"},
		{"\xc3(", "\\xc3("},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\xe2\x82z", "\\xe2\\x82z"},
		{"\xf0\x9f\x94", "\\xf0\\x9f\\x94"},
		{"\x80", "\\x80"},
		/* overlong */
		{"\xc0\xaf", "\\xc0\\xaf"},
		{"\xc1\xbf", "\\xc1\\xbf"},
		{"\xe0\x80\x9b", "\\xe0\\x80\\x9b"},
		{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
		{"\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b"},
		{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
		/* surrogates, and beyond Unicode */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
		/* marks that turn the direction, line separators, the byte order mark */
		{"\xe2\x80\x8e", "\\xe2\\x80\\x8e"},
		{"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},
		{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},
		{"\xe2\x80\xae", "\\xe2\\x80\\xae"},
		{"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},
		{"\xe2\x81\xa9", "\\xe2\\x81\\xa9"},
		{"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
		{"\xe2\x80\xa7", "\xe2\x80\xa7"},
		{"\xe2\x80\xaf", "\xe2\x80\xaf"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_TEXT(escaped(cases[i].src, 200), cases[i].want);
}

/* The first and the last of each kind, and their neighbours that are seen. */
TEST(escape_shows_what_is_not_seen)
{
	static const char *const hidden[] = {"\xc2\xad", "\xcd\x8f", "\xd8\x80", "\xd8\x9c",
		"\xdb\x9d", "\xdc\x8f", "\xe1\x85\x9f", "\xe1\x85\xa0", "\xe1\x9e\xb4",
		"\xe1\xa0\x8b", "\xe1\xa0\x8e", "\xe2\x80\x8b", "\xe2\x80\x8d", "\xe2\x81\xa0",
		"\xe2\x81\xaf", "\xe3\x85\xa4", "\xef\xb8\x80", "\xef\xb8\x8f", "\xef\xbe\xa0",
		"\xef\xbf\xb9", "\xef\xbf\xbb", "\xf0\x9d\x85\xb3", "\xf3\xa0\x80\x81",
		"\xf3\xa0\x81\xbf", "\xf3\xa0\x84\x80", "\xf3\xa0\xbf\xbf"};
	static const char *const seen[] = {"\xc2\xac", "\xc2\xae", "\xe1\x85\x9e", "\xe1\x85\xa1",
		"\xe2\x80\x90", "\xe2\x81\xb0", "\xe3\x85\xa3", "\xef\xb8\x90", "\xef\xbf\xbc",
		"\xf3\xa1\x80\x80"};
	char want[17];

	for (size_t i = 0; i < COUNT_OF(hidden); i++) {
		size_t used = 0;

		for (const char *c = hidden[i]; *c; c++)
			text_append(want, sizeof(want), &used, "\\x%02x", (unsigned char)*c);
		CHECK_TEXT(escaped(hidden[i], 200), want);
	}
	for (size_t i = 0; i < COUNT_OF(seen); i++)
		CHECK_TEXT(escaped(seen[i], 200), seen[i]);
}

TEST(escape_cuts)
{
	static const struct {
		const char *src;
		size_t size;
		const char *want;
	} cases[] = {
		{"1234567", 8, "1234567"},
		{"12345678", 8, "1234..."},
		{"123456789", 10, "123456789"},
		{"1234567890", 10, "123456..."},
		{"12\\4567", 9, "12\\\\4567"},
		{"12\\45678", 9, "12\\\\4..."},
		{"1234\x1b", 9, "1234\\x1b"},
		{"12345\x1b", 9, "12345..."},
		{"123\x1b"
		 "5",
			8, "123..."},
		{"\x1b\x1b", 8, "\\x1b..."},
		{"\x1b\x1b", 9, "\\x1b\\x1b"},
		/* never through a character */
		{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 10,
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"},
		{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		 "x",
			10, "\xe2\x82\xac\xe2\x82\xac..."},
		{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 9, "\xe2\x82\xac..."},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_TEXT(escaped(cases[i].src, cases[i].size), cases[i].want);
	CHECK_TEXT(text_escape((char[8]){0}, 8, "a\0b", 3), "a\\x00b");
}

/* Whole UTF-8 characters without controls? */
static bool is_clean(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		int more = *s < 0x80   ? 0
			   : *s < 0xc2 ? -1
			   : *s < 0xe0 ? 1
			   : *s < 0xf0 ? 2
			   : *s < 0xf5 ? 3
				       : -1;

		if (*s < 0x20 || *s == 0x7f || more < 0 || (*s == 0xc2 && s[1] < 0xa0))
			return false;
		for (s++; more > 0; more--, s++)
			if ((*s & 0xc0) != 0x80)
				return false;
	}
	return true;
}

TEST(escape_is_safe_for_any_bytes)
{
	uint64_t random = 42;

	for (int n = 0; n < 50000; n++) {
		unsigned char src[64];
		char dst[80];
		size_t len = (size_t)n % sizeof(src), size = 8 + (size_t)n % 61;

		for (size_t i = 0; i < len; i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			src[i] = (unsigned char)(random >> 40);
			/* more of what looks like UTF-8 */
			if (n % 2 && i > 0 && src[i - 1] >= 0xc0)
				src[i] = (unsigned char)(0x80 | (src[i] & 0x3f));
		}
		memset(dst, 'Z', sizeof(dst));
		text_escape(dst, size, src, len);
		if (!CHECK(memchr(dst, '\0', size) != NULL) || !CHECK(is_clean(dst)) ||
			!CHECK(dst[size] == 'Z')) {
			printf("# in turn %d\n", n);
			return;
		}
	}
}

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

/* All versions, on all machines, have one order of the nodes: these never change. */
TEST(hash_is_the_same_everywhere)
{
	CHECK(text_hash(0, "") == 0xcbf29ce44fd0bfc1);
	CHECK(text_hash(0, "k") == 0xaf63e64c29621bc6);
	CHECK(text_hash(1, "k") == 0xaf63e74c29621871);
	CHECK(text_hash(0, "\xc3\xa9") == 0xac21707bdda0906); /* a char may be negative */
}

TEST(distance_in_letters)
{
	static const struct {
		const char *a, *b;
		int want;
	} cases[] = {
		{"", "", 0},
		{"", "abc", 3},
		{"wait", "wait", 0},
		{"wait", "wiat", 1},
		{"ab", "ba", 1},
		{"wait", "wat", 1},
		{"wait", "waits", 1},
		{"wait", "bait", 1},
		{"run", "nur", 2},
		{"kitten", "sitting", 3},
		{"abcdefghijklmnopqrstuvwxyz01234", "", 31},
		{"abcdefghijklmnopqrstuvwxyz012345", "", INT_MAX},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK_INT(text_distance(cases[i].a, cases[i].b), cases[i].want);
		CHECK_INT(text_distance(cases[i].b, cases[i].a), cases[i].want);
	}
}

TEST(nearest_word)
{
	static const char *const words[] = {"node", "nodes", "no-wait", "wait", "wipe", "release"};
	static const struct {
		const char *typed, *want;
	} cases[] = {
		{"wiat", "wait"},
		{"waif", "wait"}, /* the first of those that are as near */
		{"nodes", "nodes"}, /* rather than one letter off */
		{"nodez", "node"},
		{"rel", "release"}, /* goes on from there */
		{"no-", "no-wait"},
		{"re", "release"},
		{"r", NULL},
		{"w", NULL},
		{"", NULL},
		{"unrelated", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nearest n = {.typed = cases[i].typed};

		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			nearest_consider(&n, words[j]);
		CHECK_TEXT(n.word ? n.word : "none", cases[i].want ? cases[i].want : "none");
	}
}

TEST(text_words_without_secrets)
{
	static const struct {
		const char *word, *want;
	} cases[] = {{"", ""}, {"job", "job"}, {"-", "-"}, {"-k", "-k"}, {"--", "--"},
		{"--tlt", "--tlt"}, {"-5s", "-5s"}, {"-ps3cret", "-p..."},
		{"--password=s3cret", "--password=..."}, {"PGPASSWORD=s3cret", "PGPASSWORD=..."},
		{"=", "=..."}, {"30s password=s3cret", "30s password=..."},
		{"--nodes=redis://app:s3cret@a", "--nodes=..."},
		{"redis://app:s3=cret@a/1?b=c", "redis://***@a/1?b=c"},
		{"rediss://:s3c@r/e:t@a:1", "rediss://***@a:1"}, {"app:s3cret@a", "***@a"},
		{"redis://s3cret@a:1", "redis://***@a:1"},
		{"redis://a/?db=1&password=s3cret", "redis://a/?db=..."},
		{"unix:///a@b", "unix:///a@b"}, {"redis://a:1", "redis://a:1"},
		{"/a:b@c", "/a:b@c"}, {"a/b:c@d", "a/b:c@d"}, {"a:b/c@d", "a:b/c@d"},
		{"user@a:b", "user@a:b"}, {"a\x1b=b", "a\\x1b=..."}};
	char shown[64], longest[1000], small[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(text_escape_word(shown, sizeof(shown), cases[i].word) == shown);
		CHECK_TEXT(shown, cases[i].want);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK_TEXT(text_escape_word(small, sizeof(small), longest), "xxxx...");
	longest[sizeof(longest) - 2] = '=';
	CHECK_TEXT(text_escape_word(small, sizeof(small), longest), "xxxx...");
}

TEST(text_quoted_for_the_shell)
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
		/* What is always enough, and what is not. */
		CHECK(text_quote(quoted, 4 * strlen(cases[i].text) + 3, cases[i].text) == quoted);
		CHECK(text_quote(quoted, strlen(cases[i].want), cases[i].text) == NULL);
	}
	CHECK(text_quote(quoted, 2, "") == NULL);
}

TEST(text_characters)
{
	static const struct {
		const char *bytes;
		size_t n;
		unsigned code;
	} cases[] = {{"a", 1, 'a'}, {"\x7f", 1, 0x7f}, {"\xc2\x80", 2, 0x80},
		{"\xdf\xbf", 2, 0x7ff}, {"\xe0\xa0\x80", 3, 0x800}, {"\xef\xbf\xbf", 3, 0xffff},
		{"\xed\x9f\xbf", 3, 0xd7ff}, {"\xee\x80\x80", 3, 0xe000},
		{"\xf0\x90\x80\x80", 4, 0x10000}, {"\xf4\x8f\xbf\xbf", 4, 0x10ffff}, {"\x80", 0, 0},
		{"\xbf", 0, 0}, {"\xc0\x80", 0, 0}, {"\xc1\xbf", 0, 0}, {"\xc2", 0, 0},
		{"\xc2x", 0, 0}, {"\xe0\x9f\xbf", 0, 0}, {"\xe0\xa0", 0, 0}, {"\xed\xa0\x80", 0, 0},
		{"\xed\xbf\xbf", 0, 0}, {"\xf0\x8f\xbf\xbf", 0, 0}, {"\xf0\x90\x80", 0, 0},
		{"\xf4\x90\x80\x80", 0, 0}, {"\xf5\x80\x80\x80", 0, 0}, {"\xff", 0, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned code = 0;
		size_t n = text_utf8(
			(const unsigned char *)cases[i].bytes, strlen(cases[i].bytes), &code);

		unit_check(n == cases[i].n && (n == 0 || code == cases[i].code), __FILE__, __LINE__,
			"case %zu: %zu, %x", i, n, code);
	}
}

TEST(times_of_day)
{
	char when[TIME_TEXT_MAX];

	CHECK_TEXT(time_format(when, 0), "1970-01-01T00:00:00Z");
	CHECK_TEXT(time_format(when, 1700000000), "2023-11-14T22:13:20Z");
	CHECK_TEXT(time_format(when, 9999999999), "2286-11-20T17:46:39Z");
	CHECK_TEXT(time_format(when, INT64_MAX), "?");
}
