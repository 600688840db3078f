/*
 * walljump.so: for LD_PRELOAD. Moves the time of day of a program by the number of seconds in the
 * file WALLJUMP, in ten characters, such as +000000031; a change takes effect at once: printf
 * %+010d 31 1<> FILE. The other clocks run on.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Where the file is mapped; it stays mapped for good. */
static const char *map_file(void)
{
	const char *name = getenv("WALLJUMP");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *text = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return text == MAP_FAILED ? "0" : text;
}

static time_t jump(void)
{
	static const char *text;

	if (!text)
		text = map_file();
	return (time_t)atoll(text);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	long rc = syscall(SYS_clock_gettime, id, ts);

	if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += jump();
	return (int)rc;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *now)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (now)
		*now = ts.tv_sec;
	return ts.tv_sec;
}
