/*
 * kernel: system calls by number, where a C library has no function for them (pidfd_open,
 * pidfd_send_signal, close_range: glibc before 2.36, musl) or a stub that always fails (sched_*:
 * musl). Each behaves like the manual's function of that name: -1 and errno when it fails.
 */
#ifndef IO_KERNEL_H
#define IO_KERNEL_H

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

/* The policy of the calling thread, and its *param. */
static inline int kernel_sched_get(struct sched_param *param)
{
	long policy = syscall(SYS_sched_getscheduler, 0);

	return policy < 0 || syscall(SYS_sched_getparam, 0, param) < 0 ? -1 : (int)policy;
}

/* Of thread `tid`, or of the calling one (0). */
static inline int kernel_sched_set(pid_t tid, int policy, const struct sched_param *param)
{
	return (int)syscall(SYS_sched_setscheduler, tid, policy, param);
}

#endif
