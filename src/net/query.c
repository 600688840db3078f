#include "net/query.h"

#include <stdlib.h>
#include <string.h>

/* The least time that the other nodes get when the ownership is known. */
#define GRACE_MIN (2 * USEC_MSEC)

int query_open(
	struct query *q, const struct policy *policy, const struct node_list *nodes, struct err *e)
{
	memset(q->page, 0, sizeof(q->page));
	tally_init(&q->tally, policy->nodes);
	q->round = 0;
	q->node_timeout = policy->node_timeout;
	return pool_init(&q->pool, nodes, policy->node_timeout, e);
}

/* Questions on their way to the nodes. */
struct asking {
	const struct request *const *first; /* of each node; NULL: the node is not asked */
	int count;
	const char *token;
	query_answered *answered;
	void *context;
	int next[NODES_MAX]; /* the question that the node answers next */
	bool moved[NODES_MAX]; /* the node was asked again, because its name may lead elsewhere */
	usec due[NODES_MAX]; /* the end of the wait for that answer; NEVER: there is no wait */
};

static bool is_open(const struct asking *a, int node)
{
	return a->due[node] != NEVER;
}

/* The next answer of the node, if one is missing, may arrive until `due`. Without memory, it has no
 * page. */
static void await_next(struct query *q, struct asking *a, int node, usec due)
{
	struct resp *resp = &q->pool.conn[node].resp;
	enum op op = a->next[node] < a->count ? a->first[node][a->next[node]].op : OP_NONE;

	a->due[node] = op == OP_NONE ? NEVER : due;
	if ((op == OP_SCAN || op == OP_COMMAND) && !q->page[node])
		q->page[node] = malloc(PAGE_MAX);
	resp->page = op == OP_SCAN || op == OP_COMMAND ? q->page[node] : NULL;
	resp->page_len = 0;
	resp->is_whole = op == OP_COMMAND;
}

/* Sends all questions that the node has not answered. */
static void send_rest(struct query *q, struct asking *a, int node)
{
	struct conn *c = &q->pool.conn[node];

	await_next(q, a, node, a->due[node]);
	for (int i = a->next[node]; i < a->count && c->state == CONN_UP; i++)
		conn_send(c, &a->first[node][i], q->round + (uint32_t)i, clock_now());
}

static void take_answer(struct query *q, struct asking *a, int node, const struct reply *reply)
{
	int question = a->next[node]++;

	q->took[node] = clock_now() - q->tally.began;
	q->page_len[node] = q->pool.conn[node].resp.page_len;
	tally_take(&q->tally, node, reply, a->token);
	if (a->answered && !a->answered(a->context, node, question))
		a->next[node] = a->count;
	await_next(q, a, node, clock_now() + q->node_timeout);
}

/* The time of a node begins here: this process may have stood still before. */
static void begin(struct query *q, struct asking *a, int node)
{
	if (q->pool.conn[node].state == CONN_UP)
		send_rest(q, a, node);
	else
		pool_open(&q->pool, node);
	a->due[node] = clock_now() + q->node_timeout;
}

static void connected(struct query *q, struct asking *a, int node)
{
	send_rest(q, a, node);
	/* In time, but this process did not run: how long connecting and sending took is unknown.
	 */
	if (clock_now() >= a->due[node])
		a->due[node] = clock_now() + q->node_timeout;
}

static void handle_event(struct query *q, struct asking *a, const struct event *ev)
{
	/* The name may lead to another server by now. */
	if (ev->kind == EV_LINK_DOWN && is_open(a, ev->node) && !a->moved[ev->node] &&
		reply_is_elsewhere(ev->reply)) {
		a->moved[ev->node] = true;
		pool_open(&q->pool, ev->node);
		return;
	}
	/* A wake-up is no reply: doctor's own hand-off wakes the waiter that doctor tries. */
	if (ev->kind == EV_TIME || ev->kind == EV_LINK_SHAKES || ev->kind == EV_WAKE ||
		!is_open(a, ev->node))
		return;
	if (ev->kind == EV_LINK_UP)
		connected(q, a, ev->node);
	else if (ev->kind != EV_REPLY || ev->round == q->round + (uint32_t)a->next[ev->node])
		take_answer(q, a, ev->node, ev->reply);
	/* Not only EV_LINK_DOWN: a refused SUBSCRIBE, too, takes the connection down. */
	if (is_open(a, ev->node) && q->pool.conn[ev->node].state == CONN_DOWN)
		pool_open(&q->pool, ev->node);
}

