/*
 * usage: differ SOCKET SEED STEPS
 * Plays random calls of redlock's real scripts, and an administrator's commands, on a real server
 * and on the simulator's node (tests/sim/node.c), and compares every reply, every message that is
 * published, and the data after it. A second connection has the waiters' subscriptions.
 * The model uses the server's own clock: each call is between two TIMEs in one transaction; if a
 * millisecond passes between them, either of the two may be the call's. Once with one lock, and
 * once with a semaphore of SIM_LOCKS, and clients with that limit or a lower one. Exit status: 0
 * when they agree; 1 when they do not; 2 when there is no server.
 */
#include "base/text.h"
#include "sim/sim.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOKENS 4
#define WAITERS 6
#define NO_EXPIRY 0 /* the key is not there */
#define FOR_EVER INT64_MAX

struct world world; /* the node's: only its clock and its seed are used */

static redisContext *server, *listener;
static uint64_t state;
static int slots; /* 1: one lock */

static const char *key_of(int slot)
{
	static const char *const names[] = {"k#1", "k#2", "k#3"};

	return slots > 1 ? names[slot] : "k";
}

static uint64_t next(uint64_t below)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % below;
}

static redisReply *command(int argc, const char *argv[])
{
	redisReply *r = redisCommandArgv(server, argc, argv, NULL);

	if (!r) {
		fprintf(stderr, "differ: %s\n", server->errstr);
		exit(2);
	}
	return r;
}

/* Within a transaction, the reply to a command only says so. */
static void enqueue(int argc, const char *const argv[])
{
	freeReplyObject(command(argc, (const char **)(uintptr_t)argv));
}

/* ---- one step ---- */

struct step {
	enum kind {
		STEP_CALL, /* one of redlock's scripts; otherwise an administrator's command: */
		STEP_SET, /* sets or deletes the key */
		STEP_FORGET, /* deletes the mark of the restart guard */
		STEP_EMPTY, /* deletes a queue */
		STEP_LIMIT, /* sets or deletes the record of the limit */
	} kind;
	int limit; /* EMPTY: the queue; LIMIT: the record; 0: deleted */
	enum op op;
	int slot; /* from 0 on */
	const char *token; /* or the value of the key, as redlock's scripts write it */
	usec ttl;
	bool lasts; /* without expiry */
	const char *words[KEYS_MAX + 14]; /* the command line */
	int count;
	struct request request;
	char ttl_text[24], limit_text[24], queue[64];
};

/* The last is as long as a token may be. */
static char long_token[TOKEN_MAX], too_long[1000];
static const char *const tokens[TOKENS] = {
	TOKEN_NINES TOKEN_HOLDER "11111111111111111111111111:1000000003 a@one",
	TOKEN_NINES TOKEN_HOLDER "22222222222222222222222222:1000000001 b@two",
	TOKEN_NINES TOKEN_HOLDER "33333333333333333333333333:1000000002 c@three",
	long_token,
};

static char ids[TOKENS][TOKEN_ID_LEN + 1];

/* Each waiter but the first of a queue, for which the listener stands: subscribed to the channel of
 * all waiters of its queue. */
static redisContext *crowd[WAITERS];
static const char *const waiters[WAITERS] = {
	"w0000000000000001",
	"r0000000000000002",
	"w0000000000000003",
	"r0000000000000004",
	"r0000000000000005",
	"w0000000000000006",
};

/* In the queue of that limit; 0: of the lock without slots. */
static int limit_of(int waiter)
{
	return slots > 1 ? 2 + waiter % 2 : 0;
}

/* The first waiter of each queue is always subscribed. */
static int count_subscribed(void)
{
	return slots > 1 ? 2 : 1;
}

static void make_long_values(void)
{
	memset(too_long, 'x', sizeof(too_long) - 1);
	memset(long_token, 'y', sizeof(long_token) - 1);
	memset(long_token, '4', TOKEN_ID_LEN);
	memcpy(long_token, TOKEN_NINES TOKEN_HOLDER, sizeof(TOKEN_NINES));
	memcpy(long_token + TOKEN_ID_LEN, ":1000000004 ", 12);
	for (int i = 0; i < TOKENS; i++)
		memcpy(ids[i], tokens[i], TOKEN_ID_LEN);
}

/* Sometimes, and short; by a client with a clock that may be off. */
static struct guard_args draw_guard(void)
{
	return (struct guard_args){
		.quarantine = next(8) ? 0 : (usec)next(6) * USEC_MSEC,
		.wall = clock_wall() + (next(8) ? 0 : ((usec)next(3) - 1) * 40 * USEC_SEC),
	};
}

