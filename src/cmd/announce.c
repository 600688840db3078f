#include "cmd/announce.h"

#include "base/exit.h"
#include "base/frame.h"
#include "base/log.h"
#include "cmd/setup.h"
#include "proc/notify.h"
#include "report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hook that runs redlock must not run a hook for that lock in turn. */
#define MARK "REDLOCK_EVENT"

/* ---- the command of --on-event ---- */

/* The variables that all events have. The command gets no token: it must not act on the lock. */
static void set_environment(const struct settings *s)
{
	char nodes[NODES_MAX * NODE_LABEL_MAX], keys[24], names[REQUEST_KEY_MAX + 1];

	node_list_format(&s->nodes, nodes, sizeof(nodes));
	snprintf(keys, sizeof(keys), "%d", s->keys.count);
	setenv("REDLOCK_KEY", settings_text(names, &s->names), 1);
	setenv("REDLOCK_KEYS", keys, 1);
	setenv("REDLOCK_NODES", nodes, 1);
	unsetenv("REDLOCK_TOKEN");
	unsetenv("REDLOCK_ON_EVENT");
	setup_command(s);
}

static void add_number(struct hook_event *ev, const char *name, long long number)
{
	char text[24] = "";

	if (number >= 0)
		snprintf(text, sizeof(text), "%lld", number);
	hook_add(ev, name, text);
}

/* Each event has all variables, so that none is left of the event before. Of status and slot, -1
 * and 0 stand for none. */
SELDOM static void send_to_hook(struct announcer *a, const char *name, int status, long slot)
{
	struct hook_event ev = {.used = 0};
	char holder[HOLDER_TEXT_MAX];
	long long fence = (long long)a->lock->tenure.fence;

	snprintf(ev.name, sizeof(ev.name), "%s", name);
	hook_add(&ev, MARK, name);
	add_number(&ev, "REDLOCK_STATUS", status);
	add_number(&ev, "REDLOCK_FENCE", fence > 0 ? fence : -1);
	add_number(&ev, "REDLOCK_SLOT", slot > 0 ? slot : -1);
	if (strcmp(name, "busy") == 0)
		hook_add(&ev, "REDLOCK_HOLDER", report_holder_text(holder, &a->lock->tally));
	else
		hook_add(&ev, "REDLOCK_HOLDER", "");
	hook_send(&a->hook, &ev);
}

static void send_event(struct announcer *a, const char *name, int status, long slot)
{
	if (a->hook.is_open)
		send_to_hook(a, name, status, slot);
}

/* ---- the service manager ---- */

/* The keys in `name` are quoted and on one line. */
SELDOM static void send_state(const struct announcer *a, const char *state, const char *verb)
{
	char text[REPORT_MAX + 64];

	snprintf(text, sizeof(text), "%sSTATUS=%s %s\n", state, verb, a->name);
	notify_send(text);
}

static void notify(const struct announcer *a, const char *state, const char *verb)
{
	if (a->is_service)
		send_state(a, state, verb);
}

/* ---- both ---- */

int announce_open(struct announcer *a, const struct settings *s, const struct lock *lock,
	const char *name, const struct signals *signals, struct err *e)
{
	pid_t pid;

	a->settings = s;
	a->lock = lock;
	a->name = name;
	/* The process that systemd watches is the command's; `hold` leaves the foreground. */
	a->is_service = s->command == COMMAND_RUN && getenv("NOTIFY_SOCKET");
	if (!s->on_event || getenv(MARK))
		return 0;
	if (hook_start(&a->hook, &pid, e) < 0)
		return -1;
	if (pid == 0) {
		set_environment(s);
		if (s->command == COMMAND_HOLD && (!s->log || strcmp(s->log, "stderr") == 0))
			log_to_syslog();
		hook_serve(&a->hook, s->on_event, signals, s->command == COMMAND_HOLD);
	}
	return 0;
}

void announce_waiting(struct announcer *a)
{
	if (!a->settings || a->is_waiting)
		return;
	a->is_waiting = true;
	notify(a, "", "waiting for");
}

void announce_acquired(struct announcer *a, long slot)
{
	if (!a->settings)
		return;
	a->is_held = true;
	send_event(a, "acquired", -1, slot);
	notify(a, "READY=1\n", "holding");
}

void announce_lost(struct announcer *a)
{
	if (!a->is_held || a->is_lost)
		return;
	a->is_lost = true;
	send_event(a, "lost", STATUS_LOST, 0);
	notify(a, "", "lost");
}

void announce_stopping(struct announcer *a)
{
	if (!a->is_held || a->is_stopping)
		return;
	a->is_stopping = true;
	notify(a, "STOPPING=1\n", a->is_lost ? "lost" : "releasing");
}

void announce_end(struct announcer *a, const char *outcome, int status)
{
	if (!a->settings)
		return;
	if (a->is_held) {
		/* The replies to the release may show a loss that was not known before. */
		if (strcmp(outcome, "lost") == 0)
			announce_lost(a);
		else if (!a->is_lost)
			send_event(a, "released", status, 0);
		return;
	}
	if (strcmp(outcome, "busy") == 0 || strcmp(outcome, "done") == 0)
		send_event(a, outcome, status, 0);
	else if (strcmp(outcome, "no-quorum") == 0 || strcmp(outcome, "too-slow") == 0)
		send_event(a, "no-quorum", status, 0);
}

void announce_close(struct announcer *a, struct signals *signals)
{
	hook_close(&a->hook, signals);
}
