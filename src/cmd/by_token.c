/*
 * redlock extend, release, check: one query each about the lock of a token, for scripts with
 * several processes.
 *
 * Each sends one request to every node (question()), and prints which ownership follows from the
 * replies (conclude()): owned, expired, foreign, or unknown if too few nodes answered.
 */
#include "base/clock.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/token.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "file/file.h"
#include "file/registry.h"
#include "net/query.h"
#include "proc/follow.h"
#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long a background holder may take to release, on a busy machine, besides four node timeouts
 * (peer_release_time()). */
#define HOLDER_RELEASE_TIME (5 * USEC_SEC)

#define TOKEN_HINT "its first line must be what 'redlock acquire' printed"

static int refuse_long(struct err *e)
{
	err_set(e, ERR_USAGE, "the token is too long: at most %d bytes are allowed", TOKEN_MAX - 1);
	return err_hint(e, "give the %d characters that 'redlock acquire' printed", TOKEN_ID_LEN);
}

/* Reads the token from --token-file; "-": from stdin. */
static int read_token(char token[TOKEN_MAX], const struct settings *s, struct err *e)
{
	const char *file = s->token_file;
	const struct file_wait wait = setup_pipe_wait(s);
	char shown[120];
	struct stat st;
	int error = strcmp(file, "-") == 0
			    ? file_read_line_of(STDIN_FILENO, token, TOKEN_MAX)
			    : file_read_line(file, FILE_ANY, &wait, token, TOKEN_MAX, &st);

	utf8_escape(shown, sizeof(shown), file, strlen(file));
	if (error == EFBIG)
		return refuse_long(e);
	if (!error && *token)
		return 0;
	if (error)
		err_set(e, ERR_CONFIG, "cannot read --token-file '%s': %s", shown,
			file_reason(error));
	else
		err_set(e, ERR_CONFIG, "--token-file '%s' has no token", shown);
	return err_hint(e, TOKEN_HINT);
}

static struct lock_ref lock_of(const struct settings *s, const char *token)
{
	return (struct lock_ref){
		.keys = &s->keys,
		.slot = s->limit > 1 ? (int)s->slot : 0,
		.token = token,
	};
}

static struct guard_args guard_of(const struct settings *s)
{
	return (struct guard_args){
		.quarantine = settings_policy(s).quarantine, .wall = clock_wall()};
}

static void build_release(struct request *r, const struct settings *s)
{
	const struct lock_ref lock = lock_of(s, s->token);

	request_script(r, OP_HAND_OFF, &lock,
		&(struct request_args){
			.reserve_time = s->node_timeout, .guard = guard_of(s), .flag = FLAG_TELLS});
}

static void build_question(struct request *r, const struct settings *s)
{
	const struct lock_ref lock = lock_of(s, s->token);

	if (s->command == COMMAND_EXTEND)
		request_script(r, OP_EXTEND, &lock,
			&(struct request_args){.ttl = s->ttl, .never_shortens = true});
	else if (s->command == COMMAND_RELEASE)
		build_release(r, s);
	else
		request_script(r, OP_LOOK, &lock, &(struct request_args){0});
}

/* The outcome of a success, for each subcommand. */
static const char *done_name(enum command command)
{
	return command == COMMAND_EXTEND    ? "extended"
	       : command == COMMAND_RELEASE ? "released"
					    : "held";
}

static const char *outcome_name(const struct settings *s, enum ownership ownership, bool is_short)
{
	switch (ownership) {
	case OWNERSHIP_OWNED:
		return is_short ? "too-short" : done_name(s->command);
	case OWNERSHIP_EXPIRED:
		return "expired";
	case OWNERSHIP_FOREIGN:
		return "foreign";
	case OWNERSHIP_UNKNOWN:
		break;
	}
	return "unknown";
}

/* Logs the replies of a query to the nodes that got a request; NULL: all nodes got it. */
static void log_replies(const struct query *query, const struct settings *s,
	const struct request *const asked[], enum op op)
{
	char text[REPORT_MAX];

	for (int i = 0; i < s->nodes.count; i++)
		if (!asked || asked[i])
			log_say(LOG_REPLIES, "%s",
				report_reply(text, &s->nodes.node[i], op,
					&query->tally.ballot[i].reply, query->took[i]));
}

