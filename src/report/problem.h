/*
 * problem: the one table of nodes' problems: for each reason a stable id, and the fix. doctor's
 * findings (problem_add()) and the hints after a refused lock (report_remedy()) are made of it.
 *
 * Calling sequence: ask with reply_is_absent() or problem_is_final() about a reply that is ABSENT.
 * Then add the finding for its reason with problem_add(), or write the fix with problem_fix().
 *
 * The functions keep nothing and cannot fail.
 */
#ifndef REPORT_PROBLEM_H
#define REPORT_PROBLEM_H

#include "cli/settings.h"
#include "lock/reply.h"
#include "report/finding.h"
#include "report/server_info.h"

/* Would every other request to the node fail in the same way? */
bool problem_is_final(const struct reply *a);

/* Adds the finding for the reason of an ABSENT reply. */
void problem_add(struct diagnosis *d, int node, enum severity severity, const struct settings *s,
	const struct server_info *info, const struct reply *a);

/* Writes the fix for the reason of an ABSENT reply of that node; "": none is known. `info` may be
 * NULL. */
const char *problem_fix(char dst[FIX_MAX], const struct settings *s, int node,
	const struct server_info *info, const struct reply *a);

/* Writes the fix for a replica, with the name of its master if `info`, which may be NULL, has it.
 */
const char *problem_replica_fix(char dst[FIX_MAX], const struct server_info *info);

/* The fix for a node that is a sentinel: only INFO tells that. */
#define SENTINEL_FIX "it is a sentinel: name the port of a server"

/* Writes the command that gives the node twice the memory that it uses, and enough for redlock. */
const char *problem_memory_fix(char dst[64], const struct server_info *info);

#endif
