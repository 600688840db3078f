#include "report/report.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"
#include "base/utf8.h"

#include <string.h>

struct line {
	char *dst;
	size_t used;
};

#define add(l, ...) text_append((l)->dst, REPORT_MAX, &(l)->used, __VA_ARGS__)

static struct line line(char *dst)
{
	dst[0] = '\0';
	return (struct line){.dst = dst};
}

static void add_quoted(struct line *l, const char *text)
{
	char shown[120];

	add(l, "'%s'", utf8_escape(shown, sizeof(shown), text, strlen(text)));
}

static void add_keys(struct line *l, const struct key_list *keys)
{
	for (int i = 0; i < keys->count; i++) {
		add(l, "%s", i ? ", " : "");
		add_quoted(l, keys->key[i]);
	}
}

/* slot 0: not a semaphore, or no slot was chosen. */
static void add_slot(struct line *l, int slot, const struct key_list *keys)
{
	char shown[120];
	const char *key = keys->key[0];

	if (slot > 0)
		add(l, "'%s#%d'", utf8_escape(shown, sizeof(shown), key, strlen(key)), slot);
	else
		add_keys(l, keys);
}

/* Of a semaphore, the slot that is held, or was asked for last. */
static void add_lock(struct line *l, const struct lock *lock, const struct key_list *keys)
{
	add_slot(l, lock_slot(lock), keys);
}

const char *report_lock(char dst[REPORT_MAX], int slot, const struct key_list *keys)
{
	struct line l = line(dst);

	add_slot(&l, slot, keys);
	return dst;
}

const char *report_verb(const struct key_list *keys)
{
	return keys->count > 1 ? "are" : "is";
}

const char *report_keys(char dst[REPORT_MAX], const struct key_list *keys)
{
	struct line l = line(dst);

	add_keys(&l, keys);
	return dst;
}

/* The one that somebody else has, in most nodes' words. */
static void add_busy_key(struct line *l, const struct tally *t, const struct key_list *keys)
{
	int nodes;

	add_quoted(l, keys->key[tally_holder(t, &nodes).key]);
}

static void add_owner(struct line *l, const struct reply *a)
{
	char shown[REPLY_TEXT_MAX], when[TIME_TEXT_MAX];
	size_t skip = 0;
	int64_t since =
		token_is_ours(a->text, a->text_len) ? token_since(a->text, a->text_len, &skip) : 0;

	/* Of a value in another program's format, enough to recognise it. */
	utf8_escape(shown, skip ? sizeof(shown) : 61, a->text + skip, a->text_len - skip);
	if (skip)
		add(l, "%s", shown);
	if (skip && since)
		add(l, " since %s", time_format(when, since));
	if (!skip)
		add(l, "another program (value '%s')", shown);
}

/* Its time left is counted down from when it was asked for, `age` ago. */
static void add_holder(struct line *l, const struct tally *t, usec age)
{
	char left[DURATION_TEXT_MAX];
	int nodes;
	const struct reply holder = tally_holder(t, &nodes);

	if (nodes == 0) {
		add(l, "held by somebody else");
		return;
	}
	if (holder.is_reserved) {
		add(l, holder.is_shared ? "shared by readers, and others are before us in line"
					: "about to be taken by the next in line");
		return;
	}
	add(l, "held by ");
	add_owner(l, &holder);
	/* Maybe only the line was asked. */
	if (nodes >= tally_quorum(t) || tally_count(t, VOTE_NONE) == 0)
		add(l, " on %d of %d node%s", nodes, t->nodes, t->nodes > 1 ? "s" : "");
	add(l, ", ");
	if (holder.pttl == NEVER)
		add(l, "with no expiry");
	else
		add(l, "%s left", duration_format(left, holder.pttl - usec_min(holder.pttl, age)));
}

