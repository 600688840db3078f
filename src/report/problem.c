#include "report/problem.h"

#include "base/err.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "proto/request.h"
#include "report/rights.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
	const char *id;
	bool is_final; /* any other request would fail in the same way */
	bool has_detail; /* the server's or the system's own message says more */
} rows[] = {
	[REASON_UNRESOLVED] = {"unreachable", true, true},
	[REASON_CONNECT] = {"unreachable", true, true},
	[REASON_CLOSED] = {"unreachable", true, true},
	[REASON_CONNECT_TIMEOUT] = {"unreachable", true, false},
	[REASON_TLS_TIMEOUT] = {"unreachable", true, false},
	[REASON_NOT_TLS] = {"not-tls", true, false},
	[REASON_SPEAKS_TLS] = {"tls", true, false},
	[REASON_TLS] = {"tls", true, true},
	[REASON_UNTRUSTED] = {"certificate", true, true},
	[REASON_CLIENT_CERTIFICATE] = {"client-certificate", true, true},
	[REASON_TIMEOUT] = {"unreachable", true, false},
	[REASON_LOADING] = {"loading", false, false},
	[REASON_LEFT] = {"unreachable", true, false},
	[REASON_READONLY] = {"replica", false, false},
	[REASON_MISCONF] = {"stop-writes", false, false},
	[REASON_OOM] = {"memory", false, false},
	[REASON_NOAUTH] = {"auth", true, false},
	[REASON_WRONG_PASSWORD] = {"auth", true, true},
	[REASON_NO_PASSWORD] = {"auth", true, true},
	[REASON_NOPERM] = {"rights", false, true},
	[REASON_MOVED] = {"cluster", false, false},
	[REASON_CLUSTERDOWN] = {"cluster", false, false},
	[REASON_MASTERDOWN] = {"replica", false, false},
	[REASON_NOREPLICAS] = {"few-replicas", false, false},
	[REASON_BUSY] = {"busy", false, false},
	[REASON_MAXCLIENTS] = {"max-clients", true, false},
	[REASON_PROTECTED] = {"protected-mode", true, true},
	[REASON_SERVER] = {"refused", false, true},
	[REASON_GARBAGE] = {"not-redis", true, true},
	/* Only requests for locks get these reasons; the first request to a node is none. */
	[REASON_NOT_READY] = {"not-redis", false, false},
	[REASON_QUARANTINE] = {"not-redis", false, false},
	[REASON_SEVERAL] = {"several-servers", false, false},
	[REASON_SKEWED] = {"not-redis", false, false},
	[REASON_COUNTER] = {"counter", false, true},
	[REASON_NO_SCRIPT] = {"not-redis", false, false},
	[REASON_UNSURE] = {"not-redis", false, false},
	[REASON_NO_DIGESTS] = {"not-redis", false, false},
	[REASON_TOO_LONG] = {"not-redis", true, false},
	[REASON_ENDLESS] = {"not-redis", true, false},
};

/*
 * The fixes. The first row that fits the reason, with a `when` that is part of the detail, is used.
 * A fix that is a command for redis-cli begins with it and has nothing else. Words in braces stand
 * for:
 *
 *     {host}            the node's host, or the path of its socket
 *     {redis} {rediss}  the node's URL without TLS, and with TLS
 *     {user} {source}   the user that redlock logs in as, and where its password comes from
 *     {detail}          the detail of the reply
 *     {memory}          the command that gives the node more memory
 *     {acl}             the ACL rule that is missing
 *     {master}          the fix for a replica
 *     {authority}       how to trust an authority that is not in --cacert
 */
