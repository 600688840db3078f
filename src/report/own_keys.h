/*
 * own_keys: the findings about redlock's own bookkeeping keys on a node.
 *
 * Calling sequence: send own_keys_script with EVAL and without keys, then pass the reply to
 * own_keys_judge(). A reply that is ABSENT adds no finding.
 */
#ifndef REPORT_OWN_KEYS_H
#define REPORT_OWN_KEYS_H

#include "lock/reply.h"
#include "report/finding.h"

/*
 * Replies with the most severe of: "broken KEY", a fencing counter that cannot be raised; "near
 * KEY", a counter that soon cannot be raised; "lasting N KEY", a bookkeeping key without a TTL and
 * N more like it; "", nothing found. Reads about 50,000 keys at most.
 */
extern const char own_keys_script[];

void own_keys_judge(struct diagnosis *d, int node, const struct reply *a);

#endif
