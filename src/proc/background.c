#include "proc/background.h"

#include "base/alarm.h"
#include "proc/inherited.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time that the child may take to end on a busy machine. */
#define END_TIMEOUT (5 * USEC_SEC)

/* The number of checks, a millisecond apart, between the end of the connection and the end of the
 * process. Bounded, because the process may be traced. */
#define END_LOOKS 100

static int socket_end = -1; /* this process's end of the socket between parent and child */
static int refused_status = -1;
static pid_t child; /* in the parent */

static void close_socket(void)
{
	close(socket_end);
	socket_end = -1;
}

static void send_message(char message)
{
	(void)!send(socket_end, &message, 1, MSG_NOSIGNAL);
}

int background_start(pid_t *pid, bool *ready, struct err *e)
{
	int ends[2];
	char message;
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot create a socket");
	*pid = fork();
	if (*pid < 0) {
		err_system(e, ERR_SYSTEM, errno, "cannot create a process");
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	socket_end = ends[*pid == 0];
	close(ends[*pid != 0]);
	child = *pid;
	if (*pid == 0) {
		(void)setsid();
		inherited_drop();
		return 0;
	}
	do
		n = read(socket_end, &message, 1);
	while (n < 0 && errno == EINTR);
	*ready = n == 1 && message == 0;
	if (n == 1 && message != 0)
		refused_status = (unsigned char)message;
	return 0;
}

void background_stay(void)
{
	send_message(0);
	close_socket();
}

bool background_end(void)
{
	struct pollfd pfd = {.fd = socket_end, .events = POLLIN};
	int n;

	(void)shutdown(socket_end, SHUT_WR);
	do
		n = alarm_poll(&pfd, 1, END_TIMEOUT);
	while (n < 0 && errno == EINTR);
	close_socket();
	for (int i = 0; n > 0 && i < END_LOOKS && waitpid(child, NULL, WNOHANG) == 0; i++)
		(void)poll(NULL, 0, 1);
	return n > 0;
}

void background_ready(void)
{
	inherited_drop_stderr();
	send_message(0);
}

void background_refuse(int status)
{
	send_message((char)status);
}

int background_refused(void)
{
	return refused_status;
}

int background_fd(void)
{
	return socket_end;
}

enum background_message background_read(void)
{
	char message;
	ssize_t n;

	if (socket_end < 0)
		return BACKGROUND_NONE;
	n = recv(socket_end, &message, 1, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return BACKGROUND_NONE;
	if (n == 1)
		close_socket();
	return n == 1 ? BACKGROUND_STAY : BACKGROUND_END;
}
