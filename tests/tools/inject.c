/*
 * inject list -- REDLOCK...
 * inject ROLE SYSCALL N ERRNO -- REDLOCK...
 *
 * Runs redlock and lets the Nth system call of that name fail in one of its processes; ROLE is
 * main, extender, supervisor, or child (the future command, until its exec). Calls are counted from
 * the first rt_sigaction on, so that the dynamic loader is spared; the command is released when it
 * begins. `list` prints the existing calls instead, one "ROLE SYSCALL COUNT" per line.
 *
 * Prints "STATUS LIVING MET": redlock's status (128 + the signal that killed it, or "hangs" after
 * half a minute), the number of its descendants that outlived it, and if the call was made at all.
 * The messages of redlock and its command go to stderr. Waits for all processes that redlock has
 * started, or kills them.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* ptrace.h of the C library and of the kernel conflict. */
#include <linux/ptrace.h>

#define TRACEES_MAX 64
#define SYSCALLS_MAX 600
#define PATIENCE_SEC 30

enum role { UNKNOWN, MAIN, EXTENDER, SUPERVISOR, CHILD, ROLES };
static const char *const role_names[ROLES] = {"", "main", "extender", "supervisor", "child"};

/* Calls that can fail and that a run may make; any other goes by its number. */
#define NAME(syscall) [SYS_##syscall] = #syscall
static const char *const names[SYSCALLS_MAX] = {
	NAME(brk),
	NAME(chdir),
	NAME(clone),
	NAME(clone3),
	NAME(close),
	NAME(close_range),
	NAME(connect),
	NAME(dup3),
	NAME(eventfd2),
	NAME(execve),
	NAME(fcntl),
	NAME(futex),
	NAME(getcwd),
	NAME(getdents64),
	NAME(getpeername),
	NAME(getpgid),
	NAME(getrandom),
	NAME(getsid),
	NAME(getsockname),
	NAME(getsockopt),
	NAME(ioctl),
	NAME(kill),
	NAME(lseek),
	NAME(madvise),
	NAME(mmap),
	NAME(mprotect),
	NAME(mremap),
	NAME(munmap),
	NAME(newfstatat),
	NAME(openat),
	NAME(pidfd_open),
	NAME(pidfd_send_signal),
	NAME(pipe2),
	NAME(ppoll),
	NAME(prctl),
	NAME(prlimit64),
	NAME(read),
	NAME(readlinkat),
	NAME(recvfrom),
	NAME(rseq),
	NAME(rt_sigaction),
	NAME(rt_sigprocmask),
	NAME(sched_getparam),
	NAME(sched_setscheduler),
	NAME(sendto),
	NAME(set_robust_list),
	NAME(setsid),
	NAME(setsockopt),
	NAME(shutdown),
	NAME(signalfd4),
	NAME(socket),
	NAME(socketpair),
	NAME(sysinfo),
	NAME(tgkill),
	NAME(timerfd_create),
	NAME(timerfd_settime),
	NAME(uname),
	NAME(wait4),
	NAME(write),
#ifdef __x86_64__
	NAME(access),
	NAME(dup2),
	NAME(fork),
	NAME(getdents),
	NAME(getpgrp),
	NAME(open),
	NAME(pipe),
	NAME(poll),
	NAME(readlink),
	NAME(stat),
	NAME(vfork),
#endif
};

static const struct {
	const char *name;
	int number;
} errors[] = {{"EAGAIN", EAGAIN}, {"EACCES", EACCES}, {"EBUSY", EBUSY}, {"ECHILD", ECHILD},
	{"ECONNREFUSED", ECONNREFUSED}, {"ECONNRESET", ECONNRESET}, {"EINTR", EINTR},
	{"EINVAL", EINVAL}, {"EIO", EIO}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE},
	{"ENOBUFS", ENOBUFS}, {"ENOENT", ENOENT}, {"ENOMEM", ENOMEM}, {"ENOSYS", ENOSYS},
	{"EPERM", EPERM}, {"EPIPE", EPIPE}, {"ESRCH", ESRCH}};

static struct tracee {
	pid_t tid;
	enum role role;
	bool waits; /* it is stopped until its parent knows its role */
	bool fails; /* its current call, */
	long argument; /* and the first argument of that call */
} tracees[TRACEES_MAX];

static enum role wanted_role;
static long wanted_syscall;
static int wanted_count, wanted_error;
static bool lists, counts, met;
static int count[ROLES][SYSCALLS_MAX];
static pid_t redlock;
static int status_of_redlock = -1, living;
static volatile sig_atomic_t too_late;

