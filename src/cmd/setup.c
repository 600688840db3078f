#include "cmd/setup.h"

#include "base/clock.h"
#include "base/duration.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "cmd/print.h"
#include "lock/patience.h"
#include "net/query.h"
#include "net/tls.h"
#include "report/report.h"
#include "report/rights.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_FILE "/etc/redlock/config"

/* The hint if this user may not read a file. */
#define UNREADABLE "let this user read the file (chown, chmod), or name another one"

static struct config_file config;
static char text[CONFIG_TEXT_MAX + 1]; /* of the configuration file */
static char path_storage[PATH_MAX];
static const char *path; /* of the configuration file */
static char password[NODE_SECRET_MAX], password_path[PATH_MAX];
static bool is_read_once; /* the configuration file is a pipe */
static const char *open_to_others[2]; /* files with passwords that other users can read */

/* Commands and background processes may run in another folder: returns the absolute name, which is
 * `name` itself or in `storage`; NULL: it is too long. */
static const char *make_absolute(char storage[PATH_MAX], const char *name)
{
	size_t used;

	if (name[0] == '/')
		return strlen(name) + 2 > PATH_MAX ? NULL : name;
	if (!getcwd(storage, PATH_MAX))
		return NULL;
	used = strlen(storage);
	if (used + strlen(name) + 2 > PATH_MAX)
		return NULL;
	text_append(storage, PATH_MAX, &used, "/%s", name);
	return storage;
}

/* ---- pipes ---- */

/* A pipe without a writer is reported after this time, which any wait has. */
#define WRITER_SLOW (2 * USEC_SEC)

/* Returns how long the lock may be waited for, with or without a majority; NEVER: as long as it
 * takes. */
static usec patience(const struct settings *s)
{
	usec least = usec_min(s->wait, s->node_wait);

	return least == 0 ? WRITER_SLOW : least;
}

static bool is_pipe(const char *file)
{
	struct stat st;

	return file && stat(file, &st) == 0 && S_ISFIFO(st.st_mode);
}

struct file_wait setup_pipe_wait(const struct settings *s)
{
	return (struct file_wait){.until = clock_now() + usec_min(patience(s), HOPELESS_TIME)};
}

/* ---- the configuration ---- */

/* Other users may be permitted to read the file, but not to use the nodes. */
static bool has_password(void)
{
	for (int i = 0; i < config.count; i++) {
		const char *name = config.line[i].name;
		bool is_nodes = strcmp(name, "node") == 0 || strcmp(name, "nodes") == 0;

		if (strcmp(name, "password") == 0 ||
			(is_nodes && strchr(config.line[i].value, '@')))
			return true;
	}
	return false;
}

/* Checks the owner and the mode of the configuration file, which tells redlock where to send
 * passwords. A file in a default place, which a foreign environment may have moved, must belong to
 * this user or root, as ssh(1) demands. A file named with --config is the caller's choice, unless
 * all users can change it. */
static int check_author(const struct stat *st, bool is_named, const char *shown, struct err *e)
{
	mode_t others = is_named ? S_IWOTH : S_IWGRP | S_IWOTH;

	if (!is_named && st->st_uid != 0 && st->st_uid != geteuid()) {
		err_set(e, ERR_CONFIG, "the configuration '%s' belongs to user %lu, not to %s",
			shown, (unsigned long)st->st_uid, geteuid() ? "you or root" : "root");
		return err_hint(e, "change its owner, or name another file with "
				   "--config FILE");
	}
	if (!(st->st_mode & others))
		return 0;
	err_set(e, ERR_CONFIG, "others can write to the configuration '%s'", shown);
	return err_hint(e, "chmod %s '%s'", is_named ? "o-w" : "go-w", shown);
}

