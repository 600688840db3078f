/* lock_release: the release of a lock, and pending releases. */
#include "unit/rig.h"

/* ---- release ---- */

TEST(a_release_follows_the_request_in_flight)
{
	struct rig r;

	ask(&r, 5, 0);
	votes(&r, "YYY");
	let_go(&r);
	for (int i = 0; i < 5; i++)
		CHECK_INT(r.fake[i].sends[OP_HAND_OFF], 1);
	for (int i = 3; i < 5; i++) {
		CHECK_INT(r.fake[i].queued, 2);
		CHECK_INT(r.fake[i].queue[0].op, OP_ACQUIRE);
		CHECK_INT(r.fake[i].queue[1].op, OP_HAND_OFF);
		CHECK_INT(r.fake[i].queue[1].token, r.token);
	}
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	finish(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 5);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_node_with_a_clean_no_gets_the_release_but_none_is_pending)
{
	struct rig r;

	ask(&r, 5, 0);
	votes(&r, "YFF");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	votes(&r, "...F");
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[4].sends[OP_HAND_OFF], 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 2);
	finish(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 2);

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YYF");
	votes(&r, "..F"); /* the repair */
	let_go(&r);
	CHECK_INT(r.lock.peer[2].pending, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
}

/* Of the answers to the first release of each node, a majority says that the key was not there. */
TEST(a_majority_that_denies_the_release_is_a_loss)
{
	static const char *const lost[] = {"GGG", "FFF", "GF.", "YGF", "AGG"};
	static const char *const kept[] = {"YYY", "YYG", "YAG", "GAA", "YG.", "FGA"};
	struct rig r;

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		for (int leaves = 0; leaves < 2; leaves++) {
			hold(&r, 3);
			let_expire(&r, leaves ? 5 * USEC_SEC : 0);
			votes(&r, lost[i]);
			finish(&r);
			CHECK_INT(r.lock.loss, LOSS_DENIED);
			CHECK_INT(r.lock.tenure.asking, false);
		}
	for (size_t i = 0; i + 1 < sizeof(kept) / sizeof(kept[0]); i++)
		for (int leaves = 0; leaves < 2; leaves++) {
			hold(&r, 3);
			let_expire(&r, leaves ? 5 * USEC_SEC : 0);
			votes(&r, kept[i]);
			while (lock_state(&r.lock) != LOCK_OVER)
				wait_until(&r, r.up.wake_at);
			CHECK_INT(r.lock.loss, LOSS_NONE);
		}
	/* One node is enough where there is only one; the same holds to confirm. */
	hold(&r, 1);
	let_go(&r);
	votes(&r, "F");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	/* Then the holder is known. */
	hold(&r, 3);
	let_go(&r);
	for (int i = 0; i < 2; i++)
		reply_text(&r, i, VOTE_FOREIGN, "rival", 5);
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_FOREIGN), 2);
	CHECK_INT(tally_holder(&r.lock.tally, &(int){0}).text_len, 5);
}

TEST(a_repeated_release_may_meet_its_own_success)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	/* Two nodes have released, but their replies are lost. */
	for (int i = 0; i < 2; i++) {
		r.fake[i].holder = NO_HOLDER;
		link_down(&r, i, REASON_CLOSED);
		link_up(&r, i);
		CHECK_INT(r.fake[i].sends[OP_HAND_OFF], 2);
	}
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	/* The first release is sent late here, and counts. */
	hold(&r, 3);
	link_down(&r, 0, REASON_CLOSED);
	link_down(&r, 1, REASON_CLOSED);
	let_go(&r);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "GG.");
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
}

