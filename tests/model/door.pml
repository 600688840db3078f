/*
 * door: readers and writers in one line, at one node; and the door, where a writer waits that has found readers.
 *
 * As line.pml, which has the seat, the turn and the mark explained; for one key, with readers. C clients, of which
 * WRITERS are writers, come once each: they wait, hold and give back, or leave. README.md says what is proved, for
 * which bounds.
 *
 * What it asks, when all is quiet: is the key free while somebody waits? Do readers wait while readers have the key,
 * and no writer is there? And at any time: has a reader that came after a writer passed it, without a word? Was one
 * given a word while a writer stood at the door?
 *
 * Each switch takes one rule away. NO_CLOCK, NO_ENDINGS, NO_QUIT and NO_TERM make the world smaller.
 */

#ifndef C
#define C 3
#endif
#ifndef WRITERS
#define WRITERS 1
#endif

#define BIT(c) (1 << (c))
#define IS_WRITER(c) ((c) < WRITERS)

/* The node: whose the key is (client + 1, or the readers'), and which of them are in it; is a turn kept; does a word
 * lie in the list of the line, or in that of the door, and is it about that turn; is somebody known to wait, and to
 * wait at the door. */
#define READERS (C + 1)
byte key, in;
bit turn, wake, door, is_newest, mark, head;

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
byte state[C];
bit woken[C]; /* it was given a turn, or a word */
bit named[C]; /* and can name one since */
bit used[C]; /* it asks with it */
bit fresh[C]; /* what the line said came too late for this attempt */
bit due[C]; /* it will look again soon, by itself; or that is what the answer says */
bit knows[C]; /* that others wait */
bit proved[C]; /* it had the lock */
bit sees_readers[C]; /* the last answer */
bit leads[C]; /* it goes to the door */
bit mine[C], asks[C]; /* the turn that it was given is the one that is kept: as it has it, and as it asks */

/* Its seat, */
#define DOWN 0
#define JOINING 1 /* JOIN and the pop are on their way */
#define BLOCKED 2
#define SERVED 3 /* the pop's answer is on its way */
byte seat[C], rank[C]; /* BLOCKED: behind how many, from 1 on */
bit is_at_door[C], is_given[C];
/* the answer to JOIN, */
#define NO_WORD 0
#define SOON 1
#define LATER 2
#define KEPT 3
byte word[C];
bit is_kept[C];
/* what is sent behind all that, and beside it. */
bit passes[C], beside[C];

byte behind[C]; /* the writers that stood in line when it came */

#define EACH(i, count) i = 0; do :: i == count -> i = 0; break :: else ->
#define NEXT(i) i++ od

/* ---- the node ---- */

#define TRIES(c) (state[c] == PAUSE || state[c] == ASKING || state[c] == ANSWERED)
inline forget()
{
	is_newest = 0;
	EACH(k, C)
		mine[k] = 0; asks[k] = 0; is_given[k] = 0; is_kept[k] = 0;
	NEXT(k)
}

inline keep_new() { forget(); turn = 1 }
inline no_turn() { forget(); turn = 0 }
inline drop() { wake = 0; door = 0; is_newest = 0 }

inline push(is_about_turn)
{
	drop();
	is_newest = turn && (is_about_turn);
#ifdef NO_DOOR_FIRST
	wake = 1;
#else
	if :: head -> head = 0; door = 1 :: else -> wake = 1 fi;
#endif
	serve()
}

#define IS_SERVED(c, list, is_served) seat[c] == BLOCKED && list && (is_served)
inline leave_rank(c)
{
	EACH(k, C)
		if :: rank[k] > rank[c] -> rank[k]-- :: else fi;
	NEXT(k);
	rank[c] = 0; is_at_door[c] = 0
}

#define STANDS(c) (seat[c] == BLOCKED && TRIES(c))
#define AT_DOOR(c) (STANDS(c) && is_at_door[c])
#if WRITERS > 1
#define IS_PASSING(c) ((behind[c] & BIT(0)) && STANDS(0) || (behind[c] & BIT(1)) && STANDS(1))
#else
#define IS_PASSING(c) ((behind[c] & BIT(0)) && STANDS(0))
#endif

/* It is given what lies there. */
inline pop(c)
{
	assert(IS_WRITER(c) || key != READERS || !AT_DOOR(0));
	if :: leads[c] && door -> door = 0 :: else -> wake = 0 fi;
	seat[c] = SERVED;
	is_given[c] = is_newest;
	is_newest = 0;
	/* From here on it may be passed. */
	EACH(k, C) behind[k] = behind[k] & ~BIT(c); NEXT(k)
}

