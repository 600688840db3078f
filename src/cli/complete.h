/*
 * complete: tells what can stand at the cursor of a command line, from the tables of commands and
 * options, for the completions of the shells.
 *
 * complete_read() reads the words of the line, in which anything may stand, and has no errors. The
 * result points into the words.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/option.h"

enum complete_place {
	COMPLETE_NOTHING,
	COMPLETE_COMMAND, /* a subcommand, or --help or --version */
	COMPLETE_TOPIC, /* of `redlock help`: a subcommand or an option */
	COMPLETE_ALL, /* its --all */
	COMPLETE_OPTION, /* an option of the subcommand */
	COMPLETE_VALUE, /* of an option, or an operand */
	COMPLETE_COMMAND_LINE, /* the command that redlock is to run, or its arguments */
};

struct complete {
	enum complete_place place;
	const struct command_row *command; /* NULL: it is not known yet */
	const char *word; /* the word at the cursor */
	const char *typed; /* its end, from where the value begins */
	const char *kinds; /* COMPLETE_VALUE: as "auto|on|off" or "D" in the tables; a key, a
			      profile and a host are "KEY", "PROFILE" and "HOST" */
	bool is_letters; /* COMPLETE_OPTION: the word has letters of options already, such as -n */
	bool is_full; /* the last of these takes a value */
	int first; /* COMPLETE_COMMAND_LINE: index of the command's first word */
	bool takes_operand; /* the key may still be an operand */
	bool is_all; /* COMPLETE_TOPIC: --all is given */
	const char *config; /* the value of --config, or NULL */
	bool is_given[OPTIONS_COUNT]; /* rows of options before the cursor, or as letters at it */
};

/* words: those after `redlock`, up to the cursor; the last one may be incomplete. They end with
 * NULL. */
void complete_read(struct complete *c, char *const words[]);

/* Can the option be given at the cursor? Not on a command line, or a second time without effect. */
bool complete_wants(const struct complete *c, const struct option_row *row);

#endif