static const struct {
	enum reason reason;
	const char *when; /* NULL: always */
	const char *fix;
} fixes[] = {
	{REASON_UNRESOLVED, "Temporary failure",
		"no DNS server answers: check 'nameserver' in /etc/resolv.conf, or name the "
		"address of '{host}' instead"},
	{REASON_UNRESOLVED, "resolver does not answer",
		"check 'nameserver' in /etc/resolv.conf, or name the address of '{host}' instead; "
		"a lookup gets 6s, or the time of --node-timeout if it is longer"},
	{REASON_UNRESOLVED, NULL,
		"correct the name '{host}', or give it an address in DNS or /etc/hosts ('getent "
		"hosts {host}' shows it); --node-wait D waits for one that comes later"},
	{REASON_CONNECT, "Connection refused",
		"no server listens there: start the server, or correct the address ('bind', and "
		"'port' or 'tls-port', in redis.conf)"},
	{REASON_CONNECT, "No such file",
		"there is no socket {host}: start the server with 'unixsocket {host}', or "
		"correct the path"},
	{REASON_CONNECT, "Permission denied",
		"this user needs write permission on the socket {host} and search permission "
		"on its folder: 'unixsocketperm 777' in redis.conf, or chmod 777 {host}"},
	{REASON_CONNECT, "Too many open files in system", ERR_ALL_FILES_HINT},
	{REASON_CONNECT, "Too many open files", ERR_FILES_HINT},
	{REASON_CONNECT, "Network is unreachable",
		"this host has no route to that address: 'ip route get ADDRESS' shows it; an "
		"address of another family (IPv4, IPv6) may have one"},
	{REASON_CONNECT, NULL,
		"start the server, or correct the address; check the network between"},
	{REASON_CLOSED, "as a TLS port does",
		"if that port has TLS, name it {rediss}; if it is the bus of a cluster (the port "
		"of "
		"a server and 10000), name servers of their own; if it is a proxy, start the "
		"server behind it; else read the server's log"},
	{REASON_CLOSED, "instead of a TLS handshake",
		"if that port has no TLS, name it {redis}; if it is a proxy, start the server "
		"behind it; else read the server's log"},
	{REASON_CLOSED, NULL, "read the server's log"},
	{REASON_CONNECT_TIMEOUT, NULL,
		"look for a firewall between; if the node is far away, allow more time with "
		"--node-timeout: 'redlock doctor' measures how much"},
	{REASON_TLS_TIMEOUT, NULL,
		"if the server hangs, restart it; if that port has no TLS, name it {redis}; if it "
		"is far away, allow more time with --node-timeout"},
	{REASON_NOT_TLS, NULL, "name it {redis}, or name its port for TLS ('tls-port')"},
	{REASON_SPEAKS_TLS, NULL, "name it {rediss}"},
	{REASON_TLS, NULL, "let the server speak TLS 1.2 or later ('tls-protocols')"},
	{REASON_UNTRUSTED, "authority expired on",
		"renew the certificate of that authority: in --cacert FILE, or, if the server "
		"sends it, in its 'tls-cert-file'"},
	{REASON_UNTRUSTED, "expired on",
		"renew the certificate ('tls-cert-file' names it), then restart the server"},
	{REASON_UNTRUSTED, "is not valid before",
		"set this host's clock, or renew the certificate ('tls-cert-file')"},
	{REASON_UNTRUSTED, "is not for",
		"name the node by a name in its certificate, or give that name with --sni NAME"},
	{REASON_UNTRUSTED, "subjectAltName",
		"renew the certificate with a subjectAltName: redlock ignores its common name"},
	{REASON_UNTRUSTED, "self-signed",
		"name that certificate with --cacert FILE ('tls-cert-file' of the server)"},
	{REASON_UNTRUSTED, "unknown root",
		"name the certificate of its authority with --cacert FILE ('tls-ca-cert-file' of "
		"the server)"},
	{REASON_UNTRUSTED, "unknown authority", "{authority}"},
	{REASON_UNTRUSTED, NULL,
		"renew the certificate ('tls-cert-file'), then restart the server"},
	{REASON_CLIENT_CERTIFICATE, "expired",
		"renew redlock's own certificate, which --cert names"},
	{REASON_CLIENT_CERTIFICATE, NULL,
		"name a certificate from an authority in the server's 'tls-ca-cert-file' with "
		"--cert FILE, and its key with --cert-key FILE; or set 'tls-auth-clients no'"},
	{REASON_TIMEOUT, NULL,
		"check that it is a Redis server, running and not overloaded; if redis-cli on its "
		"own host gets no answer to PING, continue or restart that server; if it does, a "
		"proxy has no server behind it, or a firewall drops data: try redis-cli on this "
		"host; if it is far away, allow more time with --node-timeout: 'redlock doctor' "
		"measures how much"},
	{REASON_LOADING, NULL,
		"wait until the server has loaded its data: 'INFO persistence' shows how far it "
		"is"},
	{REASON_READONLY, NULL, "{master}"},
	{REASON_MISCONF, "AOF",
		"make room on the server's disk, or its folder writable: CONFIG GET dir names it"},
	{REASON_MISCONF, NULL, "CONFIG SET stop-writes-on-bgsave-error no"},
	{REASON_OOM, NULL, "{memory}"},
	{REASON_NOAUTH, NULL,
		"name the password: --password-file FILE or REDLOCK_PASSWORD; with an ACL user, "
		"also --username USER"},
	{REASON_WRONG_PASSWORD, NULL,
		"correct the password of user '{user}', which comes from {source}; a user that "
		"does not exist there, or is off, needs ACL SETUSER"},
	{REASON_NO_PASSWORD, NULL,
		"leave user and password out (they come from {source}), or set a password on the "
		"node (requirepass)"},
	{REASON_NOPERM, NULL, "{acl}"},
	{REASON_MOVED, NULL,
		"name servers of their own: 'cluster-enabled no' in redis.conf, and restart"},
	{REASON_CLUSTERDOWN, NULL,
		"name servers of their own: 'cluster-enabled no' in redis.conf, and restart"},
	{REASON_MASTERDOWN, NULL, "{master}"},
	{REASON_NOREPLICAS, NULL, "CONFIG SET min-replicas-to-write 0"},
	{REASON_BUSY, "FUNCTION KILL", "FUNCTION KILL"},
	{REASON_BUSY, NULL, "SCRIPT KILL"},
	{REASON_MAXCLIENTS, NULL,
		"stop some of its clients, for redis-cli cannot connect either; then raise "
		"'maxclients' with CONFIG SET, or in redis.conf with a restart"},
	{REASON_PROTECTED, NULL,
		"give the server a password and name it to redlock: on its own host, in "
		"redis-cli, CONFIG SET requirepass PASSWORD; where no other host can reach it, "
		"CONFIG SET protected-mode no"},
	{REASON_SERVER, "unknown command",
		"redlock needs that command: remove its 'rename-command' from redis.conf, and "
		"restart"},
	{REASON_SERVER, "Unknown Redis command",
		"redlock's scripts need a command that the server does not have: remove each "
		"'rename-command' from redis.conf, and restart"},
	{REASON_SERVER, "DB index",
		"name a database that the server has, or none: CONFIG GET databases"},
	{REASON_GARBAGE, NULL,
		"another program listens there: name the port where a Redis server "
		"listens"},
	{REASON_TOO_LONG, NULL,
		"another program listens there: name the port where a Redis server "
		"listens"},
	{REASON_ENDLESS, NULL,
		"another program listens there, or a proxy: name the port where a Redis server "
		"listens"},
	{REASON_QUARANTINE, NULL,
		"wait: the quarantine of a node that is new, restarted or flushed ends "
		"automatically; if the nodes hold no locks, 'redlock doctor --admit' ends it now"},
	{REASON_SEVERAL, NULL,
		"name each server by an address of its own, not a load balancer; 'redlock doctor' "
		"tells them apart"},
	{REASON_SKEWED, NULL,
		"set the clocks of that host and of this one: timedatectl set-ntp true; "
		"'--restart-guard off' does not look at clocks"},
	{REASON_COUNTER, NULL, "DEL {detail}"},
};

