/*
 * fingerprint: which nodes a client names, in few characters, as a part of its tokens: four
 * hexadecimal digits for each node, in the order of the digits.
 *
 *	char fingerprint[FINGERPRINT_MAX] = "";
 *	fingerprint_add(fingerprint, label);      for each node
 *
 * A client that meets the token of another one can tell whether both together could hold a lock:
 * fingerprint_misses(). Nodes are compared by name: one server under two names counts as two. Two
 * different names have the same digits once in 65,536.
 *
 * Nothing here fails. Fingerprints end with a NUL; those in a value have a length.
 */
#ifndef LOCK_FINGERPRINT_H
#define LOCK_FINGERPRINT_H

#include "lock/policy.h"

#include <stdbool.h>
#include <stddef.h>

#define FINGERPRINT_NAME_MAX 9

/* Adds a node to a fingerprint of at most NODES_MAX - 1 nodes. The name has the database. */
void fingerprint_add(char fingerprint[FINGERPRINT_MAX], const char *name);

/* How many nodes it has; 0: it is not the fingerprint of a list. */
int fingerprint_nodes(const char *fingerprint, size_t len);

/* The name of the list for people: eight hexadecimal digits. */
const char *fingerprint_name(char dst[FINGERPRINT_NAME_MAX], const char *fingerprint, size_t len);

/* How many nodes both name. */
int fingerprint_common(const char *a, const char *b, size_t b_len);

/*
 * Can a majority of `a` nodes and a majority of `b` nodes, of which `common` are in both lists,
 * have no node in common? Each majority takes as many as it can of the nodes that the other list
 * lacks; they miss each other if the rest of both fits into the common ones. Adding or removing one
 * node leads to lists whose majorities meet (Ongaro, Consensus: Bridging Theory and Practice, 2014,
 * section 4.1).
 */
bool majorities_miss(int a, int b, int common);

/*
 * Could a client with our fingerprint have a majority while the holder with this value of a key has
 * one, because it names other nodes? For readers that share a key: one of them. Values of other
 * programs have no fingerprint, and so this is false. *theirs and *len: the fingerprint, within the
 * value; either pointer may be NULL.
 */
bool fingerprint_misses(
	const char *ours, const char *value, size_t value_len, const char **theirs, size_t *len);

#endif
