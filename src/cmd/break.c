/*
 * redlock break: remove a lock, whosever it is. On each node the very value that was shown is
 * compared and deleted: a lock that has changed hands meanwhile is left alone.
 */
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/configure.h"
#include "cmd/confirm.h"
#include "cmd/print.h"
#include "core/report.h"
#include "io/survey.h"

#include <string.h>

/* Another question; of the nodes that are not asked, the answer shown stands. */
static void ask_again(struct survey *sv, const struct settings *s,
	const struct answer shown[NODES_MAX], const struct wish wish[NODES_MAX])
{
	survey_ask(sv, wish, NULL, SURVEY_ALL);
	for (int i = 0; i < s->nodes.count; i++)
		if (wish[i].op == OPS)
			quorum_take_answer(&sv->quorum, i, &shown[i], NULL);
}

static struct wish removal(const struct settings *s, enum op op, const struct answer *shown)
{
	return (struct wish){
		.op = op,
		.keys = &s->keys,
		.slots = (int)s->limit,
		.slot = (int)s->slot,
		.token = shown->text,
		.token_len = shown->text_len,
		.turn = "",
		.time = s->node_timeout,
		.turn_time = s->node_timeout,
		.is_breaking = true,
	};
}

static bool is_structure(const struct member *m)
{
	return m->vote == VOTE_FOREIGN && strcmp(report_format(&m->answer), "structure") == 0;
}

/* Of a hash or sorted set, a look tells the type alone. */
static void learn_names(struct survey *sv, const struct settings *s)
{
	static const struct answer nothing = {.text = ""};
	struct answer shown[NODES_MAX];
	struct wish wish[NODES_MAX];
	int count = 0;

	for (int i = 0; i < s->nodes.count; i++) {
		bool asked = is_structure(&sv->quorum.member[i]);

		shown[i] = sv->quorum.member[i].answer;
		wish[i] = removal(s, asked ? OP_BREAK : OPS, &nothing);
		count += asked;
	}
	if (count > 0)
		ask_again(sv, s, shown, wish);
}

/* What each node shall delete; those without a value, or without a lock, are not asked. */
static int plan(const struct survey *sv, const struct settings *s, struct answer shown[NODES_MAX],
	struct wish wish[NODES_MAX])
{
	int count = 0;

	for (int i = 0; i < s->nodes.count; i++) {
		const struct member *m = &sv->quorum.member[i];

		enum op op = OP_HAND_OVER;

		shown[i] = m->answer;
		if (m->vote != VOTE_FOREIGN || shown[i].is_reserved)
			op = OPS;
		else if (is_structure(m))
			op = strchr(shown[i].text, ' ') ? OP_BREAK : OPS;
		wish[i] = removal(s, op, &shown[i]);
		count += op != OPS;
	}
	return count;
}

/* Whoever has it beside the holder is shown as well: what was not shown is not removed. */
static void show_others(
	const struct survey *sv, const struct settings *s, const struct wish wish[NODES_MAX])
{
	char text[REPORT_MAX];
	int count;
	const struct answer holder = quorum_holder(&sv->quorum, &count);

	for (int i = 0; i < s->nodes.count; i++) {
		const struct answer *a = &sv->quorum.member[i].answer;

		if (wish[i].op != OPS && !answer_same_text(a, &holder))
			out_say(OUT_ERRORS, "%s",
				report_answer(text, &s->nodes.node[i], OP_LOOK, a, sv->took[i]));
	}
}

static const char *deed(const struct wish *wish, const struct member *m)
{
	switch (m->vote) {
	case VOTE_YES:
		return "removed";
	case VOTE_GONE:
		return wish->op == OPS ? "nothing to remove" : "gone already";
	case VOTE_FOREIGN:
		return wish->op != OPS         ? "somebody else's by now: left alone"
		       : m->answer.is_reserved ? "nothing to remove"
					       : "no lock: left alone";
	case VOTE_NONE:
	case VOTE_ABSENT:
		break;
	}
	return reason_words(m->answer.reason);
}

