/* A server, as far as redlock's scripts can tell: one key, or the slots of one, an expiry by its
 * own clock, a run_id. tests/bats/sim.bats compares it with a real server. */
#include "sim/sim.h"

#include "lock/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The start of a reader's id, when its holder lets it expire. */
#define KIND_AT (sizeof(TOKEN_NINES) - 1)

int64_t node_clock(const struct sim_node *n)
{
	return world.now + world.now / 1000000 * n->ppm + world.now % 1000000 * n->ppm / 1000000 +
	       n->offset + n->stepped;
}

static int64_t node_msec(const struct sim_node *n)
{
	return node_clock(n) / USEC_MSEC;
}

bool node_has_key(const struct sim_node *n, int i)
{
	return n->lock[i].value[0] && node_msec(n) <= n->lock[i].ends;
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

static bool is_group(const char *value)
{
	return token_is_shared(value, strlen(value));
}

struct sim_reader *node_reader(struct sim_node *n, const char *token)
{
	for (int i = 0; i < n->readers && is_group(n->lock[0].value); i++)
		if (strncmp(n->reader[i].token, token, TOKEN_ID_LEN) == 0)
			return &n->reader[i];
	return NULL;
}

struct sim_reader *node_reader_of(struct sim_node *n, const struct session *s)
{
	struct sim_reader *latest = NULL;

	for (int i = 0; i < n->readers && is_group(n->lock[0].value); i++)
		if (is_token_of(n->reader[i].token, s) && node_msec(n) <= n->reader[i].ends &&
			(!latest || n->reader[i].kept > latest->kept))
			latest = &n->reader[i];
	return latest;
}

bool node_has_key_of(struct sim_node *n, int i, const struct session *s)
{
	const char *value = n->lock[i].value;

	if (!node_has_key(n, i))
		return false;
	if (is_group(value)) {
		value = node_reader_of(n, s) ? node_reader_of(n, s)->token : "";
	}
	return !token_has_no_holder(value) && is_token_of(value, s);
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
	if (!node_has_key(n, i))
		return INT64_MIN;
	for (int r = 0; r < n->readers && is_group(n->lock[i].value); r++)
		if (node_is_token(n->reader[r].token, token))
			return n->reader[r].ends;
	return node_is_token(n->lock[i].value, token) ? n->lock[i].ends : INT64_MIN;
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
	return n->lock[i].reserved.id[0] ? true_end(n, n->lock[i].reserved.ends) : 0;
}

usec node_key_ends(struct sim_node *n, int i, const struct session *s)
{
	return true_end(
		n, is_group(n->lock[i].value) ? node_reader_of(n, s)->ends : n->lock[i].ends);
}

const char *node_arg(const struct request *r, const char *name)
{
	/* As the first lines of the scripts name them. */
	static const char *const names[OP_COUNT] = {
		[OP_ACQUIRE] = "token ttl woken_by flags reserve_ms waiter_key waiter quarantine "
			       "wall slots held_ids",
		[OP_REPAIR] = "token ttl woken_by flags reserve_ms waiter_key waiter quarantine "
			      "wall slots held_ids",
		[OP_EXTEND] = "token ttl flags slots",
		[OP_UNDO] = "token reserve_ms quarantine wall slots",
		[OP_HAND_OFF] = "token reserve_ms woken_by flags far waiter quarantine wall slots "
				"record record_age keep_ms",
		[OP_DELETE] = "secret",
		[OP_EXPIRE] = "token ttl slots",
		[OP_FENCE] = "token number",
		[OP_LOOK] = "token woken_by flags waiter_key waiter quarantine wall slots held_ids",
		[OP_JOIN] = "token reserve_ms waiter ticket quarantine wall slots",
		[OP_REVOKE] = "token flags",
	};
	const char *at = names[r->op] ? names[r->op] : "";
	size_t len = strlen(name);

	for (int i = 3 + r->keys; *at && i < r->argc; i++) {
		size_t this = strcspn(at, " ");

		if (this == len && strncmp(at, name, len) == 0)
			return r->argv[i];
		at += this + strspn(at + this, " ");
	}
	return "";
}

static int64_t number_arg(const struct request *r, const char *name)
{
	return atoll(node_arg(r, name));
}

static bool has_slots(const struct request *r)
{
	return strchr(r->argv[3], '#') != NULL;
}

const char *node_op_name(enum op op)
{
	static const char *const names[OP_COUNT] = {
		[OP_ACQUIRE] = "acquire",
		[OP_EXTEND] = "extend",
		[OP_REPAIR] = "repair",
		[OP_UNDO] = "undo",
		[OP_HAND_OFF] = "hand-off",
		[OP_DELETE] = "delete",
		[OP_EXPIRE] = "expire",
		[OP_FENCE] = "fence",
		[OP_LOOK] = "look",
		[OP_SUBSCRIBE] = "subscribe",
		[OP_JOIN] = "join",
		[OP_REVOKE] = "revoke",
	};

	return names[op];
}

int node_slot_of(const struct request *r)
{
	return has_slots(r) ? atoi(strrchr(r->argv[3], '#') + 1) - 1 : 0;
}

/* One run of a script. */
struct run {
	struct sim_node *n;
	const struct request *r;
	struct resp *resp;
	struct sim_lock *l; /* the key, or one slot of a semaphore: */
	int slot; /* from 1 on; 0: no semaphore */
	int limit; /* the client's, or as recorded; less than 2: no semaphore */
	struct sim_queue *queue; /* of that limit */
	/* From the view of the client that asks: */
	const char *value; /* "": no key */
	bool is_group; /* the key is held by readers */
	struct sim_reader *mine, *held; /* the asker's entry, and its outer lock's */
	struct sim_reader *revoked; /* the asker's entry, which was revoked */
	bool is_shared; /* the asker requests a shared lock */
	int woken_for; /* the slot for which the script woke its own client; -1: not woken */
};

static const char *arg(const struct run *run, const char *name)
{
	return node_arg(run->r, name);
}

static int64_t number(const struct run *run, const char *name)
{
	return number_arg(run->r, name);
}

static bool has_flag(const struct run *run, const char *flag)
{
	return strstr(arg(run, "flags"), flag) != NULL;
}

static void go_to_slot(struct run *run, int slot)
{
	run->slot = slot;
	run->l = &run->n->lock[slot > 0 ? slot - 1 : 0];
}

/* The script releases keys, or revokes them: a revoked token is the client's, too. */
static bool releases(const struct run *run)
{
	return op_releases(run->r->op) || run->r->op == OP_REVOKE;
}

/* The value, or the reader, belongs to the client. Some requests have only the id of the token. */
static bool is_named(const struct run *run, const char *value)
{
	const char *token = arg(run, "token");
	size_t len = strlen(token);
	char before[TOKEN_MAX];

	if (releases(run) && is_revoked(value)) {
		snprintf(before, sizeof(before), "%s", value);
		memcpy(before + KIND_AT, TOKEN_HOLDER, 1);
		value = before;
	}
	return strcmp(value, token) == 0 ||
	       (len == TOKEN_ID_LEN && value[0] && strncmp(value, token, len) == 0 &&
		       value[len] == ':');
}

/* The common start of redlock's scripts. */
static void read_key(struct run *run)
{
	const char *ids = arg(run, "held_ids");

	run->value = run->l->value;
	run->is_shared = has_flag(run, FLAG_SHARED);
	if (!is_group(run->value))
		return;
	run->value = run->is_shared ? "" : run->l->value;
	run->is_group = !run->is_shared;
	for (int i = 0; i < run->n->readers; i++) {
		struct sim_reader *reader = &run->n->reader[i];
		char id[TOKEN_ID_LEN + 1];

		if (node_msec(run->n) > reader->ends)
			continue;
		run->is_group = true;
		snprintf(id, sizeof(id), "%.40s", reader->token);
		if (is_named(run, reader->token))
			run->mine = reader;
		else if (is_same_but_revoked(reader->token, arg(run, "token")))
			run->revoked = reader;
		else if (strstr(ids, id))
			run->held = reader;
	}
	if (run->mine)
		run->value = run->mine->token;
	else if (run->revoked)
		run->value = run->revoked->token;
	else if (!run->is_shared && run->held)
		run->value = run->held->token;
}

static bool is_ours(const struct run *run)
{
	return run->value[0] && is_named(run, run->value);
}

static bool is_foreign(const struct run *run)
{
	return run->value[0] && !is_ours(run);
}

/* PTTL of the key; a key of another program may have no expiry. */
static int64_t pttl(const struct run *run)
{
	return !run->l->value[0]           ? -2
	       : run->l->ends == INT64_MAX ? -1
					   : run->l->ends - node_msec(run->n);
}

/* The time left of the reader that asks, else of the key. */
static int64_t time_left(const struct run *run)
{
	return run->mine ? run->mine->ends - node_msec(run->n) : pttl(run);
}

/* ---- replies ---- */

static void set(const struct run *run, int item, int64_t integer)
{
	run->resp->item[item - 1].type = RESP_INTEGER;
	run->resp->item[item - 1].integer = integer;
}

static void set_text(const struct run *run, int item, const char *text)
{
	struct resp_item *to = &run->resp->item[item - 1];

	to->type = RESP_STRING;
	to->integer = 0;
	to->len = strlen(text);
	memcpy(to->text, text, to->len + 1);
}

static void begin_reply(const struct run *run)
{
	run->resp->is_array = 1;
	run->resp->count = REPLY_ITEMS;
	for (int i = 1; i <= REPLY_ITEMS; i++)
		set(run, i, 0);
	set_text(run, REPLY_TEXT, "");
	set_text(run, REPLY_RUN_ID, "");
	set(run, REPLY_KEY, 1);
	set(run, REPLY_PARTIAL,
		is_ours(run) ||
			(run->value[0] && is_same_but_revoked(run->value, arg(run, "token"))));
}

static void answer(const struct run *run, int64_t code, int64_t ms, const char *text)
{
	set(run, REPLY_CODE, code);
	set(run, REPLY_PTTL, ms);
	set(run, REPLY_SOONEST, ms);
	set_text(run, REPLY_TEXT, text);
}

static void answer_about(const struct run *run, int64_t code, int64_t ms, const char *text)
{
	set(run, REPLY_SHARED, run->is_group);
	answer(run, code, ms, text);
}

/* The reply "the key has another holder". */
static void refusal(const struct run *run)
{
	answer_about(run, CODE_FOREIGN, pttl(run), run->value);
}

/* The reply if the client does not hold the key. */
static bool is_loss(const struct run *run)
{
	if (is_foreign(run))
		refusal(run);
	else if (!run->value[0])
		answer_about(run, CODE_GONE, 0, "");
	return is_foreign(run) || !run->value[0];
}

/* ---- the life of a server ---- */

void node_begin_life(struct sim_node *n, int life)
{
	n->life = life;
	n->subscribers = n->published = 0;
	n->known = 0;
	snprintf(n->run_id, sizeof(n->run_id), "%038x%02x", life, (unsigned)(n - world.node));
}

void node_forget_waiters(struct sim_node *n)
{
	for (int i = 0; i <= SIM_LOCKS; i++)
		n->queue[i].waiters = 0;
	for (int i = 0; i < SIM_LOCKS; i++)
		n->lock[i].reserved.id[0] = '\0';
}

void node_forget(struct sim_node *n)
{
	node_forget_waiters(n);
	memset(n->lock, 0, sizeof(n->lock));
	n->readers = 0;
	n->limit = 0;
	n->mark[0] = '\0';
	n->record.text[0] = '\0';
}

/* ---- the queue ---- */

static bool has_waiters(const struct run *run)
{
	return run->queue->waiters > 0;
}

static void report_waiters(const struct run *run)
{
	set(run, REPLY_WAITERS, has_waiters(run));
}

static int find_waiter(const struct sim_queue *q, const char *name)
{
	for (int i = 0; i < q->waiters; i++)
		if (strcmp(q->waiter[i].name, name) == 0)
			return i;
	return -1;
}

bool node_has_waiter(const struct sim_node *n, const char *name)
{
	for (int i = 0; i <= SIM_LOCKS; i++)
		if (find_waiter(&n->queue[i], name) >= 0)
			return true;
	return false;
}

static void remove_waiter(struct sim_queue *q, int i)
{
	q->waiters--;
	memmove(q->waiter + i, q->waiter + i + 1, (size_t)(q->waiters - i) * sizeof(q->waiter[0]));
}

/* A sorted set: by ticket, and by name where tickets are equal. */
static void add_waiter(struct sim_queue *q, const char *name, int64_t ticket)
{
	int i = 0;

	if (find_waiter(q, name) >= 0)
		return;
	if (q->waiters == SIM_WAITERS)
		abort();
	while (i < q->waiters &&
		(q->waiter[i].ticket < ticket ||
			(q->waiter[i].ticket == ticket && strcmp(q->waiter[i].name, name) < 0)))
		i++;
	memmove(q->waiter + i + 1, q->waiter + i, (size_t)(q->waiters - i) * sizeof(q->waiter[0]));
	q->waiters++;
	q->waiter[i].ticket = ticket;
	snprintf(q->waiter[i].name, sizeof(q->waiter[i].name), "%s", name);
}

/* The queue of the limit; 0: of a lock without slots. */
static int queue_of(const struct run *run)
{
	return (int)(run->queue - run->n->queue);
}

/* Subscribers of a waiter's channel; of the channel of all waiters, if the name is "". */
static int count_subscribers(const struct run *run, const char *name)
{
	const struct sim_node *n = run->n;
	int count = 0;

	for (int i = 0; i < n->subscribers; i++)
		count += n->subscriber[i].limit == queue_of(run) &&
			 (!name[0] || strcmp(n->subscriber[i].waiter, name) == 0);
	return count;
}

/* Returns whether the message has a receiver. */
static bool publish(const struct run *run, const char *name, const char *text)
{
	struct sim_message *m = &run->n->message[run->n->published];

	if (count_subscribers(run, name) == 0)
		return false;
	if (run->n->published++ == SIM_PUBLISHED)
		abort();
	m->limit = queue_of(run);
	snprintf(m->waiter, sizeof(m->waiter), "%s", name);
	snprintf(m->text, sizeof(m->text), "%s", text);
	return true;
}

/* `removed` waiters have left the queue before those that are among the first two now. */
static void nudge(const struct run *run, int removed)
{
	for (int i = removed < 2 ? 2 - removed : 0; i < 2 && i < run->queue->waiters; i++)
		publish(run, run->queue->waiter[i].name, "");
}

/* Removes the dead waiters at the head of the queue, and returns their number. */
static int remove_dead(const struct run *run)
{
	struct sim_queue *q = run->queue;
	int removed = 0;

	for (; q->waiters > 0 && count_subscribers(run, q->waiter[0].name) == 0; removed++)
		remove_waiter(q, 0);
	return removed;
}

/* The first waiter that is alive; NULL: none. */
static const char *first(const struct run *run)
{
	nudge(run, remove_dead(run));
	return run->queue->waiters > 0 ? run->queue->waiter[0].name : NULL;
}

static bool is_reader(const char *name)
{
	return name[0] == 'r';
}

static bool wake(struct run *run, const char *id, bool only_readers)
{
	char text[TOKEN_ID_LEN + 8], name[WAITER_ID_LEN + 1];
	struct sim_queue *q = run->queue;
	int woken = 0, removed = 0;

	snprintf(text, sizeof(text), run->slot ? "%.40s#%d" : "%.40s", id, run->slot);
	do {
		removed += remove_dead(run);
		if (q->waiters == 0 || (only_readers && !is_reader(q->waiter[0].name)))
			break;
		snprintf(name, sizeof(name), "%s", q->waiter[0].name);
		if (strcmp(name, arg(run, "waiter")) == 0)
			run->woken_for = run->slot;
		else
			publish(run, name, text);
		remove_waiter(q, 0);
		woken++;
		only_readers = true;
	} while (is_reader(name) && woken < READERS_AT_ONCE);
	nudge(run, removed + woken);
	return woken > 0;
}

static const char *reservation(const struct run *run)
{
	return run->l->reserved.id[0] ? run->l->reserved.id : NULL;
}

/* The clock of the node must not be off: once it is set right, the reservation would last longer.
 */
static void reserve(const struct run *run, const char *id)
{
	int64_t off = node_clock(run->n) - number(run, "wall");

	if (number(run, "quarantine") > 0 && llabs(off) > SKEW_MAX_MS * USEC_MSEC)
		return;
	snprintf(run->l->reserved.id, sizeof(run->l->reserved.id), "%.40s", id);
	run->l->reserved.ends = node_msec(run->n) + number(run, "reserve_ms");
}

static bool pass_on(struct run *run, const char *name, bool is_far)
{
	bool is_free = !run->l->value[0], is_woken;
	char id[TOKEN_ID_LEN + 1]; /* a copy: name may point into the reservation */

	snprintf(id, sizeof(id), "%.40s", name);
	is_woken = wake(run, id, !is_free);
	if (is_free && (is_woken || is_far))
		reserve(run, id);
	else if (is_free)
		run->l->reserved.id[0] = '\0';
	return is_woken || !is_free;
}

static void leave_queue(const struct run *run)
{
	int rank = find_waiter(run->queue, arg(run, "waiter"));

	if (rank < 0)
		return;
	remove_waiter(run->queue, rank);
	if (rank < 2)
		nudge(run, 1);
}

static bool is_for_us(const struct run *run, const char *id)
{
	return strstr(arg(run, "woken_by"), id) != NULL;
}

/* The client must leave the key to a waiter. */
static bool is_for_another(const struct run *run)
{
	const char *id = run->is_group ? NULL : reservation(run), *name;

	if (run->value[0] || has_flag(run, FLAG_OVERRIDE))
		return false;
	if (id)
		return !is_for_us(run, id);
	if (run->held || !has_flag(run, FLAG_FAIR) ||
		(arg(run, "woken_by")[0] && number(run, "waiter_key") == 1))
		return false;
	name = first(run);
	return name && strcmp(name, arg(run, "waiter")) != 0;
}

/* To a refusal of a semaphore: another slot that is free, and the time until the first slot may be.
 */
static void add_other_slot(const struct run *run)
{
	int64_t soonest = -1;

	for (int i = 0; i < (run->slot ? number(run, "slots") : 0); i++) {
		struct run other = *run;
		int64_t left;

		go_to_slot(&other, (run->slot - 1 + i) % run->limit + 1);
		left = pttl(&other);
		if (left == -2) {
			const char *id = reservation(&other);

			if (!id || is_for_us(run, id)) {
				set(run, REPLY_SLOT, other.slot);
				set(run, REPLY_SOONEST, 0);
				return;
			}
			left = other.l->reserved.ends - node_msec(run->n);
		}
		if (left >= 0 && (soonest < 0 || left < soonest))
			soonest = left;
		set(run, REPLY_SOONEST, soonest);
	}
}

/* The first slot that is held, if slots are held with another limit; -1: they are not. */
static int find_other_limit(const struct sim_node *n, int limit)
{
	for (int i = 0; i < (n->limit == limit ? 0 : n->limit); i++)
		if (n->lock[i].value[0] && strcmp(n->lock[i].value, "(list)") != 0)
			return i;
	return -1;
}

bool node_has_other_limit(const struct sim_node *n, int limit)
{
	for (int i = 0; i < SIM_LOCKS && node_msec(n) <= n->limit_ends; i++)
		if (i < n->limit && n->limit != limit && node_has_key(n, i))
			return true;
	return false;
}

static bool conflicts(const struct run *run)
{
	const struct sim_node *n = run->n;
	int held = find_other_limit(n, (int)number(run, "slots"));

	if (held < 0)
		return false;
	set(run, REPLY_LIMIT, n->limit);
	if (run->slot == 0 || !arg(run, "slots")[0])
		return false;
	answer(run, CODE_FOREIGN, n->limit_ends - node_msec(n), n->lock[held].value);
	return true;
}

static void record_limit(const struct run *run, int64_t ms, bool is_new)
{
	struct sim_node *n = run->n;

	if (run->slot == 0)
		return;
	n->limit_ends = n->limit > 0 && n->limit_ends > node_msec(n) + ms ? n->limit_ends
									  : node_msec(n) + ms;
	if ((is_new || n->limit == 0) && arg(run, "slots")[0])
		n->limit = run->limit;
}

static void refuse(const struct run *run)
{
	refusal(run);
	add_other_slot(run);
}

/* The key is free, or readers hold it, but another waiter is first. */
static void refuse_reserved(const struct run *run)
{
	int64_t left = run->is_group      ? pttl(run)
		       : reservation(run) ? run->l->reserved.ends - node_msec(run->n)
					  : 0;

	answer_about(run, CODE_RESERVED, left > 0 ? left : 0, run->is_group ? run->l->value : "");
	add_other_slot(run);
}

/* ---- the restart guard ---- */

/* True if the node is in quarantine and has no vote; the reply says so. */
static bool is_quarantined(const struct run *run)
{
	struct sim_node *n = run->n;
	int64_t given = number(run, "quarantine"), now = node_msec(n);
	int64_t ours = number(run, "wall") / USEC_MSEC;
	int64_t off = now - ours, left;

	set_text(run, REPLY_RUN_ID, n->run_id);
	if (given == 0)
		return false;
	if (off > SKEW_MAX_MS || off < -SKEW_MAX_MS) {
		answer(run, CODE_SKEWED, off > 0 ? off : -off, off > 0 ? "ahead of" : "behind");
		return true;
	}
	if (strcmp(n->mark, n->run_id) != 0) {
		n->mark_over = now;
		n->mark_wall = ours;
		n->mark_given = 0;
		snprintf(n->mark, sizeof(n->mark), "%s", n->run_id);
	}
	if (n->mark_given > 0 && now >= n->mark_over && ours >= n->mark_wall)
		return false;
	n->mark_given = usec_min(n->mark_given, usec_max(given, QUARANTINE_BELIEVED_MS));
	if (n->mark_over > now + n->mark_given)
		n->mark_over = now + n->mark_given;
	if (n->mark_wall > ours + n->mark_given + 60000)
		n->mark_wall = ours + n->mark_given;
	if (given > n->mark_given) {
		n->mark_over += given - n->mark_given;
		n->mark_wall += given - n->mark_given;
		n->mark_given = given;
	}
	left = n->mark_over - now > n->mark_wall - ours ? n->mark_over - now : n->mark_wall - ours;
	answer(run, CODE_QUARANTINE, left, "");
	return true;
}

/* ---- readers' entries ---- */

static int by_token(const void *a, const void *b)
{
	return strcmp(((const struct sim_reader *)a)->token, ((const struct sim_reader *)b)->token);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The key's value that lists the readers; empty, if there are none. */
static void regroup(struct sim_node *n)
{
	struct sim_lock *l = &n->lock[0];
	const char *name[SIM_READERS], *since = "0000000000";
	char names[16 * TOKEN_MAX] = "", note[32] = "";
	int count = 0, revoked = 0;

	l->ends = 0;
	for (int i = 0; i < n->readers; i++)
		if (n->reader[i].ends >= node_msec(n))
			n->reader[count++] = n->reader[i];
	n->readers = count;
	l->value[0] = '\0';
	if (count == 0)
		return;
	qsort(n->reader, (size_t)count, sizeof(n->reader[0]), by_token);
	for (int i = 0; i < count; i++) {
		const char *text = n->reader[i].token + TOKEN_ID_LEN + 1;

		l->ends = l->ends > n->reader[i].ends ? l->ends : n->reader[i].ends;
		if (i == 0 || strncmp(text, since, 10) < 0)
			since = text;
		name[i] = text + 11;
		revoked += is_revoked(n->reader[i].token);
	}
	if (revoked > 0)
		snprintf(note, sizeof(note), ", %d revoked", revoked);
	/* A key must have some time left. */
	l->ends = l->ends > node_msec(n) ? l->ends : node_msec(n) + 1;
	qsort(name, (size_t)count, sizeof(name[0]), by_name);
	for (int i = 0; i < count && count <= 16; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			i ? ", " : "", name[i]);
	memcpy(l->value, TOKEN_READERS, TOKEN_ID_LEN);
	if (count == 1)
		snprintf(l->value + TOKEN_ID_LEN, TOKEN_MAX - TOKEN_ID_LEN,
			":%.10s reader%s %.200s", since, note, names);
	else
		snprintf(l->value + TOKEN_ID_LEN, TOKEN_MAX - TOKEN_ID_LEN,
			":%.10s %d readers%s%s%.200s", since, count, note, count <= 16 ? ": " : "",
			names);
}

static void enlist(const struct run *run, const char *token, int64_t ttl)
{
	struct sim_node *n = run->n;
	int i = 0;

	while (i < n->readers && strcmp(n->reader[i].token, token) != 0)
		i++;
	if (i == SIM_READERS)
		abort();
	if (i == n->readers) {
		memset(&n->reader[i], 0, sizeof(n->reader[i]));
		memcpy(n->reader[i].token, token, strlen(token) + 1);
		n->readers++;
	}
	n->reader[i].ends = node_msec(n) + ttl;
	n->reader[i].kept = world.events;
	regroup(n);
}

static void put(const struct run *run, const char *token, int64_t ttl)
{
	if (run->is_shared) {
		if (!run->is_group)
			run->n->readers = 0;
		enlist(run, token, ttl);
		return;
	}
	memcpy(run->l->value, token, strlen(token) + 1);
	run->l->ends = node_msec(run->n) + ttl;
}

/* Returns how long the key, or the reader's entry, lasts now. */
static int64_t prolong(const struct run *run, int64_t ttl, bool keeps)
{
	int64_t left = run->mine ? run->mine->ends - node_msec(run->n) : pttl(run);

	if (keeps && left > ttl)
		ttl = left;
	if (run->mine)
		enlist(run, run->mine->token, ttl);
	else
		run->l->ends = node_msec(run->n) + ttl;
	return ttl;
}

/* Returns true if the key is gone now. */
static bool remove_key(const struct run *run)
{
	if (run->mine) {
		run->mine->ends = INT64_MIN;
		regroup(run->n);
		return !run->l->value[0];
	}
	run->l->value[0] = '\0';
	if (run->is_group)
		run->n->readers = 0;
	return true;
}

/* ---- the scripts ---- */

/* The fencing number, as the script computes it. */
static int64_t raised(const struct run *run)
{
	int64_t now = node_clock(run->n), wall = number(run, "wall"), next = run->l->fence + 1;
	int64_t span = number(run, "quarantine") * USEC_MSEC / 4;

	if (span == 0 || span > SKEW_MAX_MS * USEC_MSEC)
		span = SKEW_MAX_MS * USEC_MSEC;
	return usec_max(next, usec_min(usec_max(wall, now - span), now + span));
}

static void acquire(struct run *run)
{
	int64_t ttl = number(run, "ttl");
	bool has_no_vote = is_quarantined(run), is_new = !run->value[0];

	report_waiters(run);
	if (run->slot > 0 && !is_ours(run) && conflicts(run))
		return;
	if (is_foreign(run)) {
		refuse(run);
		return;
	}
	if (has_no_vote)
		return;
	if (is_for_another(run)) {
		if (run->is_group || !reservation(run))
			pass_on(run, arg(run, "token"), false);
		if (run->woken_for < 0) {
			refuse_reserved(run);
			return;
		}
	}
	if (!run->value[0] && has_flag(run, FLAG_NUMBER))
		run->l->fence = raised(run);
	if (has_flag(run, FLAG_NUMBER))
		set(run, REPLY_FENCE, run->l->fence);
	if (run->value[0]) {
		prolong(run, ttl, true);
	} else {
		put(run, arg(run, "token"), ttl);
		run->l->reserved.id[0] = '\0';
	}
	leave_queue(run);
	if (run->is_shared)
		wake(run, arg(run, "token"), true);
	record_limit(run, ttl, is_new);
	report_waiters(run);
	answer(run, CODE_YES, ttl, "");
	if (has_flag(run, FLAG_RECORD) && run->n->record.text[0]) {
		set_text(run, REPLY_TEXT, run->n->record.text);
		set(run, REPLY_SOONEST, node_msec(run->n) - run->n->record.start);
	}
}

static void join(struct run *run)
{
	struct sim_node *n = run->n;
	const char *waiter = arg(run, "waiter");
	int64_t ticket = number(run, "ticket");
	struct sim_queue *q = run->queue;
	int own = run->slot;
	bool is_conflict;

	if (!has_waiters(run) && count_subscribers(run, "") > 1)
		publish(run, "", "");
	if (ticket == 0)
		ticket = usec_max(
			node_clock(n), q->waiters ? q->waiter[q->waiters - 1].ticket + 1 : 0);
	else if (ticket == TICKET_FIRST)
		ticket = usec_min(-node_clock(n), q->waiters ? q->waiter[0].ticket - 1 : 0);
	add_waiter(q, waiter, ticket);
	q->ends = node_msec(n) + QUEUE_MS;
	ticket = q->waiter[find_waiter(q, waiter)].ticket;
	set(run, REPLY_TICKET, ticket);
	first(run);
	is_conflict = conflicts(run);
	for (int i = 1; i <= (own ? run->limit : 1) && !is_conflict; i++) {
		go_to_slot(run, own ? i : 0);
		if (run->is_group || (!run->l->value[0] && !reservation(run)))
			pass_on(run, arg(run, "token"), false);
	}
	go_to_slot(run, own);
	if (run->woken_for >= 0)
		add_waiter(q, waiter, ticket);
	set(run, REPLY_RANK, find_waiter(q, waiter) < 0 ? 0 : find_waiter(q, waiter));
	report_waiters(run);
	if (is_conflict)
		return;
	if (run->woken_for >= 0) {
		char id[TOKEN_ID_LEN + 1];

		snprintf(id, sizeof(id), "%.40s", arg(run, "token"));
		set(run, REPLY_SLOT, run->woken_for);
		answer(run, CODE_YES, 0, id);
	} else if (run->value[0] && !(run->is_group && is_reader(waiter))) {
		refuse(run);
	} else {
		refuse_reserved(run);
	}
}

static void look(struct run *run)
{
	bool has_no_vote = is_quarantined(run);

	set(run, REPLY_FENCE, run->l->fence);
	report_waiters(run);
	set(run, REPLY_RANK, usec_min(count_subscribers(run, ""), run->queue->waiters));
	if ((run->slot > 0 || !run->value[0]) && !is_ours(run) && conflicts(run))
		return;
	if (is_foreign(run))
		refuse(run);
	else if (run->value[0])
		answer_about(
			run, CODE_FOREIGN, time_left(run) < 0 ? -1 : time_left(run), run->value);
	else if (has_no_vote)
		return;
	else if (is_for_another(run))
		refuse_reserved(run);
	else
		answer(run, CODE_GONE, 0, "");
}

static void store_number(struct run *run)
{
	int64_t fence = number(run, "number");

	if (is_loss(run))
		return;
	if (run->l->fence > fence) {
		answer(run, CODE_RESERVED, 0, "");
		return;
	}
	run->l->fence = fence;
	set(run, REPLY_FENCE, fence);
	answer(run, CODE_YES, pttl(run), "");
}

static bool may_delete(const struct run *run)
{
	if (is_ours(run))
		return !has_flag(run, FLAG_LEAVES);
	return has_flag(run, FLAG_BREAKS) && run->value[0] &&
	       strcmp(run->value, arg(run, "token")) == 0;
}

/* No waiter is in the queue: it may have been lost. */
static void release(struct run *run, const char *id, bool is_far)
{
	if (!pass_on(run, id, is_far))
		publish(run, "", "");
}

static void hand_off(struct run *run)
{
	const char *token = arg(run, "token"), *old = reservation(run);
	bool gives_up = has_flag(run, FLAG_GIVES_UP), is_far = number(run, "far") > 0;
	bool keeps_id = (gives_up || has_flag(run, FLAG_LEAVES)) && old, is_gone = !run->value[0];
	const char *id = keeps_id ? old : token;
	int64_t left = 0;

	if (arg(run, "record")[0]) {
		run->n->record.start = node_msec(run->n) - number(run, "record_age");
		snprintf(
			run->n->record.text, sizeof(run->n->record.text), "%s", arg(run, "record"));
		set(run, REPLY_RANK, 1);
		world.stored[number(run, "record") % SIM_RUNS] |= 1u << (run->n - world.node);
	}
	set(run, REPLY_PARTIAL, 0);
	leave_queue(run);
	if (may_delete(run)) {
		bool was_reader = run->mine;

		left = time_left(run) < 0 ? -1 : time_left(run);
		remove_key(run);
		release(run, id, is_far && !was_reader);
	} else if (run->is_group) {
		pass_on(run, token, false);
		refusal(run);
		return;
	} else if (run->value[0]) {
		bool reserves = (!arg(run, "flags")[0] || (gives_up && !old)) &&
				(is_far || has_waiters(run));

		if (reserves)
			reserve(run, token);
		if ((reserves || (has_flag(run, FLAG_LEAVES) && old && is_for_us(run, old))) &&
			strncmp(run->value, TOKEN_NINES, KIND_AT) != 0)
			wake(run, id, false);
		refusal(run);
		return;
	} else if (!old || is_for_us(run, old)) {
		release(run, id, is_far);
	}
	answer(run, is_gone ? CODE_GONE : CODE_YES, left, "");
}

static void undo(struct run *run)
{
	const char *id;

	set(run, REPLY_PARTIAL, 0);
	if (is_loss(run))
		return;
	if (remove_key(run) && (id = reservation(run)))
		pass_on(run, id, false);
	answer(run, CODE_YES, 0, "");
}

static void delete (struct run *run)
{
	const char *value = run->l->value, *secret = arg(run, "secret");
	bool is_there = strncmp(value, TOKEN_NINES, KIND_AT) == 0 &&
			(value[KIND_AT] == TOKEN_HOLDER[0] || value[KIND_AT] == TOKEN_REVOKED[0]) &&
			strncmp(value + TOKEN_START_LEN, secret, strlen(secret)) == 0;

	run->resp->is_array = 0;
	run->resp->count = 1;
	set(run, REPLY_CODE, is_there ? CODE_YES : CODE_GONE);
	if (is_there)
		run->l->value[0] = '\0';
}

static void expire(struct run *run)
{
	int64_t ttl = number(run, "ttl");
	char left[TOKEN_MAX];

	set(run, REPLY_PARTIAL, 0);
	if (is_loss(run))
		return;
	answer(run, CODE_YES, ttl, "");
	run->n->ended_revoked = is_revoked(run->value);
	if (run->n->ended_revoked) {
		remove_key(run);
		return;
	}
	snprintf(left, sizeof(left), "%s", run->value);
	memcpy(left + KIND_AT, TOKEN_LEFT, 1);
	record_limit(run, ttl, false);
	if (run->mine) {
		run->mine->ends = INT64_MIN;
		enlist(run, left, ttl);
	} else {
		memcpy(run->l->value, left, strlen(left) + 1);
		run->l->ends = node_msec(run->n) + ttl;
	}
}

static void revoke_token(char token[TOKEN_MAX])
{
	if (strncmp(token, TOKEN_NINES TOKEN_HOLDER, KIND_AT + 1) == 0)
		memcpy(token + KIND_AT, TOKEN_REVOKED, 1);
}

void node_revoke(struct sim_node *n, int i)
{
	if (!node_has_key(n, i) || !is_group(n->lock[i].value)) {
		revoke_token(n->lock[i].value);
		return;
	}
	for (int r = 0; r < n->readers; r++)
		revoke_token(n->reader[r].token);
	regroup(n);
}

static void revoke(struct run *run)
{
	int64_t left = pttl(run);
	bool is_same = strcmp(run->value, arg(run, "token")) == 0;

	if (!run->value[0]) {
		answer(run, CODE_GONE, 0, "");
		return;
	}
	if (left < 0 || (!run->mine && !is_ours(run) && !is_same)) {
		answer(run, CODE_FOREIGN, left, run->value);
		return;
	}
	if (run->mine) {
		revoke_token(run->mine->token);
		regroup(run->n);
	} else {
		/* A key must have some time left. */
		if (left == 0 && !run->is_group && !is_revoked(run->value))
			run->l->ends++;
		node_revoke(run->n, run->slot > 0 ? run->slot - 1 : 0);
	}
	answer(run, CODE_YES, left, "");
}

static void extend(struct run *run)
{
	int64_t ttl = number(run, "ttl");

	report_waiters(run);
	if (is_loss(run))
		return;
	ttl = prolong(run, ttl, has_flag(run, FLAG_KEEPS));
	record_limit(run, ttl, false);
	set_text(run, REPLY_RUN_ID, run->n->run_id);
	answer(run, CODE_YES, ttl, "");
}

/* Expired keys do not exist. */
static void drop_expired(struct sim_node *n)
{
	int64_t now = node_msec(n);

	for (int i = 0; i <= SIM_LOCKS; i++)
		if (now > n->queue[i].ends)
			n->queue[i].waiters = 0;
	if (now > n->limit_ends)
		n->limit = 0;
	for (int i = 0; i < SIM_LOCKS; i++) {
		if (!node_has_key(n, i))
			n->lock[i].value[0] = '\0';
		if (now > n->lock[i].reserved.ends)
			n->lock[i].reserved.id[0] = '\0';
	}
}

void node_serve(struct sim_node *n, const struct request *r, struct resp *resp)
{
	static void (*const scripts[OP_COUNT])(struct run *) = {
		[OP_ACQUIRE] = acquire,
		[OP_REPAIR] = acquire,
		[OP_EXTEND] = extend,
		[OP_UNDO] = undo,
		[OP_HAND_OFF] = hand_off,
		[OP_DELETE] = delete,
		[OP_EXPIRE] = expire,
		[OP_FENCE] = store_number,
		[OP_LOOK] = look,
		[OP_JOIN] = join,
		[OP_REVOKE] = revoke,
	};
	struct run run = {.n = n,
		.r = r,
		.resp = resp,
		.limit = (int)number_arg(r, "slots"),
		.woken_for = -1};

	n->published = 0;
	drop_expired(n);
	go_to_slot(&run, has_slots(r) ? node_slot_of(r) + 1 : 0);
	if (run.slot > 0 && run.limit == 0)
		run.limit = n->limit;
	run.queue = &n->queue[run.slot > 0 ? run.limit : 0];
	read_key(&run);
	begin_reply(&run);
	scripts[r->op](&run);
}
