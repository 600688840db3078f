/*
 * sim: redlock's own session (net/session, net/pool, lock, proto) in a world that is made up from
 * one seed: nodes, network, clocks, crashes. Nothing here waits: time jumps from event to event.
 *
 * Real: everything in src/lock and src/proto, with the scripts of the nodes; net/session.c,
 * net/pool.c and net/conn.c with hiredis, base but for base/alarm. Simulated: the kernel's sockets,
 * clock, sleep and randomness (kernel.c), the network (net.c), the servers below the scripts
 * (server.c), the command and its supervisor (client.c, with the real lock/deadline).
 *
 * No bytes arrive twice: TCP prevents it, and redlock sends no request again. The simulator has the
 * nearest case: a request on a connection that the client gave up arrives late, after a newer one.
 *
 * Times are microseconds of true time unless a name says which clock they are by.
 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include "lock/deadline.h"
#include "net/session.h"
#include "sim/coroutine.h"
#include "sim/server.h"

#include <stdarg.h>

#define SIM_NODES 7
#define SIM_CLIENTS 8
#define SIM_LOCKS 3 /* slots of a semaphore, or keys */
#define SIM_KEYS 2 /* of locks with several keys */
#define SIM_QUEUES \
	(SIM_LOCKS + SIM_KEYS) /* of a node: of the first key, by limits; of other keys */
#define SIM_NOTES 512 /* tokens on a node of which the checker knows something */
#define SIM_SUBSCRIBERS 128 /* of one node, with dead ones */
#define SIM_WATCHES 64 /* on one node, with dead ones */
#define SIM_PUBLISHED 160 /* by one script */
#define SIM_RUNS 4096 /* of a job, whose number is counted from 0 again after that */
#define SIM_AWAITED 16 /* requests of one connection that are not sent yet */
#define SIM_FOREVER (NEVER / 2) /* later than the end of every world */

/* ---- the profile of a seed ---- */

struct profile {
	const char *name;
	const char *words;
	bool at_extremes; /* every clock runs as fast or as slow as the drift allows */
	bool cuts_holders; /* a client that has just got the lock loses its connections */
	bool forgets; /* a node may come back empty at once: exclusion is not promised, */
	bool guards; /* except with the restart guard; then clocks are stepped, too */
	bool are_rivals; /* all start together, with one attempt each; a minority may be down */
	int step; /* the lists of nodes of two clients differ by so many nodes; 0: all name all */
	bool interferes; /* an administrator deletes keys, clocks jump: no exclusion either */
	int faults_max;
	uint64_t check_seeds; /* seeds that `make check` runs */
};

/* ---- a node (node.c) ---- */

/* A connection that has subscribed to the channels of a waiter. */
struct sim_subscriber {
	char waiter[WAITER_ID_LEN + 1];
	int queue;
	int client, node;
	uint32_t wire;
	usec noticed_at; /* the server notices then that the connection is closed */
};

/* A message that a script has published. */
struct sim_message {
	int queue; /* the limit, or 0; of another key: SIM_LOCKS and its number */
	char waiter[WAITER_ID_LEN + 1]; /* "": on the channel of all waiters */
	char text[TOKEN_ID_LEN + 8];
};

/* A connection that watches a key (CLIENT TRACKING). */
struct sim_watch {
	int client, node;
	uint32_t wire;
	const char *name;
	int key; /* its number at the server */
	uint32_t version; /* that the connection has seen */
};

/* The checker knows this about a token on a node; the node does not. */
struct sim_note {
	char id[TOKEN_ID_LEN + 1];
	usec left_at; /* the client had given up the request that set the key then; 0: no */
	usec late_by; /* and the request arrived this much later */
	int64_t kept; /* the order in which the node had to keep tokens */
};

