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
#include "core/report.h"
#include "io/alarm.h"
#include "io/guardian.h"
#include "io/keeper.h"
#include "io/session.h"
#include "io/signals.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_WORD_AFTER USEC_SEC
#define WORDS_APART (10 * USEC_SEC)
#define WORDS_APART_MAX (300 * USEC_SEC)

/* Between two looks at a tree that the guardian does not end. */
#define SWEEP_APART (10 * USEC_MSEC)
#define SWEEP_APART_LATER (200 * USEC_MSEC)
#define STUBBORN_AFTER USEC_SEC

/* The ids of a hundred locks, one within the other. */
#define HELD_MAX 4100

struct run {
	const struct settings *settings;
	char *const *argv; /* of the command */
	const char *outer; /* the ids of the locks of the runs around this one */
	char key[120]; /* safe to show */
	struct session session;
	struct signals signals;
	struct guardian guardian;
	struct keeper keeper;
	int alarm;
	usec began;
	usec keeper_at; /* when it is, or will be, started */
	usec valid_until; /* NEVER: nested, and the lock is another run's business */
	bool is_nested;
	bool replacing; /* main does the guardian's work: it is dead, or stuck, */
	bool guardian_is_dead;
	usec replace_at; /* and the next look at the tree is due then */
	usec sweep_apart, stubborn_at;
	uint32_t prepared_for; /* the attempt that the guardian was made early for */
	bool signalled; /* a signal that ends us has come and was acted on */
	bool continued; /* after a stop: extend first, then the command may go on */
	bool told_loss;
	bool lost;
	bool is_over;
	struct word end; /* how it ended */
};

/* ---- the lock ---- */

static void tell_answer(const struct run *r)
{
	const struct event *ev = &r->session.event;
	char text[REPORT_MAX];

	if (out_loudness() >= OUT_ANSWERS && ev->kind == EV_REPLY)
		out_say(OUT_ANSWERS, "%s",
			report_answer(text, r->session.pool.conn[ev->node].node, ev->op, ev->answer,
				r->session.pool.took));
}

/* On a terminal the line is kept current. */
static void tell_waiting(const struct run *r, bool live)
{
	const struct quorum *q = &r->session.quorum;
	char text[REPORT_MAX], waited[DURATION_TEXT_MAX];
	usec now = clock_now();

	if (q->refusal == REFUSAL_BUSY)
		report_holder(text, q, r->settings->key, now);
	else
		report_refusal(text, q, &r->settings->nodes, r->settings->key);
	if (live)
		out_show(OUT_NORMAL, "waiting %s: %s",
			duration_format(waited, (now - r->began) / USEC_SEC * USEC_SEC), text);
	else
		out_say(OUT_NORMAL, "waiting: %s", text);
}

/* What the command finds, beyond what redlock found, less the secrets. */
static void set_environment(const struct run *r, const char *token)
{
	const struct settings *s = r->settings;
	char nodes[NODES_MAX * NODE_LABEL_MAX], held[HELD_MAX], ttl[24];

	node_list_format(&s->nodes, nodes, sizeof(nodes));
	snprintf(ttl, sizeof(ttl), "%lld", (long long)(s->ttl / USEC_MSEC));
	setenv("REDLOCK_KEY", s->key, 1);
	setenv("REDLOCK_TOKEN", token, 1);
	setenv("REDLOCK_TTL_MS", ttl, 1);
	setenv("REDLOCK_NODES", nodes, 1);
	/* The locks that the command runs under: this one, and those of the runs around us. */
	snprintf(held, sizeof(held), "%.*s%s%s", r->is_nested ? 0 : TOKEN_ID_LEN, token,
		r->is_nested || !r->outer[0] ? "" : " ", r->outer);
	setenv("REDLOCK_HELD", held, 1);
	unsetenv("REDLOCK_PASSWORD");
	unsetenv("REDLOCK_USERNAME");
}

static int prepare_guardian(struct run *r, const char *token, struct err *e)
{
	const struct guardian_policy policy = {
		.leash = settings_leash(r->settings),
		.wait_descendants = r->settings->wait_descendants > 0,
		.is_nested = r->outer[0] != '\0',
	};

	set_environment(r, token);
	return guardian_prepare(&r->guardian, r->argv, &r->signals, &policy, e);
}

