/*
 * metrics: the text of a file for Prometheus' textfile collector, in which every key has its
 * series. Pure: text in, text out.
 */
#ifndef CMD_METRICS_H
#define CMD_METRICS_H

#include "base/clock.h"

#include <stddef.h>
#include <stdint.h>

/* One run. */
struct sample {
	const char *key; /* bytes that are not UTF-8 become U+FFFD */
	const char *outcome; /* as cmd/record.h has it: "completed" is a success, "busy" no run */
	int64_t at; /* when it ended, in seconds since 1970 */
	int status;
	int extensions;
	usec waited;
	usec held, worst_margin; /* NEVER: there was none, and so there is no series */
};

/*
 * The old text with this run in it: counted and, unless it was skipped, in place of what was said
 * of the last run of its key; of the last success only by another one. Other keys' lines are kept,
 * those that are not understood are dropped; in good order whatever the old text is. Returns NULL
 * if there is no memory; the caller frees it.
 */
char *metrics_merge(const char *old, size_t old_len, const struct sample *s, size_t *len);

#endif
