/* option: the table, the command line and the environment. */
#include "cli/option.h"

#include "base/text.h"
#include "proto/request.h"
#include "unit/unit.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS USEC_MSEC
#define WORDS_MAX 12

struct reading {
	struct settings s;
	struct err e;
	int rc;
};

static char *nothing[] = {NULL};

/* The command that reads the options. */
static enum command command = COMMAND_RUN;

static void be_one_of(unsigned commands)
{
	for (command = COMMAND_RUN; !(commands & 1u << command);)
		command++;
}

static struct reading *read_all(char *argv[], char *const envp[])
{
	static struct reading r;

	settings_init(&r.s, command);
	r.e = (struct err){.kind = ERR_NONE};
	r.rc = options_read(&r.s, 0, argv, envp, &r.e);
	return &r;
}

/* `line` and `env` are words separated by '|'. */
static struct reading *read_line(const char *line, const char *env)
{
	static char words[512], env_words[512];
	char *argv[WORDS_MAX + 1] = {NULL}, *envp[WORDS_MAX + 1] = {NULL}, *rest = words;

	snprintf(words, sizeof(words), "%s", line);
	snprintf(env_words, sizeof(env_words), "%s", env);
	for (int n = 0; *line && n < WORDS_MAX && rest; n++)
		argv[n] = strsep(&rest, "|");
	rest = env_words;
	for (int n = 0; *env && n < WORDS_MAX && rest; n++)
		envp[n] = strsep(&rest, "|");
	return read_all(argv, envp);
}

static const struct option_row *row_of(const char *name)
{
	for (int i = 0; i < option_rows_count; i++)
		if (strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
	return NULL;
}

static const char *value_of(const struct reading *r, const char *name)
{
	static char text[400];
	const char *value = option_value(text, sizeof(text), &r->s, row_of(name));

	return value ? value : "nothing";
}

#define ENV_SLOT "REDLOCK_KEY=a|REDLOCK_TOKEN=t|REDLOCK_LIMIT=3|REDLOCK_SLOT=2"

/* ---- the table ---- */

static size_t width(const struct option_row *row)
{
	switch (row->kind) {
	case OPTION_TEXT:
	case OPTION_ANY_TEXT:
	case OPTION_SECRET:
	case OPTION_KEY_FORMAT:
		return sizeof(char *);
	case OPTION_KEY:
		return sizeof(struct key_list);
	case OPTION_NODES:
		return sizeof(struct node_list);
	case OPTION_NO_WAIT:
	case OPTION_DURATION:
	case OPTION_TIME_LIMIT:
		return sizeof(usec);
	case OPTION_ON_LOST:
	case OPTION_SIGNAL:
	case OPTION_COUNT:
	case OPTION_OFF:
	case OPTION_STATUS:
	case OPTION_FORMAT:
	case OPTION_JSON:
	case OPTION_PID:
	case OPTION_FENCE:
	case OPTION_SLOT:
	case OPTION_SERVERS:
	case OPTION_GUARD:
	case OPTION_FACTOR:
		break;
	}
	return sizeof(long);
}

static bool takes_value(const struct option_row *row)
{
	return row->kind != OPTION_COUNT && row->kind != OPTION_OFF &&
	       row->kind != OPTION_NO_WAIT && row->kind != OPTION_JSON;
}

/* Does no other option have this name or letter? Rows of one name are one option. */
static bool is_unique(const struct option_row *row, const char *alias)
{
	bool is = strlen(alias) < 31;
	char word[40];

	snprintf(word, sizeof(word), "-%s%s", alias[1] ? "-" : "", alias);
	for (int i = 0; i < option_rows_count; i++)
		is &= option_is_called(&option_rows[i], word) ==
		      (strcmp(option_rows[i].name, row->name) == 0);
	return is;
}

TEST(option_table_is_sound)
{
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		size_t len = strlen(row->name);

		CHECK(row->field + width(row) <= sizeof(struct settings));
		/* "REDLOCK_" and the name in 48 bytes; "--name" in 32. */
		CHECK(len > 1 && len < 31);
		CHECK(strspn(row->name, "abcdefghijklmnopqrstuvwxyz-") == len);
		CHECK(row->name[0] != '-' && row->name[len - 1] != '-');
		CHECK(!row->letter || isalpha((unsigned char)row->letter));
		CHECK(row->help && strlen(row->help) > 5);
		CHECK(takes_value(row) == (row->value != NULL));
		CHECK(row->group < GROUP_COUNT && *option_group_title(row->group));
		for (const char *const *alias = row->aliases; alias && *alias; alias++)
			CHECK(is_unique(row, *alias));
		for (int j = 0; j < i; j++) {
			const struct option_row *other = &option_rows[j];

			CHECK(strcmp(row->name, other->name) != 0 ||
				!(row->commands & other->commands));
			/* Else they are one row. */
			CHECK(strcmp(row->name, other->name) != 0 ||
				strcmp(row->help, other->help) != 0);
			CHECK(!row->letter || row->letter != other->letter ||
				!(row->commands & other->commands));
			CHECK(other->group <= row->group);
			CHECK(row->field == other->field ||
				row->field + width(row) <= other->field ||
				other->field + width(other) <= row->field);
		}
	}
}

TEST(command_names)
{
	for (int i = 0; i < command_rows_count; i++) {
		const struct command_row *row = &command_rows[i];

		CHECK(command_find(row->name) == row);
		CHECK(row->operands && row->summary && *row->summary);
		for (int j = 0; j < i; j++)
			CHECK(strcmp(row->name, command_rows[j].name) != 0 &&
				row->id != command_rows[j].id);
	}
	CHECK_INT(command_find("run")->id, COMMAND_RUN);
	CHECK_INT(command_find("help")->id, COMMAND_HELP);
	CHECK_INT(command_find("version")->id, COMMAND_VERSION);
	CHECK(command_find("") == NULL);
	CHECK(command_find("ru") == NULL);
	CHECK(command_find("runs") == NULL);
}

TEST(command_nearest_name)
{
	static const struct {
		const char *typed, *want;
	} cases[] = {{"rnu", "run"}, {"runn", "run"}, {"hlep", "help"}, {"verison", "version"},
		{"versoin", "version"}, {"rel", "release"}, {"backup", NULL}, {"", NULL},
		{"zzz", NULL}, {"unlock", "release"}, {"list", "status"}, {"monitor", "status"},
		{"kill", "break"}, {"with", "run"}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *got = command_nearest(cases[i].typed);

		CHECK_TEXT(got ? got : "none", cases[i].want ? cases[i].want : "none");
	}
}

TEST(option_nearest_name)
{
	const unsigned of_doctor = 1u << COMMAND_DOCTOR, of_run = 1u << COMMAND_RUN;

	CHECK_TEXT(option_nearest("stirct", of_doctor), "strict");
	CHECK(option_nearest("stirct", of_run) == NULL);
	CHECK_TEXT(option_nearest("stirct", ~0u), "strict");
	CHECK_TEXT(option_nearest("nonblok", of_run), "nonblock");
	/* --password is not allowed on a command line. */
	CHECK_TEXT(option_nearest("password", of_run), "password-file");
	CHECK_TEXT(option_nearest("timout", of_run), "timeout");
	CHECK(option_nearest("timeout", of_doctor) == NULL);
	/* Names of other programs, for the commands that have the option. */
	CHECK_TEXT(option_nearest("max-wait", of_run), "wait");
	CHECK_TEXT(option_nearest("force", of_doctor), "yes");
}

TEST(option_called)
{
	static const char *const good[] = {"-n", "-nv", "--no-wait", "--nonblock", "--no-wait=x"};
	static const char *const bad[] = {"", "n", "no-wait", "-", "--", "-N", "--n", "--no-wai",
		"--no-waits", "--no-wart", "--nonblocks"};
	const struct option_row *row = row_of("no-wait");

	for (size_t i = 0; i < COUNT_OF(good); i++)
		CHECK(option_is_called(row, good[i]));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(!option_is_called(row, bad[i]));
	CHECK(option_is_called(row_of("ttl"), "--ttl"));
	CHECK(!option_is_called(row_of("ttl"), "--tll"));
	CHECK(!option_is_called(row_of("fair"), "-f"));
	CHECK(!option_is_called(row_of("password"), "--password"));
}

TEST(option_aliases)
{
	/* flock's names. */
	CHECK_INT(read_line("-s|-e|x", "")->s.shared, 0);
	CHECK_INT(read_line("-sen|x", "")->rc, 1);
	CHECK_INT(read_line("-sen|x", "")->s.wait, 0);
	CHECK_INT(read_line("--nb|x", "")->s.wait, 0);
	CHECK_INT(read_line("--nonblocking|x", "")->s.wait, 0);
	CHECK_INT(read_line("--timeout=5s|x", "")->s.wait, 5 * USEC_SEC);
	CHECK_INT(read_line("--timeout|5s|x", "")->s.wait, 5 * USEC_SEC);
	CHECK_INT(read_line("--slots|3|x", "")->s.limit, 3);
	CHECK_TEXT(read_line("--command=exit", "")->s.shell, "exit");
	/* In the environment, the option's own name is the stronger one. */
	CHECK_INT(read_line("x", "REDLOCK_TIMEOUT=5s")->s.wait, 5 * USEC_SEC);
	CHECK_INT(read_line("x", "REDLOCK_TIMEOUT=5s|REDLOCK_WAIT=6s")->s.wait, 6 * USEC_SEC);
	CHECK_INT(read_line("--nb|x", "REDLOCK_TIMEOUT=5s")->s.wait, 0);
	/* A letter has no variable, and an option without a variable has none under another name.
	 */
	CHECK_INT(read_line("x", "REDLOCK_E=1|REDLOCK_SHARED=1")->s.shared, 1);
	CHECK_INT(read_line("x", "REDLOCK_NB=1")->s.wait, NEVER);
}

