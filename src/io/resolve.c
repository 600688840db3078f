#include "io/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Between two looks at names that are being resolved. */
#define LOOK_APART 100
#define LOOK_APART_MAX (5 * USEC_MSEC)

/* glibc's own worker threads write here, perhaps after the time-out: it must outlive the call. */
static struct lookup {
	struct gaicb request;
	struct addrinfo hints;
	char host[NODE_HOST_MAX];
	char port[8];
} lookups[NODES_MAX];

static void take(struct addresses *out, const struct addrinfo *info)
{
	for (; info && out->count < ADDRESSES_MAX; info = info->ai_next) {
		memcpy(&out->address[out->count], info->ai_addr, info->ai_addrlen);
		out->len[out->count++] = info->ai_addrlen;
	}
}

static void take_unix(struct addresses *out, const char *path)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->address[0];
	struct stat file;

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	if (stat(path, &file) == 0) {
		out->device = file.st_dev;
		out->inode = file.st_ino;
	}
	out->len[0] = (socklen_t)sizeof(*un);
	out->count = 1;
}

/* The thread sanitizer does not see the threads that glibc makes for itself, and crashes in them:
 * under it, names are looked up here and now. */
#ifdef __SANITIZE_THREAD__
#define AI_AT_ONCE 0
#else
#define AI_AT_ONCE AI_NUMERICHOST
#endif

/* A literal address needs no resolver and no thread. */
static bool take_at_once(struct addresses *out, struct lookup *l)
{
	struct addrinfo hints = l->hints, *info;

	hints.ai_flags |= AI_AT_ONCE;
	if (getaddrinfo(l->host, l->port, &hints, &info) != 0)
		return false;
	take(out, info);
	freeaddrinfo(info);
	return true;
}

static void prepare(struct lookup *l, const struct node *node)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->host, sizeof(l->host), "%s", node->host);
	snprintf(l->port, sizeof(l->port), "%d", node->port);
	l->hints.ai_socktype = SOCK_STREAM;
	l->hints.ai_flags = AI_NUMERICSERV;
	l->request.ar_name = l->host;
	l->request.ar_service = l->port;
	l->request.ar_request = &l->hints;
}

/*
 * Looks again and again, for gai_suspend() is not safe here: it waits for several on a list that is
 * on its own stack, and when it returns because of the first, the helper thread that is about to
 * tell of another one still finds that list.
 */
static void wait_for(struct gaicb *const pending[], int count, usec timeout)
{
	usec end = clock_now() + timeout, apart = LOOK_APART;
	bool open = true;

	while (open && clock_now() < end) {
		struct timespec ts = clock_timespec(apart);

		(void)nanosleep(&ts, NULL);
		apart = usec_min(2 * apart, LOOK_APART_MAX);
		open = false;
		for (int i = 0; i < count; i++)
			open |= gai_error(pending[i]) == EAI_INPROGRESS;
	}
}

void resolve_nodes(const struct node_list *list, usec timeout, struct addresses out[NODES_MAX])
{
	struct gaicb *pending[NODES_MAX];
	int owner[NODES_MAX], count = 0;

	for (int i = 0; i < list->count; i++) {
		const struct node *node = &list->node[i];

		out[i].count = 0;
		out[i].inode = 0;
		if (node->kind == NODE_UNIX) {
			take_unix(&out[i], node->host);
			continue;
		}
		prepare(&lookups[i], node);
		if (take_at_once(&out[i], &lookups[i]))
			continue;
		owner[count] = i;
		pending[count++] = &lookups[i].request;
	}
	if (count == 0)
		return;
	if (AI_AT_ONCE && getaddrinfo_a(GAI_NOWAIT, pending, count, NULL) == 0)
		wait_for(pending, count, timeout);
	for (int i = 0; i < count; i++) {
		struct addresses *to = &out[owner[i]];
		int rc = gai_error(pending[i]);

		if (pending[i]->ar_result) {
			take(to, pending[i]->ar_result);
			freeaddrinfo(pending[i]->ar_result);
		} else {
			snprintf(to->why, sizeof(to->why), "%s",
				rc == EAI_INPROGRESS ? "the resolver does not answer"
				: rc == 0            ? "it could not be looked up"
						     : gai_strerror(rc));
		}
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

bool addresses_meet(const struct addresses *a, const struct addresses *b)
{
	if (a->inode && a->inode == b->inode && a->device == b->device)
		return true;
	for (int i = 0; i < a->count; i++)
		for (int j = 0; j < b->count; j++)
			if (same_address(&a->address[i], &b->address[j]))
				return true;
	return false;
}
