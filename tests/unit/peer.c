/* peer: connections to nodes, slow ones and absent ones, and pending releases. */
#include "unit/rig.h"

TEST(an_attempt_waits_for_no_minority)
{
	struct rig r;

	start(&r, 5, 0);
	link_up(&r, 0);
	link_up(&r, 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 0);
	link_up(&r, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* A node that connects later gets the key, too; */
	pass(&r, NODE_TIMEOUT / 2);
	link_up(&r, 3);
	CHECK_INT(r.fake[3].sends[OP_ACQUIRE], 1);
	votes(&r, "...Y");
	CHECK_INT(r.fake[3].holder, r.token);
	/* but not once its time is over. */
	pass(&r, NODE_TIMEOUT / 2);
	CHECK_INT(r.fake[4].link, LINK_DOWN);
	CHECK_INT(r.lock.tally.ballot[4].reply.reason, REASON_CONNECT_TIMEOUT);
	next_round(&r);
	CHECK_INT(sends(&r, OP_EXTEND), 4);
	CHECK_INT(sends(&r, OP_ACQUIRE), 4);
}

/* Four connections of five are up sooner than the last one, and two of those nodes give no vote. */
TEST(a_node_that_connects_late_completes_the_majority)
{
	static const char *const answers[] = {"..YY", "AAYY", ".AYY", "AYFY"};
	struct rig r;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		start(&r, 5, 0);
		for (int n = 0; n < 4; n++)
			link_up(&r, n);
		votes(&r, answers[i]);
		pass(&r, NODE_TIMEOUT / 8);
		CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
		link_up(&r, 4);
		votes(&r, "....Y");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		CHECK_INT(r.lock.stamp.attempt, 1);
		finish(&r);
	}
}

TEST(a_node_that_never_connects_has_its_timeout_before_there_is_no_quorum)
{
	struct rig r;

	start(&r, 3, 0);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "AY");
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_CONNECT_TIMEOUT);
	finish(&r);
	/* The third node has refused the connection: there is nothing to wait for. */
	start(&r, 3, 0);
	link_up(&r, 0);
	link_up(&r, 1);
	link_down(&r, 2, REASON_CONNECT);
	votes(&r, "AY");
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	finish(&r);
}

TEST(all_are_refused_each_for_its_own_reason)
{
	struct rig r;

	for (int nodes = 3; nodes <= 5; nodes++) {
		start(&r, nodes, 0);
		for (int i = 0; i < nodes; i++) {
			CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
			link_down(&r, i, REASON_CONNECT);
		}
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.now, BEGIN);
		for (int i = 0; i < nodes; i++)
			CHECK_INT(r.lock.tally.ballot[i].reply.reason, REASON_CONNECT);
	}
	/* The lock waits for the last node only in proportion to the others' time. */
	start(&r, 3, 0);
	pass(&r, NODE_TIMEOUT / 100);
	link_down(&r, 0, REASON_CONNECT);
	link_down(&r, 1, REASON_CONNECT);
	wait_until(&r, BEGIN + NODE_TIMEOUT / 100 * 3 - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT / 100 * 3);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_NOT_READY);
	/* A later reason of the node is reported. */
	start(&r, 3, NEVER);
	link_down(&r, 0, REASON_CONNECT);
	link_down(&r, 1, REASON_CONNECT);
	pass(&r, USEC_MSEC);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_NOT_READY);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	link_down(&r, 2, REASON_UNRESOLVED);
	CHECK_INT(r.lock.tally.ballot[2].reply.reason, REASON_UNRESOLVED);
}

TEST(a_majority_of_refused_links_fails_at_once)
{
	struct rig r;

	start(&r, 5, 0);
	link_up(&r, 0);
	link_down(&r, 1, REASON_CONNECT);
	link_down(&r, 2, REASON_CONNECT);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	link_down(&r, 3, REASON_UNRESOLVED);
	pass(&r, USEC_MSEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[3].reply.reason, REASON_UNRESOLVED);
	CHECK_INT(sends(&r, OP_ACQUIRE), 0);
}

