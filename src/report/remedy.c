#include "report/report.h"

#include "base/utf8.h"
#include "report/foreign.h"
#include "report/line.h"
#include "report/problem.h"
#include "report/rights.h"

#include <string.h>

/* Has the node a problem with a known fix? Not tally_in_trouble(): a node that voted may refuse the
 * release. */
static bool has_fix(char fix[FIX_MAX], const struct settings *s, const struct tally *t,
	const struct server_info info[], int node)
{
	const struct reply *a = &t->ballot[node].reply;

	fix[0] = '\0';
	if (a->vote == VOTE_ABSENT)
		problem_fix(fix, s, node, info && info[node].kind[0] ? &info[node] : NULL, a);
	return fix[0] != '\0';
}

/* The same; `unguarded`: has the node voted without a restart guard, for a reason with a known fix?
 */
static bool has_hint(char fix[FIX_MAX], const struct settings *s, const struct tally *t,
	const struct server_info info[], const int unguarded[], int node)
{
	if (!unguarded)
		return has_fix(fix, s, t, info, node);
	return tally_is_unguarded(t, node) &&
	       rights_guard_fix(fix, s, node, unguarded[node])[0] != '\0';
}

const char *report_remedy(char dst[REPORT_MAX], const struct settings *s, const struct tally *t,
	const struct server_info info[], const int unguarded[], int node, const char **remark)
{
	struct line l = line_begin(dst);
	char fix[FIX_MAX], other[FIX_MAX];
	bool has_same[NODES_MAX] = {false};
	int count = 0;

	if (!has_hint(fix, s, t, info, unguarded, node))
		return NULL;
	for (int i = 0; i < t->nodes; i++) {
		has_same[i] = has_hint(other, s, t, info, unguarded, i) && strcmp(other, fix) == 0;
		if (has_same[i] && i < node)
			return NULL;
		count += has_same[i];
	}
	*remark = fix_remark(fix);
	if (fix_is_command(fix))
		line_add(&l, "in redis-cli on ");
	if (count == t->nodes && fix_is_command(fix))
		line_add(&l, "%s: ", count == 1 ? "the node" : "each node");
	for (int i = 0, left = count; i < t->nodes && count < t->nodes; i++)
		if (has_same[i])
			line_add(&l, "%s%s", s->nodes.node[i].label, --left > 0 ? ", " : ": ");
	line_add(&l, "%s", fix);
	return dst;
}

const char *report_way_out(char dst[REPORT_MAX], const struct tally *t, const struct key_list *keys)
{
	struct line l = line_begin(dst);
	char shown[REQUEST_KEY_MAX + 1];
	int nodes;
	const struct reply holder = tally_holder(t, &nodes);
	const char *key = keys->key[holder.key];

	if (nodes == 0 || holder.is_reserved || holder.pttl != NEVER)
		return NULL;
	utf8_escape(shown, sizeof(shown), key, strlen(key));
	if (strcmp(foreign_format(&holder), "structure") == 0)
		line_add(&l,
			"the key has other data, which are no lock: choose another key, or, if no "
			"program needs the data, in redis-cli on each node: UNLINK %s",
			shown);
	else
		line_add(&l,
			"the key never expires: if no program holds the lock any more, 'redlock "
			"break --force -k %s' removes it",
			shown);
	return dst;
}
