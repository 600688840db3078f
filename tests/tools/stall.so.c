/*
 * stall.so: for LD_PRELOAD into redlock. STALL=CALL:N:MS: the process stands still for MS after the
 * Nth call of CALL, connect or send; with CALL- for CALL, or fork-, before it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The same call once before and once after the system call. */
static void stall(const char *call, int n)
{
	const char *plan = getenv("STALL");
	char name[16];
	int at, ms;

	if (!plan || sscanf(plan, "%15[^:]:%d:%d", name, &at, &ms) != 3 || at != n ||
		strcmp(name, call) != 0)
		return;
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	static int calls;
	long rc;

	calls++;
	stall("connect-", calls);
	rc = syscall(SYS_connect, fd, address, len);
	stall("connect", calls);
	return (int)rc;
}

pid_t fork(void)
{
	static int calls;
	pid_t (*next)(void);

	*(void **)&next = dlsym(RTLD_NEXT, "fork");
	stall("fork-", ++calls);
	return next();
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	static int calls;
	long rc;

	calls++;
	stall("send-", calls);
	rc = syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
	stall("send", calls);
	return rc;
}
