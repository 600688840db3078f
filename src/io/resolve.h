/*
 * resolve: from node names to socket addresses, within a bound. The only user of getaddrinfo, which
 * can take as long as it likes: each name has a thread of its own, that nobody waits for.
 */
#ifndef IO_RESOLVE_H
#define IO_RESOLVE_H

#include "base/clock.h"
#include "cli/node.h"

#include <sys/socket.h>
#include <sys/types.h>

#define ADDRESSES_MAX 64 /* more than an answer by UDP has room for; no server has so many */
#define RESOLVE_WHY_MAX 120

struct lookup; /* of a name, under way */

struct addresses {
	int count; /* 0: `why` says what the resolver said */
	dev_t device; /* of a unix socket, whatever its path; inode 0: not known */
	ino_t inode;
	char why[RESOLVE_WHY_MAX];

	struct lookup *lookup; /* NULL: none is under way */
	usec asked_at; /* when the last one began */
	usec timeout; /* how long it is waited for */

	socklen_t len[ADDRESSES_MAX];
	struct sockaddr_storage address[ADDRESSES_MAX]; /* last: most are never touched */
};

/* To be called first: names are looked up with what is linked in, if it is not the shared libc. */
void resolve_without_plugins(void);

/*
 * Resolves every node of the list, all names at once, into out[0..count). Returns when all are
 * known, or soon after most are, or `timeout` has passed. What is not known by then goes on being
 * looked up.
 */
void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX]);

/* Takes in what has been found since, and looks the name up again where that is due: servers move.
 * Never waits. */
void addresses_renew(struct addresses *a, const struct node *node);

/* A descriptor that becomes readable when addresses_renew() may bring the first ones; the caller
 * closes it. -1: there is nothing to wait for. */
int addresses_wait(const struct addresses *a);

/* Nothing is looked up any more. */
void addresses_close(struct addresses *a);

/* Do both name one server: an address in common, or one and the same socket file? */
bool addresses_meet(const struct addresses *a, const struct addresses *b);

#endif
