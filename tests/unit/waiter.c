/* waiter: the place in the queue of a key, and when to try again. */
#include "unit/rig.h"

#define ANOTHER "7777777777777777777777777777777777777777:x"

/* In the queue of node 0; the holder is not the one that wakes us. */
static void queue_as(struct rig *r, int rank, usec left)
{
	contend(r, 3, NEVER);
	refuse(r, HELD_FOR);
	join(r, 0, ranked(rank, held(left)));
	CHECK_INT(r->lock.waiter.state, WAITER_QUEUED);
}

static struct reply by_another(usec left)
{
	return told(VOTE_FOREIGN, ANOTHER, left);
}

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
		r.lock.waiter.state = WAITER_OFF;
		memcpy(r.lock.policy.order[0], (int[]){2, 0, 1, 4, 3}, 5 * sizeof(int));
		all_up(&r);
		votes(&r, cases[i].absent);
		refuse(&r, HELD_FOR);
		CHECK_INT(sends(&r, OP_SUBSCRIBE), 1);
		CHECK_INT(r.fake[cases[i].queue_node].sends[OP_SUBSCRIBE], 1);
		CHECK_INT(r.lock.waiter.state, WAITER_SUBSCRIBING);
		join(&r, cases[i].queue_node, ranked(0, held(HELD_FOR)));
		CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
		CHECK_INT(r.lock.waiter.node, cases[i].queue_node);
	}
}

TEST(a_join_whose_script_is_unknown_is_sent_again_whole)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.fake[0].last.op, OP_JOIN);
	CHECK(r.fake[0].last.by_digest);
	reply_with(&r, 0, reply_absent(REASON_NO_SCRIPT, "NOSCRIPT No matching script."));
	CHECK_INT(r.fake[0].sends[OP_JOIN], 2);
	CHECK(!r.fake[0].last.by_digest);
	reply_with(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
	CHECK_INT(r.lock.waiter.node, 0);
}

/* A message could arrive as soon as the node knows the waiter, and must find it subscribed. */
TEST(a_waiter_subscribes_before_it_joins)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	CHECK_INT(r.fake[0].queued, 1);
	CHECK_INT(r.fake[0].queue[0].op, OP_SUBSCRIBE);
	tick(&r);
	CHECK_INT(sends(&r, OP_SUBSCRIBE) + sends(&r, OP_JOIN), 1);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
	CHECK_INT(r.lock.waiter.state, WAITER_JOINING);
	reply_with(&r, 0, ranked(3, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.ticket, 1003);
	CHECK_INT(r.lock.waiter.rank, 3);
	/* Neither is a vote, nor leaves anything to release. */
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_FOREIGN);
	CHECK(!r.lock.peer[0].pending);
}

TEST(a_waiter_has_one_id)
{
	struct rig r;

	start(&r, 3, NEVER);
	r.lock.waiter.state = WAITER_OFF;
	r.random = 0x123456789abcdef0;
	all_up(&r);
	CHECK_TEXT(r.lock.waiter.id, "w123456789abcdef0");
	r.random = 5;
	refuse(&r, HELD_FOR);
	join(&r, 0, ranked(0, held(HELD_FOR)));
	next_attempt(&r);
	CHECK_TEXT(r.lock.waiter.id, "w123456789abcdef0");
}

TEST(a_client_that_need_not_wait_does_not_queue)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(sends(&r, OP_SUBSCRIBE), 0);
	/* no time */
	contend(&r, 3, 0);
	votes(&r, "FFF");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(sends(&r, OP_SUBSCRIBE), 0);
	/* no holder to wait for */
	contend(&r, 3, NEVER);
	votes(&r, "AAY");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	CHECK_INT(sends(&r, OP_SUBSCRIBE), 0);
}

/* The release of the attempt before is on its way. The other clients queue there. */
TEST(a_client_queues_at_the_first_node_even_if_it_is_ready_late)
{
	struct rig r;

	contend(&r, 3, NEVER);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, reply_absent(REASON_SERVER, "ERR"));
	reply_with(&r, 2, reply_absent(REASON_SERVER, "ERR"));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	for (int i = 0; i < 3; i++)
		link_down(&r, i, REASON_CLOSED);
	wait_until(&r, resume_at(&r));
	pass(&r, NODE_TIMEOUT / 2);
	all_up(&r);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	pass(&r, NODE_TIMEOUT / 5);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	wait_until(&r, r.lock.tally.began + NODE_TIMEOUT);
	refuse(&r, HELD_FOR);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_NOT_READY);
	join(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.node, 0);
}

/* Our attempt gets the queue node alone: a release goes there, and a join behind it. */
static void fail_an_attempt(struct rig *r)
{
	queue_as(r, 0, HELD_FOR);
	next_attempt(r);
	reply_with(r, 0, told(VOTE_YES, "", 0));
	reply_with(r, 1, by_another(HELD_FOR));
	reply_with(r, 2, by_another(HELD_FOR));
}

/* In one packet: the join finds the key free of our own vote. */
TEST(a_join_follows_the_release_of_the_attempt)
{
	struct rig r;

	fail_an_attempt(&r);
	CHECK_INT(r.fake[0].queued, 2);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[1].op, OP_JOIN);
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 1);
	/* The release settles the key, and the join has a node timeout. */
	pass(&r, NODE_TIMEOUT - 1);
	fake_reply(&r, 0, VOTE_YES);
	CHECK(!r.lock.peer[0].pending);
	CHECK_INT(r.lock.waiter.state, WAITER_JOINING);
	reply_with(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
}

