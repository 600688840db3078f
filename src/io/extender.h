/*
 * keeper: the thread that keeps a held lock. It owns the session from extender_start() until
 * extender_stop() and shares nothing: what the main thread must know comes as notes through a pipe.
 * It never writes to stderr, where a full pipe could cost the lock.
 */
#ifndef IO_EXTENDER_H
#define IO_EXTENDER_H

#include "io/session.h"

#include <pthread.h>

enum note_kind {
	NOTE_EXTENDED, /* valid_until is new */
	NOTE_EXPIRING, /* the lock ends at valid_until; text says why */
	NOTE_LOG, /* text is a line for those who asked for more */
};

#define NOTE_TEXT_MAX 1000

/* Smaller than PIPE_BUF, so that it goes through the pipe whole or not at all. */
struct note {
	enum note_kind kind;
	int extensions;
	usec valid_until;
	char text[NOTE_TEXT_MAX];
};

struct extender {
	struct session *session;
	const struct node_list *nodes;
	bool tell_replies; /* send a NOTE_LOG for each answer */
	bool is_running;
	pthread_t thread;
	int notes[2];
	int orders; /* an eventfd */
};

/* Makes what the thread will need, so that only the thread itself can fail later: -1 with *e. */
int extender_open(struct extender *k, struct session *s, const struct node_list *nodes,
	bool tell_replies, struct err *e);

/* The session must be HELD. Returns -1 with *e (ERR_SYSTEM), and the session is still the caller's.
 */
int extender_start(struct extender *k, struct err *e);

/* Have the lock extended now, not only when that is due. */
void extender_extend(struct extender *k);

/* Readable when a note is there. */
int extender_fd(const struct extender *k);

/* Takes the next note, without waiting; false if there is none. */
bool extender_read(struct extender *k, struct note *note);

/* Ends the thread, if it was started, gives the session back and frees what extender_open() made.
 */
void extender_stop(struct extender *k);

#endif
