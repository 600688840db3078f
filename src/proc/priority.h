/*
 * priority: a higher scheduling priority for a process that sleeps until something is due and must
 * then be in time.
 *
 * The process calls priority_raise(); its children call priority_restore(). Neither reports errors:
 * without the right, the priority stays as it is.
 */
#ifndef PROC_PRIORITY_H
#define PROC_PRIORITY_H

#include <sched.h>
#include <stdbool.h>

/* The priority that a thread had before priority_raise(). All zeros: it still has it. */
struct priority {
	bool is_raised;
	int policy;
	struct sched_param param;
};

/*
 * Gives the calling thread precedence on a busy machine over the command and all processes of the
 * command's priority, if redlock is permitted to do so (root, CAP_SYS_NICE, RLIMIT_RTPRIO).
 * Children inherit the raised priority. *before receives the earlier one; if it has one already,
 * nothing is done.
 */
void priority_raise(struct priority *before);

/* Sets the priority *before, in a process that inherited the raised one. Safe after vfork(2). */
void priority_restore(const struct priority *before);

#endif