/* The node has the key of our own attempt when it carries the join out. */
TEST(a_join_after_a_release_whose_script_is_unknown_is_sent_again)
{
	struct rig r;

	fail_an_attempt(&r);
	reply_with(&r, 0, reply_absent(REASON_NO_SCRIPT, "NOSCRIPT No matching script."));
	CHECK(r.lock.peer[0].pending && r.lock.peer[0].releasing);
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
	CHECK_INT(r.fake[0].queue[1].op, OP_UNDO);
	CHECK(!r.fake[0].queue[1].by_digest);
	/* Our own token. */
	reply_with(&r, 0, ranked(0, by_another(2 * HELD_FOR)));
	CHECK_INT(r.fake[0].queue[1].op, OP_JOIN);
	CHECK_INT(r.lock.waiter.state, WAITER_JOINING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK(!r.lock.peer[0].pending);
	reply_with(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
}

/* A refusal that is heard needs no release. A node that is farther away, or silent, gets one. */
TEST(a_client_that_waits_hears_the_refusals_that_are_due)
{
	for (int waits = 0; waits <= 1; waits++) {
		struct rig r;

		contend(&r, 5, waits ? NEVER : 0);
		pass(&r, 8 * MS);
		for (int i = 0; i < 3; i++)
			reply_with(&r, i, held(HELD_FOR));
		CHECK_INT(lock_state(&r.lock), waits ? LOCK_TRYING : LOCK_RELEASING);
		CHECK_INT(lock_is_pausing(&r.lock), false);
		CHECK_INT(sends(&r, OP_UNDO) + sends(&r, OP_HAND_OFF), waits ? 0 : 2);
		if (!waits)
			continue;
		reply_with(&r, 3, held(HELD_FOR));
		/* A quarter of the time that the majority took. */
		wait_until(&r, BEGIN + 10 * MS - 1);
		CHECK(!lock_is_pausing(&r.lock));
		wait_until(&r, BEGIN + 10 * MS);
		CHECK(lock_is_pausing(&r.lock));
		CHECK_INT(sends(&r, OP_UNDO), 1);
		CHECK_INT(r.fake[4].sends[OP_UNDO], 1);
	}
}

/* A request in flight is answered first. */
TEST(a_waiter_hears_the_queue_node_before_it_queues)
{
	struct rig r;

	contend(&r, 3, NEVER);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	pass(&r, MS);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(sends(&r, OP_SUBSCRIBE), 0);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(r.fake[0].last.op, OP_SUBSCRIBE);
	/* It is silent. */
	contend(&r, 3, NEVER);
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
}

TEST(a_waiter_returns_when_an_earlier_node_answers_again)
{
	struct rig r;

	contend(&r, 3, NEVER);
	votes(&r, "A");
	refuse(&r, HELD_FOR);
	join(&r, 1, ranked(0, held(HELD_FOR)));
	next_attempt(&r);
	/* The earlier node has not answered yet: no reason to leave. */
	reply_with(&r, 1, held(HELD_FOR));
	reply_with(&r, 2, held(HELD_FOR));
	pass(&r, MS);
	CHECK_INT(leaves(&r), 0);
	CHECK_INT(r.fake[1].last.op, OP_JOIN);
	reply_with(&r, 1, ranked(0, held(HELD_FOR)));
	CHECK_INT(leaves(&r), 0);
	reply_with(&r, 0, held(HELD_FOR));
	CHECK_INT(r.fake[1].leaves, 1);
	CHECK_INT(r.fake[0].last.op, OP_SUBSCRIBE);
}

/* It is connected too late for the attempt; the other clients queue there all the same. */
TEST(a_node_that_was_not_asked_is_still_the_queue_node)
{
	struct rig r;

	start(&r, 3, NEVER);
	r.lock.waiter.state = WAITER_OFF;
	link_up(&r, 1);
	link_up(&r, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 2);
	refuse(&r, HELD_FOR);
	CHECK_INT(sends(&r, OP_SUBSCRIBE), 0);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_SUBSCRIBE);
	/* It does not connect. */
	start(&r, 3, NEVER);
	r.lock.waiter.state = WAITER_OFF;
	link_up(&r, 1);
	link_up(&r, 2);
	refuse(&r, HELD_FOR);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
}

TEST(fair_waits_for_the_connection_to_the_queue_node)
{
	for (int fair = 0; fair < 2; fair++) {
		struct policy p = policy(3, NEVER);
		struct rig r;

		p.is_fair = fair;
		start_with(&r, &p);
		link_up(&r, 1);
		link_up(&r, 2);
		votes(&r, ".YY");
		CHECK_INT(lock_state(&r.lock), fair ? LOCK_TRYING : LOCK_HELD);
		wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
		CHECK_INT(lock_state(&r.lock), fair ? LOCK_TRYING : LOCK_HELD);
		link_up(&r, 0);
		votes(&r, "Y");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		/* Not for another node. */
		start_with(&r, &p);
		link_up(&r, 0);
		link_up(&r, 1);
		votes(&r, "YY");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	}
}

/* ---- a queue node that is gone ---- */

TEST(a_look_without_answer_moves_the_waiter_to_the_next_node)
{
	struct rig r;

	queue_as(&r, 2, HELD_FOR);
	wait_until(&r, r.lock.waiter.look_at);
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
	CHECK_INT(r.fake[1].link, LINK_DOWN);
	wait_until(&r, r.now + NODE_TIMEOUT - 1);
	CHECK_INT(r.fake[1].opens, 1);
	wait_until(&r, r.now + 1);
	CHECK_INT(r.lock.waiter.node, 1);
	CHECK_INT(r.fake[1].opens, 2);
	join(&r, 1, ranked(2, held(HELD_FOR)));
	/* with its ticket */
	CHECK_INT(r.lock.waiter.ticket, 1002);
	CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	/* The reply arrives after all: the waiter returns. */
	reply_with(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.fake[1].leaves, 1);
	CHECK_INT(r.fake[0].last.op, OP_JOIN);
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 1);
	CHECK_INT(r.lock.waiter.node, 0);
}

TEST(a_connection_that_breaks_moves_the_waiter_to_the_next_node)
{
	struct rig r;

	/* while it waits */
	queue_as(&r, 2, HELD_FOR);
	link_down(&r, 0, REASON_CLOSED);
	CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	/* while it subscribes */
	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	link_down(&r, 0, REASON_CLOSED);
	CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
	/* while it joins */
	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	fake_reply(&r, 0, VOTE_YES);
	link_down(&r, 0, REASON_CLOSED);
	CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
	/* and again; with no node left, it asks all of them soon */
	link_down(&r, 1, REASON_CLOSED);
	CHECK_INT(r.fake[2].queue[0].op, OP_SUBSCRIBE);
	link_down(&r, 2, REASON_CLOSED);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	wait_until(&r, resume_at(&r));
	for (int i = 0; i < 3; i++)
		CHECK_INT(r.fake[i].link, LINK_OPENING);
}

TEST(a_node_that_cannot_be_connected_is_passed_over)
{
	struct rig r;

	queue_as(&r, 2, HELD_FOR);
	pass(&r, 2 * USEC_SEC);
	link_down(&r, 0, REASON_CLOSED);
	CHECK_INT(r.fake[1].link, LINK_OPENING);
	link_down(&r, 1, REASON_CONNECT);
	CHECK_INT(r.fake[2].link, LINK_OPENING);
	wait_until(&r, r.now + NODE_TIMEOUT);
	CHECK_INT(r.fake[2].link, LINK_DOWN);
	CHECK(resume_at(&r) <= r.now + 20 * MS);
}

/* The attempt opened a new connection, on which no message would arrive. */
TEST(a_waiter_subscribes_again_on_a_new_connection)
{
	struct rig r;

	queue_as(&r, 0, HELD_FOR);
	next_attempt(&r);
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".AA");
	votes(&r, ".GG");
	wait_until(&r, resume_at(&r));
	link_up(&r, 0);
	fake_reply(&r, 0, VOTE_GONE);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 3);
	CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
	refuse(&r, HELD_FOR);
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 2);
	/* not on the same connection */
	queue_as(&r, 0, HELD_FOR);
	for (int i = 0; i < 5; i++) {
		next_attempt(&r);
		refuse(&r, HELD_FOR);
		join(&r, 0, ranked(0, held(HELD_FOR)));
	}
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 1);
	CHECK_INT(r.fake[0].sends[OP_JOIN], 6);
	CHECK_INT(r.fake[0].opens, 1);
}

