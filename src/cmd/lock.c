#include "cmd/lock.h"

#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "base/token.h"
#include "cmd/configure.h"
#include "cmd/print.h"
#include "core/report.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_WORD_AFTER USEC_SEC
#define WORDS_APART (10 * USEC_SEC)
#define WORDS_APART_MAX (300 * USEC_SEC)

static void default_owner(char owner[OWNER_MAX], long pid, char *const words[])
{
	const char *user = getenv("LOGNAME");
	const struct passwd *entry;
	char host[256] = "", uid[24];

	if (!user || !*user)
		user = getenv("USER");
	if (!user || !*user) {
		snprintf(uid, sizeof(uid), "%ld", (long)getuid());
		/* The name service costs as much as a node; root's name needs no asking. */
		entry = getuid() == 0 ? NULL : getpwuid(getuid());
		user = entry ? entry->pw_name : getuid() == 0 ? "root" : uid;
	}
	gethostname(host, sizeof(host) - 1);
	settings_owner(owner, OWNER_MAX, user, host, pid, words);
}

int lock_open(
	struct lock *l, const struct settings *s, long pid, char *const words[], struct err *e)
{
	const struct policy policy = settings_policy(s);
	const char *outer = getenv("REDLOCK_HELD");
	char owner[OWNER_MAX];

	l->settings = s;
	l->began = clock_now();
	/* The environment is made anew for the command. */
	l->outer = outer ? strdup(outer) : "";
	if (!l->outer)
		return err_set(e, ERR_SYSTEM, "out of memory");
	report_keys(l->name, &s->keys);
	if (s->owner)
		snprintf(owner, sizeof(owner), "%s", s->owner);
	else
		default_owner(owner, pid, words);
	if (signals_open(&l->signals, e) < 0 ||
		session_open(&l->session, &policy, &s->nodes, &s->keys, owner, e) < 0)
		return -1;
	l->session.held = l->outer;
	l->wake_fd = l->signals.fd;
	return 0;
}

int lock_not_opened(const struct settings *s, const struct err *e)
{
	out_err(e);
	/* There is nothing else by now that could be wrong with the nodes. */
	return print_failure(
		s, e->kind == ERR_CONFIG ? "duplicate-node" : "failed", status_of(e->kind));
}

void lock_die(const struct lock *l, int number)
{
	if (l->settings->format == FORMAT_ENV)
		print_status_for_eval(128 + number);
	signals_die(number);
}

void lock_tell_answer(const struct lock *l)
{
	const struct event *ev = &l->session.event;
	const struct pool *pool = &l->session.pool;
	char text[REPORT_MAX];
	const char *words;

	if (out_loudness() < OUT_ANSWERS)
		return;
	words = report_event(text, pool->conn[ev->node].node, ev, pool->took);
	if (words)
		out_say(OUT_ANSWERS, "%s", words);
}

/* ---- waiting for it ---- */

/* What is to be known of a refusal, the first time. */
static void explain(struct lock *l, enum loudness at)
{
	configure_hint(l->settings, &l->session.quorum, at);
	l->told_why = at <= out_loudness();
}

/* On a terminal the line is kept current; what is explained stands below a line that stays. */
static void tell_waiting(struct lock *l)
{
	const struct quorum *q = &l->session.quorum;
	bool is_new = !l->told_why && q->refusal == REFUSAL_NO_QUORUM &&
		      configure_has_hint(l->settings, q);
	char text[REPORT_MAX], waited[DURATION_TEXT_MAX];
	usec now = clock_now();

	if (q->refusal == REFUSAL_BUSY)
		report_holder(text, q, &l->settings->keys, now);
	else
		report_refusal(text, q, &l->settings->nodes, &l->settings->keys, now);
	if (l->is_live && !is_new)
		out_show(OUT_NORMAL, "waiting %s: %s",
			duration_format(waited, (now - l->began) / USEC_SEC * USEC_SEC), text);
	else
		out_say(OUT_NORMAL, "waiting: %s", text);
	if (is_new)
		explain(l, OUT_NORMAL);
}

