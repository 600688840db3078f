/* background: goes on in a process of its own, which no terminal and no shell ends. */
#ifndef IO_BACKGROUND_H
#define IO_BACKGROUND_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Forks, while there is one thread. In the child, *pid is 0: it has a session of its own and has
 * let go of what redlock inherited (io/inherited). In the parent, *pid is the child's, and it
 * returns when the child has called background_ready() or ended: *ready says which. Returns -1 with
 * *e: nothing was made.
 */
int background_start(pid_t *pid, bool *ready, struct err *e);

/* The child's word to the parent, which may then leave. */
void background_ready(void);

#endif
