/*
 * extender: the thread that extends a held lock while main watches the command.
 *
 *     extender_open()     before the lock is acquired
 *     extender_start()    the lock is held; the thread owns the session from now on
 *     extender_read()     when extender_fd() is readable: messages of the thread
 *     extender_extend()   to extend at once
 *     extender_stop()     the session is the caller's again
 *
 * The threads share no data: the extender sends messages to main through a pipe. The extender never
 * writes to stderr, where a full pipe could cost the lock.
 */
#ifndef NET_EXTENDER_H
#define NET_EXTENDER_H

#include "net/session.h"

#include <pthread.h>

enum extender_message_kind {
	EXTENDER_EXTENDED, /* the lock is valid until the new valid_until */
	EXTENDER_UNCONFIRMED, /* extensions have begun to fail; text names the nodes' problems */
	EXTENDER_EXPIRING, /* the lock cannot be extended and ends at valid_until; text is the
			      reason */
	EXTENDER_LOG, /* text is a line for -vv */
};

#define EXTENDER_TEXT_MAX 1000

/* Smaller than PIPE_BUF, so that a message goes through the pipe as a whole or not at all. */
struct extender_message {
	enum extender_message_kind kind;
	int extensions;
	usec valid_until;
	char text[EXTENDER_TEXT_MAX];
};

struct extender {
	struct session *session;
	const struct node_list *nodes;
	bool send_replies; /* send an EXTENDER_LOG for each reply of a node */
	bool is_running;
	pthread_t thread;
	int pipe[2];
	int message_fd; /* an eventfd: messages to the thread */
};

/* Allocates what the thread needs, so that later only the start of the thread can fail. Returns -1
 * with *e. */
int extender_open(struct extender *x, struct session *s, const struct node_list *nodes,
	bool send_replies, struct err *e);

/* Starts the thread. The session must be HELD. Returns -1 with *e (ERR_SYSTEM); then the session is
 * still the caller's. */
int extender_start(struct extender *x, struct err *e);

/* Extends the lock now, even if no extension is due. */
void extender_extend(struct extender *x);

/* Returns a descriptor that is readable when a message is there. */
int extender_fd(const struct extender *x);

/* Reads the next message, without waiting; false if there is none. */
bool extender_read(struct extender *x, struct extender_message *message);

/* Stops the thread, if it was started, gives the session back to the caller and frees what
 * extender_open() made. */
void extender_stop(struct extender *x);

#endif