/* Ends the wait: a late reply must not be taken for the reply to a later question. */
static void give_up(struct query *q, struct asking *a, int node)
{
	const struct conn *c = &q->pool.conn[node];
	struct reply late = c->is_resolving ? reply_absent(REASON_UNRESOLVED, c->addresses->why)
					    : reply_absent(conn_late_reason(c), NULL);
	bool has_release = false;

	for (int i = a->next[node]; i < a->count; i++)
		has_release |= a->first[node][i].op == OP_HAND_OFF;
	take_answer(q, a, node, &late);
	a->due[node] = NEVER;
	/* A release that has been sent must arrive, so keep the connection. */
	if (c->state != CONN_UP || !has_release)
		pool_drop(&q->pool, node);
}

/* Returns when the first of the waits ends; NEVER: no node is waited for. */
static usec first_due(const struct asking *a, int nodes)
{
	usec due = NEVER;

	for (int i = 0; i < nodes; i++)
		due = usec_min(due, a->due[i]);
	return due;
}

static void ask(struct query *q, struct asking *a, enum query_wait wait)
{
	struct tally *t = &q->tally;
	usec asked = clock_now(), until = NEVER;

	tally_clear(t, asked);
	for (int i = 0; i < NODES_MAX; i++)
		a->due[i] = i < t->nodes && a->first[i] ? asked : NEVER;
	for (int i = 0; i < t->nodes; i++)
		if (is_open(a, i))
			begin(q, a, i);
	while (first_due(a, t->nodes) != NEVER) {
		struct event ev;

		pool_next(&q->pool, usec_min(until, first_due(a, t->nodes)), -1, &ev);
		handle_event(q, a, &ev);
		/* Two replies of three are a majority; if they differ, the ownership is unknown. */
		if (wait == QUERY_UNTIL_DECIDED && tally_ownership(t) != OWNERSHIP_UNKNOWN)
			until = usec_min(until, ev.now + usec_max(GRACE_MIN, (ev.now - asked) / 2));
		/* A reply that has arrived is not late, however long this process stood still
		 * before it read the reply. */
		for (int i = 0; i < t->nodes && ev.kind == EV_TIME; i++)
			if (is_open(a, i) && usec_min(until, a->due[i]) <= ev.now)
				give_up(q, a, i);
	}
	q->round += (uint32_t)a->count + 1;
}

void query_ask(struct query *q, const struct request *const request[NODES_MAX], const char *token,
	enum query_wait wait)
{
	ask(q, &(struct asking){.first = request, .count = 1, .token = token}, wait);
}

void query_ask_series(struct query *q, const struct request *const first[NODES_MAX], int count,
	query_answered *answered, void *context)
{
	ask(q,
		&(struct asking){
			.first = first, .count = count, .answered = answered, .context = context},
		QUERY_ALL);
}

void query_ask_all(
	struct query *q, const struct request *r, const char *token, enum query_wait wait)
{
	const struct request *request[NODES_MAX];

	for (int i = 0; i < NODES_MAX; i++)
		request[i] = r;
	query_ask(q, request, token, wait);
}

void query_reconnect(struct query *q)
{
	for (int i = 0; i < q->tally.nodes; i++)
		pool_drop(&q->pool, i);
}

void query_reconnect_elsewhere(struct query *q)
{
	query_reconnect(q);
	for (int i = 0; i < q->tally.nodes; i++)
		q->pool.conn[i].next_address++;
}

void query_close(struct query *q)
{
	pool_close(&q->pool);
	for (int i = 0; i < NODES_MAX; i++)
		free(q->page[i]);
}
