/*
 * finding: the list of doctor's findings, each with a stable id, a severity, a message and a fix.
 *
 * Calling sequence: start with a struct diagnosis of zeros and is_usable[] set for every node.
 * Rules call finding_add(); report/diagnosis.h has the rules and diagnosis_judge(), which runs them
 * all.
 *
 * A finding is an error if it can break mutual exclusion, or makes locks impossible. The texts are
 * copied; `id` must be a constant.
 */
#ifndef REPORT_FINDING_H
#define REPORT_FINDING_H

#include "lock/policy.h"

#include <stdbool.h>

enum severity {
	SEVERITY_ERROR, /* the node is not usable; without a node: no lock can be acquired */
	SEVERITY_WARNING, /* works, until something else happens */
	SEVERITY_NOTE,
	SEVERITIES,
};

#define FIX_MAX 1600

struct finding {
	int node; /* -1: about all nodes or the settings */
	enum severity severity;
	const char *id; /* never changes */
	char message[1000]; /* safe to show */
	char fix[FIX_MAX]; /* "", a Redis command for the node, redlock's options, or advice */
};

/* More findings than there are rules, for each node and for all nodes together. */
#define FINDINGS_MAX (32 * (NODES_MAX + 1))

struct diagnosis {
	int count;
	struct finding finding[FINDINGS_MAX]; /* by node; those about all nodes are last */
	int usable; /* nodes that can vote now */
	bool is_usable[NODES_MAX];
	bool is_duplicate; /* two nodes are the same server */
	bool is_untried; /* a user's rights are in doubt on so many nodes that the others are no
			    quorum, and the key of a lock was not tried */
	int with[SEVERITIES]; /* number of findings of each severity */
};

/*
 * Adds a finding. If the node has one with the same id, the more severe of the two stays, or else
 * the earlier one: rules for causes run before rules for their consequences. An error makes the
 * node unusable.
 */
void finding_add(struct diagnosis *d, int node, enum severity severity, const char *id,
	const char *fix, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The same about all nodes; it stands beside others with the same id. */
void finding_also(struct diagnosis *d, enum severity severity, const char *id, const char *fix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The node's finding with that id, or NULL. */
const struct finding *finding_of(const struct diagnosis *d, int node, const char *id);

/* Is the fix a command for redis-cli? Such a fix has no other words. */
bool fix_is_command(const char *fix);

/* A sentence that belongs to a command: how it outlives a restart, or its side effect. A constant;
 * NULL: none. */
const char *fix_remark(const char *fix);

/* "error", "warning" or "note". */
const char *severity_name(enum severity severity);

#endif
