#include "cmd/confirm.h"

#include "base/exit.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int confirm(const struct settings *s, const char *question, const char *done)
{
	char line[16] = "";

	if (s->yes)
		return STATUS_OK;
	/* The question is printed to the log: without a terminal there, the user would not see
	 * it. */
	if (!isatty(STDIN_FILENO) || !isatty(log_fd())) {
		log_say(LOG_ERRORS, "missing --yes: nothing was %s", done);
		return STATUS_USAGE;
	}
	log_ask("%s Type 'yes'%s to do so", question, s->command == COMMAND_BREAK ? " or 'y'" : "");
	if (fgets(line, sizeof(line), stdin) &&
		(strcmp(line, "yes\n") == 0 ||
			(s->command == COMMAND_BREAK && strcmp(line, "y\n") == 0)))
		return STATUS_OK;
	log_say(LOG_ERRORS, "not confirmed: nothing was %s", done);
	return STATUS_BUSY;
}
