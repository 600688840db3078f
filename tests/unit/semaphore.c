/* semaphore: the slots of a semaphore. */
#include "unit/rig.h"

/* ---- a semaphore ---- */

/* Slot 2 is drawn first. */
static void contend_for_slots(struct rig *r, int slots, usec wait)
{
	struct policy p = policy(3, wait);

	p.slots = slots;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	r->random = (uint64_t)1 << 32;
	all_up(r);
	CHECK_INT(r->lock.stamp.slot, 2);
}

/* Held, and that other slot is free (0: none), or ends soonest. */
static struct reply taken(int slot, usec soonest)
{
	struct reply a = held(HELD_FOR);

	a.slot = slot;
	a.soonest = soonest;
	return a;
}

static struct reply turn_for(int slot)
{
	struct reply a = turn();

	a.slot = slot;
	return a;
}

static int last_slot(const struct rig *r, int node, enum op op)
{
	int slot = -1;

	for (int i = 0; i < r->up.count; i++)
		if (r->up.action[i].kind == ACT_SEND &&
			connection_of(r, &r->up.action[i]) == node && r->up.action[i].op == op)
			slot = r->up.action[i].slot;
	return slot;
}

/* In line, all slots taken. */
static void wait_for_slots(struct rig *r, int slots)
{
	contend_for_slots(r, slots, NEVER);
	all_say(r, taken(0, HELD_FOR));
	CHECK(lock_is_pausing(&r->lock));
	link_up(r, 3);
	reply_with(r, 3, held(HELD_FOR));
	CHECK_INT(seat(r)->queue[0].op, OP_WAIT);
}

TEST(slots_another_that_is_free_is_tried_at_once)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 0, taken(3, 0));
	reply_with(&r, 1, taken(1, 0));
	reply_with(&r, 2, taken(1, 0));
	/* As the line sees it, and it is asked alone. */
	all_say(&r, taken(3, 0));
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(r.lock.stamp.attempt > 1);
	CHECK_INT(r.now, BEGIN);
}

TEST(slots_where_the_line_grants_it_the_others_name_one)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(0, 5 * MS));
	/* Paid first, at the slot that it is about. */
	CHECK_INT(last_slot(&r, 0, OP_UNDO), 2);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK_INT(r.lock.stamp.attempt, 2);
	/* What is not among ours is none of ours. */
	contend_for_slots(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, taken(4, 0));
	reply_with(&r, 2, taken(0, 5 * MS));
	CHECK(lock_is_pausing(&r.lock));
}

TEST(slots_an_earlier_debt_is_paid_where_it_is)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	r.fake[0].silent = true;
	reply_with(&r, 1, taken(3, 0));
	reply_with(&r, 2, taken(3, 0));
	/* Without node 0, which has not answered; the others go on with slot 3. */
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

TEST(slots_who_does_not_wait_tries_those_that_are_free)
{
	struct rig r;

	contend_for_slots(&r, 3, 0);
	all_say(&r, taken(3, 0));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(r.lock.stamp.slot, 3);
	all_say(&r, taken(0, HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* Not for much longer than that. */
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
	/* And that one is tried then. */
	next_attempt(&r);
	CHECK_INT(r.lock.stamp.slot, 3);
}

TEST(slots_the_next_attempt_is_when_the_first_of_them_ends)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, USEC_SEC));
	CHECK(resume_at(&r) >= r.now + USEC_SEC && resume_at(&r) < r.now + 2 * USEC_SEC);
	/* Though that is told by others than the line. */
	contend_for_slots(&r, 3, NEVER);
	reply_with(&r, 0, told(VOTE_ABSENT, "", 0));
	reply_with(&r, 1, taken(0, USEC_SEC));
	reply_with(&r, 2, taken(0, USEC_SEC));
	CHECK(resume_at(&r) >= r.now + USEC_SEC && resume_at(&r) < r.now + 2 * USEC_SEC);
	/* One that has no end is no reason to sleep for ever. */
	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, NEVER));
	CHECK(resume_at(&r) < r.now + 60 * USEC_SEC);
}