TEST(only_the_release_of_a_valid_lock_reports_a_loss)
{
	struct rig r;

	/* A key may last beyond the validity or not. */
	hold(&r, 3);
	let_go(&r);
	r.now = r.lock.tenure.valid_until;
	votes(&r, "GGG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* A reported loss stays. */
	hold(&r, 3);
	wait_until(&r, r.lock.tenure.valid_until - SAFETY_MARGIN);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	let_go(&r);
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	/* The lock was never held. */
	ask(&r, 3, 0);
	let_go(&r);
	votes(&r, "AAA");
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* Two names of one server: the second release finds no key. */
	ask(&r, 3, 0);
	r.fake[0].run_id = r.fake[2].run_id = "one";
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	let_go(&r);
	votes(&r, "YGG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

/* A reply to an earlier request, or about an earlier token, does not decide between released and
 * lost. */
TEST(only_replies_to_the_release_decide_the_loss)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "G");
	let_go(&r);
	votes(&r, ".GG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_GONE), 0);
	votes(&r, "GYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 2);
}

/* A second look follows when a majority denies the lock for the first time. The release serves as
 * the second look if the command ends before it. Then no key remains. */
TEST(a_release_is_a_second_look)
{
	struct rig r;

	for (int leaves = 0; leaves < 2; leaves++) {
		hold(&r, 3);
		next_round(&r);
		votes(&r, "GGG");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		let_expire(&r, leaves ? USEC_SEC : 0);
		CHECK_INT(sends(&r, OP_EXPIRE), 0);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, "G");
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, ".G");
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.lock.loss, LOSS_DENIED);
	}
}

/* The lock does not wait for a node without our key, unless the other nodes have not decided
 * between released and lost. */
TEST(the_release_waits_while_the_loss_is_undecided)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	pass(&r, 10 * MS);
	votes(&r, ".GY");
	pass(&r, NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "G");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	/* But no longer than the node timeout. */
	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	votes(&r, ".GY");
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(a_broken_link_is_opened_again_to_release)
{
	struct rig r;
	usec until;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
	/* The connection breaks with the release in flight: send it once more. */
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_OPENING);
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 0);
	CHECK_INT(left_behind(&r), 0);
	/* But not endlessly. */
	hold(&r, 3);
	r.fake[2].gone = true;
	link_down(&r, 2, REASON_CLOSED);
	finish(&r);
	CHECK(r.fake[2].opens <= 4);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK(until >= BEGIN + TTL);
}

TEST(a_release_does_not_wait_for_a_late_node)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	pass(&r, NODE_TIMEOUT);
	let_go(&r);
	CHECK_INT(r.fake[2].queued, 2);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_release_without_an_answer_ends_at_the_time_out)
{
	struct rig r;
	usec began;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	let_go(&r);
	began = r.now;
	for (int turns = 0; turns < 100 && lock_state(&r.lock) != LOCK_OVER; turns++)
		wait_until(&r, r.up.wake_at);
	/* Over two further connections, too. */
	CHECK_INT(r.now - began, 3 * NODE_TIMEOUT);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 3);
}

/* The nodes never heard the release on the first connection; or they have, and the reply is lost.
 */
TEST(a_release_on_a_dead_connection_is_sent_again_on_a_new_one)
{
	for (int was_heard = 0; was_heard < 2; was_heard++) {
		struct rig r;
		struct policy p = policy(3, 0);

		p.node_timeout = USEC_SEC;
		hold_with(&r, &p);
		pass(&r, USEC_SEC);
		let_go(&r);
		CHECK_INT(sends(&r, OP_HAND_OFF), 3);
		pass(&r, 250 * MS);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		all_up(&r);
		CHECK_INT(sends(&r, OP_HAND_OFF), 6);
		votes(&r, was_heard ? "GGG" : "YYY");
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
		CHECK_INT(r.lock.loss, LOSS_NONE);
	}
}

/* Each reply takes a little more than half of the node timeout; over a new connection, a release
 * takes three times as long. */
TEST(a_release_takes_longer_where_the_nodes_are_far_away)
{
	const usec rtt = 520 * MS;

	for (int is_dead = 0; is_dead < 2; is_dead++) {
		struct rig r;
		struct policy p = policy(3, 0);

		p.node_timeout = USEC_SEC;
		hold_with(&r, &p);
		next_round(&r);
		pass(&r, rtt);
		votes(&r, "YYY");
		let_go(&r);
		if (is_dead) {
			pass(&r, p.node_timeout);
			pass(&r, 2 * rtt);
			all_up(&r);
		}
		CHECK_INT(sends(&r, OP_HAND_OFF), is_dead ? 6 : 3);
		pass(&r, rtt);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, "YYY");
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	}
}

