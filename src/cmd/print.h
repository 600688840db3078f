/*
 * print: results on stdout, the same way for every command. A JSON document has "schema": a name or
 * a meaning that changes raises it; new names do not.
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "base/json.h"
#include "cli/settings.h"
#include "lock/lock.h"

#define PRINT_SCHEMA 1

/* One line. */
void print_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* As it is. */
void print_text(const char *text, size_t len);

/* name=value, exported, quoted for eval whatever the value holds. */
void print_env(const char *name, const char *value);

/* What eval makes of a status; of nothing at all it would make success. */
void print_status_for_eval(int status);

/* Their names: all in one text, and several as a list too. */
void print_keys(struct json *j, const struct settings *s);

/* Opens the document with what all of them have. */
void print_begin(struct json *j, const struct settings *s);

/* "outcome" and "status". */
void print_outcome(struct json *j, const char *outcome, int status);

/* The whole document of a command that came to nothing, where one was asked for. Returns the
 * status, or that it could not be written. */
int print_failure(const struct settings *s, const char *outcome, int status);

/* Of a key's value: which program's it is, the owner's words, since when, and how long it has left.
 */
void print_holder(struct json *j, const char *name, const struct reply *holder);

/* Each node's answer; took: how long each took, or NULL. */
void print_nodes(
	struct json *j, const struct lock *lock, const struct node_list *nodes, const usec took[]);

/* STATUS_OK, unless two of the nodes are one server: then it is said, and STATUS_CONFIG. */
int print_duplicate(const struct lock *lock, const struct node_list *nodes);

/* Closes the document and prints it. */
void print_end(struct json *j);

/* On a terminal: what comes next stands at its top. */
void print_clear(void);

/* Whether all of it could be written: STATUS_OK, or it was said why not. */
int print_finish(void);

#endif