static const char *draw_id(void)
{
	return ids[next(TOKENS)];
}

static const char *draw_name(void)
{
	return waiters[next(WAITERS)];
}

static struct waiter_args draw_waiter(void)
{
	return (struct waiter_args){
		.id = next(2) ? NULL : draw_name(),
		.woken_by = next(2) ? NULL : draw_id(),
		.overrides = next(6) == 0,
	};
}

static void draw_acquire(struct request *r, enum op op, const struct lock_ref *lock, usec ttl)
{
	bool is_shared = slots == 1 && next(3) > 0;
	const struct acquire_args args = {
		.ttl = ttl,
		.is_shared = is_shared,
		.is_fair = next(2),
		.wants_fence = next(2),
		.reserve_time = ttl,
		.waiter = draw_waiter(),
		.guard = draw_guard(),
	};

	if (op == OP_ACQUIRE)
		request_acquire(r, lock, &args);
	else
		request_repair(r, lock,
			&(struct acquire_args){
				.ttl = ttl, .is_shared = is_shared, .guard = args.guard});
}

static void draw_hand_off(struct request *r, const struct lock_ref *lock, usec ttl)
{
	static const char *const flags[] = {NULL, FLAG_BREAKS, FLAG_LEAVES, FLAG_GIVES_UP};
	const char *flag = flags[next(4)];
	bool is_holder = !flag || strcmp(flag, FLAG_GIVES_UP) == 0;

	request_hand_off(r, lock,
		&(struct hand_off_args){
			.reserve_time = ttl,
			.waiter = next(2) ? NULL : draw_name(),
			.reservation = next(2) ? NULL : draw_id(),
			.flag = flag,
			.far_waiters = is_holder && next(2),
			.guard = draw_guard(),
		});
}

static void draw_delete(struct request *r, const struct lock_ref *lock)
{
	static struct request hand_off; /* has the key's text */

	request_hand_off(&hand_off, lock, &(struct hand_off_args){.guard = draw_guard()});
	request_delete(r, &hand_off);
}

static void draw_call(struct step *s)
{
	static const struct key_list key = {.count = 1, .key = {"k"}};
	static const enum op ops[] = {OP_ACQUIRE, OP_EXTEND, OP_REPAIR, OP_UNDO, OP_HAND_OFF,
		OP_DELETE, OP_EXPIRE, OP_FENCE, OP_LOOK, OP_JOIN, OP_JOIN, OP_REVOKE};
	enum op op = ops[next(sizeof(ops) / sizeof(ops[0]))];
	bool is_shared = slots == 1 && next(3) > 0;
	int waiter = (int)next(WAITERS);
	int limit = op == OP_JOIN ? limit_of(waiter) : slots > 1 ? 2 + (int)next(2) : 1;
	struct lock_ref lock = {
		.keys = &key,
		.slots = limit,
		.slot = slots > 1 ? s->slot % limit + 1 : 0,
		.token = s->token,
		.held = next(4) ? NULL : draw_id(),
	};
	const struct guard_args guard = draw_guard();
	struct request *r = &s->request;

	s->slot = lock.slot > 0 ? lock.slot - 1 : 0;
	/* A client that asks about a slot may not know the limit. */
	if ((op == OP_EXTEND || op == OP_HAND_OFF || op == OP_LOOK) && next(3) == 0)
		lock.slots = 0;
	/* Between two steps of a script, only the id is known. */
	if ((op == OP_EXTEND || op == OP_HAND_OFF || op == OP_LOOK || op == OP_REVOKE) &&
		next(3) == 0)
		lock.token = draw_id();
	if (op == OP_ACQUIRE || op == OP_REPAIR)
		draw_acquire(r, op, &lock, s->ttl);
	else if (op == OP_EXTEND)
		request_extend(r, &lock,
			&(struct extend_args){
				.ttl = s->ttl, .is_shared = is_shared, .never_shortens = next(2)});
	else if (op == OP_UNDO)
		request_undo(r, &lock, s->ttl, &guard);
	else if (op == OP_HAND_OFF)
		draw_hand_off(r, &lock, s->ttl);
	else if (op == OP_DELETE)
		draw_delete(r, &lock);
	else if (op == OP_EXPIRE)
		request_expire(r, &lock, s->ttl);
	else if (op == OP_FENCE)
		/* A number of the past, or a few seconds ahead. */
		request_fence(r, &lock,
			next(2) ? (int64_t)(1 + next(200))
				: clock_wall() + (int64_t)next(5) * USEC_SEC);
	else if (op == OP_REVOKE)
		request_revoke(r, &lock, NULL);
	else if (op == OP_LOOK)
		request_look(r, &lock,
			&(struct look_args){.is_shared = is_shared,
				.is_fair = next(2),
				.waiter = draw_waiter(),
				.guard = guard});
	else
		/* Some tickets are the same. */
		request_join(r, &lock,
			&(struct join_args){.reserve_time = s->ttl,
				.waiter = waiters[waiter],
				.ticket = (int64_t)next(6) - 2,
				.guard = guard});
	s->kind = STEP_CALL;
	s->op = op;
	s->count = r->argc;
	memcpy(s->words, r->argv, (size_t)s->count * sizeof(s->words[0]));
}

