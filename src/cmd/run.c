/*
 * redlock run: takes the lock, runs the command, releases the lock.
 *
 * The main thread acquires the lock and makes the supervisor process before the extender thread
 * starts; the supervisor starts the command and terminates it at the deadline. Main forwards
 * signals and each new validity to the supervisor, and does its work if it is dead or stuck. When
 * the first extension is due, main gives the session to the extender thread and reads its messages:
 * a command that ends before then costs no thread. When all processes of the command are gone, main
 * stops the extender and owns the session again.
 */
#include "base/clock.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/text.h"
#include "base/token.h"
#include "cmd/announce.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/done.h"
#include "cmd/record.h"
#include "cmd/revoke.h"
#include "cmd/setup.h"
#include "cmd/supervise.h"
#include "net/extender.h"
#include "proc/supervisor.h"
#include "report/report.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The variables of the lock: each attempt has another token, and the supervisor may be older than
 * the attempt that succeeds. */
#define TOKEN_VARIABLE "REDLOCK_TOKEN="
#define SLOT_VARIABLE "REDLOCK_SLOT="
#define FENCE_VARIABLE "REDLOCK_FENCE="
#define HELD_VARIABLE "REDLOCK_HELD="

struct variables {
	char token[sizeof(TOKEN_VARIABLE) + REPLY_TEXT_MAX];
	char slot[sizeof(SLOT_VARIABLE) + 20];
	char fence[sizeof(FENCE_VARIABLE) + 20];
	char held[]; /* as long as the ids of the enclosing locks need it */
};

struct run {
	struct announcer announcer;
	/* REDLOCK_FENCE and REDLOCK_HOLDER_PID of the enclosing lock, or NULL. */
	const char *outer_fence, *outer_pid;
	char *const *argv; /* the command */
	struct supervision watch;
	struct extender extender;
	usec extend_at; /* when the extender starts */
	bool extender_failed; /* to start, so far */
	usec valid_until; /* NEVER: nested; the enclosing run keeps the lock */
	bool is_nested;
	struct variables *late; /* of the supervisor; `late_size` bytes */
	size_t late_size;
	bool has_revoked; /* the holders, for --takeover */
	bool resume_pending; /* after a stop: the command continues after the next extension */
	bool has_logged_loss;
	bool lost;
	int die_of; /* the signal by which redlock ends; 0: none */
	char done[DONE_TEXT_MAX]; /* the text of the record of --once-per */
	struct run_summary summary; /* its outcome is NULL while the command's own status decides */
	struct client client; /* at the end: most of it is never touched */
};

/* ---- before the command ---- */

/* Fills the variables of the lock. Returns how many bytes of them are in use. */
static size_t set_lock(struct run *r, const char *token)
{
	const struct lock *lock = &r->client.session.lock;
	struct variables *v = r->late;
	size_t left = r->late_size - offsetof(struct variables, held), used = 0;
	int id_len = r->is_nested ? 0 : TOKEN_ID_LEN;

	snprintf(v->token, sizeof(v->token), TOKEN_VARIABLE "%s", token);
	snprintf(v->slot, sizeof(v->slot), SLOT_VARIABLE "%ld", client_slot(&r->client));
	snprintf(v->fence, sizeof(v->fence), FENCE_VARIABLE "%lld", (long long)lock->tenure.fence);
	text_append(v->held, left, &used, HELD_VARIABLE "%.*s%s%s", id_len, token,
		id_len && r->client.outer[0] ? " " : "", r->client.outer);
	return offsetof(struct variables, held) + used + 1;
}

static void set_number(const char *name, long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", number);
	setenv(name, text, 1);
}

/* Sets the command's environment, and removes secrets. */
static void set_environment(const struct run *r)
{
	const struct settings *s = r->client.settings;
	char names[REQUEST_KEY_MAX + 1];

	setenv("REDLOCK_KEY", settings_text(names, &s->names), 1);
	set_number("REDLOCK_KEYS", s->keys.count);
	set_number("REDLOCK_TTL_MS", (long)(s->ttl / USEC_MSEC));
	putenv(r->late->token);
	putenv(r->late->held);
	if (s->limit > 0) {
		set_number("REDLOCK_LIMIT", s->limit);
		putenv(r->late->slot);
	} else {
		unsetenv("REDLOCK_LIMIT");
		unsetenv("REDLOCK_SLOT");
	}
	/* A nested run keeps the number of its enclosing lock; the number of any other lock is
	 * removed. */
	if (r->is_nested && r->outer_fence)
		setenv("REDLOCK_FENCE", r->outer_fence, 1);
	else if (s->fence && !r->is_nested)
		putenv(r->late->fence);
	else
		unsetenv("REDLOCK_FENCE");
	if (r->is_nested && r->outer_pid)
		setenv("REDLOCK_HOLDER_PID", r->outer_pid, 1);
	else
		unsetenv("REDLOCK_HOLDER_PID");
	setup_command(s);
}

