#include "lock/deadline.h"

#include <signal.h>

/* A shell that waits for a program acts on a signal only when the program has ended. The program
 * gets the signal so long after the shell, at most; with a KILL that comes sooner, halfway to it.
 */
#define SPREAD_AFTER (3 * USEC_SEC)

static usec spread_after(const struct deadline_policy *p)
{
	return usec_min(SPREAD_AFTER, p->kill_after / 2);
}

usec deadline_margin(const struct deadline_policy *p)
{
	if (p->on_lost == 0)
		return 0;
	return p->on_lost == SIGKILL ? p->reap : p->grace + p->reap;
}

usec deadline_reap_time(usec ttl)
{
	return usec_min(usec_max(ttl / 50, 10 * USEC_MSEC), USEC_SEC / 2);
}

usec deadline_default_grace(usec ttl)
{
	return usec_min(ttl / 10, 10 * USEC_SEC);
}

void deadline_init(
	struct deadline *l, const struct deadline_policy *policy, usec now, usec valid_until)
{
	*l = (struct deadline){
		.policy = *policy,
		.valid_until = valid_until,
		.run_until = usec_add(now, policy->max_run),
		.term_at = NEVER,
		.asked_at = NEVER,
	};
}

void deadline_lose(struct deadline *l, usec now)
{
	/* Never later than the validity that a majority confirmed. */
	l->valid_until = usec_min(l->valid_until, now + deadline_margin(&l->policy));
}

void deadline_asked(struct deadline *l, usec now)
{
	if (l->killed || l->term_at != NEVER || l->asked_at != NEVER)
		return;
	l->asked_at = now;
	l->cause = CAUSE_ASKED;
}

void deadline_finished(struct deadline *l)
{
	l->run_until = NEVER;
}

void deadline_needs(struct deadline *l, usec reap)
{
	l->policy.reap = usec_max(l->policy.reap, reap);
}

int deadline_signal(const struct deadline *l)
{
	return l->cause == CAUSE_LOST ? l->policy.on_lost : l->policy.signal;
}

static enum deadline_action let_go(
	struct deadline *l, enum deadline_action action, enum deadline_cause cause)
{
	l->cause = cause;
	l->killed = action == DEADLINE_KILL;
	return action;
}

/* When KILL follows the signals that were sent; NEVER: it does not. A loss has its own time. */
static usec kill_time(const struct deadline *l)
{
	const struct deadline_policy *p = &l->policy;
	usec grace = l->cause == CAUSE_LOST || p->kill_after == NEVER ? p->grace : p->kill_after;

	return usec_min(usec_add(l->term_at, grace), usec_add(l->asked_at, p->kill_after));
}

enum deadline_action deadline_step(struct deadline *l, usec now, usec *wake_at)
{
	/* False: the command may run on without its lock, or has no lock of its own. */
	bool minds = l->policy.on_lost != 0 && l->valid_until != NEVER;
	usec lost_at = minds ? l->valid_until - deadline_margin(&l->policy) : NEVER;
	usec dead_at = minds ? l->valid_until - l->policy.reap : NEVER;
	usec term_at = l->term_at == NEVER ? usec_min(lost_at, l->run_until) : NEVER;
	usec spread_at = l->has_spread || l->term_at != NEVER
				 ? NEVER
				 : usec_add(l->asked_at, spread_after(&l->policy));

	*wake_at = NEVER;
	if (l->killed)
		return DEADLINE_WAIT;
	/* No grace period uses up the time that the tree needs to die. */
	if (now >= dead_at)
		return let_go(l, DEADLINE_KILL, CAUSE_LOST);
	if (now >= kill_time(l))
		return let_go(l, DEADLINE_KILL, l->cause);
	if (now >= term_at) {
		l->term_at = now;
		let_go(l, DEADLINE_TERM, now >= lost_at ? CAUSE_LOST : CAUSE_MAX_RUN);
		*wake_at = usec_min(dead_at, kill_time(l));
		return DEADLINE_TERM;
	}
	if (now >= spread_at) {
		l->has_spread = true;
		*wake_at = usec_min(usec_min(dead_at, kill_time(l)), term_at);
		return DEADLINE_SPREAD;
	}
	*wake_at = usec_min(usec_min(dead_at, kill_time(l)), usec_min(term_at, spread_at));
	return DEADLINE_WAIT;
}
