/*
 * exit: every exit status of redlock, in one table.
 *
 * Use the names of STATUS_TABLE in code, status_of() for an error, and status_rows for a list of
 * all statuses, as in --help and the man page.
 */
#ifndef BASE_EXIT_H
#define BASE_EXIT_H

#include "base/err.h"

/* name, number, meaning. The man page and `--help --all` show the whole meaning. --help shows the
 * part that begins with the subcommand's name, else the first part, up to a semicolon. */
#define STATUS_TABLE(X) \
	X(STATUS_OK, 0, "success; run, sandbox, gate: the command ended with 0") \
	X(STATUS_UNSOUND, 1, "doctor --strict: a warning or an error, though a quorum is usable") \
	X(STATUS_USAGE, 64, "usage error: nothing was done") \
	X(STATUS_NO_QUORUM, 69, \
		"no quorum: too few nodes answered within the wait; sandbox: no server") \
	X(STATUS_BUSY, 75, \
		"busy: another client held the lock for the whole wait; -E changes this " \
		"status; break: the lock did not end, or the user did not confirm; doctor: the " \
		"user did not confirm; gate: another command of the gate is still running") \
	X(STATUS_STALE, 76, "gate: the fencing number is outdated; the command was not run") \
	X(STATUS_CONFIG, 78, \
		"configuration error: a wrong setting, such as a node's URL, or a file that " \
		"cannot " \
		"be opened") \
	X(STATUS_LOST, 79, \
		"lock lost: the command was terminated; extend, release, check: the token no " \
		"longer holds the lock; hold: the process of --follow ended before the lock was " \
		"acquired") \
	X(STATUS_MAX_RUN, 124, "the command ran for longer than --max-run") \
	X(STATUS_INTERNAL, 125, "redlock itself failed") \
	X(STATUS_CANNOT_RUN, 126, "the command was found but could not be run") \
	X(STATUS_NOT_FOUND, 127, "the command was not found")

#define STATUS_ENUM(name, number, meaning) name = (number),
enum status { STATUS_TABLE(STATUS_ENUM) };
#undef STATUS_ENUM

struct status_row {
	int number;
	const char *meaning;
};

extern const struct status_row status_rows[];
extern const int status_rows_count;

/* Returns the exit status for a kind of error. */
int status_of(enum err_kind kind);

#endif
