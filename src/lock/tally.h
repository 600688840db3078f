/*
 * tally: the votes of one round over N nodes, and the sums over them: majority, holder, ownership,
 * duplicate servers, remaining time. Pure counting: no connection, no clock, no state of a lock.
 *
 *	tally_init(&t, nodes);                          once
 *	tally_begin(&t, now);                           a new round: every vote is VOTE_NONE
 *	tally_take(&t, node, &reply, token);            the first vote of a node in a round counts
 *	tally_yes(&t) >= tally_quorum(&t)               a majority
 *
 * A round of a lock (lock.c) begins with tally_begin(): the newest replies stay for messages. A
 * query (net/query) begins with tally_clear() and takes replies with tally_take(), which knows the
 * token that is asked about.
 *
 * A struct tally owns no memory and may be copied. Nothing here fails. The fields may be read; the
 * modules of a lock also write votes, replies, `began` and enough_at.
 */
#ifndef LOCK_TALLY_H
#define LOCK_TALLY_H

#include "lock/policy.h"
#include "lock/reply.h"

/* A server that answered for a node, by the id of its process. */
struct sighting {
	char run_id[RUN_ID_MAX]; /* "": unknown, or none */
	usec first, last; /* when its replies arrived */
};

struct ballot {
	enum vote vote; /* in the current round */
	struct reply reply; /* the newest from, or about, this node */
	struct sighting server, before; /* the newest one, and the one before */
};

struct tally {
	int nodes; /* configured, 1..NODES_MAX */
	int duplicate[2]; /* two nodes that are one server; the same node twice: the other one is
			     not known; -1: none */
	usec began; /* when the round began, before its first byte was sent */
	usec enough_at; /* when tally_grace_is_over() was first called with `enough`; 0: not yet */
	struct ballot ballot[NODES_MAX];
};

void tally_init(struct tally *t, int nodes);

/* Begins a round: forgets the votes and the holders, keeps the other replies for messages. */
void tally_begin(struct tally *t, usec now);

/* Begins a query: forgets the votes and all replies. */
void tally_clear(struct tally *t, usec now);

/* The reply of a node to a query. A reply that names the holder is VOTE_YES if the holder's value
 * is `token`, or begins with `token` as an id. NULL: no token. */
void tally_take(struct tally *t, int node, const struct reply *reply, const char *token);

/* No vote will arrive from this node in this round. The first reason is kept, unless it is
 * REASON_NOT_READY. */
void tally_set_absent(struct tally *t, int node, const struct reply *reply);

/* Remembers which server answered at `now`; sets duplicate[] if another node is the same server. */
void tally_identify(struct tally *t, int node, const char *run_id, usec now);

/*
 * Is a yes of the node's server no vote? A server that replaced another one, which has answered
 * within `quarantine`, may have forgotten locks; *left is the rest of that time then. Its own
 * quarantine may be shorter: that of clients with shorter locks. A server that has answered before
 * the other one did has replaced nothing: several servers answer for the node, and *left is 0.
 */
bool tally_doubts(const struct tally *t, int node, usec quarantine, usec now, usec *left);

/* The node had our new token before it was asked: it is the server of another node, or gets its
 * data. */
void tally_note_copy(struct tally *t, int node);

/* More than half of the configured nodes. */
static inline int tally_quorum(const struct tally *t)
{
	return t->nodes / 2 + 1;
}

/* Nodes with that vote. */
int tally_count(const struct tally *t, enum vote vote);

/* Bit i: node i has not voted. */
unsigned tally_silent(const struct tally *t);

/* Servers that voted VOTE_YES: two names of one server count once. */
int tally_yes(const struct tally *t);

/* Nodes that voted VOTE_GONE or VOTE_FOREIGN: they work, and the key there is not ours. */
int tally_no(const struct tally *t);

/* So many nodes have permanent errors (reply_is_permanent()) that no majority can answer. */
bool tally_is_hopeless(const struct tally *t);

/* The node gave no clean answer; its reply says why. Until the node answers in this round, its
 * reply is that of the round before. */
bool tally_in_trouble(const struct tally *t, int node);

/* The node has voted, and cannot tell whether it forgot keys. */
bool tally_is_unguarded(const struct tally *t, int node);

/* The holder that most nodes name (of several keys: of the first that is taken), on how many nodes
 * in *nodes, and for how long it has a majority, or else one node. vote is VOTE_NONE if there is no
 * holder. */
struct reply tally_holder(const struct tally *t, int *nodes);

/* The limit with which slots are held by the replies of a majority; 0: none. */
int tally_limit(const struct tally *t);

/* How many nodes named, in this round, a holder with one of these token ids, which are separated
 * by spaces. (*holder)->text is then the holder's whole value, NUL-terminated. */
int tally_held_by(const struct tally *t, const char *ids, const struct reply **holder);

/* The largest fencing number in the newest replies; 0: none. */
int64_t tally_newest_fence(const struct tally *t);

/* Whether the token of a query holds the lock, by the replies. */
enum ownership {
	OWNERSHIP_OWNED, /* a majority has it */
	OWNERSHIP_EXPIRED, /* no majority can have it, and there is no other holder */
	OWNERSHIP_FOREIGN, /* another holder has a majority */
	OWNERSHIP_UNKNOWN, /* too few nodes have answered to tell */
};

enum ownership tally_ownership(const struct tally *t);

/* How long a majority of the nodes that voted VOTE_YES keeps the key, at least, by our clock: its
 * TTL less the drift, counted from the beginning of the round. 0: no time. */
usec tally_time_left(const struct tally *t, int drift_permille, usec now);

/* When so many nodes leave quarantine that a majority could vote. 0: quarantine is not the
 * obstacle. */
usec tally_quarantined_for(const struct tally *t);

/* The node named a holder that wakes waiters: a redlock of ours with an expiry, or a reservation.
 * Its answer tells when to ask again. */
bool tally_is_taken(const struct tally *t, int node);

/*
 * After enough nodes have answered, the others get twice the time that these took, at least `least`
 * and at most `most`, and not their full time-out. Returns true when that time has passed; until
 * then sets *wake_at to its end. Without `enough`, returns false and sets nothing.
 */
bool tally_grace_is_over(
	struct tally *t, usec now, bool enough, usec least, usec most, usec *wake_at);

#endif