TEST(a_black_holed_majority_fails_at_the_time_out)
{
	struct rig r;

	start(&r, 3, 0);
	link_up(&r, 0);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_CONNECT_TIMEOUT);
	CHECK(r.fake[1].link == LINK_DOWN);
}

TEST(tls_is_part_of_the_time_to_connect)
{
	struct rig r;

	start(&r, 5, 0);
	link_up(&r, 0);
	link_shakes(&r, 1);
	link_shakes(&r, 2);
	pass(&r, NODE_TIMEOUT / 2);
	/* Two connected nodes are no majority yet. */
	link_up(&r, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 0);
	CHECK_INT(r.lock.peer[1].link, LINK_OPENING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_TLS_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[3].reply.reason, REASON_CONNECT_TIMEOUT);
	CHECK(r.fake[1].link == LINK_DOWN);
	/* The next connection may not get as far as TLS. */
	start(&r, 3, NEVER);
	link_shakes(&r, 1);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_TLS_TIMEOUT);
	for (int i = 0; i < 9 && r.fake[1].link == LINK_DOWN; i++)
		wait_until(&r, r.up.wake_at);
	CHECK(r.fake[1].link == LINK_OPENING);
	for (int i = 0; i < 9 && r.fake[1].link == LINK_OPENING; i++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_CONNECT_TIMEOUT);
}

/* Each of the two nodes connects and answers within the timeout. */
TEST(slow_nodes_are_good_enough_next_to_a_black_hole)
{
	struct rig r;

	for (usec part = 10; part < 50; part += 5) {
		usec delay = part * NODE_TIMEOUT / 100;

		start(&r, 3, 0);
		pass(&r, delay);
		link_up(&r, 0);
		link_up(&r, 1);
		for (int turns = 0; turns < 10 && sends(&r, OP_ACQUIRE) == 0; turns++)
			wait_until(&r, r.up.wake_at);
		CHECK_INT(sends(&r, OP_ACQUIRE), 2);
		pass(&r, delay);
		for (int i = 0; i < 2 && lock_state(&r.lock) == LOCK_TRYING; i++)
			fake_reply(&r, i, VOTE_YES);
		if (!CHECK_INT(lock_state(&r.lock), LOCK_HELD))
			printf("# connecting and answering took %d%% of the time-out each\n",
				(int)part);
	}
}

/* The connection is slow, and so is the release of an earlier token; then no reply arrives. */
TEST(an_attempt_that_began_late_ends_all_the_same)
{
	struct rig r;

	ask(&r, 1, 5 * USEC_SEC);
	link_down(&r, 0, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	pass(&r, NODE_TIMEOUT * 6 / 10);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	pass(&r, NODE_TIMEOUT * 6 / 10);
	votes(&r, "G");
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	CHECK(r.up.wake_at != NEVER);
	pass(&r, 10 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

/* A node connects slowly, then releases an earlier token slowly: that is one timeout, not two. */
TEST(connecting_and_a_pending_release_share_one_timeout)
{
	struct rig r;
	usec began;

	ask(&r, 1, 5 * USEC_SEC);
	link_down(&r, 0, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	began = r.now;
	pass(&r, NODE_TIMEOUT * 6 / 10);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	wait_until(&r, began + NODE_TIMEOUT - 1);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, began + NODE_TIMEOUT);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
}

/* A firewall may have forgotten all its connections. One late node of three may be busy: its
 * requests stay in order on their connection. */
TEST(a_client_whose_majority_is_late_connects_again)
{
	struct rig r;

	for (int answering = 0; answering < 3; answering++) {
		ask(&r, 3, NEVER);
		votes(&r, answering == 2 ? "FF" : answering == 1 ? "F" : "");
		wait_until(&r, BEGIN + NODE_TIMEOUT);
		while (lock_is_pausing(&r.lock))
			wait_until(&r, r.up.wake_at);
		CHECK_INT(r.lock.stamp.round, 2);
		CHECK(r.fake[2].link == (answering == 2 ? LINK_UP : LINK_OPENING));
		CHECK(r.fake[1].link == (answering == 2 ? LINK_UP : LINK_OPENING));
		CHECK(r.fake[0].link == (answering == 0 ? LINK_OPENING : LINK_UP));
	}
}

/* On the next connection, the node may have forgotten that it granted the key. */
TEST(a_node_is_not_asked_again_on_another_connection)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "Y");
	link_down(&r, 1, REASON_CLOSED);
	CHECK_INT(r.fake[1].link, LINK_DOWN);
	CHECK_INT(r.lock.tally.ballot[1].vote, VOTE_ABSENT);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 1);
}

