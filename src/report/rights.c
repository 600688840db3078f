#include "report/rights.h"

#include "base/text.h"
#include "base/utf8.h"
#include "report/diagnosis.h"
#include "report/problem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

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
	{"&", SEVERITY_WARNING, false, "", " (to wake waiters)"},
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
	{"client|tracking", SEVERITY_NOTE, false, "+client|tracking", " (beside other libraries)"},
	{"client|caching", SEVERITY_NOTE, false, "+client|caching", " (beside other libraries)"},
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

	/* One ACL rule covers both patterns of redlock's own keys. */
	if (strcmp(name, "~") == 0 && problem_is(mark, REASON_NOPERM) &&
		!strstr(mark->text, " run "))
		return true;
	if (problem_is(subscribed, REASON_NOPERM) &&
		strcmp(name, names_command ? "subscribe" : "&") == 0)
		return true;
	/* A script cannot try these. */
	if (strcmp(name, "evalsha") == 0)
		return problem_is(&p->digest, REASON_NO_DIGESTS) &&
		       strncmp(p->digest.text, "NOPERM", 6) == 0;
	if (strcmp(name, "client|tracking") == 0)
		return problem_is(&p->tracking, REASON_NOPERM);
	if (strcmp(name, "client|caching") == 0)
		return problem_is(&p->caching, REASON_NOPERM);
	/* The EVAL itself was refused: because of the command, or because of its key. */
	if (problem_is(a, REASON_NOPERM))
		return strcmp(name, strstr(a->text, " run ") ? "eval" : "~") == 0;
	return a->vote == VOTE_YES && has_word(a->text, name);
}

/* Could the right not be tried? Then the fix includes its rule, too. Not for key patterns: Redis
 * adds no pattern to a user with all keys. */
static bool is_untried(const struct node_facts *p, int right)
{
	return (is_denied(p, "eval") && rights[right].rule[0]) ||
	       (is_denied(p, "set") && rights[right].wants_set);
}

const char *rights_user(const struct settings *s, int node)
{
	return s->nodes.node[node].user[0] ? s->nodes.node[node].user : "default";
}

/* The longest key pattern that a fix shows; instead of a longer one it shows KEY. */
#define PATTERN_SHOWN_MAX 24

/* The pattern of the locks' keys as --key-format makes it. KEY, for the user to replace, if the
 * pattern has a character that the server or redis-cli would read differently. */
static const char *key_pattern(char dst[REQUEST_KEY_MAX + 1], const struct settings *s)
{
	char made[REQUEST_KEY_MAX + 1];
	struct err e;

	if (!s->key_format || settings_operand_key(s, "*", made, &e) < 0)
		return "KEY";
	utf8_escape(dst, REQUEST_KEY_MAX + 1, made, strlen(made));
	if (strcmp(dst, "*") == 0 || strlen(dst) > PATTERN_SHOWN_MAX || strpbrk(dst, " \"'\\?[]"))
		return "KEY";
	return dst;
}

/* Appends the rules for redlock's own keys, one by one: `redlock:*` would let a user change the
 * bookkeeping of other users' locks. The names of doctor's own keys are used by no lock. */
static void append_own_keys(char *dst, size_t size, size_t *used, const struct settings *s)
{
	static const char *const names[] = {"reserved", "readers", "fence", "limit"};
	char key[REQUEST_KEY_MAX + 1];
	const char *pattern = key_pattern(key, s);

	/* A queue of slots has the limit at the end. */
	text_append(dst, size, used, " ~" GUARD_KEY " ~redlock:queue:{%s}*", pattern);
	for (int i = 0; i < COUNT_OF(names); i++)
		text_append(dst, size, used, " ~redlock:%s:{%s}", names[i], pattern);
	if (!strchr(pattern, '*'))
		text_append(dst, size, used,
			" ~%s#* ~redlock:reserved:{%s#*} ~redlock:fence:{%s#*}", pattern, pattern,
			pattern);
	text_append(dst, size, used, " ~redlock:doctor:* ~redlock:*:{redlock:doctor:*}");
}

