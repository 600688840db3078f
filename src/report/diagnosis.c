#include "report/diagnosis.h"

#include "base/duration.h"
#include "base/err.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "report/own_keys.h"
#include "report/problem.h"
#include "report/report.h"
#include "report/rights.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* A clock with this difference to ours will be set some day; then the node's locks expire at once,
 * or late. With the larger difference, the restart guard refuses the node's vote. */
#define CLOCK_ODD USEC_SEC
#define CLOCK_REFUSED (SKEW_MAX_MS * USEC_MSEC)

/* Some servers read the clock once per millisecond. */
#define CLOCK_GRAIN (2 * USEC_MSEC)

/* Enough time to renew a certificate by hand. */
#define CERTIFICATE_SOON (USEC_SEC * 3600 * 24 * 14)

static bool is_answer(const struct reply *a)
{
	return a->vote != VOTE_NONE && a->vote != VOTE_ABSENT;
}

/* ---- one node ---- */

static bool is_master(const struct server_info *info)
{
	return strcmp(info->role, "master") == 0;
}

static void judge_cluster(struct diagnosis *d, int node, const struct node_facts *p)
{
	const struct server_info *info = &p->info;

	if (strcmp(info->mode, "cluster") != 0 && info->cluster <= 0)
		return;
	if (p->is_one_shard)
		finding_add(d, node, SEVERITY_NOTE, "one-shard",
			"name a server without failover, or keep the restart guard on",
			"is a cluster of one shard: it has all keys, and fails over");
	else
		finding_add(d, node, SEVERITY_ERROR, "cluster",
			"name servers of their own: 'cluster-enabled no' in redis.conf, and "
			"restart",
			"is a cluster member: it has a part of the keys, and fails over");
}

/* It answers scripts, and closes the connection at other commands: answers that it held back are
 * lost, too. */
bool diagnosis_is_proxy(const struct node_facts *p)
{
	return p->trial[TRIAL_ACQUIRE].vote == VOTE_YES &&
	       reply_is_absent(&p->informed, REASON_CLOSED);
}

static void judge_role(struct diagnosis *d, int node, const struct server_info *info)
{
	bool is_replica = strcmp(info->role, "slave") == 0 || strcmp(info->role, "replica") == 0;
	char fix[FIX_MAX];

	if (server_info_is_sentinel(info))
		finding_add(d, node, SEVERITY_ERROR, "sentinel", SENTINEL_FIX,
			"is a sentinel: it keeps no keys");
	if (is_replica)
		finding_add(d, node, SEVERITY_ERROR, "replica", problem_replica_fix(fix, info),
			"is a replica: its master decides what it keeps");
	if (strcmp(info->role, "active-replica") == 0)
		finding_add(d, node, SEVERITY_ERROR, "active-replica",
			"'active-replica no' in keydb.conf, and restart",
			"is an active replica: another server writes to it as well");
	if (is_master(info) && info->replicas > 0)
		finding_add(d, node, SEVERITY_NOTE, "replicas",
			"do not promote them in its place within the longest TTL",
			"has %" PRId64 " replica%s: one that takes its place may have forgotten "
			"locks",
			info->replicas, info->replicas == 1 ? "" : "s");
}

/* Does the server refuse every request? */
static bool is_refused(const struct node_facts *p)
{
	return reply_is_absent(&p->trial[TRIAL_ACQUIRE], REASON_SERVER);
}

/* Compares two nodes. The later node gets the finding, unless it is the master. False: both are the
 * same server. */
static bool compare(struct diagnosis *d, int node, int earlier, const struct settings *s,
	const struct node_facts facts[])
{
	const struct server_info *info = &facts[node].info, *other = &facts[earlier].info;
	bool is_first = is_master(info) && !is_master(other);
	const char *fix = "name a separate server for each node";

	if (info->run_id[0] && strcmp(info->run_id, other->run_id) == 0) {
		d->is_duplicate = true;
		finding_add(d, node, SEVERITY_ERROR, "duplicate", fix, "is the same server as %s",
			s->nodes.node[earlier].label);
		return false;
	}
	if (info->group[0] && strcmp(info->group, other->group) == 0)
		finding_add(d, is_first ? earlier : node, SEVERITY_ERROR, "same-group", fix,
			"is in one replication group with %s: together they have one vote",
			s->nodes.node[is_first ? node : earlier].label);
	return true;
}

