/*
 * usage: count PIDFILE
 * Prints <counting>, and counts the signals INT, QUIT and WINCH; prints the counts at each RTMIN+5.
 * Ends with 5 at the end of its input. (A shell with traps loses a signal now and then.)
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t count[NSIG];

static void note(int number)
{
	count[number]++;
}

int main(int argc, char *argv[])
{
	int asks = SIGRTMIN + 5, numbers[] = {SIGINT, SIGQUIT, SIGWINCH, asks};
	struct sigaction action = {.sa_handler = note};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t all, before;
	char bytes[64];
	FILE *f;

	if (argc != 2 || !(f = fopen(argv[1], "w")))
		return 1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	printf("<counting>\n");
	for (;;) {
		int ready = ppoll(&input, 1, NULL, &before);

		if (ready < 0 && errno != EINTR)
			return 1;
		if (ready > 0 && read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0)
			return 5;
		if (count[asks]) {
			count[asks] = 0;
			printf("<int=%d quit=%d winch=%d>\n", (int)count[SIGINT],
				(int)count[SIGQUIT], (int)count[SIGWINCH]);
		}
	}
}
