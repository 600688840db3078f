#include "proto/request.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"
#include "proto/scripts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(FENCE_MAX == ((int64_t)1 << 53) - 1, "the largest whole number that a double has");

static void begin(struct request *r, enum op op)
{
	r->op = op;
	r->keys = 1;
	r->by_digest = r->is_followed = r->is_early = r->watches = false;
	r->argc = 0;
	r->used = 0;
}

static void push_bytes(struct request *r, const char *arg, size_t len)
{
	assert(r->argc < (int)(sizeof(r->argv) / sizeof(r->argv[0])));
	r->argv[r->argc] = arg;
	r->len[r->argc++] = len;
}

static void push(struct request *r, const char *arg)
{
	push_bytes(r, arg ? arg : "", arg ? strlen(arg) : 0);
}

static void push_text(struct request *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void push_text(struct request *r, const char *format, ...)
{
	char *text = r->text + r->used;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(r->text) - r->used, format, args);
	va_end(args);
	assert(len >= 0 && (size_t)len < sizeof(r->text) - r->used);
	r->used += (size_t)len + 1;
	push_bytes(r, text, (size_t)len);
}

static void push_number(struct request *r, int64_t n)
{
	char *text = r->text + r->used;
	size_t len;

	assert(sizeof(r->text) - r->used >= TEXT_DECIMAL_MAX);
	len = text_decimal(text, n);
	r->used += len + 1;
	push_bytes(r, text, len);
}

static void push_ms(struct request *r, usec time)
{
	push_number(r, time / USEC_MSEC);
}

/* The script and the keys. */
static void begin_script(struct request *r, enum op op, const struct lock_ref *lock)
{
	begin(r, op);
	r->keys = lock->keys->count;
	push(r, "EVAL");
	push(r, script_of(op));
	push_number(r, lock->keys->count);
	if (lock->slot > 0)
		push_text(r, "%s#%d", lock->keys->key[0], lock->slot);
	for (int i = 0; i < lock->keys->count && lock->slot == 0; i++)
		push(r, lock->keys->key[i]);
}

static void push_limit(struct request *r, const struct lock_ref *lock)
{
	if (lock->slot > 0 && lock->limit == 0)
		push(r, LIMIT_UNKNOWN);
	else
		push_number(r, lock->limit > 1 ? lock->limit : 0);
}

/* ---- the table of operations ---- */

enum argument {
	ARG_END,
#define ARGUMENT(name) ARG_##name,
#include "lock/operations.def"
};

#define ARGUMENTS_MAX 14

static const struct {
	const char *flags; /* the letters that the operation may have */
	struct {
		enum argument name; /* ARG_END ends them */
		enum place { ARGUMENT_WORD, ARGUMENT_PART, ARGUMENT_LATER } place;
	} arguments[ARGUMENTS_MAX];
} scripts[OP_COUNT] = {
#define WORD(name) {ARG_##name, ARGUMENT_WORD},
#define PART(name) {ARG_##name, ARGUMENT_PART},
#define LATER(name) {ARG_##name, ARGUMENT_LATER},
#define SCRIPT(name, words, file, flags, arguments, ...) [OP_##name] = {flags, {arguments}},
#include "lock/operations.def"
#undef WORD
#undef PART
#undef LATER
};

static void push_flags(struct request *r, const struct request_args *args)
{
	const struct {
		bool is_set;
		const char *flag;
	} all[] = {
		{args->is_shared, FLAG_SHARED},
		{args->is_fair, FLAG_FAIR},
		{args->waiter.overrides || r->op == OP_REPAIR, FLAG_OVERRIDE},
		{args->wants_fence, FLAG_NUMBER},
		{args->wants_record, FLAG_RECORD},
		{args->never_shortens, FLAG_KEEPS},
		{args->flag, args->flag},
	};
	char *text = r->text + r->used, *to = text;

	assert(sizeof(r->text) - r->used > sizeof(all) / sizeof(all[0]));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].is_set && strstr(scripts[r->op].flags, all[i].flag))
			*to++ = all[i].flag[0];
	*to++ = '\0';
	r->used += (size_t)(to - text);
	push(r, text);
}

static void push_early(struct request *r, const struct request_args *args)
{
	const char *unsure = args->is_unsure ? EARLY_UNSURE : "";

	if (args->db > 0)
		push_text(r, "%s%d", unsure, args->db);
	else
		push(r, unsure);
}

