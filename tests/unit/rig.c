#include "unit/rig.h"

static void cut(struct fake *p)
{
	p->link = LINK_DOWN;
	p->queued = 0;
}

static bool is_parting(enum op op)
{
	return op == OP_UNDO || op == OP_HAND_OFF || op == OP_EXPIRE;
}

static bool is_release(enum op op, bool is_leaving)
{
	return is_parting(op) && !is_leaving;
}

/* A request about a queue: no vote, and no key is set. */
static bool is_about_queue(enum op op)
{
	return op == OP_SUBSCRIBE || op == OP_JOIN;
}

/* At most one request and one release are in flight. Only a request about a queue may follow a
 * release. */
static void enqueue(struct rig *r, const struct action *a)
{
	struct fake *p = &r->fake[a->node];
	struct sent *sent = &p->queue[p->queued];

	CHECK(p->link == LINK_UP);
	if (p->queued > 0)
		CHECK(is_release(a->op, a->is_leaving) !=
				is_release(p->queue[0].op, p->queue[0].is_leaving) &&
			(is_release(a->op, a->is_leaving) || is_about_queue(a->op)));
	if (p->queued == 2)
		return;
	*sent = (struct sent){.op = a->op,
		.round = a->round,
		.token = r->token,
		.key = a->key,
		.slot = a->slot,
		.is_leaving = a->is_leaving,
		.overrides = a->overrides,
		.watches = a->watches,
		.by_digest = a->by_digest};
	snprintf(sent->woken_by, sizeof(sent->woken_by), "%s", a->woken_by);
	/* The key is deleted also on a node that does not know the script of these releases. */
	CHECK(!a->by_digest || a->op != OP_EXPIRE);
	CHECK(!a->by_digest || !a->is_leaving);
	/* The key of an earlier token is never left to expire. */
	CHECK(a->op != OP_EXPIRE || (p->kept_token == r->token && r->lock.releasing.leave_for > 0));
	if (a->op == OP_UNDO || a->op == OP_HAND_OFF)
		sent->token = p->kept_token;
	else if (a->op != OP_EXTEND && !is_about_queue(a->op))
		p->kept_token = r->token;
	p->last = *sent;
	p->queued++;
	p->sends[a->op]++;
	p->leaves += a->is_leaving;
}

static void perform(struct rig *r, const struct action *a)
{
	struct fake *p = &r->fake[a->node];

	switch (a->kind) {
	case ACT_RENEW:
		r->token++;
		break;
	case ACT_OPEN:
		CHECK(p->link == LINK_DOWN);
		p->link = LINK_OPENING;
		p->opens++;
		break;
	case ACT_CLOSE:
		CHECK(p->link != LINK_DOWN);
		cut(p);
		break;
	case ACT_SEND:
		enqueue(r, a);
		break;
	}
}

static void step(struct rig *r, struct event ev)
{
	ev.now = r->now;
	ev.random = r->random;
	ev.token = r->text;
	lock_step(&r->lock, &ev, &r->up);
	CHECK(r->up.count <= ACTIONS_MAX);
	for (int i = 0; i < r->up.count; i++)
		perform(r, &r->up.action[i]);
}

usec resume_at(const struct rig *r)
{
	return lock_is_pausing(&r->lock) ? usec_min(r->lock.waiter.retry_at, r->lock.wait_until)
					 : lock_extend_at(&r->lock);
}

void tick(struct rig *r)
{
	step(r, (struct event){.kind = EV_TIME});
}

void let_go(struct rig *r)
{
	step(r, (struct event){.kind = EV_RELEASE});
}

void let_go_with_record(struct rig *r)
{
	step(r, (struct event){.kind = EV_RELEASE, .stores = true});
}

void let_expire(struct rig *r, usec leave_for)
{
	step(r, (struct event){.kind = EV_RELEASE, .leave_for = leave_for});
}

void extend(struct rig *r)
{
	step(r, (struct event){.kind = EV_EXTEND});
}

void wait_until(struct rig *r, usec until)
{
	int turns = 0;

	while (r->up.wake_at <= until && turns++ < 10000) {
		if (r->up.wake_at > r->now)
			r->now = r->up.wake_at;
		tick(r);
	}
	CHECK(turns < 10000);
	r->now = usec_max(r->now, until);
}

void pass(struct rig *r, usec d)
{
	wait_until(r, r->now + d);
}

