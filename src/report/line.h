/*
 * line: builds one line of a message, piece by piece. Internal to src/report.
 *
 * Calling sequence: `struct line l = line_begin(dst);`, then line_add() and the functions below;
 * the line in dst is complete after each call.
 *
 * The caller owns dst, REPORT_MAX bytes. Longer lines are cut. All texts from outside are escaped,
 * so the line is safe to show on a terminal.
 */
#ifndef REPORT_LINE_H
#define REPORT_LINE_H

#include "base/text.h"
#include "report/list.h"
#include "report/report.h"

struct line {
	char *dst;
	size_t used;
	int64_t wall; /* the time of day in seconds; 0: not known, so a holder has no age */
};

struct line line_begin(char dst[REPORT_MAX]);

/* Like printf(). */
#define line_add(l, ...) text_append((l)->dst, REPORT_MAX, &(l)->used, __VA_ARGS__)

void line_quoted(struct line *l, const char *text);

/* "'nightly', 'weekly'" */
void line_keys(struct line *l, const struct key_list *keys);

/* "'nightly#2'"; slot 0, no semaphore or no slot yet: as line_keys(). */
void line_slot(struct line *l, int slot, const struct key_list *keys);

/* The same with the slot that the lock holds, or asked for last. */
void line_lock(struct line *l, const struct lock *lock, const struct key_list *keys);

/* The key that most nodes report as held by another client. */
void line_held_key(struct line *l, const struct tally *t, const struct key_list *keys);

/* "held with limit 2, not 3" */
void line_limits(struct line *l, int theirs, int ours);

/* The holder in a reply: "alice@web1:42 backup since ...", or the start of a foreign value. */
void line_owner(struct line *l, const struct reply *a);

/* "held by ... on 3 of 5 nodes, expires in 27s unless renewed"; the nodes replied `age` ago. */
void line_holder(struct line *l, const struct tally *t, usec age);

/* "with other nodes (5 nodes, list 3fa9c1d2; here 3 nodes, list 77b0e412)": the holder's list, and
 * that of the client whose fingerprint is `ours`. */
void line_other_nodes(struct line *l, const struct list *theirs, const char *ours);

/* "held by ... with other nodes (...)"; NULL: its value is not known any more. */
void line_contender(struct line *l, const struct reply *contender, const char *ours);

/* "1 of 3 nodes confirmed it, 1 denied it, 1 did not vote, 2 needed"; it: "it" or "them". */
void line_votes(struct line *l, const struct tally *t, const char *it);

/* Why a node is absent; the reply is `age` old. */
void line_problem(struct line *l, const struct reply *a, usec age);

/* ": NODE problem; NODE, NODE problem" for all nodes with one. */
void line_problems(struct line *l, const struct tally *t, const struct node_list *nodes, usec age);

/* The same with `separator` in place of the ": ". */
void line_problems_after(struct line *l, const char *separator, const struct tally *t,
	const struct node_list *nodes, usec age);

#endif