/* On stdout; returns the status, or that it cannot be told. */
static int tell(const struct survey *sv, const struct settings *s, const char *outcome, int status)
{
	struct json j;

	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, outcome, status);
		if (s->limit > 0)
			json_number(&j, "slot", s->slot);
		json_number(&j, "removed", quorum_count(&sv->quorum, VOTE_YES));
		print_nodes(&j, &sv->quorum, &s->nodes, sv->took);
		print_end(&j);
	}
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

static int break_it(struct survey *sv, const struct settings *s,
	const struct answer shown[NODES_MAX], const struct wish wish[NODES_MAX])
{
	struct quorum *q = &sv->quorum;
	bool has_changed = false;

	/* While somebody thought, servers may have closed what was idle. */
	survey_renew(sv);
	ask_again(sv, s, shown, wish);
	for (int i = 0; i < s->nodes.count; i++) {
		has_changed |= wish[i].op != OPS && q->member[i].vote == VOTE_FOREIGN;
		if (s->format != FORMAT_JSON)
			print_line("%s: %s", s->nodes.node[i].label, deed(&wish[i], &q->member[i]));
	}
	if (has_changed)
		return tell(sv, s, "changed-hands", STATUS_BUSY);
	if (s->nodes.count - quorum_count(q, VOTE_ABSENT) < policy_quorum(&q->policy)) {
		configure_hint(s, q, OUT_ERRORS);
		return tell(sv, s, "incomplete", STATUS_NO_QUORUM);
	}
	return tell(sv, s, "removed", STATUS_OK);
}

int cmd_break(struct settings *s)
{
	static struct survey sv;
	const struct policy policy = settings_policy(s);
	struct wish wish[NODES_MAX], look = {.op = OP_LOOK,
					     .keys = &s->keys,
					     .slots = (int)s->limit,
					     .slot = (int)s->slot,
					     .token = "",
					     .turn = ""};
	struct answer shown[NODES_MAX];
	const char *state;
	char text[REPORT_MAX];
	struct err e;
	int status, count;

	if (survey_open(&sv, &policy, &s->nodes, &e) < 0) {
		out_err(&e);
		return status_of(e.kind);
	}
	sv.quorum.slot = (int)s->slot;
	survey_ask_all(&sv, &look, NULL, SURVEY_ALL);
	status = print_duplicate(&sv.quorum, &s->nodes);
	if (status != STATUS_OK) {
		survey_close(&sv);
		return print_failure(s, "duplicate-node", status);
	}
	learn_names(&sv, s);
	out_say(OUT_ERRORS, "%s",
		report_status(text, &sv.quorum, &s->nodes, s->key, clock_wall() / USEC_SEC));
	state = report_state(&sv.quorum);
	count = plan(&sv, s, shown, wish);
	if (strcmp(state, "unknown") == 0) {
		out_say(OUT_ERRORS, "nothing was removed: it would not be known whose lock");
		configure_hint(s, &sv.quorum, OUT_ERRORS);
		status = tell(&sv, s, state, STATUS_NO_QUORUM);
	} else if (count == 0 && quorum_count(&sv.quorum, VOTE_FOREIGN) > 0 &&
		   strcmp(state, "reserved") != 0) {
		out_say(OUT_ERRORS, "nothing was removed: it is no lock");
		out_hint(OUT_ERRORS,
			"a lock of Redisson (hash) or Symfony (zset) expires, and has few names; "
			"remove other data with 'redis-cli unlink KEY' on each node");
		status = tell(&sv, s, "no-lock", STATUS_BUSY);
	} else if (count == 0) {
		out_say(OUT_ERRORS, "there is nothing to remove");
		if (strcmp(state, "free") == 0 && s->limit <= 1 && report_is_awaited(&sv.quorum))
			out_hint(OUT_ERRORS,
				"is it a semaphore? 'redlock status --limit N' shows its slots");
		status = tell(&sv, s, state, STATUS_OK);
	} else {
		show_others(&sv, s, wish);
		status = confirm(s, "remove it? Whoever has it may still be at work.", "removed");
		status = status == STATUS_OK ? break_it(&sv, s, shown, wish)
					     : tell(&sv, s, "not-confirmed", status);
	}
	survey_close(&sv);
	return status;
}
