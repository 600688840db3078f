/*
 * kernel: system calls by number, because some C libraries have no function for them (pidfd_open,
 * pidfd_send_signal, close_range: glibc before 2.36, musl) or a stub that always fails (sched_*:
 * musl).
 *
 * Each function behaves like the manual's function of that name: it returns -1 with errno when it
 * fails.
 */
#ifndef PROC_KERNEL_H
#define PROC_KERNEL_H

#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline int kernel_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int kernel_pidfd_send_signal(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

static inline int kernel_close_range(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

/* Returns the scheduling policy of the calling thread, and its *param. */
static inline int kernel_sched_get(struct sched_param *param)
{
	long policy = syscall(SYS_sched_getscheduler, 0);

	return policy < 0 || syscall(SYS_sched_getparam, 0, param) < 0 ? -1 : (int)policy;
}

/* Sets the policy of thread `tid`, or of the calling thread (0). */
static inline int kernel_sched_set(pid_t tid, int policy, const struct sched_param *param)
{
	return (int)syscall(SYS_sched_setscheduler, tid, policy, param);
}

#endif
