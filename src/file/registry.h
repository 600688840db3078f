/*
 * registry: the locks that this user's `hold`s keep on this machine, one small file each.
 *
 * A background holder calls registry_check() before it acquires, registry_add() when it holds the
 * lock, and registry_remove() or registry_lose() at its end. Other subcommands walk with
 * registry_open(), registry_next() and registry_close(), or look for one lock with registry_find()
 * and registry_find_loss(). Locks of one key on other nodes are other locks. A holder that could
 * not release its lock, or was killed, leaves its entry: registry_has().
 *
 * The files are in the first of $XDG_RUNTIME_DIR/redlock, /run/redlock and /tmp/redlock-UID that is
 * a directory of this user alone. A background holder keeps its file locked (flock) while it lives,
 * so a file without a process can be recognized, and is removed. After a loss of the lock, the file
 * stays under another name, unlocked, so that `release` can report the loss; it is removed a day
 * later. Other files in the directory are not touched.
 */
#ifndef FILE_REGISTRY_H
#define FILE_REGISTRY_H

#include "base/err.h"
#include "base/token.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct entry {
	pid_t holder, follow; /* pids of the background holder and of the followed process; follow:
				 0: none */
	int64_t since; /* seconds since 1970 */
	char id[TOKEN_ID_LEN + 1];
	long limit, slot; /* of a semaphore; 0: the lock is no semaphore */
	uint64_t nodes; /* node_list_hash() */
	int keys; /* the number of keys */
	char key[4097]; /* the keys, separated by newlines */
};

/* Can entries be stored? Makes the directory. Returns -1 with *e (ERR_SYSTEM). */
int registry_check(struct err *e);

/* Adds the entry of the calling process. The file is removed by registry_remove(), or by a reader
 * after the process has died. Returns -1 with *e (ERR_SYSTEM). */
int registry_add(const struct entry *entry, struct err *e);
void registry_remove(void);

/* As registry_remove(), but the registry remembers that the calling process lost the lock of this
 * id, until registry_forget(), the next registry_add() of the same keys and slot, or for a day. */
void registry_lose(const char *id);

/* Did that process, which has ended, leave its entry: was it killed, or could it not release? False
 * if another process has removed the entry meanwhile. */
bool registry_has(pid_t holder);

struct registry {
	void *list; /* DIR */
};

/* Walks through the entries of live background holders. The walk is empty if the folder does not
 * exist. */
void registry_open(struct registry *r);
bool registry_next(struct registry *r, struct entry *entry);
void registry_close(struct registry *r);

/* A description of one lock. */
struct wanted {
	const char *key;
	int keys;
	long slot; /* 0: any */
	const char *id; /* NULL: any */
	uint64_t nodes; /* 0: any */
};

/* Returns the number of entries that match; *entry is the last one. */
int registry_find(const struct wanted *wanted, struct entry *entry);

/* Finds a matching entry of a lost lock. */
bool registry_find_loss(const struct wanted *wanted, struct entry *entry);

/* Returns true if the registry remembers the loss of the lock with this id (or token), and forgets
 * it. */
bool registry_forget(const char *id);

#endif