TEST(a_node_that_was_silent_is_waited_for)
{
	struct rig r;
	struct policy p = policy(3, 0);

	p.node_timeout = USEC_SEC;
	hold_with(&r, &p);
	let_go(&r);
	pass(&r, 250 * MS);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "YY");
	pass(&r, 100 * MS);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	link_up(&r, 2);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
}

/* On the silent connections there was an extension, and no release: the first release tells. */
TEST(a_lock_that_was_lost_is_not_released_because_its_connections_were_silent)
{
	struct rig r;
	struct policy p = policy(3, 0);

	p.node_timeout = USEC_SEC;
	hold_with(&r, &p);
	next_round(&r);
	pass(&r, USEC_SEC + MS);
	let_go(&r);
	all_up(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
}

/* A second release could overtake the request. */
TEST(a_release_behind_a_request_that_sets_the_key_stays_on_its_connection)
{
	struct rig r;
	struct policy p = policy(3, 0);

	p.node_timeout = USEC_SEC;
	start_with(&r, &p);
	all_up(&r);
	votes(&r, "YY.");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	let_go(&r);
	votes(&r, "..");
	pass(&r, 300 * MS);
	CHECK_INT(r.fake[2].link, LINK_UP);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
}

/* A request in flight at the end may have reached its node as late as that; an answered request, no
 * later than its reply. */
TEST(a_key_in_flight_at_the_end_may_last_longer)
{
	struct rig r;
	usec until, dropped = 0;

	hold(&r, 3);
	next_round(&r);
	pass(&r, NODE_TIMEOUT / 2);
	votes(&r, "YY.");
	let_go(&r);
	while (lock_state(&r.lock) != LOCK_OVER) {
		bool is_in_flight = r.lock.peer[2].asked != OP_NONE;

		wait_until(&r, r.up.wake_at);
		dropped = is_in_flight ? r.now : dropped;
	}
	lock_unreleased(&r.lock, &until);
	CHECK_INT(until, gone(dropped));
}

/* The grace for late nodes must not exceed the time for the release. */
TEST(a_release_ends_within_its_time)
{
	struct policy p = policy(3, 0);
	struct rig r;

	usec began;

	p.node_timeout = 3 * USEC_SEC;
	hold_with(&r, &p);
	next_round(&r);
	/* The extension of the last node stands before its release. */
	votes(&r, "YY.");
	began = r.now;
	let_go(&r);
	pass(&r, 200 * MS);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK(r.up.wake_at <= began + USEC_SEC);
	pass(&r, 800 * MS);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &began), 1);
}

TEST(a_release_ends_when_a_majority_has_answered)
{
	usec until;
	struct rig r;

	hold(&r, 5);
	let_go(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 5);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* The releases of the others are on their way, and nothing else is. */
	CHECK(r.lock.peer[3].pending && r.lock.peer[4].pending);
	CHECK_INT(lock_unreleased(&r.lock, &until), 0);
	CHECK_INT(left_behind(&r), 0);
}

/* A server that fails to write a message to a closed connection drops a release that it has not
 * read. So the client waits for the node that may send it messages. */
/* Two of five nodes are twice as far as the others: they connect, and are asked, when the others
 * grant the lock; the command ends at once. */
TEST(a_release_does_not_wait_for_nodes_that_connected_late)
{
	for (int late = 0; late <= 1; late++) {
		struct rig r;

		start(&r, 5, 0);
		pass(&r, 10 * MS);
		for (int i = 0; i < 3; i++)
			link_up(&r, i);
		pass(&r, 10 * MS);
		link_up(&r, 3);
		link_up(&r, 4);
		votes(&r, "YYY..");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK_INT(r.fake[4].last.op, OP_ACQUIRE);
		/* A node that has not answered in that time may be stopped. */
		pass(&r, late ? 15 * MS : 5 * MS);
		let_go(&r);
		pass(&r, 10 * MS);
		CHECK_INT(r.fake[4].queued, 2);
		votes(&r, "YYY..");
		CHECK_INT(lock_state(&r.lock), late ? LOCK_RELEASING : LOCK_OVER);
		CHECK_INT(left_behind(&r), 0);
	}
}

