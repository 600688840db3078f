#include "cmd/metrics.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS, SUCCESS, TIMESTAMP, STATUS, WAITED, HELD, EXTENSIONS, WORST_MARGIN, METRICS };

/* The man page promises the names and their meaning. */
static const struct metric {
	const char *name, *type, *help;
} metrics[METRICS] = {
	[RUNS] = {"redlock_runs_total", "counter", "Runs that have ended, by result."},
	[SUCCESS] = {"redlock_last_success_timestamp_seconds", "gauge",
		"When the command last ended with status 0."},
	[TIMESTAMP] = {"redlock_last_run_timestamp_seconds", "gauge", "When the last run ended."},
	[STATUS] = {"redlock_last_status", "gauge",
		"Exit status of the last run, 128 + n for a signal."},
	[WAITED] = {"redlock_last_waited_seconds", "gauge",
		"How long the last run waited for the lock."},
	[HELD] = {"redlock_last_held_seconds", "gauge",
		"How long the last run held the lock, if it did."},
	[EXTENSIONS] = {"redlock_last_extensions", "gauge",
		"How often the last run extended the lock."},
	[WORST_MARGIN] = {"redlock_last_worst_margin_seconds", "gauge",
		"The shortest validity that was left when an extension succeeded."},
};

/* A parsed line: NAME{LABELS} VALUE. */
struct series {
	int metric;
	const char *labels, *value;
	int labels_len, value_len;
	int order; /* of two lines for the same series, the higher one counts */
};

struct table {
	struct series *row;
	int count;
};

/* ---- reading ---- */

/* Returns the end of NAME="...", or NULL if the text does not begin with it. */
static const char *skip_label(const char *p, const char *end, const char *name)
{
	size_t n = strlen(name);
	unsigned code;

	if ((size_t)(end - p) < n || memcmp(p, name, n) != 0)
		return NULL;
	for (p += n; p < end && *p != '"'; p += n) {
		n = utf8_decode((const unsigned char *)p, (size_t)(end - p), &code);
		if (*p == '\\')
			n = end - p > 1 && (p[1] == '\\' || p[1] == '"' || p[1] == 'n') ? 2 : 0;
		if (n == 0 || code == 0)
			return NULL;
	}
	return p < end ? p + 1 : NULL;
}

static bool is_number(const char *p, const char *end, bool is_counter)
{
	size_t n = strspn(p, is_counter ? "0123456789" : "0123456789.-");
	char *stop;

	if (p + n != end || n == 0 || n > 18)
		return false;
	(void)strtod(p, &stop);
	return stop == end;
}

/* Parses the line from p to end, without its newline. */
static bool read_series(struct series *s, const char *p, const char *end)
{
	size_t n = 0;

	for (s->metric = 0; s->metric < METRICS; s->metric++) {
		n = strlen(metrics[s->metric].name);
		if ((size_t)(end - p) > n && memcmp(p, metrics[s->metric].name, n) == 0 &&
			p[n] == '{')
			break;
	}
	if (s->metric == METRICS)
		return false;
	s->labels = p + n + 1;
	p = skip_label(s->labels, end, "key=\"");
	if (p && s->metric == RUNS)
		p = skip_label(p, end, ",result=\"");
	if (!p || end - p < 2 || p[0] != '}' || p[1] != ' ')
		return false;
	s->labels_len = (int)(p - s->labels);
	s->value = p + 2;
	s->value_len = (int)(end - s->value);
	return is_number(s->value, end, s->metric == RUNS);
}

/* Ignores text after the last newline: it is an incomplete line. */
static void read_table(struct table *t, const char *text, size_t len)
{
	const char *end;

	for (; (end = memchr(text, '\n', len)); len -= (size_t)(end + 1 - text), text = end + 1) {
		struct series *s = &t->row[t->count];

		s->order = t->count;
		t->count += read_series(s, text, end);
	}
}

