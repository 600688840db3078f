/* config: the text of a configuration file. */
#include "cli/config_file.h"

#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config_file c;
static struct err e;

static int parse_bytes(const char *from, size_t len)
{
	static char text[CONFIG_TEXT_MAX + 1];

	memcpy(text, from, len);
	text[len] = '\0';
	e.kind = ERR_NONE;
	return config_file_parse(&c, "file", text, len, &e);
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void expect(int i, const char *profile, const char *name, const char *value, int number,
	int name_column, int value_column)
{
	const struct config_file_line *line = &c.line[i];

	if (!CHECK(i < c.count))
		return;
	CHECK_TEXT(line->profile, profile);
	CHECK_TEXT(line->name, name);
	CHECK_TEXT(line->value, value);
	CHECK_INT(line->number, number);
	CHECK_INT(line->name_column, name_column);
	CHECK_INT(line->value_column, value_column);
}

TEST(config_lines)
{
	CHECK_INT(parse("# comment\nttl = 30s\n\n; another\n[prod]\n  node=redis://a\r\n"
			"\tnodes : b c  \n [x y] ; rest\nempty =\n[prod]\nlast = one"),
		0);
	CHECK_INT(c.count, 5);
	expect(0, "", "ttl", "30s", 2, 1, 7);
	expect(1, "prod", "node", "redis://a", 6, 3, 8);
	expect(2, "prod", "nodes", "b c", 7, 2, 10);
	expect(3, "x y", "empty", "", 9, 1, 8);
	expect(4, "prod", "last", "one", 11, 1, 8);
	CHECK_INT(c.profiles, 2);
	CHECK(config_file_has(&c, "prod") && config_file_has(&c, "x y"));
	CHECK(!config_file_has(&c, "") && !config_file_has(&c, "pro"));
	CHECK_INT(parse(""), 0);
	CHECK_INT(c.count + c.profiles, 0);
	CHECK_INT(parse("\xef\xbb\xbfttl = 1s\n"), 0);
	expect(0, "", "ttl", "1s", 1, 1, 7);
	CHECK_INT(parse("\xef\xbb\xbf[p]\nttl = 1s\n"), 0);
	expect(0, "p", "ttl", "1s", 2, 1, 7);
}

/* A password may contain any character. */
TEST(config_values_are_whole)
{
	CHECK_INT(parse("password = a ;b#c = d: \"e\"\n"), 0);
	expect(0, "", "password", "a ;b#c = d: \"e\"", 1, 1, 12);
	CHECK_INT(parse("password:\t= a : \t\r\nx=\n y\v=\f"), 0);
	expect(0, "", "password", "= a :", 1, 1, 11);
	expect(1, "", "x", "", 2, 1, 3);
	expect(2, "", "y", "", 3, 2, 6);
}

TEST(config_default_profile)
{
	CHECK_INT(parse("[prod] # one\n[default]\t;two\nttl = 1s\n[other]\r\n"), 0);
	expect(0, "", "ttl", "1s", 3, 1, 7);
	CHECK_INT(c.profiles, 2);
	CHECK(!config_file_has(&c, "default"));
}

TEST(config_profile_names)
{
	char text[20];

	CHECK_INT(parse("[prod]\n[b\x1b]\n"), 0);
	config_file_profiles(&c, text, sizeof(text));
	CHECK_TEXT(text, "prod, b\\x1b");
	CHECK_INT(parse("[a profile with a name of many words]\n[more]\n"), 0);
	config_file_profiles(&c, text, sizeof(text));
	CHECK_TEXT(text, "a profile with a na");
	CHECK_INT(parse(""), 0);
	config_file_profiles(&c, text, sizeof(text));
	CHECK_TEXT(text, "none");
	/* Long names that differ at their end only are two profiles. */
	CHECK_INT(
		parse("[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\nx = 1\n"
		      "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab]\nx = 2\n"),
		0);
	CHECK_INT(c.profiles, 2);
	CHECK(strcmp(c.line[0].profile, c.line[1].profile) != 0);
}

TEST(config_errors)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"ttl\n", "file:1:1: is neither 'name = value' nor '[profile]'"},
		{"ttl = 1\n\n  [prod\n", "file:3:3: is neither 'name = value' nor '[profile]'"},
		{"ttl = 1\n[]\n", "file:2:1: a profile without a name"},
		{" []\nttl\n", "file:1:2: a profile without a name"},
		{"[prod]  ttl = 1\n", "file:1:9: after '[profile]' there can only be a comment"},
		{"password s3cret==\n", "file:1:1: is neither 'name = value' nor '[profile]'"},
		{"  nodes redis://a\n", "file:1:3: is neither 'name = value' nor '[profile]'"},
		{"[prod]]\n", "file:1:7: after '[profile]' there can only be a comment"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK_INT(parse(cases[i].text), -1);
		CHECK_INT(e.kind, ERR_CONFIG);
		CHECK_TEXT(e.text, cases[i].want);
	}
	CHECK_INT(parse_bytes("a = 1\nb = \0x\n", 13), -1);
	CHECK_TEXT(e.text, "file:2:5: a byte of zero");
	CHECK_INT(parse_bytes("a = 1\0", 6), -1);
	CHECK_TEXT(e.text, "file:1:6: a byte of zero");
}

TEST(config_limits)
{
	static char text[CONFIG_TEXT_MAX];
	size_t len = 0;

	memset(text, 'x', CONFIG_LINE_MAX);
	memcpy(text, "a = ", 4);
	text[CONFIG_LINE_MAX] = '\0';
	CHECK_INT(parse(text), 0);
	CHECK_INT(strlen(c.line[0].value), CONFIG_LINE_MAX - 4);
	strcpy(text + CONFIG_LINE_MAX, "x");
	CHECK_INT(parse(text), -1);
	CHECK_TEXT(e.text, "file:1:1: the line is too long");

	for (int i = 0; i <= CONFIG_LINES_MAX; i++) {
		CHECK_INT(parse_bytes(text, len), 0);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "a=%d\n", i);
	}
	CHECK_INT(parse_bytes(text, len), -1);
	CHECK_TEXT(e.text, "file:501:1: too many settings");

	len = 0;
	for (int i = 0; i <= CONFIG_PROFILES_MAX; i++) {
		CHECK_INT(parse_bytes(text, len), 0);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "[%d]\n", i);
	}
	CHECK_INT(parse_bytes(text, len), -1);
	CHECK_TEXT(e.text, "file:51:1: too many profiles");
}