/* Returns 1; 0: the file does not exist; -1 with *e. */
static int try_file(struct settings *s, bool must_be, struct err *e)
{
	size_t len;
	struct stat st;
	/* The shell replaces <(...) with the path of a pipe. */
	enum file_kind kind = must_be ? FILE_OR_PIPE : FILE_REGULAR;
	const struct file_wait wait = setup_pipe_wait(s);
	int error = file_read(path, kind, &wait, text, sizeof(text), &len, &st);
	char shown[200];

	/* Skip a default place that does not exist, or is in a folder that this user may not enter.
	 * A file that exists and cannot be read is an error. */
	if (!must_be &&
		(error == ENOENT || error == ENOTDIR || (error == EACCES && stat(path, &st) < 0)))
		return 0;
	utf8_escape(shown, sizeof(shown), path, strlen(path));
	if (error == EFBIG)
		return err_set(e, ERR_CONFIG,
			"the configuration '%s' is too long: at most %zu bytes are allowed", shown,
			CONFIG_TEXT_MAX);
	if (error) {
		err_set(e, ERR_CONFIG, "cannot read the configuration '%s': %s", shown,
			file_reason(error));
		return error == EACCES ? err_hint(e, "%s", UNREADABLE) : -1;
	}
	if (!S_ISCHR(st.st_mode) && check_author(&st, must_be, shown, e) < 0)
		return -1;
	if (config_file_parse(&config, path, text, len, e) < 0 ||
		options_read_config(s, &config, e) < 0)
		return -1;
	is_read_once = S_ISFIFO(st.st_mode);
	if (S_ISREG(st.st_mode) && (st.st_mode & S_IROTH) && has_password())
		open_to_others[0] = path;
	return 1;
}

/* Reads the first of the default places that has a file. */
static int find_file(struct settings *s, struct err *e)
{
	const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int found = 0;

	path = path_storage;
	if (folder && folder[0] == '/')
		snprintf(path_storage, PATH_MAX, "%s/redlock/config", folder);
	else if (home && home[0] == '/')
		snprintf(path_storage, PATH_MAX, "%s/.config/redlock/config", home);
	if (path[0])
		found = try_file(s, false, e);
	if (found != 0)
		return found;
	path = SYSTEM_FILE;
	return try_file(s, false, e);
}

static int read_config(struct settings *s, struct err *e)
{
	char shown[100];
	int found;

	if (!s->config)
		found = find_file(s, e);
	else if ((path = make_absolute(path_storage, s->config)))
		found = try_file(s, true, e);
	else
		return err_set(e, ERR_CONFIG, "the configuration's path is too long");
	if (found != 0 || !s->profile || strcmp(s->profile, CONFIG_DEFAULT) == 0)
		return found < 0 ? -1 : 0;
	err_set(e, ERR_CONFIG, "unknown profile '%s': there is no configuration file",
		utf8_escape(shown, sizeof(shown), s->profile, strlen(s->profile)));
	return err_hint(e, "it is looked for as $XDG_CONFIG_HOME/redlock/config and " SYSTEM_FILE
			   ", or named with --config FILE");
}

bool setup_tls_waits(const struct settings *s)
{
	return is_pipe(s->tls.cacert) || is_pipe(s->tls.cert) || is_pipe(s->tls.cert_key);
}

int setup_tls(const struct settings *s, struct err *e)
{
	const struct node *node = node_list_find_tls(&s->nodes);
	const struct file_wait wait = setup_pipe_wait(s);
	char shown[200];

	if (!node || s->list || s->command == COMMAND_CONFIG) /* no node is asked */
		return 0;
	if (tls_prepare(&s->tls, node, &wait, e) < 0)
		return -1;
	if (s->tls.insecure)
		log_say(LOG_ERRORS,
			"--insecure: certificates are not verified, any server is trusted");
	if (tls_key_is_exposed(&s->tls)) {
		utf8_escape(shown, sizeof(shown), s->tls.cert_key, strlen(s->tls.cert_key));
		log_say(LOG_NORMAL, "all users may read the private key in --cert-key '%s'", shown);
		log_hint(LOG_NORMAL, "'chmod 600' lets only its owner read it");
	}
	return 0;
}

const struct config_file *setup_file(void)
{
	return config.path ? &config : NULL;
}

/* ---- the password ---- */

static void say_slow(const char *file)
{
	char shown[200];

	log_say(LOG_NORMAL, "--password-file '%s': nothing writes to this pipe",
		utf8_escape(shown, sizeof(shown), file, strlen(file)));
}