/* The first attempt mostly succeeds, and so does one whose turn it is: so the guardian is made
 * while the nodes think about it. */
static void prepare_meanwhile(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	struct err later;

	if (q->state == QUORUM_TRYING && !quorum_is_pausing(q) && q->attempt == q->round &&
		(q->attempt == 1 || q->used_turn) && r->prepared_for != q->attempt) {
		r->prepared_for = q->attempt;
		(void)prepare_guardian(r, r->session.token, &later);
	} else if (quorum_is_pausing(q)) {
		guardian_close(&r->guardian);
	}
}

/* The lock is held by a run that this one is part of. */
static bool is_nested(const struct run *r, const char **token)
{
	const struct quorum *q = &r->session.quorum;
	int count = quorum_held_by(q, r->outer, token);

	/* To run under that lock it must be proved; to refuse, a trace of it is enough. */
	return count >= (r->settings->reentrant ? policy_quorum(&q->policy) : 1);
}

/* Until the lock is held, or refused, or found to be ours already, or a signal comes (its number is
 * returned, else 0). */
static int acquire(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	usec say_at = clock_now() + FIRST_WORD_AFTER, apart = WORDS_APART;
	bool live = out_is_live(), told_no_seat = false;
	struct caught caught;
	const char *ignored;
	char text[REPORT_MAX];

	session_start(&r->session);
	while (q->state == QUORUM_TRYING && !(quorum_is_pausing(q) && is_nested(r, &ignored))) {
		/* Words are due only between attempts. */
		bool signalled = session_turn(
			&r->session, quorum_is_pausing(q) ? say_at : NEVER, r->signals.fd);

		tell_answer(r);
		prepare_meanwhile(r);
		if (signalled && signals_next(&r->signals, &caught) && caught.is_fatal)
			return caught.number;
		if (q->seat.is_refused && !told_no_seat) {
			out_say(OUT_NORMAL, "%s",
				report_no_seat(text, q, &r->settings->nodes, r->settings->key));
			told_no_seat = true;
		}
		if (quorum_is_pausing(q) && clock_now() >= say_at) {
			tell_waiting(r, live);
			say_at = clock_now() + (live ? FIRST_WORD_AFTER : apart);
			apart = usec_min(2 * apart, WORDS_APART_MAX);
		}
	}
	return 0;
}

/* A majority was enough to decide; what else has come by now may tell that two nodes are one, or
 * that others wait. */
static void take_in_answers(struct run *r)
{
	do {
		session_turn(&r->session, clock_now(), -1);
		tell_answer(r);
	} while (r->session.event.kind != EV_TIME);
}

/* Gives back what may be ours; a held lock's key is left to end by itself after leave_for, if that
 * is not 0. The signal that ended the command does not cut this short, nor does one that came too
 * late to be passed on; the next one does. */
static void release_after(struct run *r, usec leave_for)
{
	const struct quorum *q = &r->session.quorum;
	struct caught caught;
	char text[REPORT_MAX], left[DURATION_TEXT_MAX];
	int unreleased;
	bool released;
	usec until;

	if (q->state == QUORUM_HELD)
		take_in_answers(r);
	session_release(&r->session, leave_for);
	while (q->state != QUORUM_OVER) {
		if (session_turn(&r->session, NEVER, r->signals.fd) &&
			signals_next(&r->signals, &caught) && caught.is_fatal) {
			if (r->signalled)
				break;
			r->signalled = true;
		}
		tell_answer(r);
	}
	unreleased = quorum_unreleased(q, &until);
	released = q->policy.nodes - unreleased >= policy_quorum(&q->policy);
	/* A lock that others will still find on a majority is worth a warning; a trace is not. */
	if (unreleased > 0)
		out_say(q->proved && !released ? OUT_NORMAL : OUT_DECISIONS, "%s",
			report_unreleased(
				text, q, &r->settings->nodes, r->settings->key, clock_now()));
	if (released && q->leave_for > 0)
		out_say(OUT_DECISIONS, "left '%s' taken for another %s", r->key,
			duration_format(left, q->leave_for));
	else if (released)
		out_say(OUT_DECISIONS, "released '%s'", r->key);
	session_close(&r->session);
	guardian_close(&r->guardian);
}