/* It is a replica, and has stored nothing: the name may lead to its master. */
TEST(a_node_that_leads_elsewhere_is_asked_once_more)
{
	static const enum reason left[] = {REASON_LEFT, REASON_CLOSED};
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "Y");
	link_down(&r, 1, REASON_READONLY);
	CHECK(r.fake[1].link == LINK_OPENING);
	CHECK_INT(r.lock.tally.ballot[1].vote, VOTE_NONE);
	link_up(&r, 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[1].sends[OP_UNDO], 0);
	link_down(&r, 1, REASON_READONLY);
	CHECK_INT(r.fake[1].link, LINK_DOWN);
	CHECK_INT(r.lock.tally.ballot[1].vote, VOTE_ABSENT);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* These servers may have stored the key. */
	for (int i = 0; i < 2; i++) {
		ask(&r, 3, 0);
		link_down(&r, 1, left[i]);
		CHECK_INT(r.fake[1].link, LINK_DOWN);
		CHECK_INT(r.lock.tally.ballot[1].vote, VOTE_ABSENT);
	}
}

/* The connection is from an earlier attempt, and breaks before this one asks. */
TEST(a_link_that_is_up_again_before_the_request_counts)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, ".FF");
	pass(&r, MS);
	link_down(&r, 1, REASON_CLOSED);
	link_down(&r, 2, REASON_CLOSED);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.stamp.round, 2);
	link_up(&r, 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	link_up(&r, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 5);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* The network held the request back until the connection broke: the key was set no sooner. */
TEST(a_pending_release_counts_from_the_end_of_the_connection)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, ".FF");
	r.now = BEGIN + 2 * USEC_SEC;
	r.fake[0].holder = r.token;
	link_down(&r, 0, REASON_CLOSED);
	CHECK(r.lock.peer[0].pending > 0);
	CHECK(r.lock.peer[0].pending_until >= r.now + TTL);
}

/* This process was stopped while it connected: the events arrive long after the timeout. */
TEST(an_attempt_that_began_after_a_stop_ends_all_the_same)
{
	struct rig r;

	for (usec stopped = 90 * MS; stopped <= 400 * MS; stopped += 5 * MS) {
		/* With several nodes, the first event gives up the others. */
		start(&r, stopped % (10 * MS) ? 1 : 3, USEC_SEC);
		r.now += stopped;
		all_up(&r);
		CHECK(r.fake[0].sends[OP_ACQUIRE] == 0 || r.up.wake_at != NEVER);
		wait_until(&r, BEGIN + 10 * USEC_SEC);
		if (!CHECK_INT(lock_state(&r.lock), LOCK_OVER))
			return;
		CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	}
}

/* Connecting and answering share one timeout. */
TEST(a_slow_connection_leaves_less_time_to_answer)
{
	struct rig r;

	start(&r, 3, 0);
	pass(&r, 60 * MS);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_TIMEOUT);
}

/* The time at which the request reaches the node is not known yet. */
TEST(a_pending_release_does_not_end_with_its_request_in_flight)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	r.now = gone(BEGIN) + 1;
	tick(&r);
	CHECK(r.lock.peer[2].pending > 0);
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
}

