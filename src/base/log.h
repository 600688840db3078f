/*
 * out: what redlock says, and where: on stderr, in a file, or to syslog. The only writer on stderr;
 * only the main thread calls it.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>

enum log_level {
	LOG_ERRORS, /* -q: only what made redlock fail */
	LOG_NORMAL, /* and what a user should know: waiting, busy, a lock left behind */
	LOG_DECISIONS, /* -v */
	LOG_REPLIES, /* -vv: every node's answer */
};

void log_set_level(enum log_level level);
enum log_level log_level(void);

/*
 * Lines go to stderr until one of these is called: to syslog (to stderr where there is none), or to
 * a file that is open for appending. Such lines say which process wrote them; in a file, also when.
 */
void log_to_syslog(void);
void log_to_file(int opened);

/* From now on each line is a JSON object: "time", "level", and "message" or "hint". */
void log_set_json(bool json);

/* The descriptor that is written to: stderr's, or the file's, which is closed at exec. */
int log_fd(void);

/*
 * After this, a line that cannot be taken at once is dropped: a full pipe, a stopped terminal or a
 * stopped syslog must not keep us from hearing a signal, or from ending a command in time.
 */
void log_never_block(void);

/* One line "redlock: ..." and one write, if the loudness is at least `at`. */
void log_say(enum log_level at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Can a line be kept current? On a terminal that is ours to write on. */
bool log_is_live(void);

/* A line "redlock: ..." that whatever is said next replaces; cut to the terminal's width. */
void log_show(enum log_level at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes it away. */
void log_unshow(void);

/* One line "hint: ..." under a line said at the same loudness. */
void log_hint(enum log_level at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Lines as they are, such as those of --help. */
void log_text(enum log_level at, const char *text);

/* The error's line, and its hint if it has one. */
void log_err(const struct err *e);

#endif
