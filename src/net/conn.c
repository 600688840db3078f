#include "net/conn.h"

#include "base/alarm.h"
#include "base/frame.h"
#include "base/text.h"
#include "file/file.h"
#include "net/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The largest reply that is read, whatever its header announces. Replies to redlock have about 400
 * bytes. */
#define REPLY_BYTES_MAX ((size_t)64 * 1024)

/* The most bytes of messages that a node may send, of which each reply makes up for some. A waiter
 * gets a few messages of 100 bytes for each of its requests. */
#define MESSAGES_MAX ((size_t)64 * 1024)
#define MESSAGES_PER_REPLY 1024

/* A read that returns nothing counts as these bytes: TLS has messages of its own. */
#define FRUITLESS_READ 100

/* The number of bytes that are shown of an unreadable reply, plus one. */
#define LINE_SHOWN 41

/* The first byte of the TLS alert with which a TLS port answers other protocols. */
#define TLS_ALERT 0x15

/* Seconds: until the first probe of a silent connection, and between further probes without a
 * reply; and the number of such probes. */
#define KEEPALIVE_IDLE 30
#define KEEPALIVE_APART 10
#define KEEPALIVE_COUNT 3

/* Redis reads this many bytes of a connection at once (PROTO_IOBUF_LEN). */
#define SERVER_READ_BYTES ((size_t)16 * 1024)

/* The most keys of an early request: it has ten words. */
#define EARLY_KEYS_MAX 4

/* The time that a busy server, or a socket without room, may take for the last request. */
#define LAST_REQUEST_TIME USEC_SEC

#define STRING(x) #x
#define STRING_OF(x) STRING(x)

const char *conn_hiredis_version(void)
{
	return STRING_OF(HIREDIS_MAJOR) "." STRING_OF(HIREDIS_MINOR) "." STRING_OF(HIREDIS_PATCH);
}

/* ---- the reader: replies into struct resp, without allocating ---- */

static void begin(struct resp *resp)
{
	resp->is_array = resp->count = 0;
	if (resp->is_whole)
		resp->page_len = 0;
}

/* hiredis reports every rejection as lack of memory, so note that it was none. */
static void *reject_kind(struct conn *c)
{
	c->is_unexpected_kind = true;
	return NULL;
}

static struct resp_item *next_item(const redisReadTask *task)
{
	struct conn *c = task->privdata;
	struct resp *resp = &c->resp;
	bool nested = task->parent != NULL;

	if (!nested)
		begin(resp);
	/* Replies to redlock never have more items. */
	if (resp->count >= RESP_ARRAY_MAX)
		return NULL;
	resp->count++;
	return &resp->item[resp_last(resp)];
}

/* Cuts text that does not fit. */
static void append_page(struct resp *resp, const char *text, size_t len)
{
	size_t room = PAGE_MAX - resp->page_len;

	if (len > room)
		len = room;
	memcpy(resp->page + resp->page_len, text, len);
	resp->page_len += len;
}

/* Keeps PAGE_ENTRIES of an array as the page; if `is_whole`, all items. */
static void keep_page(struct resp *resp, const char *text, size_t len)
{
	if (resp->page && resp->is_whole) {
		append_page(resp, text, len);
		if (resp->is_array)
			append_page(resp, "\n", 1);
		return;
	}
	if (!resp->page || !resp->is_array || resp->count != PAGE_ENTRIES)
		return;
	resp->page_len = len <= PAGE_MAX ? len : 0;
	memcpy(resp->page, text, resp->page_len);
}

static void *on_string(const redisReadTask *task, char *text, size_t len)
{
	struct conn *c = task->privdata;
	struct resp_item *item;

	if (task->type != REDIS_REPLY_ERROR && task->type != REDIS_REPLY_STATUS &&
		task->type != REDIS_REPLY_STRING)
		return reject_kind(c);
	item = next_item(task);
	if (!item)
		return NULL;
	item->type = task->type == REDIS_REPLY_ERROR    ? RESP_ERROR
		     : task->type == REDIS_REPLY_STATUS ? RESP_STATUS
							: RESP_STRING;
	keep_page(&c->resp, text, len);
	item->len = len < sizeof(item->text) ? len : sizeof(item->text) - 1;
	memcpy(item->text, text, item->len);
	item->text[item->len] = '\0';
	return task->privdata;
}

/* Accepts one level of arrays. RESP3's maps and sets, which no script replies, are no arrays. */
static void *start_array(const redisReadTask *task, bool fits)
{
	struct conn *c = task->privdata;

	if (task->parent || task->type != REDIS_REPLY_ARRAY)
		return reject_kind(c);
	if (!fits)
		return NULL;
	begin(&c->resp);
	c->resp.is_array = 1;
	return c;
}

#if HIREDIS_MAJOR >= 1
static void *on_array(const redisReadTask *task, size_t elements)
{
	return start_array(task, elements <= RESP_ARRAY_MAX);
}

/* RESP3, too. */
static void *on_double(const redisReadTask *task, double value, char *text, size_t len)
{
	(void)value, (void)text, (void)len;
	return reject_kind(task->privdata);
}

static void *on_bool(const redisReadTask *task, int value)
{
	(void)value;
	return reject_kind(task->privdata);
}
#else
static void *on_array(const redisReadTask *task, int elements)
{
	return start_array(task, elements >= 0 && elements <= RESP_ARRAY_MAX);
}
#endif