const char *report_holder(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys, usec now)
{
	struct line l = line(dst);

	if (policy_has_slots(&lock->policy)) {
		add(&l, "the %d slots of ", lock->policy.slots);
		add_busy_key(&l, &lock->tally, keys);
		add(&l, " are taken, ");
		add_lock(&l, lock, keys);
		add(&l, " ");
	} else {
		add_busy_key(&l, &lock->tally, keys);
		add(&l, " is ");
	}
	add_holder(&l, &lock->tally, now - lock->tally.began);
	return dst;
}

/* Its time left is counted down from when it was told, `age` ago. */
static void add_trouble(struct line *l, const struct reply *a, usec age)
{
	char shown[160], time[DURATION_TEXT_MAX];

	add(l, "%s", reason_words(a->reason));
	switch (a->reason) {
	case REASON_UNRESOLVED:
	case REASON_CONNECT:
	case REASON_CLOSED:
	case REASON_TLS:
	case REASON_UNTRUSTED:
	case REASON_CLIENT_CERTIFICATE:
	case REASON_NOAUTH:
	case REASON_NO_PASSWORD:
	case REASON_NOPERM:
	case REASON_SERVER:
	case REASON_GARBAGE:
	case REASON_COUNTER:
		if (a->text_len)
			add(l, " (%s)", utf8_escape(shown, sizeof(shown), a->text, a->text_len));
		break;
	case REASON_QUARANTINE:
		add(l, " for another %s", duration_format(time, a->pttl - usec_min(a->pttl, age)));
		break;
	case REASON_SKEWED:
		add(l, ", %s %s ours", duration_format(time, a->pttl), a->text);
		break;
	case REASON_NONE:
	case REASON_CONNECT_TIMEOUT:
	case REASON_TLS_TIMEOUT:
	case REASON_NOT_TLS:
	case REASON_SPEAKS_TLS:
	case REASON_TIMEOUT:
	case REASON_NOT_READY:
	case REASON_LOADING:
	case REASON_READONLY:
	case REASON_MISCONF:
	case REASON_OOM:
	case REASON_MOVED:
	case REASON_CLUSTERDOWN:
	case REASON_MASTERDOWN:
	case REASON_NOREPLICAS:
	case REASON_BUSY:
	case REASON_MAXCLIENTS:
	case REASON_TOO_LONG:
		break;
	}
}

static void add_troubles_behind(struct line *l, const char *separator, const struct tally *t,
	const struct node_list *nodes, usec age)
{
	for (int i = 0; i < t->nodes; i++) {
		if (!tally_in_trouble(t, i))
			continue;
		add(l, "%s%s ", separator, nodes->node[i].label);
		add_trouble(l, &t->ballot[i].reply, age);
		separator = "; ";
	}
}

static void add_troubles(
	struct line *l, const struct tally *t, const struct node_list *nodes, usec age)
{
	add_troubles_behind(l, ": ", t, nodes, age);
}

const char *report_unguarded(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes)
{
	struct line l = line(dst);
	const char *separator = "no restart guard on ";

	for (int i = 0; i < t->nodes; i++)
		if (t->ballot[i].vote == VOTE_YES && t->ballot[i].reply.is_unguarded) {
			add(&l, "%s%s", separator, nodes->node[i].label);
			separator = ", ";
		}
	if (l.used > 0)
		add(&l, ": this user may not ask for INFO or TIME, or not use the key "
			"'" GUARD_KEY "'");
	return dst;
}

static bool is_for(const struct tally *t, enum reason reason)
{
	bool is_it = false;

	/* Not tally_in_trouble(): a node that voted may refuse the release. */
	for (int i = 0; i < t->nodes; i++)
		is_it |= t->ballot[i].reply.vote == VOTE_ABSENT &&
			 t->ballot[i].reply.reason == reason;
	return is_it;
}

