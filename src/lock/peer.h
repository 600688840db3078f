/*
 * peer: one node as a lock sees it: its connection, the request and the release in flight, and the
 * pending release. A peer sends requests; it decides nothing about the lock.
 *
 *	peer_open()       connects; EV_LINK_* lead to peer_link_event()
 *	peer_send()       a request needs peer_is_ready(); a release may follow it on the connection
 *	peer_lacks_script()  EV_REPLY: peer_send_again() may follow
 *	peer_release_again()  EV_REPLY: the same for a release
 *	peer_queue()      a request about a queue may also follow a release
 *	peer_replied()    EV_REPLY: the reply to the oldest request on the connection
 *	peer_overdue()    EV_TIME: gives up connections and votes that take longer than the time-out
 *	peer_close()      drops a connection
 *
 * A request that may set the key makes its release pending, whatever comes back: the key may be on
 * the node under the token of that attempt. `pending` becomes 0 when the node refuses the request
 * cleanly, when it answers a release, or when the key has expired for certain (`pending_until`). A
 * connection that breaks leaves the release pending; release.c connects again and sends it then. If
 * a holder's request that sets the key was unanswered, the release stays pending even then: the
 * node may carry out the bytes of both connections in any order.
 * A request about a queue is no vote and sets no key.
 *
 * A struct peer owns no memory; zeroed, it is a node without a connection. Nothing here fails: a
 * node that does not answer in time is late, and its vote is VOTE_ABSENT. The fields may be read;
 * only the functions below write them.
 */
#ifndef LOCK_PEER_H
#define LOCK_PEER_H

#include "lock/event.h"

struct lock;
struct step;

enum link {
	LINK_DOWN,
	LINK_OPENING,
	LINK_UP,
};

struct peer {
	enum link link;
	enum reason missing; /* OPENING: the reason if connecting takes too long */
	usec opened_at; /* when peer_open() was called */
	usec connecting; /* the time that connecting took in this round */

	/* At most one request and one release are in flight on a connection, in any order. */
	enum op asked; /* the request; OP_NONE: none; OP_HAND_OFF: one that leaves a queue, and is
			  no release */
	bool releasing;
	bool by_digest; /* the request in flight names its script by the digest, */
	bool watches, overrides; /* and has these flags of its action */
	bool no_digests; /* the node refused EVALSHA on this connection, or has forgotten scripts */
	bool late; /* in flight for longer than the node time-out */
	usec asked_at; /* when the request was sent; if it was sent again, that time */
	bool was_resent; /* it was sent again (peer_send_again()) */
	usec due; /* when the request becomes late, unless the reply arrives earlier */
	usec usual; /* how long the node took to answer: the last time, or half of the time before;
		       0: it has not answered */
	unsigned subscribed; /* bit i: OP_SUBSCRIBE for key i was sent on this connection */

	/* The pending release. */
	uint32_t was_sent; /* the last attempt that asked the node to set its token */
	bool may_have_token; /* when the last request was sent: from an earlier one, or a late one
			      */
	uint32_t pending; /* the attempt that may have left its token on the node; 0: none */
	usec pending_until; /* the key has expired by then, released or not */
	int slot; /* of a semaphore: the slot that the node was last asked to keep */
	usec late_key_until; /* the connection broke before the node answered a request of this
				attempt that sets the key: a key that the node sets later, even
				after the release, has expired by then; 0: none */
	bool release_refused; /* in this round a release got no clean answer, or settled nothing */
	bool was_silent; /* peer_drop_silent() has dropped a connection with a release in this round
			  */
	int reopened; /* how often peer_reopen() connected again */

	/* In this round. */
	int repairs; /* refused since another client had the key; the attempt counts, too */
	usec repair_at; /* when the key may be set again; NEVER: not in this round */

	/* Numbers of rounds. */
	uint32_t opened_in; /* the last round in which the connection was opened */
	uint32_t asked_in; /* the last round in which a request was sent */
	uint32_t followed_in; /* the last round in which it led elsewhere, and was opened again */
	uint32_t fenced_in; /* the last round in which the node stored our fencing number */
};

static inline bool peer_in_flight(const struct peer *p)
{
	return p->asked != OP_NONE || p->releasing;
}

static inline bool peer_is_late(const struct peer *p)
{
	return peer_in_flight(p) && p->late;
}