static void set_words(struct step *s, int count, const char *const words[])
{
	s->count = count;
	memcpy(s->words, words, (size_t)count * sizeof(words[0]));
}

static void draw_interference(struct step *s)
{
	static const char list[] = "redis.call('DEL',KEYS[1]) redis.call('RPUSH',KEYS[1],'x')";

	s->lasts = false;
	s->kind = next(3) ? STEP_SET : (enum kind)(STEP_FORGET + next(3));
	s->limit = limit_of((int)next(2));
	if (s->kind == STEP_LIMIT && next(4) == 0)
		s->limit = 0;
	snprintf(s->ttl_text, sizeof(s->ttl_text), "%" PRId64, s->ttl / USEC_MSEC);
	snprintf(s->limit_text, sizeof(s->limit_text), "%d", s->limit);
	snprintf(s->queue, sizeof(s->queue), "redlock:queue:{k}%s%s", s->limit ? ":" : "",
		s->limit ? s->limit_text : "");
	if (s->kind == STEP_FORGET)
		set_words(s, 2, (const char *const[]){"DEL", "{redlock}:node"});
	if (s->kind == STEP_EMPTY)
		set_words(s, 2, (const char *const[]){"DEL", s->queue});
	if (s->kind == STEP_LIMIT && s->limit > 0)
		set_words(s, 5,
			(const char *const[]){
				"SET", "redlock:limit:{k}", s->limit_text, "PX", s->ttl_text});
	else if (s->kind == STEP_LIMIT)
		set_words(s, 2, (const char *const[]){"DEL", "redlock:limit:{k}"});
	if (s->kind != STEP_SET)
		return;
	switch (next(8)) {
	case 0:
		s->token = "(list)";
		s->lasts = true;
		set_words(s, 4, (const char *const[]){"EVAL", list, "1", key_of(s->slot)});
		break;
	case 1:
		s->lasts = true;
		set_words(s, 3, (const char *const[]){"SET", key_of(s->slot), s->token});
		break;
	case 2:
		s->token = too_long;
		set_words(s, 5,
			(const char *const[]){"SET", key_of(s->slot), s->token, "PX", s->ttl_text});
		break;
	case 3:
	case 4:
		set_words(s, 5,
			(const char *const[]){"SET", key_of(s->slot), s->token, "PX", s->ttl_text});
		break;
	default:
		s->token = "";
		set_words(s, 2, (const char *const[]){"DEL", key_of(s->slot)});
		break;
	}
}

static void draw_step(struct step *s)
{
	s->token = tokens[next(TOKENS)];
	s->slot = (int)next((uint64_t)slots);
	s->ttl = (usec)(1 + next(next(2) ? 5 : 40)) * USEC_MSEC;
	if (next(8) > 0)
		draw_call(s);
	else
		draw_interference(s);
}

/* A reply, and the data after it. */
struct outcome {
	struct reply reply;
	char value[SIM_LOCKS][TOKEN_MAX];
	int64_t ends[SIM_LOCKS]; /* NO_EXPIRY: no key */
	char reserved[SIM_LOCKS][TOKEN_ID_LEN + 1];
	int64_t reserved_ends[SIM_LOCKS];
	char queue[SIM_LOCKS + 1][WAITERS * (WAITER_ID_LEN + 24)]; /* "NAME TICKET " of each */
	int64_t queue_ends[SIM_LOCKS + 1];
	int limit;
	int64_t limit_ends;
	char messages[SIM_PUBLISHED * (WAITER_ID_LEN + TOKEN_ID_LEN + 12)]; /* "NAME TEXT\n" */
	char node[2 * RUN_ID_MAX + 72]; /* the mark of the restart guard */
	/* The readers of the key: "TOKEN END " of each, in order of the tokens. */
	char readers[SIM_READERS * (TOKEN_MAX + 16)];
};

