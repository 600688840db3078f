/*
 * proto/reply: from the reply of a server, as the protocol gives it, to a struct reply.
 *
 * Calling sequence: io/conn fills a struct resp from the bytes, reply_read() says what it means,
 * and page_next() takes the keys of a page of OP_SCAN, one after the other. The functions are pure
 * and keep no state. A reply that is not exactly one to its request becomes VOTE_ABSENT.
 */
#ifndef PROTO_REPLY_H
#define PROTO_REPLY_H

#include "lock/reply.h"

/* A reply as the protocol gives it, one level deep. */
enum resp_type {
	RESP_NIL,
	RESP_INTEGER,
	RESP_STRING,
	RESP_STATUS,
	RESP_ERROR,
};

#define RESP_ITEMS_MAX 8

struct resp_item {
	enum resp_type type;
	int64_t integer;
	size_t len; /* of `text`, to which a longer string is cut */
	char text[REPLY_TEXT_MAX];
};

struct resp {
	int is_array;
	int count; /* items; 1 unless it is an array */
	struct resp_item item[RESP_ITEMS_MAX];
	/* The caller's buffer for the third item of an array at full length; or, with is_whole, for
	 * the text of the whole reply, with a line feed after each item of an array. NULL: none. */
	char *page;
	size_t page_len;
	bool is_whole;
};

/* A page of OP_SCAN is a sequence of entries, each with a line of numbers before it. */
#define PAGE_MAX ((size_t)60 * 1024)

struct page_entry {
	size_t key_len, value_len;
	usec pttl; /* NEVER: no expiry */
	const char *key, *value; /* not terminated */
};

/* Reads the entry at *at and moves *at to its end. Returns false at the end of the page, or if the
 * bytes are no entry. */
bool page_next(const char **at, const char *end, struct page_entry *entry);

/*
 * A script replies {code, pttl, text, run id, marks} and, where there is one, a fencing number; a
 * client that is refused a semaphore's slot gets, after the number, another slot that is free (0:
 * none), and the time until the first slot expires. The code is about all keys: YES if the client
 * holds each of them, else the code of the first key that it does not hold. The scripts use these
 * names, too.
 */
#define CODE_YES 1
#define CODE_FOREIGN 0
#define CODE_GONE -1
#define CODE_RESERVED 2 /* free, but reserved for another waiter, or waiters are ahead of us */
#define CODE_QUARANTINE 3 /* the node has no vote for another pttl */
#define CODE_SKEWED 4 /* clocks differ by pttl; text: the node's is "ahead of" ours or "behind" */
#define CODE_COUNTER 5 /* text: the fencing counter that cannot be raised */

/* Marks are added up to one number: 1 << i for each key i that has waiters, and these. */
#define MARK_INDEX 65536 /* times the index of the key that the reply is about */
#define MARK_PARTIAL 1048576 /* the client holds at least one of the keys */
#define MARK_UNGUARDED 2097152 /* the node cannot tell whether it forgot keys */
#define MARK_SHARED 4194304 /* readers hold the key */

/* Returns the meaning of a reply to a request with `op`. A reply that is no answer to such a
 * request is VOTE_ABSENT. */
struct reply reply_read(enum op op, const struct resp *resp);

#endif
