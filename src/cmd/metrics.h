/*
 * metrics: the text of a file for Prometheus' textfile collector, with series for each key.
 *
 * Pure: metrics_merge() takes the old text of the file and returns the new one; cmd/record reads
 * and replaces the file.
 */
#ifndef CMD_METRICS_H
#define CMD_METRICS_H

#include "base/clock.h"

#include <stddef.h>
#include <stdint.h>

/* The values of one run. */
struct sample {
	const char *key; /* bytes that are not UTF-8 become U+FFFD */
	const char *outcome; /* "completed" is a success, "busy" and "done" are not runs */
	int64_t at; /* when the run ended, in seconds since 1970 */
	int status;
	int extensions;
	usec waited;
	usec held, worst_margin; /* NEVER: no series */
};

/*
 * Returns the old text with this run added: counts the run, and replaces the values of its key's
 * last run, except those of the last success by a failure. A skipped run is only counted. Keeps the
 * lines of other keys and drops lines that it cannot parse; the result is well-formed, whatever the
 * old text is. The caller frees the result; NULL: out of memory.
 */
char *metrics_merge(const char *old, size_t old_len, const struct sample *s, size_t *len);

#endif
