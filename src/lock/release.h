/*
 * release: the end of a lock, or of the traces of an attempt that failed: the hand-off on each node
 * that may have our key, and the client's leave from the queue. Private to src/lock: lock.c calls
 * release_advance() at every event of PHASE_RELEASE, until PHASE_OVER.
 *
 *	release_note_waiters()  EV_REPLY while the lock is got or held: are there waiters to wake?
 *	release_begin()     any phase: PHASE_RELEASE
 *	release_vote()      EV_REPLY to a release
 *	release_advance()   sends what is due; PHASE_OVER
 *
 * Nothing here fails: a release that no node answers ends after peer_release_time().
 */
#ifndef LOCK_RELEASE_H
#define LOCK_RELEASE_H

#include "lock/event.h"

struct step;

/* Notes for which keys a queue node has waiters, as its vote or a later reply says. */
void release_note_waiters(struct step *s, const struct event *ev);

void release_begin(struct step *s);

/* Of a held lock, the first reply of a node says whether the key lasted until now. */
void release_vote(struct step *s, const struct event *ev);

void release_advance(struct step *s, usec *wake_at);

#endif
