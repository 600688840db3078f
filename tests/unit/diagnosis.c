/* diagnosis: facts in, findings out. */
#include "report/diagnosis.h"
#include "cli/option.h"
#include "proto/scripts.h"
#include "report/own_keys.h"
#include "report/problem.h"
#include "report/rights.h"

#include "unit/unit.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS USEC_MSEC
#define RUN_ID "2a9bfc158d6bfe45153903374f8d5ca1d37b8685"
#define GROUP "de54d892baad0c60cd43e7659b00f4b2c966657f"

/* ---- INFO of several kinds of servers ---- */

static const char redis7[] =
	"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nos:Linux 6.18 x86_64\r\n"
	"run_id:" RUN_ID "\r\ntcp_port:0\r\nuptime_in_seconds:0\r\nexecutable:/usr/bin/redis-server"
	"\r\nconfig_file:\r\n\r\n# Clients\r\nconnected_clients:1\r\ncluster_connections:0\r\n"
	"maxclients:10000\r\n\r\n# Memory\r\nused_memory:940136\r\nused_memory_human:918.10K\r\n"
	"maxmemory:0\r\nmaxmemory_human:0B\r\nmaxmemory_policy:noeviction\r\n"
	"mem_not_counted_for_evict:0\r\n\r\n# Persistence\r\nloading:0\r\n"
	"rdb_last_bgsave_status:ok\r\naof_enabled:0\r\naof_last_bgrewrite_status:ok\r\n"
	"aof_last_write_status:ok\r\n\r\n# Stats\r\nevicted_keys:0\r\n\r\n# Replication\r\n"
	"role:master\r\nconnected_slaves:0\r\nmaster_replid:" GROUP "\r\n\r\n"
	"# Cluster\r\ncluster_enabled:0\r\n";

static const char redis5[] =
	"# Server\r\nredis_version:5.0.14\r\nredis_mode:standalone\r\nrun_id:" RUN_ID "\r\n"
	"# Clients\r\nconnected_clients:2\r\n# Memory\r\nused_memory:854000\r\nmaxmemory:0\r\n"
	"maxmemory_policy:noeviction\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
	"master_replid:" GROUP "\r\n# Cluster\r\ncluster_enabled:0\r\n";

static const char redis6[] =
	"# Server\r\nredis_version:6.2.14\r\nredis_mode:cluster\r\nrun_id:" RUN_ID "\r\n"
	"# Clients\r\nconnected_clients:3\r\nmaxclients:4064\r\n# Memory\r\nmaxmemory:104857600\r\n"
	"maxmemory_policy:volatile-lru\r\n# Persistence\r\naof_enabled:1\r\naof_delayed_fsync:4\r\n"
	"# Replication\r\nrole:slave\r\nmaster_replid:" GROUP
	"\r\n# Cluster\r\ncluster_enabled:1\r\n";

static const char valkey[] =
	"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n"
	"server_mode:standalone\r\nrun_id:" RUN_ID "\r\n"
	"# Replication\r\nrole:master\r\n";

static const char keydb[] =
	"# Server\nredis_version:6.3.4\nredis_git_sha1:7e7e5e57\nredis_mode:standalone\n"
	"run_id:" RUN_ID "\nexecutable:/data/keydb-server\n# Replication\nrole:active-replica\n"
	"# KeyDB\nmvcc_depth:0\n";

static const char dragonfly[] =
	"# "
	"Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.31.0\r\nredis_mode:standalone\r\n"
	"tcp_port:6379\r\n\r\n# Clients\r\nconnected_clients:6\r\nmax_clients:64000\r\n\r\n"
	"# Memory\r\nused_memory:16511056\r\nmaxmemory:419430400\r\ncache_mode:store\r\n"
	"maxmemory_policy:noeviction\r\n# Replication\r\nrole:replica\r\n";

static struct server_info read_info(const char *text)
{
	struct server_info info;

	/* The text ends where its allocation ends, so that a sanitizer sees a read after it. */
	size_t len = strlen(text);
	char *copy = malloc(len + !len);

	memcpy(copy, text, len);
	server_info_read(&info, copy, len);
	free(copy);
	return info;
}

TEST(info_of_several_makes)
{
	static const struct {
		const char *text, *kind, *version, *mode, *role, *policy;
		int64_t clients_max, memory_max, cluster, log;
		bool has_run_id, has_group;
	} cases[] = {
		{redis7, "Redis", "7.0.15", "standalone", "master", "noeviction", 10000, 0, 0, 0,
			true, true},
		{redis6, "Redis", "6.2.14", "cluster", "slave", "volatile-lru", 4064, 104857600, 1,
			1, true, true},
		{redis5, "Redis", "5.0.14", "standalone", "master", "noeviction", INFO_UNKNOWN, 0,
			0, INFO_UNKNOWN, true, true},
		{valkey, "Valkey", "8.1.1", "standalone", "master", "", INFO_UNKNOWN, INFO_UNKNOWN,
			INFO_UNKNOWN, INFO_UNKNOWN, true, false},
		{keydb, "KeyDB", "6.3.4", "standalone", "active-replica", "", INFO_UNKNOWN,
			INFO_UNKNOWN, INFO_UNKNOWN, INFO_UNKNOWN, true, false},
		{dragonfly, "Dragonfly", "df-v1.31.0", "standalone", "replica", "noeviction", 64000,
			419430400, INFO_UNKNOWN, INFO_UNKNOWN, false, false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct server_info info = read_info(cases[i].text);

		CHECK_TEXT(info.kind, cases[i].kind);
		CHECK_TEXT(info.version, cases[i].version);
		CHECK_TEXT(info.mode, cases[i].mode);
		CHECK_TEXT(info.role, cases[i].role);
		CHECK_TEXT(info.policy, cases[i].policy);
		CHECK_INT(info.clients_max, cases[i].clients_max);
		CHECK_INT(info.memory_max, cases[i].memory_max);
		CHECK_INT(info.cluster, cases[i].cluster);
		CHECK_INT(info.log, cases[i].log);
		CHECK_TEXT(info.run_id, cases[i].has_run_id ? RUN_ID : "");
		CHECK_TEXT(info.group, cases[i].has_group ? GROUP : "");
	}
}

TEST(info_garbage)
{
	static const char *const texts[] = {"", "\n", ":", "\r\n\r\n", "role", "role\n", "rol:x",
		"xrole:master", "role_of:x", "maxmemory", "redis_version",
		"no\nlines:of\ninterest:"};
	struct server_info info;
	char copy[sizeof(redis7)];

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		info = read_info(texts[i]);
		CHECK_TEXT(info.kind, "");
		CHECK_TEXT(info.version, "");
		CHECK_TEXT(info.role, "");
		CHECK_INT(info.memory_max, INFO_UNKNOWN);
	}
	info = read_info("role:\nmaxmemory:\nused_memory:-5\nmaxclients:12x\nevicted_keys:x1\n"
			 "connected_clients:99999999999999999999999999\nredis_version:\r\n");
	CHECK_TEXT(info.role, "");
	CHECK_INT(info.memory_max, INFO_UNKNOWN);
	CHECK_INT(info.memory, INFO_UNKNOWN);
	CHECK_INT(info.clients_max, 12);
	CHECK_INT(info.evicted, INFO_UNKNOWN);
	CHECK(info.clients > INT64_MAX / 200);
	CHECK_TEXT(info.kind, "Redis");
	CHECK_TEXT(info.version, "");
	/* Texts are safe to show on a terminal, and cut to size. */
	info = read_info("role:\x1b[2Jx\nrun_id:"
			 "0123456789012345678901234567890123456789012345678901234567890123456789");
	CHECK_TEXT(info.role, "\\x1b[2Jx");
	CHECK_INT(strlen(info.run_id), INFO_TEXT_MAX - 1);
	/* Cut at any length, and with any byte changed. */
	for (size_t len = 0; len < sizeof(redis7); len++) {
		snprintf(copy, len + 1, "%s", redis7);
		info = read_info(copy);
		CHECK(len < 40 || strcmp(info.kind, "Redis") == 0);
		snprintf(copy, sizeof(copy), "%s", redis7);
		copy[len] = copy[len] == '\n' ? ':' : '\n';
		server_info_read(&info, copy, sizeof(copy) - 1);
		CHECK(strlen(info.role) < INFO_TEXT_MAX);
	}
}

