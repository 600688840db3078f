#include "proto/request.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"
#include "proto/scripts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Every script answers {code, pttl, text, run_id, marks} and, where there is one, a fencing number:
 * code 1 yes, 0 somebody else's, -1 gone, 2 free, but another one's turn, 3 in quarantine for pttl,
 * 4 its clock is off by pttl, 5 the fencing counter `text` cannot be raised. Of several keys, a
 * vote is about all of them: YES if each one is ours, else what is said of the first that is not.
 * Marks are numbers added up: 2^i for each key i that others wait for, MARK_INDEX times the index
 * of the key that the answer is about, MARK_PARTIAL if one of them is ours all the same,
 * MARK_UNGUARDED if the node cannot tell whether it forgot, MARK_SHARED if the key is readers'. Who
 * is refused a semaphore's slot finds behind the number another slot that is free (0: none), and
 * when the first of them ends.
 */
_Static_assert(1 << KEYS_MAX <= MARK_INDEX && KEYS_MAX * MARK_INDEX <= MARK_PARTIAL,
	"what is added up is kept apart");
_Static_assert(FENCE_MAX == ((int64_t)1 << 53) - 1, "the largest whole number that a double has");

static bool has_slots(const struct wish *wish)
{
	return wish->slots > 1;
}

static void add(struct request *r, const char *arg)
{
	assert(r->argc < (int)(sizeof(r->argv) / sizeof(r->argv[0])));
	r->argv[r->argc] = arg;
	r->len[r->argc++] = strlen(arg);
}

void request_build(struct request *r, const struct wish *wish)
{
	r->argc = 0;
	if (wish->op == OP_WAIT) {
		snprintf(
			r->door, sizeof(r->door), "redlock:promoted-wake:{%s}", wish->keys->key[0]);
		snprintf(r->wake, sizeof(r->wake), "redlock:wake:{%s}", wish->keys->key[0]);
		add(r, "BLPOP");
		if (wish->leads)
			add(r, r->door);
		add(r, r->wake);
		add(r, "0");
		return;
	}
	if (wish->op == OP_COMMAND) {
		for (int i = 0; wish->words[i]; i++)
			add(r, wish->words[i]);
		return;
	}
	if (wish->op == OP_SCAN) {
		snprintf(r->time, sizeof(r->time), "%d", wish->count);
		add(r, "EVAL");
		add(r, script_of(OP_SCAN));
		add(r, "0");
		add(r, wish->token);
		add(r, r->time);
		return;
	}
	snprintf(r->time, sizeof(r->time), "%" PRId64, wish->time / USEC_MSEC);
	snprintf(r->turn_time, sizeof(r->turn_time), "%" PRId64, wish->turn_time / USEC_MSEC);
	snprintf(r->fence, sizeof(r->fence), "%" PRId64, wish->fence);
	snprintf(r->flags, sizeof(r->flags), "%s%s%s%s%s%s%s%s", wish->is_leaving ? "l" : "",
		wish->gives_up ? "g" : "", wish->is_waiting ? "w" : "", wish->is_fair ? "f" : "",
		wish->is_breaking ? "b" : "", wish->wants_fence ? "n" : "",
		wish->is_shared ? "s" : "", wish->leads ? "d" : "");
	snprintf(r->which, sizeof(r->which), "%u",
		wish->op == OP_HAND_OFF ? wish->awaited : (unsigned)wish->seat_key + 1);
	snprintf(r->quarantine, sizeof(r->quarantine), "%" PRId64, wish->quarantine / USEC_MSEC);
	snprintf(r->wall, sizeof(r->wall), "%" PRId64, wish->wall);
	snprintf(r->count, sizeof(r->count), "%d", wish->keys->count);
	add(r, "EVAL");
	add(r, script_of(wish->op));
	add(r, r->count);
	/* Others' limit may be larger. */
	snprintf(r->slots, sizeof(r->slots), "%d",
		wish->slots > 1 && wish->slot > wish->slots ? wish->slot : wish->slots);
	snprintf(r->slot_key, sizeof(r->slot_key), "%s#%d", wish->keys->key[0], wish->slot);
	for (int i = 0; i < wish->keys->count; i++)
		add(r, has_slots(wish) ? r->slot_key : wish->keys->key[i]);
	add(r, wish->token);
	if (wish->token_len)
		r->len[r->argc - 1] = wish->token_len;
	add(r, r->time);
	add(r, wish->op == OP_FENCE ? r->fence : wish->turn ? wish->turn : "");
	add(r, r->flags);
	add(r, r->turn_time);
	add(r, r->which);
	add(r, r->quarantine);
	add(r, r->wall);
	add(r, has_slots(wish) ? wish->keys->key[0] : "");
	add(r, r->slots);
	add(r, wish->held ? wish->held : "");
}

