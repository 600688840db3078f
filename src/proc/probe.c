#include "proc/probe.h"

#include "base/alarm.h"
#include "proc/child.h"
#include "proc/inherited.h"
#include "proc/title.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "rl-probe"

/* A sender that signals one process after the other, or redlock and then its group, needs up to
 * this time from redlock to the probe, ... */
#define ARRIVAL_TIME (5 * USEC_MSEC)
/* ... or from the probe to redlock. */
#define SAME_TIME (200 * USEC_MSEC)

/* The time for the probe's answer on a busy machine. */
#define ANSWER_TIME (50 * USEC_MSEC)

/* The time from a fatal signal to the end of the probe: another signal often follows at once. */
#define LINGER_TIME (20 * USEC_MSEC)

/* ---- the probe and its parent: only safe calls, because main may have other threads ---- */

static void send_report(int fd, const struct probe_report *report)
{
	(void)send(fd, report, sizeof(*report), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns true if main asks a question; ends if main has closed the socket. */
static bool read_question(int fd)
{
	char question;
	ssize_t n = recv(fd, &question, 1, MSG_DONTWAIT);

	if (n == 0)
		_exit(0);
	return n > 0;
}

_Noreturn static void report_signals(int fd, struct signals *all)
{
	struct pollfd fds[] = {{.fd = all->fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	bool is_asked, is_ending = false;
	struct caught caught;

	while (alarm_wait(fds, 2, is_ending ? LINGER_TIME : NEVER) != 0) {
		is_asked = read_question(fd);
		while (signals_next(all, &caught)) {
			send_report(fd,
				&(struct probe_report){caught.number, caught.sender, clock_now()});
			is_ending |= caught.is_fatal;
		}
		if (is_asked)
			send_report(fd, &(struct probe_report){0});
	}
	_exit(0);
}

void probe_continue(char *const argv[])
{
	struct signals all;
	char ignored;
	int fd;

	if (strcmp(argv[1], NAME) != 0 || !argv[2])
		return;
	fd = atoi(argv[2]);
	if ((recv(fd, &ignored, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno != EAGAIN) ||
		signals_open_all(&all) < 0)
		return;
	title_set(NAME);
	inherited_keep_only((const int[]){fd, all.fd}, 2);
	report_signals(fd, &all);
}

/* The kernel kills the process when its parent ends. */
static void follow_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

/* The probe's parent: ends with the probe, and continues it when it is stopped. */
_Noreturn static void wait_for_probe(pid_t probe)
{
	int status;

	while (waitpid(probe, &status, WUNTRACED) == probe && WIFSTOPPED(status))
		kill(probe, SIGCONT);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

_Noreturn static void start_probe(int fd, pid_t redlock)
{
	struct signals all;
	pid_t parent = getpid(), pid;

	follow_parent(redlock);
	if (signals_open_all(&all) < 0)
		_exit(1);
	/* `killall redlock` must not reach the probe: the command does not get that signal. */
	title_set(NAME);
	inherited_keep_only((const int[]){fd, all.fd}, 2);
	inherited_drop_stderr();
	pid = fork();
	if (pid == 0) {
		follow_parent(parent);
		/* `killall /usr/bin/redlock` must not reach it either. */
		child_exec_under_loader(NAME, fd);
		report_signals(fd, &all);
	}
	close(fd);
	if (pid < 0)
		_exit(1);
	wait_for_probe(pid);
}

/* ---- main's side ---- */

void probe_open(struct probe *p)
{
	pid_t redlock = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	p->pid = fork();
	if (p->pid == 0) {
		close(ends[0]);
		start_probe(ends[1], redlock);
	}
	close(ends[1]);
	p->fd = ends[0];
	if (p->pid < 0) {
		close(p->fd);
		p->pid = 0;
	}
}

/* Takes the next report, if one arrives by then. Returns false if none arrives. */
static bool take_report(struct probe *p, usec until)
{
	struct pollfd arrived = {.fd = p->fd, .events = POLLIN};
	usec left = until - clock_now();
	struct probe_report report;

	if (alarm_wait(&arrived, 1, usec_max(left, 0)) <= 0 ||
		recv(p->fd, &report, sizeof(report), MSG_DONTWAIT) != (ssize_t)sizeof(report))
		return false;
	if (report.number == 0)
		p->has_answered = true;
	else
		p->reports[p->count++ % PROBE_SIGNALS] = report;
	return true;
}

static void take_all(struct probe *p)
{
	while (p->pid > 0 && take_report(p, 0))
		;
}

void probe_check(struct probe *p)
{
	int status;

	if (p->pid <= 0 || waitpid(p->pid, &status, WNOHANG | WUNTRACED) != p->pid)
		return;
	if (WIFSTOPPED(status)) {
		kill(p->pid, SIGCONT);
		return;
	}
	take_all(p);
	close(p->fd);
	p->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		probe_open(p);
}

static bool has_received(const struct probe *p, const struct caught *caught)
{
	usec since = clock_now() - SAME_TIME;

	for (unsigned i = 0; i < p->count && i < PROBE_SIGNALS; i++)
		if (p->reports[i].number == caught->number &&
			p->reports[i].sender == caught->sender && p->reports[i].at >= since)
			return true;
	return false;
}

/* Returns true if no signal is left that could be in a later report. */
static bool mark(const struct probe *p, struct caught caught[], int count)
{
	bool is_complete = true;

	for (int i = 0; i < count; i++) {
		if (!caught[i].group && has_received(p, &caught[i]))
			caught[i].group = getpgrp();
		is_complete &= caught[i].group != 0;
	}
	return is_complete;
}

void probe_mark(struct probe *p, struct caught caught[], int count)
{
	usec until = clock_now() + ARRIVAL_TIME;

	take_all(p);
	while (!mark(p, caught, count) && p->pid > 0 && take_report(p, until))
		;
	if (mark(p, caught, count) || p->pid <= 0)
		return;
	/* On a busy machine, the probe may not have run yet. */
	p->has_answered = false;
	(void)send(p->fd, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	until = clock_now() + ANSWER_TIME;
	while (!p->has_answered && take_report(p, until))
		;
	(void)mark(p, caught, count);
}

void probe_dismiss(struct probe *p)
{
	if (p->pid <= 0 || p->fd < 0)
		return;
	/* The probe ends, then its parent. */
	close(p->fd);
	p->fd = -1;
	kill(p->pid, SIGCONT);
}

/* Returns false if the process was stopped. */
static bool reap(pid_t pid)
{
	int status;
	pid_t got = waitpid(pid, &status, WUNTRACED);

	return got < 0 ? errno != EINTR : !WIFSTOPPED(status);
}

void probe_close(struct probe *p)
{
	if (p->pid <= 0)
		return;
	probe_dismiss(p);
	/* A signal to the group may stop it before it ends. */
	while (!reap(p->pid))
		kill(p->pid, SIGCONT);
	p->pid = 0;
}
