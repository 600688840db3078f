/* A server, as far as our scripts can tell: one key, an expiry by its own clock, a run_id. What is
 * here is compared with a real server by tests/bats/sim.bats. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t node_clock(const struct sim_node *n)
{
	return world.now + world.now / 1000000 * n->ppm + world.now % 1000000 * n->ppm / 1000000 +
	       n->offset;
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
	return node_has_key(n) && strspn(n->value, "0") < TOKEN_ID_LEN &&
	       strcmp(n->value + TOKEN_ID_LEN + 1, s->owner) == 0;
}

usec node_key_ends(const struct sim_node *n)
{
	return world.now + (n->ends * USEC_MSEC - node_clock(n)) * 1000000 / (1000000 + n->ppm);
}

static void answer(
	struct reply *reply, int64_t code, int64_t pttl, const char *text, const char *id)
{
	struct reply_item *item = reply->item;

	reply->is_array = 1;
	reply->count = 4;
	item[0].type = item[1].type = REPLY_INTEGER;
	item[0].integer = code;
	item[1].integer = pttl;
	item[2].type = item[3].type = REPLY_STRING;
	item[2].len = strlen(text);
	memcpy(item[2].text, text, item[2].len + 1);
	item[3].len = strlen(id);
	memcpy(item[3].text, id, item[3].len + 1);
}

static enum op op_of(const struct request *r)
{
	static const enum op ops[] = {OP_ACQUIRE, OP_EXTEND, OP_LEAVE, OP_RELEASE};
	static const char *script[4];
	struct request probe;

	for (int i = 0; i < 4; i++) {
		if (!script[i]) {
			request_build(&probe, ops[i], "", "", 0);
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
	snprintf(n->run_id, sizeof(n->run_id), "%038x%02x", life, (unsigned)(n - world.node));
}

void node_serve(struct sim_node *n, const struct request *r, struct reply *reply)
{
	const char *token = r->argv[4];
	int64_t now = node_msec(n), ttl = atoll(r->argv[5]);
	enum op op = op_of(r);
	bool is_ours;

	if (!node_has_key(n))
		n->value[0] = '\0';
	is_ours = strcmp(n->value, token) == 0;
	if (n->value[0] && !is_ours) {
		answer(reply, 0, n->ends - now, n->value, op == OP_ACQUIRE ? n->run_id : "");
		return;
	}
	if (op != OP_ACQUIRE && !is_ours) {
		answer(reply, -1, 0, "", "");
		return;
	}
	switch (op) {
	case OP_ACQUIRE:
	case OP_HEAL:
	case OP_EXTEND:
		memcpy(n->value, token, strlen(token) + 1);
		n->ends = now + ttl;
		answer(reply, 1, ttl, "", n->run_id);
		break;
	case OP_LEAVE:
		memset(n->value, '0', TOKEN_ID_LEN);
		n->ends = now + ttl;
		answer(reply, 1, ttl, "", "");
		break;
	case OP_RELEASE:
		n->value[0] = '\0';
		answer(reply, 1, 0, "", "");
		break;
	}
}
