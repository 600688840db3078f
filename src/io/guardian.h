/*
 * guardian: the small process between redlock and the command. It is the command's parent, and all
 * that the command leaves behind becomes its child (PR_SET_CHILD_SUBREAPER), so it can tell when
 * the whole tree is gone. It keeps the leash by itself, in a session of its own, where ^Z and
 * ^C do not reach it: redlock may be stopped, stuck or dead, the tree ends before the lock does.
 * redlock in turn watches the guardian: either alone suffices.
 *
 * What is said between the two goes through one socket; its end tells each of the other's death.
 */
#ifndef IO_GUARDIAN_H
#define IO_GUARDIAN_H

#include "base/err.h"
#include "core/leash.h"
#include "io/signals.h"
#include "io/tree.h"

#include <stdbool.h>
#include <sys/types.h>

struct guardian {
	pid_t pid; /* 0: none, or reaped */
	int fd;
	bool has_strangers; /* children that are not of the tree: what redlock had before, */
	struct tree_birth birth; /* when this one was not yet born */
	int empty_looks;
};

struct guardian_policy {
	struct leash_policy leash;
	bool wait_descendants; /* wait for what the command leaves behind */
	bool is_nested; /* a run around us may release its lock at any time after our death */
};

/*
 * Makes the guardian, which sleeps until guardian_start() or guardian_close(): so it can be made
 * while the nodes are asked. The command will find the environment as it is now, and everything
 * else as redlock found it. Call it while there is one thread. Returns -1 with *e (ERR_SYSTEM):
 * nothing was made.
 */
int guardian_prepare(struct guardian *g, char *const argv[], const struct signals *signals,
	const struct guardian_policy *policy, struct err *e);

/* Has the command started, under a lock that is proved until then; the leash counts from here.
 * Words tell what became of it. */
void guardian_start(struct guardian *g, usec valid_until);

/*
 * A command that ends within this time costs less: only then do both of us let go of what the
 * command inherited from us (io/inherited). redlock calls guardian_settle() for its own part.
 */
#define SETTLE_AFTER (10 * USEC_MSEC)

void guardian_settle(void);

/* ---- orders: what redlock tells. None blocks; one that finds the guardian stuck is lost, which
 * is safe: the leash it has only gets shorter. ---- */

/* The lock is proved until then. */
void guardian_extended(struct guardian *g, usec valid_until);

/* The lock is lost: end the tree now, as the policy says. */
void guardian_lose(struct guardian *g);

/* Passes a signal on to the command. One that came from the terminal, which the command got
 * already, is only taken note of. */
void guardian_signal(struct guardian *g, int number, bool is_terminals);

/* Continues the command, if it is stopped. */
void guardian_resume(struct guardian *g);

/* ---- words: what the guardian tells ---- */

enum word_kind {
	WORD_FAILED, /* the command could not be started: number is the errno (ETIME: too little
			of the validity is left; ESRCH: no tree could be seen), pid as
			child_start() has it. The last word */
	WORD_STOPPED, /* the command was stopped, */
	WORD_STUBBORN, /* tree: these do not die, or may not be killed, though KILL was sent; none
			  at all: somebody is left, but not to be seen */
	WORD_ENDED, /* the command is gone: number is its status as waitpid(2) gives it; tree: what
		       it left behind. The last word */
};

struct word {
	enum word_kind kind;
	enum leash_cause cause; /* ENDED: why the tree was ended, or NONE, */
	usec ended_at; /* and when the last of those that had to go was gone */
	int number;
	pid_t pid; /* of the command */
	struct tree tree;
};

enum hearing {
	HEARD_NOTHING,
	HEARD_WORD,
	HEARD_DEATH, /* the guardian is gone, without a last word if none was heard */
};

/* Readable, or hung up, when there is something to hear. */
int guardian_fd(const struct guardian *g);

/* Takes the next word, without waiting. */
enum hearing guardian_hear(struct guardian *g, struct word *word);

/* Its parent's duty when SIGCHLD comes: a guardian that somebody stopped is continued at once. */
void guardian_look(struct guardian *g);

/*
 * When the guardian is dead, or does not do its work: KILL for all of the tree that can be seen,
 * then for the guardian itself. *tree is what was alive. True when nothing is left: until then call
 * it again, a little later.
 */
bool guardian_replace(struct guardian *g, struct tree *tree);

/* When its work is done, after its last word or when the tree is gone, or when it is not wanted
 * after all. Returns when it is gone; harmless where there is none. */
void guardian_close(struct guardian *g);

#endif
