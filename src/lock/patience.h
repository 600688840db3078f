/*
 * patience: how long a client tries to get a lock, with and without a majority of the nodes.
 *
 *	patience_begin(&p, now);              EV_START
 *	patience_failed(&p, &policy, ...);    after each attempt that did not get the lock
 *	patience_until(&p, &policy);          no attempt begins later
 *
 * An outage begins with an attempt that no majority answers, and ends when a majority answers one.
 * Without policy.node_wait, outages count like any other time. With it, an outage lasts for
 * node_wait at most, and policy.wait limits the rest of the time: the time of the outages is added
 * to it, node_wait at most. So a client never tries for longer than both together.
 *
 * Some errors of nodes rarely end while a client waits (reply_is_permanent()): a wrong password, an
 * unknown name. If no majority can answer because of them, and none has answered before, the client
 * gives up after HOPELESS_TIME.
 *
 * A struct patience is a value. Nothing here fails.
 */
#ifndef LOCK_PATIENCE_H
#define LOCK_PATIENCE_H

#include "lock/policy.h"

#include <stdbool.h>

#define HOPELESS_TIME (5 * USEC_SEC)

struct patience {
	usec began;
	usec outage_began; /* NEVER: a majority answered the last attempt */
	usec outages; /* the length of the earlier outages together */
	usec hopeless_since; /* permanent errors prevent a majority since then; NEVER: they do not
			      */
	bool met_majority; /* a majority has answered an attempt */
};

void patience_begin(struct patience *p, usec now);

/* The attempt that began at `began` has failed. is_hopeless: so many nodes fail permanently that no
 * majority can answer. */
void patience_failed(struct patience *p, bool had_majority, bool is_hopeless, usec began, usec now);

/* When to give up, as far as the attempts so far tell. */
usec patience_until(const struct patience *p, const struct policy *policy);

/* The same for an attempt that a majority has answered. */
usec patience_for_holder(const struct patience *p, const struct policy *policy, usec now);

#endif
