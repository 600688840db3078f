#include "cmd/revoke.h"

#include "base/duration.h"
#include "base/log.h"
#include "base/token.h"
#include "report/foreign.h"
#include "report/list.h"
#include "report/report.h"

#include <string.h>

static bool is_structure(const struct ballot *b)
{
	return b->vote == VOTE_FOREIGN && strcmp(foreign_format(&b->reply), "structure") == 0;
}

void revoke_ask(
	struct revocation *r, struct query *query, const struct request *const asked[NODES_MAX])
{
	query_ask(query, asked, NULL, QUERY_ALL);
	for (int i = 0; i < query->tally.nodes; i++)
		if (!asked[i])
			tally_take(&query->tally, i, &r->shown[i], NULL);
}

static struct lock_ref lock_of(const struct settings *s, const struct key_list *keys)
{
	return (struct lock_ref){
		.keys = keys, .slot = s->limit > 1 ? (int)s->slot : 0, .token = ""};
}

/* A look reports only the type of a hash or sorted set: ask for the names in it. */
static void learn_names(struct query *query, const struct lock_ref *lock)
{
	static struct revocation r; /* too large for the stack */
	int count = 0;

	request_script(&r.request[0], OP_REVOKE, lock, &(struct request_args){0});
	for (int i = 0; i < query->tally.nodes; i++) {
		bool asked = is_structure(&query->tally.ballot[i]);

		r.shown[i] = query->tally.ballot[i].reply;
		r.asked[i] = asked ? &r.request[0] : NULL;
		count += asked;
	}
	if (count > 0)
		revoke_ask(&r, query, r.asked);
}

void revoke_look(
	struct query *query, const struct settings *s, const struct key_list *keys, bool is_shared)
{
	const struct lock_ref lock = lock_of(s, keys);
	struct request look;

	request_script(&look, OP_LOOK, &lock, &(struct request_args){.is_shared = is_shared});
	query_ask_all(query, &look, NULL, QUERY_ALL);
	learn_names(query, &lock);
}

/* Returns OP_NONE if the node has no lock of a holder. */
static enum op op_for(const struct ballot *b, bool deletes)
{
	if (b->vote != VOTE_FOREIGN || b->reply.is_reserved)
		return OP_NONE;
	if (is_structure(b))
		return strchr(b->reply.text, ' ') ? OP_REVOKE : OP_NONE;
	if (deletes || (token_is_ours(b->reply.text, b->reply.text_len) &&
			       token_has_no_holder(b->reply.text) &&
			       !token_is_shared(b->reply.text, b->reply.text_len)))
		return OP_HAND_OFF;
	return OP_REVOKE;
}

int revoke_plan(struct revocation *r, const struct query *query, const struct settings *s,
	const struct key_list *keys, bool deletes)
{
	int count = 0;

	r->keys = keys;
	r->deletes = deletes;
	for (int i = 0; i < query->tally.nodes; i++) {
		const struct ballot *b = &query->tally.ballot[i];
		enum op op = op_for(b, deletes);
		struct lock_ref lock = lock_of(s, keys);

		r->shown[i] = b->reply;
		lock.token = s->token ? s->token : r->shown[i].text;
		lock.token_len = !s->token ? r->shown[i].text_len : strnlen(s->token, TOKEN_ID_LEN);
		if (op == OP_HAND_OFF)
			request_script(&r->request[i], OP_HAND_OFF, &lock,
				&(struct request_args){
					.reserve_time = s->node_timeout, .flag = FLAG_BREAKS});
		else if (op == OP_REVOKE)
			request_script(&r->request[i], OP_REVOKE, &lock,
				&(struct request_args){.flag = deletes ? FLAG_DELETE : NULL});
		r->asked[i] = op == OP_NONE ? NULL : &r->request[i];
		count += op != OP_NONE;
	}
	return count;
}

/* The list of the holder that node i is asked to end; `nodes` is 0: none. */
static struct list list_at(const struct revocation *r, int i, const char *ours)
{
	if (!r->asked[i] || (!r->deletes && r->asked[i]->op != OP_REVOKE))
		return (struct list){.nodes = 0};
	return list_of_holder(ours, &r->shown[i]);
}

const struct reply *revoke_spare(struct revocation *r, const struct node_list *nodes)
{
	const struct reply *spared = NULL;
	struct list list[NODES_MAX];
	char ours[FINGERPRINT_MAX];
	int absent = 0;

	node_list_fingerprint(ours, nodes);
	for (int i = 0; i < nodes->count; i++) {
		list[i] = list_at(r, i, ours);
		absent += r->shown[i].vote == VOTE_ABSENT;
	}
	for (int i = 0; i < nodes->count; i++) {
		int reached = 0;

		for (int j = 0; j < nodes->count; j++)
			reached += list[j].is_other && strcmp(list[j].name, list[i].name) == 0;
		if (!list[i].is_other || !list_outlasts(&list[i], reached) ||
			!list_may_hold(&list[i], reached, absent))
			continue;
		spared = &r->shown[i];
		if (!r->deletes && !list[i].is_mixed)
			r->asked[i] = NULL;
	}
	return spared;
}

