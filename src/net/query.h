/*
 * query: one question to every node, outside a lock's life.
 *
 *     query_open()
 *     query_ask() or query_ask_all()    then read tally, took, page; again for the next question
 *     query_ask_series()                several questions within one round trip
 *     query_reconnect()                 to ask over new connections
 *     query_close()
 *
 * The replies are counted as the votes of a round (lock/tally.h). The query owns its connections
 * and pages. Nothing but query_open() fails: a node that does not reply in time is VOTE_ABSENT.
 */
#ifndef NET_QUERY_H
#define NET_QUERY_H

#include "net/pool.h"

struct query {
	struct tally tally; /* read only; holds the votes */
	struct pool pool;
	usec node_timeout;
	uint32_t round; /* of the first request of the series: a reply to an earlier one is ignored
			 */
	usec took[NODES_MAX]; /* from the question to the reply, or to the end of the wait */
	char *page[NODES_MAX]; /* OP_SCAN: the keys that were found; OP_COMMAND: the whole reply */
	size_t page_len[NODES_MAX]; /* bytes of the page */
};

/* Resolves the nodes within the node time-out. `nodes` must outlive the query. Returns -1 with
 * *e. */
int query_open(
	struct query *q, const struct policy *policy, const struct node_list *nodes, struct err *e);

enum query_wait {
	QUERY_UNTIL_DECIDED, /* when the ownership of the token is known, the other nodes get only a
				moment more */
	QUERY_ALL, /* wait for each node until its time-out */
};

/*
 * Sends request[i] to node i, unless it is NULL, and waits for the replies, for each no longer than
 * the node time-out, which includes connecting. A reply that names the holder of a key is a vote
 * YES if the holder's token is `token`, or begins with `token` as its id (NULL: no token).
 * Connections stay open for the next question.
 */
void query_ask(struct query *q, const struct request *const request[NODES_MAX], const char *token,
	enum query_wait wait);

/* Node `node` has answered question `question` of a series: its reply is in the ballot of the
 * tally, and in the page. Returns false to end the series of this node. */
typedef bool query_answered(void *context, int node, int question);

/*
 * Sends first[i][0..count-1] to node i, unless it is NULL, without waiting for the replies between.
 * All but the last have `is_followed`: one packet. The wait for each reply begins with the reply
 * before it, and is as long as for a single question. If the connection of a question fails, the
 * reason is its answer, and the questions after it are sent on a new connection; a node that is
 * late with a reply is asked no further. count 0: connects only, and answered() gets a failure as
 * question 0.
 */
void query_ask_series(struct query *q, const struct request *const first[NODES_MAX], int count,
	query_answered *answered, void *context);

/* Asks all nodes the same question. */
void query_ask_all(
	struct query *q, const struct request *r, const char *token, enum query_wait wait);

/* Drops the connections; the next question opens new ones. */
void query_reconnect(struct query *q);

/* The same; a name with several addresses is asked at the next one. */
void query_reconnect_elsewhere(struct query *q);

/* Closes the connections in good order and frees the pages. */
void query_close(struct query *q);

#endif