TEST(a_client_that_may_not_queue_polls)
{
	static const enum reason reasons[] = {REASON_NOPERM, REASON_SERVER};

	for (size_t n = 0; n < 4; n++) {
		struct rig r;

		contend(&r, 3, NEVER);
		refuse(&r, HELD_FOR);
		if (n & 1)
			fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 0, reply_absent(reasons[n / 2], "NOPERM"));
		CHECK_INT(r.lock.waiter.state, WAITER_POLLS);
		CHECK_INT(r.lock.waiter.problem.reason, reasons[n / 2]);
		CHECK_INT(r.lock.waiter.node, 0);
		CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
		/* All keep their connections: the next attempt is soon. */
		for (int i = 0; i < 3; i++) {
			next_attempt(&r);
			refuse(&r, HELD_FOR);
			CHECK_INT(resume_at(&r), r.now + (i < 2 ? 20 : 40) * MS);
		}
		CHECK_INT(sends(&r, OP_SUBSCRIBE), 1);
		let_go(&r);
		CHECK_INT(leaves(&r), 0);
		CHECK_INT(r.lock.waiter.state, WAITER_POLLS);
	}
}

TEST(a_client_that_may_not_queue_tries_again_after_five_seconds)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	reply_with(&r, 0, reply_absent(REASON_NOPERM, "NOPERM"));
	while (r.lock.waiter.state == WAITER_POLLS && r.now < BEGIN + 6 * USEC_SEC) {
		CHECK_INT(sends(&r, OP_SUBSCRIBE), 1);
		next_attempt(&r);
		refuse(&r, HELD_FOR);
	}
	CHECK(r.now >= BEGIN + 5 * USEC_SEC && r.now < BEGIN + 6 * USEC_SEC);
	join(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
}

TEST(a_queue_node_in_trouble_is_passed_over)
{
	for (int joins = 0; joins < 2; joins++) {
		struct rig r;

		contend(&r, 3, NEVER);
		refuse(&r, HELD_FOR);
		if (joins)
			fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 0, reply_absent(REASON_LOADING, "LOADING"));
		CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
		/* Only as long as this pause lasts. */
		join(&r, 1, ranked(0, held(HELD_FOR)));
		next_attempt(&r);
		refuse(&r, HELD_FOR);
		CHECK_INT(r.fake[1].leaves, 1);
		CHECK_INT(r.lock.waiter.node, 0);
	}
}

/* ---- when to look, and when to try again ---- */

TEST(the_first_waiter_asks_all_nodes_every_second)
{
	struct rig r;

	queue_as(&r, 0, HELD_FOR);
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC);
	next_attempt(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	CHECK_INT(sends(&r, OP_JOIN), 1);
	/* The other nodes have lost the key, or the queue node has that of a dead client. */
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* Waiters of several keys, or at several nodes, do not ask at the same moment. */
	r.random = 99999;
	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	r.random = 99999;
	join(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC + 99999);
}

TEST(the_second_waiter_looks_every_second_and_attempts_every_other_one)
{
	struct rig r;
	usec attempted_at = BEGIN;

	queue_as(&r, 1, HELD_FOR);
	for (int i = 1; i <= 2; i++) {
		CHECK_INT(r.lock.waiter.look_at, r.now + USEC_SEC);
		CHECK_INT(resume_at(&r), attempted_at + 2 * USEC_SEC);
		wait_until(&r, r.lock.waiter.look_at);
		CHECK_INT(r.fake[0].sends[OP_JOIN], 2 * i);
		reply_with(&r, 0, ranked(1, held(BEGIN + HELD_FOR - r.now)));
		CHECK_INT(sends(&r, OP_ACQUIRE), 3 * i);
		/* The first waiter may be stopped, and the queue node may have a key that the
		 * others have not. */
		attempted_at += 2 * USEC_SEC;
		next_attempt(&r);
		CHECK_INT(r.now, attempted_at);
		CHECK_INT(sends(&r, OP_ACQUIRE), 3 * i + 3);
		for (int node = 0; node < 3; node++)
			reply_with(&r, node, held(BEGIN + HELD_FOR - r.now));
		reply_with(&r, 0, ranked(1, held(BEGIN + HELD_FOR - r.now)));
	}
	/* At the end of the key, it asks all nodes. */
	wait_until(&r, r.lock.waiter.look_at);
	reply_with(&r, 0, ranked(1, held(BEGIN + HELD_FOR - r.now)));
	next_attempt(&r);
	CHECK_INT(r.now, BEGIN + HELD_FOR + 2 * MS);
	CHECK_INT(sends(&r, OP_ACQUIRE), 12);
}

TEST(the_other_waiters_look_seldom)
{
	struct rig r;

	for (int rank = 2; rank < 200; rank += 99) {
		queue_as(&r, rank, 20 * MS);
		CHECK_INT(r.lock.waiter.look_at, BEGIN + 5 * USEC_SEC + rank * 20 * MS);
		CHECK_INT(resume_at(&r), NEVER);
		wait_until(&r, r.lock.waiter.look_at);
		CHECK_INT(r.fake[0].sends[OP_JOIN], 2);
		reply_with(&r, 0, ranked(rank, held(20 * MS)));
		CHECK_INT(r.lock.waiter.look_at, r.now + 5 * USEC_SEC + rank * 20 * MS);
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	}
}

/* The queue node is full when the attempt of `tries` begins; the others refuse. */
static void find_no_room(struct rig *r, int rank)
{
	link_down(r, 0, REASON_MAXCLIENTS);
	all_up(r);
	refuse(r, 600 * USEC_SEC);
	join(r, 1, ranked(rank, held(600 * USEC_SEC)));
	CHECK_INT(r->lock.waiter.full, 1);
}

/* It keeps the one connection that it has, and asks all nodes after 20, 40 and then 60 seconds. */
TEST(a_waiter_that_the_queue_node_has_no_room_for_asks_seldom)
{
	static const usec intervals[] = {20, 40, 60, 60};

	for (int rank = 0; rank < 3; rank++) {
		struct rig r;

		start(&r, 5, NEVER);
		r.lock.waiter.state = WAITER_OFF;
		for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
			usec began = r.now;
			int joins;

			find_no_room(&r, rank);
			joins = sends(&r, OP_JOIN);
			CHECK_INT(r.lock.waiter.look_at, began + 15 * USEC_SEC + rank * 20 * MS);
			CHECK_INT(resume_at(&r), began + intervals[i] * USEC_SEC);
			wait_until(&r, began + 2 * USEC_SEC);
			for (int node = 0; node < 5; node++)
				CHECK_INT(r.fake[node].link, node == 1 ? LINK_UP : LINK_DOWN);
			for (int look = 0; look < 4 && lock_is_pausing(&r.lock); look++) {
				wait_until(&r, usec_min(resume_at(&r), r.lock.waiter.look_at));
				if (r.fake[1].queue[0].op == OP_JOIN)
					reply_with(&r, 1, ranked(rank, held(600 * USEC_SEC)));
			}
			CHECK_INT(sends(&r, OP_JOIN) - joins, (intervals[i] - 1) / 15);
		}
		/* There is room now. */
		all_up(&r);
		refuse(&r, 600 * USEC_SEC);
		CHECK_INT(r.fake[1].leaves, 1);
		join(&r, 0, ranked(rank, held(600 * USEC_SEC)));
		CHECK_INT(r.lock.waiter.node, 0);
		CHECK_INT(r.lock.waiter.full, 0);
	}
}