static void set_reserved(struct outcome *o, const struct sim_node *n)
{
	for (int i = 0; i < SIM_LOCKS; i++) {
		const struct sim_reservation *reserved = &n->lock[i].reserved;

		if (!reserved->id[0] || reserved->ends < world.now / USEC_MSEC)
			continue;
		snprintf(o->reserved[i], sizeof(o->reserved[i]), "%s", reserved->id);
		o->reserved_ends[i] = reserved->ends;
	}
}

static void keep_reserved(struct sim_node *n, const struct outcome *o)
{
	for (int i = 0; i < SIM_LOCKS; i++) {
		struct sim_reservation *reserved = &n->lock[i].reserved;

		snprintf(reserved->id, sizeof(reserved->id), "%.40s", o->reserved[i]);
		reserved->ends = o->reserved_ends[i];
	}
}

static void set_queue(struct outcome *o, const struct sim_node *n)
{
	for (int limit = 0; limit <= SIM_LOCKS; limit++) {
		const struct sim_queue *q = &n->queue[limit];
		size_t used = 0;

		o->queue[limit][0] = '\0';
		o->queue_ends[limit] = 0;
		for (int i = 0; i < q->waiters && q->ends >= world.now / USEC_MSEC; i++) {
			text_append(o->queue[limit], sizeof(o->queue[limit]), &used,
				"%s %" PRId64 " ", q->waiter[i].name, q->waiter[i].ticket);
			o->queue_ends[limit] = q->ends;
		}
	}
}

static void keep_queue(struct sim_node *n, const struct outcome *o)
{
	for (int limit = 0; limit <= SIM_LOCKS; limit++) {
		struct sim_queue *q = &n->queue[limit];
		const char *at = o->queue[limit];
		int len = 0;

		q->ends = o->queue_ends[limit];
		for (q->waiters = 0; sscanf(at, "%17s %" SCNd64 " %n", q->waiter[q->waiters].name,
					     &q->waiter[q->waiters].ticket, &len) == 2;
			at += len)
			q->waiters++;
	}
}

static void set_limit(struct outcome *o, const struct sim_node *n)
{
	if (n->limit == 0 || n->limit_ends < world.now / USEC_MSEC)
		return;
	o->limit = n->limit;
	o->limit_ends = n->limit_ends;
}

static void keep_limit(struct sim_node *n, const struct outcome *o)
{
	n->limit = o->limit;
	n->limit_ends = o->limit_ends;
}

static void set_messages(struct outcome *o, const struct sim_node *n)
{
	size_t used = 0;

	for (int i = 0; i < n->published; i++) {
		const struct sim_message *m = &n->message[i];
		char limit[24] = "";

		if (m->limit > 0)
			snprintf(limit, sizeof(limit), "%d%s", m->limit, m->waiter[0] ? ":" : "");
		text_append(o->messages, sizeof(o->messages), &used, "%s%s %s\n", limit, m->waiter,
			m->text);
	}
}

static void keep_node(struct sim_node *n, const struct outcome *o)
{
	n->mark[0] = '\0';
	(void)sscanf(o->node, "%40s %" SCNd64 " %" SCNd64 " %" SCNd64, n->mark, &n->mark_over,
		&n->mark_given, &n->mark_wall);
}

static bool is_readers(const struct sim_node *n)
{
	return node_has_key(n, 0) && token_is_shared(n->lock[0].value, strlen(n->lock[0].value));
}

static void set_readers(struct outcome *o, struct sim_node *n)
{
	size_t used = 0;

	for (int i = 0; i < n->readers && is_readers(n); i++)
		text_append(o->readers, sizeof(o->readers), &used, "%s\n%" PRId64 "\n",
			n->reader[i].token, n->reader[i].ends);
}

static void keep_readers(struct sim_node *n, const struct outcome *o)
{
	char text[sizeof(o->readers)], *rest = text, *token, *end;

	memcpy(text, o->readers, sizeof(text));
	for (n->readers = 0;
		(token = strsep(&rest, "\n")) && *token && (end = strsep(&rest, "\n"));) {
		struct sim_reader *reader = &n->reader[n->readers++];

		*reader = (struct sim_reader){.ends = strtoll(end, NULL, 10)};
		snprintf(reader->token, sizeof(reader->token), "%s", token);
	}
}

static struct outcome model(struct sim_node *n, const struct step *s, usec now)
{
	struct outcome o = {.ends = {NO_EXPIRY}};
	static struct resp resp;

