#include "lock/pace.h"

#include "lock/step.h"

/* Clients that failed at the same moment try again at different times; the delay grows fourfold. If
 * nodes are overloaded, it doubles so many times. */
#define RETRY_DELAY (20 * USEC_MSEC)
#define RETRY_SPREAD (100 * USEC_MSEC)
#define CROWD_DOUBLINGS 4

/* A quarantine may take hours, and may be ended by hand. */
#define BACK_STOP (25 * USEC_SEC)
#define BACK_STOP_SPREAD (10 * USEC_SEC)

/* The others are told when they become one of the first two. Their looks notice only that the queue
 * node is gone; the crowd does not look at the same moment. */
#define LOOK_LATER (5 * USEC_SEC)
#define LOOK_SPREAD (20 * USEC_MSEC)

/* A waiter that the queue node has no room for looks and attempts so often: with five nodes, twelve
 * requests a minute at most. The interval between attempts grows to three times this one. */
#define LOOK_ELSEWHERE UNLESS_HASTY(15 * USEC_SEC)
#define RETRY_ELSEWHERE UNLESS_HASTY(20 * USEC_SEC)
#define ELSEWHERE_SPREAD UNLESS_HASTY(4 * USEC_SEC)

/* When all waiters must join again, the crowd spreads over this time for each waiter in it. */
#define JOIN_SPREAD USEC_MSEC

static usec doubled(const struct step *s, int times, int most)
{
	return (RETRY_DELAY + (usec)(s->random % RETRY_SPREAD)) << (times < most ? times : most);
}

usec pace_retry_delay(const struct step *s)
{
	return doubled(s, s->lock->waiter.tries / 4, 2);
}

/* How long after a key's end to ask for it: a node's clock has grains of a millisecond, and other
 * clients ask, too. */
static usec spread(const struct step *s)
{
	return 2 * USEC_MSEC + (usec)(s->random % RETRY_SPREAD);
}

usec pace_crowd_spread(const struct waiter *w)
{
	return w->rank > 1 ? w->rank * JOIN_SPREAD : 0;
}

void pace_retry_in(struct step *s, usec delay)
{
	s->lock->waiter.retry_at = usec_min(s->lock->waiter.retry_at, usec_add(s->now, delay));
}

void pace_look_in(struct step *s, usec delay)
{
	s->lock->waiter.look_at = usec_min(s->lock->waiter.look_at, usec_add(s->now, delay));
}

bool pace_has_foreign_holder(const struct lock *lock)
{
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			reply_has_foreign_holder(&lock->tally.ballot[i].reply))
			return true;
	return false;
}

bool pace_is_watched(const struct lock *lock)
{
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->tally.ballot[i].vote == VOTE_FOREIGN &&
			lock->tally.ballot[i].reply.is_watched)
			return true;
	return false;
}

/* The first attempt elsewhere, and each of the next two, makes the interval longer. */
static usec retry_elsewhere(const struct step *s)
{
	int tries = s->lock->waiter.tries;

	return (tries < 1          ? 1
		       : tries < 3 ? tries
				   : 3) *
		       RETRY_ELSEWHERE +
	       (usec)(s->random % ELSEWHERE_SPREAD);
}

unsigned pace_full_nodes(const struct lock *lock)
{
	unsigned full = 0;
	bool has_answered = false;

	for (int n = 0; n < lock->policy.nodes; n++) {
		int i = lock->policy.order[lock->waiter.busy_key][n];
		const struct ballot *b = &lock->tally.ballot[i];

		has_answered |= b->vote != VOTE_ABSENT;
		full |= (unsigned)(!has_answered && b->reply.reason == REASON_MAXCLIENTS) << i;
	}
	return full;
}

void pace_schedule(struct step *s, usec ends_in, bool is_foreign)
{
	struct lock *lock = s->lock;
	struct waiter *w = &lock->waiter;
	usec first = s->now + LOOK_FIRST + (usec)(s->random % RETRY_SPREAD);

	w->look_at = w->retry_at = NEVER;
	if (w->rank <= 1)
		pace_retry_in(s, is_foreign ? pace_retry_delay(s) : usec_add(ends_in, spread(s)));
	w->full = pace_full_nodes(lock);
	if (w->full) {
		pace_look_in(s, LOOK_ELSEWHERE + w->rank * LOOK_SPREAD);
		w->retry_at = usec_min(w->retry_at, lock->tally.began + retry_elsewhere(s));
		return;
	}
	if (w->rank > 1) {
		pace_look_in(s, LOOK_LATER + w->rank * LOOK_SPREAD);
		return;
	}
	/* The first waiter asks all nodes: the queue node may have a key that the others have not.
	 * The second one does so half as often: the first may be stopped. */
	if (w->rank == 0) {
		w->retry_at = usec_min(w->retry_at, first);
	} else {
		w->look_at = first;
		w->retry_at = usec_min(w->retry_at,
			lock->tally.began + 2 * LOOK_FIRST + (usec)(s->random % RETRY_SPREAD));
	}
}

/* A node is late, or has too many clients: maybe a crowd tries. Then each client tries half as
 * often after each attempt. */
static bool is_crowded(const struct lock *lock)
{
	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct ballot *b = &lock->tally.ballot[i];

		if (b->vote == VOTE_ABSENT &&
			(b->reply.reason == REASON_TIMEOUT || b->reply.reason == REASON_MAXCLIENTS))
			return true;
	}
	return false;
}

usec pace_retry_for_quorum(const struct step *s)
{
	usec quarantined_for = tally_quarantined_for(&s->lock->tally);

	if (quarantined_for == 0)
		return s->now + (is_crowded(s->lock)
						? doubled(s, s->lock->waiter.tries, CROWD_DOUBLINGS)
						: pace_retry_delay(s));
	return usec_min(usec_add(s->now + spread(s), quarantined_for),
		s->now + BACK_STOP + (usec)(s->random % BACK_STOP_SPREAD));
}
