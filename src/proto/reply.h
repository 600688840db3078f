/*
 * proto/reply: from the reply of a server, as the protocol gives it, to a struct reply.
 *
 * Calling sequence: net/conn fills a struct resp from the bytes, reply_read() says what it means,
 * and page_next() takes the keys of a page of OP_SCAN, one after the other. The functions are pure
 * and keep no state. A reply that is not exactly one to its request becomes VOTE_ABSENT.
 */
#ifndef PROTO_REPLY_H
#define PROTO_REPLY_H

#include "lock/reply.h"

/*
 * A script's reply is a text: a code (CODE_*), a time in milliseconds (negative: no expiry) and the
 * sum of 1 << (i - 1) for each key i that has waiters here, with a space between them; then a
 * space, the letter and the value of each further item that differs from its default, in any order;
 * then a line feed and a text: the holder; ACQUIRE with FLAG_RECORD, CODE_YES: the record; empty:
 * none. lock/operations.def says which items an operation may have. The scripts use these names,
 * too (proto/lua/parts/reply.lua).
 */
#define REPLY_RUN_ID 'i' /* of the server, a text; by default empty: not told */
#define REPLY_KEY 'k' /* the index of the key that the reply is about, from 1; by default 1 */
/* The default of the others is 0. */
#define REPLY_PARTIAL 'p' /* 1: the client had at least one of the keys before the request */
#define REPLY_SHARED 's' /* 1: readers hold the key */
#define REPLY_UNGUARDED 'u' /* 1: the node cannot tell whether it forgot keys */
#define REPLY_FENCE 'f' /* the fencing number; 0: none */
#define REPLY_SLOT 'o' /* another slot of the semaphore that is free; 0: none */
#define REPLY_SOONEST \
	'e' /* until the first slot expires; by default the reply's time. With a record: since the \
	    start of its run; negative: it names no start, or one in the future */
#define REPLY_TICKET 't' /* JOIN: the client's ticket */
#define REPLY_RANK \
	'r' /* waiters ahead of the client. JOIN: its place in the queue; LOOK: all waiters that \
	    are connected; HAND_OFF: 1: the record is stored */
#define REPLY_LIMIT \
	'l' /* ACQUIRE, LOOK, JOIN: slots are held with this limit, and it is not the client's; \
	    0: not so */

/* The items of a reply are a set of such bits. */
#define REPLY_BIT(item) (1u << ((item) - 'a'))

/* A reply as the protocol gives it, one level deep. */
enum resp_type {
	RESP_NIL,
	RESP_INTEGER,
	RESP_STRING,
	RESP_STATUS,
	RESP_ERROR,
};

/* The longest array. */
#define RESP_ARRAY_MAX 26
/* So many items of an array are kept: the first ones, and its last one. */
#define RESP_ITEMS_MAX 3
/* A script's reply: a text of REPLY_TEXT_MAX after its numbers and items. */
#define RESP_TEXT_MAX (REPLY_TEXT_MAX + 300)

struct resp_item {
	enum resp_type type;
	int64_t integer;
	size_t len; /* of `text`, to which a longer string is cut */
	char text[RESP_TEXT_MAX];
};

struct resp {
	int is_array;
	int count; /* items, with those that are not kept; 1 unless it is an array */
	/* The caller's buffer for PAGE_ENTRIES at full length; or, with is_whole, for the text of
	 * the whole reply, with a line feed after each item of an array. NULL: none. */
	char *page;
	size_t page_len;
	bool is_whole;
	struct resp_item item[RESP_ITEMS_MAX];
};

/* The index in `item` of the last of `count` items, from 1 on. */
static inline int resp_last(const struct resp *resp)
{
	return (resp->count < RESP_ITEMS_MAX ? resp->count : RESP_ITEMS_MAX) - 1;
}

/* A page of OP_SCAN is a sequence of entries, each with a line of numbers before it. */
#define PAGE_MAX ((size_t)60 * 1024)

struct page_entry {
	size_t key_len, value_len;
	bool is_record; /* of --once-per: `value` is its text, `key` that of the lock */
	usec pttl; /* NEVER: no expiry; of a record, how long ago its run began, or NEVER */
	int waiters; /* connected to this node */
	const char *key, *value; /* not terminated */
};

/* Reads the entry at *at and moves *at to its end. Returns false at the end of the page, or if the
 * bytes are no entry. */
bool page_next(const char **at, const char *end, struct page_entry *entry);

/* The code is about all keys: YES if the client holds each of them, else the code of the first key
 * that it does not hold. */
#define CODE_YES 'Y'
#define CODE_FOREIGN 'F'
#define CODE_GONE 'G'
#define CODE_RESERVED 'R' /* free, but reserved for another waiter, or waiters are ahead of us */
#define CODE_QUARANTINE 'Q' /* the node has no vote for another pttl */
#define CODE_SKEWED \
	'S' /* clocks differ by pttl; text: the node's is "ahead of" ours or "behind" \
	     */
#define CODE_COUNTER 'C' /* text: the fencing counter that cannot be raised */
#define CODE_UNSURE 'U' /* EARLY_UNSURE: nothing was done */
#define CODE_NO_EVAL 'E' /* the user has no right to EVAL, with which keys are released */

/* The items of a reply to OP_SCAN. */
#define PAGE_CURSOR 1 /* of the next page; "0": there is none */
#define PAGE_IS_CUT 2 /* 1: the page would have been too long; the cursor is the old one */
#define PAGE_ENTRIES 3
#define PAGE_ITEMS 3

/* The items that a script's reply may have: bits REPLY_BIT(). */
unsigned reply_items(enum op op);

/* Returns the meaning of a reply to a request with `op`. A reply that is no answer to such a
 * request is VOTE_ABSENT. */
struct reply reply_read(enum op op, const struct resp *resp);

#endif
