#include "core/option.h"

#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

const struct command_row command_rows[] = {
	{COMMAND_RUN, "run", "[options] -k KEY [--] COMMAND [ARG...]",
		"take the lock, run COMMAND, keep the lock meanwhile, release it"},
	{COMMAND_HELP, "help", "[COMMAND]", "show this, or the options of COMMAND"},
	{COMMAND_VERSION, "version", "", "show the version"},
};

const int command_rows_count = COUNT_OF(command_rows);

#define FIELD(name) offsetof(struct settings, name)

const struct option_row option_rows[] = {
	{GROUP_LOCK, 'k', "key", NULL, OPTION_TEXT, FIELD(key), false, "KEY",
		"the lock's name, used as the Redis key byte for byte", NULL},
	{GROUP_LOCK, 't', "ttl", NULL, OPTION_DURATION, FIELD(ttl), true, "D",
		"how long the lock outlives its holder's silence", "30s"},
	{GROUP_LOCK, 'w', "wait", NULL, OPTION_DURATION, FIELD(wait), true, "D",
		"give up after D; 0: do not wait", "wait for ever"},
	{GROUP_LOCK, 'n', "no-wait", "nonblock", OPTION_NO_WAIT, FIELD(wait), false, NULL,
		"do not wait: the same as -w 0", NULL},
	{GROUP_LOCK, 'E', "conflict-exit-code", NULL, OPTION_STATUS, FIELD(conflict_exit_code),
		true, "N", "the exit status when somebody else holds the lock", "75"},
	{GROUP_LOCK, 0, "fair", NULL, OPTION_COUNT, FIELD(fair), true, NULL,
		"never pass others who wait; all who use the key should say so", NULL},
	{GROUP_LOCK, 0, "owner", NULL, OPTION_TEXT, FIELD(owner), true, "TEXT",
		"what others are shown as the holder", "user@host:pid command"},
	{GROUP_RUN, 'c', "shell", NULL, OPTION_TEXT, FIELD(shell), false, "STRING",
		"run STRING with $SHELL -c, or /bin/sh -c", NULL},
	{GROUP_RUN, 0, "on-lost", NULL, OPTION_ON_LOST, FIELD(on_lost), true, "term|kill|warn|SIG",
		"what the command gets, before KILL, when the lock cannot be kept; warn: it runs "
		"on",
		"term"},
	{GROUP_RUN, 0, "kill-after", NULL, OPTION_DURATION, FIELD(kill_after), true, "D",
		"time between TERM (whoever sent it) and KILL", "a tenth of the TTL, at most 10s"},
	{GROUP_RUN, 0, "max-run", NULL, OPTION_LIMIT, FIELD(max_run), true, "D",
		"end COMMAND after D (waiting not counted): TERM, then KILL; status 124", "none"},
	{GROUP_RUN, 0, "min-hold", NULL, OPTION_DURATION, FIELD(min_hold), true, "D",
		"leave the lock taken until D since COMMAND started, if that was shorter", "none"},
	{GROUP_RUN, 0, "reentrant", NULL, OPTION_COUNT, FIELD(reentrant), true, NULL,
		"inside a run that holds the key already: just run COMMAND", NULL},
	{GROUP_RUN, 0, "wait-descendants", NULL, OPTION_COUNT, FIELD(wait_descendants), true, NULL,
		"wait also for what COMMAND leaves behind, and release the lock then", NULL},
	{GROUP_NODES, 0, "node", NULL, OPTION_NODES, FIELD(nodes), false, "URL",
		"a node; repeat it: redis://[user:password@]host[:port][/db], host:port, "
		"unix:///path",
		NULL},
	{GROUP_NODES, 0, "nodes", NULL, OPTION_NODES, FIELD(nodes), true, "LIST",
		"nodes, separated by commas or spaces", DEFAULT_NODES},
	{GROUP_NODES, 0, "node-timeout", NULL, OPTION_DURATION, FIELD(node_timeout), true, "D",
		"longest wait for one node", "ttl/20, within 50ms..1s"},
	{GROUP_NODES, 0, "drift-factor", NULL, OPTION_FACTOR, FIELD(drift_permille), true, "F",
		"share of the TTL set aside for clocks that run apart", "0.1"},
	{GROUP_TALK, 'v', "verbose", NULL, OPTION_COUNT, FIELD(verbose), true, NULL,
		"say what is decided; twice: and every node's answer", NULL},
	{GROUP_TALK, 'q', "quiet", NULL, OPTION_COUNT, FIELD(quiet), true, NULL,
		"say nothing but errors: not even \"busy\"", NULL},
	{GROUP_TALK, 'h', "help", NULL, OPTION_COUNT, FIELD(help), false, NULL, "show the options",
		NULL},
	{GROUP_TALK, 0, "version", NULL, OPTION_COUNT, FIELD(version), false, NULL,
		"show the version", NULL},
};

