/* A server, as far as redlock's scripts can tell: one key, or the slots of one, an expiry by its
 * own clock, a run_id. tests/bats/sim.bats compares it with a real server. */
#include "sim/sim.h"

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
		if (strcmp(n->reader[i].token, token) == 0)
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

/* The time by the node's clock at which this token's key, or its reader entry, ends there. */
static int64_t token_ends(const struct sim_node *n, int i, const char *token)
{
	if (!node_has_key(n, i))
		return INT64_MIN;
	for (int r = 0; r < n->readers && is_group(n->lock[i].value); r++)
		if (strcmp(n->reader[r].token, token) == 0)
			return n->reader[r].ends;
	return strcmp(n->lock[i].value, token) == 0 ? n->lock[i].ends : INT64_MIN;
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

usec node_key_ends(struct sim_node *n, int i, const struct session *s)
{
	return true_end(
		n, is_group(n->lock[i].value) ? node_reader_of(n, s)->ends : n->lock[i].ends);
}

const char *node_arg(const struct request *r, const char *name)
{
	/* As the first lines of the scripts name them. */
	static const char *const names[OP_COUNT] = {
		[OP_ACQUIRE] = "token ttl woken_by flags reserve_ms waiter_key quarantine wall "
			       "slots held_ids",
		[OP_REPAIR] = "token ttl woken_by flags reserve_ms waiter_key quarantine wall "
			      "slots held_ids",
		[OP_EXTEND] = "token ttl flags slots",
		[OP_UNDO] = "token reserve_ms quarantine wall slots",
		[OP_HAND_OFF] = "token reserve_ms woken_by flags far quarantine wall slots",
		[OP_EXPIRE] = "token ttl slots",
		[OP_FENCE] = "token number",
		[OP_LOOK] = "token ttl woken_by flags waiter_key quarantine wall slots held_ids",
		[OP_JOIN] = "token ttl flags slots held_ids",
	};
	const char *at = names[r->op];
	size_t len = strlen(name);

	for (int i = 3 + r->keys; *at; i++) {
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

static bool has_flag(const struct request *r, const char *flag)
{
	return strstr(node_arg(r, "flags"), flag) != NULL;
}

static bool has_slots(const struct request *r)
{
	return strchr(r->argv[3], '#') != NULL;
}

int node_slot_of(const struct request *r)
{
	return has_slots(r) ? atoi(strchr(r->argv[3], '#') + 1) - 1 : 0;
}

/* The object of a request. */
struct place {
	struct sim_node *n;
	struct sim_lock *l;
	int own, slots; /* of a semaphore: its slot, from 1 on; else 0 */
	/* From the view of the client that asks: */
	const char *value; /* "": no key */
	bool is_group; /* the key is held by readers */
	struct sim_reader *mine, *held; /* the asker's entry, and its outer lock's */
	bool is_shared; /* the asker requests a shared lock */
	bool is_settled; /* the wake-up in the list may be taken when the script has ended */
};

static struct place place(struct sim_node *n, int own, int slots)
{
	struct sim_lock *l = &n->lock[own > 0 ? own - 1 : 0];

	return (struct place){.n = n, .l = l, .own = own, .slots = slots, .value = l->value};
}

/* The common start of redlock's scripts. */
static void translate(struct place *p, const struct request *r)
{
	const char *token = node_arg(r, "token"), *ids = node_arg(r, "held_ids");
	size_t len = strlen(token);

	p->is_shared = has_flag(r, FLAG_SHARED);
	if (!is_group(p->value))
		return;
	p->value = p->is_shared ? "" : p->l->value;
	p->is_group = !p->is_shared;
	for (int i = 0; i < p->n->readers; i++) {
		struct sim_reader *reader = &p->n->reader[i];
		char id[TOKEN_ID_LEN + 1];

		if (node_msec(p->n) > reader->ends)
			continue;
		p->is_group = true;
		snprintf(id, sizeof(id), "%.40s", reader->token);
		if (strcmp(reader->token, token) == 0 ||
			(len == TOKEN_ID_LEN && strncmp(reader->token, token, len) == 0 &&
				reader->token[len] == ':'))
			p->mine = reader;
		else if (strstr(ids, id))
			p->held = reader;
	}
	if (p->mine)
		p->value = p->mine->token;
	else if (!p->is_shared && p->held)
		p->value = p->held->token;
}

/* A reader could join. */
static bool has_room(const struct place *p)
{
	return p->is_group && !p->value[0];
}

static bool is_there(const struct sim_node *n, const struct sim_mark *mark)
{
	return mark->value[0] && node_msec(n) <= mark->ends;
}

/* PTTL of the key; a key of another program may have no expiry. */
static int64_t pttl(const struct place *p)
{
	return !p->l->value[0] ? 0 : p->l->ends == INT64_MAX ? -1 : p->l->ends - node_msec(p->n);
}

/* The time left of the reader that asks, else of the key. */
static int64_t left_of(const struct place *p)
{
	return p->mine ? p->mine->ends - node_msec(p->n) : pttl(p);
}

static void set_mark(
	const struct sim_node *n, struct sim_mark *mark, const char *value, int64_t ttl)
{
	snprintf(mark->value, sizeof(mark->value), "%.47s", value);
	mark->ends = node_msec(n) + ttl;
}

static void clear(struct sim_mark *mark)
{
	mark->value[0] = '\0';
}

static void put_integer(struct resp *resp, int i, int64_t integer)
{
	resp->item[i - 1].type = RESP_INTEGER;
	resp->item[i - 1].integer = integer;
}

static void put_text(struct resp *resp, int i, const char *text)
{
	struct resp_item *item = &resp->item[i - 1];

	item->type = RESP_STRING;
	item->integer = 0;
	item->len = strlen(text);
	memcpy(item->text, text, item->len + 1);
}

/* The reply of a script that knows nothing else yet. */
static void begin_reply(struct resp *resp)
{
	resp->is_array = 1;
	resp->count = REPLY_ITEMS;
	for (int i = 1; i <= REPLY_ITEMS; i++)
		put_integer(resp, i, i == REPLY_KEY);
	put_text(resp, REPLY_RUN_ID, "");
}

static void respond(struct resp *resp, int64_t code, int64_t pttl, const char *text)
{
	put_integer(resp, REPLY_CODE, code);
	put_integer(resp, REPLY_PTTL, pttl);
	put_text(resp, REPLY_TEXT, text);
	put_integer(resp, REPLY_SOONEST, pttl);
}

/* About a key that readers may hold. */
static void respond_about(
	const struct place *p, struct resp *resp, int64_t code, int64_t pttl, const char *text)
{
	respond(resp, code, pttl, text);
	put_integer(resp, REPLY_SHARED, p->is_group);
}

void node_begin_life(struct sim_node *n, int life)
{
	n->life = life;
	n->sleepers = 0;
	snprintf(n->run_id, sizeof(n->run_id), "%038x%02x", life, (unsigned)(n - world.node));
}

void node_forget_marks(struct sim_node *n)
{
	clear(&n->queue);
	clear(&n->promoted);
	clear(&n->promoted_wake);
	for (int i = 0; i < SIM_LOCKS; i++)
		clear(&n->lock[i].reserved);
	n->wakes = 0;
}

void node_forget(struct sim_node *n)
{
	node_forget_marks(n);
	memset(n->lock, 0, sizeof(n->lock));
	n->readers = 0;
	n->mark[0] = '\0';
}

/* ---- the list of wake-ups ---- */

static void drop_expired(struct sim_node *n)
{
	if (n->wakes > 0 && !is_there(n, &n->wake[0]))
		n->wakes = 0;
}

static void take_element(struct sim_node *n, int i)
{
	memmove(n->wake + i, n->wake + i + 1, (size_t)(--n->wakes - i) * sizeof(n->wake[0]));
}

/* The index of the slot's wake-up; -1: none. */
static int find_element(const struct place *p)
{
	char mark[8] = "";

	drop_expired(p->n);
	if (p->own)
		snprintf(mark, sizeof(mark), "#%d", p->own);
	for (int i = 0; i < p->n->wakes; i++)
		if (!p->own || strcmp(p->n->wake[i].value + TOKEN_ID_LEN, mark) == 0)
			return i;
	return -1;
}

static bool has_wake_up(const struct place *p)
{
	return find_element(p) >= 0;
}

static bool is_unclaimed(const struct place *p)
{
	return !p->is_settled && has_wake_up(p);
}

static void drop(const struct place *p)
{
	if (!p->own)
		clear(&p->n->promoted_wake);
	if (has_wake_up(p))
		take_element(p->n, find_element(p));
}

static void push(const struct place *p, const char *token, int64_t ms)
{
	struct sim_node *n = p->n;
	struct sim_mark *wake;
	char element[TOKEN_ID_LEN + 8];
	int64_t ends = node_msec(n) + ms;

	snprintf(element, sizeof(element), "%.40s", token);
	if (p->own)
		snprintf(element, sizeof(element), "%.40s#%d", token, p->own);
	drop(p);
	if (!p->own && is_there(n, &n->promoted)) {
		clear(&n->promoted);
		set_mark(n, &n->promoted_wake, element, ms);
		return;
	}
	if (n->wakes > 0 && n->wake[0].ends > ends)
		ends = n->wake[0].ends;
	wake = &n->wake[n->wakes++];
	snprintf(wake->value, sizeof(wake->value), "%s", element);
	for (int i = 0; i < n->wakes; i++)
		n->wake[i].ends = ends;
}

/* Reserve the key for the first waiter, or for a waiter on another node. */
static void pass_reservation(
	const struct place *p, const struct request *r, const char *token, int64_t ms, bool here)
{
	int64_t off = node_clock(p->n) - number_arg(r, "wall");
	bool is_skewed = number_arg(r, "quarantine") > 0 && llabs(off) > SKEW_MAX_MS * USEC_MSEC;
	char id[TOKEN_ID_LEN + 1]; /* a copy: token may point into the reservation */

	snprintf(id, sizeof(id), "%.40s", token);
	if (!is_skewed)
		set_mark(p->n, &p->l->reserved, id, ms);
	if (here)
		push(p, id, ms);
}

/* Among readers: the first waiter may join, too. */
static void wake_next_reader(const struct place *p, const struct request *r)
{
	const char *woken_by = node_arg(r, "woken_by");
	struct sim_node *n = p->n;

	if (is_there(n, &n->queue) && n->queue.ends > node_msec(n) && !is_there(n, &n->promoted))
		push(p, woken_by[0] ? woken_by : node_arg(r, "token"),
			n->queue.ends - node_msec(n));
}

/* The promoted writer is gone: give its wake-up to the queue. */
static void settle(struct place *p)
{
	struct sim_node *n = p->n;

	drop_expired(n);
	if (p->own || !is_there(n, &n->promoted_wake) || n->promoted_wake.ends <= node_msec(n) ||
		n->wakes > 0)
		return;
	n->wake[n->wakes++] = n->promoted_wake;
	clear(&n->promoted_wake);
	p->is_settled = true;
}

/* Of a semaphore, another slot that is free, and the time when the first slot may be. */
static void put_elsewhere(const struct place *p, const struct request *r, struct resp *resp)
{
	int64_t soonest = -1, free_slot = 0;

	if (!p->own)
		return;
	for (int i = 0; i < p->slots && !free_slot; i++) {
		const struct place other = place(p->n, (p->own - 1 + i) % p->slots + 1, p->slots);
		int64_t left = pttl(&other);

		if (!other.l->value[0]) {
			if (!is_there(p->n, &other.l->reserved) ||
				strcmp(other.l->reserved.value, node_arg(r, "woken_by")) == 0 ||
				has_wake_up(&other)) {
				free_slot = other.own;
				soonest = 0;
				break;
			}
			left = other.l->reserved.ends - node_msec(p->n);
		}
		if (left >= 0 && (soonest < 0 || left < soonest))
			soonest = left;
	}
	put_integer(resp, REPLY_SLOT, free_slot);
	put_integer(resp, REPLY_SOONEST, soonest);
}

/* Record that this client goes on waiting. True if the queue has any waiter. */
static bool stays(const struct place *p, const struct request *r)
{
	struct sim_node *n = p->n;
	int64_t left = p->value[0] || p->is_group ? pttl(p) : 0;
	int64_t ttl = number_arg(r, "ttl"), keep = (left > ttl ? left : ttl) + 1000;

	if (has_flag(r, FLAG_WAITS) &&
		(!is_there(n, &n->queue) || n->queue.ends < node_msec(n) + keep))
		set_mark(n, &n->queue, "1", keep);
	if (has_flag(r, FLAG_WAITS) && has_flag(r, FLAG_PROMOTED))
		set_mark(n, &n->promoted, "1", keep);
	return is_there(n, &n->queue);
}

/* True if the node is in quarantine and has no vote; `resp` says so. */
static bool is_quarantined(struct sim_node *n, const struct request *r, struct resp *resp)
{
	int64_t given = number_arg(r, "quarantine"), now = node_msec(n);
	int64_t ours = number_arg(r, "wall") / USEC_MSEC;
	int64_t off = now - ours, left;

	put_text(resp, REPLY_RUN_ID, n->run_id);
	if (given == 0)
		return false;
	if (off > SKEW_MAX_MS || off < -SKEW_MAX_MS) {
		respond(resp, CODE_SKEWED, off > 0 ? off : -off, off > 0 ? "ahead of" : "behind");
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
	respond(resp, CODE_QUARANTINE, left, "");
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
	char names[16 * TOKEN_MAX] = "";
	int count = 0;

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
	}
	/* A key must have some time left. */
	l->ends = l->ends > node_msec(n) ? l->ends : node_msec(n) + 1;
	qsort(name, (size_t)count, sizeof(name[0]), by_name);
	for (int i = 0; i < count && count <= 16; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			i ? ", " : "", name[i]);
	memcpy(l->value, TOKEN_READERS, TOKEN_ID_LEN);
	if (count == 1)
		snprintf(l->value + TOKEN_ID_LEN, TOKEN_MAX - TOKEN_ID_LEN, ":%.10s reader %.200s",
			since, names);
	else
		snprintf(l->value + TOKEN_ID_LEN, TOKEN_MAX - TOKEN_ID_LEN,
			":%.10s %d readers%s%.200s", since, count, count <= 16 ? ": " : "", names);
}

static void enlist(const struct place *p, const char *token, int64_t ttl)
{
	struct sim_node *n = p->n;
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

static void put(const struct place *p, const char *token, int64_t ttl)
{
	if (p->is_shared) {
		if (!p->is_group)
			p->n->readers = 0;
		enlist(p, token, ttl);
		return;
	}
	memcpy(p->l->value, token, strlen(token) + 1);
	p->l->ends = node_msec(p->n) + ttl;
}

static void prolong(const struct place *p, int64_t ttl)
{
	if (p->mine)
		enlist(p, p->mine->token, ttl);
	else
		p->l->ends = node_msec(p->n) + ttl;
}

/* Returns true if the key is gone now. */
static bool remove_key(const struct place *p)
{
	if (p->mine) {
		p->mine->ends = INT64_MIN;
		regroup(p->n);
		return !p->l->value[0];
	}
	p->l->value[0] = '\0';
	if (p->is_group)
		p->n->readers = 0;
	return true;
}

/* ---- the scripts ---- */

/* The client was woken, or runs within one of the holders. */
static bool may_pass_queue(const struct place *p, const struct request *r)
{
	return node_arg(r, "woken_by")[0] || p->held;
}

/* The client queues after the waiters. */
static bool is_late(const struct place *p, const struct request *r)
{
	drop_expired(p->n);
	return has_room(p) && is_there(p->n, &p->n->queue) && !may_pass_queue(p, r) &&
	       (p->is_settled || p->n->wakes == 0);
}

/* The fencing number, as the script computes it. */
static int64_t raised(const struct place *p, const struct request *r)
{
	int64_t now = node_clock(p->n), wall = number_arg(r, "wall"), next = p->l->fence + 1;
	int64_t span = number_arg(r, "quarantine") * USEC_MSEC / 4;

	if (span == 0 || span > SKEW_MAX_MS * USEC_MSEC)
		span = SKEW_MAX_MS * USEC_MSEC;
	return usec_max(next, usec_min(usec_max(wall, now - span), now + span));
}

static void acquire(struct place *p, const struct request *r, struct resp *resp)
{
	const char *token = node_arg(r, "token"), *woken_by = node_arg(r, "woken_by");
	struct sim_node *n = p->n;
	struct sim_lock *l = p->l;
	int64_t now = node_msec(n), ttl = number_arg(r, "ttl"), left = pttl(p);
	bool has_waiters = stays(p, r), is_kept = is_there(n, &l->reserved);
	bool is_mine = is_kept && strcmp(l->reserved.value, woken_by) == 0;
	char unclaimed[TOKEN_ID_LEN + 1] = "";
	int64_t fence = 0;
	bool has_no_vote = is_quarantined(n, r, resp);

	if (p->value[0] && strcmp(p->value, token) != 0) {
		respond_about(p, resp, CODE_FOREIGN, left, p->value);
		put_elsewhere(p, r, resp);
		return;
	}
	if (has_no_vote)
		return;
	settle(p);
	if (has_flag(r, FLAG_FAIR) && is_late(p, r)) {
		wake_next_reader(p, r);
		put_integer(resp, REPLY_WAITERS, 1);
		respond_about(p, resp, CODE_RESERVED, left, l->value);
		return;
	}
	if (has_flag(r, FLAG_FAIR) && has_waiters && has_room(p) && !may_pass_queue(p, r)) {
		clear(&n->queue);
		drop(p);
		has_waiters = false;
	}
	put_integer(resp, REPLY_WAITERS, has_waiters);
	if (!p->value[0] && !p->is_group) {
		if (is_kept && !is_mine && !is_unclaimed(p)) {
			respond(resp, CODE_RESERVED, l->reserved.ends - now, "");
			put_elsewhere(p, r, resp);
			return;
		}
		if (has_waiters && !is_kept && !woken_by[0] && has_flag(r, FLAG_FAIR)) {
			pass_reservation(p, r, token, number_arg(r, "reserve_ms"), true);
			respond(resp, CODE_RESERVED, number_arg(r, "reserve_ms"), "");
			return;
		}
		if (is_kept && !is_mine) {
			snprintf(unclaimed, sizeof(unclaimed), "%.40s", l->reserved.value);
			clear(&n->queue);
			put_integer(resp, REPLY_WAITERS, false);
		}
		if (is_kept) {
			clear(&l->reserved);
			drop(p);
		}
	}
	if (!p->value[0] && has_flag(r, FLAG_NUMBER))
		l->fence = raised(p, r);
	if (has_flag(r, FLAG_NUMBER))
		fence = l->fence;
	if (!p->value[0] && !p->is_shared && (woken_by[0] || has_flag(r, FLAG_WAITS)))
		clear(&n->promoted);
	if (p->value[0])
		prolong(p, ttl);
	else
		put(p, token, ttl);
	put_integer(resp, REPLY_FENCE, fence);
	respond(resp, CODE_YES, ttl, unclaimed);
}

/* Of a semaphore: true if the pop finds a wake-up. Else a free slot, or a reserved one, from 1 on;
 * and the time when the first of them ends. */
static bool look_at_slots(const struct place *p, int *free_slot, int *kept, int64_t *left)
{
	*free_slot = *kept = 0;
	*left = -1;
	for (int i = 0; i < p->slots; i++) {
		const struct place one = place(p->n, (p->own - 1 + i) % p->slots + 1, p->slots);
		int64_t ms = pttl(&one);

		if (!one.l->value[0]) {
			ms = -1;
			if (!is_there(p->n, &one.l->reserved)) {
				*free_slot = *free_slot ? *free_slot : one.own;
			} else if (has_wake_up(&one)) {
				return true;
			} else {
				*kept = *kept ? *kept : one.own;
				ms = one.l->reserved.ends - node_msec(p->n);
			}
		}
		if (ms >= 0 && (*left < 0 || ms < *left))
			*left = ms;
	}
	return false;
}

static void join(struct place *p, const struct request *r, struct resp *resp)
{
	struct sim_node *n = p->n;
	const struct sim_lock *l = p->l;
	int64_t now = node_msec(n), left = p->value[0] || p->is_group ? pttl(p) : 0, keep;
	int free_slot = 0, kept = 0;
	bool is_first = !is_there(n, &n->queue);

	settle(p);
	if (p->own ? look_at_slots(p, &free_slot, &kept, &left) : !p->value[0] && is_unclaimed(p)) {
		clear(&n->queue);
		respond(resp, CODE_FOREIGN, 0, "");
		return;
	}
	keep = (left > number_arg(r, "ttl") ? left : number_arg(r, "ttl")) + 1000;
	if (is_first || n->queue.ends - now < keep)
		set_mark(n, &n->queue, "1", keep);
	if (p->is_group && has_flag(r, FLAG_PROMOTED))
		set_mark(n, &n->promoted, "1", keep);
	put_integer(resp, REPLY_WAITERS, 1);
	if (free_slot || (kept && is_first)) {
		respond(resp, CODE_YES, 0, free_slot ? "" : n->lock[kept - 1].reserved.value);
		put_integer(resp, REPLY_SLOT, free_slot ? free_slot : kept);
	} else if (p->value[0]) {
		respond_about(p, resp, CODE_FOREIGN, left, p->value);
	} else if (has_room(p) && is_first) {
		respond(resp, CODE_YES, 0, "");
	} else if (has_room(p)) {
		respond_about(p, resp, CODE_RESERVED, left, l->value);
	} else if (p->own) {
		respond(resp, CODE_RESERVED, left, "");
	} else if (is_first || !is_there(n, &l->reserved)) {
		respond(resp, CODE_YES, 0, is_there(n, &l->reserved) ? l->reserved.value : "");
	} else {
		respond(resp, CODE_RESERVED, l->reserved.ends - now, "");
	}
}

/* True if the key there is the one that the request names. */
static bool is_its(const struct place *p, enum op op, const struct request *r)
{
	const char *token = node_arg(r, "token");
	size_t len = strlen(token);

	if (!p->value[0])
		return false;
	if ((op == OP_EXTEND || op == OP_HAND_OFF || op == OP_LOOK) && len == TOKEN_ID_LEN &&
		strncmp(p->value, token, len) == 0 && p->value[len] == ':')
		return true;
	return strcmp(p->value, token) == 0;
}

static void look(const struct place *p, const struct request *r, struct resp *resp)
{
	struct sim_node *n = p->n;
	const struct sim_lock *l = p->l;
	bool has_waiters = stays(p, r);
	bool has_no_vote = is_quarantined(n, r, resp), is_refused = true;

	put_integer(resp, REPLY_WAITERS, has_waiters);
	put_integer(resp, REPLY_FENCE, l->fence);
	if (p->value[0])
		respond_about(p, resp, CODE_FOREIGN, left_of(p), p->value);
	else if (has_no_vote)
		return;
	else if (is_late(p, r))
		respond_about(p, resp, CODE_RESERVED, pttl(p), l->value);
	else if (!p->is_group && is_there(n, &l->reserved) &&
		 strcmp(l->reserved.value, node_arg(r, "woken_by")) != 0 && !has_wake_up(p))
		respond(resp, CODE_RESERVED, l->reserved.ends - node_msec(n), "");
	else {
		respond(resp, CODE_GONE, 0, "");
		is_refused = false;
	}
	if (is_refused && !is_its(p, OP_LOOK, r))
		put_elsewhere(p, r, resp);
}

static void number(const struct place *p, const struct request *r, struct resp *resp)
{
	struct sim_lock *l = p->l;
	int64_t fence = number_arg(r, "number");

	if (!p->value[0]) {
		respond_about(p, resp, CODE_GONE, 0, "");
	} else if (strcmp(p->value, node_arg(r, "token")) != 0) {
		respond_about(p, resp, CODE_FOREIGN, pttl(p), p->value);
	} else if (l->fence > fence) {
		respond(resp, CODE_RESERVED, 0, "");
	} else {
		l->fence = fence;
		respond(resp, CODE_YES, pttl(p), "");
		put_integer(resp, REPLY_FENCE, fence);
	}
}

/* From the waiter connection of a semaphore: pass on the reservation of one slot, or of every slot
 * whose wake-up was taken. */
static void leave_queue(const struct place *p, const struct request *r, bool has_waiters)
{
	for (int i = 1; i <= p->slots && has_waiters; i++) {
		const struct place one = place(p->n, i, p->slots);

		if ((p->own < 1 || p->own == i) && !one.l->value[0] && !has_wake_up(&one))
			pass_reservation(&one, r,
				is_there(p->n, &one.l->reserved) ? one.l->reserved.value
								 : node_arg(r, "token"),
				number_arg(r, "reserve_ms"), true);
	}
}

/* Serve the blocked pop of a promoted writer or of a waiter in the queue. */
static bool pop(struct sim_node *n, bool is_promoted, struct resp *resp)
{
	bool is_for_promoted = is_promoted && is_there(n, &n->promoted_wake);

	if (!is_for_promoted && n->wakes == 0)
		return false;
	resp->is_array = 1;
	resp->count = 2;
	put_text(resp, 1, "");
	put_text(resp, 2, is_for_promoted ? n->promoted_wake.value : n->wake[0].value);
	if (is_for_promoted)
		clear(&n->promoted_wake);
	else
		take_element(n, 0);
	return true;
}

static void refuse(const struct place *p, struct resp *resp)
{
	respond_about(p, resp, CODE_FOREIGN, pttl(p), p->value);
}

/* Called when the key is this client's alone, or does not exist. */
static void give_up_reservation(
	struct place *p, const struct request *r, bool is_ours, bool has_waiters)
{
	struct sim_lock *l = p->l;
	bool gives_up = has_flag(r, FLAG_GIVES_UP), is_kept = is_there(p->n, &l->reserved);
	bool is_far = number_arg(r, "far") > 0; /* others wait, maybe at other nodes */

	if (is_ours)
		l->value[0] = '\0';
	if (gives_up && is_kept && !is_ours)
		return;
	if (has_waiters || is_far)
		pass_reservation(p, r,
			is_kept && (gives_up || has_flag(r, FLAG_LEAVES)) ? l->reserved.value
									  : node_arg(r, "token"),
			number_arg(r, "reserve_ms"), has_waiters);
	else if (is_ours)
		clear(&l->reserved);
}

static void hand_off(struct place *p, const struct request *r, struct resp *resp)
{
	struct sim_lock *l = p->l;
	const char *token = node_arg(r, "token");
	int64_t ttl = number_arg(r, "reserve_ms"), left;
	bool has_waiters = is_there(p->n, &p->n->queue), is_ours = is_its(p, OP_HAND_OFF, r);

	if (has_slots(r) && has_flag(r, FLAG_LEAVES)) {
		leave_queue(p, r, has_waiters);
		respond(resp, CODE_YES, 0, "");
		return;
	}
	if (has_flag(r, FLAG_PROMOTED))
		clear(&p->n->promoted);
	if (has_flag(r, FLAG_LEAVES) && p->is_group) {
		wake_next_reader(p, r);
		respond(resp, CODE_YES, 0, "");
	} else if (p->mine) {
		left = left_of(p);
		if (remove_key(p) && has_waiters)
			pass_reservation(p, r, token, ttl, true);
		else if (!l->value[0])
			clear(&l->reserved);
		respond(resp, CODE_YES, left, "");
	} else if (p->value[0] && !is_ours) {
		if (!node_arg(r, "flags")[0] ||
			(has_flag(r, FLAG_GIVES_UP) && !is_there(p->n, &l->reserved)))
			pass_reservation(
				p, r, token, ttl, !has_waiters && number_arg(r, "far") <= 0);
		refuse(p, resp);
	} else {
		left = is_ours ? pttl(p) : 0;
		give_up_reservation(p, r, is_ours, has_waiters);
		respond(resp, is_ours ? CODE_YES : CODE_GONE, left, "");
	}
}

static void release(struct place *p, const struct request *r, struct resp *resp)
{
	struct sim_lock *l = p->l;
	bool has_waiters = is_there(p->n, &p->n->queue);

	if (!remove_key(p))
		;
	else if (!has_waiters)
		clear(&l->reserved);
	else if (is_there(p->n, &l->reserved))
		pass_reservation(p, r, l->reserved.value, number_arg(r, "reserve_ms"), true);
	respond(resp, CODE_YES, 0, "");
}

static void leave(struct place *p, const struct request *r, struct resp *resp)
{
	struct sim_node *n = p->n;
	int64_t ttl = number_arg(r, "ttl");
	char left[TOKEN_MAX];

	snprintf(left, sizeof(left), "%s", p->value);
	memcpy(left + KIND_AT, TOKEN_LEFT, 1);
	if (p->mine) {
		p->mine->ends = INT64_MIN;
		enlist(p, left, ttl);
	} else {
		memcpy(p->l->value, left, strlen(left) + 1);
		p->l->ends = node_msec(n) + ttl;
	}
	if (is_there(n, &n->queue))
		push(p, node_arg(r, "token"), 1000);
	respond(resp, CODE_YES, ttl, "");
}

static void extend(struct place *p, const struct request *r, struct resp *resp)
{
	int64_t ttl = number_arg(r, "ttl");

	prolong(p, ttl);
	put_text(resp, REPLY_RUN_ID, p->n->run_id);
	put_integer(resp, REPLY_WAITERS, is_there(p->n, &p->n->queue));
	respond(resp, CODE_YES, ttl, "");
}

static bool releases(enum op op)
{
	return op == OP_UNDO || op == OP_HAND_OFF || op == OP_EXPIRE;
}

bool node_serve(struct sim_node *n, const struct request *r, struct resp *resp)
{
	enum op op = r->op;
	struct place p;

	drop_expired(n);
	if (op == OP_WAIT)
		return pop(n, r->argc > 3, resp);
	for (int i = 0; i < SIM_LOCKS; i++)
		if (!node_has_key(n, i))
			n->lock[i].value[0] = '\0';
	p = has_slots(r) ? place(n, node_slot_of(r) + 1, (int)number_arg(r, "slots"))
			 : place(n, 0, 0);
	translate(&p, r);
	begin_reply(resp);
	put_integer(resp, REPLY_PARTIAL, !releases(op) && is_its(&p, op, r));
	if (op == OP_ACQUIRE || op == OP_REPAIR)
		acquire(&p, r, resp);
	else if (op == OP_JOIN)
		join(&p, r, resp);
	else if (op == OP_LOOK)
		look(&p, r, resp);
	else if (op == OP_FENCE)
		number(&p, r, resp);
	else if (op == OP_HAND_OFF)
		hand_off(&p, r, resp);
	else if (p.value[0] && !is_its(&p, op, r))
		refuse(&p, resp);
	else if (!p.value[0])
		respond_about(&p, resp, CODE_GONE, 0, "");
	else if (op == OP_UNDO)
		release(&p, r, resp);
	else if (op == OP_EXPIRE)
		leave(&p, r, resp);
	else
		extend(&p, r, resp);
	return true;
}
