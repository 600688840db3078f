/*
 * redlock doctor: asks all nodes about some twenty facts, tries the life of a lock on a key of its
 * own, and prints the findings of report/diagnosis.
 *
 * begin() connects, then examine() fills the node facts (struct node_facts) of each node, and
 * print_diagnosis() judges and prints them. question() collects questions, and ask() sends them all
 * within one round trip: with distant nodes, a round trip is most of the time. With --admit,
 * admit() instead writes the restart guard's mark that lets a node vote at once.
 */
#include "report/diagnosis.h"
#include "report/own_keys.h"
#include "report/problem.h"
#include "report/rights.h"

#include "base/clock.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/confirm.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "net/query.h"
#include "net/tls.h"
#include "proto/reply.h"
#include "proto/scripts.h"
#include "report/report.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Wait at least this long for a reply, although a lock waits for the node time-out only: the round
 * trip to a node that is too slow is to be measured. A node that is silent must not keep the user
 * waiting for more than two seconds in all. */
#define PATIENCE (3 * USEC_SEC / 2)

/* The TTL of the probe key. It must outlast a few requests to the slowest node. */
#define PROBE_TTL (10 * USEC_SEC)
#define PROBE_QUESTIONS 5

/* The round trip is measured with the clock samples, and with pings until this time has passed
 * since the first of them: distant nodes get none. */
#define PINGS_TIME (USEC_SEC / 5)

/* The pause between two pings. It makes a burst of delays more likely to be seen, and puts time
 * between the two clock samples. */
#define PING_EVERY (20 * USEC_MSEC)

#define KEY_MAX 64

/* The most questions that are asked together. */
#define QUESTIONS_MAX 32

/* A balancer gives new connections to its servers in turn, or to the one that has the fewest. */
#define NEW_CONNECTIONS 4

/* Looks at as many keys behind a proxy: two servers that share the keys evenly are missed once in
 * 16 million times. */
#define PROXY_LOOKS 24

/* The hash slots of a cluster. */
#define CLUSTER_SLOTS 16384

/* A search for locks before an admission: keys per page, and pages. */
#define SCAN_COUNT 200
#define SCAN_PAGES 5000

/* A search for holders with other nodes: pages, and time. */
#define LIST_PAGES 50
#define LIST_TIME USEC_SEC

struct visit {
	const struct settings *settings;
	struct query query;
	struct node_facts facts[NODES_MAX];
	struct validity ours; /* of our certificate */
	bool is_over[NODES_MAX]; /* the node cannot be asked any more */
	char token[TOKEN_MAX];
	char key[KEY_MAX], rights_key[KEY_MAX + 8];
	char waiter[WAITER_ID_LEN + 1];
	struct key_list keys; /* the probe key */
	char formatted[REQUEST_KEY_MAX + 1]; /* by --key-format; "": not given */
	char foreign[KEY_MAX], foreign_fence[KEY_MAX + 24]; /* see question_foreign() */
	char queue[KEY_MAX + 24], reserved[KEY_MAX + 24]; /* bookkeeping keys of the probe key */
	char key_count[16]; /* of the command line */
	char queues[KEYS_MAX][REQUEST_KEY_MAX + 24]; /* of these keys */

	/* The questions that ask() sends, and the field of the node's facts for the answer. */
	struct request question[QUESTIONS_MAX];
	size_t field[QUESTIONS_MAX];
	int questions;
};

/* ---- asking ---- */

#define FIELD(name) offsetof(struct node_facts, name)

/* Adds a question. The caller fills in the request. Its strings last until ask(). */
static struct request *question(struct visit *v, size_t field)
{
	assert(v->questions < QUESTIONS_MAX);
	v->field[v->questions] = field;
	return &v->question[v->questions++];
}

static void question_command(struct visit *v, size_t field, const char *const words[])
{
	request_command(question(v, field), words);
}

/* Notes another server behind the same name. */
static void compare_server(struct node_facts *facts, const char *page, size_t len)
{
	static struct server_info info;

	server_info_read(&info, page, len);
	if (info.run_id[0] && facts->info.run_id[0] && strcmp(info.run_id, facts->info.run_id) != 0)
		snprintf(facts->other_run_id, sizeof(facts->other_run_id), "%s", info.run_id);
}

/* The number in the line of CLUSTER INFO that begins with `name`; INFO_UNKNOWN: there is none. */
static int64_t cluster_number(const char *name, const char *page, size_t len)
{
	const char *at = page ? memmem(page, len, name, strlen(name)) : NULL;
	size_t used = at ? (size_t)(at - page) + strlen(name) : len;

	return at ? server_info_number(page + used, len - used) : INFO_UNKNOWN;
}

/* All slots of the cluster are served, by one master. */
static bool is_one_shard(const char *page, size_t len)
{
	return cluster_number("cluster_slots_ok:", page, len) == CLUSTER_SLOTS &&
	       cluster_number("cluster_size:", page, len) == 1;
}

/* A proxy closes the connection at INFO, but a script tells the run id. */
static void compare_reply(struct node_facts *facts, const struct reply *reply)
{
	const char *first = facts->trial[TRIAL_ACQUIRE].run_id;

	if (first[0] && reply->run_id[0] && strcmp(first, reply->run_id) != 0)
		memcpy(facts->other_run_id, reply->run_id, sizeof(reply->run_id));
}

/* Stores an answer. Ends the questions to a node that is out of reach: each further one would take
 * a time-out. */