bool problem_is_final(const struct reply *a)
{
	return a->vote == VOTE_ABSENT && rows[a->reason].is_final;
}

/* A server that is new has less than a megabyte in use, and redlock's scripts and connections can
 * take as much again. */
#define MEMORY_MIN ((int64_t)8 << 20)

const char *problem_memory_fix(char dst[64], const struct server_info *info)
{
	int64_t limit;

	if (!info || info->memory <= 0)
		return "raise 'maxmemory' in redis-cli with CONFIG SET, to at least twice the "
		       "'used_memory' of INFO memory and at least 8mb";
	/* A limit that is high enough by now stays. */
	limit = usec_max(usec_max(2 * info->memory, MEMORY_MIN), info->memory_max);
	snprintf(dst, 64, "CONFIG SET maxmemory %" PRId64, limit);
	return dst;
}

const char *problem_replica_fix(char dst[FIX_MAX], const struct server_info *info)
{
	bool has_master = info && info->master_host[0] && info->master_port[0];

	snprintf(dst, FIX_MAX,
		"name its master%s%s%s%s, unless that is a node already; REPLICAOF NO ONE would "
		"make a second master of the same data",
		has_master ? ", " : ", which 'INFO replication' shows there",
		has_master ? info->master_host : "", has_master ? " port " : "",
		has_master ? info->master_port : "");
	return dst;
}