/* Each release leads to a reservation; the end of a holder's key is worth an attempt. */
TEST(without_room_at_the_queue_node_a_reservation_for_another_one_is_not_waited_for)
{
	struct rig r;

	start(&r, 5, NEVER);
	r.lock.waiter.state = WAITER_OFF;
	find_no_room(&r, 0);
	wait_until(&r, r.lock.waiter.look_at);
	reply_with(&r, 1, ranked(0, reserved(NODE_TIMEOUT)));
	CHECK_INT(resume_at(&r), BEGIN + 20 * USEC_SEC);
	wait_until(&r, r.lock.waiter.look_at < resume_at(&r) ? r.lock.waiter.look_at : r.now);
	nudge(&r, 1);
	wait_until(&r, r.lock.waiter.look_at);
	reply_with(&r, 1, ranked(0, held(USEC_SEC)));
	CHECK_INT(resume_at(&r), r.now + USEC_SEC + 2 * MS);
}

TEST(a_crowd_whose_queue_node_is_gone_spreads)
{
	struct rig r;

	queue_as(&r, 4000, HELD_FOR);
	r.random = 3999 * MS;
	link_down(&r, 0, REASON_CLOSED);
	CHECK_INT(r.fake[1].queued, 0);
	wait_until(&r, BEGIN + 3999 * MS - 1);
	CHECK_INT(r.fake[1].opens, 1);
	CHECK_INT(r.fake[1].queued, 0);
	wait_until(&r, BEGIN + 3999 * MS);
	join(&r, 1, ranked(4000, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.node, 1);
	/* The first two move at once. */
	for (int rank = 0; rank < 2; rank++) {
		queue_as(&r, rank, HELD_FOR);
		r.random = 3999 * MS;
		link_down(&r, 0, REASON_CLOSED);
		CHECK_INT(r.fake[1].queue[0].op, OP_SUBSCRIBE);
	}
}

/* A node that is late, or full, may have to serve a crowd: each client asks half as often after
 * each attempt. A node that is down has nothing to do. */
TEST(attempts_without_quorum_are_rarer_if_nodes_are_overloaded)
{
	static const struct {
		enum reason reason;
		int ms[6];
	} cases[] = {
		{REASON_MAXCLIENTS, {40, 80, 160, 320, 320, 320}},
		{REASON_TIMEOUT, {40, 80, 160, 320, 320, 320}},
		{REASON_CONNECT, {20, 20, 20, 40, 40, 40}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		start(&r, 1, NEVER);
		for (int n = 0; n < 6; n++) {
			link_down(&r, 0, cases[i].reason);
			CHECK_INT(resume_at(&r), r.now + cases[i].ms[n] * MS);
			wait_until(&r, resume_at(&r));
		}
	}
}

TEST(the_first_two_ask_when_the_key_or_the_reservation_must_have_ended)
{
	for (int rank = 0; rank < 2; rank++) {
		struct rig r;

		queue_as(&r, rank, 500 * MS);
		CHECK_INT(resume_at(&r), BEGIN + 502 * MS);
		contend(&r, 3, NEVER);
		refuse(&r, HELD_FOR);
		r.random = 99999;
		join(&r, 0, ranked(rank, reserved(60 * MS)));
		CHECK_INT(resume_at(&r), BEGIN + 62 * MS + 99999);
	}
}

/* No program will wake the waiters: the first one watches the key, the second one polls. */
TEST(foreign_holders_wake_no_waiter_so_the_first_two_ask)
{
	struct reply no[] = {told(VOTE_FOREIGN, "a stranger", HELD_FOR), held(NEVER)};

	for (int i = 0; i < 6; i++)
		for (int rank = 0; rank < 3; rank++) {
			struct rig r;

			contend(&r, 3, NEVER);
			/* One is enough, the queue node or not; or the look finds it. */
			reply_with(&r, 0, i < 2 ? no[i] : held(HELD_FOR));
			reply_with(&r, 1, i >= 2 && i < 4 ? no[i - 2] : held(HELD_FOR));
			reply_with(&r, 2, held(HELD_FOR));
			join(&r, 0, ranked(rank, i >= 4 ? no[i - 4] : held(HELD_FOR)));
			if (rank == 0)
				CHECK(!lock_is_pausing(&r.lock));
			else
				CHECK_INT(resume_at(&r), rank == 1 ? BEGIN + 20 * MS : NEVER);
		}
}

static struct reply watched(struct reply a)
{
	a.is_watched = true;
	return a;
}

/* The first waiter of a key that another program has, in its second attempt. */
static void watch(struct rig *r)
{
	const struct reply stranger = told(VOTE_FOREIGN, "a stranger", HELD_FOR);

	contend(r, 3, NEVER);
	CHECK(!r->fake[0].last.watches);
	all_say(r, stranger);
	join(r, 0, ranked(0, stranger));
	for (int i = 0; i < 3; i++)
		CHECK(r->fake[i].last.watches);
	all_say(r, watched(stranger));
	join(r, 0, ranked(0, stranger));
}

TEST(a_waiter_that_watches_asks_again_when_the_key_changes_at_any_node)
{
	for (int node = 0; node < 3; node++) {
		struct rig r;

		watch(&r);
		CHECK_INT(resume_at(&r), BEGIN + USEC_SEC);
		tell_change(&r, node);
		CHECK(!lock_is_pausing(&r.lock));
	}
}

/* A change during the join is worth an attempt as soon as the node has answered. */
TEST(a_waiter_that_watches_asks_again_when_the_key_changed_during_its_join)
{
	const struct reply stranger = told(VOTE_FOREIGN, "a stranger", HELD_FOR);
	struct rig r;

	watch(&r);
	tell_change(&r, 1);
	all_say(&r, watched(stranger));
	tell_change(&r, 2);
	CHECK(lock_is_pausing(&r.lock));
	join(&r, 0, ranked(0, stranger));
	CHECK(!lock_is_pausing(&r.lock));
}

/* A client of redlock has the key at the other nodes. */
TEST(a_waiter_that_watches_does_not_keep_a_vote_for_a_holder_of_redlock)
{
	struct rig r;

	watch(&r);
	tell_change(&r, 0);
	/* The queue node grants the key in vain: the third reservation is used before it ends. */
	for (int woken = 0; woken <= 2; woken++) {
		CHECK(!lock_is_pausing(&r.lock));
		fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 1, watched(by_another(HELD_FOR)));
		reply_with(&r, 2, watched(by_another(HELD_FOR)));
		CHECK(lock_is_pausing(&r.lock));
		fake_reply(&r, 0, VOTE_YES);
		join(&r, 0, wake_up());
	}
	CHECK_INT(resume_at(&r), BEGIN + NODE_TIMEOUT / 2);
}

/* The slots of a semaphore are many keys: none of them is watched. */
TEST(a_waiter_for_a_slot_does_not_watch)
{
	const struct reply stranger = told(VOTE_FOREIGN, "a stranger", HELD_FOR);
	struct policy p = policy(3, NEVER);
	struct rig r;

	p.limit = 2;
	start_with(&r, &p);
	r.lock.waiter.state = WAITER_OFF;
	all_up(&r);
	all_say(&r, stranger);
	join(&r, 0, ranked(0, stranger));
	CHECK(r.lock.waiter.met_foreign);
	pass(&r, 2 * USEC_SEC);
	for (int i = 0; i < 3; i++)
		CHECK(r.fake[i].sends[OP_ACQUIRE] > 1 && !r.fake[i].last.watches);
}

/* The server is too old, or the user has no right to CLIENT. */
TEST(a_waiter_that_cannot_watch_polls)
{
	const struct reply stranger = told(VOTE_FOREIGN, "a stranger", HELD_FOR);
	struct rig r;

	contend(&r, 3, NEVER);
	all_say(&r, stranger);
	join(&r, 0, ranked(0, stranger));
	all_say(&r, stranger);
	join(&r, 0, ranked(0, stranger));
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
}

/* The other program's releases arrive one after the other. */
TEST(a_vote_is_kept_while_a_foreign_release_is_on_its_way)
{
	const struct reply stranger = watched(told(VOTE_FOREIGN, "a stranger", HELD_FOR));
	struct rig r;

	watch(&r);
	tell_change(&r, 0);
	reply_with(&r, 0, told(VOTE_YES, "", 0));
	reply_with(&r, 1, stranger);
	reply_with(&r, 2, stranger);
	CHECK(!lock_is_pausing(&r.lock));
	tell_change(&r, 1);
	CHECK_INT(r.fake[1].last.op, OP_ACQUIRE);
	reply_with(&r, 1, told(VOTE_YES, "", 0));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* While a client of redlock has the key, no node is asked to tell. */
TEST(a_key_of_redlock_is_not_watched)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	join(&r, 0, ranked(0, held(HELD_FOR)));
	pass(&r, 2 * USEC_SEC);
	for (int i = 0; i < 3; i++)
		CHECK(r.fake[i].sends[OP_ACQUIRE] > 1 && !r.fake[i].last.watches);
}

/* Each of its extensions would wake the waiter. */
TEST(a_key_of_redlock_is_not_watched_after_another_program_had_it)
{
	struct rig r;

	watch(&r);
	tell_change(&r, 0);
	refuse(&r, HELD_FOR);
	join(&r, 0, ranked(0, held(HELD_FOR)));
	tell_change(&r, 0);
	refuse(&r, HELD_FOR);
	for (int i = 0; i < 3; i++)
		CHECK(!r.fake[i].last.watches);
}

TEST(free_at_the_join_is_worth_an_attempt_at_once)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	join(&r, 0, wake_up());
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	CHECK_TEXT(r.lock.wakeup.reservation[0], BIGGER);
	CHECK(r.lock.attempt.is_woken);
	CHECK_INT(r.token, 2);
}

