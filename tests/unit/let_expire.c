/* let_expire: the end of a lock whose key stays on the nodes until its TTL ends. */
#include "unit/rig.h"

/* ---- leaving the key ---- */

TEST(a_lock_is_left_on_every_node_that_has_it)
{
	struct rig r;

	hold(&r, 5);
	pass(&r, 10 * MS);
	leave(&r, 5 * USEC_SEC);
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.lock.releasing.leave_for, 5 * USEC_SEC);
	for (int i = 0; i < 5; i++) {
		CHECK_INT(r.fake[i].sends[OP_EXPIRE], 1);
		CHECK_INT(r.fake[i].queue[0].token, r.token);
	}
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 5);
	votes(&r, "YYYY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "....Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.up.wake_at, NEVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_INT(r.fake[i].holder, r.token);
		CHECK_INT(r.fake[i].left, r.token);
	}
	CHECK_INT(r.lock.releasing.leave_for, 5 * USEC_SEC);
}

TEST(a_lock_is_not_left_where_it_is_not)
{
	struct rig r;

	hold(&r, 5);
	next_round(&r);
	votes(&r, "YYYF");
	r.fake[3].holder = OUTSIDER;
	leave(&r, USEC_SEC);
	CHECK_INT(r.fake[3].sends[OP_EXPIRE], 0);
	/* Behind the extension in flight. */
	CHECK_INT(r.fake[4].queued, 2);
	CHECK_INT(r.fake[4].queue[0].op, OP_EXTEND);
	CHECK_INT(r.fake[4].queue[1].op, OP_EXPIRE);
	CHECK_INT(sends(&r, OP_EXPIRE), 4);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	finish(&r);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(sends(&r, OP_EXPIRE), 4);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(left_behind(&r), 0);
}

/* It lost the key, and gets it back while the command ends. */
TEST(a_lock_is_left_behind_its_heal)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(r.fake[2].queue[0].op, OP_REPAIR);
	leave(&r, USEC_SEC);
	CHECK_INT(r.fake[2].queued, 2);
	CHECK_INT(r.fake[2].queue[1].op, OP_EXPIRE);
	CHECK_INT(r.fake[2].queue[1].token, r.token);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[2].left, r.token);
}

TEST(a_clean_no_to_leaving_is_no_debt)
{
	struct rig r;

	hold(&r, 3);
	leave(&r, USEC_SEC);
	votes(&r, "GFY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	/* Each answer tells whether the key was there to the end. */
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}

TEST(an_error_on_leaving_is_not_asked_again)
{
	struct rig r;
	usec until = 0;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	leave(&r, USEC_SEC);
	votes(&r, "YAA");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[1].sends[OP_EXPIRE], 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	/* Not left, and not released: then it ends when it would have ended. */
	CHECK_INT(lock_unreleased(&r.lock, &until), 2);
	CHECK_INT(until, gone(BEGIN));
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_LOADING);
	CHECK(r.lock.peer[1].release_refused && !r.lock.peer[0].release_refused);
}

TEST(leaving_without_an_answer_ends_at_the_time_out)
{
	struct rig r;
	usec began;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	leave(&r, 5 * USEC_SEC);
	began = r.now;
	for (int turns = 0; turns < 100 && lock_state(&r.lock) != LOCK_OVER; turns++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.now - began, NODE_TIMEOUT);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 3);
	/* A few round trips behind a majority. */
	hold(&r, 3);
	leave(&r, 5 * USEC_SEC);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.up.wake_at, BEGIN + 2 * MS);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 1);
}

TEST(a_broken_link_is_made_anew_to_leave)
{
	struct rig r;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	leave(&r, USEC_SEC);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	link_down(&r, 2, REASON_CLOSED);
	CHECK(r.fake[2].link == LINK_OPENING);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	CHECK_INT(r.fake[2].left, r.token);
}

TEST(an_earlier_token_is_deleted_when_the_lock_is_left)
{
	struct rig r;
	int old;

	old = hold_after_a_lost_request(&r);
	leave(&r, USEC_SEC);
	CHECK_INT(sends(&r, OP_EXPIRE), 2);
	CHECK(r.fake[0].link == LINK_OPENING);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	CHECK_INT(r.fake[0].sends[OP_EXPIRE], 0);
	CHECK_INT(r.fake[0].holder, NOBODY);
	CHECK_INT(r.fake[1].left, r.token);
	CHECK_INT(r.fake[2].left, r.token);
}

/* The first attempt's request, with its release behind it, is still in flight. */
TEST(a_release_in_flight_is_not_followed_by_leaving)
{
	struct rig r;
	int old;

	ask(&r, 3, NEVER);
	old = r.token;
	votes(&r, ".FF");
	wait_until(&r, r.up.wake_at);
	pass(&r, 200);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[0].queue[1].op, OP_UNDO);
	leave(&r, USEC_SEC);
	CHECK_INT(r.fake[0].queued, 2);
	CHECK_INT(sends(&r, OP_EXPIRE), 2);
	votes(&r, "YYY");
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	CHECK_INT(r.fake[0].sends[OP_EXPIRE], 0);
	CHECK_INT(r.fake[0].holder, NOBODY);
}

TEST(what_is_not_held_is_deleted)
{
	static const usec before_end[] = {GUARD, 1, 0, -USEC_SEC};
	struct rig r;

	/* asking: one has granted it, two may have */
	ask(&r, 3, NEVER);
	votes(&r, "Y");
	leave(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	finish(&r);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	CHECK_INT(left_behind(&r), 0);
	/* between two attempts */
	ask(&r, 3, NEVER);
	votes(&r, "YFF");
	CHECK(lock_is_pausing(&r.lock));
	leave(&r, USEC_SEC);
	finish(&r);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	CHECK_INT(left_behind(&r), 0);
	/* refused, and giving back */
	ask(&r, 3, 0);
	votes(&r, "YFF");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	link_down(&r, 0, REASON_CLOSED);
	leave(&r, USEC_SEC);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_HAND_OFF);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
	/* no longer held, though a majority may still carry it */
	for (size_t i = 0; i < sizeof(before_end) / sizeof(before_end[0]); i++) {
		hold(&r, 3);
		r.now = validity(BEGIN) - before_end[i];
		leave(&r, USEC_SEC);
		CHECK_INT(r.lock.releasing.leave_for, 0);
		CHECK_INT(r.lock.loss, before_end[i] == GUARD ? LOSS_EXPIRED : LOSS_STOOD_STILL);
		CHECK_INT(sends(&r, OP_EXPIRE), 0);
		CHECK_INT(sends(&r, OP_HAND_OFF), 3);
		finish(&r);
		CHECK_INT(left_behind(&r), 0);
	}
	hold(&r, 3);
	for (int i = 0; i < 2; i++) {
		next_round(&r);
		votes(&r, "YFF");
	}
	CHECK_INT(lock_state(&r.lock), LOCK_EXPIRING);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	leave(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	/* held, by a hair */
	hold(&r, 3);
	r.now = validity(BEGIN) - GUARD - 1;
	leave(&r, USEC_SEC);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(the_first_word_about_leaving_is_the_last)
{
	struct rig r;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	leave(&r, USEC_SEC);
	let_go(&r);
	leave(&r, 5 * USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, USEC_SEC);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	leave(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
}