const char *reason_words(enum reason reason)
{
	static const char *const words[] = {
		[REASON_NONE] = "was not asked",
		[REASON_UNRESOLVED] = "its name does not resolve",
		[REASON_CONNECT] = "cannot be reached",
		[REASON_CLOSED] = "closed the connection",
		[REASON_CONNECT_TIMEOUT] = "did not accept the connection in time",
		[REASON_TLS_TIMEOUT] =
			"did not begin with TLS in time, as a port without it would not",
		[REASON_NOT_TLS] = "does not speak TLS",
		[REASON_SPEAKS_TLS] = "speaks TLS only",
		[REASON_TLS] = "cannot agree with us on TLS",
		[REASON_UNTRUSTED] = "cannot be trusted",
		[REASON_CLIENT_CERTIFICATE] = "wants a client certificate, or another one",
		[REASON_TIMEOUT] = "did not answer in time",
		[REASON_NOT_READY] = "was not ready yet",
		[REASON_LOADING] = "is still loading its data",
		[REASON_READONLY] = "is a read-only replica",
		[REASON_MISCONF] = "refuses writes because it cannot save to disk",
		[REASON_OOM] = "is out of memory",
		[REASON_NOAUTH] = "wants a password, or another one",
		[REASON_NO_PASSWORD] = "has no password, and was given one",
		[REASON_NOPERM] = "does not permit this user to do it",
		[REASON_MOVED] = "is a cluster member",
		[REASON_CLUSTERDOWN] = "belongs to a cluster that is down",
		[REASON_MASTERDOWN] = "is a replica without its master",
		[REASON_NOREPLICAS] = "refuses writes because it has too few replicas",
		[REASON_BUSY] = "is busy with a script",
		[REASON_MAXCLIENTS] = "has too many clients",
		[REASON_SERVER] = "answered with an error",
		[REASON_GARBAGE] = "does not speak the Redis protocol",
		[REASON_QUARANTINE] = "is in quarantine",
		[REASON_SKEWED] = "has another time of day",
		[REASON_COUNTER] = "has a fencing counter that is no number, or at its limit",
		[REASON_TOO_LONG] = "answered at excessive length",
	};

	return words[reason];
}

