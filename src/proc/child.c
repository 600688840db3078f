#include "proc/child.h"

#include "base/frame.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* sd_listen_fds(3), sd_watchdog_enabled(3): only the process with this pid may use the descriptors,
 * and only that one reports to the watchdog. */
static const char *const pid_names[] = {"LISTEN_PID", "WATCHDOG_PID"};

enum { PID_NAMES = sizeof(pid_names) / sizeof(pid_names[0]) };

static char pid_variables[PID_NAMES][sizeof("WATCHDOG_PID=") + 12] = {
	"LISTEN_PID=", "WATCHDOG_PID="};

/* Puts those of pid_variables into the environment that name main, and returns true if there are
 * any. LISTEN_PIDFDID names main's process a second time, by a number that no other process can
 * have; without it, LISTEN_PID counts alone. */
OWN_FRAME static bool redirect_pids(pid_t main_pid)
{
	bool has_any = false;

	for (int i = 0; i < PID_NAMES; i++) {
		const char *pid = getenv(pid_names[i]);

		if (!pid || atoi(pid) != main_pid || putenv(pid_variables[i]) != 0)
			continue;
		has_any = true;
		if (strcmp(pid_names[i], "LISTEN_PID") == 0)
			(void)unsetenv("LISTEN_PIDFDID");
	}
	return has_any;
}

static void write_pids(pid_t pid)
{
	for (int i = 0; i < PID_NAMES; i++)
		(void)text_decimal(pid_variables[i] + strlen(pid_names[i]) + 1, pid);
}

/* Returns the errno of exec. POSIX requires execvp() to run a file of unknown format as a script of
 * sh, which musl's execvp() does not do. sh searches PATH for the file again, in the same way. */
static int exec_command(char *const argv[])
{
	static const char *const by_sh[] = {"sh", "-c", "exec \"$0\" \"$@\""};
	size_t count = 0;

	execvp(argv[0], argv);
	if (errno != ENOEXEC)
		return errno;
	while (argv[count])
		count++;

	const char *words[3 + count + 1];

	memcpy(words, by_sh, sizeof(by_sh));
	memcpy(words + 3, argv, (count + 1) * sizeof(*argv));
	execv("/bin/sh", (char *const *)words);
	return ENOEXEC;
}

/* Runs in the child, after vfork: until exec the parent is suspended and shares its memory, of
 * which the child changes only this stack frame, errno and pid_variables. If exec fails, the child
 * writes the errno to the pipe, because any exit status could be the command's own. */
static void run_in_child(char *const argv[], const struct signals *signals,
	const struct priority *priority, pid_t parent, bool has_pids, int output, int failure_pipe)
{
	int error;

	/* If the parent died before PR_SET_PDEATHSIG took effect, the kernel would not kill the
	 * child. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(125);
	if (output >= 0 && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0))
		_exit(125);
	priority_restore(priority);
	if (has_pids)
		write_pids(getpid());
	signals_restore(signals);
	error = exec_command(argv);
	if (write(failure_pipe, &error, sizeof(error)) < 0)
		_exit(125);
	_exit(127);
}

int child_start(char *const argv[], const struct signals *signals, pid_t main_pid,
	const struct priority *priority, int output, pid_t *pid, sigset_t *missed)
{
	const bool has_pids = redirect_pids(main_pid);
	pid_t parent = getpid();
	int pipe_fds[2], error = 0;
	ssize_t n;

	*pid = -1;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return errno;
	/* Directly before the fork: a signal in between would be lost. */
	if (missed)
		(void)sigpending(missed);
	/* vfork, because fork copies the page tables, which takes as long as a node takes to
	 * reply. */
	*pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork)
	if (*pid == 0)
		run_in_child(argv, signals, priority, parent, has_pids, output,
			pipe_fds[1]); // NOLINT(clang-analyzer-unix.Vfork)
	error = errno;
	close(pipe_fds[1]);
	if (*pid > 0) {
		do
			n = read(pipe_fds[0], &error, sizeof(error));
		while (n < 0 && errno == EINTR);
		if (n != (ssize_t)sizeof(error))
			error = 0;
	}
	close(pipe_fds[0]);
	if (*pid > 0 && error) {
		while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
			;
		*pid = 0;
	}
	return error;
}

int child_become(char *const argv[], const struct signals *signals)
{
	signals_restore(signals);
	return exec_command(argv);
}

/* The dynamic loader that the program file names, or NULL if it is linked statically. */
static const char *find_loader(void)
{
	const ElfW(Phdr) *row = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long left = row ? getauxval(AT_PHNUM) : 0;
	ElfW(Addr) base = 0;

	/* PT_PHDR comes before PT_INTERP. */
	for (; left > 0; left--, row++)
		if (row->p_type == PT_PHDR)
			base = (ElfW(Addr))row - row->p_vaddr;
		else if (row->p_type == PT_INTERP)
			return (const char *)(base + row->p_vaddr);
	return NULL;
}

void child_exec_under_loader(const char *name, int fd)
{
	const char *loader = find_loader();
	char program[] = "/proc/self/fd/XXXXXXXXXXX", number[12];
	int opened = loader ? open("/proc/self/exe", O_RDONLY) : -1;

	if (opened < 0)
		return;
	(void)text_decimal(strchr(program, 'X'), opened);
	(void)text_decimal(number, fd);
	(void)fcntl(fd, F_SETFD, 0);
	execv(loader, (char *const[]){(char *)name, program, (char *)name, number, NULL});
	close(opened);
}
