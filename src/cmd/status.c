/* redlock status: how locks stand, as every node sees them. */
#include "base/status.h"
#include "base/clock.h"
#include "base/out.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/print.h"
#include "core/report.h"
#include "io/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many keys a node looks at in one go: a fraction of a millisecond of its time. */
#define SCAN_COUNT 200

/* Of all nodes. */
#define PAGES_MAX 100000000
#define LOCKS_MAX 1000000

#define WATCH_EVERY 1 /* second */

/* A lock as one node told of it, when all were asked for. */
struct found {
	char *key;
	size_t key_len;
	int node;
	struct answer answer;
};

struct overview {
	const struct settings *settings;
	struct survey survey;
	struct found *found;
	size_t count, size;
	struct json json;
	bool is_json;
	bool is_unknown; /* of one lock at least */
};

/* ---- showing ---- */

static void show_nodes(const struct overview *st)
{
	const struct node_list *nodes = &st->settings->nodes;
	char text[REPORT_MAX];

	for (int i = 0; i < nodes->count; i++)
		print_line(
			"  %s", report_answer(text, &nodes->node[i], OP_LOOK,
					&st->survey.quorum.member[i].answer, st->survey.took[i]));
}

/* The answers are in the survey's quorum. */
static void show_key(struct overview *st, const char *key, size_t len)
{
	const struct quorum *q = &st->survey.quorum;
	const char *state = report_state(q);
	char text[REPORT_MAX];
	int count;
	struct answer holder = quorum_holder(q, &count);

	st->is_unknown |= strcmp(state, "unknown") == 0;
	if (!st->is_json) {
		print_line("%s",
			report_status(text, q, &st->settings->nodes, key, clock_wall() / USEC_SEC));
		if (st->settings->verbose)
			show_nodes(st);
		return;
	}
	json_open(&st->json, NULL, '{');
	json_bytes(&st->json, "key", key, len);
	json_text(&st->json, "state", state);
	if (count > 0 && !holder.is_reserved) {
		print_holder(&st->json, "holder", &holder);
		json_number(&st->json, "on_nodes", count);
	}
	if (quorum_newest_fence(q) > 0)
		json_number(&st->json, "fence", quorum_newest_fence(q));
	if (!st->found) /* a scan does not ask for it */
		json_bool(&st->json, "awaited", report_is_awaited(q));
	print_nodes(&st->json, q, &st->settings->nodes, st->found ? NULL : st->survey.took);
	json_close(&st->json, '}');
}

/* ---- one key after the other ---- */

static int look_at(struct overview *st, char *const keys[])
{
	int status = STATUS_OK;

	for (int i = 0; keys[i] && status == STATUS_OK; i++) {
		struct key_list key = ONE_KEY(keys[i]);
		struct wish wish = {.op = OP_LOOK, .keys = &key, .token = "", .turn = ""};

		survey_ask_all(&st->survey, &wish, NULL, SURVEY_ALL);
		status = print_duplicate(&st->survey.quorum, &st->settings->nodes);
		if (status == STATUS_OK)
			show_key(st, keys[i], strlen(keys[i]));
	}
	return status;
}

/* ---- all that there are ---- */

static bool keep(struct overview *st, int node, const struct page_entry *entry)
{
	struct found *f;

	if (st->count == st->size) {
		size_t size = 2 * st->size + 64;
		struct found *grown = realloc(st->found, size * sizeof(*grown));

		if (!grown)
			return false;
		st->found = grown;
		st->size = size;
	}
	f = &st->found[st->count];
	*f = (struct found){.node = node, .key_len = entry->key_len};
	f->key = malloc(entry->key_len + 1);
	if (!f->key)
		return false;
	memcpy(f->key, entry->key, entry->key_len);
	f->key[entry->key_len] = '\0';
	f->answer.vote = VOTE_FOREIGN;
	f->answer.pttl = entry->pttl;
	f->answer.text_len =
		entry->value_len < ANSWER_TEXT_MAX ? entry->value_len : ANSWER_TEXT_MAX - 1;
	memcpy(f->answer.text, entry->value, f->answer.text_len);
	st->count++;
	return true;
}

/* Page after page of each node, side by side. Returns false when out of memory. *absent has those
 * that did not go through with it. */
