/*
 * session: one lock together with its connections and tokens. It steps the lock (lock/lock.h) with
 * events of the pool, and carries out the actions that the lock returns.
 *
 *     session_open()
 *     session_start()       to acquire, then session_step() until lock.state is HELD or final
 *     session_step()        while the lock is held; session_extend() to extend at once
 *     session_release()     in any state, then session_step() until the lock is released
 *     session_close()
 *
 * A session belongs to one thread at a time. It owns its pool; keys and nodes are the caller's.
 * After session_open(), problems are states of the lock, not errors.
 */
#ifndef NET_SESSION_H
#define NET_SESSION_H

#include "base/token.h"
#include "net/pool.h"

/* The record of a run with --once-per. */
struct record {
	const char *text; /* NULL: none */
	usec started; /* when the run started, by our clock */
	usec keep; /* how long the nodes keep the record */
	unsigned nodes; /* bit i: for node i */
};

struct session {
	/* The last token that each node was to store. First: session_hide() leaves the first page
	 * to the other process, and this is written before it is made. */
	char sent_token[NODES_MAX][TOKEN_MAX];
	const struct key_list *keys;
	const char *held; /* ids of enclosing locks, separated by spaces; NULL: none */
	char reservations[KEYS_MAX * TOKEN_ID_LEN + 1]; /* of all keys, one after the other */
	char owner[OWNER_MAX];
	char token[TOKEN_MAX]; /* of the current attempt */
	struct record record; /* that the hand-off stores */
	usec began; /* the time of day at which that attempt began */
	unsigned watched[NODES_MAX]; /* bit i: the node is to tell when key i changes, once */
	usec wake_at;
	uint64_t random;
	struct event event; /* the last event, for messages */
	struct lock lock; /* read only; session.c steps it */
	/* Of the last step. Not on the stack: gcc's -fstack-clash-protection touches every page of
	 * a large frame, in each process. */
	struct update update;
	struct request request;
	struct pool pool; /* at the end: most of it is never touched */
};

/*
 * Resolves the nodes (within the node time-out) and makes the first token; sends nothing. `keys`
 * and `nodes` must outlive the session; the owner text is copied. Returns -1 with *e: ERR_SYSTEM,
 * or ERR_CONFIG if two nodes share an address.
 */
int session_open(struct session *s, const struct policy *policy, const struct node_list *nodes,
	const struct key_list *keys, const char *owner, struct err *e);

/* Processes that are forked from now on do not get the session, only parts of its first and last
 * page: a page that this process writes later need not be copied for them. */
void session_hide(struct session *s);

/* Starts to acquire the lock. */
void session_start(struct session *s);

/* Extends a held lock now, even if no extension is due. */
void session_extend(struct session *s);

/* The hand-offs of the release that follows store the record; lock_stored() counts the nodes. The
 * text must outlive the session. */
void session_set_record(struct session *s, const struct record *record);

/* Starts to release the lock, in any state. The key of a held lock is deleted, or expires after
 * `leave_for` if that is not 0. */
void session_release(struct session *s, usec leave_for);

/*
 * Waits for one event, until `until` or until wake_fd (-1: none) is readable, and carries out the
 * actions that follow. Returns true if wake_fd is readable.
 */
bool session_step(struct session *s, usec until, int wake_fd);

/* Closes the connections in good order. */
void session_close(struct session *s);

#endif
