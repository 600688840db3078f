/*
 * redlock status: prints the state of locks as each node reports it.
 *
 * With keys, look_at() queries one after the other. Without keys, look_at_all() scans all nodes
 * page by page, sorts the locks and the records of --once-per by key, and judges each key by the
 * replies of all nodes. The lock of one key is a sentence, several locks are a table: add_row(),
 * print_table().
 */
#include "base/clock.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "base/token.h"
#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/done.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "net/query.h"
#include "report/list.h"
#include "report/report.h"
#include "report/rights.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys per page of a scan: a node needs a fraction of a millisecond for a page. */
#define SCAN_COUNT 200

/* Limits of a scan per node: some 300,000 locks among 50,000,000 keys. */
#define PAGES_MAX 250000
#define FOUND_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* Limit of the output: some 30,000 locks as JSON, some 150,000 as lines. */
#define SHOWN_BYTES_MAX ((size_t)16 * 1024 * 1024)

/* A node may take this many times as long for the scan as a majority needs. */
#define SLOWER_MAX 10

#define WATCH_EVERY 1 /* second */

/* One lock on one node, found by a scan. */
struct found {
	char *key; /* followed by NUL, the value, and NUL */
	size_t key_len, value_len;
	bool is_record; /* of --once-per: the value is its text */
	usec pttl; /* of a record, how long ago its run began */
	int waiters; /* that are connected to this node */
	int node;
};

/* The scan of one node. */
struct search {
	struct reply absent; /* why the node did not finish; else VOTE_NONE */
	char cursor[RUN_ID_MAX];
	struct request request;
	bool is_open; /* the scan goes on */
	bool skips_keys; /* the user may not read all keys: pages leave such keys out */
	int count; /* how many keys a page is to look at */
	int pages;
	size_t bytes; /* memory of the locks found on this node */
	usec took;
};

/* A row has a cell for each column, the remark that follows the holder, and the text by which it is
 * sorted. */
enum cell {
	CELL_KEY,
	CELL_HOLDER,
	CELL_HELD,
	CELL_NODES,
	CELL_WAITERS,
	CELLS,
	REMARK = CELLS,
	PLACE,
	TEXTS
};

struct overview {
	const struct settings *settings;
	bool is_table;
	char *(*row)[TEXTS];
	size_t row_count, row_size;
	struct query query;
	struct found *found;
	size_t count, size;
	size_t listed; /* keys with a lock or a result */
	size_t shown; /* bytes printed as lines */
	int rows, columns; /* of the terminal that --watch redraws; 0: none */
	int rows_used;
	int omitted; /* locks not printed, because of SHOWN_BYTES_MAX */
	struct json json;
	bool is_json;
	struct done done; /* about the key that is shown */
	bool is_unknown; /* the state of at least one lock is unknown */
	bool is_partial; /* a scan skipped keys */
	struct tally unknown; /* the first such lock */
	bool has_hinted;
};

/* The replies about one slot of a semaphore. */
struct slot {
	struct tally tally;
	usec took[NODES_MAX];
};

/* ---- showing ---- */

static void show_line(struct overview *st, const char *colour, const char *line)
{
	print_coloured(colour, line);
	st->shown += strlen(line) + 1;
	if (st->rows > 0)
		st->rows_used += 1 + (utf8_columns(line) - 1) / st->columns;
}

static void show_nodes(struct overview *st, const struct tally *t, const usec took[NODES_MAX])
{
	const struct node_list *nodes = &st->settings->nodes;
	char text[REPORT_MAX], line[REPORT_MAX + 2];

	for (int i = 0; i < nodes->count; i++) {
		snprintf(line, sizeof(line), "  %s",
			report_reply(text, &nodes->node[i], OP_LOOK, &t->ballot[i].reply, took[i]));
		show_line(st, "", line);
	}
}

/* The key itself is free, but slots of it are held. */
static void hint_at_slots(struct overview *st, const struct tally *t)
{
	if (st->has_hinted || st->is_table || tally_limit(t) == 0)
		return;
	st->has_hinted = true;
	print_flush();
	log_hint(LOG_NORMAL, "slots of the key are held: --limit %d shows them", tally_limit(t));
}

static void remember_unknown(struct overview *st, const struct tally *t)
{
	if (!st->is_unknown)
		st->unknown = *t;
	st->is_unknown = true;
}

/* ---- the table ---- */

/* Does a node know of a holder that has other nodes? Not of a reservation: it ends soon. */
static bool has_other_nodes(const struct overview *st, const struct tally *t)
{
	char ours[FINGERPRINT_MAX];

	node_list_fingerprint(ours, &st->settings->nodes);
	for (int i = 0; i < t->nodes; i++) {
		const struct reply *a = &t->ballot[i].reply;

		if (a->vote == VOTE_FOREIGN && !a->is_reserved && list_of_holder(ours, a).is_other)
			return true;
	}
	return false;
}

