/*
 * rivals: clients that try at the same moment and split the votes, so that none has a majority. One
 * of them asks the nodes that refused it again; the others release their keys at once.
 *
 *	rivals_are_heard()    a majority has answered and did not grant the lock: is this final?
 *	rivals_retry()        then: true while this client retries refused nodes
 *	rivals_split_votes()  the votes are split: the release of the attempt wakes rivals
 *
 * attempt.c clears a struct rivals when an attempt begins. Nothing here fails.
 */
#ifndef LOCK_RIVALS_H
#define LOCK_RIVALS_H

#include "lock/event.h"
#include "lock/tally.h"

struct lock;
struct step;

struct rivals {
	usec retry_at; /* the next request to the nodes that refused; 0: none is planned */
	int retries; /* in this attempt */
	bool has_changed; /* a node that refused says that the key has changed: retry at once */
	unsigned silent; /* bit i: node i had not answered when the last retry was sent */
};

/* Rivals have the votes, none of them has a majority: one can get it if the others release. */
bool rivals_split_votes(const struct lock *lock);

/* Rivals hear every node before they retry or give way, except nodes that are late. Without rivals:
 * a majority can no longer be reached with the `open` nodes. */
bool rivals_are_heard(
	const struct step *s, const struct rivals *r, int yes, int open, usec *wake_at);

/* Retries, with `op`, if the votes are split and this client is the first of its rivals; or if a
 * node's refusal is not final (reservation_refusal()). False: the attempt has failed. */
bool rivals_retry(struct step *s, struct rivals *r, enum op op, usec asked_at, usec wait_until,
	usec *wake_at);

#endif
