/*
 * headless FILE [N]: its main thread ends, N others (1) run on: /proc shows a zombie, but the
 * process is alive. Ignores TERM; writes its pid to FILE; ends after a minute.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *live_on(void *unused)
{
	(void)unused;
	sleep(60);
	return NULL;
}

int main(int argc, char *argv[])
{
	FILE *file = argc >= 2 ? fopen(argv[1], "w") : NULL;
	int count = argc >= 3 ? atoi(argv[2]) : 1;
	pthread_t thread;

	signal(SIGTERM, SIG_IGN);
	if (!file)
		return 1;
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, live_on, NULL) != 0)
			return 1;
	fprintf(file, "%d\n", (int)getpid());
	fclose(file);
	pthread_exit(NULL);
}