#define REMARK_MAX 80

/* A holder of less than this is left out. */
#define HOLDER_LEAST 9

/* Is the key free, and its job done? */
static bool is_over(const struct overview *st, const struct tally *t)
{
	return st->done.left > 0 && strcmp(report_state(t), "free") == 0;
}

/* Of a lock that is held or reserved, and of a result of --once-per, the holder, or ""; of each
 * lock a remark, or "": "free", "no majority, other nodes", "done, 20h left". */
static void describe(char holder[HOLDER_TEXT_MAX], char remark[REMARK_MAX],
	const struct overview *st, const struct tally *t)
{
	const char *state = report_state(t), *what = state;
	bool is_other = has_other_nodes(st, t), is_free = strcmp(state, "free") == 0;
	char left[DURATION_TEXT_MAX];
	int count;
	const struct reply reply = tally_holder(t, &count);

	report_holder_text(holder, t);
	if (is_over(st, t)) {
		utf8_escape(holder, HOLDER_TEXT_MAX, st->done.owner, strlen(st->done.owner));
		duration_format(left, st->done.left);
		if (st->done.status > 0)
			snprintf(remark, REMARK_MAX, "failed with %d, %s left", st->done.status,
				left);
		else
			snprintf(remark, REMARK_MAX, "done, %s left", left);
		return;
	}
	if (is_free && tally_limit(t) > 0) {
		snprintf(remark, REMARK_MAX, "slots are held, limit %d", tally_limit(t));
		return;
	}
	if (*holder && strcmp(state, "minority") == 0)
		what = "no majority";
	else if (*holder && strcmp(state, "held") == 0)
		what = reply.pttl == NEVER ? "no expiry" : "";
	snprintf(remark, REMARK_MAX, "%s%s%s", what, *what && is_other ? ", " : "",
		is_other ? "other nodes" : "");
}

/* "alice@web1:42 backup (no majority)": a remark has parentheses, so that no holder looks like one.
 * If the text has more than `columns`, the holder is shortened in the middle. */
static const char *with_remark(
	char dst[REPORT_MAX], const char *holder, const char *remark, int columns)
{
	char shown[HOLDER_TEXT_MAX];
	int room = columns - (*remark ? utf8_columns(remark) + 3 : 0);

	snprintf(shown, sizeof(shown), "%s", holder);
	if (*remark && room < HOLDER_LEAST && utf8_columns(shown) > room)
		shown[0] = '\0';
	utf8_shorten(shown, room);
	snprintf(dst, REPORT_MAX, *remark ? "%s%s(%s)" : "%s", shown, *shown ? " " : "", remark);
	return utf8_shorten(dst, columns);
}

static bool push_row(struct overview *st, const char *const text[TEXTS])
{
	if (st->row_count == st->row_size) {
		size_t size = 2 * st->row_size + 64;
		void *grown = realloc(st->row, size * sizeof(*st->row));

		if (!grown)
			return false;
		st->row = grown;
		st->row_size = size;
	}
	for (int i = 0; i < TEXTS; i++) {
		st->row[st->row_count][i] = strdup(text[i]);
		if (!st->row[st->row_count][i])
			return false;
		st->shown += i < PLACE ? strlen(text[i]) + 1 : 0;
	}
	st->row_count++;
	st->rows_used++;
	return true;
}

/* Of "2 readers: ann, bob", cuts the names off and returns them, if these are two; else NULL: a
 * name may have a comma, and a long text is cut. */
static const char *cut_readers(char *holder)
{
	char *names = strstr(holder, ": "), *end;
	long readers = strtol(holder, &end, 10), count = 1;

	if (!names || end == holder || strncmp(end, " readers", 8) != 0)
		return NULL;
	for (const char *at = names; (at = strstr(at, ", ")); at += 2)
		count++;
	if (count != readers)
		return NULL;
	*names = '\0';
	return names + 2;
}

/* A terminal has a row for each reader, under the key. */
static void add_readers(struct overview *st, const char *key, const char *names)
{
	char name[HOLDER_TEXT_MAX], place[4 * REQUEST_KEY_MAX + 32];
	const char *const text[TEXTS] = {"", name, "", "", "", "", place};

	for (int i = 1; *names; i++) {
		int len = (int)(strstr(names, ", ") ? strstr(names, ", ") - names
						    : (long)strlen(names));

		snprintf(name, sizeof(name), "  %.*s", len, names);
		snprintf(place, sizeof(place), "%s\1%d", key, i);
		if ((st->rows > 0 && st->rows_used >= st->rows - 2) || !push_row(st, text))
			return;
		names += len + (names[len] ? 2 : 0);
	}
}