static int prepare_supervisor(struct run *r, struct err *e)
{
	struct variables *earlier = r->late;
	struct supervisor_policy policy = {
		.deadline = settings_deadline(r->client.settings),
		.wait_descendants = r->client.settings->wait_descendants > 0,
		.is_nested = r->client.outer[0] != '\0',
		.caller = r->client.caller,
	};

	policy.late_size = r->late_size = offsetof(struct variables, held) + sizeof(HELD_VARIABLE) +
					  TOKEN_ID_LEN + 1 + strlen(r->client.outer);
	policy.late = r->late = malloc(r->late_size);
	if (!r->late)
		return err_system(e, ERR_SYSTEM, ENOMEM, "cannot start the command");
	set_lock(r, ""); /* putenv() looks for the names */
	set_environment(r);
	free(earlier); /* the environment has the new ones */
	session_hide(&r->client.session);
	return supervisor_prepare(&r->watch.supervisor, r->argv, &r->client.signals, &policy, e);
}

/* Makes the supervisor while the nodes process a request that will probably succeed: the first
 * attempt, or one with a reservation. Each node that is connected has its request before: a fork
 * takes long on a busy machine, and would delay that node's vote. A client that was refused, and
 * waits, keeps it at first: a client that contends is woken soon. */
static void prepare_early(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;
	struct err later;

	if (r->watch.supervisor.pid == 0 && lock_state(lock) == LOCK_TRYING &&
		!lock_is_pausing(lock) && lock->stamp.attempt == lock->stamp.round &&
		(lock->stamp.attempt == 1 || lock->attempt.is_woken) &&
		!pool_has_link_news(&r->client.session.pool))
		(void)prepare_supervisor(r, &later);
	else if (lock_is_pausing(lock) && r->client.knows_outer)
		supervisor_close(&r->watch.supervisor);
}

/* --takeover: once this client is the first in the queue, no other waiter is woken by the end of
 * the holder. */
static void take_over(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;
	enum waiter_state state = lock->waiter.state;

	if (!r->client.settings->takeover || r->has_revoked || !lock_is_pausing(lock) ||
		(state != WAITER_QUEUED && state != WAITER_POLLS))
		return;
	r->has_revoked = true;
	revoke_holders(r->client.settings, r->client.outer, r->client.session.token);
}

/* Returns the number of a fatal signal, else 0. */
static int acquire(struct run *r)
{
	int number = 0;

	while (number == 0 && client_is_open(&r->client)) {
		number = client_step(&r->client);
		take_over(r);
		prepare_early(r);
		if (lock_is_pausing(&r->client.session.lock))
			announce_waiting(&r->announcer);
	}
	log_clear();
	return number;
}

/* ---- the command ---- */

static const struct log_event lost = {.name = "lost", .status = STATUS_LOST};

SELDOM static void log_loss(struct run *r, const char *words)
{
	if (r->has_logged_loss)
		return;
	r->has_logged_loss = r->lost = true;
	announce_lost(&r->announcer);
	log_event(LOG_ERRORS, &lost, "%s", words);
	if (r->client.settings->on_lost)
		return;
	log_say(LOG_ERRORS, "the command continues without the lock");
	if (r->resume_pending)
		supervisor_resume(&r->watch.supervisor);
}

static void read_extender(struct run *r)
{
	struct extender_message message;

	while (extender_read(&r->extender, &message))
		switch (message.kind) {
		case EXTENDER_EXTENDED:
			r->valid_until = message.valid_until;
			supervisor_extended(&r->watch.supervisor, message.valid_until);
			client_log_extended(&r->client, message.valid_until);
			if (r->resume_pending)
				supervisor_resume(&r->watch.supervisor);
			r->resume_pending = false;
			break;
		case EXTENDER_UNCONFIRMED:
			client_log_unconfirmed(&r->client, message.text);
			break;
		case EXTENDER_EXPIRING:
			supervisor_lose(&r->watch.supervisor);
			log_loss(r, message.text);
			break;
		case EXTENDER_LOG:
			log_say(LOG_REPLIES, "%s", message.text);
			break;
		}
}

