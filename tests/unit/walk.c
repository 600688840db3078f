/*
 * walk: one or two clients and a small world of nodes that are slow, fall silent, restart, answer
 * with errors, and have clocks of different rates. Clients at times extend on request, and let the
 * key expire in the end. Thousands of random walks; each step checks the rules. WALK_SEED=n shows
 * one walk; WALK_SEEDS=n walks that many.
 */
#include "lock/lock.h"

#include "base/token.h"
#include "unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS USEC_MSEC
#define SEEDS 60000
#define CLIENTS 2
#define SERVERS 7

enum { NO_HOLDER = 0, OUTSIDER = -1 };

enum rule {
	RULE_WIRE,
	RULE_ONCE,
	RULE_FLIGHT,
	RULE_PROOF,
	RULE_REPAIR,
	RULE_ASK,
	RULE_EARLIER,
	RULE_END,
	RULE_WAKE,
	RULE_BUSY_LOOP,
	RULE_RELEASE_TIME,
	RULE_PENDING,
	RULE_LEFT,
	RULE_LEAVE,
	RULE_EXTEND,
	RULE_TRUTH,
	RULE_MUTEX,
	RULE_DENIED,
	RULES,
};

struct message {
	enum op op;
	uint32_t round;
	int token;
	usec ttl;
	bool by_digest; /* the server may not know the script */
	bool is_leaving; /* an OP_HAND_OFF that leaves the key */
	bool served;
	usec serve_at, back_at;
	struct reply reply;
};

/* A connection as one client sees it, until it notices that it is broken. */
struct wire {
	enum link link;
	usec done_at; /* OPENING: the time at which the client notices it */
	bool accepted;
	bool shakes; /* OPENING: with TLS to come */
	bool broken;
	usec broken_at;
	struct message queue[2];
	int queued;
	int kept_token; /* the token of the last request that sets the key, as in session.c */
	bool subscribed;
	usec wakes_at; /* when the next message to the waiter arrives; NEVER: none */
};

enum mood { WELL, SLOW, SILENT, REFUSING, ERRORS, MOODS };

struct server {
	int holder;
	usec ends;
	int left; /* the token of the last OP_EXPIRE */
	int refused[CLIENTS]; /* the token that it refused to release */
	enum mood mood;
	int life;
	int64_t rate; /* of its clock, in permille of the true one */
	usec rtt;
};

struct client {
	struct lock lock;
	struct update up;
	struct wire wire[SERVERS];
	int id;
	int token;
	usec start_at, extend_at, let_go_at, asleep_until;
	usec leave_for; /* of its release, */
	bool leaves; /* and whether the lock was held then */
	bool started;
	uint32_t round; /* the newest round with a request, */
	usec round_at; /* the start of that round, */
	unsigned voters; /* and the nodes that said yes in it */
	usec releasing_since;
	int idle_turns;
	long steps;
};

struct world {
	uint64_t seed, random;
	usec now, chaos_at;
	bool calm, loses_keys, trace, over;
	int nodes, clients, tokens;
	struct policy policy;
	struct server server[SERVERS];
	struct client client[CLIENTS];
};

static struct {
	int breaches[RULES];
	uint64_t first_seed[RULES];
	char words[RULES][120];
	long steps, held, extended, repaired, busy, no_quorum, slow, expired, denied, over,
		honest_pairs, nudged, left, woken;
} tally;

/* ---- helpers ---- */

