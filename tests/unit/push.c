/* push: messages between replies, HELLO's map, and what is neither; every split of the bytes. */
#include "proto/push.h"
#include "base/token.h"
#include "proto/request.h"

#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "9999999999999a11112222333344445555666677"
#define MESSAGE(channel_len, channel, len, text) \
	">3\r\n$7\r\nmessage\r\n$" #channel_len "\r\n" channel "\r\n$" #len "\r\n" text "\r\n"

/* The bytes in a block of exactly that size, so that sanitizers see reads beyond it. */
static enum push_kind read_block(const char *bytes, size_t len, struct push *push)
{
	char *block = malloc(len + !len);
	enum push_kind kind;

	memcpy(block, bytes, len);
	kind = push_read(block, len, push);
	free(block);
	return kind;
}

/* Each shorter part of the bytes is not complete. */
static void check_parts(const char *text)
{
	struct push push;

	for (size_t n = 1; n < strlen(text); n++)
		if (!CHECK_INT(read_block(text, n, &push), PUSH_PARTIAL))
			printf("# %zu bytes of %s\n", n, text);
}

/* The beginning of the bytes is a push of that kind. Each shorter part is not complete. */
static void check_whole(const char *text, enum push_kind want)
{
	static char bytes[2 * PUSH_BYTES_MAX];
	size_t len = strlen(text);
	struct push push;

	check_parts(text);
	CHECK_INT(read_block(text, len, &push), want);
	CHECK_INT(push.len, len);
	/* Later bytes do not matter. */
	for (int c = 0; c < 256; c++) {
		snprintf(bytes, sizeof(bytes), "%s%c%s", text, c, text);
		CHECK_INT(push_read(bytes, len + 1, &push), want);
		CHECK_INT(push.len, len);
	}
}

/* Not RESP3, noticed as soon as the last byte has arrived. */
static void check_broken(const char *text)
{
	size_t len = strlen(text);
	struct push push;

	check_parts(text);
	CHECK_INT(read_block(text, len, &push), PUSH_BROKEN);
}

TEST(push_kinds_whatever_the_split)
{
	check_whole(MESSAGE(3, "abc", 2, "hi"), PUSH_MESSAGE);
	check_whole(MESSAGE(3, "abc", 0, ""), PUSH_MESSAGE);
	check_whole(MESSAGE(4, "\r\n>3", 4, "\r\n\r\n"), PUSH_MESSAGE);
	check_whole(">3\r\n$9\r\nsubscribe\r\n$3\r\nabc\r\n:1\r\n", PUSH_SUBSCRIBED);
	check_whole(">3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n", PUSH_OTHER);
	check_whole(">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n", PUSH_CHANGED);
	check_whole(">2\r\n$10\r\ninvalidate\r\n_\r\n", PUSH_CHANGED);
	check_whole(">0\r\n", PUSH_OTHER);
	check_whole(">3\r\n$7\r\nmessagE\r\n$1\r\na\r\n$1\r\na\r\n", PUSH_OTHER);
	check_whole(">2\r\n$7\r\nmessage\r\n$1\r\na\r\n", PUSH_OTHER);
	check_whole(">3\r\n$7\r\nmessage\r\n*1\r\n$1\r\na\r\n$1\r\na\r\n", PUSH_OTHER);
	check_whole(">3\r\n$7\r\nmessage\r\n$1\r\na\r\n:1\r\n", PUSH_OTHER);
	check_whole(">3\r\n+message\r\n$1\r\na\r\n$1\r\na\r\n", PUSH_OTHER);
	check_whole(">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\na\r\n", PUSH_OTHER);
	check_whole(
		">9\r\n+a\r\n-b\r\n:1\r\n,1.5\r\n#t\r\n(123\r\n=5\r\ntxt:a\r\n!1\r\ne\r\n~0\r\n",
		PUSH_OTHER);
}

