/*
 * redlock gate: the resource's side of fencing. Runs a command only if its fencing number is not
 * lower than the highest number seen so far, and stores the number first.
 *
 * The store is locked (flock) from before the comparison until the command and all its descendants
 * have ended: a command with a lower number never runs at the same time as one with a higher. Three
 * hold that lock: main, the supervisor, and the command, which inherits a descriptor. Programs that
 * close inherited descriptors (sudo, Python's subprocess, many daemons) are of the supervisor's
 * tree; and the descriptor keeps the store locked when main and supervisor are killed at once.
 *
 * The number is on disk before the command starts. A new number is written to a new file, which is
 * locked before it is renamed to the store: a gate that is killed leaves either the old or the new
 * number.
 */
#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/supervise.h"
#include "file/file.h"
#include "proc/child.h"
#include "proc/program.h"
#include "proc/tree.h"
#include "proto/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shell scripts use lower descriptors themselves. */
#define INHERITED_FD 10

/* The time between TERM and KILL after main was killed, unless --kill-after sets it: a command
 * without a deadline gets the longest one of `run`. */
#define GRACE (10 * USEC_SEC)

#define WAITING_AFTER USEC_SEC

struct gate {
	const struct settings *settings;
	char store[300]; /* for messages */
	char name[303]; /* in quotes */
	struct file_place place;
	usec began;
	usec until; /* when --wait ends */
	bool has_said_waiting;
	int lock; /* descriptor of the locked store; closed at exec */
	struct signals signals;
	struct supervision watch;
};

/* A store that cannot be used is a wrong setting, unless memory, descriptors or locks are used up.
 */
static int fail(const struct gate *g, const char *what, int error)
{
	bool is_shortage = error == ENOMEM || error == EMFILE || error == ENFILE || error == ENOLCK;

	log_say(LOG_ERRORS, "cannot %s --store '%s': %s", what, g->store, file_reason(error));
	return is_shortage ? STATUS_INTERNAL : STATUS_CONFIG;
}

static int refuse_busy(const struct gate *g)
{
	log_say(LOG_NORMAL, "'%s' is busy: another command of this gate is still running",
		g->store);
	return (int)g->settings->conflict_exit_code;
}

/* *store is all 0 if the store is gone at this moment. */
static void look_at(const struct gate *g, struct stat *store)
{
	if (fstatat(g->place.dir, g->place.name, store, AT_SYMLINK_NOFOLLOW) < 0)
		*store = (struct stat){0};
}

SELDOM static void say_waiting(const struct gate *g)
{
	char name[TREE_NAME_MAX], shown[4 * TREE_NAME_MAX];
	struct stat store;
	pid_t locker;

	look_at(g, &store);
	locker = tree_locker(&store, name);
	if (locker)
		log_say(LOG_NORMAL, "waiting: %s is locked by process %d (%s)", g->name,
			(int)locker, utf8_escape(shown, sizeof(shown), name, strlen(name)));
	else
		log_say(LOG_NORMAL,
			"waiting: %s is busy: another command of this gate is still running",
			g->name);
}

/* Waiting for a store that a process above this one has locked would never end. Returns 0, or an
 * errno: EDEADLK for such a store, ETIMEDOUT for one that stayed busy. */
static int lock_store(struct gate *g)
{
	const struct file_place *at = &g->place;
	int error = file_lock(at, at->name, 0, 0, &g->lock);
	struct stat store;

	if (error != ETIMEDOUT)
		return error;
	look_at(g, &store);
	if (tree_locks(&store))
		return EDEADLK;
	error = file_lock(at, at->name, 0, usec_min(g->until, g->began + WAITING_AFTER), &g->lock);
	if (error != ETIMEDOUT || g->until <= g->began + WAITING_AFTER)
		return error;
	if (!g->has_said_waiting)
		say_waiting(g);
	g->has_said_waiting = true;
	return file_lock(at, at->name, 0, g->until, &g->lock);
}

static int refuse_nested(const struct gate *g)
{
	log_say(LOG_NORMAL, "%s is locked by a process in which this gate runs", g->name);
	log_hint(LOG_NORMAL, "name another --store for the inner gate");
	return (int)g->settings->conflict_exit_code;
}

static int refuse(const struct gate *g, long newest)
{
	log_say(LOG_ERRORS, "fencing number %ld is too old: '%s' has seen %ld",
		g->settings->gate_fence, g->store, newest);
	return STATUS_STALE;
}

/* Reads the number in the locked store. Returns a status. */
static int read_number(const struct gate *g, long *newest)
{
	char text[32];
	ssize_t n = read(g->lock, text, sizeof(text) - 1);

	if (n < 0)
		return fail(g, "read", errno);
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (text_number(text, 1, FENCE_MAX, newest))
		return STATUS_OK;
	log_say(LOG_ERRORS, "--store '%s' has no fencing number in it", g->store);
	log_hint(LOG_ERRORS, "write the newest fencing number that was used to this file");
	return STATUS_CONFIG;
}

/* Returns an errno, or 0: g->lock is then the lock of the new store. The lock of the old one ends
 * at exec. */
