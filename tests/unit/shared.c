/* shared: readers and writers. */
#include "unit/rig.h"

#define READERS TOKEN_READERS ":1700000000 2 readers: a, b"

static struct reply shared(usec left)
{
	struct reply a = told(VOTE_FOREIGN, READERS, left);

	a.is_shared = true;
	return a;
}

/* Reply to a reader: other waiters are first. */
static struct reply others_first(usec left)
{
	struct reply a = shared(left);

	a.is_reserved = true;
	return a;
}

static void contend_as(struct rig *r, bool is_shared, int nodes)
{
	struct policy p = policy(nodes, NEVER);

	p.is_shared = is_shared;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	all_up(r);
}

/* Answers all requests, releases included, with `a`. */
static void all_answer(struct rig *r, struct reply a)
{
	for (int n = 0; n < 2 * r->lock.policy.nodes; n++)
		while (r->fake[n % r->lock.policy.nodes].queued > 0)
			reply_with(r, n % r->lock.policy.nodes, a);
}

/* In the queue, after `a` was the reply to every request. */
static void queue_after(struct rig *r, bool is_shared, struct reply a)
{
	contend_as(r, is_shared, 3);
	all_answer(r, a);
	CHECK(lock_is_pausing(&r->lock));
	link_up(r, 3);
	reply_with(r, 3, a);
	CHECK_INT(waiter_fake(r)->queue[0].op, OP_WAIT);
}

static const struct action *last_action(const struct rig *r, int node, enum op op)
{
	static const struct action none = {.kind = ACT_OPEN};
	const struct action *found = &none;

	for (int i = 0; i < r->up.count; i++)
		if (r->up.action[i].kind == ACT_SEND &&
			connection_of(r, &r->up.action[i]) == node && r->up.action[i].op == op)
			found = &r->up.action[i];
	return found;
}

TEST(readers_honour_the_queue_node_but_do_not_wait_if_it_is_silent)
{
	struct rig r;

	contend_as(&r, true, 3);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 0, others_first(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(sends(&r, OP_UNDO), 2);
	CHECK_INT(waiter_fake(&r)->node, 0);
	/* as long as the lock waits for the last replies, and no longer */
	contend_as(&r, true, 3);
	votes(&r, ".YY");
	CHECK(r.up.wake_at < BEGIN + NODE_TIMEOUT);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* two replies of five are no majority */
	contend_as(&r, true, 5);
	votes(&r, ".YY");
	wait_until(&r, BEGIN + NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 3, VOTE_YES);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(readers_that_were_woken_pass_the_wake_up_on)
{
	struct rig r;

	queue_after(&r, true, held(HELD_FOR));
	reply_with(&r, 3, wake_up());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_action(&r, 3, OP_HAND_OFF)->kind, ACT_OPEN); /* in an earlier step */
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	CHECK(r.lock.waiter.passes);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	/* A reader that was not woken has no wake-up to pass on; nor has a writer. */
	contend_as(&r, true, 3);
	votes(&r, "YYY");
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
	queue_after(&r, false, held(HELD_FOR));
	reply_with(&r, 3, wake_up());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
}

/* The client was woken by a holder's release, and readers were faster. */
static void find_readers(struct rig *r, bool is_shared)
{
	queue_after(r, is_shared, held(HELD_FOR));
	reply_with(r, 3, wake_up());
	all_answer(r, shared(HELD_FOR));
}

TEST(a_writer_that_is_woken_and_finds_readers_is_promoted)
{
	struct rig r;

	find_readers(&r, false);
	CHECK(r.lock.waiter.leads);
	CHECK_INT(waiter_fake(&r)->queued, 2);
	CHECK(waiter_fake(&r)->queue[0].leads && waiter_fake(&r)->queue[1].leads);
	reply_with(&r, 3, shared(HELD_FOR));
	/* The last reader's release wakes the writer. */
	reply_with(&r, 3, wake_up());
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(!r.lock.waiter.leads);
	/* Another queue node does not know the promoted writer. */
	find_readers(&r, false);
	reply_with(&r, 3, shared(HELD_FOR));
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_ABSENT);
	all_answer(&r, shared(HELD_FOR));
	CHECK_INT(waiter_fake(&r)->node, 1);
	CHECK(!r.lock.waiter.leads);
	/* A writer that was not woken, and a reader, are not promoted. */
	queue_after(&r, false, shared(HELD_FOR));
	CHECK(!r.lock.waiter.leads);
	find_readers(&r, true);
	CHECK(!r.lock.waiter.leads);
}

