/* fence: fencing numbers. */
#include "unit/rig.h"

static struct reply granted(int64_t fence)
{
	struct reply a = told(VOTE_YES, "", 0);

	a.fence = fence;
	return a;
}

static void ask_for_number(struct rig *r, int nodes)
{
	struct policy p = policy(nodes, NEVER);

	p.wants_fence = true;
	start_with(r, &p);
	all_up(r);
}

TEST(one_number_from_a_majority_is_the_number)
{
	struct rig r;

	ask_for_number(&r, 3);
	reply_with(&r, 2, granted(7));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 0, granted(7));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.fence, 7);
	CHECK_INT(sends(&r, OP_FENCE), 0);
	/* The lock does not wait for the third node, and ignores its number. */
	reply_with(&r, 1, granted(9));
	CHECK_INT(r.lock.tenure.fence, 7);
	CHECK_INT(sends(&r, OP_FENCE), 0);
}

TEST(a_node_that_is_gone_since_its_grant_is_not_sent_the_number)
{
	struct rig r;

	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(6));
	link_down(&r, 0, REASON_CLOSED);
	reply_with(&r, 1, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(sends(&r, OP_FENCE), 1);
	reply_with(&r, 1, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 2, granted(9));
	CHECK_INT(sends(&r, OP_FENCE), 2);
	reply_with(&r, 2, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(the_largest_of_several_is_stored_by_a_majority_before_the_lock_is_held)
{
	struct rig r;

	ask_for_number(&r, 5);
	reply_with(&r, 0, granted(6));
	reply_with(&r, 1, granted(11));
	reply_with(&r, 2, granted(6));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(sends(&r, OP_FENCE), 3);
	CHECK_INT(r.lock.tenure.fence, 11);
	reply_with(&r, 0, granted(11));
	reply_with(&r, 1, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	/* A node that granted the key late is sent the number, too, and counts. */
	reply_with(&r, 3, granted(3));
	CHECK_INT(sends(&r, OP_FENCE), 4);
	reply_with(&r, 3, granted(11));
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(r.lock.tenure.fence, 11);
}

/* The validity counts from before the first request, however long the second round takes. */
TEST(a_number_that_takes_too_long_is_released)
{
	struct rig r;

	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	r.now = r.lock.tenure.valid_until - r.lock.policy.safety_margin;
	reply_with(&r, 0, granted(2));
	reply_with(&r, 1, granted(2));
	CHECK_INT(r.lock.refusal, REFUSAL_SLOW);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(sends(&r, OP_UNDO) >= 2);
}

TEST(a_number_that_no_majority_takes_is_no_lock)
{
	struct reply larger = {.vote = VOTE_FOREIGN, .is_reserved = true, .is_partial = true};
	struct rig r;

	/* Another client has the keys by now. */
	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	reply_with(&r, 2, held(USEC_SEC));
	reply_with(&r, 0, held(USEC_SEC));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	/* One node has given a larger number: its key is still ours, and is released. */
	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	reply_with(&r, 2, told(VOTE_ABSENT, "", 0));
	reply_with(&r, 0, larger);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.peer[0].pending);
	CHECK_INT(sends(&r, OP_UNDO), 3);
	/* The nodes do not answer. */
	ask_for_number(&r, 3);
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	reply_with(&r, 2, told(VOTE_ABSENT, "", 0));
	reply_with(&r, 0, told(VOTE_ABSENT, "", 0));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	/* A reply of an earlier round does not count. */
	CHECK_INT(r.lock.peer[1].fenced_in, 0);
}

TEST(a_grant_without_the_number_that_was_asked_for_is_no_vote)
{
	struct rig r;

	ask_for_number(&r, 1);
	reply_with(&r, 0, granted(0));
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK(r.lock.peer[0].pending);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_GARBAGE);
}

TEST(two_names_of_one_server_have_one_number)
{
	struct rig r;

	ask_for_number(&r, 3);
	r.fake[0].run_id = r.fake[2].run_id = "same";
	reply_with(&r, 0, granted(1));
	reply_with(&r, 1, granted(2));
	CHECK_INT(sends(&r, OP_FENCE), 2);
	reply_with(&r, 2, granted(2));
	CHECK_INT(r.lock.refusal, REFUSAL_DUPLICATE);
}

TEST(an_extension_leaves_the_number_as_it_is)
{
	struct rig r;

	ask_for_number(&r, 1);
	reply_with(&r, 0, granted(5));
	next_round(&r);
	fake_reply(&r, 0, VOTE_YES);
	CHECK_INT(r.lock.tenure.extensions, 1);
	CHECK_INT(r.lock.tenure.fence, 5);
	CHECK_INT(tally_newest_fence(&r.lock.tally), 0);
	r.lock.tally.ballot[0].reply.fence = 8;
	CHECK_INT(tally_newest_fence(&r.lock.tally), 8);
}
