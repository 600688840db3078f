/* main: finds the subcommand, reads its options, environment and configuration, and calls its
 * function. */
#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "cmd/commands.h"
#include "cmd/help.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "cmd/usage.h"
#include "file/file.h"
#include "net/resolve.h"
#include "proc/probe.h"
#include "proc/signals.h"
#include "proc/title.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Opens /dev/null in the place of a closed descriptor 0, 1 or 2: else one of our sockets would get
 * its number. It is read-only, so that writing fails as on a closed descriptor, and closed at exec,
 * so that the command finds it closed, too. */
static void guard_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* True if the variable `entry` is one of redlock's, and environ has it before `end`, too. */
static bool is_repeated(const char *entry, char *const *end)
{
	size_t name_len = strcspn(entry, "=");

	if (strncmp(entry, "REDLOCK_", strlen("REDLOCK_")) != 0)
		return false;
	for (char *const *other = environ; other < end; other++)
		if (strncmp(*other, entry, name_len) == 0 && (*other)[name_len] == entry[name_len])
			return true;
	return false;
}

/* A caller may pass one variable twice. redlock, as getenv(3), Python, Perl and sudo, reads the
 * first one, and setenv(3) replaces that one only: bash and dash read the last one, and so would
 * see another lock's token. Other variables are the command's affair, and it gets them all. */
static void drop_repeated_variables(void)
{
	char **end = environ;

	for (char **next = environ; *next; next++)
		if (!is_repeated(*next, end))
			*end++ = *next;
	*end = NULL;
}

static int dispatch(const struct command_row *row, struct settings *s)
{
	const char *unexpected = s->operands[0];

	if (row->flags & (TAKES_WORDS | TAKES_COMMAND))
		unexpected = NULL;
	return unexpected ? usage_unexpected_operand(s, unexpected) : command_run(s);
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

/* An option after COMMAND is an argument of COMMAND: hint at that when the key seems to be
 * missing. The operand of a subcommand that takes none may be the missing key or token. */
static void hint_at_order(const struct settings *s, struct err *e)
{
	char hint[OPERAND_HINT_MAX];

	if (strncmp(e->text, "missing ", 8) == 0 && s->operands[0] &&
		option_operand_hint(hint, s, s->operands[0])[0])
		(void)err_hint(e, "%s", hint);
	if (s->command != COMMAND_RUN || s->names.count > 0 || e->kind != ERR_USAGE)
		return;
	if (s->operands[0] && s->operands[1] && strcmp(s->operands[1], "--") == 0)
		(void)err_hint(e, "-k goes before the key: redlock run -k KEY -- COMMAND");
	for (int i = 0; s->operands[i]; i++)
		if (strncmp(s->operands[i], "-k", 2) == 0 ||
			strncmp(s->operands[i], "--key", 5) == 0)
			(void)err_hint(e, "options go before the command: redlock run -k KEY "
					  "-- COMMAND");
}

static int run_with_options(const struct command_row *row, char *argv[], struct settings *settings)
{
	static char keys[REQUEST_KEY_MAX + 1];
	struct err e;
	int operands;

	settings_init_zeroed(settings, row->id);
	operands = options_read(settings, 2, argv, environ, &e);
	if (operands >= 0 && settings->help)
		return help_command(row->name, help_wants_all(argv[operands]));
	if (operands >= 0 && settings->version)
		return help_version();
	options_hide_passwords(argv + 2, operands < 0 ? INT_MAX : operands - 2);
	if (operands < 0)
		settings->format = options_read_format(row->id, 2, argv, environ);
	else if (setup(settings, &e) < 0)
		operands = -1;
	log_set_json(settings->format == FORMAT_JSON);
	set_loudness(settings);
	settings->operands = argv + (operands < 0 ? 2 : operands);
	if (operands < 0 || settings_finish(settings, &e) < 0 || open_log(settings->log, &e) < 0 ||
		(!settings_has_session(settings) && setup_tls(settings, &e) < 0)) {
		if (operands >= 0)
			hint_at_order(settings, &e);
		options_blame(settings, setup_file(), &e);
		log_err(&e);
		return status_of(e.kind);
	}
	if (settings->format == FORMAT_JSON && settings->keys.count > 0)
		log_set_key(settings_text(keys, &settings->keys));
	setup_warn(settings);
	return dispatch(row, settings);
}

static bool is_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

static int run_without_options(
	const struct command_row *row, char *const argv[], struct settings *settings)
{
	/* `redlock help --help` explains the option. */
	if (row->id != COMMAND_HELP && is_help(argv[2]))
		return help_command(row->name, false);
	settings_init_zeroed(settings, row->id);
	settings->operands = argv + 2;
	return dispatch(row, settings);
}

static int start(char *argv[], struct settings *settings)
{
	const char *word = argv[0] ? argv[1] : NULL;
	const struct command_row *row = word ? command_find(word) : NULL;

	if (!row)
		log_set_json(options_read_format(settings->command, argv[0] ? 1 : 0, argv,
				     environ) == FORMAT_JSON);
	if (!word) {
		help_missing_command();
		return STATUS_USAGE;
	}
	if (is_help(word))
		return help_command(NULL, false);
	if (strcmp(word, "--version") == 0)
		return help_version();
	if (!row)
		return word[0] == '-' ? usage_early_option(word) : usage_unknown_command(word);
	return row->flags & TAKES_OPTIONS ? run_with_options(row, argv, settings)
					  : run_without_options(row, argv, settings);
}

int main(int argc, char *argv[])
{
	static struct settings settings;
	int status;

	/* An unknown subcommand may be meant as this one. */
	settings.command = COMMAND_ACQUIRE;
	guard_standard_streams();
	drop_repeated_variables();
	title_init(argv);
	signals_ignore_limit();
	/* Our memory has the nodes' passwords: write no core dump, whichever signal kills
	 * redlock. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (argc > 2)
		probe_continue(argv);
	resolve_without_plugins();
	status = start(argv, &settings);
	/* After any failure, a script that evaluates the output must not continue as if it had the
	 * lock. Of a command line that was refused, the settings may lack the format. */
	if (status == STATUS_USAGE)
		settings.format =
			options_read_format(settings.command, argv[0] ? 1 : 0, argv, environ);
	if (status != STATUS_OK && settings.format == FORMAT_ENV)
		print_status_for_eval(status);
	print_leave(status);
	return status;
}
