/*
 * redlock sandbox: a command, or a shell, with throwaway nodes that end with it.
 *
 * A child, the keeper, starts the servers and is their parent; a supervisor watches over the
 * command as in a run. Whoever of us is killed, the others see it and tidy up: the keeper ends the
 * servers and removes the folder when we are gone, and we do so when the keeper is, with which the
 * kernel has killed the servers. If both are killed at once, the next sandbox removes what is left.
 */
#include "base/exit.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/supervise.h"
#include "io/background.h"
#include "io/folder.h"
#include "io/servers.h"
#include "io/title.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The longest that the servers may take to start, on a busy machine. */
#define START_PATIENCE (30 * USEC_SEC)

/* Between two looks at servers that start. */
#define LOOKS_APART_MS 2

/* A command that is asked to end may tidy up for so long. */
#define KILL_AFTER (10 * USEC_SEC)

struct sandbox {
	struct settings *settings;
	char *const *argv; /* of the command, */
	bool is_shell; /* which was not named */
	char program[PATH_MAX]; /* what the nodes run */
	struct folder folder;
	pid_t keeper;
	bool keeper_is_dead;
	struct signals signals;
	struct supervision watch;
};

/* ---- the keeper ---- */

struct keeper {
	int children; /* readable when one has ended */
	struct servers servers;
};

/* Returns when there is news, or after so many milliseconds. */
static void sleep_for(struct keeper *k, int ms)
{
	struct pollfd fds[] = {
		{.fd = background_fd(), .events = POLLIN}, {.fd = k->children, .events = POLLIN}};

	if (poll(fds, 2, ms) < 0)
		assert(errno == EINTR || errno == ENOMEM);
	signals_drain(k->children);
	servers_reap(&k->servers);
}

/* Until all of them vote. Returns -1 with *e, which says nothing if nobody waits for that. */
static int await(struct keeper *k, struct err *e)
{
	usec until = clock_now() + START_PATIENCE;

	while (!servers_ask(&k->servers)) {
		sleep_for(k, LOOKS_APART_MS);
		if (background_read() == BACKGROUND_END) {
			e->kind = ERR_NONE;
			return -1;
		}
		if (servers_failed(&k->servers) || clock_now() >= until)
			return servers_explain(&k->servers, e);
	}
	query_close(&k->servers.query);
	return 0;
}

static int start(struct keeper *k, const struct sandbox *b, struct err *e)
{
	struct signals found;

	if (signals_open(&found, e) < 0 || signals_only_children(&k->children, e) < 0)
		return -1;
	return servers_start(
		&k->servers, b->program, b->folder.path, &b->settings->nodes, &found, e);
}

static bool tidy_up(struct folder *folder)
{
	servers_end_others(folder->path);
	return folder_remove(folder);
}

/* What sandboxes that were killed as a whole have left. */
static void sweep(void)
{
	struct folder_walk walk;
	struct folder folder;

	folder_walk_open(&walk);
	while (folder_walk_next(&walk, &folder))
		(void)tidy_up(&folder);
	folder_walk_close(&walk);
}