/* Where the password for the node comes from. */
static void append_source(
	char *dst, size_t size, size_t *used, const struct settings *s, const struct node *node)
{
	const struct source *text = settings_source(s, offsetof(struct settings, password));
	char shown[200];

	if (!node->password[0] && !node->password_file)
		text_append(dst, size, used, "nowhere: none was given");
	else if (node->password_file)
		text_append(dst, size, used, "the file '%s'",
			utf8_escape(shown, sizeof(shown), node->password_file,
				strlen(node->password_file)));
	else if (!s->password || strcmp(s->password, node->password) != 0)
		text_append(dst, size, used, "the node's URL");
	else if (text->kind == SOURCE_ENV)
		text_append(dst, size, used, "REDLOCK_PASSWORD");
	else if (text->kind == SOURCE_NONE) /* from a pipe, or another file that is read once */
		text_append(dst, size, used, "--password-file");
	else
		text_append(dst, size, used, "line %d of the configuration file", text->line);
}

/* With --cacert, an intermediate authority is the likely cause: OpenSSL needs its certificate from
 * the server, and the root's from --cacert. The node's certificate does not tell which one it is.
 */
static const char *authority_fix(const struct settings *s)
{
	return s->tls.cacert ? "if that authority is an intermediate one, let the server send its "
			       "certificate: append it to the file of 'tls-cert-file', and restart "
			       "the server; if it is a root, add its certificate to --cacert FILE"
			     : "name the certificate of its authority with --cacert FILE "
			       "('tls-ca-cert-file' of the server); of an intermediate authority, "
			       "that of its root, and let the server send the chain "
			       "('tls-cert-file')";
}

struct context {
	const struct settings *s;
	int node;
	const struct server_info *info;
	const struct reply *a;
};

/* Is the word in braces this one? */
static bool is_word(const char *name, int len, const char *word)
{
	return strlen(word) == (size_t)len && memcmp(name, word, (size_t)len) == 0;
}

static void append_word(
	char *dst, size_t size, size_t *used, const struct context *c, const char *name, int len)
{
	const struct node *node = &c->s->nodes.node[c->node];
	const char *user = rights_user(c->s, c->node), *rest = strstr(node->label, "://");
	char shown[REPLY_TEXT_MAX], fix[FIX_MAX];

	if (is_word(name, len, "host"))
		text_append(dst, size, used, "%s", node->host);
	else if (is_word(name, len, "redis"))
		text_append(dst, size, used, "redis%s", rest);
	else if (is_word(name, len, "rediss"))
		text_append(dst, size, used, "rediss%s", rest);
	else if (is_word(name, len, "user"))
		text_append(dst, size, used, "%s",
			utf8_escape(shown, sizeof(shown), user, strlen(user)));
	else if (is_word(name, len, "source"))
		append_source(dst, size, used, c->s, node);
	else if (is_word(name, len, "detail"))
		text_append(dst, size, used, "%s",
			utf8_escape(shown, sizeof(shown), c->a->text, c->a->text_len));
	else if (is_word(name, len, "memory"))
		text_append(dst, size, used, "%s", problem_memory_fix(fix, c->info));
	else if (is_word(name, len, "acl"))
		text_append(dst, size, used, "%s", rights_fix(fix, c->s, c->node, c->a));
	else if (is_word(name, len, "master"))
		text_append(dst, size, used, "%s", problem_replica_fix(fix, c->info));
	else if (is_word(name, len, "authority"))
		text_append(dst, size, used, "%s", authority_fix(c->s));
}

/* Writes the fix with the words in braces replaced. */
static void expand(char dst[FIX_MAX], const struct context *c, const char *fix)
{
	size_t used = 0;

	dst[0] = '\0';
	while (*fix) {
		int plain = (int)strcspn(fix, "{");

		text_append(dst, FIX_MAX, &used, "%.*s", plain, fix);
		fix += plain;
		if (*fix == '{') {
			int len = (int)strcspn(++fix, "}");

			append_word(dst, FIX_MAX, &used, c, fix, len);
			fix += len + 1;
		}
	}
}

