/* node: one Redis-protocol server as the user names it. */
#ifndef CLI_NODE_H
#define CLI_NODE_H

#include "base/err.h"
#include "lock/policy.h"

#include <stdbool.h>
#include <stddef.h>

#define NODE_HOST_MAX 256
#define NODE_SECRET_MAX 256
#define NODE_LABEL_MAX 576
#define NODE_PORT 6379

enum node_kind {
	NODE_TCP,
	NODE_UNIX,
};

struct node {
	enum node_kind kind;
	char host[NODE_HOST_MAX]; /* name, IPv4, IPv6 without brackets, or the socket's path */
	int port; /* NODE_TCP only, */
	bool is_tls; /* and so is this */
	int db;
	char user[NODE_SECRET_MAX]; /* "": the default user */
	char password[NODE_SECRET_MAX]; /* "": no AUTH unless there is a user */
	const char *password_file; /* read again for each connection; NULL: none */
	char label[NODE_LABEL_MAX]; /* the canonical URL without user and password: safe to show */
};

/*
 * Reads redis://[user[:password]@]host[:port][/db], the same with rediss:// (TLS),
 * unix://[user[:password]@]/path[?db=N], host, host:port, [v6]:port or a bare /path. User and
 * password may be percent-encoded. The URL is quoted in *e (ERR_CONFIG) with what may be a password
 * masked.
 */
int node_parse(const char *url, struct node *node, struct err *e);

struct node_list {
	int count;
	struct node node[NODES_MAX];
};

/*
 * Adds the URLs of a list, separated by commas or white space, to *list. Refuses (ERR_CONFIG) more
 * than NODES_MAX, and a server that is spelt twice, whatever its database: that would be two votes
 * for one voter.
 */
int node_list_add(struct node_list *list, const char *urls, struct err *e);

/* Do they name one server, whatever its database? */
bool node_is_same(const struct node *a, const struct node *b);

/* Whoever has neither user nor password gets those of the other, but not those for TLS without it.
 */
void node_adopt_password(struct node *node, const struct node *from);

/* Nothing is left of users and passwords in these URLs but stars: for a command line, which all may
 * read. */
void node_list_hide(char *urls);

/* The list as REDLOCK_NODES for a child: without passwords, separated by spaces. */
void node_list_format(const struct node_list *list, char *dst, size_t size);

/* The same for people, who see which of them have a user or a password. */
void node_list_show(const struct node_list *list, char *dst, size_t size);
/* The first that wants TLS, or NULL. */
const struct node *node_list_find_tls(const struct node_list *list);

#endif
