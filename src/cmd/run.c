/*
 * redlock run: take the lock, run the command, release the lock.
 *
 * The main thread acquires and starts the guardian while it is still the only thread; the guardian
 * starts the command and holds it on its leash. Main passes on signals and news of the validity,
 * and steps in when the guardian does not do its work. When the first extension is due, main hands
 * the session to the keeper and watches the keeper's notes as well: a command that ends before then
 * costs no thread. When the command's tree is gone, the session is main's again.
 */
#include "base/clock.h"
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "base/token.h"
#include "cmd/cmd.h"
#include "cmd/configure.h"
#include "cmd/lock.h"
#include "cmd/record.h"
#include "cmd/supervise.h"
#include "core/report.h"
#include "io/alarm.h"
#include "io/guardian.h"
#include "io/keeper.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	struct lock lock;
	const char *outer_fence; /* the fencing number of the run around this one, or NULL */
	char *const *argv; /* of the command */
	struct supervision watch;
	struct keeper keeper;
	usec keeper_at; /* when it is, or will be, started */
	usec valid_until; /* NEVER: nested, and the lock is another run's business */
	bool is_nested;
	uint32_t prepared_for; /* the attempt that the guardian was made early for */
	bool continued; /* after a stop: extend first, then the command may go on */
	bool told_loss;
	bool lost;
	int die_of; /* the signal that redlock is to die of; 0: none */
	struct account account; /* for the record; no outcome: the command's own */
};

/* ---- before the command ---- */

/* 0: there is none; and another lock's is not this one's. */
static void set_number(const char *name, long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", number);
	if (number > 0)
		setenv(name, text, 1);
	else
		unsetenv(name);
}

/* What the command finds, beyond what redlock found, less the secrets. */
static void set_environment(const struct run *r, const char *token)
{
	const struct settings *s = r->lock.settings;
	const struct quorum *q = &r->lock.session.quorum;
	char nodes[NODES_MAX * NODE_LABEL_MAX], held[LOCK_HELD_MAX], ttl[24], fence[24], keys[24];

	node_list_format(&s->nodes, nodes, sizeof(nodes));
	snprintf(ttl, sizeof(ttl), "%lld", (long long)(s->ttl / USEC_MSEC));
	setenv("REDLOCK_KEY", s->names, 1);
	snprintf(keys, sizeof(keys), "%d", s->keys.count);
	setenv("REDLOCK_KEYS", keys, 1);
	setenv("REDLOCK_TOKEN", token, 1);
	setenv("REDLOCK_TTL_MS", ttl, 1);
	setenv("REDLOCK_NODES", nodes, 1);
	snprintf(fence, sizeof(fence), "%lld", (long long)q->fence);
	/* Within a run of the same lock, its number stands; another lock's is not this one's. */
	if (q->fence > 0)
		setenv("REDLOCK_FENCE", fence, 1);
	else if (r->is_nested && r->outer_fence)
		setenv("REDLOCK_FENCE", r->outer_fence, 1);
	else
		unsetenv("REDLOCK_FENCE");
	if (!r->is_nested)
		unsetenv("REDLOCK_KEEPER");
	set_number("REDLOCK_LIMIT", s->limit);
	set_number("REDLOCK_SLOT", lock_slot(&r->lock));
	/* The locks that the command runs under: this one, and those of the runs around us. */
	snprintf(held, sizeof(held), "%.*s%s%s", r->is_nested ? 0 : TOKEN_ID_LEN, token,
		r->is_nested || !r->lock.outer[0] ? "" : " ", r->lock.outer);
	setenv("REDLOCK_HELD", held, 1);
	configure_command(s);
}

static int prepare_guardian(struct run *r, const char *token, struct err *e)
{
	const struct guardian_policy policy = {
		.leash = settings_leash(r->lock.settings),
		.wait_descendants = r->lock.settings->wait_descendants > 0,
		.is_nested = r->lock.outer[0] != '\0',
	};

	set_environment(r, token);
	return guardian_prepare(&r->watch.guardian, r->argv, &r->lock.signals, &policy, e);
}

