/* background: goes on in a process of its own, which no terminal and no shell ends. */
#ifndef IO_BACKGROUND_H
#define IO_BACKGROUND_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Forks, while there is one thread. In the child, *pid is 0: it has a session of its own and has
 * let go of what redlock inherited (io/inherited), but for stderr. In the parent, *pid is the
 * child's, and it returns when the child has called background_ready() or ended: *ready says which.
 * Returns -1 with *e: nothing was made.
 */
int background_start(pid_t *pid, bool *ready, struct err *e);

/* The parent's last word to a child that is ready. A parent that dies without one says the second.
 */
void background_stay(void);
bool background_end(void); /* returns when the child has ended, or, false, does not */

/* The child's word to the parent. From here on there is no stderr. */
void background_ready(void);

/* The child's other word, its last: it cannot be done, and this is the status for that. In the
 * parent: that status, or -1, if the child ended without a word. */
void background_refuse(int status);
int background_refused(void);

/* What the parent says to the child, and a descriptor that is readable when there is something to
 * hear; -1: all has been said. Until then a parent hears that its child has ended. */
enum background_message {
	BACKGROUND_NONE, /* yet, or ever again */
	BACKGROUND_STAY,
	BACKGROUND_END,
};
int background_fd(void);
enum background_message background_read(void);

#endif
