#include "cli/settings.h"

#include "base/duration.h"
#include "base/mask.h"
#include "base/text.h"
#include "base/token.h"
#include "base/utf8.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A path, with room for the suffix of a temporary file. */
#define STORE_MAX 4000

/* "#1000" */
#define SLOT_DIGITS 5

/* How much of a long command the owner text shows. */
#define OWNER_COMMAND_MAX 80

#define FIELD(name) offsetof(struct settings, name)

/* Of each row of the option table. */
static const size_t fields[OPTIONS_COUNT] = {
#define OPTION(name, letter, aliases, kind, field, ...) FIELD(field),
#include "cli/options.def"
};

/* Other rows for the same setting count too, such as -n for --wait. */
const struct source *settings_source(const struct settings *s, size_t field)
{
	const struct source *best = NULL;

	for (int i = 0; i < OPTIONS_COUNT; i++)
		if (fields[i] == field && (!best || s->source[i].kind > best->kind))
			best = &s->source[i];
	assert(best);
	return best;
}

void settings_init(struct settings *s, enum command command)
{
	memset(s, 0, sizeof(*s));
	settings_init_zeroed(s, command);
}

void settings_init_zeroed(struct settings *s, enum command command)
{
	s->command = command;
	s->ttl = 30 * USEC_SEC;
	s->wait = NEVER;
	s->node_wait = NEVER;
	s->conflict_exit_code = 75;
	s->node_timeout = UNSET;
	s->drift_permille = 100;
	s->kill_after = NEVER;
	s->signal = SIGTERM;
	s->on_lost = UNSET;
	s->max_run = NEVER;
	s->servers = 3;
}

static usec drift(const struct settings *s)
{
	return policy_drift(s->ttl, (int)s->drift_permille);
}

/*
 * The longest grace period after a loss: the command must be gone before the validity ends, and an
 * extension is attempted at a third of the TTL, before SIGTERM is sent.
 */
static usec longest_grace(const struct settings *s)
{
	return s->ttl - drift(s) - s->ttl / 3 - s->node_timeout - deadline_reap_time(s->ttl);
}

/* Does this command terminate a process when the lock is lost? The others need no grace period. */
static bool supervises(const struct settings *s)
{
	return s->command == COMMAND_RUN || (s->command == COMMAND_HOLD && s->follow > 0);
}

bool settings_has_session(const struct settings *s)
{
	return s->command == COMMAND_RUN || s->command == COMMAND_ACQUIRE ||
	       s->command == COMMAND_HOLD || s->command == COMMAND_WAIT;
}

/* Does this command set the TTL of a key? */
static bool wants_ttl(const struct settings *s)
{
	return supervises(s) || s->command == COMMAND_ACQUIRE || s->command == COMMAND_HOLD ||
	       s->command == COMMAND_EXTEND;
}

static bool ttl_fits(const struct settings *s)
{
	return s->ttl >= 2 * s->node_timeout + drift(s) &&
	       (!supervises(s) || longest_grace(s) >= 0);
}

static usec default_node_timeout(usec ttl)
{
	return usec_min(usec_max(ttl / 20, 50 * USEC_MSEC), USEC_SEC);
}

/* Returns the least TTL that fits, rounded up to what duration_format() shows. */
static usec least_ttl(const struct settings *s, bool has_default_timeout)
{
	static struct settings tried; /* too large for the stack */
	usec step = USEC_MSEC;

	tried = *s;
	tried.ttl = 0;
	do {
		step = tried.ttl >= 60 * USEC_SEC   ? 60 * USEC_SEC
		       : tried.ttl >= 10 * USEC_SEC ? USEC_SEC
		       : tried.ttl >= USEC_SEC      ? USEC_SEC / 10
						    : step;
		tried.ttl += step;
		if (has_default_timeout)
			tried.node_timeout = default_node_timeout(tried.ttl);
	} while (!ttl_fits(&tried) && tried.ttl < DURATION_MAX / 2);
	return tried.ttl;
}

