/*
 * exclusion: two clients never hold the lock at the same moment.
 *
 * N nodes, two clients, a clock. A client takes the lock on a majority, extends it, repairs missing keys, and
 * releases; at any point it may be paused for any time, since no rule obliges a process to move before the clock
 * does. README.md says which properties are proved, for which bounds.
 *
 * The network. Every request waits at its node (link) until it arrives there; its reply is a second step, and the
 * client's reaction a third. Any of them may take any time, and "never" is how messages are lost. A refusal changes
 * nothing on either side, so it is not distinguished from a request that is still under way. Requests overtake each
 * other freely: the proof uses no order of a connection.
 *
 * Time. One step of the clock is a tick. A key lives TTL ticks, plus or minus DRIFT; a client relies on TTL -
 * ALLOWANCE of them, counted from before its first request left.
 *
 * REVOKE: break replaces the value of a key by a revoked one. A release by the client deletes that, too, as soon as its
 * command is gone (let_go); a client that was killed leaves it to expire.
 *
 * Each switch below takes one assumption away; the search must then find two holders.
 */

#ifndef N
#define N 3
#endif
#ifndef TTL
#define TTL 3
#endif
#ifndef DRIFT
#define DRIFT 1
#endif
#ifndef TOKENS
#define TOKENS 1 /* of one client that exist at a time; attempts are not counted */
#endif
#ifdef RESTARTS /* without it: any number */
byte restarts;
#define RESTARTS_LEFT restarts < RESTARTS -> restarts++;
#else
#define RESTARTS_LEFT true ->
#endif
#ifndef JUMPS
#define JUMPS 0 /* of a node's clock, forward by more than a TTL */
#endif

#ifdef HALF_QUORUM
#define QUORUM(c) (N / 2)
#elif defined(LIST0)
#define QUORUM(c) (c == 0 -> QUORUM0 : QUORUM1)
#else
#define QUORUM(c) (N / 2 + 1)
#endif

/* LIST0, LIST1: the nodes that each client names, a bit for each; QUORUM0, QUORUM1: the majorities. Nodes that client 0
 * alone names come first, then those of client 1 alone. */
#ifdef LIST0
#define NAMES(c, n) (((c == 0 -> LIST0 : LIST1) >> n) & 1)
#else
#define NAMES(c, n) true
#endif

#ifdef NO_DRIFT_ALLOWANCE
#define ALLOWANCE 0
#else
#define ALLOWANCE DRIFT
#endif
#define VALIDITY (TTL - ALLOWANCE)

/* The time for which a node that forgot does not vote. The real one begins at the first request after the restart;
 * here it begins with the restart, its shortest form. */
#ifdef NO_GUARD
#define QUARANTINE 0
#elif defined(SHORT_GUARD)
#define QUARANTINE 1
#else
#define QUARANTINE TTL
#endif

#define C 2
#define TOKEN(c, k) (1 + (c) * TOKENS + (k))
#define BIT(t) (1 << ((t) - 1))
#define L(c, n) ((c) * N + (n))

/* A node: the token in its key (0: no key), the longest time that the key can live, and the rest of the quarantine.
 */
byte key[N], life[N], quarantine[N];
#ifdef REVOKE
bit revoked[N]; /* break replaced the value: same client, no longer extended or confirmed; the life stays */
#define IS_REVOKED(n) revoked[n]
#define NOT_REVOKED(n) revoked[n] = 0
#else
#define IS_REVOKED(n) false
#define NOT_REVOKED(n) skip
#endif

/* Between a client and a node: the request under way, or its reply, */
#define NOTHING 0
#define SET 1
#define EXTEND 2
#define REPAIR 3 /* a repair: a SET; its reply is no vote */
#define YES 4 /* granted or confirmed; the reply is under way */
byte link[C * N];
/* and the tokens of earlier attempts for which a SET, or a release, is still under way. */
byte late[C * N], release[C * N];

/* A client: the token of its attempt or lock, the votes of the round, the remaining validity, and the one that the
 * extension would give. */
#define IDLE 0
#define ASKING 1
#define HELD 2
#define EXTENDING 3
byte state[C], token[C], votes[C], left[C], next[C];
#ifdef LATE_EXTENSION
bit broken[C]; /* the other one got the lock after the end of the validity */
#endif
byte jumps;

/*
 * PROGRESS changes the question: client 0 stops for good at any moment; does client 1, which goes on trying and
 * keeps each key, have the lock within PATIENCE ticks? For that the network is prompt: the clock waits until every
 * message that can arrive has arrived and client 1 has done every possible step; messages still under way are then
 * refused. If a message could never arrive, the clock would never tick again: Spin reports that as an invalid end
 * state.
 */
