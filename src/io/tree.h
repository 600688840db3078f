/*
 * tree: the processes that descend from one, whatever groups and sessions they put themselves into.
 * Only /proc knows them.
 */
#ifndef IO_TREE_H
#define IO_TREE_H

#include <stdbool.h>
#include <sys/types.h>

#define TREE_NAME_MAX 16

/* What a look at a tree found. */
struct tree {
	int alive; /* descendants that are not zombies */
	int refused; /* of these, how many this user may not signal */
	pid_t pid; /* one of them, rather a refused one; 0: none */
	char name[TREE_NAME_MAX];
};

/* When a process began, in the kernel's ticks; within one tick the pid decides. */
struct tree_birth {
	unsigned long long ticks;
	pid_t pid;
};

/* Is /proc there, and does it show this process (not another pid namespace's)? Without, no tree is
 * seen at all. */
bool tree_is_visible(void);

/* Of a process that is there. */
struct tree_birth tree_birth(pid_t pid);

/*
 * Sends `signal` (0: none) to every descendant of root, but not to root itself, nor to the children
 * of root that are older than `since` (NULL: all count) and what descends from them. Those that get
 * KILL go before all others on a busy machine, if we may do that. A descendant
 * forked meanwhile may be missed: look again until none is alive.
 */
struct tree tree_signal(pid_t root, int signal, const struct tree_birth *since);

/* Sends `signal` to every descendant of root, and continues what is stopped: it could not hear. */
void tree_signal_and_continue(pid_t root, int signal);

/* Is it, at this moment? */
bool tree_is_stopped(pid_t pid);

/* Is `pid` root, or does it descend from it? */
bool tree_has(pid_t root, pid_t pid);

#endif
