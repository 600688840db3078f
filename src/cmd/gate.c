/*
 * redlock gate: the resource's side of fencing. Runs a command only if its fencing number is not
 * lower than the highest number seen so far, and stores the number first.
 *
 * The store is locked (flock) from before the comparison until the command has ended, as the
 * command inherits the lock: a command with a lower number never runs at the same time as one with
 * a higher. The number is on disk before the command starts. A new number is written to a new file,
 * which is locked before it is renamed to the store: a gate that is killed leaves either the old or
 * the new number.
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
#include "proto/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Shell scripts use lower descriptors themselves. */
#define INHERITED_FD 10

struct gate {
	const struct settings *settings;
	char store[300]; /* for messages */
	struct file_place place;
	usec until; /* when --wait ends */
	int lock; /* descriptor of the locked store; closed at exec */
};

/* A symbolic link, a pipe or a folder is a wrong setting; other errors are those of this
 * machine. */
static int fail(const struct gate *g, const char *what, int error)
{
	bool is_wrong = error == ELOOP || error == EINVAL || error == EISDIR;

	log_say(LOG_ERRORS, "cannot %s --store '%s': %s", what, g->store, file_reason(error));
	return is_wrong ? STATUS_CONFIG : STATUS_INTERNAL;
}

static int refuse_busy(const struct gate *g)
{
	log_say(LOG_NORMAL, "'%s' is busy: another command of this gate is still running",
		g->store);
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
		error = file_lock(&g->place, g->place.name, 0, g->until, &g->lock);
		if (error == ETIMEDOUT)
			return refuse_busy(g);
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

int cmd_gate(struct settings *s)
{
	char *const *argv = s->operands;
	struct gate g = {.settings = s, .until = usec_add(clock_now(), s->wait)};
	struct program_failure why;
	int error, status;

	if (!argv[0]) {
		log_say(LOG_ERRORS, "missing command");
		log_hint(LOG_ERRORS, "redlock gate --fence N --store FILE -- COMMAND");
		return STATUS_USAGE;
	}
	utf8_escape(g.store, sizeof(g.store), s->store, strlen(s->store));
	error = file_open_place(&g.place, s->store);
	status = error ? fail(&g, "open", error) : pass(&g);
	file_close_place(&g.place);
	if (status != STATUS_OK)
		return status;
	if (fcntl(g.lock, F_DUPFD, INHERITED_FD) < 0)
		return fail(&g, "keep the lock of", errno);
	hide_secrets();
	program_explain(&why, argv[0], child_become(argv));
	return supervise_cannot_run(argv[0], &why, "sh -c");
}
