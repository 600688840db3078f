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

/* The reservations with which the waiter was woken. A fair client sends them only while they are
 * its own. */
static const char *reservations(struct session *s)
{
	const struct lock *lock = &s->lock;
	size_t used = 0;

	s->reservations[0] = '\0';
	for (int i = 0; i < lock->policy.keys; i++)
		if (!policy_obeys_queue(&lock->policy) || lock->waiter.used_turn)
			text_append(s->reservations, sizeof(s->reservations), &used, "%s",
				lock->waiter.turn[i]);
	return s->reservations;
}

/* The client as a waiter, in an attempt on that node. */
static struct waiter_args waiter_args(struct session *s, int node)
{
	const struct waiter *waiter = &s->lock.waiter;
	bool keeps_place = waiter->waits && waiter->node == node;

	return (struct waiter_args){
		.woken_by = reservations(s),
		.key = waiter->waits ? waiter->key : waiter->turn_key,
		.keeps_place = keeps_place,
		.is_promoted = keeps_place && waiter->leads,
	};
}

static void build_hand_off(struct session *s, const struct action *a, const struct lock_ref *ref,
	const struct guard_args *guard, struct request *r)
{
	const struct lock *lock = &s->lock;
	const struct waiter *waiter = &lock->waiter;
	bool is_waiter = a->target == TARGET_WAITER;
	bool is_leaving = is_waiter || a->is_leaving;

	request_hand_off(r, ref,
		&(struct hand_off_args){
			.reserve_time = lock->policy.node_timeout,
			.woken_by = waiter->turn[waiter->key],
			.flag = is_leaving                    ? FLAG_LEAVES
				: lock->tenure.confirmed == 0 ? FLAG_GIVES_UP
							      : NULL,
			.was_promoted = a->is_promoted,
			.far_waiters = is_waiter ? 0 : waiter->awaited,
			.guard = *guard,
		});
}

static void build_request(struct session *s, const struct action *a, struct request *r)
{
	const struct lock *lock = &s->lock;
	const struct policy *policy = &lock->policy;
	const struct key_list waiter_key = ONE_KEY(s->keys->key[lock->waiter.key]);
	const struct lock_ref ref = {
		.keys = a->target == TARGET_WAITER || a->is_leaving ? &waiter_key : s->keys,
		.slots = policy->slots,
		.slot = a->slot,
		.token = token_for(s, a),
		.held = s->held,
	};
	const struct guard_args guard = {
		.quarantine = policy->quarantine,
		/* All nodes get the same time in an attempt, so that they return the same fencing
		 * number. */
		.wall = a->op == OP_ACQUIRE ? s->wall : clock_wall(),
	};

	switch (a->op) {
	case OP_ACQUIRE:
		request_acquire(r, &ref,
			&(struct acquire_args){
				.ttl = policy->ttl,
				.is_shared = policy->is_shared,
				.is_fair = policy_obeys_queue(policy),
				.wants_fence = policy->wants_fence,
				.reserve_time = policy->node_timeout,
				.waiter = waiter_args(s, a->node),
				.guard = guard,
			});
		break;
	case OP_REPAIR:
		request_repair(r, &ref,
			&(struct acquire_args){
				.ttl = policy->ttl,
				.is_shared = policy->is_shared,
				.guard = guard,
			});
		break;
	case OP_EXTEND:
		request_extend(r, &ref, policy->ttl, policy->is_shared);
		break;
	case OP_UNDO:
		request_undo(r, &ref, policy->node_timeout, &guard);
		break;
	case OP_HAND_OFF:
		build_hand_off(s, a, &ref, &guard, r);
		break;
	case OP_EXPIRE:
		request_expire(r, &ref, lock->releasing.leave_for);
		break;
	case OP_FENCE:
		request_fence(r, &ref, lock->tenure.fence);
		break;
	case OP_LOOK:
		request_look(r, &ref,
			&(struct look_args){
				.ttl = policy->ttl,
				.is_shared = policy->is_shared,
				.waiter = waiter_args(s, a->node),
				.guard = guard,
			});
		break;
	case OP_JOIN:
		request_join(r, &ref, policy->ttl, policy->is_shared, a->is_promoted);
		r->is_followed = true; /* by OP_WAIT */
		break;
	case OP_WAIT:
		request_wait(r, waiter_key.key[0], a->is_promoted);
		break;
	case OP_NONE:
	case OP_SCAN:
	case OP_BREAK:
	case OP_COMMAND:
		assert(false); /* the lock never sends these */
	}
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
				struct request r;

				build_request(s, a, &r);
				conn_send(&s->pool.conn[connection], &r, a->round, now);
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