#ifdef PROGRESS
#ifndef PATIENCE
#define PATIENCE (TTL + DRIFT + VALIDITY - 1)
#endif
bit stopped;
byte waited;
#define UNLESS_STOPPED provided (_pid != 1 || !stopped)
#define MAY_LET_GO(c) && c == 0
#define LANDS(c, n) (link[L(c, n)] == SET && key[n] == 0 && quarantine[n] == 0 || late[L(c, n)] || release[L(c, n)])
#define SETTLED(n) (!LANDS(0, n) && !LANDS(1, n) && link[L(1, n)] != YES)
#define ALL_DONE (SETTLED(0) && SETTLED(1) && SETTLED(2) && \
	(state[1] != IDLE || ABOUT(TOKEN(1, 0))) && (state[1] != ASKING || votes[1] < QUORUM(1)))
#else
#define UNLESS_STOPPED
#define MAY_LET_GO(c)
#define ALL_DONE true
#endif

#define HOLDS(c) (state[c] >= HELD && left[c] > 0)

/*
 * Nodes are alike, and so are clients: of all the states that differ only in their names, one is kept. Nodes are
 * sorted; of the two ways to name the clients the smaller one is taken.
 */
c_code {
struct view { unsigned char node[N][5 + 3 * C], client[C][6]; };

static unsigned char other_token(unsigned char t) { return t == 0 ? 0 : t > TOKENS ? t - TOKENS : t + TOKENS; }
static unsigned char other_bits(unsigned char b) { return (b >> TOKENS | b << TOKENS) & ((1 << C * TOKENS) - 1); }

static void view_take(struct view *v, int swap)
{
	int n, c, i, j;
	unsigned char row[sizeof(v->node[0])];

	for (n = 0; n < N; n++) {
		unsigned char *p = v->node[n];

		/* A release with nothing to find, now or later, is as good as none. */
		for (c = 0; c < C; c++) {
#ifndef BLIND_RELEASE
			unsigned char there = now.late[L(c, n)];

			if (now.key[n])
				there |= BIT(now.key[n]);
			now.release[L(c, n)] &= there;
#endif
		}
#ifdef LIST0
		*p++ = (LIST0 >> n & 1) | (LIST1 >> n & 1) << 1;
#else
		*p++ = 0;
#endif
		*p++ = swap ? other_token(now.key[n]) : now.key[n];
		*p++ = now.life[n];
		*p++ = now.quarantine[n];
#ifdef REVOKE
		*p++ = now.revoked[n];
#else
		*p++ = 0;
#endif
		for (i = 0; i < C; i++) {
			c = swap ? C - 1 - i : i;
			*p++ = now.link[L(c, n)];
			*p++ = swap ? other_bits(now.late[L(c, n)]) : now.late[L(c, n)];
			*p++ = swap ? other_bits(now.release[L(c, n)]) : now.release[L(c, n)];
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

		c = swap ? C - 1 - i : i;
		*p++ = now.state[c];
		*p++ = swap ? other_token(now.token[c]) : now.token[c];
		*p++ = now.votes[c];
		*p++ = now.left[c];
		*p++ = now.next[c];
#ifdef LATE_EXTENSION
		*p++ = now.broken[c];
#endif
	}
}

static void view_put(const struct view *v)
{
	int n, c;

	for (n = 0; n < N; n++) {
		const unsigned char *p = v->node[n] + 1;

		now.key[n] = *p++;
		now.life[n] = *p++;
		now.quarantine[n] = *p++;
#ifdef REVOKE
		now.revoked[n] = *p++;
#else
		p++;
#endif
		for (c = 0; c < C; c++) {
			now.link[L(c, n)] = *p++;
			now.late[L(c, n)] = *p++;
			now.release[L(c, n)] = *p++;
		}
	}
	for (c = 0; c < C; c++) {
		const unsigned char *p = v->client[c];

		now.state[c] = *p++;
		now.token[c] = *p++;
		now.votes[c] = *p++;
		now.left[c] = *p++;
		now.next[c] = *p++;
#ifdef LATE_EXTENSION
		now.broken[c] = *p++;
#endif
	}
}

static void canonical(void)
{
	struct view a, b;

	view_take(&a, 0);
	view_take(&b, 1);
#if defined(PROGRESS) || defined(LIST0)
	b = a; /* its clients are not alike */
#endif
	view_put(memcmp(&a, &b, sizeof(a)) <= 0 ? &a : &b);
}
}
#define DONE c_code { canonical(); }

/* A client whose validity is over can only release. It does so at once: that covers later releases, since its
 * messages may be under way for any time. */
#ifdef LATE_EXTENSION
#define LAPSE(c) skip
#define NOT_BROKEN(c) broken[c] = 0
#define NEVER_BROKEN(c) !broken[c]
#define SEEN_BY_OTHER(c) if :: state[1 - c] >= HELD && left[1 - c] == 0 -> broken[1 - c] = 1 :: else fi
#else
#define LAPSE(c) if :: left[c] == 0 -> let_go(c) :: else fi
#define NOT_BROKEN(c) skip
#define NEVER_BROKEN(c) true
#define SEEN_BY_OTHER(c) skip
#endif

#define EACH(n) n = 0; do :: n == N -> n = 0; break :: else ->
#define NEXT(n) n++ od

/* The client gives up a SET that is under way; it may arrive at any time later, even after a newer request, for its
 * connection may have been given up since. */
inline no_longer_awaited(c, n)
{
	if
	:: link[L(c, n)] == SET || link[L(c, n)] == REPAIR ->
		late[L(c, n)] = late[L(c, n)] | BIT(token[c])
	:: else
	fi;
	link[L(c, n)] = NOTHING
}

/* The attempt, or the lock, is over: a release goes to every node, whatever its reply was. */
inline let_go(c)
{
	EACH(n)
		no_longer_awaited(c, n);
		release[L(c, n)] = release[L(c, n)] | BIT(token[c]);
	NEXT(n);
	state[c] = IDLE; token[c] = 0; votes[c] = 0; left[c] = 0; next[c] = 0;
	NOT_BROKEN(c)
}

/* An extension asks every node. Replies to the round before do not count in it. */
inline ask_to_extend(c)
{
	EACH(n)
		no_longer_awaited(c, n);
		link[L(c, n)] = (NAMES(c, n) -> EXTEND : NOTHING);
	NEXT(n);
	votes[c] = 0
}

/* A majority has voted. Messages still under way do not count any more; a node without a confirmation gets the key
 * again if it is gone there. */
inline decided(c)
{
	EACH(n)
		if
		:: link[L(c, n)] == YES -> link[L(c, n)] = NOTHING
		:: link[L(c, n)] == EXTEND -> link[L(c, n)] = REPAIR
		:: else
		fi;
	NEXT(n);
	votes[c] = 0;
	state[c] = HELD
}

/* A new attempt has a new token: one that is neither on a node nor on its way to one. */
#define ABOUT_AT(n, t) (key[n] == t || (late[L((t - 1) / TOKENS, n)] & BIT(t)))
#if N == 4
#define ABOUT(t) (ABOUT_AT(0, t) || ABOUT_AT(1, t) || ABOUT_AT(2, t) || ABOUT_AT(3, t))
#else
#define ABOUT(t) (ABOUT_AT(0, t) || ABOUT_AT(1, t) || ABOUT_AT(2, t))
#endif
#define ATTEMPT(c, k) atomic { state[c] == IDLE && !ABOUT(TOKEN(c, k)) -> \
	token[c] = TOKEN(c, k); state[c] = ASKING; left[c] = VALIDITY; \
	EACH(n) link[L(c, n)] = (NAMES(c, n) -> SET : NOTHING); NEXT(n); DONE }

