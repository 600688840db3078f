#include "cmd/offers.h"

#include "base/exit.h"
#include "base/signal_name.h"
#include "base/utf8.h"
#include "cli/complete.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "file/registry.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Is it valid UTF-8 without controls? The shells read one value per line, and print it to a
 * terminal. */
static bool is_line(const char *text)
{
	size_t len = strlen(text), n;
	unsigned code;

	for (; len > 0; text += n, len -= n) {
		n = utf8_decode((const unsigned char *)text, len, &code);
		if (n == 0 || utf8_is_control(code))
			return false;
	}
	return true;
}

/* text: NULL: none. */
static void print_value(const char *value, const char *text)
{
	if (!is_line(value))
		return;
	if (text)
		print_pair(value, text);
	else
		print_line("%s", value);
}

/* Reading a pipe or a terminal could block Tab endlessly. */
static bool is_no_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* The file that --config names; the shell has not replaced a ~ yet. NULL: the usual one. */
static const char *config_path(const char *named)
{
	static char path[PATH_MAX];
	const char *home = getenv("HOME");

	if (!named || !*named)
		return getenv("REDLOCK_CONFIG");
	if (strncmp(named, "~/", 2) != 0 || !home)
		return named;
	snprintf(path, sizeof(path), "%s%s", home, named + 1);
	return path;
}

static void print_profiles(const char *config)
{
	static struct settings s;
	const struct config_file *c;
	struct err e;

	/* Completion must work even if the environment has invalid settings: read as few variables
	 * as possible. */
	settings_init(&s, COMMAND_COMPLETION);
	s.config = config_path(config);
	if ((s.config && is_no_file(s.config)) || setup(&s, &e) < 0)
		return;
	c = setup_file();
	for (int i = 0; c && i < c->profiles; i++)
		print_value(c->profile[i], NULL);
}

static void print_held(void)
{
	static struct settings s;
	struct registry registry;
	struct entry entry;
	struct err e;

	registry_open(&registry);
	while (registry_next(&registry, &entry)) {
		settings_init(&s, COMMAND_COMPLETION);
		if (settings_set_keys(&s, entry.key, entry.keys, &e) < 0)
			continue;
		for (int i = 0; i < s.keys.count; i++)
			print_value(s.keys.key[i], NULL);
	}
	registry_close(&registry);
}

static void print_durations(const char *typed)
{
	static const struct {
		const char *unit, *name;
	} units[] = {{"ms", "milliseconds"}, {"s", "seconds"}, {"m", "minutes"}, {"h", "hours"},
		{"d", "days"}};
	size_t len = strlen(typed);
	char value[100];

	if (!isdigit((unsigned char)typed[0]) || typed[strspn(typed, "0123456789.dhms")] ||
		len > sizeof(value) - 3)
		return;
	while (isalpha((unsigned char)typed[len - 1]))
		len--;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		snprintf(value, sizeof(value), "%.*s%s", (int)len, typed, units[i].unit);
		print_value(value, units[i].name);
	}
}

/* With SIG, and in capitals, if they are typed so. No option takes SIGSTOP. */
static void print_signals(const char *typed)
{
	const char *prefix = strncasecmp(typed, "sig", 3) == 0 ? "sig" : "";
	bool is_upper = false;
	char name[20];

	for (const char *p = typed; *p; p++)
		is_upper |= isupper((unsigned char)*p);
	for (int i = 1; i < NSIG; i++) {
		if (!signal_name(i) || i == SIGSTOP)
			continue;
		snprintf(name, sizeof(name), "%s%s", prefix, signal_name(i));
		for (char *p = name; *p; p++)
			*p = (char)(is_upper ? toupper((unsigned char)*p)
					     : tolower((unsigned char)*p));
		print_value(name, NULL);
	}
}

static void print_kind(const char *kind, const char *typed, const char *config)
{
	if (strcmp(kind, "D") == 0)
		print_durations(typed);
	else if (strcmp(kind, "SIG") == 0)
		print_signals(typed);
	else if (strcmp(kind, "KEY") == 0)
		print_held();
	else if (strcmp(kind, "PROFILE") == 0)
		print_profiles(config);
	else if (islower((unsigned char)kind[0]))
		print_value(kind, NULL);
}

