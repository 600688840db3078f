/*
 * folder: a private folder for throwaway files, in $TMPDIR or /tmp.
 *
 * folder_make() makes and locks one, folder_write() and folder_link() make a file in it;
 * folder_remove() removes it. folder_walk_open(),
 * folder_walk_next() and folder_walk_close() find this user's folders that remain after their
 * owners were killed; remove each with folder_remove(). The folder is locked (flock) while a
 * process has it open, so an unused folder can be told from one in use.
 */
#ifndef FILE_FOLDER_H
#define FILE_FOLDER_H

#include "base/err.h"

#include <stdbool.h>

/* A socket in the folder, "/15.sock", must fit into an address, which has 108 bytes. */
#define FOLDER_PATH_MAX (108 - 8)

struct folder {
	char path[FOLDER_PATH_MAX];
	int fd; /* the lock; forked children inherit it, executed programs do not */
};

/* Makes a new folder, for this user alone. Returns -1 with *e (ERR_CONFIG: TMPDIR cannot be
 * used). */
int folder_make(struct folder *f, struct err *e);

/* Makes a new file in the folder. Returns -1 with *e (ERR_CONFIG). */
int folder_write(const struct folder *f, const char *name, const char *text, struct err *e);

/* Makes a symbolic link in the folder. Returns -1 with *e (ERR_CONFIG). */
int folder_link(const struct folder *f, const char *name, const char *target, struct err *e);

/* Does the folder still exist? */
bool folder_is_there(const struct folder *f);

/* Removes the folder with its content, and unlocks it. Returns false if something could not be
 * removed. */
bool folder_remove(struct folder *f);

/* Walks through the folders of this user that no process has open. folder_walk_next() opens and
 * locks each. */
struct folder_walk {
	void *list; /* DIR */
	char parent[FOLDER_PATH_MAX];
};

void folder_walk_open(struct folder_walk *w);
bool folder_walk_next(struct folder_walk *w, struct folder *f);
void folder_walk_close(struct folder_walk *w);

#endif