/* Without the hand-off, the wake-up would be lost. */
TEST(a_writer_that_finds_readers_in_the_end_passes_the_wake_up_on)
{
	struct policy p = policy(3, USEC_SEC);
	struct rig r;

	start_with(&r, &p);
	r.lock.waiter.is_refused = false;
	all_up(&r);
	all_answer(&r, held(HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	r.now += 2 * USEC_SEC;
	reply_with(&r, 3, wake_up());
	all_up(&r);
	all_answer(&r, shared(HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
}

/* A holder reads no wake-ups. */
TEST(a_reader_that_was_not_woken_has_its_wake_up_passed_on_by_the_node)
{
	struct rig r;

	queue_after(&r, true, others_first(HELD_FOR));
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_YES);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(r.lock.waiter.leaves);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	let_go(&r);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
}

/* The reservation may be unclaimed by then, and no key's expiry announces it. */
TEST(a_reservation_reported_during_an_attempt_is_worth_another)
{
	struct rig r;

	contend_as(&r, false, 3);
	all_answer(&r, held(20 * MS));
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, reserved(60 * MS));
	all_answer(&r, held(HELD_FOR));
	CHECK_INT(r.lock.stamp.attempt, 3);
	/* A reader's attempt wakes the waiters before it: one attempt is enough. */
	contend_as(&r, true, 3);
	all_answer(&r, others_first(20 * MS));
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, others_first(60 * MS));
	all_answer(&r, others_first(HELD_FOR));
	CHECK_INT(r.lock.stamp.attempt, 2);
}

/* The queue node's reply may arrive last, and may name another holder. */
TEST(a_writer_finds_readers_by_the_queue_node_or_else_by_any_node)
{
	struct rig r;

	queue_after(&r, false, held(HELD_FOR));
	reply_with(&r, 3, wake_up());
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK(r.lock.waiter.leads);
	queue_after(&r, false, held(HELD_FOR));
	reply_with(&r, 3, wake_up());
	reply_with(
		&r, 0, told(VOTE_FOREIGN, "0000000000000000000000000000000000000007:x", HELD_FOR));
	all_answer(&r, shared(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.waiter.leads);
	/* Of several keys, the key of the waiter connection counts. */
	be_woken_for_the_second(&r);
	all_answer(&r, about(0, shared(HELD_FOR)));
	CHECK(!r.lock.waiter.leads);
	be_woken_for_the_second(&r);
	all_answer(&r, about(1, shared(HELD_FOR)));
	CHECK(r.lock.waiter.leads);
}

TEST(a_writer_retries_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	queue_after(&r, false, shared(HELD_FOR));
	reply_with(&r, 3, wake_up());
	votes(&r, "Y");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].queued, 1);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(only_looking_retries_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	look_and_be_woken(&r, shared(HELD_FOR));
	votes(&r, "G");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	fake_reply(&r, 1, VOTE_GONE);
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
}

TEST(a_client_that_leaves_the_queue_after_readers_passes_on_the_wake_up)
{
	struct rig r;

	for (int is_shared = 0; is_shared < 2; is_shared++) {
		queue_after(&r, is_shared, is_shared ? others_first(HELD_FOR) : shared(HELD_FOR));
		/* The connection to the queue node stays for that, the others close. */
		wait_until(&r, r.now + 2 * USEC_SEC);
		CHECK_INT(r.lock.peer[0].link, LINK_UP);
		CHECK_INT(r.lock.peer[1].link, LINK_DOWN);
		let_go(&r);
		CHECK(last_action(&r, 0, OP_HAND_OFF)->is_leaving);
		CHECK(!last_action(&r, 0, OP_HAND_OFF)->is_promoted);
		CHECK_INT(last_action(&r, 1, OP_HAND_OFF)->kind, ACT_OPEN);
		/* The lock waits for the reply, but not longer than the node timeout. */
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		if (is_shared)
			fake_reply(&r, 0, VOTE_GONE);
		else
			wait_until(&r, r.now + r.lock.policy.node_timeout);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	}
	/* A promoted writer says that it no longer is. */
	find_readers(&r, false);
	reply_with(&r, 3, shared(HELD_FOR));
	let_go(&r);
	CHECK(last_action(&r, 0, OP_HAND_OFF)->is_promoted);
	/* If a writer holds the lock, its release wakes the next waiter. */
	queue_after(&r, false, held(HELD_FOR));
	wait_until(&r, r.now + 2 * USEC_SEC);
	CHECK_INT(r.lock.peer[0].link, LINK_DOWN);
	let_go(&r);
	CHECK_INT(last_action(&r, 0, OP_HAND_OFF)->kind, ACT_OPEN);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* While the queue node is asked or has a pending release, the hand-off after OP_WAIT must
	 * do. */
	queue_after(&r, false, shared(HELD_FOR));
	next_attempt(&r);
	CHECK_INT(r.fake[0].queued, 1);
	let_go(&r);
	CHECK(!last_action(&r, 0, OP_HAND_OFF)->is_leaving);
}
