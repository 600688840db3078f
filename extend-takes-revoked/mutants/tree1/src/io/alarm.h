/*
 * alarm: a timer descriptor by clock_now() that continues while the machine is suspended. A
 * time-out of poll(2) stops meanwhile, but a lock ages.
 *
 * Call alarm_open() once, alarm_set() before each wait, and poll the descriptor for POLLIN; then
 * compare clock_now() with the time that is due. The caller closes the descriptor.
 *
 * alarm_raise_priority() is for a process that sleeps until something is due and must then be in
 * time; its children call alarm_restore_priority().
 */
#ifndef IO_ALARM_H
#define IO_ALARM_H

#include "base/clock.h"
#include "base/err.h"

#include <sched.h>

/* Returns the descriptor, or -1 with *e. */
int alarm_open(struct err *e);

/*
 * Makes the descriptor readable at `at`, or somewhat earlier if `at` is far away, because the
 * kernel's timers may be slewed against clock_now(): look at the clock, and set the alarm again.
 * Setting the alarm makes the descriptor unreadable.
 */
void alarm_set(int fd, usec at);

/* The priority that a thread had before alarm_raise_priority(). */
struct alarm_priority {
	int policy; /* -1: the priority was not changed */
	struct sched_param param;
};

/*
 * Gives the calling thread precedence on a busy machine over the command and all processes of the
 * command's priority, if redlock is permitted to do so (root, CAP_SYS_NICE, RLIMIT_RTPRIO).
 * Children inherit the raised priority. *before receives the earlier one.
 */
void alarm_raise_priority(struct alarm_priority *before);

/* Sets the priority *before, in a process that inherited the raised one. Safe after vfork(2). */
void alarm_restore_priority(const struct alarm_priority *before);

#endif
