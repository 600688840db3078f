/*
 * quorum: one lock over N nodes, from the first attempt to the last release, as a state machine.
 *
 * quorum_step() takes an event and answers with what to do next. It has no clock, socket, memory
 * or randomness of its own: all of them come with the event. It cannot fail and calls nothing back.
 * The algorithm is Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/);
 * where it goes further, the reason stands beside the line in quorum.c.
 */
#ifndef CORE_QUORUM_H
#define CORE_QUORUM_H

#include "base/token.h"
#include "core/node.h"
#include "core/request.h"

#include <stdbool.h>

struct policy {
	int nodes; /* configured nodes, 1..NODES_MAX */
	int keys; /* of this lock: all of them or none, 1..KEYS_MAX */
	int slots; /* of a semaphore, each a lock of its own, 2..SLOTS_MAX; less: it is none */
	usec ttl; /* the key's life on a node */
	usec drift; /* how much of it is not relied on: clocks run at different rates */
	usec node_timeout; /* longest wait for one node: connect plus answer */
	usec wait; /* how long to go on trying; 0: one attempt; NEVER: no limit */
	usec guard; /* EXPIRING comes this long before the validity ends */
	bool is_fair; /* never before others who wait */
	bool is_shared; /* together with other readers; not before those who wait, either */
	bool wants_fence; /* a fencing number, larger than every earlier one of the key */
	usec quarantine; /* a node that forgot its keys has no vote for so long; 0: it has */
	bool only_looks; /* wait until the key is free, and leave it at that: OVER, with no refusal
			  */
	int order[KEYS_MAX][NODES_MAX]; /* of the nodes, for those who wait for a key: all agree */
};

/* More than half of the nodes *configured*, whoever happens to answer. */
static inline int policy_quorum(const struct policy *p)
{
	return p->nodes / 2 + 1;
}

static inline bool policy_has_slots(const struct policy *p)
{
	return p->slots > 1;
}

/* What the line says of those who wait counts as much as a majority. */
static inline bool policy_heeds_line(const struct policy *p)
{
	return p->is_fair || p->is_shared;
}

/* drift = ttl * factor_permille / 1000 + 2 ms. */
usec policy_drift(usec ttl, int factor_permille);

enum quorum_state {
	QUORUM_TRYING,
	QUORUM_HELD,
	QUORUM_EXPIRING, /* the end is near or certain: end the command now */
	QUORUM_LOST, /* the validity is over */
	QUORUM_RELEASING, /* giving back whatever may be ours */
	QUORUM_OVER,
};

/* Why the lock was not obtained. */
enum refusal {
	REFUSAL_NONE,
	REFUSAL_BUSY, /* a majority answered, and somebody else is in the way */
	REFUSAL_NO_QUORUM, /* fewer than a majority answered */
	REFUSAL_DUPLICATE, /* two nodes are one server */
	REFUSAL_SLOW, /* a majority granted it, but so late that too little validity was left */
};

/* Why a held lock came to its end. */
enum loss {
	LOSS_NONE,
	LOSS_EXPIRED, /* no majority confirmed it in time */
	LOSS_STOOD_STILL, /* the same, but we were not there to hear them */
	LOSS_DENIED, /* a majority said, twice or to the release, that the key is gone or another's
		      */
};

enum event_kind {
	EV_START, /* begin */
	EV_LINK_SHAKES, /* the connection to a node, or the seat's, stands, but TLS on it, or the
			   answer to AUTH, is missing; answer has the reason, if that comes too
			   late */
	EV_LINK_UP, /* the connection to a node, or the seat's, stands */
	EV_LINK_DOWN, /* it could not be made, or broke; answer says why */
	EV_REPLY, /* the answer to the oldest unanswered request on that connection */
	EV_TIME, /* nothing happened but time */
	EV_EXTEND, /* extend now, not only when it is due: this machine may have slept */
	EV_RELEASE, /* let go: the command is gone, or the caller no longer wants the lock */
};

struct event {
	enum event_kind kind;
	usec now; /* read before this event is acted on; never goes back */
	uint64_t random; /* fresh random bits */
	const char *token; /* the current one */
	int node; /* LINK_*, REPLY; policy.nodes: the seat */
	enum op op; /* REPLY: the request that is answered, */
	uint32_t round; /* and the round it was sent for */
	const struct answer *answer; /* LINK_SHAKES, LINK_DOWN, REPLY */
	usec leave_for; /* RELEASE: let the key end by itself after that time; 0: delete it */
};

