#include "io/query.h"

#include <stdlib.h>
#include <string.h>

/* What the rest gets when the answer is known. */
#define LEAST_GRACE (2 * USEC_MSEC)

int query_open(
	struct query *s, const struct policy *policy, const struct node_list *nodes, struct err *e)
{
	memset(s->page, 0, sizeof(s->page));
	lock_init(&s->lock, policy);
	return pool_init(&s->pool, nodes, policy->node_timeout, e);
}

static bool expects_page(struct query *s, int node, bool is_whole)
{
	if (!s->page[node])
		s->page[node] = malloc(PAGE_MAX);
	s->page_len[node] = 0;
	s->pool.conn[node].resp.page = s->page[node];
	s->pool.conn[node].resp.page_len = 0;
	s->pool.conn[node].resp.is_whole = is_whole;
	return s->page[node] != NULL;
}

static void send_to(struct query *s, int node, const struct wish *wish)
{
	if ((wish->op == OP_SCAN || wish->op == OP_COMMAND) &&
		!expects_page(s, node, wish->op == OP_COMMAND))
		pool_drop(&s->pool, node);
	else
		conn_send(&s->pool.conn[node], wish, s->lock.round, clock_now());
}

static void hear(struct query *s, int node, const struct reply *reply, const char *token)
{
	s->took[node] = clock_now() - s->lock.round_at;
	lock_take_reply(&s->lock, node, reply, token);
}

static void take_in(struct query *s, const struct event *ev, const struct wish wish[NODES_MAX],
	const char *token)
{
	const struct peer *m = &s->lock.peer[ev->node];

	if (ev->kind == EV_TIME || ev->kind == EV_LINK_SHAKES || wish[ev->node].op == OP_NONE ||
		m->vote != VOTE_NONE)
		return;
	if (ev->kind == EV_LINK_UP)
		send_to(s, ev->node, &wish[ev->node]);
	else if (ev->kind == EV_REPLY && ev->round != s->lock.round)
		return;
	else
		hear(s, ev->node, ev->reply, token);
	if (ev->kind == EV_REPLY)
		s->page_len[ev->node] = s->pool.conn[ev->node].resp.page_len;
}

/* Nobody is waited for any more: late answers must not be taken for those to the next question. */
static void give_up(struct query *s, const struct wish wish[NODES_MAX])
{
	for (int i = 0; i < s->lock.policy.nodes; i++) {
		const struct conn *c = &s->pool.conn[i];
		bool is_up = c->state == CONN_UP;
		struct reply late = c->is_resolving
					    ? reply_absent(REASON_UNRESOLVED, c->addresses->why)
					    : reply_absent(conn_late_reason(c), NULL);

		if (wish[i].op == OP_NONE || s->lock.peer[i].vote != VOTE_NONE)
			continue;
		hear(s, i, &late, NULL);
		/* A release that is on its way shall arrive. */
		if (!is_up || wish[i].op != OP_HAND_OFF)
			pool_drop(&s->pool, i);
	}
}

void query_ask(struct query *s, const struct wish wish[NODES_MAX], const char *token,
	enum query_patience patience)
{
	struct lock *lock = &s->lock;
	usec until, asked = clock_now();
	int open = 0;

	lock_begin_question(lock, asked);
	for (int i = 0; i < lock->policy.nodes; i++) {
		if (wish[i].op == OP_NONE)
			continue;
		open++;
		if (s->pool.conn[i].state == CONN_UP)
			send_to(s, i, &wish[i]);
		else
			pool_open(&s->pool, i);
	}
	for (until = asked + lock->policy.node_timeout; open > 0 && clock_now() < until;) {
		struct event ev;

		pool_next(&s->pool, until, -1, &ev);
		take_in(s, &ev, wish, token);
		open = 0;
		for (int i = 0; i < lock->policy.nodes; i++)
			open += wish[i].op != OP_NONE && lock->peer[i].vote == VOTE_NONE;
		/* Two of three that disagree are a majority of answers, and decide nothing. */
		if (patience == QUERY_MOST && lock_ownership(lock) != OWNERSHIP_UNKNOWN)
			until = usec_min(
				until, ev.now + usec_max(LEAST_GRACE, 2 * (ev.now - asked)));
	}
	give_up(s, wish);
}

void query_ask_all(
	struct query *s, const struct wish *wish, const char *token, enum query_patience patience)
{
	struct wish wishes[NODES_MAX];

	for (int i = 0; i < NODES_MAX; i++)
		wishes[i] = *wish;
	query_ask(s, wishes, token, patience);
}

void query_renew(struct query *s)
{
	for (int i = 0; i < s->lock.policy.nodes; i++)
		pool_drop(&s->pool, i);
}

void query_close(struct query *s)
{
	pool_close(&s->pool);
	for (int i = 0; i < NODES_MAX; i++)
		free(s->page[i]);
}
