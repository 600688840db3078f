/*
 * keeper: the thread that keeps a held lock. It owns the session from extender_start() until
 * extender_stop() and shares nothing: what the main thread must know comes as notes through a pipe.
 * It never writes to stderr, where a full pipe could cost the lock.
 */
#ifndef IO_EXTENDER_H
#define IO_EXTENDER_H

#include "io/session.h"

#include <pthread.h>

enum extender_message_kind {
	EXTENDER_EXTENDED, /* valid_until is new */
	EXTENDER_EXPIRING, /* the lock ends at valid_until; text says why */
	EXTENDER_LOG, /* text is a line for those who asked for more */
};

#define EXTENDER_TEXT_MAX 1000

/* Smaller than PIPE_BUF, so that it goes through the pipe whole or not at all. */
struct extender_message {
	enum extender_message_kind kind;
	int extensions;
	usec valid_until;
	char text[EXTENDER_TEXT_MAX];
};

struct extender {
	struct session *session;
	const struct node_list *nodes;
	bool send_replies; /* send a EXTENDER_LOG for each answer */
	bool is_running;
	pthread_t thread;
	int pipe[2];
	int message_fd; /* an eventfd */
};

/* Makes what the thread will need, so that only the thread itself can fail later: -1 with *e. */
int extender_open(struct extender *x, struct session *s, const struct node_list *nodes,
	bool send_replies, struct err *e);

/* The session must be HELD. Returns -1 with *e (ERR_SYSTEM), and the session is still the caller's.
 */
int extender_start(struct extender *x, struct err *e);

/* Have the lock extended now, not only when that is due. */
void extender_extend(struct extender *x);

/* Readable when a note is there. */
int extender_fd(const struct extender *x);

/* Takes the next note, without waiting; false if there is none. */
bool extender_read(struct extender *x, struct extender_message *message);

/* Ends the thread, if it was started, gives the session back and frees what extender_open() made.
 */
void extender_stop(struct extender *x);

#endif
