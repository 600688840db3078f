#include "base/alarm.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* NTP slews the kernel's timers by up to a tenth, so fire an eighth too early. */
#define FAR (20 * USEC_MSEC)
#define EARLY 8

/* redlock waits for an alarm with poll or ppoll. A filter that denies one of them would keep
 * redlock from noticing anything, so alarm_open() fails before work begins. */
static int try_waiting(struct err *e)
{
	const struct timespec at_once = {0};

	if (poll(NULL, 0, 0) < 0 && errno != EINTR && errno != ENOMEM)
		return err_call(e, "cannot wait for events", "poll");
	if (ppoll(NULL, 0, &at_once, NULL) < 0 && errno != EINTR && errno != ENOMEM)
		return err_call(e, "cannot wait for events", "ppoll");
	return 0;
}

int alarm_open(struct err *e)
{
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return err_call(e, "cannot create a timer", "timerfd_create");
	if (timerfd_settime(fd, 0, &(struct itimerspec){0}, NULL) < 0) {
		err_call(e, "cannot create a timer", "timerfd_settime");
		goto close;
	}
	if (try_waiting(e) < 0)
		goto close;
	return fd;
close:
	close(fd);
	return -1;
}

void alarm_set(int fd, usec at)
{
	struct itimerspec timer = {0};
	usec in;
	int rc;

	if (at != NEVER) {
		in = at - clock_now();
		if (in > FAR)
			in -= in / EARLY;
		/* Zero would disarm the timer. */
		timer.it_value = clock_timespec(usec_max(in, 1));
	}
	rc = timerfd_settime(fd, 0, &timer, NULL);
	assert(rc == 0);
}
