/*
 * slowlook.so: for LD_PRELOAD into redlock. A query for the bytes that a server has not read yet
 * (TIOCOUTQ) takes long: the server with the pid SLOWLOOK is continued, and reads them before the
 * query ends. The query still reports them.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 2000

int ioctl(int fd, unsigned long request, ...)
{
	const char *pid = getenv("SLOWLOOK");
	va_list arguments;
	void *argument;
	int rc, later = 0;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	rc = (int)syscall(SYS_ioctl, fd, request, argument);
	if (!pid || request != TIOCOUTQ || rc < 0 || *(int *)argument == 0)
		return rc;
	kill((pid_t)atoi(pid), SIGCONT);
	for (int i = 0; i < LOOKS && syscall(SYS_ioctl, fd, request, &later) == 0 && later > 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return rc;
}
