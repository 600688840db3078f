/*
 * servers: throwaway servers in a folder, for `redlock sandbox`.
 *
 * servers_find() finds the program; servers_start() starts one server for each node. The
 * caller asks the servers, and notes in `votes` which of them have answered; meanwhile, it calls
 * servers_reap() at each SIGCHLD, and servers_failed() to give up (servers_explain() then has the
 * reason). servers_end() kills the servers.
 *
 * Server I has the files I.sock (its socket), I.conf (its settings), I.pid and I.log. The process
 * that starts the servers is their parent, and the kernel kills them when it dies.
 */
#ifndef PROC_SERVERS_H
#define PROC_SERVERS_H

#include "cli/node.h"
#include "proc/signals.h"

#include <limits.h>

struct servers {
	const char *program, *folder;
	const struct node_list *nodes; /* the servers' sockets */
	pid_t pid[NODES_MAX]; /* 0: the server has ended */
	bool votes[NODES_MAX]; /* by the caller: the server has answered */
};

/*
 * Finds the program, in PATH unless the name has a '/': `name`, or NULL for the first known server
 * program that exists. Returns -1 with *e (ERR_NO_SERVER).
 */
int servers_find(char program[PATH_MAX], const char *name, struct err *e);

/* The URL of server I, counted from 1. */
#define SERVERS_URL "unix://%s/%d.sock"

/* Starts one server for each node, with the signal mask and dispositions that redlock found.
 * `program`, `folder` and `nodes` must outlive the servers. Returns -1 with *e. */
int servers_start(struct servers *s, const char *program, const char *folder,
	const struct node_list *nodes, const struct signals *found, struct err *e);

/* Reaps the servers that have ended. */
void servers_reap(struct servers *s);

/* Has a server ended before it answered? */
bool servers_failed(const struct servers *s);

/* Fills *e with a server that does not answer, preferably one that has ended, and the last line of
 * its log. Returns -1. */
int servers_explain(const struct servers *s, struct err *e);

/* Kills the servers, and returns when they are gone. */
void servers_end(struct servers *s);

/* Kills other processes that listen on the sockets, that is, servers that a user has started
 * again. */
void servers_end_others(const char *folder);

#endif
