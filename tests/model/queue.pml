/*
 * queue: while a slot of a semaphore is free, no client waits in the queue for good.
 *
 * One node, the queue node, L slots and C clients: each arrives, waits, holds and releases, or leaves, once (AGAIN:
 * as often as it likes; too many states). README.md says which properties are proved, for which bounds.
 *
 * The property: when all is quiet, that is when no message is under way, and no client will look again soon, is a
 * slot free while a client waits? Only a timer for the end of a key would end that. Such looks by the clock may
 * happen at any moment here, but none is guaranteed.
 *
 * A script is one step, and so are JOIN and the pop after it, which travel in one packet. A client has two
 * connections, one for requests and the waiter connection; each keeps its order, and neither waits for the other.
 *
 * Switches NO_PASS, NO_LEAVE, NO_HAND_OFF_AFTER, DEAF and KILLED take one rule away; the search must then find
 * the lost wake-up. ITS_OWN_RESERVATION takes a part of one away. NO_CLOCK, NO_ENDINGS, NO_QUIT and NO_TERM make
 * the world smaller.
 */

#ifndef C
#define C 3
#endif
#define L 2

#define BIT(s) (1 << (s))
#define ANY BIT(L) /* of the slots to pass on: all that are claimed */

/* The node: the holder of each slot (client + 1); is it reserved; is there an unclaimed wake-up in the list, and
 * does it belong to that reservation, or to an earlier one; is any client known to wait. */
byte key[L];
bit reserved[L], unclaimed[L], is_newest[L], mark;

/* A client. RELEASING: its hand-off is under way; CLOSING: it waits for no reply, and the rest closes. */
#define OUT 0
#define PAUSE 1
#define ASKING 2
#define ANSWERED 3
#define HELD 4
#define QUITTING 5 /* asking, with the hand-off after the request */
#define RELEASING 6
#define CLOSING 7
#define GONE 8
#ifdef AGAIN
#define LAST_STATE OUT
#else
#define LAST_STATE GONE
#endif
byte state[C], slot[C];
byte next[C]; /* the slot that a node named, + 1; ANSWERED: from the reply, or that of an unclaimed reservation */
byte woken[C]; /* for this slot, + 1 */
bit used[C]; /* it asks with its reservation */
bit heard[C]; /* while it asks: the queue node said that another look is worth it */
bit due[C]; /* it will look again soon; or the reply says so */
bit knows[C]; /* the holder: that others wait */
/* Is its reservation the current one: as it knows it, and as the request says. */
byte mine[C], asks[C];

/* Its waiter connection: the state on the server, */
#define DOWN 0
#define JOINING 1 /* JOIN and the pop are under way */
#define BLOCKED 2
#define SERVED 3 /* the pop's reply is under way */
byte waiter[C], given[C];
bit is_given[C]; /* that reservation is still the current one */
/* the reply to JOIN, */
#define NO_REPLY 0
#define SOON 1
#define FREE 2 /* + slot */
#define KEPT (2 + L) /* + slot */
byte joined[C];
bit is_kept[C]; /* that reservation still is */
/* and the reservations that it passes on, after all that. */
byte passes[C];

/*
 * Clients are alike, and so are slots: of all the states that differ only in their names, one is kept.
 */
