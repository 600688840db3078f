#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

size_t utf8_decode(const unsigned char *s, size_t len, unsigned *code)
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

struct range {
	unsigned first, last;
};

/* The ranges are in ascending order. */
static bool is_among(unsigned code, const struct range ranges[], size_t count)
{
	bool is_in = false;

	for (size_t i = 0; i < count && code >= ranges[i].first && !is_in; i++)
		is_in = code <= ranges[i].last;
	return is_in;
}

#define IS_AMONG(code, ranges) is_among(code, ranges, sizeof(ranges) / sizeof((ranges)[0]))

bool utf8_is_control(unsigned code)
{
	/* Unicode 15: the categories Cc, Cf, Zl and Zp, and the default-ignorable characters, which
	 * have no visible form. */
	static const struct range ranges[] = {{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f},
		{0x600, 0x605}, {0x61c, 0x61c}, {0x6dd, 0x6dd}, {0x70f, 0x70f}, {0x890, 0x891},
		{0x8e2, 0x8e2}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
		{0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
		{0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
		{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

	return IS_AMONG(code, ranges);
}

/* The columns that a terminal gives the character. */
static int width_of(unsigned code)
{
	/* Unicode 14, EastAsianWidth.txt: W and F, joined across codes without a character. */
	static const struct range wide[] = {{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a},
		{0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3}, {0x25fd, 0x25fe},
		{0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693},
		{0x26a1, 0x26a1}, {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5},
		{0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3},
		{0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705},
		{0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e},
		{0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0},
		{0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55},
		{0x2e80, 0x303e}, {0x3041, 0x3247}, {0x3250, 0x4dbf}, {0x4e00, 0xa4c6},
		{0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfad9}, {0xfe10, 0xfe19},
		{0xfe30, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x1b2fb},
		{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
		{0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
		{0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
		{0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d},
		{0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
		{0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc},
		{0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc},
		{0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff},
		{0x1fa70, 0x1faf6}, {0x20000, 0x3fffd}};
	/* Marks that are written over the character before them, and the vowels and finals of
	 * Hangul. Marks of other scripts count as a column: a line with them is cut too early. */
	static const struct range marks[] = {{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd},
		{0x5bf, 0x5bf}, {0x5c1, 0x5c2}, {0x5c4, 0x5c5}, {0x5c7, 0x5c7}, {0x610, 0x61a},
		{0x64b, 0x65f}, {0x670, 0x670}, {0x6d6, 0x6dc}, {0x6df, 0x6e4}, {0x6e7, 0x6e8},
		{0x6ea, 0x6ed}, {0x93a, 0x93a}, {0x93c, 0x93c}, {0x941, 0x948}, {0x94d, 0x94d},
		{0xe31, 0xe31}, {0xe34, 0xe3a}, {0xe47, 0xe4e}, {0x1161, 0x11ff}, {0x1ab0, 0x1ace},
		{0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0x302a, 0x302d}, {0x3099, 0x309a},
		{0xd7b0, 0xd7fb}, {0xfe20, 0xfe2f}};

	if (code < marks[0].first)
		return 1;
	return IS_AMONG(code, marks) ? 0 : IS_AMONG(code, wide) ? 2 : 1;
}

/* The log of a CI system is a terminal, too: "##[" (GitHub Actions), "##vso[" (Azure Pipelines) and
 * "##teamcity[" begin a command, wherever they are in a line. */
static bool is_log_command(const unsigned char *s, size_t len)
{
	size_t at = 2;

	if (len <= at || memcmp(s, "##", at) != 0)
		return false;
	while (at < len - 1 && isalpha(s[at]))
		at++;
	return s[at] == '[';
}

size_t utf8_printable(const unsigned char *s, size_t len)
{
	unsigned code;
	size_t n = utf8_decode(s, len, &code);

	return n == 0 || utf8_is_control(code) || is_log_command(s, len) ? 0 : n;
}

/* Escapes begin with a backslash: that of a text from elsewhere is escaped, too. */
static const char *escape(char *dst, size_t size, const void *src, size_t len, bool has_escapes)
{
	const unsigned char *s = src;
	size_t used = 0, fits = 0;

	while (len > 0) {
		char piece[5];
		size_t n = utf8_printable(s, len), shown = n;

		if (n > 0 && (has_escapes || *s != '\\')) {
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

const char *utf8_escape(char *dst, size_t size, const void *src, size_t len)
{
	return escape(dst, size, src, len, false);
}

const char *utf8_escape_line(char *dst, size_t size, const char *line)
{
	return escape(dst, size, line, strlen(line), true);
}

/* Returns the length of the character at s, and sets its columns. */
static size_t next_char(const char *s, int *columns)
{
	unsigned code;
	size_t n = utf8_decode((const unsigned char *)s, 4, &code); /* a NUL ends it, too */

	*columns = n ? width_of(code) : 1;
	return n ? n : 1;
}

int utf8_columns(const char *text)
{
	int columns, sum = 0;

	for (; *text; sum += columns)
		text += next_char(text, &columns);
	return sum;
}

/* Returns the end of the first characters that fit. */
static char *end_of_first(char *text, int columns)
{
	int width;
	size_t n = next_char(text, &width);

	for (; *text && width <= columns; n = next_char(text, &width)) {
		columns -= width;
		text += n;
	}
	return text;
}

/* Returns the start of the last characters that fit. Skips the marks of a character that was cut.
 */
static char *start_of_last(char *text, int columns)
{
	int rest = utf8_columns(text), width;

	while (*text && rest > columns) {
		text += next_char(text, &width);
		rest -= width;
	}
	while (*text && (next_char(text, &width), width == 0))
		text += next_char(text, &width);
	return text;
}

const char *utf8_cut(char *text, int columns)
{
	if (utf8_columns(text) > columns)
		memcpy(end_of_first(text, columns - 3), "...", 4);
	return text;
}

const char *utf8_shorten(char *text, int columns)
{
	int first;
	char *from, *to;

	if (columns < 5)
		columns = 5;
	if (utf8_columns(text) <= columns)
		return text;
	first = (columns - 2) / 2;
	from = end_of_first(text, first);
	to = start_of_last(text, columns - 3 - first);
	memcpy(from, "...", 3);
	memmove(from + 3, to, strlen(to) + 1);
	return text;
}
