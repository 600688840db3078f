/*
 * clock: the one clock that measures the life of a lock.
 *
 * Take the time with clock_now() and compute with microseconds (usec) only. clock_wall() is for
 * times that are shown or recorded. Add with usec_add() where a time may be NEVER. No function
 * fails.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The unit of every time and duration in the program: microseconds. */
typedef int64_t usec;

#define USEC_MSEC ((usec)1000)
#define USEC_SEC (1000 * USEC_MSEC)
#define NEVER ((usec)INT64_MAX)

/* A constant that a test would wait for. It is d, but an eighth of d in the hasty program, which is
 * for such tests only (HASTY in mk/tests.mk). The text tells its objects from others. */
#ifdef HASTY
static const char hasty_mark[] __attribute__((used)) = "a hasty object: for tests only";
#define UNLESS_HASTY(d) ((d) / 8)
#else
#define UNLESS_HASTY(d) (d)
#endif

/*
 * Returns microseconds since boot by the crystal (CLOCK_MONOTONIC_RAW: NTP slews the other clocks
 * by up to 10 %), plus the time that the machine was suspended (BOOTTIME - MONOTONIC), because a
 * lock ages on its nodes while the client's machine sleeps. Never goes back. Does not depend on the
 * time of day.
 */
usec clock_now(void);

/* Returns the time of day since 1970. Use it only to show or record a time, never for a
 * decision. */
usec clock_wall(void);

/* Returns a + b for b >= 0: NEVER stays NEVER, and nothing overflows. */
static inline usec usec_add(usec a, usec b)
{
	return a > NEVER - b ? NEVER : a + b;
}

/* Returns a duration, not negative, in the form that system calls take. */
static inline struct timespec clock_timespec(usec d)
{
	return (struct timespec){.tv_sec = d / USEC_SEC, .tv_nsec = d % USEC_SEC * 1000};
}

static inline usec usec_min(usec a, usec b)
{
	return a < b ? a : b;
}

static inline usec usec_max(usec a, usec b)
{
	return a > b ? a : b;
}

#endif
