/*
 * The kernel under redlock's own net/conn.c, net/pool.c and net/session.c: sockets, poll(2), clocks
 * and randomness, and the functions of net/resolve.h and net/others.h, all driven by the seed. The
 * linker leads redlock's system calls to the functions __wrap_...() (mk/tests.mk).
 */
#include "sim/sim.h"
#include "sim/wrapped.h"

#include "base/alarm.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define ALARM_FD 999 /* never closed: see close() */
#define LOOKUP_FD 900 /* of the first node */
#define FD_FIRST 1000
#define SOCKETS (SIM_CLIENTS * SIM_NODES + 2)

#define TORN_PERCENT 10 /* of the reads return a part of what has arrived, */
#define FULL_PERCENT 2 /* and of the sends find room for a part of the bytes */
#define FLOOD_TIME 200 /* microseconds to read a part of a flood */
#define FLOOD_LOOKS 100 /* the client may look so often before it tells the time */

/* ---- clocks, randomness ---- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	/* This machine is never suspended: all its other clocks agree. */
	usec now = id == CLOCK_REALTIME ? client_wall(running) : client_clock(running);

	ts->tv_sec = now / USEC_SEC;
	ts->tv_nsec = now % USEC_SEC * 1000;
	return 0;
}

ssize_t getrandom(void *dst, size_t length, unsigned int flags)
{
	unsigned char *bytes = dst;

	(void)flags;
	for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
		uint64_t bits = draw();

		memcpy(bytes + i, &bits, length - i < sizeof(bits) ? length - i : sizeof(bits));
	}
	return (ssize_t)length;
}

/* ---- names: the address of a node has its number; a name may lead to another server ---- */

/* A lookup takes a while; it finds where the name led when it began. */
struct lookup {
	bool is_running, finds_other;
	usec done_at;
};
static struct lookup lookups[SIM_CLIENTS][SIM_NODES];

static int node_at(const struct sockaddr *address)
{
	return address->sa_data[0];
}

static int node_of_addresses(const struct addresses *a)
{
	return (int)(a - running->session.pool.addresses);
}

static struct lookup *lookup_of(const struct addresses *a)
{
	return &lookups[running->id][node_of_addresses(a)];
}

void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX])
{
	static struct address address[SIM_NODES];

	for (int i = 0; i < list->count; i++) {
		struct sockaddr at = {.sa_family = world.is_local ? AF_UNIX : AF_INET};

		at.sa_data[0] = (char)i;
		memcpy(&address[i].at, &at, sizeof(at));
		address[i].len = sizeof(at);
		out[i] = (struct addresses){.count = 1,
			.address = &address[i],
			.is_name = world.profile->guards,
			.asked_at = clock_now(),
			.timeout = timeout};
		lookups[running->id][i] = (struct lookup){.is_running = false};
	}
}

void addresses_take(struct addresses *a)
{
	struct lookup *l = lookup_of(a);

	if (!l->is_running || world.now < l->done_at)
		return;
	l->is_running = false;
	a->answers += l->finds_other;
}

/* The same ages as in net/resolve.c. A name server answers within an eighth of the node time-out: a
 * vote would not wait for longer than a quarter. */
void addresses_renew(struct addresses *a, const struct node *node)
{
	usec age = clock_now() - a->asked_at;
	struct lookup *l = lookup_of(a);

	(void)node;
	addresses_take(a);
	if (!a->is_name || (age < usec_min(USEC_SEC, a->timeout / 5) && !a->is_stale) ||
		l->is_running)
		return;
	a->asked_at = clock_now();
	a->is_stale = false;
	*l = (struct lookup){.is_running = true,
		.finds_other = world.wire[running->id][node_of_addresses(a)].is_to_left,
		.done_at = world.now + draw_between(0, a->timeout / 8)};
}

bool kernel_finds_other(int client, int node)
{
	return lookups[client][node].finds_other;
}

usec addresses_due(const struct addresses *a)
{
	return lookup_of(a)->is_running ? a->asked_at + a->timeout / 4 : 0;
}

int addresses_wait(const struct addresses *a)
{
	return lookup_of(a)->is_running ? LOOKUP_FD + node_of_addresses(a) : -1;
}

bool addresses_have(const struct addresses *a, const struct sockaddr_storage *address)
{
	(void)a;
	return !world.wire[running->id][node_at((const struct sockaddr *)address)].is_to_left;
}

bool addresses_are_several(const struct addresses *a)
{
	(void)a;
	return false;
}

void addresses_free(struct addresses *a)
{
	(void)a;
}

bool addresses_overlap(const struct addresses *a, const struct addresses *b)
{
	(void)a, (void)b;
	return false;
}

/* No name has several addresses. */
struct others *others_look(struct others *o, const struct conn *c, bool is_new)
{
	(void)c, (void)is_new;
	return o;
}

struct pollfd others_poll(const struct others *o)
{
	(void)o;
	return (struct pollfd){.fd = -1};
}

