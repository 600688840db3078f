#include "report/rights.h"

#include "base/text.h"
#include "base/utf8.h"
#include "report/facts.h"
#include "report/report.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

#define DOCTOR_KEYS "~redlock:doctor:* ~redlock:*:{redlock:doctor:*}"
#define DOCTOR_CHANNELS "&redlock:*:{redlock:doctor:*}*"

static const struct {
	const char *name;
	enum severity severity; /* of a missing right */
	bool wants_set; /* can be tried only if SET is permitted */
	const char *rule, *use;
} rights[] = {
	{"eval", SEVERITY_ERROR, false, "+eval", ""},
	{"evalsha", SEVERITY_WARNING, false, "+evalsha", " (to send less)"},
	{"get", SEVERITY_ERROR, false, "+get", ""},
	{"set", SEVERITY_ERROR, false, "+set", ""},
	{"pttl", SEVERITY_ERROR, false, "+pttl", ""},
	{"pexpire", SEVERITY_ERROR, false, "+pexpire", ""},
	{"del", SEVERITY_ERROR, false, "+del", ""},
	{"~", SEVERITY_WARNING, false, "", " (to queue, for one)"},
	{"~doctor", SEVERITY_WARNING, false, DOCTOR_KEYS, " (to try a lock)"},
	{"&", SEVERITY_WARNING, false, "", " (to wake waiters)"},
	{"&doctor", SEVERITY_WARNING, false, DOCTOR_CHANNELS, " (to try a wake-up)"},
	{"info", SEVERITY_WARNING, false, "+info", " (to know the server, and its restarts)"},
	{"time", SEVERITY_WARNING, false, "+time",
		" (to know how long a restarted node has no vote, and for --fence)"},
	{"exists", SEVERITY_WARNING, false, "+exists", " (to wake waiters)"},
	{"zadd", SEVERITY_WARNING, true, "+zadd", " (to queue)"},
	{"zrange", SEVERITY_WARNING, false, "+zrange", " (to wake waiters)"},
	{"zrank", SEVERITY_WARNING, false, "+zrank", " (to queue)"},
	{"zscore", SEVERITY_WARNING, false, "+zscore", " (to queue)"},
	{"zrem", SEVERITY_WARNING, false, "+zrem", " (to wake waiters)"},
	{"publish", SEVERITY_WARNING, false, "+publish", " (to wake waiters)"},
	{"pubsub", SEVERITY_WARNING, false, "+pubsub|numsub", " (to wake waiters)"},
	{"subscribe", SEVERITY_WARNING, false, "+subscribe", " (to be woken)"},
	{"client|tracking", SEVERITY_NOTE, false, "+client|tracking", " (next to other libraries)"},
	{"client|caching", SEVERITY_NOTE, false, "+client|caching", " (next to other libraries)"},
	{"zrangebyscore", SEVERITY_NOTE, false, "+zrangebyscore", " (for --shared)"},
	{"zremrangebyscore", SEVERITY_NOTE, false, "+zremrangebyscore", " (for --shared)"},
	{"type", SEVERITY_NOTE, false, "+type", " (to know other libraries' locks)"},
	{"hscan", SEVERITY_NOTE, false, "+hscan", " (to break Redisson's locks)"},
	{"zscan", SEVERITY_NOTE, false, "+zscan", " (to break Symfony's locks)"},
	{"scan", SEVERITY_NOTE, false, "+scan", " (for status)"},
	{"getrange", SEVERITY_NOTE, false, "+getrange", " (for status)"},
};

/* Is `word` one of the words? */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == len && memcmp(at, word, len) == 0)
			return true;
	return false;
}