static int ttl_is_too_short(const struct settings *s, bool has_default_timeout, struct err *e)
{
	char ttl[DURATION_TEXT_MAX], allowance[DURATION_TEXT_MAX], timeout[DURATION_TEXT_MAX];
	char least[DURATION_TEXT_MAX];

	err_set(e, ERR_USAGE,
		"--ttl %s is too short for a node time-out of %s: two of them%s the drift "
		"allowance (%s)%s must fit",
		duration_format(ttl, s->ttl), duration_format(timeout, s->node_timeout),
		supervises(s) ? "," : " and", duration_format(allowance, drift(s)),
		supervises(s) ? " and the time to end the command" : "");
	return err_hint(e,
		"the least --ttl is %s%s; 'redlock doctor' prints one that suits the round "
		"trips to the nodes",
		duration_format(least, least_ttl(s, has_default_timeout)),
		has_default_timeout ? "" : "; a shorter --node-timeout permits a shorter one");
}

static int see_help(const struct settings *s, struct err *e)
{
	return err_hint(e, "see 'redlock help %s'", command_name(s->command));
}

static int refuse_zero(const struct settings *s, const char *option, struct err *e)
{
	err_set(e, ERR_USAGE, "%s must be longer than 0", option);
	return see_help(s, e);
}

int settings_refuse_empty(const char *what, struct err *e)
{
	err_set(e, ERR_USAGE, "%s is empty", what);
	return err_hint(e, "check the variable that it comes from");
}

static int check_times(struct settings *s, struct err *e)
{
	bool has_default_timeout = s->node_timeout == UNSET;

	if (has_default_timeout)
		s->node_timeout = default_node_timeout(s->ttl);
	if (s->node_timeout == 0)
		return refuse_zero(s, "--node-timeout", e);
	/* `wait` sets no key, but its session begins quarantines of such a lock. */
	if (wants_ttl(s) ? !ttl_fits(s) : settings_has_session(s) && s->ttl <= drift(s))
		return ttl_is_too_short(s, has_default_timeout, e);
	if (!wants_ttl(s))
		return 0;
	s->grace = s->kill_after == NEVER ? deadline_default_grace(s->ttl) : s->kill_after;
	s->grace = supervises(s) ? usec_min(s->grace, longest_grace(s)) : 0;
	return 0;
}

static bool wants_key(const struct settings *s)
{
	return (command_rows[s->command].flags & NEEDS_KEY) != 0 &&
	       !(s->command == COMMAND_HOLD && s->list);
}

static bool wants_token(const struct settings *s)
{
	return s->command == COMMAND_EXTEND || s->command == COMMAND_CHECK;
}

/* Must the slot be given? Without a token, a local `hold` can supply it. */
static bool needs_slot(const struct settings *s)
{
	return s->token || s->command == COMMAND_BREAK;
}

/* May the limit become known later, from a local `hold` or a token file? */
static bool may_know_limit(const struct settings *s)
{
	return !s->token && (s->token_file || s->command == COMMAND_RELEASE);
}

/* Is it one of redlock's bookkeeping keys? See proto/request.c. */
static bool is_reserved(const char *key)
{
	static const char *const own[] = {"redlock:queue:{", "redlock:reserved:{",
		"redlock:fence:{", "redlock:readers:{", "redlock:limit:{"};
	bool found = strcmp(key, GUARD_KEY) == 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		found |= strncmp(key, own[i], strlen(own[i])) == 0;
	return found;
}

static int too_long(size_t len, struct err *e)
{
	return err_set(e, ERR_USAGE, "the key is too long: %zu bytes, at most %d are allowed", len,
		REQUEST_KEY_MAX);
}

int settings_check_key(const char *key, struct err *e)
{
	char shown[120];

	if (is_reserved(key)) {
		err_set(e, ERR_USAGE, "the key '%s' is redlock's own",
			utf8_escape(shown, sizeof(shown), key, strlen(key)));
		return err_hint(e, strcmp(key, GUARD_KEY) == 0
					   ? "'redlock doctor' shows the state of the node"
					   : "it belongs to the lock whose name is in the braces: "
					     "'redlock status KEY' shows that");
	}
	if (!*key)
		return settings_refuse_empty("the key", e);
	if (strlen(key) > REQUEST_KEY_MAX)
		return too_long(strlen(key), e);
	return 0;
}

static int too_long_together(const struct settings *s, struct err *e)
{
	err_set(e, ERR_USAGE, "the keys are too long: at most %d bytes together are allowed",
		REQUEST_KEY_MAX);
	return see_help(s, e);
}

