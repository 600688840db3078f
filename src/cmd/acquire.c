/*
 * redlock acquire: takes the lock, prints its token, and exits with the lock held.
 *
 * The lock stays held until `redlock release`, or until its TTL ends.
 */
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/print.h"

#include <unistd.h>

int cmd_acquire(struct settings *s)
{
	static struct client client;
	const struct lock *lock = &client.session.lock;
	char *argv[] = {"redlock", "acquire", NULL}, valid[DURATION_TEXT_MAX];
	struct caught caught;
	struct err e;
	int number, status;

	/* The owner text names the calling script: this process has exited before others read
	 * it. */
	if (client_open(&client, s, (long)getppid(), argv, &e) < 0)
		return client_not_opened(s, &e);
	log_never_block();
	number = client_acquire(&client);
	if (number == 0 && lock_state(lock) == LOCK_HELD)
		client_read_replies(&client);
	if (number == 0 && lock_state(lock) == LOCK_HELD &&
		signals_next(&client.signals, &caught) && caught.is_fatal)
		number = caught.number;
	if (number > 0) {
		client.signalled = true;
		client_release(&client, 0);
		client_die(&client, number);
	}
	if (lock_state(lock) != LOCK_HELD || lock->tally.duplicate[0] >= 0)
		return client_print_refusal(&client);
	client_print(&client, 0);
	status = print_finish();
	if (status != STATUS_OK) {
		client_release(&client, 0);
		return status;
	}
	log_event(LOG_DECISIONS, &(struct log_event){.name = "acquired"},
		"acquired %s on %d of %d nodes, valid for %s", client.name,
		tally_count(&lock->tally, VOTE_YES), s->nodes.count,
		duration_format(valid, lock->tenure.valid_until - clock_now()));
	session_close(&client.session);
	return STATUS_OK;
}
