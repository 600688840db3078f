#include "unit.h"

#include "base/token.h"
#include "net/conn.h"
#include "proto/request.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CHANGED ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
#define RELEASED "$6\r\nY 0 0\n\r\n"
#define UNKNOWN "-NOSCRIPT No matching script. Please use EVAL.\r\n"

/* A connection to a server that says what a test lets it say. */
struct talk {
	struct node node;
	struct addresses addresses;
	struct address address;
	struct conn conn;
	int peer;
};

static void begin_talk(struct talk *t)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(t, 0, sizeof(*t));
	t->node.kind = NODE_UNIX;
	/* An abstract name, which the kernel chooses. */
	CHECK(bind(listener, (struct sockaddr *)&un, sizeof(sa_family_t)) == 0);
	CHECK(listen(listener, 1) == 0);
	t->addresses.count = 1;
	t->addresses.address = &t->address;
	t->address.len = sizeof(t->address.at);
	CHECK(getsockname(listener, (struct sockaddr *)&t->address.at, &t->address.len) == 0);
	conn_init(&t->conn, &t->node, &t->addresses);
	conn_open(&t->conn);
	t->peer = accept(listener, NULL, NULL);
	CHECK(t->peer >= 0);
	close(listener);
	conn_handle(&t->conn, POLLOUT);
	CHECK_INT(t->conn.state, CONN_UP);
}

static void end_talk(struct talk *t)
{
	close(t->peer);
	conn_abort(&t->conn);
}

