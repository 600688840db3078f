/*
 * pings SOCKET: sends PING to a Redis server again and again, each after the reply to the one
 * before, until SIGTERM; then prints the longest time, in microseconds.
 */
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

int main(int argc, char *argv[])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	long long longest = 0;
	struct pollfd fds[2];
	char reply[64];
	sigset_t end;

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path))
		errx(2, "usage: pings SOCKET");
	strcpy(address.sun_path, argv[1]);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	fds[0] = (struct pollfd){.fd = signalfd(-1, &end, 0), .events = POLLIN};
	fds[1] = (struct pollfd){.fd = socket(AF_UNIX, SOCK_STREAM, 0), .events = POLLIN};
	if (fds[0].fd < 0 || connect(fds[1].fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		err(1, "%s", argv[1]);
	for (;;) {
		long long asked = now(), took;

		if (write(fds[1].fd, "PING\r\n", 6) != 6 || poll(fds, 2, -1) < 0)
			err(1, "%s", argv[1]);
		if (fds[0].revents)
			break;
		if (read(fds[1].fd, reply, sizeof(reply)) <= 0)
			err(1, "%s", argv[1]);
		took = now() - asked;
		longest = took > longest ? took : longest;
	}
	printf("%lld\n", longest);
	return 0;
}
