#include "cmd/client.h"

#include "base/duration.h"
#include "base/exit.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/mask.h"
#include "base/text.h"
#include "base/token.h"
#include "cli/option.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "net/tls.h"
#include "proc/supervisor.h"
#include "proc/tree.h"
#include "report/list.h"
#include "report/problem.h"
#include "report/report.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_MESSAGE_AFTER USEC_SEC
#define MESSAGE_INTERVAL UNLESS_HASTY(10 * USEC_SEC)
#define MESSAGE_INTERVAL_MAX (300 * USEC_SEC)

/* A client that waits for longer looks for an enclosing run in the processes above it. */
#define SHORT_WAIT (200 * USEC_MSEC)

/* With -q, an outage of the nodes that lasts for so long is reported, once. */
#define ALARM_AFTER UNLESS_HASTY(30 * USEC_SEC)

const char *client_user(char uid[24])
{
	const char *user = getenv("LOGNAME");
	const struct passwd *entry;

	if (!user || !*user)
		user = getenv("USER");
	if (!user || !*user) {
		uid_t number = getuid();

		snprintf(uid, 24, "%ld", (long)number);
		/* A lookup in the name service takes as long as a request to a node; root's name is
		 * known. */
		entry = number == 0 ? NULL : getpwuid(number);
		user = entry ? entry->pw_name : number == 0 ? "root" : uid;
	}
	return user;
}

static void default_owner(char owner[OWNER_MAX], long pid, char *const argv[])
{
	char host[256] = "", uid[24];

	gethostname(host, sizeof(host) - 1);
	settings_owner(owner, OWNER_MAX, client_user(uid), host, pid, argv);
}

/* Runs within a slot of the same semaphore, each of which waits for one more slot, can wait for
 * each other without an end. */
SELDOM static bool is_within_slot(const struct settings *s)
{
	const char *key = getenv("REDLOCK_KEY"), *held = getenv("REDLOCK_HELD");
	char names[REQUEST_KEY_MAX + 1];

	return key && strcmp(key, settings_text(names, &s->names)) == 0 && getenv("REDLOCK_SLOT") &&
	       held && *held;
}

/* Each list of ids contains those of the runs around it. */
static void add_outer(void *client, const char *ids)
{
	struct client *c = client;
	size_t used = strlen(c->outer);

	if (ids && !strstr(c->outer, ids))
		text_append(c->outer, sizeof(c->outer), &used, "%s%s", used ? " " : "", ids);
}

/* sudo and env -i remove the ids from the environment. The nodes decide what they are worth. Reads
 * two files of each process above this one. */
static void learn_outer(struct client *c)
{
	if (!c->knows_outer)
		tree_read_above("REDLOCK_HELD", add_outer, c);
	c->knows_outer = true;
}

int client_open(
	struct client *c, const struct settings *s, long pid, char *const argv[], struct err *e)
{
	const struct policy policy = settings_policy(s);
	char owner[OWNER_MAX] = "";
	const bool waits = setup_tls_waits(s);
	struct caught caught;
	size_t used = 0;

	c->settings = s;
	c->began = clock_now();
	/* A copy: set_environment() of cmd/run.c changes the environment. */
	c->outer[0] = '\0';
	c->knows_outer = false;
	c->caller = (struct priority){0};
	add_outer(c, getenv("REDLOCK_HELD"));
	c->is_within_slot = s->limit > 1 && is_within_slot(s);
	report_keys(c->name, &s->keys);
	if (s->owner)
		mask_append_text(owner, sizeof(owner), &used, s->owner);
	else
		default_owner(owner, pid, argv);
	if (signals_open(&c->signals, e) < 0 ||
		session_open(&c->session, &policy, &s->nodes, &s->keys, owner, e) < 0)
		return -1;
	c->session.held = c->outer;
	c->wake_fd = c->signals.fd;
	c->is_live = log_is_live();
	c->message_at = clock_now() + FIRST_MESSAGE_AFTER;
	c->message_interval = MESSAGE_INTERVAL;
	/* OpenSSL is loaded while the connections open, but the time for these does not count the
	 * wait for a pipe. No node has a request yet. */
	if (!waits)
		session_start(&c->session);
	if (setup_tls(s, e) == 0) {
		if (waits)
			session_start(&c->session);
		return 0;
	}
	/* A signal ends the wait for a pipe. */
	if (signals_next(&c->signals, &caught) && caught.is_fatal)
		client_die(c, caught.number);
	options_blame(s, setup_file(), e);
	return -1;
}

