/*
 * sim: redlock's own session (io/session, io/pool, core) in a world that is made up from one seed:
 * nodes, network, clocks, crashes. Nothing here waits: time jumps from event to event.
 *
 * What is real: everything in src/lock and src/proto, io/session.c, io/pool.c, base. What is made
 * up here: the kernel's clock, sleep and randomness (net.c), the connections (net.c), the servers
 * (node.c), and what a command and its supervisor do (client.c, with the real lock/deadline).
 *
 * Nothing arrives twice: TCP sees to it, and redlock sends no request again. What comes near to
 * that is here: a request of a connection that was given up arrives late, behind a later one.
 *
 * Times are microseconds of true time unless a name says whose clock they are by.
 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include "io/session.h"
#include "lock/deadline.h"

#include <stdarg.h>
#include <ucontext.h>

#define SIM_NODES 7
#define SIM_CLIENTS 8
#define SIM_LOCKS 3 /* of a semaphore */
#define SIM_SLOTS (SIM_NODES + 1) /* connections of a client: one for each node, and the seat */
#define SIM_READERS 96 /* of one key, with those that were left behind */
#define SIM_SLEEPERS 64
#define SIM_WIRE_QUEUE 6

/* ---- what a seed draws from ---- */

struct profile {
	const char *name;
	const char *words;
	bool at_extremes; /* every clock runs as fast or as slow as the drift allows */
	bool cuts_holders; /* who has just got the lock loses its connections */
	bool forgets; /* a node may come back empty at once: exclusion is not promised, */
	bool guards; /* unless everybody is on guard; then clocks are stepped meanwhile, too */
	bool are_rivals; /* all come at once, once, with one attempt, and a minority may be down */
	bool interferes; /* an administrator deletes keys, clocks jump forward: nor is it then */
	int faults_max;
	uint64_t check_seeds; /* how many are lived in `make check` */
};

/* ---- a server (node.c) ---- */

/* Beside the key, for those who wait. */
struct sim_mark {
	char value[TOKEN_ID_LEN + 8]; /* "": not there */
	int64_t ends;
};

/* A connection that is blocked until it is woken. */
struct sim_sleeper {
	int client, slot;
	uint32_t wire;
	usec noticed_at; /* the client closed its connection; until then a wake-up is lost on it.
			    NEVER */
	bool leads; /* it waits at the door as well */
	int behind; /* the message that stands behind its pop; -1: none */
};

/* One of those who have a key together. */
struct sim_reader {
	char token[TOKEN_MAX];
	int64_t ends, kept; /* kept: counts what the node was asked to keep */
	usec left_at, late_by; /* as of a lock */
};

struct sim_lock {
	char value[TOKEN_MAX]; /* "": no key */
	int64_t ends; /* the key, by the node's clock; milliseconds */
	struct sim_mark turn; /* as in proto/request.c */
	int64_t fence; /* the last fencing number; 0: none */
	usec left_at; /* who set the key had given the request up at this time, 0: had not, */
	usec late_by; /* and it came so much later */
};

struct sim_node {
	struct sim_lock lock[SIM_LOCKS]; /* the slots; of what is no semaphore, the first */
	int readers; /* of the first lock, whose value then names them; in order of the tokens */
	struct sim_reader reader[SIM_READERS];
	struct sim_mark line, head;
	struct sim_mark door; /* an element that nobody has taken yet */
	int wakes; /* elements that nobody has taken yet, in order, */
	struct sim_mark wake[SIM_LOCKS]; /* with the same end */
	char mark[RUN_ID_MAX]; /* of the restart guard: the life that it is about, */
	int64_t mark_over, mark_given, mark_wall; /* its quarantine; milliseconds. given: 0: none */
	int sleepers; /* in order of arrival */
	struct sim_sleeper sleeper[SIM_SLEEPERS];
	int life; /* counts restarts */
	char run_id[RUN_ID_MAX];
	bool down;
	bool keeps; /* its data, through the crash that it is in, */
	usec keeps_until; /* or if it is back before then */
	usec paused_until;
	usec refuses_until; /* it answers with an error, and does nothing */
	int64_t ppm, offset; /* of its clock, */
	int64_t stepped; /* and so much more, for a while */
	bool jumped; /* its clock did: its keys may live longer than anybody can know */
};

/* It starts, or starts anew. */
void node_begin_life(struct sim_node *n, int life);

int64_t node_clock(const struct sim_node *n);

/* Does it hold a key that has not ended? Of slot i, from 0 on. */
bool node_has_key(const struct sim_node *n, int i);