/* The oldest supported versions: major, minor. */
static const struct {
	const char *kind;
	int64_t oldest[2];
} supported[] = {{"Redis", {6, 0}}, {"KeyDB", {6, 3}}, {"Valkey", {7, 2}}};

static void judge_version(struct diagnosis *d, int node, const struct server_info *info)
{
	const char *minor = strchr(info->version, '.');
	int64_t version[2] = {server_info_number(info->version, strlen(info->version)),
		minor ? server_info_number(minor + 1, strlen(minor + 1)) : INFO_UNKNOWN};

	if (version[0] == INFO_UNKNOWN || version[1] == INFO_UNKNOWN)
		return;
	for (int i = 0; i < COUNT_OF(supported); i++) {
		const int64_t *oldest = supported[i].oldest;

		if (strcmp(info->kind, supported[i].kind) == 0 &&
			(version[0] < oldest[0] ||
				(version[0] == oldest[0] && version[1] < oldest[1])))
			finding_add(d, node, SEVERITY_WARNING, "old", "upgrade the server",
				"runs %s %s; redlock supports %" PRId64 ".%" PRId64 " and later",
				info->kind, info->version, oldest[0], oldest[1]);
	}
}

/* How long a restarted node has no vote, until all locks that it may have forgotten have expired;
 * 0: no restart guard. */
static usec guard_time(const struct settings *s)
{
	return settings_policy(s).quarantine;
}

/* Is the node a voter of its own? False: it is the same server as a node that was judged before. */
static bool judge_identity(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts facts[])
{
	const struct server_info *info = &facts[node].info;

	for (int i = 0; i < node; i++)
		if (!compare(d, node, i, s, facts))
			return false;
	/* The token of the trial is new, and all nodes got it before one was to release it. */
	if (facts[node].trial[TRIAL_ACQUIRE].vote == VOTE_YES &&
		facts[node].trial[TRIAL_ACQUIRE].is_partial) {
		d->is_duplicate = true;
		finding_add(d, node, SEVERITY_ERROR, "duplicate",
			"name a separate server for each node",
			"is the same server as another node, or gets its data");
		return false;
	}
	if (reply_is_absent(&facts[node].informed, REASON_SERVER) && !is_refused(&facts[node]))
		finding_add(d, node, SEVERITY_WARNING, "info",
			guard_time(s) > 0
				? NO_INFO_FIX
				: "remove 'rename-command INFO' from redis.conf, and restart",
			"does not answer INFO: most checks were not possible");
	if (facts[node].informed.vote != VOTE_YES)
		return true;
	judge_version(d, node, info);
	if (facts[node].other_run_id[0])
		finding_add(d, node, SEVERITY_ERROR, "several-servers",
			"name each server as a node of its own, not the balancer before them; if "
			"the server has restarted just now, run doctor again",
			"is several servers: of its connections, some lead to run id %.8s, others "
			"to %.8s",
			info->run_id, facts[node].other_run_id);
	if (!info->run_id[0])
		finding_add(d, node, SEVERITY_WARNING, "no-run-id", "",
			"does not report a run id: a restart, or a second name of it, is not "
			"noticed");
	return true;
}

/* Is at least nine tenths of the limit used? Not if there is no limit. */
static bool is_nearly(int64_t used, int64_t limit)
{
	return limit > 0 && used >= limit - limit / 10;
}

static void judge_room(struct diagnosis *d, int node, const struct node_facts *p)
{
	const struct server_info *info = &p->info;
	bool evicts = info->policy[0] && strcmp(info->policy, "noeviction") != 0;
	int64_t clients_max = info->clients_max;
	char fix[64];

	if (evicts && info->memory_max > 0)
		finding_add(d, node, SEVERITY_ERROR, "eviction",
			"CONFIG SET maxmemory-policy noeviction",
			"forgets keys, and so locks, when its memory is full (%s)%s", info->policy,
			info->evicted > 0 ? "; it has done so" : "");
	else if (evicts)
		finding_add(d, node, SEVERITY_NOTE, "eviction",
			"CONFIG SET maxmemory-policy noeviction",
			"would forget keys, and so locks, if its memory were limited (%s)",
			info->policy);
	else if (is_nearly(info->memory - usec_max(info->memory_aside, 0), info->memory_max))
		finding_add(d, node, SEVERITY_WARNING, "memory", problem_memory_fix(fix, info),
			"uses %" PRId64 " of %" PRId64
			" bytes of its memory: when it is full, no lock can be acquired",
			info->memory, info->memory_max);
	if (clients_max == INFO_UNKNOWN && p->clients_max.vote == VOTE_YES)
		clients_max = server_info_number(p->clients_max.text, p->clients_max.text_len);
	snprintf(fix, sizeof(fix), "CONFIG SET maxclients %" PRId64, 2 * info->clients + 100);
	if (is_nearly(info->clients, clients_max))
		finding_add(d, node, SEVERITY_WARNING, "max-clients", fix,
			"serves %" PRId64 " of at most %" PRId64
			" clients: further clients will be refused",
			info->clients, clients_max);
}

