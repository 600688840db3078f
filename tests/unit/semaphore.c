/* semaphore: the slots of a semaphore. */
#include "unit/rig.h"

/* The random bits choose slot 2 first. */
static void contend_for_slots(struct rig *r, int limit, usec wait)
{
	struct policy p = policy(3, wait);

	p.limit = limit;
	start_with(r, &p);
	r->lock.waiter.state = WAITER_OFF;
	r->random = (uint64_t)1 << 32;
	all_up(r);
	CHECK_INT(r->lock.stamp.slot, 2);
}

/* The slot is held. `slot` is free (0: none), and `soonest` is the time until the first slot
 * expires. */
static struct reply taken(int slot, usec soonest)
{
	struct reply a = held(HELD_FOR);

	a.slot = slot;
	a.soonest = soonest;
	return a;
}

static int last_slot(const struct rig *r, int node, enum op op)
{
	int slot = -1;

	for (int i = 0; i < r->up.count; i++)
		if (r->up.action[i].kind == ACT_SEND && r->up.action[i].node == node &&
			r->up.action[i].op == op)
			slot = r->up.action[i].slot;
	return slot;
}

/* In the queue, all slots taken. */
static void wait_for_slots(struct rig *r, int limit)
{
	contend_for_slots(r, limit, NEVER);
	all_say(r, taken(0, HELD_FOR));
	CHECK(lock_is_pausing(&r->lock));
	join(r, 0, ranked(0, taken(0, HELD_FOR)));
}

TEST(slots_another_that_is_free_is_tried_at_once)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	/* The queue node chooses the slot. */
	reply_with(&r, 0, taken(3, 0));
	reply_with(&r, 1, taken(1, 0));
	reply_with(&r, 2, taken(1, 0));
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(r.lock.stamp.attempt > 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
}

TEST(slots_if_the_queue_node_grants_it_the_others_name_one)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(0, 5 * MS));
	/* The pending release goes first, and names its own slot. */
	CHECK_INT(last_slot(&r, 0, OP_UNDO), 2);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK_INT(r.lock.stamp.attempt, 2);
	/* A slot above our limit is none, whatever a node says. */
	contend_for_slots(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, taken(4, 0));
	reply_with(&r, 2, taken(0, 5 * MS));
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.stamp.attempt, 2);
	CHECK_INT(r.lock.stamp.slot, 2);
}

TEST(slots_a_pending_release_names_its_own_slot)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	r.fake[0].silent = true;
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(3, 0));
	/* Without node 0, which has not answered, the others continue with slot 3. */
	pass(&r, 2 * MS);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK_INT(r.lock.peer[0].slot, 2);
	CHECK_INT(r.lock.stamp.attempt, 2);
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.peer[1].slot, 3);
	let_go(&r);
	CHECK_INT(last_slot(&r, 1, OP_HAND_OFF), 3);
}

/* The node did not know the script, and is told in the step in which the next attempt begins. */
TEST(slots_a_request_that_is_sent_again_has_the_token_of_its_attempt)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(3, 0));
	r.now += 2 * MS;
	reply_with(&r, 0, reply_absent(REASON_NO_SCRIPT, "NOSCRIPT No matching script."));
	CHECK_INT(r.lock.stamp.attempt, 2);
	CHECK_INT(r.fake[1].last.token, 2);
	CHECK_INT(r.fake[0].queue[0].op, OP_ACQUIRE);
	CHECK_INT(r.fake[0].queue[0].token, 1);
}

TEST(slots_a_client_that_does_not_wait_tries_free_ones)
{
	struct rig r;

	contend_for_slots(&r, 3, 0);
	all_say(&r, taken(3, 0));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(r.lock.stamp.slot, 3);
	all_say(&r, taken(0, HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* But not for longer than a node timeout. */
	contend_for_slots(&r, 3, 0);
	r.now = BEGIN + NODE_TIMEOUT + 1;
	all_say(&r, taken(3, 0));
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

TEST(slots_it_moves_so_often_and_then_pauses)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	for (int n = 0; n < 100 && !lock_is_pausing(&r.lock); n++)
		if (r.fake[n % 3].queued > 0)
			reply_with(&r, n % 3, taken(3, 0));
	CHECK_INT(r.lock.stamp.attempt, 9);
	CHECK(resume_at(&r) >= r.now + 20 * MS && resume_at(&r) < r.now + USEC_SEC);
	CHECK_INT(r.lock.waiter.tries, 1);
	all_say(&r, taken(3, 0));
	/* The next attempt tries the slot that was free. */
	join(&r, 0, ranked(1, taken(0, 20 * MS)));
	next_attempt(&r);
	CHECK_INT(r.lock.stamp.slot, 3);
}

/* The queue node may be the only one with the key of a client that is gone. */
TEST(slots_after_a_pause_one_that_any_node_names_is_tried)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 0, taken(0, HELD_FOR));
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(0, HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.stamp.attempt, 1);
	join(&r, 0, ranked(0, taken(0, HELD_FOR)));
	next_attempt(&r);
	CHECK_INT(r.lock.stamp.slot, 3);
}

