/*
 * crowd: many clients of one lock in one process, a thread and a session each. With 4,096
 * processes, the machine would measure its own scheduler.
 *
 * usage: crowd COUNT PER_SECOND HOLD_MS [OPTION...]
 *
 * COUNT clients start, PER_SECOND of them each second. Each acquires the lock, keeps it for HOLD_MS
 * without an extension, and releases it. The options are those of `redlock run`: nodes, key, TTL.
 * The program ends when all clients are served.
 *
 * A record is one line on standard output: TIME begin|end NUMBER. TIME is the wall clock's, in
 * microseconds.
 *
 * Exit status: 0; 1 if a client failed; 2 usage.
 */
#include "cli/option.h"
#include "cli/settings.h"
#include "net/session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

#define STACK (128 * 1024)

static struct settings settings;
static struct policy policy;
static usec hold;
static atomic_int unserved, failed;
static pthread_barrier_t all_served;

static void record(const char *what, int number)
{
	char line[80];
	int length =
		snprintf(line, sizeof(line), "%lld %s %d\n", (long long)clock_wall(), what, number);

	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(1);
}

static void step_until(struct session *s, usec until, enum lock_state left)
{
	while (lock_state(&s->lock) == left && clock_now() < until)
		session_step(s, until, -1);
}

static void *client(void *argument)
{
	int number = (int)(intptr_t)argument;
	struct session *s = calloc(1, sizeof(*s));
	struct err e;

	if (!s || session_open(s, &policy, &settings.nodes, &settings.keys, "crowd", &e) < 0) {
		fprintf(stderr, "crowd: client %d: %s\n", number, s ? e.text : "no memory");
		exit(1);
	}
	session_start(s);
	step_until(s, NEVER, LOCK_TRYING);
	if (lock_state(&s->lock) == LOCK_HELD) {
		record("begin", number);
		step_until(s, clock_now() + hold, LOCK_HELD);
		record("end", number);
	} else {
		failed++;
	}
	session_release(s, 0);
	step_until(s, NEVER, LOCK_RELEASING);
	session_close(s);
	free(s);
	if (--unserved == 0)
		pthread_barrier_wait(&all_served);
	return NULL;
}

static void start(int count, int per_second)
{
	usec began = clock_now();
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < count; i++) {
		usec due = began + (usec)i * USEC_SEC / per_second, now = clock_now();

		if (due > now)
			usleep((useconds_t)(due - now));
		if (pthread_create(&thread, &attributes, client, (void *)(intptr_t)i) != 0) {
			perror("crowd: thread");
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	const struct rlimit files = {1 << 16, 1 << 16};
	struct err e;

	if (argc < 4 || atoi(argv[1]) < 1 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: crowd COUNT PER_SECOND HOLD_MS [OPTION...]\n");
		return 2;
	}
	hold = atoll(argv[3]) * USEC_MSEC;
	unserved = atoi(argv[1]);
	settings_init(&settings, COMMAND_RUN);
	if (options_read(&settings, 4, argv, environ, &e) < 0 ||
		settings_finish(&settings, &e) < 0) {
		fprintf(stderr, "crowd: %s\n", e.text);
		return 2;
	}
	policy = settings_policy(&settings);
	/* Six descriptors for each client; not all machines permit so many. */
	(void)setrlimit(RLIMIT_NOFILE, &files);
	pthread_barrier_init(&all_served, NULL, 2);
	start(atoi(argv[1]), atoi(argv[2]));
	pthread_barrier_wait(&all_served);
	return failed > 0;
}