/* The queue node grants the key, the others name this holder; then the join finds the key free. */
static void is_woken_in_vain(struct rig *r, struct reply holder)
{
	fake_reply(r, 0, r->lock.policy.only_looks ? VOTE_GONE : VOTE_YES);
	reply_with(r, 1, holder);
	reply_with(r, 2, holder);
	CHECK(lock_is_pausing(&r->lock));
	if (!r->lock.policy.only_looks)
		fake_reply(r, 0, VOTE_YES);
	join(r, 0, wake_up());
}

/* A queue node that lost the key of a live holder would cause one attempt after the other. */
TEST(reservations_that_fail_because_of_one_holder_wait_from_the_third_on)
{
	struct rig r;

	contend(&r, 3, NEVER);
	for (int tries = 1; tries < 10; tries++) {
		is_woken_in_vain(&r, by_another(HELD_FOR));
		CHECK_INT(r.lock.waiter.tries, tries);
		if (tries > 2) {
			CHECK_INT(resume_at(&r), r.now + (tries < 4          ? 20
								 : tries < 8 ? 40
									     : 50) *
								 MS);
			next_attempt(&r);
		}
		CHECK(!lock_is_pausing(&r.lock));
		CHECK(r.lock.attempt.is_woken);
	}
}

/* Waiters that wake each other: every second one finds the key reserved for the other. */
TEST(reservations_that_fail_because_of_another_one_wait_as_well)
{
	struct rig r;

	contend(&r, 3, NEVER);
	is_woken_in_vain(&r, by_another(HELD_FOR));
	is_woken_in_vain(&r, by_another(HELD_FOR));
	all_say(&r, reserved(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	join(&r, 0, wake_up());
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
}

/* The nodes lose the keys before they store the fencing number: no other holder is known. */
TEST(reservations_whose_keys_are_lost_before_their_number_is_stored_wait_as_well)
{
	struct rig r;

	contend(&r, 3, NEVER);
	is_woken_in_vain(&r, by_another(HELD_FOR));
	is_woken_in_vain(&r, by_another(HELD_FOR));
	r.lock.policy.wants_fence = true;
	for (int i = 0; i < 2; i++) {
		struct reply granted = told(VOTE_YES, "", 0);

		granted.fence = 1 + i;
		reply_with(&r, i, granted);
	}
	CHECK_INT(sends(&r, OP_FENCE), 2);
	votes(&r, "GG");
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	join(&r, 0, wake_up());
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
}

/* Also if the wake-up arrives before the attempt has failed. */
TEST(a_reservation_that_arrives_during_an_attempt_in_vain_waits_as_well)
{
	struct rig r;

	contend(&r, 3, NEVER);
	is_woken_in_vain(&r, by_another(HELD_FOR));
	is_woken_in_vain(&r, by_another(HELD_FOR));
	wake(&r, 0, 0, wake_up());
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, by_another(HELD_FOR));
	reply_with(&r, 2, by_another(HELD_FOR));
	CHECK(r.lock.wakeup.is_unused);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
}

/* Newcomers take the key between two wake-ups; each of them wakes us. */
TEST(a_hand_off_that_a_newcomer_meets_does_not_slow_the_next_one)
{
	struct rig r;

	contend(&r, 3, NEVER);
	for (int i = 0; i < 8; i++) {
		is_woken_in_vain(&r, i % 2 ? by_another(HELD_FOR)
					   : told(VOTE_FOREIGN, SMALLER ":newcomer", HELD_FOR));
		CHECK(!lock_is_pausing(&r.lock));
	}
	CHECK_INT(r.lock.waiter.tries, 8);
}

/* The wake-up has the id of the token that was released: that of the holder which refused. */
TEST(a_release_of_the_holder_that_refused_is_news)
{
	struct rig r;

	contend(&r, 3, NEVER);
	for (int i = 0; i < 8; i++) {
		all_say(&r, held(HELD_FOR));
		join(&r, 0, told(VOTE_YES, HUGE, 0));
		if (lock_is_pausing(&r.lock))
			next_attempt(&r);
	}
	all_say(&r, held(HELD_FOR));
	join(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK(lock_is_pausing(&r.lock));
	wake(&r, 0, 0, wake_up());
	CHECK_INT(r.lock.waiter.tries, 0);
	CHECK(!lock_is_pausing(&r.lock));
}

/* The reservation has the id of the holder that refuses: its release is on its way to the other
 * nodes. */
TEST(a_refusal_by_the_holder_of_the_reservation_is_early)
{
	struct rig r;

	contend(&r, 3, NEVER);
	refuse(&r, HELD_FOR);
	join(&r, 0, wake_up());
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	reply_with(&r, 2, told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR));
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3 + 3 + 2);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* Or there is no release, and the queue node lost the key of the holder: a retry would keep the
 * holder from setting its key there. */
TEST(no_refusal_is_early_after_reservations_in_vain)
{
	struct reply holder = told(VOTE_FOREIGN, BIGGER ":a", HELD_FOR);
	struct rig r;

	contend(&r, 3, NEVER);
	for (int i = 0; i < 3; i++) {
		fake_reply(&r, 0, VOTE_YES);
		reply_with(&r, 1, holder);
		reply_with(&r, 2, holder);
		CHECK(lock_is_pausing(&r.lock));
		fake_reply(&r, 0, VOTE_YES);
		join(&r, 0, told(VOTE_YES, i < 2 ? HUGE : BIGGER, 0));
		CHECK(!lock_is_pausing(&r.lock));
	}
	CHECK(r.lock.attempt.is_woken);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 1, holder);
	reply_with(&r, 2, holder);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].sends[OP_UNDO], 4);
}

