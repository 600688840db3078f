/*
 * The network under redlock's own net/conn.c, and the servers at its other end. One connection
 * keeps the order of its bytes, as TCP does; bytes sent on a connection that the client has given
 * up may still arrive, also after bytes that it sends on the next one. The linker leads calls of
 * conn.c's functions through the functions __wrap_...() here, which watch them (mk/tests.mk).
 */
#include "sim/bytes.h"
#include "sim/sim.h"
#include "sim/wrapped.h"

#include "proto/scripts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 16384 /* a node that is stopped until the end serves none of its requests */
#define FORGETS_PERCENT 4 /* of the requests find that the server has forgotten all scripts */
#define KEEPALIVE (300 * USEC_SEC) /* then a server gives up a silent connection */
#define INBOX_MAX ((size_t)32 * 1024) /* a socket with so many bytes has no room for messages */

static struct message messages[MESSAGES];
static int free_message, most_messages; /* messages in use, and the most that ever were */

/* ---- delays ---- */

static usec one_way(const struct wire *w)
{
	usec d = w->rtt / 2 + draw_between(0, w->rtt / 4 + 1);

	if (!world.is_calm && draw_percent(world.spike_percent))
		d += draw_between(0, world.spike_max);
	return d;
}

/* Not before the bytes sent earlier, and not while the wire is cut. */
static usec arrival(const struct wire *w, usec at, usec after)
{
	return usec_max(usec_max(at, after), w->cut_until);
}

/* ---- connections ---- */

/* Two names of one server lead to one server. */
static struct sim_node *server_of(int node)
{
	return &world.node[node == world.alias ? 0 : node];
}

static void renew(struct wire *w)
{
	w->id++;
	w->serve_at = w->back_at = w->held_until = 0;
	w->queued = w->served = 0;
	w->inbox_len = w->inbox_read = w->outbox_len = 0;
	w->sent_count = w->untold = 0;
	w->floods_until = 0;
	w->is_up = w->is_broken = w->is_deaf = w->is_refused = w->is_to_left = false;
	w->has_resp3 = w->has_flooded = w->caches = w->is_default = false;
}

static bool is_on(const struct message *m, int client, int node)
{
	return m->is_used && m->client == client && m->node == node &&
	       m->wire == world.wire[client][node].id;
}

/* The client has given the connection up: replies from now on are late. */
static void leave(int client, int node)
{
	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node) && !messages[i].left_at)
			messages[i].left_at = world.now;
}

static bool is_subscriber(const struct sim_subscriber *subscriber, int client, int node)
{
	return subscriber->client == client && subscriber->node == node &&
	       subscriber->wire == world.wire[client][node].id;
}

/* Has the current connection subscribed to the channels of a queue? Any queue: -1. */
static bool has_subscribed(int client, int node, int queue)
{
	const struct sim_node *n = server_of(node);

	for (int i = 0; i < n->subscribers; i++)
		if (is_subscriber(&n->subscriber[i], client, node) &&
			(queue < 0 || n->subscriber[i].queue == queue))
			return true;
	return false;
}

/* When the server notices that the connection was closed, or is broken: the end of a connection
 * travels as all bytes do. Until then the server counts a subscription as a receiver. */
static void tell_close(int client, int node)
{
	const struct wire *w = &world.wire[client][node];
	struct sim_node *n = server_of(node);
	usec at = arrival(w, world.now + one_way(w), w->serve_at);

	for (int i = 0; i < n->subscribers; i++) {
		struct sim_subscriber *subscriber = &n->subscriber[i];

		if (is_subscriber(subscriber, client, node))
			subscriber->noticed_at = usec_min(subscriber->noticed_at,
				world.now + (w->is_deaf ? KEEPALIVE : at - world.now));
	}
}

int net_unread(int client, int node)
{
	size_t bytes = 0;

	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node) && !messages[i].is_read)
			bytes += messages[i].len;
	return (int)bytes;
}

/* A server reads all that has arrived at once. */
static void read_arrived(int client, int node)
{
	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node) && messages[i].arrives_at <= world.now)
			messages[i].is_read = true;
}

/* A server that fails to write a message to a closed unix socket frees the client with the requests
 * that it has not read. Chance would hardly send a message at this moment. */
static void drop_unread(int client, int node)
{
	if (!has_subscribed(client, node, -1) || !world_drops_unread())
		return;
	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node) && !messages[i].is_read) {
			trace("n%d drops what c%d sent", node, client);
			messages[i].wire = UINT32_MAX;
		}
}

