/* A node: a server with redlock's scripts, and what the rules ask about its keys. */
#include "sim/sim.h"

#include "lock/peer.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The start of a reader's id, when its holder lets it expire. */
#define KIND_AT (sizeof(TOKEN_NINES) - 1)

/* Of each node: its server, and the data that it saved. They last longer than a world. */
static struct server servers[SIM_NODES], saved[SIM_NODES];

/* The servers that the names of nodes have left. */
static struct server left[SIM_NODES];
static bool is_saved[SIM_NODES];

/* The numbers of the keys. */
static struct {
	int lock[SIM_KEYS], reserved[SIM_KEYS], readers[SIM_KEYS]; /* without slots */
	int slot[SIM_LOCKS], reserved_slot[SIM_LOCKS];
	int queue[SIM_QUEUES];
	int limit, mark, record;
} key;

static const char *const key_names[SIM_KEYS] = {"k", "m"};
static const char *const slot_names[SIM_LOCKS] = {"k#1", "k#2", "k#3"};

static int key_beside(const char *what, const char *name, int limit)
{
	char text[64];

	if (limit > 0)
		snprintf(text, sizeof(text), "redlock:%s:{%s}:%d", what, name, limit);
	else
		snprintf(text, sizeof(text), "redlock:%s:{%s}", what, name);
	return server_key(text);
}

static void name_keys(void)
{
	for (int i = 0; i < SIM_KEYS; i++) {
		key.lock[i] = server_key(key_names[i]);
		key.reserved[i] = key_beside("reserved", key_names[i], 0);
		key.readers[i] = key_beside("readers", key_names[i], 0);
		key.queue[i > 0 ? SIM_LOCKS + i : 0] = key_beside("queue", key_names[i], 0);
	}
	for (int i = 0; i < SIM_LOCKS; i++) {
		key.slot[i] = server_key(slot_names[i]);
		key.reserved_slot[i] = key_beside("reserved", slot_names[i], 0);
		key.queue[i + 1] = key_beside("queue", "k", i + 1);
	}
	key.limit = server_key("redlock:limit:{k}");
	key.mark = server_key(GUARD_KEY);
	key.record = server_key("redlock:queue:{k}:done");
}

/* ---- its server ---- */

static int number_of(const struct sim_node *n)
{
	return (int)(n - world.node);
}

int64_t node_clock(const struct sim_node *n)
{
	return world.now + world.now / 1000000 * n->ppm + world.now % 1000000 * n->ppm / 1000000 +
	       n->offset + n->stepped;
}

static int64_t node_msec(const struct sim_node *n)
{
	return node_clock(n) / USEC_MSEC;
}

struct sim_message node_read_channel(const char *channel)
{
	struct sim_message m = {0};
	const char *end = strchr(channel, '}'), *name = strrchr(channel, ':');

	assert(end);
	/* A limit has one digit, a waiter's name more. */
	m.queue = end[-1] != 'k'                      ? SIM_LOCKS + 1
		  : end[1] == ':' && !isalpha(end[2]) ? atoi(end + 2)
						      : 0;
	if (strncmp(channel, "redlock:wake:", 13) == 0)
		snprintf(m.waiter, sizeof(m.waiter), "%s", name + 1);
	return m;
}

static int count_subscribers(const struct sim_node *n, const struct sim_message *m)
{
	int count = 0;

	for (int i = 0; i < n->subscribers; i++)
		count += n->subscriber[i].queue == m->queue &&
			 (!m->waiter[0] || strcmp(n->subscriber[i].waiter, m->waiter) == 0);
	return count;
}

static int numsub(struct server *s, const char *channel)
{
	const struct sim_message m = node_read_channel(channel);

	return count_subscribers(s->owner, &m);
}

/* On a copy, no client receives the message. */
static int count_only(struct server *s, const char *channel, const char *text)
{
	(void)text;
	return numsub(s, channel);
}

static int publish(struct server *s, const char *channel, const char *text)
{
	struct sim_node *n = s->owner;
	struct sim_message m = node_read_channel(channel);
	int count = count_subscribers(n, &m);

	snprintf(m.text, sizeof(m.text), "%s", text);
	if (count > 0 && n->published == SIM_PUBLISHED)
		abort();
	if (count > 0)
		n->message[n->published++] = m;
	return count;
}

