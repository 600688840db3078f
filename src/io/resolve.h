/* resolve: from node names to socket addresses, within a bound. The only user of getaddrinfo. */
#ifndef IO_RESOLVE_H
#define IO_RESOLVE_H

#include "base/clock.h"
#include "core/node.h"

#include <sys/socket.h>

#define ADDRESSES_MAX 8
#define RESOLVE_WHY_MAX 120

struct addresses {
	int count; /* 0: `why` says what the resolver said */
	struct sockaddr_storage address[ADDRESSES_MAX];
	socklen_t len[ADDRESSES_MAX];
	dev_t device; /* of a unix socket, whatever its path; inode 0: not known */
	ino_t inode;
	char why[RESOLVE_WHY_MAX];
};

/*
 * Resolves every node of the list, all names at once, into out[0..count). Returns when all are
 * known, or `timeout` has passed; a name without an answer by then counts as not resolved.
 */
void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX]);

/* Do both name one server: an address in common, or one and the same socket file? */
bool addresses_meet(const struct addresses *a, const struct addresses *b);

#endif