bool revoke_has_other_nodes(const struct revocation *r, const struct node_list *nodes)
{
	char ours[FINGERPRINT_MAX];
	bool has = false;

	node_list_fingerprint(ours, nodes);
	for (int i = 0; i < nodes->count; i++) {
		const struct list list = list_at(r, i, ours);

		has |= list.is_other && !list.is_mixed;
	}
	return has;
}

int revoke_remains(const struct query *query)
{
	int count = 0;

	for (int i = 0; i < query->tally.nodes; i++) {
		const struct ballot *b = &query->tally.ballot[i];

		count += b->vote == VOTE_FOREIGN && token_is_revoked(b->reply.text);
	}
	return count;
}

int revoke_endless(const struct revocation *r, int nodes)
{
	int count = 0;

	for (int i = 0; i < nodes; i++)
		count += r->asked[i] && r->shown[i].pttl == NEVER;
	return count;
}

usec revoke_lasts(const struct revocation *r, int nodes)
{
	usec longest = 0;

	for (int i = 0; i < nodes; i++)
		if (r->asked[i] && (r->deletes || r->asked[i]->op == OP_REVOKE))
			longest = usec_max(longest, r->shown[i].pttl);
	return longest;
}

void revoke_say_spared(
	const struct settings *s, const char *key, int slot, const struct reply *holder)
{
	char text[REPORT_MAX], lists[REPORT_MAX], ours[FINGERPRINT_MAX];

	log_say(LOG_ERRORS, "cannot end %s: held %s, of which too few are among ours",
		report_lock(text, slot, &ONE_KEY(key)),
		report_other_nodes(lists, node_list_fingerprint(ours, &s->nodes), holder));
	log_hint(LOG_ERRORS, "run 'redlock break' on a host with that list: 'redlock config' "
			     "prints a host's list and its name");
}

/* Is it the key of this client's last attempt? Its release may still be on its way. */
static bool is_own(const struct reply *shown, const char *own)
{
	return shown->text_len >= TOKEN_ID_LEN && memcmp(shown->text, own, TOKEN_ID_LEN) == 0;
}

static void revoke_holder(
	struct query *query, const struct settings *s, int key, const char *held, const char *own)
{
	static struct revocation r; /* too large for the stack */
	const struct key_list keys = ONE_KEY(s->keys.key[key]);
	const struct reply *outer, *spared;
	char text[REPORT_MAX], due[DURATION_TEXT_MAX], left[DURATION_TEXT_MAX];
	usec lasts;
	int asked = 0;

	revoke_look(query, s, &keys, s->shared > 0);
	if (tally_held_by(&query->tally, held, &outer) > 0 ||
		revoke_plan(&r, query, s, &keys, false) == 0)
		return;
	report_status(text, &query->tally, &s->nodes, keys.key[0], 0, clock_wall() / USEC_SEC);
	if (revoke_endless(&r, s->nodes.count) > 0) {
		log_say(LOG_ERRORS, "cannot take over the lock: %s", text);
		log_hint(LOG_ERRORS, "a key without expiry would not end: 'redlock break --force' "
				     "removes it");
		return;
	}
	spared = revoke_spare(&r, &s->nodes);
	if (spared)
		revoke_say_spared(s, keys.key[0], 0, spared);
	for (int i = 0; i < s->nodes.count; i++) {
		if (r.asked[i] && (r.asked[i]->op != OP_REVOKE || is_own(&r.shown[i], own)))
			r.asked[i] = NULL;
		asked += r.asked[i] != NULL;
	}
	if (asked == 0)
		return;
	revoke_ask(&r, query, r.asked);
	if (tally_count(&query->tally, VOTE_YES) == 0)
		return;
	/* A run extends its keys when a third of their TTL is over, so the next extension is due
	 * before a third of the remaining time has passed. */
	lasts = revoke_lasts(&r, s->nodes.count);
	log_say(LOG_NORMAL,
		"takeover: %s; its command ends at the next extension, within %s; a lock that is "
		"not extended ends within %s",
		text, duration_format(due, lasts / 3), duration_format(left, lasts));
}

void revoke_holders(const struct settings *s, const char *held, const char *own)
{
	static struct query query; /* too large for the stack */
	const struct policy policy = settings_policy(s);
	struct err e;

	if (query_open(&query, &policy, &s->nodes, &e) < 0)
		return; /* the lock's own connections report the reason */
	for (int i = 0; i < s->keys.count; i++)
		revoke_holder(&query, s, i, held, own);
	query_close(&query);
}
