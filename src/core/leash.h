/*
 * leash: when a command must be told to end, and when it is killed, so that it is gone before the
 * lock that it runs under. Pure: it is told the time and says what to do.
 */
#ifndef CORE_LEASH_H
#define CORE_LEASH_H

#include "base/clock.h"

#include <stdbool.h>

struct leash_policy {
	usec kill_after; /* between TERM and KILL */
	usec reap; /* between KILL and the end of the validity: to die and be reaped */
};

/* TERM is due this long before the validity ends. */
static inline usec leash_guard(const struct leash_policy *p)
{
	return p->kill_after + p->reap;
}

/* The part of the ttl that is set aside for the kernel to end a killed process. */
usec leash_reap_time(usec ttl);

/* kill_after when the user names none: a tenth of the TTL, at most 10 s. */
usec leash_default_kill_after(usec ttl);

enum leash_action {
	LEASH_WAIT,
	LEASH_TERM,
	LEASH_KILL,
};

struct leash {
	struct leash_policy policy;
	usec valid_until; /* set it anew after each extension */
	usec term_at; /* when TERM was sent; NEVER: not yet */
	bool killed;
};

void leash_init(struct leash *l, const struct leash_policy *policy, usec valid_until);

/* The lock is known to be lost, or the command is to end for another reason: TERM is due now. */
void leash_pull(struct leash *l, usec now);

/* What is due now. TERM and KILL are each said once; *wake_at is when to ask again. */
enum leash_action leash_step(struct leash *l, usec now, usec *wake_at);

#endif