/* Several keys are separated by newlines in REDLOCK_KEY, for example. */
static int check_together(const struct settings *s, const struct key_list *list, struct err *e)
{
	char shown[120];
	size_t used = 0;

	for (int i = 0; i < list->count && list->count > 1; i++) {
		const char *key = list->key[i];
		size_t len = strlen(key);

		if (strchr(key, '\n')) {
			err_set(e, ERR_USAGE,
				"the key '%s' has a newline in it: it cannot be one of several",
				utf8_escape(shown, sizeof(shown), key, len));
			return see_help(s, e);
		}
		if (used + len > REQUEST_KEY_MAX)
			return too_long_together(s, e);
		used += len + 1;
	}
	return 0;
}

static int add(const struct settings *s, struct key_list *list, const char *key, struct err *e)
{
	int at = 0;

	if (settings_check_key(key, e) < 0)
		return -1;
	while (at < list->count && strcmp(list->key[at], key) < 0)
		at++;
	if (at < list->count && strcmp(list->key[at], key) == 0)
		return 0;
	if (list->count == KEYS_MAX) {
		err_set(e, ERR_USAGE, "too many keys: at most %d are allowed", KEYS_MAX);
		return see_help(s, e);
	}
	memmove(list->key + at + 1, list->key + at,
		(size_t)(list->count++ - at) * sizeof(list->key[0]));
	list->key[at] = key;
	return check_together(s, list, e);
}

static int add_words(const struct settings *s, struct key_list *list,
	char storage[REQUEST_KEY_MAX + 1], const char *text, long count, struct err *e)
{
	char *word = storage;
	long n = 1;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	if (count <= 1 || n != count || settings_check_key(text, e) < 0)
		return add(s, list, text, e);
	for (memcpy(word, text, strlen(text) + 1); word;) {
		char *end = strchr(word, '\n');

		if (end)
			*end++ = '\0';
		if (add(s, list, word, e) < 0)
			return -1;
		word = end;
	}
	return 0;
}

int settings_add_name(struct settings *s, const char *name, struct err *e)
{
	return add(s, &s->names, name, e);
}

int settings_add_names(struct settings *s, const char *text, long count, struct err *e)
{
	return add_words(s, &s->names, s->names_storage, text, count, e);
}

int settings_set_keys(struct settings *s, const char *text, long count, struct err *e)
{
	s->keys.count = 0;
	return add_words(s, &s->keys, s->keys_storage, text, count, e);
}

const char *settings_text(char dst[REQUEST_KEY_MAX + 1], const struct key_list *list)
{
	size_t used = 0;

	dst[0] = '\0';
	for (int i = 0; i < list->count; i++)
		text_append(
			dst, REQUEST_KEY_MAX + 1, &used, "%s%s", i > 0 ? "\n" : "", list->key[i]);
	return dst;
}

/* ---- the format ---- */

const char *settings_check_format(const char *format)
{
	int names = 0;

	for (const char *c = strchr(format, '%'); c; c = strchr(c + 2, '%')) {
		if (c[1] != 's' && c[1] != '%')
			return "has a % that is neither %s nor %%";
		names += c[1] == 's';
	}
	if (names == 0)
		return "has no %s: where does the name go?";
	return names > 1 ? "has %s more than once" : NULL;
}

/* Returns the length of the key. Writes it only if it fits. */
static size_t format_key(char *key, size_t size, const char *format, const char *name)
{
	size_t len = 0;

	for (const char *c = format; *c; c++) {
		const char *piece = c;
		size_t piece_len = 1;

		if (*c == '%' && *++c == 's') {
			piece = name;
			piece_len = strlen(name);
		}
		if (len + piece_len < size)
			memcpy(key + len, piece, piece_len);
		len += piece_len;
	}
	if (len < size)
		key[len] = '\0';
	return len;
}

static int made_too_long(size_t len, const char *name, struct err *e)
{
	too_long(len, e);
	return err_hint(e, "--key-format makes it of a name that has %zu", strlen(name));
}

/* The order of the keys may differ from that of their names. */
static int make_keys(struct settings *s, struct err *e)
{
	char *key = s->keys_storage;
	size_t room = sizeof(s->keys_storage);

	if (!s->key_format) {
		s->keys = s->names;
		return 0;
	}
	s->keys.count = 0;
	for (int i = 0; i < s->names.count; i++) {
		size_t len = format_key(key, room, s->key_format, s->names.key[i]);

		if (len >= room)
			return i == 0 ? made_too_long(len, s->names.key[i], e)
				      : too_long_together(s, e);
		if (add(s, &s->keys, key, e) < 0)
			return -1;
		key += len + 1;
		room -= len + 1;
	}
	return 0;
}

