/* lock_hold: a held lock: validity, extensions, repair, loss. */
#include "unit/rig.h"

/* ---- validity ---- */

TEST(validity_counts_from_before_the_first_byte)
{
	struct rig r;

	start(&r, 3, 0);
	pass(&r, 30 * MS);
	all_up(&r);
	CHECK_INT(sends(&r, OP_ACQUIRE), 3);
	pass(&r, 40 * MS);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 30 * MS));
	pass(&r, 10 * MS);
	votes(&r, "..Y");
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 30 * MS));
	/* An extension counts from its own beginning. */
	next_round(&r);
	CHECK_INT(r.now, BEGIN + TTL / 3);
	pass(&r, 50 * MS);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 3));
	CHECK_INT(r.lock.tenure.extensions, 1);
}

TEST(a_majority_that_arrives_too_late_is_not_held)
{
	struct policy p = {.nodes = 3,
		.keys = 1,
		.ttl = USEC_SEC,
		.drift = 102 * MS,
		.node_timeout = 450 * MS,
		.safety_margin = 500 * MS};
	const usec end = BEGIN + USEC_SEC - 102 * MS - 500 * MS;
	struct rig r;

	for (int late = 0; late < 2; late++) {
		start_with(&r, &p);
		all_up(&r);
		votes(&r, "Y");
		wait_until(&r, end - 1 + late);
		votes(&r, ".Y");
		CHECK_INT(lock_state(&r.lock), late ? LOCK_RELEASING : LOCK_HELD);
		CHECK_INT(r.lock.refusal, late ? REFUSAL_SLOW : REFUSAL_NONE);
		finish(&r);
		CHECK_INT(left_behind(&r), 0);
	}
}

TEST(an_answer_of_an_earlier_round_is_not_a_vote)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, ".FF");
	pass(&r, MS);
	CHECK(lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	pass(&r, 200);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	votes(&r, "Y");
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

TEST(a_late_answer_is_not_a_vote)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, "Y");
	wait_until(&r, BEGIN + NODE_TIMEOUT - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, BEGIN + NODE_TIMEOUT);
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	CHECK_INT(r.lock.tally.ballot[1].vote, VOTE_ABSENT);

	hold(&r, 3);
	next_round(&r);
	votes(&r, "Y");
	pass(&r, NODE_TIMEOUT);
	votes(&r, ".YY");
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
	CHECK_INT(r.lock.tenure.extensions, 0);
}

TEST(a_repair_is_not_a_vote)
{
	struct policy p = policy(3, 0);
	struct rig r;
	usec valid;

	p.node_timeout = 2 * USEC_SEC;
	hold_with(&r, &p);
	next_round(&r);
	pass(&r, USEC_SEC);
	votes(&r, "YYG");
	valid = validity(BEGIN + TTL / 3);
	CHECK_INT(r.lock.tenure.valid_until, valid);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	/* Its reply arrives when the next round has begun. */
	r.now = BEGIN + 2 * (TTL / 3);
	tick(&r);
	CHECK_INT(r.lock.stamp.round, 3);
	votes(&r, "Y");
	votes(&r, "..Y");
	CHECK_INT(r.lock.tally.ballot[2].vote, VOTE_NONE);
	CHECK_INT(r.lock.tenure.valid_until, valid);
	CHECK_INT(r.lock.tenure.extensions, 1);
	/* Then the node is asked like any other. */
	CHECK_INT(r.fake[2].queue[0].op, OP_EXTEND);
	votes(&r, "..Y");
	CHECK_INT(r.lock.tenure.extensions, 2);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 2 * (TTL / 3)));
}

/* ---- loss ---- */

