#include "cmd/record.h"

#include "base/clock.h"
#include "base/duration.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mask.h"
#include "cmd/client.h"
#include "cmd/metrics.h"
#include "cmd/print.h"
#include "file/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer commands are cut. */
#define RECORD_COMMAND_MAX 1000

/* Returns the absolute path, which *kept owns until the process ends; NULL after an error
 * message. */
static const char *whole_path(const char *path, char **kept)
{
	char *folder;

	if (!path || path[0] == '/')
		return path;
	folder = getcwd(NULL, 0);
	if (!folder || asprintf(kept, "%s/%s", folder, path) < 0) {
		log_say(LOG_ERRORS,
			"cannot find the working directory: %s; nothing will be recorded",
			strerror(errno));
		*kept = NULL;
	}
	free(folder);
	return *kept;
}

static int64_t started; /* since 1970 */

void record_prepare(struct settings *s)
{
	static char *record, *metrics_file;

	started = clock_wall() / USEC_SEC;
	s->record = whole_path(s->record, &record);
	s->metrics_file = whole_path(s->metrics_file, &metrics_file);
}

static void put_failed_nodes(struct json *j, const struct settings *s, const struct lock *lock)
{
	json_open(j, "nodes", '[');
	for (int i = 0; i < lock->policy.nodes; i++) {
		if (!tally_in_trouble(&lock->tally, i))
			continue;
		json_open(j, NULL, '{');
		json_text(j, "node", s->nodes.node[i].label);
		json_text(j, "why", reason_words(lock->tally.ballot[i].reply.reason));
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Adds the process and its command, as the owner text shows it: without secrets. */
static void put_process(struct json *j, const struct settings *s, const struct run_summary *summary)
{
	char host[256] = "", uid[24], command[RECORD_COMMAND_MAX] = "";
	bool is_signal = strcmp(summary->outcome, "signalled") == 0;
	size_t used = 0;

	gethostname(host, sizeof(host) - 1);
	json_text(j, "host", host);
	json_text(j, "user", client_user(uid));
	json_number(j, "pid", getpid());
	if (s->shell)
		mask_append_text(command, sizeof(command), &used, s->shell);
	else if (s->command == COMMAND_RUN)
		mask_append_command(command, sizeof(command), &used, s->operands);
	if (used > 0)
		json_text(j, "command_line", command);
	if (is_signal)
		json_number(j, "signal", summary->status - 128);
}

static void append_line(const struct settings *s, const struct run_summary *summary)
{
	char when[TIME_TEXT_MAX];
	struct json j;
	struct err e;

	print_begin(&j, s);
	json_text(&j, "time", time_format(when, clock_wall() / USEC_SEC));
	json_text(&j, "started", time_format(when, started));
	json_text(&j, "owner", summary->owner);
	put_process(&j, s, summary);
	print_outcome(&j, summary->outcome, summary->status);
	json_ms(&j, "waited_ms", summary->waited);
	json_ms(&j, "held_ms", summary->held);
	if (s->limit > 0 && summary->held != NEVER)
		json_number(&j, "slot",
			policy_is_semaphore(&summary->lock->policy) ? summary->lock->stamp.slot
								    : 1);
	if (summary->lock->tenure.fence)
		json_number(&j, "fence", summary->lock->tenure.fence);
	json_number(&j, "extensions", summary->lock->tenure.extensions);
	json_ms(&j, "worst_margin_ms",
		summary->lock->tenure.extensions ? summary->lock->tenure.worst_margin : NEVER);
	json_bool(&j, "killed", summary->is_killed);
	put_failed_nodes(&j, s, summary->lock);
	json_close(&j, '}');
	if (j.failed) {
		log_say(LOG_ERRORS, "cannot record the run: out of memory");
	} else {
		j.text[j.len] = '\n'; /* overwrites the NUL */
		if (file_append(s->record, j.text, j.len + 1, &e) < 0)
			log_say(LOG_ERRORS, "cannot record the run: %s", e.text);
	}
	free(j.text);
}

static char *merge(const char *old, size_t old_len, const void *sample, size_t *len)
{
	return metrics_merge(old, old_len, sample, len);
}

static void update_metrics(const struct settings *s, const struct run_summary *summary)
{
	char keys[REQUEST_KEY_MAX + 1];
	const struct sample sample = {
		.key = settings_text(keys, &s->keys),
		.outcome = summary->outcome,
		.at = clock_wall() / USEC_SEC,
		.status = summary->status,
		.extensions = summary->lock->tenure.extensions,
		.waited = summary->waited,
		.held = summary->held,
		.worst_margin = summary->lock->tenure.extensions
					? summary->lock->tenure.worst_margin
					: NEVER,
	};
	struct err e;

	if (file_replace(s->metrics_file, merge, &sample, &e) < 0)
		log_say(LOG_ERRORS, "cannot update the metrics: %s", e.text);
}

void record_run(const struct settings *s, const struct run_summary *summary)
{
	if (s->record)
		append_line(s, summary);
	if (s->metrics_file)
		update_metrics(s, summary);
}