static void push_argument(struct request *r, enum argument argument, const struct lock_ref *lock,
	const struct request_args *args)
{
	switch (argument) {
	case ARG_token:
		push_bytes(r, lock->token, lock->token_len ? lock->token_len : strlen(lock->token));
		break;
	case ARG_ttl:
		push_ms(r, args->ttl);
		break;
	case ARG_woken_by:
		push(r, args->waiter.woken_by);
		break;
	case ARG_flags:
		push_flags(r, args);
		break;
	case ARG_reserve_ms:
		push_ms(r, args->reserve_time);
		break;
	case ARG_waiter_key:
		push_number(r, args->waiter.key + 1);
		break;
	case ARG_waiter:
		push(r, args->waiter.id);
		break;
	case ARG_ticket:
		push_number(r, args->ticket);
		break;
	case ARG_far:
		push_number(r, args->far_waiters);
		break;
	case ARG_quarantine:
		push_ms(r, args->guard.quarantine);
		break;
	case ARG_wall:
		if (args->guard.quarantine > 0)
			push_ms(r, args->guard.wall);
		else
			push(r, args->guard.is_known ? "" : "0");
		break;
	case ARG_began:
		push_number(r, args->wants_fence ? args->began : 0);
		break;
	case ARG_own_limit:
		push_limit(r, lock);
		break;
	case ARG_held_ids:
		push(r, lock->held);
		break;
	case ARG_number:
		push_number(r, args->number);
		break;
	case ARG_record:
		if (args->record)
			push(r, args->record->text);
		else
			push(r, "");
		break;
	case ARG_record_age:
		if (args->record)
			push_ms(r, args->record->age);
		else
			push(r, "");
		break;
	case ARG_keep_ms:
		if (args->record)
			push_ms(r, args->record->keep);
		else
			push(r, "");
		break;
	case ARG_early:
		push_early(r, args);
		break;
	case ARG_END:
	case ARG_secret:
	case ARG_cursor:
	case ARG_count:
	case ARG_complete:
	case ARG_records:
		assert(false); /* other functions make these requests */
	}
}

/* Makes one word of the words from `first` on, with a space between two of them. */
static void join_words(struct request *r, int first)
{
	char *text = r->text + r->used;
	size_t len = 0;

	for (int i = first; i < r->argc; i++) {
		assert(r->used + len + r->len[i] + 1 < sizeof(r->text));
		memcpy(text + len, r->argv[i], r->len[i]);
		len += r->len[i];
		text[len++] = ' ';
	}
	text[--len] = '\0';
	r->used += len + 1;
	r->argc = first;
	push_bytes(r, text, len);
}

void request_script(
	struct request *r, enum op op, const struct lock_ref *lock, const struct request_args *args)
{
	int parts_from = 0;

	begin_script(r, op, lock);
	for (int i = 0; scripts[op].arguments[i].name != ARG_END; i++) {
		enum place place = scripts[op].arguments[i].place;

		if (place == ARGUMENT_PART && !parts_from)
			parts_from = r->argc;
		if (place == ARGUMENT_LATER && parts_from) {
			join_words(r, parts_from);
			parts_from = 0;
		}
		push_argument(r, scripts[op].arguments[i].name, lock, args);
		if (place == ARGUMENT_LATER && r->len[r->argc - 1] == 0)
			r->argc--;
	}
	if (parts_from)
		join_words(r, parts_from);
}

int request_delete_words(const char *argv[REQUEST_WORDS_MAX], size_t len[REQUEST_WORDS_MAX],
	const struct request *release)
{
	int i = 2, keys_end = 3 + release->keys;

	argv[0] = "EVAL";
	len[0] = strlen(argv[0]);
	argv[1] = script_of(OP_DELETE);
	len[1] = strlen(argv[1]);
	/* The number of keys, and the keys. */
	for (; i < keys_end; i++) {
		argv[i] = release->argv[i];
		len[i] = release->len[i];
	}
	/* A part of the token: the script deletes each key that has this part. */
	assert(release->len[i] >= TOKEN_ID_LEN);
	argv[i] = release->argv[i] + TOKEN_START_LEN;
	len[i] = TOKEN_ID_LEN - TOKEN_START_LEN;
	return i + 1;
}