/* Appends the rules for the channels of waiters. */
static void append_channels(char *dst, size_t size, size_t *used, const struct settings *s)
{
	char key[REQUEST_KEY_MAX + 1];
	const char *pattern = key_pattern(key, s);

	text_append(dst, size, used,
		" &redlock:wake:{%s}:* &redlock:queue:{%s}* &redlock:*:{redlock:doctor:*}*",
		pattern, pattern);
}

/* Refused although all rights that were tried are there: the user lacks other keys. `keys` is the
 * fix. */
static void judge_refusals(struct diagnosis *d, int node, const struct node_facts *p,
	const char *user, const char *keys)
{
	char detail[300];

	for (int i = 0; i < TRIALS; i++)
		if (problem_is(&p->trial[i], REASON_NOPERM))
			finding_add(d, node,
				trial_is_essential((enum trial)i) ? SEVERITY_ERROR
								  : SEVERITY_WARNING,
				"rights", strstr(p->trial[i].text, " run ") ? "" : keys,
				"user '%s' may not do all that locks want: %s", user,
				utf8_escape(detail, sizeof(detail), p->trial[i].text,
					p->trial[i].text_len));
}

static void judge_rights(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const char *user = rights_user(s, node);
	enum severity severity = SEVERITIES;
	char shown[300], keys[sizeof(d->finding[0].fix)], fix[sizeof(d->finding[0].fix)],
		names[300] = "";
	size_t fix_used = 0, names_used = 0, keys_used = 0;

	utf8_escape(shown, sizeof(shown), user, strlen(user));
	text_append(keys, sizeof(keys), &keys_used, "ACL SETUSER %s", shown);
	append_own_keys(keys, sizeof(keys), &keys_used, s);
	text_append(fix, sizeof(fix), &fix_used, "ACL SETUSER %s", shown);
	for (int i = 0; i < COUNT_OF(rights); i++) {
		bool denied = is_denied(p, rights[i].name);

		if (denied && rights[i].severity < severity)
			severity = rights[i].severity;
		if (denied)
			text_append(names, sizeof(names), &names_used, "%s%s%s",
				names_used > 0 ? ", " : "",
				rights[i].name[0] == '~'   ? "redlock's own keys"
				: rights[i].name[0] == '&' ? "redlock's channels"
							   : rights[i].name,
				severity == SEVERITY_ERROR ? "" : rights[i].use);
		if (denied && rights[i].name[0] == '~')
			append_own_keys(fix, sizeof(fix), &fix_used, s);
		else if (denied && rights[i].name[0] == '&')
			append_channels(fix, sizeof(fix), &fix_used, s);
		else if (denied || is_untried(p, i))
			text_append(fix, sizeof(fix), &fix_used, " %s", rights[i].rule);
	}
	if (severity < SEVERITIES)
		finding_add(
			d, node, severity, "rights", fix, "user '%s' may not use %s", shown, names);
	judge_refusals(d, node, p, shown, keys);
}

/* A user with some keys only that may use redlock's own keys of all locks can change the fencing
 * numbers, readers and waiters of other users' locks. */
static void judge_tenant(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	char user[300], key[REQUEST_KEY_MAX + 1], fix[sizeof(d->finding[0].fix)];
	size_t used = 0;

	if (!problem_is(&p->foreign, REASON_NOPERM) || strstr(p->foreign.text, " run ") ||
		p->foreign_fence.vote != VOTE_YES)
		return;
	utf8_escape(user, sizeof(user), rights_user(s, node), strlen(rights_user(s, node)));
	text_append(
		fix, sizeof(fix), &used, "ACL SETUSER %s resetkeys ~%s", user, key_pattern(key, s));
	append_own_keys(fix, sizeof(fix), &used, s);
	finding_add(d, node, SEVERITY_WARNING, "other-tenants", fix,
		"user '%s' may use redlock's own keys of locks that the user may not take", user);
}

/* Only a note: an administrator may restrict a user to certain names on purpose. */
static void judge_format(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	char user[300], keys[REQUEST_KEY_MAX + 1], shown[200], fix[600] = "";
	struct err e;
	int rc;

	if (!problem_is(&p->formatted, REASON_NOPERM) || strstr(p->formatted.text, " run "))
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
