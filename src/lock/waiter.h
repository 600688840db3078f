/*
 * waiter: the place of a client in the queue of a key: the connection on which it waits there, and
 * advice: when to try again, which node to ask first, whether the key is reserved for another
 * client. It is advice only: a majority of votes grants a lock, whatever this module says.
 *
 *	waiter_begin()      an attempt begins: which node is asked first
 *	waiter_granted()    a node granted the key: for a reservation? do others wait?
 *	waiter_reserved()   before the votes count: is the key reserved for others?
 *	waiter_refused()    the key is taken;
 *	waiter_pause()      retry_at is the next attempt, unless a wake-up arrives before
 *	waiter_plan()       in the pause: joins the queue, closes connections that are not needed
 *	waiter_review()     the pause is over: was the place in the queue lost?
 *	waiter_held()       the lock is held;
 *	waiter_leave()      it is released, or given up: passes on a reservation that was not used
 *	waiter_event()      an event of the waiter connection (TARGET_WAITER)
 *	waiter_due(), waiter_overdue()   time
 *
 * The queue node of a key is the first in policy.order that answers. A wake-up may be lost:
 *retry_at is set for that case, too.
 *
 * The inside keeps its own words: a seat is the waiter connection, the line is the queue, a turn is
 *a reservation, and a writer that leads, at the door, is a promoted writer.
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
	enum link link;
	int node; /* the line */
	int key; /* of which key */
	usec due; /* connecting, and joining, must have been done by then */
	bool joins; /* OP_JOIN is not answered yet */
	bool waits; /* OP_WAIT is not */
	bool passes; /* nor is OP_HAND_OFF: another key is in the way, so it is others' turn */
	bool was_free; /* the key was free when we joined: that was worth an attempt */
	uint32_t tried; /* the last round in which it was opened */
	bool is_refused; /* this user may not wait; why is in trouble */
	struct reply trouble;
	bool is_woken; /* it is our turn, and we have not tried yet */
	bool is_fresh; /* there is news since this attempt began: a turn, or that it is free */
	char turn[KEYS_MAX][TOKEN_ID_LEN + 1]; /* for each key: what it was woken with, the last
						  time; "": never */
	int turn_key; /* which of them was the last, */
	int turn_slot; /* or slot; 0: any */
	bool leaves; /* OP_HAND_OFF stands behind OP_WAIT: who serves us passes it on */
	bool parts; /* it was up when the lock was let go: an OP_HAND_OFF went by it, too */
	bool passes_beside; /* another OP_HAND_OFF went by the line's own connection */
	bool leads; /* we were woken, and found readers: we come next, at the door */
	int busy_key; /* which key somebody else has */
	bool used_turn; /* this attempt was made because it was our turn */
	int tries; /* attempts in a row that failed without having been woken */
	usec retry_at; /* in a pause: the next attempt; NEVER: no pause */
	usec shed_at; /* from then on the links for votes are closed while waiting */
	unsigned awaited; /* 1 << i: the nodes said that others wait for key i */
};

enum reserved {
	RESERVED_NO, /* the votes count */
	RESERVED_UNKNOWN, /* the queue node may still say so: wait */
	RESERVED_FOR_OTHERS, /* other clients are first, however many nodes would grant the key */
};

void waiter_init(struct waiter *w);

/* A new round, but not that of a release: forgets which keys others wait for. */
void waiter_begin_round(struct step *s);

/* Returns the node to ask first and alone, or -1: ask all at once. A majority is ready. */
int waiter_begin(struct step *s, bool is_contended);

/* A reply that is VOTE_YES. in_time: it is a vote of the attempt under way. */
void waiter_granted(
	struct step *s, const struct event *ev, const struct reply *reply, bool in_time);

enum reserved waiter_reserved(const struct step *s, usec *wake_at);

/* The attempt failed; is_moving: the next one follows at once. */
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

/* For rivals.c: of a node that refused us, although the key is reserved for us: the release by the
 * holder before us has not reached it yet; or it did not know of the reservation. */
bool waiter_expects_release(const struct step *s, const struct ballot *b);
bool waiter_has_reservation(const struct step *s, const struct ballot *b);

/* A node reserves the key for another client; the queue node, which has not answered yet, knows
 * whether that client still waits. */
bool waiter_may_be_reserved(const struct step *s, usec *wake_at);

/* waiter_leave() sent a hand-off to that node, which may have deleted the key. */
bool waiter_may_have_released(const struct step *s, int node);

/* The message of waiter_leave() to the queue node is not answered yet: the connection must last. */
bool waiter_is_leaving(const struct step *s);

#endif