static void be_late(int number)
{
	(void)number;
	too_late = 1;
}

/* ---- the call that fails ---- */

#ifdef __x86_64__
#define OFFSET_OF_NUMBER offsetof(struct user_regs_struct, orig_rax)
#define OFFSET_OF_ARGUMENT offsetof(struct user_regs_struct, rdi)
#define OFFSET_OF_ANSWER offsetof(struct user_regs_struct, rax)

static void set_number(pid_t tid, int number)
{
	ptrace(PTRACE_POKEUSER, tid, OFFSET_OF_NUMBER, (long)number);
}

static void set_argument(pid_t tid, long value)
{
	ptrace(PTRACE_POKEUSER, tid, OFFSET_OF_ARGUMENT, value);
}

static void restore_argument(pid_t tid, long value)
{
	set_argument(tid, value);
}

static void set_answer(pid_t tid, long value)
{
	ptrace(PTRACE_POKEUSER, tid, OFFSET_OF_ANSWER, value);
}
#elif defined(__aarch64__)
static void set_number(pid_t tid, int number)
{
	struct iovec v = {.iov_base = &number, .iov_len = sizeof(number)};

	ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &v);
}

static void set_argument(pid_t tid, long value)
{
	struct user_regs_struct regs;
	struct iovec v = {.iov_base = &regs, .iov_len = sizeof(regs)};

	ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v);
	regs.regs[0] = (unsigned long)value;
	ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v);
}

/* The first argument and the result share a register. */
static void set_answer(pid_t tid, long value)
{
	set_argument(tid, value);
}

static void restore_argument(pid_t tid, long value)
{
	(void)tid, (void)value;
}
#else
#error "which registers hold a system call's number, argument and answer here?"
#endif

/* The kernel does nothing for an unknown number; the result is set when the call returns. But a
 * close(2) that fails has closed all the same, and a brk(2) that fails returns the end of the heap,
 * as it does for 0. */
static void begin_failure(struct tracee *t, long argument)
{
	t->fails = true;
	t->argument = argument;
	if (wanted_syscall == SYS_brk)
		set_argument(t->tid, 0);
	else if (wanted_syscall != SYS_close)
		set_number(t->tid, -1);
}

static void end_failure(struct tracee *t)
{
	t->fails = false;
	if (wanted_syscall == SYS_brk)
		restore_argument(t->tid, t->argument);
	else
		set_answer(t->tid, -wanted_error);
}

static bool can_fail(long syscall)
{
	return syscall != SYS_exit && syscall != SYS_exit_group && syscall != SYS_rt_sigreturn &&
	       syscall != SYS_getpid && syscall != SYS_getppid && syscall != SYS_gettid &&
	       syscall != SYS_getuid && syscall != SYS_geteuid && syscall != SYS_getgid &&
	       syscall != SYS_getegid && syscall != SYS_restart_syscall && syscall >= 0 &&
	       syscall < SYSCALLS_MAX;
}

static void look_at_call(struct tracee *t)
{
	struct ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		if (t->fails)
			end_failure(t);
		return;
	}
	/* main ignores SIGXFSZ before it reads anything. */
	counts |= info.entry.nr == SYS_rt_sigaction && info.entry.args[0] != SIGXFSZ;
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !counts || !can_fail((long)info.entry.nr))
		return;
	count[t->role][info.entry.nr]++;
	if (t->role == wanted_role && (long)info.entry.nr == wanted_syscall &&
		count[t->role][info.entry.nr] == wanted_count) {
		met = true;
		begin_failure(t, (long)info.entry.args[0]);
	}
}

/* ---- roles ---- */

static struct tracee *tracee_of(pid_t tid)
{
	struct tracee *free_one = NULL;

	for (struct tracee *t = tracees; t < tracees + TRACEES_MAX; t++) {
		if (t->tid == tid)
			return t;
		if (t->tid == 0 && !free_one)
			free_one = t;
	}
	if (!free_one)
		exit(1);
	*free_one = (struct tracee){.tid = tid};
	return free_one;
}

static void go_on(struct tracee *t, int signal)
{
	ptrace(PTRACE_SYSCALL, t->tid, 0, (long)signal);
}

static void introduce(const struct tracee *parent, int event)
{
	unsigned long tid = 0;
	struct tracee *t;

	ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid);
	t = tracee_of((pid_t)tid);
	t->role = parent->role == SUPERVISOR    ? CHILD
		  : event == PTRACE_EVENT_CLONE ? EXTENDER
						: SUPERVISOR;
	if (t->waits)
		go_on(t, 0);
	t->waits = false;
}

