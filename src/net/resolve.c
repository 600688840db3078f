#include "net/resolve.h"

#include "base/alarm.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#if defined(STATIC) && defined(__GLIBC__)
#include <nss.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The first and the longest pause between two looks at pending lookups. */
#define LOOK_APART 100
#define LOOK_APART_MAX (5 * USEC_MSEC)

/* When most names are known, the other names get this time, or as much time as the first took. */
#define GRACE (50 * USEC_MSEC)

/* The age of the last lookup after which a new connection or a vote starts a new one, or a fifth of
 * the node time-out if that is less: with every permitted node time-out, less than the tenth of the
 * TTL by which a quarantine is longer than a lock. And the age after which an unfinished lookup is
 * abandoned. */
#define AGAIN_AFTER USEC_SEC

/* The first lookup gets this time, or the node time-out if that is longer. A resolver asks again
 * after 5 s if a packet was lost (resolv.conf(5), timeout). */
#define FIRST_TIME (6 * USEC_SEC)

#define FORGET_AFTER (60 * USEC_SEC)

enum lookup_state {
	LOOKUP_OPEN,
	LOOKUP_DONE,
	LOOKUP_ABANDONED, /* the lookup is no longer needed: its thread frees it */
};

struct lookup {
	atomic_int state;
	pid_t process; /* its thread runs in this process */
	int done; /* an eventfd, readable from just before LOOKUP_DONE on */
	char host[NODE_HOST_MAX];
	char port[8];
	struct addrinfo hints, *info;
	int rc;
};

void resolve_without_plugins(void)
{
#if defined(STATIC) && defined(__GLIBC__)
	/* Other modules of nsswitch.conf would be loaded and bring the shared libc into a static
	 * program, which crashes it; systemd's module for users does. */
	(void)__nss_configure_lookup("hosts", "files dns");
	(void)__nss_configure_lookup("passwd", "files");
#endif
}

static void lookup_free(struct lookup *l)
{
	if (l->info)
		freeaddrinfo(l->info);
	close(l->done);
	free(l);
}

static void *look_up(void *arg)
{
	struct lookup *l = arg;

	l->rc = getaddrinfo(l->host, l->port, &l->hints, &l->info);
	(void)eventfd_write(l->done, 1);
	if (atomic_exchange(&l->state, LOOKUP_DONE) == LOOKUP_ABANDONED)
		lookup_free(l);
	return NULL;
}

static void prepare(struct lookup *l, const struct node *node)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->host, sizeof(l->host), "%s", node->host);
	snprintf(l->port, sizeof(l->port), "%d", node->port);
	l->hints.ai_socktype = SOCK_STREAM;
	l->hints.ai_flags = AI_NUMERICSERV;
}

static struct lookup *lookup_start(const struct node *node)
{
	struct lookup *l = malloc(sizeof(*l));
	pthread_attr_t detached;
	pthread_t thread;
	int rc;

	if (!l)
		return NULL;
	prepare(l, node);
	l->process = getpid();
	l->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	rc = l->done < 0 ? errno : pthread_create(&thread, &detached, look_up, l);
	pthread_attr_destroy(&detached);
	if (rc == 0)
		return l;
	lookup_free(l);
	return NULL;
}

/* Before `b`, of the same family? */
static bool is_lower(const struct addrinfo *a, const struct address *b)
{
	const struct sockaddr_in *a4 = (const void *)a->ai_addr, *b4 = (const void *)&b->at;
	const struct sockaddr_in6 *a6 = (const void *)a->ai_addr, *b6 = (const void *)&b->at;

	if (a->ai_family != b->at.ss_family)
		return false;
	return a->ai_family == AF_INET
		       ? memcmp(&a4->sin_addr, &b4->sin_addr, sizeof(a4->sin_addr)) < 0
		       : memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) < 0;
}

/* Makes room for so many addresses in place of those before. */
static bool make_room(struct addresses *out, int count)
{
	struct address *grown = realloc(out->address, (size_t)count * sizeof(*grown));

	if (!grown) {
		snprintf(out->why, sizeof(out->why), "%s", strerror(ENOMEM));
		return false;
	}
	out->address = grown;
	out->count = 0;
	return true;
}

/* Name servers rotate the addresses of a name. The addresses of a family get an order that is the
 * same for all clients: if two of them are masters, all clients ask the same one. */
static void take(struct addresses *out, const struct addrinfo *info)
{
	int count = 0;

	for (const struct addrinfo *next = info; next; next = next->ai_next)
		count++;
	if (!make_room(out, count < ADDRESSES_MAX ? count : ADDRESSES_MAX))
		return;
	for (; out->count < count && out->count < ADDRESSES_MAX; info = info->ai_next) {
		int i = out->count++;

		for (; i > 0 && is_lower(info, &out->address[i - 1]); i--)
			out->address[i] = out->address[i - 1];
		memcpy(&out->address[i].at, info->ai_addr, info->ai_addrlen);
		out->address[i].len = info->ai_addrlen;
	}
}

static void take_unix(struct addresses *out, const char *path)
{
	struct sockaddr_un *un;
	struct stat file;

	if (!make_room(out, 1))
		return;
	un = (struct sockaddr_un *)&out->address[0].at;
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	if (stat(path, &file) == 0) {
		out->device = file.st_dev;
		out->inode = file.st_ino;
	}
	out->address[0].len = (socklen_t)sizeof(*un);
	out->count = 1;
}

