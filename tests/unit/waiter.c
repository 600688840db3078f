/* waiter: waiters in the queue of a key. */
#include "unit/rig.h"

/* ---- the queue ---- */

TEST(a_waiter_queues_at_the_first_node_in_order_that_answers)
{
	static const struct {
		const char *absent;
		int queue_node;
	} cases[] = {{"", 2}, {"..A", 0}, {"A", 2}, {"A.A", 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;
		struct policy p = policy(5, NEVER);

		start_with(&r, &p);
		r.lock.waiter.is_refused = false;
		memcpy(r.lock.policy.order[0], (int[]){2, 0, 1, 4, 3}, 5 * sizeof(int));
		all_up(&r);
		CHECK_INT(waiter_fake(&r)->opens, 0);
		votes(&r, cases[i].absent);
		refuse(&r, HELD_FOR);
		CHECK_INT(waiter_fake(&r)->opens, 1);
		CHECK_INT(waiter_fake(&r)->node, cases[i].queue_node);
	}
}

TEST(a_waiter_joins_and_waits_in_one_step)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	CHECK_INT(waiter_fake(&r)->link, LINK_OPENING);
	CHECK_INT(waiter_fake(&r)->queued, 0);
	link_shakes(&r, 3);
	CHECK_INT(waiter_fake(&r)->queued, 0);
	link_up(&r, 3);
	CHECK_INT(waiter_fake(&r)->queued, 2);
	CHECK_INT(waiter_fake(&r)->queue[0].op, OP_JOIN);
	CHECK_INT(waiter_fake(&r)->queue[1].op, OP_WAIT);
	/* Once is enough. */
	reply_with(&r, 3, held(HELD_FOR));
	tick(&r);
	CHECK_INT(waiter_fake(&r)->sends[OP_JOIN] + waiter_fake(&r)->sends[OP_WAIT], 2);
}

TEST(a_client_that_need_not_wait_does_not_queue)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(waiter_fake(&r)->opens, 0);
	/* no time */
	contend(&r, 3, 0);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(waiter_fake(&r)->opens, 0);
	/* no holder to wait for */
	contend(&r, 3, NEVER);
	votes(&r, "AAY");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	CHECK_INT(waiter_fake(&r)->opens, 0);
}

TEST(a_waiter_keeps_its_place_while_it_tries_again)
{
	struct rig r;

	enter_queue(&r, 3);
	for (int i = 0; i < 5; i++) {
		next_attempt(&r);
		CHECK_INT(waiter_fake(&r)->queued, 1);
		refuse(&r, HELD_FOR);
	}
	CHECK_INT(waiter_fake(&r)->opens, 1);
	CHECK_INT(waiter_fake(&r)->sends[OP_JOIN], 1);
	CHECK_INT(waiter_fake(&r)->sends[OP_WAIT], 1);
}

TEST(a_waiter_moves_when_an_earlier_node_answers_again)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "A");
	refuse(&r, HELD_FOR);
	CHECK_INT(waiter_fake(&r)->node, 1);
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(waiter_fake(&r)->opens, 2);
	CHECK_INT(waiter_fake(&r)->node, 0);
	CHECK_INT(waiter_fake(&r)->link, LINK_OPENING);
}

TEST(a_waiter_moves_when_the_queue_node_is_absent)
{
	struct rig r;

	enter_queue(&r, 3);
	wait_until(&r, resume_at(&r));
	link_down(&r, 0, REASON_CONNECT);
	all_up(&r);
	/* The queue node is another one now, and is asked first. */
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 1, held(HELD_FOR));
	CHECK_INT(waiter_fake(&r)->opens, 2);
	CHECK_INT(waiter_fake(&r)->node, 1);
}

/* Node 0 counted as the queue node because it was connected and not late yet. */
TEST(a_silent_node_keeps_no_waiter_from_queueing)
{
	struct rig r;

	contend(&r, 3, NEVER);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	CHECK_INT(waiter_fake(&r)->node, 0);
	r.now += 3 * MS;
	link_up(&r, 3);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(waiter_fake(&r)->opens, 2);
	CHECK_INT(waiter_fake(&r)->node, 1);
	link_up(&r, 3);
	CHECK_INT(waiter_fake(&r)->queued, 2);
}