TEST(a_release_of_a_former_waiter_is_answered_before_the_end)
{
	struct rig r;

	hold(&r, 5);
	r.lock.peer[3].subscribed = 1;
	let_go(&r);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	pass(&r, NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 3, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK(r.lock.peer[4].pending);
}

/* The queue node may not know the script of the hand-off: then it has woken no waiter. */
TEST(a_release_is_answered_by_the_queue_node_if_others_may_wait)
{
	struct rig r;

	for (int known = 0; known < 2; known++) {
		hold(&r, 5);
		r.lock.policy.by_digest = true;
		r.lock.awaited = (unsigned)known;
		let_go(&r);
		/* If no waiter is known, a node that has forgotten the scripts is a reason, too. */
		if (!known)
			reply_with(&r, 1, reply_absent(REASON_NO_SCRIPT, NULL));
		votes(&r, ".YYY");
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		pass(&r, NODE_TIMEOUT / 2);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		fake_reply(&r, 0, VOTE_YES);
		/* Clients that wait need the nodes' time: a reply costs less of it than a delete.
		 */
		CHECK_INT(lock_state(&r.lock), known ? LOCK_RELEASING : LOCK_OVER);
		pass(&r, MS);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK(r.lock.peer[4].pending);
	}
	/* A node that has never answered may be stopped. */
	hold(&r, 5);
	r.lock.policy.by_digest = true;
	r.lock.peer[0].usual = 0;
	let_go(&r);
	reply_with(&r, 1, reply_absent(REASON_NO_SCRIPT, NULL));
	votes(&r, ".YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* Neither. */
	hold(&r, 5);
	r.lock.policy.by_digest = true;
	let_go(&r);
	votes(&r, ".YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

/* Two equal answers of five are no majority, whatever a third one says. */
TEST(a_release_waits_where_the_answers_differ)
{
	static const enum vote votes_of_third[] = {VOTE_GONE, VOTE_FOREIGN, VOTE_ABSENT};
	struct rig r;

	for (size_t i = 0; i < sizeof(votes_of_third) / sizeof(votes_of_third[0]); i++) {
		hold(&r, 5);
		let_go(&r);
		votes(&r, "YY");
		fake_reply(&r, 2, votes_of_third[i]);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		finish(&r);
	}
}

/* A release that is sent again has no answer: a majority may keep the key until its TTL ends. */
TEST(a_release_on_its_way_is_no_answer)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	link_down(&r, 0, REASON_CLOSED);
	link_down(&r, 1, REASON_CLOSED);
	link_up(&r, 0);
	link_up(&r, 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 5);
	fake_reply(&r, 2, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_release_has_a_second_at_most)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 3 * USEC_SEC;
	hold_with(&r, &p);
	let_go(&r);
	pass(&r, 500 * MS);
	/* A second EV_RELEASE does not restart the time. */
	let_go(&r);
	wait_until(&r, BEGIN + USEC_SEC - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	wait_until(&r, BEGIN + USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	let_go(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.up.count, 0);
}

/* The repair began late in the round, and has its own timeout. */
TEST(a_release_waits_for_a_repair_in_flight)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	pass(&r, NODE_TIMEOUT - 10 * MS);
	votes(&r, "YYG");
	pass(&r, 20 * MS);
	let_go(&r);
	CHECK_INT(r.fake[2].queued, 2);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "..Y");
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
}

/* The key was not on the node, but it may have arrived since; then the extension renews it. */
TEST(an_extension_in_flight_is_a_pending_release_where_the_key_was_sent)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YAG"); /* no majority, so no repair */
	CHECK_INT(r.lock.peer[2].pending, 0);
	r.fake[2].silent = true;
	extend(&r);
	votes(&r, "YY");
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[2].queue[1].op, OP_HAND_OFF);
}

/* The connection breaks before the node answers the request. The node may carry it out after the
 * release, which the next connection brings: the key is left for the time that it can last. */
TEST(a_request_that_sets_the_key_may_arrive_after_the_release)
{
	static const enum op ops[] = {OP_ACQUIRE, OP_REPAIR};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct rig r;
		usec until = 0, broke_at;

		if (ops[i] == OP_ACQUIRE) {
			ask(&r, 3, 0);
			votes(&r, "YY");
		} else {
			hold(&r, 3);
			next_round(&r);
			votes(&r, "YYG");
		}
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK_INT(r.fake[2].queue[0].op, ops[i]);
		pass(&r, 10 * MS);
		broke_at = r.now;
		link_down(&r, 2, REASON_CLOSED);
		let_go(&r);
		link_up(&r, 2);
		CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
		votes(&r, "YYG");
		finish(&r);
		CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
		CHECK_INT(lock_unreleased(&r.lock, &until), 1);
		CHECK(until >= broke_at + TTL && until < broke_at + 2 * TTL);
		CHECK(lock_is_released(&r.lock));
	}
}

