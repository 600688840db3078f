/*
 * help: the texts that redlock prints about itself, made from the tables of subcommands, options
 * and exit statuses.
 *
 * Each function composes one page and prints it in one piece. Those that print to stdout return
 * STATUS_OK, or the status of a failed write. help_command() is also what `redlock COMMAND --help`
 * shows.
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

/* name: of a subcommand; NULL: the overview of all of them. */
int help_command(const char *name);

int help_version(void);

/* Prints the overview to stderr, for a command line without a subcommand. */
void help_missing_command(void);

#endif