/* The first attempt mostly succeeds, and so does one whose turn it is: so the guardian is made
 * while the nodes think about it. */
static void prepare_meanwhile(struct run *r)
{
	const struct quorum *q = &r->lock.session.quorum;
	struct err later;

	/* The command shall find its fencing number, which is not known yet. */
	if (q->policy.wants_fence)
		return;
	if (q->state == QUORUM_TRYING && !quorum_is_pausing(q) && q->attempt == q->round &&
		(q->attempt == 1 || q->used_turn) && r->prepared_for != q->attempt) {
		r->prepared_for = q->attempt;
		(void)prepare_guardian(r, r->lock.session.token, &later);
	} else if (quorum_is_pausing(q) || r->prepared_for != q->attempt) {
		/* What it would start knows another token, and maybe another slot. */
		guardian_close(&r->watch.guardian);
	}
}

/* Returns the number of a signal that ended the wait, else 0. */
static int acquire(struct run *r)
{
	int number = 0;

	lock_start(&r->lock);
	while (number == 0 && lock_is_open(&r->lock)) {
		number = lock_turn(&r->lock);
		prepare_meanwhile(r);
	}
	out_unshow();
	return number;
}

/* ---- the command ---- */

static void tell_loss(struct run *r, const char *words)
{
	if (r->told_loss)
		return;
	r->told_loss = r->lost = true;
	out_say(OUT_ERRORS, "%s", words);
	if (r->lock.settings->on_lost)
		return;
	out_say(OUT_ERRORS, "the command runs on without the lock");
	if (r->continued)
		guardian_resume(&r->watch.guardian);
}

static void read_notes(struct run *r)
{
	char left[DURATION_TEXT_MAX];
	struct note note;

	while (keeper_read(&r->keeper, &note))
		switch (note.kind) {
		case NOTE_EXTENDED:
			r->valid_until = note.valid_until;
			guardian_extended(&r->watch.guardian, note.valid_until);
			out_say(OUT_DECISIONS, "extended %s, valid for %s", r->lock.name,
				duration_format(left, note.valid_until - clock_now()));
			if (r->continued)
				guardian_resume(&r->watch.guardian);
			r->continued = false;
			break;
		case NOTE_EXPIRING:
			guardian_lose(&r->watch.guardian);
			tell_loss(r, note.text);
			break;
		case NOTE_LOG:
			out_say(OUT_ANSWERS, "%s", note.text);
			break;
		}
}

/* Again and again until the leash ends it all: a thread may be had a moment later. */
static void start_keeper(struct run *r)
{
	struct err e;

	if (keeper_start(&r->keeper, &e) == 0) {
		if (r->continued)
			keeper_extend(&r->keeper);
		return;
	}
	if (r->keeper_at == quorum_extend_at(&r->lock.session.quorum))
		out_err(&e);
	r->keeper_at = clock_now() + usec_max(r->lock.settings->ttl / 30, 10 * USEC_MSEC);
}

/* We were stopped, and so may the command have been. Extend first: the answer will tell whether it
 * may go on. */
static void go_on(struct run *r)
{
	if (r->is_nested) {
		guardian_resume(&r->watch.guardian);
		return;
	}
	read_notes(r); /* What was extended before the stop proves nothing now. */
	r->continued = true;
	if (r->keeper.is_running)
		keeper_extend(&r->keeper);
	else
		r->keeper_at = usec_min(r->keeper_at, clock_now());
}

/* When main does it if the guardian did not: half of the time that dying takes is left to it. */
static usec replace_at(const struct run *r)
{
	if (r->watch.replacing)
		return r->watch.replace_at;
	return r->lock.settings->on_lost
		       ? r->valid_until - leash_reap_time(r->lock.settings->ttl) / 2
		       : NEVER;
}

