/*
 * lateanswer.so: for LD_PRELOAD into redis-server. While the file in LATEANSWER exists, the server
 * is suspended for a while, as on an overloaded machine, whenever it has just read a script from a
 * client: later bytes wait in the socket. While the file in LATEREAD exists, it is suspended before
 * it reads.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 100
#define READ_MS 300

static void suspend_while(const char *variable, int ms)
{
	const char *file = getenv(variable);

	if (file && access(file, F_OK) == 0)
		nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	static const char script[] = "EVAL";
	ssize_t n;

	suspend_while("LATEREAD", READ_MS);
	n = syscall(SYS_read, fd, buffer, size);
	if (n > 0 && memmem(buffer, (size_t)n, script, sizeof(script) - 1))
		suspend_while("LATEANSWER", ANSWER_MS);
	return n;
}