static void *on_integer(const redisReadTask *task, long long value)
{
	struct resp_item *item = next_item(task);

	if (!item)
		return NULL;
	item->type = RESP_INTEGER;
	item->integer = value;
	return task->privdata;
}

static void *on_nil(const redisReadTask *task)
{
	struct resp_item *item = next_item(task);

	if (!item)
		return NULL;
	item->type = RESP_NIL;
	return task->privdata;
}

static void on_free(void *object)
{
	(void)object; /* the items are part of the connection */
}

static redisReplyObjectFunctions reader_functions = {
	.createString = on_string,
	.createArray = on_array,
	.createInteger = on_integer,
	.createNil = on_nil,
#if HIREDIS_MAJOR >= 1
	.createDouble = on_double,
	.createBool = on_bool,
#endif
	.freeObject = on_free,
};

/* ---- connecting ---- */

void conn_init(struct conn *c, const struct node *node, struct addresses *addresses)
{
	/* Not the whole struct: its pages are touched when they are needed. */
	c->node = node;
	c->addresses = addresses;
	c->state = CONN_DOWN;
	c->next_address = 0;
	c->next_at = NEVER;
	c->fd = -1;
	c->is_resolving = false;
	c->answers = 0;
	c->tls = NULL;
	c->trusted_until = 0;
	c->out = NULL;
	c->out_len = c->out_sent = 0;
	c->blocked = false;
	c->reader = NULL;
	c->has_resp3 = c->is_within_reply = c->is_refused = false;
	c->pending_count = c->logins = 0;
	c->pending = NULL;
	c->held_from = SIZE_MAX;
	c->deletion = NULL;
	c->is_beside = false;
	c->resp.page = NULL;
	c->resp.is_whole = false;
}

static void drop(struct conn *c)
{
	tls_free(c->tls);
	c->tls = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->is_resolving = false;
	c->state = CONN_DOWN;
	if (c->reader)
		redisReaderFree(c->reader);
	c->reader = NULL;
	free(c->out);
	c->out = NULL;
	c->out_len = c->out_sent = 0;
	c->blocked = false;
	c->has_resp3 = c->is_within_reply = c->is_refused = false;
	c->pending_count = c->logins = 0;
	free(c->pending);
	c->pending = NULL;
	c->held_from = SIZE_MAX;
	free(c->deletion);
	c->deletion = NULL;
}

/* A refused login is the reason for all that follows. */
static void fail_with(struct conn *c, const struct reply *why)
{
	struct reply failure = c->is_refused ? c->failure : *why;

	drop(c);
	c->failure = failure;
}

static void fail(struct conn *c, enum reason reason, const char *detail)
{
	struct reply why = reply_absent(reason, detail);

	fail_with(c, &why);
}

/* The reason is in errno, as the socket or TLS has set it. */
static void fail_by_errno(struct conn *c)
{
	int error = errno;
	struct reply failure;

	if (c->tls && error == EPROTO) {
		failure = tls_failure(c->tls);
		fail_with(c, &failure);
	} else {
		fail(c, REASON_CLOSED, strerror(error));
	}
}

static bool append_bytes(struct conn *c, const char *bytes, size_t len)
{
	char *grown = realloc(c->out, c->out_len + len);

	if (grown) {
		memcpy(grown + c->out_len, bytes, len);
		c->out = grown;
		c->out_len += len;
	}
	return grown != NULL;
}

/* false: no memory. */
static bool add_pending(struct conn *c, struct pending request)
{
	struct pending *grown =
		realloc(c->pending, (size_t)(c->pending_count + 1) * sizeof(*grown));

	if (grown) {
		c->pending = grown;
		c->pending[c->pending_count++] = request;
	}
	return grown != NULL;
}

/* ---- commands: an array of strings, "*1\r\n$4\r\nPING\r\n" (the RESP of Redis) ---- */

/* As many bytes as a command has, or more. */
static size_t size_of(int argc, const size_t lens[])
{
	size_t size = TEXT_DECIMAL_MAX + 3;

	for (int i = 0; i < argc; i++)
		size += TEXT_DECIMAL_MAX + 5 + lens[i];
	return size;
}

