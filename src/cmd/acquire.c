/* redlock acquire: take the lock, print its token, and leave it taken. */
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/lock.h"
#include "cmd/print.h"

#include <unistd.h>

int cmd_acquire(struct settings *s)
{
	static struct lock l;
	const struct quorum *q = &l.session.quorum;
	char *words[] = {"redlock", "acquire", NULL}, valid[DURATION_TEXT_MAX];
	struct caught caught;
	struct err e;
	int number, status;

	/* Whoever looks for the holder finds the script, not us, who are gone by then. */
	if (lock_open(&l, s, (long)getppid(), words, &e) < 0)
		return lock_not_opened(s, &e);
	out_never_block();
	number = lock_take(&l);
	if (number == 0 && q->state == QUORUM_HELD)
		lock_take_in_answers(&l);
	if (number == 0 && q->state == QUORUM_HELD && signals_next(&l.signals, &caught) &&
		caught.is_fatal)
		number = caught.number;
	if (number > 0) {
		l.signalled = true;
		lock_release(&l, 0);
		lock_die(&l, number);
	}
	if (q->state != QUORUM_HELD || q->duplicate[0] >= 0)
		return lock_print_refusal(&l);
	lock_print(&l, 0);
	status = print_finish();
	if (status != STATUS_OK) {
		lock_release(&l, 0);
		return status;
	}
	out_say(OUT_DECISIONS, "acquired %s on %d of %d nodes, valid for %s", l.name,
		quorum_count(q, VOTE_YES), s->nodes.count,
		duration_format(valid, q->valid_until - clock_now()));
	session_close(&l.session);
	return STATUS_OK;
}