TEST(expiring_at_the_safety_margin_lost_at_the_end)
{
	struct rig r;
	usec end = validity(BEGIN);

	hold(&r, 3);
	for (int i = 0; i < 3; i++)
		r.fake[i].silent = true;
	wait_until(&r, end - SAFETY_MARGIN - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK(r.up.wake_at <= end - SAFETY_MARGIN);
	wait_until(&r, end - SAFETY_MARGIN);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	wait_until(&r, end - 1);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK(r.up.wake_at <= end);
	wait_until(&r, end);
	CHECK_INT(lock_state(&r.lock), LOCK_LOST);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	CHECK_INT(r.lock.tenure.valid_until, end);
}

TEST(no_answer_revives_a_lock_that_ended)
{
	static const struct {
		usec before_end;
		enum lock_state state;
	} cases[] = {
		{SAFETY_MARGIN + 1, LOCK_HELD},
		{SAFETY_MARGIN, LOCK_EXPIRING},
		{1, LOCK_EXPIRING},
		{0, LOCK_LOST},
		{-USEC_SEC, LOCK_LOST},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy p = policy(3, 0);
		struct rig r;

		p.node_timeout = 5 * USEC_SEC;
		hold_with(&r, &p);
		next_round(&r);
		/* This process was stopped: no wake-up came in between. */
		r.now = validity(BEGIN) - cases[i].before_end;
		votes(&r, "YYY");
		CHECK_INT(lock_state(&r.lock), cases[i].state);
		if (cases[i].state == LOCK_HELD) {
			CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 3));
		} else {
			CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
			CHECK_INT(r.lock.tenure.extensions, 0);
			CHECK_INT(r.lock.loss, LOSS_EXPIRED);
		}
	}
}

/* Rounds of votes (see votes()); a '.' is waited out. */
static void rounds(struct rig *r, const char *const *letters)
{
	for (int i = 0; letters[i]; i++) {
		next_round(r);
		CHECK_INT(lock_state(&r->lock), LOCK_HELD);
		votes(r, letters[i]);
		if (r->lock.tenure.asking)
			pass(r, NODE_TIMEOUT);
		for (int n = 0; n < r->lock.policy.nodes; n++)
			if (r->fake[n].queued > 0 && r->fake[n].queue[0].op == OP_REPAIR)
				fake_reply(r, n, VOTE_ABSENT);
		/* Late nodes answer, so that the next round can ask them. */
		for (int n = 0; n < r->lock.policy.nodes; n++)
			if (letters[i][n] == '.')
				fake_reply(r, n, VOTE_ABSENT);
	}
}

TEST(denied_is_a_majority_of_no_twice_in_a_row)
{
	static const struct {
		const char *rounds[6];
		enum loss loss;
	} cases[] = {
		{{"GGG"}, LOSS_NONE},
		{{"GGG", "GGG"}, LOSS_DENIED},
		{{"FF.", "GG."}, LOSS_DENIED},
		{{"FGY", "GFY"}, LOSS_DENIED},
		{{"FYY", "FYY", "GYY"}, LOSS_NONE},
		{{"GG.", "YY.", "GG."}, LOSS_NONE},
		{{"GG.", "YY.", "GG.", "FF."}, LOSS_DENIED},
		{{"GG.", "Y..", "GG."}, LOSS_NONE},
		{{"GG.", "...", "GG."}, LOSS_NONE},
		{{"GG.", "...", "GG.", "GG."}, LOSS_DENIED},
		{{"G..", "G..", "GYA", "GYA"}, LOSS_NONE},
		{{"AAA", "AAA", "AAA"}, LOSS_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		hold(&r, 3);
		rounds(&r, cases[i].rounds);
		if (!CHECK_INT(r.lock.loss, cases[i].loss))
			printf("# in case %zu\n", i);
		CHECK_INT(lock_state(&r.lock), cases[i].loss ? LOCK_EXPIRING : LOCK_HELD);
		if (cases[i].loss) {
			wait_until(&r, r.lock.tenure.valid_until);
			CHECK_INT(lock_state(&r.lock), LOCK_LOST);
			CHECK_INT(r.lock.loss, LOSS_DENIED);
		}
	}
}

TEST(an_extension_without_a_majority_is_known_until_the_next_one_with_a_majority)
{
	struct rig r;

	hold(&r, 3);
	CHECK(!r.lock.tenure.unconfirmed);
	rounds(&r, (const char *const[]){"Y..", NULL});
	CHECK(r.lock.tenure.unconfirmed);
	rounds(&r, (const char *const[]){"YGA", NULL});
	CHECK(r.lock.tenure.unconfirmed);
	rounds(&r, (const char *const[]){"YY.", NULL});
	CHECK(!r.lock.tenure.unconfirmed);
}

TEST(the_second_look_is_soon)
{
	struct rig r;
	usec denied_at;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "GG");
	denied_at = r.now;
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	votes(&r, "..Y");
	next_round(&r);
	CHECK_INT(r.now - denied_at, 25 * MS);
}

