/* duration: reading and writing durations and dates. */
#include "base/duration.h"

#include "base/text.h"

#include "unit/unit.h"

#include <stdint.h>
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
		/* longer names of the units */
		{"10sec", 10 * USEC_SEC},
		{"5min", 300 * USEC_SEC},
		{"250msec", 250 * MS},
		{"1second", USEC_SEC},
		{"2seconds", 2 * USEC_SEC},
		{"1.5minutes", 90 * USEC_SEC},
		{"1minute", 60 * USEC_SEC},
		{"1hour", 3600 * USEC_SEC},
		{"2hours", 7200 * USEC_SEC},
		{"1day", DAY},
		{"2days", 2 * DAY},
		/* several units, as duration_format() writes them */
		{"1h30m", 5400 * USEC_SEC},
		{"2m30s", 150 * USEC_SEC},
		{"1d1h1m1s1ms", DAY + 3661 * USEC_SEC + MS},
		{"1hour30min", 5400 * USEC_SEC},
		{"1m.5s", 60500 * MS},
		{"0h0.0001s", MS},
		{"36499d24h", DURATION_MAX},
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

TEST(duration_hint_for_a_separate_unit)
{
	CHECK(duration_hint("m") && duration_hint("ms") && duration_hint("minutes"));
	CHECK(duration_hint("min") && duration_hint("sec"));
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
		{"5us", "has an unknown unit"},
		{"5secs", "has an unknown unit"},
		{"5MIN", "has an unknown unit"},
		{"1h 30m", "has an unknown unit"},
		{"1h30", "ends with a number without a unit"},
		{"1h30m5", "ends with a number without a unit"},
		{"1m-30s", "has an unknown unit"},
		{"30m1h", "has its units in the wrong order"},
		{"5m5m", "has its units in the wrong order"},
		{"1s1sec", "has its units in the wrong order"},
		{"1hm", "has an unknown unit"},
		{"1h.m", "is not a duration"},
		{"36500d1ms", "is too long"},
		{"36500d876000h", "is too long"},
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

TEST(duration_format_is_short)
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

TEST(time_format_in_utc)
{
	char when[TIME_TEXT_MAX];

	CHECK_TEXT(time_format(when, 0), "1970-01-01T00:00:00Z");
	CHECK_TEXT(time_format(when, 1700000000), "2023-11-14T22:13:20Z");
	CHECK_TEXT(time_format(when, 9999999999), "2286-11-20T17:46:39Z");
	CHECK_TEXT(time_format(when, INT64_MAX), "?");
}

TEST(duration_exact_is_read_as_the_same)
{
	static const struct {
		usec ms;
		const char *text;
	} cases[] = {
		{0, "0ms"},
		{1, "1ms"},
		{1500, "1.5s"},
		{1550, "1550ms"},
		{90000, "90s"},
		{90500, "90500ms"},
		{5400000, "1h30m"},
		{9000000, "2h30m"},
		{9001000, "9001000ms"},
		{172800000, "2d"},
	};
	char text[DURATION_TEXT_MAX];
	usec same;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		usec d = cases[i].ms * USEC_MSEC;

		CHECK_TEXT(duration_format_exact(text, d), cases[i].text);
		CHECK(!duration_parse(text, &same) && same == d);
	}
	duration_format_exact(text, DURATION_MAX);
	CHECK(!duration_parse(text, &same) && same == DURATION_MAX);
}