c_code {
struct view { unsigned char slot[L], mark, client[C][11]; };

static unsigned char swapped(unsigned char b) { return (b & ~3) | (b >> 1 & 1) | (b & 1) << 1; }
static unsigned char other(unsigned char one_more) { return one_more ? 3 - one_more : 0; }

static void view_take(struct view *v, int swap)
{
	int s, c, i;
	unsigned char row[sizeof(v->client[0])];

	for (s = 0; s < L; s++)
		v->slot[s ^ swap] = now.reserved[s] | now.unclaimed[s] << 1 | now.is_newest[s] << 2;
	v->mark = now.mark;
	for (c = 0; c < C; c++) {
		unsigned char *p = v->client[c], has = 0, w = now.joined[c];

		for (s = 0; s < L; s++)
			if (now.key[s] == c + 1)
				has |= 1 << s;
		*p++ = now.state[c];
		*p++ = swap ? now.slot[c] ^ 1 : now.slot[c];
		*p++ = swap ? other(now.next[c]) : now.next[c];
		*p++ = swap ? other(now.woken[c]) : now.woken[c];
		*p++ = now.used[c] | now.due[c] << 1 | now.knows[c] << 2 | now.is_given[c] << 3 |
			now.is_kept[c] << 4 | now.heard[c] << 5;
		*p++ = (swap ? swapped(now.mine[c]) : now.mine[c]) << 2 |
			(swap ? swapped(now.asks[c]) : now.asks[c]);
		*p++ = now.waiter[c];
		*p++ = swap ? other(now.given[c]) : now.given[c];
		*p++ = swap && w >= FREE ? w ^ 1 : w;
		*p++ = swap ? swapped(now.passes[c]) : now.passes[c];
		*p++ = swap ? swapped(has) : has;
	}
	for (i = 1; i < C; i++)
		for (c = i; c > 0 && memcmp(v->client[c - 1], v->client[c], sizeof(row)) > 0; c--) {
			memcpy(row, v->client[c], sizeof(row));
			memcpy(v->client[c], v->client[c - 1], sizeof(row));
			memcpy(v->client[c - 1], row, sizeof(row));
		}
}

static void view_put(const struct view *v)
{
	int s, c;

	for (s = 0; s < L; s++) {
		now.reserved[s] = v->slot[s] & 1;
		now.unclaimed[s] = v->slot[s] >> 1 & 1;
		now.is_newest[s] = v->slot[s] >> 2 & 1;
		now.key[s] = 0;
	}
	now.mark = v->mark;
	for (c = 0; c < C; c++) {
		const unsigned char *p = v->client[c];

		now.state[c] = *p++;
		now.slot[c] = *p++;
		now.next[c] = *p++;
		now.woken[c] = *p++;
		now.used[c] = *p & 1;
		now.due[c] = *p >> 1 & 1;
		now.knows[c] = *p >> 2 & 1;
		now.is_given[c] = *p >> 3 & 1;
		now.is_kept[c] = *p >> 4 & 1;
		now.heard[c] = *p++ >> 5 & 1;
		now.mine[c] = *p >> 2;
		now.asks[c] = *p++ & 3;
		now.waiter[c] = *p++;
		now.given[c] = *p++;
		now.joined[c] = *p++;
		now.passes[c] = *p++;
		for (s = 0; s < L; s++)
			if (*p >> s & 1)
				now.key[s] = c + 1;
	}
}

static void canonical(void)
{
	struct view a, b;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	view_take(&a, 0);
	view_take(&b, 1);
	view_put(memcmp(&a, &b, sizeof(a)) <= 0 ? &a : &b);
}
}
#define DONE c_code { canonical(); }

#define EACH(i, count) i = 0; do :: i == count -> i = 0; break :: else ->
#define NEXT(i) i++ od

/* ---- the node ---- */

/* The reservation of s changes, or ends: the client that got the last one has it no more. */
inline forget(s)
{
	is_newest[s] = 0;
	EACH(k, C)
		mine[k] = mine[k] & ~BIT(s);
		asks[k] = asks[k] & ~BIT(s);
		if :: given[k] == s + 1 -> is_given[k] = 0 :: else fi;
		if :: joined[k] == KEPT + s -> is_kept[k] = 0 :: else fi;
	NEXT(k)
}

inline keep_new(s) { forget(s); reserved[s] = 1 }
inline no_reservation(s) { forget(s); reserved[s] = 0 }
inline push(s) { unclaimed[s] = 1; is_newest[s] = reserved[s] }

#define POPS(c, s) unclaimed[s] -> \
	unclaimed[s] = 0; waiter[c] = SERVED; given[c] = s + 1; \
	is_given[c] = is_newest[s]; is_newest[s] = 0

/* Redis serves blocked clients. Any of them may be first here: the order is a matter of fairness. */
inline serve()
{
	do
	:: waiter[0] == BLOCKED && POPS(0, 0)
	:: waiter[0] == BLOCKED && POPS(0, 1)
	:: waiter[1] == BLOCKED && POPS(1, 0)
	:: waiter[1] == BLOCKED && POPS(1, 1)
	:: waiter[2] == BLOCKED && POPS(2, 0)
	:: waiter[2] == BLOCKED && POPS(2, 1)
#if C > 3
	:: waiter[3] == BLOCKED && POPS(3, 0)
	:: waiter[3] == BLOCKED && POPS(3, 1)
#endif
	:: else -> break
	od
}