/* Starts the extender. A thread that cannot be created now may be created a moment later: retries
 * until the deadline. */
SELDOM static void start_extender(struct run *r)
{
	struct err e;

	if (extender_start(&r->extender, &e) == 0) {
		if (r->resume_pending)
			extender_extend(&r->extender);
		return;
	}
	if (!r->extender_failed)
		log_err(&e);
	r->extender_failed = true;
	r->extend_at = clock_now() + usec_max(r->client.settings->ttl / 30, 10 * USEC_MSEC);
}

/* Continues after SIGCONT: the command may have been stopped, too. Extends first, since only the
 * reply tells whether the command may continue. */
SELDOM static void resume(struct run *r)
{
	if (r->is_nested) {
		supervisor_resume(&r->watch.supervisor);
		return;
	}
	read_extender(r); /* An extension from before the stop confirms nothing now. */
	r->resume_pending = true;
	if (r->extender.is_running)
		extender_extend(&r->extender);
	else
		r->extend_at = usec_min(r->extend_at, clock_now());
}

/* When main takes over from the supervisor: halfway through the time that is reserved for killing
 * and reaping. */
static usec replace_at(const struct run *r)
{
	if (r->watch.replacing)
		return r->watch.replace_at;
	return r->client.settings->on_lost
		       ? r->valid_until - deadline_reap_time(r->client.settings->ttl) / 2
		       : NEVER;
}

/* Returns when all processes of the command have ended, or may keep running. */
static void supervise(struct run *r)
{
	usec detach_at = clock_now() + DETACH_AFTER;
	bool resumed;

	/* The extender thread inherits the priority. */
	client_go_ahead(&r->client);
	while (!r->watch.is_over) {
		struct pollfd fds[] = {
			{.fd = r->client.signals.fd, .events = POLLIN},
			{.fd = extender_fd(&r->extender), .events = POLLIN},
			{.fd = r->watch.supervisor_is_dead ? -1
							   : supervisor_fd(&r->watch.supervisor),
				.events = POLLIN},
			{.fd = r->watch.alarm, .events = POLLIN},
		};
		bool wants_extender = !r->extender.is_running;
		usec at = usec_min(replace_at(r), detach_at);

		alarm_set(r->watch.alarm, wants_extender ? usec_min(at, r->extend_at) : at);
		(void)alarm_wait(fds, sizeof(fds) / sizeof(fds[0]), NEVER);
		if (clock_now() >= detach_at) {
			supervise_detach(&r->watch);
			detach_at = NEVER;
		}
		resumed = supervise_take_signals(&r->watch);
		r->client.signalled |= r->watch.has_fatal_signal;
		if (r->client.signalled)
			announce_stopping(&r->announcer);
		if (resumed)
			resume(r);
		read_extender(r);
		supervise_read(&r->watch, resumed || r->resume_pending);
		if (!r->watch.is_over && clock_now() >= replace_at(r))
			supervise_replace(&r->watch, clock_now());
		if (!r->watch.is_over && wants_extender && clock_now() >= r->extend_at)
			start_extender(r);
	}
}

static void release(struct run *r, usec expire_in)
{
	client_release(&r->client, expire_in);
	supervise_close(&r->watch);
}

static int too_slow(struct run *r)
{
	r->summary.outcome = "too-slow";
	log_say(LOG_ERRORS, "cannot start the command: this machine is so slow that too little of "
			    "the TTL was left");
	return STATUS_NO_QUORUM;
}

SELDOM static int not_started(struct run *r)
{
	int status;

	if (r->watch.end.number == ETIME)
		return too_slow(r);
	status = supervise_not_started(&r->watch, r->argv[0], "-c");
	if (status == STATUS_NOT_FOUND && r->argv[1] && strcmp(r->argv[1], "--") == 0)
		log_hint(LOG_ERRORS,
			"only options are allowed before '--'; for several keys, repeat "
			"-k: -k KEY -k KEY");
	r->summary.outcome = status == STATUS_INTERNAL ? "failed" : "not-started";
	return status;
}

SELDOM static void log_end_of_lock(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;
	char text[REPORT_MAX];

	if (!r->has_logged_loss && lock->loss != LOSS_NONE)
		log_event(LOG_ERRORS, &lost, "%s",
			report_loss(
				text, lock, &r->client.settings->nodes, &r->client.settings->keys));
	else if (!r->has_logged_loss)
		log_event(LOG_ERRORS, &lost, "%s",
			report_stood_still(text, lock, &r->client.settings->keys));
	client_hint_loss(&r->client);
}