static uint64_t draw(struct world *w)
{
	uint64_t z = w->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static usec up_to(struct world *w, usec most)
{
	return (usec)(draw(w) % (uint64_t)(most + 1));
}

static bool chance(struct world *w, int percent)
{
	return (int)(draw(w) % 100) < percent;
}

__attribute__((format(printf, 2, 3))) static void trace(const struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->trace)
		return;
	printf("# %9.3fms ", (double)w->now / 1000);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

static void breach(struct world *w, const struct client *c, enum rule rule, const char *words)
{
	trace(w, "!!! rule %d: %s", rule, words);
	if (tally.breaches[rule]++ > 0)
		return;
	tally.first_seed[rule] = w->seed;
	snprintf(tally.words[rule], sizeof(tally.words[rule]), "%s (client %d, state %d)", words,
		c->id, (int)lock_state(&c->lock));
}

static int quorum_of(const struct world *w)
{
	return w->nodes / 2 + 1;
}

static bool is_ours(const struct client *c, int token)
{
	return token > 0 && token % CLIENTS == c->id;
}

static bool believes(const struct world *w, const struct client *c)
{
	return (lock_state(&c->lock) == LOCK_HELD || lock_state(&c->lock) == LOCK_EXPIRING) &&
	       w->now < c->lock.tenure.valid_until;
}

/* ---- the nodes ---- */

static void expire(const struct world *w, struct server *s)
{
	if (s->holder != NO_HOLDER && w->now >= s->ends)
		s->holder = NO_HOLDER;
}

static void hold_key(const struct world *w, struct server *s, const struct message *m)
{
	s->holder = m->token;
	s->ends = w->now + m->ttl * 1000 / s->rate;
	s->left = m->op == OP_EXPIRE ? m->token : NO_HOLDER;
}

static bool is_parting(enum op op)
{
	return op == OP_UNDO || op == OP_HAND_OFF || op == OP_EXPIRE;
}

static enum vote carry_out(const struct world *w, struct server *s, const struct message *m)
{
	bool sets = m->op == OP_ACQUIRE || m->op == OP_REPAIR;

	expire(w, s);
	if (s->holder != NO_HOLDER && s->holder != m->token)
		return VOTE_FOREIGN;
	if (s->holder == NO_HOLDER && !sets)
		return VOTE_GONE;
	if (m->op == OP_UNDO || m->op == OP_HAND_OFF)
		s->holder = NO_HOLDER;
	else
		hold_key(w, s, m);
	return VOTE_YES;
}

static bool is_about_queue(enum op op)
{
	return op == OP_SUBSCRIBE || op == OP_JOIN;
}

/* Waiters are woken at random here: right, too often, or never. */
static void serve_queue(struct world *w, struct client *c, int node, struct message *m)
{
	struct server *s = &w->server[node];

	expire(w, s);
	m->served = true;
	m->reply = (struct reply){.vote = VOTE_YES};
	if (s->mood == ERRORS) {
		m->reply = chance(w, 50) ? reply_absent(REASON_LOADING, "LOADING")
					 : reply_absent(REASON_NOPERM, "NOPERM");
		return;
	}
	if (m->op == OP_SUBSCRIBE) {
		c->wire[node].subscribed = true;
		c->wire[node].wakes_at = w->now + up_to(w, w->policy.ttl);
		return;
	}
	m->reply.ticket = 1 + up_to(w, 9);
	m->reply.rank = (int)up_to(w, 3);
	if (s->holder == NO_HOLDER && chance(w, 90))
		return;
	m->reply.vote = VOTE_FOREIGN;
	m->reply.pttl =
		s->holder == NO_HOLDER ? w->policy.node_timeout : usec_max(0, s->ends - w->now);
	m->reply.is_reserved = s->holder == NO_HOLDER;
}

static void serve(struct world *w, int node, struct message *m)
{
	struct server *s = &w->server[node];
	enum vote vote;
	bool is_unknown;

	m->served = true;
	m->reply = reply_absent(REASON_LOADING, "LOADING");
	/* A node that answers with an error may have done it all the same. */
	if (s->mood == ERRORS && is_parting(m->op))
		s->refused[m->token % CLIENTS] = m->token;
	if (s->mood == ERRORS && chance(w, 60))
		return;
	is_unknown = m->by_digest && chance(w, 10);
	if (is_unknown && !is_parting(m->op)) {
		m->reply = chance(w, 80) ? reply_absent(REASON_NO_SCRIPT, "NOSCRIPT")
					 : reply_absent(REASON_NO_DIGESTS, "NOPERM");
		return;
	}
	vote = m->is_leaving ? VOTE_YES : carry_out(w, s, m);
	if (s->mood == ERRORS)
		return;
	m->reply =
		(struct reply){.vote = vote, .waiters = chance(w, 20), .lacks_script = is_unknown};
	/* Reported by a redlock that holds the key, or by another client. */
	if (vote == VOTE_FOREIGN && chance(w, 70)) {
		snprintf(m->reply.text, sizeof(m->reply.text), "%040x:somebody",
			(unsigned)s->holder);
		m->reply.text_len = strlen(m->reply.text);
		m->reply.pttl = usec_max(0, s->ends - w->now);
	} else if (vote == VOTE_FOREIGN && chance(w, 30)) {
		m->reply.is_reserved = true;
		m->reply.pttl = w->policy.node_timeout;
	}
	if (m->op == OP_ACQUIRE || m->op == OP_REPAIR)
		snprintf(m->reply.run_id, sizeof(m->reply.run_id), "%d.%d", node, s->life);
}

static usec one_way(struct world *w, const struct server *s)
{
	if (s->mood == SLOW)
		return up_to(w, 2 * w->policy.node_timeout);
	return s->rtt / 2 + up_to(w, s->rtt / 8);
}

static void schedule(struct world *w, struct wire *wire, int node, struct message *m)
{
	const struct server *s = &w->server[node];
	const struct message *before = m > wire->queue ? m - 1 : NULL;

	m->serve_at = m->back_at = NEVER;
	if (s->mood == SILENT || wire->broken || (before && before->serve_at == NEVER))
		return;
	m->serve_at = w->now + one_way(w, s);
	if (before)
		m->serve_at = usec_max(m->serve_at, before->serve_at);
	m->back_at = m->serve_at + one_way(w, s);
	if (before)
		m->back_at = usec_max(m->back_at, before->back_at);
}

/* The connection is gone; requests on their way are carried out or not. */
static void lose(struct world *w, struct wire *wire, int node)
{
	for (int i = 0; i < wire->queued && !wire->broken; i++)
		if (!wire->queue[i].served && !is_about_queue(wire->queue[i].op)) {
			if (chance(w, 50))
				break;
			serve(w, node, &wire->queue[i]);
		}
	wire->queued = 0;
	wire->subscribed = false;
}

static void cut_wire(struct world *w, struct wire *wire, int node)
{
	if (wire->link != LINK_UP || wire->broken)
		return;
	lose(w, wire, node);
	wire->broken = true;
	wire->broken_at = w->now;
}

static void cut_wires(struct world *w, int node)
{
	for (int i = 0; i < w->clients; i++)
		cut_wire(w, &w->client[i].wire[node], node);
}

static void change_mood(struct world *w, int node)
{
	struct server *s = &w->server[node];
	enum mood before = s->mood;

	s->mood = chance(w, 50) ? WELL : (enum mood)(draw(w) % MOODS);
	trace(w, "node %d has mood %d", node, s->mood);
	if (s->mood == REFUSING)
		cut_wires(w, node);
	if (before != SILENT || s->mood == SILENT)
		return;
	/* The node wakes up: delayed messages arrive late. */
	for (int i = 0; i < w->clients; i++) {
		struct wire *wire = &w->client[i].wire[node];

		for (int n = 0; n < wire->queued; n++)
			if (!wire->queue[n].served)
				schedule(w, wire, node, &wire->queue[n]);
	}
}

static void chaos(struct world *w)
{
	int node = (int)(draw(w) % (uint64_t)w->nodes);
	struct server *s = &w->server[node];
	struct client *c = &w->client[draw(w) % (uint64_t)w->clients];

	w->chaos_at = w->now + up_to(w, w->policy.ttl / 4);
	expire(w, s);
	switch (draw(w) % 8) {
	case 0:
		cut_wires(w, node);
		trace(w, "node %d breaks its connections", node);
		break;
	case 1:
		if (s->holder == NO_HOLDER) {
			s->holder = OUTSIDER;
			s->ends = w->now + up_to(w, w->policy.ttl);
			trace(w, "node %d is taken by an outsider", node);
		}
		break;
	case 2:
		if (w->loses_keys) {
			s->holder = NO_HOLDER;
			s->life++;
			cut_wires(w, node);
			trace(w, "node %d restarts", node);
		}
		break;
	case 3:
		if (w->loses_keys) {
			s->holder = NO_HOLDER;
			trace(w, "node %d has its key deleted", node);
		}
		break;
	case 4:
		c->asleep_until = w->now + up_to(w, w->policy.ttl / 3);
		trace(w, "client %d sleeps for %dms", c->id,
			(int)((c->asleep_until - w->now) / MS));
		break;
	default:
		change_mood(w, node);
	}
}

/* ---- the client's side of the wire ---- */

static void open_wire(struct world *w, struct client *c, const struct action *a)
{
	struct wire *wire = &c->wire[a->node];
	const struct server *s = &w->server[a->node];

	if (wire->link != LINK_DOWN)
		breach(w, c, RULE_WIRE, "opened a link that is not down");
	wire->link = LINK_OPENING;
	wire->broken = wire->shakes = false;
	wire->queued = 0;
	wire->accepted = s->mood != REFUSING;
	wire->done_at = s->mood == SILENT ? NEVER : w->now + 2 * one_way(w, s);
	if (chance(w, 10))
		wire->done_at = w->now; /* a unix socket */
}

static void close_wire(struct world *w, struct client *c, int node)
{
	struct wire *wire = &c->wire[node];

	if (wire->link == LINK_DOWN)
		breach(w, c, RULE_WIRE, "closed a link that is down");
	lose(w, wire, node);
	wire->link = LINK_DOWN;
}

static void check_ask(struct world *w, struct client *c, const struct action *a)
{
	const struct server *s = &w->server[a->node];

	if (is_about_queue(a->op))
		return;
	if (a->op != OP_REPAIR && a->round != c->round) {
		c->round = a->round;
		c->round_at = w->now;
		c->voters = 0;
	}
	if (a->op == OP_REPAIR &&
		(__builtin_popcount(c->voters) < quorum_of(w) || a->round != c->round ||
			lock_state(&c->lock) != LOCK_HELD))
		breach(w, c, RULE_REPAIR, "repaired without a majority in this round");
	tally.repaired += a->op == OP_REPAIR;
	if (a->op == OP_ACQUIRE &&
		(a->round != c->lock.stamp.attempt || lock_state(&c->lock) > LOCK_HELD ||
			(a->by_digest && lock_state(&c->lock) == LOCK_HELD)))
		breach(w, c, RULE_ASK, "asked for another attempt's token");
	if (a->op != OP_EXTEND && is_ours(c, s->holder) && s->holder != c->token &&
		w->now < s->ends)
		breach(w, c, RULE_EARLIER, "asked a node that carries an earlier token");
}

/* Every key of a held lock is let expire, and no other key is; an earlier token is deleted. */
static void check_parting(struct world *w, struct client *c, const struct action *a)
{
	bool current = c->wire[a->node].kept_token == c->token;

	if (a->is_leaving)
		return;
	if (a->op == OP_EXPIRE && (!c->leaves || !current))
		breach(w, c, RULE_LEAVE, "left what shall be deleted");
	if ((a->op == OP_UNDO || a->op == OP_HAND_OFF) && c->leaves && current)
		breach(w, c, RULE_LEAVE, "deleted what shall be left");
	if (a->op == OP_EXPIRE && (lock_state(&c->lock) < LOCK_RELEASING ||
					  c->lock.releasing.leave_for != c->leave_for))
		breach(w, c, RULE_LEAVE, "left too early, or for another time");
}

static void send(struct world *w, struct client *c, const struct action *a)
{
	struct wire *wire = &c->wire[a->node];
	struct message *m = &wire->queue[wire->queued];
	bool releases = is_parting(a->op) && !a->is_leaving;

	if (wire->link != LINK_UP)
		breach(w, c, RULE_WIRE, "sent on a link that is not up");
	if (is_parting(a->op))
		check_parting(w, c, a);
	else
		check_ask(w, c, a);
	/* A broken connection accepts requests until the client notices it. */
	if (wire->link == LINK_UP && !is_parting(a->op) && a->op != OP_EXTEND &&
		!is_about_queue(a->op))
		wire->kept_token = c->token;
	if (wire->link != LINK_UP || wire->broken)
		return;
	if (wire->queued == 2 ||
		(wire->queued == 1 && releases == (is_parting(m[-1].op) && !m[-1].is_leaving)) ||
		(wire->queued == 1 && !releases && !is_about_queue(a->op))) {
		breach(w, c, RULE_FLIGHT, "more in flight than a request and a release");
		return;
	}
	*m = (struct message){.op = a->op,
		.round = a->round,
		.token = c->token,
		.by_digest = a->by_digest,
		.is_leaving = a->is_leaving,
		.ttl = a->op == OP_EXPIRE ? c->lock.releasing.leave_for : w->policy.ttl};
	if (a->op == OP_UNDO || a->op == OP_HAND_OFF)
		m->token = wire->kept_token;
	wire->queued++;
	schedule(w, wire, a->node, m);
}

static void perform(struct world *w, struct client *c)
{
	int opened[SERVERS] = {0}, closed[SERVERS] = {0}, asked[SERVERS] = {0},
	    released[SERVERS] = {0};

	if (c->up.new_token)
		c->token = ++w->tokens * CLIENTS + c->id;
	for (int i = 0; i < c->up.count; i++) {
		const struct action *a = &c->up.action[i];
		int wire = a->node;

		trace(w, "client %d: action %d on node %d, op %d, round %d", c->id, (int)a->kind,
			wire, (int)a->op, (int)a->round);
		switch (a->kind) {
		case ACT_OPEN:
			opened[wire]++;
			open_wire(w, c, a);
			break;
		case ACT_CLOSE:
			closed[wire]++;
			close_wire(w, c, wire);
			break;
		case ACT_SEND:
			asked[wire] += !is_parting(a->op) || a->is_leaving;
			released[wire] += is_parting(a->op) && !a->is_leaving;
			send(w, c, a);
			break;
		}
		if (opened[wire] > 1 || closed[wire] > 1 || asked[wire] > 1 || released[wire] > 1)
			breach(w, c, RULE_ONCE, "twice the same to one node in a step");
	}
}

/* ---- votes ---- */

static void check_belief(
	struct world *w, struct client *c, usec valid_before, enum lock_state state_before)
{
	const struct lock *lock = &c->lock;
	bool proved = lock_state(lock) == LOCK_HELD &&
		      (state_before != LOCK_HELD || lock->tenure.valid_until != valid_before);
	int holding = 0;

	if (proved &&
		(__builtin_popcount(c->voters) < quorum_of(w) ||
			lock->tenure.valid_until > c->round_at + w->policy.ttl - w->policy.drift))
		breach(w, c, RULE_PROOF, "held, or extended, without a majority of its round");
	if (state_before == LOCK_HELD && lock->tenure.valid_until < valid_before)
		breach(w, c, RULE_PROOF, "the validity shrank");
	if (state_before > LOCK_HELD &&
		(lock->tenure.valid_until != valid_before || lock_state(lock) < state_before))
		breach(w, c, RULE_PROOF, "revived");
	if ((lock_state(lock) == LOCK_HELD &&
		    w->now >= lock->tenure.valid_until - w->policy.safety_margin) ||
		(lock_state(lock) == LOCK_EXPIRING && w->now >= lock->tenure.valid_until))
		breach(w, c, RULE_END, "held beyond the end");
	if (w->loses_keys || !believes(w, c))
		return;
	for (int i = 0; i < w->nodes; i++)
		holding += w->server[i].holder == c->token &&
			   w->server[i].ends >= lock->tenure.valid_until;
	if (holding < quorum_of(w))
		breach(w, c, RULE_TRUTH, "held, but not by a majority until the end");
	if (w->clients == 2 && believes(w, &w->client[!c->id]))
		breach(w, c, RULE_MUTEX, "two holders at a time");
}

static void check_times(struct world *w, struct client *c)
{
	const struct lock *lock = &c->lock;
	usec wake_at = c->up.wake_at;

	if ((lock_state(lock) == LOCK_TRYING || lock_state(lock) == LOCK_RELEASING) &&
		wake_at == NEVER)
		breach(w, c, RULE_WAKE, "no time to wake up at");
	if ((lock_state(lock) == LOCK_HELD &&
		    wake_at > lock->tenure.valid_until - w->policy.safety_margin) ||
		(lock_state(lock) == LOCK_EXPIRING && wake_at > lock->tenure.valid_until))
		breach(w, c, RULE_WAKE, "sleeps over its end");
	if (lock_state(lock) == LOCK_RELEASING &&
		wake_at > c->releasing_since + usec_min(USEC_SEC, w->policy.ttl / 2))
		breach(w, c, RULE_RELEASE_TIME, "releases for too long");
}

/* Every key of ours on a node, unless it was let expire, is known as a pending release. */
static void check_pending(struct world *w, struct client *c)
{
	for (int i = 0; i < w->nodes; i++) {
		const struct server *s = &w->server[i];
		const struct peer *m = &c->lock.peer[i];

		if (!is_ours(c, s->holder) || s->left == s->holder || w->now >= s->ends ||
			w->now >= m->pending_until)
			continue;
		if (!m->pending || c->wire[i].kept_token != s->holder)
			breach(w, c, RULE_PENDING, "a token on a node without a pending release");
	}
}

/* Carries out the requests that are queued at the nodes: the connections close cleanly. */
static void check_end(struct world *w, struct client *c)
{
	for (int i = 0; i < w->nodes; i++) {
		struct wire *wire = &c->wire[i];
		const struct peer *m = &c->lock.peer[i];
		struct server *s = &w->server[i];

		for (int n = 0; n < wire->queued && wire->link == LINK_UP; n++)
			if (!wire->queue[n].served && !wire->broken &&
				!is_about_queue(wire->queue[n].op))
				serve(w, i, &wire->queue[n]);
		wire->queued = 0;
		expire(w, s);
		tally.left += is_ours(c, s->holder) && s->left == s->holder;
		if (s->left && s->left == s->holder)
			continue;
		if (is_ours(c, s->holder) && wire->link == LINK_UP && !wire->broken &&
			s->refused[c->id] != s->holder && !m->release_refused)
			breach(w, c, RULE_LEFT, "a token left on a node that can be reached");
		if (is_ours(c, s->holder) && !m->pending && w->now < m->pending_until)
			breach(w, c, RULE_LEFT, "a token left and forgotten");
	}
}

/* EV_EXTEND extends at once, if the lock is held and no extension is under way. */
static void check_extend(struct world *w, struct client *c, uint32_t round_before,
	bool asking_before, enum lock_state before)
{
	const struct lock *lock = &c->lock;
	bool extends = lock_state(lock) == LOCK_HELD && !asking_before;

	tally.nudged += extends;
	if (extends && (lock->stamp.round != round_before + 1 || lock->tally.began != w->now))
		breach(w, c, RULE_EXTEND, "does not extend though asked to");
	if (lock_state(lock) == LOCK_HELD && asking_before && lock->stamp.round != round_before)
		breach(w, c, RULE_EXTEND, "begins anew while it extends");
	for (int i = 0; i < c->up.count; i++)
		if (c->up.action[i].op == OP_EXTEND && c->up.action[i].kind == ACT_SEND &&
			(lock_state(lock) != LOCK_HELD || before != LOCK_HELD))
			breach(w, c, RULE_EXTEND, "extends what is not held");
}

static void count(const struct client *c, enum lock_state before)
{
	const struct lock *lock = &c->lock;

	if (lock_state(lock) == before)
		return;
	tally.held += lock_state(lock) == LOCK_HELD;
	tally.expired += lock_state(lock) > LOCK_HELD && before == LOCK_HELD &&
			 (lock->loss == LOSS_EXPIRED || lock->loss == LOSS_STOOD_STILL);
	tally.denied +=
		lock_state(lock) > LOCK_HELD && before == LOCK_HELD && lock->loss == LOSS_DENIED;
	if (before == LOCK_TRYING && lock_state(lock) == LOCK_RELEASING) {
		tally.busy += lock->refusal == REFUSAL_BUSY;
		tally.no_quorum += lock->refusal == REFUSAL_NO_QUORUM;
		tally.slow += lock->refusal == REFUSAL_SLOW;
	}
	if (lock_state(lock) == LOCK_OVER) {
		tally.over++;
		tally.extended += lock->tenure.extensions;
	}
}

static void step(struct world *w, struct client *c, struct event *ev)
{
	enum lock_state before = lock_state(&c->lock);
	usec valid_before = c->lock.tenure.valid_until;
	uint32_t round_before = c->lock.stamp.round;
	bool asking_before = c->lock.tenure.asking;
	char token[TOKEN_ID_LEN + 8];

	ev->now = w->now;
	ev->random = draw(w);
	snprintf(token, sizeof(token), "%040x:us", (unsigned)c->token);
	ev->token = token;
	tally.steps++;
	c->steps++;
	lock_step(&c->lock, ev, &c->up);
	trace(w,
		"client %d: event %d of node %d, op %d, round %d, vote %d: state %d, round %d, "
		"wake %.3f",
		c->id, (int)ev->kind, ev->node, (int)ev->op, (int)ev->round,
		ev->reply ? (int)ev->reply->vote : -1, (int)lock_state(&c->lock),
		(int)c->lock.stamp.round,
		c->up.wake_at == NEVER ? -1.0 : (double)c->up.wake_at / 1000);
	if (lock_state(&c->lock) == LOCK_RELEASING && before != LOCK_RELEASING)
		c->releasing_since = w->now;
	if (lock_state(&c->lock) > LOCK_EXPIRING || before == LOCK_TRYING)
		c->idle_turns = 0;
	c->idle_turns = ev->kind == EV_TIME && c->up.count == 0 && lock_state(&c->lock) == before &&
					c->lock.stamp.round == round_before &&
					c->up.wake_at <= w->now
				? c->idle_turns + 1
				: 0;
	/* A retry every 20 ms, of a few events for each node; and some for the rest. */
	if (c->idle_turns > 2 ||
		c->steps > 300 + (w->now - c->start_at) / (20 * MS) * 8 * w->nodes) {
		breach(w, c, RULE_BUSY_LOOP, "turns without getting on");
		w->over = true;
	}
	if (ev->kind == EV_EXTEND)
		check_extend(w, c, round_before, asking_before, before);
	check_belief(w, c, valid_before, before);
	check_times(w, c);
	perform(w, c);
	check_pending(w, c);
	count(c, before);
	if (lock_state(&c->lock) == LOCK_LOST && before != LOCK_LOST)
		c->let_go_at = usec_min(c->let_go_at, w->now + up_to(w, w->policy.ttl / 4));
	if (!w->loses_keys && c->lock.loss == LOSS_DENIED)
		breach(w, c, RULE_DENIED, "denied though no key was lost");
	if (lock_state(&c->lock) == LOCK_OVER)
		check_end(w, c);
}

/* ---- the events of the world ---- */

static void tell_link(struct world *w, struct client *c, int node)
{
	struct wire *wire = &c->wire[node];
	struct reply reply = reply_absent(wire->broken ? REASON_CLOSED : REASON_CONNECT, NULL);
	struct event ev = {.kind = EV_LINK_DOWN, .node = node, .reply = &reply};

	if (wire->link == LINK_OPENING && wire->accepted && !wire->shakes && chance(w, 20)) {
		reply = reply_absent(REASON_TLS_TIMEOUT, NULL);
		ev.kind = EV_LINK_SHAKES;
		wire->shakes = true;
		wire->done_at += one_way(w, &w->server[node]);
	} else if (wire->link == LINK_OPENING && wire->accepted) {
		ev = (struct event){.kind = EV_LINK_UP, .node = node};
		wire->link = LINK_UP;
	} else {
		wire->link = LINK_DOWN;
		wire->queued = 0;
	}
	step(w, c, &ev);
}

static void tell_reply(struct world *w, struct client *c, int node)
{
	struct wire *wire = &c->wire[node];
	struct message m = wire->queue[0];
	struct event ev = {
		.kind = EV_REPLY, .node = node, .op = m.op, .round = m.round, .reply = &m.reply};

	wire->queue[0] = wire->queue[1];
	wire->queued--;
	if ((m.op == OP_ACQUIRE || m.op == OP_EXTEND) && m.round == c->round &&
		m.reply.vote == VOTE_YES)
		c->voters |= 1U << node;
	step(w, c, &ev);
}

/* A message to the waiter, right or wrong. */
static void tell_message(struct world *w, struct client *c, int node)
{
	struct reply reply = {.vote = VOTE_YES};
	enum wake wake = (enum wake)(draw(w) % 3);

	c->wire[node].wakes_at = chance(w, 50) ? w->now + up_to(w, w->policy.ttl) : NEVER;
	if (wake == WAKE_RESERVED) {
		memset(reply.text, 'e', TOKEN_ID_LEN);
		reply.text_len = TOKEN_ID_LEN;
	}
	tally.woken++;
	step(w, c,
		&(struct event){.kind = EV_WAKE,
			.node = node,
			.wake = wake,
			.reply = wake == WAKE_RESERVED ? &reply : NULL});
}

enum happening { NOTHING, CHAOS, SERVE, LINK, REPLY, MESSAGE, TIME, EXTEND, LET_GO, START };

struct next {
	usec at;
	enum happening what;
	struct client *client;
	int node;
	struct message *message;
};

static void consider(struct world *w, struct next *next, struct next it)
{
	if (it.at < next->at || (it.at == next->at && it.at != NEVER && chance(w, 50)))
		*next = it;
}

static void consider_wire(struct world *w, struct next *next, struct client *c, int node)
{
	struct wire *wire = &c->wire[node];
	struct message *first = &wire->queue[0];

	for (int n = 0; n < wire->queued; n++)
		if (!wire->queue[n].served) {
			consider(w, next,
				(struct next){
					wire->queue[n].serve_at, SERVE, c, node, &wire->queue[n]});
			break;
		}
	if (lock_state(&c->lock) == LOCK_OVER)
		return;
	if (wire->link == LINK_OPENING)
		consider(w, next,
			(struct next){
				usec_max(wire->done_at, c->asleep_until), LINK, c, node, NULL});
	else if (wire->link == LINK_UP && wire->broken)
		consider(w, next,
			(struct next){
				usec_max(wire->broken_at, c->asleep_until), LINK, c, node, NULL});
	else if (wire->queued > 0 && first->served)
		consider(w, next,
			(struct next){
				usec_max(first->back_at, c->asleep_until), REPLY, c, node, NULL});
	if (wire->link == LINK_UP && !wire->broken && wire->subscribed)
		consider(w, next,
			(struct next){
				usec_max(wire->wakes_at, c->asleep_until), MESSAGE, c, node, NULL});
}

static struct next find_next(struct world *w)
{
	struct next next = {.at = NEVER};

	if (!w->calm)
		consider(w, &next, (struct next){.at = w->chaos_at, .what = CHAOS});
	for (int i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (!c->started) {
			consider(w, &next, (struct next){c->start_at, START, c, 0, NULL});
			continue;
		}
		for (int n = 0; n < w->nodes; n++)
			consider_wire(w, &next, c, n);
		if (lock_state(&c->lock) == LOCK_OVER)
			continue;
		consider(w, &next,
			(struct next){usec_max(c->up.wake_at, c->asleep_until), TIME, c, 0, NULL});
		consider(w, &next,
			(struct next){usec_max(c->extend_at, c->asleep_until), EXTEND, c, 0, NULL});
		consider(w, &next,
			(struct next){usec_max(c->let_go_at, c->asleep_until), LET_GO, c, 0, NULL});
	}
	return next;
}

static void happen(struct world *w, const struct next *next)
{
	struct client *c = next->client;

	w->now = usec_max(w->now, next->at);
	switch (next->what) {
	case NOTHING:
		break;
	case CHAOS:
		chaos(w);
		break;
	case SERVE:
		if (is_about_queue(next->message->op))
			serve_queue(w, c, next->node, next->message);
		else
			serve(w, next->node, next->message);
		trace(w, "node %d serves client %d, op %d: vote %d", next->node, c->id,
			(int)next->message->op, (int)next->message->reply.vote);
		break;
	case LINK:
		tell_link(w, c, next->node);
		break;
	case REPLY:
		tell_reply(w, c, next->node);
		break;
	case MESSAGE:
		tell_message(w, c, next->node);
		break;
	case TIME:
		step(w, c, &(struct event){.kind = EV_TIME});
		break;
	case EXTEND:
		c->extend_at = w->now + 1 + up_to(w, w->policy.ttl);
		step(w, c, &(struct event){.kind = EV_EXTEND});
		break;
	case LET_GO:
		c->let_go_at = NEVER;
		/* The lock was held if it still is: it may have expired before this event. */
		c->leaves = c->leave_for > 0 && lock_state(&c->lock) == LOCK_HELD &&
			    !c->lock.tenure.denied &&
			    w->now < c->lock.tenure.valid_until - w->policy.safety_margin;
		step(w, c, &(struct event){.kind = EV_RELEASE, .leave_for = c->leave_for});
		break;
	case START:
		c->started = true;
		step(w, c, &(struct event){.kind = EV_START});
		break;
	}
}

static void make_policy(struct world *w)
{
	usec ttl = 500 * MS + up_to(w, 1500 * MS);
	usec timeout = ttl / 40 + up_to(w, ttl / 6);

	w->policy = (struct policy){
		.nodes = w->nodes,
		.keys = 1,
		.ttl = ttl,
		.drift = policy_drift(ttl, 100),
		.node_timeout = timeout,
		.wait = chance(w, 30)   ? 0
			: chance(w, 50) ? up_to(w, ttl)
					: NEVER,
		.node_wait = w->seed % 4 == 0 ? (usec)(w->seed / 4 % 8) * ttl / 4 : NEVER,
		.safety_margin = up_to(w, ttl / 5),
		.by_digest = chance(w, 80),
		.is_fair = chance(w, 20),
	};
	for (int i = 0; i < w->nodes; i++)
		w->policy.order[0][i] = (i + (int)(w->seed % 7)) % w->nodes;
}

static void make_client(struct world *w, int id)
{
	struct client *c = &w->client[id];

	c->id = id;
	lock_init(&c->lock, &w->policy);
	c->start_at = w->now + (id ? up_to(w, w->policy.ttl / 4) : 0);
	c->let_go_at = c->start_at + up_to(w, 2 * w->policy.ttl);
	c->extend_at = chance(w, 50) ? c->start_at + up_to(w, w->policy.ttl) : NEVER;
	c->leave_for = chance(w, 50) ? 1 + up_to(w, 2 * w->policy.ttl) : 0;
	c->asleep_until = 0;
}

static void make(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = w->random = seed;
	w->now = 1000 * MS;
	w->nodes = 1 + (int)(draw(w) % SERVERS);
	w->clients = chance(w, 70) ? 1 : 2;
	w->calm = chance(w, 10);
	w->loses_keys = chance(w, 50);
	make_policy(w);
	for (int i = 0; i < w->nodes; i++) {
		w->server[i].rate = 920 + up_to(w, 160);
		w->server[i].rtt = up_to(w, w->policy.node_timeout / 3);
	}
	for (int i = 0; i < w->clients; i++)
		make_client(w, i);
	w->chaos_at = w->now + up_to(w, w->policy.ttl / 4);
}

static void walk(uint64_t seed, bool shown)
{
	static struct world w;
	bool running = true;

	make(&w, seed);
	w.trace = shown;
	trace(&w, "%d nodes, ttl %.3f, time-out %.3f, guard %.3f", w.nodes,
		(double)w.policy.ttl / 1000, (double)w.policy.node_timeout / 1000,
		(double)w.policy.safety_margin / 1000);
	while (running && !w.over) {
		struct next next = find_next(&w);

		happen(&w, &next);
		running = false;
		for (int i = 0; i < w.clients; i++)
			running |= lock_state(&w.client[i].lock) != LOCK_OVER;
	}
	tally.honest_pairs += w.clients == 2 && !w.loses_keys;
}

static void walk_all(void)
{
	static bool walked;
	const char *one = getenv("WALK_SEED"), *many = getenv("WALK_SEEDS");
	uint64_t seeds = many ? strtoull(many, NULL, 10) : SEEDS;

	if (walked)
		return;
	walked = true;
	if (one)
		walk(strtoull(one, NULL, 10), true);
	for (uint64_t seed = 1; !one && seed <= seeds; seed++)
		walk(seed, false);
}

static void check_rule(enum rule rule, int line)
{
	walk_all();
	unit_check(tally.breaches[rule] == 0, __FILE__, line,
		"%d breaches, first WALK_SEED=%llu: %s", tally.breaches[rule],
		(unsigned long long)tally.first_seed[rule], tally.words[rule]);
}

#define RULE(name, rule) \
	TEST(name) \
	{ \
		check_rule(rule, __LINE__); \
	}

RULE(walk_links_are_used_as_they_are, RULE_WIRE)
RULE(walk_once_for_each_node_in_a_step, RULE_ONCE)
RULE(walk_a_request_and_a_release_in_flight_at_most, RULE_FLIGHT)
RULE(walk_held_by_a_majority_of_one_round, RULE_PROOF)
RULE(walk_repaired_after_confirmation_only, RULE_REPAIR)
RULE(walk_asked_for_the_current_token, RULE_ASK)
RULE(walk_one_token_on_a_node, RULE_EARLIER)
RULE(walk_not_held_beyond_the_end, RULE_END)
RULE(walk_wakes_up_in_time, RULE_WAKE)
RULE(walk_makes_progress, RULE_BUSY_LOOP)
RULE(walk_releases_in_bounded_time, RULE_RELEASE_TIME)
RULE(walk_every_token_is_known_as_a_pending_release, RULE_PENDING)
RULE(walk_nothing_is_left_within_reach, RULE_LEFT)
RULE(walk_only_held_keys_are_let_expire, RULE_LEAVE)
RULE(walk_extends_when_asked_to, RULE_EXTEND)
RULE(walk_held_is_true_on_the_nodes, RULE_TRUTH)
RULE(walk_one_holder_at_a_time, RULE_MUTEX)
RULE(walk_not_denied_unless_a_key_was_lost, RULE_DENIED)

/* The walks test the rules only if they reach every state. */
TEST(walk_reaches_every_state)
{
	walk_all();
	printf("# %ld steps: held %ld, extended %ld, repaired %ld, busy %ld, no quorum %ld, slow "
	       "%ld, "
	       "expired %ld, denied %ld, over %ld, honest pairs %ld, nudged %ld, left %ld, "
	       "woken %ld\n",
		tally.steps, tally.held, tally.extended, tally.repaired, tally.busy,
		tally.no_quorum, tally.slow, tally.expired, tally.denied, tally.over,
		tally.honest_pairs, tally.nudged, tally.left, tally.woken);
	if (getenv("WALK_SEED") || getenv("WALK_SEEDS"))
		return;
	CHECK(tally.held > 1000);
	CHECK(tally.extended > 1000);
	CHECK(tally.repaired > 100);
	CHECK(tally.busy > 100);
	CHECK(tally.no_quorum > 100);
	CHECK(tally.expired > 100);
	CHECK(tally.denied > 100);
	CHECK(tally.over > SEEDS);
	CHECK(tally.honest_pairs > 1000);
	CHECK(tally.nudged > 1000);
	CHECK(tally.left > 1000);
	CHECK(tally.woken > 1000);
}
