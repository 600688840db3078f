/*
 * redlock gate: the resource's side of fencing. Runs a command only if its fencing number is not
 * older than the newest that was seen, and remembers the number first.
 *
 * The store's lock is held from before the comparison until the command, which inherits it, is
 * gone: an older command is never at work when a newer one begins. The number is on disk before the
 * command starts; the file is replaced as a whole, so that whoever is cut short leaves the old
 * number or the new one.
 */
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/supervise.h"
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 20

/* The newest number in the store; 0: none yet. -1: *e says why it cannot be told. */
static int64_t read_store(const char *store, struct err *e)
{
	char text[32];
	int fd = open(store, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	long newest;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(
			e, ERR_CONFIG, "cannot read --store '%s': %s", store, strerror(errno));
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return err_set(
			e, ERR_CONFIG, "cannot read --store '%s': %s", store, strerror(errno));
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!text_number(text, 1, LONG_MAX, &newest)) {
		err_set(e, ERR_CONFIG, "--store '%s' has no fencing number in it", store);
		return err_hint(e, "nothing is run: put the newest number there that was used");
	}
	return newest;
}

static int sync_folder(const char *file)
{
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s", file);
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	close(fd);
	return rc;
}

static int write_store(const char *store, int64_t number, struct err *e)
{
	char draft[PATH_MAX], text[32];
	int len = snprintf(text, sizeof(text), "%lld\n", (long long)number), fd;
	bool ok;

	snprintf(draft, sizeof(draft), "%s.new", store);
	fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ok = fd >= 0 && write(fd, text, (size_t)len) == len && fsync(fd) == 0;
	if (fd >= 0 && close(fd) < 0)
		ok = false;
	if (ok && rename(draft, store) == 0 && sync_folder(store) == 0)
		return 0;
	err_set(e, ERR_SYSTEM, "cannot write --store '%s': %s", store, strerror(errno));
	(void)unlink(draft);
	return -1;
}

/* Takes the lock beside the store. Returns its descriptor, -1 with *e, or -2: busy for the whole
 * wait. */
static int lock_store(const struct settings *s, struct err *e)
{
	char path[PATH_MAX];
	usec until = usec_add(clock_now(), s->wait);
	int fd;

	snprintf(path, sizeof(path), "%s.lock", s->store);
	/* Not closed on exec: the command keeps it. */
	fd = open(path, O_RDWR | O_CREAT, 0644);
	if (fd < 0)
		return err_set(e, ERR_SYSTEM, "cannot open '%s': %s", path, strerror(errno));
	if (s->wait == NEVER) {
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return err_set(e, ERR_SYSTEM, "cannot lock '%s': %s", path,
					strerror(errno));
		return fd;
	}
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(
				e, ERR_SYSTEM, "cannot lock '%s': %s", path, strerror(errno));
		if (clock_now() >= until)
			return -2;
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	}
	return fd;
}

static int refuse(const struct settings *s, int64_t newest)
{
	out_say(OUT_ERRORS, "fencing number %ld is older than %lld, which '%s' has seen",
		s->gate_fence, (long long)newest, s->store);
	return STATUS_STALE;
}

/* What it becomes finds no more secrets than a command of 'run' does. */
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

int cmd_gate(struct settings *s, char *const argv[])
{
	struct err e = {.kind = ERR_SYSTEM};
	int64_t newest;
	int fd;

	if (!argv[0]) {
		out_say(OUT_ERRORS, "no command to run");
		out_hint(OUT_ERRORS, "redlock gate --fence N --store FILE -- COMMAND");
		return STATUS_USAGE;
	}
	fd = lock_store(s, &e);
	if (fd == -2) {
		out_say(OUT_NORMAL, "'%s' is busy: another command is at work behind this gate",
			s->store);
		return (int)s->conflict_exit_code;
	}
	newest = fd < 0 ? -1 : read_store(s->store, &e);
	if (newest >= 0 && s->gate_fence < newest)
		return refuse(s, newest);
	if (newest < 0 ||
		(s->gate_fence > newest && write_store(s->store, s->gate_fence, &e) < 0)) {
		out_err(&e);
		return status_of(e.kind);
	}
	hide_secrets();
	return supervise_cannot_run(argv[0], child_become(argv));
}