const char *client_held(char dst[CLIENT_HELD_MAX], const struct client *c, const char *id)
{
	size_t used = 0;

	text_append(
		dst, CLIENT_HELD_MAX, &used, "%s%s%s", id, *id && c->outer[0] ? " " : "", c->outer);
	return dst;
}

int client_not_opened(const struct settings *s, const struct err *e)
{
	log_err(e);
	/* The only configuration error left at this point is a node that is listed twice. */
	return print_failure(
		s, e->kind == ERR_CONFIG ? "duplicate-node" : "failed", status_of(e->kind));
}

void client_die(const struct client *c, int number)
{
	if (c->settings->format == FORMAT_ENV)
		print_status_for_eval(128 + number);
	signals_die(number);
}

SELDOM static void log_reply(const struct client *c)
{
	const struct event *ev = &c->session.event;
	const struct pool *pool = &c->session.pool;
	char text[REPORT_MAX];
	const char *words = report_event(text, pool->conn[ev->node].node, ev, pool->took);

	if (words)
		log_say(LOG_REPLIES, "%s", words);
}

void client_log_reply(const struct client *c)
{
	if (log_level() >= LOG_REPLIES)
		log_reply(c);
}

/* ---- waiting for the lock ---- */

/* Adds the hints about a refusal, once. */
static void explain(struct client *c, enum log_level at)
{
	setup_hint(c->settings, &c->session.lock.tally, at);
	c->has_hinted_why = at <= log_level();
}

static bool is_outage(const struct client *c)
{
	const struct lock *lock = &c->session.lock;
	usec began = lock->patience.outage_began;

	return log_level() < LOG_NORMAL && lock_is_pausing(lock) && began != NEVER &&
	       clock_now() - began >= ALARM_AFTER;
}

/* A client that waits for the nodes, and not for a holder, needs help, even if it is to be quiet.
 */
SELDOM static void alarm_outage(struct client *c)
{
	char text[REPORT_MAX];

	c->has_alarmed = true;
	report_refusal(
		text, &c->session.lock, &c->settings->nodes, &c->settings->keys, clock_now());
	log_event(LOG_ERRORS, &(struct log_event){.name = "waiting"}, "waiting: %s", text);
	if (!c->has_hinted_why)
		explain(c, LOG_ERRORS);
}

/* Does the message about the holder name nodes with problems? See report_refusal(). */
static bool has_no_majority(const struct lock *lock)
{
	int holders;

	(void)tally_holder(&lock->tally, &holders);
	return holders < policy_quorum(&lock->policy);
}

/* Adds the hints about a holder, once: it never ends, or nodes with problems prevent a majority. */
SELDOM static void explain_busy(struct client *c, bool names_problems, enum log_level at)
{
	const struct tally *t = &c->session.lock.tally;
	char text[REPORT_MAX];
	const char *hint = c->has_hinted_why ? NULL : report_way_out(text, t, &c->settings->keys);

	if (hint)
		log_hint(at, "%s", hint);
	if (names_problems && !c->has_hinted_why)
		setup_hint(c->settings, t, at);
	c->has_hinted_why |= hint != NULL || names_problems;
}

/* Does a majority say that no slot is free? A client also pauses between the attempts at two
 * slots. */
static bool has_no_free_slot(const struct tally *t)
{
	int count = 0;

	for (int i = 0; i < t->nodes; i++)
		count += t->ballot[i].vote == VOTE_FOREIGN && t->ballot[i].reply.slot == 0;
	return count >= tally_quorum(t);
}

SELDOM static void warn_own_slot(struct client *c)
{
	char keys[REPORT_MAX];

	if (!c->is_within_slot || c->has_warned_own_slot || c->settings->wait == 0 ||
		!has_no_free_slot(&c->session.lock.tally))
		return;
	c->has_warned_own_slot = true;
	log_say(LOG_NORMAL, "waiting for a second slot of %s: this command runs under one already",
		report_keys(keys, &c->settings->keys));
	log_hint(LOG_NORMAL, "commands that keep one slot and wait for another can wait for each "
			     "other: take one slot only, or give --no-wait or --wait");
}

/* Where the environment of a process above this one cannot be read, only the owner text tells. A
 * container of the same host name has the same pids. After `acquire` and `hold`, the text has the
 * pid of their caller, which holds nothing. */