/* By the first words of the server's error, unwrapped. */
static enum reason classify(const char *text)
{
	static const struct {
		const char *start;
		enum reason reason;
	} table[] = {
		{"LOADING", REASON_LOADING},
		{"READONLY", REASON_READONLY},
		{"MISCONF", REASON_MISCONF},
		{"OOM", REASON_OOM},
		{"NOAUTH", REASON_NOAUTH},
		{"WRONGPASS", REASON_NOAUTH},
		{"ERR AUTH", REASON_NO_PASSWORD},
		{"ERR invalid password", REASON_NOAUTH},
		{"ERR Client sent AUTH", REASON_NO_PASSWORD},
		/* From strangers, no more than ten words. */
		{"ERR Protocol error: unauthenticated", REASON_NOAUTH},
		{"NOPERM", REASON_NOPERM},
		{"ERR The user executing the script", REASON_NOPERM},
		{"The user executing the script", REASON_NOPERM}, /* before 7.0 */
		{"ERR ACL failure in script", REASON_NOPERM}, /* since 7.2 */
		{"MOVED", REASON_MOVED},
		{"ASK ", REASON_MOVED},
		{"CLUSTERDOWN", REASON_CLUSTERDOWN},
		{"MASTERDOWN", REASON_MASTERDOWN},
		{"NOREPLICAS", REASON_NOREPLICAS},
		{"BUSY", REASON_BUSY},
		{"ERR max number of clients", REASON_MAXCLIENTS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(text, table[i].start, strlen(table[i].start)) == 0)
			return table[i].reason;
	return REASON_SERVER;
}

/*
 * Before 7.0, and in KeyDB, Redis puts the place in the script before the reason: "ERR Error
 * running script (call to f_4e6d...): @user_script:1: @user_script: 1: -READONLY You can't ...".
 * Redis 7 puts it at the end: "READONLY You can't ... script: 4e6d..., on @user_script:1.".
 */
static size_t unwrap(const char **error)
{
	const char *at = *error, *end;

	if (strncmp(at, "ERR Error running script (", 26) == 0 && (end = strstr(at, "): ")))
		at = end + 3;
	while (*at == '@' && (end = strstr(at, ": "))) {
		size_t digits = strspn(end + 2, "0123456789");

		at = end + 2;
		if (digits > 0 && strncmp(at + digits, ": ", 2) == 0)
			at += digits + 2;
	}
	at += *at == '-';
	*error = at;
	end = strstr(at, " script: ");
	return end && strstr(end, ", on @user_script:") ? (size_t)(end - at) : strlen(at);
}

/* The server's own words, by which it is classified. */
static struct reply read_error(const char *text)
{
	size_t len = unwrap(&text);
	struct reply a = reply_absent(classify(text), text);

	a.text_len = len;
	a.text[len] = '\0';
	return a;
}

/* What PTTL says. Times are added to it: one that is longer than any that we set is no end. */
static usec left_of(int64_t pttl)
{
	return pttl < 0 || pttl > DURATION_MAX / USEC_MSEC ? NEVER : pttl * USEC_MSEC;
}

/* {list, element}: woken; the element is our turn, and of a semaphore, behind it, its slot. */
static struct reply read_wake(const struct resp *resp)
{
	const struct resp_item *turn = &resp->item[1];
	struct reply a = {.vote = VOTE_YES};
	long slot;

	if (!resp->is_array || resp->count != 2 || resp->item[0].type != RESP_STRING ||
		turn->type != RESP_STRING)
		return reply_absent(REASON_GARBAGE, NULL);
	a.text_len = turn->len;
	memcpy(a.text, turn->text, turn->len + 1);
	if (turn->len > TOKEN_ID_LEN && turn->text[TOKEN_ID_LEN] == '#' &&
		text_number(turn->text + TOKEN_ID_LEN + 1, 1, SLOTS_MAX, &slot)) {
		a.slot = (int)slot;
		a.text_len = TOKEN_ID_LEN;
	}
	return a;
}

/* Whatever it is. */
static struct reply read_any(const struct resp *resp)
{
	const struct resp_item *last = &resp->item[resp->count > 0 ? resp->count - 1 : 0];
	struct reply a = {.vote = VOTE_YES};

	if (resp->count > 0 && last->type == RESP_INTEGER)
		snprintf(a.text, sizeof(a.text), "%" PRId64, last->integer);
	else if (resp->count > 0 && last->type != RESP_NIL)
		memcpy(a.text, last->text, last->len + 1);
	a.text_len = strlen(a.text);
	return a;
}

/* The number, and of a semaphore a slot and when the first of all ends. */
static bool read_rest(struct reply *a, const struct resp *resp)
{
	const struct resp_item *item = resp->item;

	for (int i = 5; i < resp->count; i++)
		if (item[i].type != RESP_INTEGER || (i < 7 && item[i].integer < 0))
			return false;
	if ((resp->count > 5 && item[5].integer > FENCE_MAX) ||
		(resp->count > 6 && item[6].integer > SLOTS_MAX))
		return false;
	a->fence = resp->count > 5 ? item[5].integer : 0;
	a->slot = resp->count > 6 ? (int)item[6].integer : 0;
	a->soonest = resp->count > 7 ? left_of(item[7].integer) : a->pttl;
	return true;
}

struct reply reply_read(enum op op, const struct resp *resp)
{
	const struct resp_item *item = resp->item, *text;
	struct reply a = {.vote = VOTE_NONE};

