/*
 * shared: readers and writers of a key, where they differ from an exclusive lock: whether readers
 * are the ones that have the key. Called by waiter.c only; a lock that is exclusive, and finds no
 * readers, is not changed by it.
 *
 * Nothing here keeps a state, and nothing fails.
 */
#ifndef LOCK_SHARED_H
#define LOCK_SHARED_H

#include "lock/event.h"

struct step;

/* Readers have the key on that node. A waiter that leaves the queue then lets others in. */
bool shared_has_key(const struct step *s, int node);

/* Readers have the key that the waiter waits for: as its queue node says, or else any node. */
bool shared_is_in_the_way(const struct step *s);

#endif