static int read_password(struct settings *s, struct err *e)
{
	const char *name = s->password_file;
	struct file_wait wait = setup_pipe_wait(s);
	char shown[200];
	struct stat st;
	int error;

	/* The writer may start later, like a node. */
	if (patience(s) != NEVER)
		wait.until = usec_add(clock_now(), patience(s));
	wait.slow = clock_now() + WRITER_SLOW;
	wait.is_slow = s->quiet ? NULL : say_slow;
	error = file_read_line(name, FILE_ANY, &wait, password, sizeof(password), &st);
	utf8_escape(shown, sizeof(shown), name, strlen(name));
	if (error == ENODATA || error == ETIME) {
		err_set(e, ERR_NO_SERVER, "cannot read --password-file '%s': %s", shown,
			file_reason(error));
		return err_hint(e, "name a file, or let a program write the password to it");
	}
	if (error == EFBIG)
		return err_set(e, ERR_CONFIG,
			"the password in '%s' is too long: at most %d bytes are allowed", shown,
			NODE_SECRET_MAX - 1);
	if (error == EILSEQ)
		return err_set(e, ERR_CONFIG, "the password in '%s' has a byte of zero", shown);
	if (error) {
		err_system(e, ERR_CONFIG, error, "cannot read --password-file '%s'", shown);
		return error == EACCES ? err_hint(e, "%s", UNREADABLE) : -1;
	}
	if (!password[0]) {
		err_set(e, ERR_CONFIG, "--password-file '%s' has no password", shown);
		return err_hint(e, "write the password into its first line");
	}
	s->password = password;
	s->password_file = NULL;
	/* A pipe can be read only once. */
	if (S_ISREG(st.st_mode))
		s->password_file = make_absolute(password_path, name);
	if (S_ISREG(st.st_mode) && (st.st_mode & (S_IROTH | S_IRGRP)))
		open_to_others[1] = name;
	return 0;
}

/* Refuse REDLOCK_NODE without the S: else the default node would be asked, unnoticed. */
static int check_nodes_variable(const struct settings *s, struct err *e)
{
	if (s->nodes.count > 0 || s->command == COMMAND_GATE || s->command == COMMAND_SANDBOX ||
		!getenv("REDLOCK_NODE"))
		return 0;
	err_set(e, ERR_CONFIG, "REDLOCK_NODE has no effect, and no nodes are named");
	return err_hint(e, "the variable is REDLOCK_NODES, also for one node");
}

/* Did the environment have a token, but no password, as that of a run's command? run sets its own
 * token later. */
static bool has_token_only;

int setup(struct settings *s, struct err *e)
{
	has_token_only = getenv("REDLOCK_TOKEN") && !getenv("REDLOCK_PASSWORD");
	if (read_config(s, e) < 0 || settings_choose_password(s, e) < 0 ||
		check_nodes_variable(s, e) < 0)
		return -1;
	/* `config` shows the name of the file. */
	return s->password_file && s->command != COMMAND_CONFIG ? read_password(s, e) : 0;
}

SELDOM static void warn_of_variable(const struct idle_variable *v, const char *command)
{
	char shown[4 * OPTION_ENV_MAX];

	utf8_escape(shown, sizeof(shown), v->name, strlen(v->name));
	if (v->meant[0]) {
		log_say(LOG_NORMAL, "unknown variable %s in the environment: it is ignored", shown);
		log_hint(LOG_NORMAL, "did you mean %s?", v->meant);
		return;
	}
	log_say(LOG_NORMAL, "%s in the environment does not set --%s of '%s': it is ignored", shown,
		v->row->name, command);
	log_hint(LOG_NORMAL, "use --%s on the command line", v->row->name);
}

/* A key with spaces at its ends is probably a text that was cut badly. */
static void warn_of_blanks(const struct settings *s)
{
	static const char blanks[] = " \t\r\n\v\f";
	char shown[120];

	for (int i = 0; i < s->names.count && settings_makes_key(s); i++) {
		const char *key = s->names.key[i];
		size_t len = strlen(key);
		bool begins = strchr(blanks, key[0]) != NULL;

		if (!begins && !strchr(blanks, key[len - 1]))
			continue;
		log_say(LOG_NORMAL,
			"the key '%s' has a space at its %s: without it, the lock is another one",
			utf8_escape(shown, sizeof(shown), key, len), begins ? "start" : "end");
	}
}

