#include "report/problem.h"

#include "base/utf8.h"
#include "proto/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool problem_is(const struct reply *a, enum reason reason)
{
	return a->vote == VOTE_ABSENT && a->reason == reason;
}

static const struct {
	const char *id;
	bool is_final; /* any other request would fail in the same way */
	bool has_detail; /* the server's or the system's own message says more */
	const char *fix;
} rows[] = {
	[REASON_UNRESOLVED] = {"unreachable", true, true, "name a host that resolves"},
	[REASON_CONNECT] = {"unreachable", true, true,
		"start the server, or name its right address"},
	[REASON_CLOSED] = {"unreachable", true, true,
		"look into the server's log; a port for TLS closes the connection, too"},
	[REASON_CONNECT_TIMEOUT] = {"unreachable", true, false,
		"look for a firewall between; or allow more time with --node-timeout"},
	[REASON_TLS_TIMEOUT] = {"unreachable", true, false,
		"is that its port for TLS? Or allow more time with --node-timeout"},
	[REASON_NOT_TLS] = {"not-tls", true, false,
		"name its port for TLS; or redis:// for one without"},
	[REASON_SPEAKS_TLS] = {"tls", true, false, "name it as rediss://HOST:PORT"},
	[REASON_TLS] = {"tls", true, true, "let it speak TLS 1.2 or later (tls-protocols)"},
	[REASON_UNTRUSTED] = {"certificate", true, true,
		"renew its certificate, or name the right --cacert, or --sni"},
	[REASON_CLIENT_CERTIFICATE] = {"client-certificate", true, true,
		"name one with --cert and --cert-key that its tls-ca-cert-file knows"},
	[REASON_TIMEOUT] = {"unreachable", true, false,
		"is the server stopped, or overloaded? Or allow more time with --node-timeout"},
	[REASON_LOADING] = {"loading", false, false, "wait until it has loaded"},
	[REASON_READONLY] = {"replica", false, false, "REPLICAOF NO ONE"},
	[REASON_MISCONF] = {"stop-writes", false, false, ""},
	[REASON_OOM] = {"memory", false, false, ""},
	[REASON_NOAUTH] = {"auth", true, true,
		"name user and password: --username USER --password-file FILE, or in the URL"},
	[REASON_NO_PASSWORD] = {"auth", true, true,
		"leave the password out, or set one: CONFIG SET requirepass"},
	[REASON_NOPERM] = {"rights", false, true, ""},
	[REASON_MOVED] = {"cluster", false, false,
		"name servers of their own: 'cluster-enabled no' in redis.conf, and restart"},
	[REASON_CLUSTERDOWN] = {"cluster", false, false,
		"name servers of their own: 'cluster-enabled no' in redis.conf, and restart"},
	[REASON_MASTERDOWN] = {"replica", false, false, "REPLICAOF NO ONE"},
	[REASON_NOREPLICAS] = {"few-replicas", false, false, "CONFIG SET min-replicas-to-write 0"},
	[REASON_BUSY] = {"busy", false, false, "SCRIPT KILL"},
	[REASON_MAXCLIENTS] = {"max-clients", true, false,
		"end idle clients, or raise it with CONFIG SET maxclients"},
	[REASON_SERVER] = {"refused", false, true, ""},
	[REASON_GARBAGE] = {"not-redis", true, false, "name a port where a Redis server listens"},
	/* Only requests for locks get these reasons; the first request to a node is none. */
	[REASON_NOT_READY] = {"not-redis", false, false, ""},
	[REASON_QUARANTINE] = {"not-redis", false, false, ""},
	[REASON_SKEWED] = {"not-redis", false, false, ""},
	[REASON_COUNTER] = {"not-redis", false, false, ""},
	[REASON_NO_SCRIPT] = {"not-redis", false, false, ""},
	[REASON_NO_DIGESTS] = {"not-redis", false, false, ""},
	[REASON_TOO_LONG] = {"not-redis", true, false, "name a port where a Redis server listens"},
};

bool problem_is_final(const struct reply *a)
{
	return a->vote == VOTE_ABSENT && rows[a->reason].is_final;
}

const char *problem_memory_fix(char dst[64], const struct server_info *info)
{
	snprintf(dst, 64, "CONFIG SET maxmemory %" PRId64, 2 * usec_max(info->memory, 0));
	return dst;
}

void problem_add(struct diagnosis *d, int node, enum severity severity,
	const struct server_info *info, const struct reply *a)
{
	char detail[400], fix_text[64];
	const char *fix = rows[a->reason].fix;
	bool has_detail = rows[a->reason].has_detail && a->text_len > 0;

	if (a->reason == REASON_OOM)
		fix = problem_memory_fix(fix_text, info);
	if (a->reason == REASON_MISCONF)
		fix = strcmp(info->log_write, "ok") == 0
			      ? "CONFIG SET stop-writes-on-bgsave-error no"
			      : "make room, or its folder writable; CONFIG GET dir names it";
	utf8_escape(detail, sizeof(detail), a->text, a->text_len);
	finding_add(d, node, severity, rows[a->reason].id, fix, "%s%s%s", reason_words(a->reason),
		has_detail ? ": " : "", has_detail ? detail : "");
}

const char *problem_fix(enum reason reason)
{
	return rows[reason].fix;
}