static bool is_denied(const struct node_facts *p, const char *name)
{
	const struct reply *a = &p->rights, *mark = &p->marker,
			   *subscribed = &p->trial[TRIAL_SUBSCRIBE];
	bool names_command = strstr(subscribed->text, " run ");
	bool lacks_own = rights_lacks_key(mark);
	/* The script tries keys of doctor's own. */
	bool lacks_doctor = rights_lacks_key(a) || (a->vote == VOTE_YES && has_word(a->text, "~"));
	const char *channels = lacks_doctor && !lacks_own ? "&doctor" : "&";

	/* The fix for redlock's own keys has those of doctor. */
	if (name[0] == '~')
		return strcmp(name, "~") == 0 ? lacks_own : lacks_doctor && !lacks_own;
	if (reply_is_absent(subscribed, REASON_NOPERM) &&
		strcmp(name, names_command ? "subscribe" : channels) == 0)
		return true;
	if (name[0] == '&')
		return strcmp(name, channels) == 0 && a->vote == VOTE_YES && has_word(a->text, "&");
	/* A script cannot try these. */
	if (strcmp(name, "evalsha") == 0)
		return reply_is_absent(&p->digest, REASON_NO_DIGESTS) &&
		       strncmp(p->digest.text, "NOPERM", 6) == 0;
	if (strcmp(name, "client|tracking") == 0)
		return reply_is_absent(&p->tracking, REASON_NOPERM);
	if (strcmp(name, "client|caching") == 0)
		return reply_is_absent(&p->caching, REASON_NOPERM);
	/* The EVAL itself was refused. */
	if (reply_is_absent(a, REASON_NOPERM))
		return strcmp(name, "eval") == 0 && !lacks_doctor;
	return a->vote == VOTE_YES && has_word(a->text, name);
}

/* Could the right not be tried? Then the fix includes its rule, too. Not for key patterns: Redis
 * adds no pattern to a user with all keys. */
static bool is_untried(const struct node_facts *p, int right)
{
	return (is_denied(p, "eval") && rights[right].rule[0] == '+') ||
	       (is_denied(p, "set") && rights[right].wants_set);
}

const char *rights_user(const struct settings *s, int node)
{
	return s->nodes.node[node].user[0] ? s->nodes.node[node].user : "default";
}

bool rights_lacks_key(const struct reply *a)
{
	/* The name of the user is in the text, too. */
	return reply_is_absent(a, REASON_NOPERM) && strstr(a->text, "key") &&
	       !strstr(a->text, " run ");
}

/* The longest key pattern that a fix shows; instead of a longer one it shows KEY. */
#define PATTERN_SHOWN_MAX 60

/* The key as a pattern: KEY, for the user to replace, if the key has a character that the server or
 * redis-cli would read differently. */
static const char *show_pattern(char dst[REQUEST_KEY_MAX + 1], const char *key)
{
	utf8_escape(dst, REQUEST_KEY_MAX + 1, key, strlen(key));
	if (strcmp(dst, "*") == 0 || strlen(dst) > PATTERN_SHOWN_MAX || strpbrk(dst, " \"'\\?[]"))
		return "KEY";
	return dst;
}

/* Explains KEY, if the fix has it; else "". */
static const char *explain_pattern(const char *fix)
{
	return strstr(fix, "{KEY}") ? "; KEY in the fix stands for a pattern of your locks' keys, "
				      "such as deploy-*"
				    : "";
}

/* The number of patterns of the locks' keys: one for each key of the command line, or else one for
 * all keys that --key-format makes. */
static int count_patterns(const struct settings *s)
{
	return s->keys.count > 0 ? s->keys.count : 1;
}

static const char *key_pattern(char dst[REQUEST_KEY_MAX + 1], const struct settings *s, int i)
{
	char made[REQUEST_KEY_MAX + 1];
	struct err e;

	if (s->keys.count > 0)
		return show_pattern(dst, s->keys.key[i]);
	if (!s->key_format || settings_operand_key(s, "*", made, &e) < 0)
		return "KEY";
	return show_pattern(dst, made);
}

/* Appends the rules for redlock's own keys, one by one: `redlock:*` would let a user change the
 * bookkeeping of other users' locks. The names of doctor's own keys are used by no lock. */