void node_init(struct sim_node *n, enum server_kind kind)
{
	static bool is_ready;
	int i = number_of(n);

	if (!is_ready) {
		server_init();
		name_keys();
		is_ready = true;
	}
	n->server = &servers[i];
	server_flush(n->server);
	n->server->histories = 0;
	is_saved[i] = false;
	n->server->kind = kind;
	n->server->owner = n;
	n->server->numsub = numsub;
	n->server->publish = publish;
	node_begin_life(n, 1);
}

static void start(struct sim_node *n, int life)
{
	char run_id[RUN_ID_MAX];

	snprintf(run_id, sizeof(run_id), "%06x%02x%032d", life, (unsigned)number_of(n), 0);
	server_start(n->server, run_id);
}

void node_begin_life(struct sim_node *n, int life)
{
	n->life = life;
	n->subscribers = n->published = n->watches = 0;
	n->server->known = 0;
	start(n, life);
}

static void command(const struct sim_node *n, const char *const words[])
{
	n->server->clock_us = node_clock(n);
	server_command(n->server, words);
}

void node_deny(struct sim_node *n, usec until)
{
	static const char *const names[] = {"get", "set", "del", "exists", "pttl", "pexpire",
		"type", "zadd", "zrem", "zrange", "zrank", "zscore", "zrangebyscore",
		"zremrangebyscore", "publish", "pubsub", "time", "info"};
	/* Without TIME or INFO there is no restart guard: redlock warns, and counts the vote. */
	const int count = (int)(sizeof(names) / sizeof(names[0])) - (world.profile->guards ? 2 : 0);

	n->denies_until = until;
	n->denied = 0;
	for (int lacking = (int)draw_between(1, 3); lacking > 0; lacking--)
		n->denied |= (uint64_t)1
			     << server_command_number(names[draw_between(0, count - 1)]);
}

void node_forget(struct sim_node *n)
{
	command(n, (const char *const[]){"FLUSHALL", NULL});
}

void node_forget_waiters(struct sim_node *n)
{
	command(n,
		(const char *const[]){"DEL", "redlock:queue:{k}", "redlock:queue:{k}:1",
			"redlock:queue:{k}:2", "redlock:queue:{k}:3", "redlock:queue:{m}",
			"redlock:reserved:{k}", "redlock:reserved:{k#1}", "redlock:reserved:{k#2}",
			"redlock:reserved:{k#3}", "redlock:reserved:{m}", NULL});
}

static const char *name_of(int i)
{
	return world.limit > 1 ? slot_names[i] : key_names[i];
}

void node_delete(struct sim_node *n, int i)
{
	command(n, (const char *const[]){"DEL", name_of(i), NULL});
}

void node_set(struct sim_node *n, int i, const char *value, usec ttl)
{
	char ms[24];

	snprintf(ms, sizeof(ms), "%lld", (long long)(ttl / USEC_MSEC));
	command(n, (const char *const[]){"SET", name_of(i), value, "PX", ms, NULL});
}

void node_expire(struct sim_node *n)
{
	for (int i = 0; i < world.places; i++)
		command(n, (const char *const[]){"EXISTS", name_of(i), NULL});
}

static bool has_changed(const struct sim_node *n, const struct sim_watch *watch)
{
	return n->server->entry[watch->key].version != watch->version;
}

void node_ignore_changes(struct sim_node *n, int client, uint32_t wire)
{
	int count = 0;

	for (int i = 0; i < n->watches; i++) {
		const struct sim_watch *watch = &n->watch[i];

		if (watch->client != client || watch->wire != wire || !has_changed(n, watch))
			n->watch[count++] = *watch;
	}
	n->watches = count;
}

bool node_next_change(struct sim_node *n, struct sim_watch *watch)
{
	for (int i = 0; i < n->watches; i++) {
		*watch = n->watch[i];
		if (has_changed(n, watch)) {
			n->watch[i] = n->watch[--n->watches];
			return true;
		}
	}
	return false;
}

/* No client is subscribed there. */
static int count_none(struct server *s, const char *channel)
{
	(void)s, (void)channel;
	return 0;
}

static int tell_none(struct server *s, const char *channel, const char *text)
{
	(void)text;
	return count_none(s, channel);
}

