/*
 * supervisor: the small process between redlock's main process and the command. It is the command's
 * parent, and adopts every process that the command leaves behind (PR_SET_CHILD_SUBREAPER), so it
 * knows when the whole tree is gone. It enforces the deadline alone, in a session of its own, which
 * ^Z and ^C do not reach: the tree ends before the lock does, even if redlock is stopped, hangs or
 * is dead. redlock in turn watches the supervisor: either of the two is sufficient.
 *
 *     supervisor_prepare()    while the nodes are asked for the lock
 *     supervisor_start()      the lock is held: the command starts
 *     supervisor_read()       when supervisor_fd() is readable: messages about the command
 *     supervisor_extended(), _lose(), _signal(), _resume()    messages to the supervisor
 *     supervisor_check()      at each SIGCHLD
 *     supervisor_take_over()  if the supervisor is dead or late, until it returns true
 *     supervisor_close()      at the end, or in place of supervisor_start()
 *
 * Both sides use one socket: its end tells each process that the other is dead.
 *
 * If the command may leave processes running (SUPERVISOR_ENDED with `stays`), a supervisor with a
 * file lock outlives redlock: it keeps that lock, and no descriptor of redlock's caller, until the
 * last of these processes has ended. Do not call supervisor_close() then.
 */
#ifndef PROC_SUPERVISOR_H
#define PROC_SUPERVISOR_H

#include "base/err.h"
#include "lock/deadline.h"
#include "proc/priority.h"
#include "proc/program.h"
#include "proc/signals.h"
#include "proc/tree.h"

#include <stdbool.h>
#include <sys/types.h>

struct supervisor {
	pid_t pid; /* 0: none, or reaped */
	int fd; /* 0: none */
	void *late; /* of the policy */
	bool has_other_children; /* redlock had children before; they are not of the tree, */
	struct tree_birth born; /* because they are older than the supervisor */
	int empty_looks;
};

struct supervisor_policy {
	struct deadline_policy deadline;
	bool wait_descendants; /* wait for the processes that the command leaves behind */
	bool is_nested; /* an enclosing run may release its lock at any time after the death of this
			   one */
	int file_lock; /* a descriptor that stays open until the tree is gone, closed at exec; 0:
			  none */
	void *late; /* memory that the command's environment points to (putenv(3)), and that has its
		       last contents at supervisor_start() only; of `late_size` bytes; NULL: none.
		       Borrowed */
	size_t late_size;
	struct priority caller; /* that of redlock's caller: the command starts with it */
};

/* Tries the system calls without which a command could not be terminated later. Returns -1 with *e
 * (ERR_SYSTEM). supervisor_prepare() does the same. */
int supervisor_try(struct err *e);

/*
 * Makes the supervisor, which sleeps until supervisor_start() or supervisor_close(), so that the
 * nodes can be asked meanwhile. The command will get the present environment, and everything else
 * as redlock found it. A supervisor that was made before ends first: there is never a second one.
 * Call it before the extender thread starts; threads that look names up (net/resolve) do no harm:
 * the supervisor has one thread, and looks no name up. Returns -1 with *e (ERR_SYSTEM): no process
 * was made.
 */
int supervisor_prepare(struct supervisor *s, char *const argv[], const struct signals *signals,
	const struct supervisor_policy *policy, struct err *e);

/* Starts the command, under a lock that is confirmed until then; the deadline counts from here.
 * Sends the first `late_len` bytes of policy->late. Messages report how the command ends. */
void supervisor_start(struct supervisor *s, usec valid_until, size_t late_len);

/* Of its process, as ps(1) shows it. */
#define SUPERVISOR_NAME "rl-supervisor"

/*
 * Both processes keep the descriptors inherited for the command (proc/inherited) for this time,
 * because a command that ends earlier then costs less. main calls supervisor_detach() for its own
 * part. On a busy machine, even `true` often takes longer than 10 ms.
 */
#define DETACH_AFTER (50 * USEC_MSEC)

void supervisor_detach(void);

/* ---- messages to the supervisor. No call blocks. A message is lost if the supervisor hangs, which
 * is safe: without messages its deadline comes earlier. ---- */

/* The lock is confirmed until then. */
void supervisor_extended(struct supervisor *s, usec valid_until);

/* The lock is lost: terminate the tree now, according to the policy. */
void supervisor_lose(struct supervisor *s);

/* Passes a signal, which arrived then (tree_now()), on to the command, unless the command is in the
 * process group that has received it. A signal that `command_has_it` is only recorded. */
void supervisor_signal(
	struct supervisor *s, const struct caught *caught, const struct tree_birth *arrived);

/* Continues the command, if it is stopped. */
void supervisor_resume(struct supervisor *s);

/* ---- messages from the supervisor ---- */

enum supervisor_message_kind {
	SUPERVISOR_FAILED, /* the command could not be started: number is the errno (ETIME: too
			      little of the validity is left; ESRCH: the tree is not visible),
			      pid as in child_start(). The last message */
	SUPERVISOR_STOPPED, /* the command was stopped by signal `number` */
	SUPERVISOR_STUBBORN, /* tree: processes that do not die after SIGKILL, or must not be
				killed, or, without KILL, take long after a request; none: a
				process remains that is not visible */
	SUPERVISOR_ENDED, /* the command is gone: number is its status as in waitpid(2); tree: the
			     processes that it left behind. The last message */
};

struct supervisor_message {
	enum supervisor_message_kind kind;
	enum deadline_cause cause; /* ENDED: the reason why the tree was terminated, or NONE */
	bool is_killed; /* ENDED, STUBBORN: the tree got KILL; ENDED: and a process of it was alive
			 */
	usec started_at; /* ENDED: the command had started by then */
	usec ended_at; /* ENDED: the time at which the last process that had to go was gone */
	bool stays; /* ENDED: the supervisor keeps the policy's file_lock for the processes that the
		       command left behind */
	int number;
	pid_t pid; /* of the command */
	struct tree tree;
	struct program_failure why; /* FAILED with pid 0: why the command cannot be run */
};

enum supervisor_reading {
	SUPERVISOR_READ_NOTHING,
	SUPERVISOR_READ_MESSAGE,
	SUPERVISOR_READ_DEATH, /* the supervisor is dead; without a last message, it was killed */
};

/* Returns a descriptor that is readable, or hung up, when supervisor_read() has a result. */
int supervisor_fd(const struct supervisor *s);

/* Reads the next message, without waiting. */
enum supervisor_reading supervisor_read(struct supervisor *s, struct supervisor_message *message);

/* Call it when SIGCHLD comes: continues a supervisor that was stopped, and reaps one that has
 * ended. */
void supervisor_check(struct supervisor *s);

/*
 * Sends SIGKILL to the visible tree, then to the supervisor itself. Call it if the supervisor is
 * dead or does not do its work, and again after a moment until it returns true: nothing is left.
 * *tree: the processes that were alive.
 */
bool supervisor_take_over(struct supervisor *s, struct tree *tree);

/* Ends the supervisor, after its last message, when the tree is gone, or if it was never started.
 * Returns when the supervisor is gone. Harmless without a supervisor. */
void supervisor_close(struct supervisor *s);

#endif