/* Until the command's tree is gone, or may stay. */
static void supervise(struct run *r)
{
	usec settle_at = clock_now() + SETTLE_AFTER;
	struct alarm_turn before;
	bool went_on;

	/* The keeper, a thread of ours, inherits it. */
	alarm_go_first(&before);
	guardian_look(&r->watch.guardian); /* it may have been stopped before */
	while (!r->watch.is_over) {
		struct pollfd fds[] = {
			{.fd = r->lock.signals.fd, .events = POLLIN},
			{.fd = keeper_fd(&r->keeper), .events = POLLIN},
			{.fd = r->watch.guardian_is_dead ? -1 : guardian_fd(&r->watch.guardian),
				.events = POLLIN},
			{.fd = r->watch.alarm, .events = POLLIN},
		};
		bool wants_keeper = !r->keeper.is_running;
		usec at = usec_min(replace_at(r), settle_at);

		alarm_set(r->watch.alarm, wants_keeper ? usec_min(at, r->keeper_at) : at);
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			assert(errno == EINTR || errno == ENOMEM);
		if (clock_now() >= settle_at) {
			guardian_settle();
			settle_at = NEVER;
		}
		went_on = supervise_take_signals(&r->watch);
		r->lock.signalled |= r->watch.was_asked;
		if (went_on)
			go_on(r);
		read_notes(r);
		supervise_hear(&r->watch, went_on || r->continued);
		if (!r->watch.is_over && clock_now() >= replace_at(r))
			supervise_replace(&r->watch, clock_now());
		if (!r->watch.is_over && wants_keeper && clock_now() >= r->keeper_at)
			start_keeper(r);
	}
}

static void release(struct run *r, usec leave_for)
{
	lock_release(&r->lock, leave_for);
	guardian_close(&r->watch.guardian);
}

static int too_slow(struct run *r)
{
	r->account.outcome = "too-slow";
	out_say(OUT_ERRORS, "this machine is so slow that too little of the TTL was left");
	return STATUS_NO_QUORUM;
}

static int not_started(struct run *r)
{
	int status;

	if (r->watch.end.number == ETIME)
		return too_slow(r);
	status = supervise_not_started(&r->watch, r->argv[0]);
	if (status == STATUS_NOT_FOUND && strpbrk(r->argv[0], " |&;<>="))
		out_hint(OUT_ERRORS, "a string for the shell goes with -c; "
				     "otherwise COMMAND and each ARG are words of their own");
	r->account.outcome = status == STATUS_INTERNAL ? "failed" : "not-started";
	return status;
}

/* Why the lock ended before the command, if it did, is told before the release forgets. */
static void settle_loss(struct run *r)
{
	const struct quorum *q = &r->lock.session.quorum;
	char text[REPORT_MAX];

	/* Never the command's own status if the lock ended first, even if nobody had the time to
	 * tell. */
	r->lost |= q->loss != LOSS_NONE || r->watch.end.cause == CAUSE_LOST ||
		   r->watch.end.ended_at >= q->valid_until;
	if (!r->lost)
		return;
	if (!r->told_loss && q->loss != LOSS_NONE)
		out_say(OUT_ERRORS, "%s",
			report_loss(text, q, &r->lock.settings->nodes, &r->lock.settings->keys));
	else if (!r->told_loss)
		out_say(OUT_ERRORS, "%s", report_stood_still(text, q, &r->lock.settings->keys));
	if (q->loss == LOSS_EXPIRED)
		lock_tell_remedy(&r->lock, OUT_ERRORS);
}

/* The answers to the release may tell that the lock was lost while the command ran. */
static int settle_release(struct run *r, int status)
{
	if (r->lost || r->watch.end.kind != WORD_ENDED)
		return status;
	settle_loss(r);
	if (!r->lost)
		return status;
	r->account.outcome = "lost";
	return STATUS_LOST;
}

