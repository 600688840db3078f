#include "proc/follow.h"

#include "base/alarm.h"
#include "proc/kernel.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int follow_open(struct follow *f, pid_t pid, bool may_signal, struct err *e)
{
	*f = (struct follow){.pid = pid, .fd = -1};
	if (pid == 0)
		return 0;
	/* The kernel refuses the number of a thread with EINVAL or ENOENT. */
	f->fd = kernel_pidfd_open(pid);
	if (f->fd < 0 && (errno == ESRCH || errno == EINVAL || errno == ENOENT)) {
		err_set(e, ERR_USAGE, "cannot follow process %d: no such process", (int)pid);
		return err_hint(e, "'--follow $$' follows the shell that calls redlock");
	}
	if (f->fd < 0)
		return err_set(
			e, ERR_SYSTEM, "cannot follow process %d: %s", (int)pid, strerror(errno));
	if (follow_has_ended(f)) {
		follow_close(f);
		return err_set(e, ERR_USAGE, "cannot follow process %d: it has ended", (int)pid);
	}
	if (may_signal && kernel_pidfd_send_signal(f->fd, 0) < 0 && errno == EPERM) {
		follow_close(f);
		err_set(e, ERR_USAGE, "cannot send signals to process %d: no permission", (int)pid);
		return err_hint(
			e, "with --on-lost warn, the process gets no signal when the lock is lost");
	}
	return 0;
}

bool follow_wait(const struct follow *f, usec most)
{
	struct pollfd fd = {.fd = f->fd, .events = POLLIN};
	usec until = usec_add(clock_now(), most);
	int n;

	do
		n = alarm_wait(&fd, 1, most == NEVER ? NEVER : usec_max(until - clock_now(), 0));
	while (n < 0);
	return n > 0;
}

bool follow_has_ended(const struct follow *f)
{
	return f->fd >= 0 && follow_wait(f, 0);
}

void follow_signal(const struct follow *f, int number)
{
	if (f->fd >= 0)
		(void)kernel_pidfd_send_signal(f->fd, number);
}

void follow_close(struct follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
