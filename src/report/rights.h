/*
 * rights: the findings about a user's ACL, and the rules that fix them.
 *
 * Calling sequence: send rights_script (proto/scripts.h) with EVAL and one key of doctor's own, try
 * the requests of enum trial, and store the replies in struct node_facts (report/facts.h); then
 * rights_judge().
 */
#ifndef REPORT_RIGHTS_H
#define REPORT_RIGHTS_H

#include "cli/settings.h"
#include "report/finding.h"

struct node_facts;

void rights_judge(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p);

/* Writes the ACL rule for a request that the node refused (REASON_NOPERM): the command that the
 * refusal names, or else all that a lock with these settings needs of that kind. */
const char *rights_fix(
	char dst[FIX_MAX], const struct settings *s, int node, const struct reply *a);

/* Does the user lack the right to the key of that request, or to one that its script reads? */
bool rights_lacks_key(const struct reply *a);

/* The user as which redlock logs in at the node. */
const char *rights_user(const struct settings *s, int node);

#endif
