/*
 * redlock sandbox: runs a command, or a shell, with throwaway nodes that end with it.
 *
 * A child process, the sandbox process, starts the servers and is their parent; a supervisor
 * supervises the command as in `run`. Each process tidies up after the others: if redlock is
 * killed, the sandbox process ends the servers and removes the folder; if the sandbox process is
 * killed, the kernel kills the servers with it, and redlock removes the folder. If both are killed
 * at once, the next sandbox removes what remains.
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

/* How long the servers may take to start, on a busy machine. */
#define START_PATIENCE (30 * USEC_SEC)

/* The pause between two attempts to connect to starting servers. */
#define LOOKS_APART_MS 2

/* The time between SIGTERM and SIGKILL for the command. */
#define KILL_AFTER (10 * USEC_SEC)

struct sandbox {
	struct settings *settings;
	char *const *argv; /* the command */
	bool is_shell; /* argv is the default shell */
	char program[PATH_MAX]; /* the server program */
	struct folder folder;
	pid_t process;
	bool process_is_dead;
	struct signals signals;
	struct supervision watch;
};

/* ---- the sandbox process ---- */

struct sandbox_process {
	int children; /* a descriptor, readable when a child has ended */
	struct servers servers;
};

/* Waits for a message of the parent or the end of a child, at most that many milliseconds. */
static void sleep_for(struct sandbox_process *p, int ms)
{
	struct pollfd fds[] = {
		{.fd = background_fd(), .events = POLLIN}, {.fd = p->children, .events = POLLIN}};

	if (poll(fds, 2, ms) < 0)
		assert(errno == EINTR || errno == ENOMEM);
	signals_drain(p->children);
	servers_reap(&p->servers);
}

/* Waits until all servers vote. Returns -1 with *e; e->kind is ERR_NONE if the parent does not wait
 * any more. */
static int wait_until_up(struct sandbox_process *p, struct err *e)
{
	usec until = clock_now() + START_PATIENCE;

	while (!servers_ask(&p->servers)) {
		sleep_for(p, LOOKS_APART_MS);
		if (background_read() == BACKGROUND_END) {
			e->kind = ERR_NONE;
			return -1;
		}
		if (servers_failed(&p->servers) || clock_now() >= until)
			return servers_explain(&p->servers, e);
	}
	query_close(&p->servers.query);
	return 0;
}

static int start(struct sandbox_process *p, const struct sandbox *b, struct err *e)
{
	struct signals found;

	if (signals_open(&found, e) < 0 || signals_only_children(&p->children, e) < 0)
		return -1;
	return servers_start(
		&p->servers, b->program, b->folder.path, &b->settings->nodes, &found, e);
}

static bool tidy_up(struct folder *folder)
{
	servers_end_others(folder->path);
	return folder_remove(folder);
}

/* Removes the remains of sandboxes of which all processes were killed. */
static void remove_old_sandboxes(void)
{
	struct folder_walk walk;
	struct folder folder;

	folder_walk_open(&walk);
	while (folder_walk_next(&walk, &folder))
		(void)tidy_up(&folder);
	folder_walk_close(&walk);
}

