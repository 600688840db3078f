/* A server, as far as our scripts can tell: one key, an expiry by its own clock, a run_id. What is
 * here is compared with a real server by tests/bats/sim.bats. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t node_clock(const struct sim_node *n)
{
	return world.now + world.now / 1000000 * n->ppm + world.now % 1000000 * n->ppm / 1000000 +
	       n->offset + n->stepped;
}

static int64_t node_msec(const struct sim_node *n)
{
	return node_clock(n) / USEC_MSEC;
}

bool node_has_key(const struct sim_node *n)
{
	return n->value[0] && node_msec(n) <= n->ends;
}

/* Every attempt has a token of its own; the owner is the session's. */
bool node_has_key_of(const struct sim_node *n, const struct session *s)
{
	size_t owner;

	(void)token_since(n->value, strlen(n->value), &owner);
	return node_has_key(n) && strspn(n->value, "0") < TOKEN_ID_LEN &&
	       strlen(n->value) >= owner && strcmp(n->value + owner, s->owner) == 0;
}

usec node_key_ends(const struct sim_node *n)
{
	return world.now + (n->ends * USEC_MSEC - node_clock(n)) * 1000000 / (1000000 + n->ppm);
}

static bool is_there(const struct sim_node *n, const struct sim_mark *mark)
{
	return mark->value[0] && node_msec(n) <= mark->ends;
}

/* PTTL of the key; a key of another program may have no end. */
static int64_t pttl(const struct sim_node *n)
{
	return !n->value[0] ? 0 : n->ends == INT64_MAX ? -1 : n->ends - node_msec(n);
}

static void set_mark(
	const struct sim_node *n, struct sim_mark *mark, const char *value, int64_t ttl)
{
	snprintf(mark->value, sizeof(mark->value), "%.40s", value);
	mark->ends = node_msec(n) + ttl;
}

static void clear(struct sim_mark *mark)
{
	mark->value[0] = '\0';
}

static void put_integer(struct reply_item *item, int64_t integer)
{
	item->type = REPLY_INTEGER;
	item->integer = integer;
}

static void put_text(struct reply_item *item, const char *text)
{
	item->type = REPLY_STRING;
	item->len = strlen(text);
	memcpy(item->text, text, item->len + 1);
}

static void answer(struct reply *reply, int64_t code, int64_t pttl, const char *text,
	const char *id, int64_t marks)
{
	struct reply_item *item = reply->item;

	reply->is_array = 1;
	reply->count = 5;
	put_integer(&item[0], code);
	put_integer(&item[1], pttl);
	put_text(&item[2], text);
	put_text(&item[3], id);
	put_integer(&item[4], marks);
}

static void answer_fence(struct reply *reply, int64_t fence)
{
	reply->count = 6;
	put_integer(&reply->item[5], fence);
}

static enum op op_of(const struct request *r)
{
	static const enum op ops[] = {OP_ACQUIRE, OP_EXTEND, OP_LEAVE, OP_RELEASE, OP_HAND_OVER,
		OP_FENCE, OP_LOOK, OP_JOIN};
	static const char *script[sizeof(ops) / sizeof(ops[0])];
	struct request probe;

	if (strcmp(r->argv[0], "BLPOP") == 0)
		return OP_WAIT;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!script[i]) {
			request_build(&probe,
				&(struct wish){.op = ops[i], .keys = &ONE_KEY(""), .token = ""});
			script[i] = probe.argv[1];
		}
		if (script[i] == r->argv[1])
			return ops[i];
	}
	abort();
}

void node_begin_life(struct sim_node *n, int life)
{
	n->life = life;
	n->sleepers = 0;
	snprintf(n->run_id, sizeof(n->run_id), "%038x%02x", life, (unsigned)(n - world.node));
}

void node_forget_marks(struct sim_node *n)
{
	clear(&n->line);
	clear(&n->turn);
	clear(&n->wake);
}

void node_forget(struct sim_node *n)
{
	n->value[0] = '\0';
	node_forget_marks(n);
	n->fence = 0;
	n->mark[0] = '\0';
}

/* It is the turn of the first who waits, or of nobody here. */
static void pass_turn(struct sim_node *n, const char *token, int64_t ms, bool here)
{
	char id[TOKEN_ID_LEN + 1]; /* it may be the turn's own */

	snprintf(id, sizeof(id), "%.40s", token);
	set_mark(n, &n->turn, id, ms);
	if (here)
		set_mark(n, &n->wake, id, ms);
}

