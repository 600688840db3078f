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

enum op {
	OP_NONE, /* no request */
	OP_ACQUIRE, /* take the key if it is free */
	OP_EXTEND, /* a new TTL if the key is still ours; touches nothing otherwise */
	OP_REPAIR, /* OP_ACQUIRE for a node that lost our key; its answer is never a vote */
	OP_UNDO, /* delete the key if it is ours, without a word to anybody, unless a word of
		       another one waits for that: a failed attempt's */
	OP_HAND_OFF, /* the same, and wake the first in line: it is its turn now */
	OP_EXPIRE, /* OP_EXTEND as the last word: nobody will release it, it ends by itself */
	OP_FENCE, /* a fencing number for the key that is ours, if none larger was given there */
	OP_LOOK, /* who has it? Changes nothing. GONE: it is free; FOREIGN: whoever has it, maybe we
		  */
	OP_JOIN, /* be known to wait; WAIT follows at once. YES: the key is free, and no one's turn
		  */
	OP_WAIT, /* be woken, one after the other; blocks the connection until then */
	OP_SCAN, /* the next page of the node's locks (struct page) */
	OP_BREAK, /* delete the hash or sorted set that expires and whose name and members are the
		     token. FOREIGN: the text has those that are there */
	OP_COMMAND, /* any command, whose reply is wanted as it is, whole, in a page */
};

#define OP_COUNT (OP_COMMAND + 1)

enum vote {
	VOTE_NONE, /* not asked, or not answered yet */
	VOTE_YES, /* done; JOIN: nobody is in the way; WAIT: woken */
	VOTE_GONE, /* no such key */
	VOTE_FOREIGN, /* the key is somebody else's */
	VOTE_ABSENT, /* no clean answer: never a vote, and never "busy" */
};

/* Why a node is absent. The words are in reason_words(). */
enum reason {
	REASON_NONE,
	REASON_UNRESOLVED, /* detail: the resolver's words */
	REASON_CONNECT, /* detail: the system's words */
	REASON_CLOSED, /* the connection broke; detail may say how */
	REASON_CONNECT_TIMEOUT,
	REASON_TLS_TIMEOUT, /* it accepted the connection, but there was no TLS in time */
	REASON_NOT_TLS,
	REASON_SPEAKS_TLS, /* and we did not */
	REASON_TLS, /* no agreement; detail: OpenSSL's words */
	REASON_UNTRUSTED, /* detail: what is wrong with its certificate */
	REASON_CLIENT_CERTIFICATE, /* it wants one, or does not take ours; then detail may say why
				    */
	REASON_TIMEOUT,
	REASON_NOT_READY, /* an attempt did not wait until it was connected, or had released a key
			   */
	REASON_LOADING,
	REASON_READONLY,
	REASON_MISCONF,
	REASON_OOM,
	REASON_NOAUTH,
	REASON_NO_PASSWORD, /* it was given one, and has none */
	REASON_NOPERM,
	REASON_MOVED,
	REASON_CLUSTERDOWN,
	REASON_MASTERDOWN,
	REASON_NOREPLICAS,
	REASON_BUSY,
	REASON_MAXCLIENTS,
	REASON_SERVER, /* another error; detail: the server's words */
	REASON_QUARANTINE, /* it is new, or forgot its keys; for another pttl */
	REASON_SKEWED, /* its clock is off by pttl; detail: "ahead" or "behind" */
	REASON_COUNTER, /* the fencing number cannot be raised; detail: the counter's key */
	REASON_GARBAGE, /* not the protocol, or not our script's answer */
	REASON_TOO_LONG,
};

#define REPLY_TEXT_MAX 320
#define RUN_ID_MAX 41

struct reply {
	enum vote vote;
	enum reason reason; /* VOTE_ABSENT only */
	usec pttl; /* time left of the key as the node sees it; NEVER: no expiry */
	size_t text_len;
	char text[REPLY_TEXT_MAX]; /* FOREIGN: the holder's value, raw; ABSENT: detail, raw; YES:
				       the turn that is ours now, if any; ASK: the reply, or
				       an array's last item; SCAN: the cursor of the next page,
				       shorter than RUN_ID_MAX, "0": there is none */
	char run_id[RUN_ID_MAX]; /* which life of which server answered; "" if it does not say */
	bool is_reserved; /* FOREIGN: the key is free, but it is another one's turn; or readers',
			     and others are before us in line */
	bool is_shared; /* the key is readers' */
	int key; /* FOREIGN: the index of the key that this is about; YES: of the turn's */
	unsigned awaited; /* 1 << i: others wait for key i at this node. SCAN: the page was too long
			   */
	bool is_unguarded; /* YES: but the node may have forgotten its keys, and cannot tell */
	bool is_partial; /* NO: but a key that was asked for is ours */
	int64_t fence; /* the node's fencing number: ACQUIRE that asked for one: raised for us;
			  LOOK: the last; 0: none */
	int slot; /* of a semaphore: FOREIGN: another one that is free there; WAIT: that we were
		     woken for; JOIN: that is free; 0: none */
	usec soonest; /* FOREIGN: when the first of its slots ends; else as pttl */
};

/* An answer that is no answer; detail may be NULL. */
struct reply reply_absent(enum reason reason, const char *detail);

/* Of a refusal, what repeats a secret goes: a server that does not know AUTH shows what was said
 * with it, or the beginning of that. */
void reply_hide(struct reply *a, const char *secret);

/* Do both tell of one value? */
bool reply_same_text(const struct reply *a, const struct reply *b);

#endif