static void release(struct run *r)
{
	release_after(r, 0);
}

static int refuse_duplicate(const struct run *r)
{
	char text[REPORT_MAX];

	out_say(OUT_ERRORS, "%s", report_duplicate(text, &r->session.quorum, &r->settings->nodes));
	out_hint(OUT_ERRORS, "every node must be a server of its own");
	return STATUS_CONFIG;
}

static int refused(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	const struct settings *s = r->settings;
	char text[REPORT_MAX];

	/* Words come last: the answers that were not needed to decide may still be in by then. */
	release(r);
	report_refusal(text, q, &s->nodes, s->key);
	switch (q->refusal) {
	case REFUSAL_BUSY:
		out_say(OUT_NORMAL, "%s", text);
		return (int)s->conflict_exit_code;
	case REFUSAL_DUPLICATE:
		return refuse_duplicate(r);
	case REFUSAL_NO_QUORUM:
	case REFUSAL_SLOW:
		out_say(OUT_ERRORS, "%s", text);
		if (s->nodes.count == 1 && strcmp(s->nodes.node[0].label, DEFAULT_NODES) == 0)
			out_hint(OUT_ERRORS,
				"name your Redis servers with --nodes or REDLOCK_NODES");
		return STATUS_NO_QUORUM;
	case REFUSAL_NONE:
		break;
	}
	return STATUS_INTERNAL;
}

/* Waiting for oneself has no end. */
static int refuse_nested(struct run *r)
{
	release(r);
	out_say(OUT_NORMAL, "'%s' is held by a run that this one is part of", r->key);
	out_hint(OUT_NORMAL, "--reentrant runs the command under that lock");
	return (int)r->settings->conflict_exit_code;
}

/* ---- the command ---- */

static void tell_loss(struct run *r, const char *words)
{
	if (r->told_loss)
		return;
	r->told_loss = r->lost = true;
	out_say(OUT_ERRORS, "%s", words);
	if (r->settings->on_lost)
		return;
	out_say(OUT_ERRORS, "the command runs on without the lock");
	if (r->continued)
		guardian_resume(&r->guardian);
}