/* The node may have set the key just before it replied, long after the request was sent. */
TEST(a_pending_release_counts_from_the_reply)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 2 * USEC_SEC;
	start_with(&r, &p);
	all_up(&r);
	pass(&r, USEC_SEC + 500 * MS);
	votes(&r, "YYA");
	for (int i = 0; i < 3; i++)
		CHECK(r.lock.peer[i].pending_until >= gone(r.now));
}

/* ---- scripts by digest ---- */

static void lacks_script(struct rig *r, int i)
{
	reply_with(r, i, reply_absent(REASON_NO_SCRIPT, "NOSCRIPT No matching script."));
}

TEST(a_request_whose_script_is_unknown_is_sent_again_whole)
{
	struct policy p = policy(3, 0);
	struct rig r;

	for (int looks = 0; looks <= 1; looks++) {
		p.only_looks = looks;
		start_with(&r, &p);
		all_up(&r);
		for (int i = 0; i < 3; i++)
			CHECK(r.fake[i].last.by_digest);
		for (int i = 0; i < 3; i++) {
			lacks_script(&r, i);
			CHECK_INT(r.fake[i].last.op, looks ? OP_LOOK : OP_ACQUIRE);
			CHECK(!r.fake[i].last.by_digest);
			CHECK_INT(r.lock.tally.ballot[i].vote, VOTE_NONE);
		}
		votes(&r, looks ? "GGG" : "YYY");
		CHECK_INT(lock_state(&r.lock), looks ? LOCK_OVER : LOCK_HELD);
	}
}

TEST(an_extension_whose_script_is_unknown_is_sent_again_whole)
{
	usec began;
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	began = r.now;
	for (int i = 0; i < 3; i++) {
		CHECK_INT(r.fake[i].last.op, OP_EXTEND);
		CHECK(r.fake[i].last.by_digest);
	}
	pass(&r, MS);
	lacks_script(&r, 0);
	lacks_script(&r, 1);
	CHECK(!r.fake[0].last.by_digest && !r.fake[1].last.by_digest);
	/* No vote of the two has arrived so far. */
	CHECK_INT(tally_yes(&r.lock.tally) + tally_no(&r.lock.tally), 0);
	pass(&r, MS);
	votes(&r, "YY");
	/* The validity counts from the round's beginning, not from the second sending. */
	CHECK_INT(r.lock.tenure.valid_until, validity(began));
	fake_reply(&r, 2, VOTE_YES);
	/* The node knows the script from now on. */
	next_round(&r);
	CHECK(r.fake[0].last.by_digest);
}

TEST(a_node_that_refuses_digests_gets_whole_scripts_on_this_connection)
{
	struct rig r;

	ask(&r, 3, 0);
	reply_with(&r, 0, reply_absent(REASON_NO_DIGESTS, "NOPERM ... 'evalsha'"));
	CHECK(!r.fake[0].last.by_digest);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	next_round(&r);
	CHECK(!r.fake[0].last.by_digest);
	CHECK(r.fake[1].last.by_digest);
	votes(&r, "YYY");
	/* Another connection may have another user, or the right by now. */
	link_down(&r, 0, REASON_CLOSED);
	next_round(&r);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].last.op, OP_EXTEND);
	CHECK(r.fake[0].last.by_digest);
}

TEST(a_hand_off_whose_script_is_unknown_is_sent_again_whole)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	for (int i = 0; i < 3; i++)
		CHECK(r.fake[i].last.by_digest);
	lacks_script(&r, 0);
	/* That was no vote, and the key is still there. */
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_NONE);
	CHECK(r.lock.peer[0].pending != 0);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 2);
	CHECK(!r.fake[0].last.by_digest);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_YES);
	CHECK_INT(r.lock.peer[0].pending, 0);
	lacks_script(&r, 1);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF] + r.fake[1].sends[OP_HAND_OFF], 4);
}