	world.now = now;
	n->published = 0;
	switch (s->kind) {
	case STEP_CALL:
		node_serve(n, &s->request, &resp);
		o.reply = reply_read(s->op, &resp);
		break;
	case STEP_SET:
		snprintf(n->lock[s->slot].value, sizeof(n->lock[0].value), "%s", s->token);
		n->lock[s->slot].ends = s->lasts ? FOR_EVER : now / USEC_MSEC + s->ttl / USEC_MSEC;
		break;
	case STEP_FORGET:
		n->mark[0] = '\0';
		break;
	case STEP_EMPTY:
		n->queue[s->limit].waiters = 0;
		break;
	case STEP_LIMIT:
		n->limit = s->limit;
		n->limit_ends = now / USEC_MSEC + s->ttl / USEC_MSEC;
		break;
	}
	set_reserved(&o, n);
	set_limit(&o, n);
	set_queue(&o, n);
	set_messages(&o, n);
	set_readers(&o, n);
	if (n->mark[0])
		snprintf(o.node, sizeof(o.node), "%s %" PRId64 " %" PRId64 " %" PRId64 " 0",
			n->mark, n->mark_over, n->mark_given, n->mark_wall);
	for (int i = 0; i < SIM_LOCKS; i++)
		if (node_has_key(n, i)) {
			snprintf(o.value[i], sizeof(o.value[i]), "%s", n->lock[i].value);
			o.ends[i] = n->lock[i].ends;
		}
	return o;
}

static void copy(struct resp_item *to, const redisReply *from)
{
	*to = (struct resp_item){.type = RESP_INTEGER, .integer = from->integer};
	if (from->type == REDIS_REPLY_INTEGER)
		return;
	to->type = from->type == REDIS_REPLY_ERROR ? RESP_ERROR : RESP_STRING;
	to->len = from->len;
	snprintf(to->text, sizeof(to->text), "%s", from->str);
}

/* `there` is what the script `look` in play() returns. */
static struct outcome real(const struct step *s, const redisReply *r, const redisReply *there)
{
	struct outcome o = {.ends = {NO_EXPIRY}};
	static struct resp resp;
	redisReply **item = there->element;

	if (s->kind == STEP_CALL) {
		resp.is_array = r->type == REDIS_REPLY_ARRAY;
		resp.count = resp.is_array ? (int)r->elements : 1;
		for (int i = 0; i < resp.count; i++)
			copy(&resp.item[i], resp.is_array ? r->element[i] : r);
		o.reply = reply_read(s->op, &resp);
	}
	for (int i = 0; i <= SIM_LOCKS; i++, item += 2) {
		snprintf(o.queue[i], sizeof(o.queue[i]), "%s", item[0]->str);
		o.queue_ends[i] = item[0]->len > 0 ? item[1]->integer : 0;
	}
	o.limit = atoi(item[0]->str);
	o.limit_ends = o.limit > 0 ? item[1]->integer : 0;
	item += 2;
	for (int i = 0; i < SIM_LOCKS; i++, item += 2) {
		snprintf(o.reserved[i], sizeof(o.reserved[i]), "%.40s", item[0]->str);
		if (item[0]->len > 0)
			o.reserved_ends[i] = item[1]->integer;
	}
	for (int i = 0; i < SIM_LOCKS; i++, item += 2) {
		if (item[0]->len == 0)
			continue;
		snprintf(o.value[i], sizeof(o.value[i]), "%s", item[0]->str);
		o.ends[i] = item[1]->integer < 0 ? FOR_EVER : item[1]->integer;
		/* The server reports 300 bytes of a longer value; the model keeps the maximum of a
		 * token.
		 */
		if (i == s->slot && item[0]->len > sizeof(o.value[i]) &&
			o.reply.vote == VOTE_FOREIGN && o.reply.limit == 0 &&
			o.reply.text_len > 0 && o.reply.text_len != 300)
			o.reply.vote = VOTE_ABSENT;
	}
	snprintf(o.node, sizeof(o.node), "%s", item[0]->str);
	snprintf(o.readers, sizeof(o.readers), "%s", item[1]->str);
	o.reply.text[sizeof(o.value[0]) - 1] = '\0';
	return o;
}

static bool same_data(const struct outcome *a, const struct outcome *b)
{
	for (int i = 0; i < SIM_LOCKS; i++)
		if (strcmp(a->value[i], b->value[i]) != 0 || a->ends[i] != b->ends[i] ||
			strcmp(a->reserved[i], b->reserved[i]) != 0 ||
			a->reserved_ends[i] != b->reserved_ends[i])
			return false;
	for (int i = 0; i <= SIM_LOCKS; i++)
		if (strcmp(a->queue[i], b->queue[i]) != 0 || a->queue_ends[i] != b->queue_ends[i])
			return false;
	return a->limit == b->limit && a->limit_ends == b->limit_ends &&
	       strcmp(a->messages, b->messages) == 0 && strcmp(a->readers, b->readers) == 0 &&
	       strcmp(a->node, b->node) == 0;
}

