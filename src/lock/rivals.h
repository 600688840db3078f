/*
 * rivals: clients that try at the same moment and split the votes, so that none has a majority. One
 * of them asks the nodes that refused it again (wakeup_retries()); the others release their keys at
 * once.
 *
 *	rivals_are_heard()       a majority has answered and did not grant the lock: is this final?
 *	rivals_give_way_to_us()  then: this client retries
 *	rivals_split_votes()     the votes are split: the release of the attempt wakes rivals
 *
 * These functions change nothing, and nothing here fails.
 */
#ifndef LOCK_RIVALS_H
#define LOCK_RIVALS_H

#include "base/clock.h"

#include <stdbool.h>

struct lock;
struct step;

/* Rivals have the votes, none of them has a majority: one can get it if the others release. */
bool rivals_split_votes(const struct lock *lock);

/* Rivals hear every node before they retry or give way, except nodes that are late. Without rivals:
 * a majority can no longer be reached with the `open` nodes. */
bool rivals_are_heard(const struct step *s, int yes, int open, usec *wake_at);

/* The votes are split, and this client is the first of its rivals. */
bool rivals_give_way_to_us(const struct step *s);

#endif