const char *report_remedy(const struct tally *t)
{
	/* The first that is found is said. */
	static const struct {
		enum reason reason;
		const char *hint;
	} table[] = {
		{REASON_QUARANTINE,
			"a node that is new, restarted or flushed votes when all locks that it may "
			"have forgotten have ended; 'redlock doctor --admit' skips that where "
			"there are none"},
		{REASON_NOAUTH, "name user and password: --username USER --password-file FILE, or "
				"REDLOCK_USERNAME and REDLOCK_PASSWORD"},
		{REASON_NO_PASSWORD, "leave user and password out, or set a password on the node "
				     "(requirepass)"},
		{REASON_SPEAKS_TLS, "name a port for TLS as rediss://HOST:PORT"},
		{REASON_UNTRUSTED, "--cacert FILE names the authority that signed it, --sni NAME "
				   "the name that it is for"},
		{REASON_NOPERM,
			"a right to the key is missing, or to a command: 'redlock doctor' tells of "
			"commands, 'man 7 redlock' has all that is needed"},
		{REASON_COUNTER, "delete that key on the node: the numbers go on at the time of "
				 "day; a 'gate' "
				 "whose --store has a larger number needs a new store"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (is_for(t, table[i].reason))
			return table[i].hint;
	return NULL;
}

bool report_is_skewed(const struct tally *t)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++)
		n += tally_in_trouble(t, i) && t->ballot[i].reply.reason == REASON_SKEWED;
	return n >= tally_quorum(t);
}

const char *report_no_seat(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys)
{
	struct line l = line(dst);

	add(&l, "no waiting in line for ");
	add_keys(&l, keys);
	add(&l, ", only asking again and again: %s ", nodes->node[lock->seat.node].label);
	add_trouble(&l, &lock->seat.trouble, 0);
	return dst;
}

/* Those that are not named as being in trouble. */
static int count_usable(const struct tally *t)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++)
		n += !tally_in_trouble(t, i);
	return n;
}

const char *report_refusal(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now)
{
	struct line l = line(dst);
	int holders;

	switch (lock->refusal) {
	case REFUSAL_NONE:
		break;
	case REFUSAL_BUSY:
		add_busy_key(&l, &lock->tally, keys);
		add(&l, " is busy: ");
		if (policy_has_slots(&lock->policy)) {
			add(&l, "its %d slots are taken, ", lock->policy.slots);
			add_lock(&l, lock, keys);
			add(&l, " ");
		}
		add_holder(&l, &lock->tally, 0);
		/* Of a trace, it may be these that are missing. */
		(void)tally_holder(&lock->tally, &holders);
		if (holders < policy_quorum(&lock->policy))
			add_troubles_behind(&l, "; ", &lock->tally, nodes, now - lock->tally.began);
		break;
	case REFUSAL_NO_QUORUM:
		add(&l, "no quorum for ");
		add_keys(&l, keys);
		add(&l, ": %d of %d node%s can be used, %d needed", count_usable(&lock->tally),
			lock->policy.nodes, lock->policy.nodes > 1 ? "s" : "",
			policy_quorum(&lock->policy));
		add_troubles(&l, &lock->tally, nodes, now - lock->tally.began);
		break;
	case REFUSAL_SLOW:
		add(&l, "no quorum for ");
		add_keys(&l, keys);
		add(&l, " in time: the nodes granted it so late that too little of the TTL was "
			"left");
		break;
	case REFUSAL_DUPLICATE:
		return report_duplicate(dst, &lock->tally, nodes);
	}
	return dst;
}

const char *report_stood_still(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys)
{
	struct line l = line(dst);

	add(&l, "lost ");
	add_lock(&l, lock, keys);
	add(&l, ": redlock stood still and could not extend it in time");
	return dst;
}

