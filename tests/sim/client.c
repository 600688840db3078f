/*
 * The part of redlock run that uses a session, a few times in a row, as a coroutine: the client
 * runs until it would sleep. The command is only a span of time here; its supervisor has the real
 * deadline and continues while redlock is paused, or dead.
 */
#include "sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_SIZE (64 * 1024)

/* ---- sleeping and waking ---- */

void client_go_on(struct client *c)
{
	if (!c->waiting || c->done)
		return;
	if (world.now < c->paused_until) {
		if (c->paused_until < SIM_FOREVER)
			schedule(c->paused_until, SIM_WAKE, c->id, 0, c->wake_id, NULL);
		return;
	}
	c->waiting = false;
	c->wake_id++;
	running = c;
	coroutine_go_on(&c->coroutine);
	running = NULL;
}

/* A holder is awake when its safety margin begins, or redlock has noticed that time. */
static void check_promptness(const struct client *c, usec until)
{
	const struct lock *lock = &c->session.lock;
	usec at = c->in_section && lock_state(lock) == LOCK_HELD
			  ? true_time(c, lock->tenure.valid_until - lock->policy.safety_margin)
			  : NEVER;

	if (until > usec_add(at, 10) && world.now >= c->paused_until)
		breach("promptness", "c%d sleeps through its safety margin", c->id);
}

void client_wait(usec until)
{
	struct client *c = running;

	check_promptness(c, until);
	c->wake_at = until;
	c->waiting = true;
	if (until != NEVER)
		schedule(usec_max(until, world.now), SIM_WAKE, c->id, 0, c->wake_id, NULL);
	coroutine_wait(&c->coroutine);
}

static void nap(usec duration)
{
	usec until = world.now + duration;

	while (world.now < until)
		client_wait(until);
}

/* ---- the command and its supervisor ---- */

static void end_section(struct client *c, const char *how)
{
	usec late = world.now - c->window_until;

	trace("c%d section ends: %s", c->id, how);
	/* Measure by the confirmed validity, not by the deadline that the supervisor derived from
	 * it.
	 */
	if (late > 0)
		breach("validity", "c%d: the command was there for %d us too long", c->id,
			(int)late);
	c->in_section = false;
	c->told_over = true;
	c->section_id++;
	world.last_held = world.now;
	if (c->crashed && world.is_calm)
		client_begin(c, c->id);
	client_go_on(c);
}

void client_gone(struct client *c, uint32_t id)
{
	if (c->in_section && id == c->section_id)
		end_section(c, "by itself, or by TERM");
}

/* The supervisor's own timer runs by the clock of the machine. */
void client_deadline(struct client *c, uint32_t id)
{
	usec wake_at, now = client_clock(c);

	if (!c->in_section || id != c->section_id)
		return;
	switch (deadline_step(&c->deadline, now, &wake_at)) {
	case DEADLINE_WAIT:
	case DEADLINE_SPREAD:
		break;
	case DEADLINE_TERM:
		trace("c%d TERM", c->id);
		schedule(usec_add(world.now, c->obeys_after), SIM_GONE, c->id, 0, c->section_id,
			NULL);
		break;
	case DEADLINE_KILL:
		trace("c%d KILL", c->id);
		schedule(world.now + c->dies_after, SIM_GONE, c->id, 0, c->section_id, NULL);
		break;
	}
	if (wake_at != NEVER)
		schedule(usec_max(true_time(c, wake_at), world.now + 1), SIM_DEADLINE, c->id, 0,
			c->section_id, NULL);
}

/* The places of a client: its slot, or all its keys. */
static unsigned places_of(const struct client *c)
{
	return world.limit > 1 ? 1u << (c->session.lock.stamp.slot - 1) : c->keys;
}

/* True time at which its token's first key or reader entry on the node expires; 0: one is missing.
 */
static usec token_ends(const struct client *c, const struct sim_node *n)
{
	usec ends = NEVER;

	for (int i = 0; i < world.places; i++)
		if (places_of(c) >> i & 1)
			ends = usec_min(ends, node_token_ends(n, i, c->session.token));
	return ends;
}

/* Called when a majority confirmed the lock: did a majority confirm in this round, and does the key
 * last on each of these nodes as long as redlock concludes? */
