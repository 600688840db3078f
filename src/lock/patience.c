#include "lock/patience.h"

void patience_begin(struct patience *p, usec now)
{
	*p = (struct patience){.began = now, .outage_began = NEVER, .hopeless_since = NEVER};
}

static usec outages_until(const struct patience *p, usec now)
{
	return p->outages + (p->outage_began == NEVER ? 0 : now - p->outage_began);
}

void patience_failed(struct patience *p, bool had_majority, bool is_hopeless, usec began, usec now)
{
	if (had_majority) {
		p->outages = outages_until(p, now);
		p->outage_began = NEVER;
		p->met_majority = true;
	} else if (p->outage_began == NEVER) {
		p->outage_began = began;
	}
	if (had_majority || !is_hopeless)
		p->hopeless_since = NEVER;
	else
		p->hopeless_since = usec_min(p->hopeless_since, began);
}

usec patience_for_holder(const struct patience *p, const struct policy *policy, usec now)
{
	usec added = policy->node_wait == NEVER ? 0 : outages_until(p, now);

	return usec_add(usec_add(p->began, policy->wait), usec_min(added, policy->node_wait));
}

usec patience_until(const struct patience *p, const struct policy *policy)
{
	usec until = usec_add(p->began, policy->wait);

	if (p->outage_began == NEVER)
		return patience_for_holder(p, policy, p->began);
	if (policy->node_wait != NEVER)
		return usec_min(usec_add(p->outage_began, policy->node_wait),
			usec_add(until, policy->node_wait));
	if (p->met_majority)
		return until;
	return usec_min(until, usec_add(p->hopeless_since, HOPELESS_TIME));
}
