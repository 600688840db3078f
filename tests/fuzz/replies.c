/* Servers' bytes: through the parser of net/conn, as replies, as votes in the middle of a lock's
 * life. */
#include "fuzz/fuzz.h"

#include "base/text.h"
#include "net/conn.h"
#include "report/diagnosis.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWERS_MAX 8

#define SOME_WAITER "w0123456789abcdef"

/* In one conversation. */
#define ASKED_MAX 32

/* In the life of a lock. */
#define STEPS_MAX 500

static const struct node_list *some_nodes(void)
{
	static struct node_list list = {.count = NODES_MAX};

	for (int i = 0; i < list.count; i++) {
		list.node[i].kind = NODE_UNIX;
		memcpy(list.node[i].label, "node", 5);
	}
	return &list;
}

static const struct key_list *some_keys(int count)
{
	static struct key_list keys = {.key = {"one", "three", "two", "4", "5", "6", "7", "8", "9",
					       "10", "11", "12", "13", "14", "15", "16"}};

	keys.count = count;
	return &keys;
}

static void check_answer(const struct reply *a, int keys)
{
	char text[REPORT_MAX];

	FUZZ_CHECK(a->vote > VOTE_NONE && a->vote <= VOTE_ABSENT);
	FUZZ_CHECK(a->vote != VOTE_ABSENT || a->reason != REASON_NONE);
	FUZZ_CHECK(a->text_len < sizeof(a->text) && memchr(a->text, '\0', sizeof(a->text)));
	FUZZ_CHECK(memchr(a->run_id, '\0', sizeof(a->run_id)));
	FUZZ_CHECK(a->key >= 0 && a->key < keys && a->slot >= 0 && a->slot <= LIMIT_MAX);
	FUZZ_CHECK(a->pttl >= 0 && a->fence >= 0 && a->fence <= FENCE_MAX);
	for (int op = OP_NONE + 1; op < OP_COUNT; op++)
		fuzz_check_clean(report_reply(text, &some_nodes()->node[0], (enum op)op, a, 0));
}

/* ---- page_next() ---- */

void fuzz_page(const uint8_t *data, size_t len)
{
	const char *begin = (const char *)data, *end = begin + len, *at = begin, *before = at;
	struct page_entry e;

	for (; at < end && page_next(&at, end, &e); before = at) {
		FUZZ_CHECK(at > before && at <= end);
		FUZZ_CHECK(e.key > before && e.key + e.key_len == e.value);
		FUZZ_CHECK(e.value + e.value_len == at && e.pttl >= 0);
	}
	FUZZ_CHECK(at == before);
}

static const char some_id[] = "0123456789abcdef0123456789abcdef01234567";

static size_t write_item(
	char *dst, size_t size, size_t used, char item, int8_t byte, bool has_many_keys)
{
	if (item == REPLY_RUN_ID)
		text_append(dst, size, &used, " i%.*s", byte & 1 ? byte & 31 : 40, some_id);
	else
		text_append(dst, size, &used, " %c%d", item,
			item == REPLY_SOONEST ? byte * 1000
			: item == REPLY_KEY   ? 1 + (byte & (has_many_keys ? 31 : 3)) %
							      (has_many_keys ? KEYS_MAX + 1 : 3)
			: strchr("psu", item) ? byte & 1
					      : byte & 7);
	return used;
}

/* Of a few shapes that are nearly valid, for others are rejected early. It is about one of three
 * keys, or of one more than there can be. */