#define IS_MINE(c, s) ((asks[c] & BIT(s)) != 0)
#define IS_OPEN(c, s) (key[s] == 0 && (!reserved[s] || IS_MINE(c, s) || unclaimed[s]))

/* acquire: granted, or another slot is named; if none is, the time when the first of them ends. A reservation ends
 * soon. */
inline acquire(c)
{
	s = slot[c];
	if
	:: IS_OPEN(c, s) ->
		key[s] = c + 1;
		next[c] = 0;
		due[c] = 0;
		knows[c] = mark;
		if
		:: reserved[s] ->
			if
			:: IS_MINE(c, s) -> skip
			:: else -> mark = 0; knows[c] = 0; next[c] = s + 1
			fi;
			no_reservation(s); unclaimed[s] = 0
		:: else
		fi
	:: else ->
		next[c] = (IS_OPEN(c, 1 - s) -> 2 - s : 0);
		due[c] = next[c] == 0 && (key[0] == 0 || key[1] == 0)
	fi;
	asks[c] = 0;
	s = 0
}

/* join, with the pop after it. */
inline join(c)
{
	joined[c] = NO_REPLY;
	if
	:: key[0] == 0 && reserved[0] && unclaimed[0] || key[1] == 0 && reserved[1] && unclaimed[1] ->
		mark = 0;
		joined[c] = SOON
	:: else ->
		s = slot[c];
		if
		:: key[s] == 0 && !reserved[s] -> joined[c] = FREE + s
		:: else ->
			if
			:: key[1 - s] == 0 && !reserved[1 - s] -> joined[c] = FREE + 1 - s
			:: else ->
				if
				:: key[s] == 0 -> joined[c] = KEPT + s
				:: key[s] != 0 && key[1 - s] == 0 -> joined[c] = KEPT + 1 - s
				:: else
				fi
			fi
		fi;
		/* Without known waiters the reservation is unclaimed; otherwise wait for it. */
		if
		:: joined[c] >= KEPT && mark -> joined[c] = SOON
		:: joined[c] >= KEPT && !mark -> is_kept[c] = 1
		:: else
		fi;
		mark = 1;
		s = 0
	fi;
	if
	:: POPS(c, 0)
	:: POPS(c, 1)
	:: !unclaimed[0] && !unclaimed[1] -> waiter[c] = BLOCKED
	fi
}

/* hand-off by a client that leaves the queue. Without known waiters, it changes nothing. */
#define PASSES(c, s) (mark && key[s] == 0 && !unclaimed[s] && (passes[c] & (BIT(s) | ANY)))
inline pass(c)
{
	EACH(s, L)
		if
		:: PASSES(c, s) ->
			if :: reserved[s] :: else -> keep_new(s) fi;
			push(s)
		:: else
		fi;
	NEXT(s);
	passes[c] = 0;
	serve()
}

/* hand-off by a holder, or by a client that leaves while it asks. */
inline hand_off(c)
{
	s = slot[c];
	if
	:: key[s] == 0 || key[s] == c + 1 ->
		if
		:: mark || knows[c] ->
			keep_new(s);
			if :: mark -> push(s) :: else fi
		:: else ->
			if :: key[s] == c + 1 -> no_reservation(s) :: else fi
		fi;
		key[s] = 0
	:: else ->
		/* The other client may hold it only for the moment of an attempt. */
		keep_new(s);
		if :: !mark -> push(s) :: else fi
	fi;
	s = 0;
	serve()
}

#define RELIES(c) (waiter[c] == BLOCKED && (state[c] == PAUSE || state[c] == ASKING || state[c] == ANSWERED))
#if C > 3
#define ANY_WAITER_RELIES (RELIES(0) || RELIES(1) || RELIES(2) || RELIES(3))
#else
#define ANY_WAITER_RELIES (RELIES(0) || RELIES(1) || RELIES(2))
#endif

