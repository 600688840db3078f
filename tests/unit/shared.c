/* shared: readers and writers. */
#include "unit/rig.h"

/* ---- readers and writers ---- */

#define READERS TOKEN_READERS ":1700000000 2 readers: a, b"

static struct reply shared(usec left)
{
	struct reply a = told(VOTE_FOREIGN, READERS, left);

	a.is_shared = true;
	return a;
}

/* To a reader: others are before it. */
static struct reply others_first(usec left)
{
	struct reply a = shared(left);

	a.is_reserved = true;
	return a;
}

static void contend_as(struct rig *r, bool is_shared, int nodes)
{
	struct policy p = policy(nodes, NEVER);

	p.is_shared = is_shared;
	start_with(r, &p);
	r->lock.waiter.is_refused = false;
	all_up(r);
}

/* Whatever they were asked, releases included. */
static void all_answer(struct rig *r, struct reply a)
{
	for (int n = 0; n < 2 * r->lock.policy.nodes; n++)
		while (r->fake[n % r->lock.policy.nodes].queued > 0)
			reply_with(r, n % r->lock.policy.nodes, a);
}

/* In line behind whoever says so. */
static void wait_behind(struct rig *r, bool is_shared, struct reply a)
{
	contend_as(r, is_shared, 3);
	all_answer(r, a);
	CHECK(lock_is_pausing(&r->lock));
	link_up(r, 3);
	reply_with(r, 3, a);
	CHECK_INT(seat(r)->queue[0].op, OP_WAIT);
}

static const struct action *last_action(const struct rig *r, int node, enum op op)
{
	static const struct action none = {.kind = ACT_OPEN};
	const struct action *found = &none;

	for (int i = 0; i < r->up.count; i++)
		if (r->up.action[i].kind == ACT_SEND &&
			connection_of(r, &r->up.action[i]) == node && r->up.action[i].op == op)
			found = &r->up.action[i];
	return found;
}

