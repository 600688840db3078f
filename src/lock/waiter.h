/*
 * waiter: the place of a client in the queue of a key, and when to try again. All of it is advice:
 * a majority of votes grants a lock, whatever this module says.
 *
 *	waiter_begin()     an attempt begins;
 *	waiter_pause()     the attempt failed; then, at every event of the pause,
 *	waiter_plan()      queues and looks, until it returns true: the next attempt begins
 *	waiter_held()      or the attempt was successful
 *	waiter_event()     at any time: EV_WAKE, and the reply to a request
 *	waiter_leave()     at every event of the release: leaves the queue
 *
 *	OFF ---> SUBSCRIBING ---> JOINING <---> QUEUED ---> LEAVING ---> OFF
 *	 ^          |  |            |  |          |
 *	 |          |  +-> POLLS <--+  |          |
 *	 +----------+------------------+----------+  held; moving; the node is silent
 *
 * A pause that follows a refusal leads from OFF to QUEUED, at the queue node of the key that is in
 * the way (peer_queue_node()). The waiter uses the node's own connection.
 * QUEUED stays QUEUED when a wake-up takes the waiter out of the queue; each OP_JOIN returns to the
 * place that the ticket gives. If the queue node is silent, the waiter moves on to the next node,
 * with its ticket. POLLS does not end: the user may not queue, or the server has no RESP3.
 *
 * The way of one wake-up:
 *   1. The holder's release reserves the key at the queue node under an id and sends the id to the
 *      first waiter: EV_WAKE with WAKE_RESERVED. take_reservation() notes the id and the slot.
 *   2. waiter_plan() returns true, at once or after pace_use_delay(): the attempt begins.
 *      waiter_begin() notes that it uses the reservation; each request carries the id.
 *   3. The queue node takes the client out of the queue and gives it the key. Another node may
 *      refuse: reservation_refusal() says whether it only waits for the release, and
 *      rivals_retry() asks it again.
 *   4. A majority granted the lock: waiter_held() leaves the queue, where the queue node did not
 *      take us out. Or not: waiter_pause() counts the wake-ups in vain, and OP_JOIN follows.
 *   5. A client that ends before step 4 passes the reservation on: waiter_leave().
 *
 * Wake-ups may be lost. So each OP_JOIN also looks: it wakes the first waiter if the key is free.
 * The first two waiters look every second, the others every five seconds and some more.
 * A waiter that no majority answers leaves the queue after a second: the ones behind it may reach
 * nodes that it does not reach. Its ticket gives it back its place.
 *
 * A struct waiter owns no memory; zeroed, it is a client that has not waited. Nothing here fails.
 * The fields may be read; only the functions below write them.
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
	usec look_at; /* QUEUED: when the next OP_JOIN is due */
	usec retry_at; /* when the next attempt begins */
	usec leaves_at; /* when the waiter leaves the queue, since no majority answers it; NEVER: a
			   majority answered the last attempt */
	usec shed_at; /* when connections that are not needed for waiting are closed */
	int tries; /* failed attempts in a row since the last wake-up */
	unsigned silent; /* bit i: since the attempt began, the connection to node i broke, or node
			    i did not let us queue */
	char reservation[KEYS_MAX][TOKEN_ID_LEN + 1]; /* for each key, the id of our reservation;
							 "": none */
	int slot; /* the slot of the last reservation; 0: no semaphore */
	bool is_woken; /* the key is reserved for us, and no attempt has used that yet */
	bool used_reservation; /* this attempt, or the last one, was made because of a reservation
				*/
	bool asked_to_watch; /* this attempt, or the last one, asked for WAKE_CHANGED */
	bool met_foreign; /* another program has had the key meanwhile: it wakes no waiter */
	int in_vain; /* attempts with a reservation in a row that failed because of one holder, */
	struct reply refused_by; /* this one */
	unsigned full; /* bit i: node i, where the queue is, has too many clients for us; 0: no such
			  node */
	struct reply problem; /* why the waiter polls */
};

/* The queue node sends messages, or is about to: in these states, `node` and `key` are valid. */
static inline bool waiter_is_queued(const struct waiter *w)
{
	return w->state == WAITER_JOINING || w->state == WAITER_QUEUED;
}

/* The slot of the reservation with which this attempt began; 0: none, or no semaphore. */
static inline int waiter_reserved_slot(const struct waiter *w)
{
	return w->used_reservation ? w->slot : 0;
}

/* An attempt begins: with the reservation, if there is one. */
void waiter_begin(struct step *s);

/* The requests of an attempt ask the nodes to tell when the key changes: its holder wakes no
 * waiter.
 */
bool waiter_watches(const struct lock *lock);

/* The attempt failed. is_busy: a majority answered, and refused. is_moving: the next one follows at
 * once, for another slot or with more nodes. */
void waiter_pause(struct step *s, bool is_busy, bool is_moving);

/* Returns true when the next attempt is due. */
bool waiter_plan(struct step *s, bool is_busy, usec *wake_at);

void waiter_held(struct step *s);

/* EV_WAKE and EV_REPLY. */
void waiter_event(struct step *s, const struct event *ev);

/* The lock is released or given up, and its own hand-off was sent. Returns true while the
 * connection to the queue node is needed. */
bool waiter_leave(struct step *s);

#endif