#define VOTE(c, n) atomic { link[L(c, n)] == YES && votes[c] < QUORUM(c) -> \
	link[L(c, n)] = NOTHING; votes[c]++; DONE }

proctype Client(byte c) UNLESS_STOPPED
{
	byte n;

	do
	:: ATTEMPT(c, 0)
#if TOKENS > 1
	:: ATTEMPT(c, 1)
#endif
	:: VOTE(c, 0)
	:: VOTE(c, 1)
	:: VOTE(c, 2)
#if N == 4
	:: VOTE(c, 3)
#endif
	:: atomic { state[c] == ASKING && votes[c] == QUORUM(c) && left[c] > 0 ->
#ifdef VALIDITY_FROM_REPLY
		left[c] = VALIDITY;
#endif
		decided(c);
		SEEN_BY_OTHER(c);
		assert(!HOLDS(1 - c));
		DONE }
#ifndef NO_EXTENSION
	:: atomic { state[c] >= HELD && left[c] > 0 ->
		state[c] = EXTENDING; next[c] = VALIDITY; ask_to_extend(c); DONE }
	:: atomic { state[c] == EXTENDING && votes[c] == QUORUM(c) && next[c] > 0 ->
		left[c] = next[c]; next[c] = 0;
		decided(c);
		assert(!HOLDS(1 - c));
		assert(NEVER_BROKEN(c));
		DONE }
#endif
	:: atomic { state[c] != IDLE MAY_LET_GO(c) -> let_go(c); DONE }
	od
}

#define SET_KEY(n, t) key[n] = t; life[n] = TTL + DRIFT; NOT_REVOKED(n)
#define NO_KEY(n) key[n] = 0; life[n] = 0; NOT_REVOKED(n)

