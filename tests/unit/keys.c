/* keys: a lock of several keys. */
#include "unit/rig.h"

/* Held, but not by the holder that woke us. */
static struct reply by_another(void)
{
	return told(VOTE_FOREIGN, "7777777777777777777777777777777777777777:x", HELD_FOR);
}

/* Joining the queue of key 1, or in it; the next attempt begins. */
static void be_refused_the_second(struct rig *r, bool arrived)
{
	contend_for_two(r, false);
	all_say(r, about(1, held(20 * MS)));
	if (arrived) {
		link_up(r, 3);
		reply_with(r, 3, held(20 * MS));
	}
	next_attempt(r);
}

TEST(several_keys_the_waiter_is_in_the_queue_of_the_busy_one)
{
	struct rig r;

	contend_for_two(&r, false);
	all_say(&r, about(1, held(HELD_FOR)));
	CHECK_INT(waiter_fake(&r)->node, 1);
	CHECK_INT(r.lock.waiter.key, 1);
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
	/* Another key is busy, while the client joins the queue, and while it waits there. */
	for (int arrived = 0; arrived < 2; arrived++) {
		be_refused_the_second(&r, arrived);
		all_say(&r, held(HELD_FOR));
		CHECK_INT(waiter_fake(&r)->opens, 2);
		CHECK_INT(waiter_fake(&r)->node, 0);
		CHECK_INT(r.lock.waiter.key, 0);
		CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
	}
	/* One queue node for both keys: still two queues. */
	contend_for_two(&r, false);
	memcpy(r.lock.policy.order[1], r.lock.policy.order[0], sizeof(r.lock.policy.order[0]));
	all_say(&r, about(1, held(20 * MS)));
	link_up(&r, 3);
	reply_with(&r, 3, held(20 * MS));
	next_attempt(&r);
	all_say(&r, held(HELD_FOR));
	CHECK_INT(waiter_fake(&r)->opens, 2);
	CHECK_INT(waiter_fake(&r)->node, 0);
}

TEST(several_keys_a_useless_reservation_is_passed_on)
{
	struct rig r;

	be_woken_for_the_second(&r);
	all_say(&r, by_another());
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	CHECK_INT(waiter_fake(&r)->opens, 1);
	/* The hand-off is answered: now to the other queue. */
	reply_with(&r, 3, told(VOTE_GONE, "", 0));
	CHECK_INT(waiter_fake(&r)->opens, 2);
	CHECK_INT(waiter_fake(&r)->node, 0);
	/* The hand-off is not answered. */
	be_woken_for_the_second(&r);
	all_say(&r, by_another());
	wait_until(&r, r.now + NODE_TIMEOUT);
	CHECK_INT(waiter_fake(&r)->opens, 2);
	/* The key of the reservation is held again: its holder will wake the next waiter. */
	be_woken_for_the_second(&r);
	all_say(&r, about(1, by_another()));
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
	CHECK_INT(waiter_fake(&r)->sends[OP_JOIN], 2);
}

/* The reservation was not reported on the waiter connection. */
TEST(several_keys_a_reservation_not_known_to_be_ours_is_not_passed_on)
{
	struct rig r;

	for (int arrived = 0; arrived < 2; arrived++) {
		be_refused_the_second(&r, arrived);
		reply_with(&r, 1, about(1, told(VOTE_YES, BIGGER, 0)));
		reply_with(&r, 0, by_another());
		reply_with(&r, 2, by_another());
		CHECK_INT(r.lock.waiter.busy_key, 0);
		CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
	}
}

TEST(several_keys_only_its_own_reservation_is_retried)
{
	struct rig r;

	be_woken_for_the_second(&r);
	reply_with(&r, 0, about(1, reserved(60 * MS)));
	reply_with(&r, 1, about(1, reserved(60 * MS)));
	CHECK(!lock_is_pausing(&r.lock));
	be_woken_for_the_second(&r);
	reply_with(&r, 0, reserved(60 * MS));
	reply_with(&r, 1, reserved(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
}

/* Woken for one key, the client finds the other key's reservation unclaimed: it asks with both. */
TEST(several_keys_have_reservations_of_their_own)
{
	struct rig r;

	be_woken_for_the_second(&r);
	reply_with(&r, 0, told(VOTE_YES, "6666666666666666666666666666666666666666", 0));
	CHECK_TEXT(r.lock.waiter.turn[0], "6666666666666666666666666666666666666666");
	CHECK_TEXT(r.lock.waiter.turn[1], BIGGER);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 8);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
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
		CHECK_INT(r.lock.waiter.awaited, queue_node == 0 ? 1 : queue_node == 1 ? 2 : 0);
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
