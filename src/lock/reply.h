/*
 * reply: the operations that redlock asks of a node, and a node's reply to one of them, as data.
 *
 * proto/reply.c makes a struct reply from what a server sent. A reply is a value: it owns nothing
 * and points nowhere.
 */
#ifndef LOCK_REPLY_H
#define LOCK_REPLY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* lock/operations.def says what each operation does. */
enum op {
	OP_NONE, /* no request */
#define SCRIPT(name, ...) OP_##name,
#define COMMAND(name, ...) OP_##name,
#include "lock/operations.def"
};

#define OP_COUNT (OP_COMMAND + 1)

/* The name of an operation in messages. */
const char *op_name(enum op op);

/* Does the operation release the key? Such a request is no vote of a round. */
bool op_releases(enum op op);

enum vote {
	VOTE_NONE, /* not asked, or not answered yet */
	VOTE_YES, /* done; JOIN: the key is reserved for us */
	VOTE_GONE, /* no such key */
	VOTE_FOREIGN, /* another client has the key */
	VOTE_ABSENT, /* no clean answer: never a vote, and never "busy" */
};

/* Why a node is absent. reason_words() has a message for each. */
enum reason {
	REASON_NONE,
	REASON_UNRESOLVED, /* detail: the resolver's words */
	REASON_CONNECT, /* detail: the system's words */
	REASON_CLOSED, /* the connection broke; detail may say how */
	REASON_CONNECT_TIMEOUT,
	REASON_TLS_TIMEOUT, /* it accepted the connection, but there was no TLS in time */
	REASON_NOT_TLS,
	REASON_SPEAKS_TLS, /* the node expects TLS, and we did not use it */
	REASON_TLS, /* no agreement; detail: OpenSSL's words */
	REASON_UNTRUSTED, /* detail: why its certificate is refused */
	REASON_CLIENT_CERTIFICATE, /* the node demands one, or refuses ours; detail may say why */
	REASON_TIMEOUT,
	REASON_NOT_READY, /* the attempt began before it was connected, or before a pending release
			     was answered */
	REASON_LOADING,
	REASON_LEFT, /* its name does not lead to the server any more that we were connected to */
	REASON_READONLY,
	REASON_MISCONF,
	REASON_OOM,
	REASON_NOAUTH, /* the node wants a password, and we sent none */
	REASON_WRONG_PASSWORD, /* or a wrong user */
	REASON_NO_PASSWORD, /* we sent a password, and the node has none configured */
	REASON_NOPERM,
	REASON_MOVED,
	REASON_CLUSTERDOWN,
	REASON_MASTERDOWN,
	REASON_NOREPLICAS,
	REASON_BUSY,
	REASON_MAXCLIENTS,
	REASON_PROTECTED, /* protected mode: it serves its own host only */
	REASON_SERVER, /* another error; detail: the server's words */
	REASON_QUARANTINE, /* it is new or forgot its keys; pttl: remaining time */
	REASON_SEVERAL, /* several servers answer for it */
	REASON_SKEWED, /* its clock is off by pttl; detail: "ahead" or "behind" */
	REASON_COUNTER, /* the fencing number cannot be raised; detail: the counter's key */
	REASON_NO_SCRIPT, /* the request was sent by digest, and nothing was done */
	REASON_UNSURE, /* the request had EARLY_UNSURE, and nothing was done */
	REASON_NO_DIGESTS, /* the same, and so it will be with every digest; detail: the server's
			      words */
	REASON_GARBAGE, /* not the protocol, or not a reply of our scripts */
	REASON_TOO_LONG,
	REASON_ENDLESS, /* it sends messages, and no reply, without end */
};

#define REASON_COUNT (REASON_ENDLESS + 1)

#define REPLY_TEXT_MAX 320
#define RUN_ID_MAX 41

