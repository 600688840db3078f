#include "io/background.h"

#include "io/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int ready_fd = -1;

int background_start(pid_t *pid, bool *ready, struct err *e)
{
	int ends[2];
	char word;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
	*pid = fork();
	if (*pid < 0) {
		err_set(e, ERR_SYSTEM, "cannot fork: %s", strerror(errno));
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (*pid == 0) {
		close(ends[0]);
		ready_fd = ends[1];
		(void)setsid();
		inherited_drop();
		return 0;
	}
	close(ends[1]);
	do
		n = read(ends[0], &word, 1);
	while (n < 0 && errno == EINTR);
	*ready = n == 1;
	close(ends[0]);
	return 0;
}

void background_ready(void)
{
	(void)!write(ready_fd, "", 1);
	close(ready_fd);
	ready_fd = -1;
}