/* Is its key that of this session, and not just left to end by itself? */
bool node_has_key_of(struct sim_node *n, int i, const struct session *s);

/* Is it this very token's, or one reader's among others? */
bool node_has_token(const struct sim_node *n, int i, const char *token);

/* True time at which the token's key, or its part of the readers' key, expires; 0: not there. */
usec node_token_ends(const struct sim_node *n, int i, const char *token);

/* The entry of this token among readers; NULL: none. */
struct sim_reader *node_reader(struct sim_node *n, const char *token);

/* What it has of this session among readers: the last that it was asked to keep. NULL: nothing. */
struct sim_reader *node_reader_of(struct sim_node *n, const struct session *s);

/* True time at which that session's key, or what it has of one, is surely still there, if nobody
 * touches it. */
usec node_key_ends(struct sim_node *n, int i, const struct session *s);

/* Which slot a request is about. */
int node_slot_of(const struct request *r);

/* Without its data; without what is kept for those who wait. */
void node_forget(struct sim_node *n);
void node_forget_marks(struct sim_node *n);

/* What one of our scripts does there, and answers. OP_WAIT: false if it is not answered yet. */
bool node_serve(struct sim_node *n, const struct request *r, struct resp *resp);

/* ---- the network (net.c) ---- */

struct message {
	struct request request;
	const char *script; /* of the request, which points into here */
	char token[TOKEN_MAX], turn[TOKEN_ID_LEN + 1];
	int client, slot, next_free;
	uint32_t place; /* among all that was sent on its connection */
	uint32_t sent_on; /* the connection: see struct wire */
	uint32_t wire; /* the same while that stands; 0: late, UINT32_MAX: lost */
	enum op op;
	uint32_t round, session; /* that it belongs to */
	usec left_at; /* the client gave up its connection; 0: not yet */
	bool stood; /* behind a pop that was blocked, until now */
	bool is_end; /* the release of a lock that was held to the end */
};

/* From one client to one node. `id` counts connections: what belongs to an older one is late. */
struct wire {
	int node;
	uint32_t id;
	usec rtt;
	usec cut_until; /* nothing gets through */
	usec held_until; /* what was sent waits in the socket of a stopped server; nothing overtakes
			    it */
	uint32_t queued, served; /* messages */
	usec serve_at, back_at; /* of the last message: what comes later keeps its place */
	int replies; /* arrived, not taken yet; */
	int heard; /* so many of them the client has read from its socket */
	struct resp *resp[SIM_WIRE_QUEUE];
	bool is_up, is_broken; /* as the client would find out */
	bool is_deaf; /* whatever lies between forgot the connection: all is lost, nobody is told */
	usec settled_at; /* the client read an answer that says: nothing of ours is there */

	/* Of the release of a held lock: how often the node was connected to and told; was the key
	 * there at the first time, and has the client read an answer? */
	int end_opened, end_sent;
	bool end_missed, end_told;

	/* In this round of the session: connections opened to each node (only the seat's wire leads
	 * to more than one), requests sent on the last one. */
	uint32_t round;
	int opened[SIM_NODES], sent;

	/* The last YES that the node gave in this session, whether it arrived or not. */
	uint32_t yes_round;
	usec yes_until; /* true time at which the key ends there by itself */
	int yes_life; /* of the server that confirmed */
};

/* ---- a client (client.c) ---- */

struct client {
	int id;
	struct session session;
	struct policy policy;
	struct deadline_policy deadline_policy;
	int64_t ppm, offset; /* of its clock, */
	int64_t wall_offset; /* and of its time of day */

	ucontext_t context;
	char *stack;
	bool done, crashed, waiting;
	uint32_t sessions; /* how many it has had */
	usec wake_at; /* waiting: at the latest */
	uint32_t wake_id;
	usec paused_until;

	/* The command and its supervisor, who goes on when redlock is paused or dead. */
	struct deadline deadline;
	bool in_section, told_over;
	usec section_began, obeys_after, dies_after;
	uint32_t leash_id;

	int64_t fence, fence_floor[SIM_LOCKS]; /* its last number, and the largest that was given
						  before it tried */
	bool fence_is_shared;
	usec window_until; /* true time: others keep out until then; 0: it let go */
	int window_slot; /* of that slot, from 0 on */
	bool window_is_shared;
	usec trying_since; /* NEVER: not trying */
	usec wants_since; /* the same, but a refusal is no end of it */
	usec leave_for; /* what it said when it let go */
	bool asked_all; /* its attempt reached every node that is up */
	bool is_ending; /* it releases a lock that it held to the end, as far as it knows */
	bool had_trouble; /* a fault fell into this session: the release may leave something */
};

