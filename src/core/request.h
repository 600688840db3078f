/* request: what is asked of a node and what its answer means, as data. */
#ifndef CORE_REQUEST_H
#define CORE_REQUEST_H

#include "base/clock.h"

#include <stddef.h>
#include <stdint.h>

enum op {
	OP_ACQUIRE, /* take the key if it is free */
	OP_EXTEND, /* a new TTL if the key is still ours; touches nothing otherwise */
	OP_HEAL, /* OP_ACQUIRE for a node that lost our key; its answer is never a vote */
	OP_RELEASE, /* delete the key if it is ours */
	OP_LEAVE, /* OP_EXTEND as the last word: nobody will release it, it ends by itself */
};

enum vote {
	VOTE_NONE, /* not asked, or not answered yet */
	VOTE_YES, /* done */
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
	REASON_TIMEOUT,
	REASON_LOADING,
	REASON_READONLY,
	REASON_MISCONF,
	REASON_OOM,
	REASON_NOAUTH,
	REASON_NOPERM,
	REASON_MOVED,
	REASON_CLUSTERDOWN,
	REASON_MASTERDOWN,
	REASON_NOREPLICAS,
	REASON_BUSY,
	REASON_MAXCLIENTS,
	REASON_SERVER, /* another error; detail: the server's words */
	REASON_GARBAGE, /* not the protocol, or not our script's answer */
	REASON_TOO_LONG,
};

#define ANSWER_TEXT_MAX 320
#define RUN_ID_MAX 41

struct answer {
	enum vote vote;
	enum reason reason; /* VOTE_ABSENT only */
	usec pttl; /* time left of the key as the node sees it; NEVER: no expiry */
	size_t text_len;
	char text[ANSWER_TEXT_MAX]; /* FOREIGN: the holder's value, raw; ABSENT: detail, raw */
	char run_id[RUN_ID_MAX]; /* which life of which server answered; "" if it does not say */
};

/* An answer that is no answer; detail may be NULL. */
struct answer answer_absent(enum reason reason, const char *detail);

/* A few words, such as "refused the connection", without detail. */
const char *reason_words(enum reason reason);

/* The parts of a command. They point into what request_build() was given and into *r. */
struct request {
	int argc;
	const char *argv[8];
	size_t len[8];
	char ttl[24];
};

/* Fills *r for one script call. Every script is idempotent under one token. */
void request_build(struct request *r, enum op op, const char *key, const char *token, usec ttl);

/* A reply as the protocol gives it, one level deep. */
enum reply_type {
	REPLY_NIL,
	REPLY_INTEGER,
	REPLY_STRING,
	REPLY_STATUS,
	REPLY_ERROR,
};

#define REPLY_ITEMS_MAX 8

struct reply_item {
	enum reply_type type;
	int64_t integer;
	size_t len; /* as kept: at most sizeof(text) - 1 */
	char text[ANSWER_TEXT_MAX];
};

struct reply {
	int is_array;
	int count; /* items; 1 unless it is an array */
	struct reply_item item[REPLY_ITEMS_MAX];
};

/* What a reply to one of our scripts means. Whatever is not exactly such an answer is ABSENT. */
struct answer answer_read(const struct reply *reply);

#endif