static void append_own_keys(char *dst, size_t size, size_t *used, const struct settings *s)
{
	static const char *const names[] = {"reserved", "readers", "fence", "limit"};
	char key[REQUEST_KEY_MAX + 1];

	text_append(dst, size, used, " ~" GUARD_KEY);
	for (int n = 0; n < count_patterns(s); n++) {
		const char *pattern = key_pattern(key, s, n);

		/* A queue of slots has the limit at the end. */
		text_append(dst, size, used, " ~redlock:queue:{%s}*", pattern);
		for (int i = 0; i < COUNT_OF(names); i++)
			text_append(dst, size, used, " ~redlock:%s:{%s}", names[i], pattern);
		if (!strchr(pattern, '*') && (s->keys.count == 0 || s->limit > 1))
			text_append(dst, size, used,
				" ~%s#* ~redlock:reserved:{%s#*} ~redlock:fence:{%s#*}", pattern,
				pattern, pattern);
	}
	if (s->command == COMMAND_DOCTOR)
		text_append(dst, size, used, " " DOCTOR_KEYS);
}

/* Appends the rules for the locks' keys. */
static void append_keys(char *dst, size_t size, size_t *used, const struct settings *s)
{
	char key[REQUEST_KEY_MAX + 1];

	for (int i = 0; i < count_patterns(s); i++)
		text_append(dst, size, used, " ~%s", key_pattern(key, s, i));
}

/* Appends the rules for the channels of waiters. */
static void append_channels(char *dst, size_t size, size_t *used, const struct settings *s)
{
	char key[REQUEST_KEY_MAX + 1];

	for (int i = 0; i < count_patterns(s); i++) {
		const char *pattern = key_pattern(key, s, i);

		text_append(dst, size, used, " &redlock:wake:{%s}:* &redlock:queue:{%s}*", pattern,
			pattern);
	}
	if (s->command == COMMAND_DOCTOR)
		text_append(dst, size, used, " " DOCTOR_CHANNELS);
}

/* The command that the server's refusal names: "... has no permissions to run the 'eval' command".
 * Returns its length; 0: none is named. */
static int named_command(const char *text, const char **name)
{
	const char *run = strstr(text, " run the '");

	if (!run)
		return 0;
	*name = run + strlen(" run the '");
	return (int)strspn(*name, "abcdefghijklmnopqrstuvwxyz0123456789-_|");
}

/* Does the subcommand search the nodes for all locks? */
static bool searches(const struct settings *s)
{
	return (s->command == COMMAND_STATUS && !(s->operands && s->operands[0])) ||
	       (s->command == COMMAND_DOCTOR && s->admit);
}

/* Is the right, which few subcommands need, needed with these settings? */
static bool is_wanted(const struct settings *s, int right)
{
	return (s->shared && strstr(rights[right].use, "--shared")) ||
	       (searches(s) && strstr(rights[right].use, "status"));
}

/* Appends the rules for all commands that the subcommand needs with these settings. */
static void append_commands(char *dst, size_t size, size_t *used, const struct settings *s)
{
	for (int i = 0; i < COUNT_OF(rights); i++)
		if (rights[i].rule[0] == '+' &&
			(rights[i].severity != SEVERITY_NOTE || is_wanted(s, i)))
			text_append(dst, size, used, " %s", rights[i].rule);
}

/* Writes the fix for a refused search, whose script has begun if the refusal does not name EVAL. */
static const char *search_fix(char dst[FIX_MAX], const char *user, const struct reply *a)
{
	const char *name = "";
	int len = named_command(a->text, &name);

	if (rights_lacks_key(a))
		snprintf(dst, FIX_MAX,
			"name a user that may read all keys (rights ~* +scan +getrange) with "
			"--username: user '%s' cannot see all locks",
			user);
	else if (len > 0 && strncmp(name, "scan", 4) != 0)
		snprintf(dst, FIX_MAX, "ACL SETUSER %s +%.*s", user, len, name);
	else
		snprintf(dst, FIX_MAX, "ACL SETUSER %s +scan +getrange +pttl", user);
	return dst;
}

