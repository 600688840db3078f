/*
 * section: a command under a lock for tests/soak/torture: each of its processes records its
 * presence in LOG, from its first moment to its last.
 *
 * usage: section LOG KEY RUN MANNER MS STATUS
 *
 * MANNER is
 *   plain  runs for MS milliseconds and ends with STATUS;
 *   until  the same, but MS is a file: runs until it exists;
 *   deaf   as plain, and ignores TERM;
 *   forks  as plain, but leaves a child, in a new session and deaf, that runs for MS more;
 *   dies   as plain, but kills itself at the end.
 *
 * A record is one line, appended by one write:
 *
 *	TIME begin|tick|end KEY RUN PID TOKEN FENCE
 *
 * TIME is CLOCK_BOOTTIME's, in nanoseconds; TOKEN is REDLOCK_TOKEN up to the first space, FENCE is
 * REDLOCK_FENCE, or '-'. With a semaphore (REDLOCK_SLOT), KEY is the slot's. Under a lock without a
 * supervisor, FOREIGN_UNTIL_MS is its end (milliseconds since 1970): from SPARE_MS before that, the
 * section writes nothing any more.
 *
 * Exit status: STATUS; 64 usage, 74 LOG cannot be written, 79 it ended because of FOREIGN_UNTIL_MS.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MSEC ((int64_t)1000000)
#define TICK_MS 5
#define SPARE_MS 500

static const char *key, *run, *token, *fence, *until;
static char slot_key[200];
static int record_fd;

static int64_t now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 * MSEC + ts.tv_nsec;
}

static void record(const char *what)
{
	char line[512];
	int length = snprintf(line, sizeof(line), "%lld %s %s %s %d %.*s %s\n",
		(long long)now(CLOCK_BOOTTIME), what, key, run, (int)getpid(),
		(int)strcspn(token, " "), token, fence);

	if (until && now(CLOCK_REALTIME) > (atoll(until) - SPARE_MS) * MSEC)
		_exit(79);
	if (length >= (int)sizeof(line) || write(record_fd, line, (size_t)length) != length)
		_exit(74);
}

static void stay(int64_t ms)
{
	struct timespec pause = {.tv_nsec = TICK_MS * MSEC};
	int64_t end;

	record("begin");
	end = now(CLOCK_BOOTTIME) + ms * MSEC;
	while (now(CLOCK_BOOTTIME) < end) {
		nanosleep(&pause, NULL);
		record("tick");
	}
	record("end");
}

static void stay_until(const char *file)
{
	struct timespec pause = {.tv_nsec = MSEC};

	record("begin");
	while (access(file, F_OK) != 0)
		nanosleep(&pause, NULL);
	record("end");
}

static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : "-";
}

int main(int argc, char *argv[])
{
	const char *manner = argc == 7 ? argv[4] : "";
	int64_t ms;

	if (!*manner)
		return 64;
	record_fd = open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC);
	if (record_fd < 0)
		return 74;
	key = argv[2];
	if (getenv("REDLOCK_SLOT")) {
		snprintf(slot_key, sizeof(slot_key), "%s#%s", key, getenv("REDLOCK_SLOT"));
		key = slot_key;
	}
	run = argv[3];
	ms = atoi(argv[5]);
	token = from_environment("REDLOCK_TOKEN");
	fence = from_environment("REDLOCK_FENCE");
	until = getenv("FOREIGN_UNTIL_MS");
	if (strcmp(manner, "forks") == 0 && fork() == 0) {
		(void)setsid();
		signal(SIGTERM, SIG_IGN);
		stay(2 * ms);
		return 0;
	}
	if (strcmp(manner, "deaf") == 0)
		signal(SIGTERM, SIG_IGN);
	if (strcmp(manner, "until") == 0)
		stay_until(argv[5]);
	else
		stay(ms);
	if (strcmp(manner, "dies") == 0)
		raise(SIGKILL);
	return atoi(argv[6]);
}
