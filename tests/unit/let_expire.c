/* let_expire: the release of a lock that leaves the key on the nodes until its TTL ends. */
#include "unit/rig.h"

TEST(every_node_that_has_the_key_lets_it_expire)
{
	struct rig r;

	hold(&r, 5);
	pass(&r, 10 * MS);
	let_expire(&r, 5 * USEC_SEC);
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

TEST(no_node_without_the_key_lets_it_expire)
{
	struct rig r;

	hold(&r, 5);
	next_round(&r);
	votes(&r, "YYYF");
	votes(&r, "...F"); /* the repair */
	r.fake[3].holder = OUTSIDER;
	let_expire(&r, USEC_SEC);
	CHECK_INT(r.fake[3].sends[OP_EXPIRE], 0);
	/* After the extension in flight. */
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

/* The node lost the key, and its repair is in flight when the command ends. */
TEST(letting_expire_follows_a_repair)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "YYG");
	CHECK_INT(r.fake[2].queue[0].op, OP_REPAIR);
	let_expire(&r, USEC_SEC);
	CHECK_INT(r.fake[2].queued, 2);
	CHECK_INT(r.fake[2].queue[1].op, OP_EXPIRE);
	CHECK_INT(r.fake[2].queue[1].token, r.token);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	votes(&r, "..Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[2].left, r.token);
}

TEST(a_clean_no_to_letting_expire_leaves_no_pending_release)
{
	struct rig r;

	hold(&r, 3);
	let_expire(&r, USEC_SEC);
	votes(&r, "GFY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	/* Each reply says whether the key was there to the end. */
	CHECK_INT(tally_count(&r.lock.tally, VOTE_YES), 1);
	CHECK_INT(r.lock.loss, LOSS_DENIED);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
}

TEST(an_error_on_letting_expire_is_not_asked_again)
{
	struct rig r;
	usec until = 0;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	let_expire(&r, USEC_SEC);
	votes(&r, "YAA");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[1].sends[OP_EXPIRE], 1);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	/* Neither let expire nor released: the key ends with its TTL. */
	CHECK_INT(lock_unreleased(&r.lock, &until), 2);
	CHECK_INT(until, gone(BEGIN));
	CHECK_INT(r.lock.tally.ballot[1].reply.reason, REASON_LOADING);
	CHECK(r.lock.peer[1].release_refused && !r.lock.peer[0].release_refused);
}

TEST(letting_expire_without_a_reply_ends_at_the_timeout)
{
	struct rig r;
	usec began;

	hold(&r, 3);
	pass(&r, USEC_SEC);
	let_expire(&r, 5 * USEC_SEC);
	began = r.now;
	for (int turns = 0; turns < 100 && lock_state(&r.lock) != LOCK_OVER; turns++)
		wait_until(&r, r.up.wake_at);
	CHECK_INT(r.now - began, 3 * NODE_TIMEOUT);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 3);
	/* A few round trips after a majority. */
	hold(&r, 3);
	let_expire(&r, 5 * USEC_SEC);
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	CHECK_INT(r.up.wake_at, BEGIN + 2 * MS);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 1);
}

