/*
 * resolve: turns node names into socket addresses, in bounded time.
 *
 * resolve_nodes() resolves all names at the start. Before each connect, and with each request that
 * may bring a vote, call addresses_renew(). While addresses_due() is ahead, the answer may still
 * come: wait until the descriptor of addresses_wait() is readable, and call addresses_renew()
 * again. addresses_free() ends all.
 *
 * A name may lead to another server after a while: its node moves. The last answer counts. A lookup
 * that fails, or has no answer in time, changes nothing.
 *
 * This is the only user of getaddrinfo, which may block without limit: each name has a detached
 * thread, for which no other thread waits. A name without an address is no error of a function:
 * `why` has the reason.
 *
 * Such a thread may be running when the process forks. The child process has the lookup, but no
 * thread for it: addresses_renew() drops the lookup there and starts a new one. A descriptor from
 * addresses_wait() is of no use in the child: call addresses_renew() and addresses_wait() again.
 * docs/supervision.md says what else holds in the child.
 */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "base/clock.h"
#include "cli/node.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#define ADDRESSES_MAX 64 /* more than a reply by UDP can have; no server has so many */
#define RESOLVE_WHY_MAX 120

struct lookup; /* a lookup that has not finished */

struct address {
	socklen_t len;
	struct sockaddr_storage at;
};

struct addresses {
	int count; /* 0: `why` has the reason */
	struct address *address; /* allocated; NULL: none yet */
	dev_t device; /* of the socket file, whatever its path; inode 0: unknown */
	ino_t inode;
	char why[RESOLVE_WHY_MAX];
	bool is_unknown; /* the resolver says that the name does not exist */
	bool is_name; /* lookups find the addresses */
	bool is_stale; /* the next addresses_renew() starts a lookup, however young the last one is
			*/
	unsigned answers; /* that named addresses, so far */

	struct lookup *lookup; /* NULL: no lookup is running */
	usec asked_at; /* the start of the last lookup */
	usec timeout; /* the node time-out */
};

/* Call it first: in a static program, only the resolver that is linked in looks names up. */
void resolve_without_plugins(void);

/*
 * Resolves all names of the list at once, into out[0..count). Returns when all names are known, or
 * soon after most names are known, or after six seconds, or `timeout` if that is longer. Lookups of
 * the remaining names continue. `timeout` is the node time-out. A signal that would end the program
 * ends the wait.
 */
void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX]);

/* Takes the result of a finished lookup, and starts a new lookup if the last one is old, because
 * servers move. Never waits. */
void addresses_renew(struct addresses *a, const struct node *node);

/* The same, but starts no lookup. */
void addresses_take(struct addresses *a);

/* How long to wait for the answer of a running lookup: for the first one, six seconds, or the node
 * time-out if it is longer; for a later one, a quarter of the node time-out. 0: there is none to
 * wait for. */
usec addresses_due(const struct addresses *a);

/* Returns a descriptor that becomes readable when the running lookup has its answer. The lookup
 * owns it. -1: no lookup is running. */
int addresses_wait(const struct addresses *a);

/* Is this one of the addresses? */
bool addresses_have(const struct addresses *a, const struct sockaddr_storage *address);

/* Are there several addresses of one family? They may be those of several servers. */
bool addresses_are_several(const struct addresses *a);

/* Abandons the lookup and frees the addresses. */
void addresses_free(struct addresses *a);

/* Do both name one server, that is, share an address or a socket file? */
bool addresses_overlap(const struct addresses *a, const struct addresses *b);

#endif
