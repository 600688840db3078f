/*
 * done: the records of `run --once-per D`: a key counts as done while its last run started less
 * than D ago.
 *
 *     tally_done(&tally, D)              the record, in the votes that granted the lock
 *     done_text(text, &d)                the text of a record, for session_set_record()
 *     done_read(&d, text)                what such a text says
 *     done_find(&d, &query, key)         for `break`
 *     done_request(), done_take()        for `status KEY`, which asks more in the same series
 *     done_keep(&d, node, text, age)     for `status`, which finds records by a scan
 *     done_remove(&query, key)
 *
 * A record is a key of its own next to the lock's key: the node's time at which the run started,
 * and the text "D STATUS TIME OWNER", of the command and its holder (proto/lua/parts/record.lua).
 * Each acquire with --once-per asks for it, each release of such a lock stores it. So the majority
 * that grants the lock has a node that knows of the last run. If a majority of the nodes loses the
 * record, the command runs a second time, but never twice at once. The record is no lock: it has no
 * token, and no influence on votes and quarantine.
 *
 * The query is open, and its replies are replaced. Nothing here fails: a node that does not reply
 * has no record.
 */
#ifndef CMD_DONE_H
#define CMD_DONE_H

#include "base/log.h"
#include "net/query.h"
#include "proto/request.h"
#include "report/report.h"

#define DONE_TEXT_MAX (OWNER_MAX + 64)
#define DONE_KEY_MAX (REQUEST_KEY_MAX + 32)

/* Returns dst. */
const char *done_text(char dst[DONE_TEXT_MAX], const struct done *d);

/* Sets all fields but `left`. A text of another form is the owner. */
void done_read(struct done *d, const char *text);

/* How long the nodes keep the record: longer than D, since other hosts may use a longer one. */
usec done_kept_for(usec once_per);

/* The record with the latest start: d->left is the rest of its holder's D. Returns whether the key
 * counts as done. */
bool done_find(struct done *d, struct query *query, const char *key);

/* The question of done_find(), for a series. `name` must last as long as the request. */
void done_request(struct request *r, char name[DONE_KEY_MAX], const char *key);

/* Node `node` has answered it: keeps the record if its start is later than that in *d. */
void done_take(struct done *d, const struct query *query, int node);

/* The node has a record with that text, of a run that began so long ago: the same. */
void done_keep(struct done *d, int node, const char *text, usec age);

/* Returns the number of nodes that removed the record, or had none. */
int done_remove(struct query *query, const char *key);

/* Prints that the command of that key was run, by which holder, and until when that counts. status:
 * with which redlock ends because of it; 0: it does not. */
void done_log(const struct done *d, const char *key, enum log_level at, int status);

#endif
