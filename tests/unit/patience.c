/* patience: how long a client tries, with and without a majority of the nodes. */
#include "lock/patience.h"

#include "unit/rig.h"

static const struct policy given = {.wait = 2 * USEC_SEC, .node_wait = 60 * USEC_SEC};
static const struct policy not_given = {.wait = 20 * USEC_SEC, .node_wait = NEVER};
static const struct policy no_limit = {.wait = NEVER, .node_wait = NEVER};

/* An attempt that took 10 ms has failed at that time. */
static void fail_at(struct patience *p, bool had_majority, bool is_hopeless, usec at)
{
	patience_failed(p, had_majority, is_hopeless, BEGIN + at - 10 * MS, BEGIN + at);
}

static usec until(const struct patience *p, const struct policy *policy)
{
	usec at = patience_until(p, policy);

	return at == NEVER ? NEVER : at - BEGIN;
}

TEST(patience_without_node_wait_is_the_wait)
{
	struct patience p;

	patience_begin(&p, BEGIN);
	CHECK_INT(until(&p, &not_given), 20 * USEC_SEC);
	CHECK_INT(until(&p, &no_limit), NEVER);
	fail_at(&p, false, false, USEC_SEC);
	CHECK_INT(until(&p, &not_given), 20 * USEC_SEC);
	fail_at(&p, true, false, 5 * USEC_SEC);
	CHECK_INT(until(&p, &not_given), 20 * USEC_SEC);
	CHECK_INT(until(&p, &no_limit), NEVER);
	CHECK_INT(patience_for_holder(&p, &not_given, BEGIN + 9 * USEC_SEC), BEGIN + 20 * USEC_SEC);
}

TEST(patience_adds_outages_to_the_wait_for_a_holder)
{
	struct patience p;

	patience_begin(&p, BEGIN);
	fail_at(&p, true, false, 10 * MS);
	CHECK_INT(until(&p, &given), 2 * USEC_SEC);
	fail_at(&p, false, false, USEC_SEC + 10 * MS);
	CHECK_INT(until(&p, &given), 61 * USEC_SEC);
	/* During the attempt that ends the outage, its end is not known yet. */
	CHECK_INT(patience_for_holder(&p, &given, BEGIN + 31 * USEC_SEC), BEGIN + 32 * USEC_SEC);
	fail_at(&p, false, false, 20 * USEC_SEC);
	CHECK_INT(until(&p, &given), 61 * USEC_SEC);
	fail_at(&p, true, false, 31 * USEC_SEC);
	CHECK_INT(until(&p, &given), 32 * USEC_SEC);
}

TEST(patience_of_each_outage_begins_anew)
{
	struct policy policy = {.wait = NEVER, .node_wait = 3 * USEC_SEC};
	struct patience p;

	patience_begin(&p, BEGIN);
	for (usec at = USEC_SEC; at < 600 * USEC_SEC; at += 4 * USEC_SEC) {
		fail_at(&p, false, false, at);
		CHECK_INT(until(&p, &policy), at - 10 * MS + 3 * USEC_SEC);
		fail_at(&p, true, false, at + 2 * USEC_SEC);
		CHECK_INT(until(&p, &policy), NEVER);
	}
}

/* As beside a node in quarantine, where every other attempt finds a majority. */
TEST(patience_ends_however_outages_come_and_go)
{
	struct patience p;
	usec at = 10 * MS;

	patience_begin(&p, BEGIN);
	for (bool had_majority = false; at < 600 * USEC_SEC && at < until(&p, &given);
		at += 100 * MS) {
		fail_at(&p, had_majority, false, at);
		had_majority = !had_majority;
		CHECK(until(&p, &given) <= 62 * USEC_SEC);
	}
	CHECK(at <= 62 * USEC_SEC);
}

TEST(patience_with_permanent_errors)
{
	struct patience p;

	patience_begin(&p, BEGIN);
	fail_at(&p, false, true, USEC_SEC + 10 * MS);
	CHECK_INT(until(&p, &no_limit), 6 * USEC_SEC);
	CHECK_INT(until(&p, &not_given), 6 * USEC_SEC);
	/* --node-wait says otherwise; a shorter --wait as well. */
	CHECK_INT(until(&p, &given), 61 * USEC_SEC);
	CHECK_INT(until(&p, &(struct policy){.wait = 0, .node_wait = NEVER}), 0);
	CHECK_INT(until(&p, &(struct policy){.wait = 0, .node_wait = 0}), 0);
	fail_at(&p, false, true, 3 * USEC_SEC);
	CHECK_INT(until(&p, &no_limit), 6 * USEC_SEC);
	/* Another node works now: the others may follow. */
	fail_at(&p, false, false, 4 * USEC_SEC);
	CHECK_INT(until(&p, &no_limit), NEVER);
	fail_at(&p, false, true, 5 * USEC_SEC);
	CHECK_INT(until(&p, &no_limit), 10 * USEC_SEC - 10 * MS);
	/* A client that has met a majority waits for its return. */
	fail_at(&p, true, false, 6 * USEC_SEC);
	fail_at(&p, false, true, 7 * USEC_SEC);
	CHECK_INT(until(&p, &no_limit), NEVER);
	CHECK_INT(until(&p, &not_given), 20 * USEC_SEC);
}

