/*
 * The kernel and the network under redlock's own net/pool.c and net/session.c: the functions of
 * net/conn.h, net/resolve.h and base/alarm.h, and clock_gettime and getrandom, all driven by
 * the seed. One connection keeps the order of its bytes, as TCP does; bytes sent on a connection
 * that the client has given up may still arrive, also after bytes that it sends on the next one.
 */
#include "sim/sim.h"

#include "base/alarm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MESSAGES 16384 /* a node that is stopped until the end serves none of its requests */
#define FORGETS_PERCENT 4 /* of the requests find that the server has forgotten all scripts */
#define FLOOD_PART 5 /* messages that one look at a flood returns, */
#define FLOOD_TIME 200 /* and how long it takes to read them, in microseconds */
#define FLOOD_LOOKS 100 /* the client may look so often before it tells the time */
#define KEEPALIVE (300 * USEC_SEC) /* then a server gives up a silent connection */

static struct message messages[MESSAGES];
static int free_message, most_messages; /* messages in use, and the most that ever were */

/* ---- clocks, randomness, names ---- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	/* This machine is never suspended: all its other clocks agree. */
	usec now = id == CLOCK_REALTIME ? client_wall(running) : client_clock(running);

	ts->tv_sec = now / USEC_SEC;
	ts->tv_nsec = now % USEC_SEC * 1000;
	return 0;
}

ssize_t getrandom(void *dst, size_t length, unsigned int flags)
{
	unsigned char *bytes = dst;

	(void)flags;
	for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
		uint64_t bits = draw();

		memcpy(bytes + i, &bits, length - i < sizeof(bits) ? length - i : sizeof(bits));
	}
	return (ssize_t)length;
}

void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX])
{
	(void)timeout;
	for (int i = 0; i < list->count; i++)
		out[i].count = 1;
}

void addresses_free(struct addresses *a)
{
	(void)a;
}

bool addresses_overlap(const struct addresses *a, const struct addresses *b)
{
	(void)a, (void)b;
	return false;
}

int alarm_open(struct err *e)
{
	(void)e;
	return -1 + 1000; /* never closed: see close() */
}

void alarm_set(int fd, usec at)
{
	(void)fd, (void)at; /* alarm_wait() has the same time */
}

int close(int fd)
{
	(void)fd;
	return 0;
}

static bool is_flooded(const struct wire *w)
{
	return w->is_broken && world.now < w->floods_until;
}

/* The time in which a client reads a part of a flood, until the client can look again. NEVER: there
 * is none. */
static usec read_flood(struct client *c, int nodes)
{
	usec until = NEVER;

	for (int i = 0; i < nodes; i++) {
		struct wire *w = &world.wire[c->id][i];

		if (!is_flooded(w) || c->session.pool.conn[i].state != CONN_UP)
			continue;
		until = world.now + FLOOD_TIME;
		/* A client that was told has another time to be told. */
		if (client_clock(c) < c->session.wake_at || c->session.wake_at != w->untold_at)
			w->untold = 0;
		w->untold_at = c->session.wake_at;
		w->untold += client_clock(c) >= c->session.wake_at;
		if (w->untold > FLOOD_LOOKS)
			breach("flood", "c%d is not told the time while n%d floods it", c->id, i);
	}
	return until;
}

/* For base/log, which does not ask before it writes. */
int alarm_poll(struct pollfd *fds, size_t count, usec most)
{
	(void)fds, (void)most;
	return (int)count;
}

/* Sleeps until bytes arrive, the time has come, or the command has exited. */
int alarm_wait(struct pollfd *fds, size_t count, usec most)
{
	struct client *c = running;
	usec until = NEVER;
	int nodes = (int)count - 2;

	if (most != NEVER)
		until = true_time(c, client_clock(c) + most);
	for (int i = 0; i < nodes; i++)
		if (c->session.pool.conn[i].state == CONN_DOWN &&
			c->session.pool.reported[i] != CONN_DOWN)
			breach("answers", "c%d sleeps, not told that n%d is lost", c->id, i);
	client_wait(usec_min(until, read_flood(c, nodes)));
	for (int i = 0; i < nodes; i++) {
		struct wire *w = &world.wire[c->id][i];

		bool is_new = w->is_up && c->session.pool.conn[i].state == CONN_OPENING;

		fds[i].revents = is_new || w->is_broken || w->replies > w->heard ? POLLIN : 0;
	}
	fds[nodes].revents = c->told_over ? POLLIN : 0;
	c->told_over = false;
	return 1;
}

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

/* ---- connections, with the functions of net/conn.h ---- */

static int node_of(const struct conn *c)
{
	return (int)(c - running->session.pool.conn);
}