TEST(option_variables_without_effect)
{
	static const struct {
		const char *name, *meant;
	} cases[] = {
		{"REDLOCK_NODE_TIMOUT=1s", "REDLOCK_NODE_TIMEOUT"},
		{"REDLOCK_NODE=a", "REDLOCK_NODES"},
		{"REDLOCK_TTTL=", "REDLOCK_TTL"},
		{"REDLOCK_PASWORD=secret", "REDLOCK_PASSWORD"},
		{"REDLOCK_ttl=1s", NULL},
		{"REDLOCK_MINHOLD=1s", "REDLOCK_MIN_HOLD"},
		{"REDLOCK_NO_WAIT=1", "REDLOCK_WAIT"},
		/* Other programs' variables. */
		{"REDLOCK_BUILD=/tmp", NULL},
		{"REDLOCK_ENABLED=1", NULL},
		{"REDLOCK_=1", NULL},
		{"REDLOCK=1", NULL},
		{"REDLOCKED_TTTL=1", NULL},
		{"REDLOCK_TTLTTLTTLTTLTTLTTLTTLTTLTTLTTLTTLTTLTTLTTLTTLTTL=1", NULL},
		/* Known names. */
		{"REDLOCK_TTL=1s", NULL},
		{"REDLOCK_TIMEOUT=1s", NULL},
		{"REDLOCK_HELD=x", NULL},
		{"REDLOCK_KEYS=1", NULL},
		{"REDLOCK_TTL_MS=1", NULL},
		{"REDLOCK_HOLDER_PID=1", NULL},
		{"REDLOCK_SANDBOX=/tmp", NULL},
	};
	struct idle_variable v;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *envp[] = {"PATH=/bin", (char *)cases[i].name, NULL};
		int next = 0;
		bool is = option_idle_variable(COMMAND_RUN, envp, &next, &v);

		unit_check(is == (cases[i].meant != NULL), __FILE__, __LINE__, "'%s': '%s'",
			cases[i].name, is ? v.meant : "fine");
		if (!is || !cases[i].meant)
			continue;
		CHECK_TEXT(v.meant, cases[i].meant);
		CHECK(strncmp(v.name, cases[i].name, strlen(v.name)) == 0 &&
			cases[i].name[strlen(v.name)] == '=');
		CHECK(!option_idle_variable(COMMAND_RUN, envp, &next, &v));
	}
}

TEST(option_variables_of_options_without_one)
{
	static const struct {
		const char *text, *name; /* name: of the option, or NULL: no warning */
		enum command command;
		bool has_lock;
	} cases[] = {
		{"REDLOCK_LIMIT=3", "limit", COMMAND_RUN, false},
		{"REDLOCK_SLOTS=3", "limit", COMMAND_RUN, false},
		{"REDLOCK_FENCE=yes", "fence", COMMAND_ACQUIRE, false},
		{"REDLOCK_KEY=job", "key", COMMAND_WAIT, false},
		{"REDLOCK_TIMEOUT=3", "wait", COMMAND_BREAK, false},
		{"REDLOCK_YES=1", "yes", COMMAND_BREAK, false},
		{"REDLOCK_TAKEOVER=1", "takeover", COMMAND_RUN, false},
		/* The environment of a run has the variables of its lock. */
		{"REDLOCK_LIMIT=3", NULL, COMMAND_RUN, true},
		{"REDLOCK_FENCE=7", NULL, COMMAND_RUN, true},
		{"REDLOCK_YES=1", "yes", COMMAND_BREAK, true},
		/* The subcommand reads it, or has no such option. */
		{"REDLOCK_LIMIT=3", NULL, COMMAND_CHECK, false},
		{"REDLOCK_FENCE=3", NULL, COMMAND_GATE, false},
		{"REDLOCK_TIMEOUT=3", NULL, COMMAND_RUN, false},
		{"REDLOCK_YES=1", NULL, COMMAND_RUN, false},
		{"REDLOCK_WAIT=3", NULL, COMMAND_STATUS, false},
		{"REDLOCK_VERSION=1.2", NULL, COMMAND_RUN, false},
	};
	struct idle_variable v;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *envp[] = {
			(char *)cases[i].text, cases[i].has_lock ? "REDLOCK_KEYS=1" : NULL, NULL};
		int next = 0;
		bool is = option_idle_variable(cases[i].command, envp, &next, &v);

		unit_check(is == (cases[i].name != NULL), __FILE__, __LINE__, "%s: %d",
			cases[i].text, is);
		if (is)
			CHECK_TEXT(v.row->name, cases[i].name);
	}
}

TEST(option_alias_errors_quote_the_alias)
{
	static const struct {
		const char *line, *env, *text;
	} cases[] = {
		{"--timeout=soon", "", "--timeout 'soon' is not a duration"},
		{"--timeout", "", "--timeout needs a value: D"},
		{"--nb=1", "", "--nb takes no value"},
		{"--exclusive=1", "", "--exclusive takes no value"},
		{"--slots=0", "", "--slots '0' is not a number from 1 to 1000"},
		{"--command", "", "--command needs a value: STRING"},
		{"--cert-key", "", "--cert-key needs a value: FILE"},
		{"--timeouts=1", "", "unknown option '--timeouts'"},
		{"--nonblokc", "", "unknown option '--nonblokc'"},
		{"x", "REDLOCK_TIMEOUT=soon", "REDLOCK_TIMEOUT 'soon' is not a duration"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reading *r = read_line(cases[i].line, cases[i].env);

		unit_check(
			r->rc < 0 && strncmp(r->e.text, cases[i].text, strlen(cases[i].text)) == 0,
			__FILE__, __LINE__, "'%s': %s", cases[i].line, r->e.text);
	}
	command = COMMAND_CHECK;
	CHECK(read_line("-e", "")->rc < 0);
	CHECK(read_line("--timeout|1s", "")->rc < 0);
	command = COMMAND_RUN;
}

TEST(groups_have_titles)
{
	for (int i = 0; i < command_rows_count; i++)
		CHECK(command_group_title(command_rows[i].group)[0] != '\0');
}

/* ---- every row ---- */

/* Two values that differ from the default, and from one another. */
static const char *sample(const struct option_row *row, int which)
{
	switch (row->kind) {
	case OPTION_TEXT:
	case OPTION_ANY_TEXT:
	case OPTION_SECRET:
	case OPTION_KEY:
		return which ? "two" : "one";
	case OPTION_KEY_FORMAT:
		return which ? "two:%s" : "one:%s";
	case OPTION_GUARD:
		return which ? "off" : "on";
	case OPTION_DURATION:
	case OPTION_TIME_LIMIT:
		return which ? "22s" : "11s";
	case OPTION_ON_LOST:
	case OPTION_SIGNAL:
		return which ? "sigusr2" : "INT";
	case OPTION_STATUS:
		return which ? "22" : "11";
	case OPTION_FACTOR:
		return which ? "0.22" : "0.11";
	case OPTION_FORMAT:
		return which ? "json" : "env";
	case OPTION_PID:
	case OPTION_FENCE:
	case OPTION_SLOT:
		return which ? "22" : "11";
	case OPTION_SERVERS:
		return which ? "12" : "11";
	case OPTION_NODES:
		return which ? "two" : "one";
	case OPTION_COUNT:
	case OPTION_OFF:
	case OPTION_NO_WAIT:
	case OPTION_JSON:
		break;
	}
	return which ? "2" : "1";
}

static bool has_sample(const struct settings *s, const struct option_row *row, int which)
{
	const void *field = (const char *)s + row->field;
	const char *want = sample(row, which);

	switch (row->kind) {
	case OPTION_GUARD:
		return *(const long *)field == (which ? GUARD_OFF : GUARD_ON);
	case OPTION_KEY:
		return s->names.count == 1 && strcmp(s->names.key[0], want) == 0;
	case OPTION_TEXT:
	case OPTION_ANY_TEXT:
	case OPTION_SECRET:
	case OPTION_KEY_FORMAT:
		return *(const char *const *)field &&
		       strcmp(*(const char *const *)field, want) == 0;
	case OPTION_ON_LOST:
	case OPTION_SIGNAL:
		return *(const long *)field == (which ? SIGUSR2 : SIGINT);
	case OPTION_DURATION:
	case OPTION_TIME_LIMIT:
		return *(const usec *)field == (which ? 22 : 11) * USEC_SEC;
	case OPTION_STATUS:
	case OPTION_PID:
	case OPTION_FENCE:
	case OPTION_SLOT:
		return *(const long *)field == (which ? 22 : 11);
	case OPTION_SERVERS:
		return *(const long *)field == (which ? 12 : 11);
	case OPTION_FORMAT:
		return *(const long *)field == (which ? FORMAT_JSON : FORMAT_ENV);
	case OPTION_JSON:
		return *(const long *)field == FORMAT_JSON;
	case OPTION_FACTOR:
		return *(const long *)field == (which ? 220 : 110);
	case OPTION_NODES:
		return s->nodes.count == 1 && strcmp(s->nodes.node[0].host, want) == 0;
	case OPTION_COUNT:
		return *(const long *)field == which + 1;
	case OPTION_OFF:
		return *(const long *)field == 0;
	case OPTION_NO_WAIT:
		return s->wait == 0;
	}
	return false;
}

static void expect_sample(
	const char *line, const char *env, const struct option_row *row, int which, int rc)
{
	struct reading *r;
	char without[200];
	size_t len = strlen(line);

	/* The operand at the end is the key of some subcommands. */
	if (option_takes_operand(command) && len > 0 && line[len - 1] == 'x') {
		snprintf(without, sizeof(without), "%s", line);
		without[len > 1 ? len - 2 : 0] = '\0';
		line = without;
	}
	r = read_line(line, env);
	unit_check(r->rc == rc, __FILE__, __LINE__, "'%s' with '%s': %d, not %d: %s", line, env,
		r->rc, rc, r->e.text);
	unit_check(has_sample(&r->s, row, which), __FILE__, __LINE__,
		"'%s' with '%s' does not set it", line, env);
}

TEST(every_option_from_the_command_line)
{
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		const char *name = row->name, *value = sample(row, 0);
		char line[100];

		be_one_of(row->commands);
		if (row->kind == OPTION_SECRET) {
			snprintf(line, sizeof(line), "--%s=%s|x", name, value);
			CHECK_INT(read_line(line, "")->rc, -1);
			CHECK(strstr(
				read_line(line, "")->e.text, "every user of this host can read"));
			CHECK(!strstr(read_line(line, "")->e.text, value));
			continue;
		}
		if (!takes_value(row)) {
			snprintf(line, sizeof(line), "--%s|x", name);
			expect_sample(line, "", row, 0, 1);
			snprintf(line, sizeof(line), "-%c|x", row->letter);
			if (row->letter)
				expect_sample(line, "", row, 0, 1);
			snprintf(line, sizeof(line), "-%c%c|x", row->letter, row->letter);
			if (row->letter && row->kind == OPTION_COUNT)
				expect_sample(line, "", row, 1, 1);
			snprintf(line, sizeof(line), "--%s=1|x", name);
			CHECK_INT(read_line(line, "")->rc, -1);
			CHECK(strstr(read_line(line, "")->e.text, "takes no value"));
			continue;
		}
		snprintf(line, sizeof(line), "--%s=%s|x", name, value);
		expect_sample(line, "", row, 0, 1);
		snprintf(line, sizeof(line), "--%s|%s|x", name, value);
		expect_sample(line, "", row, 0, 2);
		snprintf(line, sizeof(line), "--%s", name);
		CHECK_INT(read_line(line, "")->rc, -1);
		CHECK(strstr(read_line(line, "")->e.text, "needs a value"));
		CHECK(strstr(read_line(line, "")->e.text, name));
		if (!row->letter)
			continue;
		snprintf(line, sizeof(line), "-%c%s|x", row->letter, value);
		expect_sample(line, "", row, 0, 1);
		snprintf(line, sizeof(line), "-%c|%s|x", row->letter, value);
		expect_sample(line, "", row, 0, 2);
		snprintf(line, sizeof(line), "-vq%c|%s|x", row->letter, value);
		expect_sample(line, "", row, 0, 2);
		snprintf(line, sizeof(line), "-v%c", row->letter);
		CHECK_INT(read_line(line, "")->rc, -1);
		CHECK(strstr(read_line(line, "")->e.text, "needs a value"));
	}
	command = COMMAND_RUN;
}