static void say(struct talk *t, const char *text)
{
	CHECK(send(t->peer, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
	conn_handle(&t->conn, POLLIN);
}

/* An attempt that watches the key, and its release by digest. */
static void ask_and_release(struct talk *t)
{
	static const struct key_list key = ONE_KEY("k");
	const struct lock_ref lock = {.keys = &key, .token = TOKEN_READERS};
	struct request r;

	request_script(&r, OP_ACQUIRE, &lock, &(struct request_args){.ttl = USEC_SEC});
	r.watches = true;
	conn_send(&t->conn, &r, 1, 0);
	request_script(&r, OP_HAND_OFF, &lock, &(struct request_args){0});
	request_by_digest(&r);
	conn_send(&t->conn, &r, 2, 0);
	say(t, "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n+OK\r\n+OK\r\n" RELEASED);
}

static enum op next_op(struct talk *t, struct reply *reply)
{
	struct pending request = {.op = OP_NONE};

	if (!conn_next_reply(&t->conn, &request, reply))
		return OP_NONE;
	return request.is_push ? OP_SUBSCRIBE : request.op;
}

/* The release changes the key that the connection watches: the server tells of it before it replies
 * to the delete, which it has read with the release. */
TEST(a_push_between_a_release_and_its_delete)
{
	struct talk t;
	struct reply reply;

	begin_talk(&t);
	ask_and_release(&t);
	CHECK_INT(next_op(&t, &reply), OP_ACQUIRE);
	say(&t, RELEASED CHANGED "$1\r\nG\r\n");
	CHECK_INT(next_op(&t, &reply), OP_HAND_OFF);
	CHECK_INT(reply.vote, VOTE_YES);
	CHECK(!reply.lacks_script);
	CHECK_INT(next_op(&t, &reply), OP_SUBSCRIBE);
	CHECK_INT(next_op(&t, &reply), OP_NONE);
	CHECK_INT(t.conn.state, CONN_UP);
	CHECK_INT(t.conn.pending_count, 0);
	end_talk(&t);
}

TEST(the_delete_counts_if_the_release_is_unknown)
{
	static const struct {
		const char *text;
		enum vote vote;
	} table[] = {
		{"$1\r\nY\r\n", VOTE_YES},
		{"$1\r\nG\r\n", VOTE_GONE},
		{"$1\r\nF\r\n", VOTE_ABSENT},
		{":1\r\n", VOTE_ABSENT},
		{"*1\r\n:1\r\n", VOTE_ABSENT},
		{UNKNOWN, VOTE_ABSENT},
		{CHANGED "$1\r\nY\r\n", VOTE_YES},
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct talk t;
		struct reply reply;
		enum op op;

		begin_talk(&t);
		ask_and_release(&t);
		CHECK_INT(next_op(&t, &reply), OP_ACQUIRE);
		say(&t, UNKNOWN);
		CHECK_INT(next_op(&t, &reply), OP_NONE);
		say(&t, table[i].text);
		op = next_op(&t, &reply);
		if (op == OP_SUBSCRIBE)
			op = next_op(&t, &reply);
		CHECK_INT(op, OP_HAND_OFF);
		CHECK_INT(reply.vote, table[i].vote);
		CHECK(reply.lacks_script);
		CHECK_INT(t.conn.pending_count, 0);
		end_talk(&t);
	}
}

/* A reply about the second key. */
#define SECOND_KEY "$9\r\nF 0 0 k2\n\r\n"

/* The request has one key. */
static void check_key(enum op op, bool by_digest)
{
	static const struct key_list key = ONE_KEY("k");
	const struct lock_ref lock = {.keys = &key, .token = TOKEN_READERS};
	const struct guard_args guard = {0};
	struct request r;
	struct reply reply;
	struct talk t;

	begin_talk(&t);
	if (op == OP_ACQUIRE)
		request_script(&r, OP_ACQUIRE, &lock, &(struct request_args){.ttl = USEC_SEC});
	else if (op == OP_UNDO)
		request_script(&r, OP_UNDO, &lock, &(struct request_args){.guard = guard});
	else
		request_script(&r, OP_HAND_OFF, &lock, &(struct request_args){0});
	if (by_digest)
		request_by_digest(&r);
	conn_send(&t.conn, &r, 1, 0);
	say(&t, SECOND_KEY);
	CHECK_INT(next_op(&t, &reply), op);
	CHECK_INT(reply.vote, VOTE_ABSENT);
	CHECK_INT(reply.reason, REASON_GARBAGE);
	end_talk(&t);
}

TEST(a_reply_about_a_key_that_the_request_lacks_is_no_vote)
{
	for (int by_digest = 0; by_digest <= 1; by_digest++) {
		check_key(OP_ACQUIRE, by_digest);
		check_key(OP_UNDO, by_digest);
		check_key(OP_HAND_OFF, by_digest);
	}
}

static void ask(struct talk *t)
{
	static const struct key_list key = ONE_KEY("k");
	const struct lock_ref lock = {.keys = &key, .token = TOKEN_READERS};
	struct request r;
	char taken[16384];

	request_script(&r, OP_HAND_OFF, &lock, &(struct request_args){0});
	conn_send(&t->conn, &r, 1, 0);
	while (recv(t->peer, taken, sizeof(taken), MSG_DONTWAIT) > 0)
		;
}

/* Messages, with or without a request and its reply after each. */
static void flood(struct talk *t, int times, const char *between)
{
	struct reply reply;

	for (int i = 0; i < times && t->conn.state == CONN_UP; i++) {
		enum op op;

		say(t, CHANGED);
		op = next_op(t, &reply);
		CHECK_INT(op, t->conn.state == CONN_UP ? OP_SUBSCRIBE : OP_NONE);
		if (!between || t->conn.state != CONN_UP)
			continue;
		ask(t);
		say(t, between);
		CHECK_INT(next_op(t, &reply), OP_HAND_OFF);
	}
}

TEST(a_node_that_sends_messages_without_end_is_dropped)
{
	struct talk t;
	struct reply reply;

	begin_talk(&t);
	ask_and_release(&t);
	CHECK_INT(next_op(&t, &reply), OP_ACQUIRE);
	say(&t, RELEASED "$1\r\nY\r\n");
	CHECK_INT(next_op(&t, &reply), OP_HAND_OFF);
	/* Replies make up for messages. */
	flood(&t, 2500, RELEASED);
	CHECK_INT(t.conn.state, CONN_UP);
	flood(&t, 2500, NULL);
	CHECK_INT(t.conn.state, CONN_DOWN);
	CHECK_INT(t.conn.failure.reason, REASON_ENDLESS);
	end_talk(&t);
}