/* ---- the world (world.c) ---- */

enum sim_event_kind {
	SIM_WAKE, /* a: client, id: its wake_id */
	SIM_CONNECTED, /* a: client, b: slot, id: wire */
	SIM_SERVE, /* a: message */
	SIM_ANSWER, /* a: client, b: slot, id: wire; reply */
	SIM_BROKEN, /* a: client, b: slot, id: wire */
	SIM_LEASH, /* a: client, id: leash_id */
	SIM_GONE, /* a: client, id: leash_id: the command is dead */
	SIM_FAULT,
	SIM_CUT_OFF, /* a: client: it loses every node, a moment before it would need them */
	SIM_REVIVE, /* a: node, id: its life */
	SIM_STEP, /* a: node, id: so many seconds */
	SIM_CALM,
};

struct sim_event {
	usec at;
	uint32_t order;
	enum sim_event_kind kind;
	int a, b;
	uint32_t id;
	struct resp *resp;
};

struct world {
	const struct profile *profile;
	uint64_t seed, random;
	bool traces, is_calm;
	bool was_wanted; /* when calm began, somebody was trying */
	usec now, last_held, ends_at;
	usec faults_end; /* no fault strikes later */
	int nodes, clients;
	int slots; /* what is locked is a semaphore of so many; 1: it is none */
	bool exclusion_is_promised, is_fair, wants_fence;
	bool restores; /* nodes that forget come back with older data */
	int readers_percent; /* so many of those who ask would share */
	usec clients_apart; /* how much their times of day may differ */
	int64_t newest_fence[SIM_LOCKS]; /* of all that were given */
	bool is_healthy; /* no fault so far, or none any more */
	struct sim_node node[SIM_NODES];
	struct client *client[SIM_CLIENTS];
	int alias; /* this node is another name of node 0; 0: every node is a server of its own */
	usec spike_max;
	int spike_percent, trap_percent, leave_percent;
	usec free_since, calm_since, node_timeout_max;
	usec ttl_max, patience;
	usec start_spread; /* rivals start within so much */
	int nodes_run; /* at extremes: 1 fast and clients slow, -1 slow and clients fast, 0 as they
			  like */

	/* what happened */
	const char *broken; /* the first rule that was broken; NULL: none */
	char broken_words[200];
	uint64_t hash; /* of the whole trace */
	long events, sections, faults, losses, refusals, overlaps, denials;

	/* large: made anew by whoever uses them */
	struct node_list list;
	struct wire wire[SIM_CLIENTS][SIM_SLOTS];
};

extern struct world world;
extern struct client *running; /* whose code runs now; NULL: the world's */

/* Lives one world to its end. */
void world_run(const struct profile *profile, uint64_t seed, bool traces);

/* What tells two histories apart. */
void hash_in(uint64_t what);

uint64_t draw(void);
int64_t draw_between(int64_t low, int64_t high);
bool draw_percent(int percent);

void schedule(usec at, enum sim_event_kind kind, int a, int b, uint32_t id, struct resp *resp);

/* One line of the trace; that it was written goes into the hash in any case, its numbers do not. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes that a rule is broken. */
void breach(const char *rule, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Faults that chance would not put there: now that this majority is complete. */
void world_trap(struct client *c, int node);

/* Is it stopped now, in the midst of its work, and until when in its paused_until? */
bool world_stops(struct client *c);

/* From a client's clock to true time (the first instant at which the clock shows it), and back. */
usec client_clock(const struct client *c);
usec client_wall(const struct client *c);
usec true_time(const struct client *c, usec at);

/* net.c */
void net_reset(void);
void net_connected(int client, int slot, uint32_t id);
void net_serve(int message);
void net_answer(int client, int slot, uint32_t id, struct resp *resp);
void net_broken(int client, int slot, uint32_t id);
void net_begin_session(int client);
void net_begin_release(int client);
void net_cut(int client, int node, usec until);
void net_deafen(int client, int node);
void net_crash_node(int node);
void net_crash_client(int client);

/* client.c */
void client_begin(struct client *c, int id);
void client_go_on(struct client *c); /* runs it until it waits again */
void client_wait(usec until); /* called by its code: true time at the latest, NEVER */
void client_leash(struct client *c, uint32_t id);
void client_gone(struct client *c, uint32_t id);
void client_crash(struct client *c);

#endif
