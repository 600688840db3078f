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

bool utf8_is_control(unsigned code)
{
	/* Unicode 15: the categories Cc, Cf, Zl and Zp, and the default-ignorable characters, which
	 * have no visible form. */
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

static bool is_start(char byte)
{
	return (byte & 0xc0) != 0x80;
}

int utf8_columns(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += is_start(*text);
	return n;
}

const char *utf8_cut(char *text, int columns)
{
	char *end = text;

	if (utf8_columns(text) <= columns)
		return text;
	for (int seen = 0; seen <= columns - 3; end++)
		seen += is_start(*end);
	memcpy(end - 1, "...", 4);
	return text;
}

const char *utf8_shorten(char *text, int columns)
{
	int n = utf8_columns(text), first, last;
	char *from = text, *to = text + strlen(text);

	if (columns < 5)
		columns = 5;
	if (n <= columns)
		return text;
	first = (columns - 2) / 2;
	last = columns - 3 - first;
	for (int seen = 0; seen <= first; from++)
		seen += is_start(*from);
	from--;
	while (last > 0)
		last -= is_start(*--to);
	memcpy(from, "...", 3);
	memmove(from + 3, to, strlen(to) + 1);
	return text;
}
