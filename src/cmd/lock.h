/*
 * lock: what the commands that take a lock have in common: to open it, to wait for it and say so,
 * to give it back, and to say why it was not had.
 */
#ifndef CMD_LOCK_H
#define CMD_LOCK_H

#include "base/out.h"
#include "core/report.h"
#include "core/settings.h"
#include "io/session.h"
#include "io/signals.h"

/* The ids of a hundred locks, one within the other. */
#define LOCK_HELD_MAX 4100

struct lock {
	const struct settings *settings;
	char name[REPORT_MAX]; /* of its keys, safe to show */
	const char *outer; /* the ids of the locks of the runs around this one */
	struct session session;
	struct signals signals;
	usec began;
	bool signalled; /* a signal that ends us has come and was acted on */
	int wake_fd; /* what ends a turn early: signals, unless set otherwise after lock_open() */

	/* While it is waited for. */
	usec say_at, words_apart;
	bool is_live, told_no_seat, told_why;
};

/* The pid and the words are of what holds the lock, for the holder's card; an owner text in *s
 * comes first. Returns -1 with *e: nothing is left behind. */
int lock_open(
	struct lock *l, const struct settings *s, long pid, char *const words[], struct err *e);

/* Says why it could not be opened, and returns the status. */
int lock_not_opened(const struct settings *s, const struct err *e);

/* Ends by that signal; what is for eval says so. */
_Noreturn void lock_die(const struct lock *l, int number);

/*
 * lock_start(), then lock_turn() while lock_is_open(): takes one step, and says who is waited for.
 * Returns the number of a signal that ends the wait, else 0. Afterwards the lock is HELD, or
 * refused, or found to be held by a run around us (lock_is_nested()).
 */
void lock_start(struct lock *l);
bool lock_is_open(const struct lock *l);
int lock_turn(struct lock *l);

/* The whole of it, for who has nothing to do meanwhile. */
int lock_take(struct lock *l);

/* Is it held by a run that this one is part of? Then (*holder)->text is that lock's value; or its
 * readers', and a writer does not run under that. */
bool lock_is_nested(const struct lock *l, const struct answer **holder);

/* A majority was enough to decide; what else has come by now may tell that two nodes are one, or
 * that others wait. */
void lock_take_in_answers(struct lock *l);

/* What can be done about the nodes that were in the way of keeping it, or of its release. */
void lock_tell_remedy(struct lock *l, enum loudness at);

/*
 * Gives back what may be ours and closes the session; a held lock's key is left to end by itself
 * after leave_for, if that is not 0. The signal that ended the command does not cut this short, nor
 * does one that came too late to be passed on; the next one does.
 */
void lock_release(struct lock *l, usec leave_for);

/* Each releases, says why the lock was not had (or is not good), and returns the exit status. */
int lock_refused(struct lock *l);
int lock_refuse_nested(struct lock *l);
int lock_refuse_duplicate(struct lock *l);

/* Why it was not had, or is not good, in a word: "busy", "no-quorum", "duplicate-node", "too-slow".
 * A constant; to be asked before the release. */
const char *lock_refusal_words(const struct lock *l);

/* Any of the three, whichever it is; with --json the document as well. */
int lock_print_refusal(struct lock *l);

/* Of a semaphore, the slot that is held; of one holder, 1; 0: it is no semaphore. */
long lock_slot(const struct lock *l);

/* The result of who leaves with the lock held, or keeps it in the process `keeper` (0: nobody
 * does). */
void lock_print(const struct lock *l, long keeper);

/* For those who asked: what the last step heard. */
void lock_tell_answer(const struct lock *l);

#endif
