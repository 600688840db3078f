#include "cli/option.h"

#include "base/duration.h"
#include "base/frame.h"
#include "base/mask.h"
#include "base/signal_name.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/token.h"
#include "base/utf8.h"
#include "proto/request.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

#define FIELD(name) offsetof(struct settings, name)

#define ENV_PREFIX "REDLOCK_"

/* The bit of each subcommand in option_row.commands, by its ID: RUN, ACQUIRE, ... */
enum {
#define COMMAND(id, ...) id = 1u << COMMAND_##id,
#include "cli/commands.def"
};

const struct option_row option_rows[] = {
#define OPTION(name, letter, aliases, kind, field, value, group, commands, env, help, initial) \
	{commands, GROUP_##group, letter, name, aliases, OPTION_##kind, FIELD(field), env, value, \
		help, initial},
#include "cli/options.def"
};

const int option_rows_count = COUNT_OF(option_rows);

const char *option_group_title(enum option_group group)
{
	static const char *const titles[GROUP_COUNT] = {
		[GROUP_LOCK] = "Lock",
		[GROUP_RUN] = "Command",
		[GROUP_NODES] = "Nodes",
		[GROUP_TALK] = "Output and settings",
	};

	return titles[group];
}

bool option_is_of(const struct option_row *row, enum command command)
{
	return (row->commands & 1u << command) != 0;
}

static bool is_name(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && strncmp(name, word, len) == 0;
}

/* Is it the option's name, or an alias of more than one letter? */
static bool has_name(const struct option_row *row, const char *word, size_t len)
{
	bool has = is_name(row->name, word, len);

	for (const char *const *alias = row->aliases; alias && *alias; alias++)
		has |= len > 1 && is_name(*alias, word, len);
	return has;
}

static bool has_letter(const struct option_row *row, char letter)
{
	bool has = row->letter && row->letter == letter;

	for (const char *const *alias = row->aliases; alias && *alias; alias++)
		has |= (*alias)[1] == '\0' && (*alias)[0] == letter;
	return has;
}

bool option_is_called(const struct option_row *row, const char *word)
{
	if (row->kind == OPTION_SECRET || word[0] != '-')
		return false;
	if (word[1] != '-')
		return has_letter(row, word[1]);
	return has_name(row, word + 2, strcspn(word + 2, "="));
}

/* Names of other programs for the same thing, and names that new users try. */
static const struct guess option_guesses[] = {
	{"name", "key"},
	{"lock", "key"},
	{"max-wait", "wait"},
	{"retry", "wait"},
	{"expire", "ttl"},
	{"lease", "ttl"},
	{"time-limit", "max-run"},
	{"count", "limit"},
	{"concurrency", "limit"},
	{"read", "shared"},
	{"reader", "shared"},
	{"write", "exclusive"},
	{"writer", "exclusive"},
	{"grace", "kill-after"},
	{"force", "yes"},
	{"host", "node"},
	{"url", "node"},
	{"syslog", "log"},
	{"prometheus", "metrics-file"},
};

const char *option_nearest(const char *name, unsigned commands)
{
	const char *meant = suggest_meant(option_guesses, COUNT_OF(option_guesses), name);
	struct suggestion n = {.typed = name};

	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->commands & commands) || row->kind == OPTION_SECRET)
			continue;
		if (meant && strcmp(meant, row->name) == 0)
			return meant;
		suggest_consider(&n, row->name);
		for (const char *const *alias = row->aliases; alias && *alias; alias++)
			suggest_consider(&n, *alias);
	}
	return n.word;
}

/* A setting that a stronger source has set stays as it is. */
struct reading {
	struct settings *s;
	struct source source; /* the source being read */
	bool names_token; /* the command line has --token or --token-file */
	long limit, slot; /* --limit and --slot of the command line; 0: not given */
	const char *operand; /* the key of an option that is as good as an operand; NULL: none */
	struct err *e;
};

static int see_help(struct reading *r)
{
	return err_hint(r->e, "see 'redlock help %s'", command_name(r->s->command));
}

bool option_takes_value(const struct option_row *row)
{
	return row->kind != OPTION_COUNT && row->kind != OPTION_OFF &&
	       row->kind != OPTION_NO_WAIT && row->kind != OPTION_JSON;
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
		return "is not between 0.01 and 0.5";
	*permille = fraction;
	return NULL;
}

#define CHOICES 3

/* Finds the text among the names and stores its index. */
static bool read_choice(const char *const names[CHOICES], const char *text, long *choice)
{
	for (long i = 0; i < CHOICES; i++)
		if (strcmp(names[i], text) == 0) {
			*choice = i;
			return true;
		}
	return false;
}

static const char *const formats[] = {
	[FORMAT_PLAIN] = "plain", [FORMAT_ENV] = "env", [FORMAT_JSON] = "json"};
static const char *const guards[] = {[GUARD_AUTO] = "auto", [GUARD_ON] = "on", [GUARD_OFF] = "off"};
static const char *const endings[] = {"term", "kill", "warn"};

const struct option_row *option_find(enum command command, const char *name)
{
	const struct option_row *found = NULL;

	for (int i = 0; i < OPTIONS_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (!has_name(row, name, strlen(name)))
			continue;
		if (!found || option_is_of(row, command))
			found = row;
	}
	return found;
}

/* Are the operands the arguments of another program? */
static bool has_command(enum command command)
{
	return (command_rows[command].flags & TAKES_COMMAND) != 0;
}

/* Is an operand the key of one lock, or one of several keys? */
static bool takes_key(enum command command)
{
	return !has_command(command) && option_is_of(option_find(command, "key"), command);
}

static bool takes_keys(enum command command)
{
	return takes_key(command) && command_rows[command].flags & TAKES_WORDS;
}