static int write_number(struct gate *g, bool is_new)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld\n", g->settings->gate_fence);

	return file_put(&g->place, text, (size_t)len, 0600, is_new, &g->lock);
}

/* Returns STATUS_OK when the store is locked and has the number; else another status. */
static int pass(struct gate *g)
{
	int error, status = STATUS_OK;
	long newest = 0;

	do {
		error = lock_store(g);
		if (error == ETIMEDOUT)
			return refuse_busy(g);
		if (error == EDEADLK)
			return refuse_nested(g);
		if (error && error != ENOENT)
			return fail(g, "lock", error);
		if (!error)
			status = read_number(g, &newest);
		if (status != STATUS_OK || g->settings->gate_fence == newest)
			return status;
		if (g->settings->gate_fence < newest)
			return refuse(g, newest);
		error = write_number(g, error == ENOENT);
	} while (error == EEXIST); /* another gate has created the store */
	return error ? fail(g, "write", error) : STATUS_OK;
}

/* Removes the same secrets from the environment as `run` does for its command. */
static void hide_secrets(void)
{
	const char *urls = getenv("REDLOCK_NODES");
	char shown[NODES_MAX * NODE_LABEL_MAX];
	struct node_list nodes = {.count = 0};
	struct err ignored;

	unsetenv("REDLOCK_PASSWORD");
	if (!getenv("REDLOCK_PASSWORD_FILE"))
		unsetenv("REDLOCK_USERNAME");
	if (!urls)
		return;
	node_list_format(
		node_list_add(&nodes, urls, &ignored) == 0 ? &nodes : &(struct node_list){0}, shown,
		sizeof(shown));
	setenv("REDLOCK_NODES", shown, 1);
}

/* Returns false after a message: on such a system only the inherited descriptor keeps the store
 * locked. */
static bool can_supervise(const struct gate *g)
{
	struct err e;

	if (tree_is_visible() && supervisor_try(&e) == 0)
		return true;
	if (!tree_is_visible())
		err_set(&e, ERR_SYSTEM,
			"cannot supervise the command: /proc does not show this process");
	log_say(LOG_NORMAL, "%s", e.text);
	log_hint(LOG_NORMAL,
		"programs that close inherited descriptors, such as sudo, run on while '%s' is "
		"free",
		g->store);
	return false;
}

static int become(const struct gate *g)
{
	char *const *argv = g->settings->operands;
	struct program_failure why;

	program_explain(&why, argv[0], child_become(argv, &g->signals));
	return supervise_cannot_run(argv[0], &why, "sh -c");
}

static int start(struct gate *g, struct err *e)
{
	const struct settings *s = g->settings;
	const char *outer = getenv("REDLOCK_HELD");
	const struct supervisor_policy policy = {
		.deadline = {.on_lost = SIGTERM,
			.grace = s->kill_after == NEVER ? GRACE : s->kill_after,
			.kill_after = s->kill_after,
			.signal = SIGTERM,
			.reap = deadline_reap_time(s->ttl),
			.max_run = NEVER},
		.is_nested = outer && *outer,
		.file_lock = g->lock,
	};

	if (supervise_open(&g->watch, &g->signals, g->name, e) < 0 ||
		supervisor_prepare(&g->watch.supervisor, s->operands, &g->signals, &policy, e) < 0)
		return -1;
	supervise_start(&g->watch);
	return 0;
}

/* The command keeps the store locked, and so does the supervisor if the command leaves processes
 * behind. */
static int supervise(struct gate *g)
{
	struct supervision *v = &g->watch;
	struct err e;

	if (start(g, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	log_never_block();
	while (!v->is_over)
		supervise_step(v, -1);
	supervise_close(v);
	supervise_log_kill(v, false);
	if (v->end.kind == SUPERVISOR_FAILED)
		return supervise_not_started(v, g->settings->operands[0], "sh -c");
	if (v->replacing)
		return supervise_supervisor_killed();
	if (WIFSIGNALED(v->end.number))
		signals_die(WTERMSIG(v->end.number));
	return WEXITSTATUS(v->end.number);
}

int cmd_gate(struct settings *s)
{
	const usec now = clock_now();
	struct gate g = {.settings = s, .began = now, .until = usec_add(now, s->wait)};
	struct err e;
	int error, status;

	if (!s->operands[0]) {
		log_say(LOG_ERRORS, "missing command");
		log_hint(LOG_ERRORS, "redlock gate --fence N --store FILE -- COMMAND");
		return STATUS_USAGE;
	}
	utf8_escape(g.store, sizeof(g.store), s->store, strlen(s->store));
	snprintf(g.name, sizeof(g.name), "'%s'", g.store);
	error = file_open_place(&g.place, s->store);
	status = error ? fail(&g, "open", error) : pass(&g);
	file_close_place(&g.place);
	if (status != STATUS_OK)
		return status;
	if (fcntl(g.lock, F_DUPFD, INHERITED_FD) < 0)
		/* A limit of open files that is not above INHERITED_FD is EINVAL. */
		return fail(&g, "keep the lock of", errno == EINVAL ? EMFILE : errno);
	hide_secrets();
	if (signals_open(&g.signals, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	return can_supervise(&g) ? supervise(&g) : become(&g);
}