/* Bytes that were sent and not served yet are lost, or arrive late. */
static void give_up(int client, int node)
{
	struct wire *w = &world.wire[client][node];

	tell_close(client, node);
	leave(client, node);
	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node))
			messages[i].wire = draw_percent(50) ? 0 : UINT32_MAX;
	renew(w);
}

static bool has_unserved(int client, int node)
{
	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node))
			return true;
	return false;
}

void net_close(int client, int node, bool is_orderly)
{
	/* An orderly close: all bytes sent before it arrive, at a server that reads them. */
	if (is_orderly || !has_unserved(client, node)) {
		drop_unread(client, node);
		tell_close(client, node);
		renew(&world.wire[client][node]);
	} else {
		give_up(client, node);
	}
}

static void begin_round(struct wire *w, uint32_t round)
{
	if (w->round != round) {
		w->opened = w->sent = 0;
		w->round_began = world.now;
	}
	w->round = round;
}

uint32_t net_connect(int client, int node)
{
	struct wire *w = &world.wire[client][node];

	renew(w);
	schedule(arrival(w, world.now + 2 * one_way(w), 0), SIM_CONNECTED, client, node, w->id,
		NULL);
	return w->id;
}

static int node_of(const struct conn *c)
{
	return (int)(c - running->session.pool.conn);
}

static struct wire *wire_of(const struct conn *c)
{
	return &world.wire[running->id][node_of(c)];
}

void __wrap_conn_open(struct conn *c)
{
	struct wire *w = wire_of(c);

	begin_round(w, running->session.lock.stamp.round);
	w->sent = 0;
	w->end_opened++;
	/* Once to ask, once more where the name leads to after a refusal, and twice more to
	 * release; while it waits, once a second at most. */
	if (++w->opened > 3 + c->addresses->is_name + (world.now - w->round_began) / USEC_SEC)
		breach("requests", "c%d opened n%d %d times in round %u", running->id, node_of(c),
			w->opened, w->round);
	__real_conn_open(c);
}

/* The server has as many connections as it takes (`maxclients`). */
static bool is_full(int node)
{
	int connections = 0;

	for (int i = 0; i < world.clients; i++)
		connections += world.wire[i][node].is_up && !world.wire[i][node].is_refused;
	return world.node[node].room > 0 && connections >= world.node[node].room;
}

static struct incoming *incoming_of(bool is_push, size_t len, const char *bytes)
{
	struct incoming *in = malloc(sizeof(*in) + len);

	assert(in);
	in->is_push = is_push;
	in->len = len;
	memcpy(in->bytes, bytes, len);
	return in;
}

static void break_wire(int client, int node, usec at)
{
	schedule(at, SIM_BROKEN, client, node, world.wire[client][node].id, NULL);
}

/* The kernel of a stopped server accepts connections, too. A server with as many connections as it
 * takes says so, and closes this one. */
void net_connected(int client, int node, uint32_t id)
{
	static const char full[] = "-ERR max number of clients reached\r\n";
	struct wire *w = &world.wire[client][node];

	if (w->id != id)
		return;
	w->is_refused = is_full(node);
	w->is_up = !server_of(node)->down;
	w->is_broken = !w->is_up || w->is_refused;
	trace("c%d n%d %s", client, node,
		w->is_refused ? "has no room"
		: w->is_up    ? "connected"
			      : "refused");
	if (w->is_up && w->is_refused)
		net_answer(client, node, id, incoming_of(false, sizeof(full) - 1, full));
	client_go_on(world.client[client]);
}

/* True for the release of a lock that its client held to the end, as far as the client knows; false
 * for the release of an earlier attempt's token, and of a reservation. */
static bool is_end(const struct request *r)
{
	return running->is_ending && (r->op == OP_HAND_OFF || r->op == OP_EXPIRE) &&
	       !strstr(node_arg(r, "flags"), FLAG_LEAVES);
}

static bool is_of_waiter(enum op op)
{
	return op == OP_SUBSCRIBE || op == OP_JOIN;
}

/* An attempt asks a node on one connection only: on the next one, the node may have forgotten its
 * vote. */
static void check_asked_once(struct wire *w, int node, uint32_t round)
{
	if (w->asked_round == round && w->asked_on != w->id)
		breach("asks-twice", "c%d asks n%d on two connections in round %u", running->id,
			node, round);
	w->asked_round = round;
	w->asked_on = w->id;
}