/* Finds and reports a loss of the lock before the command ended. Must precede the release, which
 * clears the reason. */
static void log_lost_lock(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;

	/* If the lock ended first, the status is never the command's own, even if the loss was not
	 * reported. */
	r->lost |= lock->loss != LOSS_NONE || r->watch.end.cause == CAUSE_LOST ||
		   r->watch.end.ended_at >= lock->tenure.valid_until;
	if (r->lost)
		log_end_of_lock(r);
}

static void log_kill(struct run *r)
{
	r->summary.is_killed = r->watch.end.is_killed;
	supervise_log_kill(&r->watch,
		r->watch.end.cause == CAUSE_LOST && r->client.settings->on_lost == SIGKILL);
}

/* The replies to the release may show that the lock was lost while the command ran. */
static int recheck_after_release(struct run *r, int status)
{
	if (r->lost || r->watch.end.kind != SUPERVISOR_ENDED)
		return status;
	log_lost_lock(r);
	if (!r->lost)
		return status;
	r->summary.outcome = "lost";
	return STATUS_LOST;
}

/* Returns the exit status, or -1: r->watch.end has the command's own. */
static int outcome(struct run *r)
{
	char shown[DURATION_TEXT_MAX];

	if (r->watch.end.kind == SUPERVISOR_FAILED)
		return not_started(r);
	if (r->lost) {
		r->summary.outcome = "lost";
		return STATUS_LOST;
	}
	if (r->watch.end.cause == CAUSE_MAX_RUN) {
		r->summary.outcome = "max-run";
		log_event(LOG_NORMAL,
			&(struct log_event){.name = r->summary.outcome, .status = STATUS_MAX_RUN},
			"the command ran for longer than %s and was ended",
			duration_format(shown, r->client.settings->max_run));
		return STATUS_MAX_RUN;
	}
	if (r->watch.replacing) {
		r->summary.outcome = "failed";
		return supervise_supervisor_killed();
	}
	if (r->watch.end.tree.alive > 0) {
		supervise_log_remaining(&r->watch.end.tree, "the lock");
		log_hint(LOG_NORMAL, "--wait-descendants waits for these processes");
	}
	return -1;
}

/* Names each granting node with a record that does not count: it may be another program's key, or
 * the node's clock was set. */
static void log_void_records(const struct run *r)
{
	const struct lock *lock = &r->client.session.lock;

	for (int i = 0; i < lock->policy.nodes; i++)
		if (lock->last_run.is_void >> i & 1)
			log_say(LOG_NORMAL, "ignored the record of %s on %s: %s", r->client.name,
				r->client.settings->nodes.node[i].label,
				"it names no start, or one in the future");
}

/* --once-per: the last run started less than D ago. */
static bool is_done(const struct run *r)
{
	const struct last_run *last = &r->client.session.lock.last_run;

	return last->known && last->age < r->client.settings->once_per;
}

/* The release stores the record on the granting nodes that lack it, so that it outlives a restart
 * of one node after the other. */
SELDOM static int already_done(struct run *r)
{
	const struct settings *s = r->client.settings;
	const struct last_run *last = &r->client.session.lock.last_run;
	const struct record record = {
		.text = last->text,
		.started = last->started,
		.keep = done_kept_for(s->once_per),
		.nodes = last->granted & ~last->known,
	};
	struct done d;

	if (record.nodes)
		session_set_record(&r->client.session, &record);
	done_read(&d, last->text);
	d.left = s->once_per - last->age;
	done_log(&d, s->keys.key[0], LOG_NORMAL, (int)s->conflict_exit_code);
	r->summary.outcome = "done";
	release(r, 0);
	return (int)s->conflict_exit_code;
}

/* The command has run under the lock, whatever its own status: a run that failed counts, too. */
static bool has_run(const struct run *r)
{
	return r->watch.end.kind == SUPERVISOR_ENDED && !r->lost;
}

/* The command's own exit status, or 128 and its signal. */
static int own_status(const struct run *r)
{
	int number = r->watch.end.number;

	return WIFSIGNALED(number) ? 128 + WTERMSIG(number) : WEXITSTATUS(number);
}

