/* keys: a lock of several keys. */
#include "unit/rig.h"

/* Held, but not by the holder that woke us. */
static struct reply by_another(void)
{
	return told(VOTE_FOREIGN, "7777777777777777777777777777777777777777:x", HELD_FOR);
}

/* In the queue of key 1, at node 1; the next attempt begins. */
static void be_refused_the_second(struct rig *r)
{
	contend_for_two(r, false);
	all_say(r, about(1, held(20 * MS)));
	join(r, 1, ranked(0, held(20 * MS)));
	next_attempt(r);
}

TEST(several_keys_the_waiter_is_in_the_queue_of_the_busy_one)
{
	struct rig r;

	contend_for_two(&r, false);
	all_say(&r, about(1, held(HELD_FOR)));
	CHECK_INT(r.fake[1].last.op, OP_SUBSCRIBE);
	CHECK_INT(r.fake[1].last.key, 1);
	join(&r, 1, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.fake[1].last.op, OP_JOIN);
	CHECK_INT(r.fake[1].last.key, 1);
	/* The nodes name different keys: the queue node decides. */
	contend_for_two(&r, false);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, about(1, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.busy_key, 0);
	/* The queue node has granted the keys: then any other node decides. */
	contend_for_two(&r, false);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 2, about(1, held(HELD_FOR)));
	reply_with(&r, 1, about(1, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.busy_key, 1);
}

TEST(several_keys_the_waiter_moves_to_the_queue_of_another)
{
	struct rig r;

	be_refused_the_second(&r);
	all_say(&r, held(HELD_FOR));
	/* It leaves one queue, and enters the other with its ticket. */
	CHECK_INT(r.fake[1].leaves, 1);
	CHECK_INT(r.fake[1].last.key, 1);
	CHECK_TEXT(r.fake[1].last.woken_by, "");
	CHECK_INT(r.fake[0].last.op, OP_SUBSCRIBE);
	CHECK_INT(r.fake[0].last.key, 0);
	join(&r, 0, ranked(1, held(HELD_FOR)));
	CHECK_INT(r.fake[0].last.key, 0);
	CHECK_INT(r.lock.waiter.key, 0);
	CHECK_INT(r.lock.waiter.node, 0);
	/* One queue node for both keys: still two queues, and two channels. */
	contend_for_two(&r, false);
	memcpy(r.lock.policy.order[1], r.lock.policy.order[0], sizeof(r.lock.policy.order[0]));
	all_say(&r, about(1, held(20 * MS)));
	join(&r, 0, ranked(0, held(20 * MS)));
	next_attempt(&r);
	all_say(&r, held(HELD_FOR));
	CHECK(r.fake[0].last.is_leaving);
	CHECK_INT(r.fake[0].last.key, 1);
	/* The wake-up may have been on its way. */
	reply_with(&r, 0, told(VOTE_YES, "", 0));
	CHECK_INT(r.fake[0].last.op, OP_SUBSCRIBE);
	CHECK_INT(r.fake[0].last.key, 0);
	join(&r, 0, ranked(0, held(20 * MS)));
	/* Back to the first: its channel is known already. */
	next_attempt(&r);
	all_say(&r, about(1, held(HELD_FOR)));
	reply_with(&r, 0, told(VOTE_YES, "", 0));
	CHECK_INT(r.fake[0].last.op, OP_JOIN);
	CHECK_INT(r.fake[0].last.key, 1);
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 2);
}

TEST(several_keys_a_useless_reservation_is_passed_on)
{
	struct rig r;

	be_woken_for_the_second(&r);
	all_say(&r, by_another());
	CHECK_INT(leaves(&r), 1);
	CHECK(r.fake[1].last.is_leaving);
	CHECK_INT(r.fake[1].last.key, 1);
	CHECK_TEXT(r.fake[1].last.woken_by, BIGGER);
	CHECK_TEXT(r.lock.wakeup.reservation[1], "");
	CHECK_INT(r.fake[0].last.op, OP_SUBSCRIBE);
	/* The queue node granted both keys: their release goes first. */
	be_woken_for_the_second(&r);
	fake_reply(&r, 1, VOTE_YES);
	reply_with(&r, 0, by_another());
	reply_with(&r, 2, by_another());
	CHECK_INT(r.fake[1].last.op, OP_UNDO);
	CHECK_INT(leaves(&r), 0);
	fake_reply(&r, 1, VOTE_YES);
	CHECK(r.fake[1].last.is_leaving);
	CHECK_TEXT(r.fake[1].last.woken_by, BIGGER);
	/* The key of the reservation is held again: its holder will wake the next waiter. */
	be_woken_for_the_second(&r);
	all_say(&r, about(1, by_another()));
	CHECK_INT(leaves(&r), 0);
	CHECK_INT(r.fake[1].last.op, OP_JOIN);
	CHECK_TEXT(r.lock.wakeup.reservation[1], "");
}

