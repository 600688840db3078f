/* rig: a lock under test. The test plays the nodes and the transport: it answers, breaks
 * connections and lets time pass. */
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
#define GUARD USEC_SEC

enum { NOBODY = 0, OUTSIDER = -1 };

struct sent {
	enum op op;
	uint32_t round;
	int token;
	bool leads;
};

/* A node, and the connection to it, as the other side sees them. */
struct fake {
	enum link link;
	struct sent queue[3]; /* a request and a release; of the seat: JOIN, WAIT, HAND_OVER */
	int queued;
	int holder; /* whose key it carries: a token of ours, OUTSIDER or NOBODY */
	int kept_token; /* what it was last asked to keep, as in session.c */
	int left; /* the token that it was last told to keep until it ends by itself */
	int sends[OP_COUNT];
	int opens;
	int line; /* the seat's connection: where it was last opened to */
	bool silent; /* answers nothing */
	bool gone; /* refuses to be connected to again */
	const char *run_id;
};

struct rig {
	struct lock lock;
	struct update up;
	usec now;
	uint64_t random;
	int token; /* counts the tokens made */
	const char *text; /* what the last is made of; tests of split votes set it */
	struct fake fake[NODES_MAX + 1]; /* the last: the seat's connection, at policy.nodes */
};

#define SMALLER "1111111111111111111111111111111111111111"
#define BIGGER "9999999999999999999999999999999999999999"
#define HUGE "ffffffffffffffffffffffffffffffffffffffff"
#define HELD_FOR (5 * USEC_SEC)

int connection_of(const struct rig *r, const struct action *a);

/* When the next attempt, or extension, begins. */
usec resume_at(const struct rig *r);
void tick(struct rig *r);
void let_go(struct rig *r);
void leave(struct rig *r, usec leave_for);
void extend(struct rig *r);

/* Time passes; the machine is woken whenever it asked for it. */
void wait_until(struct rig *r, usec until);
void pass(struct rig *r, usec d);
void link_up(struct rig *r, int i);
void link_down(struct rig *r, int i, enum reason reason);
void all_up(struct rig *r);

/* What a node that answers ABSENT did is unknown; the worst is that it did it. */
void apply(struct fake *p, const struct sent *sent, enum vote vote);

/* The node answers the oldest request on its connection. */
void reply_with(struct rig *r, int i, struct reply reply);

/* The holder's value may be binary. */
void reply_text(struct rig *r, int i, enum vote vote, const char *text, size_t len);
void fake_reply(struct rig *r, int i, enum vote vote);

/* One letter for each node: Y, G(one), F(oreign), A(bsent), or '.' for silence. */
void votes(struct rig *r, const char *letters);
struct policy policy(int nodes, usec wait);
void start_with(struct rig *r, const struct policy *p);
void start(struct rig *r, int nodes, usec wait);

/* Connected and asked, nothing answered. */
void ask(struct rig *r, int nodes, usec wait);
void hold_with(struct rig *r, const struct policy *p);
void hold(struct rig *r, int nodes);

/* To the beginning of the next extension round; its requests are in flight then. */
void next_round(struct rig *r);
usec validity(usec from);

/* By when a key that was set at `from` is surely gone: (TTL - drift) / drift is 8.98. */
usec gone(usec from);
int sends(const struct rig *r, enum op op);

/* One event from whoever has one to give. */
bool serve(struct rig *r);

/* The nodes answer at once, until the machine is through. */
void finish(struct rig *r);

/* What lies in a node's queue is carried out, whether or not anybody still listens. Then, of the
 * nodes with a whole connection, how many carry a token of ours? */
int left_behind(struct rig *r);

/* Nodes 1 and 2 hold; node 0 may carry the token of the first attempt, which is returned. */
int hold_after_a_lost_request(struct rig *r);
void link_shakes(struct rig *r, int i);
struct reply told(enum vote vote, const char *text, usec left);
struct reply held(usec left);
struct reply reserved(usec left);
struct reply turn(void);
struct fake *seat(struct rig *r);

/* Connected and asked, and ready to wait in line. */
void contend(struct rig *r, int nodes, usec wait);

/* All who are asked say that it is held; that holds for the release behind it as well. */
void refuse(struct rig *r, usec left);

/* Refused, and in line. */
void wait_in_line_for(struct rig *r, int nodes, usec wait);
void wait_in_line(struct rig *r, int nodes);

/* Nobody wakes it. */
void next_attempt(struct rig *r);
void look_with(struct rig *r, int nodes, usec wait);

/* The turn was told before the pop, which is still blocked: the seat's own word would stand behind
 * it for ever. */
/* It joined the line, and was told there that it is its turn. */
void look_and_be_woken(struct rig *r, struct reply a);

/* Key 1 has another order of the nodes than key 0. */
void contend_for_two(struct rig *r, bool is_fair);
struct reply about(int key, struct reply a);
void all_say(struct rig *r, struct reply a);

/* In line for key 1, and woken. */
void be_woken_for_the_second(struct rig *r);

#endif
