/*
 * alarm: a timer descriptor by clock_now() that continues while the machine is suspended. A
 * time-out of poll(2) stops meanwhile, but a lock ages.
 *
 * Call alarm_open() once, alarm_set() before each wait, and poll the descriptor for POLLIN; then
 * compare clock_now() with the time that is due. The caller closes the descriptor.
 */
#ifndef BASE_ALARM_H
#define BASE_ALARM_H

#include "base/clock.h"
#include "base/err.h"

/* Returns the descriptor, or -1 with *e. */
int alarm_open(struct err *e);

/*
 * Makes the descriptor readable at `at`, or somewhat earlier if `at` is far away, because the
 * kernel's timers may be slewed against clock_now(): look at the clock, and set the alarm again.
 * Setting the alarm makes the descriptor unreadable.
 */
void alarm_set(int fd, usec at);

#endif
