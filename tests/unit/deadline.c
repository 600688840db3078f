/* deadline: the first signal, then KILL, before the lock expires; or after a TERM from outside, or
 * after --max-run. */
#include "lock/deadline.h"

#include "unit/unit.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#define MS USEC_MSEC

static const struct deadline_policy policy = {.on_lost = SIGTERM,
	.grace = 300 * MS,
	.kill_after = 300 * MS,
	.signal = SIGTERM,
	.reap = 50 * MS,
	.max_run = NEVER};

/* valid until 1 s: TERM at 650 ms, KILL at 950 ms */
static struct deadline fresh(void)
{
	struct deadline l;

	deadline_init(&l, &policy, 0, 1000 * MS);
	return l;
}

static struct deadline with(int on_lost, usec max_run)
{
	struct deadline_policy p = policy;
	struct deadline l;

	p.on_lost = on_lost;
	p.max_run = max_run;
	deadline_init(&l, &p, 0, 1000 * MS);
	return l;
}

static void expect(
	struct deadline *l, usec now, enum deadline_action action, usec wake_at, int line)
{
	usec at = -1;
	enum deadline_action got = deadline_step(l, now, &at);

	unit_check(got == action && at == wake_at, __FILE__, line,
		"at %lld: action %d, not %d; wake at %lld, not %lld", (long long)now, (int)got,
		(int)action, (long long)at, (long long)wake_at);
}

#define EXPECT(l, now, action, wake_at) expect(l, now, action, wake_at, __LINE__)

TEST(deadline_default_times)
{
	CHECK_INT(deadline_margin(&policy), 350 * MS);
	CHECK_INT(deadline_reap_time(30 * USEC_SEC), 500 * MS);
	CHECK_INT(deadline_reap_time(10 * USEC_SEC), 200 * MS);
	CHECK_INT(deadline_reap_time(500 * MS), 10 * MS);
	CHECK_INT(deadline_reap_time(0), 10 * MS);
	CHECK_INT(deadline_reap_time(3600 * USEC_SEC), 500 * MS);
	CHECK_INT(deadline_default_grace(30 * USEC_SEC), 3 * USEC_SEC);
	CHECK_INT(deadline_default_grace(1000 * USEC_SEC), 10 * USEC_SEC);
	CHECK_INT(deadline_default_grace(150 * MS), 15 * MS);
}

