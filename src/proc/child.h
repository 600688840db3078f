/*
 * child: starts the command. The only user of vfork and exec.
 *
 * child_start() runs the command as a child of the caller, which reaps it with waitpid(2);
 * child_become() replaces redlock by the command. Both return an errno and print nothing.
 * child_exec_under_loader() replaces a process by redlock, under another program file.
 */
#ifndef PROC_CHILD_H
#define PROC_CHILD_H

#include "base/err.h"
#include "proc/priority.h"
#include "proc/signals.h"

#include <sys/types.h>

/*
 * Starts argv (looked up in PATH) with the present environment, the signal mask and dispositions
 * that redlock found at its start, and the priority *priority. stdout and stderr of the command go
 * to the descriptor `output`; -1: to those of redlock. The kernel kills the command when the
 * calling thread ends: call it in a process with one thread, such as the supervisor, the hook
 * process and the sandbox process. If a variable of the service manager, LISTEN_PID or
 * WATCHDOG_PID, names the process main_pid, it names the command instead; -1: they stay as they
 * are. missed: gets the blocked signals that came before the command, which has not got them,
 * though it may be in the same process group; NULL: not of interest.
 *
 * Returns after exec has succeeded or failed: 0 and the pid, or the errno of the failed call, with
 * *pid -1 (fork) or 0 (exec; no process remains).
 */
int child_start(char *const argv[], const struct signals *signals, pid_t main_pid,
	const struct priority *priority, int output, pid_t *pid, sigset_t *missed);

/* Replaces this process by the command, with the signal mask and dispositions that redlock found at
 * its start. Returns the errno of exec. */
int child_become(char *const argv[], const struct signals *signals);

/*
 * Executes redlock once more, with the words NAME and FD: the process keeps this descriptor, and
 * its program file is the dynamic loader then. Returns if that fails, as for a static program.
 * Async-signal-safe.
 */
void child_exec_under_loader(const char *name, int fd);

#endif
