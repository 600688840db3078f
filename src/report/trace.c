#include "report/report.h"

#include "report/line.h"

const char *report_reply(char dst[REPORT_MAX], const struct node *node, enum op op,
	const struct reply *reply, usec took)
{
	struct line l = line_begin(dst);

	line_add(&l, "%s %s: ", node->label, op_name(op));
	switch (reply->vote) {
	case VOTE_YES:
		line_add(&l, "yes");
		break;
	case VOTE_GONE:
		line_add(&l, "no, the key is gone");
		break;
	case VOTE_FOREIGN:
		if (reply->is_reserved) {
			line_add(&l, op == OP_FENCE ? "no, the node has given a larger number"
						    : "no, reserved for another waiter");
			break;
		}
		line_add(&l, "no, held by ");
		line_owner(&l, reply);
		if (reply->limit > 0)
			line_add(&l, ", with limit %d", reply->limit);
		break;
	case VOTE_NONE:
	case VOTE_ABSENT:
		line_problem(&l, reply, 0);
		break;
	}
	line_add(&l, " (%d.%03dms)", (int)(took / 1000), (int)(took % 1000));
	return dst;
}

static const char *wake_words(enum wake wake)
{
	static const char *const words[] = {
		[WAKE_RESERVED] = "the key is reserved for it",
		[WAKE_LOOK] = "look again",
		[WAKE_CHANGED] = "the key has changed",
		[WAKE_REJOIN] = "the queue was lost",
	};

	return words[wake];
}

const char *report_event(
	char dst[REPORT_MAX], const struct node *node, const struct event *ev, usec took)
{
	struct line l = line_begin(dst);

	if (ev->kind == EV_REPLY)
		return report_reply(dst, node, ev->op, ev->reply, took);
	if (ev->kind == EV_WAKE) {
		line_add(&l, "%s woke this waiter: %s", node->label, wake_words(ev->wake));
		return dst;
	}
	if (ev->kind != EV_LINK_DOWN)
		return NULL;
	line_add(&l, "%s ", node->label);
	line_problem(&l, ev->reply, 0);
	return dst;
}
