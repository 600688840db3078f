#include "cmd/done.h"

#include "base/duration.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DONE_KEY_MAX (REQUEST_KEY_MAX + 32)
#define VALUE_MAX (OWNER_MAX + 48)

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

/* A value of another form is the owner. */
static void read_value(struct done *d, const char *value)
{
	long long ended;
	int status, used = 0;

	d->status = -1;
	if (sscanf(value, "%d %lld %n", &status, &ended, &used) == 2 && used > 0 && status >= 0) {
		d->status = status;
		d->ended = ended;
		value += used;
	}
	snprintf(d->owner, sizeof(d->owner), "%.*s", (int)strcspn(value, "\n"), value);
}

/* The page has two lines: the remaining milliseconds, and the value. The longest time counts. */
static void take_page(struct done *d, const struct query *query, int node)
{
	char text[VALUE_MAX + 32], *rest;
	int64_t ms;

	if (query->tally.ballot[node].vote != VOTE_YES || !query->page[node])
		return;
	snprintf(text, sizeof(text), "%.*s", (int)query->page_len[node], query->page[node]);
	ms = strtoll(text, &rest, 10);
	if (ms > DURATION_MAX / USEC_MSEC || ms * USEC_MSEC <= d->left)
		return;
	d->left = ms * USEC_MSEC;
	read_value(d, *rest == '\n' ? rest + 1 : rest);
}

bool done_find(struct done *d, struct query *query, const char *key)
{
	static const char script[] = "return {tostring(redis.call('PTTL', KEYS[1])), "
				     "redis.call('GET', KEYS[1])}";
	char name[DONE_KEY_MAX];

	*d = (struct done){.left = 0};
	ask(query, (const char *const[]){"EVAL", script, "1", done_key(name, key), NULL});
	for (int i = 0; i < query->tally.nodes; i++)
		take_page(d, query, i);
	return d->left > 0;
}

int done_store(struct query *query, const char *key, const struct done *d)
{
	char name[DONE_KEY_MAX], value[VALUE_MAX], ms[24];

	snprintf(value, sizeof(value), "%d %" PRId64 " %s", d->status, d->ended, d->owner);
	snprintf(ms, sizeof(ms), "%" PRId64, (d->left + USEC_MSEC - 1) / USEC_MSEC);
	return ask(query, (const char *const[]){"SET", done_key(name, key), value, "PX", ms, NULL});
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