static bool scan(struct overview *st, struct answer absent[NODES_MAX])
{
	const int nodes = st->settings->nodes.count;
	char cursor[NODES_MAX][RUN_ID_MAX];
	struct wish wish[NODES_MAX];
	int open = nodes, pages = 0;

	for (int i = 0; i < nodes; i++) {
		snprintf(cursor[i], sizeof(cursor[i]), "0");
		wish[i] = (struct wish){.op = OP_SCAN, .token = cursor[i], .count = SCAN_COUNT};
	}
	while (open > 0) {
		survey_ask(&st->survey, wish, NULL, SURVEY_ALL);
		open = 0;
		for (int i = 0; i < nodes; i++) {
			const struct answer *a = &st->survey.quorum.member[i].answer;
			const char *at = st->survey.page[i], *end = at + st->survey.page_len[i];
			struct page_entry entry;

			if (wish[i].op == OPS)
				continue;
			while (a->vote == VOTE_YES && at < end && page_next(&at, end, &entry))
				if (!keep(st, i, &entry))
					return false;
			if (a->vote != VOTE_YES)
				absent[i] = *a;
			else if (at < end)
				absent[i] = answer_absent(REASON_GARBAGE, NULL);
			/* A page that was too long leaves the cursor where it was, even at its
			 * start, which is "0" as its end is. */
			if (a->awaited)
				wish[i].count = wish[i].count / 4 + 1;
			else if (a->vote != VOTE_YES || strcmp(a->run_id, "0") == 0)
				wish[i].op = OPS;
			else
				memcpy(cursor[i], a->run_id, sizeof(cursor[i]));
			/* A server that never comes to an end is none. */
			if (++pages > PAGES_MAX || st->count > LOCKS_MAX) {
				absent[i] = answer_absent(REASON_TOO_LONG, NULL);
				wish[i].op = OPS;
			}
			open += wish[i].op != OPS;
		}
	}
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
	int order = memcmp(x->key, y->key, len);

	return order != 0 ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

static int look_at_all(struct overview *st)
{
	struct answer absent[NODES_MAX] = {0}, gone = {.vote = VOTE_GONE};
	struct quorum *q = &st->survey.quorum;
	/* One server under two names would be counted twice. */
	const struct wish look = {.op = OP_LOOK, .keys = &ONE_KEY(""), .token = "", .turn = ""};
	int clean = 0, status;

	survey_ask_all(&st->survey, &look, NULL, SURVEY_ALL);
	status = print_duplicate(q, &st->settings->nodes);
	if (status != STATUS_OK)
		return status;
	if (!scan(st, absent)) {
		out_say(OUT_ERRORS, "out of memory");
		return STATUS_INTERNAL;
	}
	if (st->count > 0)
		qsort(st->found, st->count, sizeof(*st->found), by_key);
	for (int i = 0; i < st->settings->nodes.count; i++)
		clean += absent[i].vote == VOTE_NONE;
	for (size_t i = 0, next; i < st->count; i = next) {
		quorum_begin_question(q, clock_now());
		for (next = i; next < st->count && by_key(&st->found[i], &st->found[next]) == 0;
			next++)
			quorum_take_answer(q, st->found[next].node, &st->found[next].answer, NULL);
		for (int n = 0; n < st->settings->nodes.count; n++)
			if (q->member[n].vote == VOTE_NONE)
				quorum_take_answer(q, n,
					absent[n].vote == VOTE_NONE ? &gone : &absent[n], NULL);
		show_key(st, st->found[i].key, st->found[i].key_len);
	}
	if (clean >= policy_quorum(&q->policy))
		return STATUS_OK;
	quorum_begin_question(q, clock_now());
	for (int n = 0; n < st->settings->nodes.count; n++)
		quorum_take_answer(q, n, absent[n].vote == VOTE_NONE ? &gone : &absent[n], NULL);
	out_say(OUT_ERRORS, "%s",
		report_no_answers((char[REPORT_MAX]){0}, q, &st->settings->nodes));
	return STATUS_NO_QUORUM;
}

/* ---- all of it ---- */

static int show(struct overview *st, char *const keys[])
{
	int status;

	st->is_unknown = false;
	st->count = 0;
	if (st->is_json) {
		print_begin(&st->json, st->settings);
		json_open(&st->json, "locks", '[');
	}
	status = keys[0] ? look_at(st, keys) : look_at_all(st);
	if (status == STATUS_OK && st->is_unknown)
		status = STATUS_NO_QUORUM;
	if (st->is_json) {
		json_close(&st->json, ']');
		json_number(&st->json, "status", status);
		print_end(&st->json);
	}
	for (size_t i = 0; i < st->count; i++)
		free(st->found[i].key);
	return status;
}

int cmd_status(struct settings *s, char *const keys[])
{
	static struct overview st;
	const struct policy policy = settings_policy(s);
	bool is_live = s->watch && isatty(STDOUT_FILENO);
	struct err e;
	int status;

	st.settings = s;
	st.is_json = s->format == FORMAT_JSON;
	for (int i = 0; keys[i]; i++)
		if (settings_check_key(keys[i], &e) < 0) {
			out_err(&e);
			return status_of(e.kind);
		}
	if (survey_open(&st.survey, &policy, &s->nodes, &e) < 0) {
		out_err(&e);
		return status_of(e.kind);
	}
	do {
		if (is_live)
			print_clear();
		status = show(&st, keys);
		if (print_finish() != STATUS_OK)
			status = STATUS_INTERNAL;
	} while (s->watch && status != STATUS_INTERNAL && status != STATUS_CONFIG &&
		 sleep(WATCH_EVERY) == 0);
	survey_close(&st.survey);
	free(st.found);
	return status;
}
