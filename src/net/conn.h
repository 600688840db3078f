/*
 * conn: one connection to one node: connecting, writing requests, reading replies.
 *
 *     conn_init()
 *     conn_open()               when the node is needed
 *     conn_wants(), conn_due()  before poll(2): the events, and the time-out
 *     conn_handle()             after poll(2)
 *     conn_send()               while the state is UP
 *     conn_next_reply()         until it returns false
 *     conn_abort() or conn_close()
 *
 *     DOWN --conn_open()--> OPENING --> HANDSHAKE --> LOGIN --> UP
 *       ^                      |            |           |        |
 *       +----------------------+------------+-----------+--------+
 *
 * The states HANDSHAKE (TLS) and LOGIN (INFO) are left out if the node needs neither. Every error
 * leads to DOWN, and `failure` has the reason.
 *
 * AUTH and SELECT go out at once, and the first attempt of a lock goes behind them before they are
 * answered (conn_takes_early()): a round trip less. Other requests wait in `out` for the answers.
 * If one of these is an error, all requests are answered with it: the node has changed nothing, or
 * the connection has deleted the key again.
 *
 * A node whose name has several addresses of one family may be a master and its replicas: LOGIN
 * asks the server for its role, and an address of a replica leads to the next address. A node that
 * moves takes its connection down: the reply to a request that may bring a vote waits for the
 * answer to the lookup that began with the request, within addresses_due(); if the answer lacks the
 * server's address, the reply is none (REASON_LEFT). So does the reply of a server that is not a
 * master any more; the next connection looks the name up first.
 *
 * No function blocks but conn_close(). This is the only user of hiredis, of its formatter and its
 * reader: its connect blocks in the resolver, and its asynchronous contexts have no time-outs.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "net/resolve.h"
#include "proto/push.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <poll.h>

enum conn_state {
	CONN_DOWN,
	CONN_OPENING,
	CONN_HANDSHAKE, /* connected; the TLS handshake follows */
	CONN_LOGIN, /* the reply to INFO follows, after those to AUTH and SELECT */
	CONN_UP,
};

/* Requests of a lock on the way: AUTH and SELECT; then an attempt and its release, the queue's
 * SUBSCRIBE or join, and the hand-off of a client that leaves. A series of questions (net/query.h)
 * may be longer. */
#define LOCK_PENDING_MAX 4

struct pending {
	enum login {
		LOGIN_NONE,
		LOGIN_AUTH,
		LOGIN_SELECT,
		LOGIN_ROLE, /* INFO: is the server a replica? */
		LOGIN_ID, /* INFO: which server is it? */
	} login;
	bool is_early; /* sent before AUTH and SELECT were answered; */
	bool is_deleted; /* and OP_DELETE was sent after it: the next reply is that to OP_DELETE */
	bool is_push; /* no request: a message arrived (conn.push) */
	enum op op;
	int keys; /* the number of keys in the request */
	int pushes; /* SUBSCRIBE: how many parts of the answer are missing */
	int extra; /* replies to commands that were sent before the request */
	bool is_watched; /* none of these was an error */
	bool may_be_unknown; /* a release by digest: conn.deletion has its keys */
	bool is_read_later; /* the server reads it later than the request before it */
	size_t len; /* bytes */
	uint32_t round;
	usec sent_at;
};

struct conn {
	const struct node *node;
	struct addresses *addresses;
	int next_address, addresses_left; /* next_address: where to begin the next time */
	bool is_beside; /* of net/others.c */
	usec opened_at, next_at; /* OPENING: when to try the next address; NEVER: there is none */

