#include "io/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

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

static void wait_for(const struct gaicb *const pending[], int count, usec timeout)
{
	usec end = clock_now() + timeout;
	bool open = true;

	while (open && clock_now() < end) {
		usec left = end - clock_now();
		struct timespec ts = clock_timespec(usec_max(left, 0));

		if (gai_suspend(pending, count, &ts) == EAI_AGAIN)
			return;
		open = false;
		for (int i = 0; i < count; i++)
			open |= gai_error((struct gaicb *)pending[i]) == EAI_INPROGRESS;
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
		wait_for((const struct gaicb *const *)pending, count, timeout);
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
