/*
 * release: the end of a lock, or of the traces of an attempt that failed: the hand-off on each node
 * that may have our key, and the client's leave from the queue. Private to src/lock: lock.c calls
 * release_advance() at every event of PHASE_RELEASE, until PHASE_OVER.
 *
 *	release_begin()     any phase: PHASE_RELEASE
 *	release_vote()      EV_REPLY to a release
 *	release_advance()   sends what is due; PHASE_OVER
 *
 * Nothing here fails: a release that no node answers ends after a second.
 */
#ifndef LOCK_RELEASE_H
#define LOCK_RELEASE_H

#include "lock/event.h"

struct step;

void release_begin(struct step *s);

/* Of a held lock, the first reply of a node says whether the key lasted until now. */
void release_vote(struct step *s, const struct event *ev);

void release_advance(struct step *s, usec *wake_at);

#endif
