/* pool: the connections to all nodes, as a source of events and a sink of actions. */
#ifndef IO_POOL_H
#define IO_POOL_H

#include "io/conn.h"
#include "lock/lock.h"

struct pool {
	int count; /* of the nodes, and one more: the seat */
	const struct node_list *nodes;
	struct addresses addresses[NODES_MAX];
	struct conn conn[NODES_MAX + 1];
	enum conn_state reported[NODES_MAX + 1]; /* the state that the last event about it told */
	int alarm; /* for long waits */
	int next; /* the node to look at first: nobody starves */
	struct reply reply; /* what the last event points to */
	usec took; /* REPLY: from sending to now */
	bool woken; /* pool_next() returned because wake_fd is readable */
};

/* Resolves names within `timeout`. The list must outlive the pool. Returns -1 with *e (ERR_SYSTEM).
 */
int pool_init(struct pool *p, const struct node_list *nodes, usec timeout, struct err *e);

/* Where the seat leads to when it is opened. */
void pool_set_node(struct pool *p, int connection, int node);

void pool_open(struct pool *p, int node);
void pool_drop(struct pool *p, int node);

/*
 * Waits for the next event and fills *ev (all but `random`): a link that came up or went down, a
 * reply, or EV_TIME when `until` has come or wake_fd (-1: none) is readable. ev->now is read last.
 */
void pool_next(struct pool *p, usec until, int wake_fd, struct event *ev);

/* Closes every connection in good order and frees what they hold. */
void pool_close(struct pool *p);

#endif