static void check_proof(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	usec until = true_time(c, lock->tenure.valid_until);
	int confirmed = 0, last = 0;

	for (int i = 0; i < c->policy.nodes; i++) {
		const struct wire *w = &world.wire[c->id][i];

		/* A server with two names counts once. A server that restarts between two replies
		 * has two identities: only the restart guard notices that. */
		if (i > 0 && i == world.alias &&
			world.wire[c->id][0].yes_round == lock->tenure.confirmed &&
			world.wire[c->id][0].yes_life == w->yes_life)
			continue;
		confirmed += w->yes_round == lock->tenure.confirmed;
		last += w->yes_round == lock->tenure.confirmed && w->yes_until >= until;
	}
	if (confirmed <= c->policy.nodes / 2)
		breach("majority", "c%d counts on %d of %d", c->id, confirmed, c->policy.nodes);
	else if (last <= c->policy.nodes / 2)
		breach("drift", "c%d: only %d of %d keys last as long as it concludes", c->id, last,
			c->policy.nodes);
	c->window_until = until;
	c->window_places = places_of(c);
	c->window_is_shared = c->policy.is_shared;
	if (draw_percent(world.trap_percent))
		schedule(true_time(c, draw_percent(50) ? lock->tenure.valid_until -
								 lock->policy.safety_margin
						       : lock_extend_at(lock)) -
				 USEC_MSEC,
			SIM_CUT_OFF, c->id, 0, 0, NULL);
}

/* The reply of a node to `redlock check` by token id. The state of the node does not change. */
static struct reply look(const struct client *c, int node)
{
	static struct resp resp;
	char id[TOKEN_ID_LEN + 1];
	struct request request;

	snprintf(id, sizeof(id), "%.40s", c->session.token);
	request_script(&request, OP_LOOK,
		&(struct lock_ref){
			.keys = &c->list,
			.slot = c->session.lock.stamp.slot,
			.token = id,
		},
		&(struct request_args){0});
	node_serve_copy(&world.node[node], &request, &resp);
	return reply_read(OP_LOOK, &resp);
}

/* The validity that `redlock check` reports is never longer than a majority of the nodes keeps the
 * holder's own entry: other readers may leave early, and then only that entry excludes a writer. */
static void check_validity(const struct client *c)
{
	static struct tally t;
	const struct reply absent = reply_absent(REASON_CONNECT, NULL);
	usec now = client_clock(c), left, until;
	int last = 0;

	if (world.alias > 0)
		return;
	tally_init(&t, c->policy.nodes);
	tally_clear(&t, now);
	for (int i = 0; i < c->policy.nodes; i++) {
		struct reply a = world.node[i].down ? absent : look(c, i);

		tally_take(&t, i, &a, c->session.token);
	}
	left = tally_time_left(&t, 100, now);
	until = true_time(c, now + left);
	for (int i = 0; i < c->policy.nodes; i++)
		last += !world.node[i].down && token_ends(c, &world.node[i]) >= until;
	if (tally_ownership(&t) == OWNERSHIP_OWNED && left > 0 && last <= c->policy.nodes / 2)
		breach("check", "c%d: only %d of %d entries last as long as check says", c->id,
			last, c->policy.nodes);
}

/* The command extends the lock by its id, with the shortest TTL: no key lasts shorter afterwards.
 */
static void extend_from_outside(const struct client *c)
{
	static struct resp resp;
	char id[TOKEN_ID_LEN + 1];
	struct request request;

	snprintf(id, sizeof(id), "%.40s", c->session.token);
	request_script(&request, OP_EXTEND,
		&(struct lock_ref){
			.keys = &c->list,
			.slot = c->session.lock.stamp.slot,
			.token = id,
		},
		&(struct request_args){.ttl = USEC_MSEC, .never_shortens = true});
	for (int i = 0; i < world.nodes; i++) {
		struct sim_node *n = &world.node[i];
		usec before = token_ends(c, n);

		if (n->down || world.now < n->paused_until)
			continue;
		node_serve(n, &request, &resp);
		if (token_ends(c, n) < before)
			breach("extend", "c%d's command shortens its key on n%d", c->id, i);
	}
}

/* Two lists that differ by two nodes may have majorities without a common node. */
static bool lists_meet(void)
{
	return world.profile->step < 2;
}

static void check_exclusion(const struct client *c)
{
	bool is_promised = world.exclusion_is_promised && lists_meet();
	int holders = 0;

	if (world.has_foreign && foreign_holds()) {
		world.overlaps++;
		if (is_promised)
			breach("exclusion", "c%d has it, and another program has it too", c->id);
	}
	for (int i = 0; i < world.clients; i++) {
		const struct client *other = world.client[i];

		/* For c itself, the window is the one that it had when it was killed. */
		if (!other->in_section && world.now >= other->window_until)
			continue;
		/* Readers may overlap in any number. */
		if (other->window_is_shared && c->policy.is_shared)
			continue;
		if (world.limit == 1 && !(other->window_places & places_of(c)))
			continue;
		holders++;
		if (other->policy.limit != c->policy.limit && is_promised)
			breach("limits", "c%d has a slot of %d, and c%d has one of %d", c->id,
				c->policy.limit, i, other->policy.limit);
		if (!(other->window_places & places_of(c)))
			continue;
		world.overlaps++;
		if (is_promised)
			breach("exclusion", "c%d has it, and c%d has it too", c->id, i);
	}
	if (holders >= usec_max(c->policy.limit, 1) && is_promised)
		breach("exclusion", "c%d has a slot of %d, and %d others have too", c->id,
			c->policy.limit, holders);
}