enum action_kind {
	ACT_OPEN, /* connect; LINK_UP or LINK_DOWN follows */
	ACT_CLOSE, /* drop the connection at once; nothing follows */
	ACT_SEND, /* send op for round, behind all that was sent before; REPLY or LINK_DOWN follows
		   */
};

struct action {
	enum action_kind kind;
	int node; /* policy.nodes: the seat */
	int line; /* OPEN for the seat: the node it leads to */
	enum op op;
	uint32_t round;
	int slot; /* SEND: of a semaphore: which one it is about; HAND_OVER from the seat: 0: any */
	bool is_leaving; /* SEND of HAND_OVER: pass on the turn, as from the seat */
	bool leads; /* SEND of JOIN, WAIT: at the door; of HAND_OVER: not any more */
};

/* At most one close, one open and one send for each node, and for the seat, in a step. */
#define ACTIONS_MAX (3 * (NODES_MAX + 1))

struct update {
	bool new_token; /* make a new token before the first of the actions */
	int count;
	struct action action[ACTIONS_MAX];
	usec wake_at; /* EV_TIME is due then, unless something else comes first; NEVER: no need */
};

enum link {
	LINK_DOWN,
	LINK_OPENING,
	LINK_UP,
};

/* What is known of one node. Read it; only quorum.c writes it. */
struct member {
	enum link link;
	enum reason missing; /* OPENING: why there is no answer, if that takes too long */
	usec opened_at; /* when it began to connect, */
	usec connecting; /* and how much of this round that took */

	/* At most one request and, behind it, one release are in flight on a connection. */
	bool asked;
	bool releasing;
	bool late; /* it has been waited for long enough */
	usec due; /* then time calls it late, unless its answer has come */

	/* Debt: whatever may have been set must be released, by the token it was set with. */
	uint32_t was_sent; /* the attempt whose token it was last asked to keep */
	uint32_t owes; /* the attempt whose token may be on the node; 0: none */
	usec owes_until; /* the key has ended by then, released or not */
	int slot; /* of a semaphore: what it was last asked to keep */
	bool release_refused; /* the last release got no clean answer on a whole connection */
	int reopened; /* how often the link was opened again just to release */

	uint32_t tried; /* the last round in which its link was opened, */
	uint32_t joined; /* in which it was asked, */
	uint32_t healed; /* in which the key was put back, */
	uint32_t numbered; /* in which it took our fencing number */

	enum vote vote; /* in the current round */
	struct answer answer; /* the newest from, or about, this node */
	char run_id[RUN_ID_MAX];
};

/*
 * A place in the line of those who wait for the key: a connection of its own, on which the line
 * node wakes one after the other (OP_WAIT). The nodes are in one order for all clients, another for
 * each key: the line is at the first that answers. It is a hint: whoever is not woken asks all the
 * same when the key should be free, and keeps the place meanwhile.
 */
struct seat {
	enum link link;
	int node; /* the line */
	int key; /* of which key */
	usec due; /* connecting, and joining, must have been done by then */
	bool joins; /* OP_JOIN is not answered yet */
	bool waits; /* OP_WAIT is not */
	bool passes; /* nor is OP_HAND_OVER: another key is in the way, so it is others' turn */
	bool was_free; /* the key was free when we joined: that was worth an attempt */
	uint32_t tried; /* the last round in which it was opened */
	bool is_refused; /* this user may not wait; why is in trouble */
	struct answer trouble;
	bool is_woken; /* it is our turn, and we have not tried yet */
	bool is_fresh; /* there is news since this attempt began: a turn, or that it is free */
	char turn[KEYS_MAX][TOKEN_ID_LEN + 1]; /* for each key: what it was woken with, the last
						  time; "": never */
	int turn_key; /* which of them was the last, */
	int turn_slot; /* or slot; 0: any */
	bool leaves; /* OP_HAND_OVER stands behind OP_WAIT: who serves us passes it on */
	bool parts; /* it was up when the lock was let go: an OP_HAND_OVER went by it, too */
	bool passes_beside; /* another OP_HAND_OVER went by the line's own connection */
	bool leads; /* we were woken, and found readers: we come next, at the door */
};

struct quorum {
	struct policy policy;
	enum quorum_state state;
	enum refusal refusal;
	enum loss loss;
	int duplicate[2]; /* two nodes that are one server; -1: none */