void node_move(struct sim_node *n, bool is_empty)
{
	struct server *l = &left[number_of(n)];

	l->kind = n->server->kind;
	l->known = n->server->known;
	l->numsub = count_none;
	l->publish = tell_none;
	memcpy(l->run_id, n->server->run_id, sizeof(l->run_id));
	memcpy(l->replid, n->server->replid, sizeof(l->replid));
	l->is_promoted = n->server->is_promoted;
	server_copy(l, n->server);
	node_begin_life(n, n->life + 1);
	if (is_empty)
		node_forget(n);
	n->jumped = true;
}

void node_save(const struct sim_node *n)
{
	server_back_up(n->server);
	server_copy(&saved[number_of(n)], n->server);
	is_saved[number_of(n)] = true;
}

bool node_restore(struct sim_node *n)
{
	if (!is_saved[number_of(n)])
		return false;
	server_copy(n->server, &saved[number_of(n)]);
	/* Not drawn: the other one of two did not restart. It was a replica of a server with this
	 * data for a while. */
	if (n->life % 2) {
		start(n, n->life - 1);
		server_promote(n->server);
	}
	return true;
}

/* ---- its keys ---- */

static const struct server_entry *entry(const struct sim_node *n, int number)
{
	n->server->clock_us = node_clock(n);
	return server_entry(n->server, number);
}

static const struct server_entry *lock_entry(const struct sim_node *n, int i)
{
	return entry(n, world.limit > 1 ? key.slot[i] : key.lock[i]);
}

const char *node_value(const struct sim_node *n, int i)
{
	const struct server_entry *e = lock_entry(n, i);

	return e ? e->value : "";
}

bool node_has_key(const struct sim_node *n, int i)
{
	return lock_entry(n, i);
}

static bool is_revoked(const char *value)
{
	return strncmp(value, TOKEN_NINES TOKEN_REVOKED, KIND_AT + 1) == 0;
}

/* `revoked` is the revoked form of the token, of which maybe only the id is known. */
static bool is_same_but_revoked(const char *revoked, const char *token)
{
	size_t len = strlen(token);

	return is_revoked(revoked) && strncmp(revoked, token, KIND_AT) == 0 &&
	       token[KIND_AT] == TOKEN_HOLDER[0] &&
	       strncmp(revoked + KIND_AT + 1, token + KIND_AT + 1, len - KIND_AT - 1) == 0 &&
	       (len == TOKEN_ID_LEN || strlen(revoked) == len);
}

/* Every attempt has its own token; the owner belongs to the session. */
static bool is_token_of(const char *value, const struct session *s)
{
	size_t owner;

	(void)token_since(value, strlen(value), &owner);
	return strlen(value) >= owner && strcmp(value + owner, s->owner) == 0;
}

/* The entries of the readers; NULL: readers do not hold the key. */
static const struct server_entry *readers(const struct sim_node *n, int i)
{
	const char *value = node_value(n, i);

	return token_is_shared(value, strlen(value)) ? entry(n, key.readers[i]) : NULL;
}

/* The last entry of this session that the node had to keep among readers. NULL: none. */
static const char *reader_of(const struct sim_node *n, int slot, const struct session *s)
{
	const struct server_entry *e = readers(n, slot);
	const char *latest = NULL;

	for (int i = 0; i < (e ? e->members : 0); i++) {
		const struct server_member *m = &e->member[i];

		if (is_token_of(m->name, s) && (double)node_msec(n) <= m->score &&
			(!latest || node_note(n, m->name).kept > node_note(n, latest).kept))
			latest = m->name;
	}
	return latest;
}

const char *node_value_of(const struct sim_node *n, int i, const struct session *s)
{
	const char *reader = reader_of(n, i, s);

	return reader ? reader : node_value(n, i);
}

bool node_has_key_of(const struct sim_node *n, int i, const struct session *s)
{
	const char *value = node_value_of(n, i, s);

	return *value && !token_has_no_holder(value) && is_token_of(value, s);
}

/* Of the token, maybe only the id is known. */
bool node_is_token(const char *value, const char *token)
{
	return strcmp(value, token) == 0 ||
	       (strlen(token) == TOKEN_ID_LEN && strncmp(value, token, TOKEN_ID_LEN) == 0) ||
	       is_same_but_revoked(value, token);
}

