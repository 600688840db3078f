/*
 * limit: the minimum for any such command: connect to every node (unix sockets), SET NX PX, spawn,
 * wait, compare-and-delete, all nodes at once, no time-outs, no extension, no checks.
 * usage: limit KEY SOCKET... -- COMMAND...
 */
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int nodes, fds[15];

static void ask_all(const char *request)
{
	char resp[256];

	for (int i = 0; i < nodes; i++)
		if (write(fds[i], request, strlen(request)) < 0)
			_exit(1);
	for (int i = 0; i < nodes; i++)
		if (read(fds[i], resp, sizeof(resp)) <= 0)
			_exit(1);
}

int main(int argc, char *argv[])
{
	static const char script[] = "if redis.call('GET',KEYS[1])==ARGV[1] then "
				     "return redis.call('DEL',KEYS[1]) end return 0";
	unsigned char id[20];
	char token[41], request[1024];
	int i = 2, status = 0;
	pid_t pid;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		struct sockaddr_un un = {.sun_family = AF_UNIX};

		snprintf(un.sun_path, sizeof(un.sun_path), "%s", argv[i]);
		fds[nodes] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fds[nodes++], (struct sockaddr *)&un, sizeof(un)) < 0)
			return 1;
	}
	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return 1;
	for (size_t n = 0; n < sizeof(id); n++)
		snprintf(token + 2 * n, 3, "%02x", id[n]);
	snprintf(request, sizeof(request),
		"*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$40\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$"
		"5\r\n30000\r\n",
		strlen(argv[1]), argv[1], token);
	ask_all(request);
	if (posix_spawnp(&pid, argv[i + 1], NULL, NULL, argv + i + 1, environ) != 0)
		return 1;
	waitpid(pid, &status, 0);
	snprintf(request, sizeof(request),
		"*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$40\r\n%s\r\n",
		strlen(script), script, strlen(argv[1]), argv[1], token);
	ask_all(request);
	return WEXITSTATUS(status);
}