/* conn.c does not tell the network which request of the lock a command is: they are in this order.
 */
static void expect(struct wire *w, const struct request *r, uint32_t round)
{
	struct sent *sent = &w->awaited[w->sent_count++];

	assert(w->sent_count <= SIM_AWAITED);
	*sent = (struct sent){.op = r->op, .round = round, .is_end = is_end(r)};
}

void __wrap_conn_send(struct conn *c, const struct request *r, uint32_t round, usec now)
{
	struct wire *w = wire_of(c);

	/* In each round the client asks a node once, and a few times more if the votes are split;
	 * before or after that, it may send one release, and one more if the first had no clean
	 * answer; and it repairs a key once. While it waits, it may queue and leave the queue. */
	begin_round(w, round);
	w->sent += !is_of_waiter(r->op);
	/* Rivals are asked for two node time-outs, four times in each, and a server that forgot
	 * its scripts gets a request twice. */
	if (w->sent > 40 + (world.now - w->round_began) / USEC_SEC)
		breach("requests", "c%d sent n%d %d requests in round %u", running->id, node_of(c),
			w->sent, round);
	if (is_of_waiter(r->op))
		client_chats(running);
	if (r->op == OP_ACQUIRE)
		check_asked_once(w, node_of(c), round);
	expect(w, r, round);
	w->end_sent += is_end(r);
	if ((r->op == OP_UNDO || is_end(r)) && !node_arg(r, "token")[0])
		breach("pending", "c%d releases on n%d without a token", running->id, node_of(c));
	hash_in((uint64_t)round << 32 | (uint64_t)running->id << 16 | (uint64_t)node_of(c) << 8 |
		r->op);
	trace("c%d n%d sends %s round %u", running->id, node_of(c), op_name(r->op), round);
	__real_conn_send(c, r, round, now);
}

bool __wrap_conn_next_reply(struct conn *c, struct pending *request, struct reply *reply)
{
	struct wire *w = wire_of(c);

	if (!__real_conn_next_reply(c, request, reply))
		return false;
	if (request->is_push)
		return true;
	w->end_told = reply->vote != VOTE_ABSENT && w->end_sent == 1 && w->end_opened <= 1 &&
		      (request->op == OP_HAND_OFF || request->op == OP_EXPIRE);
	/* The same release follows, whole. */
	if (request->op == OP_HAND_OFF && request->may_be_unknown && reply_lacks_script(reply))
		w->end_sent -= w->end_sent > 0;
	if (!is_of_waiter(request->op) &&
		(reply->vote == VOTE_FOREIGN || reply->vote == VOTE_GONE ||
			(reply->vote == VOTE_YES &&
				(request->op == OP_UNDO || request->op == OP_HAND_OFF))))
		w->settled_at = world.now;
	return true;
}

/* ---- commands ---- */

static bool is_script(const struct command *command, enum op op)
{
	return command_is(
		command, 1, command_is(command, 0, "EVAL") ? script_of(op) : digest_of(op));
}

static enum asked asked_of(const struct command *command)
{
	if (command_is(command, 0, "EVAL") || command_is(command, 0, "EVALSHA"))
		return ASKED_SCRIPT;
	if (command_is(command, 0, "SUBSCRIBE"))
		return ASKED_SUBSCRIBE;
	if (command_is(command, 0, "AUTH"))
		return ASKED_AUTH;
	if (command_is(command, 0, "HELLO"))
		return ASKED_HELLO;
	if (command_is(command, 1, "TRACKING"))
		return ASKED_TRACKING;
	assert(command_is(command, 1, "CACHING"));
	return ASKED_CACHING;
}

/* Keeps the words behind the script's. */
static void keep_words(struct request *kept, const struct command *command, int first)
{
	kept->argc = command->argc;
	kept->used = 0;
	for (int i = 0; i < command->argc; i++) {
		kept->argv[i] = i < first ? NULL : kept->text + kept->used;
		kept->len[i] = i < first ? 0 : command->len[i];
		if (i < first)
			continue;
		assert(kept->used + command->len[i] < sizeof(kept->text));
		memcpy(kept->text + kept->used, command->argv[i], command->len[i]);
		kept->text[kept->used + command->len[i]] = '\0';
		kept->used += command->len[i] + 1;
	}
}