/* Long after the connection broke, the key of a late request has expired. */
/* Each of two connections broke with a request in flight. */
TEST(an_extension_may_arrive_after_the_request_that_sets_the_key)
{
	struct rig r;
	usec until = 0, broke_at;

	ask(&r, 3, 0);
	votes(&r, "YY");
	link_down(&r, 2, REASON_CLOSED);
	next_round(&r);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXTEND);
	votes(&r, "YY");
	pass(&r, 10 * MS);
	broke_at = r.now;
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	link_up(&r, 2);
	votes(&r, "YYG");
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK(until >= broke_at + TTL);
}

TEST(a_request_that_cannot_arrive_any_more_is_no_pending_release)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	link_down(&r, 2, REASON_CLOSED);
	for (int round = 0; round < 6; round++) {
		next_round(&r);
		if (r.fake[2].link == LINK_OPENING)
			link_up(&r, 2);
		votes(&r, round == 0 ? "YYG" : "YYY");
		if (round == 0)
			votes(&r, "..Y");
	}
	let_go(&r);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
}

TEST(an_extension_renews_the_pending_release)
{
	struct rig r;
	usec until = 0, asked_at;

	hold(&r, 3);
	next_round(&r);
	asked_at = r.now;
	votes(&r, "YYY");
	r.fake[2].gone = true;
	link_down(&r, 2, REASON_CLOSED);
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK_INT(until, gone(asked_at));
	/* A yes means a pending release, even if the key was gone before. */
	hold(&r, 3);
	next_round(&r);
	votes(&r, "AAG");
	CHECK_INT(lock_unreleased(&r.lock, &until), 2);
	next_round(&r);
	votes(&r, "AAY");
	CHECK_INT(lock_unreleased(&r.lock, &until), 3);
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
}

TEST(a_release_after_the_end_is_a_loss)
{
	static const struct {
		usec before_end;
		enum loss loss;
	} cases[] = {
		{SAFETY_MARGIN + 1, LOSS_NONE},
		{SAFETY_MARGIN, LOSS_EXPIRED},
		/* This process did not read while the nodes could still answer: the nodes are not
		 * at fault. */
		{SAFETY_MARGIN - NODE_TIMEOUT + 1, LOSS_EXPIRED},
		{SAFETY_MARGIN - NODE_TIMEOUT, LOSS_STOOD_STILL},
		{0, LOSS_STOOD_STILL},
		{-USEC_SEC, LOSS_STOOD_STILL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		hold(&r, 3);
		r.now = validity(BEGIN) - cases[i].before_end;
		let_go(&r);
		CHECK_INT(r.lock.loss, cases[i].loss);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	}
}

TEST(a_vote_outlives_its_connection)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YA");
	link_down(&r, 0, REASON_CLOSED);
	link_down(&r, 1, REASON_CLOSED);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_YES);
	/* The first of several reasons is the cause. */
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_LOADING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(an_error_on_release_is_not_asked_again)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	votes(&r, "YYA");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 1);
}

TEST(an_earlier_token_is_released_before_the_node_is_asked_again)
{
	struct rig r;
	int old;

	ask(&r, 3, NEVER);
	old = r.token;
	r.fake[0].holder = r.token;
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".FF");
	CHECK(lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK(r.fake[0].link == LINK_OPENING);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	/* The other nodes are asked, and this one when it has answered the release. */
	CHECK_INT(r.token, old + 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	votes(&r, "Y");
	CHECK_INT(r.fake[0].holder, NO_HOLDER);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].queue[0].token, old + 1);
	votes(&r, "YFF");
}