struct reply {
	enum vote vote;
	enum reason reason; /* VOTE_ABSENT only */
	usec pttl; /* the key's remaining time, by the node's clock; NEVER: no expiry */
	size_t text_len;
	char text[REPLY_TEXT_MAX]; /* FOREIGN: the holder's value, raw; ABSENT: detail, raw; JOIN's
				      YES, WAKE_RESERVED: the id of our reservation; COMMAND: the
				      reply, or an array's last item; SCAN: the cursor of the next
				      page, shorter than RUN_ID_MAX; "0": no more pages */
	char run_id[RUN_ID_MAX]; /* the beginning of the id of the server process; "": not told */
	bool changed_nothing; /* ABSENT: the node has done nothing, or it was taken back */
	bool is_permanent; /* ABSENT: waiting does not help, although that is not so of every reply
			      with this reason */
	bool is_reserved; /* FOREIGN: the key is free, but reserved for another waiter; or it is
			     shared, and waiters are ahead of us */
	int64_t ticket; /* JOIN: our place among all waiters: the same in every later join */
	bool is_watched; /* ACQUIRE, LOOK with `watches`: the node sends WAKE_CHANGED, once */
	int rank; /* waiters ahead of us. JOIN: the first of them is alive; 0: we are the first.
		     LOOK: all waiters of the first key that are connected to this node */
	int limit; /* ACQUIRE, LOOK, JOIN: slots are held with this limit, which is not ours.
		      FOREIGN: the text has the holder of one of them; unless we asked without a
		      limit, or for no slot. 0: not so */
	bool is_shared; /* readers hold the key */
	int key; /* FOREIGN: index of the key that another client has */
	unsigned waiters; /* bit i: key i has waiters at this node */
	bool is_cut; /* SCAN: the page was too long */
	bool is_unguarded; /* the node cannot tell whether it forgot keys */
	bool is_partial; /* before the request, at least one of the keys was ours */
	bool has_record; /* ACQUIRE with wants_record, YES: the node has a record; it is in `text`
			  */
	usec record_age; /* and it says that its run started so long ago, by the node's clock;
			    NEVER: the record has no such time, or its start is in the future */
	bool is_stored; /* HAND_OFF: the node has stored the record that was sent */
	int64_t fence; /* ACQUIRE with wants_fence: the new fencing number; LOOK: the last one; 0:
			  none */
	int slot; /* of a semaphore: FOREIGN: a free slot on this node; JOIN's YES, WAKE_RESERVED:
		     the slot that is reserved for us; 0: none */
	usec soonest; /* FOREIGN, semaphore: remaining time of the first slot to end; else as pttl
		       */
};

/* The node did not know the script by its digest, refused EVALSHA, or was not sure of the user:
 * nothing was done, and the request can be sent again. */
bool reply_lacks_script(const struct reply *a);

/* A reply that says VOTE_ABSENT, for a node without a clean answer; detail may be NULL. */
struct reply reply_absent(enum reason reason, const char *detail);

/* The node gave no clean answer, for this reason. */
static inline bool reply_is_absent(const struct reply *a, enum reason reason)
{
	return a->vote == VOTE_ABSENT && a->reason == reason;
}

/* The node gave no clean answer, for a reason that rarely ends while a client waits: a mistake in
 * the settings of the client or of the node. */
bool reply_is_permanent(const struct reply *a);

/* ABSENT: the server is not, or not any more, the one that decides for its node; the node's name
 * may lead to that one by now. */
static inline bool reply_is_elsewhere(const struct reply *a)
{
	return a->vote == VOTE_ABSENT &&
	       (a->reason == REASON_LEFT || a->reason == REASON_READONLY ||
		       a->reason == REASON_MASTERDOWN || a->reason == REASON_MOVED);
}

/* Cuts a secret that the server echoes in an error: a server without AUTH repeats its arguments,
 * whole or in part. */
void reply_hide(struct reply *a, const char *secret);

/* VOTE_FOREIGN by a holder that wakes no waiter: another program, or a key without an expiry. */
bool reply_has_foreign_holder(const struct reply *a);

/* True: both replies name the same value. */
bool reply_same_text(const struct reply *a, const struct reply *b);

#endif