struct sim_node {
	struct server *server;
	int subscribers;
	struct sim_subscriber subscriber[SIM_SUBSCRIBERS];
	int watches;
	struct sim_watch watch[SIM_WATCHES];
	int published; /* by the last script */
	struct sim_message message[SIM_PUBLISHED];
	int notes;
	struct sim_note note[SIM_NOTES];
	bool ended_revoked; /* the last script found its client's key revoked, and deleted it */
	int life; /* counts restarts */
	bool down;
	bool keeps; /* its data, through the current crash, */
	usec keeps_until; /* or if it is back before then */
	usec paused_until;
	usec refuses_until; /* it answers with an error, and does nothing */
	usec denies_until; /* redlock's user lacks the right to these commands: */
	uint64_t denied; /* 1 << server_command_number() */
	usec refuses_login_until; /* redlock has a password that is no more; */
	bool is_open; /* but the default user needs none, and may do all */
	int room; /* it takes so many connections; 0: any number */
	int64_t ppm, offset; /* of its clock, */
	int64_t stepped; /* and this much more, for a while */
	bool jumped; /* its clock did: clients cannot know how long its keys live */
};

/* A new server, without data. */
void node_init(struct sim_node *n, enum server_kind kind);

/* Start the server, or start it anew. */
void node_begin_life(struct sim_node *n, int life);

int64_t node_clock(const struct sim_node *n);

/* The value of the key in place i, which is a slot or one of several keys, from 0 on; "": the node
 * has no such key, or it has expired. */
const char *node_value(const struct sim_node *n, int i);
bool node_has_key(const struct sim_node *n, int i);

/* True if the key is this session's, and its holder did not let it expire. */
bool node_has_key_of(const struct sim_node *n, int i, const struct session *s);

/* Is the value this token, or its revoked form? */
bool node_is_token(const char *value, const char *token);

/* True if the key, or a reader's entry, has this very token, revoked or not. */
bool node_has_token(const struct sim_node *n, int i, const char *token);

/* True time at which the token's key, or its reader entry, expires; 0: no such key. */
usec node_token_ends(const struct sim_node *n, int i, const char *token);

/* True time at which a reservation of slot i ends. */
usec node_reserved_until(const struct sim_node *n, int i);

/* The key's value, as this session sees it: the token of its last entry that the node had to keep
 * among readers, if it has one. */
const char *node_value_of(const struct sim_node *n, int i, const struct session *s);

/* The token on the node for which the request asks: of a reader, or else the key's. */
const char *node_token_of(const struct sim_node *n, const struct request *r);

/* The checker's note about a token there; all zero if it knows nothing. */
struct sim_note node_note(const struct sim_node *n, const char *token);

/* A request for the token arrived, which the client had given up at left_at, if it is not 0. */
void node_note_lateness(struct sim_node *n, const char *token, usec left_at);

/* True time until which this session's key, or its reader entry, certainly exists, if no other
 * client touches it. */
usec node_key_ends(const struct sim_node *n, int i, const struct session *s);

/* Are slots held with another limit? */
bool node_has_other_limit(const struct sim_node *n, int limit);

/* The place that a request names first; has the node its token in all places that it names? */
int node_place_of(const struct request *r);
bool node_has_all(const struct sim_node *n, const struct request *r);

/* The same as node_key_ends(), for the first of the keys that a request names. */
usec node_keys_end(const struct sim_node *n, const struct request *r, const struct session *s);

/* The queue and the waiter of a channel; the waiter is "" in that of all waiters. */
struct sim_message node_read_channel(const char *channel);

/* The waiters in a queue; the name of waiter j; is it in a queue of the key that a request names
 * first? */
int node_waiters(const struct sim_node *n, int queue);
const char *node_waiter(const struct sim_node *n, int queue, int j);
bool node_has_waiter(const struct sim_node *n, const struct request *r, const char *name);

/* Is the waiter in any queue of the node? */
bool node_queues(const struct sim_node *n, const char *name);

/* The text of the record of --once-per; "": no record. */
const char *node_record(const struct sim_node *n);

/* Has the node no vote for a client with this time of day, because it may have forgotten keys? */
bool node_is_in_quarantine(const struct sim_node *n, usec wall);

