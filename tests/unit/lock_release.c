/* lock_release: the release of a lock, and pending releases. */
#include "unit/rig.h"

/* ---- release ---- */

TEST(a_release_goes_behind_the_request_in_flight)
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

TEST(a_clean_no_owes_nothing_but_is_told_of_the_release)
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
			leave(&r, leaves ? 5 * USEC_SEC : 0);
			votes(&r, lost[i]);
			finish(&r);
			CHECK_INT(r.lock.loss, LOSS_DENIED);
			CHECK_INT(r.lock.tenure.asking, false);
		}
	for (size_t i = 0; i + 1 < sizeof(kept) / sizeof(kept[0]); i++)
		for (int leaves = 0; leaves < 2; leaves++) {
			hold(&r, 3);
			leave(&r, leaves ? 5 * USEC_SEC : 0);
			votes(&r, kept[i]);
			while (lock_state(&r.lock) != LOCK_OVER)
				wait_until(&r, r.up.wake_at);
			CHECK_INT(r.lock.loss, LOSS_NONE);
		}
	/* One node is enough where there is one; and it is enough to confirm. */
	hold(&r, 1);
	let_go(&r);
	votes(&r, "F");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	/* The holder is known then. */
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
	/* Done on two nodes, but nothing says so. */
	for (int i = 0; i < 2; i++) {
		r.fake[i].holder = NOBODY;
		link_down(&r, i, REASON_CLOSED);
		link_up(&r, i);
		CHECK_INT(r.fake[i].sends[OP_HAND_OFF], 2);
	}
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	/* The first release goes out late here, and counts. */
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

TEST(only_the_release_of_a_lock_that_is_valid_tells_of_a_loss)
{
	struct rig r;

	/* Whether a key lasts beyond the validity is not known. */
	hold(&r, 3);
	let_go(&r);
	r.now = r.lock.tenure.valid_until;
	votes(&r, "GGG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* The loss that was told stays. */
	hold(&r, 3);
	wait_until(&r, r.lock.tenure.valid_until - GUARD);
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	let_go(&r);
	finish(&r);
	CHECK_INT(r.lock.loss, LOSS_EXPIRED);
	/* It was never held. */
	ask(&r, 3, 0);
	let_go(&r);
	votes(&r, "AAA");
	votes(&r, "GGG");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
	/* Two names of one server: the second release finds nothing. */
	ask(&r, 3, 0);
	r.fake[0].run_id = r.fake[2].run_id = "one";
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	let_go(&r);
	votes(&r, "YGG");
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

/* An answer to an earlier request, or about an earlier token, is no word about the end. */
TEST(only_answers_to_the_release_tell_of_the_end)
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

/* The first time that a majority denies the lock, it is asked again: by the release, if the command
 * ends meanwhile. Then nothing is left to expire. */
TEST(a_release_is_a_second_look)
{
	struct rig r;

	for (int leaves = 0; leaves < 2; leaves++) {
		hold(&r, 3);
		next_round(&r);
		votes(&r, "GGG");
		CHECK_INT(lock_state(&r.lock), LOCK_HELD);
		leave(&r, leaves ? USEC_SEC : 0);
		CHECK_INT(sends(&r, OP_EXPIRE), 0);
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, "G");
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		votes(&r, ".G");
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
		CHECK_INT(r.lock.loss, LOSS_DENIED);
	}
}

/* A node without our key is not waited for, unless the others leave the end open. */
TEST(the_end_is_waited_for_while_it_is_open)
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
	/* But no longer than a node may take. */
	ask(&r, 3, 0);
	votes(&r, "FYY");
	let_go(&r);
	votes(&r, ".GY");
	pass(&r, NODE_TIMEOUT);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(a_broken_link_is_made_anew_to_release)
{
	struct rig r;
	usec until;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
	/* It breaks with the release in flight: once more. */
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_OPENING);
	finish(&r);
	CHECK_INT(lock_unreleased(&r.lock, &until), 0);
	CHECK_INT(left_behind(&r), 0);
	/* Not for ever. */
	hold(&r, 3);
	r.fake[2].gone = true;
	link_down(&r, 2, REASON_CLOSED);
	finish(&r);
	CHECK(r.fake[2].opens <= 4);
	CHECK_INT(lock_unreleased(&r.lock, &until), 1);
	CHECK(until >= BEGIN + TTL);
}

