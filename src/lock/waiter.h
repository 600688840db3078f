/*
 * waiter: the place of a client in the queue of a key: the connection on which it waits there, and
 * advice: when to try again, which node to ask first, whether the key is reserved for another
 * client. It is advice only: a majority of votes grants a lock, whatever this module says.
 *
 *	waiter_begin()      an attempt begins: which node is asked first
 *	waiter_granted()    a node granted the key: is it reserved for us? does it have waiters?
 *	waiter_reserved()   before the votes count: is the key reserved for others?
 *	waiter_refused()    the key is taken;
 *	waiter_pause()      retry_at is the next attempt, unless a wake-up arrives before
 *	waiter_plan()       in the pause: joins the queue, closes connections that are not needed
 *	waiter_review()     the pause is over: was the place in the queue lost?
 *	waiter_held()       the lock is held;
 *	waiter_leave()      the lock is released or given up: passes on an unused reservation
 *	waiter_event()      an event of the waiter connection (TARGET_WAITER)
 *	waiter_due(), waiter_overdue()   time
 *
 * The queue node of a key is the first in policy.order that answers. A wake-up may be lost, so
 * retry_at is always set in a pause.
 *
 * waiter.c and some names of fields still have older words: a seat is the waiter connection, the
 * line is the queue, a turn is a reservation, and a writer that leads is a promoted writer.
 *
 * A struct waiter owns no memory. Nothing here fails: a client that may not wait polls. The fields
 * may be read; only the functions below write them.
 */
#ifndef LOCK_WAITER_H
#define LOCK_WAITER_H

#include "base/token.h"
#include "lock/event.h"
#include "lock/peer.h"
#include "lock/tally.h"

struct step;

struct waiter {
	enum link link; /* the state of the waiter connection */
	int node; /* the node to which the waiter connection leads: the queue node */
	int key; /* the key that the waiter connection waits for */
	usec due; /* when connecting, OP_JOIN or OP_HAND_OFF has taken too long */
	bool joins; /* OP_JOIN is not answered yet */
	bool waits; /* OP_WAIT is not answered yet */
	bool passes; /* an OP_HAND_OFF that passes a reservation on is not answered yet */
	bool was_free; /* the last OP_JOIN found the key free */
	uint32_t tried; /* the last round in which the waiter connection was opened */
	bool is_refused; /* this user may not wait */
	struct reply trouble; /* the last error of the waiter connection */
	bool is_woken; /* a wake-up arrived, and no attempt has used it yet */
	bool is_fresh; /* since this attempt began, a wake-up arrived or the key became free */
	char turn[KEYS_MAX][TOKEN_ID_LEN + 1]; /* for each key, the id of our last reservation; "":
						  none yet */
	int turn_key; /* the key of the last reservation */
	int turn_slot; /* the slot of the last reservation; 0: any */
	bool leaves; /* an OP_HAND_OFF is queued after OP_WAIT: the server passes a wake-up on */
	bool parts; /* the waiter connection was up when waiter_leave() was called */
	bool passes_beside; /* waiter_leave() sent an OP_HAND_OFF on the node's own connection */
	bool leads; /* a promoted writer: a wake-up arrived, and readers have the key */
	int busy_key; /* the key that another client has */
	bool used_turn; /* this attempt was made because of a reservation */
	int tries; /* failed attempts in a row since the last wake-up */
	usec retry_at; /* when the next attempt begins; NEVER: no pause */
	usec shed_at; /* when connections that are not needed for waiting are closed */
	unsigned awaited; /* bit i: the queue node of key i said that it has waiters */
};

enum reserved {
	RESERVED_NO, /* the votes count */
	RESERVED_UNKNOWN, /* the queue node may still say so: wait */
	RESERVED_FOR_OTHERS, /* other clients are first, however many nodes would grant the key */
};

void waiter_init(struct waiter *w);

/* A new round, but not that of a release: forgets which keys have waiters. */
void waiter_begin_round(struct step *s);

/* Returns the node to ask first and alone, or -1 to ask all at once. A majority must be ready. */
int waiter_begin(struct step *s, bool is_contended);

/* A reply that is VOTE_YES. in_time: it is a vote of the attempt under way. */
void waiter_granted(
	struct step *s, const struct event *ev, const struct reply *reply, bool in_time);

enum reserved waiter_reserved(const struct step *s, usec *wake_at);

/* The attempt failed. is_moving: the next attempt follows at once. */
void waiter_refused(struct step *s);
void waiter_pause(struct step *s, bool is_busy, bool is_moving, usec wait_until);

void waiter_plan(struct step *s, bool is_busy, usec *wake_at);
void waiter_review(struct step *s);
void waiter_held(struct step *s);
void waiter_leave(struct step *s);
void waiter_event(struct step *s, const struct event *ev);

/* When waiter_overdue() has something to do; NEVER: no need. */
usec waiter_due(const struct step *s);
void waiter_overdue(struct step *s);

/* The queue node of a key, as far as is known; -1: none answers. */
int waiter_queue_node(const struct step *s, int key);

/* For rivals.c: the key is reserved for us, but this node refused us, because the release by the
 * last holder has not reached the node yet. */
bool waiter_expects_release(const struct step *s, const struct ballot *b);

/* For rivals.c: the key is reserved for us, but this node refused us, because our request did not
 * have the id of the reservation yet. */
bool waiter_has_reservation(const struct step *s, const struct ballot *b);

/* A node reserves the key for another client; the queue node, which has not answered yet, knows
 * whether that client still waits. */
bool waiter_may_be_reserved(const struct step *s, usec *wake_at);

/* waiter_leave() sent a hand-off to that node, which may have deleted the key. */
bool waiter_may_have_released(const struct step *s, int node);

/* The message of waiter_leave() to the queue node is not answered yet: the connection must last. */
bool waiter_is_leaving(const struct step *s);

#endif
