/* clock: the one clock that a lock's life is measured by. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Every time and duration in the program, in microseconds. */
typedef int64_t usec;

#define USEC_MSEC ((usec)1000)
#define USEC_SEC (1000 * USEC_MSEC)
#define NEVER ((usec)INT64_MAX)

/*
 * Microseconds since boot by the crystal (CLOCK_MONOTONIC_RAW: NTP slews the others by up to 10 %),
 * plus the time that the machine was suspended (BOOTTIME - MONOTONIC), because a lock ages on its
 * nodes while our machine sleeps. Never goes back. The time of day plays no part.
 */
usec clock_now(void);

/* The time of day, since 1970: to show and to write down, never to decide by. */
usec clock_wall(void);

/* a + b for b >= 0, where NEVER stays NEVER and nothing overflows. */
static inline usec usec_add(usec a, usec b)
{
	return a > NEVER - b ? NEVER : a + b;
}

/* A duration, not negative, as the kernel's calls take it. */
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
