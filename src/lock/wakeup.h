/*
 * wakeup: the way of one wake-up, from the message to the lock, or to the next waiter. wakeup.c has
 * the steps in this order; all of it is advice, as in waiter.h. Private to src/lock, but for the
 * requests that carry a reservation (net/session).
 *
 *	1  wakeup_arrived()         EV_WAKE: the holder's release has reserved the key at the queue
 *	                            node under an id, and sent the id to the first waiter
 *	   wakeup_reserved()        the same, in the reply to an OP_JOIN
 *	2  wakeup_delay()           the pause ends after this time (waiter_plan())
 *	3  wakeup_attempt_begins()  each request carries the id: wakeup_id(), wakeup_slot()
 *	4  wakeup_retries()         the queue node takes the client out of the queue and gives it
 *	                            the key; another node refused: ask it again?
 *	5  wakeup_held()            a majority granted the lock: the client leaves the queue
 *	   wakeup_attempt_failed()  or not: the reservation was in vain, and OP_JOIN follows
 *	6  wakeup_leave()           the client waits at another node or for another key,
 *	   wakeup_end()             or ends, before step 5: it passes the reservation on
 *
 *	no reservation --1--> unused --3--> used by the attempt --5--> none
 *	                        ^                   |
 *	                        +-------------------+ too few nodes answered
 *
 * A wake-up may arrive during an attempt: then one reservation is used, and the next one is unused.
 * Wake-ups may be lost: waiter.h says how often a waiter looks.
 *
 * A struct wakeup owns no memory; zeroed, it is a client that was never woken. Nothing here fails.
 */
#ifndef LOCK_WAKEUP_H
#define LOCK_WAKEUP_H

#include "base/token.h"
#include "lock/event.h"

struct lock;
struct step;

struct wakeup {
	char reservation[KEYS_MAX][TOKEN_ID_LEN + 1]; /* for each key, the id of our reservation;
							 "": none */
	int slot; /* the slot of the last reservation; 0: no semaphore */
	bool is_unused; /* the key is reserved for us, and no attempt has used that yet */
	int in_vain; /* attempts with a reservation in a row that failed because of one holder, */
	struct reply refused_by; /* this one */
};

/* The requests of an attempt to nodes that refused it. */
struct retry {
	usec at; /* when the next ones are sent; 0: none are planned */
	int count; /* in this attempt */
	bool is_hurried; /* a node that refused says that the key has changed: ask at once */
	unsigned silent; /* bit i: node i had not answered when the last ones were sent */
};

void wakeup_arrived(struct step *s, const struct event *ev);

/* The queue node has reserved the key for us. */
void wakeup_reserved(struct step *s, const struct event *ev, int key);

/* How long to wait before the reservation is used; 0: not at all. A waiter that is woken again and
 * again while the same holder refuses waits. */
usec wakeup_delay(const struct step *s);

void wakeup_attempt_begins(struct step *s);

/* The slot of the reservation that this attempt uses; 0: none, or no semaphore. */
int wakeup_slot(const struct lock *lock);

/* The reservation of that key that requests carry; "": none. A fair client sends it only while it
 * is its own. */
const char *wakeup_id(const struct lock *lock, int key);

/* Retries, with `op`, if a node's refusal is not final: because of a release or a reservation, or
 * of rivals that give way to us. A client that waits after the attempt, since it has time until
 * `wait_until`, retries a few times only. False: the attempt has failed. */
bool wakeup_retries(struct step *s, enum op op, usec wait_until, usec *wake_at);

void wakeup_held(struct step *s);

/* is_busy: a majority answered, and refused. */
void wakeup_attempt_failed(struct step *s, bool is_busy);

/* Leaves the queue. Returns false if a reply must be read first: a reservation may arrive with it.
 */
bool wakeup_leave(struct step *s);

/* The lock is released or given up, and its own hand-off was sent. Returns true while the
 * connection to the queue node is needed. */
bool wakeup_end(struct step *s);

#endif
