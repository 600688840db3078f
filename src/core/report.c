#include "core/report.h"

#include "base/text.h"
#include "base/token.h"

#include <string.h>

struct line {
	char *dst;
	size_t used;
};

#define add(l, ...) text_append((l)->dst, REPORT_MAX, &(l)->used, __VA_ARGS__)

static struct line line(char *dst)
{
	dst[0] = '\0';
	return (struct line){.dst = dst};
}

static void add_quoted(struct line *l, const char *text)
{
	char shown[120];

	add(l, "'%s'", text_escape(shown, sizeof(shown), text, strlen(text)));
}

static void add_owner(struct line *l, const struct answer *a)
{
	size_t skip = token_is_ours(a->text, a->text_len) ? TOKEN_ID_LEN + 1 : 0;
	char shown[ANSWER_TEXT_MAX];

	/* Of a value in another program's format, enough to recognise it. */
	text_escape(shown, skip ? sizeof(shown) : 61, a->text + skip, a->text_len - skip);
	if (skip)
		add(l, "%s", shown);
	else
		add(l, "another program (value '%s')", shown);
}

/* Its time left is counted down from when it was asked for, `age` ago. */
static void add_holder(struct line *l, const struct quorum *q, usec age)
{
	char left[DURATION_TEXT_MAX];
	int nodes;
	const struct answer holder = quorum_holder(q, &nodes);

	if (nodes == 0) {
		add(l, "held by somebody else");
		return;
	}
	if (holder.is_reserved) {
		add(l, "about to be taken by the next in line");
		return;
	}
	add(l, "held by ");
	add_owner(l, &holder);
	/* Maybe only the line was asked. */
	if (nodes >= policy_quorum(&q->policy) || quorum_count(q, VOTE_NONE) == 0)
		add(l, " on %d of %d node%s", nodes, q->policy.nodes,
			q->policy.nodes > 1 ? "s" : "");
	add(l, ", ");
	if (holder.pttl == NEVER)
		add(l, "with no expiry");
	else
		add(l, "%s left", duration_format(left, holder.pttl - usec_min(holder.pttl, age)));
}

const char *report_holder(char dst[REPORT_MAX], const struct quorum *q, const char *key, usec now)
{
	struct line l = line(dst);

	add_quoted(&l, key);
	add(&l, " is ");
	add_holder(&l, q, now - q->round_at);
	return dst;
}

static void add_trouble(struct line *l, const struct answer *a)
{
	char shown[160];

	add(l, "%s", reason_words(a->reason));
	switch (a->reason) {
	case REASON_UNRESOLVED:
	case REASON_CONNECT:
	case REASON_CLOSED:
	case REASON_SERVER:
		if (a->text_len)
			add(l, " (%s)", text_escape(shown, sizeof(shown), a->text, a->text_len));
		break;
	case REASON_NONE:
	case REASON_CONNECT_TIMEOUT:
	case REASON_TIMEOUT:
	case REASON_LOADING:
	case REASON_READONLY:
	case REASON_MISCONF:
	case REASON_OOM:
	case REASON_NOAUTH:
	case REASON_NOPERM:
	case REASON_MOVED:
	case REASON_CLUSTERDOWN:
	case REASON_MASTERDOWN:
	case REASON_NOREPLICAS:
	case REASON_BUSY:
	case REASON_MAXCLIENTS:
	case REASON_GARBAGE:
	case REASON_TOO_LONG:
		break;
	}
}

static void add_troubles(struct line *l, const struct quorum *q, const struct node_list *nodes)
{
	const char *separator = ": ";

	for (int i = 0; i < q->policy.nodes; i++) {
		const struct member *m = &q->member[i];

		/* In the middle of a round, the round before tells. */
		if (m->vote != VOTE_ABSENT &&
			(m->vote != VOTE_NONE || m->answer.vote != VOTE_ABSENT))
			continue;
		add(l, "%s%s ", separator, nodes->node[i].label);
		add_trouble(l, &m->answer);
		separator = "; ";
	}
}

const char *report_no_seat(char dst[REPORT_MAX], const struct quorum *q,
	const struct node_list *nodes, const char *key)
{
	struct line l = line(dst);

	add(&l, "no waiting in line for ");
	add_quoted(&l, key);
	add(&l, ", only asking again and again: %s ", nodes->node[q->seat.node].label);
	add_trouble(&l, &q->seat.trouble);
	return dst;
}

