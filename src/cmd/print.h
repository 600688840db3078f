/*
 * print: results on stdout, in the same way for every subcommand.
 *
 * A JSON document is composed with print_begin(), the functions here and in base/json.h, and
 * print_end(). A subcommand ends with print_finish(), which returns the exit status of a failed
 * write. Raise PRINT_SCHEMA when a name or its meaning changes; new names need no new number.
 *
 * Only this module and cmd/help write to stdout. print_end() frees the document.
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "base/json.h"
#include "cli/settings.h"
#include "lock/tally.h"

#define PRINT_SCHEMA 1

/* Prints one line. A control character in it is escaped, as by utf8_escape_line(). */
void print_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same in a colour of base/log.h, if stdout may have colours; "": in none. */
void print_coloured(const char *colour, const char *line);

/* Prints a line of two texts without control characters, with a tab between them. */
void print_pair(const char *value, const char *text);

/* Prints cells without control characters, with tabs between them. */
void print_row(const char *const cell[], int count);

/* The width of the terminal that stdout is; 0: it is none. */
int print_columns(void);

/* Prints bytes unchanged. */
void print_text(const char *text, size_t len);

/* Prints an export of name=value, quoted for eval. */
void print_env(const char *name, const char *value);

/* Prints an unset of these variables. */
void print_unset(const char *names);

/* Prints a line that makes eval fail with this status; eval of no output would succeed. */
void print_status_for_eval(int status);

/* Adds "key": all keys in one text; and "keys", a list, if there are several. */
void print_keys(struct json *j, const struct settings *s);

/* Opens the document, and adds the members that all documents have. */
void print_begin(struct json *j, const struct settings *s);

/* Adds "outcome" and "status". */
void print_outcome(struct json *j, const char *outcome, int status);

/* With --json, prints the whole document of a failure. Returns status, or that of a failed
 * write. */
int print_failure(const struct settings *s, const char *outcome, int status);

/* Adds an object about a key's value: the program that wrote it, the owner text, since when, the
 * list of nodes if it has one, and the remaining TTL. `nodes` are ours. */
void print_holder(struct json *j, const char *name, const struct reply *holder,
	const struct node_list *nodes);

/* Adds each node's reply; took: how long each reply took, or NULL. */
void print_nodes(
	struct json *j, const struct tally *t, const struct node_list *nodes, const usec took[]);

/* Returns STATUS_OK; if two nodes are one server, prints that and returns STATUS_CONFIG. */
int print_duplicate(const struct tally *t, const struct node_list *nodes);

/* Closes the document and prints it. */
void print_end(struct json *j);

/* Is stdout a terminal that print_clear() can clear? If it is, sets its size. */
bool print_is_screen(int *rows, int *columns);

/* Clears the terminal. */
void print_clear(void);

/* Writes the output so far, so that a message on stderr follows it on a terminal. */
void print_flush(void);

/* Flushes stdout. Returns STATUS_OK, or STATUS_INTERNAL after an error message. */
int print_finish(void);

/* Ends the process; returns only if exit handlers have something to do: to flush stdout, or, with a
 * sanitizer, to look for leaks. They cost seven page faults. */
void print_leave(int status);

#endif