/* A key that could not be released expires with its TTL. */
static void hint_unreleased(const struct query *query, const struct settings *s)
{
	const struct tally *t = &query->tally;
	const char *what = s->keys.count > 1 ? "they expire" : "it expires";
	char left[DURATION_TEXT_MAX];
	usec longest = 0;

	for (int i = 0; i < s->nodes.count; i++)
		if (t->ballot[i].vote == VOTE_YES)
			longest = usec_max(longest, t->ballot[i].reply.pttl);
	if (longest > 0 && longest < NEVER)
		log_hint(LOG_ERRORS, "%s within %s", what,
			duration_format(
				left, longest + policy_drift(longest, (int)s->drift_permille)));
	else
		log_hint(LOG_ERRORS, "%s when the TTL ends", what);
}

static usec validity(const struct query *query, const struct settings *s)
{
	const struct tally *t = &query->tally;

	if (s->command == COMMAND_RELEASE || tally_ownership(t) != OWNERSHIP_OWNED)
		return 0;
	return tally_time_left(t, (int)s->drift_permille, clock_now());
}

/*
 * Repairs: after a majority has confirmed the lock, sets the key again on nodes that lost it, so
 * that restarts of different nodes do not use up the majority over time. The nodes that still have
 * the key know its value.
 */
static void repair(struct query *query, const struct settings *s)
{
	const struct request *asked[NODES_MAX];
	struct request request;
	struct lock_ref lock = lock_of(s, s->token);
	struct reply value = {.vote = VOTE_NONE};

	for (int i = 0; i < s->nodes.count; i++)
		/* A waiter has the key for moments, on a node that lost it. */
		asked[i] = query->tally.ballot[i].vote == VOTE_GONE ||
					   query->tally.ballot[i].vote == VOTE_FOREIGN
				   ? &request
				   : NULL;
	request_script(&request, OP_LOOK, &lock, &(struct request_args){.guard = guard_of(s)});
	query_ask_all(query, &request, s->token, QUERY_UNTIL_DECIDED);
	if (tally_ownership(&query->tally) != OWNERSHIP_OWNED)
		return;
	for (int i = 0; i < s->nodes.count; i++)
		if (query->tally.ballot[i].vote == VOTE_YES)
			value = query->tally.ballot[i].reply;
	lock.token = value.text;
	lock.token_len = value.text_len;
	request_script(&request, OP_REPAIR, &lock,
		&(struct request_args){
			.ttl = s->ttl, .is_shared = value.is_shared, .guard = guard_of(s)});
	query_ask(query, asked, NULL, QUERY_ALL);
	log_replies(query, s, asked, OP_REPAIR);
}

/* Tells whether a node still has at least one of the keys. A revoked key excludes other clients
 * until its holder has ended: only that holder's own release deletes it. */
static bool has_key(const struct ballot *b)
{
	return b->vote == VOTE_YES || (b->reply.is_partial && !token_is_revoked(b->reply.text));
}

static int count_with_key(const struct tally *t)
{
	int n = 0;

	for (int i = 0; i < t->nodes; i++)
		n += has_key(&t->ballot[i]);
	return n;
}

/* Releases the keys of a lost lock: this process has just extended some of them, or some exist
 * without the others. No other process would release these. */
static void release_remaining(struct query *query, const struct settings *s)
{
	const struct request *asked[NODES_MAX];
	struct request release;

	build_release(&release, s);
	for (int i = 0; i < s->nodes.count; i++)
		asked[i] = has_key(&query->tally.ballot[i]) ? &release : NULL;
	query_ask(query, asked, NULL, QUERY_ALL);
	log_replies(query, s, asked, OP_HAND_OFF);
}

/* How the background holder of this lock has ended. */
enum kept { KEPT_NONE, KEPT_RELEASED, KEPT_LOST };

/* The ownership by the replies, unless the background holder released or lost the lock before. */
static enum ownership judged_ownership(const struct tally *t, enum kept kept)
{
	enum ownership ownership = tally_ownership(t);

	if (kept == KEPT_RELEASED)
		return OWNERSHIP_OWNED;
	if (kept == KEPT_LOST && ownership != OWNERSHIP_FOREIGN)
		return OWNERSHIP_EXPIRED;
	return ownership;
}

/* A key or token that a person typed may be a wrong one. The variables of a run and the entry of a
 * background holder fit. */
