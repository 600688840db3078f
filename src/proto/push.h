/*
 * push: messages that a server sends on a connection with RESP3 without a request for them, between
 * two replies.
 *
 * Calling sequence: where a reply may begin, net/conn calls push_read() with the bytes that have
 * arrived. PUSH_NONE: a reply begins there. PUSH_PARTIAL: call push_read() again with more bytes.
 * Otherwise the next reply or push begins after push->len bytes. push_wake() says what a message
 * means to a waiter. HELLO's reply, a map, is read in the same way, because hiredis 0.14 knows no
 * maps either.
 *
 * The functions are pure and keep no state. A struct push points into the caller's bytes.
 */
#ifndef PROTO_PUSH_H
#define PROTO_PUSH_H

#include "lock/event.h"

/* The longest push or map. A message has a key and an id; HELLO's map names the server's modules.
 */
#define PUSH_BYTES_MAX ((size_t)16 * 1024)

enum push_kind {
	PUSH_NONE, /* no bytes, or those of a reply */
	PUSH_PARTIAL, /* the end is missing */
	PUSH_BROKEN, /* not RESP3, or too long */
	PUSH_HELLO, /* the reply to HELLO */
	PUSH_SUBSCRIBED, /* confirms one channel of SUBSCRIBE */
	PUSH_MESSAGE, /* a message on a channel */
	PUSH_CHANGED, /* CLIENT TRACKING: a key has changed; or all keys, if there is no channel */
	PUSH_OTHER, /* any other push */
};

struct push {
	size_t len; /* bytes of the whole push */
	const char *channel,
		*message; /* MESSAGE; CHANGED: the channel is the key; not terminated */
	bool is_change;
	size_t channel_len, message_len;
};

/* Reads the push at the beginning of the bytes. */
enum push_kind push_read(const char *bytes, size_t len, struct push *push);

/*
 * Reads a change of one of the keys, or a message on a channel of the queue of one of the keys, or
 * of slots with that limit: the waiter's own channel, or the channel of all waiters. WAKE_RESERVED:
 * *reply has the reservation's id and slot. Returns false if the message is no such message.
 */
bool push_wake(const struct push *push, const struct key_list *keys, int limit, const char *waiter,
	int *key, enum wake *wake, struct reply *reply);

#endif
