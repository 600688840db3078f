/*
 * supervisor: the small process between redlock and the command. It is the command's parent, and
 * all that the command leaves behind becomes its child (PR_SET_CHILD_SUBREAPER), so it can tell
 * when the whole tree is gone. It keeps the leash by itself, in a session of its own, where ^Z and
 * ^C do not reach it: redlock may be stopped, stuck or dead, the tree ends before the lock does.
 * redlock in turn watches the supervisor: either alone suffices.
 *
 * What is said between the two goes through one socket; its end tells each of the other's death.
 */
#ifndef IO_SUPERVISOR_H
#define IO_SUPERVISOR_H

#include "base/err.h"
#include "io/signals.h"
#include "io/tree.h"
#include "lock/deadline.h"

#include <stdbool.h>
#include <sys/types.h>

struct supervisor {
	pid_t pid; /* 0: none, or reaped */
	int fd;
	bool has_other_children; /* children that are not of the tree: what redlock had before, */
	struct tree_birth born; /* when this one was not yet born */
	int empty_looks;
};

struct supervisor_policy {
	struct deadline_policy deadline;
	bool wait_descendants; /* wait for what the command leaves behind */
	bool is_nested; /* a run around us may release its lock at any time after our death */
};

/*
 * Makes the supervisor, which sleeps until supervisor_start() or supervisor_close(): so it can be
 * made while the nodes are asked. The command will find the environment as it is now, and
 * everything else as redlock found it. Call it while there is one thread. Returns -1 with *e
 * (ERR_SYSTEM): nothing was made.
 */
int supervisor_prepare(struct supervisor *s, char *const argv[], const struct signals *signals,
	const struct supervisor_policy *policy, struct err *e);

/* Has the command started, under a lock that is proved until then; the leash counts from here.
 * Words tell what became of it. */
void supervisor_start(struct supervisor *s, usec valid_until);

/*
 * A command that ends within this time costs less: only then do both of us let go of what the
 * command inherited from us (io/inherited). redlock calls supervisor_detach() for its own part.
 */
#define DETACH_AFTER (10 * USEC_MSEC)

void supervisor_detach(void);

/* ---- orders: what redlock tells. None blocks; one that finds the supervisor stuck is lost, which
 * is safe: the leash it has only gets shorter. ---- */

/* The lock is proved until then. */
void supervisor_extended(struct supervisor *s, usec valid_until);

/* The lock is lost: end the tree now, as the policy says. */
void supervisor_lose(struct supervisor *s);

/* Passes a signal on to the command. One that came from the terminal, which the command got
 * already, is only taken note of. */
void supervisor_signal(struct supervisor *s, int number, bool is_terminals);

/* Continues the command, if it is stopped. */
void supervisor_resume(struct supervisor *s);

/* ---- words: what the supervisor tells ---- */

enum supervisor_message_kind {
	SUPERVISOR_FAILED, /* the command could not be started: number is the errno (ETIME: too
			little of the validity is left; ESRCH: no tree could be seen), pid as
			child_start() has it. The last word */
	SUPERVISOR_STOPPED, /* the command was stopped, */
	SUPERVISOR_STUBBORN, /* tree: these do not die, or may not be killed, though KILL was sent;
			  none at all: somebody is left, but not to be seen */
	SUPERVISOR_ENDED, /* the command is gone: number is its status as waitpid(2) gives it; tree:
		       what it left behind. The last word */
};

struct supervisor_message {
	enum supervisor_message_kind kind;
	enum deadline_cause cause; /* ENDED: why the tree was ended, or NONE, */
	usec ended_at; /* and when the last of those that had to go was gone */
	int number;
	pid_t pid; /* of the command */
	struct tree tree;
};

enum supervisor_reading {
	SUPERVISOR_READ_NOTHING,
	SUPERVISOR_READ_MESSAGE,
	SUPERVISOR_READ_DEATH, /* the supervisor is gone, without a last word if none was heard */
};

/* Readable, or hung up, when there is something to hear. */
int supervisor_fd(const struct supervisor *s);

/* Takes the next word, without waiting. */
enum supervisor_reading supervisor_read(struct supervisor *s, struct supervisor_message *message);

/* Its parent's duty when SIGCHLD comes: a supervisor that somebody stopped is continued at once. */
void supervisor_check(struct supervisor *s);

/*
 * When the supervisor is dead, or does not do its work: KILL for all of the tree that can be seen,
 * then for the supervisor itself. *tree is what was alive. True when nothing is left: until then
 * call it again, a little later.
 */
bool supervisor_take_over(struct supervisor *s, struct tree *tree);

/* When its work is done, after its last word or when the tree is gone, or when it is not wanted
 * after all. Returns when it is gone; harmless where there is none. */
void supervisor_close(struct supervisor *s);

#endif