/* The time for which other clients wait after a crash, by mistake a thousand times as long. */
SELDOM static void warn_of_ttl(const struct settings *s)
{
	char length[DURATION_TEXT_MAX];
	struct err e;

	err_set(&e, ERR_USAGE, "--ttl %s is %s seconds (%s)", s->bare_ttl, s->bare_ttl,
		duration_format(length, s->ttl));
	(void)err_hint(&e,
		"did you mean %sms? A number without a unit is in seconds; 's' shows that it is "
		"meant",
		s->bare_ttl);
	options_blame(s, setup_file(), &e);
	log_warning(&e);
}

/* Other clients with this --max-ttl trust a restarted node that may have forgotten the lock. */
static void warn_of_max_ttl(const struct settings *s)
{
	char longest[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
	bool is_ttl = s->ttl >= s->min_hold;

	if (s->max_ttl == 0 || usec_max(s->ttl, s->min_hold) <= s->max_ttl ||
		s->restart_guard == GUARD_OFF || s->command == COMMAND_WAIT ||
		!(settings_makes_key(s) || s->command == COMMAND_EXTEND))
		return;
	log_say(LOG_NORMAL,
		"--max-ttl %s is shorter than --%s %s: the lock may outlast the quarantine of a "
		"restarted node",
		duration_format_exact(most, s->max_ttl), is_ttl ? "ttl" : "min-hold",
		duration_format_exact(longest, is_ttl ? s->ttl : s->min_hold));
	log_hint(LOG_NORMAL,
		"set --max-ttl on all clients of these nodes to the longest time of any lock");
}

void setup_warn(const struct settings *s)
{
	struct idle_variable v;
	int next = 0;

	warn_of_blanks(s);
	if (s->bare_ttl)
		warn_of_ttl(s);
	warn_of_max_ttl(s);
	while (option_idle_variable(s->command, environ, &next, &v))
		warn_of_variable(&v, command_name(s->command));
	for (int i = 0; i < 2; i++) {
		const char *name = open_to_others[i];
		char shown[200];

		if (!name)
			continue;
		utf8_escape(shown, sizeof(shown), name, strlen(name));
		log_say(LOG_NORMAL, "others can read '%s', which has a password in it", shown);
		log_hint(LOG_NORMAL, "chmod %s '%s'", i == 0 ? "o-rwx" : "go-rwx", shown);
	}
}

/* ---- no nodes configured ---- */

bool setup_lacks_nodes(const struct settings *s, const struct reply *reply)
{
	return settings_source(s, offsetof(struct settings, nodes))->kind == SOURCE_NONE &&
	       reply->vote == VOTE_ABSENT && reply->reason == REASON_CONNECT;
}

void setup_hint_nodes(enum log_level at)
{
	log_hint(at,
		"no nodes were named, so " DEFAULT_NODES " was asked: name three or five "
		"independent Redis servers with --nodes, REDLOCK_NODES or 'nodes' in " SYSTEM_FILE);
	log_hint(at, "to try it on throwaway ones: redlock sandbox -- redlock run -k try -- date");
}

/* Counts the hints, and prints them if `prints`. */
static int each_hint(const struct settings *s, const struct tally *t,
	const struct server_info info[], const int unguarded[], bool prints, enum log_level at)
{
	const char *remark, *last = NULL;
	char hint[REPORT_MAX];
	int count = 0;

	for (int i = 0; i < t->nodes; i++) {
		if (!report_remedy(hint, s, t, info, unguarded, i, &remark))
			continue;
		count++;
		if (prints)
			log_hint(at, "%s", hint);
		if (prints && remark && remark != last)
			log_hint(at, "%s", remark);
		last = remark;
	}
	return count;
}

bool setup_has_hint(const struct settings *s, const struct tally *t)
{
	return each_hint(s, t, NULL, NULL, false, LOG_ERRORS) > 0;
}

/* Does a node require a password, which `run` or `acquire` did not pass on? */
static bool lacks_password_of_caller(const struct settings *s, const struct tally *t)
{
	if (s->password || !has_token_only)
		return false;
	for (int i = 0; i < t->nodes; i++)
		if (t->ballot[i].reply.vote == VOTE_ABSENT &&
			t->ballot[i].reply.reason == REASON_NOAUTH)
			return true;
	return false;
}

/* Asks the nodes that are out of memory how much they use, replicas for their master, and those
 * that answer with an error what they are. NULL: there are none. */
static const struct server_info *ask_for_info(const struct settings *s, const struct tally *t)
{
	static struct query query;
	static struct server_info info[NODES_MAX];
	const struct policy policy = settings_policy(s);
	const struct request *asked[NODES_MAX] = {NULL};
	struct request r;
	struct err e;
	bool has_any = false;

	request_command(&r, (const char *const[]){"INFO", NULL});
	for (int i = 0; i < t->nodes; i++) {
		const struct reply *a = &t->ballot[i].reply;

		if (reply_is_absent(a, REASON_OOM) || reply_is_absent(a, REASON_SERVER) ||
			reply_is_absent(a, REASON_READONLY) ||
			reply_is_absent(a, REASON_MASTERDOWN))
			asked[i] = &r;
		has_any |= asked[i] != NULL;
	}
	if (!has_any || query_open(&query, &policy, &s->nodes, &e) < 0)
		return NULL;
	query_ask(&query, asked, NULL, QUERY_ALL);
	for (int i = 0; i < t->nodes; i++) {
		bool has_replied = asked[i] && query.tally.ballot[i].vote == VOTE_YES;

		server_info_read(&info[i], has_replied ? query.page[i] : "",
			has_replied ? query.page_len[i] : 0);
	}
	query_close(&query);
	return info;
}

void setup_hint(const struct settings *s, const struct tally *t, enum log_level at)
{
	if (at > log_level())
		return;
	each_hint(s, t, ask_for_info(s, t), NULL, true, at);
	if (lacks_password_of_caller(s, t))
		log_hint(at, "'redlock run' and 'redlock acquire' pass on no password, but a "
			     "--password-file: use it there");
	if (setup_lacks_nodes(s, &t->ballot[0].reply))
		setup_hint_nodes(at);
}

/* Asks the nodes that voted without a restart guard why: unguarded[]. */
static void ask_for_guard(const struct settings *s, const struct tally *t, int unguarded[NODES_MAX])
{
	static struct query query;
	static struct server_info info;
	const struct {
		const char *words[5];
		int denied, missing;
	} parts[] = {
		{{"INFO", NULL}, UNGUARDED_INFO, UNGUARDED_NO_INFO},
		{{"TIME", NULL}, UNGUARDED_TIME, UNGUARDED_NO_TIME},
		{{"EVAL", "return 0", "1", GUARD_KEY, NULL}, UNGUARDED_KEY, 0},
	};
	const struct policy policy = settings_policy(s);
	const struct request *asked[NODES_MAX] = {NULL};
	struct request r;
	struct err e;

	for (int i = 0; i < t->nodes; i++) {
		asked[i] = tally_is_unguarded(t, i) ? &r : NULL;
		unguarded[i] = 0;
	}
	if (query_open(&query, &policy, &s->nodes, &e) < 0)
		return;
	for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
		request_command(&r, parts[part].words);
		query_ask(&query, asked, NULL, QUERY_ALL);
		for (int i = 0; i < t->nodes; i++) {
			const struct reply *a = &query.tally.ballot[i].reply;

			if (!asked[i])
				continue;
			if (reply_is_absent(a, REASON_NOPERM))
				unguarded[i] |= parts[part].denied;
			if (reply_is_absent(a, REASON_SERVER))
				unguarded[i] |= parts[part].missing;
			if (part > 0 || a->vote != VOTE_YES)
				continue;
			server_info_read(&info, query.page[i], query.page_len[i]);
			if (!info.run_id[0])
				unguarded[i] |= UNGUARDED_NO_RUN_ID;
		}
	}
	query_close(&query);
}

