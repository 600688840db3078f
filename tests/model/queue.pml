/*
 * queue: waiters of one key (S = 1) or of a semaphore with two slots, at their queue node. Does the protocol ever
 * forget a waiter, and in which order are waiters served?
 *
 * C clients arrive once each: they ask, wait, hold and release, or leave. Newcomers that do not wait come and go any
 * number of times; with FAIR they say --fair, otherwise they take the key if it is free and not reserved. READERS and
 * FAIR have a bit for each client. A script on the node is one step. Its reply is part of that step; a message that
 * PUBLISH sends is a second step, and the client reads it before any later reply, as on one connection.
 *
 * Faults, FAULTS of them at any moment: KILL, STOP (SIGSTOP; the client may continue later), FLUSH (FLUSHALL; with
 * KEY_ONLY the key alone is lost), DROP (a connection breaks), CRASH (a newcomer that holds is killed), SPLIT (an
 * attempt fails on the other nodes). A key of a killed holder expires. A client whose key is lost still holds the lock
 * on the other nodes; attempts of others are granted here, fail there, and are undone.
 *
 * Time. One tick is a second. It comes when all is quiet: no message and no reservation is left, and no client has a
 * step to do at once. Then the first two of the queue look, as far as they know that they are the first two. NO_CLOCK:
 * no client looks or asks by the clock in between. NO_ENDINGS: a reservation ends early only if no client that runs is
 * about to use it. Waiters at a higher rank never look here: their look every 5 s and more is not needed.
 *
 * The properties. bad 1: with STRICT, an exclusive client was granted before one with a lower ticket. bad 2: a
 * reader was granted before a queued writer with a lower ticket, without a wake-up. bad 3: a key is free, and a
 * client waits, after BOUND ticks since the last fault, departure or grant. bad 4: the same with readers that wait
 * for readers. bad 5: more than BOUND + 1 looks woke another client in vain. bad 6: with ALONE, readers hold
 * together.
 *
 * Each other switch takes one rule away; the search must then find a violation.
 */

#ifndef C
#define C 3
#endif
#ifndef S
#define S 1
#endif
#ifndef READERS
#define READERS 0
#endif
#ifndef FAIR
#define FAIR 0
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef BOUND
#define BOUND 1
#endif
#ifndef BATCH
#define BATCH 32 /* readers that one script wakes */
#endif

/* The node: the holder of each slot (client + 1, OTHER or SHARED) and the readers in it; the reservations; the slots
 * that a newcomer holds, here or elsewhere. */
byte key[S], in;
bit reserved[S], out[S];
/* The queue: the members, the clients that are subscribed, the score in the sorted set. */
bit q[C], sub[C];
byte score[C];

/* A client. JOINING: join is under way; TRIED: the node granted, the other nodes did not; RELEASING, LEAVING: its
 * hand-off is under way. */
#define OUT 0
#define IDLE 1
#define ASKING 2
#define JOINING 3
#define TRIED 4
#define HELD 5
#define RELEASING 6
#define LEAVING 7
#define GONE 8
byte state[C], slot[C], ticket[C];
byte stopped[C]; /* 1: stopped, 2: dead */
bit near[C]; /* it knows that it is one of the first two */
bit due[C]; /* it looks soon */
bit delays[C]; /* its attempt failed elsewhere: it uses a reservation that its own join made, but not at once */
byte has[C]; /* it knows a reservation for this slot, + 1; hv: the node still has that reservation */
bit hv[C];
bit uses[C], av[C]; /* the attempt under way names a reservation; it is valid */
bit fresh[C]; /* a reservation arrived during the attempt */
/* Messages to it: wake-ups by slot, and which are valid; "among the first two"; "the queue was lost". */
byte push[C], pushv[C];
bit nudged[C], again[C];
/* Reservations that it passes on. */
byte pass[C], passv[C];
byte ticks, idle, looks, faults, bad;

