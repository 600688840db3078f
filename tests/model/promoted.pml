/*
 * promoted: readers and writers in one queue, at one node; and the promoted writer, which was woken and found
 * readers.
 *
 * As queue.pml, which explains the waiter connection, the reservation and the mark; for one key, with readers. C
 * clients, of which WRITERS are writers, arrive once each: they wait, hold and release, or leave. README.md says
 * which properties are proved, for which bounds.
 *
 * The properties, when all is quiet: is the key free while a client waits? Do readers wait while readers have the
 * key, and no writer is there? And at any time: has a reader that came after a writer passed it, without a wake-up?
 * Did a reader get a wake-up while a promoted writer waited?
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

/* The node: the holder of the key (client + 1, or the readers), and the readers in it; is it reserved; is there an
 * unclaimed wake-up in the list of the queue, or in that of the promoted writer, and does it belong to that
 * reservation; is any client known to wait, and to wait as a promoted writer. */
#define READERS (C + 1)
byte key, in;
bit reserved, wake, promoted_wake, is_newest, mark, promoted;

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
byte state[C];
bit woken[C]; /* it got a reservation, or a wake-up */
bit named[C]; /* and can name one since */
bit used[C]; /* it asks with it */
bit fresh[C]; /* the queue node's reply came too late for this attempt */
bit due[C]; /* it will look again soon; or the reply says so */
bit knows[C]; /* that others wait */
bit proved[C]; /* it had the lock */
bit sees_readers[C]; /* the last reply */
bit leads[C]; /* it is promoted */
bit mine[C], asks[C]; /* is its reservation the current one: as it knows it, and as it asks */

/* Its waiter connection, */
#define DOWN 0
#define JOINING 1 /* JOIN and the pop are under way */
#define BLOCKED 2
#define SERVED 3 /* the pop's reply is under way */
byte waiter[C], rank[C]; /* BLOCKED: its place in the queue, from 1 on */
bit is_promoted[C], is_given[C];
/* the reply to JOIN, */
#define NO_REPLY 0
#define SOON 1
#define LATER 2
#define KEPT 3
byte joined[C];
bit is_kept[C];
/* the messages after all that, and at the same time on the other connection. */
bit passes[C], beside[C];

byte behind[C]; /* the writers that were queued when it arrived */

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

inline keep_new() { forget(); reserved = 1 }
inline no_reservation() { forget(); reserved = 0 }
inline drop() { wake = 0; promoted_wake = 0; is_newest = 0 }

inline push(is_about_turn)
{
	drop();
	is_newest = reserved && (is_about_turn);
#ifdef NO_DOOR_FIRST
	wake = 1;
#else
	if :: promoted -> promoted = 0; promoted_wake = 1 :: else -> wake = 1 fi;
#endif
	serve()
}

#define IS_SERVED(c, list, is_served) waiter[c] == BLOCKED && list && (is_served)
inline leave_rank(c)
{
	EACH(k, C)
		if :: rank[k] > rank[c] -> rank[k]-- :: else fi;
	NEXT(k);
	rank[c] = 0; is_promoted[c] = 0
}

#define STANDS(c) (waiter[c] == BLOCKED && TRIES(c))
#define IS_PROMOTED(c) (STANDS(c) && is_promoted[c])
#if WRITERS > 1
#define IS_PASSING(c) ((behind[c] & BIT(0)) && STANDS(0) || (behind[c] & BIT(1)) && STANDS(1))
#else
#define IS_PASSING(c) ((behind[c] & BIT(0)) && STANDS(0))
#endif

/* It takes the unclaimed wake-up. */
inline pop(c)
{
	assert(IS_WRITER(c) || key != READERS || !IS_PROMOTED(0));
	if :: leads[c] && promoted_wake -> promoted_wake = 0 :: else -> wake = 0 fi;
	waiter[c] = SERVED;
	is_given[c] = is_newest;
	is_newest = 0;
	/* From here on readers may pass it. */
	EACH(k, C) behind[k] = behind[k] & ~BIT(c); NEXT(k)
}