static void make_reply(struct resp *r, struct bytes *b, enum op op, bool has_many_keys)
{
	static const char codes[] = "YFGRQSCUEx", items[] = "ikpsufoetrl";
	uint8_t shape = fuzz_byte(b);
	char text[RESP_TEXT_MAX];
	size_t used = 0;
	int8_t byte;

	text_append(text, sizeof(text), &used, "%c", codes[fuzz_byte(b) % (sizeof(codes) - 1)]);
	byte = (int8_t)fuzz_byte(b);
	text_append(text, sizeof(text), &used, " %d", byte * 1000);
	byte = (int8_t)fuzz_byte(b);
	text_append(
		text, sizeof(text), &used, " %d", has_many_keys ? (byte & 0xff) << 8 : byte & 7);
	/* Each bit of a byte: is the item there? */
	for (int i = 0, given = 0; items[i]; i++) {
		if (i % 8 == 0)
			given = fuzz_byte(b);
		if (given >> i % 8 & 1 &&
			(reply_items(op) & REPLY_BIT(items[i]) || shape % 16 == 14))
			used = write_item(text, sizeof(text), used, items[i], (int8_t)fuzz_byte(b),
				has_many_keys);
	}
	byte = (int8_t)fuzz_byte(b);
	if (shape % 16 != 15)
		text_append(
			text, sizeof(text), &used, "\n%.*s", byte & 1 ? byte & 31 : 40, some_id);
	memset(r, 0, sizeof(*r));
	r->count = 1;
	r->item[0].type = RESP_STRING;
	r->item[0].len = used;
	memcpy(r->item[0].text, text, r->item[0].len);
	if (shape >= 240)
		r->item[0] = (struct resp_item){.type = RESP_ERROR, .text = "NOPERM"};
}

/* ---- conn: bytes in, replies out ---- */

struct heard {
	int count;
	struct reply reply[ANSWERS_MAX];
	int pushes;
	unsigned sum; /* of the bytes of the pushes */
	struct reply problem; /* the reason of its end */
};

static int listener = -1;
static struct addresses server;
static struct address address;

/* No file: an abstract name, which the kernel chooses. */
static void listen_somewhere(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (listener >= 0)
		return;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(bind(listener, (struct sockaddr *)&un, sizeof(sa_family_t)) == 0);
	FUZZ_CHECK(listen(listener, 10) == 0);
	server.count = 1;
	server.address = &address;
	address.len = sizeof(address.at);
	FUZZ_CHECK(getsockname(listener, (struct sockaddr *)&address.at, &address.len) == 0);
}

/* Counts the messages, and adds up what they say. */
static void hear_push(struct heard *h, const struct push *push)
{
	struct reply a = {.vote = VOTE_NONE};
	enum wake wake;
	int key;

	h->pushes++;
	for (size_t i = 0; i < push->channel_len; i++)
		h->sum = 31 * h->sum + (unsigned char)push->channel[i];
	for (size_t i = 0; i < push->message_len; i++)
		h->sum = 31 * h->sum + (unsigned char)push->message[i];
	if (!push_wake(push, some_keys(3), 0, SOME_WAITER, &key, &wake, &a))
		return;
	FUZZ_CHECK(key >= 0 && key < 3);
	FUZZ_CHECK(wake != WAKE_RESERVED || a.text_len == TOKEN_ID_LEN);
	FUZZ_CHECK(a.slot >= 0 && a.slot <= LIMIT_MAX);
}

static void hear(struct conn *c, struct heard *h)
{
	struct pending request;
	struct reply a;

	conn_handle(c, POLLIN);
	while (c->state == CONN_UP && conn_next_reply(c, &request, &a)) {
		if (request.is_push) {
			hear_push(h, &c->push);
			continue;
		}
		check_answer(&a, request.keys);
		FUZZ_CHECK(h->count < ANSWERS_MAX);
		h->reply[h->count++] = a;
	}
	FUZZ_CHECK(!c->resp.page || c->resp.page_len <= PAGE_MAX);
	if (c->state == CONN_DOWN)
		h->problem = c->failure;
}

static void say(int peer, struct bytes *b, size_t most)
{
	size_t n = (size_t)(b->end - b->at) < most ? (size_t)(b->end - b->at) : most;

	FUZZ_CHECK(send(peer, b->at, n, MSG_NOSIGNAL) == (ssize_t)n);
	b->at += n;
}