TEST(slots_the_next_attempt_is_when_the_first_of_them_ends)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	join(&r, 0, ranked(0, taken(0, 500 * MS)));
	CHECK(resume_at(&r) >= r.now + 502 * MS && resume_at(&r) < r.now + 602 * MS);
}

TEST(slots_a_woken_waiter_takes_the_slot_of_the_wake_up)
{
	struct rig r;
	struct reply by_another = taken(0, HELD_FOR);

	wait_for_slots(&r, 3);
	wake(&r, 0, 0, wake_up_for(3));
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(r.lock.attempt.is_woken);
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(leaves(&r), 0);
	/* It was reserved by the join. */
	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	join(&r, 0, wake_up_for(1));
	CHECK_INT(r.lock.stamp.slot, 1);
	CHECK(r.lock.attempt.is_woken);
	/* The reservation is spent: the next attempt takes another slot. */
	memset(by_another.text, '7', TOKEN_ID_LEN);
	all_say(&r, by_another);
	join(&r, 0, ranked(0, by_another));
	next_attempt(&r);
	CHECK_INT(r.lock.stamp.slot, 2);
}

/* The client had asked for another slot when the wake-up arrived. */
static void be_woken_for_another(struct rig *r)
{
	wait_for_slots(r, 3);
	next_attempt(r);
	CHECK_INT(r->lock.stamp.slot, 2);
	wake(r, 0, 0, wake_up_for(3));
}

TEST(slots_a_reservation_of_another_slot_than_the_held_one_is_passed_on)
{
	struct rig r;

	be_woken_for_another(&r);
	fake_reply(&r, 1, VOTE_YES);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(leaves(&r), 0);
	/* when the connection is free */
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(leaves(&r), 1);
	CHECK_INT(r.fake[0].last.slot, 3);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
	/* Its reply settles nothing. */
	fake_reply(&r, 0, VOTE_YES);
	CHECK(r.lock.peer[0].pending);
	let_go(&r);
	CHECK_INT(r.fake[0].last.slot, 2);
	CHECK(!r.fake[0].last.is_leaving);
	/* The reservation of its own slot is used. */
	wait_for_slots(&r, 3);
	wake(&r, 0, 0, wake_up_for(3));
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(leaves(&r), 0);
}

/* The attempt moved on from the slot of the reservation, which is of no use now. */
TEST(slots_a_used_reservation_of_another_slot_is_passed_on)
{
	struct rig r;

	wait_for_slots(&r, 3);
	wake(&r, 0, 0, wake_up_for(3));
	CHECK_INT(r.lock.stamp.slot, 3);
	r.lock.stamp.slot = 1;
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(leaves(&r), 1);
	CHECK_INT(r.fake[0].last.slot, 3);
}

/* A reservation beyond our limit, too. */
TEST(slots_a_wake_up_for_no_slot_of_ours)
{
	struct rig r;

	wait_for_slots(&r, 2);
	wake(&r, 0, 0, wake_up_for(3));
	CHECK_INT(r.lock.stamp.attempt, 2);
	CHECK_INT(r.lock.stamp.slot, 2);
}

/* Another limit than ours: `left` until the last of its slots ends. */
static struct reply of_limit(int limit, usec left)
{
	struct reply a = taken(0, left);

	a.limit = limit;
	a.pttl = left;
	return a;
}

