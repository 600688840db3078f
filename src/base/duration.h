/*
 * duration: lengths of time and dates as text.
 *
 * duration_parse() reads user input; duration_format() and time_format() write into a buffer of the
 * caller, of DURATION_TEXT_MAX or TIME_TEXT_MAX bytes, and return it, so that they can be arguments
 * of a message. Nothing is allocated.
 */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include "base/clock.h"

#include <stdint.h>

#define DURATION_MAX ((usec)100 * 365 * 86400 * USEC_SEC)

/*
 * Reads `250ms 1.5s 30s 5m 2h 1d`, the same with longer names (`10sec 5min 2hours`), and several of
 * them, the largest unit first (`1h30m`); a bare number is seconds. Fractions are rounded up to the
 * next millisecond. At most DURATION_MAX. Returns NULL and sets *out, or returns the reason of the
 * failure (a constant), as in "is negative".
 */
const char *duration_parse(const char *text, usec *out);

/* Returns a hint if the word is only a unit, because "10 m" or "10 min" was typed; else NULL. */
const char *duration_hint(const char *word);

#define DURATION_TEXT_MAX 24

/* Writes a duration in the usual short form: "0ms", "250ms", "1.5s", "90s", "5m", "2h30m", "3d".
 * Negative durations are shown as 0ms. Returns dst. */
const char *duration_format(char dst[DURATION_TEXT_MAX], usec d);

/* Writes a duration of whole milliseconds so that duration_parse() reads exactly the same. Returns
 * dst. */
const char *duration_format_exact(char dst[DURATION_TEXT_MAX], usec d);

#define TIME_TEXT_MAX 32

/* Writes seconds since 1970 as 2026-11-21T18:03:11Z. Returns dst. */
const char *time_format(char dst[TIME_TEXT_MAX], int64_t seconds);

#endif