bool lock_is_nested(const struct lock *l, const struct answer **holder)
{
	const struct quorum *q = &l->session.quorum;
	int count = quorum_held_by(q, l->outer, holder);

	/* Another slot is not held, or may be free soon. */
	if (policy_has_slots(&q->policy))
		return false;
	/* To run under that lock it must be proved; to refuse, a trace of it is enough. */
	return count > 0 && (!l->settings->reentrant || (*holder)->is_shared ||
				    count >= policy_quorum(&q->policy));
}

void lock_start(struct lock *l)
{
	l->is_live = out_is_live();
	l->say_at = clock_now() + FIRST_WORD_AFTER;
	l->words_apart = WORDS_APART;
	session_start(&l->session);
}

bool lock_is_open(const struct lock *l)
{
	const struct quorum *q = &l->session.quorum;
	const struct answer *ignored;

	return q->state == QUORUM_TRYING && !(quorum_is_pausing(q) && lock_is_nested(l, &ignored));
}

int lock_turn(struct lock *l)
{
	const struct quorum *q = &l->session.quorum;
	struct caught caught;
	char text[REPORT_MAX];
	/* Words are due only between attempts. */
	bool signalled =
		session_turn(&l->session, quorum_is_pausing(q) ? l->say_at : NEVER, l->wake_fd);

	lock_tell_answer(l);
	if (signalled && signals_next(&l->signals, &caught) && caught.is_fatal)
		return caught.number;
	if (q->seat.is_refused && !l->told_no_seat) {
		out_say(OUT_NORMAL, "%s",
			report_no_seat(text, q, &l->settings->nodes, &l->settings->keys));
		l->told_no_seat = true;
	}
	report_lock(l->name, q, &l->settings->keys);
	if (q->state == QUORUM_HELD && report_unguarded(text, q, &l->settings->nodes)[0])
		out_say(OUT_NORMAL, "%s", text);
	if (quorum_is_pausing(q) && clock_now() >= l->say_at) {
		tell_waiting(l);
		l->say_at = clock_now() + (l->is_live ? FIRST_WORD_AFTER : l->words_apart);
		l->words_apart = usec_min(2 * l->words_apart, WORDS_APART_MAX);
	}
	return 0;
}

int lock_take(struct lock *l)
{
	int number = 0;

	lock_start(l);
	while (number == 0 && lock_is_open(l))
		number = lock_turn(l);
	out_unshow();
	return number;
}

void lock_take_in_answers(struct lock *l)
{
	do {
		session_turn(&l->session, clock_now(), -1);
		lock_tell_answer(l);
	} while (l->session.event.kind != EV_TIME);
}

/* ---- giving it back ---- */

/* Who never had it, or from whom it was taken, has nothing to release but traces. */
static bool was_ours(const struct quorum *q)
{
	return q->proved > 0 && q->loss != LOSS_DENIED && !q->policy.only_looks;
}

void lock_tell_remedy(struct lock *l, enum loudness at)
{
	const char *remedy = report_remedy(&l->session.quorum);

	if (remedy && !l->told_why)
		out_hint(at, "%s", remedy);
	l->told_why |= remedy && at <= out_loudness();
}