/* The status of redlock, or -1: r->watch.end has the command's own. */
static int outcome(struct run *r)
{
	char shown[DURATION_TEXT_MAX];

	if (r->watch.end.kind == WORD_FAILED)
		return not_started(r);
	if (r->lost) {
		r->account.outcome = "lost";
		return STATUS_LOST;
	}
	if (r->watch.end.cause == CAUSE_MAX_RUN) {
		r->account.outcome = "max-run";
		out_say(OUT_NORMAL, "the command ran for longer than %s and was ended",
			duration_format(shown, r->lock.settings->max_run));
		return STATUS_MAX_RUN;
	}
	if (r->watch.replacing) {
		r->account.outcome = "failed";
		return supervise_guardian_killed();
	}
	if (r->watch.end.tree.alive > 0) {
		supervise_tell_left(&r->watch.end.tree, "the lock");
		out_hint(OUT_NORMAL, "--wait-descendants waits for what the command leaves behind");
	}
	return -1;
}

/* Runs the command under the lock that is held. Returns a status, or -1: r->watch.end has the
 * command's own. */
static int run_command(struct run *r)
{
	const struct quorum *q = &r->lock.session.quorum;
	usec started = clock_now(), held;
	char text[REPORT_MAX];
	struct err e;
	int status;

	lock_take_in_answers(&r->lock);
	if (q->duplicate[0] >= 0) {
		r->account.outcome = lock_refusal_words(&r->lock);
		status = lock_refuse_duplicate(&r->lock);
		guardian_close(&r->watch.guardian);
		return status;
	}
	r->valid_until = q->valid_until;
	r->keeper_at = quorum_extend_at(q);
	if (r->watch.guardian.pid == 0 && prepare_guardian(r, r->lock.session.token, &e) < 0) {
		r->account.held = clock_now() - started;
		release(r, 0);
		out_err(&e);
		return status_of(e.kind);
	}
	guardian_start(&r->watch.guardian, q->valid_until);
	supervise(r);
	keeper_stop(&r->keeper);
	if (r->watch.end.kind == WORD_ENDED)
		settle_loss(r);
	if (q->duplicate[0] >= 0)
		out_say(OUT_NORMAL, "%s", report_duplicate(text, q, &r->lock.settings->nodes));
	status = outcome(r);
	held = r->account.held = clock_now() - started;
	release(r, r->watch.end.kind == WORD_ENDED && !r->lost && held < r->lock.settings->min_hold
			   ? r->lock.settings->min_hold - held
			   : 0);
	return settle_release(r, status);
}

/* Runs the command under the lock of a run around this one, which watches over all of us. */
static int run_nested(struct run *r)
{
	char token[ANSWER_TEXT_MAX];
	const struct answer *holder;
	struct err e;

	if (!lock_is_nested(&r->lock, &holder))
		return STATUS_INTERNAL;
	snprintf(token, sizeof(token), "%s", holder->text);
	release(r, 0);
	r->is_nested = true;
	r->valid_until = r->keeper_at = NEVER;
	if (prepare_guardian(r, token, &e) < 0) {
		out_err(&e);
		return status_of(e.kind);
	}
	guardian_start(&r->watch.guardian, NEVER);
	supervise(r);
	keeper_stop(&r->keeper);
	guardian_close(&r->watch.guardian);
	return outcome(r);
}

/* What became of the wait, when the lock is not held. */
static int not_acquired(struct run *r)
{
	const struct quorum *q = &r->lock.session.quorum;
	const struct answer *holder;
	bool is_nested = lock_is_nested(&r->lock, &holder);
	int status;

	if (is_nested && r->lock.settings->reentrant && !holder->is_shared) {
		out_say(OUT_DECISIONS, "%s is held by a run around this one", r->lock.name);
		return run_nested(r);
	}
	r->account.outcome = lock_refusal_words(&r->lock);
	status = is_nested && q->refusal != REFUSAL_DUPLICATE ? lock_refuse_nested(&r->lock)
							      : lock_refused(&r->lock);
	guardian_close(&r->watch.guardian);
	return status;
}