	if (!resp->is_array && resp->count == 1 && item[0].type == RESP_ERROR)
		return read_error(item[0].text);
	if (op == OP_WAIT)
		return read_wake(resp);
	if (op == OP_COMMAND)
		return read_any(resp);
	if (!resp->is_array || resp->count < 5 || resp->count > RESP_ITEMS_MAX ||
		item[0].type != RESP_INTEGER || item[1].type != RESP_INTEGER ||
		item[2].type != RESP_STRING || item[3].type != RESP_STRING ||
		item[3].len >= sizeof(a.run_id) || item[4].type != RESP_INTEGER ||
		item[4].integer < 0 || item[4].integer >= 2 * MARK_SHARED)
		return reply_absent(REASON_GARBAGE, NULL);
	switch (item[0].integer) {
	case 1:
		a.vote = VOTE_YES;
		break;
	case 2:
		a.is_reserved = true;
		a.vote = VOTE_FOREIGN;
		break;
	case 0:
		a.vote = VOTE_FOREIGN;
		break;
	case -1:
		a.vote = VOTE_GONE;
		break;
	case 3:
		a.vote = VOTE_ABSENT;
		a.reason = REASON_QUARANTINE;
		break;
	case 4:
		if (strcmp(item[2].text, "ahead of") != 0 && strcmp(item[2].text, "behind") != 0)
			return reply_absent(REASON_GARBAGE, NULL);
		a.vote = VOTE_ABSENT;
		a.reason = REASON_SKEWED;
		break;
	case 5:
		a.vote = VOTE_ABSENT;
		a.reason = REASON_COUNTER;
		break;
	default:
		return reply_absent(REASON_GARBAGE, NULL);
	}
	a.pttl = left_of(item[1].integer);
	if (!read_rest(&a, resp))
		return reply_absent(REASON_GARBAGE, NULL);
	/* The text of a page is elsewhere: its place is free for the cursor, which is no run id. */
	text = op == OP_SCAN ? &item[3] : &item[2];
	a.text_len = text->len;
	memcpy(a.text, text->text, text->len + 1);
	if (op != OP_SCAN)
		memcpy(a.run_id, item[3].text, item[3].len + 1);
	a.awaited = (unsigned)(item[4].integer % MARK_INDEX);
	a.key = (int)(item[4].integer % MARK_PARTIAL / MARK_INDEX);
	a.is_partial = (item[4].integer & MARK_PARTIAL) != 0;
	a.is_unguarded = (item[4].integer & MARK_UNGUARDED) != 0;
	a.is_shared = (item[4].integer & MARK_SHARED) != 0;
	return a;
}

bool page_next(const char **at, const char *end, struct page_entry *entry)
{
	int64_t number[3] = {0};
	const char *p = *at;

	for (int i = 0; i < 3; i++) {
		bool negative = p < end && *p == '-';

		for (p += negative; p < end && *p >= '0' && *p <= '9' && number[i] < NEVER / 20000;
			p++)
			number[i] = number[i] * 10 + (*p - '0');
		if (p >= end || *p++ != (i < 2 ? ' ' : '\n'))
			return false;
		number[i] = negative ? -1 : number[i];
	}
	if (number[0] < 0 || number[1] < 0 || number[0] > end - p ||
		number[1] > end - p - number[0])
		return false;
	*entry = (struct page_entry){
		.key = p,
		.key_len = (size_t)number[0],
		.value = p + number[0],
		.value_len = (size_t)number[1],
		.pttl = left_of(number[2]),
	};
	*at = p + number[0] + number[1];
	return true;
}
