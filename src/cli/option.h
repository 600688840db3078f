/*
 * option: the table of options, options.def, and the parser that reads it. --help, the manual
 * pages, the completions and `redlock config` are made from the same table.
 *
 * Calling sequence: settings_init(), then options_read() for the command line and the environment,
 * then options_read_config() for the configuration file, then settings_finish(). A source never
 * changes a setting that a stronger source has set.
 *
 * Ownership: the table is constant. Values are stored in struct settings as pointers into argv,
 * envp and the text of the file. Errors are ERR_USAGE, or ERR_CONFIG for a node or for the file.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include "cli/command_table.h"
#include "cli/config_file.h"
#include "cli/settings.h"

enum option_kind {
	OPTION_COUNT, /* no value; each mention adds 1 */
	OPTION_OFF, /* no value; undoes an OPTION_COUNT */
	OPTION_NO_WAIT, /* no value; sets a duration to 0 */
	OPTION_TEXT, /* not empty */
	OPTION_ANY_TEXT,
	OPTION_SECRET, /* text that must stay secret: refused on the command line */
	OPTION_KEY, /* repeated values add up, where the command takes several keys */
	OPTION_KEY_FORMAT, /* text with exactly one %s */
	OPTION_ON_LOST, /* a signal, or "warn" */
	OPTION_SIGNAL,
	OPTION_DURATION,
	OPTION_TIME_LIMIT, /* a duration; 0: none */
	OPTION_STATUS, /* 0..255 */
	OPTION_FACTOR, /* 0.01..0.5, kept in permille */
	OPTION_GUARD, /* auto, on or off */
	OPTION_FORMAT, /* plain, env or json */
	OPTION_JSON, /* no value: --format json */
	OPTION_PID,
	OPTION_FENCE, /* 1..FENCE_MAX */
	OPTION_SLOT, /* a slot, or how many there are: 1..LIMIT_MAX */
	OPTION_SERVERS, /* 1..NODES_MAX */
	OPTION_NODES, /* one node or a list of them; repeated values add up */
};

enum option_group {
	GROUP_LOCK,
	GROUP_RUN,
	GROUP_NODES,
	GROUP_TALK,
	GROUP_COUNT,
};

/* A row of cli/options.def. */
struct option_row {
	/* A bit for each enum command that has this option. Options of 'config' are allowed in a
	 * configuration file, if they are settings (option_is_setting()). */
	unsigned commands;
	enum option_group group;
	char letter; /* 0: none */
	const char *name;
	const char *const *aliases; /* other names; one of a single letter is an option like -e. The
				       list ends with NULL; NULL: none */
	enum option_kind kind;
	size_t field; /* offset in struct settings */
	unsigned env; /* a bit for each command that also reads REDLOCK_NAME */
	const char *value; /* name of the value in --help, or NULL */
	const char *help; /* --help without --all shows its first part, up to a semicolon */
	const char *initial; /* the default as a text, or NULL */
};

extern const struct option_row option_rows[];
extern const int option_rows_count;

/* "Lock", ...: the heading of the group. */
const char *option_group_title(enum option_group group);

/* Does the command have this option? */
bool option_is_of(const struct option_row *row, enum command command);

/* The option with that long name: the command's own, else another command's; NULL: there is none.
 */
const struct option_row *option_find(enum command command, const char *name);

#define OPERAND_HINT_MAX 240

/* Writes which option the word may be the value of, if the command takes no operands; else "".
 * Returns dst. */
const char *option_operand_hint(
	char dst[OPERAND_HINT_MAX], const struct settings *s, const char *word);

/* Does a value follow the option? */
bool option_takes_value(const struct option_row *row);

/* Does the word "--ttl", "--ttl=5s", "-t" or "-t5s" of a command line name this option? */
bool option_is_called(const struct option_row *row, const char *word);

/* The option of these commands (a bit for each, as in option_row) that the user probably meant by
 * an unknown name, as command_nearest(). */
const char *option_nearest(const char *name, unsigned commands);

/*
 * Reads the options in argv[first..], of a subcommand with a COMMAND up to the first operand.
 * Others may have options after operands, which it moves behind the options; their first operand is
 * the key, unless --key is given. Afterwards the environment sets what the command line left open.
 * Returns the index of the first operand that is not the key, or -1 with *e (ERR_USAGE, or
 * ERR_CONFIG for a node). Stops early, without reading the environment, at --help or
 * --version. Values are kept as pointers into argv and envp.
 */
int options_read(struct settings *s, int first, char *argv[], char *const envp[], struct err *e);

/* May one operand stand in the place of --key? */
bool option_takes_operand(enum command command);

/* Returns the format alone, also of a command line that options_read() refuses: words that are no
 * options of the command are left out. An unknown format counts as FORMAT_ENV. */
long options_read_format(enum command command, int first, char *const argv[], char *const envp[]);

/* Overwrites passwords in the first `count` words of a command line, or in all up to NULL, which
 * every user of this machine can read there. The settings have copies. */
void options_hide_passwords(char *const words[], int count);

/* Is the option allowed in a configuration file? */
bool option_is_setting(const struct option_row *row);

/*
 * Sets what is still open from the file: first from the profile, then from the part for all
 * profiles. Nodes without user and password get those of the same server in the file. Values are
 * kept as pointers into the text of the file. Returns -1 with *e (ERR_CONFIG), which names line and
 * column.
 */
int options_read_config(struct settings *s, const struct config_file *c, struct err *e);

/* If *e is about an option, as "--log", and its value is not from the command line: puts the source
 * of the value, "FILE:LINE: " or "REDLOCK_LOG: ", before the message. c: the configuration file, or
 * NULL. */
void options_blame(const struct settings *s, const struct config_file *c, struct err *e);

/* The option's environment variable. */
#define OPTION_ENV_MAX 48
const char *option_env_name(char dst[OPTION_ENV_MAX], const struct option_row *row);

/* A variable REDLOCK_... without effect. */
struct idle_variable {
	char name[OPTION_ENV_MAX];
	char meant[OPTION_ENV_MAX]; /* the variable that is probably meant, or "" */
	const struct option_row *row; /* the option of that name, which has no variable, or NULL */
};

/* Finds the next variable, from envp[*next] on, that sets nothing for the subcommand: redlock
 * neither reads nor sets it, or other subcommands alone read it. A variable with a name like no
 * name of ours may belong to another program. Returns false at the end. */
bool option_idle_variable(
	enum command command, char *const envp[], int *next, struct idle_variable *v);

/* The current value, as a configuration file has it; unprintable bytes are escaped, and secrets are
 * masked. Several keys are separated by newlines, escaped, too. Returns dst, or NULL if there is no
 * value. */
const char *option_value(
	char *dst, size_t size, const struct settings *s, const struct option_row *row);

/* Would the text that option_value() returned give the same value, in a configuration file? False
 * for secrets, and for text that is escaped or begins or ends with a blank. */
bool option_is_exact(const struct settings *s, const struct option_row *row, const char *shown);

#endif
