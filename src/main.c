/* main: finds the command, reads its options and the configuration, calls it. */
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/mask.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "cmd/cmd.h"
#include "cmd/configure.h"
#include "cmd/print.h"
#include "io/file.h"
#include "io/resolve.h"
#include "io/title.h"
#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A closed descriptor 0, 1 or 2 is kept shut for the command, but must not become a socket of ours:
 * read-only, so that writing fails as it should, and gone at exec. */
static void guard_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Which word is wrong, and the nearest right one, if there is any, as `like` has it. */
static int refuse(const char *why, const char *word, const char *like, const char *nearest)
{
	char shown[100];

	mask_escape_word(shown, sizeof(shown), word);
	log_say(LOG_ERRORS, "%s '%s'", why, shown);
	if (nearest)
		log_hint(LOG_ERRORS, like, nearest);
	else
		log_hint(LOG_ERRORS, "see 'redlock help'");
	return STATUS_USAGE;
}

static int unknown_command(const char *word)
{
	return refuse("unknown command", word, "did you mean '%s'? See 'redlock help'",
		command_nearest(word));
}

static int too_many(const char *word)
{
	return refuse("unexpected argument", word, "%s", duration_hint(word));
}

static bool is_option(const char *word)
{
	bool is = false;

	for (int i = 0; i < option_rows_count; i++)
		is |= option_is_called(&option_rows[i], word);
	return is;
}

/* Before any command. */
static int early_option(const char *word)
{
	char shown[100];

	if (!is_option(word))
		return refuse("unknown option", word, "did you mean --%s? See 'redlock help'",
			option_nearest(word + strspn(word, "-"), ~0u));
	mask_escape_word(shown, sizeof(shown), word);
	log_say(LOG_ERRORS, "'%s' comes too early: a command goes first", shown);
	log_hint(LOG_ERRORS, "such as 'redlock run %s'; see 'redlock help'", shown);
	return STATUS_USAGE;
}

static int dispatch(struct settings *s, char *const operands[])
{
	if (operands[0] && s->command != COMMAND_RUN && s->command != COMMAND_STATUS &&
		s->command != COMMAND_GATE && s->command != COMMAND_SANDBOX)
		return too_many(operands[0]);
	switch (s->command) {
	case COMMAND_RUN:
		return cmd_run(s, operands);
	case COMMAND_ACQUIRE:
		return cmd_acquire(s);
	case COMMAND_EXTEND:
	case COMMAND_RELEASE:
	case COMMAND_CHECK:
		return cmd_token(s);
	case COMMAND_WAIT:
		return cmd_wait(s);
	case COMMAND_HOLD:
		return cmd_hold(s);
	case COMMAND_STATUS:
		return cmd_status(s, operands);
	case COMMAND_BREAK:
		return cmd_break(s);
	case COMMAND_GATE:
		return cmd_gate(s, operands);
	case COMMAND_DOCTOR:
		return cmd_doctor(s);
	case COMMAND_CONFIG:
		return cmd_config(s);
	case COMMAND_SANDBOX:
		return cmd_sandbox(s, operands);
	case COMMAND_COMPLETION:
	case COMMAND_HELP:
	case COMMAND_VERSION:
		break;
	}
	return STATUS_INTERNAL;
}

/* Passwords that were put there all the same are gone from where everybody can read them; they have
 * been copied. */
static void hide_passwords(char *const argv[], int end)
{
	static const char *const names[] = {"--node", "--nodes"};

	for (int i = 2; i < end && argv[i]; i++)
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			size_t len = strlen(names[n]);

			if (strncmp(argv[i], names[n], len) != 0)
				continue;
			if (argv[i][len] == '=')
				node_list_hide(argv[i] + len + 1);
			else if (!argv[i][len] && i + 1 < end && argv[i + 1])
				node_list_hide(argv[i + 1]);
		}
}

/* What is wrong with certificates is wrong with the settings: it is known before a node is asked.
 */
static int prepare_tls(const struct settings *s, struct err *e)
{
	const struct node *node = node_list_find_tls(&s->nodes);
	char shown[200];

	if (!node || s->list || s->command == COMMAND_CONFIG) /* nobody is asked */
		return 0;
	if (tls_prepare(&s->tls, node, e) < 0)
		return -1;
	if (s->tls.insecure)
		log_say(LOG_ERRORS,
			"--insecure: certificates are not looked at, whoever answers is believed");
	if (tls_key_is_exposed(&s->tls)) {
		utf8_escape(shown, sizeof(shown), s->tls.key_file, strlen(s->tls.key_file));
		log_say(LOG_NORMAL, "everybody may read the private key in --key-file '%s'", shown);
		log_hint(LOG_NORMAL, "'chmod 600' keeps others away from it");
	}
	return 0;
}