const int option_rows_count = COUNT_OF(option_rows);

enum { ROWS = COUNT_OF(option_rows) };

const char *option_group_words(enum option_group group)
{
	static const char *const words[GROUP_COUNT] = {
		[GROUP_LOCK] = "Naming the lock",
		[GROUP_RUN] = "Running the command",
		[GROUP_NODES] = "Nodes",
		[GROUP_TALK] = "Talking",
	};

	return words[group];
}

const struct command_row *command_find(const char *name)
{
	for (int i = 0; i < command_rows_count; i++)
		if (strcmp(command_rows[i].name, name) == 0)
			return &command_rows[i];
	return NULL;
}

/* At most a third of the word may be wrong. */
static bool is_near(const char *word, int distance)
{
	return distance <= (int)(strlen(word) + 2) / 3;
}

const char *command_nearest(const char *name)
{
	const char *best = NULL;
	int least = INT_MAX;

	for (int i = 0; i < command_rows_count; i++) {
		int distance = text_distance(name, command_rows[i].name);

		if (distance < least && is_near(name, distance)) {
			best = command_rows[i].name;
			least = distance;
		}
	}
	return best;
}

/* Which options were set already, so that a weaker source leaves them alone. */
struct reading {
	struct settings *s;
	bool set[ROWS];
	struct err *e;
};

static bool takes_value(const struct option_row *row)
{
	return row->kind != OPTION_COUNT && row->kind != OPTION_NO_WAIT;
}

static const char *read_factor(const char *text, long *permille)
{
	long whole = 0, fraction = 0, scale = 1000;
	const char *p = text;

	for (; isdigit((unsigned char)*p) && whole < 10; p++)
		whole = whole * 10 + (*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++) {
			scale /= 10;
			fraction += (*p - '0') * scale;
		}
	if (*p || p == text || whole > 0 || fraction < 10 || fraction > 500)
		return "is not within 0.01 and 0.5";
	*permille = fraction;
	return NULL;
}

static int bad_value(struct reading *r, const char *source, const char *value, const char *why)
{
	char shown[100];

	text_escape(shown, sizeof(shown), value, strlen(value));
	err_set(r->e, ERR_USAGE, "%s '%s' %s", source, shown, why);
	return err_hint(r->e, "see 'redlock help run'");
}

/* `source` is how the user wrote the option: "--ttl", "-t" or "REDLOCK_TTL". */
static int set_value(
	struct reading *r, const struct option_row *row, const char *source, const char *value)
{
	void *field = (char *)r->s + row->field;
	const char *why = NULL;

	r->set[row - option_rows] = true;
	switch (row->kind) {
	case OPTION_COUNT:
		(*(long *)field)++;
		break;
	case OPTION_NO_WAIT:
		*(usec *)field = 0;
		break;
	case OPTION_TEXT:
		if (field == &r->s->key && r->s->key)
			return err_set(r->e, ERR_USAGE, "the key is given twice");
		*(const char **)field = value;
		break;
	case OPTION_DURATION:
		why = duration_parse(value, field);
		break;
	case OPTION_LIMIT:
		why = duration_parse(value, field);
		if (!why && *(usec *)field == 0)
			*(usec *)field = NEVER;
		break;
	case OPTION_ON_LOST:
		if (strcasecmp(value, "warn") == 0)
			*(long *)field = 0;
		else if (!signal_parse(value, field))
			why = "is not term, kill, warn or a signal's name";
		break;
	case OPTION_STATUS:
		if (!text_number(value, 0, 255, field))
			why = "is not a number from 0 to 255";
		break;
	case OPTION_FACTOR:
		why = read_factor(value, field);
		break;
	case OPTION_NODES:
		if (value[strspn(value, ", \t\r\n")] == '\0') {
			err_set(r->e, ERR_CONFIG, "%s names no node", source);
			return err_hint(r->e, "name Redis servers, such as --nodes "
					      "'redis://a redis://b redis://c', or leave it out "
					      "for " DEFAULT_NODES);
		}
		return node_list_add(field, value, r->e);
	}
	return why ? bad_value(r, source, value, why) : 0;
}

static const char *nearest_option(const char *name)
{
	const char *best = NULL;
	int least = INT_MAX;

	for (int i = 0; i < ROWS; i++) {
		int distance = text_distance(name, option_rows[i].name);

		if (distance < least && is_near(name, distance)) {
			best = option_rows[i].name;
			least = distance;
		}
	}
	return best;
}