TEST(no_file_has_an_empty_name)
{
	char line[100], name[OPTION_ENV_MAX], want[100];

	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->value || !strstr(row->value, "FILE"))
			continue;
		be_one_of(row->commands);
		snprintf(line, sizeof(line), "--%s=", row->name);
		snprintf(want, sizeof(want), "--%s is empty", row->name);
		CHECK_INT(read_line(line, "")->rc, -1);
		CHECK_TEXT(read_line(line, "")->e.text, want);
		if (!row->env)
			continue;
		be_one_of(row->env);
		option_env_name(name, row);
		snprintf(line, sizeof(line), "%s=", name);
		snprintf(want, sizeof(want), "%s is empty", name);
		CHECK_INT(read_line("x", line)->rc, -1);
		CHECK_TEXT(read_line("x", line)->e.text, want);
	}
	command = COMMAND_RUN;
}

/* `line` has these operands after it was read, separated by blanks. */
static void expect_operands(const char *line, const char *operands)
{
	static char words[200], got[200];
	char *argv[WORDS_MAX + 1] = {NULL}, *rest = words;
	struct settings s;
	struct err e;
	size_t used = 0;
	int at;

	snprintf(words, sizeof(words), "%s", line);
	for (int n = 0; n < WORDS_MAX && rest; n++)
		argv[n] = strsep(&rest, "|");
	settings_init(&s, command);
	at = options_read(&s, 0, argv, nothing, &e);
	got[0] = '\0';
	for (int i = at; CHECK(at >= 0) && argv[i]; i++)
		text_append(got, sizeof(got), &used, "%s%s", used ? " " : "", argv[i]);
	CHECK_TEXT(got, operands);
}

TEST(options_may_follow_keys_but_not_a_command)
{
	command = COMMAND_STATUS;
	expect_operands("a|-v", "a");
	expect_operands("a|-", "a -");
	expect_operands("--|a|-v", "a -v");
	expect_operands("a|--limit|3|b|-v|--|-c|--|d", "a b -c -- d");
	expect_operands("a|-k|b|-kc|--key=d|-vke|--key|f", "a b c d e f");
	CHECK_INT(read_line("a|-v|--limit|3|b", "")->s.limit, 3);
	command = COMMAND_RUN;
	expect_operands("a|-v", "a -v");
	expect_operands("-v|a|-k|b", "a -k b");
	CHECK_INT(read_line("a|-v", "")->rc, 0);
}

TEST(option_key_may_be_an_operand)
{
	static const enum command takes[] = {COMMAND_ACQUIRE, COMMAND_EXTEND, COMMAND_RELEASE,
		COMMAND_CHECK, COMMAND_WAIT, COMMAND_HOLD, COMMAND_BREAK, COMMAND_DOCTOR,
		COMMAND_CONFIG};

	for (size_t i = 0; i < COUNT_OF(takes); i++) {
		struct reading *r;

		command = takes[i];
		r = read_line("a|-v", "REDLOCK_KEY=b");
		CHECK_INT(r->rc, 2);
		CHECK_INT(r->s.names.count, 1);
		CHECK_TEXT(r->s.names.key[0], "a");
		expect_operands("a|b|-v", "b");
		expect_operands("a|-v|-k|b", "a");
		expect_operands("-k|a|-v|b", "b");
		expect_operands("-v|--|-a", "");
		CHECK_TEXT(read_line("-v|redis://:secret@a", "")->e.text,
			"unexpected node 'redis://***@a' in the place of a key");
		CHECK_INT(read_line("-v|--|redis://a", "")->rc, 3);
		CHECK_INT(read_line("", "REDLOCK_KEY=b")->rc, 0);
	}
	command = COMMAND_RUN;
}

TEST(option_fence_is_a_flag_for_some_and_a_number_for_the_gate)
{
	CHECK_INT(read_line("--fence|x", "REDLOCK_FENCE=17")->s.fence, 1);
	CHECK_INT(read_line("x", "REDLOCK_FENCE=17")->s.fence, 0);
	command = COMMAND_GATE;
	CHECK_INT(read_line("--fence|17|x", "")->s.gate_fence, 17);
	CHECK_INT(read_line("x", "REDLOCK_FENCE=18")->s.gate_fence, 18);
	CHECK_TEXT(read_line("--fence|0", "")->e.text,
		"--fence '0' is not a fencing number: a number from 1 to 2^53 - 1");
	CHECK_INT(read_line("--fence|9007199254740991|x", "")->s.gate_fence, FENCE_MAX);
	CHECK_INT(read_line("--fence|9007199254740992|x", "")->rc, -1);
	command = COMMAND_RUN;
}

TEST(option_number_of_servers)
{
	struct reading *r;

	command = COMMAND_SANDBOX;
	CHECK_INT(read_line("x|-v", "")->s.servers, 3);
	CHECK_INT(read_line("-n|1|x", "")->s.servers, 1);
	CHECK_INT(read_line("-n15", "")->s.servers, 15);
	/* Options after COMMAND belong to COMMAND; --number has no variable. */
	r = read_line("-vn5|x|-n|2", "REDLOCK_NUMBER=7|REDLOCK_SERVER=other");
	CHECK(r->rc == 1 && r->s.servers == 5 && strcmp(r->s.server, "other") == 0);
	CHECK_TEXT(read_line("-n|0", "")->e.text, "-n '0' is not a number from 1 to 15");
	CHECK_TEXT(
		read_line("--number=16", "")->e.text, "--number '16' is not a number from 1 to 15");
	CHECK_INT(read_line("-n|16", "")->rc, -1);
	CHECK_TEXT(value_of(read_line("-n|5", ""), "number"), "5");
	command = COMMAND_RUN;
}

