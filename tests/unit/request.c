/* request: the commands that are sent to a node, and the meaning of its replies. */
#include "proto/request.h"
#include "base/duration.h"
#include "proto/reply.h"
#include "proto/scripts.h"

#include "unit/unit.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

static const struct lock_ref some_lock = {
	.keys = &ONE_KEY("the key"), .token = "token:me", .held = "0123"};
static const struct guard_args some_guard = {.quarantine = 40 * USEC_SEC, .wall = 1700000000000001};

/* A request with the script of its operation, and these words after it, up to NULL. */
static void expect_script(const struct request *r, const char *const words[], int line)
{
	int count = 0;

	CHECK_TEXT(r->argv[0], "EVAL");
	CHECK_TEXT(r->argv[1], script_of(r->op));
	while (words[count])
		count++;
	unit_check(r->argc == 2 + count, __FILE__, line, "%d arguments", r->argc);
	for (int i = 0; i < count && 2 + i < r->argc; i++) {
		unit_check(strcmp(r->argv[2 + i], words[i]) == 0, __FILE__, line,
			"'%s' is not '%s'", r->argv[2 + i], words[i]);
		CHECK_INT(r->len[2 + i], strlen(words[i]));
	}
}

#define EXPECT_SCRIPT(r, ...) expect_script((r), (const char *const[]){__VA_ARGS__, NULL}, __LINE__)

static int count_parts(const char *at, const char *end, char separator)
{
	int parts = 1;

	for (; at < end; at++)
		parts += *at == separator;
	return parts;
}

/* A script names the words, "ARGV[1],ARGV[2]", and the parts of one of them, "c,d=match(b,'^(%S*)
 * (.*)')": the longest such pattern has them all. `later`: words that were left out. */
static void expect_as_many_as_named(const struct request *r, int later, int line)
{
	const char *at = r->argv[1], *rest = r->argv[3 + r->keys + 1];
	int names = 0, parts = 0;

	for (; (at = strstr(at, "ARGV[")); at++)
		names += at[5] - '0' > names;
	unit_check(r->argc == 3 + r->keys + names - later, __FILE__, line, "%d names", names);
	for (at = r->argv[1]; (at = strstr(at, "'^(%S*)")); at++) {
		const char *end = strchr(at + 1, '\'');

		parts = count_parts(at, end, ' ') > parts ? count_parts(at, end, ' ') : parts;
	}
	unit_check(parts == 0 || count_parts(rest, rest + strlen(rest), ' ') == parts, __FILE__,
		line, "%d parts", parts);
}

#define EXPECT_AS_MANY_AS_NAMED(r) expect_as_many_as_named((r), 0, __LINE__)
#define EXPECT_ALL_BUT_LATER(r) expect_as_many_as_named((r), 1, __LINE__)

TEST(request_by_digest_names_the_script_only)
{
	struct request whole, r;

	request_script(&whole, OP_EXTEND, &some_lock, &(struct request_args){.ttl = USEC_SEC});
	request_script(&r, OP_EXTEND, &some_lock, &(struct request_args){.ttl = USEC_SEC});
	CHECK(!r.by_digest);
	request_by_digest(&r);
	CHECK(r.by_digest);
	CHECK_INT(r.argc, whole.argc);
	CHECK_TEXT(r.argv[0], "EVALSHA");
	CHECK_INT(r.len[0], 7);
	CHECK_TEXT(r.argv[1], digest_of(OP_EXTEND));
	CHECK_INT(r.len[1], 40);
	CHECK_INT(strspn(r.argv[1], "0123456789abcdef"), 40);
	for (int i = 2; i < r.argc; i++) {
		CHECK_TEXT(r.argv[i], whole.argv[i]);
		CHECK_INT(r.len[i], whole.len[i]);
	}
	CHECK(strcmp(digest_of(OP_ACQUIRE), digest_of(OP_LOOK)) != 0);
}

TEST(request_acquire_and_repair)
{
	struct request_args args = {.ttl = 30 * USEC_SEC + 999};
	struct request r;

	request_script(&r, OP_ACQUIRE, &some_lock, &args);
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", " 0 0 30000 0 0 0 1   0123");
	EXPECT_ALL_BUT_LATER(&r);
	CHECK_INT(r.op, OP_ACQUIRE);
	CHECK_INT(r.keys, 1);
	args = (struct request_args){
		.ttl = (usec)100 * 365 * 86400 * USEC_SEC,
		.is_shared = true,
		.is_fair = true,
		.wants_fence = true,
		.began = 1700000000000000,
		.reserve_time = 50 * USEC_MSEC,
		.waiter = {.id = "r12", .woken_by = "4567", .key = 2, .overrides = true},
		.guard = some_guard,
	};
	request_script(&r, OP_REPAIR,
		&(struct lock_ref){.keys = &(struct key_list){.count = 3, .key = {"a", "b", "c"}},
			.token = "t"},
		&args);
	EXPECT_SCRIPT(&r, "3", "a", "b", "c", "t",
		"so 0 1700000000000 3153600000000 40000 1700000000000000 50 3 r12 4567 ");
	EXPECT_ALL_BUT_LATER(&r);
	CHECK_INT(r.op, OP_REPAIR);
	CHECK_INT(r.keys, 3);
	/* An operation sends the flags that it may have. */
	args.wants_record = args.never_shortens = true;
	args.flag = FLAG_LEAVES;
	request_script(&r, OP_ACQUIRE, &some_lock, &args);
	CHECK_TEXT(r.argv[5],
		"sfonr 0 1700000000000 3153600000000 40000 1700000000000000 50 3 r12 4567 0123");
	request_script(&r, OP_EXTEND, &some_lock, &args);
	CHECK_TEXT(r.argv[5], "sk 0 3153600000000 1700000000000");
	request_script(&r, OP_HAND_OFF, &some_lock, &args);
	CHECK_TEXT(r.argv[5], "l 0 0   1700000000000 40000 50 r12 4567 ");
	/* The time of day is for the restart guard, and for the number. */
	args.guard.quarantine = 0;
	request_script(&r, OP_ACQUIRE, &some_lock, &args);
	CHECK_TEXT(r.argv[5], "sfonr 0 0 3153600000000 0 1700000000000000 50 3 r12 4567 0123");
	args.wants_fence = false;
	request_script(&r, OP_ACQUIRE, &some_lock, &args);
	CHECK_TEXT(r.argv[5], "sfor 0 0 3153600000000 0 0 50 3 r12 4567 0123");
	/* Nor need the server tell its run id. */
	args.guard.is_known = true;
	request_script(&r, OP_ACQUIRE, &some_lock, &args);
	CHECK_TEXT(r.argv[5], "sfor 0  3153600000000 0 0 50 3 r12 4567 0123");
}

