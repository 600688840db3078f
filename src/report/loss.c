#include "report/report.h"

#include "base/duration.h"
#include "base/token.h"
#include "report/line.h"

const char *report_stood_still(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys)
{
	struct line l = line_begin(dst);

	line_add(&l, "lost ");
	line_lock(&l, lock, keys);
	line_add(&l, ": redlock stood still and could not extend it in time");
	return dst;
}

/* Was the lock revoked? A reader's own token comes with each refusal. */
static bool is_revoked(const struct tally *t)
{
	int nodes;
	const struct reply holder = tally_holder(t, &nodes);

	return nodes > 0 && !holder.is_reserved && token_is_revoked(holder.text);
}

const char *report_loss(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys)
{
	struct line l = line_begin(dst);
	int foreign = tally_count(&lock->tally, VOTE_FOREIGN),
	    gone = tally_count(&lock->tally, VOTE_GONE);

	if (lock->loss == LOSS_STOOD_STILL)
		return report_stood_still(dst, lock, keys);
	line_add(&l, "lost ");
	line_lock(&l, lock, keys);
	if (lock->loss == LOSS_DENIED && is_revoked(&lock->tally)) {
		line_add(&l, ": revoked by 'redlock break' or 'run --takeover'");
	} else if (lock->loss == LOSS_DENIED && foreign > 0) {
		line_add(&l, ": now ");
		if (keys->count > 1) {
			line_held_key(&l, &lock->tally, keys);
			line_add(&l, " is ");
		}
		line_holder(&l, &lock->tally, 0);
		if (gone > 0)
			line_add(&l, "; gone from %d", gone);
	} else if (lock->loss == LOSS_CONTESTED) {
		line_add(&l, ": ");
		line_contender(&l, lock_contested_by(lock), lock->policy.fingerprint);
	} else if (lock->loss == LOSS_DENIED) {
		line_add(&l, ": the key is gone from %d of %d nodes", gone, lock->policy.nodes);
	} else {
		line_add(&l, ": no majority of %d node%s confirmed it in time", lock->policy.nodes,
			lock->policy.nodes > 1 ? "s" : "");
		if (foreign + gone > 0)
			line_add(&l, ", %d denied it", foreign + gone);
		line_problems(&l, &lock->tally, nodes, 0);
	}
	return dst;
}

const char *report_unconfirmed(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now)
{
	struct line l = line_begin(dst);
	char left[DURATION_TEXT_MAX];

	line_add(&l, "cannot extend ");
	line_lock(&l, lock, keys);
	line_add(&l, " so far, valid for %s: ",
		duration_format(left, usec_max(lock->tenure.valid_until - now, 0)));
	line_votes(&l, &lock->tally, keys->count > 1 ? "them" : "it");
	line_problems(&l, &lock->tally, nodes, now - lock->tally.began);
	return dst;
}

const char *report_unsure(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys)
{
	struct line l = line_begin(dst);
	int quorum = policy_quorum(&lock->policy), yes = tally_count(&lock->tally, VOTE_YES);
	int no = tally_count(&lock->tally, VOTE_GONE) + tally_count(&lock->tally, VOTE_FOREIGN);

	if (no == 0 || no >= quorum || yes >= quorum)
		return dst;
	line_add(&l, "cannot tell whether ");
	line_lock(&l, lock, keys);
	line_add(&l, " %s held to the end: %d of %d nodes still had %s, %d did not",
		keys->count > 1 ? "were" : "was", yes, lock->policy.nodes,
		keys->count > 1 ? "them" : "it", no);
	return dst;
}

const char *report_unreleased(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now)
{
	struct line l = line_begin(dst);
	const char *separator = ": ";
	char left[DURATION_TEXT_MAX];
	usec until = now;
	int count = lock_unreleased(lock, &until);

	line_lock(&l, lock, keys);
	line_add(&l, " could not be released on %d of %d nodes and expires there within %s", count,
		lock->policy.nodes, duration_format(left, until - now));
	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->peer[i].pending) {
			line_add(&l, "%s%s", separator, nodes->node[i].label);
			separator = ", ";
			if (lock->tally.ballot[i].reply.vote != VOTE_ABSENT)
				continue;
			line_add(&l, " ");
			line_problem(&l, &lock->tally.ballot[i].reply, 0);
		}
	return dst;
}

/* The token was acquired with other nodes: it may hold its lock there. */
static void add_list_of_token(struct line *l, const struct tally *t, const struct node_list *nodes)
{
	char ours[FINGERPRINT_MAX];

	node_list_fingerprint(ours, nodes);
	for (int i = 0; i < t->nodes; i++) {
		struct list theirs = list_of_holder(ours, &t->ballot[i].reply);

		if (t->ballot[i].vote != VOTE_YES || !theirs.is_other)
			continue;
		line_add(l, "; it was acquired ");
		line_other_nodes(l, &theirs, ours);
		return;
	}
}

const char *report_ownership(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const struct key_list *keys, int slot)
{
	struct line l = line_begin(dst);
	const char *it = keys->count > 1 ? "them" : "it";
	int yes = tally_count(t, VOTE_YES);

	line_slot(&l, slot, keys);
	switch (tally_ownership(t)) {
	case OWNERSHIP_OWNED:
		line_add(&l, " %s held by this token on %d of %d nodes", report_verb(keys), yes,
			t->nodes);
		break;
	case OWNERSHIP_FOREIGN:
		line_add(&l, " %s no longer this token's: now ", report_verb(keys));
		line_holder(&l, t, 0);
		break;
	case OWNERSHIP_EXPIRED:
		line_add(&l, " %s no longer held by this token: %s expired or %s released",
			report_verb(keys), keys->count > 1 ? "they have" : "it has",
			keys->count > 1 ? "were" : "was");
		if (yes > 0)
			line_add(&l, " (only %d of %d nodes still had it)", yes, t->nodes);
		add_list_of_token(&l, t, nodes);
		break;
	case OWNERSHIP_UNKNOWN:
		line_add(&l, ": cannot tell whether this token holds %s: ", it);
		line_votes(&l, t, it);
		line_problems(&l, t, nodes, 0);
		break;
	}
	return dst;
}
