/*
 * once: the record of --once-per travels in the lock's votes. All attempts are within D: the job runs once, unless its
 * holder is killed, or a majority of the nodes loses the record.
 *
 * Three nodes and two clients with any number of attempts, and no clock: the key of a client that was killed ends at any
 * moment. Each request waits at its node until it arrives, and its reply is a step of its own. README.md says what is
 * proved.
 *
 * Each switch below takes one rule away.
 */

#define N 3
#define C 2
#ifndef RESTARTS
#define RESTARTS 0 /* nodes that lose all their data */
#endif
#ifdef COMPLETE /* a node restarts only if all nodes have the record, as in a rolling restart */
#define MAY_RESTART (starts == 0 || (record[0] && record[1] && record[2]))
#else
#define MAY_RESTART true
#endif
#ifdef HALF_QUORUM
#define QUORUM (N / 2)
#else
#define QUORUM (N / 2 + 1)
#endif

#define L(c, n) ((c) * N + (n))

/* A node: the holder of the key (client + 1), and whether it has the record. overtaken: the node lost its data while
 * this client tried, held or released the lock. */
byte key[N];
bit record[N], overtaken[C * N];

/* Between a client and a node. */
#define NOTHING 0
#define ASK 1
#define GRANTED 2 /* the reply is under way, without a record, */
#define GRANTED_DONE 3 /* or with it */
#define COUNTED 4
#define UNDO 5
#define HAND_OFF 6 /* stores the record, and deletes the key */
#define DELETE 7 /* the companion of a hand-off by digest, which the node does not know */
#define REFUSED 8
byte link[C * N];

#define IDLE 0
#define ASKING 1
#define HOLDING 2
#define RELEASING 3
#define DEAD 4
byte state[C], votes[C];
bit done[C]; /* a vote brought the record */
byte starts, restarts;
bit killed;

/* The restart guard: while a client tries, holds or releases as it did when the node restarted, the node has no vote. */
#define quarantined(c, n) (overtaken[L(c, n)] && state[c] != IDLE && state[c] != DEAD)

/* The script of the node. */
inline serve(c, n) {
	d_step {
		if
		:: link[L(c, n)] == ASK ->
			if
			:: (key[n] == 0 || key[n] == c + 1) && !quarantined(0, n) && !quarantined(1, n) ->
				key[n] = c + 1
				link[L(c, n)] = (record[n] -> GRANTED_DONE : GRANTED)
			:: else -> link[L(c, n)] = REFUSED
			fi
		:: link[L(c, n)] == UNDO ->
			key[n] = (key[n] == c + 1 -> 0 : key[n])
			link[L(c, n)] = NOTHING
		:: link[L(c, n)] == HAND_OFF ->
			record[n] = 1
			key[n] = (key[n] == c + 1 -> 0 : key[n])
			link[L(c, n)] = NOTHING
		:: link[L(c, n)] == DELETE ->
			key[n] = (key[n] == c + 1 -> 0 : key[n])
			link[L(c, n)] = HAND_OFF
		fi
	}
}

inline count(c, n) {
	d_step {
#ifndef IGNORES_RECORD
		done[c] = done[c] || link[L(c, n)] == GRANTED_DONE
#endif
		votes[c]++
		link[L(c, n)] = COUNTED
	}
}

inline every_node(c, op) {
	n = 0
	do
	:: n < N -> link[L(c, n)] = op; n++
	:: else -> break
	od
	n = 0
}

/* The holder releases: with the record, if it has run the command or found it done. */
inline release(c) {
#ifdef COMPANION
	every_node(c, DELETE)
#else
	every_node(c, HAND_OFF)
#endif
	state[c] = RELEASING
}

#define quiet(c) (link[L(c, 0)] == NOTHING && link[L(c, 1)] == NOTHING && link[L(c, 2)] == NOTHING)
#define waits(l) (l == ASK || l == UNDO || l == HAND_OFF || l == DELETE)
#define arrives(l) (l == GRANTED || l == GRANTED_DONE)

inline begin(c) {
	d_step {
		state[c] = ASKING
		votes[c] = 0
		done[c] = 0
		every_node(c, ASK)
		overtaken[L(c, 0)] = 0
		overtaken[L(c, 1)] = 0
		overtaken[L(c, 2)] = 0
	}
}

inline decide(c) {
#ifdef ROUND_FORGETS
	/* An extension began before the client decided. */
	done[c] = 0
#endif
	if
	:: done[c] -> release(c)
	:: else ->
		assert(starts == 0 || killed)
		starts = 1
		state[c] = HOLDING
	fi
}

inline restart(n) {
	d_step {
		restarts++
		key[n] = 0
		record[n] = 0
		overtaken[L(0, n)] = state[0] != IDLE
		overtaken[L(1, n)] = state[1] != IDLE
	}
}

/* What may happen next at a client, and between a client and a node. An attempt fails at any moment. */
#ifdef KILL
#define DIES(c) :: atomic { state[c] == HOLDING && !killed -> killed = 1; state[c] = DEAD; every_node(c, NOTHING) }
#else
#define DIES(c)
#endif
#define CLIENT(c) \
	:: atomic { state[c] == IDLE && quiet(c) -> begin(c) } \
	:: atomic { state[c] == ASKING && votes[c] >= QUORUM -> decide(c) } \
	:: atomic { state[c] == ASKING -> every_node(c, UNDO); state[c] = RELEASING } \
	:: atomic { state[c] == HOLDING -> release(c) } \
	:: atomic { state[c] == RELEASING && quiet(c) -> state[c] = IDLE } \
	DIES(c)
#define BETWEEN(c, n) \
	:: atomic { waits(link[L(c, n)]) -> serve(c, n) } \
	:: atomic { state[c] == ASKING && arrives(link[L(c, n)]) -> count(c, n) } \
	:: atomic { state[c] == DEAD && key[n] == c + 1 -> key[n] = 0 }
#define NODE(n) :: atomic { restarts < RESTARTS && MAY_RESTART -> restart(n) }

active proctype world()
{
	byte n = 0;
	do
	CLIENT(0)
	CLIENT(1)
	BETWEEN(0, 0)
	BETWEEN(0, 1)
	BETWEEN(0, 2)
	BETWEEN(1, 0)
	BETWEEN(1, 1)
	BETWEEN(1, 2)
	NODE(0)
	NODE(1)
	NODE(2)
	od
}