/* AUTH or SELECT is not answered. */
TEST(request_before_a_login_is_answered)
{
	struct request r;

	request_script(&r, OP_ACQUIRE, &some_lock,
		&(struct request_args){.is_unsure = true, .guard.is_known = true});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", " 0  0 0 0 0 1   0123", "u");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_ACQUIRE, &some_lock,
		&(struct request_args){.is_unsure = true, .db = 12, .is_fair = true});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "f 0 0 0 0 0 0 1   0123", "u12");
	request_script(&r, OP_ACQUIRE, &some_lock, &(struct request_args){.db = 3});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", " 0 0 0 0 0 0 1   0123", "3");
	request_script(&r, OP_LOOK, &some_lock, &(struct request_args){.db = 3});
	EXPECT_AS_MANY_AS_NAMED(&r);
}

TEST(request_of_a_holder)
{
	struct request r;

	request_script(
		&r, OP_EXTEND, &some_lock, &(struct request_args){.ttl = 1500 * USEC_MSEC + 1});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", " 0 1500 0");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_EXTEND, &some_lock,
		&(struct request_args){.ttl = USEC_MSEC, .is_shared = true});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "s 0 1 0");
	request_script(&r, OP_EXTEND, &some_lock,
		&(struct request_args){.ttl = USEC_MSEC, .never_shortens = true});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "k 0 1 0");
	request_script(&r, OP_FENCE, &some_lock, &(struct request_args){.number = 42});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "42");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_EXPIRE, &some_lock, &(struct request_args){.ttl = 86400 * USEC_SEC});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "0 86400000");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_EXPIRE, &some_lock, &(struct request_args){.ttl = 999});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "0 0");
	request_script(&r, OP_UNDO, &some_lock,
		&(struct request_args){.reserve_time = 50 * USEC_MSEC, .guard = some_guard});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "0 1700000000000 40000 50");
	EXPECT_AS_MANY_AS_NAMED(&r);
}

TEST(request_to_hand_off)
{
	struct request r;

	request_script(&r, OP_HAND_OFF, &some_lock, &(struct request_args){.far_waiters = 5});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", " 0 5   0 0 0   ");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_HAND_OFF, &some_lock,
		&(struct request_args){.record = &(struct record_args){.text = "1 0 17 ann",
					       .age = 1234 * USEC_MSEC + 999,
					       .keep = 86400 * USEC_SEC}});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", " 0 0 1234 86400000 0 0 0   1 0 17 ann");
	request_script(&r, OP_ACQUIRE, &some_lock, &(struct request_args){.wants_record = true});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "r 0 0 0 0 0 0 1   0123");
	request_script(&r, OP_HAND_OFF, &some_lock,
		&(struct request_args){
			.reserve_time = 50 * USEC_MSEC,
			.waiter = {.id = "w12", .woken_by = "4567"},
			.flag = FLAG_LEAVES,
			.guard = some_guard,
		});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "l 0 0   1700000000000 40000 50 w12 4567 ");
	/* The key to break is named by its value, which may be binary. */
	request_script(&r, OP_HAND_OFF,
		&(struct lock_ref){.keys = &ONE_KEY("k"), .token = "a\0b", .token_len = 3},
		&(struct request_args){.flag = FLAG_BREAKS});
	CHECK_TEXT(r.argv[5], "b 0 0   0 0 0   ");
	CHECK_INT(r.len[4], 3);
	CHECK(memcmp(r.argv[4], "a\0b", 3) == 0);
}

TEST(request_to_look)
{
	struct request r;

	request_script(&r, OP_LOOK, &some_lock, &(struct request_args){0});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "0 0 0  1   0123");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_LOOK, &some_lock,
		&(struct request_args){
			.is_shared = true,
			.is_fair = true,
			.waiter = {.id = "w12", .woken_by = "4567", .key = 0, .overrides = true},
			.guard = some_guard,
		});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "0 1700000000000 40000 sfo 1 w12 4567 0123");
}

TEST(request_to_join)
{
	struct request r;

	request_script(&r, OP_JOIN, &some_lock,
		&(struct request_args){.reserve_time = 50 * USEC_MSEC, .waiter.id = "w12"});
	EXPECT_SCRIPT(&r, "1", "the key", "token:me", "0 w12 0 0 0 50");
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_JOIN, &some_lock,
		&(struct request_args){
			.waiter.id = "r12", .ticket = 1700000000000002, .guard = some_guard});
	EXPECT_SCRIPT(
		&r, "1", "the key", "token:me", "0 r12 1700000000000002 1700000000000 40000 0");
}

TEST(request_to_subscribe)
{
	static char key[REQUEST_KEY_MAX + 1], want[CHANNEL_MAX];
	struct request r;

	request_subscribe(&r, "the key", 1, "w0123456789abcdef");
	CHECK_INT(r.op, OP_SUBSCRIBE);
	CHECK_INT(r.argc, 1 + SUBSCRIBE_CHANNELS);
	CHECK_TEXT(r.argv[0], "SUBSCRIBE");
	CHECK_TEXT(r.argv[1], "redlock:wake:{the key}:w0123456789abcdef");
	CHECK_TEXT(r.argv[2], "redlock:queue:{the key}");
	memset(key, 'k', sizeof(key) - 1);
	request_subscribe(&r, key, LIMIT_MAX, "w0123456789abcdef");
	snprintf(want, sizeof(want), "redlock:wake:{%s}:1000:w0123456789abcdef", key);
	CHECK_TEXT(r.argv[1], want);
	CHECK_INT(r.len[1], strlen(want));
	snprintf(want, sizeof(want), "redlock:queue:{%s}:1000", key);
	CHECK_TEXT(r.argv[2], want);
}

