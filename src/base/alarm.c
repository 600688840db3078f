#include "base/alarm.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* NTP slews the kernel's timers by up to a tenth, so fire an eighth too early. */
#define FAR (20 * USEC_MSEC)
#define EARLY 8

/* Descriptors from here on have no event in select_instead(). */
#define SELECTED_MAX 16384

/* redlock waits for an alarm with poll or ppoll. A filter that denies one of them, or setting a
 * timer, would keep redlock from noticing anything, so the first alarm_open() fails before work
 * begins. The supervisor is forked after that, with the same filters. */
static int try_waiting(int fd, struct err *e)
{
	static bool is_tried;
	const struct timespec at_once = {0};

	if (is_tried)
		return 0;
	if (timerfd_settime(fd, 0, &(struct itimerspec){0}, NULL) < 0)
		return err_call(e, "cannot create a timer", "timerfd_settime");
	if (poll(NULL, 0, 0) < 0 && errno != EINTR && errno != ENOMEM)
		return err_call(e, "cannot wait for events", "poll");
	if (ppoll(NULL, 0, &at_once, NULL) < 0 && errno != EINTR && errno != ENOMEM)
		return err_call(e, "cannot wait for events", "ppoll");
	is_tried = true;
	return 0;
}

int alarm_open(struct err *e)
{
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return err_call(e, "cannot create a timer", "timerfd_create");
	if (try_waiting(fd, e) < 0) {
		close(fd);
		return -1;
	}
	return fd;
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

/* select(2) has no limit of descriptors but the size of its sets, which is ours. */
static int select_instead(struct pollfd *fds, size_t count, const struct timespec *timeout)
{
	fd_set in[SELECTED_MAX / FD_SETSIZE] = {0}, out[SELECTED_MAX / FD_SETSIZE] = {0};
	int end = 0, ready = 0, rc;

	for (size_t i = 0; i < count; i++) {
		int fd = fds[i].fd, set = fd / FD_SETSIZE;

		fds[i].revents = 0;
		if (fd < 0 || fd >= SELECTED_MAX)
			continue;
		if (fds[i].events & POLLIN)
			FD_SET(fd % FD_SETSIZE, &in[set]);
		if (fds[i].events & POLLOUT)
			FD_SET(fd % FD_SETSIZE, &out[set]);
		end = fd >= end ? fd + 1 : end;
	}
	rc = pselect(end, in, out, NULL, timeout, NULL);
	for (size_t i = 0; rc > 0 && i < count; i++) {
		int fd = fds[i].fd, set = fd / FD_SETSIZE;

		if (fd < 0 || fd >= SELECTED_MAX)
			continue;
		if (FD_ISSET(fd % FD_SETSIZE, &in[set]))
			fds[i].revents |= POLLIN;
		if (FD_ISSET(fd % FD_SETSIZE, &out[set]))
			fds[i].revents |= POLLOUT;
		ready += fds[i].revents != 0;
	}
	return rc < 0 ? rc : ready;
}

int alarm_poll(struct pollfd *fds, size_t count, usec most)
{
	const struct timespec time = clock_timespec(most), *timeout = most == NEVER ? NULL : &time;
	int ready = ppoll(fds, count, timeout, NULL);

	if (ready < 0 && errno == EINVAL)
		ready = select_instead(fds, count, timeout);
	return ready;
}

int alarm_wait(struct pollfd *fds, size_t count, usec most)
{
	int ready = alarm_poll(fds, count, most);

	if (ready >= 0)
		return ready;
	assert(errno == EINTR || errno == ENOMEM);
	for (size_t i = 0; i < count; i++)
		fds[i].revents = 0;
	return -1;
}

bool alarm_is_signalled(void)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	struct sigaction action;
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		/* The kernel queues a blocked signal even if it is ignored (nohup). */
		if (sigismember(&pending, numbers[i]) &&
			sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			return true;
	return false;
}
