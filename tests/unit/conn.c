#include "unit.h"

#include "base/clock.h"
#include "base/token.h"
#include "net/conn.h"
#include "proto/request.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

static void begin_talk_as(
	struct talk *t, const struct sockaddr *at, socklen_t len, const char *password)
{
	int listener = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(t, 0, sizeof(*t));
	t->node.kind = at->sa_family == AF_UNIX ? NODE_UNIX : NODE_TCP;
	snprintf(t->node.password, sizeof(t->node.password), "%s", password);
	CHECK(bind(listener, at, len) == 0);
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

static void begin_talk_at(struct talk *t, const struct sockaddr *at, socklen_t len)
{
	begin_talk_as(t, at, len, "");
}

static void begin_talk(struct talk *t)
{
	/* An abstract name, which the kernel chooses. */
	begin_talk_at(t, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t));
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

/* The server does not know the script: the reply says so, and the core decides. */
TEST(a_release_whose_script_is_unknown_is_no_vote)
{
	struct talk t;
	struct reply reply;

	begin_talk(&t);
	ask_and_release(&t);
	CHECK_INT(next_op(&t, &reply), OP_ACQUIRE);
	say(&t, UNKNOWN);
	CHECK_INT(next_op(&t, &reply), OP_HAND_OFF);
	CHECK(reply_is_absent(&reply, REASON_NO_SCRIPT));
	CHECK_INT(t.conn.pending_count, 0);
	end_talk(&t);
}

/* ---- AUTH ---- */

#define REFUSED "-WRONGPASS invalid username-password pair\r\n"

static void begin_talk_with_password(struct talk *t)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	begin_talk_as(t, (const struct sockaddr *)&at, sizeof(at), "p");
}

static void ask_early(struct talk *t)
{
	static const struct key_list key = ONE_KEY("k");
	struct request r;

	request_script(&r, OP_ACQUIRE, &(struct lock_ref){.keys = &key, .token = TOKEN_READERS},
		&(struct request_args){.ttl = USEC_SEC, .is_unsure = true});
	r.is_early = true;
	conn_send(&t->conn, &r, 1, 0);
}

/* The attempt was carried out as another user: the key is deleted, unless the server refuses that.
 */
TEST(a_key_that_is_not_deleted_behind_a_refused_auth_may_be_there)
{
	struct talk t;
	struct reply reply;

	for (int is_left = 0; is_left < 2; is_left++) {
		begin_talk_with_password(&t);
		ask_early(&t);
		say(&t, REFUSED RELEASED);
		CHECK_INT(next_op(&t, &reply), OP_NONE);
		say(&t, is_left ? "-BUSY Redis is busy running a script.\r\n" : "$-1\r\n");
		CHECK_INT(next_op(&t, &reply), OP_ACQUIRE);
		CHECK_INT(reply.reason, REASON_WRONG_PASSWORD);
		CHECK_INT(reply.changed_nothing, !is_left);
		CHECK(t.conn.failure.changed_nothing); /* AUTH alone, the next time */
		end_talk(&t);
	}
}

/* A connection that waited for the lookup, and would not take its answer, would be busy. */
TEST(a_request_behind_a_refused_auth_does_not_wait_for_a_lookup)
{
	struct talk t;
	struct reply reply;

	begin_talk_with_password(&t);
	snprintf(t.node.host, sizeof(t.node.host), "localhost");
	t.addresses.is_name = t.addresses.is_stale = true;
	t.addresses.timeout = 60 * USEC_SEC;
	ask_early(&t);
	CHECK(t.addresses.lookup != NULL);
	say(&t, REFUSED RELEASED);
	CHECK_INT(next_op(&t, &reply), OP_NONE); /* until the key is deleted */
	CHECK(t.conn.is_refused);
	CHECK_INT(conn_lookup(&t.conn), -1);
	end_talk(&t);
	t.addresses.address = NULL;
	addresses_free(&t.addresses); /* the lookup */
}

/* ---- the last request ---- */