TEST(request_about_a_slot)
{
	struct lock_ref lock = {.keys = &ONE_KEY("the key"), .limit = 3, .slot = 2, .token = "t"};
	static char key[REQUEST_KEY_MAX + 1], want[REQUEST_KEY_MAX + 12];
	struct request r;

	request_script(
		&r, OP_UNDO, &lock, &(struct request_args){.reserve_time = 0, .guard = some_guard});
	EXPECT_SCRIPT(&r, "1", "the key#2", "t", "3 1700000000000 40000 0");
	/* A client that asks about a slot may not know the limit. */
	lock.limit = 0;
	request_script(
		&r, OP_UNDO, &lock, &(struct request_args){.reserve_time = 0, .guard = some_guard});
	EXPECT_SCRIPT(&r, "1", "the key#2", "t", "? 1700000000000 40000 0");
	request_script(&r, OP_EXPIRE, &lock, &(struct request_args){.ttl = USEC_SEC});
	EXPECT_SCRIPT(&r, "1", "the key#2", "t", LIMIT_UNKNOWN " 1000");
	lock.limit = 1;
	lock.slot = 0;
	request_script(
		&r, OP_UNDO, &lock, &(struct request_args){.reserve_time = 0, .guard = some_guard});
	EXPECT_SCRIPT(&r, "1", "the key", "t", "0 1700000000000 40000 0");
	memset(key, 'k', sizeof(key) - 1);
	snprintf(want, sizeof(want), "%s#1000", key);
	request_script(&r, OP_EXPIRE,
		&(struct lock_ref){
			.keys = &ONE_KEY(key), .limit = LIMIT_MAX, .slot = LIMIT_MAX, .token = "t"},
		&(struct request_args){0});
	CHECK_TEXT(r.argv[3], want);
}

TEST(request_of_a_page)
{
	struct request r;

	request_scan(&r, "1234", 200, true, false);
	EXPECT_SCRIPT(&r, "0", "1234", "200", "1", "0");
	request_scan(&r, "0", 1, false, true);
	EXPECT_SCRIPT(&r, "0", "0", "1", "0", "1");
	CHECK(strstr(r.argv[1], "'SCAN'") != NULL);
	CHECK_INT(r.keys, 1);
}

TEST(request_to_revoke)
{
	struct request r;

	request_script(&r, OP_REVOKE,
		&(struct lock_ref){.keys = &ONE_KEY("k"), .token = "(hash) a"},
		&(struct request_args){.flag = FLAG_DELETE});
	EXPECT_SCRIPT(&r, "1", "k", "(hash) a", FLAG_DELETE);
	EXPECT_AS_MANY_AS_NAMED(&r);
	request_script(&r, OP_REVOKE, &(struct lock_ref){.keys = &ONE_KEY("k"), .token = "v"},
		&(struct request_args){0});
	EXPECT_SCRIPT(&r, "1", "k", "v", "");
}

TEST(request_of_a_command)
{
	const char *const words[] = {"CONFIG", "GET", "a b", NULL};
	struct request r;

	request_command(&r, words);
	CHECK_INT(r.argc, 3);
	for (int n = 0; n < r.argc; n++) {
		CHECK_TEXT(r.argv[n], words[n]);
		CHECK_INT(r.len[n], strlen(words[n]));
	}
}

/* Each operation has a script of its own; only a repair is an acquisition. */
TEST(request_scripts)
{
	static const enum op ops[] = {
#define SCRIPT(name, ...) OP_##name,
#include "lock/operations.def"
	};

	for (size_t i = 0; i < COUNT_OF(ops); i++)
		for (size_t n = 0; n < COUNT_OF(ops); n++)
			CHECK((i == n || (ops[i] == OP_REPAIR && ops[n] == OP_ACQUIRE) ||
				      (ops[i] == OP_ACQUIRE && ops[n] == OP_REPAIR)) ==
				(strcmp(script_of(ops[i]), script_of(ops[n])) == 0));
	CHECK(script_of(OP_REPAIR) == script_of(OP_ACQUIRE));
	CHECK(!script_of(OP_NONE) && !script_of(OP_SUBSCRIBE) && !script_of(OP_COMMAND));
}

/* ---- replies ---- */

static void add_integer(struct resp *r, int64_t n)
{
	r->item[r->count++] = (struct resp_item){.type = RESP_INTEGER, .integer = n};
}

static void add_text(struct resp *r, enum resp_type type, const char *text)
{
	struct resp_item *item = &r->item[r->count++];

	*item = (struct resp_item){.type = type, .len = strlen(text)};
	snprintf(item->text, sizeof(item->text), "%s", text);
}

static void set_text(struct resp *r, const char *text)
{
	*r = (struct resp){.count = 0};
	add_text(r, RESP_STRING, text);
}

static struct resp script_reply(char code, int64_t pttl, const char *holder, const char *run_id)
{
	char text[RESP_TEXT_MAX];
	struct resp r;

	snprintf(text, sizeof(text), "%c %" PRId64 " 0%s%s\n%s", code, pttl, *run_id ? " i" : "",
		run_id, holder);
	set_text(&r, text);
	return r;
}

/* '#': the bits of the keys with waiters; or an item, which the reply may have already. */
static void set_number(struct resp *r, char item, int64_t number)
{
	char text[RESP_TEXT_MAX], word[] = {' ', item, '\0'};
	const char *old = r->item[0].text, *end = strchr(old, '\n'), *at, *rest;

	if (item == '#') {
		at = strchr(strchr(old, ' ') + 1, ' ');
		word[1] = '\0';
	} else {
		at = memmem(old, (size_t)(end - old), word, 2);
		at = at ? at : end;
	}
	rest = at < end ? at + 1 + strcspn(at + 1, " \n") : end;
	snprintf(text, sizeof(text), "%.*s%s%" PRId64 "%s", (int)(at - old), old, word, number,
		rest);
	set_text(r, text);
}

