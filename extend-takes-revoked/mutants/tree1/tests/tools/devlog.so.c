/*
 * devlog.so: for LD_PRELOAD. Connects a program to the socket in DEVLOG in place of /dev/log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)address;
	struct sockaddr_un other = {.sun_family = AF_UNIX};
	const char *path = getenv("DEVLOG");

	if (path && address->sa_family == AF_UNIX && strcmp(un->sun_path, "/dev/log") == 0) {
		snprintf(other.sun_path, sizeof(other.sun_path), "%s", path);
		address = (const struct sockaddr *)&other;
		len = sizeof(other);
	}
	return (int)syscall(SYS_connect, fd, address, len);
}