static void add_row(struct overview *st, const struct tally *t, const char *key, size_t len)
{
	char name[4 * REQUEST_KEY_MAX + 8], holder[HOLDER_TEXT_MAX], held[DURATION_TEXT_MAX] = "-";
	char length[DURATION_TEXT_MAX];
	char nodes[40], waiters[24], remark[REMARK_MAX];
	const char *const text[TEXTS] = {name, holder, held, nodes, waiters, remark, name};
	const char *readers = NULL;
	size_t skip = 0;
	int count;
	const struct reply reply = tally_holder(t, &count);
	int64_t since = count > 0 && token_is_ours(reply.text, reply.text_len)
				? token_since(reply.text, reply.text_len, &skip)
				: 0;
	int64_t age = clock_wall() / USEC_SEC - since;

	utf8_escape(name, sizeof(name), key, len);
	describe(holder, remark, st, t);
	if (is_over(st, t))
		count = __builtin_popcount(st->done.nodes);
	if (since > 0 && !reply.is_reserved)
		(void)snprintf(held, sizeof(held), "%s",
			age > 0 ? duration_format(length, age * USEC_SEC) : "0s");
	snprintf(nodes, sizeof(nodes), "%d/%d", count, t->nodes);
	snprintf(waiters, sizeof(waiters), "%s%lld",
		report_waiters(t) == 0 && report_has_waiters(t) ? "?" : "",
		(long long)report_waiters(t));
	if (print_columns() > 0)
		readers = cut_readers(holder);
	if (push_row(st, text) && readers)
		add_readers(st, name, readers);
}

/* The last run of the key. A restarted node has lost the record, and gets it back from a run only.
 */
static const char *describe_done(
	char dst[REPORT_MAX], const struct overview *st, const struct tally *t, const char *key)
{
	int on = __builtin_popcount(st->done.nodes);
	size_t len;

	report_done(dst, key, &st->done, clock_wall() / USEC_SEC);
	len = strlen(dst);
	if (on < t->nodes)
		snprintf(dst + len, REPORT_MAX - len, "; %d of %d nodes have this record", on,
			t->nodes);
	return dst;
}

/* The colour of a row with that remark. */
static const char *colour_of(const char *remark)
{
	static const struct {
		const char *start, *colour;
	} rows[] = {
		{"unknown", COLOUR_ERROR},
		{"no expiry", COLOUR_ERROR},
		{"failed", COLOUR_ERROR},
		{"no majority", COLOUR_WARNING},
		{"other nodes", COLOUR_WARNING},
		{"free", COLOUR_GOOD},
		{"done", COLOUR_GOOD},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strncmp(remark, rows[i].start, strlen(rows[i].start)) == 0)
			return rows[i].colour;
	return "";
}

/* Prints a row as wide as the terminal: the last three columns as wide as they need, the others as
 * fits. columns: 0: no terminal: TABs, and nothing is shortened. */
static void print_cells(char *const text[TEXTS], const int width[CELLS], int columns)
{
	char line[REPORT_MAX] = "", holder[REPORT_MAX];
	const char *cell[CELLS];
	size_t used = 0;

	for (int i = 0; i < CELLS; i++)
		cell[i] = text[i];
	cell[CELL_HOLDER] = with_remark(holder, text[CELL_HOLDER], text[REMARK],
		columns > 0 ? width[CELL_HOLDER] : INT_MAX);
	if (columns == 0) {
		print_row(cell, CELLS);
		return;
	}
	utf8_shorten(text[CELL_KEY], width[CELL_KEY]);
	for (int i = 0; i < CELLS; i++)
		text_append(line, sizeof(line), &used, "%s%s%*s", i > 0 ? "  " : "", cell[i],
			i + 1 < CELLS ? width[i] - utf8_columns(cell[i]) : 0, "");
	while (used > 0 && line[used - 1] == ' ')
		line[--used] = '\0';
	print_coloured(colour_of(text[REMARK]), line);
}

/* The columns that the text of a cell needs. */
static int columns_of(char *const text[TEXTS], int i)
{
	char holder[REPORT_MAX];

	return utf8_columns(i == CELL_HOLDER
				    ? with_remark(holder, text[CELL_HOLDER], text[REMARK], INT_MAX)
				    : text[i]);
}

/* Slot 2 is before slot 10. */
static int by_name(const void *a, const void *b)
{
	return strverscmp(((char *const *)a)[PLACE], ((char *const *)b)[PLACE]);
}