/* With --fair, no client that holds the lock alone overtakes a client that queued before it. */
static void check_order(const struct client *c)
{
	usec place = c->joined_at == NEVER ? c->trying_since : c->joined_at;

	if (!world.is_fair || c->had_fault || c->policy.is_shared || c->policy.quarantine ||
		world.places > 1 || world.alias || world.node[0].room)
		return;
	for (int i = 0; i < world.clients; i++) {
		const struct client *other = world.client[i];

		if (i != c->id && other->trying_since != NEVER && !other->had_fault &&
			other->joined_at < place && other->policy.nodes == c->policy.nodes &&
			other->policy.order[0][0] == c->policy.order[0][0])
			breach("order", "c%d has it, and c%d queued %d ms before it", c->id, i,
				(int)((place - other->joined_at) / USEC_MSEC));
	}
}

void client_joined(struct client *c, uint32_t session)
{
	if (c->joined_at == NEVER && session == c->sessions)
		c->joined_at = world.now;
}

/* The first two waiters ask each time when the key of a holder must have ended: half of the
 * shortest TTL, or more, after they asked before. `at_most` otherwise. */
static usec between_ends(usec at_most)
{
	usec each = at_most;

	for (int i = 0; i < world.clients; i++)
		each = usec_min(each, world.client[i]->policy.ttl / 2);
	return each * 95 / 100; /* by a clock that runs fast */
}

/* Twelve requests a minute, and a few at once when something happens; also of the first two, at a
 * node where they queue because the first node in the order has no room for them, unless another
 * program has the key. */
void client_chats(struct client *c)
{
	const struct waiter *w = &c->session.lock.waiter;
	/* An attempt leads to two or three of these. */
	usec each = w->full ? between_ends(15 * USEC_SEC) / 3 : 5 * USEC_SEC * 95 / 100;
	/* The two places have different limits, so each has its own sum. */
	usec *until = &c->chatted_until[w->full != 0];

	if (!world.is_calm || !w->ticket ||
		(w->rank < 2 && (!w->full || w->met_foreign || c->session.lock.attempt.is_woken ||
					c->session.lock.wakeup.in_vain > 1)))
		return;
	*until = usec_max(*until, world.now) + each;
	/* If its node restarts, a waiter queues at the next node, and at the first one again. */
	if (*until > world.now + (world.lost_queue ? 10 : 5) * each)
		breach("chatter", "c%d asks too often, with %d waiters ahead of it%s", c->id,
			w->rank, w->full ? ", at another node" : "");
}

/* However its wake-ups come, a client that waits does not try without a pause for long. */
static void check_attempts(struct client *c)
{
	/* Where the queue node lost the key of a holder: by its own looks, every half of a node
	 * time-out, and as often by those of another reader. */
	usec each = usec_min(USEC_SEC / 20, c->policy.node_timeout / 8);
	usec elsewhere = between_ends(20 * USEC_SEC);
	const struct waiter *w = &c->session.lock.waiter;

	/* Each change by another program, which may take and free the key in a loop, is worth an
	 * attempt. */
	if (w->met_foreign)
		each = usec_min(each, 5 * USEC_MSEC);
	if (world.places > 1) /* it goes from slot to slot, or from key to key */
		return;
	if (world.is_calm && w->full && !w->met_foreign && w->state != WAITER_POLLS &&
		!c->session.lock.attempt.is_woken && c->session.lock.refusal == REFUSAL_BUSY) {
		c->elsewhere_until = usec_max(c->elsewhere_until, world.now) + elsewhere;
		if (c->elsewhere_until > world.now + 8 * elsewhere)
			breach("chatter", "c%d asks all nodes too often", c->id);
	}
	c->tried_until = usec_max(c->tried_until, world.now) + each;
	if (c->tried_until > world.now + 60 * each)
		breach("chatter", "c%d tries without a pause", c->id);
}

/* The number is unique, and larger than every number issued before the attempt began; readers that
 * hold the lock together have no order among themselves. */