SELDOM static void warn_of_holder_above(struct client *c)
{
	char owner[HOLDER_TEXT_MAX], host[256] = "";
	const char *at;
	size_t len;
	int pid;

	if (c->has_warned_above)
		return;
	at = strchr(report_holder_text(owner, &c->session.lock.tally), '@');
	gethostname(host, sizeof(host) - 1);
	len = strlen(host);
	if (!at || strncmp(at + 1, host, len) != 0 || sscanf(at + 1 + len, ":%d", &pid) != 1 ||
		!tree_is_below(pid, SUPERVISOR_NAME))
		return;
	c->has_warned_above = true;
	log_hint(LOG_NORMAL,
		"if process %d, above this one, is the holder, this wait never ends: let its "
		"command keep REDLOCK_HELD, as with 'sudo --preserve-env=REDLOCK_HELD'",
		pid);
}

/* Does the last attempt have a majority, and not the lock? A release may take the place of the
 * reply that says why: keeps it. */
static bool is_contested(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	const struct reply *contender = lock_contested_by(lock);

	if (contender)
		c->contender = *contender;
	return lock_is_contested(lock);
}

static const char *contest_text(char text[REPORT_MAX], const struct client *c)
{
	const struct lock *lock = &c->session.lock;

	return report_contest(text, lock, &c->settings->keys,
		c->contender.vote == VOTE_FOREIGN ? &c->contender : NULL,
		clock_now() - lock->tally.began);
}

/* Hosts that name different nodes are a mistake that only people can end: it is reported with -q,
 * too, once. */
SELDOM static void warn_of_contest(struct client *c)
{
	char text[REPORT_MAX], holder[HOLDER_TEXT_MAX];

	if (!is_contested(c)) {
		c->contender = (struct reply){.vote = VOTE_NONE};
		return;
	}
	if (c->has_warned_contested)
		return;
	c->has_warned_contested = true;
	log_event(LOG_ERRORS,
		&(struct log_event){
			.name = "waiting", .holder = report_owner_text(holder, &c->contender)},
		"waiting: %s", contest_text(text, c));
	log_hint(LOG_ERRORS, CONTEST_HINT);
}

/* On a terminal the message is updated in place; a hint is printed below a message that stays. */
SELDOM static void show_waiting(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	bool is_new = !c->has_hinted_why && lock->refusal == REFUSAL_NO_QUORUM &&
		      setup_has_hint(c->settings, &lock->tally);
	char text[REPORT_MAX], waited[DURATION_TEXT_MAX], holder[HOLDER_TEXT_MAX];
	usec now = clock_now();

	if (is_contested(c))
		contest_text(text, c);
	else if (lock->refusal == REFUSAL_BUSY)
		report_holder(text, lock, &c->settings->keys, now);
	else
		report_refusal(text, lock, &c->settings->nodes, &c->settings->keys, now);
	if (c->is_live && lock->refusal == REFUSAL_BUSY && lock_other_limit(lock) == 0)
		log_show(LOG_NORMAL, "%s",
			report_waiting(
				text, lock, &c->settings->keys, now - c->began, log_width()));
	else if (c->is_live && !is_new)
		log_show(LOG_NORMAL, "waiting %s: %s",
			duration_format(waited, (now - c->began) / USEC_SEC * USEC_SEC), text);
	else
		log_event(LOG_NORMAL,
			&(struct log_event){.name = "waiting",
				.holder = report_holder_text(holder, &lock->tally)},
			"waiting: %s", text);
	if (is_new)
		explain(c, LOG_NORMAL);
	if (lock->refusal == REFUSAL_BUSY)
		warn_of_holder_above(c);
}

/* The holder with other nodes is an enclosing run. */
static bool is_outer_contested(const struct client *c)
{
	const struct reply *contender = lock_contested_by(&c->session.lock);
	char id[TOKEN_ID_LEN + 1] = "";

	if (contender)
		snprintf(id, sizeof(id), "%.*s", TOKEN_ID_LEN, contender->text);
	return *id && strstr(c->outer, id);
}