TEST(slots_who_is_woken_takes_that_one)
{
	struct rig r;

	wait_for_slots(&r, 3);
	reply_with(&r, 3, turn_for(3));
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(r.lock.waiter.used_turn);
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(slots_one_that_is_free_when_it_joins_is_tried)
{
	struct rig r;
	struct reply free_one = told(VOTE_YES, "", 0);

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	link_up(&r, 3);
	free_one.slot = 3;
	reply_with(&r, 3, free_one);
	CHECK_INT(r.lock.stamp.slot, 3);
	CHECK(!r.lock.waiter.used_turn);
	/* A turn that nobody came for. */
	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, turn_for(1));
	CHECK_INT(r.lock.stamp.slot, 1);
	CHECK(r.lock.waiter.used_turn);
}

/* It asked for another slot by itself when it was woken. */
static void be_woken_for_another(struct rig *r)
{
	wait_for_slots(r, 3);
	next_attempt(r);
	CHECK_INT(r->lock.stamp.slot, 2);
	reply_with(r, 3, turn_for(3));
}

TEST(slots_a_turn_for_another_than_is_held_is_passed_on)
{
	struct rig r;

	be_woken_for_another(&r);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	/* The seat is there until that is heard. */
	CHECK_INT(seat(&r)->link, LINK_UP);
	fake_reply(&r, 3, VOTE_YES);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	/* Its own is used. */
	wait_for_slots(&r, 3);
	reply_with(&r, 3, turn_for(3));
	all_say(&r, told(VOTE_YES, "", 0));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
}

/* Which one the pop behind it will be served for is not known. */
TEST(slots_who_was_told_its_turn_and_still_waits_passes_on_whatever_comes)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	all_say(&r, taken(0, HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, turn_for(2));
	CHECK(r.lock.waiter.is_woken && r.lock.waiter.waits);
	CHECK_INT(r.lock.stamp.slot, 2);
	let_go(&r);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 0);
}

/* While the limit is being raised, host by host. */
TEST(slots_a_turn_beyond_our_limit_is_passed_on)
{
	struct rig r;

	wait_for_slots(&r, 2);
	reply_with(&r, 3, turn_for(3));
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	CHECK(!r.lock.waiter.is_woken);
	CHECK(lock_is_pausing(&r.lock));
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(seat(&r)->queue[0].op, OP_JOIN);
	/* Within it, it is ours. */
	wait_for_slots(&r, 3);
	reply_with(&r, 3, turn_for(3));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	CHECK(r.lock.waiter.used_turn);
}

/* Found by the simulator: a node that has it though it was not asked for it, for it is another
 * node's server. */
TEST(slots_what_was_only_extended_is_given_back_by_its_slot)
{
	struct rig r;

	contend_for_slots(&r, 3, NEVER);
	link_down(&r, 2, REASON_CLOSED);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	wait_until(&r, resume_at(&r));
	link_up(&r, 2);
	votes(&r, "YYY");
	let_go(&r);
	CHECK_INT(last_slot(&r, 2, OP_HAND_OFF), r.lock.stamp.slot);
}

TEST(slots_of_two_turns_one_is_passed_on)
{
	struct rig r;

	be_woken_for_another(&r);
	reply_with(&r, 0, told(VOTE_YES, SMALLER, 0));
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	CHECK_INT(r.lock.waiter.turn_slot, 2);
	CHECK_TEXT(r.lock.waiter.turn[0], SMALLER);
	/* Where there is no seat by then, nobody can be told. */
	be_woken_for_another(&r);
	link_down(&r, 3, REASON_CLOSED);
	reply_with(&r, 0, told(VOTE_YES, SMALLER, 0));
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(slots_a_turn_that_is_not_used_is_handed_over_as_that)
{
	struct rig r;

	be_woken_for_another(&r);
	let_go(&r);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 3);
	/* It is not known which it may be woken for. */
	wait_for_slots(&r, 3);
	let_go(&r);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 0);
}

TEST(slots_a_holder_that_still_waits_has_its_wake_up_passed_on_by_the_node)
{
	struct rig r;

	wait_for_slots(&r, 3);
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_slot(&r, 3, OP_HAND_OFF), 0);
	CHECK(r.lock.waiter.waits);
	reply_with(&r, 3, turn_for(3));
	fake_reply(&r, 3, VOTE_YES);
	CHECK(!r.lock.waiter.is_woken);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}
