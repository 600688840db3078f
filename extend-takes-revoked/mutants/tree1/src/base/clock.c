#include "base/clock.h"

#include <assert.h>

static int64_t read_nsec(clockid_t id)
{
	struct timespec ts;
	int rc = clock_gettime(id, &ts);

	assert(rc == 0);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

usec clock_wall(void)
{
	return read_nsec(CLOCK_REALTIME) / 1000;
}

usec clock_now(void)
{
	/* Keep this order: an interruption between the reads can only make the result as old as the
	 * first read, so the clock never goes back. */
	int64_t boot = read_nsec(CLOCK_BOOTTIME);
	int64_t suspended = boot - read_nsec(CLOCK_MONOTONIC);

	return (read_nsec(CLOCK_MONOTONIC_RAW) + suspended) / 1000;
}