/* The deletion of keys is conn.c's own request. */
static struct sent next_sent(struct wire *w, enum asked asked, const struct command *command)
{
	struct sent sent = {.op = OP_DELETE};

	if (asked != ASKED_SUBSCRIBE && (asked != ASKED_SCRIPT || is_script(command, OP_DELETE)))
		return sent;
	sent = w->awaited[0];
	assert(w->sent_count > 0);
	assert(asked == ASKED_SUBSCRIBE ? sent.op == OP_SUBSCRIBE : is_script(command, sent.op));
	memmove(w->awaited, w->awaited + 1, (size_t)--w->sent_count * sizeof(*w->awaited));
	return sent;
}

static void queue_command(
	int client, int node, const struct command *command, size_t len, usec arrives_at)
{
	struct wire *w = &world.wire[client][node];
	int index = free_message;
	struct message *m = &messages[index];
	enum asked asked = asked_of(command);
	const struct sent sent = next_sent(w, asked, command);

	assert(index >= 0);
	free_message = m->next_free;
	most_messages = index < most_messages ? most_messages : index + 1;
	keep_words(&m->request, command, asked == ASKED_SUBSCRIBE ? 1 : 3);
	m->request.op = m->op = sent.op;
	m->request.by_digest = command_is(command, 0, "EVALSHA");
	m->request.keys = asked == ASKED_SCRIPT ? atoi(command->argv[2]) : 0;
	m->is_used = true;
	m->asked = asked;
	m->client = client;
	m->node = node;
	m->wire = w->id;
	m->len = len;
	m->arrives_at = arrives_at;
	m->is_read = false;
	m->left_at = 0;
	m->round = sent.round;
	m->session = world.client[client]->sessions;
	m->is_end = sent.is_end;
	m->is_to_left = w->is_to_left;
	m->was_in_time = !kernel_finds_other(client, node);
	m->place = ++w->queued;
	schedule(arrives_at, SIM_SERVE, index, 0, 0, NULL);
}

static void append(char **to, size_t *len, size_t *room, const char *bytes, size_t count)
{
	while (*len + count > *room) {
		*room = *room > 0 ? 2 * *room : 4096;
		*to = realloc(*to, *room);
		assert(*to);
	}
	memcpy(*to + *len, bytes, count);
	*len += count;
}

/* Commands in one packet arrive at once. */
void net_send(int client, int node, const char *bytes, size_t len)
{
	struct wire *w = &world.wire[client][node];
	struct command command;
	size_t done = 0, next;

	append(&w->outbox, &w->outbox_len, &w->outbox_room, bytes, len);
	w->serve_at = arrival(w, world.now + one_way(w), w->serve_at);
	while ((next = command_read(w->outbox + done, w->outbox_len - done, &command)) > 0) {
		queue_command(client, node, &command, next, w->serve_at);
		done += next;
	}
	w->outbox_len -= done;
	memmove(w->outbox, w->outbox + done, w->outbox_len);
}

static void discard(struct message *m)
{
	m->is_used = false;
	m->next_free = free_message;
	free_message = (int)(m - messages);
}

void net_begin_session(int client)
{
	for (int i = 0; i < SIM_NODES; i++) {
		world.wire[client][i].yes_round = world.wire[client][i].round = 0;
		world.wire[client][i].asked_round = 0;
		world.wire[client][i].settled_at = 0;
	}
}

void net_begin_release(int client)
{
	const struct client *c = world.client[client];

	for (int i = 0; i < SIM_NODES; i++) {
		struct wire *w = &world.wire[client][i];

		/* The client relies on a connection that is broken, or may still be established. */
		w->end_opened =
			c->session.lock.peer[i].link != LINK_DOWN && (w->is_broken || !w->is_up);
		w->end_sent = 0;
		w->end_missed = w->end_told = false;
	}
}

static void say_error(struct resp *resp, const char *error)
{
	resp->is_array = 0;
	resp->count = 1;
	resp->item[0].type = RESP_ERROR;
	resp->item[0].integer = 0;
	resp->item[0].len = strlen(error);
	memcpy(resp->item[0].text, error, resp->item[0].len + 1);
}

/* The error that a busy, loading or broken server sends in place of the script's reply. */
static void refuse(struct resp *resp, bool lacks_login)
{
	static const char *const errors[] = {
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"BUSY Redis is busy running a script.",
		"MISCONF Redis is configured to save RDB snapshots.",
	};

	if (lacks_login)
		say_error(resp, "NOAUTH Authentication required.");
	else
		say_error(resp, errors[draw_between(0, sizeof(errors) / sizeof(errors[0]) - 1)]);
}