TEST(readers_heed_the_line_but_do_not_wait_for_its_silence)
{
	struct rig r;

	contend_as(&r, true, 3);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	reply_with(&r, 0, others_first(60 * MS));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK_INT(sends(&r, OP_UNDO), 2);
	CHECK_INT(seat(&r)->line, 0);
	/* as long as the last answers are waited for, and no longer */
	contend_as(&r, true, 3);
	votes(&r, ".YY");
	CHECK(r.up.wake_at < BEGIN + NODE_TIMEOUT);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* one answer is no majority to begin with */
	contend_as(&r, true, 5);
	votes(&r, ".YY");
	wait_until(&r, BEGIN + NODE_TIMEOUT / 2);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	fake_reply(&r, 3, VOTE_YES);
	wait_until(&r, r.up.wake_at);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(readers_that_were_woken_pass_the_word_on)
{
	struct rig r;

	wait_behind(&r, true, held(HELD_FOR));
	reply_with(&r, 3, turn());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(last_action(&r, 3, OP_HAND_OFF)->kind, ACT_OPEN); /* in the step before: */
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	CHECK(r.lock.waiter.passes);
	reply_with(&r, 3, told(VOTE_YES, "", 0));
	/* Who came without a word has none to pass on; nor has a writer. */
	contend_as(&r, true, 3);
	votes(&r, "YYY");
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
	wait_behind(&r, false, held(HELD_FOR));
	reply_with(&r, 3, turn());
	votes(&r, "YYY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 0);
}

/* Woken by a holder's release, and readers were faster. */
static void find_readers(struct rig *r, bool is_shared)
{
	wait_behind(r, is_shared, held(HELD_FOR));
	reply_with(r, 3, turn());
	all_answer(r, shared(HELD_FOR));
}

TEST(a_writer_that_is_woken_and_finds_readers_comes_next)
{
	struct rig r;

	find_readers(&r, false);
	CHECK(r.lock.waiter.leads);
	CHECK_INT(seat(&r)->queued, 2);
	CHECK(seat(&r)->queue[0].leads && seat(&r)->queue[1].leads);
	reply_with(&r, 3, shared(HELD_FOR));
	/* Its turn, in the end. */
	reply_with(&r, 3, turn());
	votes(&r, "YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(!r.lock.waiter.leads);
	/* At the other end of the line, nobody knows it. */
	find_readers(&r, false);
	reply_with(&r, 3, shared(HELD_FOR));
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_ABSENT);
	all_answer(&r, shared(HELD_FOR));
	CHECK_INT(seat(&r)->line, 1);
	CHECK(!r.lock.waiter.leads);
	/* It was not woken; or is a reader, and in the way is a stranger. */
	wait_behind(&r, false, shared(HELD_FOR));
	CHECK(!r.lock.waiter.leads);
	find_readers(&r, true);
	CHECK(!r.lock.waiter.leads);
}

/* Its word would be lost with it. */
TEST(a_writer_that_finds_readers_in_the_end_passes_the_word_on)
{
	struct policy p = policy(3, USEC_SEC);
	struct rig r;

	start_with(&r, &p);
	r.lock.waiter.is_refused = false;
	all_up(&r);
	all_answer(&r, held(HELD_FOR));
	link_up(&r, 3);
	reply_with(&r, 3, held(HELD_FOR));
	r.now += 2 * USEC_SEC;
	reply_with(&r, 3, turn());
	all_up(&r);
	all_answer(&r, shared(HELD_FOR));
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(lock_state(&r.lock) != LOCK_TRYING);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

/* Who holds it reads no words. */
TEST(a_reader_that_got_in_unasked_has_its_word_passed_on_by_the_node)
{
	struct rig r;

	wait_behind(&r, true, others_first(HELD_FOR));
	next_attempt(&r);
	fake_reply(&r, 0, VOTE_YES);
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	CHECK(r.lock.waiter.leaves);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
	let_go(&r);
	CHECK_INT(seat(&r)->sends[OP_HAND_OFF], 1);
}

/* It may be nobody's by then, and no end of a key will tell. */
TEST(another_ones_turn_that_is_heard_of_meanwhile_is_looked_at)
{
	struct rig r;

	contend_as(&r, false, 3);
	all_answer(&r, held(20 * MS));
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, reserved(60 * MS));
	all_answer(&r, held(HELD_FOR));
	CHECK_INT(r.lock.stamp.attempt, 3);
	/* A reader's questions are words for those before it: one will do. */
	contend_as(&r, true, 3);
	all_answer(&r, others_first(20 * MS));
	link_up(&r, 3);
	next_attempt(&r);
	reply_with(&r, 3, others_first(60 * MS));
	all_answer(&r, others_first(HELD_FOR));
	CHECK_INT(r.lock.stamp.attempt, 2);
}

/* The line's answer may come last, and it may be that others are in the way there. */
TEST(a_writer_finds_readers_as_the_line_sees_it_or_else_as_anybody)
{
	struct rig r;

	wait_behind(&r, false, held(HELD_FOR));
	reply_with(&r, 3, turn());
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK(r.lock.waiter.leads);
	wait_behind(&r, false, held(HELD_FOR));
	reply_with(&r, 3, turn());
	reply_with(
		&r, 0, told(VOTE_FOREIGN, "0000000000000000000000000000000000000007:x", HELD_FOR));
	all_answer(&r, shared(HELD_FOR));
	CHECK(lock_is_pausing(&r.lock));
	CHECK(!r.lock.waiter.leads);
	/* Of several keys, it is about the seat's. */
	be_woken_for_the_second(&r);
	all_answer(&r, about(0, shared(HELD_FOR)));
	CHECK(!r.lock.waiter.leads);
	be_woken_for_the_second(&r);
	all_answer(&r, about(1, shared(HELD_FOR)));
	CHECK(r.lock.waiter.leads);
}

TEST(a_writer_insists_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	wait_behind(&r, false, shared(HELD_FOR));
	reply_with(&r, 3, turn());
	votes(&r, "Y");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	CHECK_INT(r.fake[1].queued, 1);
	fake_reply(&r, 1, VOTE_YES);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

TEST(who_only_looks_insists_while_the_last_readers_release_is_on_its_way)
{
	struct rig r;

	look_and_be_woken(&r, shared(HELD_FOR));
	votes(&r, "G");
	reply_with(&r, 1, shared(HELD_FOR));
	reply_with(&r, 2, shared(HELD_FOR));
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	CHECK(!lock_is_pausing(&r.lock));
	wait_until(&r, r.up.wake_at);
	fake_reply(&r, 1, VOTE_GONE);
	CHECK_INT(r.lock.refusal, REFUSAL_NONE);
}

TEST(who_leaves_the_line_behind_readers_has_a_word_for_the_next)
{
	struct rig r;

	for (int is_shared = 0; is_shared < 2; is_shared++) {
		wait_behind(&r, is_shared, is_shared ? others_first(HELD_FOR) : shared(HELD_FOR));
		/* For that, the way there stays, the others' do not. */
		wait_until(&r, r.now + 2 * USEC_SEC);
		CHECK_INT(r.lock.peer[0].link, LINK_UP);
		CHECK_INT(r.lock.peer[1].link, LINK_DOWN);
		let_go(&r);
		CHECK(last_action(&r, 0, OP_HAND_OFF)->is_leaving);
		CHECK(!last_action(&r, 0, OP_HAND_OFF)->leads);
		CHECK_INT(last_action(&r, 1, OP_HAND_OFF)->kind, ACT_OPEN);
		/* It stays until that has been heard, but not for longer than an answer may take.
		 */
		CHECK_INT(lock_state(&r.lock), LOCK_RELEASING);
		if (is_shared)
			fake_reply(&r, 0, VOTE_GONE);
		else
			wait_until(&r, r.now + r.lock.policy.node_timeout);
		CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	}
	/* Who leads says that it does not any more. */
	find_readers(&r, false);
	reply_with(&r, 3, shared(HELD_FOR));
	let_go(&r);
	CHECK(last_action(&r, 0, OP_HAND_OFF)->leads);
	/* Behind anybody else, it is the holder's to say. */
	wait_behind(&r, false, held(HELD_FOR));
	wait_until(&r, r.now + 2 * USEC_SEC);
	CHECK_INT(r.lock.peer[0].link, LINK_DOWN);
	let_go(&r);
	CHECK_INT(last_action(&r, 0, OP_HAND_OFF)->kind, ACT_OPEN);
	CHECK_INT(lock_state(&r.lock), LOCK_OVER);
	/* While that is asked or has left a debt, the pop must do. */
	wait_behind(&r, false, shared(HELD_FOR));
	next_attempt(&r);
	CHECK_INT(r.fake[0].queued, 1);
	let_go(&r);
	CHECK(!last_action(&r, 0, OP_HAND_OFF)->is_leaving);
}
