/*
 * semaphore: which slot of a semaphore an attempt asks for. Every slot is a lock of its own; a lock
 * that is no semaphore has slot 0, and none of these functions changes anything for it.
 *
 *	semaphore_begin()      an attempt begins: sets the slot in the stamp of its requests
 *	semaphore_moves_on()   an attempt failed: does the next one ask for another slot at once?
 *
 * Nothing here fails.
 */
#ifndef LOCK_SEMAPHORE_H
#define LOCK_SEMAPHORE_H

#include "lock/event.h"

struct lock;
struct step;

struct semaphore {
	int next_slot; /* for an attempt at once: the queue node names it as free; 0: none */
	int named_slot; /* for an attempt after a pause: any node names it as free; 0: none */
	int moves; /* attempts in a row, without a pause, since each found another slot */
};

/* Chooses the slot that is reserved for us (0: none), or one that is free, or any. */
void semaphore_begin(struct step *s, int reserved);

/* A free slot is worth an attempt at once, even if the client does not wait. */
bool semaphore_moves_on(struct step *s, bool is_busy, usec wait_until);

/* A node named a free slot, but too many attempts have followed one another without a pause. */
bool semaphore_has_next(const struct lock *lock);

/* When the holder that refused us, or the first of the slots, expires. */
usec semaphore_ends_in(const struct policy *p, const struct reply *reply);

#endif