static void check_fence(struct client *c)
{
	int64_t fence = c->session.lock.tenure.fence;

	if (!c->policy.wants_fence || !world.exclusion_is_promised || !lists_meet() ||
		world.lost_numbers)
		return;
	for (int i = 0; i < world.places; i++) {
		if (!(places_of(c) >> i & 1))
			continue;
		if (fence <= c->fence_floor[i])
			breach("fence", "c%d has number %lld, and %lld was given before", c->id,
				(long long)fence, (long long)c->fence_floor[i]);
		if (fence > world.newest_fence[i])
			world.newest_fence[i] = fence;
	}
	for (int i = 0; i < world.clients; i++)
		if (i != c->id && world.limit == 1 && world.client[i]->keys & c->keys &&
			world.client[i]->fence == fence &&
			!(c->policy.is_shared && world.client[i]->fence_is_shared))
			breach("fence", "c%d has number %lld, and c%d had it too", c->id,
				(long long)fence, i);
	c->fence = fence;
	c->fence_is_shared = c->policy.is_shared;
}

static bool is_last_run(const char *text)
{
	return text[0] && strtoul(text, NULL, 10) == world.runs;
}

/* The nodes that have the record of the last run, and clocks that were not set. */
static int count_records(void)
{
	int nodes = 0;

	for (int i = 0; i < world.nodes; i++) {
		const struct sim_node *n = &world.node[i];

		nodes += !n->jumped && is_last_run(node_record(n));
	}
	return nodes;
}

/* Two runs of the job start at least D apart, unless too few nodes have the record of the last one:
 * its holder was killed, lost the lock or reached no majority, or nodes lost their data; or
 * majorities of two lists have no common node. */
static void check_once(struct client *c)
{
	usec apart = world.now - world.run_began;

	if (!c->once_per)
		return;
	if (lists_meet() && world.is_recorded && apart < c->once_per * 9 / 10 && !world.alias &&
		count_records() > world.nodes / 2)
		breach("once", "c%d runs its command %d ms after the last run, not %d", c->id,
			(int)(apart / USEC_MSEC), (int)(c->once_per / USEC_MSEC));
	world.run_began = world.now;
	world.is_recorded = false;
	snprintf(c->run, sizeof(c->run), "%u", ++world.runs);
}

static void begin_section(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	usec longest = world.is_calm      ? c->policy.ttl / 4
		       : draw_percent(70) ? c->policy.ttl / 2
					  : 4 * c->policy.ttl;
	/* Many a command exits before another client has noticed that it began. */
	usec length = draw_percent(30) ? 0 : draw_between(0, longest);

	check_exclusion(c);
	check_fence(c);
	check_once(c);
	length = world_held(c, length);
	c->rolls = false;
	trace("c%d section begins, %d ms", c->id, (int)(length / USEC_MSEC));
	check_proof(c);
	check_validity(c);
	deadline_init(&c->deadline, &c->deadline_policy, client_clock(c), lock->tenure.valid_until);
	c->in_section = true;
	for (int i = 0; i < world.nodes; i++)
		c->missing_since[i] = NEVER;
	c->section_began = world.now;
	c->obeys_after = draw_percent(50) ? draw_between(0, c->policy.ttl / 4) : NEVER;
	c->dies_after = draw_between(0, c->deadline_policy.reap / 2);
	world.sections++;
	world.last_held = world.now;
	if (length != NEVER)
		schedule(world.now + length, SIM_GONE, c->id, 0, c->section_id, NULL);
	client_deadline(c, c->section_id);
}

/* ---- redlock ---- */

/* Rivals get out of step because each event adds bits that no other rival has. */
static void check_random(const struct client *c, uint64_t before)
{
	uint64_t bits = c->session.event.random;

	for (int i = 0; i < world.clients; i++)
		if (bits == (i == c->id ? before : world.client[i]->session.event.random))
			breach("step", "c%d has the random bits of c%d", c->id, i);
}

/* After a stop and SIGCONT, or at random, the client asks the nodes at once if it still holds the
 * lock. */
static void extend(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	bool is_asking = lock->tenure.asking || lock_state(lock) != LOCK_HELD;
	uint32_t round = lock->stamp.round;

	session_extend(&c->session);
	if (!is_asking && lock_state(lock) == LOCK_HELD && lock->stamp.round == round)
		breach("extension", "c%d was continued, and does not ask", c->id);
}

/* However long the client slept: it reads the replies that arrived before it lets any timer expire.
 */
static void turn(struct client *c)
{
	struct session *s = &c->session;
	uint64_t before = s->event.random;

	if (world_stops(c))
		client_wait(c->paused_until);
	session_step(s, NEVER, -1);
	check_random(c, before);
	for (int i = 0; i < c->policy.nodes && s->event.kind == EV_TIME; i++)
		if (s->pool.reported[i] == CONN_UP && world.wire[c->id][i].inbox_len > 0)
			breach("answers", "c%d times out, with a reply of n%d unread", c->id, i);
}