static void read_notes(struct run *r)
{
	char left[DURATION_TEXT_MAX];
	struct note note;

	while (keeper_read(&r->keeper, &note))
		switch (note.kind) {
		case NOTE_EXTENDED:
			r->valid_until = note.valid_until;
			guardian_extended(&r->guardian, note.valid_until);
			out_say(OUT_DECISIONS, "extended '%s', valid for %s", r->key,
				duration_format(left, note.valid_until - clock_now()));
			if (r->continued)
				guardian_resume(&r->guardian);
			r->continued = false;
			break;
		case NOTE_EXPIRING:
			guardian_lose(&r->guardian);
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
	if (r->keeper_at == quorum_extend_at(&r->session.quorum))
		out_err(&e);
	r->keeper_at = clock_now() + usec_max(r->settings->ttl / 30, 10 * USEC_MSEC);
}

/* `kill 0` in the command reaches us as well: the command has had its signal. */
static bool came_from_command(const struct run *r, const struct caught *caught)
{
	return caught->sender > 0 && getpgid(caught->sender) == getpgrp() &&
	       tree_has(r->guardian.pid, caught->sender);
}

static void pass_on(struct run *r, const struct caught *caught)
{
	bool had = caught->is_terminals || came_from_command(r, caught);

	r->signalled |= caught->is_fatal;
	if (caught->is_fatal || !had)
		guardian_signal(&r->guardian, caught->number, had);
}

/* We were stopped, and so may the command have been. Extend first: the answer will tell whether it
 * may go on. */
static void go_on(struct run *r)
{
	if (r->is_nested) {
		guardian_resume(&r->guardian);
		return;
	}
	read_notes(r); /* What was extended before the stop proves nothing now. */
	r->continued = true;
	if (r->keeper.is_running)
		keeper_extend(&r->keeper);
	else
		r->keeper_at = usec_min(r->keeper_at, clock_now());
}

/* True if we were stopped, and now go on. */
static bool take_signals(struct run *r)
{
	struct caught caught;
	bool went_on = false;

	while (signals_next(&r->signals, &caught))
		switch (caught.number) {
		case SIGCHLD:
			guardian_look(&r->guardian);
			break;
		case SIGCONT:
			go_on(r);
			went_on = true;
			break;
		default:
			pass_on(r, &caught);
			break;
		}
	return went_on;
}

static void tell_stubborn(const struct run *r, const struct tree *tree)
{
	char name[TREE_NAME_MAX * 4];

	if (tree->alive == 0) {
		out_say(OUT_ERRORS, "'%s': still waiting for processes that /proc does not show",
			r->key);
		return;
	}
	text_escape(name, sizeof(name), tree->name, strlen(tree->name));
	out_say(OUT_ERRORS, "'%s': still waiting for %d process%s that %s, such as %d (%s)", r->key,
		tree->alive, tree->alive == 1 ? "" : "es",
		tree->refused ? "this user may not end" : "do not end", (int)tree->pid, name);
}

/* That the command was stopped may be old news by the time it is heard, and not only to one who
 * went on after that: the guardian may have been slow to tell. */
static void hear_guardian(struct run *r, bool went_on)
{
	enum hearing hearing;
	struct word word;

	while (!r->is_over && !r->guardian_is_dead &&
		(hearing = guardian_hear(&r->guardian, &word)) != HEARD_NOTHING) {
		if (hearing == HEARD_DEATH) {
			r->guardian_is_dead = r->replacing = true;
			return;
		}
		switch (word.kind) {
		case WORD_STOPPED:
			if (!went_on && !r->continued && tree_is_stopped(word.pid))
				signals_stop_with(word.pid);
			break;
		case WORD_STUBBORN:
			tell_stubborn(r, &word.tree);
			break;
		case WORD_FAILED:
		case WORD_ENDED:
			r->end = word;
			r->is_over = true;
			break;
		}
	}
}

/* When main does it if the guardian did not: half of the time that dying takes is left to it. */
static usec replace_at(const struct run *r)
{
	if (r->replacing)
		return r->replace_at;
	return r->settings->on_lost ? r->valid_until - leash_reap_time(r->settings->ttl) / 2
				    : NEVER;
}

static void replace_guardian(struct run *r, usec now)
{
	struct tree tree;
	bool is_gone = guardian_replace(&r->guardian, &tree);

	r->replacing = true;
	r->replace_at = now + r->sweep_apart;
	if (!is_gone) {
		r->stubborn_at = usec_min(r->stubborn_at, now + STUBBORN_AFTER);
		if (now >= r->stubborn_at) {
			tell_stubborn(r, &tree);
			r->stubborn_at = now + WORDS_APART;
			r->sweep_apart = SWEEP_APART_LATER;
		}
		return;
	}
	r->end = (struct word){.kind = WORD_ENDED, .ended_at = clock_now()};
	r->is_over = true;
}

/* Until the command's tree is gone, or may stay. */
static void supervise(struct run *r)
{
	usec settle_at = clock_now() + SETTLE_AFTER;
	struct alarm_turn before;
	bool went_on;

	/* The keeper, a thread of ours, inherits it. */
	alarm_go_first(&before);
	guardian_look(&r->guardian); /* it may have been stopped before */
	while (!r->is_over) {
		struct pollfd fds[] = {
			{.fd = r->signals.fd, .events = POLLIN},
			{.fd = keeper_fd(&r->keeper), .events = POLLIN},
			{.fd = r->guardian_is_dead ? -1 : guardian_fd(&r->guardian),
				.events = POLLIN},
			{.fd = r->alarm, .events = POLLIN},
		};
		bool wants_keeper = !r->keeper.is_running;
		usec at = usec_min(replace_at(r), settle_at);

		alarm_set(r->alarm, wants_keeper ? usec_min(at, r->keeper_at) : at);
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			assert(errno == EINTR || errno == ENOMEM);
		if (clock_now() >= settle_at) {
			guardian_settle();
			settle_at = NEVER;
		}
		went_on = take_signals(r);
		read_notes(r);
		hear_guardian(r, went_on);
		if (!r->is_over && clock_now() >= replace_at(r))
			replace_guardian(r, clock_now());
		if (!r->is_over && wants_keeper && clock_now() >= r->keeper_at)
			start_keeper(r);
	}
}

static int too_slow(void)
{
	out_say(OUT_ERRORS, "this machine is so slow that too little of the TTL was left");
	return STATUS_NO_QUORUM;
}

static int not_started(const struct word *word, const char *command)
{
	char shown[200];

	if (word->number == ETIME)
		return too_slow();
	if (word->number == ESRCH) {
		out_say(OUT_ERRORS, "cannot start the command: /proc does not show this process");
		out_hint(OUT_ERRORS,
			"descendants are found there: mount a /proc of this pid namespace");
		return STATUS_INTERNAL;
	}
	if (word->pid < 0) {
		out_say(OUT_ERRORS, "cannot start the command: %s", strerror(word->number));
		return STATUS_INTERNAL;
	}
	text_escape(shown, sizeof(shown), command, strlen(command));
	if (word->number == ENOENT) {
		out_say(OUT_ERRORS, "command '%s' not found", shown);
		return STATUS_NOT_FOUND;
	}
	out_say(OUT_ERRORS, "cannot run '%s': %s", shown, strerror(word->number));
	return STATUS_CANNOT_RUN;
}

static void tell_left_behind(const struct run *r)
{
	const struct tree *tree = &r->end.tree;
	char name[TREE_NAME_MAX * 4];

	text_escape(name, sizeof(name), tree->name, strlen(tree->name));
	out_say(OUT_NORMAL,
		"the command left %d process%s behind that run%s on without the lock, %s%d (%s)",
		tree->alive, tree->alive == 1 ? "" : "es", tree->alive == 1 ? "s" : "",
		tree->alive == 1 ? "" : "such as ", (int)tree->pid, name);
	out_hint(OUT_NORMAL, "--wait-descendants waits for what the command leaves behind");
}

/* Why the lock ended before the command, if it did, is told before the release forgets. */
static void settle_loss(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	char text[REPORT_MAX];

	/* Never the command's own status if the lock ended first, even if nobody had the time to
	 * tell. */
	r->lost |= q->loss != LOSS_NONE || r->end.cause == CAUSE_LOST ||
		   r->end.ended_at >= q->valid_until;
	if (!r->lost || r->told_loss)
		return;
	if (q->loss != LOSS_NONE)
		out_say(OUT_ERRORS, "%s",
			report_loss(text, q, &r->settings->nodes, r->settings->key));
	else
		out_say(OUT_ERRORS, "%s", report_stood_still(text, r->settings->key));
}

/* The status of redlock, or -1: r->end has the command's own. */
static int outcome(const struct run *r)
{
	char shown[DURATION_TEXT_MAX];

	if (r->end.kind == WORD_FAILED)
		return not_started(&r->end, r->argv[0]);
	if (r->lost)
		return STATUS_LOST;
	if (r->end.cause == CAUSE_MAX_RUN) {
		out_say(OUT_NORMAL, "the command ran for longer than %s and was ended",
			duration_format(shown, r->settings->max_run));
		return STATUS_MAX_RUN;
	}
	if (r->replacing) {
		out_say(OUT_ERRORS,
			"the command's guardian was killed, and the command was ended with it");
		return STATUS_INTERNAL;
	}
	if (r->end.tree.alive > 0)
		tell_left_behind(r);
	return -1;
}

/* Runs the command under the lock that is held. Returns a status, or -1: r->end has the command's
 * own. */
static int run_command(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	usec started = clock_now(), held;
	char text[REPORT_MAX];
	struct err e;
	int status;

	take_in_answers(r);
	if (q->duplicate[0] >= 0) {
		release(r);
		return refuse_duplicate(r);
	}
	r->valid_until = q->valid_until;
	r->keeper_at = quorum_extend_at(q);
	if (r->guardian.pid == 0 && prepare_guardian(r, r->session.token, &e) < 0) {
		release(r);
		out_err(&e);
		return status_of(e.kind);
	}
	guardian_start(&r->guardian, q->valid_until);
	supervise(r);
	keeper_stop(&r->keeper);
	if (r->end.kind == WORD_ENDED)
		settle_loss(r);
	if (q->duplicate[0] >= 0)
		out_say(OUT_NORMAL, "%s", report_duplicate(text, q, &r->settings->nodes));
	status = outcome(r);
	held = clock_now() - started;
	release_after(r, r->end.kind == WORD_ENDED && !r->lost && held < r->settings->min_hold
				 ? r->settings->min_hold - held
				 : 0);
	return status;
}

/* Runs the command under the lock of a run around this one, which watches over all of us. */
static int run_nested(struct run *r)
{
	char token[ANSWER_TEXT_MAX];
	const char *holder = NULL;
	struct err e;

	if (!is_nested(r, &holder))
		return STATUS_INTERNAL;
	snprintf(token, sizeof(token), "%s", holder);
	release(r);
	r->is_nested = true;
	r->valid_until = r->keeper_at = NEVER;
	if (prepare_guardian(r, token, &e) < 0) {
		out_err(&e);
		return status_of(e.kind);
	}
	guardian_start(&r->guardian, NEVER);
	supervise(r);
	keeper_stop(&r->keeper);
	guardian_close(&r->guardian);
	return outcome(r);
}

static void default_owner(char owner[OWNER_MAX], char *const argv[])
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
	settings_owner(owner, OWNER_MAX, user, host, (long)getpid(), argv);
}

