/*
 * tree: the descendants of a process, whatever groups and sessions they have joined. Only /proc
 * lists them.
 *
 * tree_signal() signals all descendants and reports how many are alive; call it again until none
 * is. The root should be a subreaper, so that orphans stay in the tree. No function needs memory of
 * the caller or reports errors: without a visible /proc (see tree_is_visible()), a tree is empty.
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#define TREE_NAME_MAX 16

/* The result of a look at a tree. */
struct tree {
	int alive; /* descendants that are not zombies */
	int refused; /* how many of these this user must not signal */
	int hidden; /* how many of these /proc does not show (hidepid) */
	pid_t pid; /* one of them, preferably a refused one; 0: none */
	char name[TREE_NAME_MAX];
};

/* The start of a process, in the kernel's ticks; within one tick, the pid decides. */
struct tree_birth {
	unsigned long long ticks;
	pid_t pid;
};

/* Does /proc exist, and does it show this process (not those of another pid namespace)? Otherwise
 * no tree is visible. */
bool tree_is_visible(void);

/* Returns the start of an existing process. */
struct tree_birth tree_birth(pid_t pid);

/*
 * Sends `signal` (0: none) to every descendant of root, but not to root itself, nor to children of
 * root that are older than `since` (NULL: no exception) and their descendants. On a busy machine,
 * processes that get KILL run before all others, if redlock is permitted to do that. A descendant
 * that is forked meanwhile may be missed: call the function again until none is alive.
 */
struct tree tree_signal(pid_t root, int signal, const struct tree_birth *since);

/* A signal that another process has sent: which processes existed then, and which process group has
 * received it; 0: none. */
struct tree_request {
	struct tree_birth at;
	pid_t group;
};

/* Sends `signal` to every descendant of root but `except` (0: no exception), and SIGCONT, because a
 * stopped process could not react. Processes that have received the signal by `earlier` (NULL: none
 * has) get SIGCONT only. */
struct tree tree_signal_and_continue(
	pid_t root, pid_t except, int signal, const struct tree_request *earlier);

/* Sends `signal` and SIGCONT to those children of this process that /proc does not show. A child of
 * another process is not found before that one ends. */
void tree_signal_hidden(int signal);

/* The same for those descendants that are older than `earlier`. */
void tree_signal_older(pid_t root, pid_t except, int signal, const struct tree_request *earlier);

/* The present time, as tree_birth() counts: processes that start from now on are not older. */
struct tree_birth tree_now(void);

/* Is the process stopped at this moment? */
bool tree_is_stopped(pid_t pid);

/* Has `pid` a child with that name that is this process, or a process above it? */
bool tree_is_below(pid_t pid, const char *name);

/* Is `pid` root, or a descendant of root? */
bool tree_has(pid_t root, pid_t pid);

/*
 * Calls take() with the value of an environment variable in each process above this one that has
 * it, from the nearest to the farthest: as the process was started, and as far as this user may
 * read it.
 */
void tree_read_above(
	const char *variable, void (*take)(void *context, const char *value), void *context);

/* Has this process, or one above it, a descriptor with which the file is locked (flock)? As far as
 * this user may see their descriptors. */
bool tree_locks(const struct stat *file);

/* Returns the process that has locked the file (flock), with its name, or 0 if it is not known: it
 * has ended and left the descriptor to others, or the file system shows other numbers of files. */
pid_t tree_locker(const struct stat *file, char name[TREE_NAME_MAX]);

#endif