static bool is_nested(const struct client *c, const struct reply **holder)
{
	const struct lock *lock = &c->session.lock;
	int count = tally_held_by(&lock->tally, c->outer, holder);

	/* The enclosing run holds one slot; another slot may be free, or become free soon, unless
	 * that run has another limit. */
	if (policy_is_semaphore(&lock->policy))
		return count > 0 && (*holder)->limit > 0;
	/* --reentrant needs a majority that confirms the enclosing lock; a refusal needs only one
	 * node that has its key. An enclosing run with other nodes may have a majority of its own,
	 * and this client would wait for it. */
	return count > 0 && (!c->settings->reentrant || (*holder)->is_shared ||
				    count >= policy_quorum(&lock->policy) || is_outer_contested(c));
}

bool client_is_nested(struct client *c, const struct reply **holder)
{
	if (tally_count(&c->session.lock.tally, VOTE_FOREIGN) > 0)
		learn_outer(c);
	return is_nested(c, holder);
}

bool client_is_open(const struct client *c)
{
	const struct lock *lock = &c->session.lock;
	const struct reply *ignored;

	return lock_state(lock) == LOCK_TRYING &&
	       !(lock_is_pausing(lock) && is_nested(c, &ignored));
}

/* The time of the next message, or of the end of a short wait. */
static usec next_message_at(const struct client *c)
{
	return c->knows_outer ? c->message_at : usec_min(c->began + SHORT_WAIT, c->message_at);
}

/* The lock of an enclosing run is no reason to wait, to revoke it or to warn of its nodes. A short
 * wait is a hand-off among clients that contend, and so ends by itself. */
static void look_above(struct client *c)
{
	if (clock_now() >= c->began + SHORT_WAIT || c->settings->reentrant ||
		c->settings->takeover || lock_is_contested(&c->session.lock))
		learn_outer(c);
}

/* Certificates that were renewed in place, and that cannot be used. */
SELDOM static void warn_of_files(void)
{
	struct err e;

	if (tls_renewal_failed(&e))
		log_say(LOG_NORMAL,
			"cannot use the changed certificates, so the last good ones stay in use: "
			"%s",
			e.text);
}

SELDOM static void warn_not_queued(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	char text[REPORT_MAX];

	log_say(LOG_NORMAL, "%s",
		report_no_queue(text, lock, &c->settings->nodes, &c->settings->keys));
	setup_hint_one(c->settings, lock->waiter.node, &lock->waiter.problem, LOG_NORMAL);
	c->has_warned_not_queued = true;
}

SELDOM static void warn_no_room(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	char text[REPORT_MAX];

	log_say(LOG_NORMAL, "%s",
		report_no_room(text, lock, &c->settings->nodes, &c->settings->keys));
	setup_hint(c->settings, &lock->tally, LOG_NORMAL);
	c->has_warned_no_room = true;
}

void client_go_ahead(struct client *c)
{
	priority_raise(&c->caller);
}

static void fall_back(struct client *c)
{
	priority_restore(&c->caller);
	c->caller.is_raised = false;
}

int client_step(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	struct caught caught;
	/* Messages are due only between attempts. */
	bool signalled = session_step(
		&c->session, lock_is_pausing(lock) ? next_message_at(c) : NEVER, c->wake_fd);

	if (lock_is_pausing(lock))
		fall_back(c);
	else if (lock->attempt.is_woken)
		client_go_ahead(c);
	client_log_reply(c);
	if (node_list_find_tls(&c->settings->nodes))
		warn_of_files();
	if (signalled && signals_next(&c->signals, &caught) && caught.is_fatal)
		return caught.number;
	if (lock_is_pausing(lock))
		look_above(c);
	if (lock->waiter.state == WAITER_POLLS && !c->has_warned_not_queued)
		warn_not_queued(c);
	if (lock->waiter.state == WAITER_QUEUED && lock->waiter.full && !c->has_warned_no_room)
		warn_no_room(c);
	if (lock_is_pausing(lock) && lock->refusal == REFUSAL_BUSY && client_is_open(c)) {
		warn_own_slot(c);
		warn_of_contest(c);
	}
	report_lock(c->name, lock_slot(lock), &c->settings->keys);
	if (lock_state(lock) == LOCK_HELD)
		setup_warn_unguarded(c->settings, &lock->tally);
	if (!c->has_alarmed && is_outage(c))
		alarm_outage(c);
	if (lock_is_pausing(lock) && clock_now() >= c->message_at && client_is_open(c)) {
		show_waiting(c);
		c->message_at =
			clock_now() + (c->is_live ? FIRST_MESSAGE_AFTER : c->message_interval);
		c->message_interval = usec_min(2 * c->message_interval, MESSAGE_INTERVAL_MAX);
	}
	return 0;
}