const char *rights_fix(char dst[FIX_MAX], const struct settings *s, int node, const struct reply *a)
{
	const char *user = rights_user(s, node), *name = "";
	int len = named_command(a->text, &name);
	char shown[300];
	size_t used = 0;

	utf8_escape(shown, sizeof(shown), user, strlen(user));
	if (searches(s) && strncmp(name, "eval", 4) != 0)
		return search_fix(dst, shown, a);
	text_append(dst, FIX_MAX, &used, "ACL SETUSER %s", shown);
	if (len > 0 && strncmp(name, "eval", 4) != 0) {
		text_append(dst, FIX_MAX, &used, " +%.*s", len, name);
	} else if (strstr(a->text, " run ")) { /* other rights may be missing as well */
		append_commands(dst, FIX_MAX, &used, s);
	} else if (strstr(a->text, "channel")) {
		append_channels(dst, FIX_MAX, &used, s);
	} else {
		append_keys(dst, FIX_MAX, &used, s);
		append_own_keys(dst, FIX_MAX, &used, s);
	}
	return dst;
}

const char *rights_guard_fix(char dst[FIX_MAX], const struct settings *s, int node, int unguarded)
{
	const char *user = rights_user(s, node);
	char shown[300];

	dst[0] = '\0';
	if (unguarded & UNGUARDED_NO_INFO)
		snprintf(dst, FIX_MAX, "%s", NO_INFO_FIX);
	else if (unguarded & UNGUARDED_NO_TIME)
		snprintf(dst, FIX_MAX, "remove 'rename-command TIME' from redis.conf, and restart");
	else if (unguarded & UNGUARDED_NO_RUN_ID)
		snprintf(dst, FIX_MAX,
			"name another server, or give --restart-guard off: it does "
			"not tell of its restarts");
	else if (unguarded)
		snprintf(dst, FIX_MAX, "ACL SETUSER %s%s%s%s",
			utf8_escape(shown, sizeof(shown), user, strlen(user)),
			unguarded & UNGUARDED_INFO ? " +info" : "",
			unguarded & UNGUARDED_TIME ? " +time" : "",
			unguarded & UNGUARDED_KEY ? " ~" GUARD_KEY : "");
	return dst;
}

/* Of locks in general, then of one feature each: docs/nodes.md says of which. KEY stands for the
 * pattern. */
static const char *const lines[] = {
	"on ~KEY ~" GUARD_KEY " +eval +evalsha +get +set +del +pttl +pexpire +exists +info +time",
	"~redlock:queue:{KEY}* ~redlock:reserved:{KEY} +zadd +zrange +zrank +zscore +zrem",
	"resetchannels &redlock:wake:{KEY}:* &redlock:queue:{KEY}* +subscribe +publish "
	"+pubsub|numsub",
	"+client|tracking +client|caching",
	"~redlock:fence:{KEY}",
	"~KEY#* ~redlock:reserved:{KEY#*} ~redlock:fence:{KEY#*} ~redlock:limit:{KEY}",
	"~redlock:readers:{KEY} +zrangebyscore +zremrangebyscore",
	"+scan +getrange",
	"+type +hscan +zscan",
	DOCTOR_KEYS " " DOCTOR_CHANNELS,
};

/* A line has the pattern four times, and the user. */
#define RULE_WORD_MAX 250

/* The server splits no rule, but redis-cli splits its line at spaces, and reads quotes. */
int rights_check(const char *what, const char *text, struct err *e)
{
	char shown[200];

	if (!*text)
		return err_set(e, ERR_USAGE, "%s is empty", what);
	if (strlen(text) > RULE_WORD_MAX)
		return err_set(e, ERR_USAGE, "%s is too long: %zu bytes, at most %d are allowed",
			what, strlen(text), RULE_WORD_MAX);
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f || *at == '"' || *at == '\'') {
			err_set(e, ERR_USAGE,
				"invalid %s '%s': an ACL rule has no space, quote or control "
				"character",
				what, utf8_escape(shown, sizeof(shown), text, strlen(text)));
			return err_hint(e, "'?' in a pattern stands for any character");
		}
	return 0;
}

