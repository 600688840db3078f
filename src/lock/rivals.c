#include "lock/rivals.h"

#include "lock/step.h"

#include "lock/peer.h"
#include "lock/reservation.h"
#include "lock/waiter.h"

#include <string.h>

/* The first retry; each later one waits as long as the attempt has taken, up to a quarter of the
 * node time-out. A client that waits retries a few times, and then has its place in the queue; one
 * that does not wait retries for two node time-outs: its rival may be far away, and take one for
 * its attempt, and may begin as much later. */
#define RETRY_AFTER 200
#define RETRY_TIMEOUTS 2

/* A holder that is releasing the lock reaches the other nodes within a node time-out. If there is
 * no release, because the queue node lost the key of the holder, a longer retry would keep the
 * holder from setting its key there. */
#define EARLY_TIMEOUTS 1
#define RETRIES_WAITING_MAX 3

/* A client with a majority retries so often, whatever its token, if a holder names other nodes: it
 * fails meanwhile if only its names are others. If both have a majority, the client with the
 * smaller token retries longer, by when the other one has given way. */
#define RETRIES_CONTESTED 2
#define RETRIES_CONTESTED_FIRST 4

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
static bool is_first_of_rivals(const struct step *s)
{
	const struct lock *lock = s->lock;

	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct reply *a = &lock->tally.ballot[i].reply;

		if (lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			token_is_ours(a->text, a->text_len) &&
			(lock->policy.is_shared || memcmp(a->text, s->token, TOKEN_ID_LEN) < 0))
			return false;
	}
	return tally_yes(&lock->tally) > 0;
}

/* Bit i: node i has not answered. */
static unsigned silent_nodes(const struct lock *lock)
{
	unsigned silent = 0;

	for (int i = 0; i < lock->policy.nodes; i++)
		silent |= (unsigned)(lock->tally.ballot[i].vote == VOTE_NONE) << i;
	return silent;
}

/* The client may retry: its rivals will not, or they will soon have failed. */
static bool is_to_retry(const struct step *s, const struct rivals *r)
{
	const struct lock *lock = s->lock;
	bool is_first = is_first_of_rivals(s);

	if (tally_yes(&lock->tally) >= policy_quorum(&lock->policy))
		return r->retries < (is_first ? RETRIES_CONTESTED_FIRST : RETRIES_CONTESTED);
	return rivals_split_votes(lock) && is_first;
}

bool rivals_retry(
	struct step *s, struct rivals *r, enum op op, usec asked_at, usec wait_until, usec *wake_at)
{
	struct lock *lock = s->lock;
	unsigned refused = 0; /* bits: enum refused */
	bool is_early, is_in_vain;
	usec timeouts;

	/* A node that cannot be asked again is no reason for a retry. */
	for (int i = 0; i < lock->policy.nodes; i++)
		if (peer_is_ready(&lock->peer[i]))
			refused |= 1u << reservation_refusal(lock, i);
	is_early = refused >> REFUSED_EARLY & 1;
	is_in_vain = refused >> REFUSED_IN_VAIN & 1;
	timeouts = is_early ? EARLY_TIMEOUTS : RETRY_TIMEOUTS;
	if (refused >> REFUSED_UNCLEAR & 1 &&
		!step_grace_is_over(s, true, lock->policy.node_timeout / 4, wake_at))
		return true;
	if (!r->retry_at) {
		if (s->now >= asked_at + timeouts * lock->policy.node_timeout ||
			(!is_early && r->retries >= RETRIES_WAITING_MAX && s->now < wait_until) ||
			(!is_early && !is_in_vain && !is_to_retry(s, r)))
			return false;
		/* No request is on its way that would change a reservation in vain. */
		r->retry_at = s->now;
		if (!is_in_vain && !r->has_changed)
			r->retry_at += usec_min(usec_max(RETRY_AFTER, s->now - asked_at),
				lock->policy.node_timeout / 4);
		r->retries++;
	}
	if (s->now < r->retry_at) {
		*wake_at = r->retry_at;
		return true;
	}
	r->retry_at = lock->tally.enough_at = 0;
	r->has_changed = false;
	r->silent = silent_nodes(lock);
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN && peer_is_ready(&lock->peer[i]))
			peer_ask(s, i, op, waiter_watches(lock),
				reservation_refusal(lock, i) == REFUSED_IN_VAIN);
	return tally_count(&lock->tally, VOTE_NONE) > 0;
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
bool rivals_are_heard(
	const struct step *s, const struct rivals *r, int yes, int open, usec *wake_at)
{
	struct lock *lock = s->lock;
	unsigned silent = silent_nodes(lock) & ~r->silent;
	usec grace = lock->policy.node_timeout / 4;

	if (!rivals_split_votes(lock))
		return yes + open < policy_quorum(&lock->policy);
	grace += asked_later(lock, silent);
	return silent == 0 ||
	       tally_grace_is_over(&lock->tally, s->now, true, grace, grace, wake_at);
}
