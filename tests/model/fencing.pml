/*
 * fencing: the numbers of the lock rise.
 *
 * N nodes and two clients with one attempt each, and no clock: any key may expire at any moment. So the result holds
 * however wrong the clocks are. README.md says which properties are proved, for which bounds.
 *
 * Round 1: a node that grants the lock raises its counter and returns it. Round 2: the client writes the largest of
 * the counted replies, T, to the nodes that granted; a node accepts if the lock there is still the client's and its
 * counter is not above T. A majority of acceptances issues T.
 *
 * Every request waits at its node until it arrives; its reply is a step of its own, and the client's reaction
 * another. Any of them may take any time: that is how messages, and clients, are lost. A release is a key that
 * expires.
 *
 * Each switch below takes one assumption away.
 *
 * With SNAPSHOT there is a clock, and a node that restarts has an older counter without knowing: it gives the
 * larger of its counter plus one and the client's time, K numbers a tick, as long as that is off by S ticks at
 * most, and has no vote for Q ticks after the restart. Clients' clocks are slow or fast, by any amount; those of
 * the nodes agree.
 */

#ifndef N
#define N 3
#endif
#define C 2
#ifndef LEFTOVER
#define LEFTOVER 1 /* the counters begin anywhere from 0 to this: left by earlier attempts */
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif

#ifdef SNAPSHOT
#ifndef TICKS
#define TICKS 3
#endif
#ifndef Q
#define Q 3
#endif
#define S 1
#define K 3 /* more than there are attempts */
byte clock, waits[N], time[C]; /* waits: of the node's quarantine */
#endif

#ifdef HALF_QUORUM
#define QUORUM (N / 2)
#else
#define QUORUM (N / 2 + 1)
#endif

#ifdef ENDINGS /* this many keys may expire; without it: any number */
byte endings;
#define ENDINGS_LEFT && endings < ENDINGS -> endings++
#else
#define ENDINGS_LEFT
#endif

#define L(c, n) ((c) * N + (n))

/* A node: the holder of the key (client + 1), and the counter. */
byte key[N], counter[N];

/* Between a client and a node, */
#define NOTHING 0
#define SET 1
#define GRANTED 2 /* the reply is under way */
#define COUNTED 3 /* the reply has arrived */
#define WRITE 4
#define ACCEPTED 5 /* the reply is under way */
byte link[C * N];
byte number[C * N]; /* the number that GRANTED carries */

/* A client: the largest number seen, later its own; the votes of the round; are all equal. */
#define IDLE 0
#define ASKING 1
#define WRITING 2
#define ISSUED 3
byte state[C], top[C], votes[C];
#ifdef ONE_ROUND
bit differ[C];
#endif

/* State for the properties: the largest number that was issued when the attempt began, and the order in which the
 * clients reached their majorities. */
byte floor[C], place[C];
byte highest, majorities, restarts;

#ifdef SNAPSHOT
#define QUARANTINE(n) (waits[n] > 0)
#else
#define QUARANTINE(n) false
#endif

/*
 * Nodes are alike, and so are clients: of all the states that differ only in their names, one is
 * kept. Nodes are sorted; of all the orders of the clients the one with the smallest result is taken.
 */
