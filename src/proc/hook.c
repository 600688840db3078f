#include "proc/hook.h"

#include "base/alarm.h"
#include "base/duration.h"
#include "base/log.h"
#include "proc/child.h"
#include "proc/inherited.h"
#include "proc/priority.h"
#include "proc/title.h"
#include "proc/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between TERM and KILL, and between two attempts to kill the tree. */
#define KILL_AFTER USEC_SEC
#define SWEEP_APART (50 * USEC_MSEC)

/* A command may stop the hook process again and again. */
#define CONTINUE_APART (100 * USEC_MSEC)

/* The longest time that an event takes, on a machine that is busy. */
#define EVENT_TIME (HOOK_TIME + UNLESS_HASTY(5 * USEC_SEC))

int hook_start(struct hook *h, pid_t *pid, struct err *e)
{
	struct err ignored;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot create a socket");
	*pid = fork();
	if (*pid < 0) {
		err_system(e, ERR_SYSTEM, errno, "cannot create a process");
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	*h = (struct hook){.fd = ends[*pid == 0], .is_open = true};
	close(ends[*pid != 0]);
	/* A descriptor, because the background holder is not the parent of the hook process. */
	(void)follow_open(&h->process, *pid, false, &ignored);
	return 0;
}

/* ---- the hook process ---- */

struct serving {
	int fd, children, alarm, output;
	const struct signals *signals;
	char *const *argv;
	char *folder; /* the working directory of the commands; NULL: it was removed */
	struct priority priority;
	struct hook_event event;
	bool is_busy; /* a command, or a process that it has started, is running */
	bool was_ended; /* by TERM */
	pid_t pid; /* of the command; 0: it has ended */
	usec end_at; /* when the next signal is due */
};

static void log_failure(const struct serving *s, const char *what, int number)
{
	log_say(LOG_NORMAL, "--on-event: %s: %s %d", s->event.name, what, number);
}

static void ended(struct serving *s, int status)
{
	s->pid = 0;
	if (s->was_ended)
		return;
	if (WIFSIGNALED(status))
		log_failure(s, "the command was ended by signal", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		log_failure(s, "the command ended with status", WEXITSTATUS(status));
}

/* The command is over when no process of it is left. */
static void reap(struct serving *s)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0 && pid == s->pid)
			ended(s, status);
	} while (pid > 0 || (pid < 0 && errno == EINTR));
	if (pid < 0)
		s->is_busy = false;
}

/* Each event has the same variables, so none is left of the event before. */
static void set_variables(const struct hook_event *ev)
{
	char name[32];

	for (size_t at = 0; at < ev->used; at += strlen(ev->variables + at) + 1) {
		size_t len = strcspn(ev->variables + at, "=");

		snprintf(name, sizeof(name), "%.*s", (int)len, ev->variables + at);
		(void)setenv(name, ev->variables + at + len + 1, 1);
	}
}

static void run_command(struct serving *s)
{
	int error;

	set_variables(&s->event);
	if (s->folder)
		(void)!chdir(s->folder);
	error = child_start(s->argv, s->signals, -1, &s->priority, s->output, &s->pid, NULL);
	/* Meanwhile the folder's file system can be unmounted. */
	(void)!chdir("/");
	if (error) {
		log_say(LOG_NORMAL, "--on-event: %s: cannot run /bin/sh: %s", s->event.name,
			strerror(error));
		return;
	}
	s->is_busy = true;
	s->was_ended = false;
	s->end_at = clock_now() + HOOK_TIME;
}

/* Ends a command that takes too long. */
static void end_late(struct serving *s)
{
	char shown[DURATION_TEXT_MAX];
	usec now = clock_now();

	if (!s->is_busy || now < s->end_at)
		return;
	if (!s->was_ended) {
		log_say(LOG_NORMAL,
			"--on-event: %s: the command ran for longer than %s and was ended",
			s->event.name, duration_format(shown, HOOK_TIME));
		s->was_ended = true;
		(void)tree_signal_and_continue(getpid(), 0, SIGTERM, NULL);
		s->end_at = now + KILL_AFTER;
		return;
	}
	(void)tree_signal(getpid(), SIGKILL, NULL);
	s->end_at = now + SWEEP_APART;
}

