#include "lock/rivals.h"

#include "lock/step.h"

#include "lock/peer.h"

#include <string.h>

/* A node that does not answer is not counted for a holder: it is down for all clients far more
 * often than it has the key of one. A retry in vain changes nothing. */
bool rivals_split_votes(const struct lock *lock)
{
	int quorum = policy_quorum(&lock->policy), most, rivals = 0;

	(void)tally_holder(&lock->tally, &most);
	for (int i = 0; i < lock->policy.nodes; i++)
		rivals +=
			tally_is_taken(&lock->tally, i) && !lock->tally.ballot[i].reply.is_reserved;
	return most < quorum &&
	       tally_yes(&lock->tally) + rivals + tally_count(&lock->tally, VOTE_NONE) >= quorum;
}

/* Of the clients that split the votes, the one with the smallest token retries: as far as the votes
 * tell, that is this client. All readers together count as the largest token. */
bool rivals_give_way_to_us(const struct step *s)
{
	const struct lock *lock = s->lock;

	if (!rivals_split_votes(lock))
		return false;
	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct reply *a = &lock->tally.ballot[i].reply;

		if (lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			token_is_ours(a->text, a->text_len) &&
			(lock->policy.is_shared || memcmp(a->text, s->token, TOKEN_ID_LEN) < 0))
			return false;
	}
	return tally_yes(&lock->tally) > 0;
}

/* A node that was connected later, or did not know the script, was asked later than the first, and
 * its answer takes as much longer. */
static usec asked_later(const struct lock *lock, unsigned nodes)
{
	usec later = 0;

	for (int i = 0; i < lock->policy.nodes; i++)
		if (nodes >> i & 1 && lock->peer[i].asked_in == lock->stamp.round)
			later = usec_max(later, lock->peer[i].asked_at - lock->attempt.asked_at);
	return later;
}

/* A node that was silent before the last retry is not waited for again: each retry would take a
 * quarter of the node time-out longer, and rivals come and go meanwhile. */
bool rivals_are_heard(const struct step *s, int yes, int open, usec *wake_at)
{
	struct lock *lock = s->lock;
	unsigned silent = tally_silent(&lock->tally) & ~lock->attempt.retry.silent;
	usec grace = lock->policy.node_timeout / 4;

	if (!rivals_split_votes(lock))
		return yes + open < policy_quorum(&lock->policy);
	grace += asked_later(lock, silent);
	return silent == 0 ||
	       tally_grace_is_over(&lock->tally, s->now, true, grace, grace, wake_at);
}