/* As in run.c: the release stores the record of a run that was found on nodes that lack it. Returns
 * false if the job is due. */
static bool is_done(struct client *c)
{
	const struct last_run *last = &c->session.lock.last_run;
	const struct record record = {.text = last->text,
		.started = last->started,
		.keep = c->once_per,
		.nodes = last->granted & ~last->known};

	if (!last->known || last->age >= c->once_per)
		return false;
	snprintf(c->run, sizeof(c->run), "%.20s", last->text);
	trace("c%d: the job is done", c->id);
	/* A record is restored late, never early. */
	if (is_last_run(last->text) && count_records() > world.nodes / 2 &&
		world.now - world.run_began > c->once_per * 11 / 10 + 10 * world.ttl_max)
		breach("once", "c%d says done, and the last run began %d ms ago", c->id,
			(int)((world.now - world.run_began) / USEC_MSEC));
	if (record.nodes)
		session_set_record(&c->session, &record);
	return true;
}

/* The release of a lock that was not lost stores the record of the run. */
static void prepare_record(struct client *c, usec started)
{
	if (c->once_per && lock_state(&c->session.lock) == LOCK_HELD)
		session_set_record(&c->session, &(struct record){.text = c->run,
							.started = started,
							.keep = c->once_per,
							.nodes = ~0u});
}

/* The client counts no node that has not stored the record of its run. */
static void check_stored(const struct client *c)
{
	unsigned nodes = world.stored[strtoul(c->run, NULL, 10) % SIM_RUNS];

	world.is_recorded |= is_last_run(c->run) && lock_stored(&c->session.lock) > world.nodes / 2;
	if (!world.alias && lock_stored(&c->session.lock) > __builtin_popcount(nodes))
		breach("once", "c%d says that %d nodes stored the record, and %d did", c->id,
			lock_stored(&c->session.lock), __builtin_popcount(nodes));
}

static void keep(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	usec valid_until = lock->tenure.valid_until;
	usec stopped_until = c->paused_until;
	bool is_lost = false;

	begin_section(c);
	while (c->in_section) {
		turn(c);
		if (!c->in_section)
			break;
		if (c->paused_until != stopped_until || draw_percent(2))
			extend(c);
		stopped_until = c->paused_until;
		/* Not drawn. */
		if ((world.seed + c->section_id) % 4 == 0)
			extend_from_outside(c);
		if (lock->tenure.valid_until != valid_until && lock_state(lock) == LOCK_HELD) {
			valid_until = c->deadline.valid_until = lock->tenure.valid_until;
			trace("c%d extended", c->id);
			check_proof(c);
			check_validity(c);
			client_deadline(c, c->section_id);
		}
		if (lock_state(lock) != LOCK_HELD && !is_lost) {
			is_lost = true;
			world.losses++;
			if (c->rolls)
				breach("repair", "c%d lost the lock in a rolling restart", c->id);
			trace("c%d lost: %d", c->id, lock->loss);
			deadline_lose(&c->deadline, client_clock(c));
			client_deadline(c, c->section_id);
		}
	}
}

/* The node has a key of the client's session, which the client can know of. */
static bool knows_of_key(const struct client *c, int node, int slot)
{
	const struct sim_node *n = &world.node[node];
	const char *value = node_value_of(n, slot, &c->session);
	usec left_at = node_note(n, value).left_at;
	/* An attempt cannot know of a request of an earlier one that arrives late; a holder has one
	 * token only. */
	bool is_known =
		c->session.lock.tenure.confirmed > 0 && node_is_token(value, c->session.token);
	bool is_settled =
		left_at > 0 && ((!is_known && world.wire[c->id][node].settled_at >= left_at) ||
				       world.now >= left_at + c->policy.ttl);

	return node_has_key_of(n, slot, &c->session) && !n->jumped && !is_settled;
}

/*
 * Every key that may still be on a node is recorded as a pending release, for as long as the key
 * can last. A request that arrives after the client gave up its connection may set the key after
 * the node reported no key, or after the end of every other key of the session; otherwise the key
 * lasts longer than the record by exactly the delay of that request.
 */