TEST(push_hello)
{
	check_whole("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
		    "$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:5\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
		    "$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
		PUSH_HELLO);
	check_whole(
		"%1\r\n$7\r\nmodules\r\n*2\r\n%2\r\n$4\r\nname\r\n$2\r\nbf\r\n$3\r\nver\r\n:1\r\n"
		"%1\r\n$4\r\nargs\r\n*1\r\n$1\r\nx\r\n",
		PUSH_HELLO);
	check_whole("%0\r\n", PUSH_HELLO);
}

TEST(push_none)
{
	static const char *const replies[] = {
		"+OK\r\n", "-ERR\r\n", ":1\r\n", "$1\r\na\r\n", "*0\r\n", "_\r\n", "HTTP/1.1", ""};
	struct push push;

	for (size_t i = 0; i < COUNT_OF(replies); i++)
		CHECK_INT(read_block(replies[i], strlen(replies[i]), &push), PUSH_NONE);
	CHECK_INT(read_block("", 1, &push), PUSH_NONE);
}

TEST(push_broken)
{
	check_broken(">\r\n");
	check_broken(">\n");
	check_broken(">3\n");
	check_broken(">-1\r\n");
	check_broken(">x\r\n");
	check_broken(">16385\r\n");
	check_broken(">99999999999999999999\r\n");
	check_broken(">1\r\n$-1\r\n");
	check_broken(">1\r\n$1\r\nab\r");
	check_broken(">1\r\n?\r\n");
	check_broken(">1\r\n|1\r\n");
	check_broken(">2\r\n$16385\r\n");
}

TEST(push_is_bounded)
{
	static char bytes[2 * PUSH_BYTES_MAX];
	struct push push;

	memset(bytes, 'a', sizeof(bytes));
	bytes[0] = '>';
	CHECK_INT(push_read(bytes, PUSH_BYTES_MAX - 1, &push), PUSH_PARTIAL);
	CHECK_INT(push_read(bytes, PUSH_BYTES_MAX, &push), PUSH_BROKEN);
	CHECK_INT(push_read(bytes, sizeof(bytes), &push), PUSH_BROKEN);
	/* The longest push, and one that is longer by a byte. */
	for (int more = 0; more < 2; more++) {
		int head = snprintf(
			bytes, sizeof(bytes), ">1\r\n$%zu\r\n", PUSH_BYTES_MAX - 14 + (size_t)more);

		bytes[head] = 'a';
		memcpy(bytes + PUSH_BYTES_MAX - 2 + more, "\r\n", 2);
		CHECK_INT(push_read(bytes, sizeof(bytes), &push), more ? PUSH_BROKEN : PUSH_OTHER);
	}
	/* Nested items that never end. */
	for (size_t n = 0; n < sizeof(bytes); n += 8)
		memcpy(bytes + n, n ? "*16384\r\n" : ">16384\r\n", 8);
	CHECK_INT(push_read(bytes, sizeof(bytes), &push), PUSH_BROKEN);
}

static bool wake_slots(int limit, const char *channel, const char *message, int *key,
	enum wake *kind, struct reply *reply)
{
	const struct key_list keys = {.count = 2, .key = {"one", "two"}};
	const struct push push = {.channel = channel,
		.channel_len = strlen(channel),
		.message = message,
		.message_len = strlen(message)};

	memset(reply, 0x5a, sizeof(*reply));
	return push_wake(&push, &keys, limit, "w0123456789abcdef", key, kind, reply);
}

static bool wake(
	const char *channel, const char *message, int *key, enum wake *kind, struct reply *reply)
{
	return wake_slots(1, channel, message, key, kind, reply);
}

TEST(push_wake_reserves)
{
	struct reply reply;
	enum wake kind;
	int key;

	CHECK(wake("redlock:wake:{two}:w0123456789abcdef", ID, &key, &kind, &reply));
	CHECK_INT(kind, WAKE_RESERVED);
	CHECK_INT(key, 1);
	CHECK_INT(reply.vote, VOTE_YES);
	CHECK_TEXT(reply.text, ID);
	CHECK_INT(reply.text_len, TOKEN_ID_LEN);
	CHECK_INT(reply.slot, 0);
	CHECK(wake("redlock:wake:{one}:w0123456789abcdef", ID "#1000", &key, &kind, &reply));
	CHECK_INT(key, 0);
	CHECK_TEXT(reply.text, ID);
	CHECK_INT(reply.slot, 1000);
}

