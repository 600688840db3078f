/*
 * option: the one table of commands and options. The parser, --help and whatever else lists them
 * read it. A new option is one row here and one field in struct settings.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include "cli/config.h"
#include "cli/settings.h"

enum command_group {
	COMMANDS_LOCK,
	COMMANDS_SCRIPT,
	COMMANDS_CARE,
	COMMANDS_ABOUT,
	COMMANDS_COUNT,
};

/* How the arguments after a subcommand's name are read. */
enum command_flag {
	TAKES_OPTIONS = 1, /* options first; else every argument is an operand */
	TAKES_WORD = 2, /* at most one operand */
	TAKES_KEYS = 4, /* any number of operands */
	TAKES_COMMAND = 8, /* the operands are a command line; its options are left alone */
	NEEDS_KEY = 16,
};

/* A row of cli/commands.def. */
struct command_row {
	enum command id; /* also its index in command_rows */
	const char *name;
	unsigned flags; /* of enum command_flag */
	enum command_group group;
	const char *operands;
	const char *summary;
	const char *examples;
};

extern const struct command_row command_rows[];
extern const int command_rows_count;

enum option_kind {
	OPTION_COUNT, /* no value; each mention adds 1 */
	OPTION_OFF, /* no value; takes back what an OPTION_COUNT said */
	OPTION_NO_WAIT, /* no value; sets a duration to 0 */
	OPTION_TEXT,
	OPTION_SECRET, /* text that nobody may see: not on the command line */
	OPTION_KEY, /* mentions add up, where the command takes several */
	OPTION_KEY_FORMAT, /* text with one %s */
	OPTION_ON_LOST, /* a signal, or "warn" */
	OPTION_DURATION,
	OPTION_LIMIT, /* a duration; 0: no limit */
	OPTION_STATUS, /* 0..255 */
	OPTION_FACTOR, /* 0.01..0.5, kept in permille */
	OPTION_GUARD, /* auto, on or off */
	OPTION_FORMAT, /* plain, env or json */
	OPTION_JSON, /* no value: --format json */
	OPTION_PID,
	OPTION_FENCE, /* a number from 1 on */
	OPTION_SLOTS, /* 1..SLOTS_MAX */
	OPTION_SERVERS, /* 1..NODES_MAX */
	OPTION_NODES, /* one node or a list of them; mentions add up */
};

enum option_group {
	GROUP_LOCK,
	GROUP_RUN,
	GROUP_NODES,
	GROUP_TALK,
	GROUP_COUNT,
};

struct option_row {
	/* Whose it is: a bit for each enum command. Those of 'config' can stand in a configuration
	 * file, if they are settings (option_is_setting()). */
	unsigned commands;
	enum option_group group;
	char letter; /* 0: none */
	const char *name;
	const char *alias; /* another long name, or NULL */
	enum option_kind kind;
	size_t field; /* offset in struct settings */
	unsigned env; /* for which of them REDLOCK_NAME sets it too */
	const char *value; /* what --help calls the value, or NULL */
	const char *words;
	const char *initial; /* the default, in words, or NULL */
};

extern const struct option_row option_rows[];
extern const int option_rows_count;

/* "Locks", ... */
const char *command_group_words(enum command_group group);

/* "Naming the lock", ... */
const char *option_group_words(enum option_group group);

/* The name of a command. */
const char *option_command_name(enum command command);

/* Does it take this option? */
bool option_is_of(const struct option_row *row, enum command command);

/* Is there a value behind it? */
bool option_takes_value(const struct option_row *row);

/* Is it what somebody typed, such as "--ttl", "--ttl=5s", "-t" or "-t5s"? */
bool option_is_called(const struct option_row *row, const char *word);

/* The row with that name, or NULL. */
const struct command_row *command_find(const char *name);

/* What is meant by a name that is none: what others call it, or the nearest; NULL if none is near.
 */
const char *command_nearest(const char *name);

/* The same of the options of these commands: a bit for each, as in their rows. */
const char *option_nearest(const char *name, unsigned commands);

/*
 * Reads the options in argv[first..]; they stop at the first operand or behind "--". Afterwards the
 * environment fills what the command line left open. Returns the index of the first operand, or
 * -1 with *e set (ERR_USAGE, or ERR_CONFIG for a node). Stops early, without looking at the
 * environment, when --help or --version was given. Values are kept as pointers into argv and envp.
 */
int options_read(
	struct settings *s, int first, char *const argv[], char *const envp[], struct err *e);

/* Can it stand in a configuration file? */
bool option_is_setting(const struct option_row *row);

/*
 * Then the file fills what is still open: the profile first, then what holds for all. Nodes that
 * were named without user and password have those of the same server in the file. Values are kept
 * as pointers into its text. Returns -1 with *e (ERR_CONFIG), which says where.
 */
int options_read_config(struct settings *s, const struct config *c, struct err *e);

/* Where the setting at that offset comes from. */
const struct source *option_source(const struct settings *s, size_t field);

/* How it is called in the environment. */
#define OPTION_ENV_MAX 48
const char *option_env_name(char dst[OPTION_ENV_MAX], const struct option_row *row);

/* What it is now, for people: secrets are masked. Returns dst, or NULL: nothing. */
const char *option_value(
	char *dst, size_t size, const struct settings *s, const struct option_row *row);

#endif