/* The time by the node's clock at which this token's key, or its reader entry, ends there. */
static int64_t token_ends(const struct sim_node *n, int i, const char *token)
{
	const struct server_entry *e = readers(n, i);

	for (int r = 0; r < (e ? e->members : 0); r++)
		if (node_is_token(e->member[r].name, token))
			return (int64_t)e->member[r].score;
	e = lock_entry(n, i);
	return e && node_is_token(e->value, token) ? e->ends : INT64_MIN;
}

bool node_has_token(const struct sim_node *n, int i, const char *token)
{
	return token_ends(n, i, token) >= node_msec(n);
}

static usec true_end(const struct sim_node *n, int64_t ends)
{
	return world.now + (ends * USEC_MSEC - node_clock(n)) * 1000000 / (1000000 + n->ppm);
}

usec node_token_ends(const struct sim_node *n, int i, const char *token)
{
	return node_has_token(n, i, token) ? true_end(n, token_ends(n, i, token)) : 0;
}

usec node_reserved_until(const struct sim_node *n, int i)
{
	const struct server_entry *e =
		entry(n, world.limit > 1 ? key.reserved_slot[i] : key.reserved[i]);

	return e ? true_end(n, e->ends) : 0;
}

usec node_key_ends(const struct sim_node *n, int i, const struct session *s)
{
	const struct server_entry *e = lock_entry(n, i);

	if (readers(n, i))
		return true_end(n, token_ends(n, i, node_value_of(n, i, s)));
	return e ? true_end(n, e->ends) : 0;
}

int node_waiters(const struct sim_node *n, int queue)
{
	const struct server_entry *e = entry(n, key.queue[queue]);

	return e ? e->members : 0;
}

const char *node_waiter(const struct sim_node *n, int queue, int j)
{
	return entry(n, key.queue[queue])->member[j].name;
}

static bool is_in_queues(const struct sim_node *n, int first, int end, const char *name)
{
	for (int queue = first; queue < end; queue++)
		for (int j = 0; j < node_waiters(n, queue); j++)
			if (strcmp(node_waiter(n, queue, j), name) == 0)
				return true;
	return false;
}

bool node_has_waiter(const struct sim_node *n, const struct request *r, const char *name)
{
	return r->argv[3][0] == key_names[0][0] ? is_in_queues(n, 0, SIM_LOCKS + 1, name)
						: is_in_queues(n, SIM_LOCKS + 1, SIM_QUEUES, name);
}

bool node_queues(const struct sim_node *n, const char *name)
{
	return is_in_queues(n, 0, SIM_QUEUES, name);
}

bool node_has_other_limit(const struct sim_node *n, int limit)
{
	const struct server_entry *e = entry(n, key.limit);
	int recorded = e ? atoi(e->value) : 0;

	for (int i = 0; i < recorded && i < SIM_LOCKS; i++)
		if (recorded != limit && node_has_key(n, i))
			return true;
	return false;
}

const char *node_record(const struct sim_node *n)
{
	const struct server_entry *e = entry(n, key.record);

	return e ? strchr(e->value, ' ') + 1 : "";
}

bool node_is_in_quarantine(const struct sim_node *n, usec wall)
{
	const struct server_entry *e = entry(n, key.mark);
	const char *id = n->server->run_id;
	const char *history = e ? strrchr(e->value, ' ') : NULL;
	int64_t over, given, over_there;

	if (n->server->is_promoted && (!history || strcmp(history + 1, n->server->replid) != 0))
		return true;
	return !e || strncmp(e->value, id, strlen(id)) != 0 ||
	       sscanf(e->value + strlen(id), " %" SCNd64 " %" SCNd64 " %" SCNd64, &over, &given,
		       &over_there) != 3 ||
	       given == 0 || node_msec(n) < over || wall / USEC_MSEC < over_there;
}

/* ---- what the checker knows of the tokens ---- */

/* A token keeps its digits when its kind changes. */
static bool is_note_of(const struct sim_note *note, const char *token)
{
	return strncmp(note->id + KIND_AT + 1, token + KIND_AT + 1, TOKEN_ID_LEN - KIND_AT - 1) ==
	       0;
}

static int find_note(const struct sim_node *n, const char *token)
{
	for (int i = n->notes - 1; i >= 0 && strlen(token) >= TOKEN_ID_LEN; i--)
		if (is_note_of(&n->note[i], token))
			return i;
	return -1;
}

struct sim_note node_note(const struct sim_node *n, const char *token)
{
	int i = find_note(n, token);

