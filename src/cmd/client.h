/*
 * client: the part that is common to `run`, `acquire`, `hold` and `wait`: open a session, wait for
 * the lock with messages, release it, and report a refusal.
 *
 * Calling sequence:
 *
 *     if (client_open(&c, s, pid, argv, &e) < 0)
 *             return client_not_opened(s, &e);
 *     number = client_acquire(&c);          or client_step() while client_is_open()
 *     if (number > 0)                       a signal: client_release(), then client_die()
 *     if (lock->state != LOCK_HELD)
 *             return client_print_refusal(&c);  releases as well
 *     ...
 *     client_release(&c, 0);                or session_close(), to keep the lock
 *
 * A struct client is large and static, filled with zeros. It owns the session and the signal
 * descriptor, and refers to the settings. Errors of opening are in *e; all later ones are messages
 * and an exit status.
 */
#ifndef CMD_CLIENT_H
#define CMD_CLIENT_H

#include "base/log.h"
#include "cli/settings.h"
#include "net/session.h"
#include "proc/priority.h"
#include "proc/signals.h"
#include "report/report.h"

/* REDLOCK_HELD: the ids of a hundred nested locks. */
#define CLIENT_HELD_MAX 4100

struct client {
	const struct settings *settings;
	bool knows_outer; /* has read the processes above this one, too: the wait is long, or it
			     must know */
	bool is_within_slot; /* the environment has another slot of this semaphore */
	struct signals signals;
	usec began;
	bool signalled; /* a fatal signal has arrived and was acted on */
	int wake_fd; /* ends a step early; client_open() sets it to the signals' descriptor */
	struct priority caller; /* that of redlock's caller, while this process is ahead */

	bool is_unconfirmed; /* the last extension round ended without a majority */

	/* Valid while waiting. */
	usec message_at, message_interval;
	bool is_live, has_warned_not_queued, has_warned_no_room, has_warned_own_slot,
		has_warned_above, has_warned_contested, has_hinted_why, has_alarmed;
	struct reply contender; /* the holder with other nodes that the last attempt met; VOTE_NONE:
				   it is not known, or there was none */

	/* At the end: most of it is never touched. */
	char name[REPORT_MAX]; /* the lock's keys, for messages */
	char outer[CLIENT_HELD_MAX]; /* the ids of the enclosing locks, from REDLOCK_HELD */
	struct session session;
};

/* Returns the name of the user; uid: storage for a user without a name. */
const char *client_user(char uid[24]);

/* pid and argv describe the holder in the key's value, unless s->owner is set. Returns -1 with *e;
 * the caller has nothing to close then. The connections are opening afterwards. */
int client_open(
	struct client *c, const struct settings *s, long pid, char *const argv[], struct err *e);

/* Prints why client_open() failed, and returns the exit status. */
int client_not_opened(const struct settings *s, const struct err *e);

/* REDLOCK_HELD for a command: the id of its lock ("": none of its own), and those of the enclosing
 * locks. Returns dst. */
const char *client_held(char dst[CLIENT_HELD_MAX], const struct client *c, const char *id);

/* Ends the process by that signal. With --format env, first prints a line that makes eval fail. */
_Noreturn void client_die(const struct client *c, int number);

/*
 * Waits for the lock: client_step() while client_is_open(). A step waits for
 * one event, and prints the holder now and then. client_step() returns the number of a fatal
 * signal, else 0. Afterwards the lock is held, or refused, or held by an enclosing run
 * (client_is_nested()).
 */
bool client_is_open(const struct client *c);
int client_step(struct client *c);

/* The three functions above in a loop. Returns the number of a fatal signal, else 0. */
int client_acquire(struct client *c);

/* Tells whether an enclosing run holds the lock. (*holder)->text is then the value of that lock. If
 * (*holder)->is_shared, it is the readers' value, and a writer cannot run under it. */
bool client_is_nested(struct client *c, const struct reply **holder);

/* Print the end of an extension round: of the first one without a majority, why; and of the next
 * one with a majority, that the lock is extended again. */
void client_log_unconfirmed(struct client *c, const char *words);
void client_log_extended(struct client *c, usec valid_until);

/* Reads the replies that have arrived since a majority decided. They may show that two nodes are
 * one server, or that other clients wait. */
void client_read_replies(struct client *c);

/* Prints a hint about the nodes that prevented an extension or the release, once. */
void client_hint_remedy(struct client *c, enum log_level at);

/* Prints the hint about the reason for the loss of the lock, if there is one. */
void client_hint_loss(struct client *c);

/* Gives this thread and later ones precedence on a busy machine (proc/priority.h): an extension
 * must be in time. An attempt with a reservation has it, too: others wait for its end. */
void client_go_ahead(struct client *c);

/*
 * Releases all keys that may be ours and closes the session. If expire_in is not 0, a held lock's
 * key is left to expire after that time. Neither the signal that ended the command nor a later one
 * that could not be forwarded ends the release early; the next signal does. Once the requests
 * are sent, the precedence ends: a node on this machine wakes the next client, and its reply to
 * this one would have interrupted it.
 */
void client_release(struct client *c, usec expire_in);

/* Each releases, prints why the lock was refused or cannot be used, and returns the exit status. */
int client_refused(struct client *c);
int client_refuse_nested(struct client *c);
int client_refuse_duplicate(struct client *c);

/* The outcome as a word: "busy", "no-quorum", "duplicate-node" or "too-slow". A constant. Call it
 * before the release. */
const char *client_refusal_word(struct client *c);

/* Calls the one of these three that applies; with --json, prints the document as well. */
int client_print_refusal(struct client *c);

/* The slot of a semaphore that is held; 1 with --limit 1; 0 without --limit. */
long client_slot(const struct client *c);

/* Prints the lock that stays held after this process. background_pid: the background holder's; 0:
 * there is none. */
void client_print(const struct client *c, long background_pid);

/* With -vv: logs the reply of the last step. */
void client_log_reply(const struct client *c);

#endif