/* EVAL makes the script known; SCRIPT FLUSH may come at any moment. Returns false with the error if
 * the server does not know the script: then it does nothing. */
static bool knows_script(struct sim_node *n, const struct request *r, struct resp *resp)
{
	unsigned script = 1u << (r->op == OP_REPAIR ? OP_ACQUIRE : r->op);

	if (draw_percent(FORGETS_PERCENT))
		n->server->known = 0;
	if (!r->by_digest) {
		n->server->known |= script;
		return true;
	}
	if (world.refuses_digests)
		say_error(resp, "NOPERM User u has no permissions to run the 'evalsha' command");
	else if (!(n->server->known & script))
		say_error(resp, "NOSCRIPT No matching script. Please use EVAL.");
	else
		return true;
	return false;
}

/* The record of granted votes, by true time: the yardstick for every conclusion of the client.
 * Returns true for the vote that completes a majority. */
static bool note_yes(const struct message *m, struct sim_node *n)
{
	struct wire *w = &world.wire[m->client][m->node];
	struct client *c = world.client[m->client];
	int before = 0;

	if (m->session != c->sessions ||
		(m->op != OP_ACQUIRE && m->op != OP_EXTEND && m->op != OP_EXPIRE))
		return false;
	if (m->op == OP_EXPIRE && (n->ended_revoked || m->is_to_left))
		return false;
	if (m->op == OP_EXPIRE) {
		usec lasts = node_keys_end(n, &m->request, &c->session) - world.now;

		/* Tolerate a twentieth by the clocks' drift, and one tick of Redis' clock. */
		if (lasts < c->leave_for * 9 / 10 - 2 * USEC_MSEC ||
			lasts > c->leave_for * 11 / 10 + 2 * USEC_MSEC)
			breach("leave", "c%d's key on n%d lasts %d ms, not %d", m->client, m->node,
				(int)(lasts / USEC_MSEC), (int)(c->leave_for / USEC_MSEC));
		return false;
	}
	for (int i = 0; i < c->policy.nodes; i++)
		before += world.wire[m->client][i].yes_round == m->round;
	if (w->yes_round == m->round)
		before--;
	else if (w->yes_round > m->round) /* late */
		return false;
	w->yes_round = m->round;
	w->yes_until = m->is_to_left ? NEVER : node_keys_end(n, &m->request, &c->session);
	w->yes_life = n->life;
	return before + 1 == c->policy.nodes / 2 + 1;
}

/* The token identifies the key: a late message may belong to an earlier session of the client. An
 * extension of a key that was set late keeps that key marked as late. A late release says nothing
 * about the entry of an earlier attempt that it leaves among the readers. A script without rights
 * may have set the key, or its time, before it was refused. */
static void note_lateness(const struct message *m, struct sim_node *n, bool is_yes)
{
	bool sets = m->op == OP_ACQUIRE || m->op == OP_REPAIR;

	if (!is_yes && !(m->left_at && world.now < n->denies_until))
		return;
	if (m->op == OP_UNDO || m->op == OP_DELETE || m->op == OP_HAND_OFF || m->op == OP_JOIN)
		return;
	if (m->left_at || sets)
		node_note_lateness(n, node_token_of(n, &m->request), m->left_at);
}

/* ---- messages ---- */

static void drop_closed_subscribers(struct sim_node *n)
{
	int count = 0;

	for (int i = 0; i < n->subscribers; i++)
		if (world.now < n->subscriber[i].noticed_at)
			n->subscriber[count++] = n->subscriber[i];
	n->subscribers = count;
}

static void subscribe(struct sim_node *n, const struct message *m)
{
	const struct sim_message channel = node_read_channel(m->request.argv[1]);
	struct sim_subscriber *subscriber = &n->subscriber[n->subscribers];

	if (has_subscribed(m->client, m->node, channel.queue))
		return;
	assert(n->subscribers < SIM_SUBSCRIBERS); /* a build with NDEBUG counts them, too */
	n->subscribers++;
	*subscriber = (struct sim_subscriber){.queue = channel.queue,
		.client = m->client,
		.node = m->node,
		.wire = m->wire,
		.noticed_at = NEVER};
	snprintf(subscriber->waiter, sizeof(subscriber->waiter), "%s", channel.waiter);
}