static bool take_answer(void *context, int node, int i)
{
	struct visit *v = context;
	struct node_facts *facts = &v->facts[node];
	const struct reply *reply = &v->query.tally.ballot[node].reply;
	enum op op = v->questions > 0 ? v->question[i].op : OP_COMMAND;
	char text[REPORT_MAX];

	log_say(LOG_REPLIES, "%s",
		report_reply(text, &v->settings->nodes.node[node], op, reply, v->query.took[node]));
	if (v->questions > 0)
		*(struct reply *)((char *)facts + v->field[i]) = *reply;
	if (v->questions > 0 && v->field[i] == FIELD(informed) && reply->vote == VOTE_YES)
		server_info_read(&facts->info, v->query.page[node], v->query.page_len[node]);
	if (v->questions > 0 && v->field[i] == FIELD(informed_again) && reply->vote == VOTE_YES)
		compare_server(facts, v->query.page[node], v->query.page_len[node]);
	if (v->questions > 0 && v->field[i] == FIELD(looked))
		compare_reply(facts, reply);
	if (v->questions > 0 && v->field[i] == FIELD(sharded) && reply->vote == VOTE_YES)
		facts->is_one_shard = is_one_shard(v->query.page[node], v->query.page_len[node]);
	/* If the node did not log redlock in, each further connection would fail. */
	if (v->questions > 0 && !problem_is_final(reply) && !reply->changed_nothing)
		return true;
	/* A proxy may close the connection at a command that it does not know. */
	if (v->questions > 0 && facts->trial[TRIAL_ACQUIRE].vote == VOTE_YES &&
		reply->reason == REASON_CLOSED)
		return true;
	facts->reached = *reply;
	v->is_over[node] = true;
	return false;
}

/* Asks the nodes that asked[] names all questions at once; without a question, connects only. */
static void ask_some(struct visit *v, const struct request *const asked[NODES_MAX])
{
	query_ask_series(&v->query, asked, v->questions, take_answer, v);
	v->questions = 0;
}

static void ask(struct visit *v)
{
	const struct request *asked[NODES_MAX];

	for (int i = 0; i < NODES_MAX; i++)
		asked[i] = v->is_over[i] ? NULL : v->question;
	for (int i = 0; i + 1 < v->questions; i++)
		v->question[i].is_followed = true;
	ask_some(v, asked);
}

/* Asks one question and measures the round trip. */
static void ask_quickly(struct visit *v, const char *word)
{
	question_command(v, FIELD(ignored), (const char *const[]){word, NULL});
	ask(v);
	for (int i = 0; i < v->settings->nodes.count; i++)
		if (!v->is_over[i])
			v->facts[i].ping[v->facts[i].pings++] = v->query.took[i];
}

/* Tells whether node i answered the last question. */
static bool has_replied(const struct visit *v, int i)
{
	return v->query.tally.ballot[i].vote == VOTE_YES;
}

static void sample_clocks(struct visit *v, int sample)
{
	const usec wall = clock_wall(), asked = clock_now();

	ask_quickly(v, "TIME");
	for (int i = 0; i < v->settings->nodes.count; i++) {
		long long seconds, rest;
		char text[64];

		snprintf(text, sizeof(text), "%.*s", (int)v->query.page_len[i],
			v->query.page[i] ? v->query.page[i] : "");
		if (!has_replied(v, i) || sscanf(text, "%18lld %9lld", &seconds, &rest) != 2 ||
			seconds < 0 || seconds > NEVER / USEC_SEC / 2)
			continue;
		v->facts[i].clock[sample] = (struct clock_sample){
			.node = seconds * USEC_SEC + rest,
			.wall = wall,
			.asked = asked,
			.took = v->query.took[i],
		};
	}
}

/* Leaves room for the second clock sample. */
static void ping(struct visit *v, usec began)
{
	for (int n = 1; n < PINGS_MAX - 1 && clock_now() - began < PINGS_TIME; n++) {
		usleep(PING_EVERY);
		ask_quickly(v, "PING");
	}
}

/* A node also seems slow if this process has stood still: then all nodes are measured anew. */
static void ping_again(struct visit *v)
{
	const int nodes = v->settings->nodes.count;
	bool is_any_slow = false;

	for (int i = 0; i < nodes; i++)
		is_any_slow |= diagnosis_is_slow(v->settings, &v->facts[i]);
	if (!is_any_slow)
		return;
	for (int i = 0; i < nodes; i++)
		v->facts[i].pings = 0;
	ping(v, clock_now());
}

/* A user that may run a script on the keys may do everything that scripts do; this script changes
 * nothing. */
static void question_keys(struct visit *v)
{
	const struct key_list *keys = &v->settings->keys;
	const char *words[KEYS_MAX + 4] = {"EVAL", "return 0", v->key_count};

	snprintf(v->key_count, sizeof(v->key_count), "%d", keys->count);
	for (int i = 0; i < keys->count; i++)
		words[3 + i] = keys->key[i];
	if (keys->count == 0 && v->formatted[0])
		question_command(v, FIELD(formatted),
			(const char *const[]){"EVAL", "return 0", "1", v->formatted, NULL});
	if (keys->count == 0)
		return;
	question_command(v, FIELD(formatted), words);
	for (int i = 0; i < keys->count; i++) {
		snprintf(v->queues[i], sizeof(v->queues[i]), "redlock:queue:{%s}", keys->key[i]);
		words[3 + i] = v->queues[i];
	}
	question_command(v, FIELD(queues), words);
}