/* The argument with that name, as in lock/operations.def; "": the script has none. */
const char *node_arg(const struct request *r, const char *name);

/* `redlock break` there: the holders of slot i are to end. */
void node_revoke(struct sim_node *n, int i);

/* A person deletes the key in slot i, or sets it. */
void node_delete(struct sim_node *n, int i);
void node_set(struct sim_node *n, int i, const char *value, usec ttl);

/* A connection, which `by` names, watches the keys that its request names, since before the
 * request: the script reads them first, and what it writes then is a change. */
void node_watch(struct sim_node *n, struct sim_watch by, const struct request *r);

/* The server deletes the keys of locks that have expired. */
void node_expire(struct sim_node *n);

/* The connection's own changes: the node does not tell it (NOLOOP), and it watches those keys no
 * more. */
void node_ignore_changes(struct sim_node *n, int client, uint32_t wire);

/* Takes out a watch if its key has changed since. Returns false if there is none. */
bool node_next_change(struct sim_node *n, struct sim_watch *watch);

/* Until then, redlock's user has no right to some commands. */
void node_deny(struct sim_node *n, usec until);

/* FLUSHALL; delete only the queues and the reservations. */
void node_forget(struct sim_node *n);
void node_forget_waiters(struct sim_node *n);

/* The name of the node leads to another server from now on: a replica that was promoted, with the
 * data that it had, or an empty one. The server before lives on; node_serve_left() runs a script
 * there. */
void node_move(struct sim_node *n, bool is_empty);
void node_serve_left(struct sim_node *n, const struct request *r, struct resp *resp);

/* Back up the node's data; give it the data of its last backup, if it has one: it restarted, or it
 * was a replica and is a master again. */
void node_save(const struct sim_node *n);
bool node_restore(struct sim_node *n);

/* Run one of redlock's scripts there, and set the reply and the messages. */
void node_serve(struct sim_node *n, const struct request *r, struct resp *resp);

/* The same, on a copy of the data. */
void node_serve_copy(const struct sim_node *n, const struct request *r, struct resp *resp);

/* ---- the network (net.c) ---- */

/* A command asks for one of these. */
enum asked {
	ASKED_SCRIPT,
	ASKED_SUBSCRIBE,
	ASKED_AUTH,
	ASKED_HELLO,
	ASKED_TRACKING, /* CLIENT TRACKING: what the connection reads is watched, */
	ASKED_CACHING, /* CLIENT CACHING: if the next command reads it */
};

/* A command on its way to a node. */
struct message {
	bool is_used;
	enum asked asked;
	struct request request; /* of a script: its arguments; the words before them are NULL */
	int client, node, next_free;
	uint32_t place; /* among all messages on its connection */
	uint32_t wire; /* the connection: see struct wire; 0: late, UINT32_MAX: lost */
	size_t len; /* bytes */
	usec arrives_at;
	bool is_read; /* the server has it, and may still have to carry it out */
	enum op op; /* of a script, or OP_SUBSCRIBE */
	uint32_t round, session; /* that it belongs to */
	usec left_at; /* the client gave up its connection then; 0: not yet */
	bool is_end; /* the release of a lock that was held to the end */
	bool is_to_left; /* it goes to the server that the node's name has left, */
	bool was_in_time; /* but the last lookup was before that: its vote counts */
};

/* A reply to a client, or a message. */
struct incoming {
	bool is_push;
	size_t len;
	char bytes[];
};

/* A request of the lock, whose command is still to come. */
struct sent {
	enum op op;
	uint32_t round;
	bool is_end;
};

