/*
 * redlock break: remove a lock, whosever it is. On each node the very value that was shown is
 * compared and deleted: a lock that has changed hands meanwhile is left alone.
 */
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/print.h"
#include "core/report.h"
#include "io/survey.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* True to go on; else *status says what to leave with. */
static bool confirm(const struct settings *s, int *status)
{
	char line[16] = "";

	if (s->yes)
		return true;
	*status = STATUS_USAGE;
	if (!isatty(STDIN_FILENO)) {
		out_say(OUT_ERRORS, "nothing is removed without --yes");
		return false;
	}
	out_say(OUT_ERRORS, "remove it? Whoever has it may still be at work. Type 'yes' to do so");
	if (fgets(line, sizeof(line), stdin) && strcmp(line, "yes\n") == 0)
		return true;
	out_say(OUT_ERRORS, "nothing was removed");
	*status = STATUS_OK;
	return false;
}

/* What each node shall delete; those without a value, or with another type, are not asked. */
static int plan(const struct survey *sv, const struct settings *s, struct answer shown[NODES_MAX],
	struct wish wish[NODES_MAX])
{
	int count = 0;

	for (int i = 0; i < s->nodes.count; i++) {
		const struct member *m = &sv->quorum.member[i];

		shown[i] = m->answer;
		wish[i] = (struct wish){.op = OPS};
		if (m->vote != VOTE_FOREIGN || shown[i].is_reserved || shown[i].text_len == 0 ||
			strcmp(report_format(&shown[i]), "structure") == 0)
			continue;
		wish[i] = (struct wish){
			.op = OP_HAND_OVER,
			.key = s->key,
			.token = shown[i].text,
			.token_len = shown[i].text_len,
			.turn = "",
			.time = s->node_timeout,
			.turn_time = s->node_timeout,
			.is_breaking = true,
		};
		count++;
	}
	return count;
}

static const char *deed(const struct wish *wish, const struct member *m)
{
	if (wish->op == OPS)
		return "nothing to remove";
	switch (m->vote) {
	case VOTE_YES:
		return "removed";
	case VOTE_GONE:
		return "gone already";
	case VOTE_FOREIGN:
		return "somebody else's by now: left alone";
	case VOTE_NONE:
	case VOTE_ABSENT:
		break;
	}
	return reason_words(m->answer.reason);
}

static int conclude(
	const struct survey *sv, const struct settings *s, const struct wish wish[NODES_MAX])
{
	const struct quorum *q = &sv->quorum;
	int removed = quorum_count(q, VOTE_YES), foreign = quorum_count(q, VOTE_FOREIGN);
	int absent = quorum_count(q, VOTE_ABSENT), status;
	struct json j;

	status = foreign > 0 ? STATUS_BUSY : absent > 0 ? STATUS_NO_QUORUM : STATUS_OK;
	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j,
			foreign > 0  ? "changed-hands"
			: absent > 0 ? "incomplete"
				     : "removed",
			status);
		json_number(&j, "removed", removed);
		print_nodes(&j, q, &s->nodes, sv->took);
		print_end(&j);
	} else {
		for (int i = 0; i < s->nodes.count; i++)
			print_line("%s: %s", s->nodes.node[i].label, deed(&wish[i], &q->member[i]));
	}
	return status;
}

int cmd_break(struct settings *s)
{
	static struct survey sv;
	const struct policy policy = settings_policy(s);
	struct wish wish[NODES_MAX], look = {.op = OP_LOOK, .key = s->key, .token = "", .turn = ""};
	struct answer shown[NODES_MAX];
	char text[REPORT_MAX];
	struct err e;
	int status;

	if (survey_open(&sv, &policy, &s->nodes, &e) < 0) {
		out_err(&e);
		return status_of(e.kind);
	}
	survey_ask_all(&sv, &look, NULL, SURVEY_ALL);
	status = print_duplicate(&sv.quorum, &s->nodes);
	if (status != STATUS_OK)
		return status;
	out_say(OUT_ERRORS, "%s",
		report_status(text, &sv.quorum, &s->nodes, s->key, clock_wall() / USEC_SEC));
	if (plan(&sv, s, shown, wish) == 0) {
		status = strcmp(report_state(&sv.quorum), "unknown") == 0 ? STATUS_NO_QUORUM
									  : STATUS_OK;
		out_say(OUT_ERRORS, "there is nothing to remove");
	} else if (confirm(s, &status)) {
		survey_ask(&sv, wish, NULL, SURVEY_ALL);
		status = conclude(&sv, s, wish);
		if (print_finish() != STATUS_OK)
			status = STATUS_INTERNAL;
	}
	survey_close(&sv);
	return status;
}
