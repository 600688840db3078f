/*
 * command_table: the table of subcommands, commands.def. --help, the manual pages and the
 * completions are made from it. cmd/commands has the functions of the rows.
 *
 * The table is constant. Nothing here fails.
 */
#ifndef CLI_COMMAND_TABLE_H
#define CLI_COMMAND_TABLE_H

enum command {
#define COMMAND(id, ...) COMMAND_##id,
#include "cli/commands.def"
};

enum command_group {
	COMMANDS_COMMON,
	COMMANDS_SCRIPT,
	COMMANDS_ADMIN,
	COMMANDS_OTHER,
	COMMANDS_COUNT,
};

/* How the arguments after a subcommand's name are read. */
enum command_flag {
	TAKES_OPTIONS = 1, /* else every argument is an operand */
	TAKES_WORDS = 2, /* any number of operands */
	TAKES_COMMAND = 4, /* the operands are a command line; its options are left alone */
	NEEDS_KEY = 8,
};

/* A row of cli/commands.def. */
struct command_row {
	enum command id; /* also its index in command_rows */
	const char *name;
	unsigned flags; /* of enum command_flag */
	enum command_group group;
	const char *operands;
	const char *summary;
	const char *common; /* names of options, separated by blanks */
	const char *statuses; /* numbers, separated by blanks */
	const char *examples;
};

extern const struct command_row command_rows[];
extern const int command_rows_count;

/* "Common", ...: the heading of the group. */
const char *command_group_title(enum command_group group);

/* The name of a command. */
const char *command_name(enum command command);

/* The row with that name, or NULL. */
const struct command_row *command_find(const char *name);

/* The command that the user probably meant by an unknown name: the name of the same thing in other
 * programs, or the nearest spelling; NULL if no name is near. */
const char *command_nearest(const char *name);

#endif
