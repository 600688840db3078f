#include "proto/reply.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"
#include "proto/request.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "NOPERM User u has no permissions to run the 'evalsha' command", "ERR unknown command 'EVALSHA',
 * with args ...": the server quotes the name in several ways. */
static bool is_about_evalsha(const char *text)
{
	static const char unknown[] = "ERR unknown command ";
	const char *name =
		strncmp(text, unknown, sizeof(unknown) - 1) == 0 ? text + sizeof(unknown) : NULL;

	return name ? strncasecmp(name, "evalsha", 7) == 0
		    : strncmp(text, "NOPERM", 6) == 0 && strstr(text, "'evalsha'");
}

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
		{"WRONGPASS", REASON_WRONG_PASSWORD},
		{"ERR AUTH", REASON_NO_PASSWORD},
		{"ERR invalid password", REASON_WRONG_PASSWORD},
		{"ERR Client sent AUTH", REASON_NO_PASSWORD},
		/* Before AUTH, a client may send ten arguments at most. */
		{"ERR Protocol error: unauthenticated", REASON_NOAUTH},
		{"NOPERM", REASON_NOPERM},
		{"ERR The user executing the script", REASON_NOPERM},
		{"The user executing the script", REASON_NOPERM}, /* before 7.0 */
		{"ERR ACL failure in script", REASON_NOPERM}, /* since 7.2 */
		{"NOSCRIPT", REASON_NO_SCRIPT},
		{"MOVED", REASON_MOVED},
		{"ASK ", REASON_MOVED},
		{"CLUSTERDOWN", REASON_CLUSTERDOWN},
		{"MASTERDOWN", REASON_MASTERDOWN},
		{"NOREPLICAS", REASON_NOREPLICAS},
		{"BUSY", REASON_BUSY},
		{"ERR max number of clients", REASON_MAXCLIENTS},
		{"DENIED", REASON_PROTECTED},
	};

	if (is_about_evalsha(text))
		return REASON_NO_DIGESTS;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(text, table[i].start, strlen(table[i].start)) == 0)
			return table[i].reason;
	return REASON_SERVER;
}

/* The length of the text without the place in a script: " script: DIGEST, on @user_script:1.". The
 * reason may have the same words: "ERR ACL failure in script: No permissions to access a key". */
static size_t length_without_place(const char *text)
{
	static const char before[] = " script: ", after[] = ", on @user_script:";

	for (const char *at = text; (at = strstr(at, before)); at++) {
		const char *digest = at + sizeof(before) - 1;
		const char *rest = digest + strspn(digest, "0123456789abcdef");

		if (strncmp(rest, after, sizeof(after) - 1) == 0)
			return (size_t)(at - text);
	}
	return strlen(text);
}

/*
 * Before 7.0, and in KeyDB, Redis puts the place in the script before the reason: "ERR Error
 * running script (call to f_4e6d...): @user_script:1: @user_script: 1: -READONLY You can't ...".
 * Redis 7 and Valkey put it at the end: "READONLY You can't ... script: 4e6d..., on
 * @user_script:1.".
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
	return length_without_place(at);
}

/* An error. Its text is the server's own, and decides the reason. */
static struct reply read_error(const char *text)
{
	size_t len = unwrap(&text);
	struct reply a = reply_absent(classify(text), text);
	char *args;

	if (len < a.text_len)
		a.text_len = len;
	a.text[a.text_len] = '\0';
	/* A server that does not know EVAL repeats the beginning of the script. */
	args = strstr(a.text, ", with args beginning with:");
	if (args) {
		*args = '\0';
		a.text_len = (size_t)(args - a.text);
	}
	return a;
}

/* The remaining time that PTTL reported. Times are added to it later, so a TTL that is longer than
 * any of redlock's counts as no expiry. */
static usec left_of(int64_t pttl)
{
	return pttl < 0 || pttl > DURATION_MAX / USEC_MSEC ? NEVER : pttl * USEC_MSEC;
}

static void copy_text(struct reply *a, const char *text, size_t len)
{
	a->text_len = len < sizeof(a->text) ? len : sizeof(a->text) - 1;
	memcpy(a->text, text, a->text_len);
	a->text[a->text_len] = '\0';
}

/* OP_COMMAND: every reply is valid. */
static struct reply read_any(const struct resp *resp)
{
	const struct resp_item *last = &resp->item[resp->count > 0 ? resp_last(resp) : 0];
	struct reply a = {.vote = VOTE_YES};

	if (resp->count > 0 && last->type == RESP_INTEGER)
		snprintf(a.text, sizeof(a.text), "%" PRId64, last->integer);
	else if (resp->count > 0 && last->type != RESP_NIL)
		copy_text(&a, last->text, last->len);
	a.text_len = strlen(a.text);
	return a;
}