/* From one client to one node. `id` counts connections: bytes of an older one are late. */
struct wire {
	uint32_t id;
	usec rtt;
	usec cut_until; /* nothing gets through */
	usec held_until; /* a stopped server reads nothing until then; bytes keep their order */
	uint32_t queued, served; /* messages */
	usec serve_at, back_at; /* of the last message: later ones do not overtake it */
	char *inbox, *outbox; /* bytes for the client to read; the beginning of a command */
	size_t inbox_len, inbox_read, inbox_room, outbox_len, outbox_room;
	int sent_count;
	struct sent awaited[SIM_AWAITED];
	bool has_resp3; /* HELLO */
	bool caches; /* the next script is watched */
	bool is_default; /* AUTH failed: commands run as the default user */
	bool is_up, is_broken; /* as the client would find out */
	bool is_refused; /* broken, because the server takes no more connections */
	bool is_to_left; /* it leads to the server that the node's name has left */
	bool is_deaf; /* the path forgot the connection: all is lost, neither side is told */
	usec floods_until; /* broken, but until then the client reads bytes without end */
	bool has_flooded; /* the client has read the first of them */
	int untold; /* looks at a flood since the time `untold_at` came, which the client is to be
		       told */
	usec untold_at;
	usec settled_at; /* the client read a reply that says: no key of ours is there */

	/* Of the release of a held lock: connections and requests to the node; was the key there at
	 * the first one, and has the client read a reply? */
	int end_opened, end_sent;
	bool end_missed, end_told;

	/* In this round of the session: connections opened, requests sent on the last one. */
	uint32_t round;
	usec round_began;
	int opened, sent;

	/* The last attempt that asked the node in this session, and the connection. */
	uint32_t asked_round, asked_on;

	/* The last YES that the node gave in this session, whether it arrived or not. */
	uint32_t yes_round;
	usec yes_until; /* true time at which the key expires there */
	int yes_life; /* of the server that confirmed */
};

/* ---- another program (foreign.c) ---- */

void foreign_begin(void);
void foreign_step(void);
void foreign_check(uint32_t count); /* the clients that watched the key have asked for it */
bool foreign_holds(void);

/* ---- a client (client.c) ---- */

struct client {
	int id;
	struct session session;
	struct policy policy;
	struct deadline_policy deadline_policy;
	int64_t ppm, offset; /* of its clock, */
	int64_t wall_offset; /* and of its time of day */

	struct coroutine coroutine;
	char *stack;
	bool done, crashed, waiting;
	uint32_t sessions; /* how many it has had */
	/* Its keys may be on the nodes of its list, and of no other one, until then. */
	usec at_work_until;
	int first_node; /* in its order */
	struct key_list list; /* its keys, */
	unsigned keys; /* 1 << place */
	usec wake_at; /* waiting: at the latest */
	uint32_t wake_id;
	usec paused_until;

	/* The command and its supervisor, which continues while redlock is paused or dead. */
	struct deadline deadline;
	bool in_section, told_over;
	usec section_began, obeys_after, dies_after;
	uint32_t section_id;

	int64_t fence, fence_floor[SIM_LOCKS]; /* its last number; the last of each place before it
						  tried */
	bool fence_is_shared;
	usec window_until; /* true time: other clients are excluded until then; 0: released */
	unsigned window_places; /* the window's: 1 << place */
	bool window_is_shared;
	usec trying_since; /* NEVER: not trying */
	usec outages, outage; /* no majority answered: all of the wait's outages, and this one */
	usec joined_at; /* when it entered a queue in this session; NEVER: in none */
	usec tried_until; /* its attempts are worth that time */
	usec elsewhere_until; /* the same of its attempts without a connection to the queue node */
	/* Beyond the first two waiters, its requests are worth that time: at the first node in the
	 * order, and at another one. */
	usec chatted_until[2];
	usec idle_since; /* it waits, and the lock is free, since then; NEVER: not so */
	usec wants_since; /* the same, but a refusal does not end it */
	usec had_no_voters; /* when a majority of the nodes could have no vote for it, lastly */
	usec leave_for; /* its --min-hold at the release */
	bool asked_all; /* its attempt reached every node that is up */
	bool is_ending; /* it releases a lock that it held to the end, as far as it knows */
	bool rolls; /* it holds the lock until a rolling restart is over */
	bool had_fault; /* a fault struck this session: the release may leave a key */
	usec once_per; /* it runs its command at most once in this time; 0: whenever it can */
	char run[24]; /* the number of its run, the text of the record */
	usec missing_since[SIM_NODES]; /* the node may vote and lacks the key of this client, which
					  holds the lock, since then; NEVER: not so */
};

