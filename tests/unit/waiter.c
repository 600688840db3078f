/* waiter: waiters in the queue of a key. */
#include "unit/rig.h"

/* ---- the line ---- */

TEST(a_waiter_takes_a_seat_at_the_first_in_order_that_answers)
{
	static const struct {
		const char *absent;
		int line;
	} cases[] = {{"", 2}, {"..A", 0}, {"A", 2}, {"A.A", 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;
		struct policy p = policy(5, NEVER);

		start_with(&r, &p);
		r.lock.waiter.is_refused = false;
		memcpy(r.lock.policy.order[0], (int[]){2, 0, 1, 4, 3}, 5 * sizeof(int));
		all_up(&r);
		CHECK_INT(seat(&r)->opens, 0);
		votes(&r, cases[i].absent);
		refuse(&r, HELD_FOR);
		CHECK_INT(seat(&r)->opens, 1);
		CHECK_INT(seat(&r)->line, cases[i].line);
	}
}

TEST(a_waiter_joins_and_waits_in_one_step)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->link, LINK_OPENING);
	CHECK_INT(seat(&r)->queued, 0);
	link_shakes(&r, 3);
	CHECK_INT(seat(&r)->queued, 0);
	link_up(&r, 3);
	CHECK_INT(seat(&r)->queued, 2);
	CHECK_INT(seat(&r)->queue[0].op, OP_JOIN);
	CHECK_INT(seat(&r)->queue[1].op, OP_WAIT);
	/* Once is enough. */
	reply_with(&r, 3, held(HELD_FOR));
	tick(&r);
	CHECK_INT(seat(&r)->sends[OP_JOIN] + seat(&r)->sends[OP_WAIT], 2);
}

TEST(who_need_not_wait_takes_no_seat)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->opens, 0);
	/* no time */
	contend(&r, 3, 0);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(seat(&r)->opens, 0);
	/* nobody to wait for */
	contend(&r, 3, NEVER);
	votes(&r, "AAY");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	CHECK_INT(seat(&r)->opens, 0);
}

TEST(the_place_is_kept_while_it_tries_again)
{
	struct rig r;

	wait_in_line(&r, 3);
	for (int i = 0; i < 5; i++) {
		next_attempt(&r);
		CHECK_INT(seat(&r)->queued, 1);
		refuse(&r, HELD_FOR);
	}
	CHECK_INT(seat(&r)->opens, 1);
	CHECK_INT(seat(&r)->sends[OP_JOIN], 1);
	CHECK_INT(seat(&r)->sends[OP_WAIT], 1);
}

TEST(the_seat_moves_when_an_earlier_node_answers_again)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "A");
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->line, 1);
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 0);
	CHECK_INT(seat(&r)->link, LINK_OPENING);
}

TEST(the_seat_moves_when_its_node_is_absent)
{
	struct rig r;

	wait_in_line(&r, 3);
	wait_until(&r, resume_at(&r));
	link_down(&r, 0, REASON_CONNECT);
	all_up(&r);
	/* The line is another one now, and asked first. */
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 1, held(HELD_FOR));
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 1);
}

/* It was taken for the line because it stood and was not late yet. */
TEST(a_silent_node_keeps_nobody_from_a_seat)
{
	struct rig r;

	contend(&r, 3, NEVER);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	CHECK_INT(seat(&r)->line, 0);
	r.now += 3 * MS;
	link_up(&r, 3);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(seat(&r)->opens, 2);
	CHECK_INT(seat(&r)->line, 1);
	link_up(&r, 3);
	CHECK_INT(seat(&r)->queued, 2);
}

/* What is heard while an attempt is under way is not lost when it fails. */
TEST(free_as_it_joins_in_the_midst_of_an_attempt_is_worth_another)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, 10 * MS);
	link_up(&r, 3);
	next_attempt(&r);
	CHECK(r.lock.waiter.joins);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	/* but one only */
	reply_with(&r, 0, held(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(resume_at(&r) >= r.now + HELD_FOR);
	/* and not where nobody can be asked */
	contend(&r, 3, NEVER);
	refuse(&r, 10 * MS);
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	fake_reply(&r, 0, VOTE_ABSENT);
	votes(&r, ".AA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(resume_at(&r) > r.now);
}

TEST(a_second_turn_is_not_lost_with_the_first)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, turn());
	CHECK(r.lock.waiter.used_turn && r.lock.waiter.waits);
	reply_with(&r, 3, told(VOTE_YES, SMALLER, 0));
	CHECK_TEXT(r.lock.waiter.turn[0], SMALLER);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* The first fails, and the second is tried and fails. */
	refuse(&r, HELD_FOR);
	CHECK_INT(sends(&r, OP_ACQUIRE), 9);
	CHECK(!r.lock.waiter.is_woken);
}