void link_up(struct rig *r, int i)
{
	CHECK(r->fake[i].link == LINK_OPENING);
	r->fake[i].link = LINK_UP;
	step(r, (struct event){.kind = EV_LINK_UP, .node = i});
}

void link_down(struct rig *r, int i, enum reason reason)
{
	struct reply reply = reply_absent(reason, NULL);

	CHECK(r->fake[i].link != LINK_DOWN);
	cut(&r->fake[i]);
	step(r, (struct event){.kind = EV_LINK_DOWN, .node = i, .reply = &reply});
}

void all_up(struct rig *r)
{
	for (int i = 0; i < r->lock.policy.nodes; i++)
		if (r->fake[i].link == LINK_OPENING)
			link_up(r, i);
}

void apply(struct fake *p, const struct sent *sent, enum vote vote)
{
	bool sets = sent->op == OP_ACQUIRE || sent->op == OP_REPAIR;

	if (sets && (vote == VOTE_YES || vote == VOTE_ABSENT) && p->holder != OUTSIDER)
		p->holder = sent->token;
	if ((sent->op == OP_UNDO || (sent->op == OP_HAND_OFF && !sent->is_leaving)) &&
		vote == VOTE_YES)
		p->holder = NO_HOLDER;
	if (sent->op == OP_EXPIRE && vote == VOTE_YES)
		p->left = sent->token;
}

static enum vote natural_vote(const struct fake *p)
{
	const struct sent *sent = &p->queue[0];

	if (sent->op == OP_SUBSCRIBE || sent->is_leaving)
		return VOTE_YES;
	if (p->holder == sent->token)
		return VOTE_YES;
	if (p->holder != NO_HOLDER)
		return VOTE_FOREIGN;
	return sent->op == OP_ACQUIRE || sent->op == OP_REPAIR ? VOTE_YES : VOTE_GONE;
}

static struct sent take(struct fake *p)
{
	struct sent sent = p->queue[0];

	p->queue[0] = p->queue[1];
	p->queued--;
	return sent;
}

void reply_with(struct rig *r, int i, struct reply reply)
{
	struct fake *p = &r->fake[i];
	struct sent sent;

	if (!unit_check(p->queued > 0, __FILE__, __LINE__, "node %d was asked nothing", i))
		return;
	sent = take(p);
	if (reply.vote != VOTE_ABSENT && (sent.op == OP_ACQUIRE || sent.op == OP_REPAIR))
		snprintf(reply.run_id, sizeof(reply.run_id), "%s%d", p->run_id ? p->run_id : "life",
			p->run_id ? 0 : i);
	if (reply.reason != REASON_NO_SCRIPT && reply.reason != REASON_NO_DIGESTS)
		apply(p, &sent, reply.vote);
	step(r, (struct event){.kind = EV_REPLY,
			.node = i,
			.op = sent.op,
			.round = sent.round,
			.reply = &reply});
}

void reply_text(struct rig *r, int i, enum vote vote, const char *text, size_t len)
{
	struct reply reply = {.vote = vote, .pttl = USEC_SEC};

	if (vote == VOTE_ABSENT)
		reply = reply_absent(REASON_LOADING, "LOADING");
	if (text) {
		memcpy(reply.text, text, len);
		reply.text_len = len;
	}
	reply_with(r, i, reply);
}

void fake_reply(struct rig *r, int i, enum vote vote)
{
	reply_text(r, i, vote, NULL, 0);
}

void votes(struct rig *r, const char *letters)
{
	for (int i = 0; letters[i]; i++)
		switch (letters[i]) {
		case 'Y':
			fake_reply(r, i, VOTE_YES);
			break;
		case 'G':
			fake_reply(r, i, VOTE_GONE);
			break;
		case 'F':
			fake_reply(r, i, VOTE_FOREIGN);
			break;
		case 'A':
			fake_reply(r, i, VOTE_ABSENT);
			break;
		}
}

struct policy policy(int nodes, usec wait)
{
	return (struct policy){.nodes = nodes,
		.keys = 1,
		.ttl = TTL,
		.drift = policy_drift(TTL, 100),
		.node_timeout = NODE_TIMEOUT,
		.wait = wait,
		.node_wait = NEVER,
		.safety_margin = SAFETY_MARGIN,
		.by_digest = true};
}

void start_with(struct rig *r, const struct policy *p)
{
	memset(r, 0, sizeof(*r));
	lock_init(&r->lock, p);
	/* The client polls; contend() lets it queue. */
	r->lock.waiter.state = WAITER_POLLS;
	r->lock.waiter.look_at = NEVER;
	for (int i = 0; i < p->nodes; i++)
		r->lock.policy.order[0][i] = i;
	r->now = BEGIN;
	r->text = "5555555555555555555555555555555555555555:us";
	step(r, (struct event){.kind = EV_START});
}