/* Redis serves those who are blocked in order of arrival. */
inline serve()
{
	do
	:: wake || door ->
		EACH(first, C)
			if
			:: seat[first] == BLOCKED && (wake || is_at_door[first]) && best == 0 -> best = first + 1
			:: seat[first] == BLOCKED && (wake || is_at_door[first]) && best != 0 &&
				rank[first] < rank[best - 1] -> best = first + 1
			:: else
			fi;
		NEXT(first);
		if
		:: best == 0 -> break
		:: else ->
			first = best - 1; best = 0;
			leave_rank(first);
			pop(first);
			first = 0
		fi
	:: else -> break
	od
}

/* Who waited at the door is not there any more. */
inline settle()
{
#ifndef NO_SETTLE
	if
	:: door && !wake -> door = 0; wake = 1; serve()
	:: else
	fi
#endif
}

/* The first in line may come in too. */
inline beckon(is_about_turn)
{
	if
	:: mark && !head -> push(is_about_turn)
	:: else
	fi
}

#define HAS(c) (key == c + 1 || key == READERS && (in & BIT(c)))
#define IS_FOREIGN(c) (key != 0 && key != c + 1 && (key != READERS || IS_WRITER(c)))

/* script_acquire. Who waits is known to, at the door too, for as long as it may take. */
inline acquire(c)
{
	due[c] = 0;
	if
	:: IS_FOREIGN(c) -> sees_readers[c] = key == READERS
	:: else ->
		settle();
		sees_readers[c] = 0;
		if
		/* Who would join readers comes after those who wait. */
#ifndef NO_HEED
		:: key == READERS && mark && !used[c] && !wake ->
#ifndef NO_BECKON
			beckon(false);
#endif
			sees_readers[c] = 1
#endif
		:: key == 0 && turn && !asks[c] && !wake -> due[c] = 1
		:: key == 0 && mark && !turn && !used[c] && !IS_WRITER(c) ->
			keep_new(); push(true); due[c] = 1
		:: else ->
			assert(IS_WRITER(c) || used[c] || !IS_PASSING(c));
			if
			:: key == READERS && mark && !used[c] -> mark = 0; drop()
			:: else
			fi;
			knows[c] = mark;
			if
			:: IS_WRITER(c) ->
				key = c + 1;
				if :: named[c] || seat[c] == JOINING || seat[c] == BLOCKED -> head = 0 :: else fi
			:: else -> skip
			fi;
			if
			:: turn && (IS_WRITER(c) || key == 0) ->
				if :: !asks[c] -> mark = 0; knows[c] = 0 :: else fi;
				no_turn(); drop()
			:: else
			fi;
			if :: !IS_WRITER(c) -> key = READERS; in = in | BIT(c) :: else fi
		fi
	fi;
	asks[c] = 0
}

/* script_join, with the pop behind it. */
inline join(c)
{
	settle();
	word[c] = NO_WORD;
	if
	:: !IS_FOREIGN(c) && !HAS(c) && wake -> mark = 0; word[c] = LATER
	:: else ->
		if
		:: IS_FOREIGN(c) || HAS(c) -> skip
		:: key == READERS && !IS_WRITER(c) && !HAS(c) -> word[c] = (mark -> NO_WORD : SOON)
		:: key == 0 && (!mark || !turn) ->
			word[c] = (turn -> KEPT : SOON);
			is_kept[c] = turn
		:: key == 0 && mark && turn -> word[c] = LATER
		fi;
		mark = 1;
		#ifdef HEAD_ANYWAY
		if :: leads[c] -> head = 1 :: else fi
#else
		if :: leads[c] && key == READERS -> head = 1 :: else fi
#endif
	fi;
	if
	:: wake || leads[c] && door -> pop(c)
	:: else ->
		seat[c] = BLOCKED;
		is_at_door[c] = leads[c];
		EACH(k, C)
			if :: rank[k] >= rank[c] && k != c && rank[k] > 0 -> rank[c] = rank[k] :: else fi;
		NEXT(k);
		rank[c]++
	fi
}

/* script_hand_over, of who leaves the line: behind the pop, or beside it; or who got in from it, among readers. */
inline leave(c, is_beside)
{
	if :: is_beside && leads[c] -> head = 0 :: else fi;
	if
	:: key == READERS -> beckon(mine[c])
	:: key == 0 || key == c + 1 ->
		if
		:: mark || is_beside && knows[c] ->
			if :: turn :: else -> keep_new() fi;
			key = 0;
			if :: mark -> push(true) :: else fi
		:: else ->
			if :: key == c + 1 -> no_turn() :: else fi;
			key = 0
		fi
	:: else
	fi
}

