#include "io/query.h"

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

static bool expect_page(struct query *q, int node, bool is_whole)
{
	if (!q->page[node])
		q->page[node] = malloc(PAGE_MAX);
	q->page_len[node] = 0;
	q->pool.conn[node].resp.page = q->page[node];
	q->pool.conn[node].resp.page_len = 0;
	q->pool.conn[node].resp.is_whole = is_whole;
	return q->page[node] != NULL;
}

static void send_to(struct query *q, int node, const struct request *r)
{
	if ((r->op == OP_SCAN || r->op == OP_COMMAND) && !expect_page(q, node, r->op == OP_COMMAND))
		pool_drop(&q->pool, node);
	else
		conn_send(&q->pool.conn[node], r, q->round, clock_now());
}

static void record_reply(struct query *q, int node, const struct reply *reply, const char *token)
{
	q->took[node] = clock_now() - q->tally.began;
	tally_take(&q->tally, node, reply, token);
}

static void handle_event(struct query *q, const struct event *ev,
	const struct request *const request[NODES_MAX], const char *token)
{
	/* A wake-up is no reply: doctor's own hand-off wakes the waiter that doctor tries. */
	if (ev->kind == EV_TIME || ev->kind == EV_LINK_SHAKES || ev->kind == EV_WAKE ||
		!request[ev->node] || q->tally.ballot[ev->node].vote != VOTE_NONE)
		return;
	if (ev->kind == EV_LINK_UP)
		send_to(q, ev->node, request[ev->node]);
	else if (ev->kind == EV_REPLY && ev->round != q->round)
		return;
	else
		record_reply(q, ev->node, ev->reply, token);
	if (ev->kind == EV_REPLY)
		q->page_len[ev->node] = q->pool.conn[ev->node].resp.page_len;
}

/* Ends the wait: a late reply must not be taken for the reply to the next question. */
static void give_up(struct query *q, const struct request *const request[NODES_MAX])
{
	for (int i = 0; i < q->tally.nodes; i++) {
		const struct conn *c = &q->pool.conn[i];
		bool is_up = c->state == CONN_UP;
		struct reply late = c->is_resolving
					    ? reply_absent(REASON_UNRESOLVED, c->addresses->why)
					    : reply_absent(conn_late_reason(c), NULL);

		if (!request[i] || q->tally.ballot[i].vote != VOTE_NONE)
			continue;
		record_reply(q, i, &late, NULL);
		/* A release that has been sent must arrive, so keep the connection. */
		if (!is_up || request[i]->op != OP_HAND_OFF)
			pool_drop(&q->pool, i);
	}
}

void query_ask(struct query *q, const struct request *const request[NODES_MAX], const char *token,
	enum query_wait wait)
{
	struct tally *t = &q->tally;
	usec until, asked = clock_now();
	int open = 0;

	q->round++;
	tally_clear(t, asked);
	for (int i = 0; i < t->nodes; i++) {
		if (!request[i])
			continue;
		open++;
		if (q->pool.conn[i].state == CONN_UP)
			send_to(q, i, request[i]);
		else
			pool_open(&q->pool, i);
	}
	for (until = asked + q->node_timeout; open > 0 && clock_now() < until;) {
		struct event ev;

		pool_next(&q->pool, until, -1, &ev);
		handle_event(q, &ev, request, token);
		open = 0;
		for (int i = 0; i < t->nodes; i++)
			open += request[i] && t->ballot[i].vote == VOTE_NONE;
		/* Two replies of three are a majority; if they differ, the ownership is unknown. */
		if (wait == QUERY_UNTIL_DECIDED && tally_ownership(t) != OWNERSHIP_UNKNOWN)
			until = usec_min(until, ev.now + usec_max(GRACE_MIN, 2 * (ev.now - asked)));
	}
	give_up(q, request);
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

void query_close(struct query *q)
{
	pool_close(&q->pool);
	for (int i = 0; i < NODES_MAX; i++)
		free(q->page[i]);
}