static void check_pending(const struct client *c, int node, int slot)
{
	const struct session *s = &c->session;
	const struct sim_node *n = &world.node[node];
	const char *value = node_value_of(n, slot, s);
	usec late_by = node_note(n, value).late_by;
	const struct peer *m = &s->lock.peer[node];

	if (!knows_of_key(c, node, slot))
		return;
	/* The user had no right to release the key of an earlier attempt: that attempt is over. */
	if (n->denied && !node_is_token(value, s->sent_token[node]))
		return;
	if (!m->pending || !node_is_token(value, s->sent_token[node]) ||
		(world.limit > 1 && m->slot != slot + 1))
		breach("pending", "c%d left its key on n%d, and has no record", c->id, node);
	else if (node_key_ends(n, slot, s) >
		 true_time(c, m->pending_until) + late_by * 6 / 5 + 2 * USEC_MSEC)
		breach("pending", "c%d's key on n%d lasts longer than recorded", c->id, node);
}

static void check_all_pending(const struct client *c)
{
	for (int i = 0; i < c->policy.nodes && !world.alias; i++)
		for (int place = 0; place < world.places; place++)
			check_pending(c, i, place);
}

/* A client that reports its lock as released has left its key on a minority at most. Faults of the
 * nodes since their answers are no fault of the client. */
static void check_released(const struct client *c)
{
	const struct lock *lock = &c->session.lock;
	int kept = 0;

	if (!lock->tenure.confirmed || world.alias || !lock_is_released(lock) ||
		lock->releasing.leave_for > 0)
		return;
	for (int i = 0; i < c->policy.nodes; i++)
		for (int place = 0, found = 0; place < world.places && !found; place++)
			kept += found = places_of(c) >> place & 1 && knows_of_key(c, i, place);
	if (kept > c->policy.nodes / 2)
		breach("released", "c%d says released, and %d of %d nodes have its key", c->id,
			kept, c->policy.nodes);
}

/* The last attempt found no majority: this outage lasts until an attempt finds one. It begins with
 * the attempt, not with the pause before: that much is added to --wait. */
static void note_outage(struct client *c, usec since)
{
	const struct lock *lock = &c->session.lock;
	usec lasts = world.now - since;

	if (c->outage == 0)
		lasts = usec_min(lasts, client_clock(c) - lock->tally.began);
	if (lock->refusal != REFUSAL_NO_QUORUM) {
		c->outage = 0;
		return;
	}
	c->outage += world.now - since;
	c->outages += lasts;
}

/*
 * A client tries for as long as --wait says, and may finish the attempt that is under way then. A
 * silent queue node may delay the last attempt, rivals are asked for two node time-outs, and the
 * fencing number takes one more. With --node-wait, the outages are added, as long as that says.
 * A client gives up no earlier than that, by a clock that may be fast.
 */
static void check_patience(const struct client *c)
{
	const struct lock *lock = &c->session.lock;
	usec tried = world.now - c->trying_since, node_wait = c->policy.node_wait;
	usec added = node_wait == NEVER ? 0 : node_wait;
	usec most = usec_add(c->policy.wait, added);
	bool gave_up = lock_state(lock) == LOCK_RELEASING || lock_state(lock) == LOCK_OVER;

	/* While it is stopped, attempts and outages take as long as the stop does. */
	if (c->paused_until >= c->trying_since)
		return;
	if (most != NEVER && tried > most + most / 10 + 8 * c->policy.node_timeout + USEC_SEC / 4)
		breach("patience", "c%d tried for %d ms", c->id, (int)(tried / USEC_MSEC));
	if (!gave_up || tried >= most - most / 10)
		return;
	if (lock->refusal == REFUSAL_BUSY &&
		tried < usec_add(c->policy.wait, usec_min(c->outages, added)) / 10 * 9)
		breach("patience", "c%d gave up after %d ms, with outages of %d ms", c->id,
			(int)(tried / USEC_MSEC), (int)(c->outages / USEC_MSEC));
	/* The first attempt of an outage takes up to four node time-outs, unless the client is
	 * stopped meanwhile. */
	if (lock->refusal == REFUSAL_NO_QUORUM && !tally_is_hopeless(&lock->tally) &&
		c->paused_until < c->trying_since &&
		c->outage + 4 * c->policy.node_timeout < node_wait / 10 * 9)
		breach("patience", "c%d gave up after an outage of %d ms", c->id,
			(int)(c->outage / USEC_MSEC));
}

/* Among rivals only a minority is ever away: a majority answers each of them in time. */
static void check_refusal(const struct client *c)
{
	const struct lock *lock = &c->session.lock;

	if (world.profile->are_rivals && lock_state(lock) != LOCK_HELD &&
		lock->refusal == REFUSAL_NO_QUORUM)
		breach("quorum", "c%d finds none, and a majority is up", c->id);
}

/* A release is short, whichever nodes do not answer, and longer if one of them has been slow: the
 * caller waits for it. The clock may be slow. */