static void judge_persistence(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const struct server_info *info = &p->info;
	char user[300], fix[400] = "";

	utf8_escape(user, sizeof(user), rights_user(s, node), strlen(rights_user(s, node)));
	if (reply_is_absent(&p->fsync, REASON_NOPERM))
		snprintf(fix, sizeof(fix), "ACL SETUSER %s +config|get", user);
	if (reply_is_absent(&p->fsync, REASON_SERVER))
		snprintf(fix, sizeof(fix),
			"remove 'rename-command CONFIG' from redis.conf, and restart; until then, "
			"write each CONFIG SET of other fixes into redis.conf");
	if (reply_is_absent(&p->fsync, REASON_NOPERM) ||
		(reply_is_absent(&p->fsync, REASON_SERVER) && !is_refused(p)))
		finding_add(d, node, SEVERITY_NOTE, "config", fix,
			"does not permit CONFIG GET appendfsync: not all checks were possible");
	if (guard_time(s) == 0 && info->log == 0)
		finding_add(d, node, SEVERITY_WARNING, "persistence", "CONFIG SET appendonly yes",
			"forgets its locks when it restarts (no append-only file)");
	if (guard_time(s) == 0 && info->log > 0 && p->fsync.vote == VOTE_YES &&
		strcmp(p->fsync.text, "always") != 0)
		finding_add(d, node, SEVERITY_WARNING, "persistence",
			"CONFIG SET appendfsync always",
			"forgets its newest locks when its machine crashes (appendfsync is not "
			"'always')");
	if (strcmp(info->snapshot, "err") == 0)
		finding_add(d, node, SEVERITY_WARNING, "stop-writes",
			"make room, or its folder writable (CONFIG GET dir), then BGSAVE",
			"could not save its last snapshot: writes may be refused next");
	if (strcmp(info->rewrite, "err") == 0)
		finding_add(d, node, SEVERITY_WARNING, "stop-writes",
			"make room, or its folder writable (CONFIG GET dir), then BGREWRITEAOF",
			"could not rewrite its append-only file: its disk may be full");
	if (info->late_fsyncs > 0)
		finding_add(d, node, SEVERITY_NOTE, "slow-disk", "",
			"waited %" PRId64 " times for its disk to take the append-only file",
			info->late_fsyncs);
}

usec diagnosis_clock_off(const struct clock_sample *sample)
{
	usec off = sample->node - sample->wall;

	return off > sample->took ? off - sample->took : off < 0 ? off : 0;
}

/* The least time by which the node's clock gained on ours between the samples; negative: it lost.
 * *ours receives the time between the samples. */
static usec gained(const struct clock_sample clock[2], usec *ours)
{
	usec theirs = clock[1].node - clock[0].node, least, most;

	most = clock[1].asked + clock[1].took - clock[0].asked;
	least = clock[1].asked - clock[0].asked - clock[0].took;
	*ours = usec_max(most, 1);
	return theirs > most + CLOCK_GRAIN    ? theirs - most - CLOCK_GRAIN
	       : theirs < least - CLOCK_GRAIN ? theirs - least + CLOCK_GRAIN
					      : 0;
}

