#include "net/session.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *token_for(struct session *s, const struct action *a)
{
	char *sent = s->sent_token[a->node];

	/* Release with the token that this node received: for a pending release, it is a token of
	 * an earlier attempt. */
	if (a->op == OP_UNDO ||
		(a->op == OP_HAND_OFF && !a->is_leaving && s->lock.peer[a->node].pending))
		return sent;
	/* An extension may find the key on a node that we did not ask for it: a replica that was
	 * promoted, or another name of a node. Other requests set no key: the node may still have
	 * that of an earlier attempt. */
	if (a->op == OP_ACQUIRE || a->op == OP_REPAIR || a->op == OP_EXTEND)
		memcpy(sent, s->token, sizeof(s->token));
	return s->token;
}

/* The reservations with which the waiter was woken. */
static const char *reservations(struct session *s)
{
	const struct lock *lock = &s->lock;
	size_t used = 0;

	s->reservations[0] = '\0';
	for (int i = 0; i < lock->policy.keys; i++)
		text_append(
			s->reservations, sizeof(s->reservations), &used, "%s", wakeup_id(lock, i));
	return s->reservations;
}

static struct waiter_args waiter_args(struct session *s, const struct action *a)
{
	const struct waiter *w = &s->lock.waiter;

	if (a->op == OP_REPAIR)
		return (struct waiter_args){.id = w->id};
	if (a->is_leaving)
		return (struct waiter_args){.id = w->id, .woken_by = a->woken_by};
	return (struct waiter_args){
		/* A lock may have been granted without the queue node. */
		.id = a->op == OP_HAND_OFF && w->state == WAITER_OFF ? NULL : w->id,
		.woken_by = reservations(s),
		.key = w->key,
		.overrides = a->overrides,
	};
}

/* Does the node store the record with this request? */
static bool stores_record(const struct session *s, const struct action *a)
{
	return s->record.text && !a->is_leaving && s->record.nodes >> a->node & 1;
}

/* Does the request write the token into a key? For others, the id says enough. */
static bool writes_token(enum op op)
{
	return op == OP_ACQUIRE || op == OP_REPAIR || op == OP_EXPIRE;
}

/* Only the key of a lock that is neither shared nor watched can be deleted by its token alone.
 * Where AUTH may fail, the attempt must leave nothing else: no fencing number, and no limit. */
static bool is_early(const struct session *s, const struct action *a, bool *is_unsure)
{
	const struct policy *policy = &s->lock.policy;

	return a->op == OP_ACQUIRE && !policy->is_shared && !a->watches &&
	       conn_takes_early(&s->pool.conn[a->node], s->keys->count, is_unsure) &&
	       !(*is_unsure &&
		       (s->pool.was_refused || policy->wants_fence || policy_is_semaphore(policy)));
}

static void build_request(struct session *s, const struct action *a, struct request *r)
{
	bool is_unsure = false, goes_early = is_early(s, a, &is_unsure);
	const struct lock *lock = &s->lock;
	const struct policy *policy = &lock->policy;
	const struct key_list queue_key = ONE_KEY(s->keys->key[a->key]);
	const struct lock_ref ref = {
		.keys = a->op == OP_JOIN || a->is_leaving ? &queue_key : s->keys,
		.limit = policy->limit,
		.slot = policy_is_semaphore(policy) ? a->slot : 0,
		.token = token_for(s, a),
		.token_len = writes_token(a->op) ? 0 : TOKEN_ID_LEN,
		.held = s->held,
	};
	const struct record_args record = {
		.text = s->record.text,
		.age = clock_now() - s->record.started,
		.keep = s->record.keep,
	};
	const struct request_args args = {
		.ttl = a->op == OP_EXPIRE ? lock->releasing.leave_for : policy->ttl,
		.is_shared = policy->is_shared,
		.is_fair = policy_obeys_queue(policy),
		.is_unsure = goes_early && is_unsure,
		.db = goes_early ? s->pool.conn[a->node].node->db : 0,
		.wants_fence = policy->wants_fence,
		.began = s->began,
		.wants_record = policy->wants_record,
		.flag = a->is_leaving                 ? FLAG_LEAVES
			: lock->tenure.confirmed == 0 ? FLAG_GIVES_UP
						      : NULL,
		.reserve_time = policy->node_timeout,
		.waiter = waiter_args(s, a),
		.ticket = lock->waiter.ticket,
		.far_waiters = a->op == OP_HAND_OFF && !a->is_leaving
				       ? lock_far_waiters(lock, a->node)
				       : 0,
		.number = lock->tenure.fence,
		.guard = {.quarantine = a->op == OP_EXTEND ? 0 : policy->quarantine,
			.wall = clock_wall(),
			.is_known = pool_knows(&s->pool, a->node)},
		.record = a->op == OP_HAND_OFF && stores_record(s, a) ? &record : NULL,
	};

	if (a->op == OP_SUBSCRIBE)
		request_subscribe(r, queue_key.key[0], policy->limit, lock->waiter.id);
	else
		request_script(r, a->op, &ref, &args);
	r->is_early = goes_early;
}

