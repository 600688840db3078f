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
#include "file/folder.h"
#include "net/query.h"
#include "proc/background.h"
#include "proc/servers.h"
#include "proc/title.h"
#include "proto/scripts.h"

#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the servers may take to start, on a busy machine. */
#define START_PATIENCE (30 * USEC_SEC)

/* The longest wait for the answer of a server. */
#define ASK_TIMEOUT (100 * USEC_MSEC)

/* The pause between two attempts to connect to starting servers. */
#define LOOKS_APART (2 * USEC_MSEC)

/* The time between SIGTERM and SIGKILL for the command. */
#define KILL_AFTER (10 * USEC_SEC)

struct sandbox {
	struct settings *settings;
	char *const *argv; /* the command */
	bool is_shell; /* argv is `shell` */
	char *shell[4];
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
	struct query query;
};

/* Waits for a message of the parent or the end of a child, for at most that time. */
static void sleep_for(struct sandbox_process *p, usec most)
{
	struct pollfd fds[] = {
		{.fd = background_fd(), .events = POLLIN}, {.fd = p->children, .events = POLLIN}};

	(void)alarm_wait(fds, 2, most);
	signals_drain(p->children);
	servers_reap(&p->servers);
}

/*
 * Asks each server that has not answered yet, and waits for a moment. Returns true if all servers
 * have answered; each of them then has a vote at once (see --restart-guard).
 */
static bool ask(struct sandbox_process *p)
{
	const char *const words[] = {"EVAL", admit_script, "1", GUARD_KEY, NULL};
	const struct request *asked[NODES_MAX];
	struct request admit;
	struct servers *s = &p->servers;
	bool all = true;

	request_command(&admit, words);
	for (int i = 0; i < NODES_MAX; i++)
		asked[i] = s->votes[i] ? NULL : &admit;
	query_ask(&p->query, asked, NULL, QUERY_ALL);
	for (int i = 0; i < s->nodes->count; i++) {
		if (asked[i])
			s->votes[i] = p->query.tally.ballot[i].vote == VOTE_YES;
		all &= s->votes[i];
	}
	return all;
}

/* Waits until all servers vote. Returns -1 with *e; e->kind is ERR_NONE if the parent does not wait
 * any more. */
static int wait_until_up(struct sandbox_process *p, struct err *e)
{
	usec until = clock_now() + START_PATIENCE;

	while (!ask(p)) {
		sleep_for(p, LOOKS_APART);
		if (background_read() == BACKGROUND_END) {
			e->kind = ERR_NONE;
			return -1;
		}
		if (servers_failed(&p->servers) || clock_now() >= until)
			return servers_explain(&p->servers, e);
	}
	query_close(&p->query);
	return 0;
}

static int start(struct sandbox_process *p, const struct sandbox *b, struct err *e)
{
	const struct node_list *nodes = &b->settings->nodes;
	const struct policy policy = {
		.nodes = nodes->count, .keys = 1, .ttl = USEC_SEC, .node_timeout = ASK_TIMEOUT};
	struct signals found;

	if (signals_open(&found, e) < 0 || signals_only_children(&p->children, e) < 0)
		return -1;
	if (servers_start(&p->servers, b->program, b->folder.path, nodes, &found, e) < 0)
		return -1;
	return query_open(&p->query, &policy, nodes, e);
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
			sleep_for(&p, NEVER);
	}
	servers_end(&p.servers);
	(void)tidy_up(&b->folder);
	if (status != STATUS_OK)
		background_refuse(status);
	return status;
}

/* ---- the shell ---- */

/* The start-up files and arguments of shells: they read the user's own files, and then mark the
 * prompt. Those files may have changed PATH. */

#define MARK "(redlock) "
#define OUR_PATH "case $PATH in \"$REDLOCK_SANDBOX\":*) ;; *) PATH=$REDLOCK_SANDBOX:$PATH ;; esac\n"

static const char bash_rc[] = "[ ! -r ~/.bashrc ] || . ~/.bashrc\n"
			      "PS1=\"" MARK "$PS1\"\n" OUR_PATH;

#define ZSH_FOLDER(value) "if [[ -n " value " ]]; then ZDOTDIR=" value "; else unset ZDOTDIR; fi\n"
#define ZSH_READ(name) "[[ ! -r ${ZDOTDIR:-$HOME}/" name " ]] || . ${ZDOTDIR:-$HOME}/" name "\n"

static const char zsh_env[] = ZSH_FOLDER("${SANDBOX_ZDOTDIR-}") "unset SANDBOX_ZDOTDIR\n" ZSH_READ(
	".zshenv") "_redlock_zdotdir=${ZDOTDIR-}\nZDOTDIR=$REDLOCK_SANDBOX\n";

static const char zsh_rc[] =
	ZSH_FOLDER("$_redlock_zdotdir") ZSH_READ(".zshrc") "PROMPT=\"" MARK "$PROMPT\"\n" OUR_PATH;

static char fish_init[] = "functions -q fish_prompt; and functions -c fish_prompt _redlock_prompt; "
			  "function fish_prompt; echo -n '" MARK "'; _redlock_prompt; end; "
			  "set -gx PATH $REDLOCK_SANDBOX $PATH";

