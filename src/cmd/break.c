/*
 * redlock break: shows the lock, asks for confirmation, and removes it from all nodes, regardless
 * of the holder.
 *
 * On each node, a script compares the key's value with the value shown and deletes the key only if
 * they are equal. So break leaves a lock alone that has changed hands meanwhile.
 */
#include "base/exit.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/configure.h"
#include "cmd/confirm.h"
#include "cmd/print.h"
#include "io/query.h"
#include "report/foreign.h"
#include "report/report.h"

#include <string.h>

/* The removal on each node; NULL: the node is not asked. */
struct removal {
	const struct request *asked[NODES_MAX];
	struct request request[NODES_MAX];
};

/* Asks again; the nodes that are not asked keep the reply that was shown. */
static void ask_again(struct query *query, const struct settings *s,
	const struct reply shown[NODES_MAX], const struct removal *removal)
{
	query_ask(query, removal->asked, NULL, QUERY_ALL);
	for (int i = 0; i < s->nodes.count; i++)
		if (!removal->asked[i])
			tally_take(&query->tally, i, &shown[i], NULL);
}

static void build_removal(struct removal *removal, int node, const struct settings *s, enum op op,
	const struct reply *shown)
{
	struct request *r = &removal->request[node];
	const struct lock_ref lock = {
		.keys = &s->keys,
		.slot = s->limit > 1 ? (int)s->slot : 0,
		.token = shown->text,
		.token_len = shown->text_len,
	};

	removal->asked[node] = op == OP_NONE ? NULL : r;
	if (op == OP_HAND_OFF)
		request_hand_off(r, &lock,
			&(struct hand_off_args){
				.reserve_time = s->node_timeout, .flag = FLAG_BREAKS});
	else if (op == OP_BREAK)
		request_break(r, &lock);
}

static bool is_structure(const struct ballot *b)
{
	return b->vote == VOTE_FOREIGN && strcmp(foreign_format(&b->reply), "structure") == 0;
}

/* A look reports only the type of a hash or sorted set: ask for the names in it. */
static void learn_names(struct query *query, const struct settings *s, struct removal *removal)
{
	static const struct reply nothing = {.text = ""};
	struct reply shown[NODES_MAX];
	int count = 0;

	for (int i = 0; i < s->nodes.count; i++) {
		bool asked = is_structure(&query->tally.ballot[i]);

		shown[i] = query->tally.ballot[i].reply;
		build_removal(removal, i, s, asked ? OP_BREAK : OP_NONE, &nothing);
		count += asked;
	}
	if (count > 0)
		ask_again(query, s, shown, removal);
}

/* Chooses what each node deletes. Nodes without a value, or with a value that is no lock, are not
 * asked. */
static int plan(const struct query *query, const struct settings *s, struct reply shown[NODES_MAX],
	struct removal *removal)
{
	int count = 0;

	for (int i = 0; i < s->nodes.count; i++) {
		const struct ballot *b = &query->tally.ballot[i];
		enum op op = OP_HAND_OFF;

		shown[i] = b->reply;
		if (b->vote != VOTE_FOREIGN || shown[i].is_reserved)
			op = OP_NONE;
		else if (is_structure(b))
			op = strchr(shown[i].text, ' ') ? OP_BREAK : OP_NONE;
		build_removal(removal, i, s, op, &shown[i]);
		count += op != OP_NONE;
	}
	return count;
}

/* Shows other holders as well: break removes only values that it has shown. */
static void show_others(
	const struct query *query, const struct settings *s, const struct removal *removal)
{
	char text[REPORT_MAX];
	int count;
	const struct reply holder = tally_holder(&query->tally, &count);

	for (int i = 0; i < s->nodes.count; i++) {
		const struct reply *reply = &query->tally.ballot[i].reply;

		if (removal->asked[i] && !reply_same_text(reply, &holder))
			log_say(LOG_ERRORS, "%s",
				report_reply(
					text, &s->nodes.node[i], OP_LOOK, reply, query->took[i]));
	}
}

static const char *removal_result(bool was_asked, const struct ballot *b)
{
	switch (b->vote) {
	case VOTE_YES:
		return "removed";
	case VOTE_GONE:
		return was_asked ? "gone already" : "nothing to remove";
	case VOTE_FOREIGN:
		return was_asked              ? "another client's by now: left alone"
		       : b->reply.is_reserved ? "nothing to remove"
					      : "no lock: left alone";
	case VOTE_NONE:
	case VOTE_ABSENT:
		break;
	}
	return reason_words(b->reply.reason);
}

