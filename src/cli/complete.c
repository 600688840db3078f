#include "cli/complete.h"

#include <string.h>

#define SCHEMES "redis://|rediss://|unix://"

/* The option of the subcommand that the word calls, or NULL. */
static const struct option_row *row_called(const struct complete *c, const char *word)
{
	for (int i = 0; i < option_rows_count; i++)
		if (option_is_of(&option_rows[i], c->command->id) &&
			option_is_called(&option_rows[i], word))
			return &option_rows[i];
	return NULL;
}

static void note(bool is_given[OPTIONS_COUNT], const struct option_row *row)
{
	if (row && is_given)
		is_given[row - option_rows] = true;
}

/* Returns the option in the word that takes a value, or NULL. *value: the part of the word that is
 * the value, or NULL: the next word is. is_given: the options in the word are noted there; or
 * NULL. */
static const struct option_row *read_option(const struct complete *c, const char *word,
	bool is_given[OPTIONS_COUNT], const char **value)
{
	const struct option_row *row = NULL;

	*value = NULL;
	if (word[0] != '-')
		return NULL;
	if (word[1] == '-') {
		row = row_called(c, word);
		note(is_given, row);
		*value = strchr(word, '=');
		if (*value)
			++*value;
		return row && option_takes_value(row) ? row : NULL;
	}
	for (const char *p = word + 1; *p; p++) {
		const char letter[] = {'-', *p, '\0'};

		row = row_called(c, letter);
		note(is_given, row);
		*value = p[1] ? p + 1 : NULL;
		if (row && option_takes_value(row))
			return row;
	}
	return NULL;
}

/* The node's URL begins at c->typed. */
static void read_url(struct complete *c)
{
	const char *host = strstr(c->typed, "//"), *at;

	c->kinds = SCHEMES;
	if (strncmp(c->typed, "unix://", 7) == 0)
		c->kinds = "FILE";
	else if (strncmp(c->typed, "redis://", 8) == 0 || strncmp(c->typed, "rediss://", 9) == 0)
		c->kinds = "HOST";
	else
		return;
	c->typed = host + 2;
	at = strrchr(c->typed, '@');
	if (at && strcmp(c->kinds, "HOST") == 0)
		c->typed = at + 1;
}

static void be_value(struct complete *c, const char *kinds, const char *typed)
{
	c->place = COMPLETE_VALUE;
	c->kinds = kinds;
	c->typed = typed;
	if (strcmp(kinds, "LIST") == 0)
		for (const char *p = typed; *p; p++)
			if (*p == ',' || *p == ' ')
				c->typed = p + 1;
	if (strcmp(kinds, "LIST") == 0 || strcmp(kinds, "URL") == 0)
		read_url(c);
}

static void be_value_of(struct complete *c, const struct option_row *row, const char *typed)
{
	bool is_profile = row->field == offsetof(struct settings, profile);

	be_value(c, is_profile ? "PROFILE" : row->value, typed);
}

/* The cursor is at words[at], after `redlock help`. */
static void read_topic(struct complete *c, char *const words[], int at)
{
	c->is_all = at == 2 && strcmp(words[1], "--all") == 0;
	if (at == 1 || c->is_all)
		c->place = COMPLETE_TOPIC;
	else if (at == 2 && c->word[0] == '-' && words[1][0] != '-')
		c->place = COMPLETE_ALL;
}

static bool is_key_given(const struct complete *c)
{
	return c->is_given[option_find(c->command->id, "key") - option_rows];
}

/* The cursor is at words[at], an operand; words[first] is the first one. has_end: after "--". */
static void read_operand(struct complete *c, char *const words[], int at, int first, bool has_end)
{
	unsigned flags = c->command->flags;
	bool wants_key = c->takes_operand && !is_key_given(c);

	if (c->command->id == COMMAND_HELP) {
		read_topic(c, words, at);
	} else if (c->command->id == COMMAND_COMPLETION) {
		if (at == first)
			be_value(c, c->command->operands, c->word);
	} else if (flags & TAKES_COMMAND) {
		c->place = COMPLETE_COMMAND_LINE;
		c->first = first;
	} else if (flags & TAKES_WORDS || (wants_key && (flags & NEEDS_KEY || c->word[0]))) {
		be_value(c, "KEY", c->word);
	} else if (flags & TAKES_OPTIONS && !c->word[0] && !has_end) {
		c->place = COMPLETE_OPTION;
	}
}

/* Reads the options before the cursor, which is at words[at], and tells whether "--" ends them.
 * Returns the index of the first operand of the command line of a COMMAND, or of the words after
 * "--"; -1: the cursor is at the value of an option. */
static int read_options(struct complete *c, char *const words[], int at, bool *has_end)
{
	const struct option_row *row;
	const char *value;
	int i;

	for (i = 1; i < at; i++) {
		if (words[i][0] != '-' || !words[i][1]) {
			if (c->command->flags & TAKES_COMMAND)
				return i;
			c->takes_operand = false;
			continue;
		}
		*has_end = strcmp(words[i], "--") == 0;
		if (*has_end) {
			c->takes_operand &= i + 1 == at;
			return i + 1;
		}
		row = read_option(c, words[i], c->is_given, &value);
		if (row && !value) {
			value = words[++i];
			if (i == at) {
				be_value_of(c, row, value);
				return -1;
			}
		}
		if (row && row->field == offsetof(struct settings, config))
			c->config = value;
	}
	return i;
}

static bool is_known(const struct complete *c, const char *letters)
{
	for (; *letters; letters++) {
		const char word[] = {'-', *letters, '\0'};

		if (!row_called(c, word))
			return false;
	}
	return true;
}

/* The word at the cursor begins with '-'. */
static void read_last_option(struct complete *c)
{
	bool is_long = c->word[1] == '-';
	const char *value;
	const struct option_row *row =
		read_option(c, c->word, is_long ? NULL : c->is_given, &value);

	if (row && value) {
		be_value_of(c, row, value);
		return;
	}
	c->place = COMPLETE_OPTION;
	c->is_letters = !is_long && c->word[1] && is_known(c, c->word + 1);
	c->is_full = row != NULL;
}

void complete_read(struct complete *c, char *const words[])
{
	int at = 0, first = 1;
	bool has_options, has_end = false;

	while (words[0] && words[at + 1])
		at++;
	*c = (struct complete){.place = COMPLETE_COMMAND, .word = words[0] ? words[at] : ""};
	c->typed = c->word;
	if (at == 0)
		return;
	c->place = COMPLETE_NOTHING;
	c->command = command_find(words[0]);
	if (!c->command)
		return;
	has_options = (c->command->flags & TAKES_OPTIONS) != 0;
	c->takes_operand = option_takes_operand(c->command->id);
	if (has_options)
		first = read_options(c, words, at, &has_end);
	if (first < 0)
		return;
	if (first < at || has_end || !has_options || c->word[0] != '-')
		read_operand(c, words, at, first, has_end);
	else
		read_last_option(c);
}

bool complete_wants(const struct complete *c, const struct option_row *row)
{
	bool is_once = row->kind != OPTION_KEY && row->kind != OPTION_NODES &&
		       row->field != offsetof(struct settings, verbose);

	if (row->kind == OPTION_SECRET || !option_is_of(row, c->command->id))
		return false;
	return !is_once || !c->is_given[row - option_rows];
}
