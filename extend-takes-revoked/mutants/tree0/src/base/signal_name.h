/*
 * signal_name: names of signals, in both directions.
 *
 * signal_name() gives the name of a number, signal_parse() the number of a name or number that a
 * user typed. The table is redlock's own: musl has no sigabbrev_np(3), and the shell completions
 * need the same names on every system.
 */
#ifndef BASE_SIGNAL_NAME_H
#define BASE_SIGNAL_NAME_H

#include <stdbool.h>

/* Returns "TERM" for SIGTERM; NULL: the number has no name (real-time signals, numbers out of
 * range). */
const char *signal_name(int number);

/*
 * Reads a signal's name, with or without SIG, in any case (TERM, sigterm, RTMIN+1), or its number.
 * Returns false if no such signal exists.
 */
bool signal_parse(const char *text, long *out);

#endif
