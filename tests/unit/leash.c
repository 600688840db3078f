/* leash: TERM, then KILL, before the lock ends. */
#include "core/leash.h"

#include "unit/unit.h"

#include <signal.h>

#define MS USEC_MSEC

static const struct leash_policy policy = {
	.on_lost = SIGTERM, .kill_after = 300 * MS, .reap = 50 * MS, .max_run = NEVER};

/* valid until 1 s: TERM at 650 ms, KILL at 950 ms */
static struct leash fresh(void)
{
	struct leash l;

	leash_init(&l, &policy, 0, 1000 * MS);
	return l;
}

static void expect(struct leash *l, usec now, enum leash_action action, usec wake_at, int line)
{
	usec at = -1;
	enum leash_action got = leash_step(l, now, &at);

	unit_check(got == action && at == wake_at, __FILE__, line,
		"at %lld: action %d, not %d; wake at %lld, not %lld", (long long)now, (int)got,
		(int)action, (long long)at, (long long)wake_at);
}

#define EXPECT(l, now, action, wake_at) expect(l, now, action, wake_at, __LINE__)

TEST(leash_times)
{
	CHECK_INT(leash_guard(&policy), 350 * MS);
	CHECK_INT(leash_reap_time(30 * USEC_SEC), 500 * MS);
	CHECK_INT(leash_reap_time(10 * USEC_SEC), 200 * MS);
	CHECK_INT(leash_reap_time(500 * MS), 10 * MS);
	CHECK_INT(leash_reap_time(0), 10 * MS);
	CHECK_INT(leash_reap_time(3600 * USEC_SEC), 500 * MS);
	CHECK_INT(leash_default_kill_after(30 * USEC_SEC), 3 * USEC_SEC);
	CHECK_INT(leash_default_kill_after(1000 * USEC_SEC), 10 * USEC_SEC);
	CHECK_INT(leash_default_kill_after(150 * MS), 15 * MS);
}

TEST(leash_term_then_kill_each_once)
{
	struct leash l = fresh();

	EXPECT(&l, 0, LEASH_WAIT, 650 * MS);
	EXPECT(&l, 650 * MS - 1, LEASH_WAIT, 650 * MS);
	EXPECT(&l, 650 * MS, LEASH_TERM, 950 * MS);
	EXPECT(&l, 650 * MS, LEASH_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS - 1, LEASH_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, LEASH_KILL, NEVER);
	EXPECT(&l, 950 * MS, LEASH_WAIT, NEVER);
	EXPECT(&l, 5000 * MS, LEASH_WAIT, NEVER);
}

TEST(leash_extension_postpones)
{
	struct leash l = fresh();

	EXPECT(&l, 640 * MS, LEASH_WAIT, 650 * MS);
	l.valid_until = 2000 * MS;
	EXPECT(&l, 650 * MS, LEASH_WAIT, 1650 * MS);
	EXPECT(&l, 1650 * MS, LEASH_TERM, 1950 * MS);
	/* TERM was sent: no extension gives the command more than its grace. */
	l.valid_until = 9000 * MS;
	EXPECT(&l, 1949 * MS, LEASH_WAIT, 1950 * MS);
	EXPECT(&l, 1950 * MS, LEASH_KILL, NEVER);
	EXPECT(&l, 8950 * MS, LEASH_WAIT, NEVER);
}

TEST(leash_pulled)
{
	struct leash l = fresh();

	leash_lose(&l, 100 * MS);
	EXPECT(&l, 100 * MS, LEASH_TERM, 400 * MS);
	leash_lose(&l, 300 * MS); /* does not start anew */
	EXPECT(&l, 399 * MS, LEASH_WAIT, 400 * MS);
	EXPECT(&l, 400 * MS, LEASH_KILL, NEVER);
	leash_lose(&l, 500 * MS);
	EXPECT(&l, 2000 * MS, LEASH_WAIT, NEVER);
	/* Pulled when less than the grace is left: it never reaches into the time to die. */
	l = fresh();
	leash_lose(&l, 800 * MS);
	EXPECT(&l, 800 * MS, LEASH_TERM, 950 * MS);
	EXPECT(&l, 950 * MS, LEASH_KILL, NEVER);
}

TEST(leash_late_caller)
{
	struct leash l = fresh();

	/* Between TERM and KILL: what is left of the grace. */
	EXPECT(&l, 900 * MS, LEASH_TERM, 950 * MS);
	EXPECT(&l, 950 * MS, LEASH_KILL, NEVER);
	/* After everything has passed. */
	l = fresh();
	EXPECT(&l, 950 * MS, LEASH_KILL, NEVER);
	EXPECT(&l, 960 * MS, LEASH_WAIT, NEVER);
	l = fresh();
	EXPECT(&l, 999999 * MS, LEASH_KILL, NEVER);
	EXPECT(&l, 999999 * MS, LEASH_WAIT, NEVER);
}

TEST(leash_without_grace)
{
	struct leash_policy at_once = policy;
	struct leash l;

	at_once.kill_after = 0;
	leash_init(&l, &at_once, 0, 1000 * MS);
	EXPECT(&l, 950 * MS - 1, LEASH_WAIT, 950 * MS);
	EXPECT(&l, 950 * MS, LEASH_KILL, NEVER);
}

/* Whenever it is asked: killed at its wake-ups, KILL comes in time and TERM no sooner than due. */
TEST(leash_never_sleeps_over_the_end)
{
	for (usec start = 0; start < 1100 * MS; start += 7 * MS) {
		struct leash l = fresh();
		usec now = start, wake_at;
		int turns = 0;

		for (; turns < 5; turns++) {
			enum leash_action action = leash_step(&l, now, &wake_at);

			CHECK(action != LEASH_TERM || now >= 650 * MS);
			if (action == LEASH_KILL)
				break;
			now = usec_max(now, wake_at);
		}
		CHECK_INT(now, usec_max(start, 950 * MS));
		CHECK(turns <= 2);
	}
}
