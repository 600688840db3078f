/*
 * report: what became of a lock, in words for people. Each function writes one line without
 * "redlock:", safe to show on a terminal, and returns dst. The same words serve every command. Of
 * several keys the one is named that somebody else has, or else all.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "cli/node.h"
#include "lock/lock.h"
#include "proto/request.h"

#define REPORT_MAX 3600

/* "'nightly', 'weekly'" */
const char *report_keys(char dst[REPORT_MAX], const struct key_list *keys);

/* The same of a lock: "'nightly#2'" is a semaphore's slot; slot 0: not a semaphore. */
const char *report_lock(char dst[REPORT_MAX], int slot, const struct key_list *keys);

/* What they do: "is", or "are" where they are several. */
const char *report_verb(const struct key_list *keys);

/* "'nightly' is held by alice@web1:42 backup on 3 of 5 nodes, 27s left" */
const char *report_holder(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys, usec now);

/* What the value of a key looks like: "redlock", "hex32" (node-redlock, redis-py), "hex40",
 * "hex64", "uuid", "timestamp" (SETNX with a time, of old), "structure" (Redisson's hash, or no
 * lock at all), "other". A constant. */
const char *report_format(const struct reply *holder);

/* The time that a "timestamp" names, in seconds since 1970. */
int64_t report_timestamp(const struct reply *holder);

/*
 * How a key stands: whose it is, on how many nodes, for how long still, and what is odd about it;
 * `slot` is a semaphore's, else 0; `wall` is the time of day in seconds since 1970. The tally has
 * the replies to OP_LOOK.
 */
const char *report_status(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const char *key, int slot, int64_t wall);

/* In one word: "held", "free", "reserved", "minority", "unknown". A constant. */
const char *report_state(const struct tally *t);

/* Does any node say that others wait? */
bool report_is_awaited(const struct tally *t);

/* "2 of 5 nodes answered, 3 needed: ..." */
const char *report_no_answers(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes);

/* What became of a token's lock, when it is no longer held: "expired", or who has it. */
const char *report_holding(char dst[REPORT_MAX], const struct tally *t,
	const struct node_list *nodes, const struct key_list *keys, int slot);

/* Why nobody wakes us. */
const char *report_no_seat(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys);

/* Why the lock was not obtained: busy, no quorum with each node's trouble, ... */
const char *report_refusal(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now);

/* What can be done about the nodes that are in trouble; NULL: their troubles speak for themselves.
 * A constant. */
const char *report_remedy(const struct tally *t);

/* Do so many nodes have another time of day that it may be ours? */
bool report_is_skewed(const struct tally *t);

/* Which nodes voted though they cannot tell whether they forgot; "": none. */
const char *report_unguarded(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes);

/* Why a held lock is lost. */
const char *report_loss(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys);

/* The same, when nobody was there to extend it. */
const char *report_stood_still(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys);

/* After the release of a lock: too few nodes had it still, or had it not, to tell whether it was
 * held to the end; "": they do tell. */
const char *report_unsure(
	char dst[REPORT_MAX], const struct lock *lock, const struct key_list *keys);

/* Which nodes may still carry the lock after the release, why, and until when. */
const char *report_unreleased(char dst[REPORT_MAX], const struct lock *lock,
	const struct node_list *nodes, const struct key_list *keys, usec now);

/* "redis://a:6379 and redis://b:6379 are one server" */
const char *report_duplicate(
	char dst[REPORT_MAX], const struct tally *t, const struct node_list *nodes);

/* One node's answer to one request: "redis://a:6379 extend: yes (0.3ms)". */
const char *report_answer(char dst[REPORT_MAX], const struct node *node, enum op op,
	const struct reply *reply, usec took);

/* What an event tells of its node: an answer, or why the connection is down; NULL: nothing. */
const char *report_event(
	char dst[REPORT_MAX], const struct node *node, const struct event *ev, usec took);

#endif
