/*
 * redlock break: shows the lock, asks for confirmation, revokes the lock on all nodes, and waits
 * until its holder has ended (cmd/revoke.h). With --force, deletes the keys at once.
 *
 * On each node, a script compares the key's value with the value shown. So break leaves a lock
 * alone that has changed hands meanwhile.
 */
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/token.h"
#include "cmd/commands.h"
#include "cmd/confirm.h"
#include "cmd/done.h"
#include "cmd/print.h"
#include "cmd/revoke.h"
#include "cmd/setup.h"
#include "report/report.h"

#include <poll.h>
#include <string.h>

/* How often to look whether the lock has ended: the interval grows. */
#define LOOK_LEAST (50 * USEC_MSEC)
#define LOOK_MOST USEC_SEC

/* Shows other holders as well: break removes only values that it has shown. */
static void show_others(
	const struct query *query, const struct settings *s, const struct revocation *r)
{
	char text[REPORT_MAX];
	int count;
	const struct reply holder = tally_holder(&query->tally, &count);

	for (int i = 0; i < s->nodes.count; i++) {
		const struct reply *reply = &query->tally.ballot[i].reply;

		if (r->asked[i] && !reply_same_text(reply, &holder))
			log_say(LOG_ERRORS, "%s",
				report_reply(
					text, &s->nodes.node[i], OP_LOOK, reply, query->took[i]));
	}
}

static const char *result_on(const struct revocation *r, int node, const struct ballot *b)
{
	const struct request *asked = r->asked[node];

	switch (b->vote) {
	case VOTE_YES:
		return asked && asked->op == OP_REVOKE && !r->deletes ? "revoked" : "removed";
	case VOTE_GONE:
		return asked ? "gone already" : "nothing to remove";
	case VOTE_FOREIGN:
		return asked                  ? "another client has it now: left alone"
		       : b->reply.is_reserved ? "nothing to remove"
		       : token_is_ours(b->reply.text, b->reply.text_len)
			       ? "its holder has other nodes: left alone"
			       : "no lock: left alone";
	case VOTE_NONE:
	case VOTE_ABSENT:
		break;
	}
	return reason_words(b->reply.reason);
}

/* Prints the result to stdout. `count` is the number of nodes that did as asked. Returns status, or
 * that of a failed write. */
static int print_result(const struct query *query, const struct settings *s, int count,
	const char *outcome, int status)
{
	struct json j;

	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, outcome, status);
		if (s->limit > 0)
			json_number(&j, "slot", s->slot);
		json_number(&j, s->force ? "removed" : "revoked", count);
		print_nodes(&j, &query->tally, &s->nodes, query->took);
		print_end(&j);
	}
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

/* A majority, or all nodes that answered, do not have the revoked key any more. A holder with other
 * nodes may have never had a majority of ours: none of them has the key any more. */
static bool has_ended(const struct query *query, const struct settings *s,
	const struct revocation *r, int remains)
{
	int answered = query->tally.nodes - tally_count(&query->tally, VOTE_ABSENT);

	if (remains > 0 && revoke_has_other_nodes(r, &s->nodes))
		return false;
	return answered - remains >= tally_quorum(&query->tally);
}

/* Nodes that have the value again that was revoked: the holder sets it without comparing. */
static int count_restored(const struct query *query, const struct revocation *r)
{
	int count = 0;

	for (int i = 0; i < query->tally.nodes; i++) {
		const struct ballot *b = &query->tally.ballot[i];

		count += r->asked[i] && b->vote == VOTE_FOREIGN &&
			 !token_is_revoked(b->reply.text) &&
			 reply_same_text(&b->reply, &r->shown[i]);
	}
	return count;
}