/* May the user access redlock's own keys of a key that the user may not access? */
static void question_foreign(struct visit *v)
{
	snprintf(v->foreign, sizeof(v->foreign), "other:%.16s", v->token + TOKEN_ID_LEN - 16);
	snprintf(v->foreign_fence, sizeof(v->foreign_fence), "redlock:fence:{%s}", v->foreign);
	question_command(v, FIELD(foreign), (const char *const[]){"EXISTS", v->foreign, NULL});
	question_command(
		v, FIELD(foreign_fence), (const char *const[]){"EXISTS", v->foreign_fence, NULL});
}

static void question_trial(struct visit *v, enum trial trial)
{
	struct request *r = question(v, FIELD(trial) + (size_t)trial * sizeof(struct reply));
	const usec ttl = usec_max(PROBE_TTL, PROBE_QUESTIONS * v->query.node_timeout);
	const struct lock_ref lock = {.keys = &v->keys, .token = v->token};

	switch (trial) {
	case TRIAL_ACQUIRE:
		request_script(r, OP_ACQUIRE, &lock, &(struct request_args){.ttl = ttl});
		break;
	case TRIAL_EXTEND:
		request_script(r, OP_EXTEND, &lock, &(struct request_args){.ttl = ttl});
		break;
	case TRIAL_LOOK:
		request_script(r, OP_LOOK, &lock, &(struct request_args){0});
		break;
	case TRIAL_SUBSCRIBE:
		request_subscribe(r, v->key, 0, v->waiter);
		break;
	case TRIAL_JOIN:
		request_script(r, OP_JOIN, &lock,
			&(struct request_args){.reserve_time = ttl, .waiter.id = v->waiter});
		break;
	case TRIAL_SCAN:
		request_scan(r, "0", 1, false, false);
		break;
	case TRIAL_HAND_OFF:
		request_script(r, OP_HAND_OFF, &lock,
			&(struct request_args){.reserve_time = ttl, .waiter.id = v->waiter});
		break;
	}
}

/* The life of a lock on the probe key, which is deleted. A key that remains expires. */
static void question_lock(struct visit *v)
{
	question_command(v, FIELD(rights),
		(const char *const[]){"EVAL", rights_script, "1", v->rights_key, NULL});
	for (int i = TRIAL_ACQUIRE + 1; i < TRIALS; i++)
		question_trial(v, (enum trial)i);
	snprintf(v->queue, sizeof(v->queue), "redlock:queue:{%s}", v->key);
	snprintf(v->reserved, sizeof(v->reserved), "redlock:reserved:{%s}", v->key);
	question_command(v, FIELD(ignored),
		(const char *const[]){"DEL", v->key, v->queue, v->reserved, NULL});
}

/* Returns false with *e. */
static bool begin(struct visit *v, const struct settings *s, struct err *e)
{
	struct policy policy = settings_policy(s);

	/* A TTL that is too short for any lock is a finding: do not use it here. */
	policy.ttl = usec_max(policy.ttl, policy.drift + 1);
	policy.node_timeout = usec_max(policy.node_timeout, PATIENCE);
	v->settings = s;
	if (token_make(v->token, policy.fingerprint, s->owner ? s->owner : "redlock doctor", e) < 0)
		return false;
	snprintf(v->key, sizeof(v->key), "redlock:doctor:%.16s", v->token + TOKEN_ID_LEN - 16);
	v->keys = ONE_KEY(v->key);
	snprintf(v->waiter, sizeof(v->waiter), "w%.16s", v->token + TOKEN_ID_LEN - 16);
	snprintf(v->rights_key, sizeof(v->rights_key), "%s:rights", v->key);
	if (s->key_format && settings_operand_key(s, v->key, v->formatted, e) < 0)
		return false;
	for (int i = 0; i < s->nodes.count; i++)
		server_info_read(&v->facts[i].info, "", 0);
	if (query_open(&v->query, &policy, &s->nodes, e) < 0)
		return false;
	/* Connect first: the clock samples must not include the time of connecting. */
	ask(v);
	v->ours = (struct validity){.until = tls_own_valid_until(), .wall = clock_wall()};
	for (int i = 0; i < s->nodes.count; i++)
		v->facts[i].certificate = (struct validity){
			.until = v->query.pool.conn[i].trusted_until,
			.wall = clock_wall(),
		};
	return true;
}

/* A search of a node, page by page. */
struct cursor {
	char at[RUN_ID_MAX];
	int count;
};

#define FIRST_PAGE ((struct cursor){.at = "0", .count = SCAN_COUNT})

/* Returns false at the end of the search. */
static bool has_next_page(struct cursor *c, const struct reply *reply)
{
	if (reply->is_cut)
		c->count = c->count / 4 + 1;
	snprintf(c->at, sizeof(c->at), "%.*s", RUN_ID_MAX - 1, reply->text);
	return reply->is_cut || strcmp(c->at, "0") != 0;
}

/* Notes a holder with other nodes. */
static void note_list(struct node_facts *facts, const char *ours, const struct page_entry *entry)
{
	struct reply holder = {
		.vote = VOTE_FOREIGN,
		.text_len =
			entry->value_len < REPLY_TEXT_MAX ? entry->value_len : REPLY_TEXT_MAX - 1,
	};
	struct other_list *o = &facts->other[facts->others];
	struct list list;

	memcpy(holder.text, entry->value, holder.text_len);
	list = list_of_holder(ours, &holder);
	for (int i = 0; i < facts->others && list.is_other; i++)
		list.is_other = strcmp(facts->other[i].list.name, list.name) != 0;
	if (!list.is_other || facts->others == OTHER_LISTS_MAX)
		return;
	o->list = list;
	utf8_escape(o->key, sizeof(o->key), entry->key, entry->key_len);
	report_owner_text(o->owner, &holder);
	facts->others++;
}