void start(struct rig *r, int nodes, usec wait)
{
	struct policy p = policy(nodes, wait);

	start_with(r, &p);
}

void ask(struct rig *r, int nodes, usec wait)
{
	start(r, nodes, wait);
	all_up(r);
}

void hold_with(struct rig *r, const struct policy *p)
{
	start_with(r, p);
	all_up(r);
	for (int i = 0; i < p->nodes; i++)
		fake_reply(r, i, VOTE_YES);
	CHECK_INT(lock_state(&r->lock), LOCK_HELD);
}

void hold(struct rig *r, int nodes)
{
	struct policy p = policy(nodes, 0);

	hold_with(r, &p);
}

void next_round(struct rig *r)
{
	uint32_t round = r->lock.stamp.round;

	for (int turns = 0; turns < 100 && r->lock.stamp.round == round; turns++)
		wait_until(r, r->up.wake_at);
	CHECK_INT(r->lock.stamp.round, round + 1);
}

usec validity(usec from)
{
	return from + TTL - policy_drift(TTL, 100);
}

usec gone(usec from)
{
	return from + TTL + policy_drift(TTL, 100) + policy_drift(TTL, 100) / 8;
}

int sends(const struct rig *r, enum op op)
{
	int n = 0;

	for (int i = 0; i < r->lock.policy.nodes; i++)
		n += r->fake[i].sends[op];
	return n;
}

bool serve(struct rig *r)
{
	for (int i = 0; i < r->lock.policy.nodes; i++) {
		struct fake *p = &r->fake[i];

		if (p->link == LINK_OPENING && !p->silent) {
			if (p->gone)
				link_down(r, i, REASON_CONNECT);
			else
				link_up(r, i);
			return true;
		}
		if (p->link == LINK_UP && p->queued > 0 && !p->silent) {
			fake_reply(r, i, natural_vote(p));
			return true;
		}
	}
	return false;
}

void finish(struct rig *r)
{
	if (lock_state(&r->lock) < LOCK_RELEASING)
		let_go(r);
	for (int turns = 0; turns < 1000 && lock_state(&r->lock) != LOCK_OVER; turns++)
		if (!serve(r)) {
			if (!CHECK(r->up.wake_at != NEVER))
				return;
			wait_until(r, r->up.wake_at);
		}
	CHECK_INT(lock_state(&r->lock), LOCK_OVER);
}

int left_behind(struct rig *r)
{
	int n = 0;

	for (int i = 0; i < r->lock.policy.nodes; i++) {
		struct fake *p = &r->fake[i];

		while (p->link == LINK_UP && p->queued > 0) {
			enum vote vote = natural_vote(p);
			struct sent sent = take(p);

			apply(p, &sent, vote);
		}
		n += p->holder > NO_HOLDER && p->left != p->holder;
	}
	return n;
}

int hold_after_a_lost_request(struct rig *r)
{
	int old;

	ask(r, 3, NEVER);
	old = r->fake[0].holder = r->token;
	link_down(r, 0, REASON_CLOSED);
	votes(r, ".FF");
	wait_until(r, r->up.wake_at);
	link_down(r, 0, REASON_CONNECT);
	votes(r, ".YY");
	CHECK_INT(lock_state(&r->lock), LOCK_HELD);
	return old;
}

void link_shakes(struct rig *r, int i)
{
	static const struct reply tls = {.vote = VOTE_ABSENT, .reason = REASON_TLS_TIMEOUT};

	CHECK(r->fake[i].link == LINK_OPENING);
	step(r, (struct event){.kind = EV_LINK_SHAKES, .node = i, .reply = &tls});
}

struct reply told(enum vote vote, const char *text, usec left)
{
	struct reply a = {.vote = vote, .pttl = left, .text_len = strlen(text)};

	memcpy(a.text, text, a.text_len + 1);
	return a;
}

struct reply held(usec left)
{
	return told(VOTE_FOREIGN, BIGGER ":the holder", left);
}

struct reply reserved(usec left)
{
	struct reply a = told(VOTE_FOREIGN, "", left);

	a.is_reserved = true;
	return a;
}

struct reply wake_up(void)
{
	return told(VOTE_YES, BIGGER, 0);
}

struct reply wake_up_for(int slot)
{
	struct reply a = wake_up();

