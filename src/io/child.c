#include "io/child.h"

#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child, after vfork: until exec the parent stands still and shares its memory, of which
 * only this stack frame and errno change here. Says by the pipe why exec failed: a status could be
 * the command's own. */
static void become(char *const argv[], const struct signals *signals, pid_t parent, int tell)
{
	int error = 0;

	/* The parent may have died before this took effect: then nobody would kill us. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(125);
	signals_restore(signals);
	execvp(argv[0], argv);
	error = errno;
	if (write(tell, &error, sizeof(error)) < 0)
		_exit(125);
	_exit(127);
}

static int exec_failed(pid_t pid, int error, const char *command, struct err *e)
{
	char shown[200];

	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	text_escape(shown, sizeof(shown), command, strlen(command));
	if (error == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "command '%s' not found", shown);
	return err_set(e, ERR_CANNOT_RUN, "cannot run '%s': %s", shown, strerror(error));
}

int child_start(struct child *c, char *const argv[], const struct signals *signals, struct err *e)
{
	pid_t parent = getpid(), pid;
	int pipe_fds[2], error;
	ssize_t n;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_set(
			e, ERR_SYSTEM, "cannot start the command: pipe: %s", strerror(errno));
	/* Not fork: copying the page tables alone takes as long as a node takes to answer. */
	pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
	if (pid == 0)
		become(argv, signals, parent, pipe_fds[1]); // NOLINT(clang-analyzer-unix.Vfork)
	error = errno;
	c->pid = pid;
	close(pipe_fds[1]);
	if (c->pid < 0) {
		close(pipe_fds[0]);
		return err_set(
			e, ERR_SYSTEM, "cannot start the command: fork: %s", strerror(error));
	}
	do
		n = read(pipe_fds[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(pipe_fds[0]);
	if (n == (ssize_t)sizeof(error)) {
		c->pid = 0;
		return exec_failed(pid, error, argv[0], e);
	}
	return 0;
}

void child_signal(const struct child *c, int signal)
{
	assert(c->pid > 0);
	/* It may have ended by itself, or become another user's. */
	if (kill(c->pid, signal) < 0)
		assert(errno == ESRCH || errno == EPERM);
}

bool child_reap(struct child *c, int *status)
{
	pid_t pid;

	do
		pid = waitpid(c->pid, status, WNOHANG);
	while (pid < 0 && errno == EINTR);
	assert(pid >= 0);
	if (pid == 0)
		return false;
	c->pid = 0;
	return true;
}