/* ---- the world (world.c) ---- */

enum sim_event_kind {
	SIM_WAKE, /* a: client, id: its wake_id */
	SIM_CONNECTED, /* a: client, b: node, id: wire */
	SIM_SERVE, /* a: message */
	SIM_ANSWER, /* a: client, b: node, id: wire; incoming */
	SIM_BROKEN, /* a: client, b: node, id: wire */
	SIM_DEADLINE, /* a: client, id: section_id */
	SIM_GONE, /* a: client, id: section_id: the command is dead */
	SIM_FAULT,
	SIM_CUT_OFF, /* a: client: it loses every node, a moment before it would need them */
	SIM_REVIVE, /* a: node, id: its life */
	SIM_STEP, /* a: node, id: seconds */
	SIM_ROLL, /* a: client, b: node, id: section_id: the next node of a rolling restart */
	SIM_LAST,
	SIM_EXPIRED, /* a: node: the server deletes what has expired */
	SIM_FOREIGN, /* another program takes its next step; a: 1: what became of attempt `id` */
	SIM_CALM,
};

struct sim_event {
	usec at;
	uint32_t order;
	enum sim_event_kind kind;
	int a, b;
	uint32_t id;
	struct incoming *incoming;
};

/* When all faults are over, one last fault strikes. */
enum last_fault {
	LAST_NONE,
	LAST_AT_CALM,
	LAST_IN_SECTION, /* while a client holds the lock, and another one waits */
	LAST_AT_WAKE_UP, /* when a waiter is woken */
	LAST_ROLLING, /* while a client holds the lock, all nodes restart, one after the other */
};

struct world {
	const struct profile *profile;
	uint64_t seed, random;
	uint64_t aside; /* a random stream of its own: decisions by it leave other worlds as they
			   are */
	bool traces, is_calm;
	bool was_wanted; /* when calm began, a client was trying */
	usec now, last_held, ends_at;
	usec faults_end; /* no fault strikes later */
	int nodes, clients;
	int limit; /* the lock is a semaphore with this many; 1: it is none */
	int keys; /* clients lock one of these, or several at once */
	int places; /* slots, or keys */
	bool has_foreign; /* another program takes the key, too */
	bool watches; /* the servers have CLIENT TRACKING, and redlock's user the right to it */
	bool is_mixed; /* some clients have a lower limit */
	bool exclusion_is_promised, is_fair, wants_fence;
	bool is_local; /* the connections are unix sockets */
	bool refuses_digests; /* no client may use EVALSHA */
	bool restores; /* nodes that forget come back with older data */
	int readers_percent; /* this share of the clients asks for a shared lock */
	bool is_once; /* the clients run one job, with --once-per */
	uint32_t runs; /* of that job, */
	usec run_began; /* the last one began then, */
	bool is_recorded; /* and a majority told its holder that it stored the record */
	unsigned stored[SIM_RUNS]; /* bit i: node i was told to store the record of this run */
	usec clients_apart; /* the most that their times of day may differ */
	int64_t newest_fence[SIM_LOCKS]; /* the last issued */
	bool is_healthy; /* no fault so far, or all are over */
	struct sim_node node[SIM_NODES];
	struct client *client[SIM_CLIENTS];
	int alias; /* this node is another name of node 0; 0: every node is a server of its own */
	usec spike_max;
	int spike_percent, trap_percent, leave_percent;
	usec calm_since, node_timeout_max; /* calm_since: or since the last fault after it */
	enum last_fault last_fault; /* that is still to strike */
	int deaf; /* waiters that were woken in vain, at most, while the lock is free */
	bool remained; /* a minority had the key of a gone client since the lock is free */
	bool lost_queue; /* a waiter is not in its queue any more, and was not told */
	bool lost_numbers; /* the nodes restarted one after another, without the guard */
	int silent_node; /* the node that is stopped until the end; -1: none */
	usec ttl_max, patience;
	bool is_long; /* TTLs are ten times as long */
	usec start_spread; /* rivals start within this time */
	int nodes_run; /* at extremes: 1: fast, clients slow; -1: slow, clients fast; 0: any */