c_code {
struct view { unsigned char node[N][3 + 2 * C], client[C][8]; };

static void view_take(struct view *v, const int *order)
{
	int n, c, i, j;
	unsigned char row[sizeof(v->node[0])];

	memset(v, 0, sizeof(*v));
	for (n = 0; n < N; n++) {
		unsigned char *p = v->node[n];

		for (i = 0; i < C; i++)
			if (now.key[n] == order[i] + 1)
				*p = i + 1;
		p++;
		*p++ = now.counter[n];
#ifdef SNAPSHOT
		*p++ = now.waits[n];
#endif
		for (i = 0; i < C; i++) {
			*p++ = now.link[L(order[i], n)];
			*p++ = now.number[L(order[i], n)];
		}
	}
	for (i = 1; i < N; i++)
		for (j = i; j > 0 && memcmp(v->node[j - 1], v->node[j], sizeof(row)) > 0; j--) {
			memcpy(row, v->node[j], sizeof(row));
			memcpy(v->node[j], v->node[j - 1], sizeof(row));
			memcpy(v->node[j - 1], row, sizeof(row));
		}
	for (i = 0; i < C; i++) {
		unsigned char *p = v->client[i];

		c = order[i];
		*p++ = now.state[c];
		*p++ = now.top[c];
		*p++ = now.votes[c];
		*p++ = now.floor[c];
		*p++ = now.place[c];
#ifdef ONE_ROUND
		*p++ = now.differ[c];
#endif
#ifdef SNAPSHOT
		*p++ = now.time[c];
#endif
	}
}

static void view_put(const struct view *v)
{
	int n, c;

	for (n = 0; n < N; n++) {
		const unsigned char *p = v->node[n];

		now.key[n] = *p++;
		now.counter[n] = *p++;
#ifdef SNAPSHOT
		now.waits[n] = *p++;
#endif
		for (c = 0; c < C; c++) {
			now.link[L(c, n)] = *p++;
			now.number[L(c, n)] = *p++;
		}
	}
	for (c = 0; c < C; c++) {
		const unsigned char *p = v->client[c];

		now.state[c] = *p++;
		now.top[c] = *p++;
		now.votes[c] = *p++;
		now.floor[c] = *p++;
		now.place[c] = *p++;
#ifdef ONE_ROUND
		now.differ[c] = *p++;
#endif
#ifdef SNAPSHOT
		now.time[c] = *p++;
#endif
	}
}

static void canonical(void)
{
	static const int order[][C] = {{0, 1}, {1, 0}};
	struct view best, v;
	unsigned i;

	view_take(&best, order[0]);
	for (i = 1; i < sizeof(order) / sizeof(order[0]); i++) {
		view_take(&v, order[i]);
		if (memcmp(&v, &best, sizeof(v)) < 0)
			best = v;
	}
	view_put(&best);
}
}
#define DONE c_code { canonical(); }

#define EACH(n) n = 0; do :: n == N -> n = 0; break :: else ->
#define NEXT(n) n++ od
#define FORGET(c, n) number[L(c, n)] = 0

/* The short cut issues as soon as the client has read equal numbers, however late that is; a late one is then a
 * small one, as it must be. So with it only the first two properties are checked. */
#ifdef ONE_ROUND
#define IN_ORDER(c, k) true
#define COMPARE(c, n) \
	if \
	:: votes[c] > 0 && number[L(c, n)] != top[c] -> differ[c] = 1 \
	:: else \
	fi
#define ENOUGH_SAID(c) !differ[c]
#else
#define IN_ORDER(c, k) ((place[k] < place[c]) == (top[k] < top[c]))
#define COMPARE(c, n) skip
#ifdef NO_WRITE_BACK
#define ENOUGH_SAID(c) true
#else
#define ENOUGH_SAID(c) false
#endif
#endif

/* Larger than every number issued before the attempt began; all different, and in the order in which the majorities
 * were reached. */
inline issue(c)
{
	state[c] = ISSUED;
	assert(top[c] > floor[c]);
	k = 0;
	do
	:: k == C -> k = 0; break
	:: else ->
		if
		:: k != c && state[k] == ISSUED ->
			assert(top[k] != top[c]);
			assert(IN_ORDER(c, k))
		:: else
		fi;
		k++
	od;
	if
	:: top[c] > highest -> highest = top[c]
	:: else
	fi;
	EACH(n) link[L(c, n)] = (link[L(c, n)] == SET -> SET : NOTHING); FORGET(c, n); NEXT(n);
	votes[c] = 0
}

#define HEAR(c, n) \
	:: atomic { link[L(c, n)] == GRANTED && state[c] == ASKING -> \
		link[L(c, n)] = COUNTED; \
		COMPARE(c, n); \
		if \
		:: number[L(c, n)] > top[c] -> top[c] = number[L(c, n)] \
		:: else \
		fi; \
		number[L(c, n)] = 0; \
		votes[c]++; DONE } \
	:: atomic { link[L(c, n)] == ACCEPTED && state[c] == WRITING -> \
		votes[c]++; \
		link[L(c, n)] = NOTHING; FORGET(c, n); DONE }

#ifdef SNAPSHOT
#define READ_CLOCK(c) \
	if \
	:: time[c] = 0 \
	:: time[c] = TICKS + S \
	fi
#else
#define READ_CLOCK(c) skip
#endif

