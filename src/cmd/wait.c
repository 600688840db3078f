/* redlock wait: wait until the lock is free, without taking it. */
#include "base/out.h"
#include "base/status.h"
#include "cmd/cmd.h"
#include "cmd/lock.h"
#include "cmd/print.h"

#include <unistd.h>

int cmd_wait(struct settings *s)
{
	static struct lock l;
	const struct quorum *q = &l.session.quorum;
	char *words[] = {"redlock", "wait", NULL};
	struct json j;
	struct err e;
	int number;

	if (lock_open(&l, s, (long)getpid(), words, &e) < 0)
		return lock_not_opened(s, &e);
	out_never_block();
	number = lock_take(&l);
	if (number > 0) {
		l.signalled = true;
		lock_release(&l, 0);
		signals_die(number);
	}
	if (q->refusal != REFUSAL_NONE || q->duplicate[0] >= 0 || lock_is_open(&l))
		return lock_print_refusal(&l);
	lock_release(&l, 0);
	out_say(OUT_DECISIONS, "%s %s free", l.name, report_verb(&s->keys));
	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, "free", STATUS_OK);
		json_ms(&j, "waited_ms", clock_now() - l.began);
		print_nodes(&j, q, &s->nodes, NULL);
		print_end(&j);
	}
	return print_finish();
}