/* ---- the replies of scripts ---- */

/* Items are numbered from 1 on, as in Lua. */
static const struct resp_item *item_of(const struct resp *resp, int i)
{
	return &resp->item[i - 1];
}

unsigned reply_items(enum op op)
{
	static const unsigned items_of[OP_COUNT] = {
#define ITEM(name) | REPLY_BIT(REPLY_##name)
#define NONE
#define SCRIPT(name, words, file, flags, arguments, items) [OP_##name] = 0 items,
#include "lock/operations.def"
#undef ITEM
#undef NONE
	};

	return items_of[op];
}

/* A script's reply, read. */
struct items {
	char code; /* CODE_* */
	int64_t pttl, waiters;
	const char *text, *run_id; /* run_id: NULL: none */
	size_t text_len, run_id_len;
	int64_t number['z' + 1]; /* by REPLY_*; of the items that are numbers */
	unsigned given; /* REPLY_BIT() */
};

/* Moves *at over a number and the character after it. Returns that character; '\0': it is no
 * number. One that is too large becomes the largest one. */
static char take_number(const char **at, int64_t *number)
{
	const char *p = *at, *digits = p += *p == '-';
	bool is_negative = p > *at;

	for (*number = 0; *p >= '0' && *p <= '9'; p++)
		*number = *number > INT64_MAX / 10 - 1 ? INT64_MAX : *number * 10 + (*p - '0');
	*number = is_negative ? -*number : *number;
	*at = p + 1;
	return p > digits ? *p : '\0';
}

/* Reads the item at *at, and moves *at behind the character after it, which it returns. '\0': the
 * operation has no such item, the item is given twice, or its value is outside its limits. */
static char take_item(struct items *items, enum op op, const char **at)
{
	/* 0: any number. */
	static const int64_t largest['z' + 1] = {
		[REPLY_KEY] = KEYS_MAX,
		[REPLY_PARTIAL] = 1,
		[REPLY_SHARED] = 1,
		[REPLY_UNGUARDED] = 1,
		[REPLY_FENCE] = FENCE_MAX,
		[REPLY_SLOT] = LIMIT_MAX,
		[REPLY_RANK] = INT_MAX,
		[REPLY_LIMIT] = LIMIT_MAX,
	};
	char item = *(*at)++, after;

	if (item < 'a' || item > 'z' || !(reply_items(op) & REPLY_BIT(item) & ~items->given))
		return '\0';
	items->given |= REPLY_BIT(item);
	if (item == REPLY_RUN_ID) {
		items->run_id = *at;
		items->run_id_len = strspn(*at, "0123456789abcdefABCDEF");
		*at += items->run_id_len + 1;
		return items->run_id_len < RUN_ID_MAX ? (*at)[-1] : '\0';
	}
	after = take_number(at, &items->number[(int)item]);
	if (largest[(int)item] > 0 &&
		(items->number[(int)item] < 0 || items->number[(int)item] > largest[(int)item]))
		return '\0';
	return after;
}

/* Returns false if the reply is none of a script of the operation. */
static bool read_items(struct items *items, enum op op, const struct resp *resp)
{
	const char *at = resp->item[0].text;
	char after;

	*items = (struct items){.code = *at, .number[REPLY_KEY] = 1};
	if (resp->is_array || resp->item[0].type != RESP_STRING || !*at || *++at != ' ')
		return false;
	at++;
	if (take_number(&at, &items->pttl) != ' ')
		return false;
	after = take_number(&at, &items->waiters);
	while (after == ' ')
		after = take_item(items, op, &at);
	items->text = at;
	items->text_len = (size_t)(resp->item[0].text + resp->item[0].len - at);
	if (!(items->given & REPLY_BIT(REPLY_SOONEST)))
		items->number[REPLY_SOONEST] = items->pttl;
	return after == '\n' && items->number[REPLY_KEY] > 0 && items->waiters >= 0 &&
	       items->waiters < 1 << KEYS_MAX;
}

/* Sets the vote. Returns false if there is no such code. */
static bool read_code(struct reply *a, const struct items *items)
{
	a->vote = VOTE_ABSENT;
	switch (items->code) {
	case CODE_YES:
		a->vote = VOTE_YES;
		return true;
	case CODE_RESERVED:
		a->is_reserved = true;
		a->vote = VOTE_FOREIGN;
		return true;
	case CODE_FOREIGN:
		a->vote = VOTE_FOREIGN;
		return true;
	case CODE_GONE:
		a->vote = VOTE_GONE;
		return true;
	case CODE_QUARANTINE:
		a->reason = REASON_QUARANTINE;
		return true;
	case CODE_SKEWED:
		/* A message shows this text as it is. */
		a->reason = REASON_SKEWED;
		return strcmp(items->text, "ahead of") == 0 || strcmp(items->text, "behind") == 0;
	case CODE_UNSURE:
		a->reason = REASON_UNSURE;
		return true;
	case CODE_NO_EVAL:
		return true;
	case CODE_COUNTER:
		a->reason = REASON_COUNTER;
		return true;
	default:
		return false;
	}
}

