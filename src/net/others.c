#include "net/others.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between the beginnings of two looks over one connection. */
#define LOOKS_APART USEC_SEC

struct others {
	struct conn conn; /* to one of the addresses */
	char page[PAGE_MAX]; /* its INFO server */
	usec began_at; /* the last look */
	int next, left; /* the addresses that this look has yet to ask */
	bool all_spoke; /* in this look, each address has said that it is no rival */
	bool has_rival;
	char run_id[RUN_ID_MAX]; /* of the server in use; "": not known yet */
};

/* Asks the next addresses, until one takes time. */
static void ask_next(struct others *o)
{
	while (o->conn.state == CONN_DOWN && o->left > 0) {
		o->left--;
		conn_open_beside(&o->conn, o->next++);
		o->all_spoke &= o->conn.state != CONN_DOWN;
	}
	if (o->conn.state == CONN_DOWN && o->all_spoke)
		o->has_rival = false;
}

struct others *others_look(struct others *o, const struct conn *c, bool is_new)
{
	bool is_needed = c->addresses->is_name && addresses_are_several(c->addresses);

	if (!o && is_needed) {
		o = malloc(sizeof(*o));
		if (!o)
			return NULL;
		conn_init(&o->conn, c->node, c->addresses);
		o->conn.resp.page = o->page;
		o->conn.resp.is_whole = o->conn.is_beside = true;
		o->began_at = 0;
		o->has_rival = false;
	}
	if (o && is_new)
		o->run_id[0] = '\0';
	if (!o || c->fd < 0 || o->conn.state != CONN_DOWN ||
		(!is_new && clock_now() < o->began_at + LOOKS_APART))
		return o;
	o->began_at = clock_now();
	o->next = c->next_address + (c->state == CONN_UP);
	o->left = is_needed ? c->addresses->count - 1 : 0;
	o->all_spoke = true;
	ask_next(o);
	return o;
}

struct pollfd others_poll(const struct others *o)
{
	return (struct pollfd){.fd = o ? o->conn.fd : -1, .events = o ? conn_wants(&o->conn) : 0};
}

usec others_due(const struct others *o)
{
	return !o || o->conn.state == CONN_DOWN ? NEVER
						: o->conn.opened_at + o->conn.addresses->timeout;
}

/* Is this the run id in the server's INFO? False also if the server does not tell. */
static bool is_told(const struct others *o, bool *is_same)
{
	static const char field[] = "run_id:";
	const char *end = o->page + o->conn.resp.page_len, *at;

	at = memmem(o->page, o->conn.resp.page_len, field, strlen(field));
	if (!at)
		return false;
	at += strlen(field);
	*is_same = (size_t)(end - at) >= strlen(o->run_id) &&
		   memcmp(at, o->run_id, strlen(o->run_id)) == 0;
	return true;
}

/* Compares the run ids, if both are known. */
static void compare(struct others *o)
{
	while (o->conn.state == CONN_UP && o->run_id[0]) {
		bool is_same, has_told = is_told(o, &is_same);

		conn_abort(&o->conn);
		o->all_spoke &= has_told && is_same;
		if (has_told && !is_same) {
			o->has_rival = true;
			o->left = 0;
		}
		ask_next(o);
	}
}

bool others_judge(struct others *o, const char *run_id)
{
	if (!o)
		return false;
	if (run_id[0])
		snprintf(o->run_id, sizeof(o->run_id), "%s", run_id);
	compare(o);
	return o->has_rival;
}

bool others_know(const struct others *o)
{
	return !o || o->run_id[0];
}

void others_handle(struct others *o, short revents)
{
	bool is_late = clock_now() >= others_due(o);

	if (is_late)
		conn_abort(&o->conn);
	else
		conn_handle(&o->conn, revents);
	if (o->conn.state == CONN_DOWN) {
		o->all_spoke &= !is_late && o->conn.failure.reason == REASON_READONLY;
		ask_next(o);
	}
	compare(o);
}

void others_free(struct others *o)
{
	if (o)
		conn_abort(&o->conn);
	free(o);
}