static bool same_reply(const struct reply *a, const struct reply *b)
{
	return a->vote == b->vote && a->reason == b->reason && a->pttl == b->pttl &&
	       a->fence == b->fence && strcmp(a->text, b->text) == 0 &&
	       strcmp(a->run_id, b->run_id) == 0 && a->is_reserved == b->is_reserved &&
	       a->waiters == b->waiters && a->is_partial == b->is_partial && a->slot == b->slot &&
	       a->soonest == b->soonest && a->is_shared == b->is_shared && a->ticket == b->ticket &&
	       a->rank == b->rank && a->limit == b->limit;
}

static bool agree(const struct outcome *a, const struct outcome *b)
{
	return same_reply(&a->reply, &b->reply) && same_data(a, b);
}

static void show(const char *whose, const struct outcome *o)
{
	printf("# %s: vote %d, %" PRId64 " us, '%s', id '%s', slot %d, %" PRId64
	       " us, reserved %d, waiters %u, shared %d, partial %d, fence %" PRId64
	       ", ticket %" PRId64 ", at %d, limit %d\n",
		whose, (int)o->reply.vote, o->reply.pttl, o->reply.text, o->reply.run_id,
		o->reply.slot, o->reply.soonest, o->reply.is_reserved, o->reply.waiters,
		o->reply.is_shared, o->reply.is_partial, o->reply.fence, o->reply.ticket,
		o->reply.rank, o->reply.limit);
	for (int i = 0; i < SIM_LOCKS; i++)
		printf("#   '%s' until %" PRId64 ", reserved for '%s' until %" PRId64 "\n",
			o->value[i], o->ends[i], o->reserved[i], o->reserved_ends[i]);
	printf("#   '%s'\n%s\n", o->node, o->readers);
	for (int i = 0; i <= SIM_LOCKS; i++)
		printf("#   queue %d: '%s' until %" PRId64 "\n", i, o->queue[i], o->queue_ends[i]);
	printf("#   limit %d until %" PRId64 "\n#   messages:\n%s", o->limit, o->limit_ends,
		o->messages);
}

/* ---- subscriptions ---- */

static redisReply *next_message(redisContext *from)
{
	redisReply *r = NULL;

	if (redisGetReply(from, (void **)&r) != REDIS_OK) {
		fprintf(stderr, "differ: %s\n", from->errstr);
		exit(2);
	}
	return r;
}

/* Messages may arrive before the reply. */
static void subscribe(redisContext *from, const char *command, const char *channel)
{
	bool is_reply = false;

	redisAppendCommand(from, "%s %s", command, channel);
	while (!is_reply) {
		redisReply *r = next_message(from);

		is_reply = strcmp(r->element[0]->str, command) == 0;
		freeReplyObject(r);
	}
}

/* Waiters come and go. */
static void change_subscription(struct sim_node *n, int waiter)
{
	const char *name = waiters[waiter];
	int limit = limit_of(waiter), i = 0;
	char channel[100], suffix[QUEUE_SUFFIX_MAX];
	const char *verb;

	request_queue_suffix(suffix, limit);
	snprintf(channel, sizeof(channel), CHANNEL_WAKE, "k", suffix, name);
	while (i < n->subscribers && strcmp(n->subscriber[i].waiter, name) != 0)
		i++;
	verb = i < n->subscribers ? "unsubscribe" : "subscribe";
	subscribe(listener, verb, channel);
	if (i < n->subscribers) {
		n->subscriber[i] = n->subscriber[--n->subscribers];
	} else {
		n->subscriber[n->subscribers].limit = limit;
		snprintf(n->subscriber[n->subscribers++].waiter, WAITER_ID_LEN + 1, "%s", name);
	}
	snprintf(channel, sizeof(channel), CHANNEL_QUEUE, "k", suffix);
	if (waiter >= count_subscribed())
		subscribe(crowd[waiter], verb, channel);
}

/* The first waiter of each queue. The channels differ from those of another number of slots. */
static void begin_subscriptions(struct sim_node *n)
{
	n->subscribers = 0;
	for (int i = 0; i < count_subscribed(); i++) {
		char channel[100], suffix[QUEUE_SUFFIX_MAX];

		snprintf(channel, sizeof(channel), CHANNEL_QUEUE, "k",
			request_queue_suffix(suffix, limit_of(i)));
		subscribe(listener, "subscribe", channel);
		change_subscription(n, i);
	}
}

