/*
 * witness: a command that checks its own lock. Asks the nodes (unix sockets), from a process in a
 * new session that ignores TERM: is the key still its own on a majority? Ends with 7 when the lock
 * has been extended once, or after three seconds; with 99, and a line on stdout, when it runs
 * without the lock.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES_MAX 15
#define LOOKS 600
#define LOOKS_APART_USEC 5000

/* A machine that stood still for longer than the TTL wakes all its processes together: after this
 * many checks, a command without a lock is dead. */
#define EMPTY_LOOKS 10

static int nodes, fds[NODES_MAX];
static long left_before[NODES_MAX];
static char request[4096];
static int length;

static void open_nodes(char *urls)
{
	for (char *url; (url = strsep(&urls, " ")) && nodes < NODES_MAX; nodes++) {
		struct sockaddr_un un = {.sun_family = AF_UNIX};

		snprintf(un.sun_path, sizeof(un.sun_path), "%s", url + strlen("unix://"));
		fds[nodes] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fds[nodes], (struct sockaddr *)&un, sizeof(un)) < 0)
			exit(98);
	}
}

static void build_request(const char *key, const char *token)
{
	static const char script[] = "if redis.call('GET',KEYS[1])==ARGV[1] then "
				     "return redis.call('PTTL',KEYS[1]) end return -1";

	length = snprintf(request, sizeof(request),
		"*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
		strlen(script), script, strlen(key), key, strlen(token), token);
}

/* The milliseconds for which the key is the token's on this node; -1: it is not. */
static long ask(int fd)
{
	char resp[64];
	size_t have = 0;
	ssize_t n;

	if (write(fd, request, (size_t)length) != length)
		exit(98);
	do {
		n = read(fd, resp + have, sizeof(resp) - 1 - have);
		have += n > 0 ? (size_t)n : 0;
		resp[have] = '\0';
	} while (n > 0 && !strchr(resp, '\n'));
	if (n <= 0 || resp[0] != ':')
		exit(98);
	return atol(resp + 1);
}

static int watch(void)
{
	int empty_looks = 0;

	for (int look = 0; look < LOOKS; look++) {
		int ours = 0, extended = 0;

		for (int i = 0; i < nodes; i++) {
			long left = ask(fds[i]);

			ours += left >= 0;
			extended += look > 0 && left > left_before[i];
			left_before[i] = left;
		}
		empty_looks = ours > nodes / 2 ? 0 : empty_looks + 1;
		if (empty_looks == EMPTY_LOOKS) {
			puts("runs without the lock");
			fflush(stdout);
			return 99;
		}
		if (extended > nodes / 2)
			return 7;
		usleep(LOOKS_APART_USEC);
	}
	return 7;
}

int main(void)
{
	int status;

	if (fork() == 0) {
		(void)setsid();
		signal(SIGTERM, SIG_IGN);
		open_nodes(strdup(getenv("REDLOCK_NODES")));
		build_request(getenv("REDLOCK_KEY"), getenv("REDLOCK_TOKEN"));
		return watch();
	}
	return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}