static void build(struct request *r, enum op op, int keys)
{
	const struct lock_ref lock = {
		.keys = some_keys(op == OP_JOIN ? 1 : keys), .token = TOKEN_READERS};

	switch (op) {
	case OP_DELETE: {
		static struct request hand_off;

		request_script(&hand_off, OP_HAND_OFF, &lock, &(struct request_args){0});
		request_delete(r, &hand_off);
		break;
	}
	case OP_SUBSCRIBE:
		request_subscribe(r, "one", 0, SOME_WAITER);
		break;
	case OP_SCAN:
		request_scan(r, "0", 0, false, true);
		break;
	case OP_NONE:
	case OP_COMMAND:
		request_command(r, (const char *const[]){"INFO", NULL});
		break;
	default:
		request_script(r, op, &lock, &(struct request_args){.waiter.id = SOME_WAITER});
	}
}

/* The bytes answer AUTH and SELECT, byte by byte, and then these requests, so many at a time. */
static void converse(
	struct heard *h, struct node *node, const enum op op[2], struct bytes b, size_t at_a_time)
{
	static char page[PAGE_MAX], rest[65536];
	struct conn c;
	int peer;

	listen_somewhere();
	conn_init(&c, node, &server);
	conn_open(&c);
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	FUZZ_CHECK(c.state != CONN_DOWN && peer >= 0);
	while (b.at < b.end && c.state == CONN_LOGIN) {
		say(peer, &b, 1);
		hear(&c, h);
	}
	for (int i = 0; i < 2 && c.state == CONN_UP; i++) {
		struct request r;

		c.resp.page = op[i] == OP_SCAN || op[i] == OP_COMMAND ? page : c.resp.page;
		c.resp.is_whole = op[i] == OP_COMMAND;
		c.resp.page_len = 0;
		build(&r, op[i], 2);
		conn_send(&c, &r, 1, 0);
	}
	while (b.at < b.end && c.state == CONN_UP) {
		say(peer, &b, at_a_time);
		hear(&c, h);
	}
	/* The kernel would wait for unread bytes. */
	while (recv(peer, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	conn_close(&c);
	FUZZ_CHECK(c.state == CONN_DOWN);
	close(peer);
}

static void check_same(const struct heard *a, const struct heard *b)
{
	FUZZ_CHECK(a->count == b->count && a->problem.reason == b->problem.reason);
	FUZZ_CHECK(a->pushes == b->pushes && a->sum == b->sum);
	for (int i = 0; i < a->count; i++) {
		const struct reply *x = &a->reply[i], *y = &b->reply[i];

		FUZZ_CHECK(x->vote == y->vote && x->reason == y->reason && x->pttl == y->pttl);
		FUZZ_CHECK(x->key == y->key && x->slot == y->slot && x->fence == y->fence);
		FUZZ_CHECK(x->waiters == y->waiters && strcmp(x->run_id, y->run_id) == 0);
		FUZZ_CHECK(reply_same_text(x, y));
	}
}

/* Two requests, with or without AUTH and SELECT before them, and the replies: the result does not
 * depend on how the bytes are cut. */
void fuzz_reply(const uint8_t *data, size_t len)
{
	static struct heard whole, bytewise;
	struct bytes b = {data, data + len};
	enum op op[2] = {1 + fuzz_byte(&b) % (OP_COUNT - 1), 1 + fuzz_byte(&b) % (OP_COUNT - 1)};
	struct node node = {.kind = NODE_UNIX, .db = fuzz_byte(&b) % 2};
	char text[REPORT_MAX];

	if (fuzz_byte(&b) % 2)
		memcpy(node.password, "secret", 7);
	if (b.end - b.at > 60000)
		return;
	memset(&whole, 0, sizeof(whole));
	memset(&bytewise, 0, sizeof(bytewise));
	converse(&whole, &node, op, b, 16384);
	if (b.end - b.at < 150) {
		converse(&bytewise, &node, op, b, 1);
		check_same(&whole, &bytewise);
	}
	if (whole.problem.vote == VOTE_NONE)
		return;
	FUZZ_CHECK(whole.problem.vote == VOTE_ABSENT && whole.problem.reason != REASON_NONE);
	fuzz_check_clean(report_event(text, &some_nodes()->node[0],
		&(struct event){.kind = EV_LINK_DOWN, .reply = &whole.problem}, 0));
}

/* ---- conversations ---- */

/* The requests of a conversation on one connection, and how far it has got. */
struct talk {
	struct conn conn;
	int peer, keys;
	bool cuts; /* each message arrives in two parts */
	uint32_t asked, answered;
	enum op op[ASKED_MAX];
};

/* Each kind of message that a server may send, at any place. */
enum said {
	SAID_REPLY, /* of a script; most of all */
	SAID_REPLY_END = 5,
	SAID_NOSCRIPT,
	SAID_NOPERM,
	SAID_ERROR,
	SAID_STATUS,
	SAID_INTEGER,
	SAID_NIL,
	SAID_HELLO,
	SAID_SUBSCRIBED,
	SAID_CHANGED,
	SAID_WAKE,
	SAID_PAGE,
	SAID_BYTES,
	SAID_COUNT,
};

/* Answers come in the order of the requests, each about a key of its request. */
static void take_answers(struct talk *t)
{
	static char page[PAGE_MAX];
	static struct heard pushes;
	struct pending request;
	struct reply a;

	conn_handle(&t->conn, POLLIN);
	for (;;) {
		enum op op = t->conn.pending[0].op;

		t->conn.resp.page = op == OP_SCAN || op == OP_COMMAND ? page : NULL;
		t->conn.resp.is_whole = op == OP_COMMAND;
		t->conn.resp.page_len = 0;
		if (t->conn.state != CONN_UP || !conn_next_reply(&t->conn, &request, &a))
			break;
		if (request.is_push) {
			hear_push(&pushes, &t->conn.push);
			continue;
		}
		FUZZ_CHECK(t->answered < t->asked && request.round == t->answered);
		FUZZ_CHECK(request.op == t->op[t->answered] && request.keys <= t->keys);
		check_answer(&a, request.keys);
		t->answered++;
	}
}

static void ask(struct talk *t, enum op op, uint8_t how)
{
	char taken[16384];
	struct request r;

	if (t->asked == ASKED_MAX || t->conn.pending_count == LOCK_PENDING_MAX)
		return;
	build(&r, op, t->keys);
	r.watches = (how & 1) && (op == OP_ACQUIRE || op == OP_LOOK);
	r.is_followed = how & 2;
	if ((how & 4) && op != OP_SUBSCRIBE && op != OP_DELETE && op != OP_COMMAND)
		request_by_digest(&r);
	t->op[t->asked] = op;
	conn_send(&t->conn, &r, t->asked++, 0);
	while (recv(t->peer, taken, sizeof(taken), MSG_DONTWAIT) > 0)
		;
}

static size_t write_reply(char *dst, size_t size, enum op op, struct bytes *b)
{
	struct resp r;
	size_t used = 0;

	make_reply(&r, b, op, true);
	if (r.is_array)
		text_append(dst, size, &used, "*%d\r\n", r.count);
	for (int i = 0; i < r.count; i++) {
		const struct resp_item *item = &r.item[i];

		if (item->type == RESP_INTEGER)
			text_append(dst, size, &used, ":%d\r\n", (int)item->integer);
		else if (item->type == RESP_ERROR)
			text_append(dst, size, &used, "-%s\r\n", item->text);
		else
			text_append(dst, size, &used, "$%d\r\n%.*s\r\n", (int)item->len,
				(int)item->len, item->text);
	}
	return used;
}

static size_t write_said(char *dst, size_t size, enum said said, enum op op, struct bytes *b)
{
	static const char *const texts[SAID_COUNT] = {
		[SAID_NOSCRIPT] = "-NOSCRIPT No matching script.\r\n",
		[SAID_NOPERM] =
			"-NOPERM User u has no permissions to run the 'evalsha' command\r\n",
		[SAID_ERROR] = "-ERR \x1b[31m script: 4e6d, on @user_script:1.\r\n",
		[SAID_STATUS] = "+OK\r\n",
		[SAID_NIL] = "$-1\r\n",
		[SAID_HELLO] = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n",
		[SAID_SUBSCRIBED] = ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
		[SAID_PAGE] = "*3\r\n$1\r\n0\r\n:0\r\n$11\r\n1 1 60000 0\r\n",
	};
	char channel[CHANNEL_MAX];
	size_t used = 0;
	uint8_t byte;

	if (said <= SAID_REPLY_END)
		return write_reply(dst, size, op, b);
	if (texts[said]) {
		text_append(dst, size, &used, "%s", texts[said]);
		return used;
	}
	byte = fuzz_byte(b);
	if (said == SAID_INTEGER) {
		text_append(dst, size, &used, ":%d\r\n", (int8_t)byte);
	} else if (said == SAID_CHANGED) {
		text_append(dst, size, &used, ">2\r\n$10\r\ninvalidate\r\n%s\r\n",
			byte & 1 ? "*1\r\n$3\r\none" : "_");
	} else if (said == SAID_WAKE) {
		snprintf(channel, sizeof(channel), CHANNEL_WAKE, "one", "", SOME_WAITER);
		text_append(dst, size, &used,
			">3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%d\r\n%.*s\r\n", strlen(channel),
			channel, byte % 64 ? TOKEN_ID_LEN : 0, byte % 64 ? TOKEN_ID_LEN : 0,
			some_id);
	} else {
		for (int n = byte % 16; n >= 0; n--)
			dst[used++] = (char)fuzz_byte(b);
	}
	return used;
}

static void hear_said(struct talk *t, enum said said, struct bytes *b)
{
	char text[4096];
	enum op op = t->conn.pending_count > 0 ? t->conn.pending[0].op : OP_NONE;
	size_t len = write_said(text, sizeof(text), said, op, b);
	size_t first = t->cuts ? len / 2 : len;

	FUZZ_CHECK(send(t->peer, text, first, MSG_NOSIGNAL) == (ssize_t)first);
	take_answers(t);
	if (first == len || t->conn.state != CONN_UP)
		return;
	FUZZ_CHECK(
		send(t->peer, text + first, len - first, MSG_NOSIGNAL) == (ssize_t)(len - first));
	take_answers(t);
}

/* Requests of all kinds for one to sixteen keys, and replies of all kinds, in any order. */
void fuzz_talk(const uint8_t *data, size_t len)
{
	static struct talk t;
	struct node node = {.kind = NODE_UNIX};
	struct bytes b = {data, data + len};
	uint8_t kind = fuzz_byte(&b), what;

	listen_somewhere();
	memset(&t, 0, sizeof(t));
	t.keys = 1 + kind % KEYS_MAX;
	t.cuts = kind & 0x80;
	conn_init(&t.conn, &node, &server);
	conn_open(&t.conn);
	t.peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	FUZZ_CHECK(t.conn.state == CONN_UP && t.peer >= 0);
	while (b.at < b.end && t.conn.state == CONN_UP) {
		what = fuzz_byte(&b);
		if (what & 1)
			ask(&t, 1 + what / 2 % (OP_COUNT - 1), fuzz_byte(&b));
		else
			hear_said(&t, (enum said)(what / 2 % SAID_COUNT), &b);
	}
	FUZZ_CHECK(t.conn.state == CONN_UP || t.conn.failure.vote == VOTE_ABSENT);
	/* It waits for unread bytes. */
	conn_abort(&t.conn);
	close(t.peer);
}

/* ---- the lock: replies in, decisions out ---- */

struct lane {
	enum link link;
	bool is_subscribed;
	int count;
	struct {
		enum op op;
		uint32_t round;
	} asked[LOCK_PENDING_MAX];
};

struct play {
	struct lock lock;
	struct policy policy;
	struct update up;
	struct lane lane[NODES_MAX];
	struct event event;
	usec now;
};

static void act(struct play *p)
{
	FUZZ_CHECK(p->up.count <= ACTIONS_MAX && p->up.wake_at >= 0);
	for (int i = 0; i < p->up.count; i++) {
		const struct action *a = &p->up.action[i];
		struct lane *l = &p->lane[a->node];

		switch (a->kind) {
		case ACT_RENEW:
			break;
		case ACT_OPEN:
			FUZZ_CHECK(l->link == LINK_DOWN);
			l->link = LINK_OPENING;
			break;
		case ACT_CLOSE:
			*l = (struct lane){.link = LINK_DOWN};
			break;
		case ACT_SEND:
			FUZZ_CHECK(l->link == LINK_UP && l->count < LOCK_PENDING_MAX);
			l->is_subscribed |= a->op == OP_SUBSCRIBE;
			l->asked[l->count].op = a->op;
			l->asked[l->count++].round = a->round;
			break;
		}
	}
}

static void check_words(const struct play *p)
{
	const struct key_list *keys = some_keys(p->policy.keys);
	const struct node_list *nodes = some_nodes();
	const struct lock *lock = &p->lock;
	char text[REPORT_MAX];

	fuzz_check_clean(report_refusal(text, lock, nodes, keys, p->now));
	fuzz_check_clean(report_holder(text, lock, keys, p->now));
	fuzz_check_clean(report_loss(text, lock, nodes, keys));
	fuzz_check_clean(report_unreleased(text, lock, nodes, keys, p->now));
	fuzz_check_clean(report_unguarded(text, &lock->tally, nodes, (const int[NODES_MAX]){1}));
	if (lock->waiter.state == WAITER_POLLS)
		fuzz_check_clean(report_no_queue(text, lock, nodes, keys));
}

static void step(struct play *p)
{
	p->event.now = p->now;
	p->event.token = "0123456789abcdef0123456789abcdef01234567:1700000000 me";
	lock_step(&p->lock, &p->event, &p->up);
	act(p);
}

static void wake_one(struct play *p, int node, struct bytes *b)
{
	struct reply a = {.vote = VOTE_YES, .text_len = sizeof(some_id) - 1};
	uint8_t byte = fuzz_byte(b);

	memcpy(a.text, some_id, sizeof(some_id));
	a.slot = p->policy.limit > 1 ? byte / 16 : 0;
	p->event.kind = EV_WAKE;
	p->event.node = node;
	p->event.key = byte % p->policy.keys;
	p->event.wake = (enum wake)(byte / 4 % 3);
	p->event.reply = &a;
	step(p);
}

static void answer_one(struct play *p, int node, struct bytes *b)
{
	struct lane *l = &p->lane[node];
	struct resp resp;
	struct reply a;

	make_reply(&resp, b, l->asked[0].op, p->policy.keys > 3);
	a = reply_read(l->asked[0].op, &resp);
	/* As net/conn does. */
	if (l->asked[0].op == OP_SUBSCRIBE && resp.item[0].type == RESP_STRING)
		a = (struct reply){.vote = VOTE_YES};
	if (a.key >= (l->asked[0].op == OP_JOIN ? 1 : p->policy.keys))
		a = reply_absent(REASON_GARBAGE, NULL);
	p->event = (struct event){.kind = EV_REPLY,
		.node = node,
		.op = l->asked[0].op,
		.round = l->asked[0].round,
		.reply = &a};
	memmove(l->asked, l->asked + 1, sizeof(l->asked) - sizeof(l->asked[0]));
	l->count--;
	p->event.random = fuzz_byte(b);
	step(p);
}

static void break_one(struct play *p, int node)
{
	const struct reply a = reply_absent(REASON_CLOSED, NULL);

	p->lane[node] = (struct lane){.link = LINK_DOWN};
	p->event = (struct event){.kind = EV_LINK_DOWN, .node = node, .reply = &a};
	step(p);
}

static void play_on(struct play *p, struct bytes *b)
{
	uint8_t what = fuzz_byte(b);
	int node = what % p->policy.nodes;
	struct lane *l = &p->lane[node];

	p->now += (what & 0x70) * USEC_MSEC / 16;
	p->event = (struct event){.kind = EV_TIME, .random = what};
	if (what >= 0xf8) {
		p->event.kind = what == 0xff ? EV_RELEASE : what == 0xfe ? EV_EXTEND : EV_TIME;
		if (p->up.wake_at != NEVER)
			p->now = usec_max(p->now, p->up.wake_at);
		step(p);
	} else if (l->link == LINK_OPENING && what < 0x80) {
		l->link = LINK_UP;
		p->event.kind = EV_LINK_UP;
		p->event.node = node;
		step(p);
	} else if (l->link == LINK_OPENING || (l->link == LINK_UP && what >= 0xf0)) {
		break_one(p, node);
	} else if (l->is_subscribed && what >= 0xe0) {
		wake_one(p, node, b);
	} else if (l->count > 0) {
		answer_one(p, node, b);
	} else {
		step(p);
	}
}

/* A lock's life among nodes that reply anything: first its kind, then the events. */
void fuzz_votes(const uint8_t *data, size_t len)
{
	static struct play p;
	struct bytes b = {data, data + len};
	uint8_t kind = fuzz_byte(&b), size = fuzz_byte(&b);

	memset(&p, 0, sizeof(p));
	p.now = USEC_SEC;
	p.policy = (struct policy){
		.nodes = 1 + size % 3,
		.keys = kind & 64  ? KEYS_MAX - size / 4 % 8
			: kind & 1 ? 1 + size / 4 % 3
				   : 1,
		.limit = kind & 65 ? 0 : size / 4 % 4,
		.ttl = 10 * USEC_SEC,
		.drift = USEC_SEC,
		.node_timeout = USEC_SEC / 10,
		.wait = kind & 2 ? NEVER : 0,
		.node_wait = NEVER,
		.safety_margin = USEC_SEC,
		.by_digest = true,
		.is_fair = kind & 4,
		.wants_fence = kind & 8,
		.quarantine = kind & 16 ? USEC_SEC : 0,
		.only_looks = kind & 32,
	};
	for (int i = 0; i < KEYS_MAX; i++)
		for (int n = 0; n < p.policy.nodes; n++)
			p.policy.order[i][n] = (n + i) % p.policy.nodes;
	lock_init(&p.lock, &p.policy);
	p.event = (struct event){.kind = EV_START, .random = kind};
	step(&p);
	/* Formatting takes far longer than steps. */
	for (int i = 0; b.at < b.end && lock_state(&p.lock) != LOCK_OVER && i < STEPS_MAX; i++) {
		play_on(&p, &b);
		if (i % 32 == 31)
			check_words(&p);
	}
	check_words(&p);
}

/* ---- doctor ---- */

/* INFO, and the replies to doctor's other requests, all alike. */
void fuzz_info(const uint8_t *data, size_t len)
{
	static struct node_facts facts[NODES_MAX];
	static struct diagnosis d;
	static struct settings s;
	struct bytes b = {data, data + len};
	uint8_t kind = fuzz_byte(&b);
	int reason = kind % 32 + (kind & 64 ? 32 : 0);
	char *line = fuzz_line(&b, REPLY_TEXT_MAX - 1);
	struct reply a = reply_absent(REASON_SERVER, line);
	struct err e;

	memset(facts, 0, sizeof(facts));
	settings_init(&s, COMMAND_DOCTOR);
	FUZZ_CHECK(node_list_add(&s.nodes, "a,b,c", &e) == 0 && settings_finish(&s, &e) == 0);
	if (reason > REASON_NONE && reason < REASON_COUNT)
		a.reason = (enum reason)reason;
	else
		a.vote = VOTE_YES;
	for (int i = 0; i < s.nodes.count; i++) {
		struct node_facts *p = &facts[i];

		server_info_read(&p->info, (const char *)b.at, (size_t)(b.end - b.at));
		p->informed = p->rights = p->fsync = p->clients_max = p->marker = a;
		p->own_keys = p->databases = a;
		for (int n = 0; n < TRIALS; n++)
			p->trial[n] = a;
		if (kind & 32)
			p->reached = a;
	}
	diagnosis_judge(&d, &s, facts, &facts[0].certificate);
	for (int i = 0; i < d.count; i++) {
		fuzz_check_clean(d.finding[i].message);
		fuzz_check_clean(d.finding[i].fix);
	}
	fuzz_check_clean(facts[0].info.version);
	fuzz_check_clean(facts[0].info.role);
	free(line);
}