proctype Node()
{
	byte k;

end:	do
	/* A reservation lasts for as long as a node may take to answer, its wake-up at least as long; the mark, until
	 * every waiter must have asked again. */
#ifndef NO_ENDINGS
	:: atomic { reserved[0] -> no_reservation(0); DONE }
	:: atomic { reserved[1] -> no_reservation(1); DONE }
	:: atomic { (unclaimed[0] || unclaimed[1]) && !(unclaimed[0] && reserved[0]) && !(unclaimed[1] && reserved[1]) ->
		unclaimed[0] = 0; unclaimed[1] = 0; DONE }
#endif
	:: atomic { mark && !ANY_WAITER_RELIES -> mark = 0; DONE }
	od
}

/* ---- a client ---- */

#define TRIES(c) (state[c] == PAUSE || state[c] == ASKING || state[c] == ANSWERED)
#define WAITS(c) (waiter[c] != DOWN)

/* No client is served after a pop that is still blocked. */
inline pass_on(c)
{
	if
	:: !WAITS(c) -> passes[c] = passes[c] | BIT(woken[c] - 1)
	:: else
	fi
}

/* A slot is reserved for this client. Of two reservations, one is enough. */
inline keep_reservation(c, one_more, is_it)
{
	if
	:: woken[c] != 0 && woken[c] != one_more -> pass_on(c)
	:: else
	fi;
	mine[c] = (is_it -> BIT(one_more - 1) : 0);
	woken[c] = one_more;
	if :: state[c] == PAUSE -> due[c] = 1 :: else fi
}

/* A pop may be served for any slot. */
#ifdef ITS_OWN_RESERVATION
#define LEAVES(c) (woken[c] -> BIT(woken[c] - 1) : ANY)
#else
#define LEAVES(c) (WAITS(c) -> ANY : BIT(woken[c] - 1))
#endif

inline leave_queue(c)
{
#ifndef NO_LEAVE
	if
	:: woken[c] != 0 || WAITS(c) -> passes[c] = passes[c] | LEAVES(c)
	:: else
	fi;
#endif
	woken[c] = 0; mine[c] = 0; next[c] = 0; due[c] = 0; used[c] = 0; heard[c] = 0
}

inline hold(c)
{
	if
	:: next[c] != 0 -> keep_reservation(c, next[c], false) /* an unclaimed reservation */
	:: else
	fi;
#ifndef NO_PASS
	if
	:: woken[c] != 0 && woken[c] != slot[c] + 1 -> pass_on(c)
	:: else
	fi;
#endif
	/* Another slot's release would wake it: the server passes that wake-up on at once. */
#ifndef NO_HAND_OFF_AFTER
	if
	:: WAITS(c) -> passes[c] = passes[c] | LEAVES(c)
	:: else
	fi;
#endif
	woken[c] = 0; mine[c] = 0; next[c] = 0; due[c] = 0; used[c] = 0; heard[c] = 0;
	state[c] = HELD
}

inline ask(c, any)
{
	slot[c] = (woken[c] -> woken[c] - 1 : (next[c] -> next[c] - 1 : any));
	used[c] = woken[c] != 0;
	asks[c] = mine[c];
	next[c] = 0; due[c] = 0;
	state[c] = ASKING
}

#ifndef NO_CLOCK
#define ASKS(c) (state[c] == OUT || state[c] == PAUSE)
#else
#define ASKS(c) (state[c] == OUT || state[c] == PAUSE && due[c])
#endif

