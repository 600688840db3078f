#include "proto/request.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"
#include "proto/scripts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(FENCE_MAX == ((int64_t)1 << 53) - 1, "the largest whole number that a double has");

static bool has_slots(const struct wish *wish)
{
	return wish->slots > 1;
}

static void add(struct request *r, const char *arg)
{
	assert(r->argc < (int)(sizeof(r->argv) / sizeof(r->argv[0])));
	r->argv[r->argc] = arg;
	r->len[r->argc++] = strlen(arg);
}

void request_build(struct request *r, const struct wish *wish)
{
	r->argc = 0;
	if (wish->op == OP_WAIT) {
		snprintf(
			r->door, sizeof(r->door), "redlock:promoted-wake:{%s}", wish->keys->key[0]);
		snprintf(r->wake, sizeof(r->wake), "redlock:wake:{%s}", wish->keys->key[0]);
		add(r, "BLPOP");
		if (wish->leads)
			add(r, r->door);
		add(r, r->wake);
		add(r, "0");
		return;
	}
	if (wish->op == OP_COMMAND) {
		for (int i = 0; wish->words[i]; i++)
			add(r, wish->words[i]);
		return;
	}
	if (wish->op == OP_SCAN) {
		snprintf(r->time, sizeof(r->time), "%d", wish->count);
		add(r, "EVAL");
		add(r, script_of(OP_SCAN));
		add(r, "0");
		add(r, wish->token);
		add(r, r->time);
		return;
	}
	snprintf(r->time, sizeof(r->time), "%" PRId64, wish->time / USEC_MSEC);
	snprintf(r->turn_time, sizeof(r->turn_time), "%" PRId64, wish->turn_time / USEC_MSEC);
	snprintf(r->fence, sizeof(r->fence), "%" PRId64, wish->fence);
	snprintf(r->flags, sizeof(r->flags), "%s%s%s%s%s%s%s%s",
		wish->is_leaving ? FLAG_LEAVES : "", wish->gives_up ? FLAG_GIVES_UP : "",
		wish->is_waiting ? FLAG_WAITS : "", wish->is_fair ? FLAG_FAIR : "",
		wish->is_breaking ? FLAG_BREAKS : "", wish->wants_fence ? FLAG_NUMBER : "",
		wish->is_shared ? FLAG_SHARED : "", wish->leads ? FLAG_PROMOTED : "");
	snprintf(r->which, sizeof(r->which), "%u",
		wish->op == OP_HAND_OFF ? wish->awaited : (unsigned)wish->seat_key + 1);
	snprintf(r->quarantine, sizeof(r->quarantine), "%" PRId64, wish->quarantine / USEC_MSEC);
	snprintf(r->wall, sizeof(r->wall), "%" PRId64, wish->wall);
	snprintf(r->count, sizeof(r->count), "%d", wish->keys->count);
	add(r, "EVAL");
	add(r, script_of(wish->op));
	add(r, r->count);
	/* A slot above our --limit exists if another client has a larger one. */
	snprintf(r->slots, sizeof(r->slots), "%d",
		wish->slots > 1 && wish->slot > wish->slots ? wish->slot : wish->slots);
	snprintf(r->slot_key, sizeof(r->slot_key), "%s#%d", wish->keys->key[0], wish->slot);
	for (int i = 0; i < wish->keys->count; i++)
		add(r, has_slots(wish) ? r->slot_key : wish->keys->key[i]);
	add(r, wish->token);
	if (wish->token_len)
		r->len[r->argc - 1] = wish->token_len;
	add(r, r->time);
	add(r, wish->op == OP_FENCE ? r->fence : wish->turn ? wish->turn : "");
	add(r, r->flags);
	add(r, r->turn_time);
	add(r, r->which);
	add(r, r->quarantine);
	add(r, r->wall);
	add(r, has_slots(wish) ? wish->keys->key[0] : "");
	add(r, r->slots);
	add(r, wish->held ? wish->held : "");
}

const char *reason_words(enum reason reason)
{
	static const char *const words[] = {
		[REASON_NONE] = "was not asked",
		[REASON_UNRESOLVED] = "its name does not resolve",
		[REASON_CONNECT] = "cannot be reached",
		[REASON_CLOSED] = "closed the connection",
		[REASON_CONNECT_TIMEOUT] = "did not accept the connection in time",
		[REASON_TLS_TIMEOUT] =
			"did not begin with TLS in time, as a port without it would not",
		[REASON_NOT_TLS] = "does not speak TLS",
		[REASON_SPEAKS_TLS] = "speaks TLS only",
		[REASON_TLS] = "cannot agree with us on TLS",
		[REASON_UNTRUSTED] = "cannot be trusted",
		[REASON_CLIENT_CERTIFICATE] = "wants a client certificate, or another one",
		[REASON_TIMEOUT] = "did not answer in time",
		[REASON_NOT_READY] = "was not ready yet",
		[REASON_LOADING] = "is still loading its data",
		[REASON_READONLY] = "is a read-only replica",
		[REASON_MISCONF] = "refuses writes because it cannot save to disk",
		[REASON_OOM] = "is out of memory",
		[REASON_NOAUTH] = "wants a password, or another one",
		[REASON_NO_PASSWORD] = "has no password, and was given one",
		[REASON_NOPERM] = "does not permit this user to do it",
		[REASON_MOVED] = "is a cluster member",
		[REASON_CLUSTERDOWN] = "belongs to a cluster that is down",
		[REASON_MASTERDOWN] = "is a replica without its master",
		[REASON_NOREPLICAS] = "refuses writes because it has too few replicas",
		[REASON_BUSY] = "is busy with a script",
		[REASON_MAXCLIENTS] = "has too many clients",
		[REASON_SERVER] = "answered with an error",
		[REASON_GARBAGE] = "does not speak the Redis protocol",
		[REASON_QUARANTINE] = "is in quarantine",
		[REASON_SKEWED] = "has another time of day",
		[REASON_COUNTER] = "has a fencing counter that is no number, or at its limit",
		[REASON_TOO_LONG] = "answered at excessive length",
	};

	return words[reason];
}
