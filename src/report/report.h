/*
 * report: messages for people about locks, nodes and replies.
 *
 * Calling sequence: after a step of the lock machine (struct lock) or a query (struct tally), call
 * the function for the outcome with a buffer of REPORT_MAX bytes, and print the line. The functions
 * are in report.c (names of locks), refusal.c (lock not acquired), remedy.c (the fix), loss.c (lock
 * lost or not released), status.c (`status`, `break`) and trace.c (-vv).
 *
 * Each function writes one line without "redlock:", safe to show on a terminal, into the caller's
 * buffer and returns it; nothing is kept, and nothing fails. If several keys are locked, a line
 * about another holder names the key that is held.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "cli/settings.h"
#include "lock/lock.h"
#include "proto/request.h"
#include "report/server_info.h"

#define REPORT_MAX 3600

/* ---- names of locks ---- */

/* "'nightly', 'weekly'" */
const char *report_keys(char dst[REPORT_MAX], const struct key_list *keys);

/* The same, or "'nightly#2'" for the slot of a semaphore; slot 0: no semaphore. */
const char *report_lock(char dst[REPORT_MAX], int slot, const struct key_list *keys);

/* "is" for one key, "are" for several. */
const char *report_verb(const struct key_list *keys);

/* "'nightly' is held by alice@web1:42 backup on 3 of 5 nodes, expires in 27s unless renewed" */
const char *report_holder(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys, usec now);

/* The same for one line of a terminal: "waiting 12s of 10m for 'nightly', held by alice@web1:42
 * backup; 2nd in queue", of at most `width` columns if that is possible. The key and the
 * holder are shortened in the middle. Then the limit, the words "in queue" and the holder are left
 * out, in this order. */
const char *report_waiting(char dst[REPORT_MAX], const struct lock *lock,
	const struct key_list *keys, usec waited, int width);

/* "'nightly' is held by ... with other nodes (5 nodes, list 3fa9c1d2; here 3 nodes, list 77b0e412),
 * expires in 27s unless renewed: hosts must name the same nodes". `contender` is the reply of
 * lock_contested_by(), which is `age` old, or NULL. */
const char *report_contest(char dst[REPORT_MAX], const struct lock *lock,
	const struct key_list *keys, const struct reply *contender, usec age);

/* "with other nodes (5 nodes, list 3fa9c1d2; here 3 nodes, list 77b0e412)", for the client whose
 * fingerprint is `ours`; "": the holder has the same nodes, or does not tell. */
const char *report_other_nodes(char dst[REPORT_MAX], const char *ours, const struct reply *holder);

/* The hint about such a holder. */
#define CONTEST_HINT \
	"name the same nodes on all hosts: 'redlock config' prints a host's list and its name"

#define HOLDER_TEXT_MAX 400

/* The owner text in a reply that names a holder, or a foreign value. */
const char *report_owner_text(char dst[HOLDER_TEXT_MAX], const struct reply *holder);

/* The owner text of the client that has the lock, or a foreign value; "": none is known. */
const char *report_holder_text(char dst[HOLDER_TEXT_MAX], const struct tally *t);

/* "redis://a:6379 and redis://b:6379 are one server" */
const char *report_duplicate(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes);

/* ---- the lock was not acquired ---- */

/* Why the lock was not acquired: it is held, or there is no quorum; names each node's problem. */
const char *report_refusal(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now);

/* The hint about the problem of that node, with the names of all nodes that have the same fix;
 * NULL: there is no fix, or the hint of an earlier node has it. *remark is a hint that follows, or
 * NULL. `info` is about the nodes that were asked for it (kind[0]), or NULL. `unguarded`, if it
 * is not NULL, is that of report_unguarded(): the hint is about the restart guard. */
const char *report_remedy(char dst[REPORT_MAX], const struct settings *s, const struct tally *t,
	const struct server_info info[], const int unguarded[], int node, const char **remark);

/* How to end a lock that never expires, or get rid of other data under the key; NULL: the holder
 * has an end. */
const char *report_way_out(
	char dst[REPORT_MAX], const struct tally *t, const struct key_list *keys);

/* The waiter has queued, but not at the first node in the order, which has too many clients. */
const char *report_no_room(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys);

/* The nodes that did not grant the lock, with the reasons: "; NODE problem"; "": all did. */
const char *report_missing(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes);

/* Why the waiter polls instead of queueing. */
const char *report_no_queue(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys);

/* The nodes that voted although they cannot tell whether they restarted; unguarded[i]: why node i
 * cannot, a sum of UNGUARDED_* (report/rights.h). */
const char *report_unguarded(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const int unguarded[]);

/* ---- the lock was lost, or not released everywhere ---- */

/* Why a held lock was lost. */
const char *report_loss(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys);

/* An extension round ended without a majority; the lock is still valid. */
const char *report_unconfirmed(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now);

/* Why a held lock was lost, for a process that was stopped, so that it could not extend the lock.
 */
const char *report_stood_still(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys);

/* After the release: too few nodes still had the key, or had lost it, to tell whether the lock was
 * held to the end; "": they do tell. */
const char *report_unsure(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys);

/* The nodes that may still have the key after the release, why, and until when. */
const char *report_unreleased(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now);

/* Whether the token of a query still holds the lock; if not, its end or the new holder. */
const char *report_ownership(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const struct key_list *keys, int slot);

/* ---- the state of a key ---- */

/* The holder of a key, on how many nodes, for how long, and anything unusual about its value.
 * `slot` is that of a semaphore, else 0; `wall` is the time of day in seconds since 1970. The tally
 * has the replies to OP_LOOK. */
const char *report_status(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const char *key, int slot, int64_t wall);

/* The record of --once-per: the last run of a command. */
struct done {
	usec left; /* for so long, the key counts as done; 0: no record */
	usec once_per; /* as its holder said */
	int status; /* of the command, or 128 and its signal; -1: unknown */
	int64_t ended; /* the holder's time of day in seconds, when the command had ended */
	char owner[OWNER_MAX]; /* the holder; "": unknown */
	unsigned nodes; /* bit i: node i has this record; for `status` only */
};

/* "'nightly' is done until 2026-11-21T03:00:00Z (20h left), run by alice@web1:42 backup, which
 * ended with status 0 at ...". After another status, the key "counts as done". `wall` as above. */
const char *report_done(
	char dst[REPORT_MAX], const char *key, const struct done *done, int64_t wall);

/* "held", "free", "reserved", "minority" or "unknown". A constant. */
const char *report_state(const struct tally *t);

/* The number of waiters that are connected to the nodes; 0 also without the right to PUBSUB
 * NUMSUB. */
int64_t report_waiters(const struct tally *t);

/* Did a node report that clients wait for the key, or did until a minute ago? */
bool report_has_waiters(const struct tally *t);

/* Why a node is absent: "denies permission (NOPERM ...)". */
const char *report_problem(char dst[REPORT_MAX], const struct reply *a);

/* "2 of 5 nodes answered, 3 needed: ..." */
const char *report_too_few_replies(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes);

/* ---- -vv ---- */

/* One node's reply to one request: "redis://a:6379 extend: yes (0.3ms)". */
const char *report_reply(char dst[REPORT_MAX], const struct node *node, enum op op,
	const struct reply *reply, usec took);

/* A reply, or why the connection is down; NULL: the event is neither. */
const char *report_event(
	char dst[REPORT_MAX], const struct node *node, const struct event *ev, usec took);

#endif
