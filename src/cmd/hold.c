/*
 * redlock hold: take the lock and keep it in the background, for a shell or for the rest of a CI
 * job.
 *
 * The lock is taken in the foreground, where words and signals go as with run. Then a child, the
 * keeper, goes on with the session, and we leave. The keeper has one thread: it extends the lock
 * and waits for whatever ends it all: TERM, the end of the process that it follows, --max-run, or
 * the loss of the lock.
 */
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/lock.h"
#include "cmd/print.h"
#include "cmd/record.h"
#include "core/leash.h"
#include "core/report.h"
#include "io/alarm.h"
#include "io/background.h"
#include "io/follow.h"
#include "io/registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct hold {
	struct lock lock;
	struct follow follow;
	struct leash leash;
	bool is_over; /* nothing is left to be kept */
	bool was_lost;
	struct account account; /* for the record */
};

/* Signals, the end of the process that is followed, and the parent's word end a turn. What a signal
 * wakes is the process that called this, not one that was forked later. */
static int watch_all(struct hold *h, struct err *e)
{
	int fds[] = {h->lock.signals.fd, h->follow.fd, background_fd()};
	int watch = epoll_create1(EPOLL_CLOEXEC);

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (fds[i] >= 0 && epoll_ctl(watch, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return err_set(e, ERR_SYSTEM, "cannot wait: %s", strerror(errno));
	}
	h->lock.wake_fd = watch;
	return 0;
}

/* Of two processes, the one that ends it writes the record. */
static int finish(struct hold *h, const char *outcome, int status)
{
	h->account.outcome = outcome;
	h->account.status = status;
	h->account.owner = h->lock.session.owner;
	h->account.quorum = &h->lock.session.quorum;
	record_run(h->lock.settings, &h->account);
	return status;
}

/* ---- the keeper ---- */

static void tell_loss(struct hold *h)
{
	const struct quorum *q = &h->lock.session.quorum;
	char text[REPORT_MAX];

	if (h->was_lost)
		return;
	h->was_lost = true;
	out_say(OUT_ERRORS, "%s",
		report_loss(text, q, &h->lock.settings->nodes, &h->lock.settings->keys));
	if (q->loss == LOSS_EXPIRED)
		lock_tell_remedy(&h->lock, OUT_ERRORS);
}

static void take_signals(struct hold *h)
{
	struct caught caught;

	while (signals_next(&h->lock.signals, &caught)) {
		if (caught.number != SIGTERM && caught.number != SIGINT)
			continue; /* a hangup is none of ours */
		out_say(OUT_DECISIONS, "%s: asked to release it", h->lock.name);
		h->is_over = true;
	}
}

/* What is due for the process that is followed. */
static usec step_leash(struct hold *h, usec now)
{
	usec wake_at;

	switch (leash_step(&h->leash, now, &wake_at)) {
	case LEASH_WAIT:
		break;
	case LEASH_TERM:
		if (h->leash.cause == CAUSE_MAX_RUN)
			out_say(OUT_NORMAL, "%s was held for --max-run", h->lock.name);
		follow_signal(&h->follow, leash_signal(&h->leash));
		h->is_over = h->follow.pid == 0;
		break;
	case LEASH_KILL:
		follow_signal(&h->follow, SIGKILL);
		break;
	}
	/* Without the lock, nobody is waited for who may run on. */
	if (h->was_lost && h->leash.policy.on_lost == 0)
		h->is_over = true;
	return wake_at;
}

static void keep(struct hold *h)
{
	struct session *s = &h->lock.session;
	const struct quorum *q = &s->quorum;
	int extensions = 0;

	while (!h->is_over) {
		usec wake_at = step_leash(h, clock_now());

		if (h->is_over)
			break;
		session_turn(s, wake_at, h->lock.wake_fd);
		lock_tell_answer(&h->lock);
		if (q->extensions > extensions) {
			extensions = q->extensions;
			h->leash.valid_until = q->valid_until;
			out_say(OUT_DECISIONS, "extended %s", h->lock.name);
		}
		if (q->state != QUORUM_HELD && !h->was_lost) {
			tell_loss(h);
			leash_lose(&h->leash, clock_now());
		}
		take_signals(h);
		h->is_over |= background_hear() == BACKGROUND_END;
		if (follow_is_over(&h->follow)) {
			out_say(OUT_DECISIONS, "%s: process %d has ended", h->lock.name,
				(int)h->follow.pid);
			h->is_over = true;
		}
	}
}

/* Returns -1 with *e: the lock could not be listed, so it is not kept. */
static int enter(const struct hold *h, struct err *e)
{
	struct entry entry = {
		.keeper = getpid(),
		.follow = h->follow.pid,
		.since = clock_wall() / USEC_SEC,
		.keys = h->lock.settings->keys.count,
		.limit = h->lock.settings->limit,
		.slot = lock_slot(&h->lock),
	};

	snprintf(entry.id, sizeof(entry.id), "%.*s", TOKEN_ID_LEN, h->lock.session.token);
	snprintf(entry.key, sizeof(entry.key), "%s", h->lock.settings->key);
	return registry_add(&entry, e);
}

/* The child's life. */
static int be_keeper(struct hold *h)
{
	struct leash_policy policy = settings_leash(h->lock.settings);
	struct alarm_turn before;
	struct err e;

	/* Nobody is to be ended before the lock is. */
	if (h->follow.pid == 0)
		policy.on_lost = 0;
	if (signals_insist(&h->lock.signals, SIGTERM, &e) < 0 || watch_all(h, &e) < 0 ||
		enter(h, &e) < 0) {
		out_err(&e);
		return STATUS_INTERNAL;
	}
	background_ready();
	/* The caller's stderr is not ours any more. */
	if (!h->lock.settings->log || strcmp(h->lock.settings->log, "stderr") == 0)
		out_to_syslog();
	alarm_go_first(&before);
	leash_init(&h->leash, &policy, clock_now(), h->lock.session.quorum.valid_until);
	keep(h);
	h->account.held = clock_now() - h->lock.began - h->account.waited;
	lock_release(&h->lock, 0);
	if (h->lock.session.quorum.loss != LOSS_NONE)
		tell_loss(h);
	if (h->was_lost)
		registry_lose(h->lock.session.token);
	else
		registry_remove();
	follow_close(&h->follow);
	if (h->was_lost)
		return finish(h, "lost", STATUS_LOST);
	return finish(h, h->leash.cause == CAUSE_MAX_RUN ? "max-run" : "completed", STATUS_OK);
}

/* ---- before that ---- */

/* Returns the number of a signal that ended the wait, else 0. */
static int take(struct hold *h)
{
	int number = 0;

	lock_start(&h->lock);
	while (number == 0 && lock_is_open(&h->lock) && !follow_is_over(&h->follow))
		number = lock_turn(&h->lock);
	out_unshow();
	return number;
}

static int follow_is_gone(struct hold *h)
{
	struct json j;

	lock_release(&h->lock, 0);
	out_say(OUT_ERRORS, "process %d, for which %s was to be held, has ended",
		(int)h->follow.pid, h->lock.name);
	if (h->lock.settings->format == FORMAT_JSON) {
		print_begin(&j, h->lock.settings);
		print_outcome(&j, "interrupted", STATUS_LOST);
		json_ms(&j, "waited_ms", clock_now() - h->lock.began);
		print_end(&j);
	}
	return finish(
		h, "interrupted", print_finish() == STATUS_OK ? STATUS_LOST : STATUS_INTERNAL);
}

/* The lock is held: from here on it is the keeper's. */
static int hand_to_keeper(struct hold *h)
{
	struct caught caught = {0};
	struct err e;
	bool ready = false;
	pid_t pid;
	int status;

	if (background_start(&pid, &ready, &e) < 0) {
		lock_release(&h->lock, 0);
		out_err(&e);
		return finish(h, "failed", status_of(e.kind));
	}
	if (pid == 0)
		return be_keeper(h);
	if (!ready) {
		out_say(OUT_ERRORS, "the process that was to keep %s has ended", h->lock.name);
		lock_release(&h->lock, 0);
		return finish(h, "failed", STATUS_INTERNAL);
	}
	lock_print(&h->lock, (long)pid);
	status = print_finish();
	while (!caught.is_fatal && signals_next(&h->lock.signals, &caught))
		;
	if (status == STATUS_OK && !caught.is_fatal) {
		background_stay();
		return STATUS_OK;
	}
	/* Nobody would know of it. */
	(void)background_end();
	if (caught.is_fatal)
		lock_die(&h->lock, caught.number);
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
		if (settings_add_keys(&shown, entry.key, entry.keys, &e) < 0)
			continue;
		time_format(when, entry.since);
		if (s->format == FORMAT_JSON) {
			json_open(&j, NULL, '{');
			print_keys(&j, &shown);
			if (entry.limit > 0)
				json_number(&j, "slot", entry.slot);
			json_text(&j, "token", entry.id);
			json_number(&j, "keeper", entry.keeper);
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
			when, (int)entry.keeper, following);
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
	const struct quorum *q = &h.lock.session.quorum;
	char *words[] = {"redlock", "hold", NULL};
	struct err e;
	const char *refusal;
	int number;

	if (s->list)
		return list(s);
	record_prepare(s);
	h.account.held = NEVER;
	/* Whoever looks for the holder finds whom the lock is for. */
	if (follow_open(&h.follow, (pid_t)s->follow, s->on_lost != 0 || s->max_run != NEVER, &e) <
			0 ||
		lock_open(&h.lock, s, s->follow ? s->follow : (long)getppid(), words, &e) < 0 ||
		watch_all(&h, &e) < 0 || registry_check(&e) < 0)
		return lock_not_opened(s, &e);
	out_never_block();
	number = take(&h);
	h.account.waited = clock_now() - h.lock.began;
	if (number > 0) {
		h.lock.signalled = true;
		lock_release(&h.lock, 0);
		(void)finish(&h, "interrupted", 128 + number);
		lock_die(&h.lock, number);
	}
	if (follow_is_over(&h.follow))
		return follow_is_gone(&h);
	if (q->state == QUORUM_HELD)
		lock_take_in_answers(&h.lock);
	if (q->state != QUORUM_HELD || q->duplicate[0] >= 0) {
		refusal = lock_refusal_words(&h.lock);
		return finish(&h, refusal, lock_print_refusal(&h.lock));
	}
	return hand_to_keeper(&h);
}
