/*
 * servers: throwaway servers in a folder. Of server I, I.sock is the socket, I.conf what it was
 * started with, I.pid its pid, I.log its words. The process that starts them is their parent, and
 * the kernel kills them when it dies.
 */
#ifndef IO_SERVERS_H
#define IO_SERVERS_H

#include "cli/node.h"
#include "io/query.h"
#include "io/signals.h"

#include <limits.h>

struct servers {
	const char *program, *folder;
	const struct node_list *nodes; /* their sockets */
	pid_t pid[NODES_MAX]; /* 0: it has ended */
	bool votes[NODES_MAX];
	struct query query;
};

/*
 * Finds the program, in PATH unless it has a '/': `name`, or NULL for the first that is there of
 * those we know. Returns -1 with *e (ERR_NO_SERVER).
 */
int servers_find(char program[PATH_MAX], const char *name, struct err *e);

/* The URL of server I, from 1 on. */
#define SERVERS_URL "unix://%s/%d.sock"

/* Starts as many as there are nodes, with the signals that redlock found. `program`, `folder` and
 * `nodes` must outlive them. Returns -1 with *e. */
int servers_start(struct servers *s, const char *program, const char *folder,
	const struct node_list *nodes, const struct signals *found, struct err *e);

/*
 * Asks those that have not answered yet, waiting for a moment at most. True if all of them have; a
 * new server that has answered has a vote at once (see --restart-guard).
 */
bool servers_ask(struct servers *s);

/* Takes note of those that have ended. */
void servers_reap(struct servers *s);

/* Has one ended that has not answered? */
bool servers_failed(const struct servers *s);

/* Says which does not answer, rather one that has ended, and its last words. Returns -1. */
int servers_explain(const struct servers *s, struct err *e);

/* Kills them, and returns when they are gone. */
void servers_end(struct servers *s);

/* Kills whoever else listens on their sockets: one that was started there again by hand. */
void servers_end_others(const char *folder);

#endif