const char *rights_line(char dst[FIX_MAX], int i, const char *user, const char *pattern)
{
	/* Redis adds no pattern to a user with all keys. */
	bool has_all = strcmp(pattern, "*") == 0;
	size_t used = 0, len, begun;

	if (i >= COUNT_OF(lines))
		return NULL;
	text_append(dst, FIX_MAX, &used, "ACL SETUSER %s", user);
	begun = used;
	for (const char *word = lines[i]; *word; word += len + (word[len] == ' ')) {
		const char *rest = word, *key;

		len = strcspn(word, " ");
		if (has_all && word[0] == '~' && strncmp(word, "~KEY ", 5) != 0)
			continue;
		text_append(dst, FIX_MAX, &used, " ");
		while ((key = strstr(rest, "KEY")) && key < word + len) {
			text_append(
				dst, FIX_MAX, &used, "%.*s%s", (int)(key - rest), rest, pattern);
			rest = key + strlen("KEY");
		}
		text_append(dst, FIX_MAX, &used, "%.*s", (int)(word + len - rest), rest);
	}
	return used > begun ? dst : "";
}

/* Refused although all rights that were tried are there: the user lacks other rights. A finding of
 * severity `found` about the rights explains a refusal, unless that makes locks impossible and the
 * finding says less. */
static void judge_refusals(struct diagnosis *d, int node, const struct settings *s,
	const struct node_facts *p, enum severity found)
{
	const char *user = rights_user(s, node);
	char shown[300], detail[300], fix[FIX_MAX];

	for (int i = 0; i < TRIALS; i++) {
		const struct reply *a = &p->trial[i];
		enum severity severity =
			trial_is_essential((enum trial)i) ? SEVERITY_ERROR : SEVERITY_WARNING;

		if (!reply_is_absent(a, REASON_NOPERM) || found == SEVERITY_ERROR)
			continue;
		if (found != SEVERITIES && (i > TRIAL_EXTEND || !strstr(a->text, " run ")))
			continue;
		rights_fix(fix, s, node, a);
		finding_add(d, node, severity, found == SEVERITIES ? "rights" : "denied", fix,
			"user '%s' may not do all that locks need: %s%s",
			utf8_escape(shown, sizeof(shown), user, strlen(user)),
			utf8_escape(detail, sizeof(detail), a->text, a->text_len),
			explain_pattern(fix));
	}
}

static const char *shown_name(const char *name)
{
	return strcmp(name, "~") == 0         ? "redlock's own keys"
	       : strcmp(name, "~doctor") == 0 ? "doctor's own keys redlock:doctor:*"
	       : strcmp(name, "&") == 0       ? "redlock's channels"
	       : strcmp(name, "&doctor") == 0 ? "doctor's own channels"
					      : name;
}

static void judge_rights(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const char *user = rights_user(s, node);
	enum severity severity = SEVERITIES;
	char shown[300], fix[FIX_MAX], names[600] = "", untried[400] = "";
	size_t fix_used = 0, names_used = 0, untried_used = 0;

	utf8_escape(shown, sizeof(shown), user, strlen(user));
	text_append(fix, sizeof(fix), &fix_used, "ACL SETUSER %s", shown);
	for (int i = 0; i < COUNT_OF(rights); i++) {
		bool denied = is_denied(p, rights[i].name);

		if (denied && rights[i].severity < severity)
			severity = rights[i].severity;
		if (denied)
			text_append(names, sizeof(names), &names_used, "%s%s%s",
				names_used > 0 ? ", " : "", shown_name(rights[i].name),
				severity == SEVERITY_ERROR ? "" : rights[i].use);
		if (denied && strcmp(rights[i].name, "~") == 0)
			append_own_keys(fix, sizeof(fix), &fix_used, s);
		else if (denied && strcmp(rights[i].name, "&") == 0)
			append_channels(fix, sizeof(fix), &fix_used, s);
		else if (denied || is_untried(p, i))
			text_append(fix, sizeof(fix), &fix_used, " %s", rights[i].rule);
		if (!denied && is_untried(p, i))
			text_append(untried, sizeof(untried), &untried_used, "%s%s",
				untried_used > 0 ? ", " : "; without it, doctor cannot try ",
				rights[i].name);
	}
	if (severity < SEVERITIES)
		finding_add(d, node, severity, "rights", fix, "user '%s' may not use %s%s%s", shown,
			names, untried, explain_pattern(fix));
	judge_refusals(d, node, s, p, severity);
}

