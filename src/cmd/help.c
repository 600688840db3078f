#include "cmd/help.h"

#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/option.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/usage.h"
#include "net/conn.h"
#include "net/tls.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MIN 40
#define WIDTH_MAX 100
#define WIDTH_USUAL 80

/* The column of an option's description. On a narrow terminal the description is on the next
 * line. */
#define TEXT_COLUMN 28
#define TEXT_COLUMN_BELOW 4
#define NARROW 60

#define STATUS_COLUMN 7 /* of a status' meaning */

/* A page is composed here and printed in one piece. */
static char page[32 * 1024];
static size_t used, width;

#define add(...) text_append(page, sizeof(page), &used, __VA_ARGS__)

static void begin(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long n = WIDTH_USUAL;

	if (!columns || !text_number(columns, 1, 10000, &n))
		if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
			n = size.ws_col;
	width = (size_t)(n < WIDTH_MIN ? WIDTH_MIN : n > WIDTH_MAX ? WIDTH_MAX : n);
	used = 0;
}

static const char *finished(void)
{
	assert(used < sizeof(page) - 1);
	return page;
}

static int show(void)
{
	fputs(finished(), stdout);
	return print_finish();
}

/* Adds text from column `at` on; continuation lines begin at `indent`. Breaks words that are
 * longer than a line. */
static void add_text(size_t at, size_t indent, const char *text)
{
	bool is_first = true;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (len > width - indent)
			len = width - indent;
		if (at + !is_first + len > width) {
			add("\n%*s", (int)indent, "");
			at = indent;
			is_first = true;
		}
		add("%s%.*s", is_first ? "" : " ", (int)len, text);
		at += !is_first + len;
		is_first = false;
		text += len + strspn(text + len, " ");
	}
	add("\n");
}

static void add_item(size_t indent, const char *name, size_t text_column, const char *text)
{
	size_t at = indent + strlen(name);

	add("%*s%s", (int)indent, "", name);
	if (at + 2 > text_column) {
		add("\n");
		at = 0;
	}
	add("%*s", (int)(text_column - at), "");
	add_text(text_column, text_column, text);
}

static size_t text_column(void)
{
	return width < NARROW ? TEXT_COLUMN_BELOW : TEXT_COLUMN;
}

/* The length of the text, or of its first part. */
static int part_of(const char *text, bool is_whole)
{
	return (int)(is_whole ? strlen(text) : strcspn(text, ";"));
}

static void add_option(const struct option_row *row, bool is_whole)
{
	char name[64], text[400];
	size_t n = 0;

	if (row->letter)
		text_append(name, sizeof(name), &n, "-%c, ", row->letter);
	else
		text_append(name, sizeof(name), &n, "%s", width < NARROW ? "" : "    ");
	text_append(name, sizeof(name), &n, "--%s%s%s", row->name, row->value ? " " : "",
		row->value ? row->value : "");
	snprintf(text, sizeof(text), "%.*s%s%s%s", part_of(row->help, is_whole), row->help,
		row->initial ? " [default: " : "", row->initial ? row->initial : "",
		row->initial ? "]" : "");
	add_item(2, name, text_column(), text);
}

static bool is_shown(const struct option_row *row, enum command command)
{
	return option_is_of(row, command) && row->kind != OPTION_SECRET;
}

static void add_all_options(const struct command_row *command)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		bool is_empty = true;

		for (int i = 0; i < option_rows_count; i++) {
			const struct option_row *row = &option_rows[i];

			if (row->group != (enum option_group)group || !is_shown(row, command->id))
				continue;
			if (is_empty)
				add("\n%s\n", option_group_title(row->group));
			is_empty = false;
			add_option(row, true);
		}
	}
	add("\n");
	add_text(0, 0,
		"Durations: 250ms 1.5s 30s 5m 1h30m 1d; a bare number is seconds. Most options can "
		"also be set in the environment: --node-timeout as REDLOCK_NODE_TIMEOUT, and so "
		"on; and in a configuration file: see 'redlock help config'.");
}

/* Copies the next word of a list that is separated by blanks; returns the rest, or NULL at the
 * end. */
static const char *next_word(char word[40], const char *list)
{
	size_t len = strcspn(list, " ");

	assert(len < 40);
	snprintf(word, 40, "%.*s", (int)len, list);
	return len > 0 ? list + len + strspn(list + len, " ") : NULL;
}