int client_acquire(struct client *c)
{
	int number = 0;

	while (number == 0 && client_is_open(c))
		number = client_step(c);
	log_clear();
	return number;
}

void client_log_unconfirmed(struct client *c, const char *words)
{
	warn_of_files();
	if (!c->is_unconfirmed)
		log_event(LOG_NORMAL, &(struct log_event){.name = "unconfirmed"}, "%s", words);
	c->is_unconfirmed = true;
}

void client_log_extended(struct client *c, usec valid_until)
{
	char left[DURATION_TEXT_MAX];

	warn_of_files();
	log_event(c->is_unconfirmed ? LOG_NORMAL : LOG_DECISIONS,
		&(struct log_event){.name = "extended"}, "extended %s%s, valid for %s", c->name,
		c->is_unconfirmed ? " again" : "",
		duration_format(left, valid_until - clock_now()));
	c->is_unconfirmed = false;
}

void client_read_replies(struct client *c)
{
	do {
		session_step(&c->session, clock_now(), -1);
		client_log_reply(c);
	} while (c->session.event.kind != EV_TIME);
}

/* ---- releasing the lock ---- */

/* A client that never held the lock, or lost it to another, has no lock to release, only keys of
 * its attempts. */
static bool was_ours(const struct lock *lock)
{
	return lock->tenure.confirmed > 0 && lock->loss != LOSS_DENIED && !lock->policy.only_looks;
}

void client_hint_remedy(struct client *c, enum log_level at)
{
	if (!c->has_hinted_why && setup_has_hint(c->settings, &c->session.lock.tally))
		explain(c, at);
}

void client_hint_loss(struct client *c)
{
	enum loss loss = c->session.lock.loss;

	if (loss == LOSS_EXPIRED)
		client_hint_remedy(c, LOG_ERRORS);
	if (loss == LOSS_CONTESTED)
		log_hint(LOG_ERRORS, CONTEST_HINT);
}

SELDOM static void log_unreleased(const struct client *c, enum log_level at)
{
	const struct lock *lock = &c->session.lock;
	char text[REPORT_MAX];

	log_say(at, "%s",
		report_unreleased(
			text, lock, &c->settings->nodes, &c->settings->keys, clock_now()));
}

SELDOM static void log_released(const struct client *c)
{
	const struct lock *lock = &c->session.lock;
	char left[DURATION_TEXT_MAX];

	if (lock->releasing.leave_for > 0)
		log_say(LOG_DECISIONS, "left %s to expire in %s", c->name,
			duration_format(left, lock->releasing.leave_for));
	else
		log_event(LOG_DECISIONS, &(struct log_event){.name = "released"}, "released %s",
			c->name);
}

SELDOM static void log_unsure(const struct client *c)
{
	char text[REPORT_MAX];

	if (report_unsure(text, &c->session.lock, &c->settings->keys)[0])
		log_say(LOG_DECISIONS, "%s", text);
}

void client_release(struct client *c, usec expire_in)
{
	const struct lock *lock = &c->session.lock;
	struct caught caught;
	bool released, may_remain;
	usec until;

	if (lock_state(lock) == LOCK_HELD)
		client_read_replies(c);
	session_release(&c->session, expire_in);
	fall_back(c);
	while (lock_state(lock) != LOCK_OVER) {
		if (session_step(&c->session, NEVER, c->signals.fd) &&
			signals_next(&c->signals, &caught) && caught.is_fatal) {
			if (c->signalled)
				break;
			c->signalled = true;
		}
		client_log_reply(c);
	}
	released = lock_is_released(lock);
	/* A key that remains on a majority blocks others and is worth a warning; a key on a
	 * minority is not. */
	may_remain = lock->tenure.confirmed && !released;
	if (lock_unreleased(lock, &until) > 0)
		log_unreleased(c, may_remain ? LOG_NORMAL : LOG_DECISIONS);
	if (may_remain)
		client_hint_remedy(c, LOG_NORMAL);
	if (released && was_ours(lock) && log_level() >= LOG_DECISIONS)
		log_released(c);
	if (lock->tenure.confirmed && lock->loss == LOSS_NONE && lock->tally.duplicate[0] < 0 &&
		log_level() >= LOG_DECISIONS)
		log_unsure(c);
	session_close(&c->session);
}

