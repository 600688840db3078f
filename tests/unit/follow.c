/* follow: watches one process, and never a later one with its pid. */
#include "proc/follow.h"

#include "unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		while (true)
			pause();
	}
	return pid;
}

TEST(follow_no_process)
{
	struct follow f;
	struct err e;

	CHECK_INT(follow_open(&f, 0, true, &e), 0);
	CHECK(!follow_has_ended(&f));
	follow_signal(&f, SIGKILL);
	follow_close(&f);
	CHECK_INT(f.fd, -1);
}

TEST(follow_sees_the_end)
{
	pid_t pid = sleeper();
	struct follow f;
	struct err e;

	CHECK_INT(follow_open(&f, pid, true, &e), 0);
	CHECK(!follow_has_ended(&f));
	CHECK(!follow_wait(&f, USEC_MSEC));
	follow_signal(&f, SIGKILL);
	CHECK(follow_wait(&f, NEVER));
	CHECK(follow_has_ended(&f)); /* though its parent has not reaped it yet */
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK(follow_has_ended(&f));
	follow_signal(&f, SIGKILL); /* reaches no process */
	follow_close(&f);
}

TEST(follow_refuses_a_process_that_has_ended)
{
	pid_t pid = sleeper();
	struct follow f;
	struct err e;

	kill(pid, SIGKILL);
	CHECK_INT(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	CHECK_INT(follow_open(&f, pid, false, &e), -1);
	CHECK_INT(e.kind, ERR_USAGE);
	CHECK_INT(f.fd, -1);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(follow_open(&f, pid, false, &e), -1);
	CHECK_INT(e.kind, ERR_USAGE);
}
