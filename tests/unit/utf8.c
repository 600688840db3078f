/* utf8: characters, and bytes from elsewhere made safe to show. */
#include "base/utf8.h"

#include "base/text.h"

#include "unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *escaped(const char *src, size_t size)
{
	static char dst[256];

	memset(dst, 'Z', sizeof(dst));
	CHECK(utf8_escape(dst, size, src, strlen(src)) == dst);
	CHECK(dst[size] == 'Z');
	return dst;
}

TEST(escape_keeps_printable_text)
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
		/* a command of a CI system's log */
		{"##[error]x ###[a", "\\x23#[error]x #\\x23#[a"},
		{"##vso[a ##teamcity[b", "\\x23#vso[a \\x23#teamcity[b"},
		{"# ## #[ #vso[ ##a b[ ##a ##", "# ## #[ #vso[ ##a b[ ##a ##"},
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

/* The first and the last of each kind, and their visible neighbours. */
TEST(escape_replaces_invisible_characters)
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
		/* never inside a character */
		{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 10,
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"},
		{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		 "x",
			10, "\xe2\x82\xac\xe2\x82\xac..."},
		{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 9, "\xe2\x82\xac..."},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_TEXT(escaped(cases[i].src, cases[i].size), cases[i].want);
	CHECK_TEXT(utf8_escape((char[8]){0}, 8, "a\0b", 3), "a\\x00b");
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
			/* more bytes that look like UTF-8 */
			if (n % 2 && i > 0 && src[i - 1] >= 0xc0)
				src[i] = (unsigned char)(0x80 | (src[i] & 0x3f));
		}
		memset(dst, 'Z', sizeof(dst));
		utf8_escape(dst, size, src, len);
		if (!CHECK(memchr(dst, '\0', size) != NULL) || !CHECK(is_clean(dst)) ||
			!CHECK(dst[size] == 'Z')) {
			printf("# in turn %d\n", n);
			return;
		}
	}
}

TEST(decode_valid_and_invalid_characters)
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
		size_t n = utf8_decode(
			(const unsigned char *)cases[i].bytes, strlen(cases[i].bytes), &code);

		unit_check(n == cases[i].n && (n == 0 || code == cases[i].code), __FILE__, __LINE__,
			"case %zu: %zu, %x", i, n, code);
	}
}

TEST(texts_are_shortened_at_the_end_or_in_the_middle)
{
	static const char long_text[] = "\xc3\xa4"
					"bcdefgh\xe2\x82\xac";
	char text[sizeof(long_text)];

	for (int columns = 9; columns < 12; columns++) {
		strcpy(text, long_text);
		CHECK_TEXT(utf8_cut(text, columns), long_text);
		CHECK_TEXT(utf8_shorten(text, columns), long_text);
	}
	CHECK_TEXT(utf8_cut(text, 8), "\xc3\xa4"
				      "bcde...");
	strcpy(text, long_text);
	CHECK_TEXT(utf8_cut(text, 4), "\xc3\xa4...");
	strcpy(text, long_text);
	CHECK_TEXT(utf8_shorten(text, 8), "\xc3\xa4"
					  "bc...h\xe2\x82\xac");
	strcpy(text, long_text);
	CHECK_TEXT(utf8_shorten(text, 1), "\xc3\xa4...\xe2\x82\xac");
}

/* ka, ki, a latin letter, and e with a mark of its own */
#define KA "\xe3\x82\xab"
#define KI "\xe3\x82\xad"
#define MARKED "e\xcc\x81"

TEST(wide_characters_have_two_columns_and_marks_none)
{
	static const char wide[] = KA KI KA KI KA KI;
	char text[80];

	CHECK_INT(utf8_columns(""), 0);
	CHECK_INT(utf8_columns("abc"), 3);
	CHECK_INT(utf8_columns(KA "b" KI), 5);
	CHECK_INT(utf8_columns(MARKED MARKED), 2);
	CHECK_INT(utf8_columns("\xe1\x84\x80\xe1\x85\xa1"), 2); /* Hangul in parts */
	CHECK_INT(utf8_columns("\xef\xbd\xb6"), 1); /* a narrow ka */
	CHECK_INT(utf8_columns("\xef\xbc\xa1"), 2); /* a full-width A */
	CHECK_INT(utf8_columns("\xe2\x98\x83\xc3\xbc"), 2); /* a snowman */
	CHECK_INT(utf8_columns("\xf0\x9f\x94\x92"), 2); /* a lock */
	CHECK_INT(utf8_columns("\xf0\xa0\x80\x80"), 2);
	for (int columns = 5; columns < 15; columns++) {
		strcpy(text, wide);
		CHECK(utf8_columns(utf8_cut(text, columns)) <= columns);
		CHECK(columns < 12 || strcmp(text, wide) == 0);
		strcpy(text, wide);
		CHECK(utf8_columns(utf8_shorten(text, columns)) <= columns);
		CHECK(columns < 12 || strcmp(text, wide) == 0);
	}
	strcpy(text, wide);
	CHECK_TEXT(utf8_cut(text, 8), KA KI "...");
	strcpy(text, wide);
	CHECK_TEXT(utf8_shorten(text, 9), KA "..." KI);
	strcpy(text, wide);
	CHECK_TEXT(utf8_shorten(text, 11), KA KI "..." KA KI);
	strcpy(text, "ab" MARKED "cd" MARKED "fg");
	CHECK_TEXT(utf8_shorten(text, 7), "ab..."
					  "fg");
	strcpy(text, "a" MARKED "cd" MARKED MARKED "g");
	CHECK_TEXT(utf8_shorten(text, 6), "a" MARKED "..."
					  "g");
}