/* Reads what has arrived. Returns how many requests are in it: whole scripts, or digests. */
static int read_requests(struct talk *t, const char *kind)
{
	char bytes[16384];
	ssize_t n = recv(t->peer, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
	int count = 0;

	bytes[n < 0 ? 0 : n] = '\0';
	for (const char *at = bytes; (at = strstr(at, kind)); at++)
		count++;
	return count;
}

#define WHOLE "$4\r\nEVAL\r\n"
#define DIGEST "$7\r\nEVALSHA\r\n"

static void release(struct talk *t, bool by_digest)
{
	static const struct key_list key = ONE_KEY("k");
	const struct lock_ref lock = {.keys = &key, .token = TOKEN_READERS};
	struct request r;

	request_script(&r, OP_HAND_OFF, &lock, &(struct request_args){0});
	if (by_digest)
		request_by_digest(&r);
	conn_send(&t->conn, &r, 1, 0);
}

TEST(a_release_by_digest_that_is_not_answered_is_followed_by_a_deletion)
{
	static const struct {
		const char *reply;
		bool is_read; /* before the connection is closed */
		int deletions;
	} table[] = {
		{"", false, 1},
		{"$6\r\nY 0", false, 1},
		{UNKNOWN, false, 1},
		{CHANGED UNKNOWN, false, 1},
		{RELEASED, false, 0},
		{CHANGED RELEASED, false, 0},
		/* The core has sent the release again. */
		{UNKNOWN, true, 0},
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct talk t;
		struct reply reply;

		begin_talk(&t);
		t.conn.has_resp3 = true;
		release(&t, true);
		if (table[i].reply[0])
			CHECK_INT(read_requests(&t, DIGEST), 1);
		CHECK(send(t.peer, table[i].reply, strlen(table[i].reply), MSG_NOSIGNAL) >= 0);
		if (table[i].is_read) {
			conn_handle(&t.conn, POLLIN);
			CHECK_INT(next_op(&t, &reply), OP_HAND_OFF);
		}
		conn_close(&t.conn);
		CHECK_INT(read_requests(&t, WHOLE), table[i].deletions);
		close(t.peer);
	}
}

TEST(a_deletion_behind_two_requests_is_in_vain_over_tls)
{
	struct talk t;

	begin_talk(&t);
	CHECK(!conn_deletes_in_vain(&t.conn));
	release(&t, false);
	CHECK(!conn_deletes_in_vain(&t.conn));
	t.conn.tls = (struct tls *)&t;
	CHECK(conn_deletes_in_vain(&t.conn));
	t.conn.pending_count = 0;
	CHECK(!conn_deletes_in_vain(&t.conn));
	t.conn.tls = NULL;
	conn_close(&t.conn);
	close(t.peer);
}

TEST(a_release_that_was_sent_whole_needs_no_deletion)
{
	struct talk t;

	begin_talk(&t);
	release(&t, false);
	conn_close(&t.conn);
	CHECK_INT(read_requests(&t, WHOLE), 1);
	close(t.peer);
}

/* The server has read the release alone, and is slow to answer: if it could not write its reply, it
 * would drop the deletion. */
TEST(a_connection_is_not_closed_before_a_busy_server_has_answered)
{
	struct talk t;
	int status;
	pid_t pid;

	begin_talk(&t);
	release(&t, true);
	CHECK_INT(read_requests(&t, DIGEST), 1);
	pid = fork();
	if (pid == 0) {
		struct pollfd more = {.fd = t.peer, .events = POLLIN},
			      end = {.fd = t.peer, .events = POLLRDHUP};

		close(t.conn.fd);
		if (poll(&more, 1, 10000) != 1 || poll(&end, 1, 100) != 0 ||
			send(t.peer, UNKNOWN, strlen(UNKNOWN), MSG_NOSIGNAL) < 0 ||
			poll(&end, 1, 10000) != 1)
			_exit(1);
		_exit(read_requests(&t, WHOLE) == 1 ? 0 : 2);
	}
	close(t.peer);
	conn_close(&t.conn);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(WEXITSTATUS(status), 0);
}

/* A slow network, or a server that is late to read: the socket has room for a part of the release.
 */
TEST(a_connection_is_not_closed_before_a_full_socket_has_taken_the_release)
{
	struct talk t;
	int little = 1, status;
	size_t whole;
	pid_t pid;

	begin_talk(&t);
	CHECK(setsockopt(t.conn.fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)) == 0);
	release(&t, false);
	CHECK(t.conn.blocked);
	whole = t.conn.out_len;
	pid = fork();
	if (pid == 0) {
		struct pollfd end = {.fd = t.peer, .events = POLLRDHUP};
		char bytes[1024];
		size_t len = 0;
		ssize_t n;

		close(t.conn.fd);
		if (poll(&end, 1, 100) != 0)
			_exit(2);
		while ((n = recv(t.peer, bytes, sizeof(bytes), 0)) > 0)
			len += (size_t)n;
		_exit(len == whole ? 0 : 1);
	}
	close(t.peer);
	conn_close(&t.conn);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(WEXITSTATUS(status), 0);
}

/* A server that is stopped reads the release and the deletion at once. */
TEST(a_connection_to_a_stopped_server_is_closed_at_once)
{
	struct talk t;
	usec began = clock_now();

	begin_talk(&t);
	release(&t, true);
	conn_close(&t.conn);
	CHECK(clock_now() - began < USEC_SEC / 2);
	close(t.peer);
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

/* The supervisor gets copies of all sockets at the fork. */
TEST(a_connection_that_is_dropped_is_reset_though_another_process_has_the_socket)
{
	const struct sockaddr_in loopback = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct talk t;
	char byte;
	int copy;

	begin_talk_at(&t, (const struct sockaddr *)&loopback, sizeof(loopback));
	copy = dup(t.conn.fd);
	CHECK(copy >= 0);
	conn_abort(&t.conn);
	CHECK_INT(poll(&(struct pollfd){.fd = t.peer, .events = POLLIN}, 1, 20000), 1);
	CHECK(recv(t.peer, &byte, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET);
	close(copy);
	close(t.peer);
}

TEST(a_node_that_sends_messages_without_end_is_dropped)
{
	struct talk t;
	struct reply reply;

	begin_talk(&t);
	ask_and_release(&t);
	CHECK_INT(next_op(&t, &reply), OP_ACQUIRE);
	say(&t, RELEASED);
	CHECK_INT(next_op(&t, &reply), OP_HAND_OFF);
	/* Replies make up for messages. */
	flood(&t, 2500, RELEASED);
	CHECK_INT(t.conn.state, CONN_UP);
	flood(&t, 2500, NULL);
	CHECK_INT(t.conn.state, CONN_DOWN);
	CHECK_INT(t.conn.failure.reason, REASON_ENDLESS);
	end_talk(&t);
}
