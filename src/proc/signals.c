#include "proc/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Signals that are left to the kernel: redlock's own faults, stopping and continuing. */
static const int not_ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGSTOP,
	SIGKILL, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG};

/* The action of SIGXFSZ as redlock found it. */
static void (*old_limit)(int);

void signals_ignore_limit(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;

	if (sigaction(SIGXFSZ, &ignore, &old) == 0)
		old_limit = old.sa_handler;
}

int signals_open(struct signals *s, struct err *e)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++)
		sigdelset(&set, not_ours[i]);
	/* If SIGCHLD stayed ignored, as some parents leave it, the kernel would discard the status
	 * of children. */
	if (sigaction(SIGCHLD, &plain, &s->old_child) < 0 ||
		sigprocmask(SIG_BLOCK, &set, &s->old_mask) < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot receive signals");
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot receive signals");
	return 0;
}

int signals_take_ignored(int number, struct err *e)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	if (sigaction(number, &plain, NULL) < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot receive signals");
	return 0;
}

/* The kernel queues a blocked signal even if it is ignored. So that a run does not ask for the
 * action of all 64 signals, the few that arrive are looked at. */
static bool is_ignored(int number)
{
	struct sigaction now;

	/* Writing to a pipe without a reader must not kill redlock; the command gets SIGPIPE as
	 * redlock found it. */
	if (number == SIGPIPE)
		return false;
	if (number == SIGXFSZ)
		return old_limit == SIG_IGN;
	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* The kernel sends SIGHUP to the session's leader only; the group gets it afterwards. */
static bool goes_to_group(int number)
{
	return number == SIGINT || number == SIGQUIT || number == SIGWINCH ||
	       (number == SIGHUP && getsid(0) != getpid());
}

/* Our own write has failed: that is not for the command. */
static bool is_own_failure(const struct signalfd_siginfo *info)
{
	return (info->ssi_signo == SIGPIPE || info->ssi_signo == SIGXFSZ) &&
	       info->ssi_pid == (unsigned)getpid();
}

static bool is_fatal(int number)
{
	switch (number) {
	case SIGCHLD:
	case SIGCONT:
	case SIGWINCH:
	case SIGURG:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return false;
	default:
		return true;
	}
}

bool signals_next(struct signals *s, struct caught *caught)
{
	struct signalfd_siginfo info;

	do {
		if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
			return false;
	} while (is_own_failure(&info) || is_ignored((int)info.ssi_signo));
	*caught = (struct caught){
		.number = (int)info.ssi_signo,
		.is_fatal = is_fatal((int)info.ssi_signo),
		.command_has_it = info.ssi_code == SI_KERNEL && goes_to_group((int)info.ssi_signo),
		.sender = (pid_t)info.ssi_pid,
	};
	if (caught->command_has_it)
		caught->group = getpgrp();
	return true;
}

int signals_only_children(int *fd, struct err *e)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*fd < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot receive signals");
	return 0;
}

int signals_open_all(struct signals *s)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -1 : 0;
}

void signals_drain(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
}

void signals_stop_with(pid_t command)
{
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	pid_t group;

	if (terminal < 0)
		return;
	group = tcgetpgrp(terminal);
	close(terminal);
	/* The kernel drops the signal if no shell could notice the stop and continue redlock. */
	if (group == getpgrp() || group == getpgid(command))
		raise(SIGTSTP);
}

void signals_restore(const struct signals *s)
{
	sigaction(SIGCHLD, &s->old_child, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = old_limit}, NULL);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

_Noreturn void signals_die(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + number);
}
