/* out: what redlock says. The only writer on stderr; only the main thread calls it. */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/err.h"

#include <stdbool.h>

enum loudness {
	OUT_ERRORS, /* -q: only what made redlock fail */
	OUT_NORMAL, /* and what a user should know: waiting, busy, a lock left behind */
	OUT_DECISIONS, /* -v */
	OUT_ANSWERS, /* -vv: every node's answer */
};

void out_set_loudness(enum loudness loudness);
enum loudness out_loudness(void);

/*
 * After this, a line that stderr cannot take at once is dropped: a full pipe or a stopped terminal
 * must not keep us from hearing a signal, or from ending a command in time.
 */
void out_never_block(void);

/* One line "redlock: ..." and one write, if the loudness is at least `at`. */
void out_say(enum loudness at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Can a line be kept current? On a terminal that is ours to write on. */
bool out_is_live(void);

/* A line "redlock: ..." that whatever is said next replaces; cut to the terminal's width. */
void out_show(enum loudness at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes it away. */
void out_unshow(void);

/* One line "hint: ..." under a line said at the same loudness. */
void out_hint(enum loudness at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The error's line, and its hint if it has one. */
void out_err(const struct err *e);

#endif