static int bad_value(struct reading *r, const char *source, const char *value, const char *why)
{
	char shown[100];

	mask_escape_word(shown, sizeof(shown), value);
	err_set(r->e, ERR_USAGE, "%s '%s' %s", source, shown, why);
	return see_help(r);
}

/* Reports a value that is none of the names. */
static int bad_choice(struct reading *r, const char *source, const char *value,
	const char *const names[CHOICES], const char *why)
{
	struct suggestion n = {.typed = value};

	for (int i = 0; i < CHOICES; i++)
		suggest_consider(&n, names[i]);
	bad_value(r, source, value, why);
	return n.word ? err_hint(r->e, "did you mean '%s'? See 'redlock help %s'", n.word,
				command_name(r->s->command))
		      : -1;
}

/* No process can handle SIGSTOP, and none ends by it. */
static bool is_stop(const struct option_row *row, const void *field)
{
	return (row->kind == OPTION_ON_LOST || row->kind == OPTION_SIGNAL) &&
	       *(const long *)field == SIGSTOP;
}

/* Many programs take a TTL in milliseconds. */
#define BARE_TTL_LEAST (1000 * USEC_SEC)

static bool is_bare(const char *value, usec d)
{
	return d >= BARE_TTL_LEAST && value[strspn(value, "0123456789.")] == '\0';
}

/* `source` is how the user wrote the option: "--ttl", "-t" or "REDLOCK_TTL". */
static int set_value(
	struct reading *r, const struct option_row *row, const char *source, const char *value)
{
	void *field = (char *)r->s + row->field;
	const char *why = NULL;

	r->s->source[row - option_rows] = r->source;
	switch (row->kind) {
	case OPTION_COUNT:
		(*(long *)field)++;
		break;
	case OPTION_OFF:
		*(long *)field = 0;
		break;
	case OPTION_NO_WAIT:
		*(usec *)field = 0;
		break;
	case OPTION_TEXT:
		if (!*value)
			return settings_refuse_empty(source, r->e);
		*(const char **)field = value;
		break;
	case OPTION_ANY_TEXT:
	case OPTION_SECRET:
		*(const char **)field = value;
		break;
	case OPTION_KEY:
		if (takes_keys(r->s->command)) {
			r->operand = value;
			break;
		}
		if (r->s->command == COMMAND_BREAK && r->s->names.count > 0 &&
			strcmp(r->s->names.key[0], value) != 0) {
			err_set(r->e, ERR_USAGE, "too many keys: 'redlock break' takes one");
			return see_help(r);
		}
		return settings_add_name(r->s, value, r->e);
	case OPTION_KEY_FORMAT:
		why = settings_check_format(value);
		*(const char **)field = value;
		break;
	case OPTION_DURATION:
		why = duration_parse(value, field);
		if (row->field == FIELD(ttl))
			r->s->bare_ttl = !why && is_bare(value, *(usec *)field) ? value : NULL;
		break;
	case OPTION_TIME_LIMIT:
		why = duration_parse(value, field);
		if (!why && *(usec *)field == 0)
			*(usec *)field = NEVER;
		break;
	case OPTION_ON_LOST:
		if (strcasecmp(value, "warn") == 0)
			*(long *)field = 0;
		else if (!signal_parse(value, field))
			return bad_choice(r, source, value, endings,
				"is not term, kill, warn or a signal's name");
		break;
	case OPTION_SIGNAL:
		if (!signal_parse(value, field))
			why = "is not a signal's name, such as TERM or INT";
		break;
	case OPTION_STATUS:
		if (!text_number(value, 0, 255, field))
			why = "is not a number from 0 to 255";
		break;
	case OPTION_PID:
		if (!text_number(value, 1, INT_MAX, field))
			why = "is not the number of a process";
		break;
	case OPTION_FENCE:
		if (!text_number(value, 1, FENCE_MAX, field))
			why = "is not a fencing number: a number from 1 to 2^53 - 1";
		break;
	case OPTION_SLOT:
		if (!text_number(value, 1, LIMIT_MAX, field))
			why = "is not a number from 1 to 1000";
		break;
	case OPTION_SERVERS:
		if (!text_number(value, 1, NODES_MAX, field))
			why = "is not a number from 1 to 15";
		break;
	case OPTION_GUARD:
		if (!read_choice(guards, value, field))
			return bad_choice(r, source, value, guards, "is not auto, on or off");
		break;
	case OPTION_FORMAT:
		if (read_choice(formats, value, field))
			break;
		/* The output may be meant for eval, which must not succeed. */
		*(long *)field = FORMAT_ENV;
		return bad_choice(r, source, value, formats, "is not plain, env or json");
	case OPTION_JSON:
		*(long *)field = FORMAT_JSON;
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
		if (node_list_add(field, value, r->e) < 0)
			return r->e->hint[0] ? -1 : see_help(r);
		break;
	}
	if (!why && is_stop(row, field))
		why = "suspends a command instead of ending it";
	return why ? bad_value(r, source, value, why) : 0;
}

static int unknown_option(struct reading *r, const char *shown_as, const char *name)
{
	const char *command = command_name(r->s->command);
	const char *nearest = name ? option_nearest(name, 1u << r->s->command) : NULL;
	char shown[100];

	utf8_escape(shown, sizeof(shown), shown_as, strlen(shown_as));
	err_set(r->e, ERR_USAGE, "unknown option '%s'", shown);
	if (nearest)
		return err_hint(r->e, "did you mean --%s? See 'redlock help %s'", nearest, command);
	if (r->s->command != COMMAND_RUN)
		return see_help(r);
	return err_hint(
		r->e, "see 'redlock help run'; put '--' before a command that begins with '-'");
}

/* Refuses an option of other commands; an option that no command has is refused elsewhere. */
static int check_is_of(struct reading *r, const struct option_row *row, const char *source)
{
	if (option_is_of(row, r->s->command))
		return 0;
	err_set(r->e, ERR_USAGE, "%s is not an option of 'redlock %s'", source,
		command_name(r->s->command));
	return see_help(r);
}