/* Lets attempts fail by that error on the first `count` nodes, until the lock gives up or a minute
 * has passed. Returns the time that it took. */
static usec fail_with(struct rig *r, int count, enum reason reason)
{
	while (lock_state(&r->lock) == LOCK_TRYING && r->now < BEGIN + 60 * USEC_SEC) {
		for (int i = 0; i < r->lock.policy.nodes; i++)
			if (r->fake[i].link == LINK_OPENING) {
				if (i < count)
					link_down(r, i, reason);
				else
					link_up(r, i);
			}
		if (lock_state(&r->lock) == LOCK_TRYING)
			wait_until(r, r->up.wake_at);
	}
	return r->now - BEGIN;
}

TEST(patience_of_a_lock_ends_early_after_permanent_errors)
{
	static const enum reason permanent[] = {REASON_NOT_TLS, REASON_SPEAKS_TLS, REASON_TLS,
		REASON_UNTRUSTED, REASON_CLIENT_CERTIFICATE, REASON_NOAUTH, REASON_NO_PASSWORD,
		REASON_NOPERM, REASON_GARBAGE, REASON_TOO_LONG, REASON_ENDLESS};
	static const enum reason passing[] = {REASON_UNRESOLVED, REASON_CONNECT, REASON_CLOSED,
		REASON_CONNECT_TIMEOUT, REASON_TLS_TIMEOUT, REASON_TIMEOUT, REASON_LOADING,
		REASON_READONLY, REASON_MISCONF, REASON_OOM, REASON_MAXCLIENTS, REASON_SERVER};
	struct rig r;

	for (size_t i = 0; i < COUNT_OF(permanent); i++) {
		start(&r, 3, NEVER);
		CHECK(fail_with(&r, 2, permanent[i]) < HOPELESS_TIME + USEC_SEC);
		CHECK(r.now - BEGIN >= HOPELESS_TIME);
		CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	}
	for (size_t i = 0; i < COUNT_OF(passing); i++) {
		start(&r, 3, NEVER);
		CHECK(fail_with(&r, 3, passing[i]) >= 60 * USEC_SEC);
	}
	/* A majority could answer. */
	start(&r, 5, NEVER);
	for (int i = 2; i < 5; i++)
		r.fake[i].silent = true;
	(void)fail_with(&r, 2, REASON_NOAUTH);
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
}

TEST(patience_replies_that_are_permanent_for_a_reason_of_their_own)
{
	struct reply a = reply_absent(REASON_CONNECT, "Permission denied");

	CHECK(!reply_is_permanent(&a));
	a.is_permanent = true;
	CHECK(reply_is_permanent(&a));
	a.vote = VOTE_YES;
	CHECK(!reply_is_permanent(&a));
}

/* The time until a lock is given up if its only node refuses all connections. */
static usec tries_a_refused_node(const struct policy *p)
{
	struct rig r;

	start_with(&r, p);
	while (lock_state(&r.lock) == LOCK_TRYING && r.now < BEGIN + 60 * USEC_SEC) {
		if (r.fake[0].link == LINK_OPENING)
			link_down(&r, 0, REASON_CONNECT);
		if (lock_state(&r.lock) == LOCK_TRYING)
			wait_until(&r, r.up.wake_at);
	}
	CHECK_INT(r.lock.refusal, REFUSAL_NO_QUORUM);
	return r.now - BEGIN;
}

TEST(patience_with_a_default_node_that_refuses)
{
	struct policy p = policy(1, NEVER);

	CHECK(tries_a_refused_node(&p) >= 60 * USEC_SEC);
	p.refused_is_permanent = true;
	CHECK(tries_a_refused_node(&p) < 6 * USEC_SEC);
	CHECK(tries_a_refused_node(&p) > 4 * USEC_SEC);
}

TEST(patience_of_a_lock_whose_holder_stays)
{
	struct policy p = policy(3, 2 * USEC_SEC);
	struct rig r;
	usec began;

	/* Nodes are down for 10 seconds, then the lock is busy. */
	p.node_wait = 60 * USEC_SEC;
	start_with(&r, &p);
	while (r.now < BEGIN + 10 * USEC_SEC) {
		for (int i = 0; i < 3; i++)
			if (r.fake[i].link == LINK_OPENING)
				link_down(&r, i, REASON_CONNECT);
		wait_until(&r, r.up.wake_at);
	}
	CHECK_INT(lock_state(&r.lock), LOCK_TRYING);
	began = r.now;
	while (lock_state(&r.lock) == LOCK_TRYING && r.now < began + 60 * USEC_SEC) {
		for (int i = 0; i < 3; i++)
			r.fake[i].holder = OUTSIDER;
		while (serve(&r))
			;
		if (lock_state(&r.lock) == LOCK_TRYING)
			wait_until(&r, r.up.wake_at);
	}
	CHECK_INT(r.lock.refusal, REFUSAL_BUSY);
	CHECK(r.now >= began + 2 * USEC_SEC - NODE_TIMEOUT);
	CHECK(r.now < began + 3 * USEC_SEC);
}