/* Looks at the locks that the user may read. What cannot be searched is passed over: other findings
 * are about rights. */
static void find_lists(struct visit *v)
{
	static struct request scan[NODES_MAX];
	struct cursor cursor[NODES_MAX];
	const struct request *asked[NODES_MAX];
	const usec until = clock_now() + LIST_TIME;
	char ours[FINGERPRINT_MAX];
	int open = 0;

	node_list_fingerprint(ours, &v->settings->nodes);
	for (int i = 0; i < NODES_MAX; i++) {
		bool can = !v->is_over[i] && v->facts[i].trial[TRIAL_SCAN].vote == VOTE_YES;

		cursor[i] = FIRST_PAGE;
		asked[i] = can ? &scan[i] : NULL;
		open += can;
	}
	for (int page = 0; page < LIST_PAGES && open > 0 && clock_now() < until; page++) {
		for (int i = 0; i < v->settings->nodes.count; i++)
			request_scan(&scan[i], cursor[i].at, cursor[i].count, false, false);
		query_ask(&v->query, asked, NULL, QUERY_ALL);
		open = 0;
		for (int i = 0; i < v->settings->nodes.count; i++) {
			const char *at = v->query.page[i] ? v->query.page[i] : "";
			const char *end = at + v->query.page_len[i];
			struct page_entry entry;

			if (!asked[i])
				continue;
			if (!has_replied(v, i)) {
				asked[i] = NULL;
				continue;
			}
			while (page_next(&at, end, &entry))
				note_list(&v->facts[i], ours, &entry);
			if (!has_next_page(&cursor[i], &v->query.tally.ballot[i].reply))
				asked[i] = NULL;
			open += asked[i] != NULL;
		}
	}
}

/* A proxy may share the keys out to several servers. */
static void look_through_proxies(struct visit *v)
{
	const struct request *asked[NODES_MAX] = {NULL};
	char key[PROXY_LOOKS][sizeof(v->key)];

	for (int i = 0; i < PROXY_LOOKS; i++) {
		const struct key_list one = ONE_KEY(key[i]);

		/* Not at the end: a weak hash, as that of twemproxy, would lead all to one server.
		 */
		snprintf(key[i], sizeof(key[i]), "redlock:doctor:%d:%.16s", i,
			v->token + TOKEN_ID_LEN - 16);
		request_script(question(v, FIELD(looked)), OP_LOOK,
			&(struct lock_ref){.keys = &one, .token = v->token},
			&(struct request_args){0});
	}
	for (int i = 0; i < v->settings->nodes.count; i++)
		if (!v->is_over[i] && diagnosis_is_proxy(&v->facts[i]))
			asked[i] = v->question;
	ask_some(v, asked);
}

static void examine(struct visit *v)
{
	const usec began = clock_now();

	/* All nodes have the probe key before one releases it; and a proxy may close the connection
	 * at a later question. */
	question_trial(v, TRIAL_ACQUIRE);
	ask(v);
	sample_clocks(v, 0);
	question_command(v, FIELD(informed), (const char *const[]){"INFO", NULL});
	question_command(
		v, FIELD(own_keys), (const char *const[]){"EVAL", own_keys_script, "0", NULL});
	question_command(
		v, FIELD(databases), (const char *const[]){"EVAL", databases_script, "0", NULL});
	question_command(
		v, FIELD(fsync), (const char *const[]){"CONFIG", "GET", "appendfsync", NULL});
	question_command(
		v, FIELD(clients_max), (const char *const[]){"CONFIG", "GET", "maxclients", NULL});
	question_command(v, FIELD(marker), (const char *const[]){"GET", GUARD_KEY, NULL});
	question_command(
		v, FIELD(tracking), (const char *const[]){"CLIENT", "TRACKING", "OFF", NULL});
	question_command(
		v, FIELD(caching), (const char *const[]){"CLIENT", "CACHING", "YES", NULL});
	question_command(v, FIELD(digest),
		(const char *const[]){
			"EVALSHA", "0000000000000000000000000000000000000000", "0", NULL});
	question_command(v, FIELD(sharded), (const char *const[]){"CLUSTER", "INFO", NULL});
	question_keys(v);
	question_foreign(v);
	question_lock(v);
	ask(v);
	ping(v, began);
	sample_clocks(v, 1);
	ping_again(v);
	find_lists(v);
	for (int n = 0; n < NEW_CONNECTIONS; n++) {
		query_reconnect_elsewhere(&v->query);
		question_command(
			v, FIELD(informed_again), (const char *const[]){"INFO", "server", NULL});
		ask(v);
	}
	look_through_proxies(v);
}

/* ---- showing ---- */

static bool is_same_finding(const struct finding *a, const struct finding *b)
{
	return a->severity == b->severity && a->node >= 0 && b->node >= 0 &&
	       strcmp(a->id, b->id) == 0 && strcmp(a->message, b->message) == 0 &&
	       strcmp(a->fix, b->fix) == 0;
}

/* The nodes that have this finding, a bit for each; 0: it is about all nodes together. */
static unsigned nodes_with(const struct diagnosis *d, const struct finding *f)
{
	unsigned nodes = f->node >= 0 ? 1u << f->node : 0;

	for (int i = 0; i < d->count; i++)
		if (is_same_finding(&d->finding[i], f))
			nodes |= 1u << d->finding[i].node;
	return nodes;
}

