/*
 * blackhole: a TCP address that drops connections: its queue is full and never emptied, so the
 * kernel drops every further SYN. Prints the port and stays until it is killed, or its parent ends.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bind(fd, (struct sockaddr *)&in, len) < 0 || listen(fd, 0) < 0 ||
		getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		return 1;
	for (int i = 0; i < 4; i++) {
		int filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		(void)connect(filler, (struct sockaddr *)&in, len);
	}
	printf("%d\n", ntohs(in.sin_port));
	fflush(stdout);
	pause();
	return 0;
}