TEST(extensions_are_retried_until_the_safety_margin)
{
	struct rig r;
	usec last = 0, end = validity(BEGIN) - SAFETY_MARGIN;
	int failed = 0;

	hold(&r, 3);
	for (int turns = 0; lock_state(&r.lock) == LOCK_HELD && turns < 1000; turns++) {
		uint32_t round = r.lock.stamp.round;

		wait_until(&r, r.up.wake_at);
		if (r.lock.stamp.round == round)
			continue;
		CHECK(last == 0 || r.now - last <= 2 * (TTL / 30) + NODE_TIMEOUT);
		last = r.now;
		failed++;
		for (int i = 0; i < 3; i++)
			fake_reply(&r, i, VOTE_ABSENT);
	}
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.now, end);
	CHECK(failed > 5);
	CHECK(end - last <= 2 * (TTL / 30));
	CHECK_INT(sends(&r, OP_EXTEND), 3 * failed);
	/* One successful extension is enough. */
	hold(&r, 3);
	next_round(&r);
	votes(&r, "AAA");
	next_round(&r);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.valid_until, validity(r.now));
}

/* A node that stopped answering does not keep the lock from asking the others again. */
TEST(an_extension_round_does_not_wait_for_a_late_node)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YY");
	next_round(&r);
	CHECK_INT(r.fake[2].sends[OP_EXTEND], 1);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.extensions, 2);
	CHECK_INT(r.lock.tenure.valid_until, validity(r.now));
	/* Late by a sixth of the TTL: the lock tries a new connection. */
	CHECK_INT(r.fake[2].opens, 2);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].sends[OP_EXTEND], 2);
}

/* ---- repair ---- */

TEST(a_repair_needs_a_majority_confirmed_in_this_round)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "..G");
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	votes(&r, "Y");
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	votes(&r, ".Y");
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	CHECK_INT(sends(&r, OP_REPAIR), 1);
	votes(&r, "..A");
	CHECK_INT(sends(&r, OP_REPAIR), 1);
	/* Once more in the next round, if the key is still gone. */
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 2);
	votes(&r, "..Y");
	CHECK_INT(r.fake[2].holder, r.token);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 2);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

TEST(no_repair_without_confirmation)
{
	struct rig r;

	hold(&r, 5);
	next_round(&r);
	votes(&r, "YYG");
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(r.lock.tenure.extensions, 0);
	votes(&r, "...YY");
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	next_round(&r);
	votes(&r, "YYYFG");
	CHECK_INT(r.fake[3].sends[OP_REPAIR], 1);
	CHECK_INT(r.fake[4].sends[OP_REPAIR], 1);
	CHECK_INT(sends(&r, OP_REPAIR), 2);
}

/* A waiter takes the key on a node that lost it, and gives it back when its attempt fails. */
TEST(a_refused_repair_is_sent_again_later_and_later_until_the_next_round)
{
	struct rig r;
	usec began;

	hold(&r, 3);
	next_round(&r);
	began = r.now;
	votes(&r, "YYF");
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	votes(&r, "..F");
	wait_until(&r, began + 100 * MS - 1);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	CHECK_INT(r.up.wake_at, began + 100 * MS);
	pass(&r, 1);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 2);
	votes(&r, "..F");
	pass(&r, 199 * MS);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 2);
	pass(&r, MS);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 3);
	/* A node without an answer, or with the key, is not asked again in this round. */
	votes(&r, "..Y");
	CHECK_INT(r.up.wake_at, r.lock.tenure.extend_at);
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 4);
	votes(&r, "..A");
	CHECK_INT(r.up.wake_at, r.lock.tenure.extend_at);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

/* The release of the holder before reaches a node later than the request of the waiter that it
 * woke, which has a majority without that node. */
