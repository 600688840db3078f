/*
 * pool: the connections to all nodes, as a source of events and a sink of actions.
 *
 *     pool_init()
 *     pool_open(), pool_drop(), conn_send()   the actions of a lock or query
 *     pool_next()                             waits for the next event
 *     pool_close()
 *
 * Connection i leads to node i of the list; beside it, other addresses of the node's name are
 * looked at (net/others.h). The pool owns connections and addresses; the list of nodes is the
 * caller's. An error of a connection is an event, not an error of a function.
 */
#ifndef NET_POOL_H
#define NET_POOL_H

#include "lock/lock.h"
#include "net/conn.h"
#include "net/others.h"

struct pool {
	int count; /* connections: one for each node */
	struct others *others[NODES_MAX]; /* NULL: the name has one address of a family */
	enum conn_state reported[NODES_MAX]; /* the state in the last event */
	int alarm; /* for long waits */
	int next; /* the connection to look at first, so that all are served in turn */
	int looks; /* at or after `until`, since the last EV_TIME */
	struct reply reply; /* the reply to which the last event points */
	usec took; /* EV_REPLY: the time since the request was sent */
	bool was_refused; /* a node has refused AUTH or SELECT */
	unsigned told; /* bit i: the server has told its run id on this connection */
	bool woken; /* pool_next() returned because wake_fd is readable */
	/* At the end: most of their pages are never touched. */
	struct addresses addresses[NODES_MAX];
	struct conn conn[NODES_MAX];
};

/* Resolves names within `timeout`. The list must outlive the pool. Returns -1 with *e
 * (ERR_SYSTEM). */
int pool_init(struct pool *p, const struct node_list *nodes, usec timeout, struct err *e);

/* Starts to connect; an event reports the result. */
void pool_open(struct pool *p, int node);

/* Need the server of this connection not tell its run id? It has told it, or it is the only server.
 */
bool pool_knows(const struct pool *p, int node);

/* Has a connection changed, and no event has reported it yet? */
bool pool_has_link_news(const struct pool *p);

/* Drops the connection at once; no event reports this. */
void pool_drop(struct pool *p, int node);

/*
 * Waits for the next event and fills *ev (all but `random`): a link came up or went down, a reply
 * arrived, a message arrived (EV_WAKE: the connection has it in `push`; the caller fills in what it
 * says), or EV_TIME: `until` is reached or wake_fd (-1: none) is readable. ev->now is read last;
 * but at EV_TIME, all that had arrived by ev->now has been read, so that no reply is taken for late
 * which this process was late to read. A node that never stops sending delays EV_TIME for a bounded
 * number of bytes.
 */
void pool_next(struct pool *p, usec until, int wake_fd, struct event *ev);

/* Closes every connection in good order and frees its memory. */
void pool_close(struct pool *p);

#endif