/* Does the key leave room for "#SLOT"? */
static int check_room(const struct settings *s, const char *key, struct err *e)
{
	if (s->limit > 1 && strlen(key) + SLOT_DIGITS > REQUEST_KEY_MAX)
		return err_set(e, ERR_USAGE,
			"the key is too long for --limit: at most %d bytes are allowed",
			REQUEST_KEY_MAX - SLOT_DIGITS);
	return 0;
}

int settings_operand_key(
	const struct settings *s, const char *name, char key[REQUEST_KEY_MAX + 1], struct err *e)
{
	size_t len;

	if (settings_check_key(name, e) < 0)
		return -1;
	len = format_key(key, REQUEST_KEY_MAX + 1, s->key_format ? s->key_format : "%s", name);
	if (len > REQUEST_KEY_MAX)
		return made_too_long(len, name, e);
	return settings_check_key(key, e) < 0 ? -1 : check_room(s, key, e);
}

/* break reads no variable that describes one lock. */
static int need_too(const struct settings *s, const char *what, const char *option,
	const char *variable, struct err *e)
{
	bool is_read = s->command != COMMAND_BREAK;

	return err_hint(e, "give the %s of the lock as well: %s%s%s", what, option,
		is_read ? " or " : "", is_read ? variable : "");
}

static int check_limit(const struct settings *s, struct err *e)
{
	if (s->slot > 0 && s->limit == 0 && may_know_limit(s))
		return 0;
	if (s->slot > 0 && s->limit == 0) {
		err_set(e, ERR_USAGE, "--slot needs --limit");
		return need_too(s, "limit", "--limit N", "REDLOCK_LIMIT", e);
	}
	if (s->slot > s->limit)
		return err_set(e, ERR_USAGE, "invalid slot %ld: --limit %ld has the slots 1 to %ld",
			s->slot, s->limit, s->limit);
	if (s->limit > 0 && s->shared) {
		err_set(e, ERR_USAGE, "--shared cannot be combined with --limit");
		return err_hint(e, "readers are not counted; see 'redlock help %s'",
			command_name(s->command));
	}
	if (s->limit <= 1)
		return 0;
	if (s->keys.count > 1) {
		err_set(e, ERR_USAGE, "--limit accepts one key only");
		return see_help(s, e);
	}
	if (s->reentrant) {
		err_set(e, ERR_USAGE, "--reentrant cannot be combined with --limit");
		return err_hint(
			e, "leave --reentrant out: a run within a run has a slot of its own");
	}
	if (s->keys.count > 0 && check_room(s, s->keys.key[0], e) < 0)
		return -1;
	if (needs_slot(s) && s->slot == 0) {
		err_set(e, ERR_USAGE, "missing slot: the lock has %ld", s->limit);
		return need_too(s, "slot", "--slot I", "REDLOCK_SLOT", e);
	}
	return 0;
}

/* Reads the slot of "ID#SLOT"; a space and more text may follow. *slot is 0 if the token has no
 * slot. Returns -1 if the slot is invalid. */
static int slot_of(const char *token, long *slot)
{
	const char *text = token + TOKEN_ID_LEN + 1;
	char number[24];

	*slot = 0;
	if (strspn(token, "0123456789abcdef") != TOKEN_ID_LEN || token[TOKEN_ID_LEN] != '#')
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, " "), text);
	return text_number(number, 1, LIMIT_MAX, slot) ? 0 : -1;
}

static int take_slot(struct settings *s, struct err *e)
{
	long slot;

	if (slot_of(s->token, &slot) < 0)
		return err_set(e, ERR_USAGE,
			"the token has an invalid slot: '#' is not followed by a number from 1 to "
			"%d",
			LIMIT_MAX);
	if (slot == 0)
		return 0;
	if (s->slot > 0 && s->slot != slot)
		return err_set(
			e, ERR_USAGE, "the token is of slot %ld, not of slot %ld", slot, s->slot);
	if (s->limit == 1)
		return err_set(
			e, ERR_USAGE, "the token is of slot %ld, and --limit 1 has no slots", slot);
	s->slot = slot;
	/* An operation on one slot does not depend on the number of slots. */
	if (s->limit == 0)
		s->limit = slot > 2 ? slot : 2;
	return 0;
}