static struct wire *wire_of(const struct conn *c)
{
	return &world.wire[running->id][node_of(c)];
}

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
	for (int i = 0; i < w->replies; i++)
		free(w->incoming[i]);
	w->replies = w->heard = w->flood = w->untold = 0;
	w->floods_until = 0;
	w->is_up = w->is_broken = w->is_deaf = w->is_followed = w->is_refused = false;
	w->is_to_left = false;
}

void conn_init(struct conn *c, const struct node *node, struct addresses *addresses)
{
	c->node = node;
	c->addresses = addresses;
	c->state = CONN_DOWN;
	c->pending_count = 0;
	c->pending = wire_of(c)->pending;
	c->fd = -1;
	renew(wire_of(c));
}

static bool is_on(const struct message *m, int client, int node)
{
	return m->op != OP_NONE && m->client == client && m->node == node &&
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

/* A server that fails to write a message to a closed unix socket frees the client with the requests
 * that it has not read. Chance would hardly send a message at this moment. */
static void drop_unread(int client, int node)
{
	if (!has_subscribed(client, node, -1) || !world_drops_unread())
		return;
	for (int i = 0; i < most_messages; i++)
		if (is_on(&messages[i], client, node)) {
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

void conn_abort(struct conn *c)
{
	give_up(running->id, node_of(c));
	c->state = CONN_DOWN;
	c->pending_count = 0;
}

static void begin_round(struct wire *w, uint32_t round)
{
	if (w->round != round) {
		w->opened = w->sent = 0;
		w->round_began = world.now;
	}
	w->round = round;
}

void conn_open(struct conn *c)
{
	struct wire *w = wire_of(c);

	begin_round(w, running->session.lock.stamp.round);
	w->sent = 0;
	w->end_opened++;
	/* Once to ask, and twice more to release; while it waits, once a second at most. */
	if (++w->opened > 3 + (world.now - w->round_began) / USEC_SEC)
		breach("requests", "c%d opened n%d %d times in round %u", running->id, node_of(c),
			w->opened, w->round);

	conn_abort(c);
	c->state = CONN_OPENING;
	schedule(arrival(w, world.now + 2 * one_way(w), 0), SIM_CONNECTED, running->id, node_of(c),
		w->id, NULL);
}

/* The server has as many connections as it takes (`maxclients`). */
static bool is_full(int node)
{
	int connections = 0;

	for (int i = 0; i < world.clients; i++)
		connections += world.wire[i][node].is_up;
	return world.node[node].room > 0 && connections >= world.node[node].room;
}

void net_connected(int client, int node, uint32_t id)
{
	struct wire *w = &world.wire[client][node];

	if (w->id != id)
		return;
	/* The kernel of a stopped server accepts connections, too. */
	w->is_refused = is_full(node);
	w->is_up = !server_of(node)->down && !w->is_refused;
	w->is_broken = !w->is_up;
	trace("c%d n%d %s", client, node, w->is_up ? "connected" : "refused");
	client_go_on(world.client[client]);
}

static void fail(struct conn *c, enum reason reason)
{
	leave(running->id, node_of(c));
	c->failure = reply_absent(reason, NULL);
	c->state = CONN_DOWN;
	c->pending_count = 0;
}

void conn_handle(struct conn *c, short revents)
{
	struct wire *w = wire_of(c);

	(void)revents;
	/* The socket returns the bytes before the end of the stream first, and the end at the next
	 * read: replies that were not taken until then are lost. */
	if (w->heard < w->replies)
		w->heard = w->replies;
	else if (c->state == CONN_OPENING && w->is_up)
		c->state = CONN_UP;
	else if (c->state == CONN_UP && is_flooded(w))
		w->flood = FLOOD_PART;
	else if (c->state != CONN_DOWN && w->is_broken)
		fail(c, w->floods_until            ? REASON_ENDLESS
			: w->is_refused            ? REASON_MAXCLIENTS
			: c->state == CONN_OPENING ? REASON_CONNECT
						   : REASON_CLOSED);
}

short conn_wants(const struct conn *c)
{
	return c->state == CONN_DOWN ? 0 : POLLIN;
}

enum reason conn_late_reason(const struct conn *c)
{
	return c->state == CONN_UP ? REASON_TIMEOUT : REASON_CONNECT_TIMEOUT;
}

usec conn_due(const struct conn *c)
{
	(void)c;
	return NEVER;
}

int conn_lookup(const struct conn *c)
{
	(void)c;
	return -1;
}

bool conn_may_vote(enum op op)
{
	(void)op;
	return false;
}

/* No name has several addresses, with the functions of net/others.h. */
struct others *others_look(struct others *o, const struct conn *c, bool is_new)
{
	(void)c, (void)is_new;
	return o;
}

struct pollfd others_poll(const struct others *o)
{
	(void)o;
	return (struct pollfd){.fd = -1};
}

usec others_due(const struct others *o)
{
	(void)o;
	return NEVER;
}

void others_handle(struct others *o, short revents)
{
	(void)o, (void)revents;
}

bool others_know(const struct others *o)
{
	(void)o;
	return true;
}

bool others_judge(struct others *o, const char *run_id)
{
	(void)o, (void)run_id;
	return false;
}

void others_free(struct others *o)
{
	(void)o;
}

/* True for the release of a lock that its client held to the end, as far as the client knows; false
 * for the release of an earlier attempt's token, and of a reservation. */
static bool is_end(const struct message *m)
{
	return running->is_ending && (m->op == OP_HAND_OFF || m->op == OP_EXPIRE) &&
	       !strstr(node_arg(&m->request, "flags"), FLAG_LEAVES);
}

static bool is_of_waiter(enum op op)
{
	return op == OP_SUBSCRIBE || op == OP_JOIN;
}

/* Some servers have not answered AUTH when the first request is sent. Not drawn. Among rivals all
 * have: the time of AUTH, which another request has to wait for, would belong to connecting. */
bool conn_deletes_in_vain(const struct conn *c)
{
	(void)c;
	return false;
}

bool conn_takes_early(const struct conn *c, int keys, bool *is_unsure)
{
	const struct wire *w = wire_of(c);

	*is_unsure = true;
	return keys <= 4 && w->queued == 0 && !world.profile->are_rivals &&
	       (world.seed + w->id) % 4 == 0;
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

/* Copies the request, for the client's strings change. */
static void keep_request(struct request *kept, const struct request *r)
{
	memcpy(kept, r, offsetof(struct request, text));
	kept->used = 0;
	for (int i = 0; i < r->argc; i++) {
		bool is_argument = i > (r->op == OP_SUBSCRIBE ? 0 : 2);

		kept->argv[i] = is_argument ? kept->text + kept->used : NULL;
		if (!is_argument)
			continue;
		assert(kept->used + r->len[i] < sizeof(kept->text));
		memcpy(kept->text + kept->used, r->argv[i], r->len[i]);
		kept->text[kept->used + r->len[i]] = '\0';
		kept->used += r->len[i] + 1;
	}
}

/* Requests in one packet arrive at once. */
static struct message *send_message(struct conn *c, const struct request *r, uint32_t round)
{
	struct wire *w = wire_of(c);
	struct message *m = &messages[free_message];
	int index = free_message;

	assert(index >= 0);
	free_message = m->next_free;
	most_messages = index < most_messages ? most_messages : index + 1;
	keep_request(&m->request, r);
	m->client = running->id;
	m->node = node_of(c);
	m->wire = w->id;
	m->left_at = 0;
	m->op = r->op;
	m->round = round;
	m->session = running->sessions;
	m->is_end = is_end(m);
	m->is_to_left = w->is_to_left;
	m->place = ++w->queued;
	w->serve_at =
		w->is_followed ? w->serve_at : arrival(w, world.now + one_way(w), w->serve_at);
	w->is_followed = r->is_followed;
	schedule(w->serve_at, SIM_SERVE, index, 0, 0, NULL);
	hash_in((uint64_t)round << 32 | (uint64_t)m->client << 16 | (uint64_t)m->node << 8 | r->op);
	trace("c%d n%d sends %s round %u", running->id, m->node, op_name(r->op), round);
	return m;
}

void conn_send(struct conn *c, const struct request *r, uint32_t round, usec now)
{
	struct wire *w = wire_of(c);
	bool may_be_unknown = r->by_digest && op_releases(r->op);
	const struct message *m;

	assert(c->pending_count < LOCK_PENDING_MAX);
	c->pending[c->pending_count++] = (struct pending){.op = r->op,
		.round = round,
		.sent_at = now,
		.may_be_unknown = may_be_unknown,
		.is_watched = r->watches && world.watches};
	if (may_be_unknown)
		keep_request(&w->release, r);
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
	m = send_message(c, r, round);
	w->end_sent += m->is_end;
	if ((r->op == OP_UNDO || m->is_end) && !node_arg(&m->request, "token")[0])
		breach("pending", "c%d releases on n%d without a token", running->id, m->node);
}

/* A server that has forgotten the script of a release without a reply gets OP_DELETE. It may have
 * read the release alone. */
static void delete_released(struct conn *c)
{
	struct wire *w = wire_of(c);
	bool may_be_unknown = false;
	struct request deletion;

	for (int i = 0; i < c->pending_count; i++)
		may_be_unknown |= c->pending[i].may_be_unknown;
	if (!may_be_unknown)
		return;
	request_delete(&deletion, &w->release);
	send_message(c, &deletion, 0);
}

void conn_close(struct conn *c)
{
	/* An orderly close: all bytes sent before it arrive, at a server that reads them. */
	delete_released(c);
	drop_unread(running->id, node_of(c));
	tell_close(running->id, node_of(c));
	renew(wire_of(c));
	c->state = CONN_DOWN;
	c->pending_count = 0;
}

static void discard(struct message *m)
{
	m->op = OP_NONE;
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
static void refuse(struct resp *resp)
{
	static const char *const errors[] = {
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"BUSY Redis is busy running a script.",
		"MISCONF Redis is configured to save RDB snapshots.",
	};

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
	if (m->op == OP_EXPIRE && n->ended_revoked)
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
	w->yes_until = node_keys_end(n, &m->request, &c->session);
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
static bool push_to(int client, int node, uint32_t wire, const struct sim_message *message)
{
	struct wire *w = &world.wire[client][node];
	struct incoming *in;

	if (w->id != wire || w->is_broken || w->is_deaf)
		return false;
	in = calloc(1, sizeof(*in));
	assert(in);
	in->is_push = true;
	in->message = *message;
	/* The client may ask because of it. */
	world.client[client]->chatted_until[0] = world.client[client]->chatted_until[1] = 0;
	w->back_at = arrival(w, world.now + one_way(w), w->back_at);
	schedule(w->back_at, SIM_ANSWER, client, node, w->id, in);
	return true;
}

static void deliver(const struct sim_subscriber *to, const struct sim_message *message)
{
	if (push_to(to->client, to->node, to->wire, message))
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
		const struct sim_message message = {.changed = watch.name};

		if (push_to(watch.client, watch.node, watch.wire, &message))
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

static void break_wire(int client, int node, usec at)
{
	schedule(at, SIM_BROKEN, client, node, world.wire[client][node].id, NULL);
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

/* The server's reply to a request that is not refused. */
static void serve(struct sim_node *n, const struct message *m, struct incoming *in)
{
	struct resp *resp = &in->resp;

	if (m->is_to_left && m->op != OP_SUBSCRIBE) {
		node_serve_left(n, &m->request, resp);
		return;
	}
	if (m->op != OP_SUBSCRIBE) {
		if (m->request.watches && world.watches)
			node_watch(n,
				(struct sim_watch){
					.client = m->client, .node = m->node, .wire = m->wire},
				&m->request);
		if (knows_script(n, &m->request, resp)) {
			node_serve(n, &m->request, resp);
			check_queue(n, m);
		}
		node_ignore_changes(n, m->client, m->wire);
		return;
	}
	subscribe(n, m);
	resp->is_array = 0;
	resp->count = 1;
	resp->item[0].type = RESP_STATUS;
}

/* '\0': the reply is an error. */
static char resp_code(const struct resp *resp)
{
	return resp->item[0].type == RESP_STRING ? *resp->item[0].text : '\0';
}

void net_serve(int index)
{
	struct message *m = &messages[index];
	struct wire *w = &world.wire[m->client][m->node];
	struct sim_node *n = server_of(m->node);
	struct incoming *in, unheard;
	struct resp *resp;
	bool is_heard = m->wire == w->id && !w->is_broken, spoils, makes_majority;
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
	if (m->wire == w->id)
		w->served++;
	/* The server is down, or the request never arrived. */
	if (n->down || m->wire == UINT32_MAX || (m->wire == w->id && w->is_deaf)) {
		discard(m);
		return;
	}
	/* The reply to a connection that was given up has no reader. */
	if (m->op == OP_SUBSCRIBE && !is_heard) {
		discard(m);
		return;
	}
	in = is_heard ? malloc(sizeof(*in)) : &unheard;
	assert(in);
	in->is_push = false;
	resp = &in->resp;
	drop_closed_subscribers(n);
	if (m->is_end && !m->is_to_left && m->session == world.client[m->client]->sessions &&
		w->end_sent == 1)
		w->end_missed = !node_has_all(n, &m->request);
	/* Served, but the reply breaks the protocol; or not served. */
	spoils = world.now < n->refuses_until && draw_percent(30);
	if (world.now < n->refuses_until && !spoils)
		refuse(resp);
	else
		serve(n, m, in);
	code = resp_code(resp);
	if (m->is_end && m->is_to_left && w->end_sent == 1)
		w->end_missed = code != CODE_YES;
	makes_majority = code == CODE_YES && !m->is_to_left && note_yes(m, n);
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
			m->op == OP_SUBSCRIBE ? "subscribes"
			: m->op == OP_DELETE  ? "deletes the key of"
					      : "refuses",
			client);
	/* Messages first: so they are read before the reply, which may be to their receiver. */
	woken = deliver_all(n);
	if (is_heard) {
		w->back_at = arrival(w, world.now + one_way(w), w->back_at);
		schedule(w->back_at, SIM_ANSWER, client, node, w->id, in);
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
	if (w->id != id || w->is_broken || w->is_deaf ||
		(in->is_push && w->replies >= SIM_WIRE_QUEUE - LOCK_PENDING_MAX)) {
		free(in);
		return;
	}
	assert(w->replies < SIM_WIRE_QUEUE);
	w->incoming[w->replies++] = in;
	client_go_on(world.client[client]);
}

static struct incoming *take_incoming(struct wire *w)
{
	struct incoming *in = w->incoming[0];

	w->replies--;
	w->heard--;
	memmove(w->incoming, w->incoming + 1, (size_t)w->replies * sizeof(w->incoming[0]));
	return in;
}

/* The strings are valid until the next call, for any connection. */
static struct push push_of(const struct sim_message *message)
{
	static char channel[CHANNEL_MAX], text[sizeof(message->text)];
	char suffix[QUEUE_SUFFIX_MAX];

	const char *key = message->queue > SIM_LOCKS ? "m" : "k";

	if (message->changed)
		return (struct push){.is_change = true,
			.channel = message->changed,
			.channel_len = strlen(message->changed)};
	request_queue_suffix(suffix, message->queue > SIM_LOCKS ? 0 : message->queue);
	if (message->waiter[0])
		snprintf(channel, sizeof(channel), CHANNEL_WAKE, key, suffix, message->waiter);
	else
		snprintf(channel, sizeof(channel), CHANNEL_QUEUE, key, suffix);
	memcpy(text, message->text, sizeof(text));
	return (struct push){.channel = channel,
		.channel_len = strlen(channel),
		.message = text,
		.message_len = strlen(text)};
}

/* A message that no lock has a use for. */
static bool next_of_flood(struct conn *c, struct wire *w, struct pending *request)
{
	if (c->state != CONN_UP || w->flood == 0)
		return false;
	w->flood--;
	*request = (struct pending){.is_push = true};
	c->push = (struct push){.channel = "x", .channel_len = 1};
	return true;
}

static struct reply reply_of(struct conn *c, enum op op, const struct resp *resp)
{
	struct reply reply = {.vote = VOTE_YES};

	if (op != OP_SUBSCRIBE || resp->item[0].type == RESP_ERROR)
		reply = reply_read(op, resp);
	/* A connection that is not subscribed is of no use. */
	if (op == OP_SUBSCRIBE && reply.vote != VOTE_YES) {
		fail(c, reply.reason);
		c->failure = reply;
	}
	return reply;
}

/* As in net/conn.c. */
static bool needs_name(enum op op)
{
	return op != OP_SUBSCRIBE && !op_releases(op);
}

bool conn_next_reply(struct conn *c, struct pending *request, struct reply *reply)
{
	struct wire *w = wire_of(c);
	struct incoming *in = w->incoming[0];

	if (c->state != CONN_UP || w->heard == 0)
		return next_of_flood(c, w, request);
	if (!in->is_push && !in->resp.count) {
		fail(c, REASON_GARBAGE);
		return false;
	}
	take_incoming(w);
	if (in->is_push) {
		*request = (struct pending){.is_push = true};
		c->push = push_of(&in->message);
		free(in);
		return true;
	}
	/* The lookup that began with the request has its answer. */
	if (w->is_to_left && needs_name(c->pending[0].op)) {
		fail(c, REASON_LEFT);
		free(in);
		return false;
	}
	*request = c->pending[0];
	c->pending_count--;
	memmove(c->pending, c->pending + 1, (size_t)c->pending_count * sizeof(c->pending[0]));
	*reply = reply_of(c, request->op, &in->resp);
	reply->is_watched = request->is_watched;
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
	free(in);
	return true;
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
	for (int client = 0; client < world.clients; client++)
		world.wire[client][node].is_to_left = world.wire[client][node].is_up;
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
	for (int i = 0; i < world.nodes; i++)
		give_up(client, i);
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
		messages[i].op = OP_NONE;
		messages[i].next_free = i + 1 < MESSAGES ? i + 1 : -1;
	}
	free_message = most_messages = 0;
}