/* Waits until the holder has ended, which `until` bounds: then the keys have expired. */
static int await_end(struct query *query, const struct settings *s, const struct revocation *r,
	int revoked, usec until)
{
	usec began = clock_now(), interval = LOOK_LEAST, give_up = usec_add(began, s->wait);
	char left[DURATION_TEXT_MAX];

	if (s->wait > 0)
		log_say(LOG_NORMAL, "waiting for the holder to end its command: at most %s",
			duration_format(left, usec_max(usec_min(until - began, s->wait), 0)));
	for (;;) {
		usec now;

		(void)poll(NULL, 0, (int)(interval / USEC_MSEC));
		interval = usec_min(interval * 3 / 2, LOOK_MOST);
		revoke_look(query, s, r->keys, false);
		now = clock_now();
		if (count_restored(query, r) >= tally_quorum(&query->tally)) {
			log_say(LOG_ERRORS, "the lock was taken back: the holder set its key again "
					    "without comparing");
			log_hint(LOG_ERRORS, "end that program first, or use --force");
			return print_result(query, s, revoked, "taken-back", STATUS_BUSY);
		}
		if (has_ended(query, s, r, revoke_remains(query)))
			break;
		if (now >= give_up) {
			log_say(LOG_NORMAL, "the lock is revoked: its holder has not ended yet");
			return print_result(query, s, revoked, "revoked", STATUS_BUSY);
		}
		if (now >= usec_add(until, s->node_timeout)) {
			setup_hint(s, &query->tally, LOG_ERRORS);
			return print_result(query, s, revoked, "incomplete", STATUS_NO_QUORUM);
		}
	}
	log_say(LOG_NORMAL, "the lock ended after %s", duration_format(left, clock_now() - began));
	return print_result(query, s, revoked, "ended", STATUS_OK);
}

static int break_it(struct query *query, const struct settings *s, struct revocation *r)
{
	struct tally *t = &query->tally;
	usec until = usec_add(clock_now(), revoke_lasts(r, s->nodes.count));
	char text[DURATION_TEXT_MAX];
	bool has_changed = false;
	int done;

	/* Servers may have closed idle connections during the confirmation. */
	query_reconnect(query);
	revoke_ask(r, query, r->asked);
	for (int i = 0; i < s->nodes.count; i++) {
		has_changed |= r->asked[i] && t->ballot[i].vote == VOTE_FOREIGN;
		if (s->format != FORMAT_JSON)
			print_line(
				"%s: %s", s->nodes.node[i].label, result_on(r, i, &t->ballot[i]));
	}
	done = tally_count(t, VOTE_YES);
	if (has_changed)
		return print_result(query, s, done, "changed-hands", STATUS_BUSY);
	if (s->nodes.count - tally_count(t, VOTE_ABSENT) < tally_quorum(t)) {
		setup_hint(s, t, LOG_ERRORS);
		return print_result(query, s, done, "incomplete", STATUS_NO_QUORUM);
	}
	if (s->force && done > 0 && until > clock_now())
		log_say(LOG_ERRORS, "the holder's command may still run%s%s",
			until == NEVER ? "" : " for up to ",
			until == NEVER ? "" : duration_format(text, until - clock_now()));
	if (s->force || done == 0 || revoke_lasts(r, s->nodes.count) == 0)
		return print_result(query, s, done, "removed", STATUS_OK);
	(void)print_finish();
	return await_end(query, s, r, done, until);
}

static const char *name_of(char text[REPORT_MAX], const struct settings *s)
{
	return report_lock(text, s->limit > 1 ? (int)s->slot : 0, &s->keys);
}

/* The lock as the nodes describe it can be ended: asks the user, and ends it. */
static int confirm_and_break(struct query *query, const struct settings *s, struct revocation *r)
{
	char text[REPORT_MAX];
	int status;

	show_others(query, s, r);
	if (!s->force && revoke_endless(r, s->nodes.count) > 0) {
		log_say(LOG_ERRORS, "cannot revoke %s: the key has no expiry", name_of(text, s));
		log_hint(LOG_ERRORS, "end the program that holds it, then remove the key: --force");
		return print_result(query, s, 0, "no-expiry", STATUS_BUSY);
	}
	status = confirm(s,
		s->force ? "remove it at once? Its command may still be running."
			 : "end it? Its command will be terminated.",
		s->force ? "removed" : "revoked");
	return status == STATUS_OK ? break_it(query, s, r)
				   : print_result(query, s, 0, "not-confirmed", status);
}

