#include "io/background.h"

#include "io/inherited.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child may take to end, on a busy machine. */
#define END_MS 5000

/* And from the end of the line to that of the process: so many looks, a millisecond apart. Not for
 * ever: it may be traced. */
#define LOOKS 100

static int other = -1; /* the end of the line between the two that is ours */
static int refused = -1;
static pid_t child; /* of the parent */

static void close_line(void)
{
	close(other);
	other = -1;
}

static void say(char word)
{
	(void)!send(other, &word, 1, MSG_NOSIGNAL);
}

int background_start(pid_t *pid, bool *ready, struct err *e)
{
	int ends[2];
	char word;
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, ERR_SYSTEM, "cannot make a socket: %s", strerror(errno));
	*pid = fork();
	if (*pid < 0) {
		err_set(e, ERR_SYSTEM, "cannot fork: %s", strerror(errno));
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	other = ends[*pid == 0];
	close(ends[*pid != 0]);
	child = *pid;
	if (*pid == 0) {
		(void)setsid();
		inherited_drop();
		return 0;
	}
	do
		n = read(other, &word, 1);
	while (n < 0 && errno == EINTR);
	*ready = n == 1 && word == 0;
	if (n == 1 && word != 0)
		refused = (unsigned char)word;
	return 0;
}

void background_stay(void)
{
	say(0);
	close_line();
}

bool background_end(void)
{
	struct pollfd line = {.fd = other, .events = POLLIN};
	int n;

	(void)shutdown(other, SHUT_WR);
	do
		n = poll(&line, 1, END_MS);
	while (n < 0 && errno == EINTR);
	close_line();
	for (int i = 0; n > 0 && i < LOOKS && waitpid(child, NULL, WNOHANG) == 0; i++)
		(void)poll(NULL, 0, 1);
	return n > 0;
}

void background_ready(void)
{
	inherited_drop_stderr();
	say(0);
}

void background_refuse(int status)
{
	say((char)status);
}

int background_refused(void)
{
	return refused;
}

int background_fd(void)
{
	return other;
}

enum background_word background_hear(void)
{
	char word;
	ssize_t n;

	if (other < 0)
		return BACKGROUND_NOTHING;
	n = recv(other, &word, 1, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return BACKGROUND_NOTHING;
	if (n == 1)
		close_line();
	return n == 1 ? BACKGROUND_STAY : BACKGROUND_END;
}