int settings_set_token(struct settings *s, const char *token, struct err *e)
{
	s->token = token;
	if (token_has_no_holder(s->token)) {
		err_set(e, ERR_USAGE,
			"the token has no holder: its key was left by --min-hold, "
			"or readers share it");
		return err_hint(e, "the token is what 'redlock acquire' or 'hold' printed");
	}
	if (take_slot(s, e) < 0)
		return -1;
	return check_limit(s, e);
}

bool settings_makes_key(const struct settings *s)
{
	return s->command == COMMAND_RUN || s->command == COMMAND_HOLD ||
	       s->command == COMMAND_ACQUIRE || s->command == COMMAND_WAIT;
}

/* A newline at the end is hardly meant: 'nightly' is another lock than 'nightly' and a newline.
 * Only subcommands that would begin to use the key refuse it: others show and end its lock. */
static int check_ends(const struct settings *s, struct err *e)
{
	char shown[120];

	for (int i = 0; i < s->names.count && settings_makes_key(s); i++) {
		const char *key = s->names.key[i];
		size_t len = strlen(key);

		if (!strchr("\r\n", key[len - 1]))
			continue;
		err_set(e, ERR_USAGE, "the key '%s' has a %s at its end",
			utf8_escape(shown, sizeof(shown), key, len),
			key[len - 1] == '\n' ? "newline" : "carriage return");
		return err_hint(e, key[len - 1] == '\n'
					   ? "in YAML, write '|-' in place of '|'"
					   : "the text that it comes from has the line ends of "
					     "Windows: 'tr -d \"\\r\"' removes them");
	}
	return 0;
}

static int check_names(struct settings *s, struct err *e)
{
	const char *command = command_name(s->command);

	if (check_ends(s, e) < 0)
		return -1;
	if (s->keys.count == 0 && wants_key(s)) {
		err_set(e, ERR_USAGE, "missing key");
		return err_hint(e, "name the lock with -k KEY; see 'redlock help %s'", command);
	}
	/* A key in the configuration file is for other calls of hold. */
	if (s->command == COMMAND_HOLD && s->list &&
		settings_source(s, FIELD(names))->kind == SOURCE_LINE) {
		err_set(e, ERR_USAGE, "--list cannot be combined with a key");
		return err_hint(e, "leave the key out: --list shows all locks of this user");
	}
	if (s->keys.count > 1 && s->reentrant) {
		err_set(e, ERR_USAGE, "--reentrant accepts one key only");
		return err_hint(e, "see 'redlock help run'");
	}
	if (s->takeover && (s->limit > 0 || s->wait == 0)) {
		err_set(e, ERR_USAGE, "--takeover cannot be combined with %s",
			s->limit > 0 ? "--limit" : "--no-wait: the holder must end first");
		return err_hint(e, "see 'redlock help run'");
	}
	if (s->token ? settings_set_token(s, s->token, e) < 0 : check_limit(s, e) < 0)
		return -1;
	if (s->token && s->token_file) {
		err_set(e, ERR_USAGE, "--token cannot be combined with --token-file");
		return err_hint(e, "see 'redlock help %s'", command);
	}
	if (!s->token && !s->token_file && wants_token(s)) {
		err_set(e, ERR_USAGE, "missing token");
		return err_hint(e, "give it with --token, --token-file or REDLOCK_TOKEN: what "
				   "'redlock acquire' printed");
	}
	if (s->command == COMMAND_GATE && s->gate_fence == 0) {
		err_set(e, ERR_USAGE, "missing fencing number");
		return err_hint(e,
			"give it with --fence N or REDLOCK_FENCE: 'redlock run --fence' has "
			"one for its command");
	}
	if (s->command == COMMAND_GATE && !s->store) {
		err_set(e, ERR_USAGE, "missing --store");
		return err_hint(e, "name a file on the resource's host that keeps the newest "
				   "number: --store FILE");
	}
	if (s->store && strlen(s->store) > STORE_MAX)
		return err_set(e, ERR_USAGE,
			"--store is too long: %zu bytes, at most %d are allowed", strlen(s->store),
			STORE_MAX);
	if (s->token && !*s->token) {
		err_set(e, ERR_USAGE, "the token is empty");
		return err_hint(e, "check the exit status of 'redlock acquire'");
	}
	return 0;
}