static void add_common_options(const struct command_row *command)
{
	const char *list = command->common;
	char word[40], text[200];
	int count = 0;

	for (int i = 0; i < option_rows_count; i++)
		count += is_shown(&option_rows[i], command->id);
	add("\nCommon options\n");
	while ((list = next_word(word, list)))
		add_option(option_find(command->id, word), false);
	add("\n");
	snprintf(text, sizeof(text), "'redlock help %s --all' shows all %d options.", command->name,
		count);
	add_text(0, 0, text);
}

/* Is the word in the list "extend, release:", which ends with the colon? */
static bool is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list && *list != ':' && *list != ';'; list += strspn(list, ", ")) {
		size_t end = strcspn(list, ",:;");

		if (end == len && strncmp(list, word, len) == 0)
			return list[strcspn(list, ":;")] == ':';
		list += end;
	}
	return false;
}

/* The part of a status' meaning that is about the subcommand. */
static const char *meaning_for(const char *meaning, const char *command)
{
	for (const char *part = strstr(meaning, "; "); part; part = strstr(part + 2, "; "))
		if (is_listed(part + 2, command))
			return strchr(part, ':') + 2;
	return meaning;
}

/* The row of a status; one that is not in the table is the command's. */
static struct status_row status_row(int status)
{
	for (int i = 0; i < status_rows_count; i++)
		if (status_rows[i].number == status)
			return status_rows[i];
	if (status > 128 && status <= 128 + SIGRTMAX)
		return (struct status_row){status,
			"128 and a signal's number; the signal ended the command, or redlock",
			"130 is SIGINT (Ctrl-C), 143 SIGTERM. 137 is SIGKILL, which ends processes "
			"when memory runs out (dmesg says so), and with --kill-after."};
	return (struct status_row){status,
		"the command's own; redlock itself ends with it only if -E names it",
		"See the documentation of the command, and its messages."};
}

/* `command`: show the part about this subcommand; NULL: the whole. */
static void add_status(const struct status_row *row, const char *command)
{
	char number[8], text[400];
	const char *meaning = command ? meaning_for(row->meaning, command) : row->meaning;

	snprintf(number, sizeof(number), "%d", row->number);
	snprintf(text, sizeof(text), "%.*s", part_of(meaning, !command), meaning);
	add_item(2, number, STATUS_COLUMN, text);
}

static void add_statuses(const struct command_row *command, bool is_whole)
{
	const char *list = command->statuses;
	char word[40];

	add("\nExit status%s\n", command->flags & TAKES_COMMAND ? ": that of COMMAND, or" : "");
	while ((list = next_word(word, list))) {
		const struct status_row row = status_row(atoi(word));

		add_status(&row, is_whole ? NULL : command->name);
	}
}

/* Examples are not wrapped: they must be fit to be copied. */
static void add_examples(const char *examples)
{
	add("\nExamples\n");
	for (const char *end; *examples; examples = end + 1) {
		end = strchr(examples, '\n');
		add("  %.*s\n", (int)(end - examples), examples);
	}
}

static void add_command(const struct command_row *row, bool has_all)
{
	char title[100];

	snprintf(title, sizeof(title), "redlock %s%s%s", row->name, *row->operands ? " " : "",
		row->operands);
	add_text(0, 4, title);
	add_item(0, "", 2, row->summary);
	if (!(row->flags & TAKES_OPTIONS))
		return;
	if (has_all)
		add_all_options(row);
	else
		add_common_options(row);
	add_statuses(row, has_all);
	add_examples(row->examples);
}

static void add_commands(enum command_group group)
{
	size_t longest = 0;

	for (int i = 0; i < command_rows_count; i++)
		if (strlen(command_rows[i].name) > longest)
			longest = strlen(command_rows[i].name);
	add("\n%s\n", command_group_title(group));
	for (int i = 0; i < command_rows_count; i++)
		if (command_rows[i].group == group)
			add_item(2, command_rows[i].name, 2 + longest + 2, command_rows[i].summary);
}