const char *report_loss(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys)
{
	struct line l = line(dst);
	int foreign = tally_count(&lock->tally, VOTE_FOREIGN),
	    gone = tally_count(&lock->tally, VOTE_GONE);

	if (lock->loss == LOSS_STOOD_STILL)
		return report_stood_still(dst, lock, keys);
	add(&l, "lost ");
	add_lock(&l, lock, keys);
	if (lock->loss == LOSS_DENIED && foreign > 0) {
		add(&l, ": now ");
		if (keys->count > 1) {
			add_busy_key(&l, &lock->tally, keys);
			add(&l, " is ");
		}
		add_holder(&l, &lock->tally, 0);
		if (gone > 0)
			add(&l, "; gone from %d", gone);
	} else if (lock->loss == LOSS_DENIED) {
		add(&l, ": the key is gone from %d of %d nodes", gone, lock->policy.nodes);
	} else {
		add(&l, ": no majority of %d node%s confirmed it in time", lock->policy.nodes,
			lock->policy.nodes > 1 ? "s" : "");
		add_troubles(&l, &lock->tally, nodes, 0);
	}
	return dst;
}

const char *report_unsure(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys)
{
	struct line l = line(dst);
	int quorum = policy_quorum(&lock->policy), yes = tally_count(&lock->tally, VOTE_YES);
	int no = tally_count(&lock->tally, VOTE_GONE) + tally_count(&lock->tally, VOTE_FOREIGN);

	if (no == 0 || no >= quorum || yes >= quorum)
		return dst;
	add(&l, "cannot tell whether ");
	add_lock(&l, lock, keys);
	add(&l, " %s held to the end: %d of %d nodes had %s still, %d had not",
		keys->count > 1 ? "were" : "was", yes, lock->policy.nodes,
		keys->count > 1 ? "them" : "it", no);
	return dst;
}

const char *report_unreleased(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now)
{
	struct line l = line(dst);
	const char *separator = ": ";
	char left[DURATION_TEXT_MAX];
	usec until = now;
	int count = lock_unreleased(lock, &until);

	add_lock(&l, lock, keys);
	add(&l, " could not be released on %d of %d nodes and frees itself there within %s", count,
		lock->policy.nodes, duration_format(left, until - now));
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->peer[i].owes) {
			add(&l, "%s%s", separator, nodes->node[i].label);
			separator = ", ";
			if (lock->tally.ballot[i].reply.vote != VOTE_ABSENT)
				continue;
			add(&l, " ");
			add_trouble(&l, &lock->tally.ballot[i].reply, 0);
		}
	return dst;
}

const char *report_duplicate(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes)
{
	struct line l = line(dst);

	if (t->duplicate[0] >= 0)
		add(&l, "nodes '%s' and '%s' are the same server",
			nodes->node[t->duplicate[0]].label, nodes->node[t->duplicate[1]].label);
	return dst;
}

static const char *op_words(enum op op)
{
	static const char *const words[] = {
		[OP_ACQUIRE] = "acquire",
		[OP_EXTEND] = "extend",
		[OP_REPAIR] = "put back",
		[OP_UNDO] = "release",
		[OP_HAND_OFF] = "release",
		[OP_EXPIRE] = "leave",
		[OP_FENCE] = "number",
		[OP_LOOK] = "look",
		[OP_JOIN] = "join",
		[OP_WAIT] = "wait",
		[OP_SCAN] = "scan",
		[OP_BREAK] = "break",
		[OP_COMMAND] = "ask",
	};

	return words[op];
}

const char *report_answer(char dst[REPORT_MAX], const struct node *node, enum op op,
	const struct reply *reply, usec took)
{
	struct line l = line(dst);

	add(&l, "%s %s: ", node->label, op_words(op));
	switch (reply->vote) {
	case VOTE_YES:
		add(&l, "yes");
		break;
	case VOTE_GONE:
		add(&l, "no, the key is gone");
		break;
	case VOTE_FOREIGN:
		if (reply->is_reserved) {
			add(&l, op == OP_FENCE ? "no, a larger one was given there"
					       : "no, it is another one's turn");
			break;
		}
		add(&l, "no, held by ");
		add_owner(&l, reply);
		break;
	case VOTE_NONE:
	case VOTE_ABSENT:
		add_trouble(&l, reply, 0);
		break;
	}
	add(&l, " (%d.%03dms)", (int)(took / 1000), (int)(took % 1000));
	return dst;
}

