/*
 * list: the list of nodes that a client names, for people: the number of its nodes, and its name,
 * which `redlock config` prints. The name is the same in any order of the nodes.
 *
 * Calling sequence: list_of() with the fingerprint of the client's own nodes, list_of_holder() with
 * this fingerprint and a reply that names a holder. Nothing here fails or is kept.
 */
#ifndef REPORT_LIST_H
#define REPORT_LIST_H

#include "lock/fingerprint.h"
#include "lock/reply.h"

struct list {
	int nodes; /* 0: not known: a holder of another program, or of an older redlock */
	char name[FINGERPRINT_NAME_MAX];
	int common; /* how many of them the client names, too */
	bool is_other; /* the holder names other nodes than the client does */
	bool is_unsafe; /* and both can have a majority at once */
	bool is_mixed; /* some readers with this value name the client's nodes */
};

struct list list_of(const char *fingerprint);

/* Of several readers that share a key: a list that is unsafe, or else one that is not ours. */
struct list list_of_holder(const char *ours, const struct reply *holder);

/* Can the holder have a majority of its nodes, if `on` of ours have its value, and `absent` of ours
 * did not answer? */
bool list_may_hold(const struct list *theirs, int on, int absent);

/* Does the holder keep its lock when the key is removed from `reached` of its nodes? */
bool list_outlasts(const struct list *theirs, int reached);

#endif
