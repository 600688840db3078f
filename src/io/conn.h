/*
 * conn: one connection to one node: connecting, writing requests, reading replies. The only user of
 * hiredis (its formatter and its reader, over sockets of our own: its connect blocks in the
 * resolver, and its asynchronous contexts have no time-outs).
 */
#ifndef IO_CONN_H
#define IO_CONN_H

#include "io/resolve.h"
#include "proto/request.h"

#include <poll.h>

enum conn_state {
	CONN_DOWN,
	CONN_OPENING,
	CONN_HANDSHAKE, /* it is connected, and TLS is to follow */
	CONN_GREETING, /* the answers to AUTH and SELECT are to follow */
	CONN_UP,
};

/* Requests on the way: AUTH and SELECT; then two, or three of the seat. */
#define CONN_PENDING_MAX 4

struct pending {
	bool is_auth; /* GREETING: AUTH, or else SELECT */
	enum op op;
	int keys; /* how many it was about */
	size_t len; /* bytes */
	uint32_t round;
	usec sent_at;
};

struct conn {
	const struct node *node;
	struct addresses *addresses;
	int next_address, addresses_left; /* one that took too long is not the first again */
	usec opened_at, next_at; /* OPENING: the next address has its turn; NEVER: there is none */

	enum conn_state state;
	struct reply failure; /* why it is down */

	int fd; /* -1 while down */
	bool is_resolving; /* OPENING: fd tells when the name's addresses are there */
	struct tls *tls; /* NULL: without */
	usec trusted_until; /* its certificate, and those that vouch for it, since 1970; 0: not
			       known. The last one's, while down */
	char *out;
	size_t out_len, out_sent;
	bool is_half_read; /* the server reads the last request later than the one before */
	bool blocked; /* the socket is full: some of `out` still waits for it */
	void *reader; /* redisReader */
	bool has_received; /* it has said something on this connection */
	bool is_unexpected_kind; /* a reply was refused because of its kind, not its length */
	struct resp resp;

	struct pending pending[CONN_PENDING_MAX]; /* oldest first */
	int pending_count;
};

/* The node and its addresses must outlive the connection. */
void conn_init(struct conn *c, const struct node *node, struct addresses *addresses);

/* Starts to connect, without waiting. Any state may follow; DOWN has `trouble` set. A connection is
 * UP when AUTH and SELECT, where the node wants them, are answered: KeyDB closes one that sends a
 * script before that. */
void conn_open(struct conn *c);

/* What is missing, where it takes too long to connect. */
enum reason conn_late_reason(const struct conn *c);

/* Puts one request behind those before it and writes what the socket takes. c must be UP; it may be
 * DOWN afterwards. */
void conn_send(struct conn *c, const struct wish *wish, uint32_t round, usec now);

/* What to poll for; 0 when down. */
short conn_wants(const struct conn *c);

/* When to call conn_handle() though poll has nothing to say; NEVER: no need. */
usec conn_due(const struct conn *c);

/* Acts on what poll said. The state may change; then replies may be there. */
void conn_handle(struct conn *c, short revents);

/*
 * Takes the next complete reply that is already here: true, with the request that it answers in
 * *request and its meaning in *answer. A reply that cannot be understood takes the connection down.
 */
bool conn_next_reply(struct conn *c, struct pending *request, struct reply *reply);

/* Drops everything at once. */
void conn_abort(struct conn *c);

/*
 * Ends in good order: the sending side is shut, what has come in is read, then it is closed.
 * Closing over unread bytes would reset the connection, and a reset can destroy a release that the
 * node has not read yet. So can an answer that it writes to a unix socket when we are gone: while
 * it is at work on one, at most a second is waited for it to read what stands behind.
 */
void conn_close(struct conn *c);

#endif
