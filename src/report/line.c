#include "report/line.h"

#include "base/duration.h"
#include "base/token.h"
#include "base/utf8.h"

#include <string.h>

struct line line_begin(char dst[REPORT_MAX])
{
	dst[0] = '\0';
	return (struct line){.dst = dst};
}

void line_quoted(struct line *l, const char *text)
{
	char shown[120];

	line_add(l, "'%s'", utf8_escape(shown, sizeof(shown), text, strlen(text)));
}

void line_keys(struct line *l, const struct key_list *keys)
{
	for (int i = 0; i < keys->count; i++) {
		line_add(l, "%s", i ? ", " : "");
		line_quoted(l, keys->key[i]);
	}
}

void line_slot(struct line *l, int slot, const struct key_list *keys)
{
	char shown[120];
	const char *key = keys->key[0];

	if (slot > 0)
		line_add(l, "'%s#%d'", utf8_escape(shown, sizeof(shown), key, strlen(key)), slot);
	else
		line_keys(l, keys);
}

void line_lock(struct line *l, const struct lock *lock, const struct key_list *keys)
{
	line_slot(l, lock_slot(lock), keys);
}

void line_held_key(struct line *l, const struct tally *t, const struct key_list *keys)
{
	int nodes;

	line_quoted(l, keys->key[tally_holder(t, &nodes).key]);
}

void line_limits(struct line *l, int theirs, int ours)
{
	line_add(l, "held with limit %d, not %d", theirs, ours);
}

void line_owner(struct line *l, const struct reply *a)
{
	char shown[REPLY_TEXT_MAX], when[TIME_TEXT_MAX], age[DURATION_TEXT_MAX];
	size_t skip = 0;
	int64_t since =
		token_is_ours(a->text, a->text_len) ? token_since(a->text, a->text_len, &skip) : 0;

	/* The start of a foreign value is enough to recognise it. */
	utf8_escape(shown, skip ? sizeof(shown) : 61, a->text + skip, a->text_len - skip);
	if (skip)
		line_add(l, "%s", shown);
	if (skip && since)
		line_add(l, " since %s", time_format(when, since));
	if (skip && since && l->wall > since)
		line_add(l, " (%s)", duration_format(age, (l->wall - since) * USEC_SEC));
	if (skip && token_is_revoked(a->text) && !token_is_shared(a->text, a->text_len))
		line_add(l, " (revoked)");
	if (!skip)
		line_add(l, "another program (value '%s')", shown);
}

void line_holder(struct line *l, const struct tally *t, usec age)
{
	char left[DURATION_TEXT_MAX];
	int nodes;
	const struct reply holder = tally_holder(t, &nodes);

	if (nodes == 0) {
		line_add(l, "held by another client");
		return;
	}
	if (holder.is_reserved) {
		line_add(l, holder.is_shared
				    ? "shared by readers, with other waiters queued before us"
				    : "reserved for the next waiter");
		return;
	}
	line_add(l, "held by ");
	line_owner(l, &holder);
	/* Without a majority, the number is exact only if every node was asked. */
	if (nodes >= tally_quorum(t) || tally_count(t, VOTE_NONE) == 0)
		line_add(l, " on %d of %d node%s", nodes, t->nodes, t->nodes > 1 ? "s" : "");
	line_add(l, ", ");
	if (holder.pttl == NEVER)
		line_add(l, "with no expiry");
	else
		line_add(l, "expires in %s unless renewed",
			duration_format(left, holder.pttl - usec_min(holder.pttl, age)));
}

void line_other_nodes(struct line *l, const struct list *theirs, const char *ours)
{
	const struct list here = list_of(ours);

	line_add(l, "with other nodes (");
	if (theirs->nodes > 0)
		line_add(l, "%d node%s, list %s; ", theirs->nodes, theirs->nodes > 1 ? "s" : "",
			theirs->name);
	line_add(l, "here %d node%s, list %s)", here.nodes, here.nodes > 1 ? "s" : "", here.name);
}

void line_contender(struct line *l, const struct reply *contender, const char *ours)
{
	struct list theirs = {.nodes = 0};

	line_add(l, "held by ");
	if (contender) {
		theirs = list_of_holder(ours, contender);
		line_owner(l, contender);
	} else {
		line_add(l, "a client");
	}
	line_add(l, " ");
	line_other_nodes(l, &theirs, ours);
}