/* The release will store the record of --once-per. status: as outcome() returned it. */
static void prepare_record(struct run *r, int status, usec started)
{
	const struct settings *s = r->client.settings;
	struct done d = {
		.once_per = s->once_per,
		.status = status < 0 ? own_status(r) : status,
		.ended = clock_wall() / USEC_SEC,
	};

	if (s->once_per == 0 || !has_run(r))
		return;
	snprintf(d.owner, sizeof(d.owner), "%s", r->client.session.owner);
	session_set_record(
		&r->client.session, &(struct record){
					    .text = done_text(r->done, &d),
					    .started = usec_max(started, r->watch.end.started_at),
					    .keep = done_kept_for(s->once_per),
					    .nodes = ~0u,
				    });
}

/* After the release. */
static void check_record(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;

	if (!lock->releasing.stores || lock_stored(lock) >= policy_quorum(&lock->policy))
		return;
	log_say(LOG_ERRORS,
		"%d of %d nodes stored the record of %s, %d needed: another host may run the "
		"command again",
		lock_stored(lock), lock->policy.nodes, r->client.name,
		policy_quorum(&lock->policy));
	client_hint_remedy(&r->client, LOG_ERRORS);
}

SELDOM static void log_duplicate(const struct run *r)
{
	char text[REPORT_MAX];

	log_say(LOG_NORMAL, "%s",
		report_duplicate(text, &r->client.session.lock.tally, &r->client.settings->nodes));
}

/* Runs the command with the lock held. Returns an exit status, or -1: r->watch.end has the
 * command's own. */
static int run_command(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;
	usec started = clock_now(), held;
	struct err e;
	int status;

	client_read_replies(&r->client);
	if (lock->tally.duplicate[0] >= 0) {
		r->summary.outcome = client_refusal_word(&r->client);
		status = client_refuse_duplicate(&r->client);
		supervise_close(&r->watch);
		return status;
	}
	log_void_records(r);
	if (is_done(r))
		return already_done(r);
	r->valid_until = lock->tenure.valid_until;
	r->extend_at = lock_extend_at(lock);
	/* A node that did not know the script gets it again as soon as its reply is read; and a
	 * late vote may show a holder with other nodes. */
	if (lock_awaits_replies(lock))
		r->extend_at = clock_now();
	supervisor_check(&r->watch.supervisor); /* it may have been killed, or stopped */
	if (r->watch.supervisor.pid == 0 && prepare_supervisor(r, &e) < 0) {
		r->summary.held = clock_now() - started;
		release(r, 0);
		log_err(&e);
		return status_of(e.kind);
	}
	supervisor_start(&r->watch.supervisor, lock->tenure.valid_until,
		set_lock(r, r->client.session.token));
	announce_acquired(&r->announcer, client_slot(&r->client));
	supervise(r);
	extender_stop(&r->extender);
	announce_stopping(&r->announcer);
	if (r->watch.end.kind == SUPERVISOR_ENDED)
		log_lost_lock(r);
	log_kill(r);
	if (lock->tally.duplicate[0] >= 0)
		log_duplicate(r);
	status = outcome(r);
	held = r->summary.held = clock_now() - started;
	prepare_record(r, status, started);
	release(r, has_run(r) && held < r->client.settings->min_hold
			   ? r->client.settings->min_hold - held
			   : 0);
	check_record(r);
	return recheck_after_release(r, status);
}

/* Runs the command under the lock of the enclosing run, which supervises this process as well. */
SELDOM static int run_nested(struct run *r)
{
	char token[REPLY_TEXT_MAX];
	const struct reply *holder;
	struct err e;

	if (!client_is_nested(&r->client, &holder))
		return STATUS_INTERNAL;
	snprintf(token, sizeof(token), "%s", holder->text);
	release(r, 0);
	r->is_nested = true;
	r->valid_until = r->extend_at = NEVER;
	if (prepare_supervisor(r, &e) < 0) {
		log_err(&e);
		return status_of(e.kind);
	}
	supervisor_start(&r->watch.supervisor, NEVER, set_lock(r, token));
	supervise(r);
	extender_stop(&r->extender);
	supervise_close(&r->watch);
	log_kill(r);
	return outcome(r);
}

/* Handles the end of the wait without the lock. */
SELDOM static int not_acquired(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;
	const struct reply *holder;
	bool is_nested = client_is_nested(&r->client, &holder);
	int status;

	if (is_nested && r->client.settings->reentrant && !holder->is_shared &&
		!lock_is_contested(lock)) {
		log_say(LOG_DECISIONS, "%s is held by an enclosing run", r->client.name);
		return run_nested(r);
	}
	r->summary.outcome = client_refusal_word(&r->client);
	status = is_nested && lock->refusal != REFUSAL_DUPLICATE ? client_refuse_nested(&r->client)
								 : client_refused(&r->client);
	supervise_close(&r->watch);
	return status;
}