static int lines_of(const char *text, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

/* ---- this run ---- */

static void put_label(FILE *f, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = strlen(text);
	unsigned code;

	for (size_t n; len > 0; p += n, len -= n) {
		n = utf8_decode(p, len, &code);
		if (*p == '\\' || *p == '"' || *p == '\n')
			fprintf(f, "\\%c", *p == '\n' ? 'n' : *p);
		else
			fprintf(f, "%.*s", n ? (int)n : 3, n ? (const char *)p : "\xef\xbf\xbd");
		n += n == 0;
	}
}

static bool is_success(const struct sample *s)
{
	return strcmp(s->outcome, "completed") == 0;
}

/* The label's value: names of Prometheus have underscores. */
static const char *result_of(const struct sample *s, char dst[32])
{
	if (is_success(s))
		return "success";
	if (strcmp(s->outcome, "command-failed") == 0)
		return "failure";
	snprintf(dst, 32, "%s", s->outcome);
	for (char *dash = dst; (dash = strchr(dash, '-'));)
		*dash = '_';
	return dst;
}

static void put_series(FILE *f, int metric, const struct sample *s)
{
	fprintf(f, "%s{key=\"", metrics[metric].name);
	put_label(f, s->key);
	if (metric == RUNS)
		fprintf(f, "\",result=\"%s", result_of(s, (char[32]){0}));
	fprintf(f, "\"} ");
}

static void put_number(FILE *f, int metric, const struct sample *s, int64_t number)
{
	put_series(f, metric, s);
	fprintf(f, "%" PRId64 "\n", number);
}

static void put_seconds(FILE *f, int metric, const struct sample *s, usec d)
{
	usec size = d < 0 ? -d : d;

	if (d == NEVER)
		return;
	put_series(f, metric, s);
	fprintf(f, "%s%" PRId64 ".%06d\n", d < 0 ? "-" : "", size / USEC_SEC,
		(int)(size % USEC_SEC));
}

/* Closes f and returns its text; NULL: out of memory. */
static char *close_text(FILE *f, char **text)
{
	bool failed = ferror(f) != 0;

	if (fclose(f) == 0 && !failed)
		return *text;
	free(*text);
	return NULL;
}

/* Tells whether the command was not started because the lock was held: not a run. */
static bool is_skipped(const struct sample *s)
{
	return strcmp(s->outcome, "busy") == 0 || strcmp(s->outcome, "done") == 0;
}

static void put_last_run(FILE *f, const struct sample *s)
{
	if (is_success(s))
		put_number(f, SUCCESS, s, s->at);
	put_number(f, TIMESTAMP, s, s->at);
	put_number(f, STATUS, s, s->status);
	put_number(f, EXTENSIONS, s, s->extensions);
	put_seconds(f, WAITED, s, s->waited);
	put_seconds(f, HELD, s, s->held);
	put_seconds(f, WORST_MARGIN, s, s->worst_margin);
}

/* The lines of this run, as if it were the first of its key. */
static char *lines_of_run(const struct sample *s, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	put_number(f, RUNS, s, 1);
	if (!is_skipped(s))
		put_last_run(f, s);
	return close_text(f, &text);
}

/* ---- merging ---- */

/* Orders by metric, then by labels. */
static int compare_series(const struct series *a, const struct series *b)
{
	int len = a->labels_len < b->labels_len ? a->labels_len : b->labels_len, rc;

	if (a->metric != b->metric)
		return a->metric - b->metric;
	rc = memcmp(a->labels, b->labels, (size_t)len);
	return rc ? rc : a->labels_len - b->labels_len;
}

static int compare(const void *a, const void *b)
{
	const struct series *left = a, *right = b;
	int rc = compare_series(left, right);

	return rc ? rc : left->order - right->order;
}

/* Tells whether a series of earlier runs of this key is kept. */
static bool outlives_run(int metric, const struct sample *s)
{
	return metric == RUNS || (metric == SUCCESS && !is_success(s)) || is_skipped(s);
}

/* Drops the series of the key's last run, including those for which this run has no value. The rows
 * of this run begin at `own`, with the counter; its labels begin with the key. */
static void drop_last_run(struct table *t, int own, const struct sample *sample)
{
	const struct series *run = &t->row[own];
	/* The end of the key's label, before ,result="...". */
	const char *key_end = skip_label(run->labels, run->labels + run->labels_len, "key=\"");
	int len = (int)(key_end - run->labels), kept = 0;

	for (int i = 0; i < t->count; i++) {
		const struct series *s = &t->row[i];

		if (i >= own || outlives_run(s->metric, sample) || s->labels_len != len ||
			memcmp(s->labels, run->labels, (size_t)len) != 0)
			t->row[kept++] = *s;
	}
	t->count = kept;
}

/* Prints the table. Rows of one counter are adjacent: prints their sum with the last of them. */
static void put_table(FILE *f, const struct table *t)
{
	int metric = METRICS;
	uint64_t sum = 0;

	for (int i = 0; i < t->count; i++) {
		const struct series *s = &t->row[i];

		if (s->metric != metric)
			fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", metrics[s->metric].name,
				metrics[s->metric].help, metrics[s->metric].name,
				metrics[s->metric].type);
		metric = s->metric;
		sum += metric == RUNS ? strtoull(s->value, NULL, 10) : 0;
		if (i + 1 < t->count && compare_series(s, s + 1) == 0)
			continue;
		fprintf(f, "%s{%.*s} ", metrics[metric].name, s->labels_len, s->labels);
		if (metric == RUNS)
			fprintf(f, "%" PRIu64 "\n", sum);
		else
			fprintf(f, "%.*s\n", s->value_len, s->value);
		sum = 0;
	}
}

static char *text_of_table(const struct table *t, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	put_table(f, t);
	return close_text(f, &text);
}

char *metrics_merge(const char *old, size_t old_len, const struct sample *s, size_t *len)
{
	size_t run_len;
	char *run = lines_of_run(s, &run_len), *text = NULL;
	struct table t = {0};
	int own;

	if (!run)
		return NULL;
	/* One spare row: read_series() writes a row before it knows whether the line is valid. */
	t.row = calloc((size_t)lines_of(old, old_len) + METRICS + 1, sizeof(*t.row));
	if (t.row) {
		read_table(&t, old, old_len);
		own = t.count;
		read_table(&t, run, run_len);
		drop_last_run(&t, own, s);
		qsort(t.row, (size_t)t.count, sizeof(*t.row), compare);
		text = text_of_table(&t, len);
	}
	free(t.row);
	free(run);
	return text;
}
