/*
 * freeze TID: stops one thread, as SIGSTOP cannot (it stops the whole process, and its parent is
 * notified). Prints "frozen" and holds it until stdin ends; then the thread continues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	pid_t tid = argc == 2 ? (pid_t)atoi(argv[1]) : 0;
	int status;
	char c;

	if (tid <= 0)
		return 64;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 ||
		waitpid(tid, &status, __WALL) != tid) {
		perror("freeze");
		return 1;
	}
	puts("frozen");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return 0;
}