/* Returns false after the last event. */
static bool take_event(struct serving *s)
{
	ssize_t n;

	do
		n = recv(s->fd, &s->event, sizeof(s->event), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(s->event))
		run_command(s);
	return n == (ssize_t)sizeof(s->event) || (n < 0 && errno == EAGAIN);
}

static void serve(struct serving *s)
{
	for (;;) {
		struct pollfd fds[] = {
			{.fd = s->children, .events = POLLIN},
			{.fd = s->alarm, .events = POLLIN},
			{.fd = s->is_busy ? -1 : s->fd, .events = POLLIN},
		};

		alarm_set(s->alarm, s->is_busy ? s->end_at : NEVER);
		(void)alarm_wait(fds, 3, NEVER);
		signals_drain(s->children);
		reap(s);
		end_late(s);
		if (!s->is_busy && !take_event(s))
			return;
	}
}

void hook_serve(struct hook *h, const char *command, const struct signals *signals, bool silent)
{
	char *argv[] = {"/bin/sh", "-c", strdup(command), NULL}; /* title_set() overwrites it */
	struct serving s = {.fd = h->fd,
		.output = 2,
		.signals = signals,
		.argv = argv,
		.folder = getcwd(NULL, 0)};
	struct err e;

	(void)setsid();
	/* A stopped hook process would keep stderr of redlock's caller open. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (signals_only_children(&s.children, &e) < 0 || (s.alarm = alarm_open(&e)) < 0 ||
		!argv[2])
		_exit(1);
	inherited_keep_only((const int[]){s.fd, s.children, s.alarm, log_fd()}, 4);
	if (silent)
		inherited_drop_stderr();
	title_set("rl-hook");
	serve(&s);
	_exit(0);
}

/* ---- the other processes ---- */

void hook_add(struct hook_event *ev, const char *name, const char *value)
{
	size_t room = sizeof(ev->variables) - ev->used;
	int n = snprintf(ev->variables + ev->used, room, "%s=%s", name, value);

	if (n >= 0 && (size_t)n < room)
		ev->used += (size_t)n + 1;
}

void hook_send(struct hook *h, const struct hook_event *ev)
{
	if (!h->is_open)
		return;
	h->sent++;
	follow_signal(&h->process, SIGCONT);
	while (send(h->fd, ev, sizeof(*ev), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

/* Otherwise its commands would live on, with stderr of redlock's caller. */
static void end_hook_process(struct hook *h)
{
	if (follow_has_ended(&h->process))
		return;
	(void)tree_signal(h->process.pid, SIGKILL, NULL);
	follow_signal(&h->process, SIGKILL);
}

void hook_close(struct hook *h, struct signals *signals)
{
	usec now, until = clock_now() + (h->sent + 1) * EVENT_TIME;
	struct caught caught = {0};
	char ignored;

	if (!h->is_open)
		return;
	/* Not close(), because other processes have copies of the descriptor. */
	(void)shutdown(h->fd, SHUT_WR);
	while (!caught.is_fatal && (now = clock_now()) < until) {
		struct pollfd fds[] = {
			{.fd = h->fd, .events = POLLIN}, {.fd = signals->fd, .events = POLLIN}};

		follow_signal(&h->process, SIGCONT);
		(void)alarm_wait(fds, 2, usec_min(until - now, CONTINUE_APART));
		if (fds[0].revents && recv(h->fd, &ignored, 1, MSG_DONTWAIT) >= 0)
			break;
		while (!caught.is_fatal && signals_next(signals, &caught))
			;
	}
	if (!caught.is_fatal && now >= until)
		end_hook_process(h);
	follow_close(&h->process);
	close(h->fd);
	h->is_open = false;
}
