/*
 * waiter: the place of a client in the queue of a key, and when to try again. All of it is advice:
 * a majority of votes grants a lock, whatever this module says.
 *
 *	waiter_begin()     an attempt begins;
 *	waiter_pause()     the attempt failed; then, at every event of the pause,
 *	waiter_plan()      queues and looks, until it returns true: the next attempt begins
 *	waiter_replied()   at any time: the reply to a request about the queue
 *
 *	OFF ---> SUBSCRIBING ---> JOINING <---> QUEUED ---> LEAVING ---> OFF
 *	 ^          |  |            |  |          |
 *	 |<- POLLS <---+------------+  |          |
 *	 +----------+------------------+----------+  held; moving; the node is silent
 *
 * A pause that follows a refusal leads from OFF to QUEUED, at the queue node of the key that is in
 * the way (peer_queue_node()). The waiter uses the node's own connection.
 * QUEUED stays QUEUED when a wake-up takes the waiter out of the queue; each OP_JOIN returns to the
 * place that the ticket gives. If the queue node is silent, the waiter moves on to the next node,
 * with its ticket. POLLS: the user may not queue, or the server has no RESP3; after a while, the
 * waiter tries it again.
 *
 * wakeup.h has the way of a wake-up, and how the client leaves the queue. Wake-ups may be lost. So
 * each OP_JOIN also looks: it wakes the first waiter if the key is free.
 * The first two waiters look every second, the others every five seconds and some more.
 * A waiter that no majority answers leaves the queue after a second: the ones behind it may reach
 * nodes that it does not reach. Its ticket gives it back its place.
 *
 * A struct waiter owns no memory; zeroed, it is a client that has not waited. Nothing here fails.
 * The fields may be read; only the functions below, those of wakeup.h and those of pace.h write
 * them.
 */
#ifndef LOCK_WAITER_H
#define LOCK_WAITER_H

#include "base/token.h"
#include "lock/event.h"

struct lock;
struct step;

/* "r" or "w", for a reader or a writer, and 16 hexadecimal digits. */
#define WAITER_ID_LEN 17

enum waiter_state {
	WAITER_OFF, /* in no queue */
	WAITER_SUBSCRIBING, /* connecting to the queue node, or waiting for its reply */
	WAITER_JOINING, /* OP_JOIN is in flight */
	WAITER_QUEUED, /* OP_JOIN was answered, and messages may arrive */
	WAITER_LEAVING, /* the hand-off that takes us out of the queue is in flight */
	WAITER_POLLS, /* the waiter cannot queue; `problem` says why */
};

struct waiter {
	enum waiter_state state;
	char id[WAITER_ID_LEN + 1]; /* the same at every node and for every key; "": not needed yet
				     */
	int64_t ticket; /* the place in every queue; until an OP_JOIN was answered, that of the
			   policy */
	int rank; /* waiters ahead of us, as last reported; 0 until then */
	int node; /* SUBSCRIBING and later: the queue node */
	int key; /* SUBSCRIBING and later: the key that the queue is for */
	int busy_key; /* the key that another client has; differs from `key` until we have moved */
	usec look_at; /* QUEUED: when the next OP_JOIN is due; POLLS: when to queue again */
	usec retry_at; /* when the next attempt begins */
	usec leaves_at; /* when the waiter leaves the queue, since no majority answers it; NEVER: a
			   majority answered the last attempt */
	usec shed_at; /* when connections that are not needed for waiting are closed */
	int tries; /* failed attempts in a row since the last wake-up */
	unsigned silent; /* bit i: since the attempt began, the connection to node i broke, or node
			    i did not let us queue */
	bool met_foreign; /* another program had the key at the last attempt, or at a look since
			     then: it wakes no waiter */
	unsigned full; /* bit i: node i, where the queue is, has too many clients for us; 0: no such
			  node */
	struct reply problem; /* why the waiter polls, or did */
};

/* The queue node sends messages, or is about to: in these states, `node` and `key` are valid. */
static inline bool waiter_is_queued(const struct waiter *w)
{
	return w->state == WAITER_JOINING || w->state == WAITER_QUEUED;
}

/* An attempt begins. */
void waiter_begin(struct step *s);

/* The attempt failed. is_busy: a majority answered, and refused. is_moving: the next one follows at
 * once, for another slot or with more nodes. */
void waiter_pause(struct step *s, bool is_busy, bool is_moving);

/* Returns true when the next attempt is due. */
bool waiter_plan(struct step *s, bool is_busy, usec *wake_at);

/* EV_REPLY to a request about the queue. */
void waiter_replied(struct step *s, const struct event *ev);

#endif