/* ---- a sound set-up, and findings ---- */

static struct settings settings;
static struct node_facts facts[NODES_MAX];
static struct validity ours;
static struct diagnosis diagnosis;

static struct reply said(const char *text)
{
	struct reply a = {.vote = VOTE_YES, .text_len = strlen(text)};

	snprintf(a.text, sizeof(a.text), "%s", text);
	return a;
}

/* Replaces a part of the INFO. */
static void change(int node, const char *from, const char *to)
{
	char text[2 * sizeof(redis7)];
	const char *at = strstr(redis7, from);

	CHECK(at != NULL);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - redis7), redis7, to, at + strlen(from));
	facts[node].info = read_info(text);
	/* keep the run ids, which tell servers apart */
	if (strcmp(facts[node].info.run_id, RUN_ID) == 0)
		facts[node].info.run_id[0] = (char)('a' + node);
	if (strcmp(facts[node].info.group, GROUP) == 0)
		facts[node].info.group[0] = (char)('a' + node);
}

static void be_sound(int nodes)
{
	struct err e;

	settings_init(&settings, COMMAND_DOCTOR);
	for (int i = 0; i < option_rows_count; i++)
		if (option_rows[i].field == offsetof(struct settings, nodes))
			settings.source[i].kind = SOURCE_LINE;
	ours = (struct validity){0};
	for (int i = 0; i < nodes; i++) {
		const char name[] = {(char)('a' + i), '\0'};
		struct node_facts *p = &facts[i];

		CHECK_INT(node_list_add(&settings.nodes, name, &e), 0);
		*p = (struct node_facts){.reached.vote = VOTE_NONE, .pings = 3};
		p->informed = said("# Server");
		change(i, "\r\n", "\r\n");
		for (int t = 0; t < TRIALS; t++)
			p->trial[t] = said("");
		p->trial[TRIAL_LOOK].vote = VOTE_FOREIGN;
		p->trial[TRIAL_JOIN].vote = VOTE_FOREIGN;
		p->rights = p->own_keys = said("");
		p->fsync = said("everysec");
		p->clients_max = said("10000");
		p->marker = said(p->info.run_id);
		for (int n = 0; n < 2; n++)
			p->clock[n] = (struct clock_sample){.node = (1000 + n) * USEC_SEC + 2 * MS,
				.wall = (1000 + n) * USEC_SEC,
				.asked = (50 + n) * USEC_SEC,
				.took = 4 * MS};
		p->ping[0] = 4 * MS;
		p->ping[1] = 2 * MS;
		p->ping[2] = 3 * MS;
	}
	CHECK_INT(settings_finish(&settings, &e), 0);
}

static void judge(void)
{
	memset(&diagnosis, 0xff, sizeof(diagnosis));
	diagnosis_judge(&diagnosis, &settings, facts, &ours);
}

static const struct finding *found(int node, const char *id)
{
	for (int i = 0; i < diagnosis.count; i++)
		if (diagnosis.finding[i].node == node && strcmp(diagnosis.finding[i].id, id) == 0)
			return &diagnosis.finding[i];
	return NULL;
}

/* The message and the fix of a finding; "" if it is missing. */
static const char *message_of(int node, const char *id)
{
	return found(node, id) ? found(node, id)->message : "";
}

static const char *fix_of(int node, const char *id)
{
	return found(node, id) ? found(node, id)->fix : "";
}

/* Expects exactly this finding. */
static void expect(int line, int node, const char *id, enum severity severity, const char *words,
	const char *fix)
{
	const struct finding *f;

	judge();
	f = found(node, id);
	if (!unit_check(f != NULL, __FILE__, line, "no finding '%s'", id))
		return;
	unit_check(diagnosis.count == 1, __FILE__, line, "%d findings", diagnosis.count);
	unit_check(f->severity == severity, __FILE__, line, "'%s' is of severity %s", id,
		severity_name(f->severity));
	unit_check_text(f->message, words, __FILE__, line);
	unit_check_text(f->fix, fix, __FILE__, line);
	unit_check_int(diagnosis.with[severity], 1, "with[severity]", __FILE__, line);
	if (node >= 0)
		unit_check(diagnosis.is_usable[node] == (severity != SEVERITY_ERROR), __FILE__,
			line, "usable: %d", diagnosis.is_usable[node]);
}

#define EXPECT(node, id, severity, words, fix) \
	expect(__LINE__, node, id, SEVERITY_##severity, words, fix)

static void expect_silence(int line)
{
	judge();
	unit_check(diagnosis.count == 0, __FILE__, line, "%d findings, the first: %s: %s",
		diagnosis.count, diagnosis.finding[0].id, diagnosis.finding[0].message);
}

#define EXPECT_SILENCE() expect_silence(__LINE__)

TEST(doctor_is_silent_about_what_is_sound)
{
	for (int nodes = 3; nodes <= 15; nodes += 2) {
		be_sound(nodes);
		EXPECT_SILENCE();
		CHECK_INT(diagnosis.usable, nodes);
		CHECK(!diagnosis.is_duplicate);
	}
	/* A fact without a reply gives no finding. */
	be_sound(3);
	facts[1].info = read_info("redis_version:7.0\nrun_id:x\n");
	facts[1].marker = said("x");
	facts[1].fsync = reply_absent(REASON_NONE, NULL);
	facts[1].clock[0].node = 0;
	facts[1].pings = 0;
	EXPECT_SILENCE();
	facts[2].clock[1].node = 0;
	EXPECT_SILENCE();
}

TEST(severities_have_names)
{
	CHECK_TEXT(severity_name(SEVERITY_ERROR), "error");
	CHECK_TEXT(severity_name(SEVERITY_WARNING), "warning");
	CHECK_TEXT(severity_name(SEVERITY_NOTE), "note");
}

TEST(doctor_out_of_reach)
{
	static const struct {
		enum reason reason;
		bool is_out;
		const char *id, *words;
	} cases[] = {
		{REASON_UNRESOLVED, true, "unreachable",
			"has a name that does not resolve: it \\x1b"},
		{REASON_CONNECT, true, "unreachable", "cannot be reached: it \\x1b"},
		{REASON_CLOSED, true, "unreachable", "closed the connection: it \\x1b"},
		{REASON_CONNECT_TIMEOUT, true, "unreachable",
			"did not accept the connection in time"},
		{REASON_TLS_TIMEOUT, true, "unreachable",
			"did not begin TLS in time: it hangs, or that port has no TLS"},
		{REASON_NOT_TLS, true, "not-tls", "does not speak TLS"},
		{REASON_TLS, true, "tls", "cannot agree on TLS: it \\x1b"},
		{REASON_UNTRUSTED, true, "certificate", "cannot be trusted: it \\x1b"},
		{REASON_CLIENT_CERTIFICATE, true, "client-certificate",
			"requires a client certificate, or refuses ours: it \\x1b"},
		{REASON_TIMEOUT, true, "unreachable", "did not answer in time"},
		{REASON_NO_PASSWORD, true, "auth",
			"has no password set, and was given one: it \\x1b"},
		{REASON_SPEAKS_TLS, true, "tls", "speaks TLS only"},
		{REASON_NOAUTH, true, "auth", "requires a password"},
		{REASON_WRONG_PASSWORD, true, "auth", "refuses the password: it \\x1b"},
		{REASON_PROTECTED, true, "protected-mode",
			"is in protected mode: it serves only its own host: it \\x1b"},
		{REASON_MAXCLIENTS, true, "max-clients", "has too many clients"},
		{REASON_GARBAGE, true, "not-redis", "does not speak the Redis protocol: it \\x1b"},
		{REASON_TOO_LONG, true, "not-redis", "answered at excessive length"},
		{REASON_ENDLESS, true, "not-redis", "sends messages without end"},
		{REASON_LOADING, false, "loading", "is still loading its data"},
		{REASON_READONLY, false, "replica", "is a replica"},
		{REASON_MOVED, false, "cluster", "is a cluster member"},
		{REASON_CLUSTERDOWN, false, "cluster", "belongs to a cluster that is down"},
		{REASON_MASTERDOWN, false, "replica", "is a replica without its master"},
		{REASON_NOREPLICAS, false, "few-replicas",
			"refuses writes because it has too few replicas"},
		{REASON_BUSY, false, "busy", "is busy with a script"},
		{REASON_SERVER, false, "refused", "answered with an error: it \\x1b"},
	};
	const struct reply yes = said("");

	CHECK(!problem_is_final(&yes));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct reply a = reply_absent(cases[i].reason, "it \x1b");

		CHECK_INT(problem_is_final(&a), cases[i].is_out);
		be_sound(3);
		if (cases[i].is_out)
			facts[1].reached = a;
		else
			facts[1].trial[TRIAL_EXTEND] = a;
		judge();
		CHECK(found(1, cases[i].id) != NULL);
		if (found(1, cases[i].id)) {
			CHECK_INT(found(1, cases[i].id)->severity, SEVERITY_ERROR);
			CHECK_TEXT(message_of(1, cases[i].id), cases[i].words);
			CHECK(strcmp(cases[i].id, "refused") == 0 || found(1, cases[i].id)->fix[0]);
		}
		CHECK_INT(diagnosis.count, 1);
		CHECK_INT(diagnosis.usable, 2);
		/* Waiters on that node are not woken, but locks are possible. */
		be_sound(3);
		facts[1].trial[TRIAL_JOIN] = a;
		judge();
		CHECK_INT(diagnosis.with[SEVERITY_WARNING], 1);
		CHECK_INT(diagnosis.usable, 3);
	}
	be_sound(3);
	facts[2].reached = reply_absent(REASON_CONNECT, NULL);
	EXPECT(2, "unreachable", ERROR, "cannot be reached",
		"start the server, or correct the address; check the network between");
}

