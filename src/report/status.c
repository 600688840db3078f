#include "report/report.h"

#include "base/duration.h"
#include "base/utf8.h"
#include "report/foreign.h"
#include "report/line.h"

#include <string.h>

const char *report_state(const struct tally *t)
{
	int quorum = tally_quorum(t), nodes;
	struct reply holder = tally_holder(t, &nodes);
	int absent = tally_count(t, VOTE_ABSENT) + tally_count(t, VOTE_NONE);

	if (nodes >= quorum && !holder.is_reserved)
		return "held";
	if (t->nodes - absent < quorum)
		return "unknown";
	if (nodes > 0 && holder.is_reserved)
		return "reserved";
	return nodes > 0 ? "minority" : "free";
}

/* The number of nodes on which that value has no TTL. */
static int count_endless(const struct tally *t, const struct reply *holder)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++) {
		const struct reply *a = &t->ballot[i].reply;

		n += a->vote == VOTE_FOREIGN && a->pttl == NEVER && reply_same_text(a, holder);
	}
	return n;
}

/* Adds anything unusual about the holder's value. */
static void add_oddity(struct line *l, const struct reply *holder, int64_t wall)
{
	const char *format = foreign_format(holder);
	char when[TIME_TEXT_MAX];

	if (strcmp(format, "timestamp") == 0)
		line_add(l, "; a lock of the old style (SETNX and a time stamp): it %s at %s",
			foreign_timestamp(holder) < wall ? "expired" : "expires",
			time_format(when, foreign_timestamp(holder)));
	else if (strcmp(format, "structure") == 0)
		line_add(l, "; no lock of ours: another data type, as Redisson (hash) and Symfony "
			    "(zset) keep");
	else if (holder->pttl == NEVER)
		line_add(l, "; it stays until a client deletes the key");
	if (foreign_libraries(format))
		line_add(
			l, "; such a value is written by %s and others", foreign_libraries(format));
}

bool report_has_waiters(const struct tally *t)
{
	bool is_awaited = false;

	for (int i = 0; i < t->nodes; i++)
		is_awaited |= t->ballot[i].reply.waiters != 0;
	return is_awaited;
}

int64_t report_waiters(const struct tally *t)
{
	int64_t n = 0;

	/* A waiter is connected to one node. */
	for (int i = 0; i < t->nodes; i++)
		n += t->ballot[i].reply.rank;
	return n;
}

static void add_waiters(struct line *l, const struct tally *t)
{
	int64_t n = report_waiters(t);

	if (n > 0)
		line_add(l, "; %lld waiter%s", (long long)n, n > 1 ? "s" : "");
	else if (report_has_waiters(t)) /* their number needs a right */
		line_add(l, "; others may be waiting");
}

static void add_replies(struct line *l, const struct tally *t, const struct node_list *nodes)
{
	line_add(l, "%d of %d node%s answered, %d needed", t->nodes - tally_count(t, VOTE_ABSENT),
		t->nodes, t->nodes > 1 ? "s" : "", tally_quorum(t));
	line_problems(l, t, nodes, 0);
}

const char *report_problem(char dst[REPORT_MAX], const struct reply *a)
{
	struct line l = line_begin(dst);

	line_problem(&l, a, 0);
	return dst;
}

const char *report_too_few_replies(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes)
{
	struct line l = line_begin(dst);

	add_replies(&l, t, nodes);
	return dst;
}

const char *report_done(
	char dst[REPORT_MAX], const char *key, const struct done *done, int64_t wall)
{
	struct line l = line_begin(dst);
	char shown[REPLY_TEXT_MAX], duration[DURATION_TEXT_MAX], when[TIME_TEXT_MAX];

	line_keys(&l, &ONE_KEY(key));
	line_add(&l, " %s done until %s (%s left)",
		done->status > 0 ? "failed, and counts as" : "is",
		time_format(when, wall + done->left / USEC_SEC),
		duration_format(duration, done->left));
	if (!*done->owner)
		return dst;
	line_add(&l, ", run by %s",
		utf8_escape(shown, sizeof(shown), done->owner, strlen(done->owner)));
	if (done->status >= 0)
		line_add(&l, ", which ended with status %d at %s", done->status,
			time_format(when, done->ended));
	return dst;
}

/* The holder has `on` of our nodes. If its nodes are others, fewer of ours than a majority may be a
 * majority of its own. */
static void add_list(struct line *l, const struct tally *t, const struct reply *holder, int on,
	const struct node_list *nodes)
{
	char ours[FINGERPRINT_MAX];
	struct list theirs = list_of_holder(node_list_fingerprint(ours, nodes), holder);
	bool is_minority = on < tally_quorum(t);
	bool holds = !is_minority ||
		     (theirs.is_other && list_may_hold(&theirs, on, tally_count(t, VOTE_ABSENT)));

	if (is_minority)
		line_add(l, "; that is no majority");
	if (!holds)
		line_add(l, ": an attempt that is under way, late or crashed");
	if (theirs.is_other) {
		line_add(l, "%s", !holds ? ", " : is_minority ? ": a holder " : "; a holder ");
		line_other_nodes(l, &theirs, ours);
	}
}

/* A node has the key of another client, which has other nodes. */
static void add_contender(struct line *l, const struct tally *t, const struct reply *holder,
	const struct node_list *nodes)
{
	char ours[FINGERPRINT_MAX];

	node_list_fingerprint(ours, nodes);
	for (int i = 0; i < t->nodes; i++) {
		const struct reply *a = &t->ballot[i].reply;

		if (a->vote != VOTE_FOREIGN || a->is_reserved || reply_same_text(a, holder) ||
			!list_of_holder(ours, a).is_other)
			continue;
		line_add(l, "; on %s ", nodes->node[i].label);
		line_contender(l, a, ours);
		return;
	}
}

const char *report_status(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const char *key, int slot, int64_t wall)
{
	struct line l = line_begin(dst);
	int count, quorum = tally_quorum(t), absent = tally_count(t, VOTE_ABSENT);
	struct reply holder = tally_holder(t, &count);

	l.wall = wall;
	line_slot(&l, slot, &ONE_KEY(key));
	if (t->nodes - absent < quorum) {
		line_add(&l, " has an unknown state: ");
		add_replies(&l, t, nodes);
		return dst;
	}
	line_add(&l, " is ");
	if (count == 0 && slot == 0 && tally_limit(t) > 0)
		line_add(&l, "a semaphore: slots of it are held with limit %d", tally_limit(t));
	else if (count == 0)
		line_add(&l, "free");
	else
		line_holder(&l, t, 0);
	if (count > 0 && !holder.is_reserved) {
		add_list(&l, t, &holder, count, nodes);
		add_oddity(&l, &holder, wall);
		if (holder.pttl != NEVER && count_endless(t, &holder) > 0)
			line_add(&l, "; on %d of them it does not expire",
				count_endless(t, &holder));
	}
	add_contender(&l, t, &holder, nodes);
	if (slot == 0)
		add_waiters(&l, t);
	if (tally_newest_fence(t) > 0)
		line_add(&l, "; fencing number %lld", (long long)tally_newest_fence(t));
	return dst;
}
