/*
 * rig: a lock under test. The test plays the nodes and the transport: it answers, breaks
 * connections and lets time pass.
 *
 * start(), ask(), hold() or contend() begin a lock; votes(), reply_with(), link_up() and
 * link_down() are the nodes; wake(), nudge() and call_back() are messages to a waiter; wait_until()
 * and pass() are the clock. The rig carries out the actions of the lock and checks that each of
 * them is allowed.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "base/token.h"
#include "lock/lock.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define MS USEC_MSEC
#define BEGIN (1000 * USEC_SEC)
#define TTL (10 * USEC_SEC)
#define NODE_TIMEOUT (100 * MS)
#define SAFETY_MARGIN USEC_SEC

enum { NO_HOLDER = 0, OUTSIDER = -1 };

struct sent {
	enum op op;
	uint32_t round;
	int token;
	int key; /* of a request about a queue */
	int slot;
	bool is_leaving, overrides, watches, by_digest;
	char woken_by[TOKEN_ID_LEN + 1]; /* is_leaving: the reservation that is passed on */
};

/* A node, and the connection to it, as the server sees them. */
struct fake {
	enum link link;
	struct sent queue[2]; /* a request and a release, in any order */
	int queued;
	struct sent last; /* the last request that was sent */
	int holder; /* the owner of its key: a token of ours, OUTSIDER or NO_HOLDER */
	int kept_token; /* the token of the last request that sets the key, as in session.c */
	int left; /* the token of the last OP_EXPIRE */
	int sends[OP_COUNT];
	int leaves; /* OP_HAND_OFF with is_leaving; they are among the `sends`, too */
	int opens;
	bool silent; /* answers nothing */
	bool gone; /* refuses further connections */
	const char *run_id;
};

struct rig {
	struct lock lock;
	struct update up;
	usec now;
	uint64_t random;
	int token; /* counts the tokens made */
	const char *text; /* the current token as text; tests of split votes set it */
	struct fake fake[NODES_MAX];
};

#define SMALLER "1111111111111111111111111111111111111111"
#define BIGGER "9999999999999999999999999999999999999999"
#define HUGE "ffffffffffffffffffffffffffffffffffffffff"
#define HELD_FOR (5 * USEC_SEC)

/* Returns the start of the next attempt, or extension. */
usec resume_at(const struct rig *r);
void tick(struct rig *r);
void let_go(struct rig *r);
void let_go_with_record(struct rig *r);
void let_expire(struct rig *r, usec leave_for);
void extend(struct rig *r);

/* Time passes; each up.wake_at on the way brings an EV_TIME. */
void wait_until(struct rig *r, usec until);
void pass(struct rig *r, usec d);
void link_up(struct rig *r, int i);
void link_down(struct rig *r, int i, enum reason reason);
void all_up(struct rig *r);

/* A node that answers ABSENT may have carried out the request or not; the worst case is that it
 * did. */
void apply(struct fake *p, const struct sent *sent, enum vote vote);

/* The node answers the oldest request on its connection. */
void reply_with(struct rig *r, int i, struct reply reply);

/* The value of the key may be binary. */
void reply_text(struct rig *r, int i, enum vote vote, const char *text, size_t len);
void fake_reply(struct rig *r, int i, enum vote vote);

/* One letter for each node: Y, G(one), F(oreign), A(bsent), or '.' for silence. */
void votes(struct rig *r, const char *letters);
struct policy policy(int nodes, usec wait);
void start_with(struct rig *r, const struct policy *p);
void start(struct rig *r, int nodes, usec wait);

/* All nodes are connected and asked; none has answered. */
void ask(struct rig *r, int nodes, usec wait);
void hold_with(struct rig *r, const struct policy *p);
void hold(struct rig *r, int nodes);

/* To the beginning of the next extension round; its requests are in flight then. */
void next_round(struct rig *r);
usec validity(usec from);

/* By when a key that was set at `from` is surely gone: (TTL - drift) / drift is 8.98. */
usec gone(usec from);
int sends(const struct rig *r, enum op op);

/* One event from the first node that has one. */
bool serve(struct rig *r);

/* The nodes answer at once, until the lock is released. */
void finish(struct rig *r);

/* Carries out the requests that are queued at the connected nodes; their replies are not read.
 * Returns the number of these nodes that carry a token of ours. */
int left_behind(struct rig *r);

/* Nodes 1 and 2 hold the lock. Returns the token of the first attempt, which node 0 may carry. */
int hold_after_a_lost_request(struct rig *r);
void link_shakes(struct rig *r, int i);
struct reply told(enum vote vote, const char *text, usec left);
struct reply held(usec left);
struct reply reserved(usec left);
struct reply wake_up(void);
struct reply wake_up_for(int slot);

/* A reply to OP_JOIN: so many waiters are ahead of us. */
struct reply ranked(int rank, struct reply a);

/* A watched key has changed at that node. */
void tell_change(struct rig *r, int node);

/* The node sends a message: the key is reserved for us; look again; the queue was lost. */
void wake(struct rig *r, int node, int key, struct reply a);
void nudge(struct rig *r, int node);
void call_back(struct rig *r, int node);

/* The hand-offs that only leave a queue. */
int leaves(const struct rig *r);

/* All nodes are connected and asked; the client may queue. */
void contend(struct rig *r, int nodes, usec wait);

/* All requests of the attempt, and the releases that follow, get `a` as reply. */
void all_say(struct rig *r, struct reply a);

/* Every node that was asked says that the key is held; so it does to the release that follows. */
void refuse(struct rig *r, usec left);

/* In the pause after a refusal: subscribes at `node` and joins; `a` is the reply. */
void join(struct rig *r, int node, struct reply a);

/* Refused, and in the queue of node 0. */
void enter_queue_for(struct rig *r, int nodes, usec wait, int rank);
void enter_queue(struct rig *r, int nodes);

/* The next attempt begins without a wake-up. */
void next_attempt(struct rig *r);
void look_with(struct rig *r, int nodes, usec wait);

/* All nodes said `a`; the client joined the queue, and was woken. */
void look_and_be_woken(struct rig *r, struct reply a);

/* Two keys; key 1 has another order of the nodes than key 0. */
void contend_for_two(struct rig *r, bool is_fair);
struct reply about(int key, struct reply a);

/* In the queue of key 1, and woken. */
void be_woken_for_the_second(struct rig *r);

#endif