TEST(a_node_that_refuses_to_release_takes_no_part)
{
	struct rig r;

	ask(&r, 3, NEVER);
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	link_up(&r, 0);
	votes(&r, "A");
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_LOADING);
	votes(&r, ".FF");
	CHECK(lock_is_pausing(&r.lock));
	r.fake[0].silent = true;
	while (serve(&r))
		;
	/* The release is sent once more when the attempt fails, and again in the next attempt. */
	CHECK_INT(r.fake[0].sends[OP_UNDO], 2);
	votes(&r, "A");
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 3);
	pass(&r, 200);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 3);
}

TEST(a_held_lock_spreads_to_a_node_with_a_pending_release)
{
	struct rig r;
	int old;

	old = hold_after_a_lost_request(&r);
	next_round(&r);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "YYY");
	CHECK_INT(r.fake[0].queue[0].op, OP_EXTEND);
	votes(&r, "G");
	CHECK_INT(r.fake[0].queue[0].op, OP_REPAIR);
	votes(&r, "Y");
	CHECK_INT(r.fake[0].holder, r.token);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

/* One clock is fast and the other slow, each by half of the drift: so the key lives longer. */
TEST(a_key_may_outlive_its_ttl_by_more_than_the_drift)
{
	double half = (double)policy_drift(TTL, 100) / TTL / 2;

	CHECK(gone(0) >= (usec)(TTL * (1 + half) / (1 - half)));
}

TEST(a_pending_release_ends_with_the_key)
{
	const usec end = gone(BEGIN);
	struct rig r;
	usec until = 0;

	ask(&r, 3, 0);
	link_down(&r, 0, REASON_CLOSED);
	r.fake[0].gone = true;
	votes(&r, ".FF");
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK_INT(until, end);
	r.now = end - 1;
	tick(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	r.now = end;
	tick(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 0);
}

TEST(a_release_before_the_first_request)
{
	struct rig r;

	start(&r, 3, NEVER);
	let_go(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.token, 0);
	memset(&r, 0, sizeof(r));
	lock_init(&r.lock, &(struct policy){.nodes = 1, .keys = 1, .ttl = TTL, .node_timeout = 1});
	let_go(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.up.wake_at, NEVER);
}

/* ---- the record of --once-per ---- */

static void stores(struct rig *r, int node, bool is_stored)
{
	reply_with(r, node, (struct reply){.vote = VOTE_YES, .is_stored = is_stored});
}

static void hold_once(struct rig *r)
{
	start(r, 3, 0);
	r->lock.policy.by_digest = r->lock.policy.wants_record = true;
	for (int i = 0; i < 3; i++)
		link_up(r, i);
	votes(r, "YYY");
}

static void check_hand_offs(struct rig *r, bool by_digest)
{
	for (int i = 0; i < 3; i++) {
		CHECK_INT(r->fake[i].last.op, OP_HAND_OFF);
		CHECK_INT(r->fake[i].last.by_digest, by_digest);
	}
	finish(r);
}

/* OP_DELETE, which may follow a release by digest, frees the key without a record. */
TEST(a_release_that_stores_a_record_is_sent_whole)
{
	struct rig r;

	hold_once(&r);
	let_go_with_record(&r);
	check_hand_offs(&r, false);
}

/* Nothing is lost if OP_DELETE frees the key of a failed attempt, or of a job that was done. */
TEST(a_release_that_stores_no_record_is_sent_by_digest)
{
	struct rig r;

	hold_once(&r);
	let_go(&r);
	check_hand_offs(&r, true);
}

/* A majority deletes the key, but one of these nodes may not write the record: the third counts. */
TEST(a_release_waits_until_a_majority_has_stored_the_record)
{
	struct rig r;

	hold(&r, 3);
	let_go_with_record(&r);
	stores(&r, 0, true);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	stores(&r, 1, false);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	pass(&r, NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	stores(&r, 2, true);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_stored(&r.lock), 2);
	/* With a majority, the last node is not waited for. */
	hold(&r, 3);
	let_go_with_record(&r);
	stores(&r, 0, true);
	stores(&r, 1, true);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_stored(&r.lock), 2);
	/* Nor is a node that does not answer in time. */
	hold(&r, 3);
	let_go_with_record(&r);
	stores(&r, 0, true);
	pass(&r, NODE_TIMEOUT);
	finish(&r);
	CHECK_INT(lock_stored(&r.lock), 1);
}
