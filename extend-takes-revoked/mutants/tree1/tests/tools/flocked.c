/*
 * flocked: the section of tests/soak/storm, and its witness. It is independent of redlock: it takes
 * plain flocks on its own files, which the kernel frees when the last process of the section has
 * ended, and appends to a log per key.
 *
 * usage: flocked FOLDER HOW NAMES RUN MANNER MS STATUS
 *
 * HOW is `x` (exclusive), `s` (shared) or a number N (a semaphore of N slots). NAMES are the keys,
 * separated by commas. MANNER is
 *   plain  the section lasts for MS milliseconds;
 *   deaf   as plain, and the section ignores TERM;
 *   forks  as plain, and a child in a session of its own, which ignores TERM, stays twice as long.
 *
 * The flock of key K is FOLDER/K.lock, or one of FOLDER/K.1.lock to FOLDER/K.N.lock. FOLDER/K.log
 * gets two lines per section, each by one write:
 *
 *	TIME begin|end RUN FENCE
 *
 * TIME is CLOCK_BOOTTIME's in nanoseconds, FENCE is REDLOCK_FENCE or 0. If a flock is taken, the
 * sections overlap: FOLDER/overlaps gets the line `TIME KEY RUN`. FLOCKED_UNTIL, if set, is a time
 *of day in microseconds at which the section ends early.
 *
 * Exit status: STATUS; 64 usage, 74 a file cannot be written, 99 the sections overlap.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define USEC ((int64_t)1000)
#define MSEC ((int64_t)1000000)
#define TICK_MS 2
#define FILES_MAX 8

static const char *folder, *run;
static int logs[FILES_MAX], log_count;

static int64_t now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 * MSEC + ts.tv_nsec;
}

static int open_file(const char *name, const char *suffix, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		_exit(74);
	return fd;
}

static void append(int fd, const char *what, const char *then, const char *last)
{
	char line[512];
	int len = snprintf(line, sizeof(line), "%lld %s %s%s%s\n", (long long)now(CLOCK_BOOTTIME),
		what, then, *last ? " " : "", last);

	if (len >= (int)sizeof(line) || write(fd, line, (size_t)len) != len)
		_exit(74);
}

static int try_flock(const char *name, int operation)
{
	int fd = open_file(name, ".lock", 0);

	if (flock(fd, operation | LOCK_NB) == 0)
		return 1; /* stays open until the section ends */
	close(fd);
	return 0;
}

static int try_slots(const char *name, int slots)
{
	char slot[300];

	for (int i = 1; i <= slots; i++) {
		snprintf(slot, sizeof(slot), "%s.%d", name, i);
		if (try_flock(slot, LOCK_EX))
			return 1;
	}
	return 0;
}

static void enter(const char *how, char *names)
{
	for (char *name; (name = strsep(&names, ",")) && log_count < FILES_MAX;) {
		int got = *how == 'x'   ? try_flock(name, LOCK_EX)
			  : *how == 's' ? try_flock(name, LOCK_SH)
					: try_slots(name, atoi(how));

		if (!got) {
			append(open_file("overlaps", "", O_APPEND), name, run, "");
			_exit(99);
		}
		logs[log_count++] = open_file(name, ".log", O_APPEND);
	}
}

static void record(const char *what)
{
	const char *fence = getenv("REDLOCK_FENCE");

	for (int i = 0; i < log_count; i++)
		append(logs[i], what, run, fence && *fence ? fence : "0");
}

static void stay(int64_t ms)
{
	const char *until = getenv("FLOCKED_UNTIL");
	int64_t end = now(CLOCK_BOOTTIME) + ms * MSEC;

	while (now(CLOCK_BOOTTIME) < end && !(until && now(CLOCK_REALTIME) >= atoll(until) * USEC))
		nanosleep(&(struct timespec){.tv_nsec = TICK_MS * MSEC}, NULL);
}

int main(int argc, char *argv[])
{
	const char *manner;
	int64_t ms;

	if (argc != 8)
		return 64;
	folder = argv[1];
	run = argv[4];
	manner = argv[5];
	ms = atoi(argv[6]);
	if (strcmp(manner, "plain") != 0)
		signal(SIGTERM, SIG_IGN);
	enter(argv[2], argv[3]);
	record("begin");
	if (strcmp(manner, "forks") == 0 && fork() == 0) {
		(void)setsid();
		stay(2 * ms);
		return 0;
	}
	stay(ms);
	record("end");
	return atoi(argv[7]);
}