/* script_hand_over, of who has the lock, or gives up while it asks for it. */
inline hand_over(c)
{
	if
	:: key == READERS && (in & BIT(c)) ->
		in = in & ~BIT(c);
		if
		:: in == 0 ->
			key = 0;
			if :: mark -> keep_new(); push(true) :: else -> no_turn() fi
		:: else
		fi
	:: key == 0 || key == c + 1 ->
		if
		:: key == 0 && turn && !proved[c] -> skip
		:: else ->
			if
			:: mark || knows[c] ->
				if :: turn && !proved[c] :: else -> keep_new() fi;
				key = 0;
				if :: mark -> push(true) :: else fi
			:: else ->
				if :: key == c + 1 -> no_turn() :: else fi
			fi
		fi;
		key = 0
	:: else ->
		if
		:: proved[c] || !turn ->
			keep_new();
			if :: !knows[c] && !mark -> push(true) :: else fi
		:: else
		fi
	fi
}

#if C > 3
#define SOMEBODY(is) (is(0) || is(1) || is(2) || is(3))
#else
#define SOMEBODY(is) (is(0) || is(1) || is(2))
#endif

proctype Node()
{
	byte k;

end:	do
	/* A turn is kept for as long as a node may take to answer, the word about it no shorter; a mark, until those
	 * who wait must have asked again. */
#ifndef NO_ENDINGS
	:: atomic { turn -> no_turn() }
	:: atomic { (wake || door) && !(turn && is_newest) -> drop() }
#endif
	:: atomic { mark && !SOMEBODY(STANDS) -> mark = 0 }
#ifdef HEAD_ENDS
	:: atomic { head -> head = 0 }
#else
	:: atomic { head && !SOMEBODY(AT_DOOR) -> head = 0 }
#endif
	od
}

/* ---- a client ---- */

#define WAITS(c) (seat[c] == JOINING || seat[c] == BLOCKED || seat[c] == SERVED)

inline keep_turn(c, is_it)
{
	mine[c] = is_it;
	woken[c] = 1; named[c] = 1;
	if :: state[c] == PAUSE -> due[c] = 1 :: else -> fresh[c] = 1 fi
}

inline forget_attempt(c)
{
	woken[c] = 0; due[c] = 0; used[c] = 0; fresh[c] = 0
}

inline leave_line(c)
{
#ifndef NO_LEAVE
	if
	:: woken[c] || WAITS(c) -> passes[c] = 1
	:: else
	fi;
#ifndef NO_BESIDE
	/* What is asked on that connection is not known to be over before it is. */
	if
	:: state[c] == PAUSE && WAITS(c) && (woken[c] || sees_readers[c]) -> beside[c] = 1
	:: else
	fi;
#endif
#endif
	forget_attempt(c)
}

inline hold(c)
{
#ifndef NO_CHAIN
	if
	:: !IS_WRITER(c) && used[c] && !WAITS(c) -> passes[c] = 1
	:: else
	fi;
#endif
	forget_attempt(c);
	leads[c] = 0; sees_readers[c] = 0; named[c] = 0; behind[c] = 0; proved[c] = 1;
	state[c] = HELD
}

#ifndef NO_CLOCK
#define ASKS(c) (state[c] == OUT || state[c] == PAUSE)
#else
#define ASKS(c) (state[c] == OUT || state[c] == PAUSE && due[c])
#endif

/* Its word that it waits at the door may come in behind the word that it does not. */
#ifdef EARLY_QUIT
#define MAY_QUIT(c) true
#else
#define MAY_QUIT(c) (seat[c] != JOINING || !leads[c])
#endif

