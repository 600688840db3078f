/*
 * folder: a private one for throwaway things, in $TMPDIR or /tmp. It is locked (flock) while
 * somebody has it open, so that one whose owners were all killed is told from one in use.
 */
#ifndef IO_FOLDER_H
#define IO_FOLDER_H

#include "base/err.h"

#include <stdbool.h>

/* A socket in it, "/15.sock", must fit into an address, which has 108 bytes. */
#define FOLDER_PATH_MAX (108 - 8)

struct folder {
	char path[FOLDER_PATH_MAX];
	int fd; /* its lock; what is forked has it too, what is executed has not */
};

/* Makes a new one, for this user alone. Returns -1 with *e (ERR_CONFIG: TMPDIR will not do). */
int folder_make(struct folder *f, struct err *e);

/* Is it still there? */
bool folder_is_there(const struct folder *f);

/* Removes it with all that is in it, and lets go of it. False: something could not be removed. */
bool folder_remove(struct folder *f);

/* Walks through those of this user that nobody has open any more; each is open then. */
struct folder_walk {
	void *list; /* DIR */
	char parent[FOLDER_PATH_MAX];
};

void folder_walk_open(struct folder_walk *w);
bool folder_walk_next(struct folder_walk *w, struct folder *f);
void folder_walk_close(struct folder_walk *w);

#endif