/* A user with some keys only that may use redlock's own keys of all locks can change the fencing
 * numbers, readers and waiters of other users' locks. */
static void judge_tenant(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	char user[300], fix[FIX_MAX];
	size_t used = 0;

	if (!rights_lacks_key(&p->foreign) || p->foreign_fence.vote != VOTE_YES)
		return;
	utf8_escape(user, sizeof(user), rights_user(s, node), strlen(rights_user(s, node)));
	text_append(fix, sizeof(fix), &used, "ACL SETUSER %s resetkeys", user);
	append_keys(fix, sizeof(fix), &used, s);
	append_own_keys(fix, sizeof(fix), &used, s);
	finding_add(d, node, SEVERITY_WARNING, "other-tenants", fix,
		"user '%s' may use redlock's own keys of locks that the user may not take%s", user,
		explain_pattern(fix));
}

/* With keys on the command line, `formatted` is about them. Without, a user that has rights on some
 * keys only may lack those on a lock's key. */
static void judge_keys(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const char *name = rights_user(s, node);
	char user[300], fix[FIX_MAX], keys[REPORT_MAX];

	utf8_escape(user, sizeof(user), name, strlen(name));
	if (s->keys.count > 0 && rights_lacks_key(&p->formatted))
		finding_add(d, node, SEVERITY_ERROR, "key", rights_fix(fix, s, node, &p->formatted),
			"user '%s' may not use %s", user, report_keys(keys, &s->keys));
	else if (s->keys.count > 0 && rights_lacks_key(&p->queues))
		finding_add(d, node, SEVERITY_WARNING, "key", rights_fix(fix, s, node, &p->queues),
			"user '%s' may not use redlock's own keys of %s (to queue, for one)", user,
			report_keys(keys, &s->keys));
	else if (s->keys.count == 0 && !s->key_format && !finding_of(d, node, "other-tenants") &&
		 (rights_lacks_key(&p->foreign) ||
			 (rights_lacks_key(&p->trial[TRIAL_ACQUIRE]) && d->is_usable[node])))
		finding_add(d, node, SEVERITY_NOTE, "some-keys",
			"redlock doctor -k KEY, with the key of a lock",
			"user '%s' has rights on some keys only: those of locks were not tried",
			user);
}

/* Only a note: an administrator may restrict a user to certain names on purpose. */
static void judge_format(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	char user[300], keys[REQUEST_KEY_MAX + 1], shown[200], fix[600] = "";
	struct err e;
	int rc;

	judge_keys(d, node, s, p);
	if (!rights_lacks_key(&p->formatted) || s->keys.count > 0)
		return;
	rc = settings_operand_key(s, "*", keys, &e);
	assert(rc == 0); /* the query had a longer name */
	utf8_escape(user, sizeof(user), rights_user(s, node), strlen(rights_user(s, node)));
	utf8_escape(shown, sizeof(shown), keys, strlen(keys));
	/* The user fixes a pattern that the server or redis-cli would read differently. */
	if (!strpbrk(shown, " \"'\\?[]"))
		snprintf(fix, sizeof(fix), "ACL SETUSER %s ~%s", user, shown);
	finding_add(d, node, SEVERITY_NOTE, "key-format", fix,
		"user '%s' may not use all keys '%s', as --key-format makes them", user, shown);
}

void rights_judge(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	judge_rights(d, node, s, p);
	judge_tenant(d, node, s, p);
	judge_format(d, node, s, p);
}
