/*
 * alarm: a descriptor that becomes readable at a time by clock_now(), also when the machine was
 * suspended meanwhile: a time-out of poll(2) stands still with it, a lock does not.
 */
#ifndef IO_ALARM_H
#define IO_ALARM_H

#include "base/clock.h"
#include "base/err.h"

#include <sched.h>

/* Returns the descriptor, or -1 with *e. */
int alarm_open(struct err *e);

/*
 * Readable at `at`, or somewhat earlier when that is far away: the kernel's timers may be slewed
 * against clock_now(). Look at the clock, and set it anew. Setting it makes it unreadable.
 */
void alarm_set(int fd, usec at);

/*
 * On a busy machine the calling thread goes before the command and whatever has its priority, if it
 * may (root, CAP_SYS_NICE, RLIMIT_RTPRIO): for who sleeps until something is due, and must then be
 * in time. What it forks inherits that; *before says how it was.
 */
struct alarm_priority {
	int policy; /* -1: nothing was changed */
	struct sched_param param;
};

void alarm_raise_priority(struct alarm_priority *before);

/* Whoever inherited it, and shall not go first. Safe after vfork(2). */
void alarm_restore_priority(const struct alarm_priority *before);

#endif