static int open_log(const char *where, struct err *e)
{
	char shown[200];
	int fd, error;

	if (!where || strcmp(where, "stderr") == 0)
		return 0;
	if (strcmp(where, "syslog") == 0) {
		log_to_syslog();
		return 0;
	}
	error = file_open_append(where, &fd);
	if (error)
		return err_set(e, ERR_CONFIG, "cannot write to --log '%s': %s",
			utf8_escape(shown, sizeof(shown), where, strlen(where)),
			file_reason(error));
	log_to_file(fd);
	return 0;
}

static void set_loudness(const struct settings *s)
{
	if (s->quiet)
		log_set_level(LOG_ERRORS);
	else
		log_set_level(s->verbose > 1    ? LOG_REPLIES
			      : s->verbose == 1 ? LOG_DECISIONS
						: LOG_NORMAL);
}

/* Behind the command it is the command's: no key was named. */
static void hint_at_order(const struct settings *s, char *const operands[], struct err *e)
{
	if (s->command != COMMAND_RUN || s->key || e->kind != ERR_USAGE)
		return;
	for (int i = 0; operands[i]; i++)
		if (strncmp(operands[i], "-k", 2) == 0 || strncmp(operands[i], "--key", 5) == 0)
			(void)err_hint(e, "options stand before the command: redlock run -k KEY "
					  "-- COMMAND");
}

/* A command with options. */
static int run(const struct command_row *row, char *const argv[])
{
	struct settings settings;
	struct err e;
	int operands;

	settings_init(&settings, row->id);
	operands = options_read(&settings, 2, argv, environ, &e);
	if (operands >= 0 && settings.help)
		return cmd_help(row->name);
	if (operands >= 0 && settings.version)
		return cmd_version();
	hide_passwords(argv, operands < 0 ? INT_MAX : operands);
	if (operands >= 0 && configure(&settings, &e) < 0)
		operands = -1;
	log_set_json(settings.format == FORMAT_JSON);
	set_loudness(&settings);
	if (operands < 0 || settings_finish(&settings, &e) < 0 || open_log(settings.log, &e) < 0 ||
		prepare_tls(&settings, &e) < 0) {
		if (operands >= 0)
			hint_at_order(&settings, argv + operands, &e);
		log_err(&e);
		return status_of(e.kind);
	}
	configure_warn();
	return dispatch(&settings, argv + operands);
}

/* An option, also without its dashes, or an exit status. */
static int help_word(const char *word)
{
	char option[40];
	long number;

	if (text_number(word, 0, 255, &number))
		return cmd_help_status((int)number);
	if (word[0] == '-')
		return is_option(word) ? cmd_help_option(word) : early_option(word);
	snprintf(option, sizeof(option), "--%s", word);
	return is_option(option) ? cmd_help_option(option) : unknown_command(word);
}

static int help(char *const argv[])
{
	const char *name = argv[2];

	if (name && argv[3])
		return too_many(argv[3]);
	return name && !command_find(name) ? help_word(name) : cmd_help(name);
}

static bool is_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

static int completion(char *const argv[])
{
	const char *what = argv[2];

	if (is_help(what))
		return cmd_help("completion");
	return what && argv[3] ? too_many(argv[3]) : cmd_completion(what);
}

static int start(char *const argv[])
{
	const struct command_row *row;
	const char *word = argv[0] ? argv[1] : NULL;

	if (!word) {
		cmd_help_astray();
		return STATUS_USAGE;
	}
	if (is_help(word))
		return cmd_help(NULL);
	if (strcmp(word, "--version") == 0)
		return cmd_version();
	row = command_find(word);
	if (!row)
		return word[0] == '-' ? early_option(word) : unknown_command(word);
	if (row->id == COMMAND_HELP)
		return help(argv);
	if (row->id == COMMAND_COMPLETION)
		return completion(argv);
	if (row->id == COMMAND_VERSION && is_help(argv[2]))
		return cmd_help(row->name);
	if (row->id == COMMAND_VERSION)
		return argv[2] ? too_many(argv[2]) : cmd_version();
	return run(row, argv);
}

/* Were lines for eval asked for, or something that may have been meant so? */
static bool is_for_eval(char *const argv[])
{
	const char *format = getenv("REDLOCK_FORMAT");
	const struct command_row *row = argv[0] && argv[1] ? command_find(argv[1]) : NULL;

	if (row && row->id != COMMAND_ACQUIRE && row->id != COMMAND_HOLD)
		return false;
	for (int i = 2; argv[0] && argv[1] && argv[i]; i++)
		if (strncmp(argv[i], "--format=", 9) == 0)
			format = argv[i] + 9;
		else if (strcmp(argv[i], "--format") == 0 && argv[i + 1])
			format = argv[i + 1];
	return format && strcmp(format, "plain") != 0 && strcmp(format, "json") != 0;
}

int main(int argc, char *argv[])
{
	int status;

	(void)argc;
	guard_standard_streams();
	title_init(argv);
	/* The nodes' passwords are in our memory: no core dump of it, whatever kills us. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	resolve_by_itself();
	status = start(argv);
	/* Whatever went wrong, and wherever: a script must not go on as if it had the lock. */
	if (status != STATUS_OK && is_for_eval(argv))
		print_status_for_eval(status);
	return status;
}