/* A message to a connection; none if the connection is not there any more. */
static bool push_to(int client, int node, uint32_t wire, const struct push *push)
{
	struct wire *w = &world.wire[client][node];
	char bytes[BYTES_MAX];

	if (w->id != wire || w->is_broken || w->is_deaf)
		return false;
	/* The client may ask because of it. */
	world.client[client]->chatted_until[0] = world.client[client]->chatted_until[1] = 0;
	w->back_at = arrival(w, world.now + one_way(w), w->back_at);
	schedule(w->back_at, SIM_ANSWER, client, node, w->id,
		incoming_of(true, bytes_of_push(bytes, push), bytes));
	return true;
}

static void deliver(const struct sim_subscriber *to, const struct sim_message *message)
{
	char channel[CHANNEL_MAX], suffix[QUEUE_SUFFIX_MAX];
	const char *key = message->queue > SIM_LOCKS ? "m" : "k";
	struct push push = {
		.channel = channel, .message = message->text, .message_len = strlen(message->text)};

	request_queue_suffix(suffix, message->queue > SIM_LOCKS ? 0 : message->queue);
	if (message->waiter[0])
		snprintf(channel, sizeof(channel), CHANNEL_WAKE, key, suffix, message->waiter);
	else
		snprintf(channel, sizeof(channel), CHANNEL_QUEUE, key, suffix);
	push.channel_len = strlen(channel);
	if (push_to(to->client, to->node, to->wire, &push))
		trace("n%d %s c%d in queue %d", to->node,
			message->text[0]     ? "wakes"
			: message->waiter[0] ? "nudges"
					     : "calls back",
			to->client, to->queue);
}

void net_tell_changes(int node)
{
	struct sim_node *n = server_of(node);
	struct sim_watch watch;

	while (node_next_change(n, &watch)) {
		const struct push push = {.is_change = true,
			.channel = watch.name,
			.channel_len = strlen(watch.name)};

		if (push_to(watch.client, watch.node, watch.wire, &push))
			trace("n%d tells c%d of a change", watch.node, watch.client);
	}
}

/* Sends the messages that a script published. Returns the last client that was woken; -1: none. */
static int deliver_all(struct sim_node *n)
{
	int woken = -1;

	for (int i = 0; i < n->published; i++)
		for (int j = 0; j < n->subscribers; j++) {
			const struct sim_message *message = &n->message[i];
			const struct sim_subscriber *to = &n->subscriber[j];

			if (message->queue != to->queue)
				continue;
			if (message->waiter[0] && strcmp(message->waiter, to->waiter) != 0)
				continue;
			deliver(to, message);
			if (message->text[0])
				woken = to->client;
		}
	n->published = 0;
	return woken;
}

/* ---- serving ---- */

/* A hand-off of a client that leaves the queue takes it out of the queue, if it has the rights. */
static void check_queue(const struct sim_node *n, const struct message *m)
{
	const struct client *c = world.client[m->client];

	if (m->op == OP_HAND_OFF && m->session == c->sessions && world.now >= n->denies_until &&
		strcmp(node_arg(&m->request, "flags"), FLAG_LEAVES) == 0 &&
		node_has_waiter(n, &m->request, c->session.lock.waiter.id))
		breach("queue", "c%d has left n%d, and is in its queue", m->client, m->node);
}

/* The server's reply to a script that is not refused. */
static void serve_script(struct sim_node *n, const struct message *m, struct resp *resp)
{
	struct wire *w = &world.wire[m->client][m->node];

	if (m->is_to_left) {
		node_serve_left(n, &m->request, resp);
		return;
	}
	if (m->wire == w->id && w->caches)
		node_watch(n,
			(struct sim_watch){.client = m->client, .node = m->node, .wire = m->wire},
			&m->request);
	w->caches = w->caches && m->wire != w->id;
	if (knows_script(n, &m->request, resp)) {
		node_serve(n, &m->request, resp);
		check_queue(n, m);
	}
	node_ignore_changes(n, m->client, m->wire);
}

/* '\0': the reply is an error. */
static char resp_code(const struct resp *resp)
{
	return resp->item[0].type == RESP_STRING ? *resp->item[0].text : '\0';
}

static void answer(struct wire *w, const struct message *m, const char *bytes, size_t len)
{
	w->back_at = arrival(w, world.now + one_way(w), w->back_at);
	schedule(w->back_at, SIM_ANSWER, m->client, m->node, w->id, incoming_of(false, len, bytes));
}