TEST(doctor_writes_refused)
{
	const struct reply misconf = reply_absent(REASON_MISCONF, "MISCONF Redis is ...");
	const struct reply oom = reply_absent(REASON_OOM, "OOM command not allowed");

	be_sound(3);
	change(0, "bgsave_status:ok", "bgsave_status:err");
	facts[0].trial[TRIAL_ACQUIRE] = misconf;
	EXPECT(0, "stop-writes", ERROR, "refuses writes because it cannot save to disk",
		"CONFIG SET stop-writes-on-bgsave-error no");
	facts[0].trial[TRIAL_ACQUIRE] =
		reply_absent(REASON_MISCONF, "MISCONF Errors writing to the AOF file");
	EXPECT(0, "stop-writes", ERROR, "refuses writes because it cannot save to disk",
		"make room on the server's disk, or its folder writable: CONFIG GET dir names it");
	be_sound(3);
	change(0, "bgsave_status:ok", "bgsave_status:err");
	EXPECT(0, "stop-writes", WARNING,
		"could not save its last snapshot: writes may be refused next",
		"make room, or its folder writable (CONFIG GET dir), then BGSAVE");
	be_sound(3);
	change(0, "bgrewrite_status:ok", "bgrewrite_status:err");
	EXPECT(0, "stop-writes", WARNING,
		"could not rewrite its append-only file: its disk may be full",
		"make room, or its folder writable (CONFIG GET dir), then BGREWRITEAOF");
	be_sound(3);
	change(0, "maxmemory:0", "maxmemory:1000000");
	facts[0].trial[TRIAL_ACQUIRE] = oom;
	EXPECT(0, "memory", ERROR, "is out of memory", "CONFIG SET maxmemory 8388608");
	change(0, "used_memory:940136", "used_memory:5000000");
	EXPECT(0, "memory", ERROR, "is out of memory", "CONFIG SET maxmemory 10000000");
	/* The limit is never lowered, and never removed. */
	change(0, "maxmemory:0", "maxmemory:20000000");
	EXPECT(0, "memory", ERROR, "is out of memory", "CONFIG SET maxmemory 20000000");
	change(0, "used_memory:940136", "used_memory:x");
	EXPECT(0, "memory", ERROR, "is out of memory",
		"raise 'maxmemory' in redis-cli with CONFIG SET, to at least twice the "
		"'used_memory' of INFO memory and at least 8mb");
	change(0, "used_memory:940136", "used_memory:99999999999999999999");
	judge();
	CHECK(strlen(diagnosis.finding[0].fix) > 30 && !strchr(diagnosis.finding[0].fix, '-'));
}

TEST(doctor_same_server_without_a_run_id)
{
	be_sound(3);
	facts[2].trial[TRIAL_ACQUIRE].is_partial = true;
	EXPECT(2, "duplicate", ERROR, "is the same server as another node, or gets its data",
		"name a separate server for each node");
	CHECK(diagnosis.is_duplicate);
}

TEST(doctor_agrees_with_run_about_proxies_and_clusters)
{
	be_sound(3);
	facts[1].info.cluster = 1;
	facts[1].is_one_shard = true;
	EXPECT(1, "one-shard", NOTE, "is a cluster of one shard: it has all keys, and fails over",
		"name a server without failover, or keep the restart guard on");
	CHECK(diagnosis.is_usable[1]);
	facts[1].is_one_shard = false;
	EXPECT(1, "cluster", ERROR,
		"is a cluster member: it has a part of the keys, and fails over",
		"name servers of their own: 'cluster-enabled no' in redis.conf, and restart");
	be_sound(3);
	facts[1].informed = facts[1].trial[TRIAL_SUBSCRIBE] = reply_absent(REASON_CLOSED, NULL);
	EXPECT(1, "proxy", WARNING,
		"answers redlock's scripts, and closes the connection at INFO, as twemproxy does",
		"name the server itself: doctor cannot judge it through the proxy, and waiters "
		"cannot queue");
	CHECK(diagnosis.is_usable[1]);
	snprintf(facts[1].trial[TRIAL_ACQUIRE].run_id, RUN_ID_MAX, "1111222233334444");
	snprintf(facts[1].other_run_id, sizeof(facts[1].other_run_id), "5555666677778888");
	EXPECT(1, "several-servers", ERROR,
		"is several servers behind a proxy: some keys lead to run id 11112222, others to "
		"55556666",
		"name each server as a node of its own, not the proxy before them");
	CHECK(!diagnosis.is_usable[1]);
}