TEST(option_token_goes_with_its_key)
{
	command = COMMAND_RELEASE;
	CHECK_TEXT(read_line("", "REDLOCK_KEY=a|REDLOCK_TOKEN=t")->s.names.key[0], "a");
	CHECK_TEXT(read_line("", "REDLOCK_KEY=a|REDLOCK_TOKEN=t")->s.token, "t");
	CHECK_TEXT(read_line("-k|a", "REDLOCK_KEY=a|REDLOCK_TOKEN=t")->s.token, "t");
	CHECK_TEXT(read_line("-k|b", "REDLOCK_TOKEN=t")->s.token, "t");
	CHECK(!read_line("-k|b", "REDLOCK_KEY=a|REDLOCK_TOKEN=t")->s.token);
	CHECK_TEXT(read_line("-k|b|--token|u", "REDLOCK_KEY=a|REDLOCK_TOKEN=t")->s.token, "u");
	/* Several keys are one text; an invalid REDLOCK_KEYS is ignored. */
	CHECK_INT(read_line("", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=2")->s.names.count, 2);
	CHECK_INT(read_line("", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=x")->s.names.count, 1);
	CHECK_INT(read_line("", "REDLOCK_KEY=a\nb")->s.names.count, 1);
	CHECK_TEXT(
		read_line("-k|a", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=2|REDLOCK_TOKEN=t")->s.token, "t");
	CHECK(!read_line("-k|a", "REDLOCK_KEY=ab\nc|REDLOCK_KEYS=2|REDLOCK_TOKEN=t")->s.token);
	CHECK_TEXT(read_line("-k|b|-k|a", "REDLOCK_KEY=a\nb|REDLOCK_TOKEN=t")->s.token, "t");
	/* The command line may name some of the lock's keys. */
	CHECK_TEXT(
		read_line("-k|b", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=2|REDLOCK_TOKEN=t")->s.token, "t");
	CHECK(!read_line("-k|b", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=1|REDLOCK_TOKEN=t")->s.token);
	CHECK(!read_line("-k|b", "REDLOCK_KEY=a\nb|REDLOCK_TOKEN=t")->s.token);
	CHECK(!read_line("-k|b|-k|c", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=2|REDLOCK_TOKEN=t")->s.token);
	CHECK(!read_line("-k|a", "REDLOCK_KEY=ab\nc|REDLOCK_KEYS=2|REDLOCK_TOKEN=t")->s.token);
	CHECK(!read_line("-k|bb", "REDLOCK_KEY=a\nb|REDLOCK_KEYS=2|REDLOCK_TOKEN=t")->s.token);
	CHECK_TEXT(read_line("", "REDLOCK_KEY=|REDLOCK_TOKEN=t")->e.text, "the key is empty");
	/* Slot and limit belong to the lock, too. */
	be_one_of(1u << COMMAND_CHECK);
	CHECK_INT(read_line("", ENV_SLOT)->s.slot, 2);
	CHECK_INT(read_line("-k|a", ENV_SLOT)->s.limit, 3);
	CHECK_INT(read_line("-k|b", ENV_SLOT)->s.limit, 0);
	CHECK_INT(read_line("-k|b", ENV_SLOT)->s.slot, 0);
	CHECK_INT(read_line("--token|u", ENV_SLOT)->s.slot, 0);
	CHECK_INT(read_line("--token|t", ENV_SLOT)->s.slot, 2);
	CHECK_INT(
		read_line("--token|t", "REDLOCK_KEY=a|REDLOCK_LIMIT=3|REDLOCK_SLOT=2")->s.slot, 0);
	CHECK_INT(read_line("--token-file|u", ENV_SLOT)->s.limit, 0);
	CHECK_INT(read_line("--slot|1", ENV_SLOT)->s.limit, 0);
	CHECK_INT(read_line("-L|5|--slot|1", ENV_SLOT)->s.limit, 5);
	CHECK_INT(read_line("-L|5", ENV_SLOT)->s.slot, 0);
	/* The command line names the same lock again. */
	CHECK_INT(read_line("-k|a|-L|3", ENV_SLOT)->s.slot, 2);
	CHECK_TEXT(read_line("-k|a|-L|3", ENV_SLOT)->s.token, "t");
	CHECK_INT(read_line("-L|3|--slot|2", ENV_SLOT)->s.limit, 3);
	CHECK_INT(read_line("-L|3|--slot|1", ENV_SLOT)->s.slot, 1);
	CHECK_INT(read_line("--slot|2", ENV_SLOT)->s.limit, 3);
	CHECK_INT(read_line("-k|b|-L|3", ENV_SLOT)->s.slot, 0);
	CHECK_INT(read_line("-L|3|--token|u", ENV_SLOT)->s.slot, 0);
	CHECK_INT(read_line("-L|3", "REDLOCK_KEY=a|REDLOCK_SLOT=2")->s.slot, 0);
	CHECK_INT(read_line("-L|3", "REDLOCK_KEY=a|REDLOCK_LIMIT=x|REDLOCK_SLOT=2")->s.slot, 0);
	CHECK_TEXT(read_line("-L|1001", "")->e.text, "-L '1001' is not a number from 1 to 1000");
	be_one_of(1u << COMMAND_RUN);
	CHECK_INT(read_line("-k|a|x", ENV_SLOT)->s.limit, 0);
	command = COMMAND_BREAK;
	CHECK_TEXT(read_line("-k|a|-k|b", "")->e.text, "too many keys: 'redlock break' takes one");
	CHECK_TEXT(read_line("-k|a|-k|b", "")->e.hint, "see 'redlock help break'");
	CHECK_INT(read_line("-k|a|-k|a", "")->rc, 4);
	command = COMMAND_RUN;
}

/* Does any row with that name belong to the command? */
static bool is_known(const char *name)
{
	for (int i = 0; i < option_rows_count; i++)
		if (strcmp(option_rows[i].name, name) == 0 &&
			option_is_of(&option_rows[i], command))
			return true;
	return false;
}

/* Letters can have several rows: -n is --no-wait, and --number for a sandbox. */
static bool is_known_letter(char letter)
{
	for (int i = 0; i < option_rows_count; i++)
		if (option_rows[i].letter == letter && option_is_of(&option_rows[i], command))
			return true;
	return false;
}

TEST(every_option_of_other_commands_is_refused)
{
	for (int i = 0; i < option_rows_count; i++)
		for (int n = COMMAND_RUN; n < COMMAND_HELP; n++) {
			const struct option_row *row = &option_rows[i];
			char line[100], want[100];

			command = (enum command)n;
			if (is_known(row->name))
				continue;
			CHECK((row->env & 1u << n) == 0);
			snprintf(want, sizeof(want), "--%s is not an option of 'redlock %s'",
				row->name, command_name(command));
			snprintf(line, sizeof(line), "--%s", row->name);
			CHECK_INT(read_line(line, "")->rc, -1);
			CHECK_TEXT(read_line(line, "")->e.text, want);
			snprintf(line, sizeof(line), "-%c", row->letter);
			if (row->letter && !is_known_letter(row->letter))
				CHECK_INT(read_line(line, "")->rc, -1);
		}
	command = COMMAND_RUN;
}

TEST(every_option_from_the_environment)
{
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		char name[48] = "REDLOCK_", env[200], line[100];
		struct reading *r;

		be_one_of(row->env ? row->env : row->commands);
		for (size_t n = 0; row->name[n]; n++)
			name[8 + n] = row->name[n] == '-'
					      ? '_'
					      : (char)toupper((unsigned char)row->name[n]);
		snprintf(env, sizeof(env), "OTHER=1|%sX=9|%s=%s|%s=9", name, name, sample(row, 1),
			name);
		if (!row->env) {
			/* The field keeps its value; another row with that name may change another
			 * field. */
			r = read_line("", env);
			CHECK_INT(r->rc, 0);
			CHECK(row->kind == OPTION_OFF || !has_sample(&r->s, row, 1));
			continue;
		}
		expect_sample("x", env, row, 1, 0);
		if (row->kind == OPTION_SECRET)
			continue;
		/* The command line is stronger. */
		if (takes_value(row))
			snprintf(line, sizeof(line), "--%s=%s|x", row->name, sample(row, 0));
		else
			snprintf(line, sizeof(line), "--%s|x", row->name);
		expect_sample(line, env, row, 0, 1);
	}
	command = COMMAND_RUN;
}

TEST(option_environment_details)
{
	CHECK_INT(read_line("-n", "REDLOCK_WAIT=11s")->s.wait, 0);
	CHECK_INT(read_line("--nonblock", "REDLOCK_WAIT=11s")->s.wait, 0);
	CHECK_INT(read_line("x", "REDLOCK_WAIT=11s")->s.wait, 11 * USEC_SEC);
	CHECK_INT(read_line("-n|-w|5s", "")->s.wait, 5 * USEC_SEC);
	CHECK_INT(read_line("-w|5s|-n", "")->s.wait, 0);
	CHECK_INT(read_line("x", "REDLOCK_NO_WAIT=1")->s.wait, NEVER);
	CHECK_INT(read_line("--node|a", "REDLOCK_NODES=b c d")->s.nodes.count, 1);
	CHECK_INT(read_line("x", "REDLOCK_NODES=b c d")->s.nodes.count, 3);
	CHECK_INT(read_line("--node|a|--nodes|b,c|--node=d", "")->s.nodes.count, 4);
	CHECK(read_line("x", "REDLOCK_KEY=k")->s.names.count == 0);
	CHECK_INT(read_line("x", "REDLOCK_VERBOSE=2|REDLOCK_QUIET=0")->s.verbose, 2);
	CHECK_INT(read_line("-v", "REDLOCK_VERBOSE=2")->s.verbose, 1);
	/* The same texts as in a file. */
	CHECK_INT(read_line("x", "REDLOCK_QUIET=yes")->s.quiet, 1);
	CHECK_INT(read_line("x", "REDLOCK_FAIR=on|REDLOCK_SHARED=true")->s.fair, 1);
	CHECK_INT(read_line("x", "REDLOCK_FAIR=off|REDLOCK_SHARED=true")->s.shared, 1);
	CHECK_INT(read_line("x", "REDLOCK_QUIET=no|REDLOCK_JSON=yes")->s.quiet, 0);
	CHECK_INT(read_line("x", "REDLOCK_QUIET=no|REDLOCK_JSON=yes")->s.format, FORMAT_JSON);
	/* A wrong variable is not read if the command line overrides it. */
	CHECK_INT(read_line("-t|5s|x", "REDLOCK_TTL=nonsense")->rc, 2);
}

TEST(options_stop)
{
	static const struct {
		const char *line;
		int rc;
		long verbose;
	} cases[] = {
		{"", 0, 0},
		{"x|-v", 0, 0},
		{"-v|x|-v", 1, 1},
		{"-v|--|-v", 2, 1},
		{"--|--|-v", 1, 0},
		{"-v|-", 1, 1},
		{"-|-v", 0, 0},
		{"-k|---|-v|x", 3, 1},
		{"-k|-v|x", 2, 0},
		{"--key|-v|x", 2, 0},
		{"-vv|-v", 2, 3},
		{"|-v", 0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reading *r = read_line(cases[i].line, "");

		unit_check(r->rc == cases[i].rc && r->s.verbose == cases[i].verbose, __FILE__,
			__LINE__, "'%s': %d, verbose %ld, %s", cases[i].line, r->rc, r->s.verbose,
			r->e.text);
	}
	CHECK_INT(read_line("-h|--nonsense", "REDLOCK_TTL=nonsense")->rc, 1);
	CHECK_INT(read_line("--version|--nonsense", "REDLOCK_TTL=nonsense")->rc, 1);
	CHECK_INT(read_line("--nonsense|-h", "")->rc, -1);
}

TEST(option_first_word)
{
	char *argv[] = {"redlock", "run", "-k", "key", "cmd", NULL};
	struct settings s;
	struct err e;

	settings_init(&s, COMMAND_RUN);
	CHECK(options_read(&s, 2, argv, nothing, &e) == 4);
	/* The pointer is stored, the text is not copied. */
	CHECK(s.names.key[0] == argv[3]);
}

TEST(option_errors_say_what_and_which)
{
	static const struct {
		const char *line, *env;
		enum err_kind kind;
		const char *text, *hint;
	} cases[] = {
		{"-t|abc", "", ERR_USAGE, "-t 'abc' is not a duration", "redlock help run"},
		{"--ttl=5y", "", ERR_USAGE, "--ttl '5y' has an unknown unit", ""},
		{"--ttl=", "", ERR_USAGE, "--ttl '' is empty", ""},
		{"--ttl|-5s", "", ERR_USAGE, "--ttl '-5s' is negative", ""},
		/* another word in the place of the value */
		{"-w|--|x", "", ERR_USAGE, "-w needs a value: D", "see 'redlock help run'"},
		{"--ttl|--wait|3s", "", ERR_USAGE, "--ttl needs a value: D", "redlock help run"},
		{"--limit|-n|x", "", ERR_USAGE, "--limit needs a value: N", "redlock help run"},
		{"-nk|--|x", "", ERR_USAGE, "-k needs a value: KEY", "'--' is meant: --key=--"},
		{"--owner|--|x", "", ERR_USAGE, "--owner needs a value: TEXT", "--owner=--"},
		{"x", "REDLOCK_TTL=5y", ERR_USAGE, "REDLOCK_TTL '5y' has an unknown unit", ""},
		{"x", "REDLOCK_TTL=", ERR_USAGE, "REDLOCK_TTL '' is empty", ""},
		{"x", "REDLOCK_NODE_TIMEOUT=x", ERR_USAGE, "REDLOCK_NODE_TIMEOUT 'x' is not", ""},
		{"--on-lost=", "", ERR_USAGE, "--on-lost '' is not term, kill, warn or a signal",
			"redlock help run"},
		{"--on-lost|never", "", ERR_USAGE, "--on-lost 'never' is not term, kill, warn",
			"see 'redlock help run'"},
		{"--on-lost|wran", "", ERR_USAGE, "--on-lost 'wran' is not term, kill, warn",
			"did you mean 'warn'? See 'redlock help run'"},
		{"x", "REDLOCK_ON_LOST=0", ERR_USAGE, "REDLOCK_ON_LOST '0' is not term, kill", ""},
		{"--max-run=", "", ERR_USAGE, "--max-run '' is empty", ""},
		{"--max-run|-1s", "", ERR_USAGE, "--max-run '-1s' is negative", ""},
		{"x", "REDLOCK_MAX_RUN=1y", ERR_USAGE, "REDLOCK_MAX_RUN '1y' has an unknown", ""},
		{"--min-hold=x", "", ERR_USAGE, "--min-hold 'x' is not a duration", ""},
		{"x", "REDLOCK_REENTRANT=yess", ERR_USAGE, "REDLOCK_REENTRANT 'yess' is not yes",
			""},
		{"x", "REDLOCK_WAIT_DESCENDANTS=-1", ERR_USAGE, "REDLOCK_WAIT_DESCENDANTS '-1'",
			""},
		{"--pasword=x", "", ERR_USAGE, "unknown option '--pasword'", "put '--' before"},
		{"--on-lots=warn", "", ERR_USAGE, "unknown option", "did you mean --on-lost?"},
		{"-E256", "", ERR_USAGE, "-E '256' is not a number from 0 to 255", ""},
		{"-E-1", "", ERR_USAGE, "-E '-1' is not a number from 0 to 255", ""},
		{"-t|\x1b[2J", "", ERR_USAGE, "-t '\\x1b[2J' is not", ""},
		{"--drift-factor=1", "", ERR_USAGE,
			"--drift-factor '1' is not between 0.01 and 0.5", ""},
		{"--restart-guard=maybe", "", ERR_USAGE,
			"--restart-guard 'maybe' is not auto, on or off", "see 'redlock help run'"},
		{"x", "REDLOCK_RESTART_GUARD=atuo", ERR_USAGE,
			"REDLOCK_RESTART_GUARD 'atuo' is not auto, on or off",
			"did you mean 'auto'?"},
		{"x", "REDLOCK_VERBOSE=10", ERR_USAGE, "REDLOCK_VERBOSE", ""},
		{"x", "REDLOCK_QUIET=", ERR_USAGE, "REDLOCK_QUIET", ""},
		{"--nodes=", "", ERR_CONFIG, "--nodes names no node", "--nodes"},
		{"--node|, ", "", ERR_CONFIG, "--node names no node", ""},
		{"x", "REDLOCK_NODES=", ERR_CONFIG, "REDLOCK_NODES names no node", "--nodes"},
		{"--node|a:x", "", ERR_CONFIG, "invalid node 'a:x'", ""},
		{"--node|a|--node|a", "", ERR_CONFIG, "named twice", "a separate server"},
		{"--node|a b c d e f g h i j k l m n o p", "", ERR_CONFIG,
			"too many nodes: at most 15 are allowed", "redlock help run"},
		{"--key-format|lock:", "", ERR_USAGE,
			"--key-format 'lock:' has no %s: where does the name go?",
			"redlock help run"},
		{"--key-format=", "", ERR_USAGE, "--key-format '' has no %s", ""},
		{"--key-format=%%s", "", ERR_USAGE, "--key-format '%%s' has no %s", ""},
		{"--key-format=%s:%s", "", ERR_USAGE, "--key-format '%s:%s' has %s more than once",
			""},
		{"--key-format=%s:%d", "", ERR_USAGE,
			"--key-format '%s:%d' has a % that is neither %s nor %%", ""},
		{"--key-format=%s%", "", ERR_USAGE, "--key-format '%s%' has a % that is", ""},
		{"x", "REDLOCK_KEY_FORMAT=", ERR_USAGE, "REDLOCK_KEY_FORMAT '' has no %s", ""},
		{"-k|{redlock}:node", "", ERR_USAGE, "the key '{redlock}:node' is redlock's own",
			"redlock doctor"},
		{"-Z", "", ERR_USAGE, "unknown option '-Z'", "put '--' before"},
		{"-vZ", "", ERR_USAGE, "unknown option '-Z'", ""},
		{"-n5", "", ERR_USAGE, "unknown option '-5'", ""},
		{"-\xc3\xbc", "", ERR_USAGE, "unknown option '-\\xc3'", ""},
		{"--", "REDLOCK_WAIT=x", ERR_USAGE, "REDLOCK_WAIT 'x'", ""},
		{"--=x", "", ERR_USAGE, "unknown option '--'", ""},
		{"---ttl=1s", "", ERR_USAGE, "unknown option '---ttl'", "--ttl"},
		{"--tll=5s", "", ERR_USAGE, "unknown option '--tll'", "did you mean --ttl?"},
		{"--wiat|5s", "", ERR_USAGE, "unknown option '--wiat'", "did you mean --wait?"},
		{"--node-timeuot=1s", "", ERR_USAGE, "unknown option",
			"did you mean --node-timeout?"},
		{"--conflict-exit-cod=1", "", ERR_USAGE, "unknown option",
			"did you mean --conflict-exit-code?"},
		{"--backup", "", ERR_USAGE, "unknown option '--backup'", "put '--' before"},
		{"--ttlttlttlttlttlttlttlttlttlttlttlttlttl=1", "", ERR_USAGE,
			"unknown option '--ttlttl", "put '--' before"},
		{"--t\x1b[2J", "", ERR_USAGE, "unknown option '--t\\x1b[2J'", ""},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reading *r = read_line(cases[i].line, cases[i].env);

		unit_check(r->rc == -1 && r->e.kind == cases[i].kind, __FILE__, __LINE__,
			"'%s' with '%s': %d, kind %d", cases[i].line, cases[i].env, r->rc,
			(int)r->e.kind);
		unit_check(strncmp(r->e.text, cases[i].text, strlen(cases[i].text)) == 0 ||
				   strstr(cases[i].text, "named twice"),
			__FILE__, __LINE__, "'%s' with '%s': '%s'", cases[i].line, cases[i].env,
			r->e.text);
		unit_check(strstr(r->e.hint, cases[i].hint) != NULL, __FILE__, __LINE__,
			"'%s' with '%s': hint '%s'", cases[i].line, cases[i].env, r->e.hint);
	}
}

TEST(option_count_variable_error_quotes_the_value)
{
	CHECK_TEXT(read_line("x", "REDLOCK_VERBOSE=much")->e.text,
		"REDLOCK_VERBOSE 'much' is not yes, no or a number from 0 to 9");
}

TEST(option_errors_show_no_password)
{
	struct reading *r = read_line("--node|redis://u:s3cret@a:x", "");

	CHECK_INT(r->rc, -1);
	CHECK(!strstr(r->e.text, "s3cret") && !strstr(r->e.hint, "s3cret"));
	r = read_line("x", "REDLOCK_NODES=redis://u:s3cret@");
	CHECK_INT(r->rc, -1);
	CHECK(!strstr(r->e.text, "s3cret") && !strstr(r->e.hint, "s3cret"));
}

TEST(option_factor)
{
	static const struct {
		const char *text;
		long permille; /* -1: refused */
	} cases[] = {
		{"0.1", 100},
		{".1", 100},
		{"0.01", 10},
		{"0.010", 10},
		{"0.5", 500},
		{"0.500", 500},
		{"0.123", 123},
		{"000.25", 250},
		{"0.009", -1},
		{"0.0", -1},
		{"0", -1},
		{"", -1},
		{".", -1},
		{"0.501", -1},
		{"0.6", -1},
		{"1", -1},
		{"1.1", -1},
		{"9999999999999999999999999.1", -1},
		{"-0.1", -1},
		{"+0.1", -1},
		{" 0.1", -1},
		{"0.1 ", -1},
		{"0.1x", -1},
		{"0,1", -1},
		{"10%", -1},
		{"1e-1", -1},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char line[80];
		struct reading *r;

		snprintf(line, sizeof(line), "--drift-factor=%s", cases[i].text);
		r = read_line(line, "");
		unit_check(r->rc == (cases[i].permille < 0 ? -1 : 1), __FILE__, __LINE__,
			"'%s': %d", cases[i].text, r->rc);
		CHECK_INT(r->s.drift_permille, cases[i].permille < 0 ? 100 : cases[i].permille);
	}
}

TEST(option_rows_named_in_the_rules)
{
	CHECK_INT(row_of("key")->letter, 'k');
	/* The variables that `redlock run` sets for its command are defaults only for commands that
	 * need a held lock. */
	CHECK_INT(row_of("key")->env,
		1u << COMMAND_EXTEND | 1u << COMMAND_RELEASE | 1u << COMMAND_CHECK);
	CHECK(!row_of("command")->env && !row_of("node")->env);
	CHECK_TEXT(row_of("no-wait")->aliases[0], "nonblock");
	CHECK(row_of("nodes")->env && row_of("nodes")->field == row_of("node")->field);
}

TEST(option_signal)
{
	CHECK_INT(read_line("x", "")->s.signal, SIGTERM);
	CHECK_INT(read_line("--signal=int|x", "")->s.signal, SIGINT);
	CHECK_INT(read_line("--signal|SIGUSR1|x", "")->s.signal, SIGUSR1);
	CHECK_INT(read_line("--signal|9|x", "")->s.signal, SIGKILL);
	CHECK_INT(read_line("x", "REDLOCK_SIGNAL=HUP")->s.signal, SIGHUP);
	CHECK_INT(read_line("--signal|warn|x", "")->rc, -1);
	CHECK_INT(read_line("--signal|0|x", "")->rc, -1);
	CHECK_INT(read_line("--signal||x", "")->rc, -1);
	CHECK_INT(read_line("--signal|SIG|x", "")->rc, -1);
	CHECK_INT(read_line("--signal|99|x", "")->rc, -1);
	CHECK_INT(read_line("x", "REDLOCK_SIGNAL=none")->rc, -1);
}

TEST(option_on_lost)
{
	static const struct {
		const char *text;
		int number; /* -1: refused */
	} cases[] = {
		{"term", SIGTERM},
		{"TERM", SIGTERM},
		{"Term", SIGTERM},
		{"SIGTERM", SIGTERM},
		{"sigterm", SIGTERM},
		{"kill", SIGKILL},
		{"sigkill", SIGKILL},
		{"KILL", SIGKILL},
		{"9", SIGKILL},
		{"warn", 0},
		{"WARN", 0},
		{"Warn", 0},
		{"15", SIGTERM},
		{"hup", SIGHUP},
		{"USR1", SIGUSR1},
		{"1", SIGHUP},
		{"RTMIN+1", -2},
		{"", -1},
		{"0", -1},
		{"65", -1},
		{"-15", -1},
		{"none", -1},
		{"sigwarn", -1},
		{"warn ", -1},
		{" warn", -1},
		{"warning", -1},
		{"term,kill", -1},
	};

	CHECK_INT(read_line("x", "")->s.on_lost, UNSET);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int want = cases[i].number == -2 ? SIGRTMIN + 1 : cases[i].number;
		char line[80], env[80];

		snprintf(line, sizeof(line), "--on-lost=%s|x", cases[i].text);
		snprintf(env, sizeof(env), "REDLOCK_ON_LOST=%s", cases[i].text);
		unit_check(read_line(line, "")->rc == (want < 0 ? -1 : 1), __FILE__, __LINE__,
			"'%s'", cases[i].text);
		/* A refused value leaves the setting unchanged. */
		CHECK_INT(read_line(line, "")->s.on_lost, want < 0 ? UNSET : want);
		CHECK_INT(read_line("x", env)->rc, want < 0 ? -1 : 0);
		CHECK_INT(read_line("x", env)->s.on_lost, want < 0 ? UNSET : want);
	}
	/* The last value on the command line counts, before the variable. */
	CHECK_INT(read_line("--on-lost|kill|--on-lost|warn", "")->s.on_lost, 0);
	CHECK_INT(read_line("--on-lost|warn", "REDLOCK_ON_LOST=kill")->s.on_lost, 0);
}

TEST(option_limits)
{
	/* 0 means no limit for --max-run; */
	CHECK_INT(read_line("x", "")->s.max_run, NEVER);
	CHECK_INT(read_line("--max-run=0", "")->s.max_run, NEVER);
	CHECK_INT(read_line("--max-run=0ms", "")->s.max_run, NEVER);
	CHECK_INT(read_line("--max-run|1ms", "")->s.max_run, MS);
	CHECK_INT(read_line("--max-run|1.5h", "")->s.max_run, 5400 * USEC_SEC);
	CHECK_INT(read_line("--max-run=5s|--max-run=0", "")->s.max_run, NEVER);
	CHECK_INT(read_line("x", "REDLOCK_MAX_RUN=5s")->s.max_run, 5 * USEC_SEC);
	CHECK_INT(read_line("x", "REDLOCK_MAX_RUN=0")->s.max_run, NEVER);
	CHECK_INT(read_line("--max-run=0", "REDLOCK_MAX_RUN=5s")->s.max_run, NEVER);
	CHECK_INT(read_line("--max-run=x", "")->s.max_run, NEVER);
	/* and no time for --min-hold. */
	CHECK_INT(read_line("x", "")->s.min_hold, 0);
	CHECK_INT(read_line("--min-hold=0", "")->s.min_hold, 0);
	CHECK_INT(read_line("--min-hold|90s", "")->s.min_hold, 90 * USEC_SEC);
	CHECK_INT(read_line("x", "REDLOCK_MIN_HOLD=5m")->s.min_hold, 300 * USEC_SEC);
	CHECK_INT(read_line("--min-hold=0", "REDLOCK_MIN_HOLD=5m")->s.min_hold, 0);
}

TEST(option_flags)
{
	static const struct {
		const char *line, *env;
		long reentrant, wait_descendants;
	} cases[] = {
		{"x", "", 0, 0},
		{"--reentrant", "", 1, 0},
		{"--wait-descendants", "", 0, 1},
		{"--reentrant|--wait-descendants|--reentrant", "", 2, 1},
		{"x", "REDLOCK_REENTRANT=1", 1, 0},
		{"x", "REDLOCK_WAIT_DESCENDANTS=1", 0, 1},
		{"x", "REDLOCK_REENTRANT=0|REDLOCK_WAIT_DESCENDANTS=0", 0, 0},
		/* Other variables that `redlock run` sets for its command are not options. */
		{"x", "REDLOCK_HELD=1|REDLOCK_TOKEN=1|REDLOCK_TTL_MS=1", 0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reading *r = read_line(cases[i].line, cases[i].env);

		unit_check(r->rc >= 0 && r->s.reentrant == cases[i].reentrant &&
				   r->s.wait_descendants == cases[i].wait_descendants,
			__FILE__, __LINE__, "'%s' with '%s': %ld, %ld: %s", cases[i].line,
			cases[i].env, r->s.reentrant, r->s.wait_descendants, r->e.text);
	}
}

TEST(option_formats_and_processes)
{
	command = COMMAND_HOLD;
	CHECK_INT(read_line("--format|xml", "")->rc, -1);
	CHECK_TEXT(
		read_line("--format|xml", "")->e.text, "--format 'xml' is not plain, env or json");
	CHECK_INT(read_line("--format=plain", "")->s.format, FORMAT_PLAIN);
	CHECK_INT(read_line("x", "REDLOCK_FORMAT=xml")->rc, -1);
	CHECK_INT(read_line("x", "REDLOCK_JSON=1")->s.format, FORMAT_JSON);
	CHECK_INT(read_line("x", "REDLOCK_JSON=0")->s.format, FORMAT_PLAIN);
	CHECK_TEXT(
		read_line("--follow|0", "")->e.text, "--follow '0' is not the number of a process");
	CHECK_INT(read_line("--follow|1", "")->s.follow, 1);
	command = COMMAND_RUN;
}

/* Suggestions name only options of the command; only `run` explains '--'. */
TEST(option_unknown_to_a_command)
{
	command = COMMAND_CHECK;
	CHECK_TEXT(read_line("--tokn|x", "")->e.hint,
		"did you mean --token? See 'redlock help check'");
	CHECK_TEXT(read_line("--kill-aftr|x", "")->e.text, "unknown option '--kill-aftr'");
	CHECK_TEXT(read_line("--kill-aftr|x", "")->e.hint, "see 'redlock help check'");
	CHECK_TEXT(read_line("-Z", "")->e.hint, "see 'redlock help check'");
	command = COMMAND_RUN;
	CHECK(strstr(read_line("-Z", "")->e.hint, "put '--' before"));
	CHECK_TEXT(command_name((enum command)99), "");
}

/* A token from the environment applies to REDLOCK_KEY, and to a command line without a key. */
TEST(option_tokens_of_the_environment)
{
	static const struct {
		const char *line, *env, *want;
	} cases[] = {
		{"", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "t"},
		{"k", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "t"},
		{"x", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "none"},
		{"-k|k", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "t"},
		{"-k|other", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "none"},
		{"-k|other", "REDLOCK_TOKEN=t", "t"},
		{"-k|k|--token|mine", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "mine"},
		{"-k|k|--token-file|f", "REDLOCK_KEY=k|REDLOCK_TOKEN=t", "none"},
		{"--token-file|f", "REDLOCK_TOKEN=t", "none"},
	};

	command = COMMAND_CHECK;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct reading *r = read_line(cases[i].line, cases[i].env);

		CHECK(r->rc >= 0);
		CHECK_TEXT(r->s.token ? r->s.token : "none", cases[i].want);
	}
	command = COMMAND_RUN;
}

/* ---- the configuration file ---- */

static struct config_file parsed; /* by read_config() */

/* The command line and the environment as in read_line(), then the file. */
static struct reading *read_config(const char *line, const char *env, const char *file)
{
	static char text[1024];
	struct reading *r = read_line(line, env);

	snprintf(text, sizeof(text), "%s", file);
	if (r->rc >= 0)
		r->rc = config_file_parse(&parsed, "file", text, strlen(text), &r->e);
	if (r->rc >= 0)
		r->rc = options_read_config(&r->s, &parsed, &r->e);
	return r;
}

/* The message, as it is if it is about this setting of those sources. */
static const char *blamed(const char *line, const char *env, const char *file, const char *message)
{
	struct reading *r = read_config(line, env, file);

	CHECK_INT(r->rc, 0);
	err_set(&r->e, ERR_CONFIG, "%s", message);
	options_blame(&r->s, &parsed, &r->e);
	return r->e.text;
}

TEST(option_errors_name_the_source_of_the_value)
{
	static const char file[] = "log = x\nttl = 5s\n[p]\nttl = 9s\n";
	const char *line = "--profile|p";

	command = COMMAND_RUN;
	CHECK_TEXT(blamed("x", "", file, "cannot write to --log 'x': no"),
		"file:1: cannot write to --log 'x': no");
	CHECK_TEXT(
		blamed(line, "", file, "--ttl 9s is too short"), "file:4: --ttl 9s is too short");
	CHECK_TEXT(blamed("x", "REDLOCK_TTL=5s", file, "--ttl 5s is too short"),
		"REDLOCK_TTL: --ttl 5s is too short");
	CHECK_TEXT(blamed("--ttl|5s", "", file, "--ttl 5s is too short: see --log"),
		"--ttl 5s is too short: see --log");
	CHECK_TEXT(blamed("x", "", "", "cannot write to --log 'x'"), "cannot write to --log 'x'");
	CHECK_TEXT(blamed("x", "", file, "--login and --log-x"), "--login and --log-x");
	CHECK_TEXT(blamed("x", "", file, "no option"), "no option");
}

static const struct source *source_of(const struct reading *r, const char *name)
{
	return settings_source(&r->s, row_of(name)->field);
}

static bool is_number(const struct option_row *row)
{
	return row->kind == OPTION_COUNT || row->kind == OPTION_OFF || row->kind == OPTION_JSON ||
	       row->kind == OPTION_NO_WAIT;
}

TEST(every_option_from_the_file)
{
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		char file[200], line[100];
		struct reading *r;

		command = COMMAND_CONFIG;
		if (!option_is_of(row, COMMAND_CONFIG))
			continue;
		snprintf(file, sizeof(file), "\n[p]\n  %s = %s \n", row->name, sample(row, 1));
		r = read_config("--profile|p", "", file);
		if (!option_is_setting(row)) {
			CHECK_INT(r->rc, -1);
			continue;
		}
		unit_check(r->rc == 0 && has_sample(&r->s, row, 1), __FILE__, __LINE__, "%s: %s",
			file, r->e.text);
		CHECK_INT(settings_source(&r->s, row->field)->kind, SOURCE_PROFILE);
		CHECK_INT(settings_source(&r->s, row->field)->line, 3);
		/* The command line is stronger; */
		snprintf(line, sizeof(line),
			is_number(row) ? "--profile|p|--%s" : "--profile|p|--%s=%s", row->name,
			sample(row, 0));
		if (row->kind != OPTION_SECRET)
			CHECK(has_sample(&read_config(line, "", file)->s, row, 0));
		/* another profile is ignored. */
		r = read_config("x", "", file);
		CHECK(r->rc == 0 && (row->kind == OPTION_OFF || !has_sample(&r->s, row, 1)));
	}
	command = COMMAND_RUN;
}

TEST(config_precedence)
{
	static const char file[] = "ttl = 1s\nwait = 2s\nquiet = yes\n"
				   "[p]\nttl = 3s\nwait = 4s\n"
				   "[default]\nmax-run = 5s\n[q]\nttl = 6s\nquiet = off\n";
	struct reading *r = read_config("--profile|p|--ttl|9s", "REDLOCK_WAIT=8s", file);

	CHECK_INT(r->s.ttl, 9 * USEC_SEC);
	CHECK_INT(source_of(r, "ttl")->kind, SOURCE_LINE);
	CHECK_INT(r->s.wait, 8 * USEC_SEC);
	CHECK_INT(source_of(r, "wait")->kind, SOURCE_ENV);
	CHECK_INT(r->s.max_run, 5 * USEC_SEC);
	CHECK_INT(source_of(r, "max-run")->kind, SOURCE_FILE);
	CHECK_INT(source_of(r, "max-run")->line, 8);
	CHECK_INT(source_of(r, "kill-after")->kind, SOURCE_NONE);
	r = read_config("x", "REDLOCK_PROFILE=p", file);
	CHECK_INT(r->s.ttl, 3 * USEC_SEC);
	CHECK_INT(source_of(r, "ttl")->kind, SOURCE_PROFILE);
	CHECK_INT(r->s.quiet, 1);
	/* A profile is stronger than the part for all profiles, and can undo a flag. */
	r = read_config("--profile|q", "", file);
	CHECK_INT(r->s.quiet, 0);
	CHECK_INT(r->s.ttl, 6 * USEC_SEC);
	r = read_config("--profile|default", "", file);
	CHECK_INT(r->s.ttl, USEC_SEC);
	CHECK_INT(read_config("x", "", file)->s.ttl, USEC_SEC);
	/* --no-wait and --wait are options for the same setting. */
	CHECK_INT(read_config("-n", "", file)->s.wait, 0);
	CHECK_INT(read_config("x", "", "no-wait = yes\n")->s.wait, 0);
	CHECK_INT(read_config("x", "", "no-wait = no\n")->s.wait, NEVER);
	CHECK_INT(read_config("-w|5s", "", "nonblock = yes\n")->s.wait, 5 * USEC_SEC);
}

TEST(config_nodes_add_up_within_a_source)
{
	static const char file[] = "node = x\n[p]\nnode = a\nnodes = b, c\nkey = k\nkey = l\n";
	struct reading *r = read_config("--profile|p", "", file);

	CHECK_INT(r->s.nodes.count, 3);
	CHECK_INT(r->s.names.count, 2);
	CHECK_INT(read_config("x", "", file)->s.nodes.count, 1);
	CHECK_INT(read_config("x", "REDLOCK_NODES=y z", file)->s.nodes.count, 2);
	CHECK_INT(read_config("--profile|p|-k|mine", "", file)->s.names.count, 1);
}

/* Each command reads the settings that it has options for. */
TEST(config_is_for_all_commands)
{
	static const char file[] = "fence = yes\nlimit = 3\nstore = s\nttl = 7s\nkey = k\n";
	struct reading *r;

	CHECK_INT(read_config("x", "", file)->s.fence, 1);
	command = COMMAND_GATE;
	r = read_config("x", "", file);
	CHECK(r->rc == 0 && r->s.gate_fence == 0 && strcmp(r->s.store, "s") == 0 &&
		r->s.names.count == 0);
	command = COMMAND_STATUS;
	r = read_config("x", "", file);
	CHECK(r->rc == 0 && r->s.limit == 3 && r->s.ttl == 30 * USEC_SEC);
	command = COMMAND_BREAK;
	CHECK_TEXT(read_config("", "", file)->s.names.key[0], "k");
	CHECK_TEXT(read_config("x", "", file)->s.names.key[0], "x");
	command = COMMAND_RUN;
}

TEST(config_flags)
{
	static const struct {
		const char *value;
		long verbose; /* -1: refused */
	} cases[] = {{"yes", 1}, {"no", 0}, {"true", 1}, {"false", 0}, {"on", 1}, {"off", 0},
		{"0", 0}, {"2", 2}, {"9", 9}, {"10", -1}, {"", -1}, {"maybe", -1}, {"-1", -1}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char file[100];
		struct reading *r;

		snprintf(file, sizeof(file), "verbose = %s\n", cases[i].value);
		r = read_config("x", "", file);
		unit_check(cases[i].verbose < 0 ? r->rc < 0 : r->s.verbose == cases[i].verbose,
			__FILE__, __LINE__, "%s: %d, %ld", file, r->rc, r->s.verbose);
	}
	CHECK_INT(read_config("x", "", "json = yes\n")->s.format, FORMAT_JSON);
	CHECK_INT(read_config("x", "", "json = no\n")->s.format, FORMAT_PLAIN);
}

/* Each option of any command is a setting or belongs to a single call, whatever its value. */
TEST(config_refuses_options_of_a_single_call)
{
	static const char *const single[] = {"slot", "token", "force", "takeover", "token-file",
		"command", "follow", "list", "acl", "admit", "number", "server", "watch", "yes",
		"format", "config", "profile", "help", "version"};
	size_t refused = 0;

	for (int i = 0; i < option_rows_count; i++) {
		const char *name = option_rows[i].name;
		char file[100], text[100], hint[100];
		bool is_single = false;
		struct reading *r;

		for (size_t j = 0; j < COUNT_OF(single); j++)
			is_single |= strcmp(name, single[j]) == 0;
		refused += is_single;
		snprintf(file, sizeof(file), "\n%s = true\n", name);
		snprintf(text, sizeof(text),
			"file:2:1: '%s' is not a setting: it belongs to a single call", name);
		snprintf(hint, sizeof(hint),
			"use --%s on the command line; redlock-config(5) lists the settings", name);
		r = read_config("x", "", file);
		unit_check(is_single ? r->rc < 0 && r->e.kind == ERR_CONFIG &&
					       strcmp(r->e.text, text) == 0 &&
					       strcmp(r->e.hint, hint) == 0
				     : !strstr(r->e.text, "is not a setting"),
			__FILE__, __LINE__, "%s: '%s', hint '%s'", name, r->e.text, r->e.hint);
	}
	unit_check(refused >= COUNT_OF(single), __FILE__, __LINE__, "%zu", refused);
}

TEST(config_errors_say_where)
{
	static const struct {
		const char *line, *file, *text, *hint;
	} cases[] = {
		{"x", "ttl = 5s\n tll = 5s\n", "file:2:2: unknown name 'tll'",
			"did you mean 'ttl'?"},
		{"x", "zzzzzzzzz = 5s\n", "file:1:1: unknown name 'zzzzzzzzz'",
			"redlock help config"},
		{"x", "= 5s\n", "file:1:1: unknown name ''", ""},
		{"x", "pasword = s3cret\n", "file:1:1: unknown name 'pasword'",
			"did you mean 'password'?"},
		{"x", "[other]\ntll = 5s\n", "file:2:1: unknown name 'tll'", ""},
		{"x", "token = t\n", "file:1:1: 'token' is not a setting: it belongs to",
			"use --token on the command line"},
		{"x", "format = env\n", "file:1:1: 'format' is not a setting", ""},
		{"x", "config = x\n", "file:1:1: 'config' is not a setting", ""},
		{"x", "profile = x\n", "file:1:1: 'profile' is not a setting", ""},
		{"x", "version = x\n", "file:1:1: 'version' is not a setting", ""},
		{"x", "ttl  =  5x\n", "file:1:9: ttl '5x' has an unknown unit", "redlock help run"},
		{"x", "key-format = lock\n", "file:1:14: key-format 'lock' has no %s", ""},
		{"x", "quiet: x\n", "file:1:8: quiet 'x' is not yes, no or", ""},
		{"x", "\nnode = redis://u:s3cret@\n",
			"file:2:8: invalid node 'redis://***@': the host is missing",
			"write a node as"},
		{"x", "nodes =\n", "file:1:8: nodes names no node", ""},
		{"--node|b", "node = a:s3cret\n", "file:1:8: invalid node 'a:***'", ""},
		{"x", "ttl = 1s\n[p]\nttl = 2s\n[default]\nttl = 3s\n",
			"file:5:1: 'ttl' is set in line 1 already", ""},
		{"x", "wait = 1s\nttl = 2s\nnonblock = no\nno-wait = no\n",
			"file:4:1: 'no-wait' is set in line 3 already", ""},
		{"--profile|p", "ttl = x\n[p]\n", "file:1:7: ttl 'x' is not", ""},
		{"--profile|p", "[p]\nttl = x\n", "file:2:7: ttl 'x' is not", ""},
		{"--profile|b\x1b", "", "unknown profile 'b\\x1b': file has none", ""},
		{"--profile|b", "[a]\n[c]\n", "unknown profile 'b': file has a, c", ""},
		{"--profile|stagign", "[production]\n[staging]\n",
			"unknown profile 'stagign': file has production, staging",
			"did you mean 'staging'?"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reading *r = read_config(cases[i].line, "", cases[i].file);

		unit_check(r->rc == -1 && r->e.kind == ERR_CONFIG &&
				   strncmp(r->e.text, cases[i].text, strlen(cases[i].text)) == 0 &&
				   strstr(r->e.hint, cases[i].hint) && !strstr(r->e.text, "s3cret"),
			__FILE__, __LINE__, "'%s': %d, '%s', hint '%s'", cases[i].file, r->rc,
			r->e.text, r->e.hint);
	}
	/* Values of settings that are not used are not checked. */
	CHECK_INT(read_config("--profile|q", "", "[p]\nttl = x\n[q]\n")->rc, 0);
	CHECK_INT(read_config("-t|5s", "", "ttl = x\n")->rc, 0);
}

/* A nested command gets the nodes from its environment without passwords, and the passwords from
 * the file. */
TEST(config_passwords_of_nodes_that_were_named)
{
	static const char file[] = "node = redis://all:0@c\n"
				   "[p]\nnode = redis://u:1@a/3\nnode = redis://:2@b\n"
				   "node = rediss://:3@e\n";
	static const struct {
		const char *line, *env, *users, *passwords;
	} cases[] = {
		{"--profile|p", "REDLOCK_NODES=a b c d", "u...", "12.."},
		{"--profile|p|--node|a", "", "u", "1"},
		{"--profile|p|--node|v:9@a|--node|w@b", "", "vw", "9."},
		{"--profile|p|--node|:9@a", "", ".", "9"},
		{"x", "REDLOCK_NODES=a c", ".a", ".0"},
		{"--profile|p", "REDLOCK_NODES=rediss://e rediss://a", ".u", "31"},
		{"--profile|p", "REDLOCK_NODES=e", ".", "."},
		{"--profile|p", "REDLOCK_NODES=a|REDLOCK_PASSWORD=x", ".", "."},
		{"--profile|p", "REDLOCK_NODES=a|REDLOCK_USERNAME=x", ".", "."},
		{"--profile|p|--password-file|f", "REDLOCK_NODES=a", ".", "."},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reading *r = read_config(cases[i].line, cases[i].env, file);

		CHECK_INT(r->rc, 0);
		for (int n = 0; n < r->s.nodes.count; n++) {
			const struct node *node = &r->s.nodes.node[n];

			unit_check(cases[i].users[n] == (node->user[0] ? node->user[0] : '.') &&
					   cases[i].passwords[n] ==
						   (node->password[0] ? node->password[0] : '.'),
				__FILE__, __LINE__, "%s, %s: %s has %s:%s", cases[i].line,
				cases[i].env, node->label, node->user, node->password);
		}
	}
}

/* ---- showing ---- */

TEST(option_values_for_people)
{
	static const struct {
		const char *line, *name, *value;
	} cases[] = {
		{"", "ttl", "30s"},
		{"", "wait", "nothing"},
		{"-n", "wait", "0ms"},
		{"-n", "no-wait", "0ms"},
		{"", "kill-after", "nothing"},
		{"", "min-hold", "nothing"},
		{"--min-hold|0", "min-hold", "0ms"},
		{"--max-run|90s", "max-run", "90s"},
		{"", "key", "nothing"},
		{"-k|a\x1b", "key", "a\\x1b"},
		{"", "key-format", "nothing"},
		{"--key-format|%s\x1b", "key-format", "%s\\x1b"},
		{"", "owner", "nothing"},
		{"--owner|me\x1b", "owner", "me\\x1b"},
		{"", "drift-factor", "0.1"},
		{"--drift-factor|0.125", "drift-factor", "0.125"},
		{"", "node-timeout", "nothing"},
		{"", "on-lost", "nothing"},
		{"", "signal", "TERM"},
		{"--on-lost|warn", "on-lost", "warn"},
		{"--on-lost|40", "on-lost", "40"},
		{"--restart-guard|off", "restart-guard", "off"},
		{"--json", "json", "yes"},
		{"", "conflict-exit-code", "75"},
		{"-E|0", "conflict-exit-code", "0"},
		{"", "limit", "nothing"},
		{"-L|5", "limit", "5"},
		{"-vv", "verbose", "2"},
		{"", "verbose", "no"},
		{"-v", "verbose", "yes"},
		{"--max-run|0", "max-run", "0"},
		{"--max-run|90m", "max-run", "1h30m"},
		{"--max-run|90500ms", "max-run", "90500ms"},
		{"", "password", "nothing"},
		{"--node|u:p@a|--node|unix://:p@/b?db=1|--node|w@[::1]:7|--node|d", "nodes",
			"redis://u:***@a:6379 unix://:***@/b?db=1 redis://***@[::1]:7 "
			"redis://d:6379"},
	};

	command = COMMAND_CONFIG;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_TEXT(value_of(read_line(cases[i].line, ""), cases[i].name), cases[i].value);
	CHECK_TEXT(value_of(read_config("x", "", "no-wait = no\n"), "wait"), "nothing");
	CHECK_TEXT(value_of(read_config("x", "", "no-wait = yes\n"), "wait"), "0ms");
	CHECK_TEXT(value_of(read_line("", "REDLOCK_PASSWORD=p"), "password"), "***");
	CHECK_TEXT(value_of(read_line("", "REDLOCK_PASSWORD="), "password"), "nothing");
	command = COMMAND_ACQUIRE;
	CHECK_TEXT(value_of(read_line("--format|env", ""), "format"), "env");
	command = COMMAND_RUN;
}

/* A number or duration that --help shows as the default is the one in settings_init(). */
TEST(option_defaults_that_help_shows_are_set)
{
	char shown[1000];
	int checked = 0;

	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		struct settings s;

		if (!row->initial || !isdigit((unsigned char)row->initial[0]) ||
			strchr(row->initial, ' '))
			continue;
		be_one_of(row->commands);
		settings_init(&s, command);
		if (!option_value(shown, sizeof(shown), &s, row))
			continue; /* not set: another rule gives the default */
		unit_check(strcmp(shown, row->initial) == 0, __FILE__, __LINE__,
			"--%s: %s, shown as %s", row->name, shown, row->initial);
		checked++;
	}
	CHECK(checked >= 3);
	command = COMMAND_RUN;
}

TEST(option_hides_passwords_up_to_the_operands)
{
	char one[] = "redis://:pw@a", two[] = "--node=redis://:pw@b", rest[] = "redis://:pw@c";
	char last[] = "--nodes";
	char *words[] = {"--nodes", one, two, "-k", rest, "--nodes", rest, last, NULL};

	options_hide_passwords(words, 4);
	CHECK_TEXT(rest, "redis://:pw@c");
	CHECK(!strstr(one, "pw") && strstr(one, "@a"));
	CHECK(!strstr(two, "pw") && strstr(two, "@b"));
	options_hide_passwords(words, INT_MAX);
	CHECK(!strstr(rest, "pw"));
	CHECK_TEXT(last, "--nodes");
}
