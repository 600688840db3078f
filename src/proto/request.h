/*
 * request: the requests of redlock to a node, as the arguments of a command.
 *
 * request_script(), or the function of an operation, fills a struct request; conn_send() sends it.
 * lock/operations.def has the arguments of each script. Nothing here fails.
 */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "lock/policy.h"
#include "lock/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_KEY_MAX 4096
#define REQUEST_WORDS_MAX (KEYS_MAX + 16)

/* The key with a node's mark of the restart guard. No known library's key format makes this name:
 * "redlock:node" would be the lock "node" of a library that writes "redlock:%s". */
#define GUARD_KEY "{redlock}:node"
/* Before the id of the history in a mark: the quarantine may last, or it was over once. */
#define GUARD_LASTS '0'
#define GUARD_OVER '1'

/* A short text for messages, such as "cannot be reached", without the detail. */
const char *reason_words(enum reason reason);

/* The arguments of a command. They point to the caller's strings, and into `text`: do not copy the
 * struct, and keep the strings. */
struct request {
	enum op op;
	int keys; /* how many keys a reply may be about */
	bool by_digest; /* EVALSHA: the node may not know the script */
	bool is_early; /* it may be sent before AUTH and SELECT are answered */
	bool is_followed; /* the next request completes the packet */
	bool watches; /* the keys that it reads are watched: PUSH_CHANGED */
	int argc;
	const char *argv[REQUEST_WORDS_MAX];
	size_t len[REQUEST_WORDS_MAX];
	size_t used; /* of text */
	char text[2 * (REQUEST_KEY_MAX + 64)];
};

/* A lock, and the token under which a request is about it. */
struct lock_ref {
	const struct key_list *keys;
	int slot; /* of a semaphore, from 1 on; 0: no semaphore */
	int limit; /* of a semaphore: the client's; 0: as the node recorded it */
	const char *token;
	size_t token_len; /* 0: the token ends with its NUL. TOKEN_ID_LEN suffices for each request
			     that writes no token */
	const char *held; /* ACQUIRE, REPAIR, LOOK: ids of the locks that the client runs within;
			     NULL: none */
};

/* The restart guard of a request. */
struct guard_args {
	usec quarantine; /* how long a node that forgot its keys has no vote; 0: no restart guard */
	usec wall; /* our time of day, since 1970 */
	bool is_known; /* without a guard: the server need not tell its run id */
};

/* The client of an attempt as a waiter. All zero: it is none. */
struct waiter_args {
	const char *id; /* its id in the queue; NULL: it is in no queue */
	const char *woken_by; /* the ids of our reservations, one after the other; NULL: none */
	int key; /* the index of the key for which we wait, or that is reserved for us */
	bool overrides; /* as if no other client waited: the waiter of a reservation is gone */
};

/* A record of --once-per. The node computes the start by its own clock. */
struct record_args {
	const char *text; /* what the record says about the run */
	usec age; /* the run started so long ago */
	usec keep; /* the node deletes the record after this time */
};

/* The arguments of a script. Each operation sends those that lock/operations.def lists for it. */
struct request_args {
	usec ttl;
	bool is_shared; /* as a reader */
	bool is_fair; /* not ahead of waiters */
	bool is_unsure; /* ACQUIRE: sent before AUTH is answered */
	int db; /* ACQUIRE: sent before SELECT is answered: the database; 0: no */
	bool wants_fence; /* ACQUIRE: raise the fencing number, */
	usec began; /* with our time of day, since 1970, when the attempt began: so all nodes give
		       the same number */
	bool wants_record; /* ACQUIRE: the reply brings the record of --once-per */
	bool never_shortens; /* EXTEND: a key that lasts longer keeps its time: another process
				relies on it */
	const char *flag; /* HAND_OFF: FLAG_LEAVES, FLAG_GIVES_UP, FLAG_BREAKS or FLAG_TELLS; NULL:
			     the client held the lock. REVOKE: FLAG_DELETE or NULL */
	usec reserve_time; /* how long a key stays reserved for its first waiter */
	struct waiter_args waiter; /* HAND_OFF: the queue that we leave, and the reservations to
				      pass on */
	int64_t ticket; /* JOIN; none yet: 0, or TICKET_FIRST */
	unsigned far_waiters; /* HAND_OFF: bit i: key i has waiters, maybe at another node: reserve
				 it here, too */
	int64_t number; /* FENCE */
	struct guard_args guard;
	const struct record_args *record; /* HAND_OFF: the node stores it, whatever it has of the
					     key; NULL: none */
};