void request_delete(struct request *r, const struct request *release)
{
	begin(r, OP_DELETE);
	r->keys = release->keys;
	r->argc = request_delete_words(r->argv, r->len, release);
}

const char *request_queue_suffix(char dst[QUEUE_SUFFIX_MAX], int limit)
{
	dst[0] = '\0';
	if (limit > 1)
		snprintf(dst, QUEUE_SUFFIX_MAX, ":%d", limit);
	return dst;
}

void request_subscribe(struct request *r, const char *key, int limit, const char *waiter)
{
	char suffix[QUEUE_SUFFIX_MAX];

	request_queue_suffix(suffix, limit);
	begin(r, OP_SUBSCRIBE);
	push(r, "SUBSCRIBE");
	push_text(r, CHANNEL_WAKE, key, suffix, waiter);
	push_text(r, CHANNEL_QUEUE, key, suffix);
}

void request_scan(struct request *r, const char *cursor, int count, bool complete, bool records)
{
	begin(r, OP_SCAN);
	push(r, "EVAL");
	push(r, script_of(OP_SCAN));
	push(r, "0");
	push(r, cursor);
	push_number(r, count);
	push(r, complete ? "1" : "0");
	push(r, records ? "1" : "0");
}

void request_by_digest(struct request *r)
{
	r->by_digest = true;
	r->argv[0] = "EVALSHA";
	r->len[0] = strlen(r->argv[0]);
	r->argv[1] = digest_of(r->op);
	r->len[1] = strlen(r->argv[1]);
}

void request_command(struct request *r, const char *const words[])
{
	begin(r, OP_COMMAND);
	for (int i = 0; words[i]; i++)
		push(r, words[i]);
}

const char *reason_words(enum reason reason)
{
	static const char *const words[] = {
		[REASON_NONE] = "was not asked",
		[REASON_UNRESOLVED] = "has a name that does not resolve",
		[REASON_CONNECT] = "cannot be reached",
		[REASON_CLOSED] = "closed the connection",
		[REASON_CONNECT_TIMEOUT] = "did not accept the connection in time",
		[REASON_TLS_TIMEOUT] =
			"did not begin TLS in time: it hangs, or that port has no TLS",
		[REASON_NOT_TLS] = "does not speak TLS",
		[REASON_SPEAKS_TLS] = "speaks TLS only",
		[REASON_TLS] = "cannot agree on TLS",
		[REASON_UNTRUSTED] = "cannot be trusted",
		[REASON_CLIENT_CERTIFICATE] = "requires a client certificate, or refuses ours",
		[REASON_TIMEOUT] = "did not answer in time",
		[REASON_NOT_READY] = "had not answered yet",
		[REASON_LOADING] = "is still loading its data",
		[REASON_LEFT] = "has moved: its name leads to another server now",
		[REASON_READONLY] = "is a replica",
		[REASON_MISCONF] = "refuses writes because it cannot save to disk",
		[REASON_OOM] = "is out of memory",
		[REASON_NOAUTH] = "requires a password",
		[REASON_WRONG_PASSWORD] = "refuses the password",
		[REASON_NO_PASSWORD] = "has no password set, and was given one",
		[REASON_NOPERM] = "denies permission",
		[REASON_MOVED] = "is a cluster member",
		[REASON_CLUSTERDOWN] = "belongs to a cluster that is down",
		[REASON_MASTERDOWN] = "is a replica without its master",
		[REASON_NOREPLICAS] = "refuses writes because it has too few replicas",
		[REASON_BUSY] = "is busy with a script",
		[REASON_MAXCLIENTS] = "has too many clients",
		[REASON_PROTECTED] = "is in protected mode: it serves only its own host",
		[REASON_SERVER] = "answered with an error",
		[REASON_GARBAGE] = "does not speak the Redis protocol",
		[REASON_QUARANTINE] = "is in quarantine",
		[REASON_SEVERAL] = "is several servers: another one answers than before",
		[REASON_SKEWED] = "has another time of day",
		[REASON_COUNTER] = "has a fencing counter that is no number, or at its limit",
		[REASON_UNSURE] = "was not sure of the user",
		[REASON_NO_SCRIPT] = "did not know the script",
		[REASON_NO_DIGESTS] = "does not permit this user to use EVALSHA",
		[REASON_TOO_LONG] = "answered at excessive length",
		[REASON_ENDLESS] = "sends messages without end",
	};

	return words[reason];
}