/* Who waits here goes on waiting. Does anybody? */
static bool stays(struct sim_node *n, const struct request *r)
{
	int64_t left = pttl(n), ttl = atoll(r->argv[5]), keep = (left > ttl ? left : ttl) + 1000;

	if (strchr(r->argv[7], 'w') &&
		(!is_there(n, &n->line) || n->line.ends < node_msec(n) + keep))
		set_mark(n, &n->line, "1", keep);
	return is_there(n, &n->line);
}

/* Has it no vote? Then that is the answer. */
static bool is_on_guard(struct sim_node *n, const struct request *r, struct reply *reply)
{
	int64_t given = atoll(r->argv[10]), now = node_msec(n), ours = atoll(r->argv[11]);
	int64_t off = now - ours, left;

	if (given == 0)
		return false;
	if (off > SKEW_MAX_MS || off < -SKEW_MAX_MS) {
		answer(reply, 4, off > 0 ? off : -off, off > 0 ? "ahead of" : "behind", n->run_id,
			0);
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
	answer(reply, 3, left, "", n->run_id, 0);
	return true;
}

static void acquire(struct sim_node *n, const struct request *r, struct reply *reply)
{
	const char *token = r->argv[4], *turn = r->argv[6], *flags = r->argv[7];
	int64_t now = node_msec(n), ttl = atoll(r->argv[5]), left = pttl(n);
	bool awaited = stays(n, r), is_kept = is_there(n, &n->turn);
	bool is_mine = is_kept && strcmp(n->turn.value, turn) == 0;
	char unclaimed[TOKEN_ID_LEN + 1] = "";
	int64_t fence = 0;
	bool has_no_vote = is_on_guard(n, r, reply);

	if (n->value[0] && strcmp(n->value, token) != 0) {
		answer(reply, 0, left, n->value, n->run_id, 0);
		return;
	}
	if (has_no_vote) {
		if (n->value[0])
			put_integer(&reply->item[4], MARK_PARTIAL);
		return;
	}
	if (!n->value[0]) {
		if (is_kept && !is_mine && !is_there(n, &n->wake)) {
			answer(reply, 2, n->turn.ends - now, "", n->run_id, awaited);
			return;
		}
		if (awaited && !is_kept && !turn[0] && strchr(flags, 'f')) {
			pass_turn(n, token, atoll(r->argv[8]), true);
			answer(reply, 2, atoll(r->argv[8]), "", n->run_id, true);
			return;
		}
		if (is_kept && !is_mine) {
			snprintf(unclaimed, sizeof(unclaimed), "%s", n->turn.value);
			clear(&n->line);
			awaited = false;
		}
		if (is_kept) {
			clear(&n->turn);
			clear(&n->wake);
		}
	}
	if (!n->value[0] && strchr(flags, 'n'))
		n->fence = n->fence > 0 ? n->fence + 1 : node_clock(n);
	if (strchr(flags, 'n'))
		fence = n->fence;
	memcpy(n->value, token, strlen(token) + 1);
	n->ends = now + ttl;
	answer(reply, 1, ttl, unclaimed, n->run_id, awaited);
	answer_fence(reply, fence);
}

static void join(struct sim_node *n, const struct request *r, struct reply *reply)
{
	int64_t now = node_msec(n), left = pttl(n);
	int64_t keep = (left > atoll(r->argv[5]) ? left : atoll(r->argv[5])) + 1000;
	bool is_first = !is_there(n, &n->line);

	if (!n->value[0] && is_there(n, &n->wake)) {
		clear(&n->line);
		answer(reply, 0, 0, "", "", false);
		return;
	}
	if (is_first || n->line.ends - now < keep)
		set_mark(n, &n->line, "1", keep);
	if (n->value[0])
		answer(reply, 0, left, n->value, "", true);
	else if (is_first || !is_there(n, &n->turn))
		answer(reply, 1, 0, is_there(n, &n->turn) ? n->turn.value : "", "", true);
	else
		answer(reply, 2, n->turn.ends - now, "", "", true);
}

static void look(struct sim_node *n, const struct request *r, struct reply *reply)
{
	bool awaited = stays(n, r);
	bool has_no_vote = is_on_guard(n, r, reply);

	if (n->value[0])
		answer(reply, 0, pttl(n), n->value, n->run_id, awaited);
	else if (has_no_vote)
		return;
	else if (is_there(n, &n->turn) && strcmp(n->turn.value, r->argv[6]) != 0 &&
		 !is_there(n, &n->wake))
		answer(reply, 2, n->turn.ends - node_msec(n), "", n->run_id, awaited);
	else
		answer(reply, -1, 0, "", n->run_id, awaited);
	answer_fence(reply, n->fence);
}

static void number(struct sim_node *n, const struct request *r, struct reply *reply)
{
	int64_t fence = atoll(r->argv[6]);

	if (!n->value[0]) {
		answer(reply, -1, 0, "", "", false);
	} else if (strcmp(n->value, r->argv[4]) != 0) {
		answer(reply, 0, pttl(n), n->value, "", false);
	} else if (n->fence > fence) {
		answer(reply, 2, 0, "", "", MARK_PARTIAL);
	} else {
		n->fence = fence;
		answer(reply, 1, pttl(n), "", "", false);
		answer_fence(reply, fence);
	}
}

/* Is the key there the one that the request is about? */
static bool is_its(const struct sim_node *n, enum op op, const struct request *r)
{
	const char *token = r->argv[4];
	size_t len = strlen(token);

	if (!n->value[0])
		return false;
	if ((op == OP_EXTEND || op == OP_HAND_OVER) && len == TOKEN_ID_LEN &&
		strncmp(n->value, token, len) == 0 && n->value[len] == ':')
		return true;
	return strcmp(n->value, token) == 0;
}

bool node_serve(struct sim_node *n, const struct request *r, struct reply *reply)
{
	const char *token = r->argv[4];
	int64_t now = node_msec(n), ttl;
	enum op op = op_of(r);
	bool is_ours, awaited = is_there(n, &n->line), is_far;

	if (op == OP_WAIT) {
		if (!is_there(n, &n->wake))
			return false;
		reply->is_array = 1;
		reply->count = 2;
		put_text(&reply->item[0], "");
		put_text(&reply->item[1], n->wake.value);
		clear(&n->wake);
		return true;
	}
	ttl = atoll(r->argv[5]);
	is_far = atoll(r->argv[9]) > 0; /* HAND_OVER: others wait, maybe elsewhere */
	if (!node_has_key(n))
		n->value[0] = '\0';
	is_ours = is_its(n, op, r);
	if (op == OP_ACQUIRE) {
		acquire(n, r, reply);
		return true;
	}
	if (op == OP_JOIN) {
		join(n, r, reply);
		return true;
	}
	if (op == OP_LOOK) {
		look(n, r, reply);
		return true;
	}
	if (op == OP_FENCE) {
		number(n, r, reply);
		return true;
	}
	if (n->value[0] && !is_ours) {
		if (op == OP_HAND_OVER && !r->argv[7][0])
			pass_turn(n, token, ttl, !awaited && !is_far);
		answer(reply, 0, pttl(n), n->value, "", false);
		return true;
	}
	if (op == OP_HAND_OVER) {
		int64_t left = is_ours ? pttl(n) : 0;

		n->value[0] = '\0';
		if (awaited || is_far)
			pass_turn(n,
				strcmp(r->argv[7], "l") == 0 && is_there(n, &n->turn)
					? n->turn.value
					: token,
				ttl, awaited);
		else if (is_ours)
			clear(&n->turn);
		answer(reply, is_ours ? 1 : -1, left, "", "", false);
		return true;
	}
	if (!is_ours) {
		answer(reply, -1, 0, "", "", false);
		return true;
	}
	if (op == OP_RELEASE) {
		n->value[0] = '\0';
		if (!awaited)
			clear(&n->turn);
		else if (is_there(n, &n->turn))
			pass_turn(n, n->turn.value, atoll(r->argv[8]), true);
		answer(reply, 1, 0, "", "", false);
		return true;
	}
	if (op == OP_LEAVE && awaited)
		set_mark(n, &n->wake, n->value, 1000);
	if (op == OP_LEAVE)
		memset(n->value, '0', TOKEN_ID_LEN);
	n->ends = now + ttl;
	answer(reply, 1, ttl, "", op == OP_EXTEND ? n->run_id : "", op == OP_EXTEND && awaited);
	return true;
}