/* The request in flight is the first one on a connection that took longer to open than the request
 * has been in flight: it cannot have a reply yet, and says nothing about the connection. */
static inline bool peer_is_fresh(const struct peer *p, usec node_timeout, usec now)
{
	usec connecting = p->asked_at + node_timeout - p->due;

	return p->asked == OP_ACQUIRE && !p->was_resent && now < p->asked_at + connecting;
}

/* A connection or a reply is still waited for. */
static inline bool peer_may_answer(const struct peer *p)
{
	return p->link == LINK_OPENING || (peer_in_flight(p) && !p->late);
}

/* The node can take part in a round: connected, nothing in flight, no pending release. */
bool peer_is_ready(const struct peer *p);

/* Nodes that may still vote in this round. */
int peer_count_open(const struct lock *lock);

/* The pending release is under the token of an earlier attempt. */
static inline bool peer_has_old_token(const struct peer *p, uint32_t attempt)
{
	return p->pending && p->pending != attempt;
}

/* A new round: the time that connecting took, repairs and refused releases are forgotten. */
void peer_begin_round(struct peer *p);

void peer_open(struct step *s, int node);
void peer_close(struct step *s, int node);

/* EV_LINK_*. The node may have carried out a request in flight when the connection breaks: its
 * release stays pending. */
void peer_link_event(struct step *s, const struct event *ev);

/* Connects again, to release; a few times at most, then it does nothing. */
void peer_reopen(struct step *s, int node);

/* Returns how long a release may take: a second, or eight times the usual time of the node if that
 * is longer (four node timeouts at most); never more than half the TTL. */
usec peer_release_time(const struct policy *policy, const struct peer *p);

/* The release has no answer for longer than the node usually takes, or the request before it is
 * late: the connection may be dead without saying so, as after a firewall has forgotten it. Drops
 * it, so that peer_reopen() may connect again; not if a request that sets the key is unanswered
 * before the release, for the second release could overtake it. */
void peer_drop_silent(struct step *s, int node);

/* Sends a request, or a release after it. */
void peer_send(struct step *s, int node, enum op op);

/* Sends the request of an attempt: OP_ACQUIRE, or OP_LOOK. */
void peer_ask(struct step *s, int node, enum op op, bool watches, bool overrides);

/* EV_REPLY: returns true if the node does not know the script by its digest, or was not sure of the
 * user. Then it has done nothing: the request is no longer in flight, and its release, if it has
 * one, stays pending. */
bool peer_lacks_script(struct step *s, const struct event *ev);

/* Sends that request again, once; never after its release, which would be carried out before it. */
void peer_send_again(struct step *s, int node, enum op op, bool by_digest);

/* EV_REPLY: returns true if the node does not know the script of the release by its digest. Then
 * the release has been sent again, whole: the reply to that one counts. */
bool peer_release_again(struct step *s, const struct event *ev);

/* The queue node of a key: the first node in policy.order that answers, as far as this attempt
 * tells; -1: none. */
int peer_queue_node(const struct lock *lock, int key);

/* Sends a request about the queue of one key: OP_SUBSCRIBE, OP_JOIN, or an OP_HAND_OFF that leaves
 * our key. The hand-off needs a connection with nothing in flight. */
struct action *peer_queue(struct step *s, int node, enum op op, int key);

/* EV_REPLY: returns true if it is the reply to a request about a queue. */
bool peer_queue_replied(struct step *s, const struct event *ev);

/* `reply` may differ from ev->reply, if lock.c does not accept that one. */
void peer_replied(struct step *s, const struct event *ev, const struct reply *reply);

/* EV_TIME only: a reply that has arrived is never late, however long this machine slept before it
 * read it. */
void peer_overdue(struct step *s, int node);

/* The round goes on without this node, unless it is ready: its vote is VOTE_ABSENT, with the newest
 * reason that is known. */
void peer_leave_out(struct step *s, int node);

/* Late for so long that a new connection is worth more than the reply: the path may work again
 * while this connection still sleeps between retransmissions. */
bool peer_is_stuck(const struct step *s, int node);

/* The lock ends: the node may carry out a request in flight as late as now. */
void peer_may_land(struct step *s, int node);

/* When peer_overdue() has something to do; NEVER: no need. */
usec peer_due(const struct peer *p, usec node_timeout);

#endif
