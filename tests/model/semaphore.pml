/*
 * semaphore: a slot never has two holders at the same moment, nor are there more than L holders.
 *
 * N nodes, C clients and L slots, each a lock of its own; no clock. A client tries any slot, gives that up at any
 * moment and tries another, while requests for the first are still under way. README.md says which properties are
 * proved, for which bounds.
 *
 * Time. exclusion.pml proves that a key outlives the validity that rests on it; here that is assumed. A client's
 * validity ends at any moment: it released, it was slow, or it crashed. Only then its keys may expire, each at any
 * moment: a release is a key that expires. A node that restarts has no vote until every lock that it may have
 * forgotten has ended: those of all attempts that were in progress.
 *
 * The network. Every request waits at its node (link) until it arrives there; its reply is a second step, and the
 * client's reaction a third. Any of them may take any time: that is how messages are lost. A refusal is a request
 * that is still under way.
 *
 * Each switch below takes one assumption away.
 */

#ifndef N
#define N 3
#endif
#define C 3
#define L 2
#ifndef LIMIT
#define LIMIT L /* of holders; one less shows that all slots are taken at once */
#endif

#ifdef HALF_QUORUM
#define QUORUM (N / 2)
#else
#define QUORUM (N / 2 + 1)
#endif

#ifdef RESTARTS /* without it: any number */
byte restarts;
#define RESTARTS_LEFT restarts < RESTARTS -> restarts++;
#else
#define RESTARTS_LEFT true ->
#endif

#define K(n, s) ((n) * L + (s))
#define P(c, n) ((c) * N + (n))
#define BIT(i) (1 << (i))

/* A node: the holder of each of its keys (client + 1), and the clients whose attempts it waits for, since it
 * restarted. */
byte key[N * L], barred[N];

/* Between a client and a node: the request for the slot that it tries, or the reply, */
#define NOTHING 0
#define SET 1
#define YES 2
byte link[C * N];
/* and the slots of earlier attempts for which a SET is still under way. */
byte late[C * N], lates;
#ifndef LATES
#define LATES 1 /* this many at a time */
#endif

#define IDLE 0
#define ASKING 1
#define HELD 2
byte state[C], slot[C], votes[C];

/*
 * The obvious counting semaphore: a node has L places, and grants one as long as one is free; a majority of grants
 * is enough. Its places are the keys here, and a client does not try a certain slot.
 */
#ifdef NAIVE
#define IS_TRIED(c, s) true
#define SLOTS 1
#else
#define IS_TRIED(c, s) slot[c] == s
#define SLOTS L
#endif

/*
 * Nodes are alike, and so are clients and slots: of all the states that differ only in their names, one is
 * kept. Nodes are sorted; of all the orders of clients and slots the one with the smallest result is taken.
 */
c_code {
struct view { unsigned char node[N][1 + L + 2 * C], client[C][3]; };

static void view_take(struct view *v, const int *order, int swap)
{
	int n, s, c, i, j;
	unsigned char row[sizeof(v->node[0])];

	memset(v, 0, sizeof(*v));
	for (n = 0; n < N; n++) {
		unsigned char *p = v->node[n], bits;

		for (s = 0; s < L; s++, p++)
			for (i = 0; i < C; i++)
				if (now.key[K(n, s ^ swap)] == order[i] + 1)
					*p = i + 1;
		for (i = 0; i < C; i++)
			*p |= (now.barred[n] >> order[i] & 1) << i;
		p++;
		for (i = 0; i < C; i++) {
			bits = now.late[P(order[i], n)];
			*p++ = now.link[P(order[i], n)];
			*p++ = swap ? bits >> 1 | (bits & 1) << 1 : bits;
		}
	}
	for (i = 1; i < N; i++)
		for (j = i; j > 0 && memcmp(v->node[j - 1], v->node[j], sizeof(row)) > 0; j--) {
			memcpy(row, v->node[j], sizeof(row));
			memcpy(v->node[j], v->node[j - 1], sizeof(row));
			memcpy(v->node[j - 1], row, sizeof(row));
		}
	for (i = 0; i < C; i++) {
		c = order[i];
		v->client[i][0] = now.state[c];
		v->client[i][1] = now.state[c] ? now.slot[c] ^ swap : 0;
		v->client[i][2] = now.votes[c];
	}
}

static void view_put(const struct view *v)
{
	int n, s, c;

	for (n = 0; n < N; n++) {
		const unsigned char *p = v->node[n];

		for (s = 0; s < L; s++)
			now.key[K(n, s)] = *p++;
		now.barred[n] = *p++;
		for (c = 0; c < C; c++) {
			now.link[P(c, n)] = *p++;
			now.late[P(c, n)] = *p++;
		}
	}
	for (c = 0; c < C; c++) {
		now.state[c] = v->client[c][0];
		now.slot[c] = v->client[c][1];
		now.votes[c] = v->client[c][2];
	}
}

static void canonical(void)
{
	static const int order[][C] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct view best, v;
	int i, swap;

	view_take(&best, order[0], 0);
	for (i = 0; i < 6; i++)
		for (swap = 0; swap < SLOTS; swap++) {
			view_take(&v, order[i], swap);
			if (memcmp(&v, &best, sizeof(v)) < 0)
				best = v;
		}
	view_put(&best);
}
}
#define DONE c_code { canonical(); }

#define EACH(i, count) i = 0; do :: i == count -> i = 0; break :: else ->
#define NEXT(i) i++ od

