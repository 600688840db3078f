#include "core/leash.h"

usec leash_reap_time(usec ttl)
{
	return usec_min(usec_max(ttl / 50, 10 * USEC_MSEC), USEC_SEC / 2);
}

usec leash_default_kill_after(usec ttl)
{
	return usec_min(ttl / 10, 10 * USEC_SEC);
}

void leash_init(struct leash *l, const struct leash_policy *policy, usec valid_until)
{
	*l = (struct leash){.policy = *policy, .valid_until = valid_until, .term_at = NEVER};
}

void leash_pull(struct leash *l, usec now)
{
	if (l->term_at == NEVER)
		l->valid_until = usec_min(l->valid_until, now + leash_guard(&l->policy));
}

enum leash_action leash_step(struct leash *l, usec now, usec *wake_at)
{
	usec term_at = l->valid_until - leash_guard(&l->policy);
	usec kill_at = l->valid_until - l->policy.reap;

	/* The grace counts from TERM, and never reaches into the time that dying takes. */
	if (l->term_at != NEVER)
		kill_at = usec_min(kill_at, l->term_at + l->policy.kill_after);
	*wake_at = NEVER;
	if (l->killed)
		return LEASH_WAIT;
	if (now >= kill_at) {
		l->killed = true;
		return LEASH_KILL;
	}
	if (l->term_at == NEVER && now >= term_at) {
		l->term_at = now;
		*wake_at = usec_min(kill_at, now + l->policy.kill_after);
		return LEASH_TERM;
	}
	*wake_at = l->term_at == NEVER ? term_at : kill_at;
	return LEASH_WAIT;
}