/* A reply that arrives during an attempt is not lost when the attempt fails. */
TEST(free_at_the_join_during_an_attempt_is_worth_another)
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
	/* and not without a quorum */
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

TEST(a_second_wake_up_is_not_lost_with_the_first)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, wake_up());
	CHECK(r.lock.waiter.used_turn && r.lock.waiter.waits);
	reply_with(&r, 3, told(VOTE_YES, SMALLER, 0));
	CHECK_TEXT(r.lock.waiter.turn[0], SMALLER);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* The first fails, and the second is tried and fails. */
	refuse(&r, HELD_FOR);
	CHECK_INT(sends(&r, OP_ACQUIRE), 9);
	CHECK(!r.lock.waiter.is_woken);
}

TEST(a_woken_waiter_asks_all_nodes_at_once)
{
	struct rig r;

	enter_queue(&r, 5);
	pass(&r, 10 * MS);
	reply_with(&r, 5, wake_up());
	CHECK(r.up.new_token);
	CHECK_INT(sends(&r, OP_ACQUIRE), 10);
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	votes(&r, "YYYYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(a_wake_up_is_an_id_and_no_more)
{
	struct rig r;

	enter_queue(&r, 1);
	reply_with(&r, 1, told(VOTE_YES, BIGGER BIGGER, 0));
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	enter_queue(&r, 1);
	reply_with(&r, 1, told(VOTE_YES, "1", 0));
	CHECK_TEXT(r.lock.waiter.turn[0], "1");
}

/* A node that is slow to notice a closed waiter connection wakes a client that has left: the wake-
 * up of our own release would be lost. */
TEST(a_holder_that_was_not_woken_stays_queued_and_passes_on_the_wake_up_of_its_release)
{
	struct rig r;

	enter_queue(&r, 3);
	next_attempt(&r);
	votes(&r, "Y");
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(waiter_fake(&r)->link, LINK_UP);
	let_go(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
}

TEST(a_holder_that_was_woken_leaves_the_queue)
{
	struct rig r;

	enter_queue(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, BIGGER, 0));
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(waiter_fake(&r)->link, LINK_DOWN);
	let_go(&r);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
}

TEST(a_waiter_asks_the_queue_node_first_and_the_rest_if_it_grants)
{
	struct rig r;

	enter_queue(&r, 3);
	CHECK_INT(resume_at(&r), BEGIN + HELD_FOR + 2 * MS);
	next_attempt(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	votes(&r, ".Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(refused_by_the_queue_node_asks_no_other_before_its_key_ends)
{
	struct rig r;
	struct reply no[] = {held(3 * USEC_SEC), reserved(60 * MS)};

	for (int i = 0; i < 2; i++) {
		enter_queue(&r, 3);
		next_attempt(&r);
		reply_with(&r, 0, no[i]);
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
		CHECK_INT(resume_at(&r), r.now + no[i].pttl + 2 * MS);
		CHECK_INT(sends(&r, OP_ACQUIRE), 4);
		CHECK_INT(sends(&r, OP_UNDO), 1); /* of the first attempt */
	}
	/* Clients that wait for that moment do not retry at the same time. */
	enter_queue(&r, 3);
	next_attempt(&r);
	r.random = 99999;
	reply_with(&r, 0, held(USEC_SEC));
	CHECK_INT(resume_at(&r), r.now + USEC_SEC + 2 * MS + 99999);
}

TEST(a_queue_node_that_does_not_decide_is_passed_over)
{
	struct rig r;
	struct reply no[] = {reply_absent(REASON_LOADING, NULL),
		told(VOTE_FOREIGN, "a stranger", USEC_SEC), held(NEVER)};

	for (int i = 0; i < 3; i++) {
		enter_queue(&r, 3);
		next_attempt(&r);
		reply_with(&r, 0, no[i]);
		CHECK_INT(sends(&r, OP_ACQUIRE), 6);
		votes(&r, ".YY");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	}
	/* silent */
	enter_queue(&r, 3);
	next_attempt(&r);
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* no other node is connected */
	enter_queue(&r, 3);
	next_attempt(&r);
	link_down(&r, 1, REASON_CLOSED);
	link_down(&r, 2, REASON_CLOSED);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

TEST(foreign_holders_wake_no_waiter_so_the_waiter_retries_soon)
{
	struct rig r;
	struct reply no[] = {told(VOTE_FOREIGN, "a stranger", HELD_FOR), held(NEVER)};

	for (int i = 0; i < 4; i++) {
		contend(&r, 3, NEVER);
		/* one is enough, the queue node or not */
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

	/* One client has a majority, but not the queue node. */
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
	/* not sooner than a polling client */
	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, held(5 * MS));
	reply_with(&r, 2, held(5 * MS));
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
}

TEST(a_wake_up_during_an_attempt_is_for_the_next)
{
	struct rig r;
	uint32_t round;

	enter_queue(&r, 3);
	next_attempt(&r);
	round = r.lock.stamp.round;
	reply_with(&r, 3, wake_up());
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(r.lock.stamp.round, round + 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 7);
	/* The reservation has been used. */
	reply_with(&r, 0, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
	reply_with(&r, 1, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.waiter.is_woken);
	CHECK_INT(resume_at(&r), r.now + HELD_FOR + 2 * MS);
	CHECK_INT(waiter_fake(&r)->opens, 1);
	CHECK_INT(waiter_fake(&r)->sends[OP_JOIN], 2);
	CHECK_INT(waiter_fake(&r)->sends[OP_WAIT], 2);
}

TEST(a_reservation_lasts_through_an_attempt_without_quorum)
{
	struct rig r;

	enter_queue(&r, 3);
	reply_with(&r, 3, wake_up());
	votes(&r, "AA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.waiter.is_woken);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	fake_reply(&r, 2, VOTE_YES);
	votes(&r, "YYY");
	next_attempt(&r);
	CHECK(r.lock.waiter.used_turn);
}

TEST(an_unused_reservation_is_handed_off_by_the_waiter_connection)
{
	struct rig r;

	enter_queue(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, wake_up());
	let_go(&r);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	finish(&r);
	/* at the deadline as well */
	enter_queue_for(&r, 3, USEC_SEC / 2);
	wait_until(&r, BEGIN + USEC_SEC / 2);
	reply_with(&r, 3, wake_up());
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
	for (int i = 0; i < 3; i++)
		reply_with(&r, i, held(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	/* and the reply changes nothing */
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK(!r.lock.waiter.is_refused);
}

/* A wake-up may be on its way. The node reads a hand-off after OP_WAIT only if it has sent one. */
TEST(a_wake_up_that_arrives_as_we_leave_is_handed_off)
{
	struct rig r;

	/* still waiting */
	enter_queue(&r, 3);
	let_go(&r);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	CHECK_INT(waiter_fake(&r)->queue[0].op, OP_WAIT);
	CHECK_INT(waiter_fake(&r)->queue[1].op, OP_HAND_OFF);
	/* no connection for the hand-off */
	enter_queue(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, wake_up());
	link_down(&r, 3, REASON_CLOSED);
	let_go(&r);
	CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 0);
}

TEST(free_at_the_join_is_worth_an_attempt_but_one_only)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	/* free at the queue node, but not reserved for us */
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
	/* A wake-up says that the state has changed. */
	reply_with(&r, 3, wake_up());
	CHECK(!r.lock.waiter.was_free);
}

/* A majority refused us before the queue node did; its key may belong to a dead client. */
TEST(the_next_attempt_is_when_the_key_of_the_queue_node_ends_if_that_is_first)
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

TEST(a_wake_up_resets_the_delay_after_failures)
{
	for (int woken = 0; woken < 2; woken++) {
		struct rig r;

		enter_queue(&r, 3);
		for (int i = 0; i < 4; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
		}
		if (woken) {
			reply_with(&r, 3, wake_up());
			all_up(&r);
			for (int i = 0; i < 2; i++)
				reply_with(&r, i, told(VOTE_FOREIGN, HUGE ":another", HELD_FOR));
		}
		link_down(&r, 3, REASON_CLOSED);
		CHECK_INT(resume_at(&r), r.now + (woken ? 20 : 40) * MS);
	}
}

TEST(a_waiter_connection_that_breaks_during_an_attempt_is_opened_again_after_it)
{
	struct rig r;

	enter_queue(&r, 3);
	next_attempt(&r);
	link_down(&r, 3, REASON_CLOSED);
	CHECK_INT(waiter_fake(&r)->opens, 1);
	CHECK(!lock_is_pausing(&r.lock));
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(waiter_fake(&r)->opens, 2);
	link_up(&r, 3);
	CHECK_INT(waiter_fake(&r)->queued, 2);
}

TEST(an_unclaimed_reservation_is_for_the_client_that_joins)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	reply_with(&r, 3, wake_up());
	CHECK(r.lock.waiter.used_turn);
	CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
}

TEST(a_waiter_connection_that_is_late_is_given_up_and_retried_soon)
{
	struct rig r;

	/* it does not connect */
	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(waiter_fake(&r)->link, LINK_OPENING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(waiter_fake(&r)->link, LINK_DOWN);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(waiter_fake(&r)->opens, 2);
	/* it does not answer */
	r.now += MS;
	link_up(&r, 3);
	wait_until(&r, r.now + NODE_TIMEOUT);
	CHECK_INT(waiter_fake(&r)->link, LINK_DOWN);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	/* it refuses the connection, or the connection breaks */
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	link_down(&r, 3, REASON_CONNECT);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	CHECK_INT(waiter_fake(&r)->link, LINK_DOWN);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	link_up(&r, 3);
	link_down(&r, 3, REASON_CLOSED);
	CHECK_INT(resume_at(&r), r.now + 40 * MS);
	CHECK_INT(waiter_fake(&r)->opens, 4);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	CHECK_INT(waiter_fake(&r)->opens, 5);
	CHECK(!r.lock.waiter.is_refused);
}

TEST(a_blocked_waiter_is_not_late)
{
	struct rig r;

	enter_queue(&r, 3);
	wait_until(&r, BEGIN + HELD_FOR);
	CHECK_INT(waiter_fake(&r)->link, LINK_UP);
	CHECK_INT(waiter_fake(&r)->queued, 1);
}

TEST(a_client_without_permission_to_wait_polls)
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
		CHECK_INT(waiter_fake(&r)->link, LINK_DOWN);
		CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
		for (int i = 0; i < 3; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
			CHECK_INT(resume_at(&r), r.now + (i < 2 ? 20 : 40) * MS);
		}
		CHECK_INT(waiter_fake(&r)->opens, 1);
	}
}

TEST(only_the_waiter_connection_is_kept_for_longer_than_a_second)
{
	struct rig r;

	enter_queue(&r, 3);
	wait_until(&r, BEGIN + USEC_SEC - 1);
	for (int i = 0; i < 4; i++)
		CHECK_INT(r.fake[i].link, LINK_UP);
	wait_until(&r, BEGIN + USEC_SEC);
	for (int i = 0; i < 3; i++)
		CHECK_INT(r.fake[i].link, LINK_DOWN);
	CHECK_INT(waiter_fake(&r)->link, LINK_UP);
	/* A woken client connects first. */
	reply_with(&r, 3, wake_up());
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* A request in flight keeps its connection. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, held(HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	wait_until(&r, BEGIN + USEC_SEC);
	CHECK_INT(r.fake[0].link, LINK_DOWN);
	CHECK_INT(r.fake[2].link, LINK_UP);
}

TEST(a_waiter_has_its_last_attempt_at_the_deadline_and_at_all_nodes)
{
	struct rig r;

	enter_queue_for(&r, 3, USEC_SEC / 2);
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC / 2);
	next_attempt(&r);
	CHECK_INT(r.now, BEGIN + USEC_SEC / 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

TEST(an_unclaimed_reservation_opens_the_other_nodes)
{
	struct rig r;

	for (int is_last = 0; is_last < 2; is_last++) {
		contend(&r, 3, NEVER);
		if (!is_last)
			reply_with(&r, 0, wake_up());
		reply_with(&r, 1, reserved(60 * MS));
		reply_with(&r, 2, reserved(60 * MS));
		CHECK(!lock_is_pausing(&r.lock));
		if (is_last)
			reply_with(&r, 0, wake_up());
		CHECK_TEXT(r.lock.waiter.turn[0], BIGGER);
		CHECK(!lock_is_pausing(&r.lock));
		wait_until(&r, r.up.wake_at);
		votes(&r, ".Y");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK(!r.lock.waiter.is_woken);
	}
}

TEST(the_queue_node_has_time_to_say_whether_a_reservation_is_claimed)
{
	struct rig r;

	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, r.now + r.lock.policy.node_timeout / 4);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* The queue node says so. */
	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 0, reserved(60 * MS));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* Without that node, the next one is the queue node, and it has answered. */
	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 0, VOTE_ABSENT);
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
}

TEST(the_queue_node_says_whether_others_wait)
{
	struct rig r;
	struct reply awaited = {.vote = VOTE_YES, .waiters = 1};

	for (int queue_node = 0; queue_node < 3; queue_node++) {
		contend(&r, 3, NEVER);
		memcpy(r.lock.policy.order[0], (int[]){1, 0, 2}, 3 * sizeof(int));
		for (int i = 0; i < 3; i++)
			if (i == queue_node)
				reply_with(&r, i, awaited);
			else
				fake_reply(&r, i, VOTE_YES);
		CHECK_INT(r.lock.waiter.awaited, queue_node == 1);
	}
	/* Each extension reports it again. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, awaited);
	votes(&r, ".YY");
	CHECK(r.lock.waiter.awaited);
	next_round(&r);
	CHECK(!r.lock.waiter.awaited);
	reply_with(&r, 0, awaited);
	CHECK(r.lock.waiter.awaited);
	/* If the queue node is absent, the next node is the queue node. */
	next_round(&r);
	votes(&r, "A");
	reply_with(&r, 1, awaited);
	CHECK(r.lock.waiter.awaited);
	/* A refusal does not count. */
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

TEST(fair_hears_every_node_before_a_majority_counts)
{
	struct rig r;

	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* A silent node has the node timeout. */
	contend_fairly(&r, NEVER);
	votes(&r, ".YY");
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* No node is the queue node. */
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
	CHECK_INT(waiter_fake(&r)->node, 0);
	/* only the queue node, and only a reservation */
	contend_fairly(&r, NEVER);
	reply_with(&r, 1, reserved(60 * MS));
	votes(&r, "Y.Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	contend_fairly(&r, NEVER);
	reply_with(&r, 0, held(60 * MS));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Without is_fair, a majority is enough. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, reserved(60 * MS));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* ---- only looking ---- */

TEST(only_looking_is_done_when_a_majority_is_free)
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
		/* No key was set, so no release is pending. */
		CHECK_INT(sends(&r, OP_UNDO) + sends(&r, OP_HAND_OFF), 0);
	}
}

/* The reply to OP_JOIN brought the wake-up, and OP_WAIT is still blocked: the node would never read
 * a hand-off on the waiter connection alone. */
TEST(only_looking_passes_on_a_reservation)
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
		CHECK_INT(waiter_fake(&r)->sends[OP_HAND_OFF], 1);
	}
	/* No connection for the hand-off. */
	look_and_be_woken(&r, held(HELD_FOR));
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".GG");
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}