int cmd_run(struct settings *s, char *const operands[])
{
	static struct run r; /* large, and one of a kind */
	char owner[OWNER_MAX], text[DURATION_TEXT_MAX];
	char *shell_argv[] = {getenv("SHELL"), "-c", (char *)s->shell, NULL};
	char *const *argv = operands;
	struct policy policy;
	struct err e;
	usec began = clock_now();
	const char *holder;
	int status;

	if (s->shell) {
		if (!shell_argv[0] || !*shell_argv[0])
			shell_argv[0] = "/bin/sh";
		argv = shell_argv;
	}
	if (!argv[0] || (s->shell && operands[0])) {
		out_say(OUT_ERRORS,
			s->shell ? "both -c and a command: which one?" : "no command to run");
		out_hint(OUT_ERRORS, "redlock run -k KEY -- COMMAND; see 'redlock help run'");
		return STATUS_USAGE;
	}
	r.settings = s;
	r.argv = argv;
	r.outer = getenv("REDLOCK_HELD") ? strdup(getenv("REDLOCK_HELD")) : "";
	text_escape(r.key, sizeof(r.key), s->key, strlen(s->key));
	policy = settings_policy(s);
	if (s->owner)
		snprintf(owner, sizeof(owner), "%s", s->owner);
	else
		default_owner(owner, argv);
	if (signals_open(&r.signals, &e) < 0 || (r.alarm = alarm_open(&e)) < 0 ||
		session_open(&r.session, &policy, &s->nodes, s->key, owner, &e) < 0 ||
		keeper_open(&r.keeper, &r.session, &s->nodes, out_loudness() >= OUT_ANSWERS, &e) <
			0) {
		out_err(&e);
		return status_of(e.kind);
	}
	out_never_block();
	r.stubborn_at = NEVER;
	r.sweep_apart = SWEEP_APART;
	r.began = began;
	status = acquire(&r);
	out_unshow();
	if (status > 0) {
		r.signalled = true;
		release(&r);
		signals_die(status);
	}
	if (r.session.quorum.state != QUORUM_HELD && is_nested(&r, &holder)) {
		if (!s->reentrant)
			return refuse_nested(&r);
		out_say(OUT_DECISIONS, "'%s' is held by a run around this one", r.key);
		status = run_nested(&r);
	} else if (r.session.quorum.state != QUORUM_HELD) {
		return refused(&r);
	} else {
		out_say(OUT_DECISIONS, "acquired '%s' on %d of %d nodes after %s, valid for %s",
			r.key, quorum_count(&r.session.quorum, VOTE_YES), s->nodes.count,
			duration_format((char[DURATION_TEXT_MAX]){0}, clock_now() - began),
			duration_format(text, r.session.quorum.valid_until - clock_now()));
		status = run_command(&r);
	}
	if (status >= 0)
		return status;
	if (WIFSIGNALED(r.end.number))
		signals_die(WTERMSIG(r.end.number));
	return WEXITSTATUS(r.end.number);
}