/* A socket's path is shortened to its name, unless two nodes would have one name. */
static const char *shown_label(char dst[NODE_LABEL_MAX], const struct visit *v, int node)
{
	const struct node_list *nodes = &v->settings->nodes;
	const char *label = nodes->node[node].label, *name = strrchr(label, '/');

	snprintf(dst, NODE_LABEL_MAX, "%s", label);
	if (strncmp(label, "unix:///", 8) != 0 || name - label < 12)
		return dst;
	for (int i = 0; i < nodes->count; i++) {
		const char *other = strrchr(nodes->node[i].label, '/');

		if (i != node && other && strcmp(other, name) == 0)
			return dst;
	}
	snprintf(dst, NODE_LABEL_MAX, "unix://...%s", name);
	return dst;
}

static void show_finding(const struct finding *f)
{
	char line[REPORT_MAX];
	const char *remark = fix_remark(f->fix);

	snprintf(line, sizeof(line), "  %s: %s", severity_name(f->severity), f->message);
	print_coloured(f->severity == SEVERITY_ERROR     ? COLOUR_ERROR
		       : f->severity == SEVERITY_WARNING ? COLOUR_WARNING
							 : "",
		line);
	if (f->fix[0])
		print_line("    fix: %s", f->fix);
	if (remark)
		print_line("    then: %s", remark);
}

/* Shows the findings of exactly these nodes, the most severe first. */
static void show_findings(const struct diagnosis *d, unsigned nodes)
{
	for (int severity = 0; severity < SEVERITIES; severity++)
		for (int i = 0; i < d->count; i++) {
			const struct finding *f = &d->finding[i];
			unsigned with = nodes_with(d, f);

			/* The findings of several nodes are equal: show that of the first. */
			if ((int)f->severity == severity && with == nodes &&
				(f->node < 0 || (with & ((1u << f->node) - 1)) == 0))
				show_finding(f);
		}
}

/* Shows the findings that several nodes have in common, below the names of these nodes. */
static void show_common(const struct visit *v, const struct diagnosis *d)
{
	for (int i = 0; i < d->count; i++) {
		unsigned nodes = nodes_with(d, &d->finding[i]);
		bool is_first = (nodes & (nodes - 1)) != 0;
		char text[REPORT_MAX] = "", label[NODE_LABEL_MAX];
		size_t used = 0;

		for (int j = 0; j < i; j++)
			is_first &= nodes_with(d, &d->finding[j]) != nodes;
		if (!is_first)
			continue;
		for (int n = 0; n < v->settings->nodes.count; n++)
			if (nodes & 1u << n)
				text_append(text, sizeof(text), &used, "%s%s", used ? ", " : "",
					shown_label(label, v, n));
		print_line("%s", text);
		show_findings(d, nodes);
	}
}

/* "Redis 7.0.15  master"; "": the node did not say it. */
static void append_kind(char *dst, size_t size, size_t *used, const struct node_facts *facts)
{
	if (facts->info.kind[0])
		text_append(dst, size, used, "%s %s%s%s", facts->info.kind, facts->info.version,
			facts->info.role[0] ? ", " : "", facts->info.role);
}

/* Prints the text without spaces at its end, and empties it. */
static void show_trimmed(char *text, size_t *used)
{
	while (*used > 0 && text[*used - 1] == ' ')
		text[--*used] = '\0';
	print_line("%s", text);
	*used = 0;
}

/* Of the text about the latency, about. */
#define LATENCY_WIDTH 62

/* Prints a node in columns that are as wide as the widest node needs; the latency is on a line of
 * its own if the terminal is too narrow. */
static void show_node(const struct visit *v, int i)
{
	const struct latency l = diagnosis_latency(&v->facts[i]);
	char text[REPORT_MAX], label[NODE_LABEL_MAX], kind[200];
	int label_width = 0, kind_width = 0;
	size_t used = 0, kind_used = 0;
	bool is_narrow;

	for (int n = 0; n < v->settings->nodes.count; n++) {
		kind_used = 0;
		kind[0] = '\0';
		append_kind(kind, sizeof(kind), &kind_used, &v->facts[n]);
		label_width = (int)usec_max(label_width, (int64_t)strlen(shown_label(label, v, n)));
		kind_width = (int)usec_max(kind_width, (int64_t)strlen(kind));
	}
	kind_used = 0;
	kind[0] = '\0';
	append_kind(kind, sizeof(kind), &kind_used, &v->facts[i]);
	text_append(text, sizeof(text), &used, "%-*s  %-*s", label_width, shown_label(label, v, i),
		kind_width, kind);
	is_narrow = print_columns() > 0 &&
		    label_width + 2 + kind_width + LATENCY_WIDTH > print_columns();
	if (is_narrow || v->facts[i].pings == 0)
		show_trimmed(text, &used);
	if (v->facts[i].pings > 0) {
		text_append(text, sizeof(text), &used,
			"  latency: least %.2fms, median %.2fms, 99 %% within %.2fms",
			(double)l.min / USEC_MSEC, (double)l.median / USEC_MSEC,
			(double)l.p99 / USEC_MSEC);
		show_trimmed(text, &used);
	}
}

/* Nothing is known of the node but problems that others have, too: show_common() names it. */
static bool is_named_below(const struct visit *v, const struct diagnosis *d, int node)
{
	bool is_shared = false;

	if (v->facts[node].info.kind[0] || v->facts[node].pings > 0)
		return false;
	for (int i = 0; i < d->count; i++) {
		unsigned nodes = nodes_with(d, &d->finding[i]);

		if (nodes == 1u << node)
			return false;
		is_shared |= (nodes & 1u << node) != 0;
	}
	return is_shared;
}