/* The shell's words for -c, or the operands; NULL: it was said what is wrong. */
static char *const *find_command(const struct settings *s, char *const operands[])
{
	static char *shell_argv[] = {NULL, "-c", NULL, NULL};

	if (s->shell ? operands[0] != NULL : operands[0] == NULL) {
		out_say(OUT_ERRORS,
			s->shell ? "both -c and a command: which one?" : "no command to run");
		out_hint(OUT_ERRORS, "redlock run -k KEY -- COMMAND; see 'redlock help run'");
		return NULL;
	}
	if (!s->shell)
		return operands;
	shell_argv[0] = supervise_shell();
	shell_argv[2] = (char *)s->shell;
	return shell_argv;
}

static int open_all(struct run *r, const struct settings *s)
{
	struct err e;

	if (lock_open(&r->lock, s, (long)getpid(), r->argv, &e) == 0 &&
		supervise_open(&r->watch, &r->lock.signals, r->lock.name, &e) == 0 &&
		keeper_open(&r->keeper, &r->lock.session, &s->nodes, out_loudness() >= OUT_ANSWERS,
			&e) == 0)
		return STATUS_OK;
	r->account.waited = clock_now() - r->lock.began;
	/* There is nothing else by now that could be wrong with the nodes. */
	r->account.outcome = e.kind == ERR_CONFIG ? "duplicate-node" : "failed";
	out_err(&e);
	return status_of(e.kind);
}

/* Returns a status, or -1: r->watch.end has the command's own, or r->die_of a signal. */
static int take_and_run(struct run *r)
{
	const struct quorum *q = &r->lock.session.quorum;
	const struct settings *s = r->lock.settings;
	char text[DURATION_TEXT_MAX];

	r->die_of = acquire(r);
	r->account.waited = clock_now() - r->lock.began;
	if (r->die_of) {
		r->account.outcome = "interrupted";
		r->lock.signalled = true;
		release(r, 0);
		return -1;
	}
	if (q->state != QUORUM_HELD)
		return not_acquired(r);
	out_say(OUT_DECISIONS, "acquired %s on %d of %d nodes after %s, valid for %s", r->lock.name,
		quorum_count(q, VOTE_YES), s->nodes.count,
		duration_format((char[DURATION_TEXT_MAX]){0}, r->account.waited),
		duration_format(text, q->valid_until - clock_now()));
	return run_command(r);
}

/* The record, and then the end: with a status, or of a signal. */
static int finish(struct run *r, int status)
{
	struct account *a = &r->account;

	if (status < 0 && !r->die_of) {
		if (WIFSIGNALED(r->watch.end.number))
			r->die_of = WTERMSIG(r->watch.end.number);
		status = WEXITSTATUS(r->watch.end.number);
		a->outcome = r->die_of ? "signalled" : status ? "command-failed" : "completed";
	}
	a->status = r->die_of ? 128 + r->die_of : status;
	a->owner = r->lock.session.owner;
	a->quorum = &r->lock.session.quorum;
	if (!a->outcome)
		a->outcome = "failed";
	record_run(r->lock.settings, a);
	if (r->die_of)
		signals_die(r->die_of);
	return status;
}

int cmd_run(struct settings *s, char *const operands[])
{
	static struct run r; /* large, and one of a kind */
	const char *fence = getenv("REDLOCK_FENCE");
	int status;

	r.argv = find_command(s, operands);
	if (!r.argv)
		return STATUS_USAGE;
	r.outer_fence = fence ? strdup(fence) : NULL; /* the environment is made anew */
	record_prepare(s);
	r.account.held = NEVER;
	status = open_all(&r, s);
	if (status == STATUS_OK) {
		out_never_block();
		status = take_and_run(&r);
	}
	return finish(&r, status);
}
