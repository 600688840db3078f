#include "cmd/done.h"

#include "base/duration.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A host whose D is longer than that of the last run by more than this may run the command early.
 */
#define KEPT_LONGER (24 * 3600 * USEC_SEC)

#define STATUS_LARGEST 255

/* The ACL rule for the key's queue permits this name, too. */
static const char *done_key(char dst[DONE_KEY_MAX], const char *key)
{
	snprintf(dst, DONE_KEY_MAX, "redlock:queue:{%s}:done", key);
	return dst;
}

/* Returns the number of nodes that replied without an error. */
static int ask(struct query *query, const char *const words[])
{
	struct request r;

	request_command(&r, words);
	query_ask_all(query, &r, NULL, QUERY_ALL);
	return tally_count(&query->tally, VOTE_YES);
}

usec done_kept_for(usec once_per)
{
	return usec_add(once_per, KEPT_LONGER);
}

const char *done_text(char dst[DONE_TEXT_MAX], const struct done *d)
{
	snprintf(dst, DONE_TEXT_MAX, "%" PRId64 " %d %" PRId64 " %s", d->once_per / USEC_MSEC,
		d->status, d->ended, d->owner);
	return dst;
}

/* A whole number up to `most`, and the space after it. Moves *at to what follows. */
static bool read_number(const char **at, int64_t most, int64_t *number)
{
	const char *p = *at;

	for (*number = 0; *p >= '0' && *p <= '9' && *number <= most; p++)
		*number = *number * 10 + (*p - '0');
	if (p == *at || *p != ' ' || *number > most)
		return false;
	*at = p + 1;
	return true;
}

void done_read(struct done *d, const char *text)
{
	int64_t once_per_ms, status, ended;
	const char *at = text;

	*d = (struct done){.status = -1};
	if (read_number(&at, DURATION_MAX / USEC_MSEC, &once_per_ms) &&
		read_number(&at, STATUS_LARGEST, &status) &&
		read_number(&at, INT64_MAX / USEC_SEC / 10, &ended)) {
		d->once_per = once_per_ms * USEC_MSEC;
		d->status = (int)status;
		d->ended = ended;
		text = at;
	}
	snprintf(d->owner, sizeof(d->owner), "%.*s", (int)strcspn(text, "\n"), text);
}

/* Only a run that started at another moment has another text. */
static bool is_same_run(const struct done *a, const struct done *b)
{
	return a->once_per == b->once_per && a->status == b->status && a->ended == b->ended &&
	       strcmp(a->owner, b->owner) == 0;
}

void done_keep(struct done *d, int node, const char *text, usec age)
{
	struct done found;

	done_read(&found, text);
	found.left = found.once_per - usec_min(age, found.once_per);
	if (found.left == 0)
		return;
	found.nodes = 1u << node;
	if (is_same_run(&found, d)) {
		d->nodes |= found.nodes;
		d->left = usec_max(d->left, found.left);
	} else if (found.left > d->left) {
		*d = found;
	}
}

/* The page has two lines: how long ago the run started, and the text. */
void done_take(struct done *d, const struct query *query, int node)
{
	char page[DONE_TEXT_MAX + 32];
	const char *at = page;
	int64_t age_ms;

	if (query->tally.ballot[node].vote != VOTE_YES || !query->page[node])
		return;
	snprintf(page, sizeof(page), "%.*s", (int)query->page_len[node], query->page[node]);
	page[strcspn(page, "\n")] = ' ';
	if (!read_number(&at, DURATION_MAX / USEC_MSEC, &age_ms))
		return;
	done_keep(d, node, at, age_ms * USEC_MSEC);
}

void done_request(struct request *r, char name[DONE_KEY_MAX], const char *key)
{
	static const char script[] =
		"local v, t = redis.call('GET', KEYS[1]) or '', redis.call('TIME') "
		"local start, text = string.match(v, '^(%d+) (.*)$') "
		"return {string.format('%.0f', start and math.floor(t[1] * 1000 + t[2] / 1000) - "
		"start "
		"or -1), text or ''}";

	request_command(r, (const char *const[]){"EVAL", script, "1", done_key(name, key), NULL});
}

bool done_find(struct done *d, struct query *query, const char *key)
{
	char name[DONE_KEY_MAX];
	struct request r;

	*d = (struct done){.left = 0};
	done_request(&r, name, key);
	query_ask_all(query, &r, NULL, QUERY_ALL);
	for (int i = 0; i < query->tally.nodes; i++)
		done_take(d, query, i);
	return d->left > 0;
}

int done_remove(struct query *query, const char *key)
{
	char name[DONE_KEY_MAX];

	return ask(query, (const char *const[]){"DEL", done_key(name, key), NULL});
}

void done_log(const struct done *d, const char *key, enum log_level at, int status)
{
	char text[REPORT_MAX];

	log_event(at, &(struct log_event){.name = "done", .status = status, .holder = d->owner},
		"%s", report_done(text, key, d, clock_wall() / USEC_SEC));
}