/* Prints the result to stdout. Returns status, or that of a failed write. */
static int print_result(
	const struct query *query, const struct settings *s, const char *outcome, int status)
{
	struct json j;

	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, outcome, status);
		if (s->limit > 0)
			json_number(&j, "slot", s->slot);
		json_number(&j, "removed", tally_count(&query->tally, VOTE_YES));
		print_nodes(&j, &query->tally, &s->nodes, query->took);
		print_end(&j);
	}
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

static int break_it(struct query *query, const struct settings *s,
	const struct reply shown[NODES_MAX], const struct removal *removal)
{
	struct tally *t = &query->tally;
	bool has_changed = false;

	/* Servers may have closed idle connections during the confirmation. */
	query_reconnect(query);
	ask_again(query, s, shown, removal);
	for (int i = 0; i < s->nodes.count; i++) {
		has_changed |= removal->asked[i] && t->ballot[i].vote == VOTE_FOREIGN;
		if (s->format != FORMAT_JSON)
			print_line("%s: %s", s->nodes.node[i].label,
				removal_result(removal->asked[i], &t->ballot[i]));
	}
	if (has_changed)
		return print_result(query, s, "changed-hands", STATUS_BUSY);
	if (s->nodes.count - tally_count(t, VOTE_ABSENT) < tally_quorum(t)) {
		configure_hint(s, t, LOG_ERRORS);
		return print_result(query, s, "incomplete", STATUS_NO_QUORUM);
	}
	return print_result(query, s, "removed", STATUS_OK);
}

int cmd_break(struct settings *s)
{
	static struct query query;
	static struct removal removal;
	const struct policy policy = settings_policy(s);
	const struct lock_ref lock = {
		.keys = &s->keys, .slot = s->limit > 1 ? (int)s->slot : 0, .token = ""};
	struct request look;
	struct reply shown[NODES_MAX];
	const char *state;
	char text[REPORT_MAX];
	struct err e;
	int status, count;

	if (query_open(&query, &policy, &s->nodes, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	request_look(&look, &lock, &(struct look_args){0});
	query_ask_all(&query, &look, NULL, QUERY_ALL);
	status = print_duplicate(&query.tally, &s->nodes);
	if (status != STATUS_OK) {
		query_close(&query);
		return print_failure(s, "duplicate-node", status);
	}
	learn_names(&query, s, &removal);
	log_say(LOG_ERRORS, "%s",
		report_status(text, &query.tally, &s->nodes, s->key,
			s->limit > 1 ? (int)s->slot : 0, clock_wall() / USEC_SEC));
	state = report_state(&query.tally);
	count = plan(&query, s, shown, &removal);
	if (strcmp(state, "unknown") == 0) {
		log_say(LOG_ERRORS, "nothing was removed: it would not be known whose lock");
		configure_hint(s, &query.tally, LOG_ERRORS);
		status = print_result(&query, s, state, STATUS_NO_QUORUM);
	} else if (count == 0 && tally_count(&query.tally, VOTE_FOREIGN) > 0 &&
		   strcmp(state, "reserved") != 0) {
		log_say(LOG_ERRORS, "nothing was removed: it is no lock");
		log_hint(LOG_ERRORS,
			"a lock of Redisson (hash) or Symfony (zset) expires, and has few names; "
			"remove other data with 'redis-cli unlink KEY' on each node");
		status = print_result(&query, s, "no-lock", STATUS_BUSY);
	} else if (count == 0) {
		log_say(LOG_ERRORS, "there is nothing to remove");
		if (s->limit <= 1 && tally_limit(&query.tally) > 0)
			log_hint(LOG_ERRORS,
				"slots of the key are held: 'redlock status --limit %d' shows them",
				tally_limit(&query.tally));
		status = print_result(&query, s, state, STATUS_OK);
	} else {
		show_others(&query, s, &removal);
		status = confirm(s, "remove it? Its holder may still be running.", "removed");
		status = status == STATUS_OK ? break_it(&query, s, shown, &removal)
					     : print_result(&query, s, "not-confirmed", status);
	}
	query_close(&query);
	return status;
}
