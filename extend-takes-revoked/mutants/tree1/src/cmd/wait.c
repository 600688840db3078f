/* redlock wait: waits until the lock is free, without taking it. */
#include "base/exit.h"
#include "base/log.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/print.h"

#include <unistd.h>

int cmd_wait(struct settings *s)
{
	static struct client client;
	const struct lock *lock = &client.session.lock;
	char *argv[] = {"redlock", "wait", NULL};
	struct json j;
	struct err e;
	int number;

	if (client_open(&client, s, (long)getpid(), argv, &e) < 0)
		return client_not_opened(s, &e);
	log_never_block();
	number = client_acquire(&client);
	if (number > 0) {
		client.signalled = true;
		client_release(&client, 0);
		signals_die(number);
	}
	if (lock->refusal != REFUSAL_NONE || lock->tally.duplicate[0] >= 0 ||
		client_is_open(&client))
		return client_print_refusal(&client);
	client_release(&client, 0);
	log_say(LOG_DECISIONS, "%s %s free", client.name, report_verb(&s->keys));
	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		print_outcome(&j, "free", STATUS_OK);
		json_ms(&j, "waited_ms", clock_now() - client.began);
		print_nodes(&j, &lock->tally, &s->nodes, NULL);
		print_end(&j);
	}
	return print_finish();
}