c_code {
#define OTHER (C + 1)
#define SHARED (C + 2)

static int is_reader(int c) { return READERS >> c & 1; }
static int is_fair(int c) { return is_reader(c) || FAIR >> c & 1; }
static int runs(int c) { return !now.stopped[c]; }

static void fault(void) { now.faults++; now.ticks = now.idle = now.looks = 0; }
static void remove_from_queue(int c) { now.q[c] = 0; }

static int first(int but)
{
	for (;;) {
		int c, best = -1;

		for (c = 0; c < C; c++)
			if (now.q[c] && c != but && (best < 0 || now.score[c] < now.score[best]))
				best = c;
#ifndef NO_RECEIVERS
		if (best >= 0 && !now.sub[best]) {
			now.q[best] = 0;
			continue;
		}
#endif
		return best;
	}
}

static int rank(int c)
{
	int d, n = 0;

	for (d = 0; d < C; d++)
		n += now.q[d] && now.score[d] < now.score[c];
	return n;
}

static int two(void)
{
	int c, set = 0;

	for (c = 0; c < C; c++)
		if (now.q[c] && rank(c) < 2)
			set |= 1 << c;
	return set;
}

static void nudge(int before)
{
#ifndef NO_NUDGE
	int c, set = two() & ~before;

	for (c = 0; c < C; c++)
		if (set >> c & 1 && now.sub[c])
			now.nudged[c] = 1;
#endif
}

static void no_reservation(int s)
{
	int c;

	now.reserved[s] = 0;
	for (c = 0; c < C; c++) {
		now.pushv[c] &= ~(1 << s);
		now.passv[c] &= ~(1 << s);
		if (now.has[c] == s + 1)
			now.hv[c] = 0;
		if (now.slot[c] == s)
			now.av[c] = 0;
	}
}

static void reserve(int s)
{
	no_reservation(s);
#ifndef NO_RESERVATION
	now.reserved[s] = 1;
#endif
}

static int wake(int s, int but, int only_readers)
{
	int n = 0, f;

	while ((f = first(but)) >= 0 && !((n || only_readers) && !is_reader(f)) && n < BATCH) {
#ifndef STAYS_WHEN_WOKEN
		remove_from_queue(f);
#endif
		if (now.sub[f]) {
			now.push[f] |= 1 << s;
			now.pushv[f] |= now.reserved[s] << s;
		}
		n++;
		if (!is_reader(f))
			break;
#ifdef STAYS_WHEN_WOKEN
		break;
#endif
	}
	return n;
}

static int give(int s)
{
	if (first(-1) < 0)
		return 0;
	reserve(s);
	return wake(s, -1, 0);
}

static void compact(void)
{
	int c, d;
	unsigned char t[C], o[C];

	for (c = 0; c < C; c++)
		if (now.state[c] == GONE && !now.q[c])
			now.ticket[c] = now.score[c] = 0;
	for (c = 0; c < C; c++) {
		t[c] = now.ticket[c] != 0;
		o[c] = now.score[c] != 0;
		for (d = 0; d < C; d++) {
			if (now.ticket[c] && now.ticket[d] && now.ticket[d] < now.ticket[c])
				t[c]++;
			if (now.score[c] && now.score[d] && now.score[d] < now.score[c])
				o[c]++;
		}
	}
	for (c = 0; c < C; c++)
		now.ticket[c] = t[c], now.score[c] = o[c];
}

static void go(int c)
{
	now.state[c] = GONE;
	now.slot[c] = now.sub[c] = now.near[c] = now.due[c] = now.delays[c] = 0;
	now.push[c] = now.pushv[c] = now.nudged[c] = now.again[c] = 0;
	now.has[c] = now.hv[c] = now.uses[c] = now.av[c] = now.fresh[c] = 0;
	now.pass[c] = now.passv[c] = 0;
	now.stopped[c] = 0;
}

/* ---- the client, on messages ---- */

static void pass_on(int c, int s, int v)
{
#ifndef NO_PASS
	now.pass[c] |= 1 << s;
	now.passv[c] = (now.passv[c] & ~(1 << s)) | v << s;
#endif
}

static void take(int c, int s, int v)
{
	switch (now.state[c]) {
	case HELD: case RELEASING: case TRIED:
		if (now.slot[c] != s)
			pass_on(c, s, v);
		break;
	default:
		if (now.has[c] && now.has[c] != s + 1)
			pass_on(c, now.has[c] - 1, now.hv[c]);
		now.has[c] = s + 1;
		now.hv[c] = v;
		now.fresh[c] = 1;
	}
}

static void absorb(int c)
{
	int s;

	if (!runs(c))
		return;
	for (s = 0; s < S; s++)
		if (now.push[c] >> s & 1)
			take(c, s, now.pushv[c] >> s & 1);
	if (now.push[c])
		now.delays[c] = 0;
	now.push[c] = now.pushv[c] = 0;
	if (now.nudged[c])
		now.near[c] = 1;
	if (now.again[c])
		now.due[c] = 1;
	now.nudged[c] = now.again[c] = 0;
}

/* ---- scripts ---- */

static int waits(int c)
{
	return runs(c) && (now.state[c] == IDLE || now.state[c] == ASKING || now.state[c] == JOINING);
}

static void remove_key(int c, int s)
{
	if (now.key[s] == c + 1)
		now.key[s] = 0;
	if (now.key[s] == SHARED && c < C && now.in >> c & 1) {
		now.in &= ~(1 << c);
		if (!now.in)
			now.key[s] = 0;
	}
}
static int has_key(int c, int s)
{
	return now.key[s] == c + 1 || now.key[s] == SHARED && c < C && now.in >> c & 1;
}

/* 0: none; 1: another client is releasing, or has tried; 2: another holds it elsewhere */
static int conflict(int c, int s)
{
	int d, worst = now.out[s] ? 2 : 0;

	for (d = 0; d < C; d++) {
		if (d == c || now.slot[d] != s || is_reader(c) && is_reader(d))
			continue;
		if (now.state[d] == HELD)
			worst = 2;
		else if ((now.state[d] == RELEASING || now.state[d] == TRIED) && !worst)
			worst = 1;
	}
	return worst;
}

static void check_order(int c)
{
	int d;

	for (d = 0; d < C; d++) {
		int is_earlier = now.ticket[d] && (!now.ticket[c] || now.ticket[d] < now.ticket[c]);

		if (d == c || !waits(d) || !is_earlier || is_reader(c) && is_reader(d))
			continue;
#ifdef STRICT
		if (!is_reader(c) && !is_reader(d))
			now.bad = 1;
#endif
		#ifdef LINE
		if (is_reader(c) && !now.uses[c])
#else
		if (now.q[d] && is_reader(c) && !now.uses[c])
#endif

			now.bad = 2;
	}
}

static void ask(int c, int s)
{
	now.due[c] = 0;
	now.state[c] = ASKING;
	now.slot[c] = now.has[c] ? now.has[c] - 1 : s;
	now.uses[c] = now.has[c] != 0;
	now.av[c] = now.hv[c];
	now.fresh[c] = 0;
	now.delays[c] = 0;
}

static void call_if_empty(int c)
{
	int d;

	for (d = 0; d < C; d++)
		if (now.q[d])
			return;
	for (d = 0; d < C; d++)
		if (now.sub[d] && d != c)
			now.again[d] = 1;
}

static void acquire(int c, int luck)
{
	int s = now.slot[c], before = two(), f = first(-1), granted = 0;
	int k = now.key[s], other = f >= 0 && f != c;

	if (k == SHARED && is_reader(c)) {
#ifdef IGNORES_WAITERS
		other = 0;
#endif
		if (now.uses[c] || !other)
			granted = 1;
		else
			wake(s, -1, 1);
	} else if (k) {
		;
	} else if (now.reserved[s] && !(now.uses[c] && now.av[c])) {
		;
	} else if (is_fair(c) && !now.reserved[s] && other) {
		give(s);
	} else
		granted = 1;
	if (granted) {
#ifndef LEAVERS_DO_NOT_CALL
		if (now.ticket[c])
			call_if_empty(c);
#endif
		now.key[s] = is_reader(c) ? SHARED : c + 1;
		if (is_reader(c))
			now.in |= 1 << c;
		no_reservation(s);
		remove_from_queue(c);
#ifndef NO_CHAIN
		if (is_reader(c))
			wake(s, -1, 1);
#endif
	}
	nudge(before);
	if (granted) {
		now.ticks = now.idle = now.looks = 0;
		int con = conflict(c, s);

		now.state[c] = TRIED;
		if (luck == 2)
			fault();
		if (runs(c) && luck != 2 && (con == 0 || con == 1 && luck)) {
			check_order(c);
#ifdef ALONE
			if (now.in & ~(1 << c))
				now.bad = 6;
#endif
			now.state[c] = HELD;
			absorb(c);
			if (now.has[c] && now.has[c] != s + 1)
				pass_on(c, now.has[c] - 1, now.hv[c]);
			now.has[c] = now.hv[c] = now.fresh[c] = now.near[c] = now.due[c] = 0;
			now.uses[c] = now.av[c] = 0;
		} else if (runs(c)) {
			if (!now.fresh[c])
				now.has[c] = now.hv[c] = 0;
		}
	} else if (runs(c)) {
		absorb(c);
		if (!now.fresh[c])
			now.has[c] = now.hv[c] = 0;
		now.uses[c] = now.av[c] = 0;
		now.state[c] = now.has[c] ? IDLE : JOINING;
	} else {
		now.state[c] = IDLE;
		now.due[c] = 1;
		now.uses[c] = now.av[c] = 0;
	}
}

static void join(int c)
{
	int s, d, before = two(), yes = 0, top = 0, is_reserved = 0, delays = now.delays[c] && !now.push[c];

	for (d = 0; d < C; d++) {
		if (now.score[d] > top)
			top = now.score[d];
	}
#ifdef NEWCOMERS_DO_NOT_CALL
	if (now.ticket[c])
#endif
		call_if_empty(c);
	now.sub[c] = 1;
	if (!now.ticket[c]) {
		int last = 0;
		for (d = 0; d < C; d++)
			if (now.ticket[d] > last)
				last = now.ticket[d];
		now.ticket[c] = last + 1;
		now.score[c] = top + 1;
	}
#ifdef TAIL
	if (!now.q[c])
		now.score[c] = top + 1;
#endif
	now.q[c] = 1;
	first(-1);
#ifndef NO_REPAIR
	for (s = 0; s < S; s++) {
		int f = first(yes ? c : -1), is_free = now.key[s] == 0;

		if (f < 0 || !(is_free && !now.reserved[s] || now.key[s] == SHARED && is_reader(f)))
			continue;
		if (f == c) {
			yes = 1;
#ifdef OUT_WITH_YES
			remove_from_queue(c);
#endif
			if (is_free)
				reserve(s);
			now.push[c] |= 1 << s;
			now.pushv[c] |= now.reserved[s] << s;
			if (is_reader(c))
				wake(s, c, 1);
		} else {
			if (is_free) {
				reserve(s);
				if (!yes && ++now.looks > BOUND + 1)
					now.bad = 5;
			}
			wake(s, yes ? c : -1, !is_free);
		}
	}
#endif
	nudge(before);
	now.nudged[c] = 0;
	now.state[c] = IDLE;
	now.due[c] = 0;
	for (s = 0; s < S; s++)
		is_reserved |= now.reserved[s];
	if (runs(c)) {
		now.near[c] = rank(c) < 2;
#ifndef NO_LOOK_AFTER_RESERVATION
		now.due[c] = now.near[c] && is_reserved;
#endif
		absorb(c);
		now.delays[c] = delays;
	}
}

/* a client leaves, or passes on a reservation */
static void leave_slot(int s, int v)
{
	if (now.key[s] == 0) {
		if (now.reserved[s] && !v)
			return;
		if (!now.reserved[s])
			give(s);
		else if (!wake(s, -1, 0))
			no_reservation(s);
	} else if (now.key[s] == SHARED)
		wake(s, -1, 1);
}

static void leave(int c)
{
	int before = two(), s;

#ifndef LEAVERS_DO_NOT_CALL
	call_if_empty(c);
#endif
	remove_from_queue(c);
	if (now.has[c])
		leave_slot(now.has[c] - 1, now.hv[c]);
	else
		for (s = 0; s < S; s++)
			leave_slot(s, 0);
	now.ticks = now.idle = now.looks = 0;
	nudge(before);
	now.has[c] = now.hv[c] = 0;
	if (!runs(c))
		return;
#ifndef DEAF_WHEN_LEAVING
	absorb(c);
#endif
	if (!now.has[c] && !now.pass[c])
		go(c);
}

static void do_pass(int c, int s)
{
	int before = two();

	leave_slot(s, now.passv[c] >> s & 1);
	nudge(before);
	now.pass[c] &= ~(1 << s);
	now.passv[c] &= ~(1 << s);
}

static void hand_off(int c, int s)
{
	int before = two(), had;

	if (c < C)
		remove_from_queue(c);
	had = has_key(c, s);
	remove_key(c, s);
	if (now.key[s] == 0) {
#ifdef GONE_REPLACES
		had = 1;
#endif
		/* The key was gone, and a client that was woken since is on its way. */
		if (!had && now.reserved[s])
			;
		else if (!give(s))
			no_reservation(s);
	} else if (now.key[s] != SHARED || c >= C || !is_reader(c))
		reserve(s);
	nudge(before);
}

static void release(int c)
{
	hand_off(c, now.slot[c]);
	if (runs(c))
		absorb(c);
	if (!now.pass[c])
		go(c);
	else {
		now.state[c] = LEAVING;
		now.has[c] = 0;
	}
}

static void undo(int c)
{
	int s = now.slot[c], before = two();

	if (has_key(c, s)) {
		remove_key(c, s);
		if (now.key[s] == 0 && now.reserved[s] && !wake(s, -1, 0))
			no_reservation(s);
	}
	nudge(before);
	now.state[c] = JOINING;
	absorb(c);
	if (!now.fresh[c])
		now.has[c] = now.hv[c] = 0;
	now.uses[c] = now.av[c] = 0;
	now.delays[c] = !now.has[c];
	join(c);
}

/* ---- the world ---- */

/* is the reservation of slot s still on its way to a client that acts on it at once */
static int is_awaited(int s)
{
	int c;

	for (c = 0; c < C; c++)
		if (runs(c) && ((now.pushv[c] | now.passv[c]) >> s & 1 ||
			now.has[c] == s + 1 && now.hv[c] && !now.delays[c] ||
			now.uses[c] && now.av[c] && now.slot[c] == s))
			return 1;
	return 0;
}

static int may_end(int s)
{
#ifdef NO_ENDINGS
	return now.reserved[s] && !is_awaited(s);
#else
	return now.reserved[s];
#endif
}


static void flush(void)
{
	int c, s;

#ifndef KEY_ONLY
	for (c = 0; c < C; c++)
		now.q[c] = 0;
#endif
	for (s = 0; s < S; s++) {
#ifndef KEY_ONLY
		no_reservation(s);
#endif
		now.key[s] = 0;
	}
	now.in = 0;
	fault();
}

static void drop_connection(int c)
{
	now.sub[c] = 0;
	now.push[c] = now.pushv[c] = now.nudged[c] = now.again[c] = 0;
	if (now.state[c] == IDLE || now.state[c] == ASKING) {
		now.state[c] = JOINING;
		now.uses[c] = now.av[c] = 0;
	}
	fault();
}

static void close_dead(int c)
{
	if (now.state[c] == HELD || now.state[c] == TRIED || now.state[c] == RELEASING) {
		now.sub[c] = 0;
		now.push[c] = now.pushv[c] = now.nudged[c] = now.again[c] = 0;
		now.pass[c] = now.passv[c] = now.has[c] = now.hv[c] = 0;
	} else
		go(c);
}

static void expire(int c)
{
	remove_key(c, now.slot[c]);
	go(c);
}

static int is_quiet(void)
{
	int c, s;

	for (s = 0; s < S; s++)
		if (now.reserved[s])
			return 0;
	for (c = 0; c < C; c++) {
		int st = now.state[c];

		if (!runs(c) || st == GONE)
			continue;
		if (st != OUT && st != IDLE && st != HELD)
			return 0;
		if (now.push[c] || now.nudged[c] || now.again[c] || now.pass[c] || now.due[c])
			return 0;
		if (st == IDLE && now.has[c])
			return 0;
	}
	return 1;
}

static int is_held(int s)
{
	int c;

	if (now.key[s] || now.out[s])
		return 1;
	for (c = 0; c < C; c++)
		if (now.slot[c] == s && (now.state[c] == HELD || now.state[c] == TRIED || now.state[c] == RELEASING))
			return 1;
	return 0;
}

static void tick(void)
{
	int c, s, waiters = 0, writers = 0, is_free = 0;

	for (s = 0; s < S; s++)
		is_free |= !is_held(s);
	for (c = 0; c < C; c++) {
		writers += !is_reader(c) && (now.q[c] && now.sub[c] || now.state[c] == IDLE);
		if (now.state[c] == IDLE) {
			waiters += runs(c);
			if (runs(c) && now.near[c])
				now.due[c] = 1;
		}
	}
	now.ticks = is_free && waiters ? now.ticks + 1 : 0;
	if (now.ticks > BOUND)
		now.bad = 3;
	now.idle = now.key[0] == SHARED && waiters && !writers ? now.idle + 1 : 0;
	if (now.idle > BOUND)
		now.bad = 4;
}

static int may_arrive(int c)
{
	/* clients of one kind come in the order of their numbers */
	return now.state[c] == OUT &&
		!(c > 0 && is_reader(c) == is_reader(c - 1) && is_fair(c) == is_fair(c - 1) && now.state[c - 1] == OUT);
}

/* newcomers that do not wait */
static void newcomer(int s)
{
	now.ticks = now.idle = now.looks = 0;
	if (FAIR) {
		int before = two(), d;

		if (first(-1) >= 0)
			give(s);
		else {
			now.key[s] = OTHER;
			now.out[s] = 1;
		}
		nudge(before);
	} else {
		now.key[s] = OTHER;
		now.out[s] = 1;
	}
}

/* Guards of the steps below. Spin takes no plain calls in c_expr, so names stand in parentheses there. */
static int is_in(int c, int s) { return now.state[c] == s; }
static int is_running(int c, int s) { return runs(c) && is_in(c, s); }
static int may_fail(int c) { return runs(c) && now.faults < FAULTS && now.state[c] != OUT && now.state[c] != GONE; }
static int fault_left(void) { return now.faults < FAULTS; }
static int is_stopped(int c, int how) { return now.stopped[c] == how; }
static int is_early(int c) { return now.state[c] < TRIED; }
static int is_releasing(int c, int s) { return conflict(c, s) == 1; }
static int is_open(int s) { return !now.key[s] && !now.reserved[s] && !is_held(s); }
static int may_expire(int c) { return !runs(c) && (now.state[c] == HELD || now.state[c] == TRIED); }
}