TEST(a_node_that_refused_the_attempt_is_repaired_before_the_first_extension)
{
	struct rig r;
	usec began;

	ask(&r, 3, 0);
	began = r.now;
	votes(&r, "YYF");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(sends(&r, OP_REPAIR), 0);
	CHECK_INT(lock_extend_at(&r.lock), began + 100 * MS);
	CHECK_INT(r.up.wake_at, began + 100 * MS);
	pass(&r, 100 * MS);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	votes(&r, "..F");
	CHECK_INT(lock_extend_at(&r.lock), began + 300 * MS);
	pass(&r, 200 * MS);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 2);
	CHECK_INT(sends(&r, OP_REPAIR), 2);
	votes(&r, "..Y");
	CHECK_INT(r.fake[2].holder, r.token);
	CHECK_INT(lock_extend_at(&r.lock), began + TTL / 3);
	CHECK_INT(r.lock.tenure.extensions, 0);
	next_round(&r);
	votes(&r, "YYY");
	CHECK_INT(tally_yes(&r.lock.tally), 3);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

/* It is a vote of the attempt, too, if it arrives when a majority has granted the lock. */
TEST(a_node_that_refuses_late_is_repaired)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	pass(&r, 10 * MS);
	CHECK_INT(lock_extend_at(&r.lock), r.lock.tenure.extend_at);
	votes(&r, "..F");
	pass(&r, 100 * MS);
	CHECK_INT(r.fake[2].sends[OP_REPAIR], 1);
	votes(&r, "..Y");
	CHECK_INT(r.fake[2].holder, r.token);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
}

/* ---- extending on request ---- */

TEST(an_extend_event_extends_at_once)
{
	struct rig r;

	hold(&r, 3);
	pass(&r, 10 * MS);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	extend(&r);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_EXTEND), 3);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + 10 * MS));
	CHECK_INT(lock_extend_at(&r.lock), BEGIN + 10 * MS + TTL / 3);
	votes(&r, "..Y");
	/* The next extension is due a third of the TTL later. */
	next_round(&r);
	CHECK_INT(r.now, BEGIN + 10 * MS + TTL / 3);
	/* A broken connection is opened again, as in any other round. */
	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_DOWN);
	extend(&r);
	CHECK(r.fake[2].link == LINK_OPENING);
	/* This machine slept for so long that the extension is overdue anyway. */
	hold(&r, 3);
	r.now = BEGIN + TTL / 2;
	extend(&r);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 2));
	CHECK_INT(lock_extend_at(&r.lock), BEGIN + TTL / 2 + TTL / 3);
}

TEST(an_extend_event_during_a_round_changes_nothing)
{
	struct rig r;
	usec wake_at;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "Y");
	pass(&r, 10 * MS);
	wake_at = r.up.wake_at;
	extend(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, wake_at);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_EXTEND), 3);
	votes(&r, ".Y");
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN + TTL / 3));
	votes(&r, "..Y");
	/* The request is not remembered. */
	CHECK_INT(lock_extend_at(&r.lock), BEGIN + TTL / 3 + TTL / 3);
	CHECK_INT(r.lock.stamp.round, 2);
	next_round(&r);
	CHECK_INT(r.now, BEGIN + 2 * (TTL / 3));
	/* Not even if the round fails. */
	extend(&r);
	votes(&r, "AAA");
	CHECK(lock_extend_at(&r.lock) >= r.now + TTL / 30);
	CHECK_INT(sends(&r, OP_EXTEND), 6);
	/* After that, a new extension may be requested. */
	extend(&r);
	CHECK_INT(sends(&r, OP_EXTEND), 9);
}

TEST(nothing_is_extended_before_it_is_held)
{
	struct rig r;
	usec wake_at;

	memset(&r, 0, sizeof(r));
	lock_init(&r.lock, &(struct policy){.nodes = 1, .keys = 1, .ttl = TTL, .node_timeout = 1});
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, NEVER);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	/* connecting */
	start(&r, 3, NEVER);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.lock.stamp.round, 1);
	/* asking */
	all_up(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	/* between two attempts: the pause is not shortened */
	votes(&r, "FFF");
	CHECK(lock_is_pausing(&r.lock));
	wake_at = r.up.wake_at;
	CHECK_INT(wake_at, BEGIN + 20 * MS);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, wake_at);
	CHECK(lock_is_pausing(&r.lock));
	pass(&r, 10 * MS);
	extend(&r);
	CHECK_INT(r.up.wake_at, wake_at);
	CHECK_INT(r.lock.stamp.round, 1);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	/* The request is not remembered until the lock is held. */
	wait_until(&r, wake_at);
	pass(&r, 200);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	CHECK_INT(lock_extend_at(&r.lock), r.lock.tally.began + TTL / 3);
}

