#include "net/pool.h"

#include "base/alarm.h"

#include <string.h>
#include <unistd.h>

/* A wait of at least this time uses a timer that continues while the machine is suspended. */
#define LONG_WAIT USEC_SEC

/* So often what arrives is read before the time is told in any case. A look reads up to 16 kB of
 * each node, and the longest reply has 64 kB. */
#define LOOKS_MAX 64

int pool_init(struct pool *p, const struct node_list *nodes, usec timeout, struct err *e)
{
	p->alarm = alarm_open(e);
	if (p->alarm < 0)
		return -1;
	p->count = nodes->count;
	p->next = p->looks = 0;
	p->was_refused = false;
	p->told = 0;
	resolve_nodes(nodes, timeout, p->addresses);
	for (int i = 0; i < p->count; i++) {
		p->reported[i] = CONN_DOWN;
		p->others[i] = NULL;
		conn_init(&p->conn[i], &nodes->node[i], &p->addresses[i]);
	}
	return 0;
}

void pool_open(struct pool *p, int node)
{
	conn_open(&p->conn[node]);
	p->told &= ~(1u << node);
	p->others[node] = others_look(p->others[node], &p->conn[node], true);
	p->reported[node] = CONN_OPENING;
}

bool pool_knows(const struct pool *p, int node)
{
	return (p->told >> node & 1 && others_know(p->others[node])) ||
	       (p->count == 1 && !p->addresses[node].is_name);
}

static bool has_news(const struct pool *p, int i)
{
	return p->conn[i].state != p->reported[i] && p->conn[i].state != CONN_OPENING;
}

bool pool_has_link_news(const struct pool *p)
{
	for (int i = 0; i < p->count; i++)
		if (has_news(p, i))
			return true;
	return false;
}

void pool_drop(struct pool *p, int node)
{
	conn_abort(&p->conn[node]);
	p->reported[node] = CONN_DOWN;
}

static bool link_changed(struct pool *p, int i, struct event *ev)
{
	struct conn *c = &p->conn[i];

	if (!has_news(p, i))
		return false;
	p->reported[i] = c->state;
	p->was_refused |= c->state == CONN_DOWN && c->failure.changed_nothing;
	p->reply = c->state == CONN_DOWN ? c->failure : reply_absent(conn_late_reason(c), NULL);
	ev->kind = c->state == CONN_UP     ? EV_LINK_UP
		   : c->state == CONN_DOWN ? EV_LINK_DOWN
					   : EV_LINK_SHAKES;
	ev->node = i;
	ev->reply = &p->reply;
	return true;
}

/* If another address of the name is that of another master, the node has no vote. The next vote
 * needs a new look. */
static void judge(struct pool *p, int i)
{
	if (others_judge(p->others[i], p->reply.run_id))
		p->reply = reply_absent(REASON_SEVERAL, NULL);
	p->others[i] = others_look(p->others[i], &p->conn[i], false);
}

static bool take_reply(struct pool *p, int i, struct event *ev)
{
	struct pending request;

	if (p->reported[i] != CONN_UP || !conn_next_reply(&p->conn[i], &request, &p->reply))
		return false;
	p->was_refused |= p->reply.changed_nothing;
	p->told |= (unsigned)(p->reply.run_id[0] != '\0') << i;
	if (conn_may_vote(request.op))
		judge(p, i);
	ev->kind = request.is_push ? EV_WAKE : EV_REPLY;
	ev->node = i;
	ev->op = request.op;
	ev->round = request.round;
	ev->reply = &p->reply;
	p->took = clock_now() - request.sent_at;
	return true;
}

/* Finds an event without waiting. Replies come first: an unreadable reply takes its connection
 * down, which must be reported before the next wait. */
static bool find_event(struct pool *p, struct event *ev)
{
	for (int n = 0; n < p->count; n++) {
		int i = (p->next + n) % p->count;

		if (take_reply(p, i, ev) || link_changed(p, i, ev)) {
			p->next = (i + 1) % p->count;
			return true;
		}
	}
	return false;
}

/* Looks for something that has arrived, and waits for it until `until`. Returns true if nothing had
 * arrived on any connection, or is due there. */
static bool look(struct pool *p, usec now, usec until, int wake_fd)
{
	struct pollfd fds[3 * NODES_MAX + 2];
	nfds_t count = (nfds_t)p->count + 2, others[NODES_MAX];
	bool is_quiet = true;
	usec in;

	for (int i = 0; i < p->count; i++) {
		fds[i] = (struct pollfd){.fd = p->conn[i].fd, .events = conn_wants(&p->conn[i])};
		until = usec_min(until, conn_due(&p->conn[i]));
		until = usec_min(until, others_due(p->others[i]));
	}
	for (int i = 0; i < p->count; i++) {
		const struct pollfd beside = others_poll(p->others[i]);

		others[i] = 0;
		if (beside.fd >= 0)
			fds[others[i] = count++] = beside;
		if (conn_lookup(&p->conn[i]) >= 0)
			fds[count++] =
				(struct pollfd){.fd = conn_lookup(&p->conn[i]), .events = POLLIN};
	}
	fds[p->count] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	fds[p->count + 1] = (struct pollfd){.fd = -1, .events = POLLIN};
	in = until == NEVER ? NEVER : usec_max(until - now, 0);
	if (until != NEVER && in > LONG_WAIT) {
		alarm_set(p->alarm, until);
		fds[p->count + 1].fd = p->alarm;
	}
	if (alarm_wait(fds, count, in) < 0)
		return false;
	for (int i = 0; i < p->count; i++) {
		if (others[i] && (fds[others[i]].revents || others_due(p->others[i]) <= now))
			others_handle(p->others[i], fds[others[i]].revents);
		if (fds[i].revents || conn_due(&p->conn[i]) <= now) {
			conn_handle(&p->conn[i], fds[i].revents);
			is_quiet = false;
		} else if (conn_lookup(&p->conn[i]) >= 0) {
			conn_handle(&p->conn[i], 0);
		}
	}
	p->woken |= fds[p->count].revents != 0;
	return is_quiet;
}

void pool_next(struct pool *p, usec until, int wake_fd, struct event *ev)
{
	bool is_quiet = false;

	memset(ev, 0, sizeof(*ev));
	p->woken = false;
	while (!find_event(p, ev)) {
		bool is_endless = p->looks == LOOKS_MAX;

		if (is_endless || (is_quiet && (p->woken || p->looks > 0))) {
			ev->kind = EV_TIME;
			/* Else that of the last look: what has arrived since then is unread. */
			if (is_endless)
				ev->now = clock_now();
			p->looks = 0;
			return;
		}
		ev->now = clock_now();
		until = p->woken ? usec_min(until, ev->now) : until;
		p->looks = ev->now < until ? 0 : p->looks + 1;
		is_quiet = look(p, ev->now, until, wake_fd);
	}
	ev->now = clock_now();
}

void pool_close(struct pool *p)
{
	close(p->alarm);
	for (int i = 0; i < p->count; i++)
		conn_close(&p->conn[i]);
	for (int i = 0; i < p->count; i++) {
		others_free(p->others[i]);
		addresses_free(&p->addresses[i]);
	}
}