static void print_table(struct overview *st)
{
	char key[] = "KEY", holder[] = "HOLDER", held[] = "HELD", nodes[] = "NODES",
	     waiters[] = "WAITERS", none[] = "",
	     *head[TEXTS] = {key, holder, held, nodes, waiters, none, none};
	int width[CELLS], columns = print_columns(), room = columns - 2 * (CELLS - 1);

	if (st->row_count == 0)
		return;
	qsort(st->row, st->row_count, sizeof(*st->row), by_name);
	for (int i = 0; i < CELLS; i++) {
		width[i] = utf8_columns(head[i]);
		for (size_t n = 0; n < st->row_count; n++)
			width[i] = (int)usec_max(width[i], columns_of(st->row[n], i));
		room -= i > CELL_HOLDER ? width[i] : 0;
	}
	if (width[CELL_KEY] + width[CELL_HOLDER] > room) {
		int least = (int)usec_min(width[CELL_HOLDER], room * 3 / 5);

		width[CELL_KEY] = (int)usec_min(width[CELL_KEY], room - least);
		width[CELL_HOLDER] = (int)usec_min(width[CELL_HOLDER], room - width[CELL_KEY]);
	}
	print_cells(head, width, columns);
	for (size_t n = 0; n < st->row_count; n++) {
		print_cells(st->row[n], width, columns);
		for (int i = 0; i < TEXTS; i++)
			free(st->row[n][i]);
	}
	st->row_count = 0;
}

/* Prints the lock of a key, from the replies in *t. slot: of a semaphore, else 0. */
static void show_key(struct overview *st, const struct tally *t, const usec took[NODES_MAX],
	const char *key, size_t len, int slot)
{
	const char *state = report_state(t);
	char text[REPORT_MAX], when[TIME_TEXT_MAX], owner[HOLDER_TEXT_MAX], remark[REMARK_MAX];
	int count;
	struct reply holder = tally_holder(t, &count);

	if (strcmp(state, "unknown") == 0)
		remember_unknown(st, t);
	if (st->is_table) {
		add_row(st, t, key, len);
		return;
	}
	if (!st->is_json) {
		describe(owner, remark, st, t);
		/* The result of --once-per is what counts: the lock is free between two runs. */
		if (st->done.left > 0)
			show_line(st, is_over(st, t) ? colour_of(remark) : "",
				describe_done(text, st, t, key));
		if (!is_over(st, t))
			show_line(st, colour_of(remark),
				report_status(text, t, &st->settings->nodes, key, slot,
					clock_wall() / USEC_SEC));
		if (st->settings->verbose)
			show_nodes(st, t, took);
		return;
	}
	json_open(&st->json, NULL, '{');
	json_bytes(&st->json, "key", key, len);
	if (st->settings->limit > 1)
		json_number(&st->json, "slot", slot);
	json_text(&st->json, "state", state);
	if (slot == 0 && tally_limit(t) > 0)
		json_number(&st->json, "limit", tally_limit(t));
	if (count > 0 && !holder.is_reserved) {
		print_holder(&st->json, "holder", &holder, &st->settings->nodes);
		json_number(&st->json, "on_nodes", count);
	}
	if (tally_newest_fence(t) > 0)
		json_number(&st->json, "fence", tally_newest_fence(t));
	if (st->done.left > 0) {
		json_open(&st->json, "done", '{');
		json_text(&st->json, "owner", st->done.owner);
		if (st->done.status >= 0) {
			json_number(&st->json, "status", st->done.status);
			json_text(&st->json, "ended", time_format(when, st->done.ended));
		}
		json_ms(&st->json, "left_ms", st->done.left);
		json_number(&st->json, "on_nodes", __builtin_popcount(st->done.nodes));
		json_close(&st->json, '}');
	}
	if (slot == 0)
		json_number(&st->json, "waiters", report_waiters(t));
	if (!st->found) /* a scan does not ask whether waiters may have gone */
		json_bool(&st->json, "awaited", report_has_waiters(t));
	print_nodes(&st->json, t, &st->settings->nodes, st->found ? NULL : took);
	json_close(&st->json, '}');
}

/* ---- one key after the other ---- */

/* Queries all nodes; slot: of a semaphore, else 0. */
static int ask(struct overview *st, const char *name, long slot)
{
	struct key_list key = ONE_KEY(name);
	const struct lock_ref lock = {.keys = &key, .slot = (int)slot, .token = ""};
	struct request look;

	request_script(&look, OP_LOOK, &lock, &(struct request_args){0});
	query_ask_all(&st->query, &look, NULL, QUERY_ALL);
	return print_duplicate(&st->query.tally, &st->settings->nodes);
}

static bool take_record(void *context, int node, int question)
{
	struct overview *st = context;

	if (question == 0)
		done_take(&st->done, &st->query, node);
	return true;
}