TEST(who_is_woken_asks_all_at_once)
{
	struct rig r;

	wait_in_line(&r, 5);
	pass(&r, 10 * MS);
	reply_with(&r, 5, turn());
	CHECK(r.up.new_token);
	CHECK_INT(sends(&r, OP_ACQUIRE), 10);
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	votes(&r, "YYYYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(a_turn_is_an_id_and_no_more)
{
	struct rig r;

	wait_in_line(&r, 1);
	reply_with(&r, 1, told(VOTE_YES, BIGGER BIGGER, 0));
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	wait_in_line(&r, 1);
	reply_with(&r, 1, told(VOTE_YES, "1", 0));
	CHECK_TEXT(r.lock.waiter.turn[0], "1");
}

/* A node that is slow to notice that a seat was closed wakes who is not there any more: our own
 * release would be heard by nobody. */
TEST(a_holder_that_was_not_woken_keeps_its_seat_and_passes_on_what_its_release_wakes)
{
	struct rig r;

	wait_in_line(&r, 3);
	next_attempt(&r);
	votes(&r, "Y");
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->link, LINK_UP);
	let_go(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

TEST(a_holder_that_was_woken_needs_no_seat)
{
	struct rig r;

	wait_in_line(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, BIGGER, 0));
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(who_is_not_woken_asks_the_line_first_and_the_rest_if_it_grants)
{
	struct rig r;

	wait_in_line(&r, 3);
	CHECK_INT(resume_at(&r), BEGIN + HELD_FOR + 2 * MS);
	next_attempt(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	votes(&r, ".Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(refused_by_the_line_asks_nobody_else_before_its_key_ends)
{
	struct rig r;
	struct reply no[] = {held(3 * USEC_SEC), reserved(60 * MS)};

	for (int i = 0; i < 2; i++) {
		wait_in_line(&r, 3);
		next_attempt(&r);
		reply_with(&r, 0, no[i]);
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
		CHECK_INT(resume_at(&r), r.now + no[i].pttl + 2 * MS);
		CHECK_INT(sends(&r, OP_ACQUIRE), 4);
		CHECK_INT(sends(&r, OP_UNDO), 1); /* of the first attempt */
	}
	/* All who wait for that moment do not come in step. */
	wait_in_line(&r, 3);
	next_attempt(&r);
	r.random = 99999;
	reply_with(&r, 0, held(USEC_SEC));
	CHECK_INT(resume_at(&r), r.now + USEC_SEC + 2 * MS + 99999);
}

TEST(a_line_that_does_not_decide_is_passed_over)
{
	struct rig r;
	struct reply no[] = {reply_absent(REASON_LOADING, NULL),
		told(VOTE_FOREIGN, "a stranger", USEC_SEC), held(NEVER)};

	for (int i = 0; i < 3; i++) {
		wait_in_line(&r, 3);
		next_attempt(&r);
		reply_with(&r, 0, no[i]);
		CHECK_INT(sends(&r, OP_ACQUIRE), 6);
		votes(&r, ".YY");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	}
	/* silent */
	wait_in_line(&r, 3);
	next_attempt(&r);
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* nobody else is there */
	wait_in_line(&r, 3);
	next_attempt(&r);
	link_down(&r, 1, REASON_CLOSED);
	link_down(&r, 2, REASON_CLOSED);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(strangers_wake_nobody_and_are_asked_again_soon)
{
	struct rig r;
	struct reply no[] = {told(VOTE_FOREIGN, "a stranger", HELD_FOR), held(NEVER)};

	for (int i = 0; i < 4; i++) {
		contend(&r, 3, NEVER);
		/* one is enough, the line or not */
		reply_with(&r, 0, i < 2 ? no[i] : held(HELD_FOR));
		reply_with(&r, 1, i < 2 ? held(HELD_FOR) : no[i - 2]);
		reply_with(&r, 2, held(HELD_FOR));
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	}
}

TEST(the_next_attempt_is_when_a_majority_can_grant_it)
{
	struct rig r;

	/* One has it, but not at the line. */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(3 * USEC_SEC));
	reply_with(&r, 2, held(2 * USEC_SEC));
	CHECK_INT(resume_at(&r), BEGIN + 2 * USEC_SEC + 2 * MS);
	contend(&r, 5, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(USEC_SEC));
	reply_with(&r, 2, held(3 * USEC_SEC));
	reply_with(&r, 3, held(2 * USEC_SEC));
	CHECK_INT(resume_at(&r), BEGIN + 2 * USEC_SEC + 2 * MS);
	/* not sooner than others would */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(5 * MS));
	reply_with(&r, 2, held(5 * MS));
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
}

TEST(a_turn_that_comes_during_an_attempt_is_for_the_next)
{
	struct rig r;
	uint32_t round;

	wait_in_line(&r, 3);
	next_attempt(&r);
	round = r.lock.stamp.round;
	reply_with(&r, 3, turn());
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(r.lock.stamp.round, round + 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 7);
	/* It is used up now. */
	reply_with(&r, 0, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.waiter.is_woken);
	CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
	CHECK_INT(seat(&r)->opens, 1);
	CHECK_INT(seat(&r)->sends[OP_JOIN], 2);
	CHECK_INT(seat(&r)->sends[OP_WAIT], 2);
}

TEST(a_turn_lasts_through_an_attempt_that_had_no_quorum)
{
	struct rig r;

	wait_in_line(&r, 3);
	reply_with(&r, 3, turn());
	votes(&r, "AA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.waiter.is_woken);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	fake_reply(&r, 2, VOTE_YES);
	votes(&r, "YYY");
	next_attempt(&r);
	CHECK(r.lock.waiter.used_turn);
}

TEST(a_turn_not_used_at_the_end_is_handed_over_from_the_seat)
{
	struct rig r;

	wait_in_line(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, turn());
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	finish(&r);
	/* at the deadline as well */
	wait_in_line_for(&r, 3, USEC_SEC / 2);
	wait_until(&r, BEGIN + USEC_SEC / 2);
	reply_with(&r, 3, turn());
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	for (int i = 0; i < 3; i++)
		reply_with(&r, i, held(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	/* and its answer changes nothing */
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK(!r.lock.waiter.is_refused);
}

/* The wake-up may be on its way: behind the blocked pop, the last word is heard only if it is. */
TEST(a_turn_that_comes_as_we_leave_is_handed_over)
{
	struct rig r;

	/* still waiting */
	wait_in_line(&r, 3);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	CHECK_INT(seat(&r)->queue[0].op, OP_WAIT);
	CHECK_INT(seat(&r)->queue[1].op, OP_HAND_OFF);
	/* no way to say it */
	wait_in_line(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, turn());
	link_down(&r, 3, REASON_CLOSED);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

TEST(free_when_it_joins_is_worth_an_attempt_but_one_only)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	/* free at the line: nobody said that it is our turn */
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
	link_down(&r, 3, REASON_CLOSED);
	next_attempt(&r);
	reply_with(&r, 0, held(HELD_FOR));
	/* free again, and refused again? */
	link_up(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	/* A turn tells that things have changed. */
	reply_with(&r, 3, turn());
	CHECK(!r.lock.waiter.was_free);
}

/* A majority refused us before the line did; what is there may be a dead one's. */
TEST(a_key_of_the_line_that_ends_before_the_others_is_not_slept_over)
{
	static const struct {
		usec left, resume_in;
	} cases[] = {
		{50 * MS, 52 * MS}, {2 * HELD_FOR, HELD_FOR + 2 * MS}, {NEVER, HELD_FOR + 2 * MS}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		contend(&r, 3, NEVER);
		reply_with(&r, 1, held(HELD_FOR));
		reply_with(&r, 2, held(HELD_FOR));
		CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
		link_up(&r, 3);
		reply_with(&r, 3, told(VOTE_FOREIGN, HUGE ":another", cases[i].left));
		CHECK_INT(resume_at(&r), r.now + cases[i].resume_in);
	}
}

TEST(a_turn_ends_the_patience_of_many_failures)
{
	for (int woken = 0; woken < 2; woken++) {
		struct rig r;

		wait_in_line(&r, 3);
		for (int i = 0; i < 4; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
		}
		if (woken) {
			reply_with(&r, 3, turn());
			all_up(&r);
			for (int i = 0; i < 2; i++)
				reply_with(&r, i, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
		}
		link_down(&r, 3, REASON_CLOSED);
		CHECK_INT(resume_at(&r), r.now + (woken ? 20 : 40) * MS);
	}
}

TEST(a_seat_that_breaks_during_an_attempt_is_taken_again_after_it)
{
	struct rig r;

	wait_in_line(&r, 3);
	next_attempt(&r);
	link_down(&r, 3, REASON_CLOSED);
	CHECK_INT(seat(&r)->opens, 1);
	CHECK(!lock_is_pausing(&r.lock));
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(seat(&r)->opens, 2);
	link_up(&r, 3);
	CHECK_INT(seat(&r)->queued, 2);
}

TEST(a_turn_that_nobody_came_for_is_for_who_joins)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, turn());
	CHECK(r.lock.waiter.used_turn);
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
}

TEST(a_seat_that_cannot_be_had_in_time_is_given_up_and_asked_for_soon)
{
	struct rig r;

	/* it does not connect */
	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(seat(&r)->link, LINK_OPENING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->opens, 2);
	/* it does not answer */
	r.now += MS;
	link_up(&r, 3);
	wait_until(&r, r.now + NODE_TIMEOUT);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	/* it refuses to be connected to, or the connection breaks */
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	link_down(&r, 3, REASON_CONNECT);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	CHECK_INT(seat(&r)->link, LINK_DOWN);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	link_down(&r, 3, REASON_CLOSED);
	CHECK_INT(resume_at(&r), r.now + 40 * MS);
	CHECK_INT(seat(&r)->opens, 4);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(seat(&r)->opens, 5);
	CHECK(!r.lock.waiter.is_refused);
}

TEST(who_waits_is_not_late)
{
	struct rig r;

	wait_in_line(&r, 3);
	wait_until(&r, BEGIN + HELD_FOR);
	CHECK_INT(seat(&r)->link, LINK_UP);
	CHECK_INT(seat(&r)->queued, 1);
}

TEST(who_may_not_wait_is_told_once_and_polls)
{
	for (int waits = 0; waits < 2; waits++) {
		struct rig r;

		contend(&r, 3, NEVER);
		refuse(&r, HELD_FOR);
		link_up(&r, 3);
		if (waits)
			reply_with(&r, 3, held(HELD_FOR));
		reply_with(&r, 3, reply_absent(REASON_NOPERM, "NOPERM"));
		CHECK(r.lock.waiter.is_refused);
		CHECK_INT(r.lock.waiter.trouble.reason, REASON_NOPERM);
		CHECK_INT(r.lock.waiter.node, 0);
		CHECK_INT(seat(&r)->link, LINK_DOWN);
		CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
		for (int i = 0; i < 3; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
			CHECK_INT(resume_at(&r), r.now + (i < 2 ? 20 : 40) * MS);
		}
		CHECK_INT(seat(&r)->opens, 1);
	}
}

TEST(only_the_seat_is_kept_for_longer_than_a_second)
{
	struct rig r;

	wait_in_line(&r, 3);
	wait_until(&r, BEGIN + USEC_SEC - 1);
	for (int i = 0; i < 4; i++)
		CHECK_INT(r.fake[i].link, LINK_UP);
	wait_until(&r, BEGIN + USEC_SEC);
	for (int i = 0; i < 3; i++)
		CHECK_INT(r.fake[i].link, LINK_DOWN);
	CHECK_INT(seat(&r)->link, LINK_UP);
	/* Woken, it connects first. */
	reply_with(&r, 3, turn());
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* What is under way is not cut off. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, held(HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	wait_until(&r, BEGIN + USEC_SEC);
	CHECK_INT(r.fake[0].link, LINK_DOWN);
	CHECK_INT(r.fake[2].link, LINK_UP);
}

TEST(the_line_has_its_last_attempt_at_the_deadline_and_at_all_nodes)
{
	struct rig r;

	wait_in_line_for(&r, 3, USEC_SEC / 2);
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC / 2);
	next_attempt(&r);
	CHECK_INT(r.now, BEGIN + USEC_SEC / 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

TEST(a_turn_that_nobody_came_for_opens_the_other_nodes)
{
	struct rig r;

	for (int is_last = 0; is_last < 2; is_last++) {
		contend(&r, 3, NEVER);
		if (!is_last)
			reply_with(&r, 0, turn());
		reply_with(&r, 1, reserved(60 * MS));
		reply_with(&r, 2, reserved(60 * MS));
		CHECK(!lock_is_pausing(&r.lock));
		if (is_last)
			reply_with(&r, 0, turn());
		CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
		CHECK(!lock_is_pausing(&r.lock));
		wait_until(&r, r.up.wake_at);
		votes(&r, ".Y");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK(!r.lock.waiter.is_woken);
	}
}

TEST(whether_a_turn_is_somebodys_the_line_is_asked_for_a_while)
{
	struct rig r;

	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, r.now + r.lock.policy.node_timeout / 4);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* It says so. */
	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 0, reserved(60 * MS));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* Without it, the next one is the line, which has spoken. */
	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 0, VOTE_ABSENT);
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

TEST(the_line_tells_whether_others_wait)
{
	struct rig r;
	struct reply awaited = {.vote = VOTE_YES, .awaited = 1};

	for (int line = 0; line < 3; line++) {
		contend(&r, 3, NEVER);
		memcpy(r.lock.policy.order[0], (int[]){1, 0, 2}, 3 * sizeof(int));
		for (int i = 0; i < 3; i++)
			if (i == line)
				reply_with(&r, i, awaited);
			else
				fake_reply(&r, i, VOTE_YES);
		CHECK_INT(r.lock.waiter.awaited, line == 1);
	}
	/* Each extension tells it anew. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, awaited);
	votes(&r, ".YY");
	CHECK(r.lock.waiter.awaited);
	next_round(&r);
	CHECK(!r.lock.waiter.awaited);
	reply_with(&r, 0, awaited);
	CHECK(r.lock.waiter.awaited);
	/* When the line is absent, it is another one. */
	next_round(&r);
	votes(&r, "A");
	reply_with(&r, 1, awaited);
	CHECK(r.lock.waiter.awaited);
	/* Whoever refuses tells nothing. */
	contend(&r, 3, NEVER);
	awaited.vote = VOTE_FOREIGN;
	reply_with(&r, 0, awaited);
	CHECK(!r.lock.waiter.awaited);
}

static void contend_fairly(struct rig *r, usec wait)
{
	struct policy p = policy(3, wait);

	p.is_fair = true;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	all_up(r);
}

TEST(fair_hears_everybody_before_a_majority_counts)
{
	struct rig r;

	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The silent have the node time-out. */
	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Nobody is the line. */
	contend_fairly(&r, NEVER);
	votes(&r, "AAA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(fair_lets_others_pass_though_a_majority_would_grant_it)
{
	struct rig r;

	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	reply_with(&r, 0, reserved(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(sends(&r, OP_UNDO), 2);
	CHECK_INT(resume_at(&r), BEGIN + 62 * MS);
	CHECK_INT(seat(&r)->line, 0);
	/* the line only, and only a turn */
	contend_fairly(&r, NEVER);
	reply_with(&r, 1, reserved(60 * MS));
	votes(&r, "Y.Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	contend_fairly(&r, NEVER);
	reply_with(&r, 0, held(60 * MS));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Who does not ask for it does not mind. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, reserved(60 * MS));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* ---- who only looks ---- */

TEST(who_only_looks_is_done_when_a_majority_is_free)
{
	static const struct {
		const char *letters;
		enum refusal refusal;
	} cases[] = {{"GGG", REFUSAL_NONE}, {"FGG", REFUSAL_NONE}, {"AGG", REFUSAL_NONE},
		{"FFG", REFUSAL_BUSY}, {"FFF", REFUSAL_BUSY}, {"FAF", REFUSAL_BUSY},
		{"AFG", REFUSAL_BUSY}, {"AAG", REFUSAL_NO_QUORUM}, {"AAF", REFUSAL_NO_QUORUM}};
	struct rig r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		look_with(&r, 3, 0);
		for (int n = 0; n < 3 && lock_state(&r.lock) == LOCK_TRYING; n++)
			votes(&r, (char[]){n == 0 ? cases[i].letters[0] : '.',
					  n == 1 ? cases[i].letters[1] : '.',
					  n == 2 ? cases[i].letters[2] : '.', '\0'});
		pass(&r, NODE_TIMEOUT);
		unit_check(lock_state(&r.lock) == LOCK_OVER && r.lock.refusal == cases[i].refusal,
			__FILE__, __LINE__, "%s: state %d, refusal %d", cases[i].letters,
			(int)lock_state(&r.lock), (int)r.lock.refusal);
		/* Nothing was taken, nothing is owed. */
		CHECK_INT(sends(&r, OP_UNDO) + sends(&r, OP_HAND_OFF), 0);
	}
}

TEST(who_only_looks_passes_on_the_turn_that_it_was_told_of)
{
	static const char *const replies[] = {"GG", ".GG"};
	struct rig r;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		look_and_be_woken(&r, held(HELD_FOR));
		CHECK(r.lock.waiter.used_turn && r.lock.waiter.waits);
		votes(&r, replies[i]);
		CHECK_INT(r.lock.refusal, REFUSAL_NONE);
		CHECK(lock_state(&r.lock) == LOCK_RELEASING || lock_state(&r.lock) == LOCK_OVER);
		CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
		CHECK_INT(sends(&r, OP_HAND_OFF), 1);
		CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	}
	/* No way to say it. */
	look_and_be_woken(&r, held(HELD_FOR));
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".GG");
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}
