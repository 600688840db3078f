/*
 * redlock run: take the lock, run the command, release the lock.
 *
 * The main thread acquires, starts the command while it is still the only thread, and watches
 * signals, the command and, by a clock of its own, the end of the validity. When the first
 * extension is due, it hands the session to the keeper and watches the keeper's notes as well: a
 * command that ends before then costs no thread. When the command is gone, the session is main's
 * again.
 */
#include "base/clock.h"
#include "base/out.h"
#include "base/status.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "core/report.h"
#include "io/child.h"
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

struct run {
	const struct settings *settings;
	char key[120]; /* safe to show */
	struct session session;
	struct signals signals;
	struct child child;
	struct keeper keeper;
	usec keeper_at; /* when it is, or will be, started */
	bool signalled; /* a signal that ends us has come and was acted on */
	struct leash leash;
	bool lost;
	int status; /* of the child, as waitpid(2) gives it */
};

/* ---- the lock ---- */

static void tell_answer(const struct run *r)
{
	const struct event *ev = &r->session.event;
	char text[REPORT_MAX];

	if (out_loudness() >= OUT_ANSWERS && ev->kind == EV_REPLY)
		out_say(OUT_ANSWERS, "%s",
			report_answer(text, &r->settings->nodes.node[ev->node], ev->op, ev->answer,
				r->session.pool.took));
}

static void tell_waiting(const struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	char text[REPORT_MAX];

	if (q->refusal == REFUSAL_BUSY)
		out_say(OUT_NORMAL, "waiting: %s", report_holder(text, q, r->settings->key));
	else
		out_say(OUT_NORMAL, "waiting: %s",
			report_refusal(text, q, &r->settings->nodes, r->settings->key));
}

/* Until the lock is held, or refused, or a signal comes (its number is returned, else 0). */
static int acquire(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	usec say_at = clock_now() + FIRST_WORD_AFTER, apart = WORDS_APART;
	struct caught caught;

	session_start(&r->session);
	while (q->state == QUORUM_TRYING) {
		/* Words are due only between attempts. */
		bool signalled = session_turn(
			&r->session, quorum_is_pausing(q) ? say_at : NEVER, r->signals.fd);

		tell_answer(r);
		if (signalled && signals_next(&r->signals, &caught) && caught.is_fatal)
			return caught.number;
		if (quorum_is_pausing(q) && clock_now() >= say_at) {
			tell_waiting(r);
			say_at = clock_now() + apart;
			apart = usec_min(2 * apart, WORDS_APART_MAX);
		}
	}
	return 0;
}

/* Gives back what may be ours. The signal that ended the command does not cut this short, nor does
 * one that came too late to be passed on; the next one does. */