TEST(deadline_term_then_kill_each_once)
{
	struct deadline l = fresh();

	EXPECT(&l, 0, DEADLINE_WAIT, 650 * MS);
	EXPECT(&l, 650 * MS - 1, DEADLINE_WAIT, 650 * MS);
	EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
	EXPECT(&l, 650 * MS, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS - 1, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	EXPECT(&l, 950 * MS, DEADLINE_WAIT, NEVER);
	EXPECT(&l, 5000 * MS, DEADLINE_WAIT, NEVER);
}

TEST(deadline_extension_postpones)
{
	struct deadline l = fresh();

	EXPECT(&l, 640 * MS, DEADLINE_WAIT, 650 * MS);
	l.valid_until = 2000 * MS;
	EXPECT(&l, 650 * MS, DEADLINE_WAIT, 1650 * MS);
	EXPECT(&l, 1650 * MS, DEADLINE_TERM, 1950 * MS);
	/* TERM was sent: an extension does not lengthen the grace period. */
	l.valid_until = 9000 * MS;
	EXPECT(&l, 1949 * MS, DEADLINE_WAIT, 1950 * MS);
	EXPECT(&l, 1950 * MS, DEADLINE_KILL, NEVER);
	EXPECT(&l, 8950 * MS, DEADLINE_WAIT, NEVER);
}

TEST(deadline_lost_early)
{
	struct deadline l = fresh();

	deadline_lose(&l, 100 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_TERM, 400 * MS);
	deadline_lose(&l, 300 * MS); /* does not start again */
	EXPECT(&l, 399 * MS, DEADLINE_WAIT, 400 * MS);
	EXPECT(&l, 400 * MS, DEADLINE_KILL, NEVER);
	deadline_lose(&l, 500 * MS);
	EXPECT(&l, 2000 * MS, DEADLINE_WAIT, NEVER);
	/* The lock is lost with less than the grace period left: the time to be reaped stays. */
	l = fresh();
	deadline_lose(&l, 800 * MS);
	EXPECT(&l, 800 * MS, DEADLINE_TERM, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
}

TEST(deadline_late_caller)
{
	struct deadline l = fresh();

	/* Between TERM and KILL: the rest of the grace period. */
	EXPECT(&l, 900 * MS, DEADLINE_TERM, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	/* A caller that is too late for everything. */
	l = fresh();
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	EXPECT(&l, 960 * MS, DEADLINE_WAIT, NEVER);
	l = fresh();
	EXPECT(&l, 999999 * MS, DEADLINE_KILL, NEVER);
	EXPECT(&l, 999999 * MS, DEADLINE_WAIT, NEVER);
}

TEST(deadline_without_grace)
{
	struct deadline_policy at_once = policy;
	struct deadline l;

	at_once.grace = 0;
	deadline_init(&l, &at_once, 0, 1000 * MS);
	EXPECT(&l, 950 * MS - 1, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
}

/* Whenever the function is called: at its wake-ups, KILL comes in time and TERM not before it is
 * due. */
TEST(deadline_never_sleeps_over_the_end)
{
	for (usec start = 0; start < 1100 * MS; start += 7 * MS) {
		struct deadline l = fresh();
		usec now = start, wake_at;
		int turns = 0;

		for (; turns < 5; turns++) {
			enum deadline_action action = deadline_step(&l, now, &wake_at);

			CHECK(action != DEADLINE_TERM || now >= 650 * MS);
			if (action == DEADLINE_KILL)
				break;
			now = usec_max(now, wake_at);
		}
		CHECK_INT(now, usec_max(start, 950 * MS));
		CHECK(turns <= 2);
	}
}

/* ---- without a lock of its own ---- */

TEST(deadline_needs_more_time)
{
	struct deadline l;
	usec usual, wake_at;

	deadline_init(&l, &policy, 0, 10000 * MS);
	usual = 10000 * MS - policy.reap;
	CHECK_INT(
		deadline_step(&l, 10000 * MS - deadline_margin(&policy), &wake_at), DEADLINE_TERM);
	CHECK_INT(wake_at, usual);
	deadline_needs(&l, policy.reap / 2); /* the policy has more */
	CHECK_INT(deadline_step(&l, usual - 100 * MS, &wake_at), DEADLINE_WAIT);
	CHECK_INT(wake_at, usual);
	deadline_needs(&l, policy.reap + 50 * MS);
	EXPECT(&l, usual - 51 * MS, DEADLINE_WAIT, usual - 50 * MS);
	EXPECT(&l, usual - 50 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
}

TEST(deadline_without_a_lock)
{
	struct deadline_policy p = policy;
	struct deadline l;
	usec wake_at;

	deadline_init(&l, &p, 0, NEVER);
	CHECK_INT(deadline_step(&l, (usec)100 * 365 * 86400 * USEC_SEC, &wake_at), DEADLINE_WAIT);
	CHECK(wake_at > NEVER - USEC_SEC);
	CHECK_INT(l.cause, CAUSE_NONE);
	/* But no process is left that could pass on a signal. */
	deadline_lose(&l, 100 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_TERM, 400 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 400 * MS, DEADLINE_KILL, NEVER);
	/* --max-run and a TERM from outside still count. */
	p.max_run = 2000 * MS;
	deadline_init(&l, &p, 500 * MS, NEVER);
	EXPECT(&l, 500 * MS, DEADLINE_WAIT, 2500 * MS);
	EXPECT(&l, 2500 * MS, DEADLINE_TERM, 2800 * MS);
	EXPECT(&l, 2800 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	/* --max-run does not apply to a command that has exited. */
	deadline_init(&l, &p, 500 * MS, NEVER);
	deadline_finished(&l);
	CHECK_INT(deadline_step(&l, 2500 * MS, &wake_at), DEADLINE_WAIT);
	CHECK(wake_at > NEVER - USEC_SEC);
	deadline_init(&l, &p, 500 * MS, NEVER);
	deadline_asked(&l, 700 * MS);
	EXPECT(&l, 700 * MS, DEADLINE_WAIT, 850 * MS);
	EXPECT(&l, 1000 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_ASKED);
}

/* ---- what the loss of the lock does ---- */

TEST(deadline_margin_is_what_the_policy_needs)
{
	static const struct {
		int on_lost;
		usec safety_margin;
	} cases[] = {{0, 0}, {SIGKILL, 50 * MS}, {SIGTERM, 350 * MS}, {SIGUSR1, 350 * MS},
		{SIGINT, 350 * MS}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct deadline l = with(cases[i].on_lost, NEVER);

		CHECK_INT(deadline_margin(&l.policy), cases[i].safety_margin);
		l.policy.max_run = MS;
		CHECK_INT(deadline_margin(&l.policy), cases[i].safety_margin);
	}
}

TEST(deadline_begins_without_a_cause)
{
	struct deadline l;

	/* Any bytes before deadline_init(). */
	for (unsigned char *p = (unsigned char *)&l; p < (unsigned char *)(&l + 1); p++)
		*p = 0x5a;
	deadline_init(&l, &policy, 0, 1000 * MS);
	CHECK_INT(l.cause, CAUSE_NONE);
	EXPECT(&l, 649 * MS, DEADLINE_WAIT, 650 * MS);
	CHECK_INT(l.cause, CAUSE_NONE);
	EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
}

TEST(deadline_kill_gives_no_grace)
{
	struct deadline l = with(SIGKILL, NEVER);

	EXPECT(&l, 0, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS - 1, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 951 * MS, DEADLINE_WAIT, NEVER);
	/* A known loss: at once. */
	l = with(SIGKILL, NEVER);
	deadline_lose(&l, 100 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 2000 * MS, DEADLINE_WAIT, NEVER);
	/* A TERM from outside and --max-run give a grace period. */
	l = with(SIGKILL, 200 * MS);
	EXPECT(&l, 199 * MS, DEADLINE_WAIT, 200 * MS);
	EXPECT(&l, 200 * MS, DEADLINE_TERM, 500 * MS);
	CHECK_INT(deadline_signal(&l), SIGTERM);
	EXPECT(&l, 500 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	l = with(SIGKILL, NEVER);
	deadline_asked(&l, 200 * MS);
	EXPECT(&l, 200 * MS, DEADLINE_WAIT, 350 * MS);
	EXPECT(&l, 500 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_ASKED);
}

TEST(deadline_warn_lets_the_command_run_on)
{
	struct deadline l = with(0, NEVER);

	EXPECT(&l, 0, DEADLINE_WAIT, NEVER);
	EXPECT(&l, 1000 * MS, DEADLINE_WAIT, NEVER);
	deadline_lose(&l, 1000 * MS);
	EXPECT(&l, 1000 * MS, DEADLINE_WAIT, NEVER);
	EXPECT(&l, 999999 * MS, DEADLINE_WAIT, NEVER);
	CHECK_INT(l.cause, CAUSE_NONE);
	/* A TERM from outside still reaches it. */
	deadline_asked(&l, 999999 * MS);
	EXPECT(&l, 999999 * MS, DEADLINE_WAIT, 1000149 * MS);
	EXPECT(&l, 1000149 * MS, DEADLINE_SPREAD, 1000299 * MS);
	EXPECT(&l, 1000299 * MS - 1, DEADLINE_WAIT, 1000299 * MS);
	EXPECT(&l, 1000299 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_ASKED);
	/* --max-run still applies, and the end of the lock does not shorten the grace period. */
	l = with(0, 900 * MS);
	deadline_lose(&l, 100 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_WAIT, 900 * MS);
	EXPECT(&l, 900 * MS, DEADLINE_TERM, 1200 * MS);
	CHECK_INT(deadline_signal(&l), SIGTERM);
	EXPECT(&l, 1100 * MS, DEADLINE_WAIT, 1200 * MS);
	EXPECT(&l, 1200 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
}

TEST(deadline_on_lost_signal)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct deadline l = with(signals[i], NEVER);

		EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
		CHECK_INT(deadline_signal(&l), signals[i]);
		l = with(signals[i], NEVER);
		deadline_lose(&l, 10 * MS);
		EXPECT(&l, 10 * MS, DEADLINE_TERM, 310 * MS);
		CHECK_INT(deadline_signal(&l), signals[i]);
		/* --max-run sends --signal, whatever --on-lost says. */
		l = with(signals[i], 10 * MS);
		EXPECT(&l, 10 * MS, DEADLINE_TERM, 310 * MS);
		CHECK_INT(deadline_signal(&l), SIGTERM);
	}
}

TEST(deadline_lost_in_the_last_moment)
{
	struct deadline l = fresh();

	/* Never later than the confirmed validity. */
	deadline_lose(&l, 5000 * MS);
	CHECK_INT(l.valid_until, 1000 * MS);
	EXPECT(&l, 5000 * MS, DEADLINE_KILL, NEVER);
	l = fresh();
	deadline_lose(&l, 649 * MS);
	CHECK_INT(l.valid_until, 999 * MS);
	deadline_lose(&l, 651 * MS);
	CHECK_INT(l.valid_until, 999 * MS);
}

/* ---- other reasons to go ---- */

TEST(deadline_max_run_counts_from_the_start)
{
	struct deadline_policy p = policy;
	struct deadline l;

	p.max_run = 2000 * MS;
	deadline_init(&l, &p, 100 * MS, 9000 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_WAIT, 2100 * MS);
	/* Extensions do not lengthen --max-run. */
	l.valid_until = 90000 * MS;
	EXPECT(&l, 2100 * MS - 1, DEADLINE_WAIT, 2100 * MS);
	CHECK_INT(l.cause, CAUSE_NONE);
	EXPECT(&l, 2100 * MS, DEADLINE_TERM, 2400 * MS);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	EXPECT(&l, 2400 * MS - 1, DEADLINE_WAIT, 2400 * MS);
	EXPECT(&l, 2400 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	/* Too long to ever end. */
	p.max_run = NEVER - 1;
	deadline_init(&l, &p, 100 * MS, 1000 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_WAIT, 650 * MS);
	/* No time. */
	p.max_run = 0;
	deadline_init(&l, &p, 100 * MS, 1000 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_TERM, 400 * MS);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
}

TEST(deadline_of_two_reasons_the_loss_is_the_worse)
{
	struct deadline l = with(SIGUSR1, 650 * MS);

	/* Both at the same time. */
	EXPECT(&l, 0, DEADLINE_WAIT, 650 * MS);
	EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	CHECK_INT(deadline_signal(&l), SIGUSR1);
	/* --max-run is over slightly earlier; the grace period still ends with the lock. */
	l = with(SIGUSR1, 649 * MS);
	EXPECT(&l, 649 * MS, DEADLINE_TERM, 949 * MS);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	l = with(SIGUSR1, 651 * MS);
	EXPECT(&l, 0, DEADLINE_WAIT, 650 * MS);
	EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	/* TERM because of --max-run, KILL because the lock expired. */
	l = with(SIGKILL, 900 * MS);
	EXPECT(&l, 900 * MS, DEADLINE_TERM, 950 * MS);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	EXPECT(&l, 950 * MS - 1, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
}

TEST(deadline_asked_starts_the_grace)
{
	struct deadline l = fresh();

	deadline_asked(&l, 200 * MS);
	CHECK_INT(l.cause, CAUSE_ASKED);
	/* TERM came from outside: it is not sent again, and asking again changes nothing. */
	EXPECT(&l, 200 * MS, DEADLINE_WAIT, 350 * MS);
	/* With a KILL that soon, the others get it halfway to it. */
	EXPECT(&l, 350 * MS - 1, DEADLINE_WAIT, 350 * MS);
	EXPECT(&l, 350 * MS, DEADLINE_SPREAD, 500 * MS);
	deadline_asked(&l, 400 * MS);
	EXPECT(&l, 500 * MS - 1, DEADLINE_WAIT, 500 * MS);
	EXPECT(&l, 500 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_ASKED);
	/* The grace period ends with the lock at the latest. */
	l = fresh();
	deadline_asked(&l, 800 * MS);
	EXPECT(&l, 800 * MS, DEADLINE_TERM, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
	/* An extension restores the part of the grace period that the end of the lock had cut off,
	 * not more. */
	l = fresh();
	deadline_asked(&l, 800 * MS);
	l.valid_until = 9000 * MS;
	EXPECT(&l, 800 * MS, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 1100 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_ASKED);
	/* The lock is lost meanwhile: the whole tree gets the signal of a loss. */
	l = with(SIGUSR1, NEVER);
	deadline_asked(&l, 200 * MS);
	deadline_lose(&l, 300 * MS);
	EXPECT(&l, 300 * MS, DEADLINE_TERM, 500 * MS);
	CHECK_INT(deadline_signal(&l), SIGUSR1);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 500 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
}

/* A policy without --kill-after, for a lock with a long TTL. */
static struct deadline patient(usec max_run, usec valid_until)
{
	struct deadline_policy p = policy;
	struct deadline l;

	p.kill_after = NEVER;
	p.signal = SIGINT;
	p.max_run = max_run;
	deadline_init(&l, &p, 0, valid_until);
	return l;
}

TEST(deadline_asked_waits_for_the_command)
{
	struct deadline l = patient(NEVER, 5000 * MS);

	/* TERM at 4650 ms, if the lock is not extended */
	deadline_asked(&l, 1000 * MS);
	CHECK_INT(l.cause, CAUSE_ASKED);
	EXPECT(&l, 1000 * MS, DEADLINE_WAIT, 4000 * MS);
	/* The processes that were alive when the request came get it, once. */
	EXPECT(&l, 4000 * MS, DEADLINE_SPREAD, 4650 * MS);
	EXPECT(&l, 4000 * MS, DEADLINE_WAIT, 4650 * MS);
	/* The lock is extended while the command shuts down, for as long as it takes. */
	for (int i = 1; i < 100; i++) {
		l.valid_until = i * 10000 * MS;
		EXPECT(&l, i * 10000 * MS - 1000 * MS, DEADLINE_WAIT, i * 10000 * MS - 350 * MS);
	}
	CHECK_INT(l.cause, CAUSE_ASKED);
	/* Not if the lock is lost. */
	deadline_lose(&l, 989500 * MS);
	EXPECT(&l, 989500 * MS, DEADLINE_TERM, 989800 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 989800 * MS, DEADLINE_KILL, NEVER);
}

TEST(deadline_without_kill_after_max_run_has_the_grace)
{
	struct deadline l = patient(2000 * MS, 9000 * MS);

	EXPECT(&l, 2000 * MS, DEADLINE_TERM, 2300 * MS);
	CHECK_INT(deadline_signal(&l), SIGINT);
	EXPECT(&l, 2300 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	/* A command that shuts down on request is not spared. */
	l = patient(2000 * MS, 9000 * MS);
	deadline_asked(&l, 1500 * MS);
	EXPECT(&l, 1500 * MS, DEADLINE_WAIT, 2000 * MS);
	EXPECT(&l, 2000 * MS, DEADLINE_TERM, 2300 * MS);
	/* The whole tree got the signal: the request spreads no more. */
	EXPECT(&l, 2299 * MS, DEADLINE_WAIT, 2300 * MS);
	EXPECT(&l, 2300 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
}

TEST(deadline_kill_after_is_longer_than_the_grace)
{
	struct deadline_policy p = policy;
	struct deadline l;

	p.kill_after = 60 * USEC_SEC;
	p.max_run = 100 * MS;
	deadline_init(&l, &p, 0, NEVER);
	EXPECT(&l, 100 * MS, DEADLINE_TERM, 60100 * MS);
	EXPECT(&l, 60100 * MS, DEADLINE_KILL, NEVER);
	/* A loss has no such time. */
	p.max_run = NEVER;
	deadline_init(&l, &p, 0, 1000 * MS);
	EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
}

TEST(deadline_asked_too_late_to_be_the_cause)
{
	struct deadline l = fresh();

	EXPECT(&l, 650 * MS, DEADLINE_TERM, 950 * MS);
	deadline_asked(&l, 800 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	EXPECT(&l, 800 * MS, DEADLINE_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
	l = with(SIGTERM, 100 * MS);
	EXPECT(&l, 100 * MS, DEADLINE_TERM, 400 * MS);
	deadline_asked(&l, 200 * MS);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	EXPECT(&l, 400 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
}

TEST(deadline_late_caller_of_each_cause)
{
	struct deadline l = with(SIGTERM, 100 * MS);

	/* A late caller: the grace period counts from the signal, not from the time when it was
	 * due. */
	EXPECT(&l, 300 * MS, DEADLINE_TERM, 600 * MS);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	EXPECT(&l, 940 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	/* So late that the lock is about to expire, too. */
	l = with(SIGTERM, 100 * MS);
	EXPECT(&l, 700 * MS, DEADLINE_TERM, 950 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
	l = with(SIGTERM, 100 * MS);
	EXPECT(&l, 960 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_LOST);
	l = with(0, 100 * MS);
	EXPECT(&l, 99999 * MS, DEADLINE_TERM, 100299 * MS);
	EXPECT(&l, 999999 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_MAX_RUN);
	l = fresh();
	deadline_asked(&l, 100 * MS);
	EXPECT(&l, 700 * MS, DEADLINE_KILL, NEVER);
	CHECK_INT(l.cause, CAUSE_ASKED);
	EXPECT(&l, 5000 * MS, DEADLINE_WAIT, NEVER);
}

/* ---- at random ---- */

/* The life of one command: its deadline, and a second computation of what the rules say. */
struct life {
	uint64_t random;
	struct deadline l;
	bool punctual; /* calls at each wake-up */
	bool lost, ran_on;
	usec start, now, wake_at;
	usec told_at; /* NEVER: not yet */
	usec asked_at; /* NEVER: not yet, or too late to matter */
	enum deadline_cause cause; /* of the signal */
	int terms, spreads, kills, turns;
	const char *wrong;
};

static usec draw(struct life *c, usec most)
{
	c->random = c->random * 6364136223846793005 + 1442695040888963407;
	return (usec)((c->random >> 20) % (uint64_t)(most + 1));
}

static void begin(struct life *c, uint64_t seed)
{
	static const int signals[] = {0, SIGKILL, SIGTERM, SIGUSR1};
	struct deadline_policy p = {.max_run = NEVER, .signal = SIGINT};

	*c = (struct life){
		.random = seed * 2654435761, .told_at = NEVER, .asked_at = NEVER, .wake_at = 0};
	draw(c, 1);
	p.on_lost = signals[draw(c, 3)];
	p.grace = draw(c, 3) ? draw(c, 500 * MS) : 0;
	p.kill_after = draw(c, 2) ? draw(c, 1) ? p.grace : draw(c, 5000 * MS) : NEVER;
	p.reap = deadline_reap_time(draw(c, 30 * USEC_SEC));
	if (draw(c, 1))
		p.max_run = draw(c, 5000 * MS);
	c->punctual = draw(c, 3) > 0;
	c->start = c->now = draw(c, 10 * USEC_SEC);
	deadline_init(&c->l, &p, c->now, draw(c, 9) ? c->now + draw(c, 2000 * MS) : NEVER);
}

static void rule(struct life *c, bool holds, const char *words)
{
	if (!holds && !c->wrong)
		c->wrong = words;
}

static void act(struct life *c)
{
	usec valid_for = draw(c, 1500 * MS), most = draw(c, 3) ? 100 * MS : 1000 * MS;
	usec to = c->now + draw(c, most);

	c->now = c->punctual ? usec_min(to, usec_max(c->wake_at, c->now)) : to;
	switch (draw(c, 29)) {
	case 0:
		deadline_lose(&c->l, c->now);
		c->lost = true;
		break;
	case 1:
		if (c->kills == 0) {
			deadline_asked(&c->l, c->now);
			if (c->told_at == NEVER)
				c->asked_at = usec_min(c->asked_at, c->now);
		}
		break;
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
		/* A lock that has expired, or is known to be lost, is not extended. */
		if (!c->lost && c->now < c->l.valid_until)
			c->l.valid_until = usec_max(c->l.valid_until, c->now + valid_for);
		break;
	default:
		break;
	}
}

static void look(struct life *c)
{
	const struct deadline_policy *p = &c->l.policy;
	bool minds = p->on_lost && c->l.valid_until != NEVER;
	usec kill_at = minds ? c->l.valid_until - p->reap : NEVER;
	usec grace = c->cause == CAUSE_LOST || p->kill_after == NEVER ? p->grace : p->kill_after;
	usec grace_until =
		usec_min(usec_add(c->told_at, grace), usec_add(c->asked_at, p->kill_after));
	usec lost_at = p->on_lost == SIGKILL ? kill_at : p->on_lost ? kill_at - p->grace : NEVER;
	usec run_until = p->max_run == NEVER ? NEVER : c->start + p->max_run;
	usec spread_at = usec_add(c->asked_at, usec_min(3 * USEC_SEC, p->kill_after / 2));
	enum deadline_action action = deadline_step(&c->l, c->now, &c->wake_at);
	bool told = c->told_at != NEVER || action == DEADLINE_TERM;

	switch (action) {
	case DEADLINE_WAIT:
		c->ran_on |= !told && c->now > c->l.valid_until;
		rule(c, c->kills || c->now < kill_at, "does not kill though the lock ends");
		rule(c, c->kills || c->now < grace_until, "does not kill after the grace");
		rule(c, told || c->kills || (c->now < lost_at && c->now < run_until),
			"does not tell in time");
		break;
	case DEADLINE_TERM:
		rule(c, ++c->terms == 1 && !c->kills && c->told_at == NEVER, "tells once more");
		c->cause = c->l.cause;
		rule(c, c->now < kill_at, "tells when it is time to kill");
		rule(c, c->now >= lost_at || c->now >= run_until, "tells too early");
		rule(c, c->l.cause == (c->now >= lost_at ? CAUSE_LOST : CAUSE_MAX_RUN),
			"tells for another cause");
		rule(c, deadline_signal(&c->l) == (c->now >= lost_at ? p->on_lost : SIGINT),
			"tells by another signal");
		rule(c, deadline_signal(&c->l) != 0 && deadline_signal(&c->l) != SIGKILL,
			"tells by a signal that is none");
		c->told_at = c->now;
		break;
	case DEADLINE_SPREAD:
		rule(c, ++c->spreads == 1 && c->terms == 0 && !c->kills, "spreads once more");
		rule(c, c->now >= spread_at, "spreads too early");
		break;
	case DEADLINE_KILL:
		rule(c, ++c->kills == 1, "kills once more");
		rule(c, c->now >= kill_at || c->now >= grace_until, "kills too early");
		rule(c,
			!c->punctual ||
				c->now <= usec_max(usec_min(kill_at, grace_until), c->start),
			"kills too late");
		rule(c, c->now < kill_at || c->l.cause == CAUSE_LOST, "kills for another cause");
		break;
	}
	rule(c, p->on_lost || c->l.cause != CAUSE_LOST, "minds a loss that it shall not mind");
	rule(c, (c->l.cause == CAUSE_NONE) == (!told && !c->kills && c->asked_at == NEVER),
		"has no cause");
	rule(c, c->kills || told || c->spreads || c->asked_at == NEVER || c->now < spread_at,
		"does not spread");
	rule(c, c->kills == 0 || c->wake_at == NEVER, "wakes up for nothing");
	/* Without a grace period KILL follows TERM at once. */
	rule(c, c->kills || c->wake_at > c->now || action == DEADLINE_TERM,
		"turns without getting on");
	rule(c, c->kills || c->wake_at <= kill_at, "sleeps over the end");
}

/* Nothing is due just before a wake-up, and something is due at it. */
static void look_ahead(struct life *c)
{
	struct deadline before = c->l, then = c->l;
	usec ignored;

	/* Without a lock the next wake-up is in three hundred thousand years. */
	if (c->wake_at > NEVER / 2 || c->wake_at <= c->now)
		return;
	rule(c,
		deadline_step(&before, c->wake_at - 1, &ignored) == DEADLINE_WAIT &&
			ignored == c->wake_at,
		"wakes up too late");
	rule(c, deadline_step(&then, c->wake_at, &ignored) != DEADLINE_WAIT, "wakes up too early");
}

TEST(deadline_of_any_policy_in_any_life)
{
	int terms = 0, kills = 0, ran_on = 0, causes[CAUSE_LOST + 1] = {0};

	for (uint64_t seed = 1; seed <= 100000; seed++) {
		struct life c;

		begin(&c, seed);
		for (; c.turns < 60 && !c.wrong && c.kills < 1; c.turns++) {
			act(&c);
			look(&c);
			look_ahead(&c);
		}
		/* After the end nothing more is due. */
		for (int i = 0; i < 3; i++) {
			act(&c);
			look(&c);
		}
		if (c.wrong) {
			unit_check(false, __FILE__, __LINE__,
				"seed %d, turn %d, at %lld (begun at %lld), on_lost %d: %s",
				(int)seed, c.turns, (long long)c.now, (long long)c.start,
				c.l.policy.on_lost, c.wrong);
			return;
		}
		terms += c.terms;
		kills += c.kills;
		ran_on += c.ran_on;
		causes[c.l.cause]++;
	}
	printf("# told %d, killed %d, ran on %d; asked %d, max-run %d, lost %d\n", terms, kills,
		ran_on, causes[CAUSE_ASKED], causes[CAUSE_MAX_RUN], causes[CAUSE_LOST]);
	CHECK(terms > 10000 && kills > 10000 && ran_on > 1000);
	CHECK(causes[CAUSE_ASKED] > 1000 && causes[CAUSE_MAX_RUN] > 1000 &&
		causes[CAUSE_LOST] > 1000);
}

/* The cause stays the loss if a TERM from outside arrives after KILL. */
TEST(deadline_asked_after_kill_changes_nothing)
{
	struct deadline_policy at_once = policy;
	struct deadline l;
	usec wake_at;

	at_once.on_lost = SIGKILL;
	deadline_init(&l, &at_once, 0, 1000 * MS);
	deadline_lose(&l, 100 * MS);
	CHECK(deadline_step(&l, 100 * MS, &wake_at) == DEADLINE_KILL);
	deadline_asked(&l, 101 * MS);
	CHECK_INT(l.cause, CAUSE_LOST);
}