/* The limits of each number. */
TEST(answer_numbers)
{
	static const struct {
		char item;
		int64_t least, largest;
	} limits[] = {
		{REPLY_KEY, 1, KEYS_MAX},
		{'#', 0, (1 << KEYS_MAX) - 1},
		{REPLY_PARTIAL, 0, 1},
		{REPLY_SHARED, 0, 1},
		{REPLY_UNGUARDED, 0, 1},
		{REPLY_FENCE, 0, FENCE_MAX},
		{REPLY_SLOT, 0, LIMIT_MAX},
		{REPLY_RANK, 0, INT_MAX},
		{REPLY_LIMIT, 0, LIMIT_MAX},
	};

	for (size_t i = 0; i < COUNT_OF(limits); i++)
		for (int more = 0; more < 2; more++) {
			struct resp r = script_reply(CODE_FOREIGN, 1, "x", "");

			set_number(&r, limits[i].item, limits[i].least - more);
			CHECK_INT(reply_read(OP_LOOK, &r).reason,
				more ? REASON_GARBAGE : REASON_NONE);
			set_number(&r, limits[i].item, limits[i].largest + more);
			CHECK_INT(reply_read(OP_LOOK, &r).reason,
				more ? REASON_GARBAGE : REASON_NONE);
		}
}

TEST(answer_fencing_number)
{
	struct resp r = script_reply(CODE_COUNTER, 0, "redlock:fence:{k}", "");
	struct reply a = reply_read(OP_ACQUIRE, &r);

	CHECK_INT(a.vote, VOTE_ABSENT);
	CHECK_INT(a.reason, REASON_COUNTER);
	CHECK_TEXT(a.text, "redlock:fence:{k}");
	r = script_reply(CODE_YES, 5, "", "");
	CHECK_INT(reply_read(OP_ACQUIRE, &r).fence, 0);
	set_number(&r, REPLY_FENCE, FENCE_MAX);
	CHECK_INT(reply_read(OP_ACQUIRE, &r).fence, FENCE_MAX);
}

/* A refusal names another slot that is free, or else the time until the first slot expires. */
TEST(answer_slot)
{
	struct resp r = script_reply(CODE_FOREIGN, 5000, "x", "");
	struct reply a;

	set_number(&r, REPLY_SLOT, 7);
	set_number(&r, REPLY_SOONEST, 20);
	a = reply_read(OP_ACQUIRE, &r);
	CHECK_INT(a.slot, 7);
	CHECK_INT(a.pttl, 5000 * USEC_MSEC);
	CHECK_INT(a.soonest, 20 * USEC_MSEC);
	set_number(&r, REPLY_SOONEST, -1);
	CHECK_INT(reply_read(OP_ACQUIRE, &r).soonest, NEVER);
}

TEST(answer_to_join)
{
#define ID "9999999999999a11112222333344445555666677"
	struct resp r = script_reply(CODE_RESERVED, 40, "", "");
	struct reply a;

	set_number(&r, REPLY_TICKET, 1700000000000002);
	set_number(&r, REPLY_RANK, 3);
	set_number(&r, REPLY_LIMIT, 5);
	a = reply_read(OP_JOIN, &r);
	CHECK(a.vote == VOTE_FOREIGN && a.is_reserved);
	CHECK_INT(a.ticket, 1700000000000002);
	CHECK_INT(a.rank, 3);
	CHECK_INT(a.limit, 5);
	/* YES comes with the id of the reservation. */
	r = script_reply(CODE_YES, 0, ID, "");
	set_number(&r, REPLY_SLOT, 2);
	a = reply_read(OP_JOIN, &r);
	CHECK_INT(a.vote, VOTE_YES);
	CHECK_TEXT(a.text, ID);
	CHECK_INT(a.slot, 2);
	r = script_reply(CODE_YES, 0, ID "0", "");
	CHECK_INT(reply_read(OP_JOIN, &r).reason, REASON_GARBAGE);
	r = script_reply(CODE_YES, 0, "", "");
	CHECK_INT(reply_read(OP_JOIN, &r).reason, REASON_GARBAGE);
	CHECK_INT(reply_read(OP_ACQUIRE, &r).vote, VOTE_YES);
}

TEST(answer_quarantine)
{
	struct resp r = script_reply(CODE_QUARANTINE, 1500, "", "abc");
	struct reply a = reply_read(OP_ACQUIRE, &r);

	CHECK_INT(a.vote, VOTE_ABSENT);
	CHECK_INT(a.reason, REASON_QUARANTINE);
	CHECK_INT(a.pttl, 1500 * USEC_MSEC);
	CHECK_TEXT(a.run_id, "abc");
	r = script_reply(CODE_SKEWED, 40000, "behind", "abc");
	a = reply_read(OP_LOOK, &r);
	CHECK_INT(a.reason, REASON_SKEWED);
	CHECK_TEXT(a.text, "behind");
	r = script_reply(CODE_SKEWED, 40000, "ahead of", "abc");
	CHECK_INT(reply_read(OP_LOOK, &r).reason, REASON_SKEWED);
	/* the text is shown as it is */
	r = script_reply(CODE_SKEWED, 40000, "\33[31mbehind", "abc");
	CHECK_INT(reply_read(OP_LOOK, &r).reason, REASON_GARBAGE);
	r = script_reply(CODE_YES, 1, "", "");
	set_number(&r, REPLY_UNGUARDED, 1);
	CHECK(reply_read(OP_ACQUIRE, &r).is_unguarded);
	CHECK(!reply_read(OP_ACQUIRE, &r).is_partial);
	set_number(&r, REPLY_UNGUARDED, 0);
	CHECK(!reply_read(OP_ACQUIRE, &r).is_unguarded);
}

TEST(answer_about_several_keys)
{
	struct resp r = script_reply(CODE_FOREIGN, 1, "x", "");
	struct reply a;

	set_number(&r, '#', 5);
	set_number(&r, REPLY_KEY, 16);
	set_number(&r, REPLY_PARTIAL, 1);
	a = reply_read(OP_EXTEND, &r);
	CHECK_INT(a.vote, VOTE_FOREIGN);
	CHECK_INT(a.waiters, 5);
	CHECK_INT(a.key, 15);
	CHECK(a.is_partial);
	CHECK(!a.is_shared);
	set_number(&r, REPLY_SHARED, 1);
	a = reply_read(OP_EXTEND, &r);
	CHECK(a.is_shared && a.is_partial && !a.is_unguarded);
	CHECK_INT(a.key, 15);
}