#define ME PClient->c
#define STEP(may, does) :: atomic { c_expr { may } -> c_code { does; compact(); }; assert(bad == 0) }
#define RUNS(s) (is_running)(ME, s)

proctype Client(byte c)
{
end:	do
	STEP((may_arrive)(ME), ask(ME, 0))
#if S > 1
	STEP((may_arrive)(ME), ask(ME, 1))
#endif
	STEP((is_in)(ME, ASKING), acquire(ME, 0))
	STEP((is_in)(ME, ASKING) && (is_releasing)(ME, now.slot[ME]), acquire(ME, 1))
#ifdef SPLIT
	STEP((is_in)(ME, ASKING) && (fault_left)(), acquire(ME, 2))
#endif
	STEP((is_in)(ME, JOINING), join(ME))
	STEP(RUNS(TRIED), undo(ME))
	STEP((runs)(ME) && (now.push[ME] || now.nudged[ME] || now.again[ME]), absorb(ME))
	STEP(RUNS(IDLE) && now.has[ME], ask(ME, 0))
	STEP(RUNS(IDLE) && !now.has[ME] && now.due[ME], now.state[ME] = JOINING)
#ifndef NO_CLOCK
	STEP(RUNS(IDLE) && !now.has[ME], now.state[ME] = JOINING)
	STEP(RUNS(IDLE) && !now.has[ME], ask(ME, 0))
#if S > 1
	STEP(RUNS(IDLE) && !now.has[ME], ask(ME, 1))
#endif
#endif
	STEP(now.pass[ME] & 1, do_pass(ME, 0))
#if S > 1
	STEP(now.pass[ME] & 2, do_pass(ME, 1))
#endif
	STEP(RUNS(HELD), now.state[ME] = RELEASING)
	STEP((is_in)(ME, RELEASING), release(ME))
#ifndef NO_QUIT
	STEP(RUNS(IDLE), now.state[ME] = LEAVING)
#endif
	STEP((is_in)(ME, LEAVING), leave(ME))
#ifdef MIN_HOLD
	STEP(RUNS(HELD), now.stopped[ME] = 2)
#endif
	/* faults */
#ifdef KILL
	STEP((may_fail)(ME), now.stopped[ME] = 2; fault())
#endif
#ifdef STOP
	STEP((may_fail)(ME), now.stopped[ME] = 1; fault())
	STEP((is_stopped)(ME, 1), now.stopped[ME] = 0)
#endif
	STEP((is_stopped)(ME, 2) && now.sub[ME], close_dead(ME))
	STEP((is_stopped)(ME, 2) && !now.sub[ME] && (is_early)(ME), go(ME))
	STEP((may_expire)(ME), expire(ME))
#ifdef DROP
	STEP((runs)(ME) && (fault_left)() && now.sub[ME], drop_connection(ME))
#endif
	od
}

proctype World()
{
end:	do
	STEP((may_end)(0), no_reservation(0))
	STEP((is_open)(0), newcomer(0))
	STEP(now.out[0], now.out[0] = 0; hand_off(OTHER - 1, 0))
#if S > 1
	STEP((may_end)(1), no_reservation(1))
	STEP((is_open)(1), newcomer(1))
	STEP(now.out[1], now.out[1] = 0; hand_off(OTHER - 1, 1))
#endif
#ifdef CRASH
	STEP((fault_left)() && now.out[0], now.out[0] = 0; remove_key(OTHER - 1, 0); fault())
#endif
#ifdef FLUSH
	STEP((fault_left)(), flush())
#endif
	STEP((is_quiet)(), tick())
	od
}

init {
	atomic {
		run Client(0); run Client(1);
#if C > 2
		run Client(2);
#endif
#if C > 3
		run Client(3);
#endif
		run World()
	}
}
