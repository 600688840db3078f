#include "io/extender.h"

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

_Static_assert(sizeof(struct note) <= PIPE_BUF, "a note goes through the pipe whole");

static void tell(struct extender *k, enum note_kind kind, const char *text)
{
	struct note note = {
		.kind = kind,
		.extensions = k->session->lock.extensions,
		.valid_until = k->session->lock.valid_until,
	};

	snprintf(note.text, sizeof(note.text), "%s", text);
	/* The pipe is full only if main no longer reads; then main's own clock must do. */
	(void)!write(k->notes[1], &note, sizeof(note));
}

static void tell_answer(struct extender *k)
{
	const struct event *ev = &k->session->event;
	const struct pool *pool = &k->session->pool;
	char text[REPORT_MAX];
	const char *words = report_event(text, pool->conn[ev->node].node, ev, pool->took);

	if (words)
		tell(k, NOTE_LOG, words);
}

/* Orders add up in an eventfd: any number to extend, one to stop. */
#define ORDER_EXTEND 1
#define ORDER_STOP ((eventfd_t)1 << 32)

/* False when it is time to stop. */
static bool take_orders(struct extender *k)
{
	eventfd_t orders = 0;

	/* What could not be read is still there the next time. */
	(void)eventfd_read(k->orders, &orders);
	if (orders >= ORDER_STOP)
		return false;
	if (orders > 0)
		session_extend(k->session);
	return true;
}

static void *run(void *arg)
{
	struct extender *k = arg;
	const struct lock *lock = &k->session->lock;
	enum lock_state state = lock->state;
	usec valid_until = lock->valid_until;
	char text[REPORT_MAX];

	(void)prctl(PR_SET_NAME, "rl-keeper");
	while (!session_turn(k->session, NEVER, k->orders) || take_orders(k)) {
		if (k->tell_replies)
			tell_answer(k);
		if (lock->valid_until != valid_until)
			tell(k, NOTE_EXTENDED, "");
		if (lock->state != state && state == LOCK_HELD)
			tell(k, NOTE_EXPIRING, report_loss(text, lock, k->nodes, k->session->keys));
		valid_until = lock->valid_until;
		state = lock->state;
	}
	return NULL;
}

int extender_open(struct extender *k, struct session *s, const struct node_list *nodes,
	bool tell_replies, struct err *e)
{
	*k = (struct extender){.session = s, .nodes = nodes, .tell_replies = tell_replies};
	if (pipe2(k->notes, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(e, ERR_SYSTEM, "cannot keep a lock: pipe: %s", strerror(errno));
	k->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->orders < 0) {
		err_set(e, ERR_SYSTEM, "cannot keep a lock: eventfd: %s", strerror(errno));
		close(k->notes[0]);
		close(k->notes[1]);
		return -1;
	}
	return 0;
}

int extender_start(struct extender *k, struct err *e)
{
	int rc;

	/* One heap for both threads: a second one costs four system calls and its pages, and they
	 * never allocate at the same time. */
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
	rc = pthread_create(&k->thread, NULL, run, k);
	if (rc != 0)
		return err_set(e, ERR_SYSTEM, "cannot keep the lock: no thread: %s", strerror(rc));
	k->is_running = true;
	return 0;
}

/* The manual knows no reason why it should fail. But a keeper that does not hear when to stop would
 * be waited for for ever. */
static void give_order(const struct extender *k, eventfd_t order)
{
	int tries = 3, rc;

	do
		rc = eventfd_write(k->orders, order);
	while (rc < 0 && --tries > 0);
	assert(rc == 0);
}

void extender_extend(struct extender *k)
{
	give_order(k, ORDER_EXTEND);
}

int extender_fd(const struct extender *k)
{
	return k->notes[0];
}

bool extender_read(struct extender *k, struct note *note)
{
	return read(k->notes[0], note, sizeof(*note)) == (ssize_t)sizeof(*note);
}

void extender_stop(struct extender *k)
{
	int rc;

	if (k->is_running) {
		give_order(k, ORDER_STOP);
		rc = pthread_join(k->thread, NULL);
		assert(rc == 0);
	}
	close(k->notes[0]);
	close(k->notes[1]);
	close(k->orders);
}
