#include "base/duration.h"

#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The first name of each length is the one that duration_format() writes. */
static const struct unit {
	const char *name;
	usec length;
} units[] = {
	{"ms", USEC_MSEC},
	{"msec", USEC_MSEC},
	{"s", USEC_SEC},
	{"sec", USEC_SEC},
	{"second", USEC_SEC},
	{"seconds", USEC_SEC},
	{"m", 60 * USEC_SEC},
	{"min", 60 * USEC_SEC},
	{"minute", 60 * USEC_SEC},
	{"minutes", 60 * USEC_SEC},
	{"h", 3600 * USEC_SEC},
	{"hour", 3600 * USEC_SEC},
	{"hours", 3600 * USEC_SEC},
	{"d", 86400 * USEC_SEC},
	{"day", 86400 * USEC_SEC},
	{"days", 86400 * USEC_SEC},
};

static const char too_long[] = "is too long (at most 100 years)";

/* NULL: there is no unit of that name. */
static const struct unit *find_unit(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && strncmp(units[i].name, name, len) == 0)
			return &units[i];
	return NULL;
}

const char *duration_hint(const char *word)
{
	return find_unit(word, strlen(word)) ? "a duration is one word, such as 30s, 10m or 1h30m"
					     : NULL;
}

/* A decimal number. */
struct number {
	int64_t whole, fraction, scale; /* whole + fraction / scale */
	bool more; /* digits that do not fit into the fraction: the value is slightly larger */
};

/* Returns the text after the number, or NULL if there are no digits. */
static const char *read_number(const char *p, struct number *n)
{
	bool digits = false;

	*n = (struct number){.scale = 1};
	for (; isdigit((unsigned char)*p); p++, digits = true)
		if (n->whole <= DURATION_MAX)
			n->whole = n->whole * 10 + (*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++, digits = true) {
			if (n->scale < (int64_t)1e15) {
				n->fraction = n->fraction * 10 + (*p - '0');
				n->scale *= 10;
			} else if (*p != '0') {
				n->more = true;
			}
		}
	return digits ? p : NULL;
}

/* Rounds up to milliseconds: a digit that does not fit counts as the smallest fraction. Returns
 * more than DURATION_MAX if the time is too long. */
static usec multiply(const struct number *n, usec length)
{
	__int128 scale = (__int128)n->scale * USEC_MSEC;

	if (n->whole > DURATION_MAX / length)
		return DURATION_MAX + 1;
	return n->whole * length +
	       (usec)(((__int128)n->fraction * length + n->more + scale - 1) / scale) * USEC_MSEC;
}

const char *duration_parse(const char *text, usec *out)
{
	const char *p = text;
	const struct unit *unit;
	usec total = 0, last = DURATION_MAX;
	struct number number;

	if (*p == '\0')
		return "is empty";
	if (*p == '-' && isdigit((unsigned char)p[1]))
		return "is negative";
	do {
		bool is_first = p == text, has_unit;
		size_t len;

		p = read_number(p, &number);
		if (!p)
			return "is not a duration (such as 250ms, 30s, 5m, 2h, 1h30m, 1d)";
		has_unit = *p != '\0';
		len = strcspn(p, "0123456789.");
		if (!has_unit && !is_first)
			return "ends with a number without a unit (1h30m has two)";
		unit = has_unit ? find_unit(p, len) : find_unit("s", 1);
		if (!unit)
			return "has an unknown unit (known: ms, s, m, h, d)";
		if (unit->length >= last)
			return "has its units in the wrong order (1h30m is right)";
		last = unit->length;
		p += len;
		total += multiply(&number, unit->length);
		if (total > DURATION_MAX)
			return too_long;
	} while (*p);
	*out = total;
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

const char *duration_format_exact(char dst[DURATION_TEXT_MAX], usec d)
{
	usec same;

	if (duration_parse(duration_format(dst, d), &same) || same != d)
		snprintf(dst, DURATION_TEXT_MAX, "%" PRId64 "ms", d / USEC_MSEC);
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