static void on_stop(struct tracee *t, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		introduce(t, event);
		break;
	case PTRACE_EVENT_EXEC:
		if (t->role == CHILD) {
			ptrace(PTRACE_DETACH, t->tid, 0, 0);
			t->tid = 0;
			return;
		}
		break;
	case PTRACE_EVENT_STOP:
		t->waits = t->role == UNKNOWN;
		if (t->waits)
			return;
		if (signal != SIGTRAP) {
			ptrace(PTRACE_LISTEN, t->tid, 0, 0);
			return;
		}
		break;
	default:
		if (signal != (SIGTRAP | 0x80)) {
			go_on(t, signal);
			return;
		}
		look_at_call(t);
		break;
	}
	go_on(t, 0);
}

/* ---- survivors ---- */

/* Orphans become this process's children. A zombie outlives no process. */
static int children(int signal)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	char path[32], text[512];
	int pid, alive = 0;

	while (list && fscanf(list, "%d", &pid) == 1) {
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		stat = fopen(path, "re");
		if (stat && fgets(text, sizeof(text), stat) && strrchr(text, ')'))
			alive += strrchr(text, ')')[2] != 'Z' && strrchr(text, ')')[2] != 'X';
		if (stat)
			fclose(stat);
		if (signal)
			kill(pid, signal);
	}
	if (list)
		fclose(list);
	return alive;
}

static void on_end(pid_t tid, int status)
{
	tracee_of(tid)->tid = 0;
	if (tid != redlock)
		return;
	status_of_redlock = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	living = children(0);
}

static void trace_all(void)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (too_late)
			children(SIGKILL);
		if (tid <= 0)
			continue;
		if (WIFSTOPPED(status))
			on_stop(tracee_of(tid), status);
		else
			on_end(tid, status);
	}
}

/* ---- */

static void start(char *argv[])
{
	const struct sigaction late = {.sa_handler = be_late};
	const struct itimerval patience = {{.tv_sec = 1}, {.tv_sec = PATIENCE_SEC}};
	const struct sched_param first = {.sched_priority = 3};
	int gate[2];
	char c;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe(gate) < 0)
		exit(1);
	redlock = fork();
	if (redlock == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		close(gate[1]);
		if (read(gate[0], &c, 1) == 0 && close(gate[0]) == 0)
			execv(argv[0], argv);
		_exit(127);
	}
	close(gate[0]);
	tracee_of(redlock)->role = MAIN;
	if (redlock < 0 ||
		ptrace(PTRACE_SEIZE, redlock, 0,
			(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) <
			0 ||
		ptrace(PTRACE_INTERRUPT, redlock, 0, 0) < 0) {
		perror("inject");
		exit(1);
	}
	/* The tracer of processes with real-time priority needs the same, if it is permitted. */
	(void)sched_setscheduler(0, SCHED_RR, &first);
	sigaction(SIGALRM, &late, NULL);
	setitimer(ITIMER_REAL, &patience, NULL);
	close(gate[1]);
}

static void print_list(void)
{
	for (int role = MAIN; role < ROLES; role++)
		for (int i = 0; i < SYSCALLS_MAX; i++)
			if (count[role][i] > 0 && names[i])
				printf("%s %s %d\n", role_names[role], names[i], count[role][i]);
			else if (count[role][i] > 0)
				printf("%s %d %d\n", role_names[role], i, count[role][i]);
}

static bool read_arguments(char *argv[])
{
	for (int role = MAIN; role < ROLES; role++)
		if (strcmp(role_names[role], argv[0]) == 0)
			wanted_role = (enum role)role;
	wanted_syscall = atol(argv[1]);
	for (int i = 0; i < SYSCALLS_MAX; i++)
		if (names[i] && strcmp(names[i], argv[1]) == 0)
			wanted_syscall = i;
	wanted_count = atoi(argv[2]);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(errors[i].name, argv[3]) == 0)
			wanted_error = errors[i].number;
	return wanted_role && wanted_count > 0 && wanted_error;
}

int main(int argc, char *argv[])
{
	lists = argc > 3 && strcmp(argv[1], "list") == 0;
	if (!lists && (argc < 7 || !read_arguments(argv + 1))) {
		fputs("usage: inject list|ROLE SYSCALL N ERRNO -- REDLOCK...\n", stderr);
		return 64;
	}
	start(argv + (lists ? 3 : 6));
	trace_all();
	if (lists)
		print_list();
	else if (too_late && status_of_redlock == 137)
		printf("hangs %d %d\n", living, met);
	else
		printf("%d %d %d\n", status_of_redlock, living, met);
	return 0;
}
