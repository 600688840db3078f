#include "io/survey.h"

#include <stdlib.h>
#include <string.h>

/* What the rest gets when the answer is known. */
#define LEAST_GRACE (2 * USEC_MSEC)

int survey_open(
	struct survey *s, const struct policy *policy, const struct node_list *nodes, struct err *e)
{
	memset(s->page, 0, sizeof(s->page));
	quorum_init(&s->quorum, policy);
	return pool_init(&s->pool, nodes, policy->node_timeout, e);
}

static bool expects_page(struct survey *s, int node, bool is_whole)
{
	if (!s->page[node])
		s->page[node] = malloc(PAGE_MAX);
	s->page_len[node] = 0;
	s->pool.conn[node].reply.page = s->page[node];
	s->pool.conn[node].reply.page_len = 0;
	s->pool.conn[node].reply.is_whole = is_whole;
	return s->page[node] != NULL;
}

static void send_to(struct survey *s, int node, const struct wish *wish)
{
	if ((wish->op == OP_SCAN || wish->op == OP_ASK) &&
		!expects_page(s, node, wish->op == OP_ASK))
		pool_drop(&s->pool, node);
	else
		conn_send(&s->pool.conn[node], wish, s->quorum.round, clock_now());
}

static void hear(struct survey *s, int node, const struct answer *answer, const char *token)
{
	s->took[node] = clock_now() - s->quorum.round_at;
	quorum_take_answer(&s->quorum, node, answer, token);
}

static void take_in(struct survey *s, const struct event *ev, const struct wish wish[NODES_MAX],
	const char *token)
{
	const struct member *m = &s->quorum.member[ev->node];

	if (ev->kind == EV_TIME || ev->kind == EV_LINK_SHAKES || wish[ev->node].op == OPS ||
		m->vote != VOTE_NONE)
		return;
	if (ev->kind == EV_LINK_UP)
		send_to(s, ev->node, &wish[ev->node]);
	else if (ev->kind == EV_REPLY && ev->round != s->quorum.round)
		return;
	else
		hear(s, ev->node, ev->answer, token);
	if (ev->kind == EV_REPLY)
		s->page_len[ev->node] = s->pool.conn[ev->node].reply.page_len;
}

/* Nobody is waited for any more: late answers must not be taken for those to the next question. */
static void give_up(struct survey *s, const struct wish wish[NODES_MAX])
{
	for (int i = 0; i < s->quorum.policy.nodes; i++) {
		const struct conn *c = &s->pool.conn[i];
		bool is_up = c->state == CONN_UP;
		struct answer late = c->is_resolving
					     ? answer_absent(REASON_UNRESOLVED, c->addresses->why)
					     : answer_absent(conn_late_reason(c), NULL);

		if (wish[i].op == OPS || s->quorum.member[i].vote != VOTE_NONE)
			continue;
		hear(s, i, &late, NULL);
		/* A release that is on its way shall arrive. */
		if (!is_up || wish[i].op != OP_HAND_OVER)
			pool_drop(&s->pool, i);
	}
}

void survey_ask(struct survey *s, const struct wish wish[NODES_MAX], const char *token,
	enum survey_patience patience)
{
	struct quorum *q = &s->quorum;
	usec until, asked = clock_now();
	int open = 0;

	quorum_begin_question(q, asked);
	for (int i = 0; i < q->policy.nodes; i++) {
		if (wish[i].op == OPS)
			continue;
		open++;
		if (s->pool.conn[i].state == CONN_UP)
			send_to(s, i, &wish[i]);
		else
			pool_open(&s->pool, i);
	}
	for (until = asked + q->policy.node_timeout; open > 0 && clock_now() < until;) {
		struct event ev;

		pool_next(&s->pool, until, -1, &ev);
		take_in(s, &ev, wish, token);
		open = 0;
		for (int i = 0; i < q->policy.nodes; i++)
			open += wish[i].op != OPS && q->member[i].vote == VOTE_NONE;
		/* Two of three that disagree are a majority of answers, and decide nothing. */
		if (patience == SURVEY_MOST && quorum_holding(q) != HOLDING_UNKNOWN)
			until = usec_min(
				until, ev.now + usec_max(LEAST_GRACE, 2 * (ev.now - asked)));
	}
	give_up(s, wish);
}

void survey_ask_all(
	struct survey *s, const struct wish *wish, const char *token, enum survey_patience patience)
{
	struct wish wishes[NODES_MAX];

	for (int i = 0; i < NODES_MAX; i++)
		wishes[i] = *wish;
	survey_ask(s, wishes, token, patience);
}

void survey_renew(struct survey *s)
{
	for (int i = 0; i < s->quorum.policy.nodes; i++)
		pool_drop(&s->pool, i);
}

void survey_close(struct survey *s)
{
	pool_close(&s->pool);
	for (int i = 0; i < NODES_MAX; i++)
		free(s->page[i]);
}