static void judge_clock(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const struct reply skewed = reply_absent(REASON_SKEWED, NULL);
	const char *fix = "set the clocks of that host and of this one: timedatectl set-ntp true";
	char text[DURATION_TEXT_MAX], refused[FIX_MAX];
	usec off, apart, ours, gain;
	bool is_refused;

	if (p->clock[0].node == 0)
		return;
	off = diagnosis_clock_off(&p->clock[0]);
	apart = off < 0 ? -off : off;
	is_refused = apart > CLOCK_REFUSED && guard_time(s) > 0;
	if (apart > CLOCK_ODD)
		finding_add(d, node, is_refused ? SEVERITY_ERROR : SEVERITY_WARNING, "clock-off",
			is_refused ? problem_fix(refused, s, node, &p->info, &skewed) : fix,
			"%s, %s %s ours%s", reason_words(REASON_SKEWED),
			duration_format(text, apart), off < 0 ? "behind" : "ahead of",
			is_refused ? ": too far for it to vote"
				   : ": when it is set, locks end too early or late");
	if (p->clock[1].node == 0)
		return;
	gain = gained(p->clock, &ours);
	if (gain > ours / 1000 * s->drift_permille)
		finding_add(d, node, SEVERITY_ERROR, "clock-rate",
			"check the clock of its host; a larger --drift-factor allows for more",
			"its clock gained %dms in %dms: locks end early there",
			(int)(gain / USEC_MSEC), (int)(ours / USEC_MSEC));
	if (-gain > ours / 1000 * s->drift_permille)
		finding_add(d, node, SEVERITY_WARNING, "clock-rate", "check the clock of its host",
			"its clock lost %dms in %dms: locks end late there",
			(int)(-gain / USEC_MSEC), (int)(ours / USEC_MSEC));
}

struct latency diagnosis_latency(const struct node_facts *p)
{
	usec sorted[PINGS_MAX];
	int n = p->pings;