/* Removes the record of --once-per. */
static int remove_record(struct query *query, const struct settings *s)
{
	int removed = done_remove(query, s->keys.key[0]);
	const struct tally *t = &query->tally;

	for (int i = 0; i < s->nodes.count && s->format != FORMAT_JSON; i++)
		print_line("%s: %s", s->nodes.node[i].label,
			t->ballot[i].vote == VOTE_YES ? "removed"
						      : reason_words(t->ballot[i].reply.reason));
	if (removed == s->nodes.count)
		return print_result(query, s, removed, "removed", STATUS_OK);
	setup_hint(s, t, LOG_ERRORS);
	return print_result(query, s, removed, "incomplete", STATUS_NO_QUORUM);
}

static bool has_request(const struct revocation *r, int nodes)
{
	bool has = false;

	for (int i = 0; i < nodes; i++)
		has |= r->asked[i] != NULL;
	return has;
}

int cmd_break(struct settings *s)
{
	static struct query query;
	static struct revocation revocation; /* too large for the stack */
	const struct policy policy = settings_policy(s);
	const char *state;
	char text[REPORT_MAX], holder[HOLDER_TEXT_MAX];
	const struct reply *spared;
	struct done done = {.left = 0};
	struct err e;
	int status, count;

	if (query_open(&query, &policy, &s->nodes, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	if (s->limit <= 1)
		(void)done_find(&done, &query, s->keys.key[0]);
	revoke_look(&query, s, &s->keys, false);
	status = print_duplicate(&query.tally, &s->nodes);
	if (status != STATUS_OK) {
		query_close(&query);
		return print_failure(s, "duplicate-node", status);
	}
	state = report_state(&query.tally);
	log_event(LOG_ERRORS,
		&(struct log_event){
			.name = state, .holder = report_holder_text(holder, &query.tally)},
		"%s",
		report_status(text, &query.tally, &s->nodes, s->keys.key[0],
			s->limit > 1 ? (int)s->slot : 0, clock_wall() / USEC_SEC));
	if (done.left > 0)
		done_log(&done, s->keys.key[0], LOG_ERRORS, 0);
	count = revoke_plan(&revocation, &query, s, &s->keys, s->force > 0);
	spared = strcmp(state, "unknown") != 0 ? revoke_spare(&revocation, &s->nodes) : NULL;
	if (spared)
		revoke_say_spared(s, s->keys.key[0], s->limit > 1 ? (int)s->slot : 0, spared);
	if (strcmp(state, "unknown") == 0) {
		log_say(LOG_ERRORS, "cannot remove %s: the holder is not known", name_of(text, s));
		setup_hint(s, &query.tally, LOG_ERRORS);
		status = print_result(&query, s, 0, state, STATUS_NO_QUORUM);
	} else if (spared && !has_request(&revocation, s->nodes.count)) {
		status = print_result(&query, s, 0, "other-nodes", STATUS_BUSY);
	} else if (count == 0 && tally_count(&query.tally, VOTE_FOREIGN) > 0 &&
		   strcmp(state, "reserved") != 0) {
		log_say(LOG_ERRORS, "cannot remove %s: the value is no lock", name_of(text, s));
		log_hint(LOG_ERRORS, "check which program wrote it: a lock of Redisson (hash) or "
				     "Symfony (zset) expires");
		if (report_way_out(text, &query.tally, &s->keys))
			log_hint(LOG_ERRORS, "%s", text);
		status = print_result(&query, s, 0, "no-lock", STATUS_BUSY);
	} else if (count == 0 && done.left > 0) {
		status = confirm(s, "remove the record? The command may run again.", "removed");
		status = status == STATUS_OK ? remove_record(&query, s)
					     : print_result(&query, s, 0, "not-confirmed", status);
	} else if (count == 0) {
		log_say(LOG_ERRORS, "%s is not held: nothing was removed", name_of(text, s));
		if (s->limit <= 1 && tally_limit(&query.tally) > 0)
			log_hint(LOG_ERRORS,
				"slots of the key are held: 'redlock status --limit %d' shows them",
				tally_limit(&query.tally));
		status = print_result(&query, s, 0, state, STATUS_OK);
	} else {
		status = confirm_and_break(&query, s, &revocation);
		if (status == STATUS_OK && done.left > 0)
			(void)done_remove(&query, s->keys.key[0]);
	}
	query_close(&query);
	return status;
}
