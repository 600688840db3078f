/*
 * redlock hold: takes the lock and keeps it in a background process, for a shell or for the rest of
 * a CI job.
 *
 * The lock is acquired in the foreground, with the messages and signals of `run`. Then a child
 * process, the background holder, takes over the session, and the foreground process exits. One
 * thread of the background holder, next to those that look names up, extends the lock until it gets
 * SIGTERM, the followed process ends, --max-run has passed, or the lock is lost.
 */
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "cmd/announce.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/record.h"
#include "file/registry.h"
#include "lock/deadline.h"
#include "proc/background.h"
#include "proc/follow.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct hold {
	struct client client;
	struct announcer announcer;
	struct follow follow;
	struct deadline deadline;
	bool is_over; /* the lock must not be extended any more */
	bool was_lost;
	struct run_summary summary; /* for --record and --metrics-file */
};

/* Makes signals, the end of the followed process and a message of the parent end a step. An epoll
 * set wakes the process that made it: call this again after fork(). */
static int watch_all(struct hold *h, struct err *e)
{
	int fds[] = {h->client.signals.fd, h->follow.fd, background_fd()};
	int watch = epoll_create1(EPOLL_CLOEXEC);

	if (watch < 0)
		return err_call(e, "cannot wait for events", "epoll_create1");
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (fds[i] >= 0 && epoll_ctl(watch, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return err_system(e, ERR_SYSTEM, errno, "cannot wait for events");
	}
	h->client.wake_fd = watch;
	return 0;
}

/* Writes the run summary, in the process in which the lock's life ends. */
static int finish(struct hold *h, const char *outcome, int status)
{
	h->summary.outcome = outcome;
	h->summary.status = status;
	h->summary.owner = h->client.session.owner;
	h->summary.lock = &h->client.session.lock;
	announce_end(&h->announcer, outcome, status);
	record_run(h->client.settings, &h->summary);
	announce_close(&h->announcer, &h->client.signals);
	return status;
}

/* ---- the background holder ---- */

static void log_loss(struct hold *h)
{
	const struct lock *lock = &h->client.session.lock;
	char text[REPORT_MAX];

	if (h->was_lost)
		return;
	h->was_lost = true;
	announce_lost(&h->announcer);
	log_event(LOG_ERRORS, &(struct log_event){.name = "lost", .status = STATUS_LOST}, "%s",
		report_loss(text, lock, &h->client.settings->nodes, &h->client.settings->keys));
	client_hint_loss(&h->client);
}

static void take_signals(struct hold *h)
{
	struct caught caught;

	while (signals_next(&h->client.signals, &caught)) {
		if (caught.number != SIGTERM && caught.number != SIGINT)
			continue; /* SIGHUP does not end a background holder */
		log_say(LOG_DECISIONS, "%s: asked to release it", h->client.name);
		h->is_over = true;
	}
}

/* Sends the followed process the signal that is due, and returns the time of the next one. */
static usec step_deadline(struct hold *h, usec now)
{
	usec wake_at;

	switch (deadline_step(&h->deadline, now, &wake_at)) {
	case DEADLINE_WAIT:
	case DEADLINE_SPREAD: /* requests end the hold, not the followed process */
		break;
	case DEADLINE_TERM:
		if (h->deadline.cause == CAUSE_MAX_RUN)
			log_say(LOG_NORMAL, "%s was held for --max-run", h->client.name);
		follow_signal(&h->follow, deadline_signal(&h->deadline));
		h->is_over = h->follow.pid == 0;
		break;
	case DEADLINE_KILL:
		h->summary.is_killed = h->follow.pid > 0;
		follow_signal(&h->follow, SIGKILL);
		break;
	}
	/* The lock is lost and the followed process may run on: there is nothing to wait for. */
	if (h->was_lost && h->deadline.policy.on_lost == 0)
		h->is_over = true;
	return wake_at;
}

static void keep(struct hold *h)
{
	struct session *s = &h->client.session;
	const struct lock *lock = &s->lock;
	char text[REPORT_MAX];
	int extensions = 0;

	while (!h->is_over) {
		usec wake_at = step_deadline(h, clock_now());

		if (h->is_over)
			break;
		session_step(s, wake_at, h->client.wake_fd);
		client_log_reply(&h->client);
		if (lock->tenure.extensions > extensions) {
			extensions = lock->tenure.extensions;
			h->deadline.valid_until = lock->tenure.valid_until;
			client_log_extended(&h->client, lock->tenure.valid_until);
		}
		if (lock->tenure.unconfirmed)
			client_log_unconfirmed(&h->client,
				report_unconfirmed(text, lock, &h->client.settings->nodes,
					&h->client.settings->keys, clock_now()));
		if (lock_state(lock) != LOCK_HELD && !h->was_lost) {
			log_loss(h);
			deadline_lose(&h->deadline, clock_now());
		}
		take_signals(h);
		h->is_over |= background_read() == BACKGROUND_END;
		if (follow_has_ended(&h->follow)) {
			log_say(LOG_DECISIONS, "%s: process %d has ended", h->client.name,
				(int)h->follow.pid);
			h->is_over = true;
		}
	}
}

/* Adds the lock to the registry. Returns -1 with *e; the lock is not kept then. */
static int enter(const struct hold *h, struct err *e)
{
	struct entry entry = {
		.holder = getpid(),
		.follow = h->follow.pid,
		.since = clock_wall() / USEC_SEC,
		.keys = h->client.settings->keys.count,
		.limit = h->client.settings->limit,
		.slot = client_slot(&h->client),
		.nodes = node_list_hash(&h->client.settings->nodes),
	};

	snprintf(entry.id, sizeof(entry.id), "%.*s", TOKEN_ID_LEN, h->client.session.token);
	settings_text(entry.key, &h->client.settings->keys);
	return registry_add(&entry, e);
}

/* Starts connecting again where a connection waits for a name: the thread that looks the name up
 * stays in the parent. */
static void look_up_again(struct pool *pool)
{
	for (int i = 0; i < pool->count; i++)
		if (pool->conn[i].is_resolving)
			pool_open(pool, i);
}

/* The main function of the child process; returns its exit status. */
static int run_background_holder(struct hold *h)
{
	struct deadline_policy policy = settings_deadline(h->client.settings);
	struct err e;

	/* Without a followed process, no process must be terminated before the validity ends. */
	if (h->follow.pid == 0)
		policy.on_lost = 0;
	if (signals_take_ignored(SIGTERM, &e) < 0 || watch_all(h, &e) < 0 || enter(h, &e) < 0) {
		log_err(&e);
		return STATUS_INTERNAL;
	}
	background_ready();
	look_up_again(&h->client.session.pool);
	/* stderr belongs to the caller, and may go away. */
	if (!h->client.settings->log || strcmp(h->client.settings->log, "stderr") == 0)
		log_to_syslog();
	client_go_ahead(&h->client);
	deadline_init(
		&h->deadline, &policy, clock_now(), h->client.session.lock.tenure.valid_until);
	keep(h);
	h->summary.held = clock_now() - h->client.began - h->summary.waited;
	client_release(&h->client, 0);
	if (h->client.session.lock.loss != LOSS_NONE)
		log_loss(h);
	if (h->was_lost)
		registry_lose(h->client.session.token);
	else if (lock_is_released(&h->client.session.lock))
		registry_remove();
	follow_close(&h->follow);
	if (h->was_lost)
		return finish(h, "lost", STATUS_LOST);
	return finish(h, h->deadline.cause == CAUSE_MAX_RUN ? "max-run" : "completed", STATUS_OK);
}

/* ---- the foreground process ---- */

/* Returns the number of a fatal signal, else 0. */
static int acquire(struct hold *h)
{
	int number = 0;

	while (number == 0 && client_is_open(&h->client) && !follow_has_ended(&h->follow))
		number = client_step(&h->client);
	log_clear();
	return number;
}

static int followed_has_ended(struct hold *h)
{
	struct json j;

	client_release(&h->client, 0);
	log_say(LOG_ERRORS, "cannot acquire %s: process %d (--follow) has ended", h->client.name,
		(int)h->follow.pid);
	if (h->client.settings->format == FORMAT_JSON) {
		print_begin(&j, h->client.settings);
		print_outcome(&j, "interrupted", STATUS_LOST);
		json_ms(&j, "waited_ms", clock_now() - h->client.began);
		print_end(&j);
	}
	return finish(
		h, "interrupted", print_finish() == STATUS_OK ? STATUS_LOST : STATUS_INTERNAL);
}

/* Starts the background holder, prints the lock, and confirms to the child that it was printed. */
static int start_background_holder(struct hold *h)
{
	struct caught caught = {0};
	struct err e;
	bool ready = false;
	pid_t pid;
	int status;

	if (background_start(&pid, &ready, &e) < 0) {
		client_release(&h->client, 0);
		log_err(&e);
		return finish(h, "failed", status_of(e.kind));
	}
	if (pid == 0)
		return run_background_holder(h);
	if (!ready) {
		log_say(LOG_ERRORS, "the background holder of %s has ended", h->client.name);
		client_release(&h->client, 0);
		return finish(h, "failed", STATUS_INTERNAL);
	}
	client_print(&h->client, (long)pid);
	status = print_finish();
	while (!caught.is_fatal && signals_next(&h->client.signals, &caught))
		;
	if (status == STATUS_OK && !caught.is_fatal) {
		background_stay();
		return STATUS_OK;
	}
	/* Without a printed token, the lock must not stay held. */
	(void)background_end();
	if (caught.is_fatal)
		client_die(&h->client, caught.number);
	return status;
}

static int list(const struct settings *s)
{
	static struct settings shown;
	struct registry registry;
	struct entry entry;
	struct json j;
	struct err e;

	if (s->format == FORMAT_JSON) {
		print_begin(&j, s);
		json_open(&j, "holds", '[');
	}
	registry_open(&registry);
	while (registry_next(&registry, &entry)) {
		char name[REPORT_MAX], when[TIME_TEXT_MAX], following[48] = "", slot[32] = "";

		settings_init(&shown, s->command);
		if (settings_set_keys(&shown, entry.key, entry.keys, &e) < 0)
			continue;
		time_format(when, entry.since);
		if (s->format == FORMAT_JSON) {
			json_open(&j, NULL, '{');
			print_keys(&j, &shown);
			if (entry.limit > 0)
				json_number(&j, "slot", entry.slot);
			json_text(&j, "token", entry.id);
			json_number(&j, "holder_pid", entry.holder);
			if (entry.follow)
				json_number(&j, "follow", entry.follow);
			json_text(&j, "since", when);
			json_close(&j, '}');
			continue;
		}
		if (entry.follow)
			snprintf(following, sizeof(following), ", following %d", (int)entry.follow);
		if (entry.limit > 1)
			snprintf(slot, sizeof(slot), ", slot %ld", entry.slot);
		print_line("%s%s since %s by process %d%s", report_keys(name, &shown.keys), slot,
			when, (int)entry.holder, following);
	}
	registry_close(&registry);
	if (s->format == FORMAT_JSON) {
		json_close(&j, ']');
		print_end(&j);
	}
	return print_finish();
}

int cmd_hold(struct settings *s)
{
	static struct hold h;
	const struct lock *lock = &h.client.session.lock;
	char *argv[] = {"redlock", "hold", NULL};
	struct err e;
	const char *refusal;
	int number;

	if (s->list)
		return list(s);
	record_prepare(s);
	h.summary.held = NEVER;
	/* The owner text names the followed process, or the calling script. */
	if (follow_open(&h.follow, (pid_t)s->follow, s->on_lost != 0 || s->max_run != NEVER, &e) <
			0 ||
		client_open(&h.client, s, s->follow ? s->follow : (long)getppid(), argv, &e) < 0 ||
		watch_all(&h, &e) < 0 || registry_check(&e) < 0 ||
		announce_open(&h.announcer, s, lock, h.client.name, &h.client.signals, &e) < 0)
		return client_not_opened(s, &e);
	log_never_block();
	number = acquire(&h);
	h.summary.waited = clock_now() - h.client.began;
	if (number > 0) {
		h.client.signalled = true;
		client_release(&h.client, 0);
		(void)finish(&h, "interrupted", 128 + number);
		client_die(&h.client, number);
	}
	if (follow_has_ended(&h.follow))
		return followed_has_ended(&h);
	if (lock_state(lock) == LOCK_HELD)
		client_read_replies(&h.client);
	if (lock_state(lock) != LOCK_HELD || lock->tally.duplicate[0] >= 0) {
		refusal = client_refusal_word(&h.client);
		return finish(&h, refusal, client_print_refusal(&h.client));
	}
	announce_acquired(&h.announcer, client_slot(&h.client));
	return start_background_holder(&h);
}