static char *write_count(char *to, char type, size_t n)
{
	*to++ = type;
	to += text_decimal(to, (int64_t)n);
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

/* Returns the end. */
static char *write_command(char *to, int argc, const char *const argv[], const size_t lens[])
{
	to = write_count(to, '*', (size_t)argc);
	for (int i = 0; i < argc; i++) {
		to = write_count(to, '$', lens[i]);
		memcpy(to, argv[i], lens[i]);
		to += lens[i];
		*to++ = '\r';
		*to++ = '\n';
	}
	return to;
}

/* Appends a request to the output buffer; false: no memory. */
static bool append(struct conn *c, const struct request *r)
{
	char *grown = realloc(c->out, c->out_len + size_of(r->argc, r->len));

	if (grown) {
		c->out = grown;
		c->out_len = (size_t)(write_command(grown + c->out_len, r->argc, r->argv, r->len) -
				      grown);
	}
	return grown != NULL;
}

static bool append_login_command(
	struct conn *c, enum login login, const char *word, const char *a, const char *b)
{
	struct request r;

	request_command(&r, (const char *const[]){word, a, b, NULL});
	if (!append(c, &r) || !add_pending(c, (struct pending){.login = login}))
		return false;
	c->logins++;
	return true;
}

/* The file may have a new password by now. If the file cannot be read, the password in memory was
 * once correct. */
static const char *current_password(const struct node *node, char read[NODE_SECRET_MAX])
{
	struct stat ignored;

	if (node->password_file &&
		file_read_line(node->password_file, FILE_REGULAR, NULL, read, NODE_SECRET_MAX,
			&ignored) == 0 &&
		read[0])
		return read;
	return node->password;
}

/* Messages can share a connection with replies only in RESP3. One push follows for each channel,
 * and before them HELLO's reply, once on a connection. */
SELDOM static bool append_hello(struct conn *c, int *replies)
{
	struct request hello;

	if (c->has_resp3)
		return true;
	c->has_resp3 = true;
	++*replies;
	request_command(&hello, (const char *const[]){"HELLO", "3", NULL});
	return append(c, &hello);
}

/* The server remembers the keys that the next command reads, and sends one message when one of them
 * changes (client-side caching, Redis 6). */
SELDOM static bool append_watch(struct conn *c, int *extra)
{
	struct request tracking, caching;

	if (!append_hello(c, extra))
		return false;
	*extra += 2;
	request_command(&tracking,
		(const char *const[]){"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP", NULL});
	request_command(&caching, (const char *const[]){"CLIENT", "CACHING", "YES", NULL});
	return append(c, &tracking) && append(c, &caching);
}

static bool peer_address(const struct conn *c, struct sockaddr_storage *address)
{
	socklen_t len = sizeof(*address);

	return getpeername(c->fd, (struct sockaddr *)address, &len) == 0;
}

static bool may_be_replica(const struct conn *c)
{
	return c->addresses->is_name && (c->is_beside || addresses_are_several(c->addresses));
}

static bool append_login(struct conn *c)
{
	const struct node *node = c->node;
	char read[NODE_SECRET_MAX], db[16];
	const char *password = current_password(node, read);
	bool ok = true;

	if (node->user[0])
		ok = append_login_command(c, LOGIN_AUTH, "AUTH", node->user, password);
	else if (password[0])
		ok = append_login_command(c, LOGIN_AUTH, "AUTH", password, NULL);
	if (ok && node->db) {
		snprintf(db, sizeof(db), "%d", node->db);
		ok = append_login_command(c, LOGIN_SELECT, "SELECT", db, NULL);
	}
	if (ok && may_be_replica(c))
		ok = append_login_command(c, LOGIN_ROLE, "INFO", "replication", NULL);
	if (ok && c->is_beside)
		ok = append_login_command(c, LOGIN_ID, "INFO", "server", NULL);
	explicit_bzero(read, sizeof(read));
	return ok;
}

static void flush(struct conn *c);

/* This address is good: try it first the next time. */
static void go_up(struct conn *c)
{
	c->state = CONN_UP;
	c->next_address--;
}

/* The connection can carry commands. AUTH and SELECT come first; requests wait for INFO only. */
static void established(struct conn *c)
{
	c->answers = c->addresses->answers;
	c->reader = redisReaderCreateWithFunctions(&reader_functions);
	if (!c->reader) {
		fail(c, REASON_CONNECT, strerror(ENOMEM));
		return;
	}
	((redisReader *)c->reader)->privdata = c;
	c->is_unexpected_kind = c->has_received = false;
	c->messages = 0;
	if (!append_login(c)) {
		fail(c, REASON_CONNECT, strerror(ENOMEM));
		return;
	}
	c->state = CONN_LOGIN;
	if (!may_be_replica(c))
		go_up(c);
	flush(c);
}

static void handshake(struct conn *c)
{
	int rc = tls_handshake(c->tls);

	if (rc > 0) {
		c->trusted_until = tls_valid_until(c->tls);
		established(c);
	} else if (rc == 0) {
		fail(c, REASON_CLOSED, "instead of a TLS handshake");
	} else if (errno != EAGAIN) {
		fail_by_errno(c);
	}
}

static void connected(struct conn *c)
{
	if (!c->node->is_tls) {
		established(c);
		return;
	}
	c->state = CONN_HANDSHAKE;
	c->tls = tls_open(c->fd, c->node);
	if (c->tls)
		handshake(c);
	else
		fail(c, REASON_CONNECT, strerror(ENOMEM));
}

/* A connection may be silent for hours between two extensions. Probes keep firewalls and address
 * translators from forgetting it, which they do after some minutes. */
static void set_up(int fd)
{
	int one = 1, idle = KEEPALIVE_IDLE, apart = KEEPALIVE_APART, count = KEEPALIVE_COUNT;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &apart, sizeof(apart));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* An address that does not answer gets half of the remaining time: a node that needs longer to
 * connect would not reply in time either. The last address gets all of it. */
static usec address_deadline(const struct conn *c)
{
	usec now = clock_now(), end = c->opened_at + c->addresses->timeout;

	return c->addresses_left > 0 && now < end ? now + (end - now) / 2 : NEVER;
}

/* Tries the addresses from next_address on, until one accepts or does not answer at once. */
static void connect_next(struct conn *c)
{
	char reason[ERR_REASON_MAX];
	int error = EADDRNOTAVAIL;

	while (c->addresses_left > 0) {
		int i = c->next_address % c->addresses->count;
		const struct address *to = &c->addresses->address[i];

		c->addresses_left--;
		c->next_address = i + 1;
		c->fd = socket(to->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (c->fd < 0) {
			error = errno;
			continue;
		}
		if (to->at.ss_family != AF_UNIX)
			set_up(c->fd);
		if (connect(c->fd, (const struct sockaddr *)&to->at, to->len) == 0) {
			connected(c);
			return;
		}
		if (errno == EINPROGRESS) {
			c->state = CONN_OPENING;
			c->next_at = address_deadline(c);
			return;
		}
		error = errno;
		close(c->fd);
		c->fd = -1;
	}
	fail(c, REASON_CONNECT, err_reason(reason, error));
	c->failure.is_permanent = c->node->kind == NODE_UNIX && error == EACCES;
}

static void connect_to_all(struct conn *c)
{
	c->addresses_left = c->addresses->count;
	if (c->addresses->count == 0) {
		fail(c, REASON_UNRESOLVED, c->addresses->why);
		c->failure.is_permanent = c->addresses->is_unknown;
	} else {
		connect_next(c);
	}
}

void conn_open(struct conn *c)
{
	drop(c);
	c->opened_at = clock_now();
	addresses_renew(c->addresses, c->node);
	c->is_resolving = clock_now() < addresses_due(c->addresses);
	if (c->is_resolving)
		c->state = CONN_OPENING;
	else
		connect_to_all(c);
}

void conn_open_beside(struct conn *c, int address)
{
	drop(c);
	c->opened_at = clock_now();
	c->next_address = address;
	c->addresses_left = 1;
	connect_next(c);
}

static void finish_resolving(struct conn *c)
{
	addresses_take(c->addresses);
	if (clock_now() < addresses_due(c->addresses))
		return;
	c->is_resolving = false;
	connect_to_all(c);
}

static void try_next_address(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	connect_next(c);
}

static void finish_connect(struct conn *c)
{
	char reason[ERR_REASON_MAX];
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0) {
		connected(c);
	} else if (c->addresses_left > 0) {
		try_next_address(c);
	} else {
		fail(c, REASON_CONNECT, err_reason(reason, error));
	}
}

/* The server at this address is no master. The name may lead to another one by now. */
static void leave_replica(struct conn *c, const struct reply *why)
{
	bool was_talking = c->state == CONN_UP;

	c->addresses->is_stale |= !c->is_beside;
	drop(c);
	c->failure = *why;
	c->next_address += was_talking;
	if (!was_talking && c->addresses_left > 0)
		connect_next(c);
}

/* ---- requests and replies ---- */

static void flush(struct conn *c)
{
	size_t end = c->out_len < c->held_from ? c->out_len : c->held_from;

	while (c->out_sent < end) {
		const char *rest = c->out + c->out_sent;
		size_t len = end - c->out_sent;
		ssize_t n = c->tls ? tls_send(c->tls, rest, len)
				   : send(c->fd, rest, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		c->blocked = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
		if (c->blocked)
			return;
		if (n < 0) {
			/* The server may have sent a reason before it closed; the reader will find
			 * it. */
			if (errno == EPIPE || errno == ECONNRESET)
				return;
			fail_by_errno(c);
			return;
		}
		c->out_sent += (size_t)n;
	}
	if (c->out_sent == c->out_len)
		c->out_len = c->out_sent = 0;
}

static bool is_local(const struct conn *c)
{
	return c->node->kind == NODE_UNIX;
}

/* Returns how much memory the kernel counts for the bytes that were sent on a unix socket and not
 * read yet. */
static int unread(int fd)
{
	int bytes = 0;

	return ioctl(fd, TIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

/* The same for these bytes alone: it is more than their number, and depends on the kernel. */
static int counted(const char *bytes, size_t len)
{
	int count = 0, fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) < 0)
		return INT_MAX;
	if (send(fd[0], bytes, len, MSG_NOSIGNAL) == (ssize_t)len)
		count = unread(fd[0]);
	close(fd[0]);
	close(fd[1]);
	return count > 0 ? count : INT_MAX;
}

static size_t pending_bytes(const struct conn *c)
{
	size_t bytes = 0;

	for (int i = 0; i < c->pending_count; i++)
		bytes += c->pending[i].len;
	return bytes;
}

/* Does the server read the earlier requests without the end of the `sent` bytes that have just been
 * sent? It reads all at once if none was read and they are short enough. `before` is unread()
 * before the send. The server may have read the earlier requests during the send: then only the new
 * bytes are unread. If that cannot be found out, they count as read. */
static bool is_half_read(const struct conn *c, int before, size_t sent)
{
	return before == 0 || c->blocked || pending_bytes(c) > SERVER_READ_BYTES ||
	       unread(c->fd) - before < counted(c->out, sent);
}

/* Sends what is queued. If the connection breaks, no request is pending afterwards. */
static void send_queued(struct conn *c)
{
	bool is_at_work = c->pending_count > 1 && c->logins == 0 && is_local(c);
	int before = is_at_work ? unread(c->fd) : 0;
	size_t queued = c->out_sent > 0 ? 0 : c->out_len;

	flush(c);
	if (c->pending_count > 0)
		c->pending[c->pending_count - 1].is_read_later =
			is_at_work && is_half_read(c, before, queued);
}

bool conn_may_vote(enum op op)
{
	return op == OP_ACQUIRE || op == OP_EXTEND || op == OP_REPAIR || op == OP_FENCE ||
	       op == OP_JOIN || op == OP_LOOK;
}

bool conn_takes_early(const struct conn *c, int keys, bool *is_unsure)
{
	*is_unsure = c->logins > 0 && c->pending[0].login == LOGIN_AUTH;
	return c->logins > 0 && c->held_from == SIZE_MAX && keys <= EARLY_KEYS_MAX;
}

bool conn_deletes_in_vain(const struct conn *c)
{
	return c->tls && c->pending_count > 0;
}

/* The bytes of OP_DELETE for that request. Not a whole request, which would be a large frame. */
OWN_FRAME static bool prepare_deletion(struct conn *c, const struct request *r)
{
	const char *argv[REQUEST_WORDS_MAX];
	size_t lens[REQUEST_WORDS_MAX];
	int argc = request_delete_words(argv, lens, r);

	free(c->deletion);
	c->deletion = malloc(size_of(argc, lens));
	if (c->deletion)
		c->deletion_len =
			(size_t)(write_command(c->deletion, argc, argv, lens) - c->deletion);
	return c->deletion != NULL;
}

void conn_send(struct conn *c, const struct request *r, uint32_t round, usec now)
{
	int extra = 0, pushes = r->op == OP_SUBSCRIBE ? SUBSCRIBE_CHANNELS : 0;
	bool is_early = r->is_early && c->logins > 0;
	bool may_be_unknown = r->by_digest && op_releases(r->op);
	size_t queued = c->out_len;

	if (conn_may_vote(r->op))
		addresses_renew(c->addresses, c->node);
	if ((r->op == OP_SUBSCRIBE && !append_hello(c, &pushes)) ||
		(r->watches && !append_watch(c, &extra)) || !append(c, r) ||
		((is_early || may_be_unknown) && !prepare_deletion(c, r)) ||
		!add_pending(c, (struct pending){.op = r->op,
					.keys = r->keys,
					.pushes = pushes,
					.extra = extra,
					.is_watched = r->watches,
					.may_be_unknown = may_be_unknown,
					.is_early = is_early,
					.len = c->out_len - queued,
					.round = round,
					.sent_at = now})) {
		fail(c, REASON_CLOSED, strerror(ENOMEM));
		return;
	}
	/* Before AUTH and SELECT are answered, only an early request is sent. */
	if (c->logins > 0 && !is_early && queued < c->held_from)
		c->held_from = queued;
	if (!r->is_followed)
		send_queued(c);
}

short conn_wants(const struct conn *c)
{
	switch (c->state) {
	case CONN_DOWN:
		return 0;
	case CONN_OPENING:
		return c->is_resolving ? 0 : POLLOUT;
	case CONN_HANDSHAKE:
		return tls_wants(c->tls);
	case CONN_LOGIN:
	case CONN_UP:
		return c->blocked ? POLLIN | POLLOUT : POLLIN;
	}
	return 0;
}

/* Does the oldest request wait for the answer to a lookup? Not if AUTH or SELECT has failed: that
 * is its answer. */
static bool awaits_name(const struct conn *c)
{
	return c->state == CONN_UP && c->pending_count > 0 && c->logins == 0 && !c->is_refused &&
	       conn_may_vote(c->pending[0].op) && clock_now() < addresses_due(c->addresses);
}

usec conn_due(const struct conn *c)
{
	if (c->is_resolving || awaits_name(c))
		return addresses_due(c->addresses);
	return c->state == CONN_OPENING ? c->next_at : NEVER;
}

int conn_lookup(const struct conn *c)
{
	return c->is_resolving || awaits_name(c) ? addresses_wait(c->addresses) : -1;
}

enum reason conn_late_reason(const struct conn *c)
{
	return c->state == CONN_HANDSHAKE                      ? REASON_TLS_TIMEOUT
	       : c->state == CONN_LOGIN || c->state == CONN_UP ? REASON_TIMEOUT
							       : REASON_CONNECT_TIMEOUT;
}

/* The node has closed the connection instead of a reply; how: the system's message, or NULL. */
static void closed_by_node(struct conn *c, const char *how)
{
	if (!c->has_received && !c->node->is_tls && c->node->kind == NODE_TCP)
		how = "without a reply, as a TLS port does; TLS needs rediss://";
	else if (c->logins > 0)
		how = c->pending[0].login == LOGIN_AUTH     ? "instead of a reply to AUTH"
		      : c->pending[0].login == LOGIN_SELECT ? "instead of a reply to SELECT"
							    : "instead of a reply to INFO";
	fail(c, REASON_CLOSED, how);
}

static void count_message(struct conn *c, size_t bytes)
{
	c->messages += bytes;
	if (c->messages > MESSAGES_MAX)
		fail(c, REASON_ENDLESS, NULL);
}

/* `n`, as recv(2) returns it. */
static void take_bytes(struct conn *c, const char *buf, ssize_t n)
{
	c->has_received |= n > 0;
	if (n == 0)
		closed_by_node(c, NULL);
	else if (n < 0 && errno == ECONNRESET)
		closed_by_node(c, strerror(errno));
	else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		fail_by_errno(c);
	else if (n < 0)
		count_message(c, FRUITLESS_READ);
	else if (redisReaderFeed(c->reader, buf, (size_t)n) != REDIS_OK)
		fail(c, REASON_GARBAGE, NULL);
}

/* A whole record of TLS: poll(2) does not tell of bytes that remain in OpenSSL. */
OWN_FRAME static void receive_by_tls(struct conn *c)
{
	char buf[16 * 1024];
	ssize_t n;

	do
		n = tls_receive(c->tls, buf, sizeof(buf));
	while (n < 0 && errno == EINTR);
	take_bytes(c, buf, n);
}

/* Most replies have less than 100 bytes, and each page of a buffer costs a page fault. */
OWN_FRAME static void receive_plain(struct conn *c)
{
	char buf[2 * 1024];
	ssize_t n;

	do
		n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	take_bytes(c, buf, n);
}

static void receive(struct conn *c)
{
	if (c->tls)
		receive_by_tls(c);
	else
		receive_plain(c);
}

static void drop_oldest_pending(struct conn *c)
{
	c->pending_count--;
	memmove(c->pending, c->pending + 1, (size_t)c->pending_count * sizeof(c->pending[0]));
}

/* A server that rejects a client ("max number of clients") may send an error and close. The error
 * answers no request, but it is the reason. */
static bool is_error_reply(const struct resp *resp)
{
	return !resp->is_array && resp->item[0].type == RESP_ERROR;
}

/* Copies the line at which the reader is, or its beginning. */
static void peek(const redisReader *reader, char line[LINE_SHOWN])
{
	size_t len = reader->len - reader->pos, n = 0;

	for (; n < len && n < LINE_SHOWN - 1 && !strchr("\r\n", reader->buf[reader->pos + n]); n++)
		line[n] = reader->buf[reader->pos + n];
	line[n] = '\0';
}

/* The reader cannot read the reply that begins with that line. */
static void fail_unreadable(struct conn *c, const char *line)
{
	const redisReader *reader = c->reader;
	char why[sizeof(reader->errstr)];

	if (reader->err == REDIS_ERR_OOM && !c->is_unexpected_kind) {
		fail(c, REASON_TOO_LONG, NULL);
		return;
	}
	if (line[0] == TLS_ALERT && !c->is_within_reply) {
		fail(c, REASON_SPEAKS_TLS, NULL);
		return;
	}
	/* HTTP, SSH: the first line shows the protocol. */
	snprintf(why, sizeof(why), "%s",
		c->is_unexpected_kind                 ? "a reply of an unexpected type"
		: line[0] && strchr("+-:$*", line[0]) ? reader->errstr
						      : line);
	fail(c, REASON_GARBAGE, why);
}

/* Reads c->resp as the reply to that request. A reply about a key that the request lacks is none.
 */
static struct reply read_answer(const struct conn *c, const struct pending *request)
{
	struct reply reply = reply_read(request->op, &c->resp);

	return reply.key < request->keys ? reply : reply_absent(REASON_GARBAGE, NULL);
}

static bool may_be_push(const struct conn *c)
{
	return c->has_resp3 && !c->is_within_reply;
}

/* Takes a push that has arrived, before hiredis sees it: hiredis 0.14 knows no RESP3. It discards
 * bytes before `pos` when it looks for the next reply. A broken push takes the connection down. */
static enum push_kind take_push(struct conn *c)
{
	redisReader *reader = c->reader;
	enum push_kind kind;

	if (!may_be_push(c))
		return PUSH_NONE;
	kind = push_read(reader->buf + reader->pos, reader->len - reader->pos, &c->push);
	if (kind == PUSH_BROKEN) {
		fail(c, REASON_GARBAGE, "a push that is too long, or not RESP3");
	} else if (kind > PUSH_BROKEN) {
		reader->pos += c->push.len;
		count_message(c, c->push.len);
	}
	return c->state == CONN_UP ? kind : PUSH_BROKEN;
}

/* Reads a complete reply that has arrived into c->resp. */
static bool take_reply(struct conn *c)
{
	redisReader *reader = c->reader;
	bool has_bytes = reader->pos < reader->len;
	char line[LINE_SHOWN];
	void *object = NULL;

	peek(reader, line);
	if (redisReaderGetReply(reader, &object) != REDIS_OK)
		fail_unreadable(c, line);
	else if (!object && reader->len > REPLY_BYTES_MAX)
		fail(c, REASON_TOO_LONG, NULL);
	else
		c->is_within_reply = !object && (c->is_within_reply || has_bytes);
	if (object)
		c->messages -= c->messages < MESSAGES_PER_REPLY ? c->messages : MESSAGES_PER_REPLY;
	return object != NULL;
}

static void drop_login(struct conn *c)
{
	drop_oldest_pending(c);
	c->logins--;
}

/* Without AUTH or SELECT, a script would run as another user, or in another database. Requests that
 * were sent, or wait, get this answer (refuse_next()). */
static void take_login_error(struct conn *c)
{
	struct reply said = is_error_reply(&c->resp) ? reply_read(OP_UNDO, &c->resp)
						     : reply_absent(REASON_GARBAGE, NULL);
	char read[NODE_SECRET_MAX];

	if (c->pending[0].login == LOGIN_AUTH) {
		reply_hide(&said, current_password(c->node, read));
		reply_hide(&said, node_user_is_secret(c->node) ? c->node->user : "");
	}
	explicit_bzero(read, sizeof(read));
	said.changed_nothing = true;
	drop_login(c);
	c->is_refused = c->pending_count > c->logins;
	if (!c->is_refused)
		drop(c);
	c->failure = said;
}

/* The server is a master, or a user without the right to INFO may have met one, and asks it.
 * Another error is that of the server: it has too many clients, for example. */
static bool may_be_master(const struct resp *resp)
{
	struct reply said;

	if (!is_error_reply(resp))
		return !resp->is_array && resp->item[0].type == RESP_STRING;
	said = reply_read(OP_UNDO, resp);
	return said.reason == REASON_NOPERM || said.reason == REASON_SERVER;
}

static bool is_replica(const struct resp *resp)
{
	return !resp->is_array && resp->item[0].type == RESP_STRING &&
	       strstr(resp->item[0].text, "role:slave");
}

static bool is_talking(const struct conn *c)
{
	return c->state == CONN_LOGIN || c->state == CONN_UP;
}

/* When AUTH, SELECT and INFO have been answered, requests may follow. */
static void take_login_reply(struct conn *c)
{
	const struct reply replica = reply_absent(REASON_READONLY, NULL);

	while (is_talking(c) && c->logins > 0 && !c->is_refused && take_reply(c)) {
		bool is_role = c->pending[0].login >= LOGIN_ROLE;

		if (is_role && is_replica(&c->resp)) {
			leave_replica(c, &replica);
			return;
		}
		if (!(is_role && may_be_master(&c->resp)) &&
			(c->resp.is_array || c->resp.item[0].type != RESP_STATUS)) {
			take_login_error(c);
			return;
		}
		drop_login(c);
		if (c->logins > 0)
			continue;
		c->held_from = SIZE_MAX;
		if (c->state == CONN_LOGIN)
			go_up(c);
		flush(c);
	}
}

/* Behind an AUTH that failed, the server may have run the early request as another user. */
static void delete_early(struct conn *c)
{
	const struct reply said = read_answer(c, &c->pending[0]);

	c->pending[0].is_early = false;
	/* Another error may have come after a part of the keys was set. */
	if (said.vote != VOTE_YES && (said.vote != VOTE_ABSENT || reply_lacks_script(&said) ||
					     said.reason == REASON_NOAUTH))
		return;
	c->out_len = c->out_sent = 0;
	c->held_from = SIZE_MAX;
	c->pending[0].is_deleted = true;
	if (append_bytes(c, c->deletion, c->deletion_len))
		flush(c);
	else
		fail(c, REASON_CLOSED, strerror(ENOMEM));
}

/* Returns true with the oldest request when nothing is left of it on the node, or its deletion was
 * refused; then the answer is the error of AUTH or SELECT. */
static bool refuse_next(struct conn *c, struct pending *request, struct reply *reply)
{
	struct reply said = c->failure;
	bool is_deleted;

	while (c->logins > 0 && take_reply(c))
		drop_login(c);
	if (c->state == CONN_UP && c->logins == 0 && c->pending[0].is_early && take_reply(c))
		delete_early(c);
	if (c->state != CONN_UP || c->logins > 0 || c->pending[0].is_early)
		return false;
	is_deleted = c->pending[0].is_deleted;
	if (is_deleted && !take_reply(c))
		return false;
	*request = c->pending[0];
	*reply = said;
	reply->changed_nothing = !(is_deleted && is_error_reply(&c->resp));
	drop_oldest_pending(c);
	if (c->pending_count == 0) {
		drop(c);
		c->failure = said;
	}
	return true;
}

void conn_handle(struct conn *c, short revents)
{
	if (c->is_resolving)
		finish_resolving(c);
	else if (c->state == CONN_OPENING && (revents & (POLLOUT | POLLERR | POLLHUP)))
		finish_connect(c);
	else if (c->state == CONN_OPENING && clock_now() >= c->next_at)
		try_next_address(c);
	else if (c->state == CONN_HANDSHAKE)
		handshake(c);
	else if (is_talking(c) && (revents & (POLLIN | POLLERR | POLLHUP)))
		receive(c);
	if (is_talking(c) && (revents & POLLOUT))
		flush(c);
	take_login_reply(c);
}

/* Counts HELLO's reply and the pushes that confirm SUBSCRIBE. Are they complete? */
static bool is_subscribed(struct conn *c)
{
	if (c->pending_count == 0 || c->pending[0].op != OP_SUBSCRIBE) {
		fail(c, REASON_GARBAGE, "a reply without a request");
		return false;
	}
	return --c->pending[0].pushes == 0;
}

/* A server that permits no subscription answers HELLO or SUBSCRIBE with an error. After a refused
 * HELLO, SUBSCRIBE makes a connection useless for scripts. */
static void refuse_subscription(struct conn *c, struct reply *reply)
{
	*reply = reply_read(OP_SUBSCRIBE, &c->resp);
	drop(c);
	c->failure = *reply;
}

static bool next_event(struct conn *c, struct pending *request, struct reply *reply);

static bool next_reply(struct conn *c, struct pending *request, struct reply *reply)
{
	if (!take_reply(c))
		return false;
	if (c->pending_count == 0) {
		struct reply said = reply_read(OP_UNDO, &c->resp);

		fail(c, REASON_GARBAGE, "a reply without a request");
		if (is_error_reply(&c->resp))
			c->failure = said;
		return false;
	}
	if (c->pending[0].extra > 0) {
		/* The first of three: HELLO. */
		c->has_resp3 &= !(c->pending[0].extra == 3 && is_error_reply(&c->resp));
		c->pending[0].is_watched &= !is_error_reply(&c->resp);
		c->pending[0].extra--;
		return next_event(c, request, reply);
	}
	*request = c->pending[0];
	if (request->op == OP_SUBSCRIBE) {
		refuse_subscription(c, reply);
		return true;
	}
	*reply = read_answer(c, request);
	if (c->addresses->is_name && reply_is_elsewhere(reply)) {
		leave_replica(c, reply);
		return false;
	}
	drop_oldest_pending(c);
	reply->is_watched = request->is_watched;
	return true;
}

/* Takes the connection down if the name leads to other servers by now. */
static void check_name(struct conn *c)
{
	struct sockaddr_storage address;

	addresses_take(c->addresses);
	if (c->answers == c->addresses->answers)
		return;
	c->answers = c->addresses->answers;
	if (peer_address(c, &address) && !addresses_have(c->addresses, &address))
		fail(c, REASON_LEFT, NULL);
}

static bool next_event(struct conn *c, struct pending *request, struct reply *reply)
{
	if (c->is_refused)
		return refuse_next(c, request, reply);
	if (c->logins > 0 || awaits_name(c))
		return false;
	while (c->state == CONN_UP)
		switch (take_push(c)) {
		case PUSH_NONE:
			return next_reply(c, request, reply);
		case PUSH_PARTIAL:
			return false;
		case PUSH_MESSAGE:
		case PUSH_CHANGED:
			*request = (struct pending){.is_push = true};
			return true;
		case PUSH_HELLO:
		case PUSH_SUBSCRIBED:
			if (c->pending_count > 0 && c->pending[0].extra > 0) {
				c->pending[0].extra--;
				break;
			}
			if (is_subscribed(c)) {
				*request = c->pending[0];
				*reply = (struct reply){.vote = VOTE_YES};
				drop_oldest_pending(c);
				return true;
			}
			break;
		case PUSH_BROKEN:
		case PUSH_OTHER:
			break;
		}
	return false;
}

bool conn_next_reply(struct conn *c, struct pending *request, struct reply *reply)
{
	if (c->state == CONN_UP && c->addresses->is_name && !c->is_refused)
		check_name(c);
	return next_event(c, request, reply);
}

void conn_abort(struct conn *c)
{
	struct linger reset = {.l_onoff = 1, .l_linger = 0};
	const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

	/* Reset the connection, so that no data in the kernel arrives after a later release. The
	 * supervisor may have a copy of the socket, which would keep the connection open: it is
	 * disconnected, too. */
	if (c->fd >= 0) {
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		(void)connect(c->fd, &nowhere, sizeof(nowhere));
	}
	drop(c);
}

/* Takes the replies that have arrived. Returns true if one says that the server did not know the
 * script of a release. */
static bool take_last_replies(struct conn *c, short revents)
{
	struct pending request;
	struct reply reply;
	bool is_unknown = false;

	conn_handle(c, revents);
	while (next_event(c, &request, &reply))
		is_unknown |= request.may_be_unknown && reply_lacks_script(&reply);
	return is_unknown;
}

static bool may_lack_script(const struct conn *c)
{
	for (int i = 0; i < c->pending_count; i++)
		if (c->pending[i].may_be_unknown)
			return true;
	return false;
}

/* The server may have forgotten the script of a release that it has not answered. */
static void delete_released(struct conn *c)
{
	bool is_unknown;

	if (!may_lack_script(c))
		return;
	is_unknown = take_last_replies(c, POLLIN) || may_lack_script(c);
	if (c->state != CONN_UP || c->is_refused || c->logins > 0 || !is_unknown ||
		!append_bytes(c, c->deletion, c->deletion_len) ||
		!add_pending(c, (struct pending){.op = OP_DELETE, .len = c->deletion_len}))
		return;
	send_queued(c);
}

static bool reads_later(const struct conn *c)
{
	for (int i = 1; i < c->pending_count; i++)
		if (c->pending[i].is_read_later)
			return true;
	return false;
}

/* Waits until the socket has taken all requests, and the server has replied, or has read the rest:
 * then it carries out the requests even if the connection is closed. */
static void await_reader(struct conn *c)
{
	usec until = clock_now() + LAST_REQUEST_TIME;

	while (c->state == CONN_UP && (c->blocked || (reads_later(c) && unread(c->fd) > 0)) &&
		clock_now() < until) {
		struct pollfd fd = {.fd = c->fd, .events = conn_wants(c)};

		if (alarm_wait(&fd, 1, USEC_MSEC) > 0)
			(void)take_last_replies(c, fd.revents);
	}
}

/* Reads unread bytes, so that close() sends no reset after the last request; a server that never
 * stops sending gets a reset in any case. */
static void read_rest(const struct conn *c)
{
	char rest[4096];
	size_t len = 0;
	ssize_t n;

	while (len < REPLY_BYTES_MAX && (n = recv(c->fd, rest, sizeof(rest), MSG_DONTWAIT)) > 0)
		len += (size_t)n;
}

/* AUTH is not answered, and may fail: of the requests that wait for it, only a deletion does no
 * harm as another user. */
static void end_early(struct conn *c)
{
	if (c->held_from < c->out_len)
		c->out_len = c->held_from;
	c->held_from = SIZE_MAX;
	if (c->logins > 0 && c->deletion)
		(void)append_bytes(c, c->deletion, c->deletion_len);
}

void conn_close(struct conn *c)
{
	if (c->state == CONN_UP)
		delete_released(c);
	if (c->state == CONN_UP && (c->pending_count > 0 || c->out_len > 0)) {
		end_early(c);
		flush(c);
		await_reader(c);
		if (c->tls)
			tls_close_notify(c->tls);
		if (c->fd >= 0 && shutdown(c->fd, SHUT_WR) == 0)
			read_rest(c);
	}
	drop(c);
}