/* It begins the quarantine of each node. */
TEST(the_first_look_waits_for_every_node)
{
	static const char *const third[] = {"G", "F", "A"};
	struct rig r;

	for (int i = 0; i < 3; i++) {
		look_with(&r, 3, NEVER);
		votes(&r, "GG");
		CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
		fake_reply(&r, 2,
			*third[i] == 'G'   ? VOTE_GONE
			: *third[i] == 'F' ? VOTE_FOREIGN
					   : VOTE_ABSENT);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.lock.refusal, REFUSAL_NONE);
	}
}

TEST(the_first_look_waits_until_every_node_is_connected_or_late)
{
	struct policy p = policy(3, NEVER);
	struct rig r;

	p.only_looks = true;
	start_with(&r, &p);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "GG");
	pass(&r, p.node_timeout - MS);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	pass(&r, MS);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	start_with(&r, &p);
	link_up(&r, 0);
	link_up(&r, 1);
	votes(&r, "GG");
	link_up(&r, 2);
	CHECK_INT(r.fake[2].sends[OP_LOOK], 1);
	votes(&r, "..G");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

/* The key may be reserved for it, and another waiter needs it. */
TEST(a_later_look_waits_for_a_majority_only)
{
	struct rig r;

	look_and_be_woken(&r, by_another(HELD_FOR));
	votes(&r, "GG");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
}

/* "Free" is the vote that grants it. */
TEST(a_client_that_only_looks_is_woken_in_vain_as_well)
{
	struct rig r;

	look_with(&r, 3, NEVER);
	r.lock.waiter.state = WAITER_OFF;
	for (int i = 0; i < 3; i++)
		is_woken_in_vain(&r, by_another(HELD_FOR));
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
}

/* Its reply may be a reservation, and the queue node takes part in the attempt. */
TEST(an_attempt_waits_for_the_reply_to_a_look)
{
	struct rig r;

	queue_as(&r, 1, 900 * MS);
	r.lock.waiter.look_at = BEGIN + 899 * MS;
	tick(&r);
	wait_until(&r, BEGIN + 950 * MS);
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	reply_with(&r, 0, wake_up());
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	/* but not for longer than a node timeout; and then it comes too late, on a connection that
	 * is dropped: no majority is left without it */
	contend(&r, 1, NEVER);
	refuse(&r, HELD_FOR);
	fake_reply(&r, 0, VOTE_YES);
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	wait_until(&r, resume_at(&r));
	CHECK(!lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.waiter.state, WAITER_OFF);
	CHECK(r.fake[0].link == LINK_OPENING);
	link_up(&r, 0);
	CHECK_INT(sends(&r, OP_ACQUIRE), 2);
}

TEST(a_waiter_has_its_last_attempt_at_the_deadline_and_at_all_nodes)
{
	for (int rank = 0; rank < 4; rank++) {
		struct rig r;

		enter_queue_for(&r, 3, USEC_SEC / 2, rank);
		CHECK_INT(resume_at(&r), BEGIN + USEC_SEC / 2);
		next_attempt(&r);
		CHECK_INT(r.now, BEGIN + USEC_SEC / 2);
		CHECK_INT(sends(&r, OP_ACQUIRE), 6);
		all_say(&r, held(HELD_FOR));
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		CHECK_INT(r.fake[0].leaves, 1);
		fake_reply(&r, 0, VOTE_YES);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	}
}

TEST(only_the_connection_to_the_queue_node_is_kept_for_longer_than_a_second)
{
	for (int rank = 0; rank < 3; rank++) {
		struct rig r;

		enter_queue_for(&r, 3, NEVER, rank);
		wait_until(&r, BEGIN + USEC_SEC - 1);
		for (int i = 0; i < 3; i++)
			CHECK_INT(r.fake[i].link, LINK_UP);
		wait_until(&r, BEGIN + USEC_SEC);
		CHECK_INT(r.fake[0].link, LINK_UP);
		/* The first two waiters ask all nodes in a moment. */
		for (int i = 1; i < 3; i++)
			CHECK_INT(r.fake[i].link, rank < 2 ? LINK_UP : LINK_DOWN);
		if (rank < 2)
			continue;
		/* A woken client connects first. */
		wake(&r, 0, 0, wake_up());
		CHECK_INT(sends(&r, OP_ACQUIRE), 3);
		all_up(&r);
		CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	}
}

TEST(a_request_in_flight_keeps_its_connection)
{
	struct rig r;

	contend(&r, 3, NEVER);
	reply_with(&r, 0, held(HELD_FOR));
	reply_with(&r, 1, held(HELD_FOR));
	pass(&r, MS);
	join(&r, 0, ranked(2, held(HELD_FOR)));
	wait_until(&r, BEGIN + USEC_SEC + MS);
	CHECK_INT(r.fake[1].link, LINK_DOWN);
	CHECK_INT(r.fake[2].link, LINK_UP);
}

/* ---- messages ---- */

