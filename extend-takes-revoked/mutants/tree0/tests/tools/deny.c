/*
 * deny SYSCALL[:ARGUMENT] ERRNO -- COMMAND...
 *
 * Runs COMMAND, with its whole tree, under a seccomp filter like those of containers: each system
 * call of that name, or only those with this number as first argument, fails with that error.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME(syscall) \
	{ \
#syscall, SYS_##syscall \
	}

static const struct row {
	const char *name;
	uint32_t number;
} syscalls[] = {NAME(kill), NAME(pidfd_open), NAME(pidfd_send_signal), NAME(ppoll), NAME(prctl),
	NAME(timerfd_settime), NAME(wait4),
#ifdef SYS_poll
	NAME(poll),
#endif
	{NULL, 0}},
  errors[] = {{"EINVAL", EINVAL}, {"ENOSYS", ENOSYS}, {"EPERM", EPERM}, {NULL, 0}};

static uint32_t find(const struct row *row, const char *name)
{
	for (; row->name; row++)
		if (strncmp(row->name, name, strcspn(name, ":")) == 0 &&
			strlen(row->name) == strcspn(name, ":"))
			return row->number;
	fprintf(stderr, "deny: unknown system call '%s'\n", name);
	exit(64);
}

int main(int argc, char *argv[])
{
	if (argc < 5 || strcmp(argv[3], "--") != 0) {
		fputs("usage: deny SYSCALL[:ARGUMENT] ERRNO -- COMMAND...\n", stderr);
		return 64;
	}

	const char *argument = strchr(argv[1], ':');
	/* Little-endian: the low half of the argument comes first. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, find(syscalls, argv[1]), 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | (argument ? BPF_JEQ : BPF_JGE) | BPF_K,
			argument ? (uint32_t)atoi(argument + 1) : 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | find(errors, argv[2])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("deny: seccomp");
		return 125;
	}
	execvp(argv[4], argv + 4);
	perror(argv[4]);
	return 127;
}