/* A release and the join that follows it go in one packet. */
static bool is_followed(const struct update *up, int i)
{
	for (int n = i + 1; n < up->count; n++)
		if (up->action[n].kind == ACT_SEND && up->action[n].node == up->action[i].node)
			return true;
	return false;
}

static void renew_token(struct session *s)
{
	struct err e;
	/* getrandom(2): after its first success, it does not fail for so few bytes. */
	int rc = token_make(s->token, s->lock.policy.fingerprint, s->owner, &e);

	assert(rc == 0);
	s->began = clock_wall();
}

static void perform_actions(struct session *s, usec now)
{
	const struct update *up = &s->update;
	struct request *r = &s->request;

	for (int i = 0; i < up->count; i++) {
		const struct action *a = &up->action[i];

		switch (a->kind) {
		case ACT_RENEW:
			renew_token(s);
			break;
		case ACT_OPEN:
			s->watched[a->node] = 0;
			pool_open(&s->pool, a->node);
			break;
		case ACT_CLOSE:
			pool_drop(&s->pool, a->node);
			break;
		case ACT_SEND:
			/* Also if the connection broke at this moment, which its own event reports:
			 * the release that is pending then needs the token. */
			build_request(s, a, r);
			if (s->pool.conn[a->node].state != CONN_UP)
				break;
			r->is_followed = is_followed(up, i);
			r->watches = a->watches;
			if (a->by_digest && !(op_releases(a->op) &&
						    conn_deletes_in_vain(&s->pool.conn[a->node])))
				request_by_digest(r);
			conn_send(&s->pool.conn[a->node], r, a->round, now);
			break;
		}
	}
	s->wake_at = up->wake_at;
}

static void step(struct session *s, const struct event *ev)
{
	lock_step(&s->lock, ev, &s->update);
	perform_actions(s, ev->now);
}

static int err_same_server(const struct node *a, const struct node *b, struct err *e)
{
	err_set(e, ERR_CONFIG, "nodes '%.250s' and '%.250s' are the same server", a->label,
		b->label);
	return err_hint(e, "name a separate server for each node");
}

int session_open(struct session *s, const struct policy *policy, const struct node_list *nodes,
	const struct key_list *keys, const char *owner, struct err *e)
{
	s->keys = keys;
	s->held = NULL;
	s->record = (struct record){.text = NULL};
	s->wake_at = NEVER;
	memset(s->watched, 0, sizeof(s->watched));
	s->random = random_bits();
	snprintf(s->owner, sizeof(s->owner), "%s", owner);
	if (token_make(s->token, policy->fingerprint, s->owner, e) < 0)
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

void session_hide(struct session *s)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)s + page - 1) / page * page,
		  to = (uintptr_t)(s + 1) / page * page;

	if (from < to)
		(void)madvise((void *)from, to - from, MADV_DONTFORK);
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
	struct event ev = {.kind = kind,
		.now = clock_now(),
		.token = s->token,
		.leave_for = leave_for,
		.stores = s->record.text != NULL};

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

void session_set_record(struct session *s, const struct record *record)
{
	s->record = *record;
}

void session_release(struct session *s, usec leave_for)
{
	send_event(s, EV_RELEASE, leave_for);
}

/* Completes EV_WAKE. Returns false if the message is none for this waiter, or none that it asked
 * for: the lock has no use for it. */
static bool read_wake(struct session *s, struct event *ev)
{
	const struct push *push = &s->pool.conn[ev->node].push;
	unsigned *watched = &s->watched[ev->node];
	bool is_wanted;

	ev->reply = &s->pool.reply;
	if (!push_wake(push, s->keys, s->lock.policy.limit, s->lock.waiter.id, &ev->key, &ev->wake,
		    &s->pool.reply))
		return false;
	if (ev->wake != WAKE_CHANGED)
		return true;
	is_wanted = *watched >> ev->key & 1;
	*watched &= ~(1u << ev->key);
	return is_wanted;
}

bool session_step(struct session *s, usec until, int wake_fd)
{
	struct event *ev = &s->event;
	bool woken = false;

	do {
		pool_next(&s->pool, usec_min(until, s->wake_at), wake_fd, ev);
		woken |= s->pool.woken;
	} while (ev->kind == EV_WAKE && !read_wake(s, ev));
	/* A message before this reply is about the watch before. */
	if (ev->kind == EV_REPLY && ev->reply->is_watched)
		s->watched[ev->node] = ~0u;
	ev->random = next_random(s);
	ev->token = s->token;
	step(s, ev);
	return woken;
}

void session_close(struct session *s)
{
	pool_close(&s->pool);
}
