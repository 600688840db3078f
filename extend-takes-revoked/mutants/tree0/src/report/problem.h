/*
 * problem: the findings about nodes that do not reply, or refuse a lock: one for each reason.
 *
 * Calling sequence: ask with problem_is() or problem_is_final() about a reply that is ABSENT, and
 * add the finding for its reason with problem_add().
 *
 * The functions keep nothing and cannot fail.
 */
#ifndef REPORT_PROBLEM_H
#define REPORT_PROBLEM_H

#include "lock/reply.h"
#include "report/finding.h"
#include "report/server_info.h"

/* Is the reply ABSENT for this reason? */
bool problem_is(const struct reply *a, enum reason reason);

/* Would every other request to the node fail in the same way? */
bool problem_is_final(const struct reply *a);

/* Adds the finding for the reason of an ABSENT reply. */
void problem_add(struct diagnosis *d, int node, enum severity severity,
	const struct server_info *info, const struct reply *a);

/* The constant fix for a reason. */
const char *problem_fix(enum reason reason);

/* Writes the command that gives the node twice the memory that it uses. */
const char *problem_memory_fix(char dst[64], const struct server_info *info);

#endif