TEST(a_late_node_is_not_waited_for)
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
	CHECK_INT(r.now - began, NODE_TIMEOUT);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 3);
}

/* What is under way at the end may have landed as late as then; what was answered, no later. */
TEST(what_is_under_way_at_the_end_may_last_longer)
{
	struct rig r;
	usec until;

	hold(&r, 3);
	next_round(&r);
	pass(&r, NODE_TIMEOUT / 2);
	votes(&r, "YY.");
	let_go(&r);
	while (lock_state(&r.lock) != LOCK_OVER)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.lock.peer[2].asked, true);
	lock_unreleased(&r.lock, &until);
	CHECK_INT(until, gone(r.now));
}

/* The grace for the rest must not reach beyond the time set aside for the release. */
TEST(a_release_ends_within_its_time)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 3 * USEC_SEC;
	start_with(&r, &p);
	all_up(&r);
	votes(&r, "YYY");
	let_go(&r);
	pass(&r, 500 * MS);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK(r.up.wake_at <= BEGIN + USEC_SEC);
	pass(&r, 500 * MS);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
}

TEST(a_release_has_a_second_at_most)
{
	struct policy p = policy(3, 0);
	struct rig r;

	p.node_timeout = 3 * USEC_SEC;
	hold_with(&r, &p);
	let_go(&r);
	pass(&r, 500 * MS);
	/* Asked to let go once more: no new beginning. */
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

/* It was put back late in the round, and has its own time-out. */
TEST(a_heal_in_flight_is_waited_for)
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

/* The key was not there, but it may have landed since, and then the extension prolongs it. */
TEST(an_extension_in_flight_is_owed_where_the_key_was_sent)
{
	struct rig r;

	ask(&r, 3, 0);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	link_down(&r, 2, REASON_CLOSED);
	extend(&r);
	link_up(&r, 2);
	votes(&r, "YAG"); /* no majority, so it is not put back */
	CHECK_INT(r.lock.peer[2].pending, 0);
	r.fake[2].silent = true;
	extend(&r);
	votes(&r, "YY");
	let_go(&r);
	CHECK_INT(r.fake[2].sends[OP_HAND_OFF], 1);
	CHECK_INT(r.fake[2].queue[1].op, OP_HAND_OFF);
}

TEST(an_extension_renews_the_debt)
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
	/* And a yes is a debt, whatever was known before. */
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

TEST(letting_go_at_the_end_is_a_loss)
{
	static const struct {
		usec before_end;
		enum loss loss;
	} cases[] = {
		{GUARD + 1, LOSS_NONE},
		{GUARD, LOSS_EXPIRED},
		/* Nobody listened while the nodes could still answer: theirs is not the fault. */
		{GUARD - NODE_TIMEOUT + 1, LOSS_EXPIRED},
		{GUARD - NODE_TIMEOUT, LOSS_STOOD_STILL},
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
	/* Of several reasons the first is the cause. */
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
	pass(&r, 200);
	/* The others are asked; this one, not yet paid, takes no part. */
	CHECK_INT(r.token, old + 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	votes(&r, "Y");
	CHECK_INT(r.fake[0].holder, NOBODY);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 2);
	CHECK_INT(r.fake[0].queue[0].token, old + 2);
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
	/* Asked once more when the attempt failed, and again by the next one. */
	CHECK_INT(r.fake[0].sends[OP_UNDO], 2);
	votes(&r, "A");
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 3);
	pass(&r, 200);
	CHECK_INT(r.fake[0].sends[OP_ACQUIRE], 1);
	CHECK_INT(r.fake[1].sends[OP_ACQUIRE], 3);
}

TEST(a_held_lock_spreads_to_a_node_that_owes_an_earlier_token)
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

/* One clock fast and the other slow, each by half of the drift: the key lives that much longer. */
TEST(a_key_may_outlive_its_ttl_by_more_than_the_drift)
{
	double half = (double)policy_drift(TTL, 100) / TTL / 2;

	CHECK(gone(0) >= (usec)(TTL * (1 + half) / (1 - half)));
}

TEST(a_debt_ends_with_the_key)
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

TEST(letting_go_before_anything_was_asked)
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