	if (n == 0)
		return (struct latency){0, 0, 0};
	for (int i = 0; i < n; i++) {
		int at = i;

		for (; at > 0 && sorted[at - 1] > p->ping[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = p->ping[i];
	}
	/* With so few samples, the longest is the 99th percentile. */
	return (struct latency){sorted[0], sorted[n / 2], sorted[n - 1]};
}

/* The TTL that leaves time for many attempts to extend the lock. */
static int64_t ample_ttl(usec node_timeout)
{
	return usec_max(10, 20 * node_timeout / USEC_SEC);
}

bool diagnosis_is_slow(const struct settings *s, const struct node_facts *p)
{
	return diagnosis_latency(p).p99 > s->node_timeout / 2;
}

/* Writes the times that suit the slowest node; "": none is slow. */
static const char *latency_fix(
	char dst[64], const struct settings *s, const struct node_facts facts[])
{
	usec enough = 0;
	size_t used = 0;

	dst[0] = '\0';
	for (int i = 0; i < s->nodes.count; i++)
		if (diagnosis_is_slow(s, &facts[i]))
			enough = usec_max(enough, 4 * diagnosis_latency(&facts[i]).p99);
	if (enough > 0)
		text_append(dst, 64, &used, "--node-timeout %" PRId64 "ms", enough / USEC_MSEC);
	if (s->ttl < 10 * enough)
		text_append(dst, 64, &used, " --ttl %" PRId64 "s", ample_ttl(enough));
	return dst;
}

/* A node that is later than the time-out has no vote: only doctor waits for it longer. */
static void judge_latency(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts facts[])
{
	const struct latency l = diagnosis_latency(&facts[node]);
	char fix[64], slow[DURATION_TEXT_MAX], timeout[DURATION_TEXT_MAX];

	if (!diagnosis_is_slow(s, &facts[node]))
		return;
	latency_fix(fix, s, facts);
	duration_format(timeout, s->node_timeout);
	if (l.median > s->node_timeout)
		finding_add(d, node, SEVERITY_ERROR, "latency", fix,
			"answers in %s: later than the node time-out of %s",
			duration_format(slow, l.median), timeout);
	else
		finding_add(d, node, SEVERITY_WARNING, "latency", fix,
			"answers in up to %s: close to the node time-out of %s",
			duration_format(slow, l.p99), timeout);
}

static void judge_trials(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	for (int i = 0; i < TRIALS; i++) {
		const struct reply *a = &p->trial[i];

		if (a->vote == VOTE_ABSENT && a->reason != REASON_NOPERM)
			problem_add(d, node,
				trial_is_essential((enum trial)i) ? SEVERITY_ERROR
								  : SEVERITY_WARNING,
				s, &p->info, a);
	}
	if (is_answer(&p->trial[TRIAL_ACQUIRE]) && is_answer(&p->trial[TRIAL_EXTEND]) &&
		p->trial[TRIAL_EXTEND].vote != VOTE_YES)
		finding_add(d, node, SEVERITY_ERROR, "forgets",
			"each name must lead to one server only: look for a proxy",
			"had forgotten a lock a moment after it was taken");
}

/* node -1 means our own client certificate. */
static void judge_certificate(struct diagnosis *d, int node, const struct validity *v)
{
	const char *id = node < 0 ? "client-certificate" : "certificate";
	const char *whose = node < 0 ? "our certificate (--cert)" : "its certificate";
	char text[DURATION_TEXT_MAX], day[TIME_TEXT_MAX];
	usec left = v->until - v->wall;

	if (v->until == 0 || left >= CERTIFICATE_SOON)
		return;
	time_format(day, v->until / USEC_SEC);
	if (left < 0) /* possible with --insecure, or with nodes that do not verify ours */
		finding_add(d, node, SEVERITY_WARNING, id, "renew it", "%s expired on %.10s", whose,
			day);
	else
		finding_add(d, node, SEVERITY_WARNING, id, "renew it",
			"%s ends on %.10s, in %s: then it cannot be trusted", whose, day,
			duration_format(text, left));
}

/* The number at the start of the text, in milliseconds. */
static usec msec_of(const char *text)
{
	return usec_min(server_info_number(text, strlen(text)), NEVER / USEC_MSEC / 4) * USEC_MSEC;
}

/* Judges the node mark of the restart guard, which its script in src/proto writes. The mark is the
 * run id alone if a user admitted the server. Else it is "ID OVER GIVEN WALL HISTORY": when the
 * quarantine ends by the clock of the node, and its length, both in milliseconds; the rest is not
 * read here. A client with longer TTLs makes the quarantine longer. */
static void judge_guard(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const char *fix = "wait; or, if the nodes hold no locks: redlock doctor --admit";
	const char *mark = p->marker.text, *id = p->info.run_id, *until, *all;
	usec guard = guard_time(s), now = p->clock[0].node, left;
	char text[DURATION_TEXT_MAX];
	size_t len = strlen(id);

	if (guard == 0 || now == 0 || len == 0 || p->marker.vote != VOTE_YES ||
		!is_master(&p->info) || strcmp(mark, id) == 0)
		return;
	if (strncmp(mark, id, len) != 0 || mark[len] != ' ') {
		finding_add(d, node, SEVERITY_WARNING, "not-admitted",
			"use a lock now, and wait; or, if the nodes hold no locks: redlock doctor "
			"--admit",
			"new or restarted, and not used since: its quarantine of %s begins with "
			"the first lock",
			duration_format(text, guard));
		return;
	}
	until = mark + len + 1;
	all = until + strcspn(until, " ");
	left = msec_of(until) - now;
	if (left <= 0)
		return;
	left += usec_max(guard - msec_of(all + strspn(all, " ")), 0);
	/* A warning, not an error: the quarantine ends automatically. */
	d->is_usable[node] = false;
	finding_add(d, node, SEVERITY_WARNING, "quarantine", fix,
		"in quarantine: it votes again in %s, automatically", duration_format(text, left));
}

/* Locks in one database keep no client out of another one. */
static void judge_databases(
	struct diagnosis *d, int node, const struct settings *s, const struct reply *a)
{
	const char *at = a->vote == VOTE_YES ? a->text : "";
	char fix[200];

	for (; *at; at += strcspn(at, " "), at += *at == ' ') {
		int64_t number = server_info_number(at, strlen(at));

		snprintf(fix, sizeof(fix),
			"name the same nodes on all hosts, with their databases; if no client uses "
			"that one: redis-cli -n %" PRId64 " DEL " GUARD_KEY,
			number);
		if (number != INFO_UNKNOWN && number != s->nodes.node[node].db)
			finding_add(d, node, SEVERITY_WARNING, "other-database", fix,
				"its database %" PRId64 " is a node of other clients: they do not "
				"see these locks",
				number);
	}
}

/* All rules that make no sense for a sentinel, or for a server that was judged before. */
static void judge_server(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts facts[])
{
	const struct node_facts *p = &facts[node];

	rights_judge(d, node, s, p);
	own_keys_judge(d, node, &p->own_keys);
	judge_databases(d, node, s, &p->databases);
	judge_trials(d, node, s, p);
	judge_room(d, node, p);
	judge_persistence(d, node, s, p);
	judge_clock(d, node, s, p);
	judge_latency(d, node, s, facts);
	judge_guard(d, node, s, p);
	judge_certificate(d, node, &p->certificate);
}

static void judge_node(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts facts[])
{
	const struct node_facts *p = &facts[node];

	if (p->reached.vote == VOTE_ABSENT)
		problem_add(d, node, SEVERITY_ERROR, s, &p->info, &p->reached);
	judge_role(d, node, &p->info);
	judge_cluster(d, node, p);
	if (diagnosis_is_proxy(p) && p->other_run_id[0])
		finding_add(d, node, SEVERITY_ERROR, "several-servers",
			"name each server as a node of its own, not the proxy before them",
			"is several servers behind a proxy: some keys lead to run id %.8s, others "
			"to "
			"%.8s",
			p->trial[TRIAL_ACQUIRE].run_id, p->other_run_id);
	else if (diagnosis_is_proxy(p))
		finding_add(d, node, SEVERITY_WARNING, "proxy",
			"name the server itself: doctor cannot judge it through the proxy, and "
			"waiters cannot queue",
			"answers redlock's scripts, and closes the connection at INFO, as "
			"twemproxy "
			"does");
	if (p->reached.vote != VOTE_ABSENT && !diagnosis_is_proxy(p) &&
		!server_info_is_sentinel(&p->info) && judge_identity(d, node, s, facts))
		judge_server(d, node, s, facts);
}

/* ---- the whole ---- */

static void judge_times(
	struct diagnosis *d, const struct settings *s, const struct node_facts facts[])
{
	/* The same condition as for `run`: see settings_finish(). */
	usec drift = policy_drift(s->ttl, (int)s->drift_permille);
	usec rest = s->ttl - drift - s->ttl / 3 - s->node_timeout - deadline_reap_time(s->ttl);
	char fix[64], ttl[DURATION_TEXT_MAX], timeout[DURATION_TEXT_MAX];

	if (s->ttl >= 10 * s->node_timeout && rest >= 0)
		return;
	/* The advice must suit the round trips, too. */
	if (!latency_fix(fix, s, facts)[0])
		snprintf(fix, sizeof(fix), "--ttl %" PRId64 "s", ample_ttl(s->node_timeout));
	duration_format(ttl, s->ttl);
	duration_format(timeout, s->node_timeout);
	if (s->ttl < 2 * s->node_timeout + drift || rest < 0)
		finding_add(d, -1, SEVERITY_ERROR, "ttl", fix,
			"a TTL of %s is too short for a node time-out of %s: no lock can be "
			"acquired",
			ttl, timeout);
	else
		finding_add(d, -1, SEVERITY_WARNING, "ttl", fix,
			"a TTL of %s leaves few attempts to extend it with a node time-out of %s",
			ttl, timeout);
}

/* Nodes that granted the lock that was tried, and would vote. */
static int count_votes(
	const struct diagnosis *d, const struct settings *s, const struct node_facts facts[])
{
	int votes = 0;

	for (int i = 0; i < s->nodes.count; i++) {
		const struct finding *clock = finding_of(d, i, "clock-off");
		const struct finding *key = finding_of(d, i, "key");

		votes += facts[i].trial[TRIAL_ACQUIRE].vote == VOTE_YES &&
			 !finding_of(d, i, "quarantine") &&
			 !(clock && clock->severity == SEVERITY_ERROR) &&
			 !(key && key->severity == SEVERITY_ERROR) &&
			 diagnosis_latency(&facts[i]).median <= s->node_timeout;
	}
	return votes;
}

static void judge_number(
	struct diagnosis *d, const struct settings *s, const struct node_facts facts[], int quorum)
{
	const int nodes = s->nodes.count;

	if (d->usable < quorum)
		finding_add(d, -1, SEVERITY_ERROR, "no-quorum", "",
			"%d of %d nodes can be used, %d are needed: %s", d->usable, nodes, quorum,
			count_votes(d, s, facts) >= quorum
				? "locks can be acquired, but are not safe"
				: "no lock can be acquired");
	if (nodes == 1)
		finding_add(d, -1, SEVERITY_NOTE, "single", "name three nodes",
			"one node: while it is away, no lock can be acquired");
	else if (nodes % 2 == 0)
		finding_add(d, -1, SEVERITY_WARNING, "even", "name one node more, or one less",
			"%d nodes, an even number: locks survive the loss of %d, as with %d", nodes,
			nodes - quorum, nodes - 1);
}

/* Has an earlier node, or the same one before, shown this list? */
static bool was_met(const struct node_facts facts[], int node, int nth)
{
	const struct other_list *o = &facts[node].other[nth];

	for (int i = 0; i <= node; i++)
		for (int j = 0; j < (i < node ? facts[i].others : nth); j++)
			if (strcmp(facts[i].other[j].list.name, o->list.name) == 0)
				return true;
	return false;
}

static void judge_lists(
	struct diagnosis *d, const struct settings *s, const struct node_facts facts[])
{
	char ours[FINGERPRINT_MAX];
	const struct list here = list_of(node_list_fingerprint(ours, &s->nodes));

	for (int i = 0; i < s->nodes.count; i++)
		for (int j = 0; j < facts[i].others; j++) {
			const struct other_list *o = &facts[i].other[j];

			if (was_met(facts, i, j))
				continue;
			finding_also(d, o->list.is_unsafe ? SEVERITY_WARNING : SEVERITY_NOTE,
				"other-nodes", CONTEST_HINT,
				"'%s' is held by %s with other nodes (%d node%s, list %s; here %d "
				"node%s, list %s): %s",
				o->key, o->owner, o->list.nodes, o->list.nodes > 1 ? "s" : "",
				o->list.name, here.nodes, here.nodes > 1 ? "s" : "", here.name,
				o->list.is_unsafe
					? "two clients could have one lock at once"
					: "safe while hosts change from one of these lists to "
					  "the other");
		}
}

/* The user has some keys only, and not the rights that locks with any of them need; the key of a
 * lock was not tried: whether the user can acquire one is unknown. */
static bool is_untried(const struct diagnosis *d, const struct settings *s, int node)
{
	const struct finding *rights = finding_of(d, node, "rights");

	if (s->keys.count > 0 || s->key_format)
		return false;
	return finding_of(d, node, "other-tenants") ||
	       (finding_of(d, node, "some-keys") && rights && rights->severity == SEVERITY_WARNING);
}

void diagnosis_judge_files(struct diagnosis *d, const struct settings *s, int64_t limit)
{
	/* A run has one connection for each node, one for waiting, and files of its own. */
	const int64_t least = 15 + s->nodes.count, enough = 2 * least;

	if (limit < enough)
		finding_add(d, -1, limit < least ? SEVERITY_ERROR : SEVERITY_WARNING, "files",
			ERR_FILES_HINT, "a process may open %" PRId64 " files only: %s", limit,
			limit < least ? "no command can be started"
				      : "TLS, names or options may need more");
}

void diagnosis_judge(struct diagnosis *d, const struct settings *s, const struct node_facts facts[],
	const struct validity *ours)
{
	struct policy policy = settings_policy(s);
	int in_doubt = 0;

	memset(d, 0, sizeof(*d));
	for (int i = 0; i < s->nodes.count; i++)
		d->is_usable[i] = true;
	for (int i = 0; i < s->nodes.count; i++)
		judge_node(d, i, s, facts);
	for (int i = 0; i < s->nodes.count; i++) {
		d->usable += d->is_usable[i];
		in_doubt += d->is_usable[i] && is_untried(d, s, i);
	}
	d->is_untried = d->usable >= policy_quorum(&policy) &&
			d->usable - in_doubt < policy_quorum(&policy);
	judge_times(d, s, facts);
	if (settings_source(s, offsetof(struct settings, nodes))->kind == SOURCE_NONE)
		finding_add(d, -1, SEVERITY_WARNING, "default-nodes",
			"name three or five independent servers with --nodes or REDLOCK_NODES",
			"no nodes are named: " DEFAULT_NODES " is asked");
	if (s->tls.insecure && node_list_find_tls(&s->nodes))
		finding_add(d, -1, SEVERITY_WARNING, "insecure",
			"remove --insecure; --cacert names the authorities to trust",
			"certificates are not verified: any server can pass for a node");
	judge_certificate(d, -1, ours);
	judge_lists(d, s, facts);
	judge_number(d, s, facts, policy_quorum(&policy));
}
