/*
 * own_keys: the findings about redlock's own bookkeeping keys on a node.
 *
 * Calling sequence: send own_keys_script (proto/scripts.h) with EVAL and without keys, then pass
 * the reply to own_keys_judge(). A reply that is ABSENT adds no finding.
 */
#ifndef REPORT_OWN_KEYS_H
#define REPORT_OWN_KEYS_H

#include "lock/reply.h"
#include "report/finding.h"

void own_keys_judge(struct diagnosis *d, int node, const struct reply *a);

#endif
