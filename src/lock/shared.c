#include "lock/shared.h"

#include "lock/step.h"

#include "lock/waiter.h"

bool shared_has_key(const struct step *s, int node)
{
	const struct reply *a = &s->tally->ballot[node].reply;

	return a->vote == VOTE_FOREIGN && a->is_shared;
}

bool shared_is_in_the_way(const struct step *s)
{
	const struct ballot *line = &s->tally->ballot[s->waiter->node];
	bool found = false;

	for (int i = 0; i < s->policy->nodes; i++) {
		const struct ballot *b = &s->tally->ballot[i];

		if (b == line || line->vote != VOTE_FOREIGN)
			found |= b->vote == VOTE_FOREIGN && b->reply.is_shared &&
				 b->reply.key == s->waiter->key;
	}
	return found;
}