SELDOM static void warn_unguarded(const struct settings *s, const struct tally *t)
{
	int unguarded[NODES_MAX];
	char message[REPORT_MAX];

	ask_for_guard(s, t, unguarded);
	log_say(LOG_NORMAL, "%s", report_unguarded(message, t, &s->nodes, unguarded));
	each_hint(s, t, NULL, unguarded, true, LOG_NORMAL);
}

void setup_warn_unguarded(const struct settings *s, const struct tally *t)
{
	int count = 0;

	for (int i = 0; i < t->nodes; i++)
		count += tally_is_unguarded(t, i);
	if (count > 0 && log_level() >= LOG_NORMAL)
		warn_unguarded(s, t);
}

void setup_hint_one(
	const struct settings *s, int node, const struct reply *problem, enum log_level at)
{
	struct tally t = {.nodes = s->nodes.count};

	t.ballot[node].reply = *problem;
	each_hint(s, &t, NULL, NULL, true, at);
}

/* ---- the command's environment ---- */

static void export(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else if (getenv(name)) /* faster than unsetenv(3), and mostly false */
		unsetenv(name);
}

/* Makes the path absolute: the command may change its folder. A pipe can be read only once. */
SELDOM static void set_path(
	void (*set)(const char *, const char *), const char *name, const char *file)
{
	char absolute[PATH_MAX];

	set(name, is_pipe(file) ? NULL : make_absolute(absolute, file));
}