#ifdef BLIND_EXTEND
#define EXTENDS(c, n) key[n] != 0
#else
#define EXTENDS(c, n) key[n] == token[c] && !IS_REVOKED(n)
#endif
#ifdef BLIND_RELEASE
#define RELEASES(c, n) key[n] != 0 && release[L(c, n)]
#else
#define RELEASES(c, n) key[n] != 0 && (release[L(c, n)] & BIT(key[n]))
#endif
#ifdef REPAIR_IN_QUARANTINE
#define MAY_REPAIR(n) true
#else
#define MAY_REPAIR(n) quarantine[n] == 0
#endif

#define ANSWER(c, n, asked) \
	if \
	:: state[c] == asked -> link[L(c, n)] = YES \
	:: else -> link[L(c, n)] = NOTHING \
	fi

/* One script each: its checks and its changes are one step. */
#define SERVE(c, n) \
	:: atomic { link[L(c, n)] == SET && key[n] == 0 && quarantine[n] == 0 -> \
		SET_KEY(n, token[c]); ANSWER(c, n, ASKING); DONE } \
	:: atomic { link[L(c, n)] == EXTEND && EXTENDS(c, n) -> \
		life[n] = TTL + DRIFT; ANSWER(c, n, EXTENDING); DONE } \
	:: atomic { link[L(c, n)] == REPAIR && (key[n] == token[c] && !IS_REVOKED(n) || key[n] == 0 && MAY_REPAIR(n)) -> \
		SET_KEY(n, token[c]); link[L(c, n)] = NOTHING; DONE } \
	LATE_SET(c, n, TOKEN(c, 0)) \
	SERVE_SECOND(c, n) \
	:: atomic { RELEASES(c, n) -> \
		release[L(c, n)] = release[L(c, n)] & ~BIT(key[n]); NO_KEY(n); DONE }
#if TOKENS > 1
#define SERVE_SECOND(c, n) LATE_SET(c, n, TOKEN(c, 1))
#else
#define SERVE_SECOND(c, n)
#endif
/* Refused or lost, it is gone too: a token is used again only when no message and no key has it. */
#define LATE_SET(c, n, t) \
	:: atomic { late[L(c, n)] & BIT(t) -> \
		late[L(c, n)] = late[L(c, n)] & ~BIT(t); \
		if \
		:: key[n] == 0 && quarantine[n] == 0 -> SET_KEY(n, t) \
		:: true \
		fi; DONE }

proctype Node(byte n)
{
	do
	SERVE(0, n)
	SERVE(1, n)
	/* The key has expired: at the earliest TTL - DRIFT after it was set. */
	:: atomic { key[n] != 0 && life[n] <= 2 * DRIFT -> NO_KEY(n); DONE }
	/* Any number of breakers, each of which may be killed between two nodes. */
#ifdef REVOKE
#ifdef BREAK_DELETES
	:: atomic { key[n] != 0 -> NO_KEY(n); DONE }
#else
	:: atomic { key[n] != 0 && !revoked[n] -> revoked[n] = 1;
#ifdef BREAK_SHORTENS
		life[n] = 1 + DRIFT;
#endif
		DONE }
#endif
#ifdef DELETES_WHILE_IT_RUNS
	:: atomic { revoked[n] -> NO_KEY(n); DONE }
#endif
#endif
	/* It restarts without its data, is flushed, or is replaced by a replica that has less. */
	:: atomic { RESTARTS_LEFT NO_KEY(n); quarantine[n] = QUARANTINE; DONE }
	:: atomic { jumps < JUMPS && key[n] != 0 -> jumps++; NO_KEY(n); DONE }
	od
}

proctype Clock()
{
	byte n, c;

	do
	:: atomic { ALL_DONE ->
#ifdef PROGRESS
		EACH(n)
			link[L(0, n)] = (link[L(0, n)] == YES -> YES : NOTHING);
			link[L(1, n)] = NOTHING;
		NEXT(n);
		waited = (stopped && state[1] < HELD -> waited + 1 : 0);
		assert(waited <= PATIENCE);
#endif
		EACH(n)
			if
			:: life[n] > 0 -> life[n]--;
				if
				:: life[n] == 0 -> key[n] = 0; NOT_REVOKED(n)
				:: else
				fi
			:: else
			fi;
			if
			:: quarantine[n] > 0 -> quarantine[n]--
			:: else
			fi;
		NEXT(n);
		do
		:: c == C -> c = 0; break
		:: else ->
			if
			:: next[c] > 0 -> next[c]--
			:: else
			fi;
			if
			:: left[c] > 0 -> left[c]--; LAPSE(c)
			:: else
			fi;
			c++
		od;
		DONE }
	od
}

#ifdef PROGRESS
proctype Crash()
{
	stopped = 1
}
#endif

init {
	atomic {
		run Client(0); run Client(1);
		run Node(0); run Node(1); run Node(2);
#if N == 4
		run Node(3);
#endif
		run Clock()
#ifdef PROGRESS
		; run Crash()
#endif
	}
}