static void append_count(char *dst, size_t size, size_t *used, int count, const char *word)
{
	if (count > 0)
		text_append(dst, size, used, "%s%d %s%s", *used ? ", " : "", count, word,
			count == 1 ? "" : "s");
}

static void show(const struct visit *v, const struct diagnosis *d)
{
	const int nodes = v->settings->nodes.count;
	bool is_sound = d->with[SEVERITY_ERROR] + d->with[SEVERITY_WARNING] == 0, has_whole = false;
	bool is_untried = false;
	char text[100] = "", line[200];
	size_t used = 0;

	for (int i = 0; i < nodes; i++) {
		if (!is_named_below(v, d, i))
			show_node(v, i);
		show_findings(d, 1u << i);
	}
	show_common(v, d);
	for (int i = 0; i < d->count; i++)
		has_whole |= d->finding[i].node < 0;
	for (int i = 0; i < nodes; i++)
		is_untried |= finding_of(d, i, "some-keys") != NULL;
	if (has_whole)
		print_line("together");
	show_findings(d, 0);
	for (int i = 0; i < SEVERITIES; i++)
		append_count(
			text, sizeof(text), &used, d->with[i], severity_name((enum severity)i));
	if (d->is_untried)
		snprintf(line, sizeof(line),
			"%s: no lock was tried: name the key of one with -k KEY", text);
	else if (is_sound && !is_untried)
		snprintf(line, sizeof(line), "%d of %d nodes can be used; no problem found%s%s",
			d->usable, nodes, used > 0 ? ", " : "", text);
	else
		snprintf(line, sizeof(line), "%s: %d of %d nodes can be used, %d needed", text,
			d->usable, nodes, tally_quorum(&v->query.tally));
	print_coloured(d->with[SEVERITY_ERROR] > 0     ? COLOUR_ERROR
		       : d->with[SEVERITY_WARNING] > 0 ? COLOUR_WARNING
						       : COLOUR_GOOD,
		line);
}

