#include "lock/deadline.h"

#include <signal.h>

usec deadline_margin(const struct deadline_policy *p)
{
	if (p->on_lost == 0)
		return 0;
	return p->on_lost == SIGKILL ? p->reap : p->kill_after + p->reap;
}

usec deadline_reap_time(usec ttl)
{
	return usec_min(usec_max(ttl / 50, 10 * USEC_MSEC), USEC_SEC / 2);
}

usec deadline_default_kill_after(usec ttl)
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
	};
}

void deadline_lose(struct deadline *l, usec now)
{
	/* Never later than the validity that a majority confirmed. */
	l->valid_until = usec_min(l->valid_until, now + deadline_margin(&l->policy));
}

void deadline_asked(struct deadline *l, usec now)
{
	if (l->killed || l->term_at != NEVER)
		return;
	l->term_at = now;
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
	return l->cause == CAUSE_LOST ? l->policy.on_lost : SIGTERM;
}

static enum deadline_action let_go(
	struct deadline *l, enum deadline_action action, enum deadline_cause cause)
{
	l->cause = cause;
	l->killed = action == DEADLINE_KILL;
	return action;
}

enum deadline_action deadline_step(struct deadline *l, usec now, usec *wake_at)
{
	/* False: the command may run on without its lock, or has no lock of its own. */
	bool minds = l->policy.on_lost != 0 && l->valid_until != NEVER;
	usec lost_at = minds ? l->valid_until - deadline_margin(&l->policy) : NEVER;
	usec kill_at = minds ? l->valid_until - l->policy.reap : NEVER;
	bool told = l->term_at != NEVER;

	*wake_at = NEVER;
	if (l->killed)
		return DEADLINE_WAIT;
	if (now >= kill_at)
		return let_go(l, DEADLINE_KILL, CAUSE_LOST);
	/* The grace counts from the first signal, also from a signal of another process. It never
	 * uses up the time that the tree needs to die. */
	if (told && now >= usec_add(l->term_at, l->policy.kill_after))
		return let_go(l, DEADLINE_KILL, l->cause);
	if (!told && now >= usec_min(lost_at, l->run_until)) {
		l->term_at = now;
		let_go(l, DEADLINE_TERM, now >= lost_at ? CAUSE_LOST : CAUSE_MAX_RUN);
		*wake_at = usec_min(kill_at, usec_add(now, l->policy.kill_after));
		return DEADLINE_TERM;
	}
	*wake_at = told ? usec_min(kill_at, usec_add(l->term_at, l->policy.kill_after))
			: usec_min(lost_at, l->run_until);
	return DEADLINE_WAIT;
}
