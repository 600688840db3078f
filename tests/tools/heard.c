/*
 * usage: heard FILE MS
 * Writes its pid to FILE, and counts the signals that it gets, until none has arrived for so many
 * milliseconds; then prints them, such as 15x1. Ends with 1 if no signal arrives within 20 seconds.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	struct timespec patience = {.tv_sec = 20};
	int count[NSIG] = {0}, number, total = 0;
	long ms = argc == 3 ? atol(argv[2]) : 0;
	sigset_t all;
	FILE *f;

	sigfillset(&all);
	sigdelset(&all, SIGTSTP);
	sigdelset(&all, SIGCONT);
	sigdelset(&all, SIGWINCH);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (argc != 3 || !(f = fopen(argv[1], "w")))
		return 1;
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	while ((number = sigtimedwait(&all, NULL, &patience)) > 0 || errno == EINTR) {
		if (number <= 0)
			continue;
		count[number]++;
		total++;
		patience = (struct timespec){ms / 1000, ms % 1000 * 1000000};
	}
	for (number = 1; number < NSIG; number++)
		if (count[number])
			printf("%dx%d\n", number, count[number]);
	return total == 0;
}
