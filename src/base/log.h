/*
 * log: writes redlock's messages to stderr, to a file, or to syslog.
 *
 * main calls log_set_level(), and log_to_syslog() or log_to_file() if the user wants that; then
 * log_say(), log_hint() and log_err() write one line each. log_show() keeps one line of a terminal
 * current, if log_is_live().
 *
 * This is the only module that writes to stderr. A control character in a message is escaped, as by
 * utf8_escape_line(). Only the main thread calls it: other threads and
 * processes send messages to main. No function returns an error: no outcome depends on a message.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>

enum log_level {
	LOG_ERRORS, /* -q: only the errors that made redlock fail */
	LOG_NORMAL, /* and the events that a user should know: waiting, busy, a lock that remains */
	LOG_DECISIONS, /* -v */
	LOG_REPLIES, /* -vv: every reply of a node */
};

void log_set_level(enum log_level level);
enum log_level log_level(void);

/*
 * Lines go to stderr until one of these functions is called. They send lines to syslog (to stderr
 * if no daemon listens), or to a file that is open for appending; to stderr again when the file
 * takes no more. Such lines name the process, lines in a file also the time.
 */
void log_to_syslog(void);
void log_to_file(int opened);

/* From now on each line is a JSON object: "time", "level", and "message" or "hint"; and "key", if
 * the key is not NULL, nor too long for a line. */
void log_set_json(bool json);
void log_set_key(const char *key);

/* Returns the descriptor of stderr or of the log file; the latter is closed at exec. */
int log_fd(void);

/*
 * From now on a line is dropped if writing it would block: a full pipe, a stopped terminal or a
 * stopped syslog must not keep redlock from handling a signal, or from terminating a command in
 * time.
 */
void log_never_block(void);

/* Writes one line "redlock: ..." by one write, if the level is at least `at`. */
SELDOM void log_say(enum log_level at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The subject of a message. As JSON, the line has these fields next to the text: "event", "status"
 * if it is not 0, and "holder" if it is neither NULL nor "". */
struct log_event {
	const char *name; /* an event of --on-event, or an outcome: "busy" */
	int status; /* the exit status */
	const char *holder; /* the owner text of the client that has the lock */
};

/* As log_say(), with these fields. */
SELDOM void log_event(enum log_level at, const struct log_event *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A question to the user, with -q, too. */
SELDOM void log_ask(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* May a text to this descriptor have colours? On a terminal that has them, unless NO_COLOR is set;
 * CI systems keep the text as a log. */
bool log_has_colour(int to);

#define COLOUR_ERROR "31"
#define COLOUR_WARNING "33"
#define COLOUR_GOOD "32"

/* Can log_show() keep a line current? True if stderr is a terminal and redlock is in its foreground
 * process group. */
bool log_is_live(void);

/* The columns of the terminal that the text of log_show() can have. */
int log_width(void);

/* Shows a line "redlock: ..." that the next message replaces; the line is cut to the terminal's
 * width, with "..." at its end. */
SELDOM void log_show(enum log_level at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Removes the line of log_show(). */
void log_clear(void);

/* Writes one line "hint: ..." after a line of the same level. */
SELDOM void log_hint(enum log_level at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes prepared lines, such as those of --help. */
SELDOM void log_text(enum log_level at, const char *text);

/* Writes the error's line, and its hint if it has one. */
SELDOM void log_err(const struct err *e);

/* The same for an error that ends nothing, with -q, too. */
SELDOM void log_warning(const struct err *e);

#endif