proctype Client(byte c)
{
	byte s, k;

end:	do
	/* Anew, or as a node said, or by the clock. */
	:: atomic { ASKS(c) -> ask(c, 0); DONE }
	:: atomic { ASKS(c) -> ask(c, 1); DONE }
	:: atomic { state[c] == ASKING -> acquire(c); state[c] = ANSWERED; DONE }
	:: atomic { state[c] == ANSWERED && key[slot[c]] == c + 1 -> hold(c); DONE }
	:: atomic { state[c] == ANSWERED && key[slot[c]] != c + 1 ->
		if
		:: used[c] -> woken[c] = 0
		:: else
		fi;
		used[c] = 0;
		due[c] = due[c] || next[c] != 0 || woken[c] != 0 || heard[c];
		heard[c] = 0;
		state[c] = PAUSE; DONE }

	/* The waiter connection. */
	:: atomic { state[c] == PAUSE && woken[c] == 0 && !WAITS(c) && passes[c] == 0 -> waiter[c] = JOINING; DONE }
	:: atomic { waiter[c] == JOINING -> join(c); DONE }
	:: atomic { joined[c] != NO_REPLY ->
		s = joined[c];
		joined[c] = NO_REPLY;
		if
		:: state[c] == PAUSE && s < KEPT ->
			due[c] = 1;
			if :: s >= FREE -> next[c] = s - FREE + 1 :: else fi
#ifndef DEAF
		:: TRIES(c) && state[c] != PAUSE && s < KEPT -> heard[c] = 1
#endif
		:: TRIES(c) && s >= KEPT -> keep_reservation(c, s - KEPT + 1, is_kept[c])
		:: else
		fi;
		is_kept[c] = 0;
		s = 0; DONE }
	:: atomic { waiter[c] == SERVED && joined[c] == NO_REPLY ->
		waiter[c] = DOWN;
		if
		:: TRIES(c) -> keep_reservation(c, given[c], is_given[c])
		:: else
		fi;
		given[c] = 0; is_given[c] = 0; DONE }
	:: atomic { passes[c] != 0 && (waiter[c] == DOWN || waiter[c] == SERVED) -> pass(c); DONE }

	/* The reply to an extension says if others wait. */
	:: atomic { state[c] == HELD && knows[c] != mark -> knows[c] = mark; DONE }
	:: atomic { state[c] == HELD -> state[c] = RELEASING; DONE }
	/* --wait is over, or a signal ended it. */
#ifndef NO_QUIT
	:: atomic { state[c] == PAUSE -> leave_queue(c); state[c] = CLOSING; DONE }
#ifndef NO_TERM
	:: atomic { state[c] == ASKING -> leave_queue(c); state[c] = QUITTING; DONE }
	:: atomic { state[c] == ANSWERED -> leave_queue(c); knows[c] = 0; state[c] = RELEASING; DONE }
	:: atomic { state[c] == QUITTING -> acquire(c); knows[c] = 0; next[c] = 0; due[c] = 0;
		state[c] = RELEASING; DONE }
#endif
#endif
	:: atomic { state[c] == RELEASING -> hand_off(c); knows[c] = 0; state[c] = CLOSING; DONE }
	/* Bytes on a connection are read before its end is. */
	:: atomic { state[c] == CLOSING && (waiter[c] == BLOCKED || waiter[c] != JOINING && passes[c] == 0) ->
		waiter[c] = DOWN; given[c] = 0; is_given[c] = 0; joined[c] = NO_REPLY; is_kept[c] = 0; passes[c] = 0;
		slot[c] = 0; state[c] = LAST_STATE; DONE }
#ifdef KILLED
	:: atomic { state[c] == PAUSE && waiter[c] != JOINING ->
		leave_queue(c); passes[c] = 0; state[c] = CLOSING; DONE }
#endif
	od
}

/* ---- the property ---- */

#define STUCK(c) (state[c] == PAUSE && waiter[c] == BLOCKED && !due[c] && joined[c] == NO_REPLY)
#define QUIET(c) (STUCK(c) || \
	((state[c] == OUT || state[c] == HELD || state[c] == GONE) && joined[c] == NO_REPLY && \
		(waiter[c] == DOWN && passes[c] == 0 || waiter[c] == BLOCKED)))
#if C > 3
#define IS_LOST ((key[0] == 0 || key[1] == 0) && (STUCK(0) || STUCK(1) || STUCK(2) || STUCK(3)) && \
	QUIET(0) && QUIET(1) && QUIET(2) && QUIET(3))
#else
#define IS_LOST ((key[0] == 0 || key[1] == 0) && (STUCK(0) || STUCK(1) || STUCK(2)) && \
	QUIET(0) && QUIET(1) && QUIET(2))
#endif

proctype Watch()
{
end:	atomic { IS_LOST -> assert(false) }
}

init {
	atomic {
		run Client(0); run Client(1); run Client(2);
#if C > 3
		run Client(3);
#endif
		run Node(); run Watch()
	}
}