TEST(several_keys_a_wake_up_for_another_key_is_passed_on)
{
	struct rig r;

	contend_for_two(&r, false);
	all_say(&r, about(1, held(HELD_FOR)));
	join(&r, 1, ranked(0, held(HELD_FOR)));
	wake(&r, 1, 0, wake_up());
	CHECK(lock_is_pausing(&r.lock));
	CHECK(r.fake[1].last.is_leaving);
	CHECK_INT(r.fake[1].last.key, 0);
	CHECK_TEXT(r.fake[1].last.woken_by, BIGGER);
	CHECK_TEXT(r.lock.wakeup.reservation[0], "");
	/* also from a node at which the client does not queue */
	wake(&r, 2, 1, wake_up());
	CHECK(lock_is_pausing(&r.lock));
	CHECK(r.fake[2].last.is_leaving);
	CHECK_INT(r.fake[2].last.key, 1);
	/* A nudge from there changes nothing. */
	r.lock.waiter.rank = 5;
	nudge(&r, 2);
	CHECK_INT(r.lock.waiter.rank, 5);
}

/* A key's queue node decides whether the reservation of that key is void. */
TEST(several_keys_a_reservation_is_overridden_by_its_own_queue_node)
{
	struct rig r;

	contend_for_two(&r, false);
	fake_reply(&r, 1, VOTE_YES);
	reply_with(&r, 0, about(1, reserved(60 * MS)));
	reply_with(&r, 2, about(1, reserved(60 * MS)));
	CHECK(!lock_is_pausing(&r.lock));
	CHECK(r.fake[0].last.overrides);
	contend_for_two(&r, false);
	fake_reply(&r, 1, VOTE_YES);
	reply_with(&r, 0, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
}

TEST(several_keys_fair_hears_the_queue_node_of_each)
{
	struct rig r;

	contend_for_two(&r, true);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 1, about(1, reserved(60 * MS)));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* Node 0 is the queue node of the other key, and has granted it. */
	contend_for_two(&r, true);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 2, VOTE_YES);
	reply_with(&r, 1, about(0, reserved(60 * MS)));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* Node 0 still has a key that expired on the other nodes. The waiter is the first one for key 1. */
TEST(several_keys_fair_lets_the_waiters_of_another_key_pass)
{
	for (int key = 0; key < 2; key++) {
		struct rig r;
		struct reply late = about(key, held(HELD_FOR));

		late.waiters = 1u << key;
		contend_for_two(&r, true);
		memcpy(r.lock.policy.order[1], r.lock.policy.order[0], 3 * sizeof(int));
		all_say(&r, about(1, held(HELD_FOR)));
		join(&r, 0, ranked(0, held(HELD_FOR)));
		next_attempt(&r);
		reply_with(&r, 0, late);
		votes(&r, ".YY");
		CHECK_INT(lock_state(&r.lock), key == 0 ? LOCK_TRYING : LOCK_HELD);
		CHECK_INT(lock_is_pausing(&r.lock), key == 0);
	}
}

TEST(several_keys_each_queue_node_says_whether_others_wait)
{
	struct rig r;
	struct reply both = {.vote = VOTE_YES, .waiters = 3};

	for (int queue_node = 0; queue_node < 3; queue_node++) {
		contend_for_two(&r, false);
		for (int i = 0; i < 3; i++)
			if (i == queue_node)
				reply_with(&r, i, both);
			else
				fake_reply(&r, i, VOTE_YES);
		CHECK_INT(r.lock.awaited, queue_node == 0 ? 1 : queue_node == 1 ? 2 : 0);
	}
}

TEST(several_keys_if_one_is_lost_the_others_are_pending_releases)
{
	struct rig r;
	struct policy p = policy(3, 0);
	struct reply partly = {.vote = VOTE_GONE, .is_partial = true};

	p.keys = 2;
	hold_with(&r, &p);
	next_round(&r);
	reply_with(&r, 0, partly);
	CHECK(r.lock.peer[0].pending);
	partly = about(1, held(HELD_FOR));
	partly.is_partial = true;
	reply_with(&r, 1, partly);
	CHECK(r.lock.peer[1].pending);
	reply_with(&r, 2, held(HELD_FOR));
	CHECK(!r.lock.peer[2].pending);
	let_go(&r);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[1].sends[OP_HAND_OFF], 1);
	/* Then no release is pending. */
	reply_with(&r, 0, told(VOTE_GONE, "", 0));
	reply_with(&r, 1, held(HELD_FOR));
	CHECK(!r.lock.peer[0].pending && !r.lock.peer[1].pending);
}

TEST(several_keys_one_holder_of_two_is_counted_for_each)
{
	struct rig r;
	int nodes;

	contend_for_two(&r, false);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, about(1, held(HELD_FOR)));
	CHECK_INT(tally_holder(&r.lock.tally, &nodes).key, 0);
	CHECK_INT(nodes, 1);
	reply_with(&r, 2, about(1, held(HELD_FOR)));
	CHECK_INT(tally_holder(&r.lock.tally, &nodes).key, 1);
	CHECK_INT(nodes, 2);
}
