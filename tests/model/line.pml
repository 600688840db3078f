/*
 * line: while a slot of a semaphore is free, nobody stands in line for good.
 *
 * One node, the line, L slots and C clients: each comes, waits, holds and gives back, or leaves, once (AGAIN:
 * as often as it likes; too many states). README.md says what is proved, for which bounds.
 *
 * What it asks: when all is quiet, that is when no message is on its way, and nobody will look again soon by
 * itself, is a slot free while somebody waits? Nothing would change that but a clock that was set for the end
 * of a key. Such looks by the clock may come at any moment here, but nothing is owed to them.
 *
 * A script is one step, and so are JOIN and the pop behind it, which travel in one packet. A client has two
 * connections, one to ask with and its seat; each keeps its order, and neither waits for the other.
 *
 * Switches NO_PASS, NO_LEAVE, NO_HAND_OVER_BEHIND, DEAF and KILLED take one rule away; the search must then
 * find the lost wake-up. ITS_OWN_TURN takes a part of one away. NO_CLOCK, NO_ENDINGS, NO_QUIT and
 * NO_TERM make the world smaller.
 */

#ifndef C
#define C 3
#endif
#define L 2

#define BIT(s) (1 << (s))
#define ANY BIT(L) /* of the slots to pass on: whichever are claimed */

/* The node: who has each slot (client + 1); is a turn kept; does an element lie in the list, and is it
 * about that turn, or an earlier one; is somebody known to wait. */
byte key[L];
bit turn[L], lies[L], is_newest[L], mark;

/* A client. RELEASING: its hand-over is on its way; CLOSING: it is not waited for, and the rest closes. */
#define OUT 0
#define PAUSE 1
#define ASKING 2
#define ANSWERED 3
#define HELD 4
#define QUITTING 5 /* asking, with the hand-over behind the question */
#define RELEASING 6
#define CLOSING 7
#define GONE 8
#ifdef AGAIN
#define LAST_STATE OUT
#else
#define LAST_STATE GONE
#endif
byte state[C], slot[C];
byte next[C]; /* the slot that it was told of, + 1; ANSWERED: what the answer says, or that the turn was nobody's */
byte woken[C]; /* for this slot, + 1 */
bit used[C]; /* it asks with its turn */
bit heard[C]; /* while it asks: the line said that it is worth to look again */
bit due[C]; /* it will look again soon, by itself; or that is what the answer says */
bit knows[C]; /* the holder: that others wait */
/* Whether the turn that it was given is the one that is kept: as it has it, and as the request says. */
byte mine[C], asks[C];

/* Its seat: what the server does with it, */
#define DOWN 0
#define JOINING 1 /* JOIN and the pop are on their way */
#define BLOCKED 2
#define SERVED 3 /* the pop's answer is on its way */
byte seat[C], given[C];
bit is_given[C]; /* that turn is still the one that is kept */
/* the answer to JOIN, */
#define NO_WORD 0
#define SOON 1
#define FREE 2 /* + slot */
#define KEPT (2 + L) /* + slot */
byte word[C];
bit is_kept[C]; /* that turn still is */
/* and the turns that it passes on, behind all that. */
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
		v->slot[s ^ swap] = now.turn[s] | now.lies[s] << 1 | now.is_newest[s] << 2;
	v->mark = now.mark;
	for (c = 0; c < C; c++) {
		unsigned char *p = v->client[c], has = 0, w = now.word[c];

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
		*p++ = now.seat[c];
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
		now.turn[s] = v->slot[s] & 1;
		now.lies[s] = v->slot[s] >> 1 & 1;
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
		now.seat[c] = *p++;
		now.given[c] = *p++;
		now.word[c] = *p++;
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

/* The turn of s is another one from now on, or none: whoever was given the last one has it no more. */
inline forget(s)
{
	is_newest[s] = 0;
	EACH(k, C)
		mine[k] = mine[k] & ~BIT(s);
		asks[k] = asks[k] & ~BIT(s);
		if :: given[k] == s + 1 -> is_given[k] = 0 :: else fi;
		if :: word[k] == KEPT + s -> is_kept[k] = 0 :: else fi;
	NEXT(k)
}

inline keep_new(s) { forget(s); turn[s] = 1 }
inline no_turn(s) { forget(s); turn[s] = 0 }
inline push(s) { lies[s] = 1; is_newest[s] = turn[s] }

#define POPS(c, s) lies[s] -> \
	lies[s] = 0; seat[c] = SERVED; given[c] = s + 1; \
	is_given[c] = is_newest[s]; is_newest[s] = 0

/* Redis serves who is blocked. Which of them is not asked here: the order is fairness. */
inline serve()
{
	do
	:: seat[0] == BLOCKED && POPS(0, 0)
	:: seat[0] == BLOCKED && POPS(0, 1)
	:: seat[1] == BLOCKED && POPS(1, 0)
	:: seat[1] == BLOCKED && POPS(1, 1)
	:: seat[2] == BLOCKED && POPS(2, 0)
	:: seat[2] == BLOCKED && POPS(2, 1)
#if C > 3
	:: seat[3] == BLOCKED && POPS(3, 0)
	:: seat[3] == BLOCKED && POPS(3, 1)
#endif
	:: else -> break
	od
}

#define IS_MINE(c, s) ((asks[c] & BIT(s)) != 0)
#define IS_OPEN(c, s) (key[s] == 0 && (!turn[s] || IS_MINE(c, s) || lies[s]))

/* script_acquire: granted, or another slot is named; if none is, when the first of them ends. A turn does
 * so soon. */
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
		:: turn[s] ->
			if
			:: IS_MINE(c, s) -> skip
			:: else -> mark = 0; knows[c] = 0; next[c] = s + 1
			fi;
			no_turn(s); lies[s] = 0
		:: else
		fi
	:: else ->
		next[c] = (IS_OPEN(c, 1 - s) -> 2 - s : 0);
		due[c] = next[c] == 0 && (key[0] == 0 || key[1] == 0)
	fi;
	asks[c] = 0;
	s = 0
}