static void answer_line(struct wire *w, const struct message *m, const char *line)
{
	answer(w, m, line, strlen(line));
}

/* The commands around the scripts. The reply to a connection that was given up has no reader. */
static void serve_command(struct sim_node *n, struct message *m, struct wire *w)
{
	char bytes[BYTES_MAX];

	switch (m->asked) {
	case ASKED_AUTH:
		w->is_default = world.now < n->refuses_login_until;
		answer_line(w, m,
			w->is_default ? "-WRONGPASS invalid username-password pair or user is "
					"disabled.\r\n"
				      : "+OK\r\n");
		if (w->is_default)
			trace("n%d does not know c%d's password", m->node, m->client);
		break;
	case ASKED_HELLO:
		w->has_resp3 = true;
		answer_line(w, m, "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n");
		break;
	case ASKED_TRACKING:
	case ASKED_CACHING:
		w->caches = world.watches && m->asked == ASKED_CACHING;
		answer_line(w, m,
			world.watches ? "+OK\r\n"
				      : "-NOPERM User u has no permissions to run the 'client' "
					"command\r\n");
		break;
	case ASKED_SUBSCRIBE:
		subscribe(n, m);
		trace("n%d subscribes c%d", m->node, m->client);
		for (int i = 1; i < m->request.argc; i++)
			answer(w, m, bytes, bytes_of_subscription(bytes, m->request.argv[i]));
		break;
	case ASKED_SCRIPT:
		abort();
	}
}

void net_serve(int index)
{
	struct message *m = &messages[index];
	struct wire *w = &world.wire[m->client][m->node];
	struct sim_node *n = server_of(m->node);
	static struct resp answered, *const resp = &answered;
	char bytes[BYTES_MAX];
	bool is_heard = m->wire == w->id && !w->is_broken, spoils, refuses, lacks_login,
	     makes_majority;
	usec until = n->paused_until;
	int client = m->client, node = m->node, woken;
	char code;

	if (m->wire == w->id)
		until = w->held_until = usec_max(until, w->held_until);
	/* However long each request was delayed, they are served in the order in which they were
	 * sent.
	 */
	if (m->wire == w->id && m->place != w->served + 1)
		until = usec_max(until, world.now) + 1;
	if (!n->down && world.now < until) {
		schedule(until, SIM_SERVE, index, 0, 0, NULL);
		return;
	}
	if (m->wire == w->id) {
		w->served++;
		read_arrived(client, node);
	}
	/* The server is down, or the request never arrived. */
	if (n->down || m->wire == UINT32_MAX || (m->wire == w->id && w->is_deaf)) {
		discard(m);
		return;
	}
	spoils = world.now < n->refuses_until && draw_percent(30);
	lacks_login = is_heard && w->is_default && !n->is_open;
	refuses = lacks_login || (world.now < n->refuses_until && !spoils);
	if (m->asked != ASKED_SCRIPT && is_heard && !(refuses && m->asked == ASKED_SUBSCRIBE))
		serve_command(n, m, w);
	if (m->asked != ASKED_SCRIPT && !(is_heard && refuses && m->asked == ASKED_SUBSCRIBE)) {
		discard(m);
		return;
	}
	drop_closed_subscribers(n);
	if (m->is_end && !m->is_to_left && m->session == world.client[m->client]->sessions &&
		w->end_sent == 1)
		w->end_missed = !node_has_all(n, &m->request);
	/* Served, but the reply breaks the protocol; or not served. */
	resp->is_array = 0;
	if (refuses) {
		refuse(resp, lacks_login);
		if (m->wire == w->id && m->round == w->asked_round)
			w->asked_round = 0; /* it has stored nothing */
	} else {
		serve_script(n, m, resp);
	}
	code = resp_code(resp);
	if (m->is_end && m->is_to_left && w->end_sent == 1)
		w->end_missed = code != CODE_YES;
	makes_majority = code == CODE_YES && (!m->is_to_left || m->was_in_time) && note_yes(m, n);
	if (!m->is_to_left)
		note_lateness(m, n, code == CODE_YES);
	if (m->op == OP_JOIN && code)
		client_joined(world.client[client], m->session);
	/* The script took its client out of the queue, in which the client may wait by now. */
	world.lost_queue |= world.is_calm && !is_heard && m->op == OP_ACQUIRE && code == CODE_YES;
	/* Or bytes that the parser rejects: then the connection is useless. */
	if (spoils && draw_percent(50))
		resp->item[0].text[0] = '?';
	else if (spoils)
		resp->count = 0;
	if (m->op == OP_JOIN && code)
		trace("n%d puts c%d into its queue of %s, at %d", node, client, m->request.argv[3],
			reply_read(OP_JOIN, resp).rank);
	if (code)
		trace("n%d serves c%d%s: %.*s%s", node, client, is_heard ? "" : " late",
			(int)strcspn(resp->item[0].text, "\n"), resp->item[0].text,
			spoils ? ", and says garbage" : "");
	else
		trace("n%d %s c%d", node,
			m->op == OP_DELETE && !refuses ? "deletes the key of" : "refuses", client);
	/* Messages first: so they are read before the reply, which may be to their receiver. */
	woken = deliver_all(n);
	if (is_heard) {
		answer(w, m, bytes, bytes_of_reply(bytes, resp));
		/* The client must not count on asking again where a reservation is in its way. */
		if (code == CODE_RESERVED && world_breaks_off())
			break_wire(client, node, w->back_at);
	}
	discard(m);
	if (makes_majority)
		world_trap(world.client[client], node);
	if (woken >= 0)
		world_woken(world.client[woken]);
}