static int unknown_option(struct reading *r, const char *shown_as, const char *name)
{
	const char *nearest = name ? nearest_option(name) : NULL;
	char shown[100];

	text_escape(shown, sizeof(shown), shown_as, strlen(shown_as));
	err_set(r->e, ERR_USAGE, "unknown option '%s'", shown);
	if (nearest)
		return err_hint(r->e, "did you mean --%s? See 'redlock help run'", nearest);
	return err_hint(
		r->e, "see 'redlock help run'; a command that starts with '-' goes behind '--'");
}

static int missing_value(struct reading *r, const char *source, const struct option_row *row)
{
	err_set(r->e, ERR_USAGE, "%s wants a value: %s", source, row->value);
	return err_hint(r->e, "see 'redlock help run'");
}

/* --name, --name=value, --name value. Returns how many words of argv were used, or -1. */
static int read_long(struct reading *r, char *const argv[])
{
	const struct option_row *row = NULL;
	const char *value = strchr(argv[0], '=');
	char name[32], source[sizeof(name) + 2];
	size_t len = value ? (size_t)(value++ - argv[0]) - 2 : strlen(argv[0]) - 2;
	int used = 1;

	snprintf(name, sizeof(name), "%.*s", (int)(len < 31 ? len : 31), argv[0] + 2);
	snprintf(source, sizeof(source), "--%s", name);
	for (int i = 0; i < ROWS && !row; i++)
		if (strcmp(option_rows[i].name, name) == 0 ||
			(option_rows[i].alias && strcmp(option_rows[i].alias, name) == 0))
			row = &option_rows[i];
	if (!row)
		return unknown_option(r, source, name);
	if (value && !takes_value(row))
		return err_set(r->e, ERR_USAGE, "%s takes no value", source);
	if (!value && takes_value(row)) {
		value = argv[1];
		used = 2;
	}
	if (!value && takes_value(row))
		return missing_value(r, source, row);
	return set_value(r, row, source, value) < 0 ? -1 : used;
}

/* -nv, -kKEY, -k KEY. Returns how many words of argv were used, or -1. */
static int read_letters(struct reading *r, char *const argv[])
{
	const char *value = NULL;

	for (const char *p = argv[0] + 1; *p; p++) {
		const struct option_row *row = NULL;
		char source[] = {'-', *p, '\0'};

		for (int i = 0; i < ROWS && !row; i++)
			if (option_rows[i].letter == *p)
				row = &option_rows[i];
		if (!row)
			return unknown_option(r, source, NULL);
		if (takes_value(row)) {
			value = p[1] ? p + 1 : argv[1];
			if (!value)
				return missing_value(r, source, row);
		}
		if (set_value(r, row, source, value) < 0)
			return -1;
		if (value)
			return p[1] ? 1 : 2;
	}
	return 1;
}

/* Another row for the same setting, such as -n for --wait, counts as well. */
static bool is_set(const struct reading *r, const struct option_row *row)
{
	for (int i = 0; i < ROWS; i++)
		if (r->set[i] && option_rows[i].field == row->field)
			return true;
	return false;
}

static const char *find_env(char *const envp[], const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; envp[i]; i++)
		if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=')
			return envp[i] + len + 1;
	return NULL;
}

static int read_env(struct reading *r, char *const envp[])
{
	for (int i = 0; i < ROWS; i++) {
		const struct option_row *row = &option_rows[i];
		char name[48] = "REDLOCK_";
		const char *value;

		if (!row->has_env || is_set(r, row))
			continue;
		for (size_t n = 0; row->name[n]; n++) {
			char c = row->name[n];

			assert(n + 9 < sizeof(name));
			name[n + 8] = c == '-' ? '_' : (char)toupper((unsigned char)c);
			name[n + 9] = '\0';
		}
		value = find_env(envp, name);
		if (!value)
			continue;
		if (row->kind == OPTION_COUNT) {
			if (!text_number(value, 0, 9, (long *)((char *)r->s + row->field)))
				return bad_value(r, name, value, "is not a number from 0 to 9");
		} else if (set_value(r, row, name, value) < 0) {
			return -1;
		}
	}
	return 0;
}

int options_read(
	struct settings *s, int first, char *const argv[], char *const envp[], struct err *e)
{
	struct reading r = {.s = s, .e = e};
	int i = first, used;

	while (argv[i] && argv[i][0] == '-' && argv[i][1]) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		used = argv[i][1] == '-' ? read_long(&r, argv + i) : read_letters(&r, argv + i);
		if (used < 0)
			return -1;
		i += used;
		if (s->help || s->version)
			return i;
	}
	return read_env(&r, envp) < 0 ? -1 : i;
}
