/*
 * lock: what the commands that take a lock have in common: to open it, to wait for it and say so,
 * to give it back, and to say why it was not had.
 */
#ifndef CMD_CLIENT_H
#define CMD_CLIENT_H

#include "base/log.h"
#include "cli/settings.h"
#include "io/session.h"
#include "io/signals.h"
#include "report/report.h"

/* The ids of a hundred locks, one within the other. */
#define CLIENT_HELD_MAX 4100

struct client {
	const struct settings *settings;
	char name[REPORT_MAX]; /* of its keys, safe to show */
	const char *outer; /* the ids of the locks of the runs around this one */
	struct session session;
	struct signals signals;
	usec began;
	bool signalled; /* a signal that ends us has come and was acted on */
	int wake_fd; /* what ends a turn early: signals, unless set otherwise after client_open() */

	/* While it is waited for. */
	usec say_at, words_apart;
	bool is_live, told_no_seat, told_why;
};

/* The pid and the words are of what holds the lock, for the holder's card; an owner text in *s
 * comes first. Returns -1 with *e: nothing is left behind. */
int client_open(
	struct client *c, const struct settings *s, long pid, char *const words[], struct err *e);

/* Says why it could not be opened, and returns the status. */
int client_not_opened(const struct settings *s, const struct err *e);

/* Ends by that signal; what is for eval says so. */
_Noreturn void client_die(const struct client *c, int number);

/*
 * client_start(), then client_turn() while client_is_open(): takes one step, and says who is waited
 * for. Returns the number of a signal that ends the wait, else 0. Afterwards the lock is HELD, or
 * refused, or found to be held by a run around us (client_is_nested()).
 */
void client_start(struct client *c);
bool client_is_open(const struct client *c);
int client_turn(struct client *c);

/* The whole of it, for who has nothing to do meanwhile. */
int client_take(struct client *c);

/* Is it held by a run that this one is part of? Then (*holder)->text is that lock's value; or its
 * readers', and a writer does not run under that. */
bool client_is_nested(const struct client *c, const struct reply **holder);

/* A majority was enough to decide; what else has come by now may tell that two nodes are one, or
 * that others wait. */
void client_take_in_replies(struct client *c);

/* What can be done about the nodes that were in the way of keeping it, or of its release. */
void client_tell_remedy(struct client *c, enum log_level at);

/*
 * Gives back what may be ours and closes the session; a held lock's key is left to end by itself
 * after leave_for, if that is not 0. The signal that ended the command does not cut this short, nor
 * does one that came too late to be passed on; the next one does.
 */
void client_release(struct client *c, usec leave_for);

/* Each releases, says why the lock was not had (or is not good), and returns the exit status. */
int client_refused(struct client *c);
int client_refuse_nested(struct client *c);
int client_refuse_duplicate(struct client *c);

/* Why it was not had, or is not good, in a word: "busy", "no-quorum", "duplicate-node", "too-slow".
 * A constant; to be asked before the release. */
const char *client_refusal_words(const struct client *c);

/* Any of the three, whichever it is; with --json the document as well. */
int client_print_refusal(struct client *c);

/* Of a semaphore, the slot that is held; of one holder, 1; 0: it is no semaphore. */
long client_slot(const struct client *c);

/* The result of who leaves with the lock held, or keeps it in the process `keeper` (0: nobody
 * does). */
void client_print(const struct client *c, long keeper);

/* For those who asked: what the last step heard. */
void client_tell_reply(const struct client *c);

#endif