/* Redis serves blocked clients in order of arrival. */
inline serve()
{
	do
	:: wake || promoted_wake ->
		EACH(first, C)
			if
			:: waiter[first] == BLOCKED && (wake || is_promoted[first]) && best == 0 -> best = first + 1
			:: waiter[first] == BLOCKED && (wake || is_promoted[first]) && best != 0 &&
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

/* The promoted writer is gone. */
inline drop_promoted_wake()
{
#ifndef NO_DROP
	if
	:: promoted_wake && !wake -> promoted_wake = 0; wake = 1; serve()
	:: else
	fi
#endif
}

/* The first waiter may join, too. */
inline wake_next_reader(is_about_turn)
{
	if
	:: mark && !promoted -> push(is_about_turn)
	:: else
	fi
}

#define HAS(c) (key == c + 1 || key == READERS && (in & BIT(c)))
#define IS_FOREIGN(c) (key != 0 && key != c + 1 && (key != READERS || IS_WRITER(c)))

/* acquire. A waiter, promoted or not, stays known for as long as its request may take. */
inline acquire(c)
{
	due[c] = 0;
	if
	:: IS_FOREIGN(c) -> sees_readers[c] = key == READERS
	:: else ->
		drop_promoted_wake();
		sees_readers[c] = 0;
		if
		/* A new reader queues after the waiters. */
#ifndef IGNORES_WAITERS
		:: key == READERS && mark && !used[c] && !wake ->
#ifndef NO_WAKE_NEXT
			wake_next_reader(false);
#endif
			sees_readers[c] = 1
#endif
		:: key == 0 && reserved && !asks[c] && !wake -> due[c] = 1
		:: key == 0 && mark && !reserved && !used[c] && !IS_WRITER(c) ->
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
				if :: named[c] || waiter[c] == JOINING || waiter[c] == BLOCKED -> promoted = 0 :: else fi
			:: else -> skip
			fi;
			if
			:: reserved && (IS_WRITER(c) || key == 0) ->
				if :: !asks[c] -> mark = 0; knows[c] = 0 :: else fi;
				no_reservation(); drop()
			:: else
			fi;
			if :: !IS_WRITER(c) -> key = READERS; in = in | BIT(c) :: else fi
		fi
	fi;
	asks[c] = 0
}

/* join, with the pop after it. */
inline join(c)
{
	drop_promoted_wake();
	joined[c] = NO_REPLY;
	if
	:: !IS_FOREIGN(c) && !HAS(c) && wake -> mark = 0; joined[c] = LATER
	:: else ->
		if
		:: IS_FOREIGN(c) || HAS(c) -> skip
		:: key == READERS && !IS_WRITER(c) && !HAS(c) -> joined[c] = (mark -> NO_REPLY : SOON)
		:: key == 0 && (!mark || !reserved) ->
			joined[c] = (reserved -> KEPT : SOON);
			is_kept[c] = reserved
		:: key == 0 && mark && reserved -> joined[c] = LATER
		fi;
		mark = 1;
		#ifdef PROMOTED_ANYWAY
		if :: leads[c] -> promoted = 1 :: else fi
#else
		if :: leads[c] && key == READERS -> promoted = 1 :: else fi
#endif
	fi;
	if
	:: wake || leads[c] && promoted_wake -> pop(c)
	:: else ->
		waiter[c] = BLOCKED;
		is_promoted[c] = leads[c];
		EACH(k, C)
			if :: rank[k] >= rank[c] && k != c && rank[k] > 0 -> rank[c] = rank[k] :: else fi;
		NEXT(k);
		rank[c]++
	fi
}

/* hand-off by a client that leaves the queue: after the pop, or at the same time; or by a reader that got in from
 * it. */
inline leave(c, is_beside)
{
	if :: is_beside && leads[c] -> promoted = 0 :: else fi;
	if
	:: key == READERS -> wake_next_reader(mine[c])
	:: key == 0 || key == c + 1 ->
		if
		:: mark || is_beside && knows[c] ->
			if :: reserved :: else -> keep_new() fi;
			key = 0;
			if :: mark -> push(true) :: else fi
		:: else ->
			if :: key == c + 1 -> no_reservation() :: else fi;
			key = 0
		fi
	:: else
	fi
}

/* hand-off by a holder, or by a client that gives up while it asks. */
inline hand_off(c)
{
	if
	:: key == READERS && (in & BIT(c)) ->
		in = in & ~BIT(c);
		if
		:: in == 0 ->
			key = 0;
			if :: mark -> keep_new(); push(true) :: else -> no_reservation() fi
		:: else
		fi
	:: key == 0 || key == c + 1 ->
		if
		:: key == 0 && reserved && !proved[c] -> skip
		:: else ->
			if
			:: mark || knows[c] ->
				if :: reserved && !proved[c] :: else -> keep_new() fi;
				key = 0;
				if :: mark -> push(true) :: else fi
			:: else ->
				if :: key == c + 1 -> no_reservation() :: else fi
			fi
		fi;
		key = 0
	:: else ->
		if
		:: proved[c] || !reserved ->
			keep_new();
			if :: !knows[c] && !mark -> push(true) :: else fi
		:: else
		fi
	fi
}

#if C > 3
#define ANY_CLIENT(is) (is(0) || is(1) || is(2) || is(3))
#else
#define ANY_CLIENT(is) (is(0) || is(1) || is(2))
#endif

proctype Node()
{
	byte k;

end:	do
	/* A reservation lasts for as long as a node may take to answer, its wake-up at least as long; a mark, until
	 * every waiter must have asked again. */
#ifndef NO_ENDINGS
	:: atomic { reserved -> no_reservation() }
	:: atomic { (wake || promoted_wake) && !(reserved && is_newest) -> drop() }
#endif
	:: atomic { mark && !ANY_CLIENT(STANDS) -> mark = 0 }
#ifdef PROMOTED_ENDS
	:: atomic { promoted -> promoted = 0 }
#else
	:: atomic { promoted && !ANY_CLIENT(IS_PROMOTED) -> promoted = 0 }
#endif
	od
}

/* ---- a client ---- */

#define WAITS(c) (waiter[c] == JOINING || waiter[c] == BLOCKED || waiter[c] == SERVED)

inline keep_reservation(c, is_it)
{
	mine[c] = is_it;
	woken[c] = 1; named[c] = 1;
	if :: state[c] == PAUSE -> due[c] = 1 :: else -> fresh[c] = 1 fi
}

inline forget_attempt(c)
{
	woken[c] = 0; due[c] = 0; used[c] = 0; fresh[c] = 0
}

inline leave_queue(c)
{
#ifndef NO_LEAVE
	if
	:: woken[c] || WAITS(c) -> passes[c] = 1
	:: else
	fi;
#ifndef NO_BESIDE
	/* A request on that connection may not be over before it is. */
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

/* Its message that it is promoted may arrive after the one that it is not. */
#ifdef EARLY_QUIT
#define MAY_QUIT(c) true
#else
#define MAY_QUIT(c) (waiter[c] != JOINING || !leads[c])
#endif

proctype Client(byte c)
{
	byte k, first, best;

end:	do
	/* Anew, or as a node said, or by the clock. */
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

	/* The waiter connection. */
	:: atomic { state[c] == PAUSE && !woken[c] && !WAITS(c) && !passes[c] -> waiter[c] = JOINING }
	:: atomic { waiter[c] == JOINING -> join(c) }
	:: atomic { joined[c] != NO_REPLY ->
		if
		:: joined[c] < KEPT && state[c] == PAUSE -> due[c] = 1
		#ifdef DEAF
		:: joined[c] == SOON && TRIES(c) && state[c] != PAUSE -> fresh[c] = 1
#else
		:: joined[c] < KEPT && TRIES(c) && state[c] != PAUSE -> fresh[c] = 1
#endif
		:: joined[c] == KEPT && TRIES(c) -> keep_reservation(c, is_kept[c])
		:: else
		fi;
		joined[c] = NO_REPLY;
		is_kept[c] = 0 }
	:: atomic { waiter[c] == SERVED && joined[c] == NO_REPLY ->
		waiter[c] = DOWN;
		if :: TRIES(c) -> keep_reservation(c, is_given[c]) :: else fi;
		is_given[c] = 0 }
	:: atomic { passes[c] && (waiter[c] == DOWN || waiter[c] == SERVED) -> passes[c] = 0; leave(c, false) }
	:: atomic { beside[c] -> beside[c] = 0; leave(c, true) }

	/* The reply to an extension says if others wait. */
	:: atomic { state[c] == HELD && knows[c] != mark -> knows[c] = mark }
	:: atomic { state[c] == HELD ->
		if :: WAITS(c) -> passes[c] = 1 :: else fi;
		state[c] = RELEASING }
	/* --wait is over, or a signal ended it. */
#ifndef NO_QUIT
	:: atomic { state[c] == PAUSE && MAY_QUIT(c) -> leave_queue(c); state[c] = CLOSING }
#ifndef NO_TERM
	:: atomic { state[c] == ASKING && MAY_QUIT(c) -> leave_queue(c); state[c] = QUITTING }
	:: atomic { state[c] == ANSWERED && HAS(c) && MAY_QUIT(c) -> leave_queue(c); state[c] = RELEASING }
	:: atomic { state[c] == QUITTING -> acquire(c); due[c] = 0; knows[c] = 0;
		state[c] = RELEASING }
#endif
#endif
	:: atomic { state[c] == RELEASING -> hand_off(c); knows[c] = 0; state[c] = CLOSING }
	/* Bytes on a connection are read before its end is. */
	:: atomic { state[c] == CLOSING && !beside[c] &&
			(waiter[c] == BLOCKED || waiter[c] != JOINING && !passes[c]) ->
		if :: waiter[c] == BLOCKED -> leave_rank(c) :: else fi;
		waiter[c] = DOWN; is_given[c] = 0; joined[c] = NO_REPLY; is_kept[c] = 0; passes[c] = 0;
		leads[c] = 0; mine[c] = 0; named[c] = 0; proved[c] = 0; sees_readers[c] = 0; behind[c] = 0;
		knows[c] = 0; state[c] = GONE }
#ifdef KILLED
	:: atomic { state[c] == PAUSE && waiter[c] != JOINING ->
		forget_attempt(c); passes[c] = 0; state[c] = CLOSING }
#endif
	od
}

/* ---- the properties ---- */

#define STUCK(c) (state[c] == PAUSE && waiter[c] == BLOCKED && !due[c] && joined[c] == NO_REPLY)
#define QUIET(c) (STUCK(c) || \
	((state[c] == OUT || state[c] == HELD || state[c] == GONE) && joined[c] == NO_REPLY && \
		(waiter[c] == DOWN && !passes[c] || waiter[c] == BLOCKED)))
#define LOUD(c) (!QUIET(c))
#define STUCK_READER(c) (!IS_WRITER(c) && STUCK(c))
#define STUCK_WRITER(c) (IS_WRITER(c) && STUCK(c))
#define IS_LOST (key == 0 && ANY_CLIENT(STUCK) && !ANY_CLIENT(LOUD))
#define IS_IDLE (key == READERS && ANY_CLIENT(STUCK_READER) && !ANY_CLIENT(STUCK_WRITER) && !ANY_CLIENT(LOUD))

proctype Watch()
{
end:	if
	:: atomic { IS_LOST -> assert(false) }
#ifdef NO_IDLE_READERS
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
