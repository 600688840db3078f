/* The seed, the heap of events, and the faults. */
#include "lock/fingerprint.h"
#include "sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;
struct client *running;

#define WALL_BASE (1000000 * USEC_SEC) /* the time of day at the start */
#define APART_MAX \
	(10 * USEC_SEC) /* and the most that two clients' may differ, where it matters \
			 */
#define STEP_MAX (29 * USEC_SEC) /* a clock may be wrong by this much without being noticed */
#define EVENTS_MAX 65536
#define INSTANT_MAX 10000 /* events without any time between them */

static struct sim_event heap[EVENTS_MAX];
static int heap_count;
static uint32_t order;

/* ---- the seed ---- */

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw_from(uint64_t *stream)
{
	uint64_t z = *stream += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t draw(void)
{
	return draw_from(&world.random);
}

int64_t draw_between(int64_t low, int64_t high)
{
	return high <= low ? low : low + (int64_t)(draw() % (uint64_t)(high - low + 1));
}

bool draw_percent(int percent)
{
	return (int)(draw() % 100) < percent;
}

/* ---- messages ---- */

void hash_in(uint64_t what)
{
	world.hash = (world.hash ^ what) * 0x100000001b3;
}

void trace(const char *format, ...)
{
	va_list args;

	/* Formatting the numbers would cost more than everything else. The events determine them
	 * anyway. */
	for (const char *c = format; *c; c++)
		hash_in((unsigned char)*c);
	if (!world.traces)
		return;
	printf("%12.6f ", (double)world.now / (double)USEC_SEC);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void breach(const char *rule, const char *format, ...)
{
	va_list args;

	if (!world.broken) {
		world.broken = rule;
		va_start(args, format);
		vsnprintf(world.broken_words, sizeof(world.broken_words), format, args);
		va_end(args);
	}
	trace("BROKEN: %s", rule);
}

/* ---- time ---- */

static usec by_clock(int64_t ppm, int64_t offset)
{
	return world.now + world.now / 1000000 * ppm + world.now % 1000000 * ppm / 1000000 + offset;
}

usec client_clock(const struct client *c)
{
	return by_clock(c->ppm, c->offset);
}

usec client_wall(const struct client *c)
{
	return by_clock(c->ppm, c->wall_offset);
}

usec true_time(const struct client *c, usec at)
{
	usec ahead = at - client_clock(c);

	if (at == NEVER)
		return NEVER;
	/* A microsecond late, rather than too early and once more. */
	return ahead <= 0 ? world.now : world.now + ahead * 1000000 / (1000000 + c->ppm) + 2;
}

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void schedule(
	usec at, enum sim_event_kind kind, int a, int b, uint32_t id, struct incoming *incoming)
{
	struct sim_event ev = {at, order++, kind, a, b, id, incoming};
	int i = heap_count++;

	assert(heap_count <= EVENTS_MAX);
	for (; i > 0 && is_before(&ev, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = ev;
}

static struct sim_event next_event(void)
{
	struct sim_event first = heap[0], last = heap[--heap_count];
	int i = 0, child;

	while ((child = 2 * i + 1) < heap_count) {
		if (child + 1 < heap_count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* ---- faults ---- */

enum fault {
	FAULT_PAUSE_NODE,
	FAULT_CRASH_NODE,
	FAULT_CUT,
	FAULT_PARTITION,
	FAULT_BREAK,
	FAULT_DEAFEN,
	FAULT_REFUSE,
	FAULT_JUMP_BACK,
	FAULT_PAUSE_CLIENT,
	FAULT_CRASH_CLIENT,
	FAULT_FLUSH,
	FAULT_REVOKE,
	FAULT_DELETE, /* from here on: only if the profile interferes */
	FAULT_JUMP_FORWARD,
};

static void note_fault(void)
{
	world.is_healthy = false;
	for (int i = 0; i < world.clients; i++) {
		world.client[i]->had_fault = true;
		for (int j = 0; j < world.nodes; j++)
			world.client[i]->missing_since[j] = NEVER;
	}
}

static usec fault_length(void)
{
	return draw_between(USEC_MSEC, draw_percent(50) ? world.ttl_max / 2 : 3 * world.ttl_max);
}

/* Half of the nodes that forget come back with the data that they saved last. Not drawn. */
static void save_node(int i)
{
	if (world.restores && !world.node[i].down) {
		trace("n%d saves its data", i);
		node_save(&world.node[i]);
	}
}

/* No client can know the age of the restored keys. */
static void restore_node(int i)
{
	struct sim_node *n = &world.node[i];

	if (!node_restore(n))
		return;
	trace("n%d has older data", i);
	n->jumped = true;
}

static void crash_node(int i)
{
	struct sim_node *n = &world.node[i];
	bool forgets = (world.profile->forgets && draw_percent(70)) || world.restores;
	usec back = world.now + (forgets ? USEC_MSEC : fault_length());

	n->keeps = !forgets && draw_percent(50);
	n->keeps_until = world.now;
	/* A node that comes back empty must stay away until every lock that it may have granted has
	 * expired, late SETs included. */
	if (!n->keeps && !forgets)
		back = n->keeps_until =
			world.now + 2 * world.ttl_max + world.spike_max + world.patience;
	trace("n%d crashes%s", i, n->keeps ? "" : ", and forgets");
	/* Its clock is wrong for a while, at most while it has no vote anyway. */
	if (world.profile->guards && forgets && draw_percent(50)) {
		schedule(back + draw_between(0, world.ttl_max / 2), SIM_STEP, i, 0,
			(uint32_t)(world.wants_fence || world.clients_apart > 0 || draw_percent(50)
					   ? draw_between(60, 600)
					   : draw_between(1, STEP_MAX / USEC_SEC)),
			NULL);
		schedule(back + fault_length() + world.ttl_max / 2, SIM_STEP, i, 0, 0, NULL);
	}
	n->down = true;
	node_begin_life(n, n->life + 1);
	net_crash_node(i);
	schedule(back, SIM_REVIVE, i, 0, (uint32_t)n->life, NULL);
}

static void revive(int i, uint32_t life)
{
	struct sim_node *n = &world.node[i];

	if (!n->down || n->life != (int)life)
		return;
	if (!n->keeps && world.now >= n->keeps_until)
		node_forget(n), restore_node(i);
	n->down = false;
	trace("n%d is back", i);
}

/* Until calm, a node refuses connections, or is unreachable, or is stopped. With --fair none is
 * stopped: waiting for a silent queue node takes all the time of one attempt. */
static void take_away(int node)
{
	usec until = 10 * world.ttl_max;

	world.is_healthy = false;
	switch (draw_between(0, world.is_fair ? 1 : 2)) {
	case 0:
		trace("n%d is down", node);
		world.node[node].down = world.node[node].keeps = true;
		break;
	case 1:
		trace("n%d is out of reach", node);
		for (int i = 0; i < world.clients; i++)
			world.wire[i][node].cut_until = until;
		break;
	case 2:
		trace("n%d is stopped", node);
		world.node[node].paused_until = until;
		break;
	}
}

static void partition(usec until)
{
	unsigned side = (unsigned)draw();

	for (int i = 0; i < world.clients; i++)
		for (int j = 0; j < world.nodes; j++)
			if ((side >> i & 1) != (side >> (8 + j) & 1))
				net_cut(i, j, until);
}

static void cut_holder(void)
{
	for (int i = 0; i < world.clients; i++)
		if (world.client[i]->in_section)
			for (int j = 0; j < world.nodes; j++)
				if (draw_percent(80))
					net_cut(i, j, world.now + 2 * world.ttl_max);
}

static void pause_client(struct client *c)
{
	c->paused_until = usec_max(c->paused_until, world.now + fault_length());
	trace("c%d is stopped", c->id);
}

static void cut_off(int client)
{
	trace("c%d is cut off", client);
	for (int i = 0; i < world.nodes; i++)
		if (draw_percent(80))
			net_cut(client, i, world.now + fault_length());
}

void world_trap(struct client *c, int node)
{
	usec ahead =
		c->policy.ttl - c->policy.drift - (draw_percent(50) ? c->policy.safety_margin : 0);

	if (world.now > world.faults_end || !draw_percent(world.trap_percent))
		return;
	world.faults++;
	note_fault();
	trace("c%d has a majority, and now", c->id);
	switch (draw_between(0, 4)) {
	case 0:
		client_crash(c);
		break;
	case 1:
		if (!world.node[node].down)
			crash_node(node);
		break;
	case 2:
		cut_off(c->id);
		break;
	case 3:
		/* It wakes just before, or just after, its time is over. */
		c->paused_until = world.now + ahead + draw_between(-3, 3) * USEC_MSEC;
		break;
	case 4:
		net_broken(c->id, node, world.wire[c->id][node].id);
		break;
	}
}

static bool draw_aside(int percent)
{
	return (int)(draw_from(&world.aside) % 100) < percent;
}

/* Every node serves redlock, over a new connection. */
static bool serve_all(const struct client *c)
{
	for (int i = 0; i < world.nodes; i++) {
		const struct sim_node *n = &world.node[i];

		if (n->down || n->room || world.now < n->paused_until ||
			world.now < n->refuses_until || world.now < n->denies_until ||
			world.now < n->refuses_login_until ||
			world.now < world.wire[c->id][i].cut_until)
			return false;
	}
	return true;
}

bool world_deafens(const struct client *c)
{
	if (!world.is_calm || world.alias || world.last_fault != LAST_NONE ||
		c->policy.ttl < USEC_SEC || !serve_all(c) || !draw_aside(10))
		return false;
	for (int i = 0; i < world.nodes; i++)
		net_deafen(c->id, i);
	trace("c%d is deaf", c->id);
	return true;
}

bool world_drops_unread(void)
{
	return world.is_local && draw_aside(20);
}

usec world_floods(void)
{
	bool floods = !world.is_calm && draw_aside(10);

	return floods ? world.now + 20 * USEC_MSEC * (1 + (usec)(draw_from(&world.aside) % 10)) : 0;
}

bool world_breaks_off(void)
{
	if (world.now > world.faults_end || !draw_aside(3 * world.trap_percent))
		return false;
	world.faults++;
	note_fault();
	return true;
}

bool world_stops(struct client *c)
{
	if (world.now > world.faults_end || !draw_percent(world.trap_percent / 10))
		return false;
	world.faults++;
	note_fault();
	trace("c%d is stopped in the midst of its work", c->id);
	c->paused_until = usec_max(c->paused_until, world.now + draw_between(0, world.ttl_max / 2));
	return true;
}

/* FLUSHALL. Where exclusion is promised without a restart guard, only the data of waiters. */
static void flush_node(int node)
{
	struct sim_node *n = &world.node[node];
	bool is_whole = world.profile->guards || !world.exclusion_is_promised;

	trace("n%d is flushed%s", node, is_whole ? "" : ": the data of waiters");
	if (is_whole)
		node_forget(n);
	else
		node_forget_waiters(n);
	n->jumped |= is_whole; /* no client can know which keys are left */
}

/* `redlock break`, which may be killed before it has reached all nodes. */
static void revoke_lock(int place)
{
	for (int i = 0; i < world.nodes; i++)
		if (!world.node[i].down && draw_percent(80)) {
			trace("n%d: its holder is revoked", i);
			node_revoke(&world.node[i], place);
		}
}

static void strike(void)
{
	int node = (int)draw_between(0, world.nodes - 1);
	int client = (int)draw_between(0, world.clients - 1);
	int last = world.profile->interferes ? FAULT_JUMP_FORWARD : FAULT_REVOKE;
	usec until = world.now + fault_length();

	world.faults++;
	note_fault();
	for (int i = 0; i < world.nodes && world.events % 2; i++)
		save_node(i);
	if (world.profile->cuts_holders && draw_percent(40)) {
		trace("holders are cut off");
		cut_holder();
		return;
	}
	/* Not drawn: the other worlds stay as they are. */
	if (world.profile->guards && world.events / 2 % 16 < 4 && world.events % 2 == 0 &&
		!world.alias && !world.node[node].room && !world.node[node].down) {
		trace("n%d moves to another server", node);
		net_leave(node);
		node_move(&world.node[node], world.events / 2 % 16 == 0);
		return;
	}
	if (world.events / 2 % 16 == 0) {
		trace("n%d: redlock's user lacks rights", node);
		node_deny(&world.node[node], until);
		return;
	}
	if (world.events / 2 % 8 == 1 && world.list[world.nodes].node[node].password[0]) {
		trace("n%d has another password", node);
		world.node[node].refuses_login_until = until;
		world.node[node].is_open = world.events / 32 % 2;
		return;
	}
	switch ((enum fault)draw_between(0, last)) {
	case FAULT_PAUSE_NODE:
		trace("n%d is stopped", node);
		world.node[node].paused_until = usec_max(world.node[node].paused_until, until);
		break;
	case FAULT_CRASH_NODE:
		/* Repair the clocks of all nodes at once, or of one. */
		for (int i = 0; i < world.nodes; i++)
			if (!world.node[i].down && (i == node || world.restores))
				crash_node(i);
		break;
	case FAULT_CUT:
		trace("c%d n%d cut", client, node);
		net_cut(client, node, until);
		break;
	case FAULT_PARTITION:
		trace("partition");
		partition(until);
		break;
	case FAULT_BREAK:
		net_broken(client, node, world.wire[client][node].id);
		break;
	case FAULT_DEAFEN:
		trace("c%d n%d deaf", client, node);
		net_deafen(client, node);
		break;
	case FAULT_REFUSE:
		trace("n%d refuses", node);
		world.node[node].refuses_until = until;
		break;
	case FAULT_JUMP_BACK:
		trace("n%d's clock jumps back", node);
		world.node[node].jumped = true;
		world.node[node].offset -= draw_between(0, world.ttl_max / 2);
		break;
	case FAULT_PAUSE_CLIENT:
		pause_client(world.client[client]);
		break;
	case FAULT_CRASH_CLIENT:
		if (!world.client[client]->done && !world.client[client]->crashed)
			client_crash(world.client[client]);
		break;
	case FAULT_FLUSH:
		flush_node(node);
		break;
	case FAULT_REVOKE:
		revoke_lock(client % world.places);
		break;
	case FAULT_DELETE:
		trace("n%d: somebody deletes the key", node);
		node_delete(&world.node[node], client % world.places);
		break;
	case FAULT_JUMP_FORWARD:
		trace("n%d's clock jumps forward", node);
		world.node[node].jumped = true;
		world.node[node].offset += draw_between(0, 2 * world.ttl_max);
		break;
	}
}

/* ---- the last fault ---- */

static bool is_waiting(const struct client *c)
{
	return c->trying_since != NEVER && !c->crashed && !c->done && !c->in_section &&
	       c->paused_until <= world.now;
}

static int count_waiting(void)
{
	int n = 0;

	for (int i = 0; i < world.clients; i++)
		n += is_waiting(world.client[i]);
	return n;
}

/* A waiter is stopped, for a while or until the world ends, or it is killed. */
static void strike_waiter(struct client *c)
{
	switch (draw_between(0, 2)) {
	case 0:
		trace("c%d is stopped, and never continues", c->id);
		c->paused_until = SIM_FOREVER;
		break;
	case 1:
		c->paused_until = world.now + draw_between(1, 20) * USEC_SEC;
		trace("c%d is stopped", c->id);
		break;
	case 2:
		client_crash(c);
		trace("c%d is not started again", c->id);
		c->done = true;
		break;
	}
}

static void strike_node(void)
{
	int node = draw_percent(70) ? 0 : (int)draw_between(0, world.nodes - 1);

	if (world.nodes > 2 && draw_percent(50)) {
		trace("n%d is stopped, and never continues", node);
		world.node[node].paused_until = SIM_FOREVER;
		world.silent_node = node;
	} else {
		flush_node(node);
		world.lost_queue = true;
	}
}

/* `c` was woken just now; NULL: any waiter. */
static void strike_last(struct client *c)
{
	if (!c)
		c = world.client[draw_between(0, world.clients - 1)];
	world.last_fault = LAST_NONE;
	world.calm_since = world.now;
	note_fault();
	if (is_waiting(c) && count_waiting() > 1 && draw_percent(60))
		strike_waiter(c);
	else
		strike_node();
}

void world_woken(struct client *c)
{
	if (world.is_calm && world.last_fault == LAST_AT_WAKE_UP && draw_percent(30))
		strike_last(c);
}

/* Without the restart guard, a node that restarts without data may let a second client in, unless
 * the only holder has its key on all nodes. */
static bool may_roll(void)
{
	return world.nodes > 2 && world.profile->step < 2 && !world.node[0].room && !world.alias &&
	       (world.profile->guards || (world.places == 1 && world.readers_percent == 0));
}

usec world_held(struct client *c, usec length)
{
	enum last_fault last = world.last_fault;

	if (!world.is_calm || count_waiting() == 0)
		return length;
	if (last == LAST_IN_SECTION)
		schedule(world.now + draw_between(0, length), SIM_LAST, 0, 0, 0, NULL);
	else if (last == LAST_ROLLING && c->policy.nodes > 2)
		schedule(world.now + c->policy.ttl, SIM_ROLL, c->id, 0, c->section_id, NULL);
	else
		return length;
	world.last_fault = LAST_NONE;
	return last == LAST_ROLLING ? NEVER : length;
}

/* The node has this client's key in each place that the client holds. */
static bool has_token(const struct client *c, int node)
{
	for (int i = 0; i < world.places; i++)
		if (c->window_places >> i & 1 &&
			!node_has_token(&world.node[node], i, c->session.token))
			return false;
	return true;
}

/* All holders have their keys on all nodes. */
static bool are_keys_complete(void)
{
	for (int i = 0; i < world.clients; i++) {
		const struct client *c = world.client[i];

		for (int j = 0; j < c->policy.nodes && c->in_section; j++)
			if (world.node[j].down || !has_token(c, j))
				return false;
	}
	return true;
}

static void restart_node(int i)
{
	struct sim_node *n = &world.node[i];

	trace("n%d restarts without data", i);
	n->keeps = false;
	n->keeps_until = world.now;
	n->down = true;
	node_begin_life(n, n->life + 1);
	net_crash_node(i);
	schedule(world.now + draw_between(1, 500) * USEC_MSEC, SIM_REVIVE, i, 0, (uint32_t)n->life,
		NULL);
}

/* The clocks of node and client agree as far as the restart guard demands. */
static bool has_vote(int node, const struct client *c)
{
	return c->policy.quarantine == 0 ||
	       llabs(node_clock(&world.node[node]) - client_wall(c)) <= SKEW_MAX_MS * USEC_MSEC;
}

/* A node that has no vote for the client does not take its key. */
static bool lacks_voters(const struct client *c)
{
	for (int i = 0; i < world.nodes; i++)
		if (!has_vote(i, c))
			return true;
	return false;
}

/* The rolling restart of docs/nodes.md, while a client holds the lock: the next node restarts when
 * all nodes have the key. Waiters are stopped, or killed, meanwhile. */
static void roll(struct client *c, int node, uint32_t section)
{
	struct client *waiter = world.client[draw_between(0, world.clients - 1)];

	if (!c->in_section || c->section_id != section)
		return;
	if (node == world.nodes || lacks_voters(c)) {
		schedule(world.now, SIM_GONE, c->id, 0, section, NULL);
		return;
	}
	if (!are_keys_complete()) {
		schedule(world.now + 100 * USEC_MSEC, SIM_ROLL, c->id, node, section, NULL);
		return;
	}
	/* Until now, the lock may have gone for another reason. */
	c->rolls = true;
	note_fault();
	world.calm_since = world.now;
	world.lost_queue = true;
	world.lost_numbers |= !world.profile->guards;
	if (draw_percent(70))
		restart_node(node);
	else
		node_forget(&world.node[node]), trace("n%d is flushed", node);
	if (is_waiting(waiter) && count_waiting() > 1 && draw_percent(30))
		strike_waiter(waiter);
	schedule(world.now + c->policy.ttl, SIM_ROLL, c->id, node + 1, section, NULL);
}

/* A fault has taken the waiter out of its queue. */
static bool has_lost_place(const struct client *c)
{
	const struct waiter *w = &c->session.lock.waiter;

	return is_waiting(c) && w->state == WAITER_QUEUED &&
	       !node_queues(&world.node[w->node], w->id);
}

/* All faults end, but for dead connections that were not noticed, and one last fault; from now on a
 * client must get the lock. */
static void calm_down(void)
{
	trace("calm");
	world.is_calm = world.is_healthy = true;
	world.calm_since = world.now;
	world.last_held = usec_max(world.last_held, world.now);
	for (int i = 0; i < world.nodes; i++) {
		struct sim_node *n = &world.node[i];

		n->paused_until = n->refuses_until = n->denies_until = n->refuses_login_until = 0;
		/* Without rights, a client may not have left its queue. */
		world.lost_queue |= n->denied != 0;
		if (n->stepped > STEP_MAX)
			node_forget_waiters(n);
		n->stepped = 0;
		revive(i, (uint32_t)n->life);
	}
	for (int i = 0; i < world.clients; i++) {
		struct client *c = world.client[i];

		world.was_wanted |= c->trying_since != NEVER;
		world.lost_queue |= has_lost_place(c);
		c->paused_until = usec_min(c->paused_until, world.now);
		for (int j = 0; j < world.nodes; j++)
			world.wire[i][j].cut_until = 0;
		/* The command of a killed client may still run. */
		if (c->crashed && !c->in_section)
			client_begin(c, i);
		client_go_on(c);
	}
	if (!world.profile->are_rivals && !world.alias)
		world.last_fault =
			may_roll() && draw_aside(25)
				? LAST_ROLLING
				: (enum last_fault)draw_between(LAST_NONE, LAST_AT_WAKE_UP);
	if (world.last_fault == LAST_AT_CALM)
		strike_last(NULL);
}

/* ---- a world ---- */

/* The drift allowance is a tenth of the TTL: two clocks 5 % off, in opposite directions. */
static int64_t draw_ppm(int extreme)
{
	if (!world.profile->at_extremes)
		return draw_between(-50000, 50000);
	return (extreme ? extreme : draw_percent(50) ? 1 : -1) * 50000;
}

/* One key, the other one, or both; rivals want both. */
static void choose_keys(struct client *c, int i)
{
	static const struct key_list lists[] = {
		{.count = 1, .key = {"k"}},
		{.count = 1, .key = {"m"}},
		{.count = 2, .key = {"k", "m"}},
	};
	int which = world.keys == 1             ? 0
		    : world.profile->are_rivals ? 2
						: (int)(((uint64_t)i + world.seed / 52) % 3);

	c->list = lists[which];
	c->keys = (unsigned)which + 1;
}

/* The client names the first `count` nodes. Clients that name them in the same order use the same
 * queue node. */
static void name_nodes(struct client *c, int count)
{
	char name[16];

	c->policy.nodes = count;
	c->policy.fingerprint[0] = '\0';
	for (int n = 0; n < count; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		fingerprint_add(c->policy.fingerprint, name);
		for (int k = 0; k < c->list.count; k++)
			c->policy.order[k][n] =
				(n + c->first_node + (c->list.key[k][0] == 'm')) % count;
	}
}

/* The list of a client that is at work, or whose keys may still be there, differs from that of each
 * other one by a step at most. */
void world_choose_nodes(struct client *c)
{
	int step = world.profile->step, most = world.nodes, count;
	int least = (int)usec_min(3, world.nodes); /* a minority may be stopped until the end */

	if (!step)
		return;
	for (int i = 0; i < world.clients; i++) {
		const struct client *other = world.client[i];

		if (world.now >= other->at_work_until)
			continue;
		least = (int)usec_max(least, other->policy.nodes - step);
		most = (int)usec_min(most, other->policy.nodes + step);
	}
	assert(least <= most);
	count = least + (int)(draw_from(&world.aside) % (uint64_t)(most - least + 1));
	if (count != c->policy.nodes)
		name_nodes(c, count);
	trace("c%d names %d nodes", c->id, count);
	hash_in((uint64_t)count);
	c->at_work_until = SIM_FOREVER;
}

void world_leave_nodes(struct client *c)
{
	if (c->at_work_until == SIM_FOREVER)
		c->at_work_until = world.now + 2 * world.ttl_max + world.spike_max + world.patience;
}

static void make_client(int i)
{
	static struct client *made[SIM_CLIENTS];
	struct client *c;

	if (!made[i])
		made[i] = calloc(1, sizeof(*c));
	c = made[i];
	assert(c);
	world.client[i] = c;
	choose_keys(c, i);
	c->policy = (struct policy){
		.nodes = world.nodes,
		.keys = c->list.count,
		.limit = world.is_mixed ? 2 + (int)(((uint64_t)i + world.seed / 40) % 2)
					: world.limit,
		.ttl = draw_between(100, 3000) * (world.is_long ? 10 : 1) * USEC_MSEC,
		/* --fair takes a few round trips, even with an empty queue. */
		.wait = draw_percent(world.is_long ? 80 : 60)
				? NEVER
				: draw_between(world.is_fair ? 1000 : 0, 4000) * USEC_MSEC,
	};
	/* A quarter of the clients wait for nodes with a limit of its own. Not drawn. */
	c->policy.node_wait = (world.seed + (uint64_t)i) % 4 == 0
				      ? (usec)(world.seed / 4 % 16) * c->policy.ttl / 2
				      : NEVER;
	c->first_node = draw_percent(5) ? 1 : 0;
	name_nodes(c, world.nodes);
	c->policy.is_fair = world.is_fair;
	/* Some clients only want to know when the key is free: they queue, and pass their
	 * reservation on. */
	c->policy.only_looks = draw_percent(10);
	c->policy.wants_fence = world.wants_fence && draw_percent(90);
	c->policy.drift = policy_drift(c->policy.ttl, 100);
	c->policy.node_timeout = c->policy.ttl / 20 + draw_between(0, c->policy.ttl / 20 * 3);
	if (world.is_long)
		c->policy.node_timeout /= 10;
	c->deadline_policy = (struct deadline_policy){
		.on_lost = 15,
		.grace = deadline_default_grace(c->policy.ttl),
		.kill_after = NEVER,
		.signal = 15,
		.reap = deadline_reap_time(c->policy.ttl),
		.max_run = NEVER,
	};
	c->policy.safety_margin = deadline_margin(&c->deadline_policy);
	c->policy.by_digest = (world.seed + (uint64_t)i) % 8 != 0;
	/* Hosts may have different times. Not drawn. */
	c->once_per =
		world.is_once ? c->policy.ttl * (usec)(1 + (world.seed + (uint64_t)i) % 12) / 2 : 0;
	c->policy.wants_record = c->once_per > 0;
	c->ppm = draw_ppm(-world.nodes_run);
	c->offset = draw_between(USEC_SEC, 1000 * USEC_SEC);
	c->wall_offset = WALL_BASE + draw_between(0, world.clients_apart);
	c->window_until = c->at_work_until = 0;
	c->sessions = c->wake_id = c->section_id = 0;
	c->fence = 0;
	memset(c->fence_floor, 0, sizeof(c->fence_floor));
	world.ttl_max = usec_max(world.ttl_max, c->policy.ttl);
	world.node_timeout_max = usec_max(world.node_timeout_max, c->policy.node_timeout);
}

/* One attempt each, with the same settings. */
static void make_rivals(void)
{
	usec ttl = world.client[0]->policy.ttl, node_timeout = world.client[0]->policy.node_timeout;

	for (int i = 0; i < world.clients; i++) {
		struct policy *p = &world.client[i]->policy;

		world.client[i]->deadline_policy = world.client[0]->deadline_policy;
		p->ttl = ttl;
		p->node_timeout = node_timeout;
		p->drift = world.client[0]->policy.drift;
		p->safety_margin = world.client[0]->policy.safety_margin;
		memcpy(p->order, world.client[0]->policy.order, sizeof(p->order));
		/* Among readers that get numbers at the same moment, it may be that none succeeds.
		 */
		p->wants_fence &= world.readers_percent == 0;
		p->wait = 0;
		p->only_looks = false;
	}
	world.start_spread = draw_percent(30) ? 0 : draw_between(0, node_timeout / 4);
}

static void take_minority_away(void)
{
	for (int n = (int)draw_between(0, (world.nodes - 1) / 2); n > 0; n--)
		take_away((int)draw_between(0, world.nodes - 1));
}

static void make_world(void)
{
	bool is_fast = draw_percent(70);

	world.nodes = (int)draw_between(1, SIM_NODES);
	world.clients = (int)draw_between(
		world.profile->are_rivals ? 2 : 1, draw_percent(50) ? 3 : SIM_CLIENTS);
	for (int i = 0; i <= SIM_NODES; i++)
		world.list[i].count = i;
	/* Fast nodes expire keys that a slow client still relies on; slow nodes keep keys that a
	 * fast client takes for expired. */
	world.nodes_run = (int)draw_between(-1, 1);
	/* Some of the worlds have a semaphore. Not drawn: the other worlds stay as they are. */
	world.limit = world.seed % 10 < 7 ? 1 : 2 + (int)(world.seed / 10 % (SIM_LOCKS - 1));
	/* Half of the largest ones have clients with a lower limit. Not drawn either. */
	world.is_mixed = world.limit == SIM_LOCKS && world.seed / 20 % 2;
	/* Nor is this: in a quarter of the other worlds, clients lock one of two keys, or both. */
	world.keys = world.limit == 1 && world.seed / 13 % 4 == 0 ? SIM_KEYS : 1;
	world.places = world.limit > 1 ? world.limit : world.keys;
	/* Locks that last much longer than a waiter may be forgotten. Not drawn. */
	world.is_long = world.seed / 3 % 5 < 2 && !world.profile->are_rivals;
	world.silent_node = -1;
	world.is_local = world.seed / 7 % 2;
	world.refuses_digests = world.seed / 5 % 13 == 0;
	/* Clients testify against a node's clock, as far as their own clocks agree: either its step
	 * is too small to be noticed, or the clients' clocks differ. */
	world.clients_apart = world.profile->guards && world.seed % 2 ? APART_MAX : 0;
	/* Not drawn either: three of five of the other worlds have readers. */
	world.readers_percent =
		world.limit > 1 || world.seed / 16 % 5 < 2 ? 0 : 15 * (int)(world.seed / 16 % 5);
	/* Nor is this: a third of the worlds with one exclusive lock have one job for all clients.
	 */
	world.is_once = world.places == 1 && world.readers_percent == 0 &&
			world.seed / 11 % 3 == 0 && !world.profile->are_rivals;
	/* Nor is this: in a tenth of the worlds with one key, another program takes it, too. It
	 * knows no restart guard. */
	world.has_foreign = world.places == 1 && world.seed / 17 % 10 == 0 &&
			    !world.profile->are_rivals && !world.profile->forgets &&
			    !world.profile->step;
	world.watches = world.seed / 170 % 4 > 0;
	world.is_fair = draw_percent(20);
	world.wants_fence = draw_percent(40);
	world.restores = world.profile->guards && world.wants_fence && world.seed / 64 % 2;
	memset(world.newest_fence, 0, sizeof(world.newest_fence));
	for (int i = 0; i < world.nodes; i++) {
		world.node[i] = (struct sim_node){
			.ppm = draw_ppm(world.nodes_run),
			.offset = world.profile->guards ? WALL_BASE + draw_between(0, APART_MAX)
							: draw_between(0, 1000) * USEC_SEC,
		};
		/* Not drawn: servers of every kind, side by side. */
		node_init(&world.node[i],
			(enum server_kind)((world.seed + (uint64_t)i * 5) % SERVER_KINDS));
	}
	/* Some servers have a password. Rivals would count the time of AUTH, which another request
	 * has to wait for, as that of connecting. Not drawn. */
	for (int list = 1; list <= SIM_NODES; list++)
		for (int i = 0; i < list; i++) {
			struct node *node = &world.list[list].node[i];
			bool has_password =
				!world.profile->are_rivals && (world.seed + (uint64_t)i) % 4 == 0;

			node->kind = world.is_local ? NODE_UNIX : NODE_TCP;
			snprintf(node->password, sizeof(node->password), "%s",
				has_password ? "p" : "");
		}
	/* Nor is this drawn: the usual queue node takes too few connections, until the end. */
	if (world.nodes >= 5 && world.seed / 7 % 5 == 0 && !world.profile->are_rivals)
		world.node[0].room = 1 + (int)(world.seed / 35 % 3);
	for (int i = 0; i < world.clients; i++)
		make_client(i);
	if (world.profile->are_rivals)
		make_rivals();
	/* The longest lock of all. */
	for (int i = 0; i < world.clients && world.profile->guards; i++)
		world.client[i]->policy.quarantine =
			world.ttl_max + policy_drift(world.ttl_max, 100);
	/* Numbers that a node forgot are lower than new ones as long as the nodes' clocks differ by
	 * less than half the quarantine. */
	for (int i = 0; i < world.nodes && world.wants_fence; i++) {
		usec apart = world.client[0]->policy.quarantine / 2 - 2 * USEC_MSEC;

		world.node[i].ppm = world.profile->guards ? 0 : world.node[i].ppm;
		world.node[i].offset =
			world.profile->guards
				? WALL_BASE + apart * (int64_t)((world.seed >> i) % 3) / 2
				: world.node[0].offset;
	}
	for (int i = 0; i < world.clients; i++)
		for (int j = 0; j < world.nodes; j++)
			/* Connecting and one reply take two to three round trips. */
			world.wire[i][j].rtt =
				draw_between(50, usec_min(is_fast ? 2000 : 20000,
							 world.client[i]->policy.node_timeout / 5));
	world.spike_percent =
		draw_percent(50) || world.profile->are_rivals ? 0 : (int)draw_between(1, 20);
	world.spike_max =
		world.spike_percent ? draw_between(1, world.ttl_max / (world.is_long ? 10 : 1)) : 0;
	world.trap_percent =
		draw_percent(50) || world.profile->are_rivals ? 0 : (int)draw_between(1, 30);
	world.leave_percent = draw_percent(80) ? 0 : 50;
	world.alias = world.nodes > 1 && draw_percent(2) && !world.profile->are_rivals &&
				      !world.profile->step
			      ? world.nodes - 1
			      : 0;
	world.patience = 50 * USEC_MSEC;
	world.is_healthy = world.spike_percent == 0;
	if (world.profile->are_rivals)
		take_minority_away();
	world.exclusion_is_promised =
		(!world.profile->forgets || world.profile->guards) && !world.profile->interferes;
}

static void plan_faults(void)
{
	int faults = draw_percent(15) ? 0 : (int)draw_between(1, world.profile->faults_max);

	if (world.profile->are_rivals) {
		schedule(10 * world.ttl_max, SIM_CALM, 0, 0, 0, NULL);
		return;
	}
	world.faults_end = draw_between(1, 3) * world.ttl_max;
	for (int i = 0; i < faults; i++)
		schedule(draw_between(0, world.faults_end), SIM_FAULT, 0, 0, 0, NULL);
	/* In the midst of the locks' lives. */
	schedule(world.faults_end + draw_between(0, world.ttl_max), SIM_CALM, 0, 0, 0, NULL);
}

/* No slot can be free for the client: other clients run their commands in all of them, or in slots
 * that were taken with another limit. */
static bool has_no_slot(const struct client *c)
{
	int sections = 0;

	for (int i = 0; i < world.clients; i++) {
		if (!world.client[i]->in_section || !(world.client[i]->keys & c->keys))
			continue;
		if (world.client[i]->policy.limit != c->policy.limit)
			return true;
		sections++;
	}
	return sections >= c->policy.limit;
}

/* Clocks that run apart for minutes may differ by so much that a majority has no vote for this
 * client; a node that is stopped until the end has none either. */
static bool has_no_voters(const struct client *c)
{
	int voters = 0;

	for (int i = 0; i < c->policy.nodes; i++)
		voters += i != world.silent_node && has_vote(i, c);
	return voters <= c->policy.nodes / 2;
}

static bool all_lack_voters(void)
{
	for (int i = 0; i < world.clients; i++)
		if (!world.client[i]->done && !world.client[i]->crashed &&
			world.client[i]->paused_until < SIM_FOREVER &&
			!has_no_voters(world.client[i]))
			return false;
	return true;
}

/* Waiters that the queue node has no room for ask seldom: after a lost wake-up, the lock stays free
 * until then. */
static usec time_elsewhere(void)
{
	for (int i = 0; i < world.clients; i++)
		if (world.client[i]->session.lock.waiter.full != 0)
			return 64 * USEC_SEC;
	return 0;
}

/* A client tries, no client holds the lock, and no fault is left: for how long? */
static void check_liveness(void)
{
	/* The remains of the last holder, and a few attempts; a quarantine ends by the slowest
	 * client's clock, and a key that was set by a wrong clock outlasts its correction. */
	usec bound = 2 * world.ttl_max + 5 * USEC_SEC +
		     (world.profile->guards ? 2 * (APART_MAX + STEP_MAX) : 0) + time_elsewhere();
	usec since = NEVER;

	if (!world.is_calm || world.alias > 0) /* two names of one server are refused */
		return;
	for (int i = 0; i < world.clients; i++) {
		struct client *c = world.client[i];

		if (has_no_voters(c))
			c->had_no_voters = world.now;
		else if (c->paused_until <= world.now && c->wants_since != NEVER && !has_no_slot(c))
			since = usec_min(
				since, usec_max(c->wants_since,
					       usec_max(c->paused_until, c->had_no_voters)));
	}
	if (since != NEVER && world.now > usec_max(since, world.last_held) + bound)
		breach("liveness", "no client got the lock for %d ms",
			(int)((world.now - usec_max(since, world.last_held)) / USEC_MSEC));
}

/* The client's connection to a node is dead without notice, or bytes on it are held up, by a fault
 * before calm, for longer than a reply may take. */
static bool is_silent(const struct wire *w)
{
	usec late = world.now + world.node_timeout_max;

	return w->is_deaf || w->back_at > late || w->serve_at > late || w->held_until > late;
}

/* The node has a vote for this client now. */
static bool is_usable(const struct client *c, int i)
{
	const struct sim_node *n = &world.node[i];

	return !n->room && !n->down && n->paused_until <= world.now &&
	       !is_silent(&world.wire[c->id][i]) &&
	       (c->policy.quarantine == 0 || !node_is_in_quarantine(n, client_wall(c)));
}

/* The node has a key in one of the places. */
static bool has_key_in(const struct sim_node *n, unsigned places)
{
	for (int i = 0; i < world.places; i++)
		if (places >> i & 1 && node_has_key(n, i))
			return true;
	return false;
}

/* No node reserves a place for longer than a releaser requests: only a clock that was set back
 * prolongs a reservation. A majority of nodes has no key there, nor slots of another limit, and has
 * a vote for this client. */
static bool are_free(const struct client *c, unsigned places)
{
	int nodes = 0;

	for (int i = 0; i < c->policy.nodes; i++) {
		const struct sim_node *n = &world.node[i];

		for (int place = 0; place < world.places; place++)
			if (places >> place & 1 && node_reserved_until(n, place) >
							   world.now + 2 * world.node_timeout_max)
				return false;
		nodes += is_usable(c, i) && !has_key_in(n, places) &&
			 !node_has_other_limit(n, c->policy.limit);
	}
	return nodes > c->policy.nodes / 2;
}

/* The node wakes the waiter in vain: it cannot ask, or it wants another key, too, that is held. */
static bool is_deaf(const struct sim_node *n, const char *waiter)
{
	for (int i = 0; i < n->subscribers; i++) {
		const struct sim_subscriber *s = &n->subscriber[i];
		const struct wire *w = &world.wire[s->client][s->node];
		const struct client *c = world.client[s->client];

		if (strcmp(s->waiter, waiter) == 0 && w->id == s->wire && !w->is_broken &&
			!is_silent(w) && !c->crashed && !c->done && c->paused_until <= world.now &&
			(world.limit > 1 || !(c->keys & (c->keys - 1)) || are_free(c, c->keys)))
			return false;
	}
	return true;
}

/* Waiters in a queue that cannot be woken. */
static int count_deaf(void)
{
	int most = 0;

	for (int i = 0; i < world.nodes; i++) {
		int count = 0;

		for (int queue = 0; queue < SIM_QUEUES; queue++) {
			const struct sim_node *n = &world.node[i];

			for (int j = 0; j < node_waiters(n, queue); j++)
				count += is_deaf(n, node_waiter(n, queue, j));
		}
		most = count > most ? count : most;
	}
	return most;
}

/* The client waits for a lock that is free. If its connection to the queue node is dead without
 * notice, its next look finds that out; if nodes have no vote, it waits for as long as they said.
 */
static bool is_idle(const struct client *c)
{
	const struct waiter *waiter = &c->session.lock.waiter;
	bool is_free = false, is_free_at_queue = false;

	if (!is_waiting(c))
		return false;
	/* One slot, or all keys. */
	for (int slot = 0; slot < usec_max(c->policy.limit, 1); slot++) {
		unsigned places = world.limit > 1 ? 1u << slot : c->keys;

		is_free |= are_free(c, places);
		is_free_at_queue |= waiter->state == WAITER_OFF ||
				    !has_key_in(&world.node[waiter->node], places);
	}
	/* Waiters beyond the first two ask only the queue node. If neither of the first two can
	 * ask, no client notices that this node alone has the key of a client that is gone. */
	if (!is_free_at_queue && waiter->rank > 1 && count_deaf() > 1)
		return false;
	return is_free &&
	       (c->policy.quarantine == 0 || c->session.lock.refusal != REFUSAL_NO_QUORUM) &&
	       (waiter->state == WAITER_OFF || !is_silent(&world.wire[c->id][waiter->node]));
}

/* The nodes that have the same key in that slot as node i. */
static int count_same_key(int i, int slot)
{
	int nodes = 0;

	for (int j = 0; j < world.nodes; j++)
		nodes += node_has_key(&world.node[j], slot) &&
			 strcmp(node_value(&world.node[i], slot),
				 node_value(&world.node[j], slot)) == 0;
	return nodes;
}

/* The keys in a slot, of a client that is gone or of several, are on a minority each. */
static bool has_remains(void)
{
	for (int slot = 0; slot < world.places; slot++) {
		int most = 0;

		for (int i = 0; i < world.nodes; i++)
			if (node_has_key(&world.node[i], slot))
				most = (int)usec_max(most, count_same_key(i, slot));
		if (most > 0 && most <= world.nodes / 2)
			return true;
	}
	return false;
}

/* A free lock that a client waits for is taken within two seconds and a node time-out; a second
 * later, if a node fell silent. Of several waiters that are stopped or cannot be reached, each may
 * be woken in vain, for as long as a reservation lasts and the next waiter needs to look. */
static void check_forgotten(void)
{
	usec bound =
		2 * USEC_SEC + world.node_timeout_max + (world.silent_node >= 0 ? USEC_SEC : 0);
	bool is_any_idle = false;

	if (!world.is_calm || world.alias)
		return;
	for (int i = 0; i < world.clients; i++) {
		struct client *c = world.client[i];

		if (!is_idle(c))
			c->idle_since = NEVER;
		else if (c->idle_since == NEVER)
			c->idle_since = world.now;
		is_any_idle |= c->idle_since != NEVER;
	}
	world.deaf = is_any_idle ? (int)usec_max(world.deaf, count_deaf()) : 0;
	world.remained = is_any_idle && (world.remained || has_remains());
	/* A release tells waiters that their queue was lost, but a key that expires does not:
	 * waiters beyond the first two look every five seconds. */
	bound += world.lost_queue ? 7 * USEC_SEC / 2 : 0;
	/* Attempts need all the other nodes: two of them, if connecting takes too long. If the
	 * remains name a list without a common majority, they may be those of a holder. */
	bound += world.remained ? 2 * USEC_SEC : 0;
	bound += world.remained && world.profile->step > 1 ? world.ttl_max : 0;
	bound += time_elsewhere();
	/* A holder with another list wakes the waiters at another node. */
	bound += world.profile->step ? 5 * USEC_SEC + world.node_timeout_max : 0;
	/* If both of the first two are deaf, only the others' looks remain, and each of them wakes
	 * one waiter. */
	bound += usec_max(world.deaf - 1, 0) * (5 * USEC_SEC + 2 * world.node_timeout_max);
	for (int i = 0; i < world.clients; i++) {
		const struct client *c = world.client[i];
		/* Waiters beyond the first two notice a silent queue node at their own look only.
		 */
		usec later = world.silent_node >= 0 && c->session.lock.waiter.rank > 1
				     ? 4 * USEC_SEC
				     : 0;

		if (world.now > usec_add(usec_max(c->idle_since, world.calm_since), bound + later))
			breach("forgotten", "free for %d ms, and c%d waits",
				(int)((world.now - c->idle_since) / USEC_MSEC), i);
	}
}

/* A client that is gone, stopped or not connected left its key on that node: no client deletes it
 * before it ends. If a holder's other keys were deleted, it keeps this one until it must give up.
 */
static bool is_left_over(int node, int slot)
{
	const struct sim_node *n = &world.node[node];

	for (int i = 0; i < world.clients; i++) {
		const struct client *c = world.client[i];

		if (((c->in_section && !world.profile->interferes) || is_waiting(c)) &&
			!c->crashed && c->paused_until <= world.now &&
			c->session.lock.peer[node].link == LINK_UP &&
			!is_silent(&world.wire[i][node]) &&
			node_has_token(n, slot, c->session.token))
			return false;
	}
	return node_has_key(n, slot);
}

static bool is_any_left_over(const struct client *c, int node)
{
	for (int i = 0; i < world.places; i++)
		if (c->window_places >> i & 1 && is_left_over(node, i))
			return true;
	return false;
}

/* The node could have the key of this client, which holds the lock, and lacks it. A slot that was
 * left with another limit keeps it out, too. */
static bool lacks_key(const struct client *c, int i)
{
	const struct sim_node *n = &world.node[i];
	const struct wire *w = &world.wire[c->id][i];
	const struct tenure *tenure = &c->session.lock.tenure;
	bool goes_on = lock_state(&c->session.lock) == LOCK_HELD && !tenure->unconfirmed &&
		       !tenure->denied;

	return c->in_section && goes_on && !c->crashed && c->paused_until <= world.now &&
	       is_usable(c, i) && has_vote(i, c) && n->refuses_until <= world.now &&
	       n->denies_until <= world.now && n->refuses_login_until <= world.now &&
	       !w->is_default && w->cut_until <= world.now && !has_token(c, i) &&
	       !is_any_left_over(c, i) && !node_has_other_limit(n, c->policy.limit);
}

/* A client that holds the lock has its key on every node that is up and may vote: it asks a node
 * again at two thirds of the TTL at the latest. */
static void check_repair(void)
{
	if (world.alias || (world.spike_percent > 0 && !world.is_calm))
		return;
	for (int i = 0; i < world.clients; i++) {
		struct client *c = world.client[i];
		usec bound = c->policy.quarantine + 2 * c->policy.ttl / 3 + 2 * USEC_SEC;

		for (int j = 0; j < c->policy.nodes; j++) {
			if (!lacks_key(c, j))
				c->missing_since[j] = NEVER;
			else if (c->missing_since[j] == NEVER)
				c->missing_since[j] = world.now;
			if (world.now > usec_add(c->missing_since[j], bound))
				breach("repair",
					"c%d holds the lock, and n%d lacks the key for %d ms", i, j,
					(int)((world.now - c->missing_since[j]) / USEC_MSEC));
		}
	}
}

/* The rivals reach the same nodes, a majority, and stay alive: one of them gets the lock. */
static void check_rivals(void)
{
	for (int i = 0; i < world.clients; i++)
		if (!world.client[i]->asked_all)
			return;
	if (world.sections == 0)
		breach("rivals", "none of %d got it", world.clients);
}

static bool all_done(void)
{
	for (int i = 0; i < world.clients; i++)
		if (!world.client[i]->done && world.client[i]->paused_until != SIM_FOREVER)
			return false;
	return true;
}

static void handle(const struct sim_event *ev)
{
	struct client *c = ev->a < SIM_CLIENTS ? world.client[ev->a] : NULL;

	switch (ev->kind) {
	case SIM_WAKE:
		if (c->waiting && c->wake_id == ev->id)
			client_go_on(c);
		break;
	case SIM_CONNECTED:
		net_connected(ev->a, ev->b, ev->id);
		break;
	case SIM_SERVE:
		net_serve(ev->a);
		break;
	case SIM_ANSWER:
		net_answer(ev->a, ev->b, ev->id, ev->incoming);
		break;
	case SIM_BROKEN:
		net_broken(ev->a, ev->b, ev->id);
		break;
	case SIM_DEADLINE:
		client_deadline(c, ev->id);
		break;
	case SIM_GONE:
		client_gone(c, ev->id);
		break;
	case SIM_FAULT:
		strike();
		break;
	case SIM_REVIVE:
		revive(ev->a, ev->id);
		break;
	case SIM_STEP:
		if (world.is_calm)
			break;
		trace("n%d's clock is set %u s ahead", ev->a, ev->id);
		/* A key with an expiry from a clock a minute ahead, or more, lasts that much
		 * longer once the clock is corrected. */
		if (world.node[ev->a].stepped > STEP_MAX)
			node_forget_waiters(&world.node[ev->a]);
		world.node[ev->a].stepped = (int64_t)ev->id * USEC_SEC;
		world.node[ev->a].jumped = true;
		break;
	case SIM_CUT_OFF:
		if (world.now <= world.faults_end && c->in_section) {
			world.faults++;
			note_fault();
			cut_off(ev->a);
		}
		break;
	case SIM_ROLL:
		roll(c, ev->b, ev->id);
		break;
	case SIM_EXPIRED:
		node_expire(&world.node[ev->a]);
		break;
	case SIM_FOREIGN:
		if (ev->a > 0)
			foreign_check(ev->id);
		else
			foreign_step();
		break;
	case SIM_LAST:
		strike_last(NULL);
		break;
	case SIM_CALM:
		calm_down();
		break;
	}
}

void world_run(const struct profile *profile, uint64_t seed, bool traces)
{
	usec limit;
	int instant = 0;

	while (heap_count > 0) /* of the world before */
		free(heap[--heap_count].incoming);
	memset(&world, 0, offsetof(struct world, list));
	order = 0;
	running = NULL;
	world.profile = profile;
	world.seed = world.random = seed;
	world.aside = ~seed;
	world.traces = traces;
	world.hash = 0xcbf29ce484222325;
	net_reset();
	make_world();
	plan_faults();
	if (world.has_foreign)
		foreign_begin();
	trace("%d nodes, %d clients, %d at once", world.nodes, world.clients, world.limit);
	for (int i = 0; i < world.clients; i++)
		client_begin(world.client[i], i);
	limit = 2000 * USEC_SEC;
	while (heap_count > 0 && !world.broken && !(all_done() && world.is_calm)) {
		struct sim_event ev = next_event();

		instant = ev.at == world.now ? instant + 1 : 0;
		if (instant > INSTANT_MAX)
			breach("spin", "a client is busy without an end");
		world.now = ev.at;
		world.events++;
		hash_in((uint64_t)world.now);
		hash_in((uint64_t)ev.kind << 48 | (uint64_t)ev.a << 40 | (uint64_t)ev.b << 32 |
			ev.id);
		handle(&ev);
		for (int i = 0; world.has_foreign && i < world.nodes; i++)
			net_tell_changes(i);
		check_liveness();
		check_forgotten();
		check_repair();
		if (world.now > limit && all_lack_voters())
			break;
		if (world.now > limit)
			breach("liveness", "not finished after %d s", (int)(limit / USEC_SEC));
	}
	world.ends_at = world.now;
	if (!all_lack_voters() && !world.broken && !all_done())
		breach("sleep", "a client sleeps without an end");
	if (!world.broken && world.profile->are_rivals)
		check_rivals();
	for (int i = 0; i < world.clients; i++)
		net_crash_client(i); /* frees the memory of its connections */
}
