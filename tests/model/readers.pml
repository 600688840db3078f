/*
 * readers: a writer never holds at the same moment as another client; readers may.
 *
 * N nodes and C clients, of which WRITERS are writers and the rest readers; no clock. A node's key is a writer's,
 * or the readers', and then it has a set of them. README.md says which properties are proved, for which bounds.
 *
 * Time, the network, restarts: as in semaphore.pml. exclusion.pml proves that a client's entry on a node outlives
 * the validity that rests on it; here that is assumed. A client's validity ends at any moment: it released, it was
 * slow, or it crashed. Only then its entry may expire, each at any moment: a writer's key, or one reader's entry in
 * the set. The key of readers expires with the last of them. A release is an entry that expires.
 *
 * Each switch below takes one rule away.
 */

#ifndef N
#define N 3
#endif
#define C 3
#ifndef WRITERS
#define WRITERS 1
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

#define P(c, n) ((c) * N + (n))
#define BIT(i) (1 << (i))
#define IS_WRITER(c) ((c) < WRITERS)

/* A node: the holder of its key (client + 1, or the readers), the readers in it, the client that set its expiry,
 * and the clients whose attempts it waits for, since it restarted. */
#define READERS (C + 1)
byte key[N], in[N], barred[N];
#ifdef LAST_SAID
byte last[N]; /* client + 1 */
#endif

/* Between a client and a node: the request, or the reply, */
#define NOTHING 0
#define SET 1
#define YES 2
byte link[C * N];
/* and is the request of an earlier attempt still under way. */
bit late[C * N];
byte lates;
#ifndef LATES
#define LATES 9 /* this many at a time */
#endif

#define IDLE 0
#define ASKING 1
#define HELD 2
byte state[C], votes[C];

/*
 * Nodes are alike, and so are writers, and so are readers: of all the states that differ only in their names, one
 * is kept. Nodes are sorted; of all the orders of clients the one with the smallest result is taken.
 */
c_code {
struct view { unsigned char node[N][4 + C], client[C][2]; };

static void view_take(struct view *v, const int *order)
{
	int n, i, j;
	unsigned char row[sizeof(v->node[0])];

	memset(v, 0, sizeof(*v));
	for (n = 0; n < N; n++) {
		unsigned char *p = v->node[n];

		p[0] = now.key[n] == READERS ? READERS : 0;
		for (i = 0; i < C; i++) {
			if (now.key[n] == order[i] + 1)
				p[0] = i + 1;
			p[1] |= (now.in[n] >> order[i] & 1) << i;
			p[2] |= (now.barred[n] >> order[i] & 1) << i;
#ifdef LAST_SAID
			if (now.last[n] == order[i] + 1)
				p[3] = i + 1;
#endif
			p[4 + i] = now.link[P(order[i], n)] << 1 | now.late[P(order[i], n)];
		}
	}
	for (i = 1; i < N; i++)
		for (j = i; j > 0 && memcmp(v->node[j - 1], v->node[j], sizeof(row)) > 0; j--) {
			memcpy(row, v->node[j], sizeof(row));
			memcpy(v->node[j], v->node[j - 1], sizeof(row));
			memcpy(v->node[j - 1], row, sizeof(row));
		}
	for (i = 0; i < C; i++) {
		v->client[i][0] = now.state[order[i]];
		v->client[i][1] = now.votes[order[i]];
	}
}

static void view_put(const struct view *v)
{
	int n, c;

	for (n = 0; n < N; n++) {
		const unsigned char *p = v->node[n];

		now.key[n] = p[0];
		now.in[n] = p[1];
		now.barred[n] = p[2];
#ifdef LAST_SAID
		now.last[n] = p[3];
#endif
		for (c = 0; c < C; c++) {
			now.link[P(c, n)] = p[4 + c] >> 1;
			now.late[P(c, n)] = p[4 + c] & 1;
		}
	}
	for (c = 0; c < C; c++) {
		now.state[c] = v->client[c][0];
		now.votes[c] = v->client[c][1];
	}
}

static void canonical(void)
{
	/* The last client is a reader, the first one a writer. */
	static const int order[][C] = {{0, 1, 2}, {WRITERS > 1 ? 1 : 0, WRITERS > 1 ? 0 : 2, WRITERS > 1 ? 2 : 1}};
	struct view a, b;

	view_take(&a, order[0]);
	view_take(&b, order[1]);
	view_put(memcmp(&a, &b, sizeof(a)) <= 0 ? &a : &b);
}
}
#define DONE c_code { canonical(); }

#define EACH(i, count) i = 0; do :: i == count -> i = 0; break :: else ->
#define NEXT(i) i++ od

/* An attempt has a new token: one that is neither on a node nor on its way to one. */
#define ABOUT_AT(n, c) (key[n] == c + 1 || (in[n] & BIT(c)) || late[P(c, n)])
#define ABOUT(c) (ABOUT_AT(0, c) || ABOUT_AT(1, c) || ABOUT_AT(2, c))