TEST(answer_good)
{
	static const char run_id[] = "0123456789abcdef0123456789abcdef01234567";
	static const struct {
		char code;
		int64_t pttl;
		const char *holder, *run_id;
		enum vote vote;
		usec left;
	} cases[] = {
		{CODE_YES, 30000, "", run_id, VOTE_YES, 30 * USEC_SEC},
		{CODE_YES, 0, "", "", VOTE_YES, 0},
		{CODE_FOREIGN, 27001, "somebody", "", VOTE_FOREIGN, 27001 * USEC_MSEC},
		{CODE_FOREIGN, -1, "somebody", run_id, VOTE_FOREIGN, NEVER},
		{CODE_FOREIGN, -2, "", "", VOTE_FOREIGN, NEVER},
		{CODE_FOREIGN, INT64_MIN, "x", "", VOTE_FOREIGN, NEVER},
		{CODE_FOREIGN, INT64_MAX, "x", "", VOTE_FOREIGN, NEVER},
		{CODE_FOREIGN, INT64_C(1) << 53, "x", "", VOTE_FOREIGN, NEVER},
		{CODE_FOREIGN, DURATION_MAX / USEC_MSEC, "x", "", VOTE_FOREIGN, DURATION_MAX},
		{CODE_FOREIGN, DURATION_MAX / USEC_MSEC + 1, "x", "", VOTE_FOREIGN, NEVER},
		{CODE_GONE, 0, "", "", VOTE_GONE, 0},
		{CODE_RESERVED, 50, "", run_id, VOTE_FOREIGN, 50 * USEC_MSEC},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct resp r = script_reply(
			cases[i].code, cases[i].pttl, cases[i].holder, cases[i].run_id);
		struct reply a = reply_read(OP_ACQUIRE, &r);

		CHECK_INT(a.vote, cases[i].vote);
		CHECK_INT(a.reason, REASON_NONE);
		CHECK_INT(a.pttl, cases[i].left);
		CHECK_TEXT(a.text, cases[i].holder);
		CHECK_INT(a.text_len, strlen(cases[i].holder));
		/* The beginning is enough to tell servers apart. */
		CHECK_INT(strlen(a.run_id), cases[i].run_id[0] ? RUN_ID_LEN : 0);
		CHECK(strncmp(a.run_id, cases[i].run_id, RUN_ID_LEN) == 0);
		CHECK_INT(a.is_reserved, cases[i].code == CODE_RESERVED);
		CHECK_INT(a.waiters, 0);
	}
}

/* Pushes confirm a subscription: a reply can only refuse it. */
TEST(answer_to_subscribe)
{
	struct resp r = script_reply(CODE_YES, 1, "", "");

	CHECK_INT(reply_read(OP_SUBSCRIBE, &r).reason, REASON_GARBAGE);
	r = (struct resp){.count = 0};
	add_text(&r, RESP_STATUS, "OK");
	CHECK_INT(reply_read(OP_SUBSCRIBE, &r).reason, REASON_GARBAGE);
	r = (struct resp){.count = 0};
	add_text(&r, RESP_ERROR, "NOPERM no right to it");
	CHECK_INT(reply_read(OP_SUBSCRIBE, &r).reason, REASON_NOPERM);
}

TEST(answer_keeps_a_holder_byte_for_byte)
{
	static const char numbers[] = "F -9223372036854775808 65535 k16 o1000\n";
	struct resp r = script_reply(CODE_FOREIGN, 1, "x", "");
	struct resp_item *item = &r.item[0];
	const char *holder = item->text + sizeof(numbers) - 1;
	struct reply a;

	memset(item->text, 'x', sizeof(item->text) - 1);
	memcpy(item->text, numbers, sizeof(numbers) - 1);
	memcpy(item->text + sizeof(numbers) - 1, "a\0b\xff\n", 5);
	/* A longer text is cut. */
	for (size_t len = REPLY_TEXT_MAX - 2; len < REPLY_TEXT_MAX + 2; len++) {
		size_t kept = len < REPLY_TEXT_MAX ? len : REPLY_TEXT_MAX - 1;

		item->len = sizeof(numbers) - 1 + len;
		a = reply_read(OP_LOOK, &r);
		CHECK_INT(a.vote, VOTE_FOREIGN);
		CHECK_INT(a.pttl, NEVER);
		CHECK_INT(a.waiters, 65535);
		CHECK_INT(a.key, 15);
		CHECK_INT(a.text_len, kept);
		CHECK(memcmp(a.text, holder, kept) == 0 && a.text[kept] == '\0');
	}
}

TEST(answer_errors)
{
	static const struct {
		const char *text;
		enum reason reason;
	} cases[] = {
		{"LOADING Redis is loading the dataset in memory", REASON_LOADING},
		{"READONLY You can't write against a read only replica.", REASON_READONLY},
		{"MISCONF Redis is configured to save RDB snapshots", REASON_MISCONF},
		{"OOM command not allowed when used memory > 'maxmemory'.", REASON_OOM},
		{"NOAUTH Authentication required.", REASON_NOAUTH},
		{"WRONGPASS invalid username-password pair", REASON_WRONG_PASSWORD},
		{"ERR AUTH <password> called without any password configured", REASON_NO_PASSWORD},
		{"ERR invalid password", REASON_WRONG_PASSWORD},
		{"ERR Client sent AUTH, but no password is set", REASON_NO_PASSWORD},
		{"ERR Protocol error: unauthenticated multibulk length", REASON_NOAUTH},
		{"ERR ACL failure in script: User u has no permissions", REASON_NOPERM},
		{"NOPERM this user has no permissions to run 'eval'", REASON_NOPERM},
		{"NOSCRIPT No matching script. Please use EVAL.", REASON_NO_SCRIPT},
		{"NOPERM User u has no permissions to run the 'evalsha' command",
			REASON_NO_DIGESTS},
		{"NOPERM this user has no permissions to run the 'evalsha' command or its "
		 "subcommand",
			REASON_NO_DIGESTS},
		{"NOPERM User evalsha has no permissions to run the 'eval' command", REASON_NOPERM},
		{"ERR unknown command 'EVALSHA', with args beginning with: 'b15f'",
			REASON_NO_DIGESTS},
		{"ERR unknown command `evalsha`", REASON_NO_DIGESTS},
		{"ERR The user executing the script can't run this command", REASON_NOPERM},
		{"MOVED 3999 127.0.0.1:6381", REASON_MOVED},
		{"ASK 3999 127.0.0.1:6381", REASON_MOVED},
		{"CLUSTERDOWN Hash slot not served", REASON_CLUSTERDOWN},
		{"MASTERDOWN Link with MASTER is down", REASON_MASTERDOWN},
		{"NOREPLICAS Not enough good replicas to write.", REASON_NOREPLICAS},
		{"BUSY Redis is busy running a script.", REASON_BUSY},
		{"ERR max number of clients reached", REASON_MAXCLIENTS},
		{"ERR unknown command 'EVAL'", REASON_SERVER},
		{"DENIED Redis is running in protected mode", REASON_PROTECTED},
		{"WRONGTYPE Operation against a key", REASON_SERVER},
		{"ERR LOADING", REASON_SERVER},
		{"loading", REASON_SERVER},
		{"", REASON_SERVER},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct resp r = {.count = 0};
		struct reply a;
		char shown[100];

		/* The arguments that the server repeats are cut. */
		snprintf(shown, sizeof(shown), "%.*s",
			(int)(strstr(cases[i].text, ", with args")
					? strstr(cases[i].text, ", with args") - cases[i].text
					: (ptrdiff_t)strlen(cases[i].text)),
			cases[i].text);
		add_text(&r, RESP_ERROR, cases[i].text);
		a = reply_read(OP_ACQUIRE, &r);
		CHECK_INT(a.vote, VOTE_ABSENT);
		unit_check(a.reason == cases[i].reason, __FILE__, __LINE__, "'%s' is %d, not %d",
			cases[i].text, (int)a.reason, (int)cases[i].reason);
		CHECK_TEXT(a.text, shown);
		CHECK_INT(a.text_len, strlen(shown));
		CHECK_TEXT(a.run_id, "");
	}
}