static void check_release_time(const struct client *c, usec since)
{
	usec took = world.now - since;
	usec slow = 4 * c->policy.node_timeout;
	usec bound = usec_min(usec_max(USEC_SEC, slow), c->policy.ttl / 2);

	if (c->paused_until < since && took > bound + bound / 10)
		breach("patience", "c%d released for %d ms", c->id, (int)(took / USEC_MSEC));
}

/* redlock reports a lock as lost if and only if a majority misses its key at the release. */
static void check_end(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	bool is_lost = lock->loss == LOSS_DENIED;
	int missed = 0, told = 0;

	for (int i = 0; i < c->policy.nodes; i++) {
		const struct wire *w = &world.wire[c->id][i];

		missed += w->end_missed;
		told += w->end_missed && w->end_told;
	}
	if (!c->is_ending || world.alias > 0)
		return;
	world.denials += is_lost;
	if (is_lost && missed <= c->policy.nodes / 2)
		breach("end", "c%d says lost, and %d of %d miss its key", c->id, missed,
			c->policy.nodes);
	if (is_lost && !world.profile->forgets && !world.profile->interferes)
		breach("end", "c%d says lost, and no key was lost", c->id);
	if (!is_lost && told > c->policy.nodes / 2 && client_clock(c) < lock->tenure.valid_until)
		breach("end", "c%d says released, and %d of %d missed its key", c->id, told,
			c->policy.nodes);
}

static bool has_left_key(const struct client *c, const struct sim_node *n, int place)
{
	const char *value = node_value_of(n, place, &c->session);

	return *value && strcmp(value + TOKEN_ID_LEN, c->session.token + TOKEN_ID_LEN) == 0;
}

/* A key that its holder lets expire excludes other clients until its end. */
static void check_left(const struct client *c, usec since)
{
	int left = 0;

	for (int i = 0; i < c->policy.nodes; i++) {
		const struct sim_node *n = &world.node[i];
		bool has_all = true;

		for (int place = 0; place < world.places; place++)
			has_all &= !(places_of(c) >> place & 1) || has_left_key(c, n, place);
		left += has_all;
	}
	if (!c->had_fault && !world.alias && left <= c->policy.nodes / 2 &&
		world.now < since + c->leave_for * 9 / 10 - 2 * USEC_MSEC)
		breach("leave", "c%d left its key on %d of %d", c->id, left, c->policy.nodes);
}

/* The connections died before the release, and new ones would not: a majority gets it. */
static void check_heard(const struct client *c)
{
	int kept = 0;

	for (int i = 0; i < c->policy.nodes; i++)
		for (int place = 0, found = 0; place < world.places && !found; place++)
			kept += found = places_of(c) >> place & 1 && knows_of_key(c, i, place);
	if (kept > c->policy.nodes / 2)
		breach("deaf", "c%d is through, and %d of %d nodes have its key", c->id, kept,
			c->policy.nodes);
}

static bool node_is_up(int i)
{
	const struct sim_node *n = &world.node[i];

	return !n->down && world.now >= n->paused_until && world.now >= world.wire[0][i].cut_until;
}