	int phase; /* enum phase in quorum.c */
	uint32_t round; /* every attempt, every extension has one of its own */
	uint32_t attempt; /* the round whose token is current */
	uint32_t proved; /* the last round that a majority confirmed */
	int extensions; /* how many of those were extensions, */
	int64_t fence; /* the fencing number; 0: none */
	usec worst_margin; /* and the least that was left of the validity when one came in; NEVER */

	usec round_at; /* when the round began: before its first byte left */
	usec valid_until; /* HELD and later */
	usec deadline; /* of the wait */
	usec resume_at; /* of the next attempt, or extension round */
	usec enough_at; /* when a majority was ready, or released; 0: not yet */
	usec release_until;
	usec leave_for; /* the last word to the nodes: 0 deletes the key, else it is the key's rest
			 */
	usec asked_at; /* when this attempt's first request was sent */
	usec insist_at; /* of the next request to those that refused; 0: none */
	int insisted; /* how often, in this attempt */
	bool used_turn; /* this attempt was made because it was our turn */
	int tries; /* attempts in a row that failed without having been woken */
	int line; /* asked first, and alone, in this attempt; -1: all were asked at once */
	int busy_key; /* BUSY: which key somebody else has */
	int slot; /* of a semaphore: which one this attempt, or the lock, is about; from 1 on */
	int next_slot; /* what was said to be free; 0: nothing was */
	int moves; /* attempts in a row, without a pause, since each named another slot */
	usec shed_at; /* from then on the links for votes are closed while waiting */
	unsigned awaited; /* 1 << i: the nodes said that others wait for key i */
	bool asking; /* an extension round, or the release of a held lock, is undecided */
	bool denied; /* the last extension round was a majority of NO */

	struct seat seat;
	struct member member[NODES_MAX];
};

void quorum_init(struct quorum *q, const struct policy *policy);

/* One event in; what to do about it out. */
void quorum_step(struct quorum *q, const struct event *ev, struct update *up);

/* Between two attempts: the votes of the last one can be told about. The seat may be taken. */
bool quorum_is_pausing(const struct quorum *q);

/* HELD, and no extension is under way: when the next one is due. */
usec quorum_extend_at(const struct quorum *q);

/* Members with that vote in the current round. */
int quorum_count(const struct quorum *q, enum vote vote);

/* No clean answer came from that node; its answer says why. In the middle of a round, the round
 * before tells. */
bool quorum_in_trouble(const struct quorum *q, int node);

/* What the nodes that say so, in this round, say of whoever has the key (of several keys: the first
 * that is in the way): of several holders the one that most name, on how many nodes, and how long
 * it has a majority, or else anything at all. vote is NONE if there is nobody. */
struct answer quorum_holder(const struct quorum *q, int *nodes);

/* The largest fencing number that a node tells of, in its newest answer; 0: none. */
int64_t quorum_newest_fence(const struct quorum *q);

/*
 * One question to all, outside of a lock's life (io/survey): a quorum that was not started counts
 * the answers as the votes of a round. An answer that names the holder is YES where its value is
 * `token`, or begins with it as an id (NULL: no token).
 */
void quorum_begin_question(struct quorum *q, usec now);
void quorum_take_answer(struct quorum *q, int node, const struct answer *answer, const char *token);

/* What the answers say about a token. */
enum holding {
	HOLDING_YES, /* a majority has it */
	HOLDING_EXPIRED, /* no majority can have it, and nobody else has one */
	HOLDING_FOREIGN, /* somebody else has a majority */
	HOLDING_UNKNOWN, /* too few nodes have answered to tell */
};

enum holding quorum_holding(const struct quorum *q);

/* How long the key is still there on a majority that said YES, at least, by our clock: its time
 * less the drift allowance, counted from before it was asked. 0: no time at all. */
usec quorum_time_left(const struct quorum *q, int drift_permille, usec now);

/*
 * How many nodes said, in this attempt, that the key is held under one of these token ids, which
 * are separated by spaces; (*holder)->text is then the holder's whole value (a NUL-terminated
 * string).
 */
int quorum_held_by(const struct quorum *q, const char *ids, const struct answer **holder);

/* Nodes on which the lock may still be, against our will, after the release, and until when in
 * *until (if any). */
int quorum_unreleased(const struct quorum *q, usec *until);

#endif
