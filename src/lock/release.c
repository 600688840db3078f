#include "lock/release.h"

#include "lock/step.h"

/* Clients that wait contend for the nodes' time, too: so long the last replies may take, until
 * conn_close() sends a delete to each node that has not answered. */
#define HEARING USEC_MSEC

/* The release of a held lock is a round of its own, in which each node votes. If the lock was not
 * held, the votes of the last attempt stay: messages need them. */
static void begin_votes(struct step *s)
{
	struct lock *lock = s->lock;

	lock->releasing.asking = lock->phase == PHASE_HELD && lock->tally.duplicate[0] < 0;
	if (lock->releasing.asking)
		step_begin_round(s);
}

void release_begin(struct step *s)
{
	struct lock *lock = s->lock;

	begin_votes(s);
	lock->tally.began = s->now;
	lock->tally.enough_at = 0;
	lock->releasing.until = s->now;
	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		peer_begin_round(p);
		lock->releasing.until = usec_max(
			lock->releasing.until, s->now + peer_release_time(&lock->policy, p));
	}
	lock->phase = PHASE_RELEASE;
	/* Nodes without the key get the hand-off, too: waiters may be queued there. */
	for (int i = 0;
		i < lock->policy.nodes && lock->tenure.confirmed && !lock->releasing.leave_for;
		i++) {
		struct peer *p = &lock->peer[i];

		if (!p->pending && p->link == LINK_UP && !peer_in_flight(p))
			peer_send(s, i, OP_HAND_OFF);
	}
}

/* The first reply to the release of a held lock is a vote on whether the key lasted until now. A
 * repeated release may find that the first one succeeded; after the validity the key may have
 * expired. */
void release_vote(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;
	struct ballot *b = &lock->tally.ballot[ev->node];

	if (!lock->releasing.asking || ev->round != lock->stamp.round || ev->op == OP_UNDO ||
		b->vote != VOTE_NONE || s->now >= lock->tenure.valid_until)
		return;
	b->vote = ev->reply->vote;
	b->reply = *ev->reply;
}

/* The open votes may still show whether a majority had the key until the release. */
static bool is_end_open(const struct lock *lock)
{
	int quorum = policy_quorum(&lock->policy), yes = tally_yes(&lock->tally),
	    no = tally_no(&lock->tally);

	return lock->releasing.asking && yes < quorum && no < quorum &&
	       (yes > no ? yes : no) + peer_count_open(lock) >= quorum;
}

/* The node has named a holder with other nodes, and may say it once more. */
static bool is_contested(const struct lock *lock, int node)
{
	return lock->releasing.asking && lock->loss == LOSS_NONE && lock->contest.nodes >> node & 1;
}

/* Too few nodes have said that they stored the record. */
static bool lacks_record(const struct lock *lock)
{
	return lock->releasing.stores && lock_stored(lock) < policy_quorum(&lock->policy);
}

/* A majority has answered that it had the key and deleted it, and the release is all that the other
 * nodes have to read: they carry it out without us. A release on its way is no answer: a connection
 * that breaks now would be opened again. Nor is it enough if a request is unanswered before it: the
 * node may be stopped; unless it connected so late that it cannot have answered. */
static bool can_flush(const struct step *s)
{
	const struct lock *lock = s->lock;

	if (!lock->releasing.asking || lock->releasing.leave_for > 0 || lacks_record(lock) ||
		tally_yes(&lock->tally) < policy_quorum(&lock->policy))
		return false;
	for (int i = 0; i < lock->policy.nodes; i++) {
		const struct peer *p = &lock->peer[i];
		bool is_heard = !p->asked || peer_is_fresh(p, lock->policy.node_timeout, s->now);

		if (p->pending && !(p->link == LINK_UP && p->releasing && is_heard && !p->late))
			return false;
	}
	return true;
}