/* The error of a refused script, as Redis 6 and KeyDB word it, and as Redis 7 does. */
TEST(answer_errors_are_unwrapped)
{
#define CALL "ERR Error running script (call to f_4e6d0f4aa9f7a8cc6e1a7f1cdbb4b7b9e9c0ba2e): "
	static const struct {
		const char *text;
		enum reason reason;
		const char *shown;
	} cases[] = {
		{CALL "@user_script:1: @user_script: 1: -READONLY You can't write.",
			REASON_READONLY, "READONLY You can't write."},
		{CALL "@user_script:1: @user_script: 1: -OOM command not allowed", REASON_OOM,
			"OOM command not allowed"},
		{CALL "@user_script:1: @user_script: 1: -MISCONF Redis is configured",
			REASON_MISCONF, "MISCONF Redis is configured"},
		{CALL "@user_script:1: @user_script: 1: -LOADING Redis is loading", REASON_LOADING,
			"LOADING Redis is loading"},
		{CALL "@user_script:12: @user_script: 12: -NOREPLICAS Not enough",
			REASON_NOREPLICAS, "NOREPLICAS Not enough"},
		{CALL "@user_script:1: @user_script: 1: The user executing the script can't run "
		      "this command or subcommand",
			REASON_NOPERM,
			"The user executing the script can't run this command or subcommand"},
		{CALL "@user_script:1: @user_script: 1: The user executing the script can't access "
		      "at least one of the keys mentioned in the command arguments",
			REASON_NOPERM,
			"The user executing the script can't access at least one of the keys "
			"mentioned in the command arguments"},
		/* an error that a script passes on */
		{"@user_script: 1: -READONLY You can't write.", REASON_READONLY,
			"READONLY You can't write."},
		{"-READONLY You can't write.", REASON_READONLY, "READONLY You can't write."},
		{CALL "@user_script:1: WRONGTYPE Operation against a key", REASON_SERVER,
			"WRONGTYPE Operation against a key"},
		{CALL "@user_script:1: @user_script: 1: Unknown Redis command called",
			REASON_SERVER, "Unknown Redis command called"},
		{"READONLY You can't write. script: 4e6d0f4a, on @user_script:1.", REASON_READONLY,
			"READONLY You can't write."},
		{"ERR no script: here", REASON_SERVER, "ERR no script: here"},
		{"ERR no script: 4e6d0f4a, on @user_script:1., with args beginning with: 'x'",
			REASON_SERVER, "ERR no"},
		{"ERR no script: here, on it", REASON_SERVER, "ERR no script: here, on it"},
		/* cut anywhere */
		{"ERR Error running script (call", REASON_SERVER, "ERR Error running script (call"},
		{CALL, REASON_SERVER, ""},
		{CALL "@user_script:1", REASON_SERVER, "@user_script:1"},
		{CALL "@user_script:1: @user_script: 1", REASON_SERVER, "1"},
		{CALL "@user_script:1: @user_script: 1: ", REASON_SERVER, ""},
		{CALL "@user_script:1: @user_script: 1: -", REASON_SERVER, ""},
		{"@", REASON_SERVER, "@"},
	};
#undef CALL

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct resp r = {.count = 0};
		struct reply a;

		add_text(&r, RESP_ERROR, cases[i].text);
		a = reply_read(OP_ACQUIRE, &r);
		unit_check(a.reason == cases[i].reason, __FILE__, __LINE__, "'%s' is %d, not %d",
			cases[i].text, (int)a.reason, (int)cases[i].reason);
		CHECK_TEXT(a.text, cases[i].shown);
		CHECK_INT(a.text_len, strlen(cases[i].shown));
	}
}

/* The words of each server about a user without rights, in full. The place in the script goes, the
 * reason stays. */