void line_votes(struct line *l, const struct tally *t, const char *it)
{
	int yes = tally_count(t, VOTE_YES),
	    no = tally_count(t, VOTE_GONE) + tally_count(t, VOTE_FOREIGN),
	    absent = tally_count(t, VOTE_ABSENT), unheard = tally_count(t, VOTE_NONE);

	line_add(l, "%d of %d node%s confirmed %s", yes, t->nodes, t->nodes > 1 ? "s" : "", it);
	if (no > 0)
		line_add(l, ", %d denied %s", no, it);
	if (absent > 0)
		line_add(l, ", %d did not vote", absent);
	if (unheard > 0)
		line_add(l, ", %d %s not answered yet", unheard, unheard > 1 ? "have" : "has");
	line_add(l, ", %d needed", tally_quorum(t));
}

void line_problem(struct line *l, const struct reply *a, usec age)
{
	char shown[160], time[DURATION_TEXT_MAX];

	line_add(l, "%s", reason_words(a->reason));
	switch (a->reason) {
	case REASON_UNRESOLVED:
	case REASON_CONNECT:
	case REASON_CLOSED:
	case REASON_TLS:
	case REASON_UNTRUSTED:
	case REASON_CLIENT_CERTIFICATE:
	case REASON_WRONG_PASSWORD:
	case REASON_PROTECTED:
	case REASON_NO_PASSWORD:
	case REASON_NOPERM:
	case REASON_SERVER:
	case REASON_NO_DIGESTS:
	case REASON_GARBAGE:
	case REASON_COUNTER:
		if (a->text_len)
			line_add(l, " (%s)",
				utf8_escape(shown, sizeof(shown), a->text, a->text_len));
		break;
	case REASON_QUARANTINE:
		line_add(l, " for another %s",
			duration_format(time, a->pttl - usec_min(a->pttl, age)));
		break;
	case REASON_SKEWED:
		line_add(l, ", %s %s ours", duration_format(time, a->pttl), a->text);
		break;
	case REASON_NONE:
	case REASON_CONNECT_TIMEOUT:
	case REASON_TLS_TIMEOUT:
	case REASON_NOT_TLS:
	case REASON_SPEAKS_TLS:
	case REASON_TIMEOUT:
	case REASON_NOT_READY:
	case REASON_LOADING:
	case REASON_LEFT:
	case REASON_SEVERAL:
	case REASON_READONLY:
	case REASON_MISCONF:
	case REASON_NOAUTH:
	case REASON_OOM:
	case REASON_MOVED:
	case REASON_CLUSTERDOWN:
	case REASON_MASTERDOWN:
	case REASON_NOREPLICAS:
	case REASON_BUSY:
	case REASON_MAXCLIENTS:
	case REASON_NO_SCRIPT:
	case REASON_UNSURE:
	case REASON_TOO_LONG:
	case REASON_ENDLESS:
		break;
	}
}

static const char *problem_text(char dst[REPORT_MAX], const struct reply *a, usec age)
{
	struct line l = line_begin(dst);

	line_problem(&l, a, age);
	return dst;
}

/* Nodes with the same problem share one part, in whose words people search. */
void line_problems_after(struct line *l, const char *separator, const struct tally *t,
	const struct node_list *nodes, usec age)
{
	unsigned shown = 0;

	for (int i = 0; i < t->nodes; i++) {
		char problem[REPORT_MAX], other[REPORT_MAX];
		unsigned same = 0;
		const char *between = "";

		if (!tally_in_trouble(t, i) || shown & 1u << i)
			continue;
		problem_text(problem, &t->ballot[i].reply, age);
		for (int n = i; n < t->nodes; n++)
			if (tally_in_trouble(t, n) &&
				strcmp(problem_text(other, &t->ballot[n].reply, age), problem) == 0)
				same |= 1u << n;
		line_add(l, "%s%s", separator, same & (same - 1) ? "each of " : "");
		for (int n = i; n < t->nodes; n++) {
			if (!(same & 1u << n))
				continue;
			line_add(l, "%s%s", between, nodes->node[n].label);
			between = ", ";
		}
		line_add(l, " %s", problem);
		shown |= same;
		separator = "; ";
	}
}

void line_problems(struct line *l, const struct tally *t, const struct node_list *nodes, usec age)
{
	line_problems_after(l, ": ", t, nodes, age);
}