TEST(doctor_reads_info)
{
	static const struct {
		const char *from, *to, *id;
		enum severity severity;
		const char *words, *fix;
	} cases[] = {
		{"role:master", "role:slave\r\nmaster_host:10.0.0.5\r\nmaster_port:6379", "replica",
			SEVERITY_ERROR, "is a replica: its master decides what it keeps",
			"name its master, 10.0.0.5 port 6379, unless that is a node already; "
			"REPLICAOF NO ONE would make a second master of the same data"},
		{"role:master", "role:replica", "replica", SEVERITY_ERROR,
			"is a replica: its master decides what it keeps",
			"name its master, which 'INFO replication' shows there, unless that is a "
			"node already; REPLICAOF NO ONE would make a second master of the same "
			"data"},
		{"role:master", "role:active-replica", "active-replica", SEVERITY_ERROR,
			"is an active replica: another server writes to it as well",
			"'active-replica no' in keydb.conf, and restart"},
		{"mode:standalone", "mode:sentinel", "sentinel", SEVERITY_ERROR,
			"is a sentinel: it keeps no keys",
			"it is a sentinel: name the port of a server"},
		{"mode:standalone", "mode:cluster", "cluster", SEVERITY_ERROR,
			"is a cluster member: it has a part of the keys, and fails over",
			"name servers of their own: 'cluster-enabled no' in redis.conf, and "
			"restart"},
		{"cluster_enabled:0", "cluster_enabled:1", "cluster", SEVERITY_ERROR,
			"is a cluster member: it has a part of the keys, and fails over",
			"name servers of their own: 'cluster-enabled no' in redis.conf, and "
			"restart"},
		{"slaves:0", "slaves:1", "replicas", SEVERITY_NOTE,
			"has 1 replica: one that takes its place may have forgotten locks",
			"do not promote them in its place within the longest TTL"},
		{"slaves:0", "slaves:2", "replicas", SEVERITY_NOTE,
			"has 2 replicas: one that takes its place may have forgotten locks",
			"do not promote them in its place within the longest TTL"},
		{"7.0.15", "4.0.9", "old", SEVERITY_WARNING,
			"runs Redis 4.0.9; redlock supports 6.0 and later", "upgrade the server"},
		{"7.0.15", "5.0.14", "old", SEVERITY_WARNING,
			"runs Redis 5.0.14; redlock supports 6.0 and later", "upgrade the server"},
		{"redis_version:7.0.15", "redis_version:6.2.1\r\nmvcc_depth:0", "old",
			SEVERITY_WARNING, "runs KeyDB 6.2.1; redlock supports 6.3 and later",
			"upgrade the server"},
		{"redis_version:7.0.15", "redis_version:7.2.4\r\nvalkey_version:7.1.0", "old",
			SEVERITY_WARNING, "runs Valkey 7.1.0; redlock supports 7.2 and later",
			"upgrade the server"},
		{"run_id:", "run_di:", "no-run-id", SEVERITY_WARNING,
			"does not report a run id: a restart, or a second name of it, is not "
			"noticed",
			""},
		{"maxmemory:0\r\nmaxmemory_human:0B\r\nmaxmemory_policy:noeviction",
			"maxmemory:9\r\nmaxmemory_policy:allkeys-lru", "eviction", SEVERITY_ERROR,
			"forgets keys, and so locks, when its memory is full (allkeys-lru)",
			"CONFIG SET maxmemory-policy noeviction"},
		{"maxmemory:0", "maxmemory_policy:volatile-ttl\r\nevicted_keys:3\r\nmaxmemory:9",
			"eviction", SEVERITY_ERROR,
			"forgets keys, and so locks, when its memory is full (volatile-ttl); it "
			"has done so",
			"CONFIG SET maxmemory-policy noeviction"},
		{"noeviction", "volatile-lru", "eviction", SEVERITY_NOTE,
			"would forget keys, and so locks, if its memory were limited "
			"(volatile-lru)",
			"CONFIG SET maxmemory-policy noeviction"},
		{"maxmemory:0", "maxmemory:1000000", "memory", SEVERITY_WARNING,
			"uses 940136 of 1000000 bytes of its memory: when it is full, no lock can "
			"be acquired",
			"CONFIG SET maxmemory 8388608"},
		{"clients:1\r\n", "clients:9000\r\n", "max-clients", SEVERITY_WARNING,
			"serves 9000 of at most 10000 clients: further clients will be refused",
			"CONFIG SET maxclients 18100"},
		{"aof_enabled:0", "aof_enabled:1\r\naof_delayed_fsync:7", "slow-disk",
			SEVERITY_NOTE, "waited 7 times for its disk to take the append-only file",
			""},
	};
	static const char *const fine[][2] = {
		{"maxmemory:0", "maxmemory:2000000"},
		{"maxmemory:0", "mem_not_counted_for_evict:500000\r\nmaxmemory:1000000"},
		{"mem_not_counted_for_evict:0\r\n", ""},
		{"clients:1\r\n", "clients:8999\r\n"},
		{"7.0.15", "6.0.0"},
		{"7.0.15", "5"},
		{"7.0.15", "unstable.0"},
		{"7.0.15", "5.unstable"},
		{"redis_version:7.0.15", "redis_version:6.3.0\r\nmvcc_depth:0"},
		{"redis_version:7.0.15",
			"redis_version:5.0.0\r\nserver_name:x\r\ngarnet_version:1.0.0"},
		{"7.0.15", "10.0.0"},
		{"7.0.15", "255.255.255"},
		{"redis_version:7.0.15", "redis_version:7.2.4\r\nvalkey_version:7.2.0"},
		{"role:master", "role:slave-of-nobody\r\nconnected_slaves:2"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		be_sound(3);
		change(1, cases[i].from, cases[i].to);
		expect(__LINE__, 1, cases[i].id, cases[i].severity, cases[i].words, cases[i].fix);
	}
	for (size_t i = 0; i < COUNT_OF(fine); i++) {
		be_sound(3);
		change(1, fine[i][0], fine[i][1]);
		EXPECT_SILENCE();
	}
}

/* CONFIG tells the limit that INFO lacks. */
TEST(doctor_reads_config)
{
	be_sound(3);
	change(1, "maxclients:10000\r\n", "");
	facts[1].info.clients = 80;
	EXPECT_SILENCE();
	facts[1].clients_max = said("80");
	EXPECT(1, "max-clients", WARNING,
		"serves 80 of at most 80 clients: further clients will be refused",
		"CONFIG SET maxclients 260");
	facts[1].clients_max = said("many");
	EXPECT_SILENCE();
	facts[1].clients_max = reply_absent(REASON_NOPERM, NULL);
	EXPECT_SILENCE();
	be_sound(3);
	facts[1].fsync = reply_absent(REASON_NOPERM, "NOPERM");
	EXPECT(1, "config", NOTE,
		"does not permit CONFIG GET appendfsync: not all checks were possible",
		"ACL SETUSER default +config|get");
	facts[1].fsync = reply_absent(REASON_SERVER, "ERR unknown command 'CONFIG'");
	EXPECT(1, "config", NOTE,
		"does not permit CONFIG GET appendfsync: not all checks were possible",
		"remove 'rename-command CONFIG' from redis.conf, and restart; until then, write "
		"each CONFIG SET of other fixes into redis.conf");
}

TEST(doctor_info_denied)
{
	be_sound(3);
	facts[1].info = read_info("");
	facts[1].informed = reply_absent(REASON_NOPERM, "NOPERM");
	facts[1].rights = said("info");
	EXPECT(1, "rights", WARNING,
		"user 'default' may not use info (to know the server, and its restarts)",
		"ACL SETUSER default +info");
	facts[1].informed = reply_absent(REASON_SERVER, "ERR unknown command 'INFO'");
	facts[1].rights = said("");
	EXPECT(1, "info", WARNING, "does not answer INFO: most checks were not possible",
		NO_INFO_FIX);
}

/* A node that refuses every request gets one finding. */
TEST(doctor_refused)
{
	be_sound(3);
	facts[1].info = read_info("");
	facts[1].informed = reply_absent(REASON_SERVER, "ERR no such database");
	facts[1].fsync = facts[1].trial[TRIAL_ACQUIRE] = facts[1].informed;
	EXPECT(1, "refused", ERROR, "answered with an error: ERR no such database", "");
}

#define OWN_KEYS(key) \
	" ~{redlock}:node ~redlock:queue:{" key "}* ~redlock:reserved:{" key \
	"} ~redlock:readers:{" key "} ~redlock:fence:{" key "} ~redlock:limit:{" key "}"
#define OWN_SLOTS " ~KEY#* ~redlock:reserved:{KEY#*} ~redlock:fence:{KEY#*}"
#define OWN_OF_DOCTOR " ~redlock:doctor:* ~redlock:*:{redlock:doctor:*}"
#define KEY_IS "; KEY in the fix stands for a pattern of your locks' keys, such as deploy-*"
#define OWN OWN_KEYS("KEY") OWN_SLOTS OWN_OF_DOCTOR

TEST(doctor_right_to_evalsha)
{
	struct node_facts *p = &facts[1];

	be_sound(3);
	p->digest = reply_absent(REASON_NO_SCRIPT, "NOSCRIPT No matching script.");
	EXPECT_SILENCE();
	p->digest = reply_absent(REASON_NO_DIGESTS, "NOPERM ... to run the 'evalsha' command");
	EXPECT(1, "rights", WARNING, "user 'default' may not use evalsha (to send less)",
		"ACL SETUSER default +evalsha");
	/* The server has no such command: no right would help. */
	p->digest = reply_absent(REASON_NO_DIGESTS, "ERR unknown command 'EVALSHA'");
	EXPECT_SILENCE();
}

TEST(doctor_rights)
{
	struct node_facts *p = &facts[1];
	struct reply mark;

	be_sound(3);
	snprintf(settings.nodes.node[1].user, NODE_SECRET_MAX, "b\x1bob");
	p->trial[TRIAL_ACQUIRE] = reply_absent(REASON_NOPERM, "NOPERM cannot run it");
	p->rights = reply_absent(REASON_NOPERM, "NOPERM no permissions to run the 'eval' ...");
	EXPECT(1, "rights", ERROR,
		"user 'b\\x1bob' may not use eval; without it, doctor cannot try evalsha, get, "
		"set, pttl, "
		"pexpire, del, info, time, exists, zadd, zrange, zrank, zscore, zrem, publish, "
		"pubsub, subscribe, client|tracking, client|caching, zrangebyscore, "
		"zremrangebyscore, type, hscan, zscan, scan, getrange",
		"ACL SETUSER b\\x1bob +eval +evalsha +get +set +pttl +pexpire +del +info +time "
		"+exists +zadd +zrange +zrank +zscore +zrem +publish +pubsub|numsub "
		"+subscribe +client|tracking +client|caching +zrangebyscore +zremrangebyscore "
		"+type +hscan +zscan +scan "
		"+getrange");
	p->rights = said("get set scan");
	EXPECT(1, "rights", ERROR,
		"user 'b\\x1bob' may not use get, set, scan; without it, doctor cannot try zadd",
		"ACL SETUSER b\\x1bob +get +set +zadd +scan");
	/* A note does not hide that locks are impossible. */
	p->rights = said("zrangebyscore");
	judge();
	CHECK_INT(diagnosis.with[SEVERITY_ERROR], 1);
	CHECK_INT(diagnosis.with[SEVERITY_NOTE], 1);
	CHECK_INT(diagnosis.usable, 2);
	CHECK_TEXT(message_of(1, "denied"),
		"user 'b\\x1bob' may not do all that locks need: NOPERM cannot run it");
	p->trial[TRIAL_ACQUIRE] = said("");
	EXPECT(1, "rights", NOTE, "user 'b\\x1bob' may not use zrangebyscore (for --shared)",
		"ACL SETUSER b\\x1bob +zrangebyscore");
	for (int i = 0; i < 2; i++) {
		p->rights = i ? said("~")
			      : reply_absent(REASON_NOPERM, "NOPERM ... to access one of the keys");
		EXPECT(1, "rights", WARNING,
			"user 'b\\x1bob' may not use doctor's own keys redlock:doctor:* (to try a "
			"lock)",
			"ACL SETUSER b\\x1bob" OWN_OF_DOCTOR);
	}
	/* With these keys, doctor could try channels, too. */
	p->trial[TRIAL_SUBSCRIBE] = reply_absent(REASON_NOPERM, "NOPERM ... one of the channels");
	EXPECT(1, "rights", WARNING,
		"user 'b\\x1bob' may not use doctor's own keys redlock:doctor:* (to try a lock), "
		"doctor's own channels (to try a wake-up)",
		"ACL SETUSER b\\x1bob" OWN_OF_DOCTOR " &redlock:*:{redlock:doctor:*}*");
	p->trial[TRIAL_SUBSCRIBE] = said("");
	/* The rules for redlock's own keys have those of doctor. */
	mark = p->marker;
	p->marker = reply_absent(REASON_NOPERM, "NOPERM ... to access one of the keys");
	EXPECT(1, "rights", WARNING,
		"user 'b\\x1bob' may not use redlock's own keys (to queue, for one)" KEY_IS,
		"ACL SETUSER b\\x1bob" OWN);
	p->marker = mark;
	for (int i = 0; i < 2; i++) {
		p->rights = said(i ? "&" : "");
		p->trial[TRIAL_SUBSCRIBE] =
			i ? said("")
			  : reply_absent(REASON_NOPERM, "NOPERM ... one of the channels");
		EXPECT(1, "rights", WARNING,
			"user 'b\\x1bob' may not use redlock's channels (to wake waiters)" KEY_IS,
			"ACL SETUSER b\\x1bob &redlock:wake:{KEY}:* &redlock:queue:{KEY}* "
			"&redlock:*:{redlock:doctor:*}*");
	}
	p->rights = said("pubsub");
	p->trial[TRIAL_SUBSCRIBE] =
		reply_absent(REASON_NOPERM, "NOPERM ... to run the 'subscribe' command");
	EXPECT(1, "rights", WARNING,
		"user 'b\\x1bob' may not use pubsub (to wake waiters), subscribe (to be woken)",
		"ACL SETUSER b\\x1bob +pubsub|numsub +subscribe");
	/* A right that no known command needs is missing; and a reply that does not name the right.
	 */
	p->trial[TRIAL_SUBSCRIBE] = said("");
	p->rights = said("getx xget ge setting");
	p->trial[TRIAL_ACQUIRE] = reply_absent(REASON_NOPERM, "NOPERM ... to access a key");
	settings.command = COMMAND_DOCTOR;
	EXPECT(1, "rights", ERROR,
		"user 'b\\x1bob' may not do all that locks need: NOPERM ... to access a key" KEY_IS,
		"ACL SETUSER b\\x1bob ~KEY" OWN);
	p->trial[TRIAL_ACQUIRE] = said("");
	p->trial[TRIAL_JOIN] = reply_absent(REASON_NOPERM, "cannot run \x1b");
	EXPECT(1, "rights", WARNING,
		"user 'b\\x1bob' may not do all that locks need: cannot run \\x1b",
		"ACL SETUSER b\\x1bob +eval +evalsha +get +set +pttl +pexpire +del +info +time "
		"+exists "
		"+zadd +zrange +zrank +zscore +zrem +publish +pubsub|numsub +subscribe");
	p->trial[TRIAL_JOIN] = said("");
	p->rights = reply_absent(REASON_SERVER, "get");
	EXPECT_SILENCE();
	p->rights = (struct reply){.vote = VOTE_NONE};
	EXPECT_SILENCE();
}

TEST(doctor_own_keys_of_other_tenants)
{
	static const struct {
		const char *format, *rule;
	} tenants[] = {
		{NULL, "~KEY" OWN},
		{"%s", "~KEY" OWN},
		{"my %s", "~KEY" OWN},
		{"a-format-that-is-much-too-long-to-be-of-use-in-a-line-of-text:%s", "~KEY" OWN},
		/* The format makes redlock's own keys. */
		{"redlock:reserved:{%s}", "~KEY" OWN},
		{"app-%s", "~app-*" OWN_KEYS("app-*") OWN_OF_DOCTOR},
	};
	char fix[700];
	struct node_facts *p = &facts[1];

	be_sound(3);
	p->foreign = reply_absent(REASON_NOPERM, "NOPERM ... to access one of the keys");
	p->foreign_fence = said("0");
	for (size_t i = 0; i < COUNT_OF(tenants); i++) {
		settings.key_format = tenants[i].format;
		snprintf(fix, sizeof(fix), "ACL SETUSER default resetkeys %s", tenants[i].rule);
		EXPECT(1, "other-tenants", WARNING,
			strstr(fix, "{KEY}") ? "user 'default' may use redlock's own keys of locks "
					       "that the user may "
					       "not take" KEY_IS
					     : "user 'default' may use redlock's own keys of locks "
					       "that the user may "
					       "not take",
			fix);
	}
	/* On so many nodes that the others are no quorum, whether a lock can be acquired is
	 * unknown, unless the key of one was tried. */
	settings.key_format = NULL;
	judge();
	CHECK(!diagnosis.is_untried);
	facts[2].foreign = p->foreign;
	facts[2].foreign_fence = p->foreign_fence;
	judge();
	CHECK(diagnosis.is_untried && diagnosis.usable == 3);
	settings.key_format = "app-%s";
	judge();
	CHECK(!diagnosis.is_untried);
	facts[2].foreign = facts[2].foreign_fence = said("0");
	p->foreign_fence = reply_absent(REASON_NOPERM, "NOPERM ... to access one of the keys");
	EXPECT_SILENCE();
	p->foreign_fence = said("0");
	p->foreign = reply_absent(REASON_NOPERM, "NOPERM no permissions to run the 'exists'");
	EXPECT_SILENCE();
	p->foreign = said("0");
	EXPECT_SILENCE();
}

TEST(doctor_keys_of_a_format)
{
	struct node_facts *p = &facts[1];

	be_sound(3);
	settings.key_format = "lock:%s";
	p->formatted = said("0");
	EXPECT_SILENCE();
	p->formatted = reply_absent(REASON_NOPERM, "NOPERM ... to access one of the keys");
	EXPECT(1, "key-format", NOTE,
		"user 'default' may not use all keys 'lock:*', as --key-format makes them",
		"ACL SETUSER default ~lock:*");
	settings.key_format = "my %s";
	EXPECT(1, "key-format", NOTE,
		"user 'default' may not use all keys 'my *', as --key-format makes them", "");
	/* The refusal is about the command, not the key. */
	p->formatted = reply_absent(REASON_NOPERM, "NOPERM no permissions to run the 'eval' ...");
	EXPECT_SILENCE();
}

/* The script tries each command of redlock's scripts, and each has an ACL rule. */
TEST(doctor_knows_all_that_scripts_call)
{
	int calls = 0;

	be_sound(3);
	facts[0].rights = reply_absent(REASON_NOPERM, "no permissions to run the 'eval' command");
	judge();
	for (int op = OP_NONE + 1; op < OP_COUNT; op++) {
		const char *script = script_of((enum op)op);

		if (!script)
			continue;
		/* Aliases of redis.call have short names; only commands are words in capitals: a
		 * code is one letter. */
		for (const char *at = strstr(script, "('"); at; at = strstr(at, "('")) {
			char name[32], tried[40], rule[40];
			int len = (int)strspn(at += strlen("('"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

			/* SELECT: a user without that right fails when it connects. */
			if (len < 2 || at[len] != '\'' || strncmp(at, "SELECT", 6) == 0)
				continue;
			snprintf(name, sizeof(name), "%.*s", len, at);
			snprintf(tried, sizeof(tried), "('%s'", name);
			for (char *c = name; *c; c++)
				*c = (char)tolower((unsigned char)*c);
			snprintf(rule, sizeof(rule), " +%s", name);
			unit_check(strstr(rights_script, tried) != NULL, __FILE__, __LINE__,
				"%s is not tried", name);
			unit_check(strstr(diagnosis.finding[0].fix, rule) != NULL, __FILE__,
				__LINE__, "%s has no rule", name);
			calls++;
		}
	}
	CHECK(calls > 100);
}

TEST(doctor_forgetful_node)
{
	struct node_facts *p = &facts[2];

	be_sound(3);
	p->trial[TRIAL_EXTEND].vote = VOTE_GONE;
	EXPECT(2, "forgets", ERROR, "had forgotten a lock a moment after it was taken",
		"each name must lead to one server only: look for a proxy");
	p->trial[TRIAL_ACQUIRE].vote = VOTE_NONE;
	EXPECT_SILENCE();
	p->trial[TRIAL_ACQUIRE] = said("");
	p->trial[TRIAL_EXTEND].vote = VOTE_NONE;
	EXPECT_SILENCE();
}

TEST(doctor_same_server)
{
	be_sound(3);
	facts[2].info = facts[0].info;
	facts[2].info.memory_max = 1; /* not judged: the same server as the first node */
	EXPECT(2, "duplicate", ERROR, "is the same server as redis://a:6379",
		"name a separate server for each node");
	CHECK(diagnosis.is_duplicate);
	CHECK_INT(diagnosis.usable, 2);
	be_sound(3);
	snprintf(facts[2].info.group, INFO_TEXT_MAX, "%s", facts[1].info.group);
	EXPECT(2, "same-group", ERROR,
		"is in one replication group with redis://b:6379: together they have one vote",
		"name a separate server for each node");
	CHECK(!diagnosis.is_duplicate);
	/* The replica gets the finding, whichever is named first. */
	for (int replica = 1; replica < 3; replica++) {
		be_sound(3);
		snprintf(facts[2].info.group, INFO_TEXT_MAX, "%s", facts[1].info.group);
		snprintf(facts[replica].info.role, INFO_TEXT_MAX, "slave");
		judge();
		CHECK_INT(diagnosis.count, 2);
		CHECK(found(replica, "replica") && found(replica, "same-group"));
		CHECK_INT(diagnosis.usable, 2);
	}
	be_sound(3);
	for (int i = 1; i < 3; i++) {
		snprintf(facts[i].info.group, INFO_TEXT_MAX, "x");
		snprintf(facts[i].info.role, INFO_TEXT_MAX, "slave");
		facts[i].trial[TRIAL_ACQUIRE] = reply_absent(REASON_READONLY, "READONLY");
	}
	judge();
	CHECK_INT(diagnosis.usable, 1);
	CHECK(found(-1, "no-quorum") != NULL);
	CHECK_TEXT(message_of(-1, "no-quorum"),
		"1 of 3 nodes can be used, 2 are needed: no lock can be acquired");
	/* Nodes that grant locks, and may forget them. */
	be_sound(3);
	for (int i = 0; i < 2; i++) {
		facts[i].info.memory_max = 1 << 30;
		snprintf(facts[i].info.policy, INFO_TEXT_MAX, "allkeys-lru");
	}
	judge();
	CHECK_TEXT(message_of(-1, "no-quorum"),
		"1 of 3 nodes can be used, 2 are needed: locks can be acquired, but are not "
		"safe");
}

TEST(doctor_keys_of_the_command_line)
{
	struct node_facts *p = &facts[1];

	be_sound(3);
	p->foreign = reply_absent(REASON_NOPERM, "NOPERM ... to access a key");
	EXPECT(1, "some-keys", NOTE,
		"user 'default' has rights on some keys only: those of locks were not tried",
		"redlock doctor -k KEY, with the key of a lock");
	settings.keys = ONE_KEY("job");
	EXPECT_SILENCE();
	p->queues = reply_absent(REASON_NOPERM, "NOPERM ... to access a key");
	EXPECT(1, "key", WARNING,
		"user 'default' may not use redlock's own keys of 'job' (to queue, for one)",
		"ACL SETUSER default ~job ~{redlock}:node ~redlock:queue:{job}* "
		"~redlock:reserved:{job} ~redlock:readers:{job} ~redlock:fence:{job} "
		"~redlock:limit:{job} ~redlock:doctor:* ~redlock:*:{redlock:doctor:*}");
	p->formatted = reply_absent(REASON_NOPERM, "NOPERM ... to access a key");
	EXPECT(1, "key", ERROR, "user 'default' may not use 'job'",
		"ACL SETUSER default ~job ~{redlock}:node ~redlock:queue:{job}* "
		"~redlock:reserved:{job} ~redlock:readers:{job} ~redlock:fence:{job} "
		"~redlock:limit:{job} ~redlock:doctor:* ~redlock:*:{redlock:doctor:*}");
}

TEST(doctor_default_nodes)
{
	be_sound(3);
	memset(settings.source, 0, sizeof(settings.source));
	EXPECT(-1, "default-nodes", WARNING, "no nodes are named: redis://127.0.0.1:6379 is asked",
		"name three or five independent servers with --nodes or REDLOCK_NODES");
}

/* With fewer than three nodes there is no restart guard. */
TEST(doctor_persistence)
{
	be_sound(1);
	judge();
	CHECK_INT(diagnosis.count, 2);
	CHECK(found(-1, "single") && found(-1, "single")->severity == SEVERITY_NOTE);
	CHECK(found(0, "persistence") && found(0, "persistence")->severity == SEVERITY_WARNING);
	CHECK_TEXT(fix_of(0, "persistence"), "CONFIG SET appendonly yes");
	change(0, "aof_enabled:0", "aof_enabled:1");
	judge();
	CHECK(found(0, "persistence") && found(0, "persistence")->severity == SEVERITY_WARNING);
	CHECK_TEXT(fix_of(0, "persistence"), "CONFIG SET appendfsync always");
	facts[0].fsync = said("always");
	EXPECT(-1, "single", NOTE, "one node: while it is away, no lock can be acquired",
		"name three nodes");
	facts[0].fsync = reply_absent(REASON_NOPERM, "NOPERM");
	judge();
	CHECK(!found(0, "persistence") && found(0, "config"));
	be_sound(1);
	settings.restart_guard = GUARD_ON;
	EXPECT(-1, "single", NOTE, "one node: while it is away, no lock can be acquired",
		"name three nodes");
	be_sound(1);
	facts[0].marker = said("");
	change(0, "aof_enabled:0\r\n", "");
	EXPECT(-1, "single", NOTE, "one node: while it is away, no lock can be acquired",
		"name three nodes");
}

static void set_clock(int sample, usec ahead)
{
	facts[1].clock[sample].node = (1000 + sample) * USEC_SEC + ahead;
}

TEST(doctor_clock_apart)
{
	static const struct {
		usec ahead;
		const char *words;
		enum severity severity;
	} cases[] = {
		{1004 * MS, NULL, SEVERITIES},
		{-1000 * MS, NULL, SEVERITIES},
		{1505 * MS,
			"has another time of day, 1.5s ahead of ours: when it is set, locks end "
			"too early or "
			"late",
			SEVERITY_WARNING},
		{-1500 * MS,
			"has another time of day, 1.5s behind ours: when it is set, locks end too "
			"early or "
			"late",
			SEVERITY_WARNING},
		{30004 * MS,
			"has another time of day, 30s ahead of ours: when it is set, locks end too "
			"early or "
			"late",
			SEVERITY_WARNING},
		{40004 * MS, "has another time of day, 40s ahead of ours: too far for it to vote",
			SEVERITY_ERROR},
		{-40000 * MS, "has another time of day, 40s behind ours: too far for it to vote",
			SEVERITY_ERROR},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		be_sound(3);
		set_clock(0, cases[i].ahead);
		set_clock(1, cases[i].ahead);
		if (!cases[i].words)
			EXPECT_SILENCE();
		else
			expect(__LINE__, 1, "clock-off", cases[i].severity, cases[i].words,
				cases[i].severity == SEVERITY_ERROR
					? "set the clocks of that host and of this one: "
					  "timedatectl set-ntp true; '--restart-guard off' does "
					  "not look at clocks"
					: "set the clocks of that host and of this one: "
					  "timedatectl set-ntp true");
	}
	settings.restart_guard = GUARD_OFF;
	judge();
	CHECK(found(1, "clock-off") && found(1, "clock-off")->severity == SEVERITY_WARNING);
	be_sound(3);
	CHECK_INT(diagnosis_clock_off(&facts[0].clock[0]), 0);
	facts[0].clock[0].node += 3 * MS;
	CHECK_INT(diagnosis_clock_off(&facts[0].clock[0]), MS);
	facts[0].clock[0].node -= 6 * MS;
	CHECK_INT(diagnosis_clock_off(&facts[0].clock[0]), -MS);
}

TEST(doctor_clock_rate)
{
	be_sound(3);
	/* a tenth, the travelling time and the granularity: the least difference is not larger */
	set_clock(1, 108 * MS);
	EXPECT_SILENCE();
	set_clock(1, -104 * MS);
	EXPECT_SILENCE();
	set_clock(1, 109 * MS);
	EXPECT(1, "clock-rate", ERROR, "its clock gained 101ms in 1004ms: locks end early there",
		"check the clock of its host; a larger --drift-factor allows for more");
	set_clock(1, -105 * MS);
	EXPECT(1, "clock-rate", WARNING, "its clock lost 101ms in 1004ms: locks end late there",
		"check the clock of its host");
	settings.drift_permille = 200;
	EXPECT_SILENCE();
}

TEST(doctor_latencies)
{
	struct latency l;

	be_sound(3);
	l = diagnosis_latency(&facts[0]);
	CHECK_INT(l.min, 2 * MS);
	CHECK_INT(l.median, 3 * MS);
	CHECK_INT(l.p99, 4 * MS);
	facts[0].pings = 0;
	l = diagnosis_latency(&facts[0]);
	CHECK_INT(l.min + l.median + l.p99, 0);
	facts[0].pings = 1;
	CHECK_INT(diagnosis_latency(&facts[0]).median, 4 * MS);
	be_sound(3);
	facts[1].ping[1] = 500 * MS;
	EXPECT_SILENCE();
	facts[1].ping[1] = 501 * MS;
	EXPECT(1, "latency", WARNING, "answers in up to 501ms: close to the node time-out of 1s",
		"--node-timeout 2004ms");
	/* the advice for the time-out includes the TTL that it needs */
	settings.ttl = 20 * USEC_SEC;
	EXPECT(1, "latency", WARNING, "answers in up to 501ms: close to the node time-out of 1s",
		"--node-timeout 2004ms --ttl 40s");
	for (int i = 0; i < facts[1].pings; i++)
		facts[1].ping[i] = 1000 * MS;
	judge();
	CHECK(found(1, "latency")->severity == SEVERITY_WARNING);
	for (int i = 0; i < facts[1].pings; i++)
		facts[1].ping[i] = 1001 * MS;
	EXPECT(1, "latency", ERROR, "answers in 1s: later than the node time-out of 1s",
		"--node-timeout 4004ms --ttl 80s");
}

TEST(doctor_restart_guard)
{
	static const char *const marks[] = {"", "another", "another 1 1", "a", "aa9bfc 1 1"};
	static const struct {
		const char *behind; /* after its run id; the node's clock says 1000.002 s */
		const char *left; /* NULL: the node votes */
	} cases[] = {
		{" 1012345 33002", "12s"},
		/* a client that needs a longer quarantine makes it longer, and so do we */
		{" 1012345 32002", "13s"},
		{" 1012345 0", "45s"},
		{" 1012345", "45s"},
		{" 1012345  33002", "12s"},
		{" 1000003 33002", "1ms"},
		{" 1000002 33002", NULL},
		{" 900000 33002", NULL},
		{" ", NULL},
		{" x y", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[100], words[100];

		be_sound(3);
		snprintf(text, sizeof(text), "%s%s", facts[0].info.run_id, cases[i].behind);
		facts[0].marker = said(text);
		if (!cases[i].left) {
			EXPECT_SILENCE();
			continue;
		}
		judge();
		CHECK_INT(diagnosis.count, 1);
		CHECK_INT(diagnosis.with[SEVERITY_WARNING], 1);
		/* The node is not usable until the quarantine ends. */
		CHECK_INT(diagnosis.usable, 2);
		snprintf(words, sizeof(words), "in quarantine: it votes again in %s, automatically",
			cases[i].left);
		CHECK_TEXT(message_of(0, "quarantine"), words);
		settings.restart_guard = GUARD_OFF;
		judge();
		CHECK(!found(0, "quarantine"));
		settings.restart_guard = GUARD_ON;
		facts[0].clock[0].node = 0;
		EXPECT_SILENCE();
	}
	be_sound(3);
	snprintf(facts[0].marker.text, REPLY_TEXT_MAX, "%s 99999999999999999999999 1",
		facts[0].info.run_id);
	judge();
	CHECK(found(0, "quarantine") != NULL);
	snprintf(facts[0].marker.text, REPLY_TEXT_MAX, "%s0 1 1", facts[0].info.run_id);
	judge();
	CHECK(found(0, "not-admitted") != NULL);
	be_sound(3);
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		facts[0].marker = said(marks[i]);
		EXPECT(0, "not-admitted", WARNING,
			"new or restarted, and not used since: its quarantine of 33s begins with "
			"the first lock",
			"use a lock now, and wait; or, if the nodes hold no locks: redlock doctor "
			"--admit");
	}
	change(0, "role:master", "role:other");
	EXPECT_SILENCE();
	change(0, "role:master", "role:master");
	facts[0].marker = reply_absent(REASON_NOPERM, "NOPERM may not run the 'get' command");
	EXPECT_SILENCE();
	facts[0].marker = reply_absent(REASON_NOPERM, "NOPERM may not access the key");
	EXPECT(0, "rights", WARNING,
		"user 'default' may not use redlock's own keys (to queue, for one)" KEY_IS,
		"ACL SETUSER default" OWN);
	facts[0].marker = said("");
	facts[0].info.run_id[0] = '\0';
	facts[0].informed = reply_absent(REASON_NOPERM, "");
	EXPECT_SILENCE();
}

TEST(doctor_fencing_counters)
{
	be_sound(3);
	facts[1].own_keys = said("broken redlock:fence:{k}");
	EXPECT(1, "counter", WARNING,
		"the fencing counter 'redlock:fence:{k}' is no number, or at its limit: --fence "
		"gets no vote here",
		"DEL redlock:fence:{k}");
	facts[1].own_keys = said("near redlock:fence:{a b}");
	EXPECT(1, "counter", WARNING,
		"the fencing counter 'redlock:fence:{a b}' is half way to its limit, far ahead of "
		"all clocks",
		"");
	facts[1].own_keys = reply_absent(REASON_NOPERM, "NOPERM may not run the 'scan' command");
	EXPECT_SILENCE();
}

TEST(doctor_lasting_keys)
{
	be_sound(3);
	facts[1].own_keys = said("lasting 0 redlock:queue:{k}");
	EXPECT(1, "lasting-key", WARNING, "redlock's own key 'redlock:queue:{k}' does not expire",
		"EXPIRE redlock:queue:{k} 86400");
	facts[1].own_keys = said("lasting 12 redlock:readers:{a b}");
	EXPECT(1, "lasting-key", WARNING,
		"redlock's own key 'redlock:readers:{a b}' does not expire (and 12 more like it)",
		"");
	/* The script never replies this. */
	facts[1].own_keys = said("lasting 12");
	EXPECT_SILENCE();
}

TEST(doctor_databases_of_a_server)
{
	be_sound(3);
	facts[1].databases = said("0");
	EXPECT_SILENCE();
	facts[1].databases = said("0 12");
	EXPECT(1, "other-database", WARNING,
		"its database 12 is a node of other clients: they do not see these locks",
		"name the same nodes on all hosts, with their databases; if no client uses that "
		"one: redis-cli -n 12 DEL {redlock}:node");
	settings.nodes.node[1].db = 12;
	EXPECT(1, "other-database", WARNING,
		"its database 0 is a node of other clients: they do not see these locks",
		"name the same nodes on all hosts, with their databases; if no client uses that "
		"one: redis-cli -n 0 DEL {redlock}:node");
	facts[1].databases = said("12");
	EXPECT_SILENCE();
	facts[1].databases = said("x  y");
	EXPECT_SILENCE();
	facts[1].databases = reply_absent(REASON_NOPERM, "NOPERM");
	EXPECT_SILENCE();
}

static void meet(int node, const char *name, int nodes, bool is_unsafe)
{
	struct other_list *o = &facts[node].other[facts[node].others++];

	*o = (struct other_list){.list = {.nodes = nodes, .is_other = true, .is_unsafe = is_unsafe},
		.key = "k",
		.owner = "me@web1:42"};
	snprintf(o->list.name, sizeof(o->list.name), "%s", name);
}

TEST(doctor_holders_with_other_nodes)
{
	char want[400], here[FINGERPRINT_NAME_MAX], mine[FINGERPRINT_MAX];

	be_sound(3);
	node_list_fingerprint(mine, &settings.nodes);
	fingerprint_name(here, mine, strlen(mine));
	meet(1, "3fa9c1d2", 5, true);
	snprintf(want, sizeof(want),
		"'k' is held by me@web1:42 with other nodes (5 nodes, list 3fa9c1d2; here 3 nodes, "
		"list %s): two clients could have one lock at once",
		here);
	EXPECT(-1, "other-nodes", WARNING, want,
		"name the same nodes on all hosts: 'redlock config' prints a host's list and its "
		"name");
	/* The same list on another node is the same finding; each further list is one more. */
	meet(2, "3fa9c1d2", 5, true);
	judge();
	CHECK_INT(diagnosis.count, 1);
	meet(2, "77b0e412", 1, true);
	judge();
	CHECK_INT(diagnosis.count, 2);
	CHECK_INT(diagnosis.with[SEVERITY_WARNING], 2);
	/* One node more: a step that is safe. */
	be_sound(3);
	meet(0, "3fa9c1d2", 4, false);
	snprintf(want, sizeof(want),
		"'k' is held by me@web1:42 with other nodes (4 nodes, list 3fa9c1d2; here 3 nodes, "
		"list %s): safe while hosts change from one of these lists to the other",
		here);
	EXPECT(-1, "other-nodes", NOTE, want,
		"name the same nodes on all hosts: 'redlock config' prints a host's list and its "
		"name");
}

TEST(doctor_certificates)
{
	const usec day = 24 * 3600 * USEC_SEC, wall = 20000 * day;
	struct err e;

	be_sound(3);
	for (int i = 0; i < 3; i++)
		facts[i].certificate.wall = wall;
	EXPECT_SILENCE();
	facts[1].certificate.until = wall + 14 * day;
	EXPECT_SILENCE();
	facts[1].certificate.until = wall + 14 * day - 1;
	EXPECT(1, "certificate", WARNING,
		"its certificate ends on 2024-10-17, in 13d23h: then it cannot be trusted",
		"renew it");
	facts[1].certificate.until = wall;
	EXPECT(1, "certificate", WARNING,
		"its certificate ends on 2024-10-04, in 0ms: then it cannot be trusted",
		"renew it");
	facts[1].certificate.until = wall - 1;
	EXPECT(1, "certificate", WARNING, "its certificate expired on 2024-10-03", "renew it");
	be_sound(3);
	ours = (struct validity){.until = wall + 14 * day, .wall = wall};
	EXPECT_SILENCE();
	ours.until--;
	EXPECT(-1, "client-certificate", WARNING,
		"our certificate (--cert) ends on 2024-10-17, in 13d23h: then it cannot be trusted",
		"renew it");
	ours.until = wall - 1;
	EXPECT(-1, "client-certificate", WARNING, "our certificate (--cert) expired on 2024-10-03",
		"renew it");
	CHECK_INT(diagnosis.usable, 3);
	be_sound(3);
	settings.tls.insecure = 1;
	EXPECT_SILENCE();
	settings.nodes.count = 2;
	CHECK_INT(node_list_add(&settings.nodes, "rediss://c", &e), 0);
	EXPECT(-1, "insecure", WARNING,
		"certificates are not verified: any server can pass for a node",
		"remove --insecure; --cacert names the authorities to trust");
	settings.tls.insecure = 0;
	EXPECT_SILENCE();
}

TEST(doctor_number_of_nodes)
{
	be_sound(4);
	EXPECT(-1, "even", WARNING,
		"4 nodes, an even number: locks survive the loss of 1, as with 3",
		"name one node more, or one less");
	be_sound(3);
	for (int i = 0; i < 2; i++) {
		facts[i].reached = reply_absent(REASON_CONNECT, "no");
		judge();
		CHECK_INT(diagnosis.usable, 2 - i);
		CHECK((found(-1, "no-quorum") != NULL) == (i == 1));
	}
	CHECK_INT(diagnosis.with[SEVERITY_ERROR], 3);
}

TEST(doctor_ttl)
{
	be_sound(3);
	settings.node_timeout = 3 * USEC_SEC;
	EXPECT_SILENCE();
	settings.node_timeout = 3001 * MS;
	EXPECT(-1, "ttl", WARNING,
		"a TTL of 30s leaves few attempts to extend it with a node time-out of 3s",
		"--ttl 60s");
	settings.node_timeout = 14 * USEC_SEC;
	EXPECT(-1, "ttl", ERROR,
		"a TTL of 30s is too short for a node time-out of 14s: no lock can be acquired",
		"--ttl 280s");
	settings.node_timeout = 20 * USEC_SEC;
	EXPECT(-1, "ttl", ERROR,
		"a TTL of 30s is too short for a node time-out of 20s: no lock can be acquired",
		"--ttl 400s");
	be_sound(3);
	settings.ttl = 5 * MS;
	settings.node_timeout = 5 * MS / 10;
	facts[0].pings = facts[1].pings = facts[2].pings = 0;
	EXPECT(-1, "ttl", ERROR,
		"a TTL of 5ms is too short for a node time-out of 0ms: no lock can be acquired",
		"--ttl 10s");
}

/* The largest possible number of findings. */
TEST(doctor_everything_is_wrong)
{
	be_sound(15);
	settings.nodes.count = 14;
	settings.node_timeout = USEC_SEC * 20;
	for (int i = 0; i < 14; i++) {
		struct node_facts *p = &facts[i];

		p->info = read_info("redis_version:3.2\nredis_mode:cluster\nrole:slave\n"
				    "master_replid:x\nmaxmemory_policy:x\nmaxmemory:9\n"
				    "used_memory:9\nrdb_last_bgsave_status:err\nmaxclients:3\n"
				    "connected_clients:3\naof_enabled:0\naof_delayed_fsync:1\n");
		for (int t = 0; t < TRIALS; t++)
			p->trial[t] = reply_absent((enum reason)(REASON_LOADING + t), "x");
		p->rights = said("set zadd ~ &");
		p->fsync = reply_absent(REASON_NOPERM, "");
		p->clock[0].node += 90 * USEC_SEC;
		p->ping[0] = 20 * USEC_SEC;
	}
	judge();
	CHECK_INT(diagnosis.usable, 0);
	CHECK(diagnosis.count > 14 * 12);
	CHECK_INT(diagnosis.with[0] + diagnosis.with[1] + diagnosis.with[2], diagnosis.count);
}