static void set_file(void (*set)(const char *, const char *), const char *name, const char *file)
{
	if (file)
		set_path(set, name, file);
	else
		set(name, NULL);
}

/* The settings that a redlock needs to find the same lock on the same nodes. NULL: no value. */
static void set_all(const struct settings *s, void (*set)(const char *name, const char *value))
{
	size_t size = 1;

	for (int i = 0; i < s->nodes.count; i++)
		size += strlen(s->nodes.node[i].label) + 1;

	char nodes[size]; /* mostly far less than NODES_MAX * NODE_LABEL_MAX */

	node_list_format(&s->nodes, nodes, size);
	set("REDLOCK_NODES", nodes);
	/* The path of the password file is no secret. A user name is of use only with a
	 * password. */
	set("REDLOCK_PASSWORD_FILE", s->password_file);
	set("REDLOCK_USERNAME", s->password_file ? s->username : NULL);
	/* Do not export --insecure: each redlock needs its own. */
	set_file(set, "REDLOCK_CACERT", s->tls.cacert);
	set_file(set, "REDLOCK_CERT", s->tls.cert);
	set_file(set, "REDLOCK_CERT_KEY", s->tls.cert_key);
	set("REDLOCK_SNI", s->tls.sni);
	if (s->config)
		set("REDLOCK_CONFIG", is_read_once ? NULL : path);
	set("REDLOCK_PROFILE", is_read_once ? NULL : s->profile);
	/* A nested redlock needs the format: REDLOCK_KEY is a name. */
	set("REDLOCK_KEY_FORMAT", s->key_format);
}

void setup_command(const struct settings *s)
{
	set_all(s, export);
	export("REDLOCK_PASSWORD", NULL);
}

/* ---- the same for the shell's eval ---- */

/* The shell keeps its variable if there is no value: a password without a file, for example, is
 * passed to later calls by the shell itself. */
static void print_variable(const char *name, const char *value)
{
	if (value)
		print_env(name, value);
}

/* Does REDLOCK_NODES have passwords, which redlock never prints? */
static bool has_secret_nodes(const struct settings *s)
{
	if (settings_source(s, offsetof(struct settings, nodes))->kind != SOURCE_ENV)
		return false;
	for (int i = 0; i < s->nodes.count; i++) {
		const char *own = s->nodes.node[i].password;

		if (own[0] && (!s->password || strcmp(own, s->password) != 0))
			return true;
	}
	return false;
}

static void print_other_variable(const char *name, const char *value)
{
	if (strcmp(name, "REDLOCK_NODES") != 0)
		print_variable(name, value);
}

void setup_print(const struct settings *s)
{
	set_all(s, has_secret_nodes(s) ? print_other_variable : print_variable);
	/* Two passwords would be an error. */
	if (s->password_file)
		print_unset("REDLOCK_PASSWORD");
}