/* script_join, with the pop behind it. */
inline join(c)
{
	word[c] = NO_WORD;
	if
	:: key[0] == 0 && turn[0] && lies[0] || key[1] == 0 && turn[1] && lies[1] ->
		mark = 0;
		word[c] = SOON
	:: else ->
		s = slot[c];
		if
		:: key[s] == 0 && !turn[s] -> word[c] = FREE + s
		:: else ->
			if
			:: key[1 - s] == 0 && !turn[1 - s] -> word[c] = FREE + 1 - s
			:: else ->
				if
				:: key[s] == 0 -> word[c] = KEPT + s
				:: key[s] != 0 && key[1 - s] == 0 -> word[c] = KEPT + 1 - s
				:: else
				fi
			fi
		fi;
		/* It was kept for somebody, when nobody is known to wait; else that is waited for. */
		if
		:: word[c] >= KEPT && mark -> word[c] = SOON
		:: word[c] >= KEPT && !mark -> is_kept[c] = 1
		:: else
		fi;
		mark = 1;
		s = 0
	fi;
	if
	:: POPS(c, 0)
	:: POPS(c, 1)
	:: !lies[0] && !lies[1] -> seat[c] = BLOCKED
	fi
}

/* script_hand_over, of who leaves the line. Nothing is looked at where nobody is known to wait. */
#define PASSES(c, s) (mark && key[s] == 0 && !lies[s] && (passes[c] & (BIT(s) | ANY)))
inline pass(c)
{
	EACH(s, L)
		if
		:: PASSES(c, s) ->
			if :: turn[s] :: else -> keep_new(s) fi;
			push(s)
		:: else
		fi;
	NEXT(s);
	passes[c] = 0;
	serve()
}

/* script_hand_over, of who has the lock, or leaves while it asks for it. */
inline hand_over(c)
{
	s = slot[c];
	if
	:: key[s] == 0 || key[s] == c + 1 ->
		if
		:: mark || knows[c] ->
			keep_new(s);
			if :: mark -> push(s) :: else fi
		:: else ->
			if :: key[s] == c + 1 -> no_turn(s) :: else fi
		fi;
		key[s] = 0
	:: else ->
		/* The other one may hold it only for the moment that an attempt takes. */
		keep_new(s);
		if :: !mark -> push(s) :: else fi
	fi;
	s = 0;
	serve()
}

#define RELIES(c) (seat[c] == BLOCKED && (state[c] == PAUSE || state[c] == ASKING || state[c] == ANSWERED))
#if C > 3
#define SOMEBODY_RELIES (RELIES(0) || RELIES(1) || RELIES(2) || RELIES(3))
#else
#define SOMEBODY_RELIES (RELIES(0) || RELIES(1) || RELIES(2))
#endif

proctype Node()
{
	byte k;

end:	do
	/* A turn is kept for as long as a node may take to answer, its element no shorter; the mark, until
	 * those who wait must have asked again. */
#ifndef NO_ENDINGS
	:: atomic { turn[0] -> no_turn(0); DONE }
	:: atomic { turn[1] -> no_turn(1); DONE }
	:: atomic { (lies[0] || lies[1]) && !(lies[0] && turn[0]) && !(lies[1] && turn[1]) ->
		lies[0] = 0; lies[1] = 0; DONE }
#endif
	:: atomic { mark && !SOMEBODY_RELIES -> mark = 0; DONE }
	od
}

/* ---- a client ---- */

#define TRIES(c) (state[c] == PAUSE || state[c] == ASKING || state[c] == ANSWERED)
#define WAITS(c) (seat[c] != DOWN)