	/* ---- results ---- */
	const char *broken; /* the first rule that was broken; NULL: none */
	char broken_words[200];
	uint64_t hash; /* of the whole trace */
	long events, sections, faults, losses, refusals, overlaps, denials;

	/* large: initialized by their users */
	struct node_list list[SIM_NODES + 1]; /* the first nodes: by their number */
	struct wire wire[SIM_CLIENTS][SIM_NODES];
};

extern struct world world;
extern struct client *running; /* the client that runs now; NULL: none */

/* Runs one world to its end. */
void world_run(const struct profile *profile, uint64_t seed, bool traces);

/* Adds to the hash that distinguishes two histories. */
void hash_in(uint64_t what);

uint64_t draw(void);
int64_t draw_between(int64_t low, int64_t high);
bool draw_percent(int percent);

void schedule(
	usec at, enum sim_event_kind kind, int a, int b, uint32_t id, struct incoming *incoming);

/* One line of the trace. Its format is part of the hash in any case, its numbers are not. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes that a rule is broken. */
void breach(const char *rule, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Injects faults that chance would not put there: now that this majority is complete. */
void world_trap(struct client *c, int node);

/* A fault strikes: the connection breaks after this refusal, or not. */
bool world_breaks_off(void);

/* A connection that breaks floods its client with messages until that time; 0: it does not. */
usec world_floods(void);

/* All connections of a client die before its release, and neither side is told; or not. */
bool world_deafens(const struct client *c);

/* The server drops the requests on a closed connection that it has not read, or not. */
bool world_drops_unread(void);

/* Before and after a session: which nodes the client names. */
void world_choose_nodes(struct client *c);
void world_leave_nodes(struct client *c);

/* A wake-up for this client was sent: the last fault may strike. */
void world_woken(struct client *c);

/* A client holds the lock, for `length`: the same. Returns for how long it holds the lock; NEVER:
 * until a rolling restart is over. */
usec world_held(struct client *c, usec length);

/* Stops a client in the midst of its work, or not; its paused_until says until when. */
bool world_stops(struct client *c);

/* From a client's clock to true time (the first instant at which the clock shows it), and back. */
usec client_clock(const struct client *c);
usec client_wall(const struct client *c);
usec true_time(const struct client *c, usec at);

/* kernel.c: the client's last lookup of the node's name began when the name led to another server
 * than the connection. */
bool kernel_finds_other(int client, int node);

/* net.c */
void net_reset(void);
uint32_t net_connect(int client, int node); /* returns the id of the wire */
void net_send(int client, int node, const char *bytes, size_t len);
void net_close(int client, int node, bool is_orderly); /* or with a reset */
int net_unread(int client, int node); /* bytes that the server has not read */
void net_connected(int client, int node, uint32_t id);
void net_serve(int message);
void net_answer(int client, int node, uint32_t id, struct incoming *in);
void net_broken(int client, int node, uint32_t id);
void net_begin_session(int client);
void net_begin_release(int client);
void net_cut(int client, int node, usec until);
void net_deafen(int client, int node);
void net_leave(int node); /* connections lead to the server that the node's name leaves now */
void net_crash_node(int node);
void net_crash_client(int client);
void net_tell_changes(int node); /* to the connections that watch keys there */

/* client.c */
void client_begin(struct client *c, int id);
void client_go_on(struct client *c); /* runs it until it waits again */
void client_wait(usec until); /* called by its code: true time at the latest, NEVER */
void client_deadline(struct client *c, uint32_t id);
void client_gone(struct client *c, uint32_t id);
void client_crash(struct client *c);
void client_joined(struct client *c, uint32_t session); /* a node has put it into its queue */
void client_chats(struct client *c); /* it sends a request as a waiter */

#endif