proctype Client(byte c)
{
	byte n, k;

end:	do
	:: atomic { state[c] == IDLE ->
		state[c] = ASKING; floor[c] = highest; READ_CLOCK(c);
		EACH(n) link[L(c, n)] = SET; NEXT(n); DONE }
	HEAR(c, 0)
	HEAR(c, 1)
	HEAR(c, 2)
	:: atomic { state[c] == ASKING && votes[c] >= QUORUM ->
		majorities++; place[c] = majorities;
		if
		:: ENOUGH_SAID(c) -> issue(c)
		:: else ->
			state[c] = WRITING; votes[c] = 0;
			EACH(n)
				if
				:: link[L(c, n)] == COUNTED -> link[L(c, n)] = WRITE
				:: link[L(c, n)] == GRANTED -> link[L(c, n)] = NOTHING; FORGET(c, n)
				:: else
				fi;
			NEXT(n)
		fi;
		DONE }
	:: atomic { state[c] == WRITING && votes[c] >= QUORUM -> issue(c); DONE }
	od
}

#ifdef NO_LOCK_COMPARE
#define STILL_OURS(c, n) true
#else
#define STILL_OURS(c, n) key[n] == c + 1
#endif
#ifdef NO_COUNTER_COMPARE
#define NOT_ABOVE(c, n) true
#else
#define NOT_ABOVE(c, n) counter[n] <= top[c]
#endif

/* The number that a node gives. */
#if defined(SNAPSHOT) && !defined(NO_TIME)
#define LEAST(c) (time[c] + S < clock -> clock - S : time[c])
#define WITHIN(c) (LEAST(c) > clock + S -> clock + S : LEAST(c))
#define RAISE(c, n) \
	counter[n] = (WITHIN(c) * K > counter[n] -> WITHIN(c) * K : counter[n] + 1)
#else
#define RAISE(c, n) counter[n]++
#endif

/* One script each. A refusal is a request that is still under way. */
#define SERVE(c, n) \
	:: atomic { link[L(c, n)] == SET && key[n] == 0 && !QUARANTINE(n) -> \
		key[n] = c + 1; RAISE(c, n); \
		if \
		:: state[c] == ASKING -> \
			link[L(c, n)] = GRANTED; number[L(c, n)] = counter[n] \
		:: else -> link[L(c, n)] = NOTHING \
		fi; DONE } \
	:: atomic { link[L(c, n)] == WRITE && STILL_OURS(c, n) && NOT_ABOVE(c, n) -> \
		counter[n] = top[c]; \
		if \
		:: state[c] == WRITING -> link[L(c, n)] = ACCEPTED \
		:: else -> link[L(c, n)] = NOTHING; FORGET(c, n) \
		fi; DONE }

/* A request of an attempt travels on a connection that existed when the attempt began, so it dies with the node. */
#define BREAK(c, n) \
	if \
	:: link[L(c, n)] == WRITE || link[L(c, n)] == SET -> link[L(c, n)] = NOTHING; FORGET(c, n) \
	:: else \
	fi

#ifdef SNAPSHOT
proctype Clock()
{
	byte n;

end:	do
	:: atomic { clock < TICKS ->
		clock++;
		EACH(n) waits[n] = (waits[n] > 0 -> waits[n] - 1 : 0); NEXT(n); DONE }
	od
}
#endif

proctype Node(byte n)
{
#ifdef SNAPSHOT
	byte old;

#endif
end:	do
	SERVE(0, n)
	SERVE(1, n)
	:: atomic { key[n] != 0 ENDINGS_LEFT -> key[n] = 0; DONE }
#ifdef SNAPSHOT
	:: atomic { restarts < RESTARTS ->
		restarts++; key[n] = 0;
		select(old : 0 .. counter[n]);
		counter[n] = old; old = 0; waits[n] = Q;
		BREAK(0, n); BREAK(1, n);
		DONE }
#endif
	od
}

init {
	byte left;

	atomic {
		select(left : 0 .. LEFTOVER); counter[0] = left;
		select(left : 0 .. LEFTOVER); counter[1] = left;
		select(left : 0 .. LEFTOVER); counter[2] = left; left = 0;
		run Client(0); run Client(1);
#ifdef SNAPSHOT
		run Clock();
#endif
		run Node(0); run Node(1); run Node(2);
		DONE
	}
}