static void end(struct step *s)
{
	struct lock *lock = s->lock;

	for (int i = 0; i < lock->policy.nodes; i++)
		peer_may_land(s, i);
	if (lock->releasing.asking && tally_no(&lock->tally) >= policy_quorum(&lock->policy))
		lock->loss = LOSS_DENIED;
	lock->releasing.asking = false;
	lock->phase = PHASE_OVER;
}

/* A client that was refused does not hand the key off; but one that is denied an extension does:
 * `break` revokes the lock for those that wait. */
static bool tells_of_waiters(const struct event *ev)
{
	return ev->op == OP_EXTEND ? ev->reply->vote != VOTE_ABSENT
				   : ev->reply->vote == VOTE_YES &&
					     (ev->op == OP_ACQUIRE || ev->op == OP_REPAIR);
}

/* Clients that queue at another node see the queue otherwise. */
void release_note_waiters(struct step *s, const struct event *ev)
{
	struct lock *lock = s->lock;

	if (!tells_of_waiters(ev))
		return;
	for (int key = 0; key < lock->policy.keys; key++)
		if (ev->node == peer_queue_node(lock, key))
			lock->awaited =
				(lock->awaited & ~(1u << key)) | (ev->reply->waiters & 1u << key);
}

/* A node that has forgotten the script of the release by digest wakes no waiter, for conn_close()
 * only deletes the key: the node must answer if waiters are known, or if another node has forgotten
 * the scripts; but not a node that has never answered, which may be stopped. */
static bool must_wake_waiters(const struct lock *lock, int node)
{
	const struct peer *p = &lock->peer[node];
	unsigned keys = lock->awaited;

	if (!lock->policy.by_digest || p->no_digests || p->usual == 0)
		return false;
	for (int i = 0; i < lock->policy.nodes; i++)
		keys |= lock->peer[i].no_digests ? ~0u : 0;
	for (int key = 0; key < lock->policy.keys; key++)
		if (lock->policy.order[key][0] == node && (keys >> key & 1))
			return true;
	return false;
}

void release_advance(struct step *s, usec *wake_at)
{
	struct lock *lock = s->lock;
	int settled = 0, waited_for = 0;
	bool is_leaving, is_needed = false;
	usec flush_at = NEVER;

	for (int i = 0; i < lock->policy.nodes; i++) {
		struct peer *p = &lock->peer[i];

		is_needed |= p->releasing && peer_may_answer(p) &&
			     (lacks_record(lock) || is_contested(lock, i));
		if (!p->pending) {
			settled++;
			continue;
		}
		peer_drop_silent(s, i);
		peer_reopen(s, i);
		if (p->link == LINK_UP && !p->releasing && !p->release_refused)
			peer_send(s, i,
				peer_has_old_token(p, lock->stamp.attempt) ? OP_UNDO
				: lock->releasing.leave_for                ? OP_EXPIRE
									   : OP_HAND_OFF);
		/* A late node already has the release in its queue: do not wait for it. */
		waited_for += peer_may_answer(p);
		/* A server that fails to write a message to a closed connection drops the requests
		 * that it has not read. A second release is on its way, and connecting takes longer
		 * than the other nodes' answers. */
		is_needed |= peer_may_answer(p) &&
			     (p->subscribed || p->was_silent || must_wake_waiters(lock, i));
	}
	is_leaving = wakeup_end(s);
	lock->releasing.is_flushed = waited_for > 0 && !is_leaving && !is_needed && can_flush(s) &&
				     (!lock->awaited || tally_grace_is_over(&lock->tally, s->now,
								true, HEARING, HEARING, &flush_at));
	if (lock->releasing.is_flushed || (s->is_timeout && s->now >= lock->releasing.until) ||
		(!is_leaving && !is_needed && !is_end_open(lock) &&
			(waited_for == 0 ||
				step_grace_is_over(s, settled >= policy_quorum(&lock->policy),
					2 * USEC_MSEC, wake_at)))) {
		end(s);
		*wake_at = NEVER;
		return;
	}
	*wake_at = usec_min(usec_min(*wake_at, flush_at), lock->releasing.until);
}
