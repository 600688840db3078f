/*
 * node: one Redis-protocol server, as given in a node URL, and the list of all nodes.
 *
 * Calling sequence: node_list_add() parses a list of URLs into a struct node_list; node_parse()
 * parses one URL. node_adopt_password() then completes nodes with passwords of a configuration
 * file. The other functions show a list to a child process or to people without its passwords.
 *
 * Ownership: the structs hold copies of all texts; only `password_file` is borrowed and must
 * outlive the node. Errors are ERR_CONFIG; they quote the URL with its password masked.
 */
#ifndef CLI_NODE_H
#define CLI_NODE_H

#include "base/err.h"
#include "lock/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	int port; /* NODE_TCP only */
	bool is_tls; /* NODE_TCP only */
	int db;
	char user[NODE_SECRET_MAX]; /* "": the default user */
	bool has_bare_user; /* the URL has no ':' after the user */
	char password[NODE_SECRET_MAX]; /* "": no AUTH unless there is a user */
	bool has_escapes; /* the password in the URL has percent escapes */
	const char *password_file; /* read again for each connection; NULL: none */
	char label[NODE_LABEL_MAX]; /* the canonical URL without user and password: safe to show */
};

/*
 * Parses redis://[user[:password]@]host[:port][/db], the same with rediss:// (TLS),
 * unix://[user[:password]@]/path[?db=N], host, host:port, [v6]:port or a bare /path. User and
 * password may be percent-encoded. Returns -1 with *e if the URL is invalid.
 */
int node_parse(const char *url, struct node *node, struct err *e);

struct node_list {
	int count;
	struct node node[NODES_MAX];
};

/*
 * Adds the URLs of a list, separated by commas or white space, to *list. Refuses more than
 * NODES_MAX nodes. Refuses a server that is named twice, even with another database: one server
 * would have two votes.
 */
int node_list_add(struct node_list *list, const char *urls, struct err *e);

/* May the user be a password? redis-cli takes redis://PASSWORD@host so. It is none if a password is
 * known. */
bool node_user_is_secret(const struct node *node);

/* Do both name the same server? The database does not matter. */
bool node_is_same(const struct node *a, const struct node *b);

/* Copies user and password of `from` to a node that has neither. A password of a TLS node is not
 * copied to a node without TLS. */
void node_adopt_password(struct node *node, const struct node *from);

/* Overwrites users and passwords in a list of URLs with '*', for a command line, which all users of
 * the machine can read. */
void node_list_hide(char *urls);

/* A hash of the set of nodes, in any order, without users and passwords; never 0. */
uint64_t node_list_hash(const struct node_list *list);

/* The fingerprint of the list (lock/fingerprint.h): the same in any order, with any user and
 * password. Returns dst. */
const char *node_list_fingerprint(char dst[FINGERPRINT_MAX], const struct node_list *list);

/* Writes the list as REDLOCK_NODES for a child process: without passwords, separated by spaces. */
void node_list_format(const struct node_list *list, char *dst, size_t size);

/* Writes the list for people: the output shows which nodes have a user or a password, never the
 * password. */
void node_list_show(const struct node_list *list, char *dst, size_t size);

/* The first node with TLS, or NULL. */
const struct node *node_list_find_tls(const struct node_list *list);

#endif