/* Returns the argv of the shell for -c, or the operands; NULL after an error message. */
static char *const *find_command(const struct settings *s, char *const operands[])
{
	static char *shell_argv[] = {NULL, "-c", NULL, NULL};

	if (s->shell ? operands[0] != NULL : operands[0] == NULL) {
		log_say(LOG_ERRORS,
			s->shell ? "-c cannot be combined with a command" : "missing command");
		log_hint(LOG_ERRORS, "redlock run -k KEY -- COMMAND; see 'redlock help run'");
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

	if (client_open(&r->client, s, (long)getpid(), r->argv, &e) == 0 &&
		supervise_open(&r->watch, &r->client.signals, r->client.name, &e) == 0 &&
		announce_open(&r->announcer, s, &r->client.session.lock, r->client.name,
			&r->client.signals, &e) == 0 &&
		extender_open(&r->extender, &r->client.session, &s->nodes,
			log_level() >= LOG_REPLIES, &e) == 0)
		return STATUS_OK;
	r->summary.waited = clock_now() - r->client.began;
	/* The only configuration error left at this point is a node that is listed twice. */
	r->summary.outcome = e.kind == ERR_CONFIG ? "duplicate-node" : "failed";
	log_err(&e);
	return status_of(e.kind);
}

SELDOM static void log_acquired(const struct run *r)
{
	const struct lock *lock = &r->client.session.lock;
	const struct settings *s = r->client.settings;
	char text[DURATION_TEXT_MAX], missing[REPORT_MAX];

	log_event(LOG_DECISIONS, &(struct log_event){.name = "acquired"},
		"acquired %s on %d of %d nodes after %s, valid for %s%s", r->client.name,
		tally_count(&lock->tally, VOTE_YES), s->nodes.count,
		duration_format((char[DURATION_TEXT_MAX]){0}, r->summary.waited),
		duration_format(text, lock->tenure.valid_until - clock_now()),
		report_missing(missing, &lock->tally, &s->nodes));
}

/* Returns an exit status, or -1: r->watch.end has the command's own, or r->die_of is set. */
static int acquire_and_run(struct run *r)
{
	const struct lock *lock = &r->client.session.lock;

	r->die_of = acquire(r);
	r->summary.waited = clock_now() - r->client.began;
	if (r->die_of) {
		r->summary.outcome = "interrupted";
		r->client.signalled = true;
		release(r, 0);
		return -1;
	}
	if (lock_state(lock) != LOCK_HELD)
		return not_acquired(r);
	if (log_level() >= LOG_DECISIONS)
		log_acquired(r);
	return run_command(r);
}

/* Writes the run summary, and ends with a status or by a signal. */
static int finish(struct run *r, int status)
{
	struct run_summary *summary = &r->summary;

	if (status < 0 && !r->die_of) {
		if (WIFSIGNALED(r->watch.end.number))
			r->die_of = WTERMSIG(r->watch.end.number);
		status = WEXITSTATUS(r->watch.end.number);
		summary->outcome = r->die_of ? "signalled"
				   : status  ? "command-failed"
					     : "completed";
	}
	summary->status = r->die_of ? 128 + r->die_of : status;
	summary->owner = r->client.session.owner;
	summary->lock = &r->client.session.lock;
	if (!summary->outcome)
		summary->outcome = "failed";
	announce_end(&r->announcer, summary->outcome, summary->status);
	record_run(r->client.settings, summary);
	announce_close(&r->announcer, &r->client.signals);
	if (r->die_of)
		signals_die(r->die_of);
	return status;
}

/* set_environment() changes the variable. */
static const char *copy_of(const char *name)
{
	const char *value = getenv(name);

	return value ? strdup(value) : NULL;
}

int cmd_run(struct settings *s)
{
	static struct run r; /* too large for the stack */
	int status;

	r.argv = find_command(s, s->operands);
	if (!r.argv)
		return STATUS_USAGE;
	r.outer_fence = copy_of("REDLOCK_FENCE");
	r.outer_pid = copy_of("REDLOCK_HOLDER_PID");
	record_prepare(s);
	r.summary.held = NEVER;
	status = open_all(&r, s);
	if (status == STATUS_OK) {
		log_never_block();
		status = acquire_and_run(&r);
	}
	return finish(&r, status);
}