proctype Client(byte c)
{
	byte k, first, best;

end:	do
	/* Anew, or as it was told, or by the clock. */
	:: atomic { ASKS(c) ->
		if
		:: state[c] == OUT ->
			EACH(k, WRITERS)
				if :: STANDS(k) -> behind[c] = behind[c] | BIT(k) :: else fi;
			NEXT(k)
		:: else
		fi;
		used[c] = woken[c];
		asks[c] = (IS_WRITER(c) || woken[c] -> mine[c] : 0);
		due[c] = 0; fresh[c] = 0;
		state[c] = ASKING }
	:: atomic { state[c] == ASKING -> acquire(c); state[c] = ANSWERED }
	:: atomic { state[c] == ANSWERED && HAS(c) -> hold(c) }
	:: atomic { state[c] == ANSWERED && !HAS(c) ->
		if :: used[c] && IS_WRITER(c) && sees_readers[c] -> leads[c] = 1 :: else fi;
		if :: used[c] && !fresh[c] -> woken[c] = 0 :: else fi;
		used[c] = 0;
		due[c] = due[c] || woken[c] || fresh[c];
		fresh[c] = 0;
		state[c] = PAUSE }

	/* The seat. */
	:: atomic { state[c] == PAUSE && !woken[c] && !WAITS(c) && !passes[c] -> seat[c] = JOINING }
	:: atomic { seat[c] == JOINING -> join(c) }
	:: atomic { word[c] != NO_WORD ->
		if
		:: word[c] < KEPT && state[c] == PAUSE -> due[c] = 1
		#ifdef DEAF
		:: word[c] == SOON && TRIES(c) && state[c] != PAUSE -> fresh[c] = 1
#else
		:: word[c] < KEPT && TRIES(c) && state[c] != PAUSE -> fresh[c] = 1
#endif
		:: word[c] == KEPT && TRIES(c) -> keep_turn(c, is_kept[c])
		:: else
		fi;
		word[c] = NO_WORD;
		is_kept[c] = 0 }
	:: atomic { seat[c] == SERVED && word[c] == NO_WORD ->
		seat[c] = DOWN;
		if :: TRIES(c) -> keep_turn(c, is_given[c]) :: else fi;
		is_given[c] = 0 }
	:: atomic { passes[c] && (seat[c] == DOWN || seat[c] == SERVED) -> passes[c] = 0; leave(c, false) }
	:: atomic { beside[c] -> beside[c] = 0; leave(c, true) }

	/* An extension tells whether others wait. */
	:: atomic { state[c] == HELD && knows[c] != mark -> knows[c] = mark }
	:: atomic { state[c] == HELD ->
		if :: WAITS(c) -> passes[c] = 1 :: else fi;
		state[c] = RELEASING }
	/* Out of patience, or ended by a signal. */
#ifndef NO_QUIT
	:: atomic { state[c] == PAUSE && MAY_QUIT(c) -> leave_line(c); state[c] = CLOSING }
#ifndef NO_TERM
	:: atomic { state[c] == ASKING && MAY_QUIT(c) -> leave_line(c); state[c] = QUITTING }
	:: atomic { state[c] == ANSWERED && HAS(c) && MAY_QUIT(c) -> leave_line(c); state[c] = RELEASING }
	:: atomic { state[c] == QUITTING -> acquire(c); due[c] = 0; knows[c] = 0;
		state[c] = RELEASING }
#endif
#endif
	:: atomic { state[c] == RELEASING -> hand_over(c); knows[c] = 0; state[c] = CLOSING }
	/* What was sent on a connection is read before its end is. */
	:: atomic { state[c] == CLOSING && !beside[c] &&
			(seat[c] == BLOCKED || seat[c] != JOINING && !passes[c]) ->
		if :: seat[c] == BLOCKED -> leave_rank(c) :: else fi;
		seat[c] = DOWN; is_given[c] = 0; word[c] = NO_WORD; is_kept[c] = 0; passes[c] = 0;
		leads[c] = 0; mine[c] = 0; named[c] = 0; proved[c] = 0; sees_readers[c] = 0; behind[c] = 0;
		knows[c] = 0; state[c] = GONE }
#ifdef KILLED
	:: atomic { state[c] == PAUSE && seat[c] != JOINING ->
		forget_attempt(c); passes[c] = 0; state[c] = CLOSING }
#endif
	od
}

/* ---- what must not be ---- */

#define STUCK(c) (state[c] == PAUSE && seat[c] == BLOCKED && !due[c] && word[c] == NO_WORD)
#define QUIET(c) (STUCK(c) || \
	((state[c] == OUT || state[c] == HELD || state[c] == GONE) && word[c] == NO_WORD && \
		(seat[c] == DOWN && !passes[c] || seat[c] == BLOCKED)))
#define LOUD(c) (!QUIET(c))
#define STUCK_READER(c) (!IS_WRITER(c) && STUCK(c))
#define STUCK_WRITER(c) (IS_WRITER(c) && STUCK(c))
#define IS_LOST (key == 0 && SOMEBODY(STUCK) && !SOMEBODY(LOUD))
#define IS_IDLE (key == READERS && SOMEBODY(STUCK_READER) && !SOMEBODY(STUCK_WRITER) && !SOMEBODY(LOUD))

proctype Watch()
{
end:	if
	:: atomic { IS_LOST -> assert(false) }
#ifdef NOBODY_IDLE
	:: atomic { IS_IDLE -> assert(false) }
#endif
	fi
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
