/*
 * exit: every exit status of redlock, in one table.
 *
 * Use the names of STATUS_TABLE in code, status_of() for an error, and status_rows for a list of
 * all statuses, as in --help and the man page.
 */
#ifndef BASE_EXIT_H
#define BASE_EXIT_H

#include "base/err.h"

/* name, number, meaning, advice. The man page and `--help --all` show the whole meaning. --help
 * shows the part that begins with the subcommand's name, else the first part, up to a semicolon.
 * `help STATUS` shows the meaning and the advice: the usual causes, and what to do. */
#define STATUS_TABLE(X) \
	X(STATUS_OK, 0, "success; run, sandbox, gate: the command ended with 0", "") \
	X(STATUS_UNSOUND, 1, \
		"doctor: a quorum is usable, but the rights to locks are in doubt, and no -k " \
		"was given, or, with --strict, there is a warning or an error", \
		"Doctor prints a fix below each finding. With -k KEY, it checks the rights to " \
		"that key, and without --strict, the status is then 0 if a quorum can be used. " \
		"A command of 'run' may end with 1, too: redlock passes its status on.") \
	X(STATUS_USAGE, 64, "usage error: nothing was done", \
		"Usual causes: a misspelt option, an option after the keys or of another " \
		"subcommand, or no key. The message names it. 'redlock help SUBCOMMAND' shows " \
		"options and examples, 'redlock help --OPTION' explains an option.") \
	X(STATUS_NO_QUORUM, 69, \
		"no quorum: too few nodes answered in time; sandbox: a server did not start", \
		"Usual causes: servers that are down, a wrong node or password, a missing " \
		"permission, or new nodes, which vote after about half a minute. The message " \
		"has the reason of each node. 'redlock doctor' prints the fix for each " \
		"problem, 'redlock config' shows which nodes are named and where.") \
	X(STATUS_BUSY, 75, \
		"busy: another client held the lock for the whole wait; -E changes this " \
		"status; break: the lock did not end, or the user did not confirm; doctor: " \
		"the user did not confirm; gate: the command of an earlier gate is still running", \
		"The usual cause is a holder that needs longer than --wait; with -n, redlock " \
		"does not wait. 'redlock status KEY' shows the holder. Wait longer (--wait " \
		"10m), or end the holder's command with 'redlock break -k KEY'. In cron jobs, " \
		"-n -E 0 skips a run.") \
	X(STATUS_STALE, 76, "gate: the fencing number is outdated; the command was not run", \
		"The usual cause is a caller that has lost its lock: a later holder has " \
		"passed the gate with a higher number. Do not repeat the request with the " \
		"same number; acquire the lock again, with --fence, for a new one.") \
	X(STATUS_CONFIG, 78, \
		"configuration error: a wrong setting, such as a node's URL, or a file that " \
		"cannot be opened; gate: the store cannot be opened or written", \
		"Usual causes: a wrong URL of a node, an unknown name or a wrong owner or " \
		"mode of the configuration file, or two names of one server. The message " \
		"names the setting or the line. 'redlock config' shows all settings and their " \
		"sources; see redlock-config(5).") \
	X(STATUS_LOST, 79, \
		"lock lost: the command was terminated; extend, release, check: the token no " \
		"longer holds the lock; hold: the process that --follow names ended before the " \
		"lock was acquired", \
		"Usual causes: a majority of the nodes did not answer for most of the TTL, " \
		"the host was suspended, 'redlock break' or --takeover ended the lock, or " \
		"'extend' was late or had another key, token or nodes. The message says " \
		"which. The command may have done part of its work: check that, then run it " \
		"again. A longer --ttl tolerates longer outages.") \
	X(STATUS_MAX_RUN, 124, "the command ran for longer than --max-run", \
		"redlock terminated the command, which may have done part of its work. Find " \
		"out why it took so long, or raise --max-run. timeout(1) ends with 124, too, " \
		"if it is the command.") \
	X(STATUS_INTERNAL, 125, "redlock itself failed", \
		"Usual causes: no memory, process or descriptor left (ulimit -a), an output " \
		"that cannot be written, such as a full disk, or one of redlock's processes " \
		"was killed. The message says which.") \
	X(STATUS_CANNOT_RUN, 126, "the command was found but could not be run", \
		"Usual causes: a script without permission (chmod +x), a folder, or a missing " \
		"interpreter in the first line of the script.") \
	X(STATUS_NOT_FOUND, 127, "the command was not found", \
		"Usual causes: a misspelt name, or a shorter PATH, as in cron: name the whole " \
		"path. Builtins, pipes and variables of the shell need -c: redlock run -k KEY " \
		"-c 'COMMAND'.")

#define STATUS_ENUM(name, number, meaning, advice) name = (number),
enum status { STATUS_TABLE(STATUS_ENUM) };
#undef STATUS_ENUM

struct status_row {
	int number;
	const char *meaning, *advice;
};

extern const struct status_row status_rows[];
extern const int status_rows_count;

/* Returns the exit status for a kind of error. */
int status_of(enum err_kind kind);

#endif