TEST(nothing_is_extended_after_it_was_held)
{
	static const usec before_end[] = {SAFETY_MARGIN, 1, 0, -USEC_SEC};
	usec end = validity(BEGIN);
	struct rig r;

	for (size_t i = 0; i < sizeof(before_end) / sizeof(before_end[0]); i++) {
		hold(&r, 3);
		r.now = end - before_end[i];
		extend(&r);
		CHECK_INT(lock_state(&r.lock), before_end[i] > 0 ? LOCK_EXPIRING : LOCK_LOST);
		extend(&r);
		CHECK_INT(sends(&r, OP_EXTEND), 0);
		CHECK_INT(r.lock.stamp.round, 1);
		CHECK_INT(r.up.wake_at, before_end[i] > 0 ? end : NEVER);
	}
	/* Just in time. */
	hold(&r, 3);
	r.now = end - SAFETY_MARGIN - 1;
	extend(&r);
	CHECK_INT(sends(&r, OP_EXTEND), 3);
	votes(&r, "YY");
	CHECK_INT(r.lock.tenure.valid_until, validity(r.now));
	/* released */
	hold(&r, 3);
	let_go(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	finish(&r);
	extend(&r);
	CHECK_INT(r.up.count, 0);
	CHECK_INT(r.up.wake_at, NEVER);
	CHECK_INT(sends(&r, OP_EXTEND), 0);
	CHECK_INT(left_behind(&r), 0);
}

/* A majority of the acquisition has answered; the rest is still in flight. */
TEST(an_answer_to_the_acquisition_is_no_vote_for_an_early_extension)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	extend(&r);
	CHECK_INT(r.lock.stamp.round, 2);
	CHECK_INT(sends(&r, OP_EXTEND), 2);
	votes(&r, "Y.Y");
	CHECK_INT(r.lock.tenure.extensions, 0);
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	/* The node is asked like the others as soon as it has answered. */
	CHECK_INT(r.fake[2].sends[OP_EXTEND], 1);
	votes(&r, "..Y");
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.valid_until, validity(BEGIN));
}

TEST(the_second_look_may_be_requested)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "GGG");
	CHECK(r.lock.tenure.denied);
	extend(&r);
	CHECK_INT(r.lock.stamp.round, 3);
	CHECK_INT(sends(&r, OP_EXTEND), 6);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	votes(&r, "YYG");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(!r.lock.tenure.denied);
	/* The extension counts as the second look. */
	hold(&r, 3);
	extend(&r);
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	extend(&r);
	votes(&r, "GG");
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
}

/* ---- the record of --once-per ---- */

static void grants(struct rig *r, int node, const char *record, usec age)
{
	struct reply reply = {.vote = VOTE_YES, .record_age = age, .text_len = strlen(record)};

	memcpy(reply.text, record, reply.text_len);
	reply.has_record = reply.text_len > 0;
	reply_with(r, node, reply);
}

/* The latest start counts, also of a vote that arrives after the majority, and whatever round
 * follows. */
TEST(the_votes_that_grant_the_lock_bring_the_last_run)
{
	const struct last_run *last;
	struct rig r;

	start(&r, 5, 0);
	r.lock.policy.wants_record = true;
	last = &r.lock.last_run;
	for (int i = 0; i < 5; i++)
		link_up(&r, i);
	grants(&r, 0, "", NEVER);
	CHECK_INT(last->known, 0);
	grants(&r, 1, "2 new", 3 * USEC_SEC);
	grants(&r, 2, "1 old", 9 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last->known, 1u << 1);
	CHECK_INT(last->age, 3 * USEC_SEC);
	pass(&r, MS);
	grants(&r, 3, "2 new", 2 * USEC_SEC);
	CHECK_INT(last->age, 2 * USEC_SEC);
	CHECK_INT(last->started, r.now - 2 * USEC_SEC);
	grants(&r, 4, "void", NEVER);
	CHECK_INT(last->granted, 31);
	CHECK_INT(last->known, 1u << 1 | 1u << 3);
	CHECK_INT(last->is_void, 1u << 4);
	CHECK_TEXT(last->text, "2 new");
	next_round(&r);
	votes(&r, "YYYYY");
	CHECK_TEXT(last->text, "2 new");
	finish(&r);
}