/* The table has a row for each slot that is not free, under its key. */
static int add_slots(struct overview *st, const char *key, int limit)
{
	const struct tally *t = &st->query.tally;
	char name[REQUEST_KEY_MAX + 16];
	int status = STATUS_OK;

	st->done = (struct done){.left = 0};
	for (int i = 1; i <= limit && status == STATUS_OK; i++) {
		status = ask(st, key, i);
		snprintf(name, sizeof(name), "%s#%d", key, i);
		if (status == STATUS_OK && strcmp(report_state(t), "free") != 0)
			show_key(st, t, st->query.took, name, strlen(name), 0);
	}
	return status;
}

/* Asks for the record of --once-per and the holder in one round trip. */
static int look_at_key(struct overview *st, const char *name)
{
	const struct tally *t = &st->query.tally;
	const struct key_list key = ONE_KEY(name);
	const struct request *asked[NODES_MAX];
	struct request question[2];
	char record_name[DONE_KEY_MAX];
	int status;

	done_request(&question[0], record_name, name);
	question[0].is_followed = true;
	request_script(&question[1], OP_LOOK, &(struct lock_ref){.keys = &key, .token = ""},
		&(struct request_args){0});
	for (int i = 0; i < NODES_MAX; i++)
		asked[i] = question;
	st->done = (struct done){.left = 0};
	query_ask_series(&st->query, asked, 2, take_record, st);
	status = print_duplicate(t, &st->settings->nodes);
	if (status == STATUS_OK) {
		show_key(st, t, st->query.took, name, strlen(name), 0);
		hint_at_slots(st, t);
		if (st->is_table)
			status = add_slots(st, name, tally_limit(t));
	}
	return status;
}

static void sum_up(struct overview *st, const char *key, const struct slot slots[], long limit)
{
	int held = 0, unknown = 0;
	int64_t waiters = report_waiters(&slots[0].tally);
	char name[REPORT_MAX], rest[40] = "", other[80] = "", queue[40] = "";

	for (long i = 0; i < limit; i++) {
		const char *state = report_state(&slots[i].tally);

		held += strcmp(state, "held") == 0;
		unknown += strcmp(state, "unknown") == 0;
	}
	if (st->is_json) {
		json_open(&st->json, NULL, '{');
		json_text(&st->json, "key", key);
		json_number(&st->json, "limit", limit);
		json_number(&st->json, "requested_limit", st->settings->limit);
		json_number(&st->json, "held", held);
		json_number(&st->json, "unknown", unknown);
		json_number(&st->json, "waiters", waiters);
		json_open(&st->json, "slots", '[');
		return;
	}
	if (unknown > 0)
		snprintf(rest, sizeof(rest), ", %d unknown", unknown);
	if (limit != st->settings->limit)
		snprintf(other, sizeof(other), " held with limit %ld, not %ld:", limit,
			st->settings->limit);
	if (waiters > 0)
		snprintf(queue, sizeof(queue), "; %lld waiter%s", (long long)waiters,
			waiters > 1 ? "s" : "");
	print_line("%s%s%s %d of %ld slots %s held%s%s", report_keys(name, &ONE_KEY(key)),
		*other ? " is" : ":", other, held, limit, held == 1 ? "is" : "are", rest, queue);
}

/* Asks for the first slot. *limit: with which slots are held; if none is held, that of --limit. */
static int ask_first(struct overview *st, const char *key, long *limit)
{
	int status = ask(st, key, 1), held_with = tally_limit(&st->query.tally);

	*limit = held_with > 0 ? held_with : st->settings->limit;
	return status;
}

/* Prints a summary of the semaphore, then each slot as a lock of its own. */
static int look_at_slots(struct overview *st, const char *key)
{
	char name[REQUEST_KEY_MAX + 8];
	struct slot *slots;
	long limit;
	int status = ask_first(st, key, &limit);

	slots = calloc((size_t)limit, sizeof(*slots));
	if (!slots) {
		log_say(LOG_ERRORS, "out of memory");
		return STATUS_INTERNAL;
	}
	for (long i = 0; i < limit && status == STATUS_OK; i++) {
		if (i > 0)
			status = ask(st, key, i + 1);
		slots[i].tally = st->query.tally;
		memcpy(slots[i].took, st->query.took, sizeof(slots[i].took));
	}
	if (status == STATUS_OK)
		sum_up(st, key, slots, limit);
	for (long i = 0; i < limit && status == STATUS_OK; i++) {
		/* The text has the slot by its number, JSON from the name. */
		snprintf(name, sizeof(name), st->is_json ? "%s#%ld" : "%s", key, i + 1);
		show_key(st, &slots[i].tally, slots[i].took, name, strlen(name), (int)i + 1);
	}
	if (st->is_json && status == STATUS_OK) {
		json_close(&st->json, ']');
		json_close(&st->json, '}');
	}
	free(slots);
	return status;
}

