/* rivals: clients that split the votes. */
#include "unit/rig.h"

/* Each of three clients has one node; ours is the first. */
static void split(struct rig *r, usec wait, const char *second, const char *third)
{
	contend(r, 3, wait);
	r->now += MS;
	fake_reply(r, 0, VOTE_YES);
	reply_with(r, 1, told(VOTE_FOREIGN, second, HELD_FOR));
	reply_with(r, 2, told(VOTE_FOREIGN, third, HELD_FOR));
}

TEST(of_rivals_that_split_the_votes_the_smallest_token_retries)
{
	struct rig r;

	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	CHECK(!lock_is_pausing(&r.lock));
	CHECK_INT(sends(&r, OP_UNDO), 0);
	CHECK_INT(r.up.wake_at, r.now + MS);
	pass(&r, MS - 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	pass(&r, 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The validity counts from the first request. */
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
	/* A foreign holder does not give way, whatever its value is. */
	split(&r, NEVER, "1", BIGGER ":a");
	CHECK(!lock_is_pausing(&r.lock));
}

TEST(of_rivals_that_split_the_votes_the_others_undo)
{
	struct rig r;
	const char *const others[][2] = {{SMALLER ":a", BIGGER ":b"}, {BIGGER ":b", SMALLER ":a"}};

	for (int i = 0; i < 2; i++) {
		split(&r, NEVER, others[i][0], others[i][1]);
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
		CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	}
	/* A client without a vote does not retry. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":c", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
}

TEST(no_retry_if_a_majority_names_one_holder)
{
	struct rig r;

	split(&r, NEVER, BIGGER ":a", BIGGER ":a");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	/* nor if a foreign holder has the nodes needed for a majority */
	contend(&r, 3, NEVER);
	votes(&r, "Y.A");
	reply_with(&r, 1, told(VOTE_FOREIGN, "1", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
}

/* A node that is down names no holder: with a minority down, rivals split the other nodes. */
TEST(an_absent_node_is_not_counted_for_a_rival)
{
	struct rig r;

	contend(&r, 3, 0);
	votes(&r, "Y.A");
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* A node that does not answer, or is far away, is late after a quarter of the node timeout. */
TEST(rivals_hear_all_nodes_but_late_ones)
{
	struct rig r;

	/* a client that gives way, and a client that retries */
	for (int i = 0; i < 2; i++) {
		contend(&r, 3, 0);
		r.now += MS;
		fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 1, told(VOTE_FOREIGN, i ? BIGGER ":a" : SMALLER ":a", HELD_FOR));
		CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
		CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
		wait_until(&r, r.up.wake_at);
		CHECK_INT(lock_state(&r.lock), i ? LOCK_TRYING : LOCK_RELEASING);
	}
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* all nodes have answered: none is late */
	contend(&r, 5, 0);
	fake_reply(&r, 0, VOTE_YES);
	for (int i = 1; i < 4; i++) {
		reply_with(&r, i, told(VOTE_FOREIGN, i < 2 ? BIGGER ":a" : HUGE ":b", HELD_FOR));
		CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
		CHECK_INT(r.lock.attempt.retry.at, 0);
	}
	reply_with(&r, 4, told(VOTE_FOREIGN, SMALLER ":c", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	/* also when the nodes are asked again, after slow first replies */
	contend(&r, 5, 0);
	votes(&r, "YY");
	for (int i = 2; i < 4; i++)
		reply_with(&r, i, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 7);
	reply_with(&r, 2, told(VOTE_FOREIGN, SMALLER ":c", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* It was waited for once, for a quarter of the node timeout. */
TEST(a_retry_does_not_wait_again_for_a_silent_node)
{
	struct rig r;

	contend(&r, 5, 0);
	votes(&r, "YY");
	for (int i = 2; i < 4; i++)
		reply_with(&r, i, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
	wait_until(&r, r.up.wake_at);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 7);
	for (int i = 2; i < 4; i++)
		reply_with(&r, i, told(VOTE_FOREIGN, SMALLER ":c", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
}

/* Its answer to the whole script may decide for a client that would give way. */
TEST(rivals_wait_longer_for_a_node_that_did_not_know_the_script)
{
	struct rig r;
	usec took = NODE_TIMEOUT / 8, late_at;

	contend(&r, 3, 0);
	fake_reply(&r, 0, VOTE_YES);
	r.now += took;
	reply_with(&r, 2, reply_absent(REASON_NO_SCRIPT, "NOSCRIPT No matching script."));
	reply_with(&r, 1, told(VOTE_FOREIGN, SMALLER ":a", HELD_FOR));
	late_at = r.now + NODE_TIMEOUT / 4 + took;
	CHECK_INT(r.up.wake_at, late_at);
	wait_until(&r, late_at - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(of_readers_and_writers_that_split_the_votes_a_writer_retries)
{
	struct rig r;

	start(&r, 3, 0);
	r.lock.policy.is_shared = true;
	all_up(&r);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	/* also if the queue node does not answer */
	start(&r, 3, 0);
	r.lock.policy.is_shared = true;
	all_up(&r);
	fake_reply(&r, 1, VOTE_YES);
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":a", HELD_FOR));
	CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
}

/* The delay grows: a holder on unreachable nodes costs a node timeout, and few requests. */
TEST(rivals_retry_for_two_node_timeouts_and_then_hand_off)
{
	struct rig r;
	int asked = 0;

	split(&r, 0, BIGGER ":a", HUGE ":b");
	while (lock_state(&r.lock) == LOCK_TRYING) {
		wait_until(&r, r.up.wake_at);
		asked++;
		CHECK_INT(sends(&r, OP_ACQUIRE), 3 + 2 * asked);
		reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
		reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	}
	CHECK(r.now >= BEGIN + 2 * NODE_TIMEOUT && r.now <= BEGIN + NODE_TIMEOUT * 9 / 4);
	CHECK(asked >= 3 && asked <= 20);
	/* The rivals gave way to us: they wait for a wake-up. */
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(sends(&r, OP_UNDO), 0);
	/* A client that waits queues earlier. */
	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	for (asked = 0; !lock_is_pausing(&r.lock); asked++) {
		wait_until(&r, r.up.wake_at);
		reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
		reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	}
	CHECK_INT(asked, 3);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	/* If one of the rivals has a majority now, its release wakes the others. */
	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	wait_until(&r, r.up.wake_at);
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
}

/* The reservation of a hand-off would be for the next waiter. */
TEST(with_fair_a_rival_keeps_its_place_in_the_queue)
{
	struct policy p = policy(3, NEVER);
	struct rig r;

	p.is_fair = true;
	start_with(&r, &p);
	r.lock.waiter.state = WAITER_OFF;
	all_up(&r);
	fake_reply(&r, 0, VOTE_YES);
	for (int asked = 0; !lock_is_pausing(&r.lock); asked++) {
		reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
		reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
		if (!lock_is_pausing(&r.lock))
			wait_until(&r, r.up.wake_at);
	}
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK(r.fake[1].sends[OP_ACQUIRE] > 1);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}

TEST(rivals_retry_within_two_node_timeouts)
{
	struct rig r;

	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	r.now += NODE_TIMEOUT / 2;
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK_INT(r.up.wake_at, r.now + NODE_TIMEOUT / 4);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	r.now = BEGIN + 2 * NODE_TIMEOUT;
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	/* and not before the replies that are in flight have arrived */
	split(&r, NEVER, BIGGER ":a", HUGE ":b");
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, HUGE ":b", HELD_FOR));
	CHECK_INT(r.up.wake_at, BEGIN + 200);
	/* no node is left to ask */
	link_down(&r, 1, REASON_CLOSED);
	link_down(&r, 2, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	CHECK(lock_is_pausing(&r.lock));
}

TEST(a_client_that_gives_up_hands_off)
{
	struct rig r;

	split(&r, 0, SMALLER ":a", BIGGER ":b");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(sends(&r, OP_UNDO), 0);
}

TEST(a_woken_waiter_retries_while_the_release_is_on_its_way)
{
	struct rig r;
	usec began;

	enter_queue(&r, 3);
	wake(&r, 0, 0, wake_up());
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	CHECK(!lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[1].queued + r.fake[2].queued, 0);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].queued + r.fake[2].queued, 2);
	CHECK(!r.fake[1].last.overrides);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* the release never arrives: for a timeout, and more slowly each time */
	enter_queue(&r, 3);
	wake(&r, 0, 0, wake_up());
	began = r.now;
	for (int i = 0; i < 24 && !lock_is_pausing(&r.lock); i++) {
		for (int n = 0; n < 3; n++)
			reply_with(&r, n, held(HELD_FOR));
		CHECK_INT(lock_is_pausing(&r.lock), r.now >= began + NODE_TIMEOUT);
		if (!lock_is_pausing(&r.lock))
			wait_until(&r, r.up.wake_at);
	}
	CHECK(lock_is_pausing(&r.lock));
	CHECK(r.now <= began + NODE_TIMEOUT * 13 / 4);
	CHECK(sends(&r, OP_ACQUIRE) <= 3 + 22 * 3);
}

TEST(no_retry_without_a_release_on_its_way)
{
	struct rig r;
	struct reply no[] = {told(VOTE_FOREIGN, HUGE ":another", HELD_FOR),
		told(VOTE_FOREIGN, BIGGER, HELD_FOR)};

	/* another redlock, or a foreign holder */
	for (int i = 0; i < 2; i++) {
		enter_queue(&r, 3);
		wake(&r, 0, 0, wake_up());
		reply_with(&r, 0, no[i]);
		reply_with(&r, 1, no[i]);
		pass(&r, MS);
		CHECK(lock_is_pausing(&r.lock));
	}
	/* not woken */
	contend(&r, 3, NEVER);
	all_say(&r, held(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
}

TEST(a_reservation_is_overridden_if_the_queue_node_grants_the_key)
{
	struct rig r;

	for (int last = 0; last < 3; last++) {
		contend(&r, 3, 0);
		for (int n = 1; n <= 3; n++) {
			int i = (last + n) % 3;

			CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
			if (i == 0)
				fake_reply(&r, i, VOTE_YES);
			else
				reply_with(&r, i, reserved(60 * MS));
		}
		/* at once, and only where the key is reserved */
		CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
		CHECK_INT(sends(&r, OP_ACQUIRE), 5);
		CHECK(r.fake[1].last.overrides && r.fake[2].last.overrides);
		CHECK(!r.fake[0].last.overrides);
		CHECK_INT(r.now, BEGIN);
		fake_reply(&r, 1, VOTE_YES);
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	}
	/* The queue node refuses, too: another waiter is first. */
	for (int i = 0; i < 2; i++) {
		contend(&r, 3, 0);
		fake_reply(&r, 1, VOTE_YES);
		reply_with(
			&r, 0, i ? told(VOTE_FOREIGN, SMALLER ":a", HELD_FOR) : reserved(60 * MS));
		reply_with(&r, 2, reserved(60 * MS));
		CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	}
	/* A node that is asked again and again without effect. */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	for (int i = 0; i < 20 && !lock_is_pausing(&r.lock); i++) {
		reply_with(&r, 1, reserved(60 * MS));
		reply_with(&r, 2, reserved(60 * MS));
	}
	CHECK_INT(sends(&r, OP_ACQUIRE), 3 + 2 * 3);
	/* a look */
	look_with(&r, 3, 0);
	fake_reply(&r, 0, VOTE_GONE);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK(r.fake[1].last.overrides && r.fake[1].last.op == OP_LOOK);
	fake_reply(&r, 1, VOTE_GONE);
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
}
