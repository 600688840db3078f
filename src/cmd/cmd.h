/* cmd: one function for each command. Each returns the exit status. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "cli/settings.h"

/* operands: what stands behind the options, NULL-terminated. May die of a signal instead. */
int cmd_run(struct settings *s, char *const operands[]);

int cmd_acquire(struct settings *s);

/* extend, release and check. */
int cmd_token(struct settings *s);

int cmd_wait(struct settings *s);

int cmd_hold(struct settings *s);

/* keys: NULL-terminated; none of them: all the locks that the nodes have. */
int cmd_status(struct settings *s, char *const names[]);

int cmd_break(struct settings *s);

int cmd_doctor(struct settings *s);

int cmd_config(const struct settings *s);

/* argv: the command. Becomes it, unless its number is too old. */
int cmd_gate(struct settings *s, char *const argv[]);

/* argv: the command; none: a shell. May die of a signal instead. */
int cmd_sandbox(struct settings *s, char *const argv[]);

/* what: the shell whose script is wanted, or what such a script asks for; NULL: it was not said. */
int cmd_completion(const char *what);

/* name: the command to explain, or NULL for all of them. */
int cmd_help(const char *name);

/* word: an option with its dashes: what it is, and of which commands. */
int cmd_help_option(const char *word);

/* What an exit status means, be it one of redlock's or not. */
int cmd_help_status(int status);

/* All commands, for who named none: to stderr. */
void cmd_help_astray(void);

int cmd_version(void);

#endif