/* All messages of the last step: PING's reply follows them. */
static void read_messages(struct outcome *o)
{
	size_t used = 0;

	redisAppendCommand(listener, "PING");
	for (;;) {
		redisReply *r = next_message(listener);
		bool is_message = r->elements == 3;

		if (is_message) {
			const char *name = strstr(r->element[1]->str, "}:");

			text_append(o->messages, sizeof(o->messages), &used, "%s %s\n",
				name ? name + 2 : "", r->element[2]->str);
		}
		freeReplyObject(r);
		if (!is_message)
			return;
	}
}

/* ---- playing ---- */

static usec time_of(const redisReply *r)
{
	return strtoll(r->element[0]->str, NULL, 10) * USEC_SEC +
	       strtoll(r->element[1]->str, NULL, 10);
}

/* A number may be as old as the server's clock, to the microsecond: then the model adopts it. */
static void settle_fence(struct outcome *o, struct sim_node *n, const struct step *s, int64_t fence)
{
	if (o->reply.fence != fence && n->lock[s->slot].fence == o->reply.fence)
		n->lock[s->slot].fence = fence;
	o->reply.fence = fence;
}

/* So may a ticket; one of TICKET_FIRST is below 0. */
static void settle_ticket(struct outcome *o, struct sim_node *n, int64_t ticket)
{
	for (int limit = 0; limit <= SIM_LOCKS; limit++)
		for (int i = 0; i < n->queue[limit].waiters; i++)
			if (n->queue[limit].waiter[i].ticket == o->reply.ticket)
				n->queue[limit].waiter[i].ticket = ticket;
	o->reply.ticket = ticket;
	set_queue(o, n);
}

/* Plays one step on both. `*exact` counts the steps within one millisecond. */
static bool play(struct sim_node *n, const struct step *s, long *exact)
{
	static const char *const multi[] = {"MULTI"}, *const exec[] = {"EXEC"},
				 *const clock[] = {"TIME"};
	static const char there[] =
		"local slots,r=tonumber(ARGV[1]),{} "
		"local function add(k,v) r[#r+1]=v or '' r[#r+1]=redis.call('PEXPIRETIME',k) end "
		"local function name(i) return slots>1 and 'k#'..i or i==1 and 'k' or 'none' end "
		"for n=0,3 do local k='redlock:queue:{k}'..(n>0 and ':'..n or '') "
		"local q=redis.call('ZRANGE',k,0,-1,'WITHSCORES') "
		"for i=1,#q,2 do q[i]=q[i]..' '..string.format('%.0f',q[i+1])..' ' q[i+1]='' end "
		"add(k,table.concat(q)) end "
		"add('redlock:limit:{k}',redis.call('GET','redlock:limit:{k}')) "
		"for i=1,3 do local k='redlock:reserved:{'..name(i)..'}' "
		"add(k,redis.call('GET',k)) "
		"end "
		"for i=1,3 do local v=redis.pcall('GET',name(i)) "
		"add(name(i),type(v)=='table' and '(list)' or v) end "
		"r[#r+1]=redis.call('GET','{redlock}:node') or '' "
		"local v=redis.pcall('GET',name(1)) local m,z={},{} "
		"if type(v)=='string' and string.sub(v,1,40)=='" TOKEN_READERS "' then "
		"m=redis.call('ZRANGE','redlock:readers:{k}',0,-1,'WITHSCORES') end "
		"for i=1,#m,2 do z[#z+1]=m[i]..'\\n'..string.format('%.0f',m[i+1])..'\\n' end "
		"table.sort(z) r[#r+1]=table.concat(z) return r";
	const char *look[] = {"EVAL", there, "0", slots > 1 ? "3" : "1"};
	struct outcome got, before, after;
	struct sim_node later = *n;
	const struct sim_node earlier = *n;
	redisReply *r;
	usec from, to;
	bool ok;

	enqueue(1, multi);
	enqueue(1, clock);
	enqueue(s->count, s->words);
	enqueue(4, look);
	enqueue(1, clock);
	r = command(1, (const char **)(uintptr_t)exec);
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 4) {
		printf("# no transaction: %s\n", r->str);
		return false;
	}
	from = time_of(r->element[0]);
	to = time_of(r->element[3]);
	got = real(s, r->element[1], r->element[2]);
	read_messages(&got);
	freeReplyObject(r);
	before = model(n, s, from);
	after = model(&later, s, to);
	if (before.reply.fence <= got.reply.fence && got.reply.fence <= after.reply.fence) {
		settle_fence(&before, n, s, got.reply.fence);
		settle_fence(&after, &later, s, got.reply.fence);
	}
	if (llabs(before.reply.ticket) <= llabs(got.reply.ticket) &&
		llabs(got.reply.ticket) <= llabs(after.reply.ticket)) {
		settle_ticket(&after, &later, got.reply.ticket);
		world.now = from;
		settle_ticket(&before, n, got.reply.ticket);
	}
	*exact += from / USEC_MSEC == to / USEC_MSEC;
	ok = agree(&got, &before);
	if (!ok && agree(&got, &after)) {
		*n = later;
		ok = true;
	}
	/* The millisecond may have passed between the reply and the look at the data. */
	if (!ok && from / USEC_MSEC != to / USEC_MSEC) {
		for (int i = 0; i < SIM_LOCKS; i++) {
			snprintf(n->lock[i].value, sizeof(n->lock[i].value), "%s", got.value[i]);
			n->lock[i].ends = got.ends[i];
			n->lock[i].fence = earlier.lock[i].fence;
		}
		if (got.reply.fence > 0)
			n->lock[s->slot].fence = got.reply.fence;
		keep_reserved(n, &got);
		keep_queue(n, &got);
		keep_limit(n, &got);
		keep_readers(n, &got);
		keep_node(n, &got);
		return true;
	}
	if (!ok) {
		printf("# %s %s, %" PRId64 " us, between %" PRId64 " and %" PRId64 "\n",
			s->kind == STEP_CALL ? node_op_name(s->op) : s->words[0],
			s->kind == STEP_CALL ? node_arg(&s->request, "flags") : s->token, s->ttl,
			from, to);
		for (int i = 2; i < s->count && s->kind == STEP_CALL; i++)
			printf("#   '%s'\n", s->words[i]);
		show("server", &got);
		show("model", &before);
	}
	return ok;
}