static void add_overview(void)
{
	add_text(0, 0,
		"redlock runs a command while it holds a lock on a majority of Redis servers:");
	add("\n  redlock run -k nightly --nodes 'redis://a redis://b redis://c' -- backup.sh\n");
	for (int group = 0; group < COMMANDS_COUNT; group++)
		add_commands((enum command_group)group);
	add("\n");
	add_text(0, 0,
		"'redlock help SUBCOMMAND' shows common options, exit statuses and examples, "
		"'redlock help SUBCOMMAND --all' all options, 'redlock help --OPTION' one option, "
		"'redlock help STATUS' the usual causes of an exit status, and what to do.");
}

static void add_commands_of(char *dst, size_t size, size_t *n, unsigned commands)
{
	const char *before = "";

	for (int i = 0; i < command_rows_count; i++)
		if (commands & 1u << command_rows[i].id) {
			text_append(dst, size, n, "%s%s", before, command_rows[i].name);
			before = ", ";
		}
}

/* The subcommands that have the option, and its variable, with those that read it if not all do. */
static void add_places(const struct option_row *row)
{
	char text[400], env[OPTION_ENV_MAX];
	size_t n = 0;

	text_append(text, sizeof(text), &n, "(");
	add_commands_of(text, sizeof(text), &n, row->commands);
	if (row->env)
		text_append(text, sizeof(text), &n, "; %s", option_env_name(env, row));
	if (row->env && row->env != row->commands) {
		text_append(text, sizeof(text), &n, " for ");
		add_commands_of(text, sizeof(text), &n, row->env);
	}
	text_append(text, sizeof(text), &n, ")");
	add_item(0, "", text_column(), text);
}

int help_command(const char *name, bool has_all)
{
	const struct command_row *row = name ? command_find(name) : NULL;

	begin(STDOUT_FILENO);
	if (row)
		add_command(row, has_all);
	else
		add_overview();
	for (int i = 0; !row && has_all && i < command_rows_count; i++) {
		fputs(finished(), stdout);
		begin(STDOUT_FILENO);
		add("\n");
		add_command(&command_rows[i], true);
	}
	return show();
}

/* word: an option with its dashes. */
static int help_option(const char *word)
{
	begin(STDOUT_FILENO);
	for (int i = 0; i < option_rows_count; i++)
		if (option_is_called(&option_rows[i], word)) {
			add_option(&option_rows[i], true);
			add_places(&option_rows[i]);
		}
	return show();
}

static int help_status(int status)
{
	const struct status_row row = status_row(status);

	begin(STDOUT_FILENO);
	add_status(&row, NULL);
	if (row.advice[0])
		add_item(0, "", STATUS_COLUMN, row.advice);
	return show();
}

/* An exit status, or an option with or without its dashes. */
static int help_word(const char *word)
{
	char option[40];
	long number;

	if (text_number(word, 0, 255, &number))
		return help_status((int)number);
	if (word[0] == '-')
		return usage_is_option(word) ? help_option(word) : usage_early_option(word);
	snprintf(option, sizeof(option), "--%s", word);
	return usage_is_option(option) ? help_option(option) : usage_unknown_command(word);
}

bool help_wants_all(const char *word)
{
	return word && strcmp(word, "--all") == 0;
}

int cmd_help(struct settings *s)
{
	const char *word = NULL;
	bool has_all = false;

	for (int i = 0; s->operands[i]; i++)
		if (help_wants_all(s->operands[i]))
			has_all = true;
		else if (word)
			return usage_unexpected(s->operands[i]);
		else
			word = s->operands[i];
	return word && !command_find(word) ? help_word(word) : help_command(word, has_all);
}

void help_missing_command(void)
{
	begin(log_fd());
	add_overview();
	add("\n");
	log_text(LOG_ERRORS, finished());
	log_say(LOG_ERRORS, "missing subcommand");
}

int help_version(void)
{
	char libc[40];

	/* musl has no version that a program can ask for. */
	if (confstr(_CS_GNU_LIBC_VERSION, libc, sizeof(libc)) == 0)
		snprintf(libc, sizeof(libc), "not glibc");
	printf("redlock %s\nTLS: %s\nhiredis: %s\nlibc: %s\n", REDLOCK_VERSION, tls_version(),
		conn_hiredis_version(), libc);
	return print_finish();
}

int cmd_version(struct settings *s)
{
	(void)s;
	return help_version();
}