static struct reply read_script(enum op op, const struct resp *resp)
{
	struct items items;
	const int64_t *number = items.number;
	struct reply a = {.vote = VOTE_NONE};

	if (!read_items(&items, op, resp) || !read_code(&a, &items))
		return reply_absent(REASON_GARBAGE, NULL);
	if (items.code == CODE_NO_EVAL)
		return reply_absent(REASON_NOPERM,
			"NOPERM this user has no permissions to run the 'eval' command");
	/* The id of a reservation. */
	if (op == OP_JOIN && a.vote == VOTE_YES && items.text_len != TOKEN_ID_LEN)
		return reply_absent(REASON_GARBAGE, NULL);
	a.pttl = left_of(items.pttl);
	copy_text(&a, items.text, items.text_len);
	if (items.run_id)
		memcpy(a.run_id, items.run_id,
			items.run_id_len < RUN_ID_LEN ? items.run_id_len : RUN_ID_LEN);
	a.key = (int)number[REPLY_KEY] - 1;
	a.waiters = (unsigned)items.waiters;
	a.is_partial = number[REPLY_PARTIAL];
	a.is_shared = number[REPLY_SHARED];
	a.is_unguarded = number[REPLY_UNGUARDED];
	a.fence = number[REPLY_FENCE];
	a.slot = (int)number[REPLY_SLOT];
	a.soonest = left_of(number[REPLY_SOONEST]);
	a.ticket = number[REPLY_TICKET];
	a.rank = (int)number[REPLY_RANK];
	a.limit = (int)number[REPLY_LIMIT];
	a.has_record = op == OP_ACQUIRE && a.vote == VOTE_YES && a.text_len > 0;
	a.record_age = a.has_record ? a.soonest : NEVER;
	a.is_stored = op == OP_HAND_OFF && a.rank == 1;
	return a;
}

/* OP_SCAN: resp->page has the entries. */
static struct reply read_page(const struct resp *resp)
{
	struct reply a = {.vote = VOTE_YES};

	if (!resp->is_array || resp->count != PAGE_ITEMS ||
		item_of(resp, PAGE_CURSOR)->type != RESP_STRING ||
		item_of(resp, PAGE_CURSOR)->len >= RUN_ID_MAX ||
		item_of(resp, PAGE_IS_CUT)->type != RESP_INTEGER ||
		item_of(resp, PAGE_ENTRIES)->type != RESP_STRING)
		return reply_absent(REASON_GARBAGE, NULL);
	copy_text(&a, item_of(resp, PAGE_CURSOR)->text, item_of(resp, PAGE_CURSOR)->len);
	a.is_cut = item_of(resp, PAGE_IS_CUT)->integer;
	return a;
}

struct reply reply_read(enum op op, const struct resp *resp)
{
	const struct resp_item *first = &resp->item[0];

	if (!resp->is_array && resp->count == 1 && first->type == RESP_ERROR)
		return read_error(first->text);
	if (op == OP_SUBSCRIBE) /* pushes confirm it, and no reply */
		return reply_absent(REASON_GARBAGE, NULL);
	if (op == OP_COMMAND)
		return read_any(resp);
	return op == OP_SCAN ? read_page(resp) : read_script(op, resp);
}

bool page_next(const char **at, const char *end, struct page_entry *entry)
{
	int64_t number[4] = {0};
	const char *p = *at;

	for (int i = 0; i < 4; i++) {
		bool negative = p < end && *p == '-';

		for (p += negative; p < end && *p >= '0' && *p <= '9' && number[i] < NEVER / 20000;
			p++)
			number[i] = number[i] * 10 + (*p - '0');
		if (p >= end || *p++ != (i < 3 ? ' ' : '\n'))
			return false;
		number[i] = negative ? -1 : number[i];
	}
	if (number[0] < 0 || number[1] < 0 || number[0] > end - p ||
		number[1] > end - p - number[0] || number[3] > INT_MAX)
		return false;
	*entry = (struct page_entry){
		.key = p,
		.key_len = (size_t)number[0],
		.value = p + number[0],
		.value_len = (size_t)number[1],
		.is_record = number[3] < 0,
		.pttl = left_of(number[2]),
		.waiters = number[3] < 0 ? 0 : (int)number[3],
	};
	*at = p + number[0] + number[1];
	return true;
}
