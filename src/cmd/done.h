/*
 * done: the records of `run --once-per D`, where D is longer than the locks last: "done until".
 *
 *     if (done_find(&d, &query, key)) ...           d.left and d.owner describe the record
 *     done_store(&query, key, &d)
 *     done_remove(&query, key)
 *
 * A record is a key of its own next to the lock's key. Its value is "STATUS TIME OWNER", of the
 * command and its holder, its TTL the remaining time. It is stored on all nodes, and found if any
 * node has it. It is no lock: it has no token, and a restarted node is in quarantine no longer
 * because of it. If a majority of the nodes loses it, the command runs a second time, but never
 * twice at once: the holder of the lock reads and writes it.
 *
 * The query is open, and its replies are replaced. Nothing here fails: a node that does not reply
 * has no record.
 */
#ifndef CMD_DONE_H
#define CMD_DONE_H

#include "base/log.h"
#include "io/query.h"
#include "proto/request.h"
#include "report/report.h"

bool done_find(struct done *d, struct query *query, const char *key);

/* These return the number of nodes that did it. */
int done_store(struct query *query, const char *key, const struct done *d);
int done_remove(struct query *query, const char *key);

/* Prints that the command of that key was run, by which holder, and until when that counts. status:
 * with which redlock ends because of it; 0: it does not. */
void done_log(const struct done *d, const char *key, enum log_level at, int status);

#endif
