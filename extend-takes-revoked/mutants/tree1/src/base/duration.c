#include "base/duration.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct unit {
	const char *name;
	usec length;
} units[] = {
	{"ms", USEC_MSEC},
	{"s", USEC_SEC},
	{"m", 60 * USEC_SEC},
	{"h", 3600 * USEC_SEC},
	{"d", 86400 * USEC_SEC},
	{"", USEC_SEC},
};

static const struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

const char *duration_hint(const char *word)
{
	static const char *const others[] = {"sec", "second", "seconds", "min", "minute", "minutes",
		"hour", "hours", "day", "days"};
	bool is_unit = *word && find_unit(word);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		is_unit |= strcmp(others[i], word) == 0;
	return is_unit ? "a duration is one word, such as 30s, 10m or 2h" : NULL;
}

const char *duration_parse(const char *text, usec *out)
{
	const char *p = text;
	const struct unit *unit;
	int64_t whole = 0, fraction = 0, scale = USEC_MSEC;
	bool digits = false, more = false;
	usec total;

	if (*p == '\0')
		return "is empty";
	if (*p == '-' && isdigit((unsigned char)p[1]))
		return "is negative";
	for (; isdigit((unsigned char)*p); p++, digits = true)
		if (whole <= DURATION_MAX)
			whole = whole * 10 + (*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++, digits = true) {
			if (scale < 1000 * (int64_t)1e15) {
				fraction = fraction * 10 + (*p - '0');
				scale *= 10;
			} else if (*p != '0') {
				more = true;
			}
		}
	if (!digits)
		return "is not a duration (such as 250ms, 30s, 5m, 2h, 1d)";
	unit = find_unit(p);
	if (!unit)
		return "has an unknown unit (known: ms, s, m, h, d)";
	if (whole > DURATION_MAX / unit->length)
		return "is too long (at most 100 years)";
	/* Compute in milliseconds and round up: a digit that does not fit counts as the smallest
	 * fraction. */
	total = whole * (unit->length / USEC_MSEC) +
		(usec)(((__int128)fraction * unit->length + more + scale - 1) / scale);
	if (total > DURATION_MAX / USEC_MSEC)
		return "is too long (at most 100 years)";
	*out = total * USEC_MSEC;
	return NULL;
}

const char *duration_format(char dst[DURATION_TEXT_MAX], usec d)
{
	static const usec sec = USEC_SEC, min = 60 * USEC_SEC, hour = 3600 * USEC_SEC,
			  day = 86400 * USEC_SEC;
	size_t used = 0;

	if (d < 0)
		d = 0;
	if (d < sec)
		snprintf(dst, DURATION_TEXT_MAX, "%dms", (int)(d / USEC_MSEC));
	else if (d < 10 * sec && d % sec >= sec / 10)
		snprintf(dst, DURATION_TEXT_MAX, "%d.%ds", (int)(d / sec),
			(int)(d % sec * 10 / sec));
	else if (d < 2 * min)
		snprintf(dst, DURATION_TEXT_MAX, "%ds", (int)(d / sec));
	else {
		if (d >= day)
			text_append(dst, DURATION_TEXT_MAX, &used, "%dd", (int)(d / day));
		if (d % day >= hour)
			text_append(dst, DURATION_TEXT_MAX, &used, "%dh", (int)(d % day / hour));
		if (d < day && d % hour >= min)
			text_append(dst, DURATION_TEXT_MAX, &used, "%dm", (int)(d % hour / min));
	}
	return dst;
}

const char *time_format(char dst[TIME_TEXT_MAX], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(dst, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(dst, TIME_TEXT_MAX, "%s", "?");
	return dst;
}