usec others_due(const struct others *o)
{
	(void)o;
	return NEVER;
}

void others_handle(struct others *o, short revents)
{
	(void)o, (void)revents;
}

bool others_know(const struct others *o)
{
	(void)o;
	return true;
}

bool others_judge(struct others *o, const char *run_id)
{
	(void)o, (void)run_id;
	return false;
}

void others_free(struct others *o)
{
	(void)o;
}

/* ---- sockets ---- */

static struct socket {
	bool is_open;
	bool is_shut; /* shutdown(2) */
	bool is_reset; /* it sends a reset when it is closed */
	bool is_full; /* the last send found little room, */
	bool is_torn; /* the last read returned a part of what had arrived */
	int client, node; /* -1: not connected, or one of a pair */
	uint32_t wire;
	int bytes; /* of a pair: sent and not read */
} sockets[SOCKETS];

static struct socket *socket_of(int fd)
{
	int i = fd - FD_FIRST;

	return i >= 0 && i < SOCKETS && sockets[i].is_open ? &sockets[i] : NULL;
}

/* NULL: the connection is not there any more. */
static struct wire *wire_of(const struct socket *s)
{
	struct wire *w;

	if (!s || s->node < 0)
		return NULL;
	w = &world.wire[s->client][s->node];
	return w->id == s->wire ? w : NULL;
}

int __wrap_socket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	for (int i = 0; i < SOCKETS; i++)
		if (!sockets[i].is_open) {
			sockets[i] =
				(struct socket){.is_open = true, .client = running->id, .node = -1};
			return FD_FIRST + i;
		}
	abort();
}

int __wrap_socketpair(int domain, int type, int protocol, int fd[2])
{
	fd[0] = __wrap_socket(domain, type, protocol);
	fd[1] = __wrap_socket(domain, type, protocol);
	return 0;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	struct socket *s = socket_of(fd);

	(void)len;
	if (to->sa_family == AF_UNSPEC) {
		s->is_reset = true;
		return 0;
	}
	s->node = node_at(to);
	s->wire = net_connect(s->client, s->node);
	errno = EINPROGRESS;
	return -1;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	(void)fd, (void)level, (void)name, (void)value, (void)len;
	return 0;
}

/* SO_ERROR: was the connection refused? */
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	const struct wire *w = wire_of(socket_of(fd));
	int error = w && w->is_up ? 0 : ECONNREFUSED;

	(void)level, (void)name;
	memcpy(value, &error, *len);
	return 0;
}

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *len)
{
	*len = running->session.pool.addresses[0].address[0].len;
	address->sa_family = world.is_local ? AF_UNIX : AF_INET;
	address->sa_data[0] = (char)socket_of(fd)->node;
	return 0;
}

static ssize_t fail(int error)
{
	errno = error;
	return -1;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
	struct socket *s = socket_of(fd);
	struct wire *w = wire_of(s);

	(void)flags;
	if (s->node < 0) { /* of a pair */
		s->bytes += (int)len;
		return (ssize_t)len;
	}
	if (!w || w->is_broken || s->is_shut)
		return fail(EPIPE);
	if (s->is_full) {
		s->is_full = false;
		return fail(EAGAIN);
	}
	if (len > 1 && !world.profile->are_rivals && draw_percent(FULL_PERCENT)) {
		s->is_full = true;
		len = (size_t)draw_between(1, (int64_t)len - 1);
	}
	net_send(s->client, s->node, bytes, len);
	return (ssize_t)len;
}

static bool is_flooded(const struct wire *w)
{
	return w->is_broken && world.now < w->floods_until;
}

/* Messages that no lock has a use for; or, where none may come, a reply that never ends. */
static ssize_t flood(struct wire *w, char *dst, size_t size)
{
	static const char message[] = ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$0\r\n\r\n",
			  reply[] = "$500000000\r\n";
	const size_t whole = sizeof(message) - 1, begins = sizeof(reply) - 1;
	size_t len = 0;

	if (w->has_resp3) {
		for (; len + whole <= size; len += whole)
			memcpy(dst + len, message, whole);
		return (ssize_t)len;
	}
	memset(dst, 'x', size);
	if (!w->has_flooded)
		memcpy(dst, reply, begins);
	w->has_flooded = true;
	return (ssize_t)size;
}

ssize_t __wrap_recv(int fd, void *dst, size_t size, int flags)
{
	struct socket *s = socket_of(fd);
	struct wire *w = wire_of(s);
	size_t len;

	(void)flags;
	if (!w)
		return fail(ECONNRESET);
	len = w->inbox_len - w->inbox_read;
	if (len > 0) {
		len = len < size ? len : size;
		/* The number of draws does not depend on that of the bytes. */
		s->is_torn = !s->is_torn && draw_percent(TORN_PERCENT) && len > 1;
		if (s->is_torn)
			len = (size_t)draw_between(1, (int64_t)len - 1);
		memcpy(dst, w->inbox + w->inbox_read, len);
		w->inbox_read += len;
		if (w->inbox_read == w->inbox_len)
			w->inbox_read = w->inbox_len = 0;
		return (ssize_t)len;
	}
	if (is_flooded(w))
		return flood(w, dst, size);
	if (w->is_broken)
		return draw_percent(50) ? 0 : fail(ECONNRESET);
	return fail(EAGAIN);
}