const char *report_event(
	char dst[REPORT_MAX], const struct node *node, const struct event *ev, usec took)
{
	struct line l = line(dst);

	if (ev->kind == EV_REPLY)
		return report_answer(dst, node, ev->op, ev->reply, took);
	if (ev->kind != EV_LINK_DOWN)
		return NULL;
	add(&l, "%s ", node->label);
	add_trouble(&l, ev->reply, 0);
	return dst;
}

/* ---- how a key stands ---- */

static bool is_all(const struct reply *a, const char *set)
{
	return a->text_len > 0 && strspn(a->text, set) == a->text_len;
}

static bool is_timestamp(const struct reply *a)
{
	size_t digits = strspn(a->text, "0123456789");

	return ((digits == 10 || digits == 13) && digits == a->text_len) ||
	       (digits == 10 && a->text_len <= 30 && a->text[digits] == '.' &&
		       strspn(a->text + digits + 1, "0123456789") == a->text_len - digits - 1);
}

int64_t report_timestamp(const struct reply *a)
{
	size_t digits = strspn(a->text, "0123456789");
	int64_t n = 0;

	for (size_t i = 0; i < digits && i < 10; i++)
		n = n * 10 + (a->text[i] - '0');
	return n;
}

/* A type's name, as the scripts write it, and the names in it (OP_BREAK): a library's value may
 * stand in parentheses by chance. */
static bool is_structure(const struct reply *a)
{
	static const char *const types[] = {"(hash)", "(list)", "(set)", "(stream)", "(zset)"};
	/* those of modules have nine such characters */
	static const char of_modules[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789-_";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t len = strlen(types[i]);

		if (a->text_len >= len && memcmp(a->text, types[i], len) == 0 &&
			(a->text_len == len || a->text[len] == ' '))
			return true;
	}
	return a->text_len == 11 && a->text[0] == '(' && strspn(a->text + 1, of_modules) == 9 &&
	       a->text[10] == ')';
}

const char *report_format(const struct reply *a)
{
	static const char hex[] = "0123456789abcdefABCDEF";

	if (token_is_ours(a->text, a->text_len))
		return "redlock";
	if (a->pttl == NEVER && is_timestamp(a))
		return "timestamp";
	if (is_all(a, hex) && a->text_len == 32)
		return "hex32";
	if (is_all(a, hex) && a->text_len == 40)
		return "hex40";
	if (is_all(a, hex) && a->text_len == 64)
		return "hex64";
	if (a->text_len == 36 && a->text[8] == '-' && a->text[13] == '-' && a->text[18] == '-' &&
		a->text[23] == '-' && is_all(a, "0123456789abcdefABCDEF-"))
		return "uuid";
	if (is_structure(a))
		return "structure";
	return "other";
}

const char *report_state(const struct tally *t)
{
	int quorum = tally_quorum(t), nodes;
	struct reply holder = tally_holder(t, &nodes);
	int absent = tally_count(t, VOTE_ABSENT) + tally_count(t, VOTE_NONE);

	if (nodes >= quorum && !holder.is_reserved)
		return "held";
	if (t->nodes - absent < quorum)
		return "unknown";
	if (nodes > 0 && holder.is_reserved)
		return "reserved";
	return nodes > 0 ? "minority" : "free";
}

/* Who writes values of that form; NULL: nobody is known for it. */
static const char *library_of(const char *format)
{
	static const struct {
		const char *format, *libraries;
	} table[] = {
		{"hex32", "node-redlock, redis-py"},
		{"hex40", "redlock4j, redlock-cpp"},
		{"hex64", "php-lock 3"},
		{"uuid", "Spring, RedLock.net, redlock-rb, redis-semaphore"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].format, format) == 0)
			return table[i].libraries;
	return NULL;
}

/* On how many nodes that value has no end. */
static int count_endless(const struct tally *t, const struct reply *holder)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++) {
		const struct reply *a = &t->ballot[i].reply;

		n += a->vote == VOTE_FOREIGN && a->pttl == NEVER && reply_same_text(a, holder);
	}
	return n;
}