/* Shells of POSIX read the file that ENV names. */
static const char posix_rc[] = "PS1=\"" MARK "$PS1\"\n" OUR_PATH;

/* Writes the start-up files, and sets the arguments of the shell. Returns -1 with *e. */
static int prepare_shell(struct sandbox *b, struct err *e)
{
	static char bash_option[] = "--rcfile", fish_option[] = "-C", path[FOLDER_PATH_MAX + 8];
	const char *slash = strrchr(b->shell[0], '/'), *name = slash ? slash + 1 : b->shell[0];

	snprintf(path, sizeof(path), "%s/shrc", b->folder.path);
	if (strcmp(name, "fish") == 0) {
		b->shell[1] = fish_option;
		b->shell[2] = fish_init;
		return 0;
	}
	if (strcmp(name, "zsh") == 0) {
		if (getenv("ZDOTDIR"))
			setenv("SANDBOX_ZDOTDIR", getenv("ZDOTDIR"), 1);
		setenv("ZDOTDIR", b->folder.path, 1);
		if (folder_write(&b->folder, ".zshenv", zsh_env, e) < 0)
			return -1;
		return folder_write(&b->folder, ".zshrc", zsh_rc, e);
	}
	if (strcmp(name, "bash") == 0) {
		b->shell[1] = bash_option;
		b->shell[2] = path;
		return folder_write(&b->folder, "shrc", bash_rc, e);
	}
	if (getenv("ENV"))
		return 0;
	setenv("ENV", path, 1);
	return folder_write(&b->folder, "shrc", posix_rc, e);
}

/* ---- setting up ---- */

/* Sets the command: the operands, or a shell. Returns -1 after an error message. */
static int find_command(struct sandbox *b)
{
	b->argv = b->settings->operands;
	b->is_shell = !b->argv[0];
	if (!b->is_shell)
		return 0;
	if (!isatty(STDIN_FILENO)) {
		log_say(LOG_ERRORS, "missing command: a shell needs a terminal");
		log_hint(LOG_ERRORS, "redlock sandbox -- COMMAND; see 'redlock help sandbox'");
		return -1;
	}
	b->shell[0] = supervise_shell();
	b->argv = b->shell;
	return 0;
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

/* Puts a link to this program into the folder, and the folder first into PATH. */
static int add_to_path(const struct sandbox *b, struct err *e)
{
	const char *started_as = (const char *)getauxval(AT_EXECFN), *path = getenv("PATH");
	char program[PATH_MAX], *longer;

	/* The program may have been moved; PATH may have another redlock. */
	if (!started_as || !realpath(started_as, program))
		return 0;
	if (folder_link(&b->folder, "redlock", program, e) < 0)
		return -1;
	if (asprintf(&longer, "%s:%s", b->folder.path, path ? path : _PATH_STDPATH) < 0)
		return err_set(e, ERR_SYSTEM, "out of memory");
	setenv("PATH", longer, 1);
	free(longer);
	return 0;
}

/* Sets the command's environment. Variables about other nodes, their locks or their passwords do
 * not apply to these nodes, and neither does a configuration file. */
static int set_environment(struct sandbox *b, struct err *e)
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
	if (add_to_path(b, e) < 0)
		return -1;
	return b->is_shell ? prepare_shell(b, e) : 0;
}

/* ---- the command ---- */

static void welcome(const struct sandbox *b)
{
	bool is_one = b->settings->nodes.count == 1;
	char text[NODES_MAX * NODE_LABEL_MAX + 2 * FOLDER_PATH_MAX];

	log_say(LOG_NORMAL, "%d node%s in %s: 'exit' ends %s. Try:", b->settings->nodes.count,
		is_one ? " is up" : "s are up", b->folder.path, is_one ? "it" : "them");
	snprintf(text, sizeof(text),
		"  redlock run -k demo -- sleep 60\n"
		"  redlock status --watch  # in a second terminal, where you first type:\n"
		"  export PATH=%s:$PATH REDLOCK_NODES='%s'\n",
		b->folder.path, getenv("REDLOCK_NODES"));
	log_text(LOG_NORMAL, text);
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
	supervise_start(&b->watch);
	return 0;
}

static void check_process(struct sandbox *b)
{
	if (b->process_is_dead || background_read() != BACKGROUND_END)
		return;
	b->process_is_dead = true;
	log_say(LOG_ERRORS,
		"the sandbox process was killed, and the servers with it: the command is "
		"terminated");
	supervisor_lose(&b->watch.supervisor);
}

/* Returns when all processes of the command have ended, or may keep running. */
static void supervise(struct sandbox *b)
{
	struct supervision *v = &b->watch;

	while (!v->is_over) {
		supervise_step(v, b->process_is_dead ? -1 : background_fd());
		check_process(b);
	}
	supervise_close(v);
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
		log_say(LOG_NORMAL, "cannot remove '%s': some of its files remain", b->folder.path);
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
	if (find_command(&b) < 0)
		return STATUS_USAGE;
	if (servers_find(b.program, s->server, &e) < 0 || folder_make(&b.folder, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	if (name_nodes(&b, &e) < 0 || set_environment(&b, &e) < 0 ||
		background_start(&b.process, &ready, &e) < 0) {
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
	log_say(LOG_ERRORS, "the sandbox process has ended");
	return STATUS_INTERNAL;
}