/* redis-cli, and many libraries, take the text before the '@' as a password. */
#define BARE_USER_FIX \
	"write a password after a colon, redis://:PASSWORD@host; if the text before the '@' " \
	"is the name of a user, also name its password: --password-file FILE or REDLOCK_PASSWORD"

/* The system's words if a firewall of this host, of the server's or between refuses with ICMP. */
static bool is_rejected(const struct node *node, const struct reply *a)
{
	return a->reason == REASON_CONNECT && node->kind == NODE_TCP &&
	       (strstr(a->text, "No route to host") || strstr(a->text, "Permission denied") ||
		       strstr(a->text, "Operation not permitted") || strstr(a->text, "prohibited"));
}

#define REJECTED_FIX \
	"a firewall rejects the connection, or no host has that address: permit its port for " \
	"this host ('nft list ruleset' or 'iptables -S' on both hosts), or correct the address"

/* Files of variables for systemd, Docker and cron are read without a shell, so quotes stay. */
static bool has_quotes(const char *text)
{
	size_t len = strlen(text);

	return len >= 2 && (text[0] == '"' || text[0] == '\'') && text[len - 1] == text[0];
}

static bool has_escape(const char *text)
{
	const char *at = strchr(text, '%');

	return at && at[1] && strchr("0123456789abcdefABCDEF", at[1]) && at[2] &&
	       strchr("0123456789abcdefABCDEF", at[2]);
}

/* Likely causes that the password itself shows. dst stays "" if there are none. */
static void explain_password(char dst[FIX_MAX], const struct settings *s, const struct node *node)
{
	char source[600] = "";
	size_t used = 0;

	append_source(source, sizeof(source), &used, s, node);
	if (node_user_is_secret(node))
		snprintf(dst, FIX_MAX, "%s", BARE_USER_FIX);
	else if (has_quotes(node->password))
		snprintf(dst, FIX_MAX,
			"the password, which comes from %s, begins and ends with a quote: leave "
			"the "
			"quotes out, for no shell removes them there (in a .env file for Docker, "
			"or "
			"a password file); in a unit of systemd, write Environment=\"NAME=VALUE\"",
			source);
	else if (node->has_escapes)
		snprintf(dst, FIX_MAX,
			"the password in the node's URL has escapes, such as %%41 for A: write "
			"%%25 "
			"for each '%%' that belongs to the password, or give it in "
			"REDLOCK_PASSWORD or --password-file, where nothing is decoded");
	else if (has_escape(node->password))
		snprintf(dst, FIX_MAX,
			"the password, which comes from %s, has an escape, such as %%40 for @, and "
			"only a URL has escapes: write the password as it is (in a unit of "
			"systemd, "
			"%%%% for each '%%')",
			source);
}

const char *problem_fix(char dst[FIX_MAX], const struct settings *s, int node,
	const struct server_info *info, const struct reply *a)
{
	const struct context c = {s, node, info, a};

	dst[0] = '\0';
	if (info && server_info_is_sentinel(info) && a->reason == REASON_SERVER)
		snprintf(dst, FIX_MAX, "%s", SENTINEL_FIX);
	if (a->reason == REASON_WRONG_PASSWORD)
		explain_password(dst, s, &s->nodes.node[node]);
	if (is_rejected(&s->nodes.node[node], a))
		snprintf(dst, FIX_MAX, "%s", REJECTED_FIX);
	for (int i = 0; i < COUNT_OF(fixes) && !dst[0]; i++)
		if (fixes[i].reason == a->reason &&
			(!fixes[i].when || strstr(a->text, fixes[i].when)))
			expand(dst, &c, fixes[i].fix);
	return dst;
}

void problem_add(struct diagnosis *d, int node, enum severity severity, const struct settings *s,
	const struct server_info *info, const struct reply *a)
{
	char detail[400], fix[FIX_MAX];
	bool has_detail = rows[a->reason].has_detail && a->text_len > 0;

	utf8_escape(detail, sizeof(detail), a->text, a->text_len);
	finding_add(d, node, severity, rows[a->reason].id, problem_fix(fix, s, node, info, a),
		"%s%s%s", reason_words(a->reason), has_detail ? ": " : "",
		has_detail ? detail : "");
}
