/* request: what is asked of a node and what its answer means, as data. */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "lock/policy.h"
#include "lock/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_KEY_MAX 4096

/* Where a node has the mark of the restart guard. No key format that a library is known to have
 * makes this name: "redlock:node" would be the lock "node" of one that writes "redlock:%s". */
#define GUARD_KEY "{redlock}:node"

/* A few words, such as "refused the connection", without detail. */
const char *reason_words(enum reason reason);

/* What is to be said to a node. All of it must outlive what is made of it. */
struct wish {
	enum op op;
	const struct key_list *keys; /* JOIN, WAIT: one */
	int slots; /* of a semaphore, which has one key; less than 2: it is none */
	int slot; /* which of them this is about; HAND_OVER from the seat: 0: not known */
	const char *token; /* EXTEND, HAND_OVER: its first TOKEN_ID_LEN characters will do. SCAN:
			      the cursor */
	size_t token_len; /* 0: up to its NUL */
	int count; /* SCAN: how many keys to look at, about */
	usec time; /* the key's TTL; HAND_OVER: how long the turn is kept for whoever is woken */
	usec turn_time; /* ACQUIRE with is_fair, RELEASE: the same */
	const char *turn; /* ACQUIRE: what we were woken with, for several keys one behind the
			     other; "": nothing */
	unsigned awaited; /* HAND_OVER: others wait for these keys, maybe at another node: keep
			     their turn here too */
	bool is_leaving; /* HAND_OVER: of a turn that was not used; from the seat, mostly */
	bool gives_up; /* HAND_OVER: by who never held it */
	bool is_waiting; /* ACQUIRE: we have a place in the line here, and keep it when refused, */
	int seat_key; /* for this one of the keys, or it is our turn for it */
	bool is_fair; /* ACQUIRE: not before others who wait, woken or not */
	bool is_shared; /* ACQUIRE, EXTEND, HEAL, LOOK, JOIN: together with other readers */
	bool leads; /* JOIN, WAIT, ACQUIRE: a writer that finds readers only, and comes next;
		       HAND_OVER: it does not any more */
	const char *held; /* ids of locks that the client runs within; NULL: none */
	bool wants_fence; /* ACQUIRE: raise the fencing number */
	int64_t fence; /* FENCE: the number */
	usec quarantine; /* ACQUIRE, LOOK: for so long a node that forgot its keys has no vote; 0:
			    it has */
	usec wall; /* with a quarantine or wants_fence: our time of day, since 1970; with
		      wants_fence the same for all nodes of an attempt */
	bool is_breaking; /* HAND_OVER: whosever it is, if the value begins with the token */
	bool is_alone; /* JOIN: no WAIT follows */
	const char *const *words; /* ASK: the command, NULL-terminated, 8 words at most */
};

/* The parts of a command. They point into what request_build() was given and into *r. */
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

/* What a request says to its script in letters, one after the other. */
#define FLAG_SHARED "s" /* the client would be a reader */
#define FLAG_WAITS "w" /* ACQUIRE, LOOK: it has a place in the queue here, and keeps it */
#define FLAG_PROMOTED "d" /* it is a promoted writer; HAND_OFF: it was one */
#define FLAG_FAIR "f" /* ACQUIRE: not before other clients that wait */
#define FLAG_NUMBER "n" /* ACQUIRE: with a fencing number */
#define FLAG_LEAVES "l" /* HAND_OFF: the client did not use the reservation that it got */
#define FLAG_GIVES_UP "g" /* HAND_OFF: it never held the lock */
#define FLAG_BREAKS "b" /* HAND_OFF: delete the key whoever holds it */

/* The largest fencing number. Scripts count in doubles, and 2^53 + 1 is none. */
#define FENCE_MAX 9007199254740991

/* A longer quarantine than that, in a mark that others wrote, is cut to it; but not to less than
 * the client's own. */
#define QUARANTINE_BELIEVED_MS (25 * 3600 * 1000)

/* A node whose clock is off by more than that has no vote where there is a quarantine. */
#define SKEW_MAX_MS 30000

#endif