	a.slot = slot;
	return a;
}

struct reply ranked(int rank, struct reply a)
{
	a.rank = rank;
	a.ticket = 1000 + rank;
	return a;
}

void wake(struct rig *r, int node, int key, struct reply a)
{
	CHECK_INT(r->fake[node].link, LINK_UP);
	step(r, (struct event){.kind = EV_WAKE,
			.node = node,
			.key = key,
			.wake = WAKE_RESERVED,
			.reply = &a});
}

void nudge(struct rig *r, int node)
{
	step(r, (struct event){.kind = EV_WAKE, .node = node, .wake = WAKE_LOOK});
}

void call_back(struct rig *r, int node)
{
	step(r, (struct event){.kind = EV_WAKE, .node = node, .wake = WAKE_REJOIN});
}

void tell_change(struct rig *r, int node)
{
	step(r, (struct event){.kind = EV_WAKE, .node = node, .wake = WAKE_CHANGED});
}

int leaves(const struct rig *r)
{
	int n = 0;

	for (int i = 0; i < r->lock.policy.nodes; i++)
		n += r->fake[i].leaves;
	return n;
}

void contend(struct rig *r, int nodes, usec wait)
{
	start(r, nodes, wait);
	r->lock.waiter.state = WAITER_OFF;
	all_up(r);
}

void all_say(struct rig *r, struct reply a)
{
	for (int n = 0; n < 2 * r->lock.policy.nodes; n++) {
		struct fake *p = &r->fake[n % r->lock.policy.nodes];

		while (p->queued > 0 && !is_about_queue(p->queue[0].op) && !p->queue[0].is_leaving)
			reply_with(r, n % r->lock.policy.nodes, a);
	}
}

void refuse(struct rig *r, usec left)
{
	all_say(r, held(left));
	CHECK(lock_is_pausing(&r->lock));
}

void join(struct rig *r, int node, struct reply a)
{
	struct fake *p = &r->fake[node];

	if (p->link == LINK_OPENING)
		link_up(r, node);
	if (p->queue[0].op == OP_SUBSCRIBE)
		reply_with(r, node, told(VOTE_YES, "", 0));
	CHECK_INT(p->queue[0].op, OP_JOIN);
	reply_with(r, node, a);
}

void enter_queue_for(struct rig *r, int nodes, usec wait, int rank)
{
	contend(r, nodes, wait);
	refuse(r, HELD_FOR);
	join(r, 0, ranked(rank, held(HELD_FOR)));
	CHECK_INT(r->lock.waiter.state, WAITER_QUEUED);
}

void enter_queue(struct rig *r, int nodes)
{
	enter_queue_for(r, nodes, NEVER, 0);
}

void next_attempt(struct rig *r)
{
	uint32_t attempt = r->lock.stamp.attempt;

	wait_until(r, resume_at(r));
	all_up(r);
	CHECK_INT(r->lock.stamp.attempt, attempt + 1);
}

void look_with(struct rig *r, int nodes, usec wait)
{
	struct policy p = policy(nodes, wait);

	p.only_looks = true;
	start_with(r, &p);
	all_up(r);
	CHECK_INT(sends(r, OP_LOOK), nodes);
	CHECK_INT(sends(r, OP_ACQUIRE), 0);
}

void look_and_be_woken(struct rig *r, struct reply a)
{
	look_with(r, 3, NEVER);
	r->lock.waiter.state = WAITER_OFF;
	all_say(r, a);
	join(r, 0, ranked(0, a));
	wake(r, 0, 0, wake_up());
}

void contend_for_two(struct rig *r, bool is_fair)
{
	struct policy p = policy(3, NEVER);

	p.keys = 2;
	p.is_fair = is_fair;
	start_with(r, &p);
	memcpy(r->lock.policy.order[1], (int[]){1, 2, 0}, 3 * sizeof(int));
	r->lock.waiter.state = WAITER_OFF;
	all_up(r);
}

struct reply about(int key, struct reply a)
{
	a.key = key;
	return a;
}

void be_woken_for_the_second(struct rig *r)
{
	contend_for_two(r, false);
	all_say(r, about(1, held(HELD_FOR)));
	CHECK_INT(r->lock.waiter.busy_key, 1);
	join(r, 1, ranked(0, held(HELD_FOR)));
	wake(r, 1, 1, wake_up());
	CHECK_INT(r->lock.waiter.key, 1);
	CHECK_INT(sends(r, OP_ACQUIRE), 6);
}