TEST(slots_of_another_limit_are_not_tried)
{
	struct rig r;

	contend_for_slots(&r, 3, 0);
	all_say(&r, of_limit(2, HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_other_limit(&r.lock), 2);
	/* The first waiter of our limit asks all nodes every second. */
	contend_for_slots(&r, 3, NEVER);
	all_say(&r, of_limit(2, HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	join(&r, 0, ranked(0, of_limit(2, HELD_FOR)));
	CHECK(resume_at(&r) >= r.now + USEC_SEC && resume_at(&r) <= r.now + USEC_SEC + 100 * MS);
	/* A plain lock has none. */
	r.lock.policy.limit = 1;
	CHECK_INT(lock_other_limit(&r.lock), 0);
}

/* Found by the simulator: the queue node has lost the holder's key, and a waiter with another limit
 * takes its vote again and again. */
TEST(slots_that_the_other_nodes_name_are_tried)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 0, of_limit(2, HELD_FOR));
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(3, 0));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK_INT(r.lock.stamp.attempt, 2);
}

TEST(slots_of_two_limits_split_the_votes)
{
	struct rig r;
	struct reply rival = of_limit(2, HELD_FOR);

	contend_for_slots(&r, 3, 0);
	memset(rival.text, 'f', TOKEN_ID_LEN);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, rival);
	r.fake[2].silent = true;
	pass(&r, NODE_TIMEOUT);
	/* Ours is the smaller token. */
	CHECK(r.lock.attempt.retry.count > 0);
}

/* A client that leaves the queue without a reservation names some slot. */
TEST(slots_a_waiter_that_leaves_names_a_slot)
{
	struct rig r;

	wait_for_slots(&r, 3);
	let_go(&r);
	CHECK(r.fake[0].last.is_leaving);
	CHECK_INT(r.fake[0].last.slot, 2);
}

/* Found by the simulator: a node has the key although it was not asked for it, because it is a
 * duplicate of another node. */
TEST(slots_a_key_that_was_only_extended_is_released_by_its_slot)
{
	struct rig r;
	struct policy p = policy(3, NEVER);

	p.limit = 3;
	start_with(&r, &p);
	r.random = (uint64_t)1 << 32;
	link_down(&r, 2, REASON_CLOSED);
	link_up(&r, 0);
	link_up(&r, 1);
	CHECK_INT(r.lock.stamp.slot, 2);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	wait_until(&r, resume_at(&r));
	link_up(&r, 2);
	votes(&r, "YYY");
	let_go(&r);
	CHECK_INT(last_slot(&r, 2, OP_HAND_OFF), 2);
}

TEST(slots_of_two_reservations_one_is_passed_on)
{
	struct rig r;

	/* The queue node has answered the attempt, and the connection is free. */
	be_woken_for_another(&r);
	reply_with(&r, 0, taken(0, HELD_FOR));
	wake(&r, 0, 0, wake_up_for(1));
	CHECK_INT(leaves(&r), 1);
	CHECK_INT(r.fake[0].last.slot, 3);
	CHECK_INT(r.lock.wakeup.slot, 1);
	/* The same slot: nothing to pass on. */
	be_woken_for_another(&r);
	reply_with(&r, 0, taken(0, HELD_FOR));
	wake(&r, 0, 0, wake_up_for(3));
	CHECK_INT(leaves(&r), 0);
}

TEST(slots_an_unused_reservation_is_passed_on_by_its_slot)
{
	struct rig r;

	be_woken_for_another(&r);
	let_go(&r);
	all_say(&r, taken(0, HELD_FOR));
	CHECK(r.fake[0].last.is_leaving);
	CHECK_INT(r.fake[0].last.slot, 3);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
}

/* Found by the simulator: the queue node has lost the keys of two slots, and the client asks for
 * each in turn. */
TEST(slots_reservations_that_fail_because_of_several_holders_wait_from_the_third_on)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	for (int tries = 1; tries <= 3; tries++) {
		struct reply holder = taken(0, HELD_FOR);

		memset(holder.text, tries % 2 ? 'e' : 'f', TOKEN_ID_LEN);
		fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 1, holder);
		reply_with(&r, 2, holder);
		CHECK(lock_is_pausing(&r.lock));
		fake_reply(&r, 0, VOTE_YES);
		join(&r, 0, wake_up_for(1 + tries % 2));
		CHECK(lock_is_pausing(&r.lock) == (tries == 3));
	}
	CHECK(resume_at(&r) > r.now);
}
