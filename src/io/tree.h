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

/* Children that are older than all that concerns us, and to be spared. */
#define TREE_SPARED_MAX 64

struct tree_spared {
	int count;
	pid_t pid[TREE_SPARED_MAX];
};

/* Is /proc there, and does it show this process (not another pid namespace's)? Without, no tree is
 * seen at all. */
bool tree_is_visible(void);

/* The children that this process has now. */
void tree_spare(struct tree_spared *spared);

/*
 * Sends `signal` (0: none) to every descendant of root, but not to root itself, nor to the children
 * of root that are spared (may be NULL) and what descends from them. A descendant forked meanwhile
 * may be missed: look again until none is alive.
 */
struct tree tree_signal(pid_t root, int signal, const struct tree_spared *spared);

/* Is `pid` root, or does it descend from it? */
bool tree_has(pid_t root, pid_t pid);

#endif