/*
 * The longest remaining life of a lock that was granted before a restart: its validity by any
 * clock, plus the granularity of the nodes' clocks.
 */
static usec quarantine(const struct settings *s)
{
	usec longest = usec_max(usec_max(s->ttl, s->max_ttl), s->min_hold);

	if (s->restart_guard == GUARD_OFF || (s->restart_guard == GUARD_AUTO && s->nodes.count < 3))
		return 0;
	return longest + policy_drift(longest, (int)s->drift_permille);
}

/* For --once-per, nodes may need this long to answer, before their quarantine begins. */
#define NODES_START (7 * USEC_SEC)

static bool is_stronger(const struct settings *s, size_t field, size_t than)
{
	return settings_source(s, field)->kind > settings_source(s, than)->kind;
}

/*
 * --once-per implies other options, unless these come from a source that is as strong.
 * All hosts try at the same time: if all gave up because the nodes are in quarantine, the command
 * would not run at all, so each waits until the quarantine has ended.
 */
static int imply_once_per(struct settings *s, struct err *e)
{
	const char *other = s->limit > 0        ? "--limit"
			    : s->shared         ? "--shared"
			    : s->takeover       ? "--takeover"
			    : s->reentrant      ? "--reentrant"
			    : s->min_hold > 0   ? "--min-hold"
			    : s->keys.count > 1 ? "several keys"
						: NULL;
	bool waits = true; /* for the nodes, unless the user wants no wait, or one without end */

	if (settings_source(s, FIELD(once_per))->kind == SOURCE_NONE || s->command != COMMAND_RUN)
		return 0;
	if (s->once_per == 0)
		return refuse_zero(s, "--once-per", e);
	if (other) {
		err_set(e, ERR_USAGE, "--once-per cannot be combined with %s", other);
		return see_help(s, e);
	}
	if (is_stronger(s, FIELD(once_per), FIELD(wait)))
		s->wait = 0;
	else
		waits = s->wait > 0 && s->wait != NEVER;
	if (is_stronger(s, FIELD(once_per), FIELD(conflict_exit_code)))
		s->conflict_exit_code = 0;
	if (waits && is_stronger(s, FIELD(once_per), FIELD(node_wait)))
		s->node_wait = quarantine(s) + NODES_START;
	return 0;
}

int settings_choose_password(struct settings *s, struct err *e)
{
	enum source_kind file = settings_source(s, FIELD(password_file))->kind;
	enum source_kind text = settings_source(s, FIELD(password))->kind;

	if (file == text && file != SOURCE_NONE)
		return err_set(e, ERR_CONFIG, "--password-file cannot be combined with a password");
	if (file > text)
		s->password = NULL;
	else
		s->password_file = NULL;
	return 0;
}

static int check_secret(const char *name, const char *value, struct err *e)
{
	if (!value || strlen(value) < NODE_SECRET_MAX)
		return 0;
	return err_set(e, ERR_CONFIG, "the %s is too long: %zu bytes, at most %d are allowed", name,
		strlen(value), NODE_SECRET_MAX - 1);
}

/* --username, --password and --password-file apply to nodes without them in the URL. */
static int give_passwords(struct settings *s, struct err *e)
{
	if (check_secret("user name", s->username, e) < 0 ||
		check_secret("password", s->password, e) < 0)
		return -1;
	for (int i = 0; i < s->nodes.count; i++) {
		struct node *node = &s->nodes.node[i];

		if (node->password[0])
			continue;
		if (!node->user[0] && s->username)
			snprintf(node->user, sizeof(node->user), "%s", s->username);
		if (s->password)
			snprintf(node->password, sizeof(node->password), "%s", s->password);
		node->password_file = s->password_file;
	}
	return 0;
}