static bool get_id(char id[RUN_ID_MAX], const char *section, const char *name)
{
	const char *const info[] = {"INFO", section};
	redisReply *r = command(2, (const char **)(uintptr_t)info);
	const char *at = strstr(r->str, name);

	if (at)
		snprintf(id, RUN_ID_MAX, "%.40s", at + strlen(name));
	freeReplyObject(r);
	return at != NULL;
}

/* Only the counters exist. */
static void begin(struct sim_node *n)
{
	enqueue(1, (const char *const[]){"FLUSHALL"});
	node_forget(n);
	begin_subscriptions(n);
	for (int i = 0; i < slots; i++) {
		char fence[40];

		snprintf(fence, sizeof(fence), "redlock:fence:{%s}", key_of(i));
		enqueue(3, (const char *const[]){"SET", fence, "1"});
		n->lock[i].fence = 1;
	}
}

int main(int argc, char *argv[])
{
	struct sim_node *n = &world.node[0];
	long steps, exact = 0;

	if (argc != 4)
		return 2;
	server = redisConnectUnix(argv[1]);
	listener = redisConnectUnix(argv[1]);
	for (int i = 0; i < WAITERS; i++)
		crowd[i] = redisConnectUnix(argv[1]);
	if (!server || server->err || !listener || listener->err ||
		!get_id(n->run_id, "server", "run_id:")) {
		fprintf(stderr, "differ: no server at %s\n", argv[1]);
		return 2;
	}
	make_long_values();
	state = strtoull(argv[2], NULL, 10);
	steps = strtol(argv[3], NULL, 10);
	for (slots = 1; slots <= SIM_LOCKS; slots += SIM_LOCKS - 1) {
		begin(n);
		for (long i = 0; i < steps; i++) {
			struct step s;

			if (next(6) == 0)
				change_subscription(n,
					count_subscribed() +
						(int)next(
							(uint64_t)(WAITERS - count_subscribed())));
			draw_step(&s);
			if (next(10) == 0)
				nanosleep(&(struct timespec){.tv_nsec = (long)next(8000000)}, NULL);
			if (play(n, &s, &exact))
				continue;
			printf("# step %ld of seed %s, %d slots\n", i, argv[2], slots);
			return 1;
		}
	}
	printf("%ld steps, %ld of them to the millisecond\n", 2 * steps, exact);
	redisFree(server);
	redisFree(listener);
	for (int i = 0; i < WAITERS; i++)
		redisFree(crowd[i]);
	return 0;
}
