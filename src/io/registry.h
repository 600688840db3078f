/*
 * registry: the locks that this user's `hold`s keep on this machine, one small file each. They are
 * in the first of $XDG_RUNTIME_DIR/redlock, /run/redlock and /tmp/redlock-UID that is a directory
 * of this user alone. The keeper has its file locked (flock) for as long as it lives, so that a
 * file without a keeper is told from one with, and removed. A keeper that lost the lock leaves its
 * file under another name, without a lock, so that `release` can report the loss; a day later the
 * file is removed. Other files in the directory are left alone.
 */
#ifndef IO_REGISTRY_H
#define IO_REGISTRY_H

#include "base/err.h"
#include "base/token.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct entry {
	pid_t holder, follow; /* follow: 0: nobody */
	int64_t since; /* seconds since 1970 */
	char id[TOKEN_ID_LEN + 1];
	long limit, slot; /* of a semaphore; 0: it is none */
	int keys; /* how many; */
	char key[4097]; /* separated by newlines */
};

/* Is there a place for an entry? It is made. Returns -1 with *e (ERR_SYSTEM). */
int registry_check(struct err *e);

/* Of the calling process; the file is gone when registry_remove() is called, or its keeper dead.
 * Returns -1 with *e (ERR_SYSTEM). */
int registry_add(const struct entry *entry, struct err *e);
void registry_remove(void);

/* The same, but the registry remembers that the calling process lost the lock of this id, until
 * registry_forget(), the next registry_add() of the same keys and slot, or for a day. */
void registry_lose(const char *id);

struct registry {
	void *list; /* DIR */
};

/* Walks through the entries whose keepers live. An empty one if there is no such folder. */
void registry_open(struct registry *r);
bool registry_next(struct registry *r, struct entry *entry);
void registry_close(struct registry *r);

/* The entry with those keys, that slot unless it is 0, and that id unless it is NULL. How many
 * there are; *entry is the last. */
int registry_find(const char *key, int keys, long slot, const char *id, struct entry *entry);

/* The entry of a lock of those keys, and of that slot unless it is 0, that its keeper lost. */
bool registry_find_loss(const char *key, int keys, long slot, struct entry *entry);

/* Returns true if a keeper lost the lock of this id (or token); the registry forgets that. */
bool registry_forget(const char *id);

#endif