TEST(push_wake_looks_and_rejoins)
{
	struct reply reply;
	enum wake kind;
	int key;

	CHECK(wake("redlock:wake:{one}:w0123456789abcdef", "", &key, &kind, &reply));
	CHECK_INT(kind, WAKE_LOOK);
	CHECK_INT(key, 0);
	CHECK(wake("redlock:queue:{two}", "", &key, &kind, &reply));
	CHECK_INT(kind, WAKE_REJOIN);
	CHECK_INT(key, 1);
	CHECK(wake("redlock:queue:{one}", "anything", &key, &kind, &reply));
	CHECK_INT(kind, WAKE_REJOIN);
	CHECK_INT(key, 0);
}

TEST(push_wake_refuses_other_messages)
{
	static const char *const texts[] = {
		"x", ID "#", ID "#0", ID "#1001", ID "#x", ID "1", ID "#12345678", ID ID};
	static const char *const channels[] = {"", "redlock:wake:{one}:w0123456789abcde",
		"redlock:wake:{one}:w0123456789abcdef0", "redlock:wake:{three}:w0123456789abcdef",
		"redlock:wake:{one}:r0123456789abcdef", "redlock:queue:{three}",
		"redlock:queue:{on"};
	struct reply reply;
	enum wake kind;
	int key;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		CHECK(!wake("redlock:wake:{one}:w0123456789abcdef", texts[i], &key, &kind, &reply));
	for (size_t i = 0; i < COUNT_OF(channels); i++)
		CHECK(!wake(channels[i], ID, &key, &kind, &reply));
}

/* The server names the key that has changed; no key: all may have changed. */
TEST(push_wake_changes)
{
	static const struct {
		const char *bytes;
		int key; /* -1: another key */
	} cases[] = {
		{">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\none\r\n", 0},
		{">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\ntwo\r\n", 1},
		{">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\ntw\r\n", -1},
		{">2\r\n$10\r\ninvalidate\r\n_\r\n", 0},
		{">2\r\n$10\r\ninvalidate\r\n*0\r\n", 0},
		{">2\r\n$10\r\ninvalidate\r\n*1\r\n:1\r\n", 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct key_list keys = {.count = 2, .key = {"one", "two"}};
		struct reply reply;
		struct push push;
		enum wake kind;
		int key;

		CHECK_INT(push_read(cases[i].bytes, strlen(cases[i].bytes), &push), PUSH_CHANGED);
		CHECK_INT(push_wake(&push, &keys, 1, "w0123456789abcdef", &key, &kind, &reply),
			cases[i].key >= 0);
		CHECK_INT(kind, WAKE_CHANGED);
		if (cases[i].key >= 0)
			CHECK_INT(key, cases[i].key);
	}
}

/* Each limit has a queue of its own. */
TEST(push_wake_of_slots)
{
	static const char *const channels[] = {"redlock:wake:{one}:w0123456789abcdef",
		"redlock:wake:{one}:2:w0123456789abcdef", "redlock:queue:{one}",
		"redlock:queue:{one}:30"};
	struct reply reply;
	enum wake kind;
	int key;

	CHECK(wake_slots(
		3, "redlock:wake:{two}:3:w0123456789abcdef", ID "#2", &key, &kind, &reply));
	CHECK_INT(kind, WAKE_RESERVED);
	CHECK_INT(key, 1);
	CHECK_INT(reply.slot, 2);
	CHECK(wake_slots(3, "redlock:queue:{one}:3", "", &key, &kind, &reply));
	CHECK_INT(kind, WAKE_REJOIN);
	for (size_t i = 0; i < COUNT_OF(channels); i++)
		CHECK(!wake_slots(3, channels[i], ID "#2", &key, &kind, &reply));
	CHECK(!wake("redlock:wake:{one}:3:w0123456789abcdef", ID "#2", &key, &kind, &reply));
}