static int look_at(struct overview *st, char *const names[])
{
	char key[REQUEST_KEY_MAX + 1];
	int status = STATUS_OK;
	struct err e;

	for (int i = 0; names[i] && status == STATUS_OK; i++) {
		int rc = settings_operand_key(st->settings, names[i], key, &e);

		assert(rc == 0); /* cmd_status() has checked all names */
		status = st->settings->limit > 1 ? look_at_slots(st, key) : look_at_key(st, key);
	}
	return status;
}

/* ---- all locks ---- */

static bool add_found(struct overview *st, int node, const struct page_entry *entry)
{
	struct found *f;

	if (st->count == st->size) {
		size_t size = 2 * st->size + 64;
		struct found *grown = realloc(st->found, size * sizeof(*grown));

		if (!grown)
			return false;
		st->found = grown;
		st->size = size;
	}
	f = &st->found[st->count];
	*f = (struct found){
		.node = node,
		.key_len = entry->key_len,
		.is_record = entry->is_record,
		.value_len =
			entry->value_len < REPLY_TEXT_MAX ? entry->value_len : REPLY_TEXT_MAX - 1,
		.pttl = entry->pttl,
		.waiters = entry->waiters,
	};
	f->key = malloc(f->key_len + 1 + f->value_len + 1);
	if (!f->key)
		return false;
	memcpy(f->key, entry->key, f->key_len);
	f->key[f->key_len] = '\0';
	memcpy(f->key + f->key_len + 1, entry->value, f->value_len);
	f->key[f->key_len + 1 + f->value_len] = '\0';
	st->count++;
	return true;
}

static struct reply reply_of(const struct found *f)
{
	struct reply reply = {
		.vote = VOTE_FOREIGN,
		.pttl = f->pttl,
		.rank = f->waiters,
		.text_len = f->value_len,
	};

	memcpy(reply.text, f->key + f->key_len + 1, f->value_len);
	return reply;
}

static void end_search(struct search *search, enum reason reason)
{
	search->absent = reply_absent(reason, NULL);
	search->is_open = false;
}

/* Takes the reply of one node, a page of its scan. Returns false when out of memory. */
static bool read_page(struct overview *st, int node, struct search *search)
{
	const struct reply *reply = &st->query.tally.ballot[node].reply;
	/* A node that did not answer has no page. */
	const char *at = st->query.page[node] ? st->query.page[node] : "";
	const char *end = at + st->query.page_len[node];
	struct page_entry entry;

	/* Ask for the page again, without the keys that the user may not read. */
	if (!search->skips_keys && rights_lacks_key(reply)) {
		search->skips_keys = true;
		return true;
	}
	if (reply->vote != VOTE_YES) {
		search->absent =
			reply->vote == VOTE_ABSENT ? *reply : reply_absent(REASON_GARBAGE, NULL);
		search->is_open = false;
		return true;
	}
	search->pages++;
	search->took += st->query.took[node];
	while (at < end && page_next(&at, end, &entry)) {
		search->bytes += sizeof(struct found) + entry.key_len + entry.value_len;
		if (!add_found(st, node, &entry))
			return false;
	}
	/* An incomplete page leaves the cursor unchanged; "0" is both the first and the last
	 * cursor. */
	if (at < end)
		end_search(search, REASON_GARBAGE);
	else if (reply->is_cut)
		search->count = search->count / 4 + 1;
	else if (strcmp(reply->text, "0") == 0)
		search->is_open = false;
	else
		snprintf(search->cursor, sizeof(search->cursor), "%.*s",
			(int)sizeof(search->cursor) - 1, reply->text);
	return true;
}

static int by_length(const void *a, const void *b)
{
	const usec x = *(const usec *)a, y = *(const usec *)b;

	return (x > y) - (x < y);
}

/* Ends the scan of a node that sends too much, or takes too much longer than a majority. */
static void give_up(const struct overview *st, struct search search[NODES_MAX])
{
	const int nodes = st->settings->nodes.count;
	usec took[NODES_MAX], most;

	for (int i = 0; i < nodes; i++)
		took[i] = search[i].took;
	qsort(took, (size_t)nodes, sizeof(*took), by_length);
	most = st->settings->node_timeout + SLOWER_MAX * took[tally_quorum(&st->query.tally) - 1];
	for (int i = 0; i < nodes; i++) {
		if (!search[i].is_open)
			continue;
		if (search[i].pages == PAGES_MAX || search[i].bytes > FOUND_BYTES_MAX)
			end_search(&search[i], REASON_TOO_LONG);
		else if (search[i].took > most)
			end_search(&search[i], REASON_TIMEOUT);
	}
}