static void print_values(const struct complete *c)
{
	bool has_signals = strstr(c->kinds, "SIG") != NULL;
	const char *list = c->kinds;
	char kind[40];
	long number;

	while (*list) {
		size_t len = strcspn(list, "|");

		snprintf(kind, sizeof(kind), "%.*s", (int)len, list);
		list += len + (list[len] != '\0');
		/* term and kill are among the signals */
		if (!has_signals || !signal_parse(kind, &number))
			print_kind(kind, c->typed, c->config);
	}
}

static void print_commands(void)
{
	for (int i = 0; i < command_rows_count; i++)
		print_value(command_rows[i].name, command_rows[i].summary);
}

static void print_option(const struct option_row *row, bool has_letter)
{
	char word[40];

	if (has_letter && row->letter) {
		snprintf(word, sizeof(word), "-%c", row->letter);
		print_value(word, row->help);
	}
	snprintf(word, sizeof(word), "--%s", row->name);
	print_value(word, row->help);
}

/* The word, and the word with one more letter. */
static void print_letters(const struct complete *c)
{
	char word[40];

	print_value(c->word, NULL);
	for (int i = 0; i < option_rows_count && !c->is_full; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->letter || !complete_wants(c, row) || strlen(c->word) > sizeof(word) - 2)
			continue;
		snprintf(word, sizeof(word), "%s%c", c->word, row->letter);
		print_value(word, row->help);
	}
}

/* Without a '-', names are enough. */
static void print_options(const struct complete *c)
{
	if (c->is_letters)
		print_letters(c);
	for (int i = 0; i < option_rows_count && !c->is_letters; i++)
		if (complete_wants(c, &option_rows[i]))
			print_option(&option_rows[i], c->word[0] == '-');
}

/* Is it the first row with its name? */
static bool is_first(const struct option_row *row)
{
	for (const struct option_row *other = option_rows; other < row; other++)
		if (strcmp(other->name, row->name) == 0)
			return false;
	return true;
}

static void print_all(void)
{
	print_value("--all", "show all options");
}

static void print_topics(const struct complete *c)
{
	if (c->word[0] != '-') {
		print_commands();
		return;
	}
	if (!c->is_all)
		print_all();
	for (int i = 0; i < option_rows_count; i++)
		if (option_rows[i].kind != OPTION_SECRET && is_first(&option_rows[i]))
			print_option(&option_rows[i], false);
}

static void print_first(const struct complete *c)
{
	if (c->word[0] != '-') {
		print_commands();
		return;
	}
	print_value("-h", "show the commands");
	print_value("--help", "show the commands");
	print_value("--version", "show the version");
}

/* Prints the first three lines. */
static void print_head(const struct complete *c)
{
	static const struct {
		const char *kind, *action, *note;
	} kinds[] = {
		{"FILE", "files", "FILE"},
		{"PROGRAM", "programs", "PROGRAM"},
		{"PID", "processes", "PID"},
		{"HOST", "hosts", "HOST"},
		{"D", "words",
			"duration, such as 250ms 1.5s 30s 5m 1h30m 1d; a bare number is seconds"},
	};
	const char *kind = c->place == COMPLETE_VALUE ? c->kinds : "", *last = strrchr(kind, '|');
	const char *action = strstr(kind, "//") ? "beginnings" : "words", *note;

	kind = last ? last + 1 : kind;
	note = islower((unsigned char)kind[0]) ? "" : kind;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kind, kinds[i].kind) == 0) {
			action = kinds[i].action;
			note = kinds[i].note;
		}
	if (c->place == COMPLETE_COMMAND_LINE)
		print_line("command %d", c->first);
	else
		print_line("%s", action);
	print_line("%.*s", (int)(c->typed - c->word), c->word);
	print_line("%s", note);
}

static void print_rest(const struct complete *c)
{
	switch (c->place) {
	case COMPLETE_NOTHING:
	case COMPLETE_COMMAND_LINE:
		break;
	case COMPLETE_COMMAND:
		print_first(c);
		break;
	case COMPLETE_TOPIC:
		print_topics(c);
		break;
	case COMPLETE_ALL:
		print_all();
		break;
	case COMPLETE_OPTION:
		print_options(c);
		break;
	case COMPLETE_VALUE:
		print_values(c);
		break;
	}
}

int offers_print(char *const words[])
{
	struct complete c;

	complete_read(&c, words);
	if (!is_line(c.word))
		return STATUS_OK;
	print_head(&c);
	options_hide_passwords(words, INT_MAX);
	print_rest(&c);
	return print_finish();
}
