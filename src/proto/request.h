/*
 * request: the requests of redlock to a node, as the arguments of a command.
 *
 * request_build() fills a struct request from a struct wish. The order of a script's arguments is
 * in docs/protocol.md. Nothing here fails.
 */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "lock/policy.h"
#include "lock/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_KEY_MAX 4096

/* The key with a node's mark of the restart guard. No known library's key format makes this name:
 * "redlock:node" would be the lock "node" of a library that writes "redlock:%s". */
#define GUARD_KEY "{redlock}:node"

/* A short text for messages, such as "cannot be reached", without the detail. */
const char *reason_words(enum reason reason);

/* The arguments of a request. The strings must outlive the struct request that is made from them.
 */
struct wish {
	enum op op;
	const struct key_list *keys; /* JOIN, WAIT: one key */
	int slots; /* the semaphore's slots; less than 2: no semaphore */
	int slot; /* the slot; 0: not known (HAND_OFF by the waiter connection) */
	const char *token; /* EXTEND, HAND_OFF: the first TOKEN_ID_LEN characters suffice. SCAN:
			      the cursor */
	size_t token_len; /* 0: the token ends with its NUL */
	int count; /* SCAN: how many keys to look at, about */
	usec time; /* the key's TTL; HAND_OFF: how long the key stays reserved */
	usec turn_time; /* ACQUIRE with is_fair, UNDO: how long the key stays reserved */
	const char *turn; /* ACQUIRE: the ids of our reservations, one after the other; "": none */
	unsigned awaited; /* HAND_OFF: bit i: key i has waiters, maybe at another node: reserve it
			     here, too */
	bool is_leaving; /* HAND_OFF: pass on a reservation that was not used */
	bool gives_up; /* HAND_OFF: the client never held the lock */
	bool is_waiting; /* ACQUIRE: we are in the queue here, and stay in it when refused */
	int seat_key; /* the key that we wait for, or that is reserved for us */
	bool is_fair; /* ACQUIRE: not ahead of waiters */
	bool is_shared; /* ACQUIRE, EXTEND, REPAIR, LOOK, JOIN: as a reader */
	bool leads; /* JOIN, WAIT, ACQUIRE: as promoted writer; HAND_OFF: the client was one */
	const char *held; /* ids of locks that the client runs within; NULL: none */
	bool wants_fence; /* ACQUIRE: raise the fencing number */
	int64_t fence; /* FENCE: the number */
	usec quarantine; /* ACQUIRE, LOOK: how long a node that forgot its keys has no vote; 0: no
			    restart guard */
	usec wall; /* with a quarantine or wants_fence: our time of day, since 1970; with
		      wants_fence the same for all nodes of an attempt */
	bool is_breaking; /* HAND_OFF: delete the key of any client, if its value begins with token
			   */
	bool is_alone; /* JOIN: no WAIT follows */
	const char *const *words; /* COMMAND: its arguments, 8 at most, NULL at the end */
};

/* The arguments of a command. They point into the struct wish and into the struct request. */
struct request {
	int argc;
	const char *argv[KEYS_MAX + 14];
	size_t len[KEYS_MAX + 14];
	char count[12], time[24], turn_time[24], fence[24], flags[12], which[12], quarantine[24],
		wall[24], slots[12];
	char wake[REQUEST_KEY_MAX + 24], door[REQUEST_KEY_MAX + 32], slot_key[REQUEST_KEY_MAX + 12];
};

/* Fills *r. Every script is idempotent under one token. A key has REQUEST_KEY_MAX bytes at most. */
void request_build(struct request *r, const struct wish *wish);

/* The flags of a script's request, one letter each. */
#define FLAG_SHARED "s" /* the client would be a reader */
#define FLAG_WAITS "w" /* ACQUIRE, LOOK: it has a place in the queue here, and keeps it */
#define FLAG_PROMOTED "d" /* it is a promoted writer; HAND_OFF: it was one */
#define FLAG_FAIR "f" /* ACQUIRE: not ahead of waiters */
#define FLAG_NUMBER "n" /* ACQUIRE: with a fencing number */
#define FLAG_LEAVES "l" /* HAND_OFF: the client did not use the reservation that it got */
#define FLAG_GIVES_UP "g" /* HAND_OFF: it never held the lock */
#define FLAG_BREAKS "b" /* HAND_OFF: delete the key of any holder */

/* The largest fencing number. Scripts count in doubles, which are exact up to 2^53. */
#define FENCE_MAX 9007199254740991

/* A longer quarantine in the mark of another client is cut to this length, or to the client's own
 * quarantine if that is longer. */
#define QUARANTINE_BELIEVED_MS (25 * 3600 * 1000)

/* With a restart guard, a node has no vote if its clock is off by more than this. */
#define SKEW_MAX_MS 30000

#endif