	return i < 0 ? (struct sim_note){0} : n->note[i];
}

/* Of tokens that are gone, nothing needs to be known. */
static void drop_notes(struct sim_node *n)
{
	int count = 0;

	for (int i = 0; i < n->notes; i++) {
		bool is_there = false;

		for (int place = 0; place < world.places; place++)
			is_there |= node_has_token(n, place, n->note[i].id);
		if (is_there)
			n->note[count++] = n->note[i];
	}
	n->notes = count;
}

static struct sim_note *note_of(struct sim_node *n, const char *token)
{
	int i = find_note(n, token);

	if (i >= 0)
		return &n->note[i];
	if (n->notes == SIM_NOTES)
		drop_notes(n);
	if (n->notes == SIM_NOTES)
		abort();
	i = n->notes++;
	n->note[i] = (struct sim_note){0};
	memcpy(n->note[i].id, token, TOKEN_ID_LEN);
	return &n->note[i];
}

void node_note_lateness(struct sim_node *n, const char *token, usec left_at)
{
	bool is_token = strlen(token) >= TOKEN_ID_LEN; /* else the key is gone, or not redlock's */
	struct sim_note *note = NULL;

	if (is_token && (left_at || find_note(n, token) >= 0))
		note = note_of(n, token);
	if (!note)
		return;
	note->left_at = left_at;
	note->late_by = left_at ? world.now - left_at : 0;
}

/* ---- requests ---- */

const char *node_arg(const struct request *r, const char *name)
{
	static char part[REPLY_TEXT_MAX];
	enum place { IS_WORD, IS_PART, IS_LATER };
	static const struct {
		const char *name;
		enum place place;
	} arguments[OP_COUNT][16] = {
#define WORD(name) {#name, IS_WORD},
#define PART(name) {#name, IS_PART},
#define LATER(name) {#name, IS_LATER},
#define SCRIPT(name, words, file, flags, list, items) [OP_##name] = {list},
#include "lock/operations.def"
#undef WORD
#undef PART
#undef LATER
	};
	const char *word = "";

	for (int i = 0, w = 3 + r->keys; arguments[r->op][i].name; i++) {
		enum place place = arguments[r->op][i].place;
		bool is_first = i == 0 || arguments[r->op][i - 1].place != IS_PART;
		bool is_last = arguments[r->op][i + 1].place != IS_PART;
		size_t len;

		if (place != IS_PART || is_first)
			word = w < r->argc ? r->argv[w++] : "";
		/* The last part may have spaces. */
		len = place == IS_PART && !is_last ? strcspn(word, " ") : strlen(word);
		if (strcmp(arguments[r->op][i].name, name) == 0) {
			snprintf(part, sizeof(part), "%.*s", (int)len, word);
			return place == IS_PART ? part : word;
		}
		word += len + (place == IS_PART);
	}
	return "";
}

static bool has_slots(const struct request *r)
{
	return strchr(r->argv[3], '#') != NULL;
}

static int place_of_key(const struct request *r, int i)
{
	return has_slots(r) ? atoi(strrchr(r->argv[3], '#') + 1) - 1
			    : strcmp(r->argv[3 + i], key_names[0]) != 0;
}

int node_place_of(const struct request *r)
{
	return place_of_key(r, 0);
}

usec node_keys_end(const struct sim_node *n, const struct request *r, const struct session *s)
{
	usec ends = NEVER;

	for (int i = 0; i < r->keys; i++)
		ends = usec_min(ends, node_key_ends(n, place_of_key(r, i), s));
	return ends;
}

bool node_has_all(const struct sim_node *n, const struct request *r)
{
	for (int i = 0; i < r->keys; i++)
		if (!node_has_token(n, place_of_key(r, i), node_arg(r, "token")))
			return false;
	return true;
}

const char *node_token_of(const struct sim_node *n, const struct request *r)
{
	const char *token = node_arg(r, "token");
	const struct server_entry *e = readers(n, node_place_of(r));

	for (int i = 0; i < (e ? e->members : 0); i++)
		if (strncmp(e->member[i].name, token, TOKEN_ID_LEN) == 0)
			return e->member[i].name;
	return node_value(n, node_place_of(r));
}

static bool is_yes(const struct resp *resp)
{
	return resp->item[0].type == RESP_STRING && *resp->item[0].text == CODE_YES;
}

