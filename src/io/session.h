/*
 * session: one lock in the works: the quorum, the connections that carry it out, and the tokens.
 * session_step() is the only loop's only step. A session belongs to one thread at a time.
 */
#ifndef IO_SESSION_H
#define IO_SESSION_H

#include "base/token.h"
#include "io/pool.h"

struct session {
	struct lock lock; /* read it; only session.c steps it */
	struct pool pool;
	const struct key_list *keys;
	const char *
		held; /* ids of locks that this one is within, separated by spaces; NULL: of none */
	struct key_list waiter_keys; /* the one of the seat */
	char reservations[KEYS_MAX * TOKEN_ID_LEN + 1]; /* of all keys, one behind the other */
	char owner[OWNER_MAX];
	char token[TOKEN_MAX]; /* of the current attempt, */
	usec wall; /* which began at this time of day */
	char sent_token[NODES_MAX][TOKEN_MAX]; /* what each node was last asked to keep */
	usec wake_at;
	uint64_t random;
	struct event event; /* the last one, for whoever wants to tell about it */
};

/*
 * Resolves the nodes (within the node time-out) and makes the first token; sends nothing. `keys`
 * and `nodes` must outlive the session; the owner text is copied. Returns -1 with *e: ERR_SYSTEM,
 * or ERR_CONFIG if two nodes have one address.
 */
int session_open(struct session *s, const struct policy *policy, const struct node_list *nodes,
	const struct key_list *keys, const char *owner, struct err *e);

/* Begins to acquire. */
void session_start(struct session *s);

/* Extends a held lock now, not only when that is due. */
void session_extend(struct session *s);

/* Begins to let go, in whatever state the lock is. A held lock's key is left to end by itself after
 * `leave_for` (0: deleted). */
void session_release(struct session *s, usec leave_for);

/*
 * Waits for one event, at most `until` or until wake_fd (-1: none) is readable, and does what
 * follows from it. True if it came back because of wake_fd.
 */
bool session_step(struct session *s, usec until, int wake_fd);

/* Closes the connections in good order. */
void session_close(struct session *s);

#endif