static void print_findings(struct json *j, const struct visit *v, const struct diagnosis *d)
{
	json_open(j, "findings", '[');
	for (int i = 0; i < d->count; i++) {
		const struct finding *f = &d->finding[i];

		json_open(j, NULL, '{');
		json_text(j, "id", f->id);
		json_text(j, "severity", severity_name(f->severity));
		if (f->node >= 0)
			json_text(j, "node", v->settings->nodes.node[f->node].label);
		json_text(j, "words", f->message);
		if (f->fix[0])
			json_text(j, "fix", f->fix);
		if (fix_remark(f->fix))
			json_text(j, "then", fix_remark(f->fix));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_node_facts(struct json *j, const struct visit *v, const struct diagnosis *d)
{
	json_open(j, "nodes", '[');
	for (int i = 0; i < v->settings->nodes.count; i++) {
		const struct node_facts *facts = &v->facts[i];
		const struct latency l = diagnosis_latency(facts);

		json_open(j, NULL, '{');
		json_text(j, "node", v->settings->nodes.node[i].label);
		json_bool(j, "usable", d->is_usable[i]);
		if (facts->info.kind[0]) {
			json_text(j, "kind", facts->info.kind);
			json_text(j, "version", facts->info.version);
			json_text(j, "role", facts->info.role);
		}
		if (facts->pings > 0) {
			json_open(j, "latency", '{');
			json_us(j, "min_us", l.min);
			json_us(j, "median_us", l.median);
			json_us(j, "p99_us", l.p99);
			json_close(j, '}');
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Is a lock impossible, whatever the nodes answer? */
static bool has_whole_error(const struct diagnosis *d)
{
	bool has = false;

	for (int i = 0; i < d->count; i++)
		has |= d->finding[i].node < 0 && d->finding[i].severity == SEVERITY_ERROR;
	return has;
}

static int verdict(const struct settings *s, const struct diagnosis *d, int quorum)
{
	if (d->is_duplicate)
		return STATUS_CONFIG;
	if (d->usable < quorum || has_whole_error(d))
		return STATUS_NO_QUORUM;
	if (d->is_untried || (s->strict && d->with[SEVERITY_ERROR] + d->with[SEVERITY_WARNING] > 0))
		return STATUS_UNSOUND;
	return STATUS_OK;
}

static const char *outcome(const struct diagnosis *d, int status)
{
	return status == STATUS_CONFIG         ? "duplicate-node"
	       : status == STATUS_NO_QUORUM    ? "no-quorum"
	       : d->is_untried                 ? "untried"
	       : d->with[SEVERITY_ERROR] > 0   ? "errors"
	       : d->with[SEVERITY_WARNING] > 0 ? "warnings"
					       : "sound";
}

static int print_diagnosis(const struct visit *v)
{
	static struct diagnosis d;
	const struct settings *s = v->settings;
	int quorum = tally_quorum(&v->query.tally), status;
	char ours[FINGERPRINT_MAX];
	struct rlimit files;
	struct json j;

	diagnosis_judge(&d, s, v->facts, &v->ours);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		diagnosis_judge_files(&d, s, (int64_t)usec_min((usec)files.rlim_cur, INT_MAX));
	status = verdict(s, &d, quorum);
	if (s->format != FORMAT_JSON) {
		show(v, &d);
		return status;
	}
	print_begin(&j, s);
	print_outcome(&j, outcome(&d, status), status);
	json_text(&j, "list", list_of(node_list_fingerprint(ours, &s->nodes)).name);
	json_number(&j, "usable", d.usable);
	json_number(&j, "quorum", quorum);
	print_node_facts(&j, v, &d);
	print_findings(&j, v, &d);
	print_end(&j);
	return status;
}

/* ---- to admit ---- */

/* Tells whether the node had a vote before: its mark is the current run id alone, or followed by 0,
 * for no quarantine. */
static bool had_vote(const struct node_facts *facts)
{
	size_t len = strlen(facts->info.run_id);

	return strncmp(facts->marker.text, facts->info.run_id, len) == 0 &&
	       (!facts->marker.text[len] || strncmp(facts->marker.text + len, " 0 ", 3) == 0);
}

/* Returns an earlier node that is the same server, or -1. */
static int duplicate_of(const struct visit *v, int i)
{
	const char *id = v->facts[i].info.run_id;

	for (int n = 0; n < i && id[0]; n++)
		if (strcmp(v->facts[n].info.run_id, id) == 0)
			return n;
	return -1;
}

static bool has_duplicates(const struct visit *v)
{
	bool has = false;

	for (int i = 0; i < v->settings->nodes.count; i++)
		has |= duplicate_of(v, i) >= 0;
	return has;
}

/* Describes the result for node i; *is_in: the node votes now. */
static const char *admission_result(const struct visit *v, int i, bool *is_in)
{
	static char duplicate[NODE_LABEL_MAX + 32];
	const struct node_facts *facts = &v->facts[i];

	*is_in = facts->admitted.vote == VOTE_YES;
	snprintf(duplicate, sizeof(duplicate), "is the same server as %s",
		duplicate_of(v, i) >= 0 ? v->settings->nodes.node[duplicate_of(v, i)].label : "");
	if (duplicate_of(v, i) >= 0)
		return duplicate;
	if (*is_in)
		return had_vote(facts) ? "had its vote already" : "admitted";
	if (facts->reached.vote == VOTE_ABSENT)
		return reason_words(facts->reached.reason);
	if (facts->admitted.vote == VOTE_ABSENT)
		return reason_words(facts->admitted.reason);
	if (facts->info.run_id[0])
		return "not admitted";
	return "does not report its run id";
}

/* The same, or its quarantine is over. The mark is the run id and the end of the quarantine in
 * milliseconds. */
static bool has_vote(const struct node_facts *facts)
{
	size_t len = strlen(facts->info.run_id);
	long long over = strncmp(facts->marker.text, facts->info.run_id, len) == 0
				 ? strtoll(facts->marker.text + len, NULL, 10)
				 : 0;

	return had_vote(facts) || (over > 0 && over * USEC_MSEC <= clock_wall());
}

/* How many nodes answer, and may have forgotten locks? */
static int count_new(const struct visit *v)
{
	int count = 0;

	for (int i = 0; i < v->settings->nodes.count; i++)
		count += !v->is_over[i] && !has_vote(&v->facts[i]);
	return count;
}

/* The reason against an admission: a node has a lock, or its locks cannot be searched. */
struct obstacle {
	int node;
	char key[120]; /* of the lock; "": the search failed */
	struct reply reply; /* why the search failed */
};

/* Reads the page that a node sent. Returns true if it has a lock, or is no page. */
static bool read_page(const struct query *query, int node, struct obstacle *found)
{
	const char *at = query->page[node] ? query->page[node] : "";
	struct page_entry entry;

	*found = (struct obstacle){.node = node, .reply = query->tally.ballot[node].reply};
	if (found->reply.vote != VOTE_YES)
		return true;
	if (!page_next(&at, at + query->page_len[node], &entry))
		return false;
	utf8_escape(found->key, sizeof(found->key), entry.key, entry.key_len);
	return true;
}

/* The search of the node is not finished after SCAN_PAGES. Returns true. */
static bool has_no_end(struct obstacle *found, int node)
{
	*found = (struct obstacle){.node = node, .reply = reply_absent(REASON_TOO_LONG, NULL)};
	return true;
}

/* Looks for a lock on any node that can be reached: a new node may have forgotten it. A node that
 * cannot be searched to its end may have one. */
static bool find_lock(struct visit *v, struct obstacle *found)
{
	static struct request scan[NODES_MAX];
	struct cursor at[NODES_MAX];
	const struct request *asked[NODES_MAX];
	int open = v->settings->nodes.count;

	for (int i = 0; i < NODES_MAX; i++) {
		at[i] = FIRST_PAGE;
		asked[i] = v->is_over[i] ? NULL : &scan[i];
	}
	for (int page = 0; page < SCAN_PAGES && open > 0; page++) {
		open = 0;
		for (int i = 0; i < v->settings->nodes.count; i++)
			if (asked[i])
				request_scan(&scan[i], at[i].at, at[i].count, true, false);
		query_ask(&v->query, asked, NULL, QUERY_ALL);
		for (int i = 0; i < v->settings->nodes.count; i++) {
			if (!asked[i])
				continue;
			if (read_page(&v->query, i, found))
				return true;
			if (!has_next_page(&at[i], &v->query.tally.ballot[i].reply))
				asked[i] = NULL;
			else if (page + 1 == SCAN_PAGES)
				return has_no_end(found, i);
			open += asked[i] != NULL;
		}
	}
	return false;
}

/* May a majority have a lock that no node shows? Its nodes have forgotten it, or do not answer. If
 * new nodes alone are a majority, the user says that there is none. */
static bool may_hide(const struct visit *v, struct obstacle *found)
{
	int quorum = tally_quorum(&v->query.tally), silent = 0, restarted = count_new(v);

	for (int i = v->settings->nodes.count - 1; i >= 0; i--)
		if (v->is_over[i]) {
			silent++;
			*found = (struct obstacle){.node = i, .reply = v->facts[i].reached};
		}
	return silent > 0 && restarted < quorum && restarted + silent >= quorum;
}

/* Returns whether a lock prevents the admission, or may prevent it. */
static bool admit_all(struct visit *v, struct obstacle *found)
{
	static struct request admission[NODES_MAX];
	const struct request *asked[NODES_MAX];

	question_command(v, FIELD(informed), (const char *const[]){"INFO", NULL});
	question_command(v, FIELD(marker), (const char *const[]){"GET", GUARD_KEY, NULL});
	ask(v);
	if (has_duplicates(v))
		return false;
	if (count_new(v) > 0 && (may_hide(v, found) || find_lock(v, found)))
		return true;
	for (int i = 0; i < NODES_MAX; i++) {
		const char *id = v->facts[i].info.run_id;

		request_command(&admission[i], (const char *const[]){"SET", GUARD_KEY, id, NULL});
		asked[i] = !v->is_over[i] && id[0] ? &admission[i] : NULL;
	}
	/* Each node has a question of its own. */
	question(v, FIELD(admitted))->op = OP_COMMAND;
	ask_some(v, asked);
	return false;
}

static int print_admitted(const struct visit *v, const char *result, int status)
{
	const struct settings *s = v->settings;
	struct json j;

	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, result, status);
		json_open(&j, "nodes", '[');
	}
	for (int i = 0; i < s->nodes.count; i++) {
		bool is_in;
		const char *done = admission_result(v, i, &is_in);

		if (s->format != FORMAT_JSON) {
			print_line("%s: %s", s->nodes.node[i].label, done);
			continue;
		}
		json_open(&j, NULL, '{');
		json_text(&j, "node", s->nodes.node[i].label);
		json_bool(&j, "admitted", is_in);
		json_text(&j, "words", done);
		json_close(&j, '}');
	}
	if (s->format == FORMAT_JSON) {
		json_close(&j, ']');
		print_end(&j);
	}
	return status;
}

static int refuse_admission(const struct visit *v, const struct obstacle *found)
{
	const char *label = v->settings->nodes.node[found->node].label;
	char reason[REPORT_MAX];

	if (found->key[0]) {
		log_say(LOG_ERRORS,
			"cannot admit the nodes: '%s' is held on %s, and a new node may "
			"have forgotten it",
			found->key, label);
		log_hint(LOG_ERRORS, "the nodes vote automatically when old locks have expired; "
				     "'redlock status' shows which locks are held");
		return print_admitted(v, "locks-held", STATUS_NO_QUORUM);
	}
	log_say(LOG_ERRORS, "cannot admit the nodes: cannot search %s for locks: it %s", label,
		report_problem(reason, &found->reply));
	setup_hint(v->settings, &v->query.tally, LOG_ERRORS);
	return print_admitted(v, "locks-unknown", STATUS_NO_QUORUM);
}

static int admit(struct visit *v)
{
	int admitted = 0, quorum = tally_quorum(&v->query.tally);
	struct obstacle found;

	if (admit_all(v, &found))
		return refuse_admission(v, &found);
	if (has_duplicates(v)) {
		log_say(LOG_ERRORS, "cannot admit the nodes: two of them are one server");
		log_hint(LOG_ERRORS, "name a separate server for each node");
		return print_admitted(v, "duplicate-node", STATUS_CONFIG);
	}
	for (int i = 0; i < v->settings->nodes.count; i++) {
		bool is_in;

		(void)admission_result(v, i, &is_in);
		admitted += is_in;
	}
	return admitted < quorum ? print_admitted(v, "incomplete", STATUS_NO_QUORUM)
				 : print_admitted(v, "admitted", STATUS_OK);
}

/* ---- the rules for a user ---- */

static int print_acl(const struct settings *s)
{
	const char *user = s->username ? s->username : "redlock";
	const char *rule;
	char line[FIX_MAX];
	struct json j;
	struct err e;

	if (rights_check("--acl PATTERN", s->acl, &e) < 0 ||
		rights_check("--username USER", user, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, "acl", STATUS_OK);
		json_open(&j, "rules", '[');
	}
	for (int i = 0; (rule = rights_line(line, i, user, s->acl)); i++) {
		if (rule[0] && s->format == FORMAT_JSON)
			json_text(&j, NULL, rule);
		else if (rule[0])
			print_line("%s", rule);
	}
	if (s->format == FORMAT_JSON) {
		json_close(&j, ']');
		print_end(&j);
	}
	log_hint(LOG_NORMAL, "a new user also needs a password: ACL SETUSER %s >PASSWORD", user);
	return print_finish();
}

/* ---- all of it ---- */

int cmd_doctor(struct settings *s)
{
	static struct visit v;
	struct err e;
	int status = STATUS_OK;

	if (s->acl)
		return print_acl(s);
	if (s->admit)
		status = confirm(s,
			"let all nodes vote at once? Only if none has forgotten a lock that may "
			"still be in use.",
			"admitted");
	if (status != STATUS_OK)
		return print_failure(s, "not-confirmed", status);
	if (!begin(&v, s, &e)) {
		log_err(&e);
		return status_of(e.kind);
	}
	if (s->admit) {
		status = admit(&v);
	} else {
		examine(&v);
		status = print_diagnosis(&v);
	}
	query_close(&v.query);
	if (print_finish() != STATUS_OK)
		return STATUS_INTERNAL;
	if (status == STATUS_NO_QUORUM && setup_lacks_nodes(s, &v.facts[0].reached))
		setup_hint_nodes(LOG_ERRORS);
	return status;
}