/* The node has set the reader's entry, or set its time. */
static void note_kept(struct sim_node *n, const struct request *r)
{
	if (r->op == OP_ACQUIRE || r->op == OP_REPAIR || r->op == OP_EXTEND || r->op == OP_EXPIRE)
		note_of(n, node_arg(r, "token"))->kept = world.events;
}

/* The last number of a record is its text; see client.c. */
static void note_record(const struct sim_node *n, const struct request *r, const struct resp *resp)
{
	const char *record = node_arg(r, "record");

	if (*record && resp->item[0].type == RESP_STRING && reply_read(r->op, resp).is_stored)
		world.stored[strtoul(record, NULL, 10) % SIM_RUNS] |= 1u << number_of(n);
}

/* The node has the revoked form of the request's token in one of the places that it names. */
static bool is_held_revoked(const struct sim_node *n, const struct request *r)
{
	const char *token = node_arg(r, "token");

	for (int k = 0; k < r->keys; k++) {
		const struct server_entry *e = readers(n, place_of_key(r, k));

		for (int i = 0; i < (e ? e->members : 0); i++)
			if (is_same_but_revoked(e->member[i].name, token))
				return true;
		if (is_same_but_revoked(node_value(n, place_of_key(r, k)), token))
			return true;
	}
	return false;
}

void node_serve(struct sim_node *n, const struct request *r, struct resp *resp)
{
	n->published = 0;
	if (r->op == OP_EXPIRE)
		n->ended_revoked = is_held_revoked(n, r);
	n->server->clock_us = node_clock(n);
	n->server->denied = world.now < n->denies_until ? n->denied : 0;
	server_eval(n->server, r, resp);
	n->server->denied = 0;
	if (is_yes(resp) && readers(n, node_place_of(r)))
		note_kept(n, r);
	if (r->op == OP_HAND_OFF)
		note_record(n, r, resp);
}

/* The connection's watch of that key; a new one if it has none. */
static struct sim_watch *find_watch(struct sim_node *n, const struct sim_watch *by)
{
	int i = 0;

	while (i < n->watches &&
		(n->watch[i].client != by->client || n->watch[i].wire != by->wire ||
			n->watch[i].key != by->key))
		i++;
	assert(i < SIM_WATCHES);
	n->watches += i == n->watches;
	return &n->watch[i];
}

void node_watch(struct sim_node *n, struct sim_watch by, const struct request *r)
{
	node_expire(n);
	for (int i = 0; i < r->keys; i++) {
		by.name = name_of(place_of_key(r, i));
		by.key = server_key(by.name);
		by.version = n->server->entry[by.key].version;
		*find_watch(n, &by) = by;
		if (entry(n, by.key))
			schedule(true_end(n, entry(n, by.key)->ends + 1), SIM_EXPIRED, number_of(n),
				0, 0, NULL);
	}
}

void node_serve_left(struct sim_node *n, const struct request *r, struct resp *resp)
{
	struct server *l = &left[number_of(n)];

	l->clock_us = node_clock(n);
	server_eval(l, r, resp);
	if (r->op == OP_HAND_OFF)
		note_record(n, r, resp);
}

void node_serve_copy(const struct sim_node *n, const struct request *r, struct resp *resp)
{
	static struct server copy;

	copy.kind = n->server->kind;
	copy.clock_us = node_clock(n);
	copy.owner = n->server->owner;
	copy.numsub = numsub;
	copy.publish = count_only;
	memcpy(copy.run_id, n->server->run_id, sizeof(copy.run_id));
	memcpy(copy.replid, n->server->replid, sizeof(copy.replid));
	copy.is_promoted = n->server->is_promoted;
	server_copy(&copy, n->server);
	server_eval(&copy, r, resp);
}

void node_revoke(struct sim_node *n, int i)
{
	static struct resp resp;
	const struct server_entry *e = lock_entry(n, i);
	char value[301]; /* what `redlock break` reads of it */
	struct request r;

	if (!e)
		return;
	snprintf(value, sizeof(value), "%.300s", e->value);
	request_script(&r, OP_REVOKE,
		&(struct lock_ref){
			.keys = &ONE_KEY(world.limit > 1 ? "k" : key_names[i]),
			.slot = world.limit > 1 ? i + 1 : 0,
			.token = value,
		},
		&(struct request_args){0});
	node_serve(n, &r, &resp);
}
