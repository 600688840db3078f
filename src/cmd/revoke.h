/*
 * revoke: ends a lock that another client holds, for `redlock break` and `redlock run --takeover`.
 *
 *	revoke_look()     asks all nodes for the holder; the caller shows the replies
 *	revoke_plan()     chooses the request to each node, by these replies
 *	revoke_ask()      sends the requests
 *	revoke_remains()  look again: is a revoked lock still there?
 *
 * Each request compares: it changes nothing on a node where the key has another value than in the
 * plan. A revoked key keeps its remaining time, and no comparing extension prolongs it. So the
 * next command starts when the holder has ended its command, or when the key has expired.
 *
 * The keys and settings must outlive the plan. A struct revocation is the caller's; it points into
 * itself: do not copy it.
 */
#ifndef CMD_REVOKE_H
#define CMD_REVOKE_H

#include "cli/settings.h"
#include "net/query.h"
#include "proto/request.h"

struct revocation {
	const struct key_list *keys; /* one key */
	bool deletes; /* delete the keys at once (--force) */
	const struct request *asked[NODES_MAX]; /* NULL: the node is not asked */
	struct request request[NODES_MAX];
	struct reply shown[NODES_MAX];
};

/* Asks all nodes for the holder of keys, of which there is one; of a hash or sorted set, also for
 * the names in it. is_shared: as one that would be a reader. */
void revoke_look(
	struct query *query, const struct settings *s, const struct key_list *keys, bool is_shared);

/* Returns the number of nodes to ask. A key that is left for --min-hold has no holder, and is
 * deleted in any case. Values that are no lock stay. */
int revoke_plan(struct revocation *r, const struct query *query, const struct settings *s,
	const struct key_list *keys, bool deletes);

/*
 * Finds a holder that names other nodes, of which too few are asked: it would keep its lock on a
 * majority of its nodes. Without --force, its values are taken out of the plan, but not those of
 * readers of which some name our nodes. Returns its reply; NULL: there is none.
 */
const struct reply *revoke_spare(struct revocation *r, const struct node_list *nodes);

/* Says so. */
void revoke_say_spared(
	const struct settings *s, const char *key, int slot, const struct reply *holder);

/* Has a holder that is asked to end other nodes? A majority of ours says nothing about its lock. */
bool revoke_has_other_nodes(const struct revocation *r, const struct node_list *nodes);

/* The nodes that are not asked keep their replies. */
void revoke_ask(
	struct revocation *r, struct query *query, const struct request *const asked[NODES_MAX]);

/*
 * For `run --takeover`: revokes the holders of all keys, as they are found now, and says so. Leaves
 * the holders in `held` (the ids of the enclosing locks, separated by spaces), the keys of the
 * caller's last attempt, whose token is `own`, keys that are left for --min-hold, and keys that do
 * not expire. The caller is in the queue.
 */
void revoke_holders(const struct settings *s, const char *held, const char *own);

/* After revoke_look(): on how many nodes the key of a revoked holder remains. */
int revoke_remains(const struct query *query);

/* The longest time for which a node keeps one of the keys that it was asked about: then the lock
 * has ended in any case. */
usec revoke_lasts(const struct revocation *r, int nodes);

/* How many nodes have a holder's key that does not expire: it would not end. */
int revoke_endless(const struct revocation *r, int nodes);

#endif