int __wrap_shutdown(int fd, int how)
{
	(void)how;
	socket_of(fd)->is_shut = true;
	return 0;
}

/* TIOCOUTQ: the bytes that the other side has not read. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	const struct socket *s = socket_of(fd);
	va_list rest;

	assert(request == TIOCOUTQ);
	va_start(rest, request);
	*va_arg(rest, int *) = s->node < 0  ? s->bytes
			       : wire_of(s) ? net_unread(s->client, s->node)
					    : 0;
	va_end(rest);
	return 0;
}

int close(int fd)
{
	struct socket *s = socket_of(fd);

	if (!s)
		return 0;
	if (wire_of(s))
		net_close(s->client, s->node, s->is_shut && !s->is_reset);
	s->is_open = false;
	return 0;
}

/* ---- sleeping ---- */

int alarm_open(struct err *e)
{
	(void)e;
	return ALARM_FD;
}

void alarm_set(int fd, usec at)
{
	(void)fd, (void)at; /* alarm_wait() has the same time */
}

bool alarm_is_signalled(void)
{
	return false;
}

/* For base/log, which does not ask before it writes. */
int alarm_poll(struct pollfd *fds, size_t count, usec most)
{
	(void)fds, (void)most;
	return (int)count;
}

/* The time in which a client reads a part of a flood, until the client can look again. NEVER: there
 * is none. */
static usec read_flood(struct client *c, const struct pollfd *fds, size_t count)
{
	usec until = NEVER;

	for (size_t i = 0; i < count; i++) {
		struct socket *s = socket_of(fds[i].fd);
		struct wire *w = wire_of(s);

		if (!w || !is_flooded(w) || !(fds[i].events & POLLIN))
			continue;
		until = world.now + FLOOD_TIME;
		/* A client that was told has another time to be told. */
		if (client_clock(c) < c->session.wake_at || c->session.wake_at != w->untold_at)
			w->untold = 0;
		w->untold_at = c->session.wake_at;
		w->untold += client_clock(c) >= c->session.wake_at;
		if (w->untold > FLOOD_LOOKS)
			breach("flood", "c%d is not told the time while n%d floods it", c->id,
				s->node);
	}
	return until;
}

static bool is_lookup(const struct pollfd *fd)
{
	return fd->fd >= LOOKUP_FD && fd->fd < LOOKUP_FD + SIM_NODES;
}

static usec lookup_done_at(const struct client *c, const struct pollfd *fd)
{
	return lookups[c->id][fd->fd - LOOKUP_FD].done_at;
}

static short ready(const struct client *c, const struct pollfd *fd)
{
	const struct wire *w = wire_of(socket_of(fd->fd));
	bool is_readable = w && (w->inbox_len > 0 || w->is_broken);
	bool is_writable = w && (w->is_up || w->is_broken);

	if (is_lookup(fd))
		return world.now >= lookup_done_at(c, fd) ? POLLIN : 0;
	return (short)(fd->events & ((is_readable ? POLLIN : 0) | (is_writable ? POLLOUT : 0)));
}

static int look(struct client *c, struct pollfd *fds, size_t count)
{
	int found = 0;

	for (size_t i = 0; i < count; i++) {
		fds[i].revents = ready(c, &fds[i]);
		/* That of the command; it has no number here. */
		if (count > 1 && i == (size_t)c->session.pool.count)
			fds[i].revents = c->told_over ? POLLIN : 0;
		found += fds[i].revents != 0;
	}
	return found;
}

/* Sleeps until bytes arrive, the time has come, or the command has exited. */
int alarm_wait(struct pollfd *fds, size_t count, usec most)
{
	struct client *c = running;
	usec until = most == NEVER ? NEVER : true_time(c, client_clock(c) + most), floods;
	int found;

	for (int i = 0; i < c->session.pool.count && count > 1; i++)
		if (c->session.pool.conn[i].state == CONN_DOWN &&
			c->session.pool.reported[i] != CONN_DOWN)
			breach("answers", "c%d sleeps, not told that n%d is lost", c->id, i);
	for (size_t i = 0; i < count; i++)
		if (is_lookup(&fds[i]))
			until = usec_min(until, lookup_done_at(c, &fds[i]));
	floods = read_flood(c, fds, count);
	client_wait(
		look(c, fds, count) > 0 && floods == NEVER ? world.now : usec_min(until, floods));
	found = look(c, fds, count);
	if (count > 1)
		c->told_over = false;
	return found;
}
