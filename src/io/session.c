#include "io/session.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *token_for(struct session *s, const struct action *a)
{
	char *sent = s->sent_token[a->node];

	if (a->target == TARGET_WAITER) /* the waiter connection */
		return s->token;
	/* Release with the token that this node received: for a pending release, it is a token of
	 * an earlier attempt. */
	if (a->op == OP_UNDO || (a->op == OP_HAND_OFF && s->lock.peer[a->node].pending))
		return sent;
	if (a->op == OP_HAND_OFF) /* the node has no key of this lock */
		return s->token;
	if (a->op != OP_EXTEND)
		memcpy(sent, s->token, sizeof(s->token));
	return s->token;
}

static bool is_attempt(enum op op)
{
	return op == OP_ACQUIRE || op == OP_LOOK;
}

/* Only these requests may ask for a shared lock; a request that gives up a key has it, or has
 * not. */
static bool op_may_share(enum op op)
{
	return is_attempt(op) || op == OP_REPAIR || op == OP_EXTEND || op == OP_JOIN;
}

/* The waiter keeps its place in the queue during this attempt. */
static bool keeps_place(const struct session *s, const struct action *a)
{
	return is_attempt(a->op) && s->lock.waiter.waits && s->lock.waiter.node == a->node;
}

/* The reservations with which the waiter was woken. */
static const char *reservation_for(struct session *s, const struct action *a)
{
	const struct lock *lock = &s->lock;
	size_t used = 0;

	if (a->op == OP_HAND_OFF)
		return lock->waiter.turn[lock->waiter.key];
	/* A fair client sends a reservation in an attempt only while it is its own. */
	if (!is_attempt(a->op) || (policy_obeys_queue(&lock->policy) && !lock->waiter.used_turn))
		return "";
	s->reservations[0] = '\0';
	for (int i = 0; i < lock->policy.keys; i++)
		text_append(s->reservations, sizeof(s->reservations), &used, "%s",
			lock->waiter.turn[i]);
	return s->reservations;
}

static struct wish wish_for(struct session *s, const struct action *a)
{
	const struct lock *lock = &s->lock;
	bool is_waiter = a->target == TARGET_WAITER;

	s->waiter_keys = ONE_KEY(s->keys->key[lock->waiter.key]);
	return (struct wish){
		.op = a->op,
		.keys = is_waiter || a->is_leaving ? &s->waiter_keys : s->keys,
		.slots = lock->policy.slots,
		.slot = a->slot,
		.token = token_for(s, a),
		.time = a->op == OP_EXPIRE     ? lock->releasing.leave_for
			: a->op == OP_HAND_OFF ? lock->policy.node_timeout
					       : lock->policy.ttl,
		.turn_time = lock->policy.node_timeout,
		.turn = reservation_for(s, a),
		.awaited = a->op == OP_HAND_OFF && !is_waiter ? lock->waiter.awaited : 0,
		.is_leaving = a->op == OP_HAND_OFF && (is_waiter || a->is_leaving),
		.gives_up = a->op == OP_HAND_OFF && !is_waiter && !a->is_leaving &&
			    lock->tenure.confirmed == 0,
		.is_waiting = keeps_place(s, a),
		.seat_key = lock->waiter.waits ? lock->waiter.key : lock->waiter.turn_key,
		.is_fair = a->op == OP_ACQUIRE && policy_obeys_queue(&lock->policy),
		.is_shared = lock->policy.is_shared && op_may_share(a->op),
		.leads = a->leads || (keeps_place(s, a) && lock->waiter.leads),
		.held = s->held,
		.wants_fence = a->op == OP_ACQUIRE && lock->policy.wants_fence,
		.fence = lock->tenure.fence,
		.quarantine = lock->policy.quarantine,
		/* All nodes get the same time in an attempt, so that they return the same fencing
		 * number. */
		.wall = a->op == OP_ACQUIRE ? s->wall : clock_wall(),
	};
}

/* In the pool, the waiter connection follows those to the nodes. */
static int connection_of(const struct session *s, const struct action *a)
{
	return a->target == TARGET_WAITER ? s->lock.policy.nodes : a->node;
}

static void perform_actions(struct session *s, const struct update *up, usec now)
{
	struct err e;
	int rc;

	if (up->new_token) {
		/* getrandom(2): after its first success, it does not fail for so few bytes. */
		rc = token_make(s->token, s->owner, &e);
		assert(rc == 0);
		s->wall = clock_wall();
	}
	for (int i = 0; i < up->count; i++) {
		const struct action *a = &up->action[i];
		int connection = connection_of(s, a);

		switch (a->kind) {
		case ACT_OPEN:
			if (a->target == TARGET_WAITER)
				pool_set_node(&s->pool, connection, a->node);
			pool_open(&s->pool, connection);
			break;
		case ACT_CLOSE:
			pool_drop(&s->pool, connection);
			break;
		case ACT_SEND:
			/* If the connection breaks at this moment, its own event reports that. */
			if (s->pool.conn[connection].state == CONN_UP) {
				struct wish wish = wish_for(s, a);

				conn_send(&s->pool.conn[connection], &wish, a->round, now);
			}
			break;
		}
	}
	s->wake_at = up->wake_at;
}

static void step(struct session *s, const struct event *ev)
{
	struct update up;

	lock_step(&s->lock, ev, &up);
	perform_actions(s, &up, ev->now);
}

static int err_same_server(const struct node *a, const struct node *b, struct err *e)
{
	err_set(e, ERR_CONFIG, "nodes '%.250s' and '%.250s' are the same server", a->label,
		b->label);
	return err_hint(e, "each node must be a separate server");
}

int session_open(struct session *s, const struct policy *policy, const struct node_list *nodes,
	const struct key_list *keys, const char *owner, struct err *e)
{
	s->keys = keys;
	s->held = NULL;
	s->wake_at = NEVER;
	s->random = random_bits();
	snprintf(s->owner, sizeof(s->owner), "%s", owner);
	if (token_make(s->token, s->owner, e) < 0)
		return -1;
	lock_init(&s->lock, policy);
	if (pool_init(&s->pool, nodes, policy->node_timeout, e) < 0)
		return -1;
	for (int i = 0; i < nodes->count; i++)
		for (int j = 0; j < i; j++)
			if (addresses_overlap(&s->pool.addresses[i], &s->pool.addresses[j]))
				return err_same_server(&nodes->node[j], &nodes->node[i], e);
	return 0;
}

/* splitmix64 (Steele, Lea, Flood 2014): delays must be spread, not secret. */
static uint64_t next_random(struct session *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void send_event(struct session *s, enum event_kind kind, usec leave_for)
{
	struct event ev = {
		.kind = kind, .now = clock_now(), .token = s->token, .leave_for = leave_for};

	step(s, &ev);
}

void session_start(struct session *s)
{
	send_event(s, EV_START, 0);
}

void session_extend(struct session *s)
{
	send_event(s, EV_EXTEND, 0);
}

void session_release(struct session *s, usec leave_for)
{
	send_event(s, EV_RELEASE, leave_for);
}

bool session_step(struct session *s, usec until, int wake_fd)
{
	pool_next(&s->pool, usec_min(until, s->wake_at), wake_fd, &s->event);
	s->event.random = next_random(s);
	s->event.token = s->token;
	step(s, &s->event);
	return s->pool.woken;
}

void session_close(struct session *s)
{
	pool_close(&s->pool);
}