void net_answer(int client, int node, uint32_t id, struct incoming *in)
{
	struct wire *w = &world.wire[client][node];

	/* A client that is stopped for long gets no more messages than its socket has room for. */
	if (w->id == id && (!w->is_broken || w->is_refused) && !w->is_deaf &&
		!(in->is_push && w->inbox_len > INBOX_MAX)) {
		append(&w->inbox, &w->inbox_len, &w->inbox_room, in->bytes, in->len);
		client_go_on(world.client[client]);
	}
	free(in);
}

/* ---- faults ---- */

void net_broken(int client, int node, uint32_t id)
{
	struct wire *w = &world.wire[client][node];

	if (w->id != id)
		return;
	tell_close(client, node);
	w->is_broken = true;
	/* A waiter queues at another node because of it. */
	world.client[client]->chatted_until[0] = world.client[client]->chatted_until[1] = 0;
	w->floods_until = w->is_up ? world_floods() : 0;
	trace("c%d n%d broken", client, node);
	client_go_on(world.client[client]);
}

void net_cut(int client, int node, usec until)
{
	struct wire *w = &world.wire[client][node];

	w->cut_until = usec_max(w->cut_until, until);
	/* Bytes under way at this moment arrive; bytes that wait for the end of the cut may find
	 * the connection broken instead. */
	if (w->is_up && draw_percent(30))
		break_wire(client, node, until);
}

void net_deafen(int client, int node)
{
	struct wire *w = &world.wire[client][node];

	w->is_deaf = w->is_up;
}

void net_leave(int node)
{
	for (int client = 0; client < world.clients; client++) {
		world.wire[client][node].is_to_left = world.wire[client][node].is_up;
		for (int i = 0; i < most_messages; i++)
			messages[i].is_to_left |= is_on(&messages[i], client, node);
	}
}

void net_crash_node(int node)
{
	for (int client = 0; client < world.clients; client++)
		for (int i = 0; i < world.nodes; i++) {
			const struct wire *w = &world.wire[client][i];

			if (w->is_up && server_of(i) == server_of(node))
				break_wire(client, i, world.now + one_way(w));
		}
}

void net_crash_client(int client)
{
	struct client *before = running, *c = world.client[client];

	running = c;
	for (int i = 0; i < c->session.pool.count; i++)
		conn_abort(&c->session.pool.conn[i]);
	running = before;
}

void net_reset(void)
{
	for (int i = 0; i < SIM_CLIENTS; i++)
		for (int j = 0; j < SIM_NODES; j++) {
			struct wire *w = &world.wire[i][j];

			w->id = 0;
			w->rtt = w->cut_until = 0;
			w->yes_round = 0;
			w->settled_at = 0;
			renew(w);
		}
	/* Messages that were never used stay in their first order. */
	if (!messages[0].next_free)
		most_messages = MESSAGES;
	for (int i = 0; i < most_messages; i++) {
		messages[i].is_used = false;
		messages[i].next_free = i + 1 < MESSAGES ? i + 1 : -1;
	}
	free_message = most_messages = 0;
}