/* The main function of the child process; returns its exit status. */
static int run_process(struct sandbox *b)
{
	static struct sandbox_process p;
	int status = STATUS_OK;
	struct err e;

	/* With another title, `pkill -9 -f 'redlock sandbox'` cannot kill both processes. */
	title_set("rl-sandbox");
	/* A stopped sandbox process cannot notice the death of redlock: the kernel continues it
	 * then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (start(&p, b, &e) < 0 || wait_until_up(&p, &e) < 0) {
		status = status_of(e.kind);
		if (status != STATUS_OK)
			log_err(&e);
	} else {
		background_ready();
		remove_old_sandboxes();
		while (background_read() != BACKGROUND_END)
			sleep_for(&p, -1);
	}
	servers_end(&p.servers);
	(void)tidy_up(&b->folder);
	if (status != STATUS_OK)
		background_refuse(status);
	return status;
}

/* ---- setting up ---- */

/* Returns the operands, or the argv of a shell; NULL after an error message. */
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

/* Sets the command's environment. Variables about other nodes, their locks or their passwords do
 * not apply to these nodes, and neither does a configuration file. */
static void set_environment(const struct sandbox *b)
{
	static const char *const of_others[] = {"KEY", "KEYS", "TOKEN", "TTL_MS", "FENCE", "SLOT",
		"LIMIT", "HOLDER_PID", "USERNAME", "PASSWORD", "PASSWORD_FILE", "PROFILE"};
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
			.grace = KILL_AFTER,
			.kill_after = KILL_AFTER,
			.signal = SIGTERM,
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

static void check_process(struct sandbox *b)
{
	if (b->process_is_dead || background_read() != BACKGROUND_END)
		return;
	b->process_is_dead = true;
	log_say(LOG_ERRORS,
		"the process that keeps the servers was killed, and they with it: the command is "
		"ended");
	supervisor_lose(&b->watch.supervisor);
}

/* Returns when all processes of the command have ended, or may keep running. */
static void supervise(struct sandbox *b)
{
	struct supervision *v = &b->watch;
	usec detach_at = clock_now() + DETACH_AFTER;

	supervisor_check(&v->supervisor); /* it may be stopped already */
	while (!v->is_over) {
		struct pollfd fds[] = {
			{.fd = b->signals.fd, .events = POLLIN},
			{.fd = v->supervisor_is_dead ? -1 : supervisor_fd(&v->supervisor),
				.events = POLLIN},
			{.fd = b->process_is_dead ? -1 : background_fd(), .events = POLLIN},
			{.fd = v->alarm, .events = POLLIN},
		};
		bool resumed;

		alarm_set(v->alarm, usec_min(v->replace_at, detach_at));
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			assert(errno == EINTR || errno == ENOMEM);
		if (clock_now() >= detach_at) {
			supervisor_detach();
			detach_at = NEVER;
		}
		resumed = supervise_take_signals(v);
		if (resumed)
			supervisor_resume(&v->supervisor);
		supervise_read(v, resumed);
		check_process(b);
		if (!v->is_over && clock_now() >= v->replace_at)
			supervise_replace(v, clock_now());
	}
	supervisor_close(&v->supervisor);
}

/* ---- the end ---- */

/* Ends the servers and removes the folder, whether or not the sandbox process is alive. */
static void end_servers(struct sandbox *b)
{
	/* A sandbox process that is not known to be dead has not been reaped: its pid is still its
	 * own. */
	if (!b->process_is_dead && background_read() != BACKGROUND_END)
		kill(b->process, SIGCONT);
	if (!background_end())
		kill(b->process, SIGKILL);
	if (folder_is_there(&b->folder) && !tidy_up(&b->folder))
		log_say(LOG_NORMAL, "cannot remove all of '%s'", b->folder.path);
}

static int outcome(struct sandbox *b)
{
	struct supervisor_message *end = &b->watch.end;

	if (end->kind == SUPERVISOR_FAILED)
		return supervise_not_started(&b->watch, b->argv[0], "sh -c");
	if (b->watch.replacing)
		return supervise_supervisor_killed();
	if (b->process_is_dead)
		return STATUS_INTERNAL;
	/* A server that the command has restarted was killed with the others: count again. All
	 * processes of the command are younger than the supervisor; the sandbox process is older.
	 */
	if (end->tree.alive > 0)
		end->tree = tree_signal(getpid(), 0, &b->watch.supervisor.born);
	if (end->tree.alive > 0)
		supervise_log_remaining(&end->tree, "its nodes");
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
		(set_environment(&b), background_start(&b.process, &ready, &e)) < 0) {
		(void)folder_remove(&b.folder);
		log_err(&e);
		return status_of(e.kind);
	}
	if (b.process == 0)
		return run_process(&b);
	if (ready)
		return run(&b);
	(void)background_end();
	(void)tidy_up(&b.folder);
	if (background_refused() >= 0)
		return background_refused();
	log_say(LOG_ERRORS, "the process that was to keep the servers has ended");
	return STATUS_INTERNAL;
}