const char *report_refusal(char dst[REPORT_MAX], const struct quorum *q,
	const struct node_list *nodes, const char *key)
{
	struct line l = line(dst);

	switch (q->refusal) {
	case REFUSAL_NONE:
		break;
	case REFUSAL_BUSY:
		add_quoted(&l, key);
		add(&l, " is busy: ");
		add_holder(&l, q, 0);
		break;
	case REFUSAL_NO_QUORUM:
		add(&l, "no quorum for ");
		add_quoted(&l, key);
		add(&l, ": %d of %d node%s can be used, %d needed",
			q->policy.nodes - quorum_count(q, VOTE_ABSENT), q->policy.nodes,
			q->policy.nodes > 1 ? "s" : "", policy_quorum(&q->policy));
		add_troubles(&l, q, nodes);
		break;
	case REFUSAL_SLOW:
		add(&l, "no quorum for ");
		add_quoted(&l, key);
		add(&l, " in time: the nodes granted it so late that too little of the TTL was "
			"left");
		break;
	case REFUSAL_DUPLICATE:
		return report_duplicate(dst, q, nodes);
	}
	return dst;
}

const char *report_stood_still(char dst[REPORT_MAX], const char *key)
{
	struct line l = line(dst);

	add(&l, "lost ");
	add_quoted(&l, key);
	add(&l, ": redlock stood still and could not extend it in time");
	return dst;
}

const char *report_loss(char dst[REPORT_MAX], const struct quorum *q, const struct node_list *nodes,
	const char *key)
{
	struct line l = line(dst);
	int foreign = quorum_count(q, VOTE_FOREIGN), gone = quorum_count(q, VOTE_GONE);

	if (q->loss == LOSS_STOOD_STILL)
		return report_stood_still(dst, key);
	add(&l, "lost ");
	add_quoted(&l, key);
	if (q->loss == LOSS_DENIED && foreign > 0) {
		add(&l, ": now ");
		add_holder(&l, q, 0);
		if (gone > 0)
			add(&l, "; gone from %d", gone);
	} else if (q->loss == LOSS_DENIED) {
		add(&l, ": the key is gone from %d of %d nodes", gone, q->policy.nodes);
	} else {
		add(&l, ": no majority of %d node%s confirmed it in time", q->policy.nodes,
			q->policy.nodes > 1 ? "s" : "");
		add_troubles(&l, q, nodes);
	}
	return dst;
}

const char *report_unreleased(char dst[REPORT_MAX], const struct quorum *q,
	const struct node_list *nodes, const char *key, usec now)
{
	struct line l = line(dst);
	const char *separator = ": ";
	char left[DURATION_TEXT_MAX];
	usec until = now;
	int count = quorum_unreleased(q, &until);

	add_quoted(&l, key);
	add(&l, " could not be released on %d of %d nodes and frees itself there within %s", count,
		q->policy.nodes, duration_format(left, until - now));
	for (int i = 0; i < q->policy.nodes; i++)
		if (q->member[i].owes) {
			add(&l, "%s%s", separator, nodes->node[i].label);
			separator = ", ";
		}
	return dst;
}

const char *report_duplicate(
	char dst[REPORT_MAX], const struct quorum *q, const struct node_list *nodes)
{
	struct line l = line(dst);

	if (q->duplicate[0] >= 0)
		add(&l, "nodes '%s' and '%s' are one and the same server",
			nodes->node[q->duplicate[0]].label, nodes->node[q->duplicate[1]].label);
	return dst;
}

static const char *op_words(enum op op)
{
	static const char *const words[] = {
		[OP_ACQUIRE] = "acquire",
		[OP_EXTEND] = "extend",
		[OP_HEAL] = "put back",
		[OP_RELEASE] = "release",
		[OP_HAND_OVER] = "release",
		[OP_LEAVE] = "leave",
		[OP_JOIN] = "join",
		[OP_WAIT] = "wait",
	};

	return words[op];
}

const char *report_answer(char dst[REPORT_MAX], const struct node *node, enum op op,
	const struct answer *answer, usec took)
{
	struct line l = line(dst);

	add(&l, "%s %s: ", node->label, op_words(op));
	switch (answer->vote) {
	case VOTE_YES:
		add(&l, "yes");
		break;
	case VOTE_GONE:
		add(&l, "no, the key is gone");
		break;
	case VOTE_FOREIGN:
		add(&l, "no, held by ");
		add_owner(&l, answer);
		break;
	case VOTE_NONE:
	case VOTE_ABSENT:
		add_trouble(&l, answer);
		break;
	}
	add(&l, " (%d.%03dms)", (int)(took / 1000), (int)(took % 1000));
	return dst;
}
