/*
 * query: one question to every node, and the replies, outside a lock's life.
 *
 *	query_open(), query_ask() or query_ask_all() as often as needed, query_close()
 *
 * The replies are in `tally` afterwards, counted as the votes of a round (lock/tally.h). Nothing
 * but query_open() fails: a node that does not answer in time is VOTE_ABSENT.
 */
#ifndef IO_QUERY_H
#define IO_QUERY_H

#include "io/pool.h"

struct query {
	struct tally tally; /* read it */
	struct pool pool;
	usec node_timeout;
	uint32_t round; /* of requests: a reply to an earlier one is ignored */
	usec took[NODES_MAX]; /* from the question to the answer, or to the end of the wait */
	char *page[NODES_MAX]; /* OP_SCAN: what was found there; OP_COMMAND: the whole reply; */
	size_t page_len[NODES_MAX]; /* and its length */
};

/* Resolves the nodes, within the node time-out. `nodes` must outlive the query. Returns -1 with
 * *e. */
int query_open(
	struct query *q, const struct policy *policy, const struct node_list *nodes, struct err *e);

enum query_wait {
	QUERY_UNTIL_DECIDED, /* once it is known what holds of the token, the rest gets a moment
				more */
	QUERY_ALL, /* each node has its time-out */
};

/*
 * Asks node i for wish[i], unless its op is OP_NONE, and waits for the answers, each for the node
 * time-out at most, connecting included. Those that say who holds the key are YES where that is
 * `token`, or begins with it as its id (NULL: none). Connections stay open for the next question.
 */
void query_ask(struct query *q, const struct wish wish[NODES_MAX], const char *token,
	enum query_wait wait);

/* The same question for all. */
void query_ask_all(
	struct query *q, const struct wish *wish, const char *token, enum query_wait wait);

/* The next question goes over new connections. */
void query_reconnect(struct query *q);

void query_close(struct query *q);

#endif