/* The whole release on its way is carried out without the client. */
TEST(a_run_does_not_wait_for_a_hand_off_that_was_sent_again)
{
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	lacks_script(&r, 0);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[0].queued, 1);
	CHECK(!r.fake[0].last.by_digest);
}

TEST(a_node_that_refuses_digests_gets_the_hand_off_whole_once)
{
	struct reply denied = reply_absent(REASON_NO_DIGESTS, "NOPERM ... 'evalsha'");
	struct rig r;

	hold(&r, 3);
	let_go(&r);
	reply_with(&r, 0, denied);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 2);
	CHECK(!r.fake[0].last.by_digest);
	reply_with(&r, 0, denied);
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 2);
	finish(&r);
}

/* OP_DELETE knows no readers. */
TEST(the_release_of_a_reader_is_sent_whole)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.is_shared = true;
	hold_with(&r, &p);
	let_go(&r);
	CHECK_INT(r.fake[0].last.op, OP_HAND_OFF);
	CHECK(!r.fake[0].last.by_digest);
}

TEST(an_undo_whose_script_is_unknown_is_sent_again_whole)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, "YFF");
	CHECK_INT(r.fake[0].last.op, OP_UNDO);
	CHECK(r.fake[0].last.by_digest);
	lacks_script(&r, 0);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 2);
	CHECK(!r.fake[0].last.by_digest);
	CHECK(!peer_is_ready(&r.lock.peer[0]));
	fake_reply(&r, 0, VOTE_GONE);
	CHECK(peer_is_ready(&r.lock.peer[0]));
}

/* A request that followed its release would leave the key on the node. */
TEST(a_request_is_never_sent_again_after_its_release)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, ".FF");
	/* The attempt has failed: the release is queued after the request. */
	CHECK_INT(r.fake[0].sends[OP_HAND_OFF], 1);
	CHECK(r.fake[0].last.by_digest);
	lacks_script(&r, 0);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	/* The node did nothing this time; an earlier request of the attempt may have set the key.
	 */
	CHECK(r.lock.peer[0].pending != 0);
	fake_reply(&r, 0, VOTE_GONE);
	CHECK_INT(r.lock.peer[0].pending, 0);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

TEST(an_unknown_script_settles_no_pending_release)
{
	uint32_t round;
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	round = r.lock.stamp.round;
	votes(&r, ".AA");
	/* A new round has begun before the reply to the old one arrives. */
	wait_until(&r, r.up.wake_at);
	for (int turns = 0; turns < 100 && r.lock.stamp.round == round; turns++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[0].sends[OP_EXTEND], 1);
	lacks_script(&r, 0);
	CHECK(r.lock.peer[0].pending != 0);
	/* It is the request of this round that follows. */
	CHECK_INT(r.fake[0].sends[OP_EXTEND], 2);
	CHECK_INT(r.fake[0].last.round, r.lock.stamp.round);
	CHECK(r.fake[0].last.by_digest);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_request_that_is_sent_again_keeps_its_flags)
{
	struct policy p = policy(3, NEVER);
	struct rig r;

	start_with(&r, &p);
	r.lock.waiter.state = WAITER_OFF;
	all_up(&r);
	CHECK(!r.fake[0].last.watches);
	r.lock.peer[0].watches = r.lock.peer[0].overrides = true;
	lacks_script(&r, 0);
	CHECK(r.fake[0].last.watches && r.fake[0].last.overrides);
	votes(&r, "YYY");
	next_round(&r);
	CHECK(!r.fake[0].last.watches && !r.fake[0].last.overrides);
}

/* No further request is sent when the command is being terminated. */
TEST(a_request_is_not_sent_again_after_the_round)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YFF");
	next_round(&r);
	votes(&r, ".FF");
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	lacks_script(&r, 0);
	CHECK_INT(r.fake[0].queued, 0);
	CHECK(r.lock.peer[0].pending != 0);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}
