/*
 * limit: what the minimal programs have in common: the nodes' connections (unix sockets), a random
 * token, requests to all nodes at once, and the command. A node that fails ends the program: there
 * are no time-outs.
 *
 * Calling sequence: limit_connect() reads `KEY SOCKET... -- COMMAND...`; then limit_send() and
 * limit_read(), and limit_run() for the command.
 */
#ifndef TOOLS_LIMIT_H
#define TOOLS_LIMIT_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_NODES_MAX 15
#define LIMIT_REQUEST_MAX 2048
#define LIMIT_TOKEN_LEN 40

/* Compares and deletes. */
#define LIMIT_DELETE \
	"if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"

static int limit_nodes, limit_fds[LIMIT_NODES_MAX];
static char limit_token[LIMIT_TOKEN_LEN + 1];
static char **limit_command;

static inline void limit_connect(char *argv[])
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	unsigned char id[LIMIT_TOKEN_LEN / 2];

	for (argv += 2; *argv && strcmp(*argv, "--") != 0 && limit_nodes < LIMIT_NODES_MAX;
		argv++) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", *argv);
		limit_fds[limit_nodes] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(limit_fds[limit_nodes++], (struct sockaddr *)&un, sizeof(un)) < 0)
			_exit(1);
	}
	if (!argv[0] || !argv[1] || getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		_exit(1);
	limit_command = argv + 1;
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(limit_token + 2 * i, 3, "%02x", id[i]);
}

/* Appends one command to a request. Returns its new length. */
static inline size_t limit_add(char *to, size_t len, int argc, const char *const argv[])
{
	len += (size_t)snprintf(to + len, LIMIT_REQUEST_MAX - len, "*%d\r\n", argc);
	for (int i = 0; i < argc && len < LIMIT_REQUEST_MAX; i++)
		len += (size_t)snprintf(to + len, LIMIT_REQUEST_MAX - len, "$%zu\r\n%s\r\n",
			strlen(argv[i]), argv[i]);
	if (len >= LIMIT_REQUEST_MAX)
		_exit(1);
	return len;
}

static inline void limit_send(int node, const char *request, size_t len)
{
	if (send(limit_fds[node], request, len, 0) < 0)
		_exit(1);
}

static inline void limit_send_all(const char *request, size_t len)
{
	for (int i = 0; i < limit_nodes; i++)
		limit_send(i, request, len);
}

/* The first character of a node's reply. */
static inline char limit_read(int node)
{
	char reply[512];

	if (recv(limit_fds[node], reply, sizeof(reply), 0) <= 0)
		_exit(1);
	return reply[0];
}

static inline void limit_read_all(void)
{
	for (int i = 0; i < limit_nodes; i++)
		(void)limit_read(i);
}

/* Runs the command with this signal mask; NULL: ours. Returns its wait status. */
static inline int limit_run(const sigset_t *mask)
{
	int status = 0;
	pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)

	if (pid == 0) {
		if (mask)
			sigprocmask(SIG_SETMASK, mask, NULL);
		execvp(limit_command[0], limit_command); // NOLINT(clang-analyzer-unix.Vfork)
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

#endif
