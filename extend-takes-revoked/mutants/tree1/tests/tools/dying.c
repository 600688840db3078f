/*
 * dying LOAD HOW TRIALS: measures how long killed processes live on an overloaded machine.
 *
 * LOAD: idle; normal: forty that spin at normal priority, in their own session; realtime: one for
 * each processor under SCHED_FIFO, priority 50.
 * HOW: plain; first: with SCHED_RR, priority 1; above:
 * with a priority above that of the load; cgroup: by cgroup.kill, in the cgroup with the folder
 * CGROUP in the environment.
 *
 * Prints a line for each trial: microseconds from the first KILL to the end of the last of ten
 * processes. Needs root. The load lasts two and a half seconds at most, each time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VICTIMS 10
#define HOGS_MAX 256
#define NORMAL_HOGS 40
#define LOAD_SEC 2.5

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static bool put(const char *folder, const char *file, const char *text)
{
	char path[400];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, strlen(text)) > 0;
	close(fd);
	return done;
}

static void set_priority(pid_t pid, int policy, int priority)
{
	const struct sched_param param = {.sched_priority = priority};

	if (sched_setscheduler(pid, policy, &param) < 0)
		perror("dying: sched_setscheduler");
}

static pid_t start(int policy, int priority, bool spins, const char *cgroup)
{
	int64_t until = now_us() + (int64_t)(LOAD_SEC * 1e6);
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (spins)
		(void)setsid();
	if (cgroup && !put(cgroup, "cgroup.procs", "0"))
		perror("dying: cgroup.procs");
	set_priority(0, policy, priority);
	while (spins && now_us() < until)
		;
	for (; !spins && now_us() < until + 60 * 1000000; usleep(1000))
		;
	_exit(0);
}

static int start_load(const char *load, pid_t hog[HOGS_MAX])
{
	bool is_realtime = strcmp(load, "realtime") == 0;
	int count = is_realtime                   ? (int)sysconf(_SC_NPROCESSORS_ONLN)
		    : strcmp(load, "normal") == 0 ? NORMAL_HOGS
						  : 0;

	for (int i = 0; i < count; i++)
		hog[i] = start(
			is_realtime ? SCHED_FIFO : SCHED_OTHER, is_realtime ? 50 : 0, true, NULL);
	return count;
}

static void end(const pid_t pid[], int count)
{
	for (int i = 0; i < count; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < count; i++)
		waitpid(pid[i], NULL, 0);
}

static int64_t kill_all(const char *how, const pid_t pid[VICTIMS], const char *cgroup)
{
	struct pollfd gone[VICTIMS];
	int64_t began;

	for (int i = 0; i < VICTIMS; i++)
		gone[i] = (struct pollfd){.fd = pidfd_open(pid[i], 0), .events = POLLIN};
	began = now_us();
	if (cgroup && !put(cgroup, "cgroup.kill", "1"))
		perror("dying: cgroup.kill");
	for (int i = 0; i < VICTIMS && !cgroup; i++) {
		kill(pid[i], SIGKILL);
		if (strcmp(how, "plain") != 0)
			set_priority(pid[i], SCHED_RR, strcmp(how, "first") == 0 ? 1 : 60);
	}
	for (int i = 0; i < VICTIMS; i++)
		while (poll(&gone[i], 1, -1) < 0 && errno == EINTR)
			;
	began = now_us() - began;
	for (int i = 0; i < VICTIMS; i++)
		close(gone[i].fd);
	return began;
}

int main(int argc, char *argv[])
{
	const char *cgroup = argc == 4 && strcmp(argv[2], "cgroup") == 0 ? getenv("CGROUP") : NULL;
	pid_t victim[VICTIMS], hog[HOGS_MAX];

	if (argc != 4) {
		fputs("usage: dying idle|normal|realtime plain|first|above|cgroup TRIALS\n",
			stderr);
		return 64;
	}
	for (int n = atoi(argv[3]); n > 0; n--) {
		int hogs;

		for (int i = 0; i < VICTIMS; i++)
			victim[i] = start(SCHED_OTHER, 0, false, cgroup);
		usleep(200000);
		/* The measuring process must run under any load. */
		set_priority(0, SCHED_FIFO, 90);
		hogs = start_load(argv[1], hog);
		usleep(300000);
		printf("%lld\n", (long long)kill_all(argv[2], victim, cgroup));
		fflush(stdout);
		end(hog, hogs);
		end(victim, VICTIMS);
		set_priority(0, SCHED_OTHER, 0);
	}
	return 0;
}
