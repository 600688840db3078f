/*
 * hole SOCKET: a TCP address that forwards to a unix socket, until USR1 makes it a black hole: from
 * then on it drops all bytes, sends nothing, and new connections hang. Prints the port and stays
 * until it is killed, or its parent ends.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS 30

static volatile sig_atomic_t swallows;
static struct pollfd fds[1 + 2 * PAIRS];

static void swallow(int number)
{
	(void)number;
	swallows = 1;
}

static int connect_to(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The two ends of a connection are neighbours in fds, the client's first. */
static void join(const char *path)
{
	int client = accept(fds[0].fd, NULL, NULL), server = connect_to(path);

	for (int i = 1; i < 1 + 2 * PAIRS && client >= 0 && server >= 0; i += 2)
		if (fds[i].fd < 0) {
			fds[i].fd = client;
			fds[i + 1].fd = server;
			return;
		}
	close(client);
	close(server);
}

static void forward(int i)
{
	int other = (i - 1) % 2 == 0 ? i + 1 : i - 1;
	char bytes[4096];
	ssize_t n = read(fds[i].fd, bytes, sizeof(bytes));

	if (n > 0 && write(fds[other].fd, bytes, (size_t)n) == n)
		return;
	close(fds[i].fd);
	close(fds[other].fd);
	fds[i].fd = fds[other].fd = -1;
}

/* With a full queue that is never emptied, the kernel drops every further SYN. */
static void fill_queue(void)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	(void)getsockname(fds[0].fd, (struct sockaddr *)&in, &len);
	for (int i = 0; i < 4; i++) {
		int filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		(void)connect(filler, (struct sockaddr *)&in, len);
	}
}

int main(int argc, char *argv[])
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sigaction action = {.sa_handler = swallow};
	sigset_t usr1, none;
	socklen_t len = sizeof(in);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Only ppoll accepts the signal: otherwise a signal just before the wait would be missed.
	 */
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 1 + 2 * PAIRS; i++)
		fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	fds[0].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (argc != 2 || bind(fds[0].fd, (struct sockaddr *)&in, len) < 0 ||
		listen(fds[0].fd, 0) < 0 ||
		getsockname(fds[0].fd, (struct sockaddr *)&in, &len) < 0)
		return 1;
	printf("%d\n", ntohs(in.sin_port));
	fflush(stdout);
	while (!swallows) {
		if (ppoll(fds, 1 + 2 * PAIRS, NULL, &none) < 0)
			continue;
		if (fds[0].revents)
			join(argv[1]);
		for (int i = 1; i < 1 + 2 * PAIRS; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				forward(i);
	}
	fill_queue();
	while (1)
		pause();
}