TEST(a_woken_waiter_asks_all_nodes_at_once)
{
	struct rig r;

	enter_queue(&r, 5);
	pass(&r, 10 * MS);
	wake(&r, 0, 0, wake_up());
	CHECK_INT(r.token, 2);
	CHECK_INT(sends(&r, OP_ACQUIRE), 10);
	CHECK_TEXT(r.lock.wakeup.reservation[0], BIGGER);
	CHECK(r.lock.attempt.is_woken);
	votes(&r, "YYYYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(a_wake_up_is_an_id_and_no_more)
{
	struct rig r;

	enter_queue(&r, 1);
	wake(&r, 0, 0, told(VOTE_YES, BIGGER BIGGER, 0));
	CHECK_TEXT(r.lock.wakeup.reservation[0], BIGGER);
	enter_queue(&r, 1);
	wake(&r, 0, 0, told(VOTE_YES, "1", 0));
	CHECK_TEXT(r.lock.wakeup.reservation[0], "1");
}

TEST(a_woken_waiter_that_is_refused_returns_to_the_queue)
{
	struct rig r;

	enter_queue(&r, 3);
	wake(&r, 0, 0, wake_up());
	all_say(&r, by_another(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
	CHECK_INT(r.fake[0].sends[OP_SUBSCRIBE], 1);
	CHECK(!r.lock.wakeup.is_unused);
	/* The id of a reservation that was used is not sent again. */
	CHECK_TEXT(r.lock.wakeup.reservation[0], "");
}

TEST(a_wake_up_during_an_attempt_is_for_the_next)
{
	struct rig r;
	uint32_t round;

	enter_queue(&r, 3);
	next_attempt(&r);
	round = r.lock.stamp.round;
	wake(&r, 0, 0, wake_up());
	CHECK_INT(sends(&r, OP_ACQUIRE), 6);
	for (int i = 0; i < 3; i++)
		reply_with(&r, i, by_another(HELD_FOR));
	fake_reply(&r, 2, VOTE_GONE); /* the release after its request */
	CHECK_INT(r.lock.stamp.round, round + 1);
	CHECK_INT(sends(&r, OP_ACQUIRE), 9);
	CHECK(r.lock.attempt.is_woken);
	CHECK_TEXT(r.lock.wakeup.reservation[0], BIGGER);
	/* The reservation has been used. */
	all_say(&r, by_another(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.wakeup.is_unused);
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
}

TEST(a_reservation_lasts_through_an_attempt_without_quorum)
{
	struct rig r;

	enter_queue(&r, 3);
	wake(&r, 0, 0, wake_up());
	votes(&r, "AA");
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.wakeup.is_unused);
	CHECK_INT(resume_at(&r), r.now + 20 * MS);
	fake_reply(&r, 2, VOTE_YES);
	votes(&r, "YYY");
	next_attempt(&r);
	CHECK(r.lock.attempt.is_woken);
}

/* The others may reach nodes that this one does not reach. */
TEST(a_waiter_that_no_majority_answers_leaves_the_queue_after_a_second)
{
	struct rig r;
	usec first;

	enter_queue(&r, 3);
	wake(&r, 0, 0, wake_up());
	first = r.now;
	do {
		votes(&r, ".AA");
		CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
		fake_reply(&r, 0, VOTE_YES);
		votes(&r, "YYY");
		CHECK_INT(leaves(&r), 0);
		CHECK_INT(r.lock.waiter.state, WAITER_QUEUED);
		if (resume_at(&r) < first + USEC_SEC)
			next_attempt(&r);
	} while (resume_at(&r) < first + USEC_SEC);
	wait_until(&r, first + USEC_SEC);
	CHECK_INT(r.fake[0].leaves, 1);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
	CHECK_INT(r.lock.waiter.state, WAITER_OFF);
	/* The ticket gives it back its place. */
	fake_reply(&r, 0, VOTE_YES);
	next_attempt(&r);
	refuse(&r, HELD_FOR);
	join(&r, 0, ranked(0, held(HELD_FOR)));
	CHECK_INT(r.lock.waiter.ticket, 1000);
}

TEST(a_nudge_means_one_of_the_first_two)
{
	struct rig r;

	queue_as(&r, 7, HELD_FOR);
	pass(&r, 100 * MS);
	nudge(&r, 0);
	CHECK_INT(r.lock.waiter.rank, 1);
	CHECK_INT(r.lock.waiter.look_at, r.now + USEC_SEC);
	/* not later than planned */
	pass(&r, 100 * MS);
	nudge(&r, 0);
	CHECK_INT(r.lock.waiter.look_at, r.now + USEC_SEC - 100 * MS);
	wait_until(&r, r.lock.waiter.look_at);
	CHECK_INT(r.fake[0].queue[0].op, OP_JOIN);
	/* The first stays the first. */
	queue_as(&r, 0, HELD_FOR);
	nudge(&r, 0);
	CHECK_INT(r.lock.waiter.rank, 0);
}

TEST(a_queue_that_was_lost_is_entered_again_after_a_random_delay)
{
	struct rig r;

	queue_as(&r, 7, HELD_FOR);
	r.random = 123456;
	call_back(&r, 0);
	CHECK_INT(r.lock.waiter.look_at, BEGIN + 123456);
	CHECK_INT(r.lock.waiter.rank, 7);
	/* and 1 ms for each waiter ahead */
	r.random = 5 * (USEC_SEC + 7 * MS) + 999;
	call_back(&r, 0);
	CHECK_INT(r.lock.waiter.look_at, BEGIN + 999);
	/* not from another node */
	queue_as(&r, 7, HELD_FOR);
	call_back(&r, 1);
	CHECK(r.lock.waiter.look_at > BEGIN + USEC_SEC);
}

/* ---- the lock is held, or the client leaves ---- */

TEST(the_node_that_grants_the_key_takes_the_waiter_out_of_the_queue)
{
	struct rig r;

	enter_queue(&r, 3);
	wake(&r, 0, 0, wake_up());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.waiter.state, WAITER_OFF);
	let_go(&r);
	CHECK_INT(leaves(&r), 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
}

TEST(a_holder_that_is_still_in_the_queue_leaves_it)
{
	struct rig r;

	/* The queue node refused, and the others are enough. */
	enter_queue(&r, 3);
	next_attempt(&r);
	reply_with(&r, 0, by_another(HELD_FOR));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[0].leaves, 1);
	CHECK_INT(r.lock.waiter.state, WAITER_OFF);
	/* It answers later. */
	enter_queue(&r, 3);
	next_attempt(&r);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(leaves(&r), 0);
	reply_with(&r, 0, by_another(HELD_FOR));
	CHECK_INT(r.fake[0].leaves, 1);
	/* It never answers. */
	enter_queue(&r, 3);
	next_attempt(&r);
	votes(&r, ".YY");
	let_go(&r);
	CHECK_INT(leaves(&r), 0);
}

TEST(a_wake_up_of_no_use_is_passed_on)
{
	struct rig r;

	/* The lock is held: the node woke us before it read our request. */
	enter_queue(&r, 3);
	next_attempt(&r);
	wake(&r, 0, 0, wake_up());
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	reply_with(&r, 0, reserved(60 * MS));
	CHECK_INT(r.fake[0].leaves, 1);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
	/* Its reply is no vote, and settles nothing. */
	CHECK(r.lock.peer[0].asked);
	fake_reply(&r, 0, VOTE_GONE);
	CHECK(!r.lock.peer[0].asked);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_FOREIGN);
	/* after the queue was left */
	wake(&r, 0, 0, told(VOTE_YES, SMALLER, 0));
	CHECK_INT(r.fake[0].leaves, 2);
	CHECK_TEXT(r.fake[0].last.woken_by, SMALLER);
	/* A release may follow it. */
	let_go(&r);
	CHECK_INT(sends(&r, OP_HAND_OFF), 4);
	/* The wake-up arrives when the lock is held, and before the queue node refuses. */
	enter_queue(&r, 3);
	next_attempt(&r);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	wake(&r, 0, 0, wake_up());
	CHECK_INT(leaves(&r), 0);
	reply_with(&r, 0, reserved(60 * MS));
	CHECK_INT(r.fake[0].leaves, 1);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
	/* On a connection that is busy or gone, nothing is sent. */
	hold(&r, 3);
	next_round(&r);
	wake(&r, 0, 0, wake_up());
	CHECK_INT(leaves(&r), 0);
}

TEST(a_client_that_leaves_passes_its_reservation_on)
{
	struct rig r;

	enter_queue(&r, 3);
	next_attempt(&r);
	wake(&r, 0, 0, wake_up());
	let_go(&r);
	/* after the release of the attempt's key */
	CHECK_INT(r.fake[0].queue[1].op, OP_HAND_OFF);
	CHECK_INT(leaves(&r), 0);
	fake_reply(&r, 0, VOTE_YES);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.fake[0].leaves, 1);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
	for (int i = 1; i < 3; i++) {
		fake_reply(&r, i, VOTE_YES);
		fake_reply(&r, i, VOTE_YES);
	}
	/* The lock waits for the reply. */
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.lock.waiter.state, WAITER_LEAVING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

TEST(a_client_that_leaves_the_queue_says_so)
{
	struct rig r;

	queue_as(&r, 3, HELD_FOR);
	pass(&r, 2 * USEC_SEC);
	let_go(&r);
	CHECK_INT(r.fake[0].leaves, 1);
	CHECK_INT(leaves(&r), 1);
	CHECK_TEXT(r.fake[0].last.woken_by, "");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* not for longer than a node timeout */
	queue_as(&r, 3, HELD_FOR);
	let_go(&r);
	wait_until(&r, r.now + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	wait_until(&r, r.now + 1);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* The connection is gone, and with it the place in the queue. */
	queue_as(&r, 3, HELD_FOR);
	r.now += USEC_SEC;
	link_down(&r, 0, REASON_CLOSED);
	let_go(&r);
	CHECK_INT(leaves(&r), 0);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

/* The node sent it before it read the hand-off: so it arrives before the reply. */
TEST(a_wake_up_that_arrives_as_we_leave_is_passed_on)
{
	struct rig r;

	queue_as(&r, 0, HELD_FOR);
	let_go(&r);
	CHECK_INT(r.fake[0].leaves, 1);
	wake(&r, 0, 0, wake_up());
	CHECK_INT(r.fake[0].leaves, 1);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.fake[0].leaves, 2);
	CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* Messages after that have no reader. */
	wake(&r, 0, 0, wake_up());
	CHECK_INT(r.fake[0].leaves, 2);
}

/* ---- reservations for other clients ---- */

TEST(the_queue_node_has_time_to_say_whether_a_reservation_is_void)
{
	struct rig r;

	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	reply_with(&r, 2, reserved(60 * MS));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	wait_until(&r, r.now + r.lock.policy.node_timeout / 4);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* The queue node refuses, too. */
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

/* The queue node grants the key, so the reservation is void; but the node that has it cannot be
 * asked again. Another program has the third node. */
TEST(a_void_reservation_at_a_node_that_broke_off_is_no_reason_to_ask_the_others)
{
	struct rig r;

	contend(&r, 3, 0);
	reply_with(&r, 1, reserved(60 * MS));
	link_down(&r, 1, REASON_CLOSED);
	fake_reply(&r, 0, VOTE_YES);
	reply_with(&r, 2, told(VOTE_FOREIGN, "hello", HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(r.fake[2].sends[OP_ACQUIRE], 1);
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
		CHECK_INT(r.lock.awaited, queue_node == 1);
	}
	/* Each extension reports it again. */
	contend(&r, 3, NEVER);
	reply_with(&r, 0, awaited);
	votes(&r, ".YY");
	CHECK(r.lock.awaited);
	next_round(&r);
	reply_with(&r, 0, told(VOTE_YES, "", 0));
	CHECK(!r.lock.awaited);
	votes(&r, ".YY");
	next_round(&r);
	reply_with(&r, 0, awaited);
	CHECK(r.lock.awaited);
	/* If the queue node is absent, the next node is the queue node. */
	next_round(&r);
	votes(&r, "A");
	reply_with(&r, 1, awaited);
	CHECK(r.lock.awaited);
	/* The other nodes reserve the key; the queue node knows whether its waiters live. */
	CHECK_INT(lock_far_waiters(&r.lock, 0), 0);
	CHECK_INT(lock_far_waiters(&r.lock, 1), 1);
	/* A refusal does not count, unless it ends a lock. */
	awaited.vote = VOTE_FOREIGN;
	hold(&r, 3);
	next_round(&r);
	reply_with(&r, 0, awaited);
	CHECK(r.lock.awaited);
	contend(&r, 3, NEVER);
	reply_with(&r, 0, awaited);
	CHECK(!r.lock.awaited);
}

static void contend_fairly(struct rig *r, usec wait)
{
	struct policy p = policy(3, wait);

	p.is_fair = true;
	start_with(r, &p);
	r->lock.waiter.state = WAITER_OFF;
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
	CHECK_INT(r.fake[0].last.op, OP_SUBSCRIBE);
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

TEST(only_looking_passes_on_a_reservation)
{
	static const char *const replies[] = {"GG", "GGG"};
	struct rig r;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		look_and_be_woken(&r, held(HELD_FOR));
		CHECK(r.lock.attempt.is_woken);
		votes(&r, replies[i]);
		CHECK_INT(r.lock.refusal, REFUSAL_NONE);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		CHECK_INT(r.fake[0].leaves, 1);
		CHECK_TEXT(r.fake[0].last.woken_by, BIGGER);
		CHECK_INT(sends(&r, OP_HAND_OFF), 1);
		fake_reply(&r, 0, VOTE_YES);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	}
	/* No connection for the hand-off. */
	look_and_be_woken(&r, held(HELD_FOR));
	link_down(&r, 0, REASON_CLOSED);
	votes(&r, ".GG");
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}
