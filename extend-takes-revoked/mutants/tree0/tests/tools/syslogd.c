/*
 * syslogd SOCKET [full]: prints the messages to that datagram socket, one per line, until it is
 * killed. full: it reads nothing, its queue has no room left, and it prints "full".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A sender for each message: their own buffers are never full. */
static void fill(const struct sockaddr_un *un)
{
	ssize_t sent = 0;
	int error = 0;

	while (sent >= 0) {
		int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

		sent = sendto(fd, "x", 1, 0, (const struct sockaddr *)un, sizeof(*un));
		error = errno;
		close(fd);
	}
	puts(error == EAGAIN ? "full" : strerror(error));
	fflush(stdout);
}

int main(int argc, char *argv[])
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char buf[9000];
	ssize_t n;

	if (argc < 2 || strlen(argv[1]) >= sizeof(un.sun_path))
		return 2;
	memcpy(un.sun_path, argv[1], strlen(argv[1]));
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0)
		return 1;
	if (argc > 2) {
		fill(&un);
		for (;;)
			pause();
	}
	while ((n = recv(fd, buf, sizeof(buf), 0)) >= 0) {
		printf("%.*s\n", (int)n, buf);
		fflush(stdout);
	}
	return 1;
}