/* The first question has failed together with its connection: the node is asked no further. */
static void begin_search(struct search *search, const struct query *query, int node)
{
	const struct reply *first = &query->tally.ballot[node].reply;

	*search = (struct search){.cursor = "0", .is_open = true, .count = SCAN_COUNT};
	if (first->vote == VOTE_ABSENT && query->pool.conn[node].state != CONN_UP) {
		search->absent = *first;
		search->is_open = false;
	}
}

/* Scans all nodes side by side, page by page. Returns false when out of memory. */
static bool scan(struct overview *st, struct search search[NODES_MAX])
{
	const int nodes = st->settings->nodes.count;
	const struct request *asked[NODES_MAX];
	int open = 0;

	for (int i = 0; i < nodes; i++) {
		begin_search(&search[i], &st->query, i);
		open += search[i].is_open;
	}
	while (open > 0) {
		for (int i = 0; i < nodes; i++) {
			request_scan(&search[i].request, search[i].cursor, search[i].count,
				!search[i].skips_keys, true);
			asked[i] = search[i].is_open ? &search[i].request : NULL;
		}
		query_ask(&st->query, asked, NULL, QUERY_ALL);
		for (int i = 0; i < nodes; i++)
			if (asked[i] && !read_page(st, i, &search[i]))
				return false;
		give_up(st, search);
		open = 0;
		for (int i = 0; i < nodes; i++)
			open += search[i].is_open;
	}
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
	int order = memcmp(x->key, y->key, len);

	return order != 0 ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

/* A node without this lock in its scan either does not have it, or did not finish the scan. */
static void add_missing_replies(struct overview *st, const struct search search[NODES_MAX])
{
	const struct reply gone = {.vote = VOTE_GONE};
	struct tally *t = &st->query.tally;

	for (int i = 0; i < st->settings->nodes.count; i++)
		if (t->ballot[i].vote == VOTE_NONE)
			tally_take(t, i,
				search[i].absent.vote == VOTE_NONE ? &gone : &search[i].absent,
				NULL);
}

/* A malicious node must not fill the terminal, the log or the memory. On a screen, the last two
 * rows are for the number of omitted locks and the cursor. */
static bool is_full(const struct overview *st)
{
	if (st->rows > 0 && st->rows_used >= st->rows - 2)
		return true;
	return (st->is_json ? st->json.len : st->shown) >= SHOWN_BYTES_MAX;
}

/* Shows the lock of the key that `count` entries are about, from *f on. A key without a lock is
 * listed if it has a record that still counts; not in JSON, where the list has locks only. */
static void show_found(struct overview *st, const struct search search[NODES_MAX],
	const struct found *f, size_t count)
{
	struct tally *t = &st->query.tally;
	bool is_lock = false;

	tally_clear(t, clock_now());
	st->done = (struct done){.left = 0};
	for (size_t i = 0; i < count; i++) {
		const struct reply reply = reply_of(&f[i]);

		if (f[i].is_record && !st->is_json)
			done_keep(&st->done, f[i].node, f[i].key + f[i].key_len + 1, f[i].pttl);
		else if (!f[i].is_record)
			tally_take(t, f[i].node, &reply, NULL);
		is_lock |= !f[i].is_record;
	}
	add_missing_replies(st, search);
	if (!is_lock && st->done.left == 0)
		return;
	st->listed++;
	if (is_full(st))
		st->omitted++;
	else
		show_key(st, t, st->query.took, f->key, f->key_len, 0);
}

static void log_omitted(struct overview *st)
{
	if (st->is_table)
		print_table(st);
	if (st->omitted == 0)
		return;
	if (st->rows > 0) {
		print_line("... and %d more", st->omitted);
		return;
	}
	print_flush();
	log_say(LOG_ERRORS, "too many locks: %d are not shown", st->omitted);
	log_hint(LOG_ERRORS, "'redlock status KEY...' shows those that are named");
}

/* Locks on keys that a user may not read are not found: "no locks are held" would be wrong. */
static void log_skipped(struct overview *st, const struct search search[NODES_MAX])
{
	const char *user;
	char shown[300];

	for (int i = 0; i < st->settings->nodes.count && !st->is_partial; i++) {
		if (!search[i].skips_keys)
			continue;
		st->is_partial = true;
		user = rights_user(st->settings, i);
		print_flush();
		log_say(LOG_NORMAL, "user '%s' may not read all keys: other locks are not shown",
			utf8_escape(shown, sizeof(shown), user, strlen(user)));
		log_hint(LOG_NORMAL,
			"name a user that may read all keys (rights ~* +scan +getrange) with "
			"--username to see all locks");
	}
}

static int look_at_all(struct overview *st)
{
	struct search search[NODES_MAX] = {0};
	struct tally *t = &st->query.tally;
	/* A server with two names would be counted twice. */
	const struct lock_ref no_lock = {.keys = &ONE_KEY(""), .token = ""};
	struct request look;
	int clean = 0, status;

	request_script(&look, OP_LOOK, &no_lock, &(struct request_args){0});
	query_ask_all(&st->query, &look, NULL, QUERY_ALL);
	status = print_duplicate(t, &st->settings->nodes);
	if (status != STATUS_OK)
		return status;
	if (!scan(st, search)) {
		log_say(LOG_ERRORS, "out of memory");
		return STATUS_INTERNAL;
	}
	if (st->count > 0)
		qsort(st->found, st->count, sizeof(*st->found), by_key);
	for (int i = 0; i < st->settings->nodes.count; i++)
		clean += search[i].absent.vote == VOTE_NONE;
	for (size_t i = 0, next; i < st->count; i = next) {
		for (next = i; next < st->count && by_key(&st->found[i], &st->found[next]) == 0;
			next++)
			;
		show_found(st, search, &st->found[i], next - i);
	}
	log_omitted(st);
	log_skipped(st, search);
	if (clean == st->settings->nodes.count)
		return STATUS_OK;
	status = clean < tally_quorum(t) ? STATUS_NO_QUORUM : STATUS_OK;
	tally_clear(t, clock_now());
	add_missing_replies(st, search);
	if (status == STATUS_NO_QUORUM)
		remember_unknown(st, t);
	print_flush();
	log_say(status == STATUS_OK ? LOG_DECISIONS : LOG_ERRORS, "%s",
		report_too_few_replies((char[REPORT_MAX]){0}, t, &st->settings->nodes));
	return status;
}

/* ---- all of it ---- */

static int show(struct overview *st, char *const names[])
{
	char ours[FINGERPRINT_MAX];
	int status;

	st->is_unknown = st->is_partial = false;
	st->count = st->listed = st->shown = 0;
	st->omitted = st->rows_used = 0;
	if (st->is_json) {
		print_begin(&st->json, st->settings);
		json_text(&st->json, "list",
			list_of(node_list_fingerprint(ours, &st->settings->nodes)).name);
		json_open(&st->json, "locks", '[');
	}
	st->is_table = !st->is_json && !st->settings->verbose && st->settings->limit <= 1 &&
		       !(names[0] && !names[1]);
	st->rows_used = st->is_table;
	status = names[0] ? look_at(st, names) : look_at_all(st);
	if (st->is_table)
		print_table(st);
	if (status == STATUS_OK && st->is_unknown)
		status = STATUS_NO_QUORUM;
	if (!st->is_json && !names[0] && st->listed == 0 && status == STATUS_OK)
		print_line(st->is_partial
				   ? "no redlock locks are held on the keys that this user may read"
				   : "no redlock locks are held");
	if (st->is_json) {
		json_close(&st->json, ']');
		if (st->omitted > 0)
			json_number(&st->json, "omitted", st->omitted);
		if (st->is_partial)
			json_bool(&st->json, "partial", true);
		json_number(&st->json, "status", status);
		print_end(&st->json);
	}
	for (size_t i = 0; i < st->count; i++)
		free(st->found[i].key);
	return status;
}

int cmd_status(struct settings *s)
{
	char *const *names = s->operands;
	static struct overview st;
	const struct policy policy = settings_policy(s);
	bool has_hinted = false;
	char key[REQUEST_KEY_MAX + 1];
	struct err e;
	int status;

	st.settings = s;
	st.is_json = s->format == FORMAT_JSON;
	for (int i = 0; names[i]; i++)
		if (settings_operand_key(s, names[i], key, &e) < 0) {
			log_err(&e);
			return status_of(e.kind);
		}
	if (s->limit > 1 && !names[0]) {
		log_say(LOG_ERRORS, "missing key: --limit shows the slots of a key");
		log_hint(LOG_ERRORS, "redlock status --limit N KEY; see 'redlock help status'");
		return STATUS_USAGE;
	}
	if (query_open(&st.query, &policy, &s->nodes, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	do {
		if (s->watch && print_is_screen(&st.rows, &st.columns)) {
			print_clear();
			st.has_hinted = false;
		}
		status = show(&st, names);
		if (print_finish() != STATUS_OK)
			status = STATUS_INTERNAL;
		if (st.is_unknown && (st.rows > 0 || !has_hinted)) {
			setup_hint(s, &st.unknown, LOG_ERRORS);
			has_hinted = true;
		}
	} while (s->watch && status != STATUS_INTERNAL && status != STATUS_CONFIG &&
		 sleep(WATCH_EVERY) == 0);
	query_close(&st.query);
	free(st.found);
	free(st.row);
	return status;
}