/*
 * The request of an operation with a script that is about a lock: all but DELETE and SCAN. Every
 * script is idempotent under one token. A key has REQUEST_KEY_MAX bytes at most. JOIN: the lock has
 * one key, that of the queue. REPAIR passes the reservation of a waiter, which cannot get the lock:
 * a majority has confirmed the holder. REVOKE: the lock has one key; in place of the token: the
 * value that the user saw; of a structure, its description.
 */
void request_script(struct request *r, enum op op, const struct lock_ref *lock,
	const struct request_args *args);

/* Of the same lock as `release`, an OP_HAND_OFF or OP_UNDO of a token of redlock's; its strings
 * must last as long. */
void request_delete(struct request *r, const struct request *release);

/* Its words alone. Returns their number. */
int request_delete_words(const char *argv[REQUEST_WORDS_MAX], size_t len[REQUEST_WORDS_MAX],
	const struct request *release);

/* SUBSCRIBE to the two channels of the key's queue. */
void request_subscribe(struct request *r, const char *key, int limit, const char *waiter);

/* A page of about `count` keys; the first cursor is "0". complete: a key that the user may not read
 * is an error. records: the page has the records of --once-per, too. */
void request_scan(struct request *r, const char *cursor, int count, bool complete, bool records);

/* Names the script of a request by its digest in place of its text. */
void request_by_digest(struct request *r);

/* Any command; NULL ends the words. */
void request_command(struct request *r, const char *const words[]);

/* The argument `own_limit` of a client that asks about a slot and does not know the limit. */
#define LIMIT_UNKNOWN "?"

/* How long the queue lasts after a join. */
#define QUEUE_MS (60 * 1000)

/* How many readers a script wakes at once. Each of them wakes the next ones. */
#define READERS_AT_ONCE 32

/* The channels of a key's queue, for printf(3): %s is the key, request_queue_suffix(), and the
 * waiter's id. */
#define CHANNEL_WAKE "redlock:wake:{%s}%s:%s"
#define CHANNEL_QUEUE "redlock:queue:{%s}%s"
#define CHANNEL_MAX (REQUEST_KEY_MAX + 64)
#define SUBSCRIBE_CHANNELS 2

/* Each limit of a semaphore has a queue of its own; its name ends with ":LIMIT". Returns dst. */
#define QUEUE_SUFFIX_MAX 16
const char *request_queue_suffix(char dst[QUEUE_SUFFIX_MAX], int limit);

/* The flags of a script's request, one letter each. */
#define FLAG_SHARED "s" /* the client would be a reader */
#define FLAG_FAIR "f" /* ACQUIRE, LOOK: not ahead of waiters */
#define FLAG_OVERRIDE "o" /* ACQUIRE, REPAIR, LOOK: as if no other client waited */
#define FLAG_NUMBER "n" /* ACQUIRE: with a fencing number */
#define FLAG_RECORD "r" /* ACQUIRE: the reply brings the record of --once-per */
#define FLAG_KEEPS "k" /* EXTEND: never shortens the time of a key */
#define FLAG_LEAVES "l" /* HAND_OFF: the client did not use the reservation that it got */
#define FLAG_GIVES_UP "g" /* HAND_OFF: it never held the lock */
#define FLAG_BREAKS "b" /* HAND_OFF: delete the key of any holder that has this value */
#define FLAG_TELLS "t" /* HAND_OFF: the reply tells how long the keys would have lasted */

/* The argument `early` of ACQUIRE: AUTH is not answered; SELECT is not: its database. */
#define EARLY_UNSURE "u"
#define EARLY_PATTERN "^(" EARLY_UNSURE "?)(%d*)$"

#define FLAG_DELETE "d" /* REVOKE: delete a structure at once */

/* The largest fencing number. Scripts count in doubles, which are exact up to 2^53. */
#define FENCE_MAX 9007199254740991

/* A longer quarantine in the mark of another client is cut to this length, or to the client's own
 * quarantine if that is longer. */
#define QUARANTINE_BELIEVED_MS (25 * 3600 * 1000)

/* A reply has so many digits of the server's run id. */
#define RUN_ID_LEN 16

/* With a restart guard, a node has no vote if its clock is off by more than this. */
#define SKEW_MAX_MS 30000
/* Some plain requests compare the clocks to a second only. */
#define NEAR_MS 29000

/* No script writes a reservation that lasts longer. */
#define RESERVED_MAX_MS 3600000

#endif
