#include "net/extender.h"

#include "report/report.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

_Static_assert(sizeof(struct extender_message) <= PIPE_BUF, "a message is written whole");

static void send_message(struct extender *x, enum extender_message_kind kind, const char *text)
{
	struct extender_message message = {
		.kind = kind,
		.extensions = x->session->lock.tenure.extensions,
		.valid_until = x->session->lock.tenure.valid_until,
	};

	snprintf(message.text, sizeof(message.text), "%s", text);
	/* The pipe is full only if main no longer reads it; then main relies on its own clock. */
	(void)!write(x->pipe[1], &message, sizeof(message));
}

static void send_reply(struct extender *x)
{
	const struct event *ev = &x->session->event;
	const struct pool *pool = &x->session->pool;
	char text[REPORT_MAX];
	const char *line = report_event(text, pool->conn[ev->node].node, ev, pool->took);

	if (line)
		send_message(x, EXTENDER_LOG, line);
}

/* Messages to the thread add up in an eventfd: any number of MESSAGE_EXTEND, one MESSAGE_STOP. */
#define MESSAGE_EXTEND 1
#define MESSAGE_STOP ((eventfd_t)1 << 32)

/* Returns false if the thread shall stop. */
static bool read_messages(struct extender *x)
{
	eventfd_t messages = 0;

	/* A message that could not be read is still there the next time. */
	(void)eventfd_read(x->message_fd, &messages);
	if (messages >= MESSAGE_STOP)
		return false;
	if (messages > 0)
		session_extend(x->session);
	return true;
}

static void *run(void *arg)
{
	struct extender *x = arg;
	const struct lock *lock = &x->session->lock;
	enum lock_state state = lock_state(lock);
	usec valid_until = lock->tenure.valid_until;
	bool unconfirmed = lock->tenure.unconfirmed;
	char text[REPORT_MAX];

	(void)prctl(PR_SET_NAME, "rl-extender");
	while (!session_step(x->session, NEVER, x->message_fd) || read_messages(x)) {
		if (x->send_replies)
			send_reply(x);
		if (lock->tenure.valid_until != valid_until)
			send_message(x, EXTENDER_EXTENDED, "");
		if (lock->tenure.unconfirmed && !unconfirmed)
			send_message(x, EXTENDER_UNCONFIRMED,
				report_unconfirmed(
					text, lock, x->nodes, x->session->keys, clock_now()));
		if (lock_state(lock) != state && state == LOCK_HELD)
			send_message(x, EXTENDER_EXPIRING,
				report_loss(text, lock, x->nodes, x->session->keys));
		valid_until = lock->tenure.valid_until;
		unconfirmed = lock->tenure.unconfirmed;
		state = lock_state(lock);
	}
	return NULL;
}

int extender_open(struct extender *x, struct session *s, const struct node_list *nodes,
	bool send_replies, struct err *e)
{
	*x = (struct extender){.session = s, .nodes = nodes, .send_replies = send_replies};
	if (pipe2(x->pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_system(e, ERR_SYSTEM, errno, "cannot extend a lock: pipe");
	x->message_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->message_fd < 0) {
		err_system(e, ERR_SYSTEM, errno, "cannot extend a lock: eventfd");
		close(x->pipe[0]);
		close(x->pipe[1]);
		return -1;
	}
	return 0;
}

int extender_start(struct extender *x, struct err *e)
{
	int rc;

	/* One heap for both threads: a second one costs four system calls and its pages, and the
	 * threads never allocate at the same time. */
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
	rc = pthread_create(&x->thread, NULL, run, x);
	if (rc != 0)
		return err_set(
			e, ERR_SYSTEM, "cannot extend the lock: no thread: %s", strerror(rc));
	x->is_running = true;
	return 0;
}

/* The manual names no reason for a failure. But if the extender missed MESSAGE_STOP, main would
 * wait for it without end. */
static void write_message(const struct extender *x, eventfd_t message)
{
	int tries = 3, rc;

	do
		rc = eventfd_write(x->message_fd, message);
	while (rc < 0 && --tries > 0);
	assert(rc == 0);
}

void extender_extend(struct extender *x)
{
	write_message(x, MESSAGE_EXTEND);
}

int extender_fd(const struct extender *x)
{
	return x->pipe[0];
}

bool extender_read(struct extender *x, struct extender_message *message)
{
	return read(x->pipe[0], message, sizeof(*message)) == (ssize_t)sizeof(*message);
}

void extender_stop(struct extender *x)
{
	int rc;

	if (x->is_running) {
		write_message(x, MESSAGE_STOP);
		rc = pthread_join(x->thread, NULL);
		assert(rc == 0);
	}
	close(x->pipe[0]);
	close(x->pipe[1]);
	close(x->message_fd);
}