#define VOTE(c, n) atomic { state[c] == ASKING && link[P(c, n)] == YES && votes[c] < QUORUM -> \
	link[P(c, n)] = NOTHING; votes[c]++; DONE }

/* The attempt, or the lock, is over, and no node need wait for it any more. */
inline let_go(c)
{
	EACH(n, N)
		if
		:: link[P(c, n)] == SET && lates < LATES -> lates++; late[P(c, n)] = 1
		:: else
		fi;
		link[P(c, n)] = NOTHING;
		barred[n] = barred[n] & ~BIT(c);
	NEXT(n);
	state[c] = IDLE; votes[c] = 0
}

#ifdef ALONE /* to show that readers hold together */
#define MAY_BE_TOGETHER(c, k) false
#else
#define MAY_BE_TOGETHER(c, k) (!IS_WRITER(c) && !IS_WRITER(k))
#endif

inline held(c)
{
	state[c] = HELD;
	EACH(k, C)
		assert(k == c || state[k] != HELD || MAY_BE_TOGETHER(c, k));
	NEXT(k)
}

proctype Client(byte c)
{
	byte n, k;

	do
	:: atomic { state[c] == IDLE && !ABOUT(c) ->
		state[c] = ASKING;
		EACH(n, N) link[P(c, n)] = SET; NEXT(n);
		DONE }
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
#define IS_FORGOTTEN(c) false
#elif defined(SHORT_GUARD) /* it waits for writers */
#define IS_FORGOTTEN(c) (IN_PROGRESS(c) && IS_WRITER(c))
#else
#define IS_FORGOTTEN(c) IN_PROGRESS(c)
#endif
#define FORGOTTEN_OF(c) (IS_FORGOTTEN(c) -> BIT(c) : 0)
#define FORGOTTEN FORGOTTEN_OF(0) | FORGOTTEN_OF(1) | FORGOTTEN_OF(2)

/* A writer's view of a free node, and a reader's. */
#ifdef BLIND_WRITER
#define FREE_TO_WRITER(n) (key[n] == 0 || key[n] == READERS)
#else
#define FREE_TO_WRITER(n) (key[n] == 0)
#endif
#ifdef BLIND_READER
#define FREE_TO_READER(n) true
#else
#define FREE_TO_READER(n) (key[n] == 0 || key[n] == READERS)
#endif
#define FREE(n, c) (barred[n] == 0 && (IS_WRITER(c) -> FREE_TO_WRITER(n) : FREE_TO_READER(n)))

/* A key without holder gets a new set: an existing one is stale. */
inline put(n, c)
{
	if
	:: IS_WRITER(c) -> key[n] = c + 1
	:: !IS_WRITER(c) ->
		if :: key[n] != READERS -> in[n] = 0 :: else fi;
		key[n] = READERS;
		in[n] = in[n] | BIT(c);
#ifdef LAST_SAID
		last[n] = c + 1
#endif
	fi
}

/* It released, or expired: the others still have the key. */
inline remove(n, c)
{
#ifdef WHOLE_SET
	in[n] = 0;
#else
	in[n] = in[n] & ~BIT(c);
#endif
	if
	:: key[n] == READERS && in[n] == 0 ->
		key[n] = 0;
#ifdef LAST_SAID
		last[n] = 0
#endif
	:: else
	fi
}

/* One script each: its checks and its changes are one step. */
#define SERVE(n, c) \
	:: atomic { link[P(c, n)] == SET && FREE(n, c) -> \
		put(n, c); \
		link[P(c, n)] = (state[c] == ASKING -> YES : NOTHING); DONE } \
	/* Refused or lost, it is gone too: a token is used again only when no message and no key has it. */ \
	:: atomic { late[P(c, n)] -> \
		lates--; late[P(c, n)] = 0; \
		if \
		:: FREE(n, c) -> put(n, c) \
		:: true \
		fi; DONE } \
	:: atomic { key[n] == c + 1 && !IN_PROGRESS(c) -> key[n] = 0; DONE } \
	:: atomic { (in[n] & BIT(c)) && !IN_PROGRESS(c) -> remove(n, c); DONE }

/* The last request sets the key's expiry, however long the others may be in it. */
#ifdef LAST_SAID
#define ENDS(n, c) \
	:: atomic { key[n] == READERS && last[n] == c + 1 && !IN_PROGRESS(c) -> key[n] = 0; last[n] = 0; DONE }
#endif

proctype Node(byte n)
{
	do
	SERVE(n, 0)
	SERVE(n, 1)
	SERVE(n, 2)
#ifdef LAST_SAID
	ENDS(n, 0)
	ENDS(n, 1)
	ENDS(n, 2)
#endif
	/* It restarts without its data, is flushed, or is replaced by a replica that has less. */
	:: atomic { RESTARTS_LEFT key[n] = 0; in[n] = 0; barred[n] = FORGOTTEN;
#ifdef LAST_SAID
		last[n] = 0;
#endif
		DONE }
	od
}

init {
	atomic {
		run Client(0); run Client(1); run Client(2);
		run Node(0); run Node(1); run Node(2)
	}
}
