#include "report/report.h"

#include "report/line.h"
#include "report/rights.h"

#include <strings.h>

const char *report_unguarded(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const int unguarded[])
{
	static const struct {
		int bit;
		const char *words;
	} reasons[] = {
		{UNGUARDED_INFO, "this user may not use INFO"},
		{UNGUARDED_TIME, "this user may not use TIME"},
		{UNGUARDED_KEY, "this user may not use the key '" GUARD_KEY "'"},
		{UNGUARDED_NO_INFO, "the server has no command INFO"},
		{UNGUARDED_NO_TIME, "the server has no command TIME"},
		{UNGUARDED_NO_RUN_ID, "the server reports no run id"},
	};
	struct line l = line_begin(dst);
	const char *separator = "no restart guard on ";
	int all = 0;

	for (int i = 0; i < t->nodes; i++)
		if (tally_is_unguarded(t, i)) {
			line_add(&l, "%s%s", separator, nodes->node[i].label);
			separator = ", ";
			all |= unguarded[i];
		}
	separator = ": ";
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (all & reasons[i].bit) {
			line_add(&l, "%s%s", separator, reasons[i].words);
			separator = "; ";
		}
	return dst;
}

const char *report_no_queue(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys)
{
	struct line l = line_begin(dst);

	line_add(&l, "cannot queue for ");
	line_keys(&l, keys);
	line_add(&l, ", polling instead: %s ", nodes->node[lock->waiter.node].label);
	line_problem(&l, &lock->waiter.problem, 0);
	return dst;
}

const char *report_no_room(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys)
{
	const struct waiter *w = &lock->waiter;
	int full = ffs((int)w->full) - 1;
	struct line l = line_begin(dst);

	line_add(&l, "queued for ");
	line_keys(&l, keys);
	line_add(&l, " at %s, until the usual node has room: %s ", nodes->node[w->node].label,
		nodes->node[full].label);
	line_problem(&l, &lock->tally.ballot[full].reply, 0);
	return dst;
}

/* The number of nodes that line_problems() does not name. */
static int count_usable(const struct tally *t)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++)
		n += !tally_in_trouble(t, i);
	return n;
}

const char *report_missing(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes)
{
	struct line l = line_begin(dst);

	line_problems_after(&l, "; ", t, nodes, 0);
	return dst;
}

const char *report_refusal(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now)
{
	struct line l = line_begin(dst);
	int holders;

	switch (lock->refusal) {
	case REFUSAL_NONE:
		break;
	case REFUSAL_BUSY:
		line_held_key(&l, &lock->tally, keys);
		line_add(&l, " is busy: ");
		if (lock_other_limit(lock) > 0) {
			line_limits(&l, lock_other_limit(lock), lock->policy.limit);
			line_add(&l, ": one slot is ");
		} else if (policy_is_semaphore(&lock->policy)) {
			line_add(&l, "its %d slots are taken, ", lock->policy.limit);
			line_lock(&l, lock, keys);
			line_add(&l, " ");
		}
		line_holder(&l, &lock->tally, 0);
		/* With a minority of holders, the nodes with problems prevented a majority. */
		(void)tally_holder(&lock->tally, &holders);
		if (holders < policy_quorum(&lock->policy))
			line_problems_after(&l, "; ", &lock->tally, nodes, now - lock->tally.began);
		break;
	case REFUSAL_NO_QUORUM:
		line_add(&l, "no quorum for ");
		line_keys(&l, keys);
		line_add(&l, ": %d of %d node%s can be used, %d needed", count_usable(&lock->tally),
			lock->policy.nodes, lock->policy.nodes > 1 ? "s" : "",
			policy_quorum(&lock->policy));
		line_problems(&l, &lock->tally, nodes, now - lock->tally.began);
		break;
	case REFUSAL_SLOW:
		line_add(&l, "no quorum for ");
		line_keys(&l, keys);
		line_add(&l,
			" in time: the nodes granted it so late that too little of the TTL was "
			"left");
		break;
	case REFUSAL_DUPLICATE:
		return report_duplicate(dst, &lock->tally, nodes);
	}
	return dst;
}