static bool may_be_wrong_pair(const struct settings *s, const struct tally *t, enum kept kept)
{
	enum source_kind key = settings_source(s, offsetof(struct settings, names))->kind;
	enum source_kind token = settings_source(s, offsetof(struct settings, token))->kind;

	if (kept != KEPT_NONE || count_with_key(t) > 0)
		return false;
	return s->token_file || token == SOURCE_LINE || (token == SOURCE_ENV && key == SOURCE_LINE);
}

static void hint_wrong_pair(const struct settings *s)
{
	log_hint(LOG_ERRORS, "if the lock should still be held, check %s, the key and the nodes%s",
		s->token_file ? "--token-file" : "the token",
		s->limit > 1 ? ""
			     : "; after 'acquire --limit', the token ends with #SLOT, and --limit "
			       "is needed");
}

/* Prints the result, and returns the exit status. `lost`: the keys that are lost. */
static int conclude(const struct query *query, const struct settings *s, enum op op, enum kept kept,
	const struct key_list *lost)
{
	const struct tally *t = &query->tally;
	enum ownership ownership = judged_ownership(t, kept);
	usec valid = validity(query, s);
	int slot = s->limit > 1 ? (int)s->slot : 0;
	bool is_short = s->command == COMMAND_CHECK && ownership == OWNERSHIP_OWNED &&
			(valid == 0 || valid < s->min_validity);
	int status = ownership == OWNERSHIP_UNKNOWN              ? STATUS_NO_QUORUM
		     : ownership == OWNERSHIP_OWNED && !is_short ? STATUS_OK
								 : STATUS_LOST;
	char text[REPORT_MAX], name[REPORT_MAX], left[DURATION_TEXT_MAX], holder[HOLDER_TEXT_MAX];
	const struct log_event event = {outcome_name(s, ownership, is_short), status,
		ownership == OWNERSHIP_FOREIGN ? report_holder_text(holder, t) : NULL};
	struct json j;

	log_replies(query, s, NULL, op);
	if (is_short)
		log_event(LOG_ERRORS, &event, "%s %s held by this token, but only for %s",
			report_lock(name, slot, &s->keys), report_verb(&s->keys),
			duration_format(left, valid));
	else if (status == STATUS_OK)
		log_event(LOG_DECISIONS, &event, "%s %s", done_name(s->command),
			report_lock(name, slot, &s->keys));
	else if (kept == KEPT_LOST && ownership != tally_ownership(t))
		log_event(LOG_ERRORS, &event,
			"%s %s lost before the release: the background holder's log says why",
			report_lock(name, slot, &s->keys), s->keys.count > 1 ? "were" : "was");
	else
		log_event(
			LOG_ERRORS, &event, "%s", report_ownership(text, t, &s->nodes, lost, slot));
	if (lost->count < s->keys.count)
		log_hint(LOG_ERRORS, "name the other keys alone: the token still holds them");
	else if ((ownership == OWNERSHIP_EXPIRED || ownership == OWNERSHIP_FOREIGN) &&
		 may_be_wrong_pair(s, t, kept))
		hint_wrong_pair(s);
	if (ownership == OWNERSHIP_UNKNOWN && s->command == COMMAND_RELEASE)
		hint_unreleased(query, s);
	if (ownership == OWNERSHIP_UNKNOWN)
		setup_hint(s, t, LOG_ERRORS);
	if (s->format != FORMAT_JSON) {
		if (s->command == COMMAND_CHECK && ownership == OWNERSHIP_OWNED)
			print_line("%s", valid == NEVER ? "forever" : duration_format(left, valid));
	} else {
		print_begin(&j, s);
		print_outcome(&j, outcome_name(s, ownership, is_short), status);
		if (s->limit > 0)
			json_number(&j, "slot", s->slot);
		if (s->command != COMMAND_RELEASE)
			json_ms(&j, "valid_ms", valid);
		print_nodes(&j, t, &s->nodes, query->took);
		print_end(&j);
	}
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

/* Does this user hold the keys together with others? *whole: all keys of that lock. */
static bool find_larger(const struct settings *s, struct settings *whole)
{
	struct registry registry;
	struct entry entry;
	struct err e;
	bool found = false;

	registry_open(&registry);
	while (!found && registry_next(&registry, &entry)) {
		int common = 0;

		settings_init(whole, s->command);
		if (settings_set_keys(whole, entry.key, entry.keys, &e) < 0)
			continue;
		for (int i = 0; i < whole->keys.count; i++)
			for (int n = 0; n < s->keys.count; n++)
				common += strcmp(s->keys.key[n], whole->keys.key[i]) == 0;
		found = common == s->keys.count && whole->keys.count > common;
	}
	registry_close(&registry);
	return found;
}

/* No token was given, and the registry does not tell which lock is meant. `count`: how many holds
 * match; `others`: how many keep the same keys on other nodes. */
static int refuse_unclear(const struct settings *s, int count, int others, bool is_semaphore)
{
	static struct settings whole; /* too large for the stack */
	char name[REPORT_MAX], slot[32] = "";

	report_keys(name, &s->keys);
	if (s->slot > 0)
		snprintf(slot, sizeof(slot), "slot %ld of ", s->slot);
	log_say(LOG_ERRORS,
		count    ? "ambiguous lock %s%s: several background holders have it"
		: others ? "missing token: the background holder of %s%s uses other nodes"
			 : "missing token: no background holder of this user has %s%s",
		slot, name);
	if (count == 0 && others > 0)
		log_hint(LOG_ERRORS, "give the same --nodes (or profile) as 'redlock hold' had");
	else if (count == 0 && find_larger(s, &whole))
		log_hint(LOG_ERRORS, "a background holder has %s: name each of them with -k",
			report_keys(name, &whole.keys));
	else
		log_hint(LOG_ERRORS,
			"name it with %s--token, --token-file or REDLOCK_TOKEN; "
			"'redlock hold --list%s' shows what is held here%s",
			is_semaphore ? "--slot, " : "", count > 0 ? " --json" : "",
			count > 0 ? ", with the tokens" : "");
	return STATUS_USAGE;
}

/* Returns -1 after a message if the holder does not end. */
static int end_background_holder(
	const struct settings *s, struct wanted *wanted, struct entry *entry)
{
	char name[REPORT_MAX];
	struct follow holder;
	struct err e;
	bool has_ended;

	if (follow_open(&holder, entry->holder, false, &e) < 0)
		return 0; /* it has already ended */
	/* Check that the pid is still that of the holder. A stopped process needs SIGCONT to see
	 * SIGTERM. A SIGCONT after SIGTERM could reach the process while it ends, and would cancel
	 * the stop signals of a tracer, such as the leak check of a build with sanitizers. */
	wanted->id = entry->id;
	if (registry_find(wanted, entry) == 1) {
		follow_signal(&holder, SIGCONT);
		follow_signal(&holder, SIGTERM);
	}
	has_ended = follow_wait(&holder, HOLDER_RELEASE_TIME + 4 * s->node_timeout);
	if (!has_ended)
		log_say(LOG_ERRORS,
			"cannot end the background holder of %s: process %d does not end",
			report_keys(name, &s->keys), (int)entry->holder);
	follow_close(&holder);
	return has_ended ? 0 : -1;
}

/*
 * Lets the background holder of the lock release it, if there is one on this machine: to the
 * holder, a release by another process would be a loss.
 *
 * Returns -1 with an exit status in *status if the holder does not end, or none can be chosen; else
 * 0, with its end in *kept; KEPT_NONE: no holder is alive, or it could not release the lock. Sets
 * s->token to that of the lock, also for a lock that the holder lost.
 */
static int ask_background_holder(struct settings *s, enum kept *kept, int *status)
{
	static struct entry entry;
	/* A token belongs to one lock; a key, to one lock on each set of nodes. */
	char keys[REQUEST_KEY_MAX + 1];
	struct wanted wanted = {.key = settings_text(keys, &s->keys),
		.keys = s->keys.count,
		.slot = s->slot,
		.id = s->token,
		.nodes = s->token ? 0 : node_list_hash(&s->nodes)};
	int count = registry_find(&wanted, &entry);
	bool was_lost = count == 0 && !s->token && registry_find_loss(&wanted, &entry);

	*kept = KEPT_NONE;
	if (count == 0 && s->token) {
		*kept = registry_forget(s->token) ? KEPT_LOST : KEPT_NONE;
		return 0;
	}
	if (count != 1 && !was_lost) {
		wanted.nodes = 0;
		*status = refuse_unclear(s, count, count ? 0 : registry_find(&wanted, &entry),
			count && entry.limit > 1);
		return -1;
	}
	s->token = entry.id;
	s->limit = entry.limit;
	s->slot = entry.slot;
	if (!was_lost && end_background_holder(s, &wanted, &entry) < 0) {
		*status = STATUS_INTERNAL;
		return -1;
	}
	if (registry_forget(s->token) || was_lost)
		*kept = KEPT_LOST;
	else if (!registry_has(entry.holder))
		*kept = KEPT_RELEASED;
	return 0;
}

/*
 * The keys that are lost: all, or, for `check`, which leaves the others, those that the token does
 * not hold alone. *query keeps the replies about all keys.
 */
static struct key_list find_lost(struct query *query, const struct settings *s)
{
	const struct tally tally = query->tally;
	enum ownership ownership = tally_ownership(&tally);
	struct key_list lost = {.count = 0};
	struct request request;
	usec took[NODES_MAX];

	if (s->command != COMMAND_CHECK || s->keys.count == 1 || count_with_key(&tally) == 0 ||
		(ownership != OWNERSHIP_EXPIRED && ownership != OWNERSHIP_FOREIGN))
		return s->keys;
	memcpy(took, query->took, sizeof(took));
	for (int i = 0; i < s->keys.count; i++) {
		const struct key_list one = {.count = 1, .key = {s->keys.key[i]}};

		request_script(&request, OP_LOOK,
			&(struct lock_ref){.keys = &one, .token = s->token},
			&(struct request_args){0});
		query_ask_all(query, &request, s->token, QUERY_UNTIL_DECIDED);
		if (tally_ownership(&query->tally) != OWNERSHIP_OWNED)
			lost.key[lost.count++] = s->keys.key[i];
	}
	query->tally = tally;
	memcpy(query->took, took, sizeof(took));
	return lost.count > 0 ? lost : s->keys;
}

/* Behind a name with several addresses, the first may be that of a replica, which says "gone" about
 * a key that its master has. A look passes it by. */
static void find_masters(struct query *query, const struct settings *s)
{
	const struct lock_ref lock = lock_of(s, s->token);
	const struct request *asked[NODES_MAX];
	struct request look;

	request_script(&look, OP_LOOK, &lock, &(struct request_args){0});
	for (int i = 0; i < s->nodes.count; i++) {
		const struct addresses *a = &query->pool.addresses[i];

		asked[i] = a->is_name && a->count > 1 ? &look : NULL;
	}
	query_ask(query, asked, s->token, QUERY_UNTIL_DECIDED);
}

int cmd_by_token(struct settings *s)
{
	static struct query query;
	struct policy policy;
	struct key_list lost;
	char token[TOKEN_MAX], id[TOKEN_ID_LEN + 1];
	enum kept kept = KEPT_NONE;
	struct request request;
	struct err e;
	int status;

	if (s->token_file &&
		(read_token(token, s, &e) < 0 || settings_set_token(s, token, &e) < 0)) {
		log_err(&e);
		return status_of(e.kind);
	}
	/* Accept ID#SLOT, and the whole line of `hold` or of `acquire --fence`. */
	if (s->token && strcspn(s->token, " #") == TOKEN_ID_LEN) {
		snprintf(id, sizeof(id), "%.*s", TOKEN_ID_LEN, s->token);
		s->token = id;
	}
	if (s->command == COMMAND_RELEASE && ask_background_holder(s, &kept, &status) < 0)
		return status;
	if (strlen(s->token) > TOKEN_MAX - 1) {
		(void)refuse_long(&e);
		log_err(&e);
		return STATUS_USAGE;
	}
	policy = settings_policy(s);
	if (query_open(&query, &policy, &s->nodes, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	if (s->command != COMMAND_CHECK)
		find_masters(&query, s);
	build_question(&request, s);
	query_ask_all(&query, &request, s->token, QUERY_UNTIL_DECIDED);
	status = print_duplicate(&query.tally, &s->nodes);
	if (status == STATUS_OK) {
		lost = find_lost(&query, s);
		status = conclude(&query, s, request.op, kept, &lost);
	} else
		status = print_failure(s, "duplicate-node", status);
	if (s->command == COMMAND_EXTEND && status == STATUS_OK &&
		tally_count(&query.tally, VOTE_GONE) > 0)
		repair(&query, s);
	if (s->command == COMMAND_EXTEND && status == STATUS_LOST &&
		count_with_key(&query.tally) > 0)
		release_remaining(&query, s);
	query_close(&query);
	return status;
}
