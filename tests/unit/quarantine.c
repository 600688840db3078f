/* quarantine: nodes that may have forgotten keys. */
#include "unit/rig.h"

static struct reply quarantine(usec left)
{
	struct reply a = reply_absent(REASON_QUARANTINE, NULL);

	a.pttl = left;
	return a;
}

TEST(quarantine_is_no_vote_and_leaves_nothing_to_release)
{
	struct rig r;

	ask(&r, 3, 0);
	reply_with(&r, 0, quarantine(USEC_SEC));
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(r.lock.peer[0].pending, 0);
	reply_with(&r, 1, reply_absent(REASON_SKEWED, "ahead"));
	CHECK_INT(r.lock.peer[1].pending, 0);
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	CHECK_INT(sends(&r, OP_UNDO) + sends(&r, OP_HAND_OFF), 1); /* of the third */
	ask(&r, 3, NEVER);
	reply_with(&r, 0, reply_absent(REASON_COUNTER, "redlock:fence:{k}"));
	CHECK_INT(r.lock.peer[0].pending, 0);
	/* After any other error the key may have been set. */
	ask(&r, 3, NEVER);
	votes(&r, "A");
	CHECK(r.lock.peer[0].pending);
	/* A majority of the other nodes is enough. */
	ask(&r, 3, NEVER);
	reply_with(&r, 0, quarantine(USEC_SEC));
	votes(&r, ".YY");
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
}

/* Node 0 has answered; another server answers for it 20 ms later. */
static void replace_server(struct rig *r, usec quarantine)
{
	struct policy p = policy(3, NEVER);

	p.quarantine = quarantine;
	start_with(r, &p);
	all_up(r);
	votes(r, "FFF");
	wait_until(r, resume_at(r));
	r->fake[0].run_id = "other";
}

TEST(a_server_that_replaced_another_one_has_no_vote_for_a_quarantine)
{
	struct rig r;

	replace_server(&r, 30 * USEC_SEC);
	votes(&r, "Y");
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_QUARANTINE);
	CHECK_INT(r.lock.tally.ballot[0].reply.pttl, BEGIN + 30 * USEC_SEC - r.now);
	CHECK(r.lock.peer[0].pending); /* the key is set there */
	votes(&r, ".AA");
	while (serve(&r)) /* the releases */
		;
	/* The first one is back: it has replaced nothing. */
	wait_until(&r, resume_at(&r));
	r.fake[0].run_id = NULL;
	votes(&r, "YY");
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_ABSENT);
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_SEVERAL);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);

	/* Without a guard, and after the quarantine, the vote counts. */
	replace_server(&r, 0);
	votes(&r, "Y");
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_YES);
	replace_server(&r, MS);
	votes(&r, "Y");
	CHECK_INT(r.lock.tally.ballot[0].vote, VOTE_YES);
}

/* Replies without a run id are of the server that told it last: it has answered until now. */
TEST(a_server_is_seen_in_each_of_its_replies)
{
	struct tally t;
	usec left;

	tally_init(&t, 1);
	tally_identify(&t, 0, "one", 0);
	tally_identify(&t, 0, "", 100 * USEC_SEC);
	tally_identify(&t, 0, "two", 101 * USEC_SEC);
	CHECK(tally_doubts(&t, 0, 30 * USEC_SEC, 101 * USEC_SEC, &left));
	CHECK_INT(left, 29 * USEC_SEC);
	CHECK(!tally_doubts(&t, 0, 30 * USEC_SEC, 131 * USEC_SEC, &left));
	tally_identify(&t, 0, "", 102 * USEC_SEC);
	CHECK_TEXT(t.ballot[0].server.run_id, "two");
}

/* A server that is loading its data is no sign of the one before it. */
TEST(an_error_does_not_lengthen_the_life_of_the_server_before)
{
	struct rig r;

	replace_server(&r, 30 * USEC_SEC);
	reply_with(&r, 0, reply_absent(REASON_LOADING, NULL));
	votes(&r, ".AA");
	while (serve(&r)) /* the releases */
		;
	wait_until(&r, resume_at(&r));
	votes(&r, "Y");
	CHECK_INT(r.lock.tally.ballot[0].reply.reason, REASON_QUARANTINE);
	CHECK_INT(r.lock.tally.ballot[0].reply.pttl, BEGIN + 30 * USEC_SEC - r.now);
}

TEST(quarantine_sets_the_time_of_the_next_attempt)
{
	struct rig r;

	ask(&r, 3, NEVER);
	votes(&r, "Y");
	reply_with(&r, 1, quarantine(4 * USEC_SEC));
	reply_with(&r, 2, quarantine(3 * USEC_SEC));
	CHECK(lock_is_pausing(&r.lock));
	CHECK_INT(resume_at(&r), BEGIN + 3 * USEC_SEC + 2 * MS);
	/* A node that is absent for another reason may return, but would not complete a quorum. */
	ask(&r, 3, NEVER);
	reply_with(&r, 0, quarantine(4 * USEC_SEC));
	reply_with(&r, 1, quarantine(3 * USEC_SEC));
	votes(&r, "..A");
	CHECK_INT(resume_at(&r), BEGIN + 3 * USEC_SEC + 2 * MS);
	/* Here it would complete one. */
	ask(&r, 5, NEVER);
	reply_with(&r, 0, quarantine(4 * USEC_SEC));
	reply_with(&r, 1, quarantine(4 * USEC_SEC));
	votes(&r, "..AYY");
	CHECK_INT(resume_at(&r), BEGIN + 20 * MS);
	/* The client retries within a minute even if the quarantine is long or has no end. */
	ask(&r, 1, NEVER);
	reply_with(&r, 0, quarantine(NEVER));
	CHECK(resume_at(&r) > BEGIN + USEC_SEC && resume_at(&r) < BEGIN + 60 * USEC_SEC);
	/* Not longer than --wait. */
	ask(&r, 1, USEC_SEC);
	reply_with(&r, 0, quarantine(4 * USEC_SEC));
	CHECK_INT(resume_at(&r), BEGIN + USEC_SEC);
}

TEST(quarantine_refuses_a_repair)
{
	struct rig r;

	hold(&r, 3);
	next_round(&r);
	votes(&r, "GYY");
	CHECK_INT(r.fake[0].sends[OP_REPAIR], 1);
	reply_with(&r, 0, quarantine(USEC_SEC));
	CHECK_INT(r.lock.peer[0].pending, 0);
	CHECK_INT(lock_state(&r.lock), LOCK_HELD);
	/* The next round finds the key gone, and tries again. */
	next_round(&r);
	votes(&r, "GYY");
	CHECK_INT(r.fake[0].sends[OP_REPAIR], 2);
}
