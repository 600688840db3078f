#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* More than anybody shows of one. */
#define WORD_SHOWN 300

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
	/* In milliseconds, rounded up: a digit that did not fit counts as the least bit more. */
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

size_t text_utf8(const unsigned char *s, size_t len, unsigned *code)
{
	unsigned min;
	size_t n;

	if (s[0] < 0x80)
		n = 1, *code = s[0], min = 0;
	else if (s[0] >= 0xc2 && s[0] < 0xe0)
		n = 2, *code = s[0] & 0x1f, min = 0x80;
	else if (s[0] >= 0xe0 && s[0] < 0xf0)
		n = 3, *code = s[0] & 0x0f, min = 0x800;
	else if (s[0] >= 0xf0 && s[0] < 0xf5)
		n = 4, *code = s[0] & 0x07, min = 0x10000;
	else
		return 0;
	if (len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < min || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

bool text_is_control(unsigned code)
{
	/* Unicode 15: the categories Cc, Cf, Zl and Zp, and all that is ignored by default where it
	 * cannot be shown. */
	static const struct {
		unsigned first, last;
	} ranges[] = {{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f}, {0x600, 0x605},
		{0x61c, 0x61c}, {0x6dd, 0x6dd}, {0x70f, 0x70f}, {0x890, 0x891}, {0x8e2, 0x8e2},
		{0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
		{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x110bd, 0x110bd},
		{0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff}};
	bool is_in = false;

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && code >= ranges[i].first; i++)
		is_in = code <= ranges[i].last;
	return is_in;
}

/* The length of the printable UTF-8 character at s, or 0. The backslash would not be told from what
 * stands for the others. */
static size_t printable(const unsigned char *s, size_t len)
{
	unsigned code;
	size_t n = text_utf8(s, len, &code);

	return n == 0 || text_is_control(code) || code == '\\' ? 0 : n;
}

const char *text_escape(char *dst, size_t size, const void *src, size_t len)
{
	const unsigned char *s = src;
	size_t used = 0, fits = 0;

	while (len > 0) {
		char piece[5];
		size_t n = printable(s, len), shown = n;

		if (n > 0) {
			memcpy(piece, s, n);
		} else {
			n = 1;
			shown = (size_t)snprintf(
				piece, sizeof(piece), *s == '\\' ? "\\\\" : "\\x%02x", *s);
		}
		if (used + shown >= size) {
			memcpy(dst + fits, "...", 4);
			return dst;
		}
		memcpy(dst + used, piece, shown);
		used += shown;
		if (used + 4 <= size)
			fits = used;
		s += n;
		len -= n;
	}
	dst[used] = '\0';
	return dst;
}

/* Where user and password stand in a word: from there on, so many bytes. NULL: it has none. */
static const char *find_login(const char *word, size_t *len)
{
	const char *scheme = strstr(word, "://"), *from = scheme ? scheme + 3 : word;
	const char *colon = scheme ? from : strchr(from, ':');
	const char *at = colon ? strrchr(colon, '@') : NULL;

	/* No path has one. */
	if (!at || strncmp(from, "/", 1) == 0 ||
		(!scheme && memchr(word, '/', (size_t)(at - word))))
		return NULL;
	*len = (size_t)(at - from);
	return from;
}

/* Does a name such as PGPASSWORD, --api-key or ?auth stand for a secret? Before a blank, as in
 * `--key job`, "auth" and "key" seldom do. */
static bool is_secret(const char *name, size_t len, bool has_equals)
{
	static const char *const parts[] = {"pass", "pw", "secret", "token", "auth", "key"};
	const size_t count = has_equals ? 6 : 4;

	if (len >= 4 && strncasecmp(name + len - 4, "file", 4) == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t at = 0, n = strlen(parts[i]); at + n <= len; at++)
			if (strncasecmp(name + at, parts[i], n) == 0)
				return true;
	return false;
}

/* Is the word after this one a secret, as in `--password SECRET`? */
static bool hides_next(const char *option, size_t len)
{
	return strncmp(option, "--", 2) == 0 && !memchr(option, '=', len) &&
	       is_secret(option, len, false);
}

/* Where a secret begins in a word, which may be a shell's whole line. NULL: it has none. */
static const char *find_secret(const char *word)
{
	size_t len;

	for (const char *name = word; *name; name += len + (name[len] != '\0')) {
		len = strcspn(name, "=?&;, \t\n");
		if (strncmp(name, "-p", 2) == 0 && name[2] && !isspace((unsigned char)name[2]))
			return name + 2;
		if (name[len] == '=' ? is_secret(name, len, true)
				     : isspace((unsigned char)name[len]) && hides_next(name, len))
			return name + len + 1;
	}
	return NULL;
}

void text_append_word(char *dst, size_t size, size_t *used, const char *word)
{
	size_t len;
	const char *login = find_login(word, &len), *secret = find_secret(word);

	/* A secret before the login hides the login, too. */
	if (login && (!secret || login < secret)) {
		text_append(dst, size, used, "%.*s***", (int)(login - word), word);
		word = login + len;
		secret = find_secret(word);
	}
	len = secret ? (size_t)(secret - word) : strlen(word);
	text_append(dst, size, used, "%.*s%s", (int)len, word, secret ? "***" : "");
}

void text_append_words(char *dst, size_t size, size_t *used, char *const words[])
{
	for (int i = 0; words[i]; i++) {
		text_append(dst, size, used, "%s", i ? " " : "");
		if (i && hides_next(words[i - 1], strlen(words[i - 1])))
			text_append(dst, size, used, "***");
		else
			text_append_word(dst, size, used, words[i]);
	}
}

const char *text_escape_word(char *dst, size_t size, const char *word)
{
	size_t name = strcspn(word, "="), len, used = 0;
	const char *login = find_login(word, &len);
	char shown[WORD_SHOWN];

	if (word[name] && !(login && login < word + name))
		text_append(shown, sizeof(shown), &used, "%.*s=...", (int)name, word);
	else if (!login && word[0] == '-' && isalpha((unsigned char)word[1]) && word[2])
		text_append(shown, sizeof(shown), &used, "%.2s...", word);
	else
		text_append_word(shown, sizeof(shown), &used, word);
	return text_escape(dst, size, shown, used);
}

const char *text_quote(char *dst, size_t size, const char *src)
{
	static const char quoted[] = "'\\''";
	size_t used = 0;

	if (size < 3)
		return NULL;
	dst[used++] = '\'';
	for (; *src; src++) {
		if (used + sizeof(quoted) + 1 > size)
			return NULL;
		if (*src == '\'') {
			memcpy(dst + used, quoted, sizeof(quoted) - 1);
			used += sizeof(quoted) - 1;
		} else {
			dst[used++] = *src;
		}
	}
	dst[used++] = '\'';
	dst[used] = '\0';
	return dst;
}

void text_append(char *dst, size_t size, size_t *used, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(dst + *used, size - *used, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	if ((size_t)n < size - *used) {
		*used += (size_t)n;
		return;
	}
	/* Cut between characters, not inside one: back over the bytes that continue one, and its
	 * first. */
	*used = size - 1;
	for (size_t i = size - 1; i > 0 && size - i < 5; i--) {
		unsigned char c = (unsigned char)dst[i - 1];

		if (c < 0x80)
			break;
		if (c >= 0xc0) {
			size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

			if (size - i < needs)
				*used = i - 1;
			break;
		}
	}
	dst[*used] = '\0';
}

bool text_number(const char *text, long min, long max, long *out)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || *end != '\0' || n < min || n > max)
		return false;
	*out = n;
	return true;
}

uint64_t text_hash(uint64_t from, const char *text)
{
	uint64_t h = from ^ 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h ^ h >> 32;
}

int text_distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	int cost[MAX + 1][MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la >= MAX || lb >= MAX)
		return INT_MAX;
	for (size_t i = 0; i <= la; i++)
		for (size_t j = 0; j <= lb; j++) {
			int best;

			if (i == 0 || j == 0) {
				cost[i][j] = (int)(i + j);
				continue;
			}
			best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (cost[i - 1][j] + 1 < best)
				best = cost[i - 1][j] + 1;
			if (cost[i][j - 1] + 1 < best)
				best = cost[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				cost[i - 2][j - 2] + 1 < best)
				best = cost[i - 2][j - 2] + 1;
			cost[i][j] = best;
		}
	return cost[la][lb];
}

void nearest_consider(struct nearest *n, const char *word)
{
	size_t len = strlen(n->typed);
	int distance = text_distance(n->typed, word);

	if (len > 1 && distance > 1 && strncmp(n->typed, word, len) == 0)
		distance = 1;
	if (distance > (int)(len + 2) / 3 || distance >= (int)len ||
		(n->word && distance >= n->distance))
		return;
	n->word = word;
	n->distance = distance;
}
