#include "proc/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A run inside a service must not change the state of the service: STOPPING=1 would end it. */
static bool is_main_process(void)
{
	const char *pid = getenv("SYSTEMD_EXEC_PID");

	return !pid || atol(pid) == (long)getpid();
}

void notify_send(const char *lines)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;
	int fd;

	/* '@' stands for the NUL of an abstract name. */
	if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@') ||
		!is_main_process())
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	while (sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&to,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0 &&
		errno == EINTR)
		;
	close(fd);
}