/* A literal address needs no resolver and no thread. */
static bool take_at_once(struct addresses *out, const struct node *node)
{
	struct lookup l;

	prepare(&l, node);
	l.hints.ai_flags |= AI_NUMERICHOST;
	if (getaddrinfo(l.host, l.port, &l.hints, &l.info) != 0)
		return false;
	take(out, l.info);
	freeaddrinfo(l.info);
	return true;
}

static void start(struct addresses *a, const struct node *node)
{
	a->asked_at = clock_now();
	a->lookup = lookup_start(node);
	a->is_unknown = false;
	snprintf(a->why, sizeof(a->why), "%s",
		a->lookup ? "the resolver does not answer" : "the lookup could not be started");
}

/* Old addresses stay if the name no longer exists. */
void addresses_take(struct addresses *a)
{
	struct lookup *l = a->lookup;

	if (!l || atomic_load(&l->state) != LOOKUP_DONE)
		return;
	if (l->info) {
		take(a, l->info);
		a->answers++;
	} else {
		snprintf(a->why, sizeof(a->why), "%s", gai_strerror(l->rc));
		a->is_unknown = l->rc == EAI_NONAME;
	}
	lookup_free(l);
	a->lookup = NULL;
}

/* Was the process forked during the lookup? Its thread runs in the other process, on that process's
 * copy of the lookup. */
static bool lost_its_thread(const struct lookup *l)
{
	return l && l->process != getpid();
}

/* Abandons the lookup. */
static void abandon(struct addresses *a)
{
	struct lookup *l = a->lookup;

	if (!l)
		return;
	a->lookup = NULL;
	if (lost_its_thread(l) || atomic_exchange(&l->state, LOOKUP_ABANDONED) == LOOKUP_DONE)
		lookup_free(l);
}

void addresses_free(struct addresses *a)
{
	abandon(a);
	free(a->address);
	a->address = NULL;
}

void addresses_renew(struct addresses *a, const struct node *node)
{
	usec age;

	addresses_take(a);
	if (lost_its_thread(a->lookup)) {
		abandon(a);
		start(a, node);
	}
	age = clock_now() - a->asked_at;
	if (!a->is_name || (age < usec_min(AGAIN_AFTER, a->timeout / 5) && !a->is_stale))
		return;
	if (a->lookup && age >= FORGET_AFTER)
		abandon(a);
	if (!a->lookup) {
		start(a, node);
		a->is_stale = false;
	}
}

usec addresses_due(const struct addresses *a)
{
	if (!a->lookup || lost_its_thread(a->lookup))
		return 0;
	return a->asked_at + (a->count > 0 ? a->timeout / 4 : usec_max(a->timeout, FIRST_TIME));
}

int addresses_wait(const struct addresses *a)
{
	return a->lookup && !lost_its_thread(a->lookup) ? a->lookup->done : -1;
}

/* Returns the number of known names; *open is the number of unfinished lookups. */
static int take_all_found(struct addresses out[NODES_MAX], int count, int *open)
{
	int known = 0;

	*open = 0;
	for (int i = 0; i < count; i++) {
		addresses_take(&out[i]);
		known += out[i].count > 0;
		*open += out[i].lookup != NULL;
	}
	return known;
}

void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX])
{
	usec began = clock_now(), end = began + usec_max(timeout, FIRST_TIME), apart = LOOK_APART;
	bool is_enough = false;
	int open;

	for (int i = 0; i < list->count; i++) {
		const struct node *node = &list->node[i];

		out[i].count = 0;
		out[i].address = NULL;
		out[i].inode = 0;
		out[i].lookup = NULL;
		out[i].asked_at = 0;
		out[i].timeout = timeout;
		out[i].is_stale = false;
		out[i].answers = 0;
		if (node->kind == NODE_UNIX)
			take_unix(&out[i], node->host);
		out[i].is_name = node->kind != NODE_UNIX && !take_at_once(&out[i], node);
		if (out[i].is_name)
			start(&out[i], node);
	}
	for (;;) {
		int known = take_all_found(out, list->count, &open);
		usec now = clock_now();
		struct timespec ts = clock_timespec(apart);

		if (open == 0 || now >= end || alarm_is_signalled())
			return;
		if (known > list->count / 2 && !is_enough)
			end = usec_min(end, usec_max(now + GRACE, 2 * now - began));
		is_enough = known > list->count / 2;
		(void)nanosleep(&ts, NULL);
		apart = usec_min(2 * apart, LOOK_APART_MAX);
	}
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	switch (a->ss_family) {
	case AF_INET:
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	case AF_INET6:
		return a6->sin6_port == b6->sin6_port && a6->sin6_scope_id == b6->sin6_scope_id &&
		       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
	default:
		return false;
	}
}

bool addresses_have(const struct addresses *a, const struct sockaddr_storage *address)
{
	for (int i = 0; i < a->count; i++)
		if (same_address(&a->address[i].at, address))
			return true;
	return false;
}

bool addresses_are_several(const struct addresses *a)
{
	int count[] = {0, 0};

	for (int i = 0; i < a->count; i++)
		count[a->address[i].at.ss_family == AF_INET6]++;
	return count[0] > 1 || count[1] > 1;
}

bool addresses_overlap(const struct addresses *a, const struct addresses *b)
{
	if (a->inode && a->inode == b->inode && a->device == b->device)
		return true;
	for (int i = 0; i < a->count; i++)
		for (int j = 0; j < b->count; j++)
			if (same_address(&a->address[i].at, &b->address[j].at))
				return true;
	return false;
}