/* Behind a pop that is blocked nobody is. */
inline pass_on(c)
{
	if
	:: !WAITS(c) -> passes[c] = passes[c] | BIT(woken[c] - 1)
	:: else
	fi
}

/* It is our turn for a slot. Two at once: one will do. */
inline keep_turn(c, one_more, is_it)
{
	if
	:: woken[c] != 0 && woken[c] != one_more -> pass_on(c)
	:: else
	fi;
	mine[c] = (is_it -> BIT(one_more - 1) : 0);
	woken[c] = one_more;
	if :: state[c] == PAUSE -> due[c] = 1 :: else fi
}

/* Which slot a pop will be served for is not known. */
#ifdef ITS_OWN_TURN
#define LEAVES(c) (woken[c] -> BIT(woken[c] - 1) : ANY)
#else
#define LEAVES(c) (WAITS(c) -> ANY : BIT(woken[c] - 1))
#endif

inline leave_line(c)
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
	:: next[c] != 0 -> keep_turn(c, next[c], false) /* nobody came for it */
	:: else
	fi;
#ifndef NO_PASS
	if
	:: woken[c] != 0 && woken[c] != slot[c] + 1 -> pass_on(c)
	:: else
	fi;
#endif
	/* Another slot's release would wake us: who serves us passes that on at once. */
#ifndef NO_HAND_OVER_BEHIND
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
	/* Anew, or as it was told, or by the clock. */
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

	/* The seat. */
	:: atomic { state[c] == PAUSE && woken[c] == 0 && !WAITS(c) && passes[c] == 0 -> seat[c] = JOINING; DONE }
	:: atomic { seat[c] == JOINING -> join(c); DONE }
	:: atomic { word[c] != NO_WORD ->
		s = word[c];
		word[c] = NO_WORD;
		if
		:: state[c] == PAUSE && s < KEPT ->
			due[c] = 1;
			if :: s >= FREE -> next[c] = s - FREE + 1 :: else fi
#ifndef DEAF
		:: TRIES(c) && state[c] != PAUSE && s < KEPT -> heard[c] = 1
#endif
		:: TRIES(c) && s >= KEPT -> keep_turn(c, s - KEPT + 1, is_kept[c])
		:: else
		fi;
		is_kept[c] = 0;
		s = 0; DONE }
	:: atomic { seat[c] == SERVED && word[c] == NO_WORD ->
		seat[c] = DOWN;
		if
		:: TRIES(c) -> keep_turn(c, given[c], is_given[c])
		:: else
		fi;
		given[c] = 0; is_given[c] = 0; DONE }
	:: atomic { passes[c] != 0 && (seat[c] == DOWN || seat[c] == SERVED) -> pass(c); DONE }

	/* An extension tells whether others wait. */
	:: atomic { state[c] == HELD && knows[c] != mark -> knows[c] = mark; DONE }
	:: atomic { state[c] == HELD -> state[c] = RELEASING; DONE }
	/* Out of patience, or ended by a signal. */
#ifndef NO_QUIT
	:: atomic { state[c] == PAUSE -> leave_line(c); state[c] = CLOSING; DONE }
#ifndef NO_TERM
	:: atomic { state[c] == ASKING -> leave_line(c); state[c] = QUITTING; DONE }
	:: atomic { state[c] == ANSWERED -> leave_line(c); knows[c] = 0; state[c] = RELEASING; DONE }
	:: atomic { state[c] == QUITTING -> acquire(c); knows[c] = 0; next[c] = 0; due[c] = 0;
		state[c] = RELEASING; DONE }
#endif
#endif
	:: atomic { state[c] == RELEASING -> hand_over(c); knows[c] = 0; state[c] = CLOSING; DONE }
	/* What was sent on a connection is read before its end is. */
	:: atomic { state[c] == CLOSING && (seat[c] == BLOCKED || seat[c] != JOINING && passes[c] == 0) ->
		seat[c] = DOWN; given[c] = 0; is_given[c] = 0; word[c] = NO_WORD; is_kept[c] = 0; passes[c] = 0;
		slot[c] = 0; state[c] = LAST_STATE; DONE }
#ifdef KILLED
	:: atomic { state[c] == PAUSE && seat[c] != JOINING ->
		leave_line(c); passes[c] = 0; state[c] = CLOSING; DONE }
#endif
	od
}

/* ---- what must not be ---- */

#define STUCK(c) (state[c] == PAUSE && seat[c] == BLOCKED && !due[c] && word[c] == NO_WORD)
#define QUIET(c) (STUCK(c) || \
	((state[c] == OUT || state[c] == HELD || state[c] == GONE) && word[c] == NO_WORD && \
		(seat[c] == DOWN && passes[c] == 0 || seat[c] == BLOCKED)))
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
