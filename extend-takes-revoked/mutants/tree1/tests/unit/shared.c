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
	r->lock.waiter.state = WAITER_OFF;
	all_up(r);
}

/* In the queue, after `a` was the reply to every request. */
static void queue_after(struct rig *r, bool is_shared, struct reply a)
{
	contend_as(r, is_shared, 3);
	all_say(r, a);
	CHECK(lock_is_pausing(&r->lock));
	join(r, 0, ranked(0, a));
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
	CHECK_INT(r.lock.waiter.node, 0);
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

/* The id of a waiter tells the nodes whether it can join readers. */
TEST(readers_and_writers_have_different_ids)
{
	struct rig r;

	contend_as(&r, true, 3);
	CHECK_TEXT(r.lock.waiter.id, "r0000000000000000");
	contend_as(&r, false, 3);
	CHECK_TEXT(r.lock.waiter.id, "w0000000000000000");
}

/* The node that grants the key wakes the next reader itself. */
TEST(readers_that_were_woken_send_no_hand_off)
{
	struct rig r;

	queue_after(&r, true, held(HELD_FOR));
	wake(&r, 0, 0, wake_up());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(r.lock.waiter.state, WAITER_OFF);
}

TEST(a_writer_that_is_woken_and_finds_readers_returns_with_its_ticket)
{
	struct rig r;

	queue_after(&r, false, held(HELD_FOR));
	CHECK_INT(r.lock.waiter.ticket, 1000);
	wake(&r, 0, 0, wake_up());
	all_say(&r, shared(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 1);
	CHECK_INT(r.fake[0].last.op, OP_JOIN);
	reply_with(&r, 0, ranked(0, shared(500 * MS)));
	CHECK_INT(resume_at(&r), r.now + 502 * MS);
	/* The last reader's release wakes the writer. */
	wake(&r, 0, 0, wake_up());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(leaves(&r), 0);
}

/* Readers have no ids in the key's value: the queue node has released them, the others have not. */
TEST(a_writer_retries_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	queue_after(&r, false, shared(HELD_FOR));
	wake(&r, 0, 0, wake_up());
	votes(&r, "Y");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].queued, 1);
	CHECK(!r.fake[1].last.overrides);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The queue node still has readers. */
	queue_after(&r, false, shared(HELD_FOR));
	wake(&r, 0, 0, wake_up());
	votes(&r, ".Y");
	reply_with(&r, 0, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
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
