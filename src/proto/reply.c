#include "proto/reply.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"
#include "proto/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(1 << KEYS_MAX <= MARK_INDEX && KEYS_MAX * MARK_INDEX <= MARK_PARTIAL,
	"marks that are added up do not overlap");

/* Finds the reason by the first words of the server's error, without the place in a script. */
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
		/* Before AUTH, a client may send ten arguments at most. */
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

/* An error. Its text is the server's own, and decides the reason. */
static struct reply read_error(const char *text)
{
	size_t len = unwrap(&text);
	struct reply a = reply_absent(classify(text), text);

	a.text_len = len;
	a.text[len] = '\0';
	return a;
}

/* The remaining time that PTTL reported. Times are added to it later, so a TTL that is longer than
 * any of redlock's counts as no expiry. */
static usec left_of(int64_t pttl)
{
	return pttl < 0 || pttl > DURATION_MAX / USEC_MSEC ? NEVER : pttl * USEC_MSEC;
}

/* BLPOP replies {list, element}. The element is the id of our reservation; for a semaphore, the
 * slot follows it. */
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

/* OP_COMMAND: every reply is valid. */
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

/* The items after the marks: the fencing number and, for a semaphore, a free slot and the time
 * until the first slot expires. */
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
	case CODE_YES:
		a.vote = VOTE_YES;
		break;
	case CODE_RESERVED:
		a.is_reserved = true;
		a.vote = VOTE_FOREIGN;
		break;
	case CODE_FOREIGN:
		a.vote = VOTE_FOREIGN;
		break;
	case CODE_GONE:
		a.vote = VOTE_GONE;
		break;
	case CODE_QUARANTINE:
		a.vote = VOTE_ABSENT;
		a.reason = REASON_QUARANTINE;
		break;
	case CODE_SKEWED:
		if (strcmp(item[2].text, "ahead of") != 0 && strcmp(item[2].text, "behind") != 0)
			return reply_absent(REASON_GARBAGE, NULL);
		a.vote = VOTE_ABSENT;
		a.reason = REASON_SKEWED;
		break;
	case CODE_COUNTER:
		a.vote = VOTE_ABSENT;
		a.reason = REASON_COUNTER;
		break;
	default:
		return reply_absent(REASON_GARBAGE, NULL);
	}
	a.pttl = left_of(item[1].integer);
	if (!read_rest(&a, resp))
		return reply_absent(REASON_GARBAGE, NULL);
	/* OP_SCAN: resp->page has the page, and the item of the run id is the cursor. */
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