TEST(answer_denials_of_each_server_keep_their_reason)
{
#define SHA "4187e0eb1b2f3a3d4c1d9c6a7a05d01a4bb3dc9a"
#define BEFORE "ERR Error running script (call to f_" SHA "): @user_script:1: @user_script: 1: "
#define AFTER " script: " SHA ", on @user_script:1."
#define OLD "The user executing the script can't "
#define OLD_RUN OLD "run this command or subcommand"
#define OLD_KEY OLD "access at least one of the keys mentioned in the command arguments"
#define OLD_CHANNEL OLD "publish to the channel mentioned in the command"
#define NEW "ERR ACL failure in script: "
#define NEW_RUN NEW "User u has no permissions to run the 'getrange' command"
#define NEW_KEY NEW "No permissions to access a key"
#define NEW_CHANNEL NEW "No permissions to access a channel"
	static const struct {
		const char *text, *shown;
	} cases[] = {
		/* Redis 6.0, Redis 6.2, KeyDB 6.3 */
		{BEFORE OLD_RUN, OLD_RUN},
		{BEFORE OLD_KEY, OLD_KEY},
		{BEFORE OLD_CHANNEL, OLD_CHANNEL}, /* not 6.0 */
		/* Redis 7.0 */
		{"ERR " OLD_RUN AFTER, "ERR " OLD_RUN},
		{"ERR " OLD_KEY AFTER, "ERR " OLD_KEY},
		{"ERR " OLD_CHANNEL AFTER, "ERR " OLD_CHANNEL},
		/* Redis 7.2, 7.4 and 8.0, Valkey 7.2 to 8.1 */
		{NEW_RUN AFTER, NEW_RUN},
		{NEW_KEY AFTER, NEW_KEY},
		{NEW_CHANNEL AFTER, NEW_CHANNEL},
		/* the keys of EVAL itself: before Redis 7.2, and since then */
		{"NOPERM this user has no permissions to access one of the keys used as arguments",
			"NOPERM this user has no permissions to access one of the keys used as "
			"arguments"},
		{"NOPERM No permissions to access a key", "NOPERM No permissions to access a key"},
		/* a user's name is no place */
		{NEW "User a script: b has no permissions to run the 'get' command" AFTER,
			NEW "User a script: b has no permissions to run the 'get' command"},
	};
#undef SHA
#undef BEFORE
#undef AFTER
#undef OLD
#undef OLD_RUN
#undef OLD_KEY
#undef OLD_CHANNEL
#undef NEW
#undef NEW_RUN
#undef NEW_KEY
#undef NEW_CHANNEL

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct resp r = {.count = 0};
		struct reply a;

		add_text(&r, RESP_ERROR, cases[i].text);
		a = reply_read(OP_ACQUIRE, &r);
		CHECK_INT(a.vote, VOTE_ABSENT);
		CHECK_INT(a.reason, REASON_NOPERM);
		CHECK_TEXT(a.text, cases[i].shown);
		CHECK_INT(a.text_len, strlen(cases[i].shown));
	}
}

static void expect_garbage(const struct resp *r, int line)
{
	struct reply a = reply_read(OP_ACQUIRE, r);

	unit_check(a.vote == VOTE_ABSENT && a.reason == REASON_GARBAGE, __FILE__, line,
		"vote %d, reason %d", (int)a.vote, (int)a.reason);
}

#define EXPECT_GARBAGE(r) expect_garbage(r, __LINE__)

TEST(answer_malformed)
{
	static const enum resp_type types[] = {RESP_NIL, RESP_INTEGER, RESP_STATUS};
	static const char *const texts[] = {"", "Y", "Y ", "Y 1", "Y 1\n", "Y 1 ", "Y 1 0",
		"Y 1 0 ", "Y 1 0 \n", "Y 1 0 k\n", "Y 1 0 k1", "Y 1 0 k1 \n", "Y 1 0  k1\n",
		"Y 1 0k1\n", "Y\n", "Y  1 0\n", "Y 1  0\n", " Y 1 0\n", "YY 1 0\n", "Y +1 0\n",
		"Y - 0\n", "Y 0x1 0\n", "Y 1e3 0\n", "Y 1.5 0\n", "Y 1 0 k=1\n", "Y 1 0 k1 k1\n",
		"Y 1 0 i0 i0\n", "Y 1 0 i0k1\n", "Y 1 0 iredlock\n", "Y 1 0 `1\n", "Y 1 0 {1\n",
		"Y 1 0 K1\n",
		"Y 1 0 \xe9"
		"1\n",
		"Y 1 99999999999999999999\n", "Y 1 0 i0123456789abcdef0123456789abcdef012345678\n"};
	struct resp good = script_reply(CODE_YES, 1, "", ""), r;

	/* of another type, or an array */
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		r = good;
		r.item[0].type = types[i];
		EXPECT_GARBAGE(&r);
	}
	r = good;
	r.is_array = 1;
	EXPECT_GARBAGE(&r);
	r.count = 0;
	EXPECT_GARBAGE(&r);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		set_text(&r, texts[i]);
		CHECK_TEXT(texts[i], r.item[0].text);
		EXPECT_GARBAGE(&r);
	}
	/* no such item, and none of this operation */
	for (int item = 'a'; item <= 'z'; item++) {
		bool is_known = reply_items(OP_ACQUIRE) & REPLY_BIT(item);

		r = good;
		set_number(&r, (char)item, 1);
		CHECK_INT(
			reply_read(OP_ACQUIRE, &r).reason, is_known ? REASON_NONE : REASON_GARBAGE);
	}
	/* no such code */
	for (int code = 1; code < 256; code++)
		if (!strchr("YFGRQSCUE", code)) {
			r = script_reply((char)code, 1, "", "");
			EXPECT_GARBAGE(&r);
		}
}

TEST(answer_hides_secrets)
{
	static const struct {
		const char *said, *secret, *shown;
	} table[] = {
		{"ERR unknown command 'AUTH', with args beginning with: 'app' 's3cret' ", "s3cret",
			"ERR unknown command 'AUTH'"},
		/* The server has cut it. */
		{"ERR unknown command 'AUTH', with args beginning with: 's3c", "s3cret",
			"ERR unknown command 'AUTH'"},
		{"ERR no s3cret, with args", "s3cret", "ERR no "},
		{"ERR AUTH s3cret? No", "s3cret", "ERR AUTH "},
		{"WRONGPASS invalid username-password pair", "s3cret",
			"WRONGPASS invalid username-password pair"},
		{"WRONGPASS", "", "WRONGPASS"},
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct reply a = reply_absent(REASON_SERVER, table[i].said);

		reply_hide(&a, table[i].secret);
		CHECK_TEXT(a.text, table[i].shown);
		CHECK_INT(a.text_len, strlen(table[i].shown));
	}
}

TEST(answer_absent_detail)
{
	char text[REPLY_TEXT_MAX + 100];
	struct reply a = reply_absent(REASON_CLOSED, NULL);

	CHECK_INT(a.vote, VOTE_ABSENT);
	CHECK_INT(a.reason, REASON_CLOSED);
	CHECK_INT(a.text_len, 0);
	CHECK_TEXT(a.text, "");
	CHECK_TEXT(a.run_id, "");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	a = reply_absent(REASON_CONNECT, text);
	CHECK_INT(a.text_len, REPLY_TEXT_MAX - 1);
	CHECK_INT(strlen(a.text), REPLY_TEXT_MAX - 1);
}

