/*
 * background: runs the rest of the program in a child process that outlives terminal and shell.
 *
 *     parent                                   child
 *     background_start(): waits                background_start() returns with *pid 0
 *                                              background_ready() or background_refuse()
 *     background_start() returns
 *     background_stay() or background_end()    polls background_fd(), calls background_read()
 *
 * Each process may have one other at a time. After background_start() returned -1, no process was
 * made.
 */
#ifndef PROC_BACKGROUND_H
#define PROC_BACKGROUND_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Forks; the caller must have one thread, apart from those that look names up (net/resolve), which
 * stay in the parent. In the child, *pid is 0: the child has a session of its own, and has closed
 * or replaced all that redlock inherited (proc/inherited), but for stderr. In the
 * parent, *pid is the child's, and the function returns when the child has called
 * background_ready() (*ready is true) or has refused or ended (*ready is false). Returns -1 with *e
 * if no process was made.
 */
int background_start(pid_t *pid, bool *ready, struct err *e);

/* The parent's last message to a child that is ready. If the parent dies without a message, the
 * child reads BACKGROUND_END. */
void background_stay(void);
bool background_end(void); /* returns when the child has ended; false: it does not end */

/* Tells the parent that the child is ready. The child has no stderr from now on. */
void background_ready(void);

/* Tells the parent, as the child's last message, that the child cannot do its work, and which
 * status the parent shall return. background_refused() returns that status in the parent, or -1 if
 * the child ended without a message. */
void background_refuse(int status);
int background_refused(void);

/* The parent's message to the child. The descriptor is readable when a message has arrived; -1: the
 * last message has been read. Until then, background_read() in the parent returns BACKGROUND_END
 * when the child has ended. */
enum background_message {
	BACKGROUND_NONE, /* no message yet, or no more messages */
	BACKGROUND_STAY,
	BACKGROUND_END,
};
int background_fd(void);
enum background_message background_read(void);

#endif
