/*
 * signal_name: names of signals, for both directions. The C library is not asked: musl has no
 * sigabbrev_np(3), and the shell completions need the same names on every system.
 */
#ifndef BASE_SIGNAL_NAME_H
#define BASE_SIGNAL_NAME_H

#include <stdbool.h>

/* "TERM" for SIGTERM; NULL: the number has no name (real-time signals, numbers out of range). */
const char *signal_name(int number);

/*
 * Reads a signal's name, with or without SIG, in any case (TERM, sigterm, RTMIN+1), or its number;
 * false: there is no such signal.
 */
bool signal_parse(const char *text, long *out);

#endif