/* What a user should know about a value that is there. */
static void add_oddity(struct line *l, const struct reply *holder, int64_t wall)
{
	const char *format = report_format(holder);
	char when[TIME_TEXT_MAX];

	if (strcmp(format, "timestamp") == 0)
		add(l, "; a lock of the old style (SETNX and a time stamp): it %s at %s",
			report_timestamp(holder) < wall ? "expired" : "expires",
			time_format(when, report_timestamp(holder)));
	else if (strcmp(format, "structure") == 0)
		add(l, "; no lock of ours: another data type, as Redisson (hash) and Symfony "
		       "(zset) keep");
	else if (holder->pttl == NEVER)
		add(l, "; it never frees itself");
	if (library_of(format))
		add(l, "; such a value is written by %s and others", library_of(format));
}

bool report_is_awaited(const struct tally *t)
{
	bool is_awaited = false;

	for (int i = 0; i < t->nodes; i++)
		is_awaited |= t->ballot[i].reply.awaited != 0;
	return is_awaited;
}

static void add_answers(struct line *l, const struct tally *t, const struct node_list *nodes)
{
	add(l, "%d of %d node%s answered, %d needed", t->nodes - tally_count(t, VOTE_ABSENT),
		t->nodes, t->nodes > 1 ? "s" : "", tally_quorum(t));
	add_troubles(l, t, nodes, 0);
}

const char *report_no_answers(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes)
{
	struct line l = line(dst);

	add_answers(&l, t, nodes);
	return dst;
}

const char *report_status(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const char *key, int slot, int64_t wall)
{
	struct line l = line(dst);
	int count, quorum = tally_quorum(t), absent = tally_count(t, VOTE_ABSENT);
	struct reply holder = tally_holder(t, &count);

	add_slot(&l, slot, &ONE_KEY(key));
	if (t->nodes - absent < quorum) {
		add(&l, " cannot be told: ");
		add_answers(&l, t, nodes);
		return dst;
	}
	add(&l, " is ");
	if (count == 0)
		add(&l, "free");
	else
		add_holder(&l, t, 0);
	if (count > 0 && !holder.is_reserved) {
		if (count < quorum)
			add(&l, "; that is no majority: an attempt that is under way, late or "
				"crashed");
		add_oddity(&l, &holder, wall);
		if (holder.pttl != NEVER && count_endless(t, &holder) > 0)
			add(&l, "; on %d of them it has no end", count_endless(t, &holder));
	}
	if (report_is_awaited(t))
		add(&l, "; others may be waiting");
	if (tally_newest_fence(t) > 0)
		add(&l, "; fencing number %lld", (long long)tally_newest_fence(t));
	return dst;
}

const char *report_holding(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const struct key_list *keys, int slot)
{
	struct line l = line(dst);
	int yes = tally_count(t, VOTE_YES);

	add_slot(&l, slot, keys);
	switch (tally_ownership(t)) {
	case OWNERSHIP_OWNED:
		add(&l, " %s held by this token on %d of %d nodes", report_verb(keys), yes,
			t->nodes);
		break;
	case OWNERSHIP_FOREIGN:
		add(&l, " %s no longer this token's: now ", report_verb(keys));
		add_holder(&l, t, 0);
		break;
	case OWNERSHIP_EXPIRED:
		add(&l, " %s no longer held by this token: %s expired or %s released",
			report_verb(keys), keys->count > 1 ? "they have" : "it has",
			keys->count > 1 ? "were" : "was");
		if (yes > 0)
			add(&l, " (only %d of %d nodes had it still)", yes, t->nodes);
		break;
	case OWNERSHIP_UNKNOWN:
		add(&l,
			": cannot tell whether this token holds %s: %d of %d node%s confirmed it, "
			"%d needed",
			keys->count > 1 ? "them" : "it", yes, t->nodes, t->nodes > 1 ? "s" : "",
			tally_quorum(t));
		add_troubles(&l, t, nodes, 0);
		break;
	}
	return dst;
}
