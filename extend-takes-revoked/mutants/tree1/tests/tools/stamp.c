/*
 * stamp FILE: a command that is hard to end. Three processes write the time into FILE (stamp.h)
 * every millisecond: this one, which ends at TERM; a child in a new session and an orphan, which
 * record TERM and continue. They end after a minute.
 */
#include "stamp.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LATE 50
#define LIFE 60

static struct stamps *stamps;
static struct stamper *me;

/* A process that was stopped between reading the clock and the write would seem to have written
 * earlier than it did: then it writes again. */
static void stamp(void)
{
	int64_t now;

	do {
		now = stamp_now();
		me->last = now;
	} while (stamp_now() - now > LATE);
}

static void term_came(int number)
{
	(void)number;
	if (me->term_at == 0)
		me->term_at = stamp_now();
	stamp();
	if (me == &stamps->by[0])
		_exit(143);
}

_Noreturn static void run(int i)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int64_t end;

	me = &stamps->by[i];
	if (me->first == 0)
		me->first = stamp_now();
	end = me->first + LIFE * (int64_t)1000000;
	stamp();
	signal(SIGTERM, term_came);
	/* Without it the kernel adds 50 us to each pause. */
	prctl(PR_SET_TIMERSLACK, 1);
	me->pid = getpid();
	while (!stamps->stop && stamp_now() < end) {
		stamp();
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

int main(int argc, char *argv[])
{
	int64_t now = stamp_now();
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	const char *token = getenv("REDLOCK_TOKEN");

	if (fd < 0)
		return 64;
	stamps = mmap(NULL, sizeof(*stamps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (stamps == MAP_FAILED)
		return 64;
	/* A rival's first sign of life: no earlier one exists. */
	stamps->by[0].first = stamps->by[0].last = now;
	snprintf(stamps->token, sizeof(stamps->token), "%s", token ? token : "");
	if (fork() == 0) {
		(void)setsid();
		if (fork() != 0)
			run(1);
		if (fork() == 0)
			run(2);
		_exit(0);
	}
	run(0);
}