int client_refuse_duplicate(struct client *c)
{
	client_release(c, 0);
	return print_duplicate(&c->session.lock.tally, &c->settings->nodes);
}

int client_refused(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	const struct settings *s = c->settings;
	const char *outcome = client_refusal_word(c);
	char text[REPORT_MAX], holder[HOLDER_TEXT_MAX];
	enum log_level at;
	bool contested = is_contested(c);

	if (lock->refusal == REFUSAL_DUPLICATE)
		return client_refuse_duplicate(c);
	/* Print after the release: by then, replies that were not needed for the decision may have
	 * arrived. */
	client_release(c, 0);
	/* A key that never expires is a problem that does not end without help: report it with
	 * --quiet, too. */
	at = report_way_out(text, &lock->tally, &s->keys) ? LOG_ERRORS : LOG_NORMAL;
	report_refusal(text, lock, &s->nodes, &s->keys, clock_now());
	if (contested) {
		at = c->has_warned_contested ? LOG_NORMAL : LOG_ERRORS;
		log_event(at,
			&(struct log_event){.name = "busy",
				.status = (int)s->conflict_exit_code,
				.holder = report_owner_text(holder, &c->contender)},
			"%s", contest_text(text, c));
		if (!c->has_warned_contested)
			log_hint(at, CONTEST_HINT);
		return (int)s->conflict_exit_code;
	}
	if (lock->refusal == REFUSAL_BUSY) {
		log_event(at,
			&(struct log_event){.name = "busy",
				.status = (int)s->conflict_exit_code,
				.holder = report_holder_text(holder, &lock->tally)},
			"%s", text);
		explain_busy(c, has_no_majority(lock), at);
		return (int)s->conflict_exit_code;
	}
	log_event(LOG_ERRORS, &(struct log_event){.name = outcome, .status = STATUS_NO_QUORUM},
		"%s", text);
	if (lock->refusal == REFUSAL_NO_QUORUM && !c->has_hinted_why)
		explain(c, LOG_ERRORS);
	return STATUS_NO_QUORUM;
}

/* Waiting for a lock of our own enclosing run would never end. */
int client_refuse_nested(struct client *c)
{
	const struct settings *s = c->settings;
	const struct reply *holder;
	bool is_nested = client_is_nested(c, &holder), is_shared = is_nested && holder->is_shared;
	int limit = is_nested ? holder->limit : 0;
	char keys[REPORT_MAX], owner[HOLDER_TEXT_MAX], lists[REPORT_MAX] = "";
	bool contested = is_nested && is_outer_contested(c);
	const struct log_event event = {"busy", (int)s->conflict_exit_code,
		report_holder_text(owner, &c->session.lock.tally)};

	if (contested)
		report_other_nodes(lists, c->session.lock.policy.fingerprint, holder);
	client_release(c, 0);
	if (limit > 0) {
		log_event(LOG_NORMAL, &event,
			"%s is held with limit %d, not %ld, by a run that this one is part of",
			report_keys(keys, &s->keys), limit, s->limit);
		return (int)s->conflict_exit_code;
	}
	log_event(contested ? LOG_ERRORS : LOG_NORMAL, &event,
		"%s %s held by a run that this one is part of%s%s", c->name, report_verb(&s->keys),
		contested ? ", " : "", lists);
	if (contested)
		log_hint(LOG_ERRORS, CONTEST_HINT);
	else if (is_shared)
		log_hint(LOG_NORMAL, "a reader does not become a writer; see --exclusive");
	else if (s->command == COMMAND_RUN && s->keys.count == 1)
		log_hint(LOG_NORMAL, "--reentrant runs the command under that lock");
	return (int)s->conflict_exit_code;
}