void lock_release(struct lock *l, usec leave_for)
{
	const struct quorum *q = &l->session.quorum;
	struct caught caught;
	char text[REPORT_MAX], left[DURATION_TEXT_MAX];
	int unreleased;
	bool released, is_left;
	usec until;

	if (q->state == QUORUM_HELD)
		lock_take_in_answers(l);
	session_release(&l->session, leave_for);
	while (q->state != QUORUM_OVER) {
		if (session_turn(&l->session, NEVER, l->signals.fd) &&
			signals_next(&l->signals, &caught) && caught.is_fatal) {
			if (l->signalled)
				break;
			l->signalled = true;
		}
		lock_tell_answer(l);
	}
	unreleased = quorum_unreleased(q, &until);
	released = q->policy.nodes - unreleased >= policy_quorum(&q->policy);
	/* A lock that others will still find on a majority is worth a warning; a trace is not. */
	is_left = q->proved && !released;
	if (unreleased > 0)
		out_say(is_left ? OUT_NORMAL : OUT_DECISIONS, "%s",
			report_unreleased(
				text, q, &l->settings->nodes, &l->settings->keys, clock_now()));
	if (is_left)
		lock_tell_remedy(l, OUT_NORMAL);
	if (released && was_ours(q) && q->leave_for > 0)
		out_say(OUT_DECISIONS, "left %s taken for another %s", l->name,
			duration_format(left, q->leave_for));
	else if (released && was_ours(q))
		out_say(OUT_DECISIONS, "released %s", l->name);
	if (q->proved && q->loss == LOSS_NONE && q->duplicate[0] < 0 &&
		report_unsure(text, q, &l->settings->keys)[0])
		out_say(OUT_DECISIONS, "%s", text);
	session_close(&l->session);
}

int lock_refuse_duplicate(struct lock *l)
{
	lock_release(l, 0);
	return print_duplicate(&l->session.quorum, &l->settings->nodes);
}

int lock_refused(struct lock *l)
{
	const struct quorum *q = &l->session.quorum;
	const struct settings *s = l->settings;
	char text[REPORT_MAX];

	if (q->refusal == REFUSAL_DUPLICATE)
		return lock_refuse_duplicate(l);
	/* Words come last: the answers that were not needed to decide may still be in by then. */
	lock_release(l, 0);
	report_refusal(text, q, &s->nodes, &s->keys, clock_now());
	if (q->refusal == REFUSAL_BUSY) {
		out_say(OUT_NORMAL, "%s", text);
		return (int)s->conflict_exit_code;
	}
	out_say(OUT_ERRORS, "%s", text);
	if (q->refusal == REFUSAL_NO_QUORUM && !l->told_why)
		explain(l, OUT_ERRORS);
	if (report_is_skewed(q))
		out_hint(OUT_ERRORS, "is this machine's clock right? '--restart-guard off' does "
				     "not look at clocks");
	return STATUS_NO_QUORUM;
}

/* Waiting for oneself has no end. */
int lock_refuse_nested(struct lock *l)
{
	const struct answer *holder;
	bool is_shared = lock_is_nested(l, &holder) && holder->is_shared;

	lock_release(l, 0);
	out_say(OUT_NORMAL, "%s %s held by a run that this one is part of", l->name,
		report_verb(&l->settings->keys));
	if (is_shared)
		out_hint(OUT_NORMAL, "a reader does not become a writer; see --exclusive");
	else if (l->settings->command == COMMAND_RUN && l->settings->keys.count == 1)
		out_hint(OUT_NORMAL, "--reentrant runs the command under that lock");
	return (int)l->settings->conflict_exit_code;
}

const char *lock_refusal_words(const struct lock *l)
{
	const struct quorum *q = &l->session.quorum;
	const struct answer *ignored;

	if (q->duplicate[0] >= 0)
		return "duplicate-node";
	if (lock_is_nested(l, &ignored))
		return "busy";
	switch (q->refusal) {
	case REFUSAL_NONE:
		break;
	case REFUSAL_BUSY:
		return "busy";
	case REFUSAL_NO_QUORUM:
		return "no-quorum";
	case REFUSAL_DUPLICATE:
		return "duplicate-node";
	case REFUSAL_SLOW:
		return "too-slow";
	}
	return "failed";
}