TEST(every_reason_has_its_own_message)
{
	for (int i = REASON_NONE; i < REASON_COUNT; i++) {
		const char *words = reason_words((enum reason)i);

		CHECK(strlen(words) > 5);
		for (int j = REASON_NONE; j < i; j++)
			CHECK(strcmp(words, reason_words((enum reason)j)) != 0);
	}
}

TEST(answer_to_scan)
{
	struct resp r = {.is_array = 1}, bad;
	struct reply a;

	add_text(&r, RESP_STRING, "1234");
	add_integer(&r, 1);
	add_text(&r, RESP_STRING, "");
	a = reply_read(OP_SCAN, &r);
	CHECK_INT(a.vote, VOTE_YES);
	CHECK_TEXT(a.text, "1234");
	CHECK_INT(a.text_len, 4);
	CHECK_TEXT(a.run_id, "");
	CHECK(a.is_cut);
	r.item[PAGE_IS_CUT - 1].integer = 0;
	CHECK(!reply_read(OP_SCAN, &r).is_cut);
	for (int n = 0; n < PAGE_ITEMS; n++) {
		bad = r;
		bad.item[n].type = RESP_NIL;
		CHECK_INT(reply_read(OP_SCAN, &bad).reason, REASON_GARBAGE);
		bad = r;
		bad.count = n;
		CHECK_INT(reply_read(OP_SCAN, &bad).reason, REASON_GARBAGE);
	}
	bad = r;
	bad.item[0].len = RUN_ID_MAX;
	CHECK_INT(reply_read(OP_SCAN, &bad).reason, REASON_GARBAGE);
	bad = r;
	bad.is_array = 0;
	CHECK_INT(reply_read(OP_SCAN, &bad).reason, REASON_GARBAGE);
}

/* Any reply is valid; of an array, the last item is reported. */
TEST(answer_to_ask)
{
	struct resp r = {.count = 0};
	struct reply a;

	add_text(&r, RESP_STATUS, "PONG");
	a = reply_read(OP_COMMAND, &r);
	CHECK_INT(a.vote, VOTE_YES);
	CHECK_TEXT(a.text, "PONG");
	CHECK_INT(a.text_len, 4);
	r.is_array = 1;
	add_text(&r, RESP_STRING, "value");
	CHECK_TEXT(reply_read(OP_COMMAND, &r).text, "value");
	r.item[1] = (struct resp_item){.type = RESP_INTEGER, .integer = -2};
	CHECK_TEXT(reply_read(OP_COMMAND, &r).text, "-2");
	r.item[1].type = RESP_NIL;
	a = reply_read(OP_COMMAND, &r);
	CHECK_INT(a.vote, VOTE_YES);
	CHECK_TEXT(a.text, "");
	r.count = 0;
	a = reply_read(OP_COMMAND, &r);
	CHECK_INT(a.vote, VOTE_YES);
	CHECK_TEXT(a.text, "");
	r = (struct resp){.count = 0};
	add_text(&r, RESP_ERROR, "NOPERM no");
	a = reply_read(OP_COMMAND, &r);
	CHECK_INT(a.vote, VOTE_ABSENT);
	CHECK_INT(a.reason, REASON_NOPERM);
}

/* ---- pages ---- */

TEST(page_of_entries)
{
	static const char page[] = "3 5 1500 7\nkeyvalue0 0 -1 0\n2 1 -2 0\n1\n2"
				   "1 2 0 0\nkvv"
				   "1 4 9 -1\nktext1 1 -9 -1\nkt";
	const char *at = page, *end = page + sizeof(page) - 1;
	struct page_entry e;

	CHECK(page_next(&at, end, &e));
	CHECK(e.key_len == 3 && memcmp(e.key, "key", 3) == 0);
	CHECK(e.value_len == 5 && memcmp(e.value, "value", 5) == 0);
	CHECK_INT(e.pttl, 1500 * USEC_MSEC);
	CHECK_INT(e.waiters, 7);
	CHECK(page_next(&at, end, &e));
	CHECK(e.key_len == 0 && e.value_len == 0);
	CHECK(e.pttl == NEVER);
	CHECK(page_next(&at, end, &e));
	CHECK(e.key_len == 2 && memcmp(e.key, "1\n", 2) == 0 && *e.value == '2');
	CHECK(e.pttl == NEVER);
	CHECK(page_next(&at, end, &e));
	CHECK(e.key_len == 1 && e.value_len == 2 && e.pttl == 0 && !e.is_record);
	CHECK(page_next(&at, end, &e));
	CHECK(e.is_record && e.value_len == 4 && e.pttl == 9 * USEC_MSEC && e.waiters == 0);
	CHECK(page_next(&at, end, &e));
	CHECK(e.is_record && e.pttl == NEVER);
	CHECK(at == end);
	CHECK(!page_next(&at, end, &e));
}

TEST(page_that_is_none)
{
	static const char *const pages[] = {"", "3", "3 5", "3 5 ", "3 5 9", "3 5 9 ", "3 5 9 0",
		"3 5 9 0\n", "3 5 9 0\nkeyvalu", "6 0 9 0\nkeyva", "x 5 9 0\nkeyvalue",
		"3x5 9 0\nkeyvalue", "3 5 9\nkeyvalue", "3 5 9 0keyvalue", "3 5 9 0 \nkeyvalue",
		"-3 5 9 0\nkeyvalue", "3 -5 9 0\nkeyvalue", "3-5 9 0\nkeyvalue",
		"3 5 / 0\nkeyvalue", "3 5 9 /\nkeyvalue", "3:5 9 0\n", "3 5 9 2147483648\nkeyvalue",
		"99999999999999999999 5 9 0\nkeyvalue", "3 99999999999999999999 9 0\nkeyvalue",
		"3 5 99999999999999999999 0\nkeyvalue", "3 5 9 99999999999999999999\nkeyvalue",
		"9223372036854775807 9 9 0\nkeyvalue", "-"};

	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		const char *at = pages[i];
		struct page_entry e;

		unit_check(!page_next(&at, pages[i] + strlen(pages[i]), &e) && at == pages[i],
			__FILE__, __LINE__, "'%s'", pages[i]);
	}
}