const char *client_refusal_word(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	const struct reply *ignored;

	if (lock->tally.duplicate[0] >= 0)
		return "duplicate-node";
	if (client_is_nested(c, &ignored))
		return "busy";
	switch (lock->refusal) {
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

int client_print_refusal(struct client *c)
{
	const struct lock *lock = &c->session.lock;
	struct reply holder;
	const struct reply *ignored;
	struct json j;
	int status, nodes;
	const char *outcome = client_refusal_word(c);
	char ours[FINGERPRINT_MAX];

	/* After the release the replies are the same, or newer. */
	holder = tally_holder(&lock->tally, &nodes);
	if (is_contested(c) && c->contender.vote == VOTE_FOREIGN)
		holder = c->contender;
	if (lock->tally.duplicate[0] >= 0)
		status = client_refuse_duplicate(c);
	else if (client_is_nested(c, &ignored))
		status = client_refuse_nested(c);
	else
		status = client_refused(c);
	if (c->settings->format != FORMAT_JSON)
		return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
	print_begin(&j, c->settings);
	print_outcome(&j, outcome, status);
	json_ms(&j, "waited_ms", clock_now() - c->began);
	json_text(&j, "list", list_of(node_list_fingerprint(ours, &c->settings->nodes)).name);
	if (nodes > 0 && !holder.is_reserved)
		print_holder(&j, "holder", &holder, &c->settings->nodes);
	print_nodes(&j, &lock->tally, &c->settings->nodes, NULL);
	print_end(&j);
	return print_finish() == STATUS_OK ? status : STATUS_INTERNAL;
}

long client_slot(const struct client *c)
{
	const struct lock *lock = &c->session.lock;

	return policy_is_semaphore(&lock->policy) ? lock->stamp.slot : c->settings->limit;
}

/* Unset variables that the shell may have from an earlier lock. */
static void print_unset_old(const struct settings *s, bool has_background, bool has_fence)
{
	if (s->limit == 0)
		print_unset("REDLOCK_LIMIT REDLOCK_SLOT");
	if (!has_background)
		print_unset("REDLOCK_HOLDER_PID");
	if (!has_fence)
		print_unset("REDLOCK_FENCE");
}

void client_print(const struct client *c, long background_pid)
{
	const struct lock *lock = &c->session.lock;
	const struct settings *s = c->settings;
	char id[TOKEN_ID_LEN + 1], pid[24], fence[24], keys[24], slot[24], limit[24], ttl[24];
	char held[CLIENT_HELD_MAX], names[REQUEST_KEY_MAX + 1];
	bool is_semaphore = policy_is_semaphore(&lock->policy);
	struct json j;

	snprintf(id, sizeof(id), "%.*s", TOKEN_ID_LEN, c->session.token);
	snprintf(pid, sizeof(pid), "%ld", background_pid);
	snprintf(keys, sizeof(keys), "%d", s->keys.count);
	snprintf(fence, sizeof(fence), "%lld", (long long)lock->tenure.fence);
	snprintf(slot, sizeof(slot), "%ld", client_slot(c));
	snprintf(limit, sizeof(limit), "%ld", s->limit);
	snprintf(ttl, sizeof(ttl), "%lld", (long long)(s->ttl / USEC_MSEC));
	switch ((enum format)s->format) {
	case FORMAT_PLAIN:
		print_line("%s%s%s%s%s%s%s", id, is_semaphore ? "#" : "", is_semaphore ? slot : "",
			background_pid ? " " : "", background_pid ? pid : "",
			lock->tenure.fence ? " " : "", lock->tenure.fence ? fence : "");
		break;
	case FORMAT_ENV:
		print_unset_old(s, background_pid != 0, lock->tenure.fence != 0);
		print_env("REDLOCK_KEY", settings_text(names, &s->names));
		print_env("REDLOCK_KEYS", keys);
		if (s->limit > 0) {
			print_env("REDLOCK_LIMIT", limit);
			print_env("REDLOCK_SLOT", slot);
		}
		print_env("REDLOCK_TOKEN", id);
		print_env("REDLOCK_TTL_MS", ttl);
		print_env("REDLOCK_HELD", client_held(held, c, id));
		if (background_pid)
			print_env("REDLOCK_HOLDER_PID", pid);
		if (lock->tenure.fence)
			print_env("REDLOCK_FENCE", fence);
		setup_print(s);
		break;
	case FORMAT_JSON:
		print_begin(&j, s);
		print_outcome(&j, "acquired", STATUS_OK);
		if (s->limit > 0)
			json_number(&j, "slot", client_slot(c));
		json_text(&j, "token", id);
		if (background_pid)
			json_number(&j, "holder_pid", background_pid);
		json_ms(&j, "waited_ms", clock_now() - c->began);
		if (lock->tenure.fence)
			json_number(&j, "fence", lock->tenure.fence);
		json_ms(&j, "ttl_ms", s->ttl);
		json_ms(&j, "valid_ms", lock->tenure.valid_until - clock_now());
		print_nodes(&j, &lock->tally, &s->nodes, NULL);
		print_end(&j);
		break;
	}
}
