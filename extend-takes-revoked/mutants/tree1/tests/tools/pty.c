/*
 * pty STEP... -- COMMAND...: runs a command in a new session with a terminal (24x80) and plays the
 * user:
 *
 *   expect:TEXT    waits until TEXT is shown, after the match of the last expect
 *   send:TEXT      types TEXT
 *   size:ROWSxCOLS changes the window's size
 *   run:SCRIPT     runs it with bash, outside the terminal; it must succeed
 *   hangup         closes the terminal
 *
 * TEXT may contain \r and \xHH. The output of the terminal goes to stdout. At the end COMMAND and
 * its whole tree must have ended; the exit status is COMMAND's (128 + the signal that killed it). A
 * step that takes 60 seconds: status 125, and all these processes are killed.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char shown[16 << 20]; /* since the last match: enough for any test */
static size_t length;
static int terminal = -1;
static struct winsize size = {.ws_row = 24, .ws_col = 80};
static const char *step; /* the current step */

static void too_late(int number)
{
	(void)number; /* interrupts poll(2) */
}

/* Orphans become this process's children (PR_SET_CHILD_SUBREAPER), so all descendants can be found.
 */
static pid_t first_child(void)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	if (!list || (fscanf(list, "%d", &pid) != 1 && ferror(list)) || fclose(list) != 0)
		err(125, "children");
	return pid;
}

_Noreturn static void fail(const char *why)
{
	pid_t pid;

	fprintf(stderr, "\npty: %s: %s\n", step, why);
	while ((pid = first_child()) > 0 && kill(pid, SIGKILL) == 0)
		waitpid(pid, NULL, 0);
	exit(125);
}

static bool hang_up(void)
{
	int fd = terminal;

	terminal = -1;
	return close(fd) == 0;
}

/* Returns when there are new bytes, on the terminal or on fd. */
static void look(int fd)
{
	struct pollfd fds[] = {{.fd = terminal, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	ssize_t n;

	if (poll(fds, 2, -1) < 0)
		fail("not in time");
	if (!fds[0].revents)
		return;
	n = read(terminal, shown + length, sizeof(shown) - length);
	if (n <= 0) /* no process has it open any more */
		hang_up();
	else if (write(STDOUT_FILENO, shown + length, (size_t)n) == n)
		length += (size_t)n;
}

static int ended(pid_t pid)
{
	int fd = pidfd_open(pid, 0), status;

	while (waitpid(pid, &status, WNOHANG) == 0)
		look(fd);
	close(fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* False if the terminal was closed before. */
static bool expect(const char *text, size_t n)
{
	const char *found;

	while (!(found = memmem(shown, length, text, n)) && terminal >= 0)
		look(-1);
	if (found) {
		length -= (size_t)(found + n - shown);
		memmove(shown, found + n, length);
	}
	return found;
}

/* Resolves \r and \xHH, in place, and returns the length. */
static size_t resolve(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++, out++) {
		*out = *in;
		if (sscanf(in, "\\x%2hhx", (unsigned char *)out) == 1)
			in += 3;
		else if (strncmp(in, "\\r", 2) == 0 && in++)
			*out = '\r';
	}
	*out = '\0';
	return (size_t)(out - text);
}

static pid_t start(char *argv[])
{
	pid_t pid = forkpty(&terminal, NULL, NULL, &size);

	if (pid == 0) {
		for (int i = 1; i < NSIG; i++)
			signal(i, SIG_DFL); /* a shell's & leaves INT ignored */
		closefrom(3);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (pid < 0 || fcntl(terminal, F_SETFD, FD_CLOEXEC) < 0)
		err(125, "no terminal");
	return pid;
}

static void begin(const char *what)
{
	struct itimerval patience = {.it_value.tv_sec = 60, .it_interval.tv_sec = 1};

	step = what;
	setitimer(ITIMER_REAL, &patience, NULL);
}

static void play(const char *what)
{
	char *text = strdup(what), *name = strsep(&text, ":");
	char *bash[] = {"bash", "-c", text, NULL};
	size_t n = text ? resolve(text) : 0;
	bool done = false;
	pid_t pid;

	begin(what);
	if (strcmp(name, "expect") == 0)
		done = expect(text, n);
	else if (strcmp(name, "send") == 0)
		done = write(terminal, text, n) == (ssize_t)n;
	else if (strcmp(name, "size") == 0)
		done = n && sscanf(text, "%hux%hu", &size.ws_row, &size.ws_col) == 2 &&
		       ioctl(terminal, TIOCSWINSZ, &size) == 0;
	else if (strcmp(name, "run") == 0)
		done = posix_spawnp(&pid, *bash, NULL, NULL, bash, environ) == 0 && ended(pid) == 0;
	else if (strcmp(name, "hangup") == 0)
		done = hang_up();
	free(name);
	if (!done)
		fail("failed");
}

int main(int argc, char *argv[])
{
	int command = 1, status;
	pid_t pid;

	while (command < argc && strcmp(argv[command++], "--") != 0)
		;
	if (command >= argc || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		errx(64, "usage: pty STEP... -- COMMAND...");
	pid = start(argv + command);
	signal(SIGALRM, too_late);
	for (int i = 1; i < command - 1; i++)
		play(argv[i]);
	begin("the end of the command");
	status = ended(pid);
	begin("the end of all that was started");
	while ((pid = first_child()) > 0)
		ended(pid);
	while (terminal >= 0)
		look(-1);
	return status;
}