static int missing_value(struct reading *r, const char *source, const struct option_row *row)
{
	err_set(r->e, ERR_USAGE, "%s needs a value: %s", source, row->value);
	return see_help(r);
}

static bool takes_any_text(const struct option_row *row)
{
	return row->kind == OPTION_KEY || row->kind == OPTION_ANY_TEXT || row->kind == OPTION_TEXT;
}

/* Is the word no value for this option? "--" may be left over from an empty variable; an option of
 * the command is no value either, unless values of this kind may look like one. */
static bool is_no_value(const struct reading *r, const struct option_row *row, const char *word)
{
	bool is_whole = strncmp(word, "--", 2) == 0 || strlen(word) == 2; /* has no value inside */
	bool is = strcmp(word, "--") == 0;

	for (int i = 0; i < OPTIONS_COUNT && is_whole && !takes_any_text(row); i++)
		is |= option_is_of(&option_rows[i], r->s->command) &&
		      option_is_called(&option_rows[i], word);
	return is;
}

/* Takes the word after an option as its value. Returns NULL with an error if the word is no value.
 */
static const char *next_value(
	struct reading *r, const struct option_row *row, const char *source, const char *word)
{
	if (word && !is_no_value(r, row, word))
		return word;
	(void)missing_value(r, source, row);
	if (word && takes_any_text(row))
		(void)err_hint(r->e, "if '--' is meant: --%s=--", row->name);
	return NULL;
}

static int secret_in_sight(struct reading *r, const char *source)
{
	err_set(r->e, ERR_USAGE, "%s: every user of this host can read a command line", source);
	return err_hint(r->e, "give it with --password-file FILE, or REDLOCK_PASSWORD, or a "
			      "configuration file");
}

static const struct option_row *find_row(const struct reading *r, const char *name)
{
	return option_find(r->s->command, name);
}

/* Reads --name, --name=value or --name value. Returns the number of words that were used, or -1. */
static int read_long(struct reading *r, char *const argv[])
{
	const struct option_row *row = NULL;
	const char *value = strchr(argv[0], '=');
	char name[32], source[sizeof(name) + 2];
	size_t len = value ? (size_t)(value++ - argv[0]) - 2 : strlen(argv[0]) - 2;
	int used = 1;

	snprintf(name, sizeof(name), "%.*s", (int)(len < 31 ? len : 31), argv[0] + 2);
	snprintf(source, sizeof(source), "--%s", name);
	row = find_row(r, name);
	if (!row)
		return unknown_option(r, source, name);
	if (check_is_of(r, row, source) < 0)
		return -1;
	if (row->kind == OPTION_SECRET)
		return secret_in_sight(r, source);
	if (value && !option_takes_value(row)) {
		err_set(r->e, ERR_USAGE, "%s takes no value", source);
		return see_help(r);
	}
	if (!value && option_takes_value(row)) {
		value = next_value(r, row, source, argv[1]);
		used = 2;
		if (!value)
			return -1;
	}
	return set_value(r, row, source, value) < 0 ? -1 : used;
}

/* Reads -nv, -kKEY or -k KEY. Returns the number of words that were used, or -1. */
static int read_letters(struct reading *r, char *const argv[])
{
	const char *value = NULL;

	for (const char *p = argv[0] + 1; *p; p++) {
		const struct option_row *row = NULL;
		char source[] = {'-', *p, '\0'};

		for (int i = 0; i < OPTIONS_COUNT; i++)
			if (has_letter(&option_rows[i], *p) &&
				(!row || option_is_of(&option_rows[i], r->s->command)))
				row = &option_rows[i];
		if (!row)
			return unknown_option(r, source, NULL);
		if (check_is_of(r, row, source) < 0)
			return -1;
		if (option_takes_value(row)) {
			value = p[1] ? p + 1 : next_value(r, row, source, argv[1]);
			if (!value)
				return -1;
		}
		if (set_value(r, row, source, value) < 0)
			return -1;
		if (value)
			return p[1] ? 1 : 2;
	}
	return 1;
}

/* Has a stronger source set it already? */
static bool is_set(const struct reading *r, const struct option_row *row)
{
	return settings_source(r->s, row->field)->kind > r->source.kind;
}

/* A character of a variable's name, for one of an option's name. */
static char env_letter(char c)
{
	return c == '-' ? '_' : (char)toupper((unsigned char)c);
}

static const char *env_name(char dst[OPTION_ENV_MAX], const char *name)
{
	size_t used = 0;

	text_append(dst, OPTION_ENV_MAX, &used, ENV_PREFIX "%s", name);
	for (char *c = dst + strlen(ENV_PREFIX); *c; c++)
		*c = env_letter(*c);
	return dst;
}

const char *option_env_name(char dst[OPTION_ENV_MAX], const struct option_row *row)
{
	return env_name(dst, row->name);
}

/* The value of REDLOCK_NAME, or NULL. `name` is in the form of an option's name: each of the
 * options is looked for, and few variables are redlock's, so no name of a variable is made. */
