/*
 * report: what became of a lock, in words for people. Each function writes one line without
 * "redlock:", safe to show on a terminal, and returns dst. The same words serve every command.
 */
#ifndef CORE_REPORT_H
#define CORE_REPORT_H

#include "core/quorum.h"

#define REPORT_MAX 3600

/* "'nightly' is held by alice@web1:42 backup on 3 of 5 nodes, 27s left" */
const char *report_holder(char dst[REPORT_MAX], const struct quorum *q, const char *key, usec now);

/* Why nobody wakes us. */
const char *report_no_seat(char dst[REPORT_MAX], const struct quorum *q,
	const struct node_list *nodes, const char *key);

/* Why the lock was not obtained: busy, no quorum with each node's trouble, ... */
const char *report_refusal(char dst[REPORT_MAX], const struct quorum *q,
	const struct node_list *nodes, const char *key);

/* Why a held lock is lost. */
const char *report_loss(char dst[REPORT_MAX], const struct quorum *q, const struct node_list *nodes,
	const char *key);

/* The same, when nobody was there to extend it. */
const char *report_stood_still(char dst[REPORT_MAX], const char *key);

/* Which nodes may still carry the lock after the release, and until when. */
const char *report_unreleased(char dst[REPORT_MAX], const struct quorum *q,
	const struct node_list *nodes, const char *key, usec now);

/* "redis://a:6379 and redis://b:6379 are one server" */
const char *report_duplicate(
	char dst[REPORT_MAX], const struct quorum *q, const struct node_list *nodes);

/* One node's answer to one request: "redis://a:6379 extend: yes (0.3ms)". */
const char *report_answer(char dst[REPORT_MAX], const struct node *node, enum op op,
	const struct answer *answer, usec took);

#endif
