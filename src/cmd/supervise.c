#include "cmd/supervise.h"

#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/mask.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STUBBORN_MESSAGE_INTERVAL (10 * USEC_SEC)

/* The pause between two attempts to end processes that the supervisor does not end. */
#define SWEEP_APART (10 * USEC_MSEC)
#define SWEEP_APART_LATER (200 * USEC_MSEC)
#define STUBBORN_AFTER USEC_SEC

/* The accounts of services have a program in the place of a shell that runs no commands. */
static bool is_no_shell(const char *shell)
{
	static const char *const names[] = {
		"nologin", "false", "true", "sync", "halt", "shutdown", "git-shell"};
	const char *slash = strrchr(shell, '/'), *name = slash ? slash + 1 : shell;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

char *supervise_shell(void)
{
	char *shell = getenv("SHELL"), shown[200];
	bool is_there;

	if (!shell || !*shell)
		return "/bin/sh";
	is_there = program_exists(shell);
	if (is_there && !is_no_shell(shell))
		return shell;
	log_say(LOG_DECISIONS, "SHELL '%s' is not used, but /bin/sh: it %s",
		utf8_escape(shown, sizeof(shown), shell, strlen(shell)),
		is_there ? "runs no commands" : "cannot be run");
	return "/bin/sh";
}

int supervise_open(struct supervision *v, struct signals *signals, const char *name, struct err *e)
{
	*v = (struct supervision){
		.signals = signals,
		.name = name,
		.replace_at = NEVER,
		.sweep_apart = SWEEP_APART,
		.stubborn_at = NEVER,
	};
	v->alarm = alarm_open(e);
	return v->alarm < 0 ? -1 : 0;
}

void supervise_detach(struct supervision *v)
{
	supervisor_detach();
	probe_open(&v->probe);
}

/* ---- signals ---- */

/* `kill 0` in the command signals our process group, too: the command has received that signal
 * already. */
static bool came_from_command(const struct supervision *v, const struct caught *caught)
{
	return caught->sender > 0 && getpgid(caught->sender) == getpgrp() &&
	       tree_has(v->supervisor.pid, caught->sender);
}

static void forward(
	struct supervision *v, const struct caught *caught, const struct tree_birth *arrived)
{
	v->has_fatal_signal |= caught->is_fatal;
	if (caught->is_fatal || !caught->command_has_it)
		supervisor_signal(&v->supervisor, caught, arrived);
}

bool supervise_take_signals(struct supervision *v)
{
	struct caught caught[PROBE_SIGNALS];
	struct tree_birth arrived = {0};
	bool resumed = false;
	int count = 0;

	while (count < PROBE_SIGNALS && signals_next(v->signals, &caught[count]))
		switch (caught[count].number) {
		case SIGCHLD:
			supervisor_check(&v->supervisor);
			probe_check(&v->probe);
			break;
		case SIGCONT:
			resumed = true;
			break;
		default:
			/* Now, before the sender can end. */
			if (came_from_command(v, &caught[count])) {
				caught[count].command_has_it = true;
				caught[count].group = getpgrp();
			}
			count++;
			break;
		}
	if (count > 0)
		arrived = tree_now();
	probe_mark(&v->probe, caught, count);
	for (int i = 0; i < count; i++)
		forward(v, &caught[i], &arrived);
	return resumed;
}

/* ---- the supervisor ---- */

static void log_stubborn(const struct supervision *v, const struct tree *tree)
{
	char name[TREE_NAME_MAX * 4];

	if (tree->alive == 0) {
		log_say(LOG_ERRORS, "%s: still waiting for processes that /proc does not show",
			v->name);
		return;
	}
	utf8_escape(name, sizeof(name), tree->name, strlen(tree->name));
	log_say(LOG_ERRORS, "%s: still waiting for %d process%s that %s, such as %d (%s)", v->name,
		tree->alive, tree->alive == 1 ? "" : "es",
		tree->refused      ? "this user may not end"
		: tree->alive == 1 ? "does not end"
				   : "do not end",
		(int)tree->pid, name);
}

/* A message that the command was stopped may be outdated when it is read, not only if we were
 * stopped and continued since: the supervisor may have been slow. So check the process as well. */
void supervise_read(struct supervision *v, bool stop_is_old)
{
	enum supervisor_reading reading;
	struct supervisor_message message;

	while (!v->is_over && !v->supervisor_is_dead &&
		(reading = supervisor_read(&v->supervisor, &message)) != SUPERVISOR_READ_NOTHING) {
		if (reading == SUPERVISOR_READ_DEATH) {
			v->supervisor_is_dead = v->replacing = true;
			v->replace_at = 0;
			return;
		}
		switch (message.kind) {
		case SUPERVISOR_STOPPED:
			if (!stop_is_old && tree_is_stopped(message.pid))
				signals_stop_with(message.pid);
			break;
		case SUPERVISOR_STUBBORN:
			log_stubborn(v, &message.tree);
			if (!message.is_killed)
				log_hint(LOG_ERRORS, "--kill-after D ends them by SIGKILL; "
						     "the lock is kept until then");
			break;
		case SUPERVISOR_FAILED:
		case SUPERVISOR_ENDED:
			v->end = message;
			v->is_over = true;
			probe_dismiss(&v->probe);
			break;
		}
	}
}

void supervise_replace(struct supervision *v, usec now)
{
	struct tree tree;
	bool is_gone;

	/* Otherwise it would count as a process of the command. */
	probe_close(&v->probe);
	is_gone = supervisor_take_over(&v->supervisor, &tree);

	v->replacing = true;
	v->replace_at = now + v->sweep_apart;
	if (!is_gone) {
		v->stubborn_at = usec_min(v->stubborn_at, now + STUBBORN_AFTER);
		if (now >= v->stubborn_at) {
			log_stubborn(v, &tree);
			v->stubborn_at = now + STUBBORN_MESSAGE_INTERVAL;
			v->sweep_apart = SWEEP_APART_LATER;
		}
		return;
	}
	v->end = (struct supervisor_message){
		.kind = SUPERVISOR_ENDED, .is_killed = true, .ended_at = clock_now()};
	v->is_over = true;
}

void supervise_start(struct supervision *v)
{
	struct caught early[PROBE_SIGNALS];
	const struct tree_birth now = tree_now();
	int count = 0;

	while (count < PROBE_SIGNALS && signals_next(v->signals, &early[count]))
		if (early[count].is_fatal)
			count++;
	supervisor_start(&v->supervisor, NEVER, 0);
	/* They came before the command, maybe before the supervisor. */
	for (int i = 0; i < count; i++) {
		early[i].command_has_it = false;
		early[i].group = 0;
		forward(v, &early[i], &now);
	}
	v->detach_at = clock_now() + DETACH_AFTER;
	supervisor_check(&v->supervisor); /* it may be stopped already */
}

void supervise_step(struct supervision *v, int other)
{
	struct pollfd fds[] = {
		{.fd = v->signals->fd, .events = POLLIN},
		{.fd = v->supervisor_is_dead ? -1 : supervisor_fd(&v->supervisor),
			.events = POLLIN},
		{.fd = v->alarm, .events = POLLIN},
		{.fd = other, .events = POLLIN},
	};
	bool resumed;

	alarm_set(v->alarm, usec_min(v->replace_at, v->detach_at));
	(void)alarm_wait(fds, sizeof(fds) / sizeof(fds[0]), NEVER);
	if (clock_now() >= v->detach_at) {
		supervise_detach(v);
		v->detach_at = NEVER;
	}
	resumed = supervise_take_signals(v);
	if (resumed)
		supervisor_resume(&v->supervisor);
	supervise_read(v, resumed);
	if (!v->is_over && clock_now() >= v->replace_at)
		supervise_replace(v, clock_now());
}

void supervise_close(struct supervision *v)
{
	if (!v->end.stays)
		supervisor_close(&v->supervisor);
	probe_close(&v->probe);
}

/* ---- messages at the end ---- */

/* A file that does not exist counts from the working directory; its last part may be all that is
 * missing. */
static void hint_missing(const char *path, const char *missing)
{
	if (strcmp(path, missing) != 0)
		log_hint(LOG_ERRORS, "'%s' does not exist", missing);
	else if (path[0] != '/')
		log_hint(LOG_ERRORS,
			"use an absolute path in cron, CI and units: a relative path counts from "
			"the working directory");
	else
		log_hint(LOG_ERRORS, "check the name: its folder has no such file");
}

static void hint_runnable(
	const char *command, const struct program_failure *why, const char *by_shell)
{
	char path[PROGRAM_TEXT_MAX * 4], detail[PROGRAM_TEXT_MAX * 4];
	bool is_unknown = why->problem == PROGRAM_UNKNOWN || why->problem == PROGRAM_MISSING;

	mask_escape_word(path, sizeof(path), why->path);
	utf8_escape(detail, sizeof(detail), why->detail, strlen(why->detail));
	if (is_unknown && duration_hint(command)) {
		log_hint(LOG_ERRORS, "%s", duration_hint(command));
		return;
	}
	if (is_unknown && strpbrk(command, " |&;<>=")) {
		log_hint(LOG_ERRORS,
			"a string for the shell goes with %s; otherwise COMMAND and each ARG are "
			"separate arguments",
			by_shell);
		return;
	}
	switch (why->problem) {
	case PROGRAM_OTHER:
		break;
	case PROGRAM_EMPTY:
		log_hint(LOG_ERRORS, "check the variable that the command comes from");
		break;
	case PROGRAM_UNKNOWN:
		log_hint(LOG_ERRORS, "no folder of PATH has it: %s", *detail ? detail : "(unset)");
		break;
	case PROGRAM_IS_HERE:
		log_hint(LOG_ERRORS, "the working directory has it: ./%s", path);
		break;
	case PROGRAM_BUILTIN:
		log_hint(LOG_ERRORS, "it is a builtin of the shell: %s '%s ...'", by_shell, path);
		break;
	case PROGRAM_MISSING:
		hint_missing(path, detail);
		break;
	case PROGRAM_FOLDER:
		log_hint(LOG_ERRORS, "name a program in it");
		break;
	case PROGRAM_NOT_EXECUTABLE:
		log_hint(LOG_ERRORS,
			"'chmod +x' makes it executable; or name its interpreter first: sh '%s'",
			path);
		break;
	case PROGRAM_NO_EXEC_MOUNT:
		log_hint(LOG_ERRORS, "name its interpreter first, such as sh, or move it");
		break;
	case PROGRAM_INTERPRETER:
		log_hint(LOG_ERRORS, "correct the first line of the script, or install '%s'",
			detail);
		break;
	case PROGRAM_CARRIAGE_RETURN:
		log_hint(LOG_ERRORS, "remove the CR at the end of its lines: dos2unix");
		break;
	case PROGRAM_LOADER:
		log_hint(LOG_ERRORS, "it was built for another system or C library; 'file' shows "
				     "which");
		break;
	}
}

/* Returns what is wrong with the file; NULL: the errno's own text is best. */
static const char *problem_words(const struct program_failure *why)
{
	switch (why->problem) {
	case PROGRAM_EMPTY:
		return "the name is empty";
	case PROGRAM_FOLDER:
		return "it is a folder";
	case PROGRAM_NOT_EXECUTABLE:
		return "it is not executable";
	case PROGRAM_NO_EXEC_MOUNT:
		return "its file system is mounted noexec";
	case PROGRAM_INTERPRETER:
	case PROGRAM_CARRIAGE_RETURN:
		return why->error == ENOENT ? "its interpreter does not exist"
					    : "its interpreter is not executable";
	case PROGRAM_LOADER:
		return "its loader does not exist";
	case PROGRAM_OTHER:
	case PROGRAM_UNKNOWN:
	case PROGRAM_IS_HERE:
	case PROGRAM_BUILTIN:
	case PROGRAM_MISSING:
		break;
	}
	return NULL;
}

int supervise_cannot_run(
	const char *command, const struct program_failure *why, const char *by_shell)
{
	const char *words = problem_words(why);
	char shown[PROGRAM_TEXT_MAX];

	mask_escape_word(shown, sizeof(shown), why->path);
	if (words || why->error != ENOENT)
		log_say(LOG_ERRORS, "cannot run '%s': %s", shown,
			words ? words : strerror(why->error));
	else
		log_say(LOG_ERRORS, "cannot run '%s': command not found", shown);
	hint_runnable(command, why, by_shell);
	return why->error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

int supervise_not_started(const struct supervision *v, const char *command, const char *by_shell)
{
	int error = v->end.number;
	struct err e;

	if (error == ESRCH) {
		log_say(LOG_ERRORS, "cannot start the command: /proc does not show this process");
		log_hint(LOG_ERRORS,
			"mount a /proc of this pid namespace: descendants are found there");
		return STATUS_INTERNAL;
	}
	if (v->end.pid < 0) {
		err_system(&e, ERR_SYSTEM, error, "cannot start the command");
		log_err(&e);
		return STATUS_INTERNAL;
	}
	return supervise_cannot_run(command, &v->end.why, by_shell);
}

int supervise_supervisor_killed(void)
{
	log_say(LOG_ERRORS,
		"the command's supervisor was killed, and the command was ended with it");
	return STATUS_INTERNAL;
}

void supervise_log_kill(const struct supervision *v, bool at_once)
{
	/* If the supervisor was killed, another message says so. */
	if (v->end.is_killed && !v->replacing)
		log_say(LOG_NORMAL,
			at_once ? "the command was killed (SIGKILL)"
				: "the command did not end in time and was killed (SIGKILL)");
}

void supervise_log_remaining(const struct tree *tree, const char *what)
{
	char name[TREE_NAME_MAX * 4];

	utf8_escape(name, sizeof(name), tree->name, strlen(tree->name));
	log_say(LOG_NORMAL, "the command left %d process%s running without %s, %s%d (%s)",
		tree->alive, tree->alive == 1 ? "" : "es", what, tree->alive == 1 ? "" : "such as ",
		(int)tree->pid, name);
}