/* The child's life. */
static int be_keeper(struct sandbox *b)
{
	static struct keeper k;
	int status = STATUS_OK;
	struct err e;

	/* `pkill -9 -f 'redlock sandbox'` must not kill both of us. */
	title_set("rl-sandbox");
	/* Stopped, it would not hear that redlock was killed. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (start(&k, b, &e) < 0 || await(&k, &e) < 0) {
		status = status_of(e.kind);
		if (status != STATUS_OK)
			log_err(&e);
	} else {
		background_ready();
		sweep();
		while (background_read() != BACKGROUND_END)
			sleep_for(&k, -1);
	}
	servers_end(&k.servers);
	(void)tidy_up(&b->folder);
	if (status != STATUS_OK)
		background_refuse(status);
	return status;
}

/* ---- before that ---- */

/* The operands, or a shell; NULL: it was said what is wrong. */
static char *const *find_command(char *const operands[])
{
	static char *shell[] = {NULL, NULL};

	if (operands[0])
		return operands;
	if (!isatty(STDIN_FILENO)) {
		log_say(LOG_ERRORS, "no command to run, and no terminal for a shell");
		log_hint(LOG_ERRORS, "redlock sandbox -- COMMAND; see 'redlock help sandbox'");
		return NULL;
	}
	shell[0] = supervise_shell();
	return shell;
}

static int name_nodes(struct sandbox *b, struct err *e)
{
	struct node_list *nodes = &b->settings->nodes;
	char url[FOLDER_PATH_MAX + sizeof(SERVERS_URL) + 8];

	nodes->count = 0;
	for (int i = 1; i <= b->settings->servers; i++) {
		snprintf(url, sizeof(url), SERVERS_URL, b->folder.path, i);
		if (node_list_add(nodes, url, e) < 0)
			return -1;
	}
	return 0;
}

/* What the command finds. What is said of other nodes, of locks there or of their passwords, is
 * not meant for these; and a configuration file might have some. */
static void set_environment(const struct sandbox *b)
{
	static const char *const of_others[] = {"KEY", "KEYS", "TOKEN", "TTL_MS", "FENCE", "SLOT",
		"LIMIT", "KEEPER", "USERNAME", "PASSWORD", "PASSWORD_FILE", "PROFILE"};
	char nodes[NODES_MAX * NODE_LABEL_MAX], name[32];

	for (size_t i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++) {
		snprintf(name, sizeof(name), "REDLOCK_%s", of_others[i]);
		unsetenv(name);
	}
	node_list_format(&b->settings->nodes, nodes, sizeof(nodes));
	setenv("REDLOCK_NODES", nodes, 1);
	setenv("REDLOCK_SANDBOX", b->folder.path, 1);
	setenv("REDLOCK_CONFIG", "/dev/null", 1);
}

/* ---- the command ---- */

static void welcome(const struct sandbox *b)
{
	log_say(LOG_NORMAL, "%d node%s in %s: 'exit' ends %s", b->settings->nodes.count,
		b->settings->nodes.count == 1 ? " is up" : "s are up", b->folder.path,
		b->settings->nodes.count == 1 ? "it" : "them");
}

static int start_command(struct sandbox *b, struct err *e)
{
	const char *outer = getenv("REDLOCK_HELD");
	const struct supervisor_policy policy = {
		.deadline = {.on_lost = SIGTERM,
			.kill_after = KILL_AFTER,
			.reap = deadline_reap_time(b->settings->ttl),
			.max_run = NEVER},
		.is_nested = outer && *outer,
	};

	if (signals_open(&b->signals, e) < 0 ||
		supervise_open(&b->watch, &b->signals, "sandbox", e) < 0 ||
		supervisor_prepare(&b->watch.supervisor, b->argv, &b->signals, &policy, e) < 0)
		return -1;
	if (b->is_shell)
		welcome(b);
	supervisor_start(&b->watch.supervisor, NEVER);
	return 0;
}

static void look_at_keeper(struct sandbox *b)
{
	if (b->keeper_is_dead || background_read() != BACKGROUND_END)
		return;
	b->keeper_is_dead = true;
	log_say(LOG_ERRORS,
		"the process that keeps the servers was killed, and they with it: the command is "
		"ended");
	supervisor_lose(&b->watch.supervisor);
}

/* Until the command's tree is gone, or may stay. */
static void supervise(struct sandbox *b)
{
	struct supervision *v = &b->watch;
	usec detach_at = clock_now() + DETACH_AFTER;

	supervisor_check(&v->supervisor); /* it may have been stopped before */
	while (!v->is_over) {
		struct pollfd fds[] = {
			{.fd = b->signals.fd, .events = POLLIN},
			{.fd = v->supervisor_is_dead ? -1 : supervisor_fd(&v->supervisor),
				.events = POLLIN},
			{.fd = b->keeper_is_dead ? -1 : background_fd(), .events = POLLIN},
			{.fd = v->alarm, .events = POLLIN},
		};
		bool went_on;

		alarm_set(v->alarm, usec_min(v->replace_at, detach_at));
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			assert(errno == EINTR || errno == ENOMEM);
		if (clock_now() >= detach_at) {
			supervisor_detach();
			detach_at = NEVER;
		}
		went_on = supervise_take_signals(v);
		if (went_on)
			supervisor_resume(&v->supervisor);
		supervise_hear(v, went_on);
		look_at_keeper(b);
		if (!v->is_over && clock_now() >= v->replace_at)
			supervise_replace(v, clock_now());
	}
	supervisor_close(&v->supervisor);
}

/* ---- the end ---- */

/* Whatever has become of the keeper: its servers are gone, and so is the folder. */
static void end_servers(struct sandbox *b)
{
	/* Of one that is not known to be dead nobody has taken the status: the number is its own.
	 */
	if (!b->keeper_is_dead && background_read() != BACKGROUND_END)
		kill(b->keeper, SIGCONT);
	if (!background_end())
		kill(b->keeper, SIGKILL);
	if (folder_is_there(&b->folder) && !tidy_up(&b->folder))
		log_say(LOG_NORMAL, "cannot remove all of '%s'", b->folder.path);
}

static int outcome(struct sandbox *b)
{
	struct supervisor_message *end = &b->watch.end;

	if (end->kind == SUPERVISOR_FAILED)
		return supervise_not_started(&b->watch, b->argv[0]);
	if (b->watch.replacing)
		return supervise_supervisor_killed();
	if (b->keeper_is_dead)
		return STATUS_INTERNAL;
	/* A server that was started again by hand has ended with the others. The keeper is older
	 * than the supervisor. */
	if (end->tree.alive > 0)
		end->tree = tree_signal(getpid(), 0, &b->watch.supervisor.born);
	if (end->tree.alive > 0)
		supervise_tell_left(&end->tree, "its nodes");
	if (WIFSIGNALED(end->number))
		signals_die(WTERMSIG(end->number));
	return WEXITSTATUS(end->number);
}

static int run(struct sandbox *b)
{
	struct err e;

	if (start_command(b, &e) < 0) {
		log_err(&e);
		end_servers(b);
		return status_of(e.kind);
	}
	log_never_block();
	supervise(b);
	end_servers(b);
	return outcome(b);
}

int cmd_sandbox(struct settings *s)
{
	static struct sandbox b = {.settings = NULL};
	bool ready = false;
	struct err e;

	b.settings = s;
	b.argv = find_command(s->operands);
	b.is_shell = b.argv != s->operands;
	if (!b.argv)
		return STATUS_USAGE;
	if (servers_find(b.program, s->server, &e) < 0 || folder_make(&b.folder, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	if (name_nodes(&b, &e) < 0 ||
		(set_environment(&b), background_start(&b.keeper, &ready, &e)) < 0) {
		(void)folder_remove(&b.folder);
		log_err(&e);
		return status_of(e.kind);
	}
	if (b.keeper == 0)
		return be_keeper(&b);
	if (ready)
		return run(&b);
	(void)background_end();
	(void)tidy_up(&b.folder);
	if (background_refused() >= 0)
		return background_refused();
	log_say(LOG_ERRORS, "the process that was to keep the servers has ended");
	return STATUS_INTERNAL;
}
