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

/* The fix for a server that has no command INFO. */
#define NO_INFO_FIX \
	"remove 'rename-command INFO' from redis.conf, and restart; where that is not possible, " \
	"give --restart-guard off: a restarted node then votes at once"

/* Why a node has no restart guard: the user lacks a right, or the server lacks a command. */
#define UNGUARDED_INFO 1
#define UNGUARDED_TIME 2
#define UNGUARDED_KEY 4
#define UNGUARDED_NO_INFO 8
#define UNGUARDED_NO_TIME 16
#define UNGUARDED_NO_RUN_ID 32

/* Writes the fix for a sum of these; "": none is known. */
const char *rights_guard_fix(char dst[FIX_MAX], const struct settings *s, int node, int unguarded);

/* Does the user lack the right to the key of that request, or to one that its script reads? */
bool rights_lacks_key(const struct reply *a);

/* Writes line i of the ACL rules for locks whose keys match the pattern, for redis-cli; NULL: there
 * are no more; "": this line is not needed. rights_check() has accepted user and pattern. */
const char *rights_line(char dst[FIX_MAX], int i, const char *user, const char *pattern);

/* Can the text be a part of an ACL rule that is pasted into redis-cli? Returns -1 with *e
 * (ERR_USAGE). `what` is the object of the message. */
int rights_check(const char *what, const char *text, struct err *e);

/* The user as which redlock logs in at the node. */
const char *rights_user(const struct settings *s, int node);

#endif
