/*
 * turns: times programs that take turns, so that a slow moment affects all alike.
 *
 * usage: turns WORKERS SECTIONS ROUNDS COMMAND... [/// COMMAND...]...
 *
 * In each round, each of WORKERS processes runs a command SECTIONS times, one after the other; then
 * comes the next command. Every round begins with another command. Two further rounds come first
 * and do not count.
 *
 * For each command one line: microseconds for each section, as the median of the rounds; the median
 * of the ratio to the first command in the same round; microseconds of processor time for each
 * section; page faults for each section; and the number of runs that failed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 16
#define ROUNDS_MAX 10000
#define WORKERS_MAX 64
#define WARM_UP 2

static char **command[COMMANDS_MAX];
static double time_of[COMMANDS_MAX][ROUNDS_MAX], ratio[ROUNDS_MAX];
static double middle[COMMANDS_MAX], middle_ratio[COMMANDS_MAX];
static double cpu[COMMANDS_MAX], faults[COMMANDS_MAX];
static int failed[COMMANDS_MAX];
static int commands, workers, sections, rounds;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double cpu_us(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e6 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

static int run_once(char **argv)
{
	int status = -1;
	pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)

	if (pid == 0) {
		execvp(argv[0], argv); // NOLINT(clang-analyzer-unix.Vfork)
		_exit(127);
	}
	return waitpid(pid, &status, 0) != pid || status != 0;
}

static int run_sections(char **argv)
{
	int bad = 0;

	for (int i = 0; i < sections; i++)
		bad += run_once(argv);
	return bad;
}

static void take_turn(int k, int round)
{
	struct rusage before, after;
	pid_t pid[WORKERS_MAX];
	double began;
	int bad = 0, status;

	getrusage(RUSAGE_CHILDREN, &before);
	began = now_us();
	if (workers == 1)
		bad = run_sections(command[k]);
	for (int i = 0; i < workers && workers > 1; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(run_sections(command[k]) > 0);
	}
	for (int i = 0; i < workers && workers > 1; i++)
		bad += waitpid(pid[i], &status, 0) != pid[i] || status != 0;
	if (round < 0)
		return;
	time_of[k][round] = (now_us() - began) / (workers * sections);
	getrusage(RUSAGE_CHILDREN, &after);
	cpu[k] += cpu_us(&after) - cpu_us(&before);
	faults[k] += (double)(after.ru_minflt - before.ru_minflt);
	failed[k] += bad;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, (size_t)rounds, sizeof(*v), compare);
	return (v[(rounds - 1) / 2] + v[rounds / 2]) / 2;
}

static int number(const char *text, int most)
{
	int n = atoi(text);

	if (n < 1 || n > most)
		exit(2);
	return n;
}

int main(int argc, char *argv[])
{
	double total;

	if (argc < 5)
		return 2;
	workers = number(argv[1], WORKERS_MAX);
	sections = number(argv[2], ROUNDS_MAX);
	rounds = number(argv[3], ROUNDS_MAX);
	for (int i = 4; i < argc && commands < COMMANDS_MAX; i++) {
		command[commands++] = argv + i;
		while (argv[i] && strcmp(argv[i], "///") != 0)
			i++;
		argv[i] = NULL;
	}
	for (int round = -WARM_UP; round < rounds; round++)
		for (int i = 0; i < commands; i++)
			take_turn((i + round + WARM_UP) % commands, round);
	total = (double)workers * sections * rounds;
	/* median() sorts: the first command's times come last. */
	for (int k = commands - 1; k >= 0; k--) {
		for (int i = 0; i < rounds; i++)
			ratio[i] = time_of[k][i] / time_of[0][i];
		middle_ratio[k] = median(ratio);
		middle[k] = median(time_of[k]);
	}
	for (int k = 0; k < commands; k++)
		printf("%.0f %.3f %.0f %.0f %d\n", middle[k], middle_ratio[k], cpu[k] / total,
			faults[k] / total, failed[k]);
	return 0;
}
