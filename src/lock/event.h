/*
 * event: the input and the output of lock_step(), as data: an event (a reply, a broken connection,
 * time) in; an update (connections to open or close, requests to send, the time of the next call)
 * out. net/session translates between these and sockets.
 *
 * An event brings the time, fresh random bits and the current token: the lock has no clock and no
 * generator of its own. The actions of an update are carried out in their order, after a new token
 * was made if the update asks for one.
 *
 * Events and updates are values. The reply in an event is valid during lock_step() only.
 */
#ifndef LOCK_EVENT_H
#define LOCK_EVENT_H

#include "base/token.h"
#include "lock/policy.h"
#include "lock/reply.h"

#include <stdbool.h>

enum event_kind {
	EV_START, /* start to acquire the lock */
	EV_LINK_SHAKES, /* connected, but TLS, or the server's role, is missing; `reply` has the
			   reason if that takes too long */
	EV_LINK_UP, /* connected */
	EV_LINK_DOWN, /* connecting failed, or the connection broke; `reply` says why */
	EV_REPLY, /* the reply to the oldest request without one on that connection. After an
		     OP_SUBSCRIBE that was refused, LINK_DOWN follows */
	EV_WAKE, /* a message on a channel to which OP_SUBSCRIBE subscribed the connection */
	EV_TIME, /* no I/O was pending */
	EV_EXTEND, /* extend now, before it is due: this machine may have slept */
	EV_RELEASE, /* release: the command has ended, or the caller gives up */
};

/* The message of EV_WAKE. */
enum wake {
	WAKE_RESERVED, /* the key is reserved for us; `reply` has the reservation's id and the slot
			*/
	WAKE_LOOK, /* we are now one of the first two in the queue: ask with OP_JOIN */
	WAKE_CHANGED, /* a key that a request watched has changed, or is gone */
	WAKE_REJOIN, /* the node lost its queue: enter it again, after a random delay */
};

struct event {
	enum event_kind kind;
	usec now; /* read before this event is acted on; never goes back */
	uint64_t random; /* fresh random bits */
	const char *token; /* the current token */
	int node; /* LINK_*, REPLY, WAKE */
	enum op op; /* REPLY: the operation that is answered */
	uint32_t round; /* REPLY: the round for which the request was sent */
	int key; /* WAKE: index of the key; the message came on its channel */
	enum wake wake; /* WAKE */
	const struct reply *reply; /* LINK_SHAKES, LINK_DOWN, REPLY, WAKE_RESERVED */
	usec leave_for; /* RELEASE: let the key expire after that time; 0: delete it */
	bool stores; /* RELEASE: the hand-offs store a record; their replies say on which nodes */
};

/* Every request carries these. */
struct stamp {
	uint32_t round; /* every attempt and every extension is a round */
	uint32_t attempt; /* the round that made the current token */
	int slot; /* of a semaphore: the slot of this attempt, or of the lock; from 1 on */
};

enum action_kind {
	ACT_RENEW, /* make a new token, for the requests after it; about no node */
	ACT_OPEN, /* connect; LINK_UP or LINK_DOWN follows */
	ACT_CLOSE, /* drop the connection at once; nothing follows */
	ACT_SEND, /* send op for round, after everything sent before; REPLY or LINK_DOWN follows */
};

struct action {
	enum action_kind kind;
	int node;
	enum op op;
	uint32_t round;
	int slot; /* SEND: the slot of a semaphore */
	int key; /* SEND of SUBSCRIBE, JOIN, HAND_OFF with is_leaving: index of the only key */
	bool is_leaving; /* SEND of HAND_OFF: leave the queue and pass on our reservation; our own
			    key stays */
	char woken_by[TOKEN_ID_LEN + 1]; /* is_leaving: the id of that reservation; "": none */
	bool watches; /* SEND of ACQUIRE, LOOK: WAKE_CHANGED when the key changes */
	bool by_digest; /* SEND: EVALSHA. REASON_NO_SCRIPT or REASON_NO_DIGESTS: nothing was done */
	bool overrides; /* SEND of ACQUIRE, LOOK: ignore a reservation for another client */
};

/* At most one close, one open, one request and one release for each node in a step. */
#define ACTIONS_MAX (4 * NODES_MAX + 1)

struct update {
	int count;
	usec wake_at; /* when EV_TIME is due, unless another event is earlier; NEVER: not needed */
	struct action action[ACTIONS_MAX];
};

#endif