/* Returns true if the client got the lock. */
static bool run_once(struct client *c)
{
	struct session *s = &c->session;
	struct err e;
	char owner[24];
	usec since, started;
	bool got_it, saw_it_free, is_left, is_deaf;
	int rc;

	c->sessions++;
	c->policy.is_shared = world.limit == 1 && draw_percent(world.readers_percent);
	/* Some take over: the newest is the first. Not drawn. */
	c->policy.ticket = !world.is_fair && (world.seed + c->sessions) % 8 == 0 ? TICKET_FIRST : 0;
	snprintf(owner, sizeof(owner), "c%d.%u", c->id, c->sessions);
	memset(s->sent_token, 0, sizeof(s->sent_token)); /* a new process */
	net_begin_session(c->id);
	world_choose_nodes(c);
	rc = session_open(s, &c->policy, &world.list[c->policy.nodes], &c->list, owner, &e);
	assert(rc == 0);
	c->had_fault = !world.is_healthy;
	c->trying_since = world.now;
	c->joined_at = NEVER;
	c->chatted_until[0] = c->chatted_until[1] = c->tried_until = c->elsewhere_until = 0;
	c->wants_since = usec_min(c->wants_since, world.now);
	session_start(s);
	c->outage = c->outages = 0;
	for (uint32_t attempt = 0; lock_state(&s->lock) == LOCK_TRYING;) {
		since = world.now;
		turn(c);
		note_outage(c, since);
		if (s->lock.stamp.attempt != attempt && lock_state(&s->lock) == LOCK_TRYING) {
			memcpy(c->fence_floor, world.newest_fence, sizeof(c->fence_floor));
			check_attempts(c);
		}
		attempt = s->lock.stamp.attempt;
	}
	check_patience(c);
	check_refusal(c);
	c->asked_all = true;
	for (int i = 0; i < c->policy.nodes; i++)
		c->asked_all &= !node_is_up(i) || s->lock.peer[i].was_sent > 0;
	if (lock_state(&s->lock) == LOCK_HELD)
		check_order(c);
	c->trying_since = NEVER;
	got_it = lock_state(&s->lock) == LOCK_HELD;
	saw_it_free = c->policy.only_looks && s->lock.refusal == REFUSAL_NONE;
	trace("c%d %s", c->id, got_it ? "holds it" : saw_it_free ? "sees it free" : "is refused");
	if (got_it && is_done(c)) {
		c->wants_since = NEVER;
	} else if (got_it) {
		c->wants_since = NEVER;
		started = client_clock(c);
		keep(c);
		prepare_record(c, started);
	} else if (saw_it_free) {
		c->wants_since = NEVER;
	} else {
		world.refusals++;
	}
	c->leave_for =
		draw_percent(world.leave_percent) ? draw_between(USEC_MSEC, c->policy.ttl) : 0;
	if (c->once_per)
		c->leave_for = 0;
	c->window_until = 0;
	since = world.now;
	is_left = lock_state(&s->lock) == LOCK_HELD && c->leave_for > 0;
	c->is_ending = lock_state(&s->lock) == LOCK_HELD;
	net_begin_release(c->id);
	is_deaf = c->is_ending && !c->leave_for && world_deafens(c);
	c->had_fault |= is_deaf;
	session_release(s, c->leave_for);
	/* The lock may have expired unnoticed. */
	c->is_ending = c->is_ending && s->lock.loss == LOSS_NONE;
	while (lock_state(&s->lock) != LOCK_OVER)
		turn(c);
	check_end(c);
	check_stored(c);
	c->is_ending = false;
	check_release_time(c, since);
	check_all_pending(c);
	check_released(c);
	if (is_deaf && c->paused_until < since)
		check_heard(c);
	session_close(s);
	world_leave_nodes(c);
	trace("c%d is through", c->id);
	/* On a healthy network a release leaves no key of any attempt, once the bytes in the
	 * sockets have arrived. */
	if (!c->had_fault) {
		nap(world.patience);
		for (int i = 0; i < world.nodes * world.places; i++)
			if (!c->had_fault &&
				node_has_key_of(&world.node[i / world.places], i % world.places, s))
				breach("release", "c%d left its key on n%d", c->id,
					i / world.places);
		if (is_left)
			check_left(c, since);
	}
	return got_it || saw_it_free;
}

static void live(void)
{
	struct client *c = running;
	bool got_it, is_patient;

	nap(draw_between(0, world.profile->are_rivals ? world.start_spread : 2 * c->policy.ttl));
	for (;;) {
		got_it = run_once(c);
		/* redlock refuses two names of one server. */
		if (world.profile->are_rivals || (world.is_calm && (got_it || world.alias > 0)))
			break;
		is_patient = !got_it || draw_percent(50);
		nap(is_patient ? draw_between(0, c->policy.ttl / (world.is_long ? 10 : 1)) : 0);
	}
	c->done = true;
	trace("c%d is done", c->id);
	coroutine_wait(&c->coroutine);
	abort();
}

void client_begin(struct client *c, int id)
{
	char *stack = c->stack ? c->stack : malloc(STACK_SIZE);

	assert(stack);
	c->id = id;
	c->stack = stack;
	c->done = c->crashed = c->in_section = c->told_over = c->is_ending = false;
	c->trying_since = c->wants_since = c->idle_since = c->joined_at = NEVER;
	c->paused_until = c->had_no_voters = 0;
	c->wake_id++;
	c->section_id++;
	coroutine_begin(&c->coroutine, stack, STACK_SIZE, live);
	c->waiting = true;
	schedule(world.now, SIM_WAKE, id, 0, c->wake_id, NULL);
}

/* redlock is killed: the bytes that it sent may still arrive. The supervisor notices and ends the
 * command; redlock is started anew later. */
void client_crash(struct client *c)
{
	trace("c%d is killed", c->id);
	net_crash_client(c->id);
	world_leave_nodes(c);
	c->trying_since = c->wants_since = NEVER;
	if (c->in_section) {
		deadline_lose(&c->deadline, client_clock(c));
		client_deadline(c, c->section_id);
	}
	c->crashed = true;
	c->waiting = false;
	c->wake_id++;
}
