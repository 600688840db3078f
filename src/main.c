/* main: finds the command, reads its options, calls it. */
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "core/option.h"

#include <errno.h>
#include <fcntl.h>
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

static int unknown_command(const char *word)
{
	const char *nearest = command_nearest(word);
	char shown[100];

	text_escape(shown, sizeof(shown), word, strlen(word));
	out_say(OUT_ERRORS, word[0] == '-' ? "unknown option '%s'" : "unknown command '%s'", shown);
	if (nearest)
		out_hint(OUT_ERRORS, "did you mean '%s'? See 'redlock help'", nearest);
	else
		out_hint(OUT_ERRORS, "see 'redlock help'");
	return STATUS_USAGE;
}

static int too_many(const char *word)
{
	char shown[100];

	text_escape(shown, sizeof(shown), word, strlen(word));
	out_say(OUT_ERRORS, "unexpected argument '%s'", shown);
	out_hint(OUT_ERRORS, "see 'redlock help'");
	return STATUS_USAGE;
}

static int run(char *const argv[])
{
	struct settings settings;
	struct err e;
	int operands;

	settings_init(&settings);
	operands = options_read(&settings, 2, argv, environ, &e);
	if (operands >= 0 && settings.help)
		return cmd_help("run");
	if (operands >= 0 && settings.version)
		return cmd_version();
	if (operands < 0 || settings_finish(&settings, &e) < 0) {
		out_err(&e);
		return status_of(e.kind);
	}
	if (settings.quiet)
		out_set_loudness(OUT_ERRORS);
	else
		out_set_loudness(settings.verbose > 1    ? OUT_ANSWERS
				 : settings.verbose == 1 ? OUT_DECISIONS
							 : OUT_NORMAL);
	return cmd_run(&settings, argv + operands);
}

static int help(char *const argv[])
{
	const char *name = argv[2];

	if (name && argv[3])
		return too_many(argv[3]);
	return name && !command_find(name) ? unknown_command(name) : cmd_help(name);
}

int main(int argc, char *argv[])
{
	const struct command_row *row;
	const char *word = argc > 1 ? argv[1] : "";

	guard_standard_streams();
	/* The nodes' passwords are in our memory: no core dump of it, whatever kills us. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (argc < 2) {
		out_say(OUT_ERRORS, "no command: what shall be done?");
		out_hint(OUT_ERRORS, "redlock run -k KEY -- COMMAND; see 'redlock help'");
		return STATUS_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return cmd_help(NULL);
	if (strcmp(word, "--version") == 0)
		return cmd_version();
	row = command_find(word);
	if (!row)
		return unknown_command(word);
	switch (row->id) {
	case COMMAND_RUN:
		return run(argv);
	case COMMAND_HELP:
		return help(argv);
	case COMMAND_VERSION:
		return argv[2] ? too_many(argv[2]) : cmd_version();
	}
	return STATUS_INTERNAL;
}