TEST(a_broken_link_is_opened_again_to_let_expire)
{
	struct rig r;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_expire(&r, USEC_SEC);
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

TEST(an_earlier_token_is_deleted_when_the_lock_is_let_expire)
{
	struct rig r;
	int old;

	old = hold_after_a_lost_request(&r);
	let_expire(&r, USEC_SEC);
	CHECK_INT(sends(&r, OP_EXPIRE), 2);
	CHECK(r.fake[0].link == LINK_OPENING);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(lock_unreleased(&r.lock, &(usec){0}), 0);
	CHECK_INT(r.fake[0].sends[OP_EXPIRE], 0);
	CHECK_INT(r.fake[0].holder, NO_HOLDER);
	CHECK_INT(r.fake[1].left, r.token);
	CHECK_INT(r.fake[2].left, r.token);
}

/* The first attempt's request, and the release that follows it, are still in flight. */
TEST(a_release_in_flight_is_not_followed_by_letting_expire)
{
	struct rig r;
	int old;

	ask(&r, 3, NEVER);
	old = r.token;
	votes(&r, ".FF");
	pass(&r, MS);
	wait_until(&r, r.up.wake_at);
	pass(&r, 200);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.fake[0].queue[1].op, OP_UNDO);
	let_expire(&r, USEC_SEC);
	CHECK_INT(r.fake[0].queued, 2);
	CHECK_INT(sends(&r, OP_EXPIRE), 2);
	votes(&r, "YYY");
	CHECK_INT(r.fake[0].queue[0].op, OP_UNDO);
	CHECK_INT(r.fake[0].queue[0].token, old);
	votes(&r, "Y");
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	CHECK_INT(r.fake[0].sends[OP_UNDO], 1);
	CHECK_INT(r.fake[0].sends[OP_EXPIRE], 0);
	CHECK_INT(r.fake[0].holder, NO_HOLDER);
}

TEST(a_key_of_a_lock_that_is_not_held_is_deleted)
{
	static const usec before_end[] = {SAFETY_MARGIN, 1, 0, -USEC_SEC};
	struct rig r;

	/* asking: one node has granted the key, two may have */
	ask(&r, 3, NEVER);
	votes(&r, "Y");
	let_expire(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	finish(&r);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	CHECK_INT(left_behind(&r), 0);
	/* between two attempts */
	ask(&r, 3, NEVER);
	votes(&r, "YFF");
	CHECK(lock_is_pausing(&r.lock));
	let_expire(&r, USEC_SEC);
	finish(&r);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	CHECK_INT(left_behind(&r), 0);
	/* refused, and undoing */
	ask(&r, 3, 0);
	votes(&r, "YFF");
	CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
	link_down(&r, 0, REASON_CLOSED);
	let_expire(&r, USEC_SEC);
	link_up(&r, 0);
	CHECK_INT(r.fake[0].queue[0].op, OP_HAND_OFF);
	finish(&r);
	CHECK_INT(left_behind(&r), 0);
	/* no longer held, though a majority may still have the key */
	for (size_t i = 0; i < sizeof(before_end) / sizeof(before_end[0]); i++) {
		hold(&r, 3);
		r.now = validity(BEGIN) - before_end[i];
		let_expire(&r, USEC_SEC);
		CHECK_INT(r.lock.releasing.leave_for, 0);
		CHECK_INT(r.lock.loss,
			before_end[i] == SAFETY_MARGIN ? LOSS_EXPIRED : LOSS_STOOD_STILL);
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
	let_expire(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	CHECK_INT(sends(&r, OP_HAND_OFF), 3);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
	/* just held */
	hold(&r, 3);
	r.now = validity(BEGIN) - SAFETY_MARGIN - 1;
	let_expire(&r, USEC_SEC);
	CHECK_INT(sends(&r, OP_EXPIRE), 3);
	CHECK_INT(r.lock.loss, LOSS_NONE);
}

TEST(only_the_first_release_event_decides_about_letting_expire)
{
	struct rig r;

	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_expire(&r, USEC_SEC);
	let_go(&r);
	let_expire(&r, 5 * USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, USEC_SEC);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_EXPIRE);
	CHECK_INT(sends(&r, OP_HAND_OFF), 0);
	hold(&r, 3);
	link_down(&r, 2, REASON_CLOSED);
	let_go(&r);
	let_expire(&r, USEC_SEC);
	CHECK_INT(r.lock.releasing.leave_for, 0);
	link_up(&r, 2);
	CHECK_INT(r.fake[2].queue[0].op, OP_HAND_OFF);
	CHECK_INT(sends(&r, OP_EXPIRE), 0);
}
