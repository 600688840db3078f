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

#include <stdbool.h>

/* name: of a subcommand; NULL: the overview of all of them. has_all: not only common options; with
 * the overview, the pages of all subcommands follow. */
int help_command(const char *name, bool has_all);

/* Is it the word that asks for all options? */
bool help_wants_all(const char *word);

int help_version(void);

/* Prints the overview to stderr, for a command line without a subcommand. */
void help_missing_command(void);

#endif