static void release(struct run *r)
{
	const struct quorum *q = &r->session.quorum;
	struct caught caught;
	char text[REPORT_MAX];
	int unreleased;
	bool released;
	usec until;

	session_release(&r->session);
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
	if (released)
		out_say(OUT_DECISIONS, "released '%s'", r->key);
	session_close(&r->session);
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

/* ---- the command ---- */

static void set_environment(const struct run *r)
{
	const struct settings *s = r->settings;
	char nodes[NODES_MAX * NODE_LABEL_MAX], ttl[24];

	node_list_format(&s->nodes, nodes, sizeof(nodes));
	snprintf(ttl, sizeof(ttl), "%lld", (long long)(s->ttl / USEC_MSEC));
	setenv("REDLOCK_KEY", s->key, 1);
	setenv("REDLOCK_TOKEN", r->session.token, 1);
	setenv("REDLOCK_TTL_MS", ttl, 1);
	setenv("REDLOCK_NODES", nodes, 1);
	unsetenv("REDLOCK_PASSWORD");
	unsetenv("REDLOCK_USERNAME");
}

static void pull_leash(struct run *r)
{
	usec ignored;

	switch (leash_step(&r->leash, clock_now(), &ignored)) {
	case LEASH_WAIT:
		return;
	case LEASH_TERM:
		child_signal(&r->child, SIGTERM);
		child_signal(&r->child, SIGCONT); /* one that is stopped could not hear it */
		break;
	case LEASH_KILL:
		child_signal(&r->child, SIGKILL);
		break;
	}
	r->lost = true;
}

static void read_notes(struct run *r)
{
	char left[DURATION_TEXT_MAX];
	struct note note;

	while (keeper_read(&r->keeper, &note))
		switch (note.kind) {
		case NOTE_EXTENDED:
			r->leash.valid_until = note.valid_until;
			out_say(OUT_DECISIONS, "extended '%s', valid for %s", r->key,
				duration_format(left, note.valid_until - clock_now()));
			break;
		case NOTE_EXPIRING:
			leash_pull(&r->leash, clock_now());
			out_say(OUT_ERRORS, "%s", note.text);
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

	if (keeper_start(&r->keeper, &e) == 0)
		return;
	if (r->keeper_at == quorum_extend_at(&r->session.quorum))
		out_err(&e);
	r->keeper_at = clock_now() + usec_max(r->settings->ttl / 30, 10 * USEC_MSEC);
}

/* When main must look up, whatever happens until then. */
static usec next_look(const struct run *r, usec now)
{
	struct leash peek = r->leash;
	usec at;

	if (leash_step(&peek, now, &at) != LEASH_WAIT)
		return now;
	return r->keeper.is_running || r->lost ? at : usec_min(at, r->keeper_at);
}

static void pass_on(struct run *r, const struct caught *caught)
{
	r->signalled |= caught->is_fatal;
	if (caught->number != SIGCHLD && !caught->is_terminals)
		child_signal(&r->child, caught->number);
}

/* Until the command is gone. */
static void supervise(struct run *r)
{
	struct caught caught;

	while (!child_reap(&r->child, &r->status)) {
		struct pollfd fds[] = {
			{.fd = r->signals.fd, .events = POLLIN},
			{.fd = keeper_fd(&r->keeper), .events = POLLIN},
		};
		usec now = clock_now(), at = next_look(r, now);
		struct timespec ts = clock_timespec(usec_max(at - now, 0));

		if (ppoll(fds, 2, at == NEVER ? NULL : &ts, NULL) < 0)
			assert(errno == EINTR || errno == ENOMEM);
		read_notes(r);
		pull_leash(r);
		if (!r->keeper.is_running && !r->lost && clock_now() >= r->keeper_at)
			start_keeper(r);
		while (signals_next(&r->signals, &caught))
			pass_on(r, &caught);
	}
}

/* A majority was enough to decide; what else has come by now may tell that two nodes are one. */
static void take_in_answers(struct run *r)
{
	do {
		session_turn(&r->session, clock_now(), -1);
		tell_answer(r);
	} while (r->session.event.kind != EV_TIME);
}

/* Runs the command under the lock that is held. Returns a status, or -1: r->status has it. */
static int run_command(struct run *r, char *const argv[])
{
	const struct quorum *q = &r->session.quorum;
	struct leash_policy policy = settings_leash(r->settings);
	usec ended_at, ignored;
	struct err e;

	leash_init(&r->leash, &policy, q->valid_until);
	if (leash_step(&r->leash, clock_now(), &ignored) != LEASH_WAIT) {
		release(r);
		out_say(OUT_ERRORS, "this machine is so slow that too little of the TTL was left");
		return STATUS_NO_QUORUM;
	}
	take_in_answers(r);
	if (q->duplicate[0] >= 0) {
		release(r);
		return refuse_duplicate(r);
	}
	set_environment(r);
	r->keeper_at = quorum_extend_at(q);
	if (child_start(&r->child, argv, &r->signals, &e) < 0) {
		release(r);
		out_err(&e);
		return status_of(e.kind);
	}
	supervise(r);
	ended_at = clock_now();
	keeper_stop(&r->keeper);
	/* Never its own status if the lock ended first, even if nobody had the time to tell. */
	r->lost |= q->loss != LOSS_NONE || ended_at >= q->valid_until;
	if (q->duplicate[0] >= 0) {
		char text[REPORT_MAX];

		out_say(OUT_NORMAL, "%s", report_duplicate(text, q, &r->settings->nodes));
	}
	release(r);
	return r->lost ? STATUS_LOST : -1;
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
	text_escape(r.key, sizeof(r.key), s->key, strlen(s->key));
	policy = settings_policy(s);
	if (s->owner)
		snprintf(owner, sizeof(owner), "%s", s->owner);
	else
		default_owner(owner, argv);
	if (signals_open(&r.signals, &e) < 0 ||
		session_open(&r.session, &policy, &s->nodes, s->key, owner, &e) < 0 ||
		keeper_open(&r.keeper, &r.session, &s->nodes, out_loudness() >= OUT_ANSWERS, &e) <
			0) {
		out_err(&e);
		return status_of(e.kind);
	}
	out_never_block();
	status = acquire(&r);
	if (status > 0) {
		r.signalled = true;
		release(&r);
		signals_die(status);
	}
	if (r.session.quorum.state != QUORUM_HELD)
		return refused(&r);
	out_say(OUT_DECISIONS, "acquired '%s' on %d of %d nodes after %s, valid for %s", r.key,
		quorum_count(&r.session.quorum, VOTE_YES), s->nodes.count,
		duration_format((char[DURATION_TEXT_MAX]){0}, clock_now() - began),
		duration_format(text, r.session.quorum.valid_until - clock_now()));
	status = run_command(&r, argv);
	if (status >= 0)
		return status;
	if (WIFSIGNALED(r.status))
		signals_die(WTERMSIG(r.status));
	return WEXITSTATUS(r.status);
}
