/*
 * alarm: a timer descriptor by clock_now() that continues while the machine is suspended. A
 * time-out of poll(2) stops meanwhile, but a lock ages.
 *
 * Call alarm_open() once, alarm_set() before each wait, and alarm_wait() with the descriptor; then
 * compare clock_now() with the time that is due. The caller closes the descriptor.
 */
#ifndef BASE_ALARM_H
#define BASE_ALARM_H

#include "base/clock.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>

/* Returns the descriptor, or -1 with *e. */
int alarm_open(struct err *e);

/*
 * Makes the descriptor readable at `at`, or somewhat earlier if `at` is far away, because the
 * kernel's timers may be slewed against clock_now(): look at the clock, and set the alarm again.
 * Setting the alarm makes the descriptor unreadable.
 */
void alarm_set(int fd, usec at);

/*
 * Waits as poll(2) does, for at most that time (NEVER: until an event); also where `count` is over
 * this process's limit of open files, for which poll(2) fails: the command may lower the limit with
 * prlimit(1). Returns the number of descriptors with events; -1 after a signal, or if the kernel
 * has no memory: no descriptor has an event then, and the caller looks at the clock and waits
 * again.
 */
int alarm_wait(struct pollfd *fds, size_t count, usec most);

/* The same, but fails with errno like poll(2): for what also happens if alarm_open() has failed. */
int alarm_poll(struct pollfd *fds, size_t count, usec most);

/* Is a blocked signal pending that would end the program (TERM, INT, HUP or QUIT, not ignored)? For
 * waits during which no other code reads signals. */
bool alarm_is_signalled(void);

#endif