static int check_tls(const struct tls_settings *t, struct err *e)
{
	char shown[100];

	/* '.example.org' would match every certificate below that domain. A name that is empty up
	 * to its '%' would match none. */
	if (t->sni && strchr(".%", t->sni[0]))
		return err_set(e, ERR_USAGE, "--sni '%s' is no name",
			utf8_escape(shown, sizeof(shown), t->sni, strlen(t->sni)));
	if (t->sni && strlen(t->sni) >= NODE_HOST_MAX)
		return err_set(e, ERR_USAGE, "--sni is too long: %zu bytes, at most %d are allowed",
			strlen(t->sni), NODE_HOST_MAX - 1);
	if (!t->cert == !t->cert_key)
		return 0;
	err_set(e, ERR_USAGE, t->cert ? "--cert needs --cert-key" : "--cert-key needs --cert");
	return err_hint(
		e, "name the client certificate and its private key: both may be in one file");
}

int settings_finish(struct settings *s, struct err *e)
{
	int rc;

	if (make_keys(s, e) < 0 || check_names(s, e) < 0 || imply_once_per(s, e) < 0)
		return -1;
	if (s->owner && !*s->owner)
		s->owner = NULL;
	if (s->owner && strlen(s->owner) >= OWNER_MAX)
		return err_set(e, ERR_USAGE,
			"--owner is too long: %zu bytes, at most %d are allowed", strlen(s->owner),
			OWNER_MAX - 1);
	if (s->on_event && !*s->on_event) /* none, in place of the configuration's */
		s->on_event = NULL;
	if (check_tls(&s->tls, e) < 0)
		return -1;
	if (s->nodes.count == 0) {
		rc = node_list_add(&s->nodes, DEFAULT_NODES, e);
		assert(rc == 0);
	}
	if (give_passwords(s, e) < 0)
		return -1;
	if (s->on_lost == UNSET)
		s->on_lost = s->signal;
	return check_times(s, e);
}

struct deadline_policy settings_deadline(const struct settings *s)
{
	return (struct deadline_policy){
		.on_lost = (int)s->on_lost,
		.grace = s->grace,
		.kill_after = s->kill_after,
		.signal = (int)s->signal,
		.reap = deadline_reap_time(s->ttl),
		.max_run = s->max_run,
	};
}

/*
 * Rendezvous hashing (Thaler, Ravishankar 1996): clients with the same node names compute the same
 * order for a key, and keys are spread over the nodes.
 */
static void order_nodes(const struct settings *s, const char *name, int order[NODES_MAX])
{
	uint64_t key = text_hash(0, name), rank[NODES_MAX];

	for (int i = 0; i < s->nodes.count; i++) {
		int at = i;

		rank[i] = text_hash(key, s->nodes.node[i].label);
		for (; at > 0 && rank[order[at - 1]] > rank[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

struct policy settings_policy(const struct settings *s)
{
	struct deadline_policy deadline = settings_deadline(s);
	struct policy policy = {
		.nodes = s->nodes.count,
		.keys = s->keys.count > 0 ? s->keys.count : 1,
		.limit = (int)s->limit,
		.ttl = s->ttl,
		.drift = drift(s),
		.node_timeout = s->node_timeout,
		.wait = s->wait,
		.node_wait = s->node_wait,
		.refused_is_permanent = settings_source(s, FIELD(nodes))->kind == SOURCE_NONE &&
					settings_source(s, FIELD(wait))->kind == SOURCE_NONE,
		.safety_margin = supervises(s) ? deadline_margin(&deadline) : 0,
		.is_fair = s->fair > 0,
		.is_shared = s->shared > 0,
		.wants_fence = s->fence > 0,
		.wants_record = s->once_per > 0,
		.quarantine = quarantine(s),
		/* acquire ends as soon as a majority has answered. */
		.by_digest = s->command != COMMAND_ACQUIRE,
		.only_looks = s->command == COMMAND_WAIT,
		/* The newest is the first. */
		.ticket = s->takeover ? TICKET_FIRST : 0,
	};

	node_list_fingerprint(policy.fingerprint, &s->nodes);
	for (int i = 0; i < policy.keys; i++)
		order_nodes(s, s->keys.count > 0 ? s->keys.key[i] : "", policy.order[i]);
	return policy;
}

void settings_owner(
	char *dst, size_t size, const char *user, const char *host, long pid, char *const argv[])
{
	char command[OWNER_COMMAND_MAX];
	size_t used = 0;

	command[0] = '\0';
	mask_append_command(command, sizeof(command), &used, argv);
	used = 0;
	text_append(dst, size, &used, "%s@%s:%ld %s", user, host, pid, command);
	for (char *c = dst; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}
