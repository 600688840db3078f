/*
 * Another program that takes the key "k" with the algorithm of Redlock, as other libraries do: SET
 * NX on one node after the other, and a deletion of its own value on each in turn. It knows no
 * queue, and wakes no waiter.
 */
#include "sim/sim.h"

#include "lock/pace.h"

#include <stdio.h>
#include <string.h>

#define PLACE 0 /* of the key */
#define TTL_MAX (4 * USEC_SEC)

static struct {
	int next; /* the node to ask */
	bool is_releasing;
	uint32_t count; /* of attempts: each has a value of its own */
	char value[40];
	int granted;
	usec ttl, step; /* from node to node */
	usec began; /* the attempt */
	usec until; /* the key is its own until then; 0: it has none */
	bool held; /* it releases a key that it held */
	bool took_in_calm; /* the last section began after the faults */
	/* Of the clients that watched the key at its last release; 0: the client did not. */
	uint32_t attempt[SIM_CLIENTS], session[SIM_CLIENTS];
} foreign;

/* A random stream of its own: the program does not change what else happens. */
static uint64_t stream;

static usec pick(usec low, usec high)
{
	stream = stream * 6364136223846793005u + 1442695040888963407u;
	return low + (usec)((stream >> 33) % (uint64_t)(high - low + 1));
}

static void again_in(usec delay)
{
	schedule(world.now + delay, SIM_FOREIGN, 0, 0, 0, NULL);
}

void foreign_begin(void)
{
	memset(&foreign, 0, sizeof(foreign));
	stream = world.seed;
	foreign.ttl = pick(200 * USEC_MSEC, TTL_MAX);
	foreign.step = pick(20, 2 * USEC_MSEC);
	again_in(pick(0, foreign.ttl));
}

bool foreign_holds(void)
{
	return world.now < foreign.until;
}

static bool answers(const struct sim_node *n)
{
	return !n->down && n->paused_until <= world.now && n->refuses_until <= world.now;
}

/* Another client has the key, which excludes this program. */
static void check_taken(void)
{
	for (int i = 0; i < world.clients; i++) {
		const struct client *c = world.client[i];

		if ((c->in_section || world.now < c->window_until) &&
			c->window_places >> PLACE & 1 && world.exclusion_is_promised)
			breach("exclusion", "another program has it, and c%d has it too", i);
	}
}

static void start_release(usec delay)
{
	foreign.is_releasing = true;
	foreign.next = 0;
	again_in(delay);
}

static void end_attempt(void)
{
	usec left = foreign.began + foreign.ttl - foreign.ttl / 10 - 2 * USEC_MSEC - world.now;
	bool got_it = foreign.granted > world.nodes / 2 && left > 0;

	trace("another program %s", got_it ? "holds the key" : "is refused");
	if (!got_it) {
		start_release(foreign.step);
		return;
	}
	check_taken();
	foreign.took_in_calm |= world.is_calm;
	foreign.until = world.now + left;
	/* Some programs are killed, and their keys expire. */
	if (pick(0, 9) == 0)
		foreign.next = world.nodes, foreign.is_releasing = true, again_in(left);
	else
		start_release(pick(0, left));
}

static void take(void)
{
	struct sim_node *n = &world.node[foreign.next];

	if (answers(n) && !node_has_key(n, PLACE)) {
		node_set(n, PLACE, foreign.value, foreign.ttl);
		foreign.granted++;
	}
	if (++foreign.next < world.nodes)
		again_in(foreign.step);
	else
		end_attempt();
}

/* On a network without faults, the client watches the key and waits. */
static bool watches(const struct client *c)
{
	return c->trying_since != NEVER && !c->had_fault && world.now >= c->paused_until &&
	       c->session.lock.attempt.watches && pace_is_watched(&c->session.lock);
}

static void note_watchers(void)
{
	for (int i = 0; i < world.clients; i++) {
		const struct client *c = world.client[i];

		foreign.attempt[i] = watches(c) ? c->session.lock.stamp.attempt : 0;
		foreign.session[i] = c->sessions;
	}
	schedule(world.now + world.node_timeout_max + 100 * USEC_MSEC, SIM_FOREIGN, 1, 0,
		foreign.count, NULL);
}

void foreign_check(uint32_t count)
{
	int taken = 0;

	for (int i = 0; i < world.nodes; i++)
		taken += node_has_key(&world.node[i], PLACE);
	/* It has taken the key again, or a client has. */
	if (foreign.count != count || taken > 0)
		return;
	for (int i = 0; i < world.clients; i++) {
		const struct client *c = world.client[i];

		if (foreign.attempt[i] && foreign.session[i] == c->sessions && !c->had_fault &&
			c->trying_since != NEVER && world.now >= c->paused_until &&
			c->session.lock.stamp.attempt == foreign.attempt[i])
			breach("watch", "another program has released the key, and c%d waits", i);
	}
}

static void release(void)
{
	if (foreign.until) {
		trace("another program releases the key");
		foreign.until = 0;
		foreign.held = foreign.next < world.nodes; /* or it was killed */
		world.last_held = world.now;
	}
	if (foreign.next < world.nodes) {
		struct sim_node *n = &world.node[foreign.next];

		if (answers(n) && strcmp(node_value(n, PLACE), foreign.value) == 0)
			node_delete(n, PLACE);
		foreign.next++;
		again_in(foreign.step);
		return;
	}
	foreign.is_releasing = false;
	foreign.next = foreign.granted = 0;
	if (foreign.held)
		note_watchers();
	foreign.held = false;
	/* Once more after the faults; then the key is left to the clients. */
	if (!foreign.took_in_calm)
		again_in(pick(0, 1) ? foreign.step : pick(0, foreign.ttl));
}

void foreign_step(void)
{
	if (foreign.is_releasing) {
		release();
		return;
	}
	if (foreign.next == 0) {
		foreign.began = world.now;
		snprintf(foreign.value, sizeof(foreign.value), "another-program-%u",
			++foreign.count);
	}
	take();
}
