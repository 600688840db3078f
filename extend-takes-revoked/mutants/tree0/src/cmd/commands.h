/*
 * commands: the functions of the subcommands, one for each row of cli/commands.def.
 *
 * main() finds the row by the name, fills a struct settings from the command line, the environment
 * and the configuration file, and calls command_run(). A subcommand without TAKES_OPTIONS gets
 * settings with their defaults and the operands.
 *
 * Each function returns the exit status of the process, after printing its own messages. `run`,
 * `sandbox` and the subcommands that wait for a lock may instead end the process by a signal;
 * `gate` becomes its command.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cli/settings.h"

/* Calls the function of s->command. */
int command_run(struct settings *s);

#define COMMAND(id, name, function, ...) int function(struct settings *s);
#include "cli/commands.def"

#endif