/* An attempt has a new token: one that is neither on a node nor on its way to one. */
#define ON(n, c, s) (key[K(n, s)] == c + 1 || (late[P(c, n)] & BIT(s)))
#ifdef NAIVE
#define ABOUT_AT(n, c, s) (ON(n, c, 0) || ON(n, c, 1))
#else
#define ABOUT_AT(n, c, s) ON(n, c, s)
#endif
#define ABOUT(c, s) (ABOUT_AT(0, c, s) || ABOUT_AT(1, c, s) || ABOUT_AT(2, c, s))

/* Only the replies of this attempt count: others are about another slot. */
#ifdef STALE_VOTES
#define ASK(c, n) if :: link[P(c, n)] != YES -> link[P(c, n)] = SET :: else fi
#define FORGET(c, n) if :: link[P(c, n)] != YES -> link[P(c, n)] = NOTHING :: else fi
#else
#define ASK(c, n) link[P(c, n)] = SET
#define FORGET(c, n) link[P(c, n)] = NOTHING
#endif

#define ATTEMPT(c, s) atomic { state[c] == IDLE && !ABOUT(c, s) -> \
	state[c] = ASKING; slot[c] = s; \
	EACH(n, N) ASK(c, n); NEXT(n); DONE }

#define VOTE(c, n) atomic { state[c] == ASKING && link[P(c, n)] == YES && votes[c] < QUORUM -> \
	link[P(c, n)] = NOTHING; votes[c]++; DONE }

/* The attempt, or the lock, is over, and no node need wait for it any more. */
inline let_go(c)
{
	EACH(n, N)
		if
		:: link[P(c, n)] == SET && lates < LATES -> lates++; late[P(c, n)] = late[P(c, n)] | BIT(slot[c])
		:: else
		fi;
		FORGET(c, n);
		barred[n] = barred[n] & ~BIT(c);
	NEXT(n);
	state[c] = IDLE; slot[c] = 0; votes[c] = 0
}

/* Every other holder has another slot; and together they are no more than there are slots. */
inline held(c)
{
	state[c] = HELD;
	holders = 0;
	EACH(k, C)
		if
		:: state[k] == HELD ->
			holders++;
#ifndef NAIVE
			assert(k == c || slot[k] != slot[c])
#endif
		:: else
		fi;
	NEXT(k);
	assert(holders <= LIMIT);
	holders = 0
}

proctype Client(byte c)
{
	byte n, k, holders;

	do
	:: ATTEMPT(c, 0)
#ifndef NAIVE
	:: ATTEMPT(c, 1)
#endif
	:: VOTE(c, 0)
	:: VOTE(c, 1)
	:: VOTE(c, 2)
	:: atomic { state[c] == ASKING && votes[c] == QUORUM ->
		held(c);
		/* Messages still under way do not count any more. */
		EACH(n, N) link[P(c, n)] = (link[P(c, n)] == SET -> SET : NOTHING); NEXT(n);
		votes[c] = 0;
		DONE }
	:: atomic { state[c] != IDLE -> let_go(c); DONE }
	od
}

#define IN_PROGRESS(c) (state[c] != IDLE)
#ifdef NO_GUARD
#define FORGOTTEN 0
#elif defined(SHORT_GUARD) /* it waits for the holders of one slot */
#define FORGOTTEN_OF(c) (IN_PROGRESS(c) && slot[c] == 0 -> BIT(c) : 0)
#define FORGOTTEN FORGOTTEN_OF(0) | FORGOTTEN_OF(1) | FORGOTTEN_OF(2)
#else
#define FORGOTTEN_OF(c) (IN_PROGRESS(c) -> BIT(c) : 0)
#define FORGOTTEN FORGOTTEN_OF(0) | FORGOTTEN_OF(1) | FORGOTTEN_OF(2)
#endif

/* One script each: its checks and its changes are one step. */
#ifdef NAIVE
#define FREE(n, c, s) (key[K(n, s)] == 0 && key[K(n, 1 - s)] != c + 1)
#define LATE(s) 0
#else
#define FREE(n, c, s) (key[K(n, s)] == 0)
#define LATE(s) s
#endif
#define SERVE(n, c, s) \
	:: atomic { link[P(c, n)] == SET && IS_TRIED(c, s) && FREE(n, c, s) && barred[n] == 0 -> \
		key[K(n, s)] = c + 1; \
		link[P(c, n)] = (state[c] == ASKING -> YES : NOTHING); DONE } \
	/* Refused or lost, it is gone too: a token is used again only when no message and no key has it. */ \
	:: atomic { late[P(c, n)] & BIT(LATE(s)) -> \
		lates--; late[P(c, n)] = late[P(c, n)] & ~BIT(LATE(s)); \
		if \
		:: FREE(n, c, s) && barred[n] == 0 -> key[K(n, s)] = c + 1 \
		:: true \
		fi; DONE } \
	:: atomic { key[K(n, s)] == c + 1 && !(IN_PROGRESS(c) && IS_TRIED(c, s)) -> \
		key[K(n, s)] = 0; DONE }

proctype Node(byte n)
{
	do
	SERVE(n, 0, 0)
	SERVE(n, 0, 1)
	SERVE(n, 1, 0)
	SERVE(n, 1, 1)
	SERVE(n, 2, 0)
	SERVE(n, 2, 1)
	/* It restarts without its data, is flushed, or is replaced by a replica that has less. */
	:: atomic { RESTARTS_LEFT key[K(n, 0)] = 0; key[K(n, 1)] = 0; barred[n] = FORGOTTEN; DONE }
	od
}

init {
	atomic {
		run Client(0); run Client(1); run Client(2);
		run Node(0); run Node(1); run Node(2)
	}
}