int lock_print_refusal(struct lock *l)
{
	const struct quorum *q = &l->session.quorum;
	struct answer holder;
	const struct answer *ignored;
	struct json j;
	int status, nodes;
	const char *outcome = lock_refusal_words(l);

	/* The answers are the same afterwards, or newer. */
	holder = quorum_holder(q, &nodes);
	if (q->duplicate[0] >= 0)
		status = lock_refuse_duplicate(l);
	else if (lock_is_nested(l, &ignored))
		status = lock_refuse_nested(l);
	else
		status = lock_refused(l);
	if (l->settings->format != FORMAT_JSON)
		return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
	print_begin(&j, l->settings);
	print_outcome(&j, outcome, status);
	json_ms(&j, "waited_ms", clock_now() - l->began);
	if (nodes > 0 && !holder.is_reserved)
		print_holder(&j, "holder", &holder);
	print_nodes(&j, q, &l->settings->nodes, NULL);
	print_end(&j);
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

long lock_slot(const struct lock *l)
{
	const struct quorum *q = &l->session.quorum;

	return policy_has_slots(&q->policy) ? q->slot : l->settings->limit;
}

/* What the shell may have of an earlier lock is not this one's. */
static void print_unset(const struct settings *s, bool has_keeper, bool has_fence)
{
	if (s->limit > 0 && has_keeper && has_fence)
		return;
	print_line("unset%s%s%s", s->limit > 0 ? "" : " REDLOCK_LIMIT REDLOCK_SLOT",
		has_keeper ? "" : " REDLOCK_KEEPER", has_fence ? "" : " REDLOCK_FENCE");
}

void lock_print(const struct lock *l, long keeper)
{
	const struct quorum *q = &l->session.quorum;
	const struct settings *s = l->settings;
	char id[TOKEN_ID_LEN + 1], pid[24], fence[24], keys[24], slot[24], limit[24];
	char held[LOCK_HELD_MAX];
	bool has_slots = policy_has_slots(&q->policy);
	struct json j;

	snprintf(id, sizeof(id), "%.*s", TOKEN_ID_LEN, l->session.token);
	snprintf(pid, sizeof(pid), "%ld", keeper);
	snprintf(keys, sizeof(keys), "%d", s->keys.count);
	snprintf(fence, sizeof(fence), "%lld", (long long)q->fence);
	snprintf(slot, sizeof(slot), "%ld", lock_slot(l));
	snprintf(limit, sizeof(limit), "%ld", s->limit);
	switch ((enum format)s->format) {
	case FORMAT_PLAIN:
		print_line("%s%s%s%s%s%s%s", id, has_slots ? "#" : "", has_slots ? slot : "",
			keeper ? " " : "", keeper ? pid : "", q->fence ? " " : "",
			q->fence ? fence : "");
		break;
	case FORMAT_ENV:
		print_unset(s, keeper != 0, q->fence != 0);
		print_env("REDLOCK_KEY", s->names);
		print_env("REDLOCK_KEYS", keys);
		if (s->key_format)
			print_env("REDLOCK_KEY_FORMAT", s->key_format);
		if (s->limit > 0) {
			print_env("REDLOCK_LIMIT", limit);
			print_env("REDLOCK_SLOT", slot);
		}
		print_env("REDLOCK_TOKEN", id);
		snprintf(held, sizeof(held), "%s%s%s", id, l->outer[0] ? " " : "", l->outer);
		print_env("REDLOCK_HELD", held);
		if (keeper)
			print_env("REDLOCK_KEEPER", pid);
		if (q->fence)
			print_env("REDLOCK_FENCE", fence);
		break;
	case FORMAT_JSON:
		print_begin(&j, s);
		print_outcome(&j, "acquired", STATUS_OK);
		if (s->limit > 0)
			json_number(&j, "slot", lock_slot(l));
		json_text(&j, "token", id);
		if (keeper)
			json_number(&j, "keeper", keeper);
		json_ms(&j, "waited_ms", clock_now() - l->began);
		if (q->fence)
			json_number(&j, "fence", q->fence);
		json_ms(&j, "ttl_ms", s->ttl);
		json_ms(&j, "valid_ms", q->valid_until - clock_now());
		print_nodes(&j, q, &s->nodes, NULL);
		print_end(&j);
		break;
	}
}