	enum conn_state state;
	int fd; /* -1: DOWN */
	bool is_resolving; /* OPENING: waits for the addresses of the name */
	unsigned answers; /* UP: the answers of the name that this connection agrees with */
	struct tls *tls; /* NULL: no TLS */
	usec trusted_until; /* end of validity of the node's certificate and its issuers, since
			       1970; 0: unknown. DOWN: that of the last connection */
	char *out;
	size_t out_len, out_sent;
	int logins; /* the first of the pending requests: AUTH, SELECT, INFO; */
	size_t held_from; /* bytes of `out` from here on wait for the answers to these */
	bool is_refused; /* one of these answers was an error: `failure` */
	char *deletion; /* OP_DELETE for the keys of the early request, or of the release by
			   digest after it; NULL: neither was sent */
	size_t deletion_len;
	bool blocked; /* the socket is full: a part of `out` waits for it */
	void *reader; /* redisReader */
	bool has_resp3; /* HELLO 3 was sent: pushes may arrive between replies */
	bool is_within_reply; /* hiredis has read the beginning of a reply */
	struct push push; /* the last one; its strings are valid until the next call */
	size_t messages; /* bytes of messages, less those that replies make up for */
	bool has_received; /* the node has sent something on this connection */
	bool is_unexpected_kind; /* a reply was rejected because of its kind, not its length */
	int pending_count;
	struct pending *pending; /* oldest first */
	/* In this order: what is seldom touched stands together. */
	struct resp resp;
	struct reply failure; /* DOWN: the reason */
};

/* Returns the version of hiredis. */
const char *conn_hiredis_version(void);

/* The node and its addresses must outlive the connection. */
void conn_init(struct conn *c, const struct node *node, struct addresses *addresses);

/* Starts to connect, without waiting. Any state may follow; in DOWN, `failure` is set. */
void conn_open(struct conn *c);

/* The same for one address alone, without a lookup, to ask for role and run id: net/others.c. */
void conn_open_beside(struct conn *c, int address);

/* Returns the reason to report if connecting takes too long: the missing step. */
enum reason conn_late_reason(const struct conn *c);

/* An OP_ACQUIRE of this client may be sent now, before AUTH or SELECT is answered; *is_unsure: AUTH
 * is not answered. Behind a failed AUTH, a server may run the script as a user without a password,
 * and a failed SELECT leaves the connection in another database: so the request says so, and has
 * the number of the database. KeyDB closes the connection if the request has more than ten words;
 * and only a plain key can be deleted again. */
bool conn_takes_early(const struct conn *c, int keys, bool *is_unsure);

/* The reply may be a vote, or put the client into a queue. */
bool conn_may_vote(enum op op);

/* Would conn_close() send the deletion behind a release by digest, which is sent now, in vain? It
 * is the third request without a reply, and a TLS server reads record by record: it cannot write
 * its second reply to a client that has ended, and drops what it has not read. */
bool conn_deletes_in_vain(const struct conn *c);

/* Queues one request after the earlier ones and writes as much as the socket takes, unless
 * r->is_followed. With r->watches, the connection is switched to RESP3, and reply.is_watched tells
 * whether the server will send PUSH_CHANGED. The state must be UP; it may be DOWN afterwards.
 * SUBSCRIBE switches the connection to RESP3 and has one reply; if it is refused, the connection is
 * DOWN after that reply.
 */
void conn_send(struct conn *c, const struct request *r, uint32_t round, usec now);

/* Returns the events to poll for; 0: DOWN. */
short conn_wants(const struct conn *c);

/* Returns when to call conn_handle() even without an event; NEVER: no need. */
usec conn_due(const struct conn *c);

/* Returns a descriptor that becomes readable when a reply that has arrived, or connecting, needs to
 * wait no longer for the lookup of the name; -1: nothing waits for it. */
int conn_lookup(const struct conn *c);

/* Handles the result of poll. The state may change, and replies may be there. */
void conn_handle(struct conn *c, short revents);

/*
 * Takes the next complete reply that has arrived: returns true, with the request that it answers in
 * *request and its meaning in *reply. After SUBSCRIBE, it may be a message instead: then
 * request->is_push is set, and `push` has the message. An unreadable reply takes the connection
 * down.
 */
bool conn_next_reply(struct conn *c, struct pending *request, struct reply *reply);

/* Drops the connection and all pending requests at once. */
void conn_abort(struct conn *c);

/*
 * Closes the connection in good order: shuts the sending side down, reads all that has arrived,
 * then closes. To close with unread bytes would reset the connection, and a reset can destroy a
 * release that the node has not read yet. So can a reply that the node writes to a closed unix
 * socket: while the node is busy with a request, this function waits for up to a second until it
 * has read the next one; and until a socket without room has taken all requests.
 * A release by digest without a reply is followed by OP_DELETE: the node may have forgotten the
 * script, and the client does not read that any more.
 */
void conn_close(struct conn *c);

#endif