static const char *find_env(char *const envp[], const char *name)
{
	for (; *envp; envp++) {
		const char *text = *envp + strlen(ENV_PREFIX), *c = name;

		if ((*envp)[0] != ENV_PREFIX[0] ||
			strncmp(*envp, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
			continue;
		for (; *c && *text == env_letter(*c); c++)
			text++;
		if (!*c && *text == '=')
			return text + 1;
	}
	return NULL;
}

/* The value of the option's variable, by its name or another one; `name` gets the name of the
 * variable. NULL: none of them is set. */
static const char *find_value(
	char *const envp[], const struct option_row *row, char name[OPTION_ENV_MAX])
{
	const char *found = row->name, *value = find_env(envp, found);

	for (const char *const *alias = row->aliases; !value && alias && *alias; alias++)
		if ((*alias)[1]) {
			found = *alias;
			value = find_env(envp, found);
		}
	if (value)
		env_name(name, found);
	return value;
}

/* Variables that redlock sets for its commands, and that are not options: their names as those of
 * options. */
static const char *const set_by_redlock[] = {
	"keys", "held", "holder-pid", "ttl-ms", "sandbox", "event", "holder", "status"};

/* Does redlock read or set REDLOCK_NAME? `name` is in the form of an option's name. */
static bool is_variable(const char *name)
{
	bool is = false;

	for (int i = 0; i < OPTIONS_COUNT; i++)
		is |= option_rows[i].env != 0 && has_name(&option_rows[i], name, strlen(name));
	for (int i = 0; i < COUNT_OF(set_by_redlock); i++)
		is |= strcmp(set_by_redlock[i], name) == 0;
	return is;
}

/* The option of the subcommand that REDLOCK_NAME is called after, but does not set; NULL: none. */
static const struct option_row *row_without_env(enum command command, const char *name)
{
	const struct option_row *without = NULL;

	for (int i = 0; i < OPTIONS_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (!option_is_of(row, command) || !has_name(row, name, strlen(name)) ||
			row->field == FIELD(help) || row->field == FIELD(version))
			continue;
		if (row->env & 1u << command)
			return NULL;
		without = row;
	}
	return without;
}

/* The option that the caller of a misspelt variable probably means: instead of an option without a
 * variable, the one for the same setting; else the nearest name. */
static const char *nearest_variable(const char *name)
{
	struct suggestion n = {.typed = name};

	for (int i = 0; i < OPTIONS_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		for (int j = 0; j < OPTIONS_COUNT && has_name(row, name, strlen(name)); j++)
			if (option_rows[j].field == row->field && option_rows[j].env != 0)
				return option_rows[j].name;
		if (row->env != 0)
			suggest_consider(&n, row->name);
	}
	return n.word;
}

bool option_idle_variable(
	enum command command, char *const envp[], int *next, struct idle_variable *v)
{
	const size_t start = strlen(ENV_PREFIX);
	/* Each redlock that sets variables of a lock sets this one, too. */
	bool has_lock = find_env(envp, "keys") != NULL;

	while (envp[*next]) {
		const char *text = envp[(*next)++], *nearest = NULL;
		size_t len = strcspn(text, "=");
		char word[OPTION_ENV_MAX];
		bool is_known;

		if (strncmp(text, ENV_PREFIX, start) != 0 || len >= sizeof(word))
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)(len - start), text + start);
		for (char *c = word; *c; c++)
			*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
		is_known = is_variable(word);
		*v = (struct idle_variable){
			.row = is_known && has_lock ? NULL : row_without_env(command, word)};
		if (!is_known)
			nearest = nearest_variable(word);
		if (!v->row && !nearest)
			continue;
		snprintf(v->name, sizeof(v->name), "%.*s", (int)len, text);
		if (nearest)
			env_name(v->meant, nearest);
		return true;
	}
	return false;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	while (text) {
		if (strncmp(text, line, len) == 0 && (text[len] == '\n' || text[len] == '\0'))
			return true;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return false;
}

/* Was a number given, and does the environment have another one? */
static bool is_other(long named, char *const envp[], const char *name)
{
	const char *text = find_env(envp, name);
	long number;

	return named > 0 && (!text || !text_number(text, 1, LIMIT_MAX, &number) || number != named);
}

/* Does the command line have the token of the environment? */
static bool is_token_of_env(const struct reading *r, char *const envp[])
{
	const char *token = find_env(envp, "token");

	return token && r->s->token && strncmp(token, r->s->token, TOKEN_ID_LEN) == 0;
}

/*
 * The variables that `redlock run` sets for its command describe one lock. REDLOCK_TOKEN,
 * REDLOCK_LIMIT and REDLOCK_SLOT are ignored if the command line names another lock: by other keys
 * or a token file, or, for limit and slot, by another token, limit or slot.
 */
OWN_FRAME static bool is_of_another_lock(
	const struct reading *r, const struct option_row *row, char *const envp[])
{
	const char *text = find_env(envp, "key"), *count = find_env(envp, "keys");
	const struct key_list *names = &r->s->names; /* read: the row of --key comes first */
	char given[REQUEST_KEY_MAX + 1];
	bool is_among;

	if (row->kind == OPTION_SLOT && r->names_token && !is_token_of_env(r, envp))
		return true;
	if (row->kind == OPTION_SLOT &&
		(is_other(r->limit, envp, "limit") || is_other(r->slot, envp, "slot")))
		return true;
	is_among = !text || strcmp(text, settings_text(given, names)) == 0;
	for (int i = 0; i < names->count && !is_among && count && strcmp(count, "1") != 0; i++) {
		if (!has_line(text, names->key[i]))
			break;
		is_among = i + 1 == names->count;
	}
	return r->s->token_file || !is_among;
}

/* Sets an option without a value from the environment or the file. -v and others like it take a
 * number. */
static int set_flag(
	struct reading *r, const struct option_row *row, const char *source, const char *value)
{
	static const char *const switches[][3] = {{"no", "false", "off"}, {"yes", "true", "on"}};
	bool is_switch = false;
	void *field = (char *)r->s + row->field;
	long number = 0, which;

	for (long n = 0; n < 2 && !is_switch; n++)
		if (read_choice(switches[n], value, &which)) {
			is_switch = true;
			number = n;
		}
	if (!is_switch && !text_number(value, 0, 9, &number))
		return bad_value(r, source, value, "is not yes, no or a number from 0 to 9");
	r->s->source[row - option_rows] = r->source;
	if (row->kind == OPTION_JSON)
		*(long *)field = number > 0 ? FORMAT_JSON : FORMAT_PLAIN;
	else if (row->kind == OPTION_COUNT)
		*(long *)field = number;
	else if (number > 0)
		*(usec *)field = 0;
	return 0;
}

/* Does the option describe the lock of the environment? */
static bool is_of_lock(const struct option_row *row)
{
	return row->field == FIELD(token) || row->kind == OPTION_SLOT;
}

/* `extend` of the environment's lock keeps that lock's TTL. */
static int read_ttl_of_env(struct reading *r, char *const envp[])
{
	const char *value = find_env(envp, "ttl-ms");
	long ms;

	if (r->s->command != COMMAND_EXTEND || !value || !is_token_of_env(r, envp) ||
		settings_source(r->s, FIELD(ttl))->kind == SOURCE_LINE)
		return 0;
	if (!text_number(value, 1, DURATION_MAX / USEC_MSEC, &ms))
		return bad_value(r, "REDLOCK_TTL_MS", value, "is not a number of milliseconds");
	r->s->ttl = ms * USEC_MSEC;
	r->s->bare_ttl = NULL;
	r->s->source[find_row(r, "ttl") - option_rows] =
		(struct source){.kind = SOURCE_ENV, .variable = "REDLOCK_TTL_MS"};
	return 0;
}

/* Reads the variable of one option. */
static int read_variable(struct reading *r, const struct option_row *row, char *const envp[])
{
	char name[OPTION_ENV_MAX];
	const char *value, *count;
	long n = 0;

	if (!(row->env & 1u << r->s->command))
		return 0;
	value = find_value(envp, row, name);
	if (!value || is_set(r, row) || (is_of_lock(row) && is_of_another_lock(r, row, envp)))
		return 0;
	if (row->kind != OPTION_KEY)
		return option_takes_value(row) ? set_value(r, row, name, value)
					       : set_flag(r, row, name, value);
	count = find_env(envp, "keys");
	(void)(count && text_number(count, 0, KEYS_MAX, &n));
	r->s->source[row - option_rows] = r->source;
	return settings_add_names(r->s, value, n, r->e);
}

static int read_env(struct reading *r, char *const envp[])
{
	r->source.kind = SOURCE_ENV;
	r->names_token = r->s->token || r->s->token_file;
	r->limit = r->s->limit;
	r->slot = r->s->slot;
	/* Each option looks for its variable. */
	while (*envp && strncmp(*envp, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
		envp++;
	for (int i = 0; i < OPTIONS_COUNT; i++)
		if (read_variable(r, &option_rows[i], envp) < 0)
			return -1;
	return read_ttl_of_env(r, envp);
}

static bool has_scheme(const char *word)
{
	return strncmp(word, "redis://", 8) == 0 || strncmp(word, "rediss://", 9) == 0 ||
	       strncmp(word, "unix://", 7) == 0;
}

static bool ends_with_comma(const char *word)
{
	return *word && word[strlen(word) - 1] == ',';
}

/*
 * Refuses an operand that the user meant as part of the option before it: the rest of a list of
 * nodes without quotes, the rest of the line that `hold` printed, or the value of an option that
 * has none. `words` are the arguments of the command up to the operand, `word` is the operand.
 */
static int check_first_operand(struct reading *r, int words, char *const word[])
{
	const struct option_row *row = NULL;
	const char *last = words > 0 ? word[-1] : "", *option = words > 1 ? word[-2] : "";
	unsigned flags = command_rows[r->s->command].flags;
	char shown[100], after[100];
	long number;

	if (!word[0] || words == 0)
		return 0;
	mask_escape_word(shown, sizeof(shown), word[0]);
	for (int i = 0; i < OPTIONS_COUNT && !row; i++)
		if (option_is_of(&option_rows[i], r->s->command) &&
			(option_is_called(&option_rows[i], last) ||
				(option_is_called(&option_rows[i], option) &&
					option_takes_value(&option_rows[i]))))
			row = &option_rows[i];
	if (row && row->kind == OPTION_NODES && (has_scheme(word[0]) || ends_with_comma(last))) {
		err_set(r->e, ERR_USAGE, "'%s' is an argument of its own, not part of --%s", shown,
			row->name);
		return err_hint(r->e, "quote a list of nodes: --nodes 'redis://a redis://b'");
	}
	if (row && takes_key(r->s->command) && duration_hint(word[0]) &&
		(row->kind == OPTION_DURATION || row->kind == OPTION_TIME_LIMIT)) {
		err_set(r->e, ERR_USAGE, "unexpected argument '%s'", shown);
		return err_hint(r->e, "%s", duration_hint(word[0]));
	}
	if (flags & TAKES_WORDS || !text_number(word[0], 0, LONG_MAX, &number))
		return 0;
	if (row && row->field == FIELD(token)) {
		err_set(r->e, ERR_USAGE, "'%s' is an argument of its own, not part of --token",
			shown);
		return err_hint(r->e, "quote the token: --token \"$token\"");
	}
	if (row && !option_takes_value(row) && option_is_called(row, last)) {
		err_set(r->e, ERR_USAGE, "'%s' comes after %s, which takes no value", shown,
			utf8_escape(after, sizeof(after), last, strlen(last)));
		return see_help(r);
	}
	return 0;
}

bool option_takes_operand(enum command command)
{
	return takes_key(command) && !takes_keys(command);
}

const char *option_operand_hint(
	char dst[OPERAND_HINT_MAX], const struct settings *s, const char *word)
{
	const struct option_row *token = option_find(s->command, "token");
	char shown[100];

	dst[0] = '\0';
	mask_escape_word(shown, sizeof(shown), word);
	if (!option_takes_operand(s->command))
		return dst;
	if (s->command != COMMAND_BREAK && option_is_of(token, s->command) && !s->token &&
		!s->token_file)
		snprintf(dst, OPERAND_HINT_MAX, "give the token with --token: --token %s", shown);
	else if (s->names.count > 0)
		snprintf(dst, OPERAND_HINT_MAX,
			"the command line has a key already: quote a key that has a space in it%s",
			s->command == COMMAND_BREAK
				? ""
				: "; repeat -k for several keys: -k KEY -k KEY");
	return dst;
}

/* An address of a node that stands alone was hardly meant as a key. */
static int check_key_operand(struct reading *r, const char *word)
{
	char shown[100];

	if (!has_scheme(word))
		return 0;
	mask_escape_word(shown, sizeof(shown), word);
	err_set(r->e, ERR_USAGE, "unexpected node '%s' in the place of a key", shown);
	return err_hint(r->e, "name the nodes with --nodes; a key of that name with -k");
}

/* Moves words[0 .. count - 1] behind the next `used` words. */
static void move_behind(char *words[], int count, int used)
{
	for (int n = 0; n < used; n++) {
		char *word = words[count + n];

		memmove(words + n + 1, words + n, (size_t)count * sizeof(*words));
		words[n] = word;
	}
}

/* Options may follow operands, unless these are a command: moves the operands behind them. Returns
 * the index of the first operand, or -1. */
static int read_words(struct reading *r, int first, char *argv[])
{
	int at = first, i = first, used;
	bool has_end;

	while (argv[i]) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (i == at && check_first_operand(r, i - first, argv + i) < 0)
				return -1;
			if (has_command(r->s->command))
				return at;
			if (takes_key(r->s->command) && check_key_operand(r, argv[i]) < 0)
				return -1;
			i++;
			continue;
		}
		r->operand = NULL;
		if (strcmp(argv[i], "--") == 0)
			used = 1;
		else
			used = argv[i][1] == '-' ? read_long(r, argv + i)
						 : read_letters(r, argv + i);
		if (used < 0)
			return -1;
		has_end = strcmp(argv[i], "--") == 0;
		i += used;
		if (r->operand) {
			argv[i - 1] += r->operand - argv[i - 1];
			used--;
		}
		move_behind(argv + at, i - used - at - (r->operand != NULL), used);
		at += used;
		if (has_end)
			break;
		if (r->s->help || r->s->version)
			return i;
	}
	return at;
}

int options_read(struct settings *s, int first, char *argv[], char *const envp[], struct err *e)
{
	struct reading r = {.s = s, .source = {.kind = SOURCE_LINE}, .e = e};
	int at = read_words(&r, first, argv);

	if (at < 0 || s->help || s->version)
		return at;
	if (option_takes_operand(s->command) && s->names.count == 0 && argv[at]) {
		if (set_value(&r, find_row(&r, "key"), "", argv[at]) < 0)
			return -1;
		at++;
	}
	return read_env(&r, envp) < 0 ? -1 : at;
}

long options_read_format(enum command command, int first, char *const argv[], char *const envp[])
{
	static struct settings s;
	struct err e;
	struct reading r = {.s = &s, .source = {.kind = SOURCE_LINE}, .e = &e};

	settings_init(&s, command);
	/* With an empty variable, as in `--owner $OWNER --format env`, the word that becomes a
	 * value was meant as an option: it counts as both. An option that is refused may have a
	 * value. */
	for (int i = first, used = 1; argv[i] && strcmp(argv[i], "--") != 0; i++)
		if (argv[i][0] == '-' && argv[i][1])
			used = argv[i][1] == '-' ? read_long(&r, argv + i)
						 : read_letters(&r, argv + i);
		else if (used == 1 && has_command(command))
			break;
		else
			used = 1;
	r.source.kind = SOURCE_ENV;
	for (int i = 0; i < OPTIONS_COUNT; i++)
		if (option_rows[i].field == FIELD(format))
			(void)read_variable(&r, &option_rows[i], envp);
	return s.format;
}

void options_hide_passwords(char *const words[], int count)
{
	static const char *const names[] = {"--node", "--nodes"};

	for (int i = 0; i < count && words[i]; i++)
		for (int n = 0; n < COUNT_OF(names); n++) {
			size_t len = strlen(names[n]);

			if (strncmp(words[i], names[n], len) != 0)
				continue;
			if (words[i][len] == '=')
				node_list_hide(words[i] + len + 1);
			else if (!words[i][len] && i + 1 < count && words[i + 1])
				node_list_hide(words[i + 1]);
		}
}

/* ---- the configuration file ---- */

bool option_is_setting(const struct option_row *row)
{
	return option_is_of(row, COMMAND_CONFIG) && row->field != FIELD(config) &&
	       row->field != FIELD(profile) && row->field != FIELD(help) &&
	       row->field != FIELD(version);
}

/* The row for a name in the file, or NULL. */
static const struct option_row *setting_row(const char *name)
{
	for (int i = 0; i < OPTIONS_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (option_is_setting(row) && has_name(row, name, strlen(name)))
			return row;
	}
	return NULL;
}

static const char *nearest_setting(const char *name)
{
	struct suggestion n = {.typed = name};

	for (int i = 0; i < OPTIONS_COUNT; i++)
		if (option_is_setting(&option_rows[i]))
			suggest_consider(&n, option_rows[i].name);
	return n.word;
}

static int unknown_setting(
	struct reading *r, const struct config_file *c, const struct config_file_line *line)
{
	const char *nearest = nearest_setting(line->name);
	char shown[100];

	utf8_escape(shown, sizeof(shown), line->name, strlen(line->name));
	err_set(r->e, ERR_CONFIG,
		find_row(r, line->name) ? "'%s' is not a setting: it belongs to a single call"
					: "unknown name '%s'",
		shown);
	config_file_blame(c, line->number, line->name_column, r->e);
	if (find_row(r, line->name))
		return err_hint(r->e,
			"use --%s on the command line; redlock-config(5) lists the "
			"settings",
			find_row(r, line->name)->name);
	if (nearest)
		return err_hint(r->e, "did you mean '%s'?", nearest);
	return err_hint(r->e, "the names are those of the options: see 'redlock help config'");
}

/* May one source give several values? */
static bool adds_up(const struct option_row *row)
{
	return row->kind == OPTION_KEY || row->kind == OPTION_NODES;
}

/* Refuses a setting that appears twice in one section. */
static int check_once(struct reading *r, const struct config_file *c, int i)
{
	const struct config_file_line *line = &c->line[i], *other;
	const struct option_row *row = setting_row(line->name);

	for (other = c->line; other < line && !adds_up(row); other++)
		if (strcmp(other->profile, line->profile) == 0 && setting_row(other->name) == row) {
			err_set(r->e, ERR_CONFIG, "'%s' is set in line %d already", row->name,
				other->number);
			return config_file_blame(c, line->number, line->name_column, r->e);
		}
	return 0;
}

/* The command's own row for a setting of the file, or NULL if the command has none. */
static const struct option_row *row_for(const struct reading *r, const struct option_row *setting)
{
	for (int i = 0; i < OPTIONS_COUNT; i++)
		if (option_rows[i].field == setting->field &&
			option_is_of(&option_rows[i], r->s->command) &&
			strcmp(option_rows[i].name, setting->name) == 0)
			return &option_rows[i];
	return NULL;
}

/* Reads one section of the file. Nodes of the file that are not used, because a stronger source
 * named nodes, are collected in *known: their passwords may be needed. */
static int read_section(struct reading *r, const struct config_file *c, const char *profile,
	struct node_list *known)
{
	bool is_known = known->count > 0;

	for (int i = 0; i < c->count; i++) {
		const struct config_file_line *line = &c->line[i];
		const struct option_row *row = row_for(r, setting_row(line->name));
		int rc = 0;

		if (strcmp(line->profile, profile) != 0 || !row)
			continue;
		r->source.line = line->number;
		if (!is_set(r, row))
			rc = option_takes_value(row) ? set_value(r, row, row->name, line->value)
						     : set_flag(r, row, row->name, line->value);
		else if (row->kind == OPTION_NODES && !is_known)
			rc = node_list_add(known, line->value, r->e);
		if (rc < 0)
			return config_file_blame(c, line->number, line->value_column, r->e);
	}
	return 0;
}

/* --username, --password and --password-file from the command line or the environment apply to all
 * nodes: then the passwords of the file's nodes are not used. */
static void adopt_passwords(struct settings *s, const struct node_list *known)
{
	if (settings_source(s, FIELD(username))->kind >= SOURCE_ENV ||
		settings_source(s, FIELD(password))->kind >= SOURCE_ENV ||
		settings_source(s, FIELD(password_file))->kind >= SOURCE_ENV)
		return;
	for (int i = 0; i < s->nodes.count; i++)
		for (int j = 0; j < known->count; j++)
			if (node_is_same(&s->nodes.node[i], &known->node[j]))
				node_adopt_password(&s->nodes.node[i], &known->node[j]);
}

static int unknown_profile(const struct settings *s, const struct config_file *c, struct err *e)
{
	char shown[100], path[200], names[300];

	struct suggestion n = {.typed = s->profile};

	config_file_profiles(c, names, sizeof(names));
	err_set(e, ERR_CONFIG, "unknown profile '%s': %s has %s",
		utf8_escape(shown, sizeof(shown), s->profile, strlen(s->profile)),
		utf8_escape(path, sizeof(path), c->path, strlen(c->path)), names);
	for (int i = 0; i < c->profiles; i++)
		suggest_consider(&n, c->profile[i]);
	return n.word ? err_hint(e, "did you mean '%s'?",
				utf8_escape(shown, sizeof(shown), n.word, strlen(n.word)))
		      : -1;
}

int options_read_config(struct settings *s, const struct config_file *c, struct err *e)
{
	struct reading r = {.s = s, .source = {.kind = SOURCE_PROFILE}, .e = e};
	bool has_profile = s->profile && strcmp(s->profile, CONFIG_DEFAULT) != 0;
	static struct node_list known; /* too large for the stack */

	for (int i = 0; i < c->count; i++)
		if (!setting_row(c->line[i].name))
			return unknown_setting(&r, c, &c->line[i]);
		else if (check_once(&r, c, i) < 0)
			return -1;
	if (has_profile && !config_file_has(c, s->profile))
		return unknown_profile(s, c, e);
	if (c->count == 0)
		return 0;
	known.count = 0;
	if (has_profile && read_section(&r, c, s->profile, &known) < 0)
		return -1;
	r.source.kind = SOURCE_FILE;
	if (read_section(&r, c, "", &known) < 0)
		return -1;
	adopt_passwords(s, &known);
	return 0;
}

/* Returns the place of "--NAME" in a message, or NULL. */
static const char *find_option(const char *text, const char *name)
{
	for (const char *c = strstr(text, "--"); c; c = strstr(c + 2, "--")) {
		size_t len = strlen(name);

		if (strncmp(c + 2, name, len) == 0 && c[2 + len] != '-' &&
			!isalnum((unsigned char)c[2 + len]))
			return c;
	}
	return NULL;
}

void options_blame(const struct settings *s, const struct config_file *c, struct err *e)
{
	const struct option_row *row = NULL;
	const struct source *source;
	const char *first = NULL;
	char text[ERR_TEXT_MAX], path[200], name[OPTION_ENV_MAX];
	size_t used = 0;

	for (int i = 0; i < OPTIONS_COUNT; i++) {
		const char *at = find_option(e->text, option_rows[i].name);

		if (at && option_is_of(&option_rows[i], s->command) && (!first || at < first)) {
			first = at;
			row = &option_rows[i];
		}
	}
	if (!row)
		return;
	snprintf(text, sizeof(text), "%s", e->text);
	source = &s->source[row - option_rows];
	switch (source->kind) {
	case SOURCE_NONE:
	case SOURCE_LINE:
		return;
	case SOURCE_ENV:
		text_append(e->text, sizeof(e->text), &used, "%s",
			source->variable ? source->variable : option_env_name(name, row));
		break;
	case SOURCE_FILE:
	case SOURCE_PROFILE:
		text_append(e->text, sizeof(e->text), &used, "%s:%d",
			utf8_escape(path, sizeof(path), c->path, strlen(c->path)), source->line);
		break;
	}
	text_append(e->text, sizeof(e->text), &used, ": %s", text);
}

/* ---- showing ---- */

static const char *factor_value(char *dst, size_t size, long permille)
{
	int len = snprintf(dst, size, "0.%03ld", permille);

	while (dst[len - 1] == '0')
		dst[--len] = '\0';
	return dst;
}

/* A zero that was not set explicitly means the default, shown as no value. So does a wait without
 * end: --wait has no word for it, and its 0 would not wait. */
static const char *duration_value(
	char *dst, size_t size, usec d, enum option_kind kind, bool is_said)
{
	char text[DURATION_TEXT_MAX];

	if (d == UNSET || (d == 0 && !is_said) ||
		(d == NEVER && (!is_said || kind != OPTION_TIME_LIMIT)))
		return NULL;
	snprintf(dst, size, "%s", d == NEVER ? "0" : duration_format_exact(text, d));
	return dst;
}

/* -v and others like it can have a number. */
static const char *flag_value(char *dst, size_t size, long number)
{
	if (number > 1)
		snprintf(dst, size, "%ld", number);
	else
		snprintf(dst, size, "%s", number ? "yes" : "no");
	return dst;
}

static const char *signal_value(char *dst, size_t size, long number)
{
	const char *name = number ? signal_name((int)number) : "warn";

	if (name)
		snprintf(dst, size, "%s", name);
	else
		snprintf(dst, size, "%ld", number);
	return dst;
}

const char *option_value(
	char *dst, size_t size, const struct settings *s, const struct option_row *row)
{
	const void *field = (const char *)s + row->field;
	const char *text;
	char names[REQUEST_KEY_MAX + 1];
	long number;

	switch (row->kind) {
	case OPTION_ANY_TEXT:
	case OPTION_TEXT:
	case OPTION_KEY_FORMAT:
		text = *(const char *const *)field;
		return text ? utf8_escape(dst, size, text, strlen(text)) : NULL;
	case OPTION_SECRET:
		text = *(const char *const *)field;
		snprintf(dst, size, "***");
		return text && *text ? dst : NULL;
	case OPTION_KEY:
		settings_text(names, &s->names);
		return *names ? utf8_escape(dst, size, names, strlen(names)) : NULL;
	case OPTION_DURATION:
	case OPTION_TIME_LIMIT:
	case OPTION_NO_WAIT:
		return duration_value(dst, size, *(const usec *)field, row->kind,
			settings_source(s, row->field)->kind != SOURCE_NONE);
	case OPTION_NODES:
		node_list_show(&s->nodes, dst, size);
		return dst;
	case OPTION_FACTOR:
		return factor_value(dst, size, *(const long *)field);
	case OPTION_ON_LOST:
	case OPTION_SIGNAL:
		if (*(const long *)field == UNSET)
			return NULL;
		return signal_value(dst, size, *(const long *)field);
	case OPTION_GUARD:
		snprintf(dst, size, "%s", guards[*(const long *)field]);
		return dst;
	case OPTION_FORMAT:
		snprintf(dst, size, "%s", formats[*(const long *)field]);
		return dst;
	case OPTION_JSON:
		return flag_value(dst, size, *(const long *)field == FORMAT_JSON);
	case OPTION_COUNT:
		return flag_value(dst, size, *(const long *)field);
	case OPTION_OFF:
		return flag_value(dst, size, *(const long *)field == 0);
	case OPTION_STATUS:
	case OPTION_PID:
	case OPTION_FENCE:
	case OPTION_SLOT:
	case OPTION_SERVERS:
		break;
	}
	number = *(const long *)field;
	snprintf(dst, size, "%ld", number);
	return number == 0 && row->kind != OPTION_STATUS && row->initial ? NULL : dst;
}

static bool is_text_exact(const char *text, const char *shown)
{
	size_t len = strlen(shown);

	return text && strcmp(text, shown) == 0 && strspn(text, CONFIG_SPACE) == 0 &&
	       (len == 0 || !strchr(CONFIG_SPACE, text[len - 1]));
}

bool option_is_exact(const struct settings *s, const struct option_row *row, const char *shown)
{
	char nodes[NODES_MAX * NODE_LABEL_MAX], names[REQUEST_KEY_MAX + 1];

	if (strlen(row->name) + 3 + strlen(shown) > CONFIG_LINE_MAX)
		return false;
	switch (row->kind) {
	case OPTION_ANY_TEXT:
	case OPTION_TEXT:
	case OPTION_KEY_FORMAT:
		return is_text_exact(*(const char *const *)((const char *)s + row->field), shown);
	case OPTION_KEY:
		return is_text_exact(settings_text(names, &s->names), shown);
	case OPTION_NODES:
		node_list_format(&s->nodes, nodes, sizeof(nodes));
		return strcmp(nodes, shown) == 0;
	case OPTION_SECRET:
		return false;
	case OPTION_DURATION:
	case OPTION_TIME_LIMIT:
	case OPTION_NO_WAIT:
	case OPTION_FACTOR:
	case OPTION_ON_LOST:
	case OPTION_SIGNAL:
	case OPTION_GUARD:
	case OPTION_FORMAT:
	case OPTION_JSON:
	case OPTION_COUNT:
	case OPTION_OFF:
	case OPTION_STATUS:
	case OPTION_PID:
	case OPTION_FENCE:
	case OPTION_SLOT:
	case OPTION_SERVERS:
		break;
	}
	return true;
}
