#include "report/diagnosis.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* A node's clock this far from ours will be set right some day, and its locks end at once, or late;
 * and so far, the restart guard has it not vote. */
#define CLOCK_ODD USEC_SEC
#define CLOCK_REFUSED (SKEW_MAX_MS * USEC_MSEC)

/* Some servers read the clock once in a millisecond. */
#define CLOCK_GRAIN (2 * USEC_MSEC)

/* Who must renew a certificate by hand wants to know in time. */
#define CERTIFICATE_SOON (USEC_SEC * 3600 * 24 * 14)

/* ---- INFO ---- */

#define FIELD(name) offsetof(struct server_info, name)

struct info_row {
	const char *name;
	size_t field;
};

static const struct info_row texts[] = {
	{"redis_version", FIELD(version)},
	{"redis_mode", FIELD(mode)},
	{"server_mode", FIELD(mode)}, /* Valkey */
	{"role", FIELD(role)},
	{"run_id", FIELD(run_id)},
	{"master_replid", FIELD(group)},
	{"maxmemory_policy", FIELD(policy)},
	{"rdb_last_bgsave_status", FIELD(snapshot)},
	{"aof_last_bgrewrite_status", FIELD(rewrite)},
	{"aof_last_write_status", FIELD(log_write)},
};

static const struct info_row numbers[] = {
	{"connected_slaves", FIELD(replicas)},
	{"cluster_enabled", FIELD(cluster)},
	{"used_memory", FIELD(memory)},
	{"maxmemory", FIELD(memory_max)},
	{"mem_not_counted_for_evict", FIELD(memory_aside)},
	{"evicted_keys", FIELD(evicted)},
	{"connected_clients", FIELD(clients)},
	{"maxclients", FIELD(clients_max)},
	{"max_clients", FIELD(clients_max)}, /* Dragonfly */
	{"aof_enabled", FIELD(log)},
	{"aof_delayed_fsync", FIELD(late_fsyncs)},
};

/* Who says so is that, and no Redis, whatever redis_version it claims for the sake of clients. The
 * value is its version, unless that is redis_version all the same. */
static const struct {
	const char *name, *kind;
	bool is_version;
} kinds[] = {
	{"valkey_version", "Valkey", true},
	{"dragonfly_version", "Dragonfly", true},
	{"dfly_version", "Dragonfly", true},
	{"kvrocks_version", "Kvrocks", true},
	{"garnet_version", "Garnet", true},
	{"redict_version", "Redict", true},
	{"mvcc_depth", "KeyDB", false},
	{"redis_version", "Redis", true},
};

/* A decimal number, or the least of what it can be; INFO_UNKNOWN for anything else. */
static int64_t number_of(const char *text, size_t len)
{
	int64_t n = 0;
	size_t i = 0;

	for (; i < len && text[i] >= '0' && text[i] <= '9' && n < INT64_MAX / 20; i++)
		n = n * 10 + (text[i] - '0');
	return i == 0 ? INFO_UNKNOWN : n;
}

/* The value of a line "name:value", or NULL. */
static const char *find_field(const char *text, size_t text_len, const char *name, size_t *len)
{
	const char *end = text + text_len, *next;
	size_t name_len = strlen(name);

	for (const char *line = text; line < end; line = next) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));
		const char *stop = feed ? feed : end;

		next = stop + 1;
		if ((size_t)(stop - line) <= name_len || memcmp(line, name, name_len) != 0 ||
			line[name_len] != ':')
			continue;
		line += name_len + 1;
		*len = (size_t)(stop - line) - (stop[-1] == '\r');
		return line;
	}
	return NULL;
}

void server_info_read(struct server_info *info, const char *text, size_t text_len)
{
	const char *value;
	size_t len;

	*info = (struct server_info){.kind = ""};
	for (int i = 0; i < COUNT_OF(texts); i++) {
		value = find_field(text, text_len, texts[i].name, &len);
		if (value)
			utf8_escape((char *)info + texts[i].field, INFO_TEXT_MAX, value, len);
	}
	for (int i = 0; i < COUNT_OF(numbers); i++)
		*(int64_t *)((char *)info + numbers[i].field) = INFO_UNKNOWN;
	for (int i = 0; i < COUNT_OF(numbers); i++) {
		value = find_field(text, text_len, numbers[i].name, &len);
		if (value)
			*(int64_t *)((char *)info + numbers[i].field) = number_of(value, len);
	}
	for (int i = 0; i < COUNT_OF(kinds); i++) {
		value = find_field(text, text_len, kinds[i].name, &len);
		if (!value)
			continue;
		info->kind = kinds[i].kind;
		if (kinds[i].is_version)
			utf8_escape(info->version, sizeof(info->version), value, len);
		return;
	}
}

/* ---- findings ---- */

/* The first of a kind counts: it was looked for before what follows from it. */
static void find(struct diagnosis *d, int node, enum severity severity, const char *id,
	const char *fix, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

static void find(struct diagnosis *d, int node, enum severity severity, const char *id,
	const char *fix, const char *fmt, ...)
{
	struct finding *f = &d->finding[d->count];
	va_list ap;

	for (int i = 0; i < d->count; i++)
		if (d->finding[i].node == node && strcmp(d->finding[i].id, id) == 0)
			return;
	assert(d->count < FINDINGS_MAX);
	*f = (struct finding){.node = node, .severity = severity, .id = id};
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	d->with[severity]++;
	d->count++;
	if (severity == SEVERITY_ERROR && node >= 0)
		d->is_usable[node] = false;
}

const char *severity_name(enum severity severity)
{
	static const char *const words[] = {
		[SEVERITY_ERROR] = "error",
		[SEVERITY_WARNING] = "warning",
		[SEVERITY_NOTE] = "note",
	};

	return words[severity];
}

static bool is_answer(const struct reply *a)
{
	return a->vote != VOTE_NONE && a->vote != VOTE_ABSENT;
}

static bool is_absent(const struct reply *a, enum reason reason)
{
	return a->vote == VOTE_ABSENT && a->reason == reason;
}

/* ---- why a node does not answer, or does not take a lock ---- */

static const struct {
	const char *id;
	bool is_out_of_reach; /* whatever is asked */
	bool has_detail; /* the server's, or the system's, own words say more */
	const char *fix;
} problems[] = {
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
		"name one with --cert and --key-file that its tls-ca-cert-file knows"},
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
	/* Nothing that was asked for is answered so. */
	[REASON_NOT_READY] = {"not-redis", false, false, ""},
	[REASON_QUARANTINE] = {"not-redis", false, false, ""},
	[REASON_SKEWED] = {"not-redis", false, false, ""},
	[REASON_COUNTER] = {"not-redis", false, false, ""},
	[REASON_TOO_LONG] = {"not-redis", true, false, "name a port where a Redis server listens"},
};

bool diagnosis_is_out_of_reach(const struct reply *a)
{
	return a->vote == VOTE_ABSENT && problems[a->reason].is_out_of_reach;
}

static const char *memory_fix(char dst[64], const struct server_info *info)
{
	snprintf(dst, 64, "CONFIG SET maxmemory %" PRId64, 2 * usec_max(info->memory, 0));
	return dst;
}

static void find_problem(struct diagnosis *d, int node, enum severity severity,
	const struct server_info *info, const struct reply *a)
{
	char detail[400], fix_text[64];
	const char *fix = problems[a->reason].fix;
	bool has_detail = problems[a->reason].has_detail && a->text_len > 0;

	if (a->reason == REASON_OOM)
		fix = memory_fix(fix_text, info);
	if (a->reason == REASON_MISCONF)
		fix = strcmp(info->log_write, "ok") == 0
			      ? "CONFIG SET stop-writes-on-bgsave-error no"
			      : "make room, or its folder writable; CONFIG GET dir names it";
	utf8_escape(detail, sizeof(detail), a->text, a->text_len);
	find(d, node, severity, problems[a->reason].id, fix, "%s%s%s", reason_words(a->reason),
		has_detail ? ": " : "", has_detail ? detail : "");
}

/* ---- rights ---- */

/* Leaves nothing behind, whatever is permitted: what makes a key without an end comes only where
 * SET has put a string with one in its way. */
const char diagnosis_rights_script[] =
	"local k,out,keys=KEYS[1],{},false "
	"local function find(text,what) return string.find(text,what,1,true) end "
	"local function try(...) local r=redis.pcall(...) local e=type(r)=='table' and r.err "
	"if e and (find(e,'NOPERM') or find(e,'ACL failure') or find(e,'user executing')) then "
	"if find(e,' run ') then out[#out+1]=string.lower((...)) else keys=true end end "
	"return not e end "
	"try('GET',k) try('GETRANGE',k,0,0) try('EXISTS',k) try('TYPE',k) try('PTTL',k) "
	"if try('SET',k,'1','PX',1000) then try('RPUSH',k,'1') end "
	"try('LRANGE',k,0,0) try('LREM',k,0,'1') try('RPOPLPUSH',k,k) try('PEXPIRE',k,1000) "
	"try('DEL',k) try('ZRANGEBYSCORE',k,0,0) try('ZRANGE',k,0,0) try('ZREM',k,'1') "
	"try('ZREMRANGEBYSCORE',k,0,0) "
	"try('HSCAN',k,0) try('ZSCAN',k,0) "
	"if try('SET',k,'1','PX',1000) then try('ZADD',k,1,'1') end try('DEL',k) "
	"try('INFO','server') try('TIME') try('SCAN','0','COUNT',1) "
	"if keys then out[#out+1]='~' end "
	"return table.concat(out,' ')";

const char diagnosis_own_keys_script[] =
	"local expires={line=1,wake=1,turn=1,door=1,head=1,readers=1} "
	"local c,near,lasting,count='0',nil,nil,0 for n=1,50 do "
	"local r=redis.call('SCAN',c,'MATCH','redlock:*:{*','COUNT',1000) c=r[1] "
	"for _,k in ipairs(r[2]) do local name=string.match(k,'^redlock:(%l+):{') "
	"if expires[name] and redis.pcall('PTTL',k)==-1 then lasting,count=k,count+1 end "
	"if name=='fence' then local v=redis.pcall('GET',k) "
	"if type(v)=='table' then v=string.find(v.err,'WRONGTYPE',1,true) and '?' end "
	"v=v and (tonumber(string.match(v,'^%d+$')) or 1/0) or 0 "
	"if v>=9007199254740991 then return 'broken '..k end "
	"if v>4503599627370496 then near='near '..k end end end "
	"if c=='0' then break end end "
	"return near or (lasting and 'lasting '..count-1 ..' '..lasting or '')";

static const struct {
	const char *name;
	enum severity severity; /* of being without it */
	bool wants_set; /* could be tried only if SET is permitted */
	const char *rule, *use;
} rights[] = {
	{"eval", SEVERITY_ERROR, false, "+eval", ""},
	{"get", SEVERITY_ERROR, false, "+get", ""},
	{"set", SEVERITY_ERROR, false, "+set", ""},
	{"pttl", SEVERITY_ERROR, false, "+pttl", ""},
	{"pexpire", SEVERITY_ERROR, false, "+pexpire", ""},
	{"del", SEVERITY_ERROR, false, "+del", ""},
	{"~", SEVERITY_WARNING, false, "", " (to wake who waits, for one)"},
	{"info", SEVERITY_WARNING, false, "+info", " (to know the server, and its restarts)"},
	{"time", SEVERITY_WARNING, false, "+time",
		" (to know how long a restarted node has no vote, and for --fence)"},
	{"exists", SEVERITY_WARNING, false, "+exists", " (to wake who waits)"},
	{"rpush", SEVERITY_WARNING, true, "+rpush", " (to wake who waits)"},
	{"blpop", SEVERITY_WARNING, true, "+blpop", " (to be woken)"},
	{"lrange", SEVERITY_NOTE, false, "+lrange", " (for --limit)"},
	{"lrem", SEVERITY_NOTE, false, "+lrem", " (for --limit)"},
	{"zadd", SEVERITY_NOTE, true, "+zadd", " (for --shared)"},
	{"zrange", SEVERITY_NOTE, false, "+zrange", " (for --shared)"},
	{"zrangebyscore", SEVERITY_NOTE, false, "+zrangebyscore", " (for --shared)"},
	{"zrem", SEVERITY_NOTE, false, "+zrem", " (for --shared)"},
	{"zremrangebyscore", SEVERITY_NOTE, false, "+zremrangebyscore", " (for --shared)"},
	{"rpoplpush", SEVERITY_NOTE, false, "+rpoplpush", " (for --shared)"},
	{"type", SEVERITY_NOTE, false, "+type", " (to know other libraries' locks)"},
	{"hscan", SEVERITY_NOTE, false, "+hscan", " (to break Redisson's locks)"},
	{"zscan", SEVERITY_NOTE, false, "+zscan", " (to break Symfony's locks)"},
	{"scan", SEVERITY_NOTE, false, "+scan", " (for status)"},
	{"getrange", SEVERITY_NOTE, false, "+getrange", " (for status)"},
};

/* Is it one of these words? */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == len && memcmp(at, word, len) == 0)
			return true;
	return false;
}

static bool is_denied(const struct node_facts *p, const char *name)
{
	const struct reply *a = &p->rights, *mark = &p->marker;

	/* Both patterns of our own keys have one rule. */
	if (strcmp(name, "~") == 0 && is_absent(mark, REASON_NOPERM) &&
		!strstr(mark->text, " run "))
		return true;
	/* The very EVAL is refused: the command, or the key. */
	if (is_absent(a, REASON_NOPERM))
		return strcmp(name, strstr(a->text, " run ") ? "eval" : "~") == 0;
	if (strcmp(name, "blpop") == 0)
		return is_absent(&p->may_block, REASON_NOPERM);
	return a->vote == VOTE_YES && has_word(a->text, name);
}

/* It may be missing, too; but of keys, who has all cannot be given some. */
static bool is_untried(const struct node_facts *p, int right)
{
	return (is_denied(p, "eval") && rights[right].name[0] != '~') ||
	       (is_denied(p, "set") && rights[right].wants_set);
}

/* Without the others there are locks all the same. */
static bool is_core(int trial)
{
	return trial != TRIAL_JOIN && trial != TRIAL_SCAN;
}

static const char *user_of(const struct settings *s, int node)
{
	return s->nodes.node[node].user[0] ? s->nodes.node[node].user : "default";
}

/* The longest pattern of keys that is shown in a rule; a longer one is left to the user. */
#define PATTERN_SHOWN_MAX 24

/* The pattern of the locks' keys: what --key-format makes, or KEY for the user to replace. A
 * character that the server or its client would read differently is left to the user, too. */
static const char *key_pattern(char dst[REQUEST_KEY_MAX + 1], const struct settings *s)
{
	char made[REQUEST_KEY_MAX + 1];
	struct err e;

	if (!s->key_format || settings_operand_key(s, "*", made, &e) < 0)
		return "KEY";
	utf8_escape(dst, REQUEST_KEY_MAX + 1, made, strlen(made));
	if (strcmp(dst, "*") == 0 || strlen(dst) > PATTERN_SHOWN_MAX || strpbrk(dst, " \"'\\?[]"))
		return "KEY";
	return dst;
}

/* Appends the rules for redlock's own keys, one by one: `redlock:*` would let a user change what
 * belongs to locks of others. Doctor's own locks have names that no other lock has. */
static void append_own_keys(char *dst, size_t size, size_t *used, const struct settings *s)
{
	static const char *const names[] = {
		"line", "wake", "turn", "readers", "head", "door", "fence"};
	char key[REQUEST_KEY_MAX + 1];
	const char *pattern = key_pattern(key, s);

	text_append(dst, size, used, " ~" GUARD_KEY);
	for (int i = 0; i < COUNT_OF(names); i++)
		text_append(dst, size, used, " ~redlock:%s:{%s}", names[i], pattern);
	if (!strchr(pattern, '*'))
		text_append(dst, size, used, " ~%s#* ~redlock:turn:{%s#*} ~redlock:fence:{%s#*}",
			pattern, pattern, pattern);
	text_append(dst, size, used, " ~redlock:doctor:* ~redlock:*:{redlock:doctor:*}");
}

static void judge_rights(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const char *user = user_of(s, node);
	enum severity severity = SEVERITIES;
	char shown[300], keys[sizeof(d->finding[0].fix)], fix[sizeof(d->finding[0].fix)],
		words[300] = "";
	size_t fix_used = 0, names_used = 0, keys_used = 0;

	utf8_escape(shown, sizeof(shown), user, strlen(user));
	text_append(keys, sizeof(keys), &keys_used, "ACL SETUSER %s", shown);
	append_own_keys(keys, sizeof(keys), &keys_used, s);
	text_append(fix, sizeof(fix), &fix_used, "ACL SETUSER %s", shown);
	for (int i = 0; i < COUNT_OF(rights); i++) {
		bool denied = is_denied(p, rights[i].name);

		if (denied && rights[i].severity < severity)
			severity = rights[i].severity;
		if (denied)
			text_append(words, sizeof(words), &names_used, "%s%s%s",
				names_used > 0 ? ", " : "",
				rights[i].name[0] == '~' ? "redlock's own keys" : rights[i].name,
				severity == SEVERITY_ERROR ? "" : rights[i].use);
		if (denied && rights[i].name[0] == '~')
			append_own_keys(fix, sizeof(fix), &fix_used, s);
		else if (denied || is_untried(p, i))
			text_append(fix, sizeof(fix), &fix_used, " %s", rights[i].rule);
	}
	if (severity < SEVERITIES)
		find(d, node, severity, "rights", fix, "user '%s' may not use %s", shown, words);
	/* Refused all the same: other keys than those that were tried. */
	for (int i = 0; i < TRIALS; i++)
		if (is_absent(&p->trial[i], REASON_NOPERM))
			find(d, node, is_core(i) ? SEVERITY_ERROR : SEVERITY_WARNING, "rights",
				strstr(p->trial[i].text, " run ") ? "" : keys,
				"user '%s' may not do all that locks want: %s", shown,
				utf8_escape(words, sizeof(words), p->trial[i].text,
					p->trial[i].text_len));
}

/* A user that is held to some keys, but may use redlock's own keys of all locks, can change the
 * fencing numbers, readers and waiters of other users' locks. */
static void judge_tenant(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	char user[300], key[REQUEST_KEY_MAX + 1], fix[sizeof(d->finding[0].fix)];
	size_t used = 0;

	if (!is_absent(&p->foreign, REASON_NOPERM) || strstr(p->foreign.text, " run ") ||
		p->beside.vote != VOTE_YES)
		return;
	utf8_escape(user, sizeof(user), user_of(s, node), strlen(user_of(s, node)));
	text_append(
		fix, sizeof(fix), &used, "ACL SETUSER %s resetkeys ~%s", user, key_pattern(key, s));
	append_own_keys(fix, sizeof(fix), &used, s);
	find(d, node, SEVERITY_WARNING, "other-tenants", fix,
		"user '%s' may use redlock's own keys of locks that the user may not take", user);
}

/* A user may be held to certain names on purpose: nobody tells. */
static void judge_format(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	char user[300], keys[REQUEST_KEY_MAX + 1], shown[200], fix[600] = "";
	struct err e;
	int rc;

	if (!is_absent(&p->formatted, REASON_NOPERM) || strstr(p->formatted.text, " run "))
		return;
	rc = settings_operand_key(s, "*", keys, &e);
	assert(rc == 0); /* what was asked for was longer */
	utf8_escape(user, sizeof(user), user_of(s, node), strlen(user_of(s, node)));
	utf8_escape(shown, sizeof(shown), keys, strlen(keys));
	/* What means something else to the server, or to its client, is left to the user. */
	if (!strpbrk(shown, " \"'\\?[]"))
		snprintf(fix, sizeof(fix), "ACL SETUSER %s ~%s", user, shown);
	find(d, node, SEVERITY_NOTE, "key-format", fix,
		"user '%s' may not use all keys '%s', as --key-format makes them", user, shown);
}

/* ---- redlock's own keys ---- */

/* Shows the key at `key`, the rest of the answer, and the command that fixes it; none where the
 * server's client would read the key differently. */
static void show_own_key(
	char shown[300], char fix[350], const struct reply *a, const char *key, const char *fmt)
{
	utf8_escape(shown, 300, key, a->text_len - (size_t)(key - a->text));
	fix[0] = '\0';
	if (!strpbrk(shown, " \"'\\"))
		snprintf(fix, 350, fmt, shown);
}

static void judge_counter(struct diagnosis *d, int node, const struct reply *a, const char *key)
{
	char shown[300], fix[350];

	show_own_key(shown, fix, a, key, "DEL %s");
	find(d, node, SEVERITY_WARNING, "counter", fix,
		*a->text == 'b' ? "the fencing counter '%s' is no number, or at its limit: --fence "
				  "gets no vote here"
				: "the fencing counter '%s' is half way to its limit, far ahead of "
				  "all clocks",
		shown);
}

/* EXPIRE is harmless to a lock in use, which sets its keys' TTL again; DEL would remove readers. */
static void judge_lasting(struct diagnosis *d, int node, const struct reply *a, const char *rest)
{
	char shown[300], fix[350], more[64] = "";
	const char *key = strchr(rest, ' ');
	int64_t others = number_of(rest, strlen(rest));

	if (!key)
		return;
	if (others > 0)
		snprintf(more, sizeof(more), " (and %" PRId64 " more like it)", others);
	show_own_key(shown, fix, a, key + 1, "EXPIRE %s 86400");
	find(d, node, SEVERITY_WARNING, "lasting-key", fix,
		"redlock's own key '%s' does not expire%s", shown, more);
}

static void judge_own_keys(struct diagnosis *d, int node, const struct reply *a)
{
	const char *space = a->vote == VOTE_YES ? strchr(a->text, ' ') : NULL;

	if (space && *a->text == 'l')
		judge_lasting(d, node, a, space + 1);
	else if (space)
		judge_counter(d, node, a, space + 1);
}

/* ---- one node ---- */

static bool is_sentinel(const struct server_info *info)
{
	return strcmp(info->mode, "sentinel") == 0;
}

static bool is_master(const struct server_info *info)
{
	return strcmp(info->role, "master") == 0;
}

static void judge_role(struct diagnosis *d, int node, const struct server_info *info)
{
	static const struct {
		const char *role, *id, *words, *fix;
	} wrong[] = {
		{"slave", "replica", "is a replica: its master decides what it keeps",
			"REPLICAOF NO ONE"},
		{"replica", "replica", "is a replica: its master decides what it keeps",
			"REPLICAOF NO ONE"},
		{"active-replica", "active-replica",
			"is an active replica: another server writes to it as well",
			"'active-replica no' in keydb.conf, and restart"},
	};

	if (is_sentinel(info))
		find(d, node, SEVERITY_ERROR, "sentinel", "name the server's own port",
			"is a sentinel: it keeps no keys");
	if (strcmp(info->mode, "cluster") == 0 || info->cluster > 0)
		find(d, node, SEVERITY_ERROR, "cluster", problems[REASON_MOVED].fix,
			"is a cluster member: it has a part of the keys, and fails over");
	for (int i = 0; i < COUNT_OF(wrong); i++)
		if (strcmp(info->role, wrong[i].role) == 0)
			find(d, node, SEVERITY_ERROR, wrong[i].id, wrong[i].fix, "%s",
				wrong[i].words);
	if (is_master(info) && info->replicas > 0)
		find(d, node, SEVERITY_NOTE, "replicas",
			"do not promote them in its place within the longest TTL",
			"has %" PRId64 " replica%s: one that takes its place may have forgotten "
			"locks",
			info->replicas, info->replicas == 1 ? "" : "s");
}

/* Whatever it is asked. */
static bool is_refused(const struct node_facts *p)
{
	return is_absent(&p->trial[TRIAL_ACQUIRE], REASON_SERVER);
}

/* Two nodes that are not two voters: the later one is to blame, unless that is the master. False:
 * they are one server. */
static bool compare(struct diagnosis *d, int node, int earlier, const struct settings *s,
	const struct node_facts facts[])
{
	const struct server_info *info = &facts[node].info, *other = &facts[earlier].info;
	bool is_first = is_master(info) && !is_master(other);
	const char *fix = "every node must be a server of its own";

	if (info->run_id[0] && strcmp(info->run_id, other->run_id) == 0) {
		d->is_duplicate = true;
		find(d, node, SEVERITY_ERROR, "duplicate", fix, "is the same server as %s",
			s->nodes.node[earlier].label);
		return false;
	}
	if (info->group[0] && strcmp(info->group, other->group) == 0)
		find(d, is_first ? earlier : node, SEVERITY_ERROR, "same-group", fix,
			"is of one replication group with %s: together they are one voter",
			s->nodes.node[is_first ? node : earlier].label);
	return true;
}

/* The oldest versions that redlock is tried on: major, minor. */
static const struct {
	const char *kind;
	int64_t oldest[2];
} supported[] = {{"Redis", {6, 0}}, {"KeyDB", {6, 3}}, {"Valkey", {7, 2}}};

static void judge_version(struct diagnosis *d, int node, const struct server_info *info)
{
	const char *minor = strchr(info->version, '.');
	int64_t version[2] = {number_of(info->version, strlen(info->version)),
		minor ? number_of(minor + 1, strlen(minor + 1)) : INFO_UNKNOWN};

	if (version[0] == INFO_UNKNOWN || version[1] == INFO_UNKNOWN)
		return;
	for (int i = 0; i < COUNT_OF(supported); i++) {
		const int64_t *oldest = supported[i].oldest;

		if (strcmp(info->kind, supported[i].kind) == 0 &&
			(version[0] < oldest[0] ||
				(version[0] == oldest[0] && version[1] < oldest[1])))
			find(d, node, SEVERITY_WARNING, "old", "upgrade the server",
				"runs %s %s; redlock supports %" PRId64 ".%" PRId64 " and later",
				info->kind, info->version, oldest[0], oldest[1]);
	}
}

/* Whether a node is what it seems to be: a voter of its own. False: it is another node that is
 * judged already. */
static bool judge_identity(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts facts[])
{
	const struct server_info *info = &facts[node].info;

	for (int i = 0; i < node; i++)
		if (!compare(d, node, i, s, facts))
			return false;
	if (is_absent(&facts[node].informed, REASON_SERVER) && !is_refused(&facts[node]))
		find(d, node, SEVERITY_WARNING, "info", "let it answer INFO",
			"does not answer INFO: most could not be judged");
	if (facts[node].informed.vote != VOTE_YES)
		return true;
	judge_version(d, node, info);
	if (!info->run_id[0])
		find(d, node, SEVERITY_WARNING, "no-run-id", "",
			"tells no run id: it is not noticed when it restarts, or is named twice");
	return true;
}

/* At least nine tenths of a limit that there is. */
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
		find(d, node, SEVERITY_ERROR, "eviction", "CONFIG SET maxmemory-policy noeviction",
			"forgets keys, and so locks, when its memory is full (%s)%s", info->policy,
			info->evicted > 0 ? "; it has done so" : "");
	else if (evicts)
		find(d, node, SEVERITY_NOTE, "eviction", "CONFIG SET maxmemory-policy noeviction",
			"would forget keys, and so locks, if its memory were limited (%s)",
			info->policy);
	else if (is_nearly(info->memory - usec_max(info->memory_aside, 0), info->memory_max))
		find(d, node, SEVERITY_WARNING, "memory", memory_fix(fix, info),
			"uses %" PRId64 " of %" PRId64
			" bytes of its memory: when it is full, no lock can be taken",
			info->memory, info->memory_max);
	if (clients_max == INFO_UNKNOWN && p->clients_max.vote == VOTE_YES)
		clients_max = number_of(p->clients_max.text, p->clients_max.text_len);
	snprintf(fix, sizeof(fix), "CONFIG SET maxclients %" PRId64, 2 * info->clients + 100);
	if (is_nearly(info->clients, clients_max))
		find(d, node, SEVERITY_WARNING, "max-clients", fix,
			"serves %" PRId64 " of at most %" PRId64
			" clients: others will be turned away",
			info->clients, clients_max);
}

/* A node that restarted does not vote until all that it may have forgotten has ended: so long; 0:
 * it does. */
static usec guard_time(const struct settings *s)
{
	return settings_policy(s).quarantine;
}

static void judge_persistence(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const struct server_info *info = &p->info;
	char user[300], fix[400] = "";

	utf8_escape(user, sizeof(user), user_of(s, node), strlen(user_of(s, node)));
	if (is_absent(&p->fsync, REASON_NOPERM))
		snprintf(fix, sizeof(fix), "ACL SETUSER %s +config|get", user);
	if (is_absent(&p->fsync, REASON_NOPERM) ||
		(is_absent(&p->fsync, REASON_SERVER) && !is_refused(p)))
		find(d, node, SEVERITY_NOTE, "config", fix,
			"does not permit CONFIG GET appendfsync: not all could be judged");
	if (guard_time(s) == 0 && info->log == 0)
		find(d, node, SEVERITY_WARNING, "persistence", "CONFIG SET appendonly yes",
			"forgets its locks when it restarts (no append-only file)");
	if (guard_time(s) == 0 && info->log > 0 && p->fsync.vote == VOTE_YES &&
		strcmp(p->fsync.text, "always") != 0)
		find(d, node, SEVERITY_WARNING, "persistence", "CONFIG SET appendfsync always",
			"forgets its newest locks when its machine crashes (appendfsync is not "
			"'always')");
	if (strcmp(info->snapshot, "err") == 0)
		find(d, node, SEVERITY_WARNING, "stop-writes",
			"make room, or its folder writable (CONFIG GET dir), then BGSAVE",
			"could not save its last snapshot: writes may be refused next");
	if (strcmp(info->rewrite, "err") == 0)
		find(d, node, SEVERITY_WARNING, "stop-writes",
			"make room, or its folder writable (CONFIG GET dir), then BGREWRITEAOF",
			"could not rewrite its append-only file: its disk may be full");
	if (info->late_fsyncs > 0)
		find(d, node, SEVERITY_NOTE, "slow-disk", "",
			"waited %" PRId64 " times for its disk to take the append-only file",
			info->late_fsyncs);
}

usec diagnosis_clock_off(const struct clock_sample *sample)
{
	usec off = sample->node - sample->wall;

	return off > sample->took ? off - sample->took : off < 0 ? off : 0;
}

/* By how much more than ours the node's clock has moved on from one sample to the other, at least;
 * *ours: how long it was. */
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
	char text[DURATION_TEXT_MAX];
	usec off, apart, ours, gain;
	bool is_refused;

	if (p->clock[0].node == 0)
		return;
	off = diagnosis_clock_off(&p->clock[0]);
	apart = off < 0 ? -off : off;
	is_refused = apart > CLOCK_REFUSED && guard_time(s) > 0;
	if (apart > CLOCK_ODD)
		find(d, node, is_refused ? SEVERITY_ERROR : SEVERITY_WARNING, "clock-off",
			"set the clocks, its host's or this one's: timedatectl set-ntp true",
			"its clock is %s %s ours%s", duration_format(text, apart),
			off < 0 ? "behind" : "ahead of",
			is_refused ? ": too far for it to vote"
				   : ": when it is set, locks end too early or late");
	if (p->clock[1].node == 0)
		return;
	gain = gained(p->clock, &ours);
	if (gain > ours / 1000 * s->drift_permille)
		find(d, node, SEVERITY_ERROR, "clock-rate",
			"look after its host's clock; a larger --drift-factor allows for more",
			"its clock gained %dms in %dms: locks end early there",
			(int)(gain / USEC_MSEC), (int)(ours / USEC_MSEC));
	if (-gain > ours / 1000 * s->drift_permille)
		find(d, node, SEVERITY_WARNING, "clock-rate", "look after its host's clock",
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
	/* Of so few, the longest is the 99th percentile. */
	return (struct latency){sorted[0], sorted[n / 2], sorted[n - 1]};
}

static void judge_latency(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	usec p99 = diagnosis_latency(p).p99;
	char fix[64], slow[DURATION_TEXT_MAX], timeout[DURATION_TEXT_MAX];

	if (p99 <= s->node_timeout / 2)
		return;
	snprintf(fix, sizeof(fix), "--node-timeout %" PRId64 "ms", 4 * p99 / USEC_MSEC);
	find(d, node, SEVERITY_WARNING, "latency", fix,
		"answers in up to %s: near to the node time-out of %s", duration_format(slow, p99),
		duration_format(timeout, s->node_timeout));
}

static void judge_trials(struct diagnosis *d, int node, const struct node_facts *p)
{
	for (int i = 0; i < TRIALS; i++) {
		const struct reply *a = &p->trial[i];

		if (a->vote == VOTE_ABSENT && a->reason != REASON_NOPERM)
			find_problem(d, node, is_core(i) ? SEVERITY_ERROR : SEVERITY_WARNING,
				&p->info, a);
	}
	if (is_answer(&p->trial[TRIAL_ACQUIRE]) && is_answer(&p->trial[TRIAL_EXTEND]) &&
		p->trial[TRIAL_EXTEND].vote != VOTE_YES)
		find(d, node, SEVERITY_ERROR, "forgets",
			"let one name stand for one server; look for a proxy",
			"had forgotten a lock a moment after it was taken");
}

/* Of -1: ours. */
static void judge_certificate(struct diagnosis *d, int node, const struct validity *v)
{
	const char *id = node < 0 ? "client-certificate" : "certificate";
	const char *whose = node < 0 ? "our certificate (--cert)" : "its certificate";
	char text[DURATION_TEXT_MAX], day[TIME_TEXT_MAX];
	usec left = v->until - v->wall;

	if (v->until == 0 || left >= CERTIFICATE_SOON)
		return;
	time_format(day, v->until / USEC_SEC);
	if (left < 0) /* --insecure, or nodes that do not look at ours */
		find(d, node, SEVERITY_WARNING, id, "renew it", "%s has expired on %.10s", whose,
			day);
	else
		find(d, node, SEVERITY_WARNING, id, "renew it",
			"%s ends on %.10s, in %s: then it cannot be trusted", whose, day,
			duration_format(text, left));
}

/* Up to what is no digit. */
static usec msec_of(const char *text)
{
	return usec_min(number_of(text, strlen(text)), NEVER / USEC_MSEC / 4) * USEC_MSEC;
}

/* What the guard says of the node: see SCRIPT_GUARD in request.c. The mark is the run id of a
 * server that has a vote; or behind it stands, in milliseconds, when it will have one by its clock,
 * how long that is in all, which whoever wants it longer makes longer, and two words more. */
static void judge_guard(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	const char *fix = "wait; or, if it holds no locks: redlock doctor --admit";
	const char *mark = p->marker.text, *id = p->info.run_id, *until, *all;
	usec guard = guard_time(s), now = p->clock[0].node, left;
	char text[DURATION_TEXT_MAX];
	size_t len = strlen(id);

	if (guard == 0 || now == 0 || len == 0 || p->marker.vote != VOTE_YES ||
		!is_master(&p->info) || strcmp(mark, id) == 0)
		return;
	if (strncmp(mark, id, len) != 0 || mark[len] != ' ') {
		find(d, node, SEVERITY_NOTE, "not-admitted", fix,
			"new or restarted: it will not vote for %s after its first question",
			duration_format(text, guard));
		return;
	}
	until = mark + len + 1;
	all = until + strcspn(until, " ");
	left = msec_of(until) - now;
	if (left <= 0)
		return;
	left += usec_max(guard - msec_of(all + strspn(all, " ")), 0);
	/* Not an error: it ends by itself. */
	d->is_usable[node] = false;
	find(d, node, SEVERITY_WARNING, "quarantine", fix,
		"in quarantine for another %s: it does not vote", duration_format(text, left));
}

/* All but what a sentinel, or a server that was judged before, need not be told. */
static void judge_server(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts *p)
{
	judge_rights(d, node, s, p);
	judge_tenant(d, node, s, p);
	judge_format(d, node, s, p);
	judge_own_keys(d, node, &p->own_keys);
	judge_trials(d, node, p);
	judge_room(d, node, p);
	judge_persistence(d, node, s, p);
	judge_clock(d, node, s, p);
	judge_latency(d, node, s, p);
	judge_guard(d, node, s, p);
	judge_certificate(d, node, &p->certificate);
}

static void judge_node(
	struct diagnosis *d, int node, const struct settings *s, const struct node_facts facts[])
{
	const struct node_facts *p = &facts[node];

	if (p->reached.vote == VOTE_ABSENT)
		find_problem(d, node, SEVERITY_ERROR, &p->info, &p->reached);
	judge_role(d, node, &p->info);
	if (p->reached.vote != VOTE_ABSENT && !is_sentinel(&p->info) &&
		judge_identity(d, node, s, facts))
		judge_server(d, node, s, p);
}

/* ---- the whole ---- */

static void judge_times(struct diagnosis *d, const struct settings *s)
{
	/* What `run` wants: see settings_finish(). */
	usec drift = policy_drift(s->ttl, (int)s->drift_permille);
	usec rest = s->ttl - drift - s->ttl / 3 - s->node_timeout - deadline_reap_time(s->ttl);
	char fix[64], ttl[DURATION_TEXT_MAX], timeout[DURATION_TEXT_MAX];

	if (s->ttl >= 10 * s->node_timeout && rest >= 0)
		return;
	snprintf(fix, sizeof(fix), "--ttl %" PRId64 "s",
		usec_max(10, 20 * s->node_timeout / USEC_SEC));
	duration_format(ttl, s->ttl);
	duration_format(timeout, s->node_timeout);
	if (s->ttl < 2 * s->node_timeout + drift || rest < 0)
		find(d, -1, SEVERITY_ERROR, "ttl", fix,
			"a TTL of %s is too short for a node time-out of %s: no lock can be taken",
			ttl, timeout);
	else
		find(d, -1, SEVERITY_WARNING, "ttl", fix,
			"a TTL of %s leaves few attempts to extend it with a node time-out of %s",
			ttl, timeout);
}

static void judge_number(struct diagnosis *d, int nodes, int quorum)
{
	if (d->usable < quorum)
		find(d, -1, SEVERITY_ERROR, "no-quorum", "",
			"%d of %d nodes can be counted on, %d are needed: no lock can be had",
			d->usable, nodes, quorum);
	if (nodes == 1)
		find(d, -1, SEVERITY_NOTE, "single", "name three nodes",
			"one node: while it is away, no lock can be had");
	else if (nodes % 2 == 0)
		find(d, -1, SEVERITY_WARNING, "even", "name one node more, or one less",
			"%d nodes, an even number: locks survive the loss of %d, as with %d", nodes,
			nodes - quorum, nodes - 1);
}

void diagnosis_judge(struct diagnosis *d, const struct settings *s, const struct node_facts facts[],
	const struct validity *ours)
{
	struct policy policy = settings_policy(s);

	memset(d, 0, sizeof(*d));
	for (int i = 0; i < s->nodes.count; i++)
		d->is_usable[i] = true;
	for (int i = 0; i < s->nodes.count; i++)
		judge_node(d, i, s, facts);
	for (int i = 0; i < s->nodes.count; i++)
		d->usable += d->is_usable[i];
	judge_times(d, s);
	if (s->tls.insecure && node_list_find_tls(&s->nodes))
		find(d, -1, SEVERITY_WARNING, "insecure",
			"leave --insecure out; --cacert names whom to trust",
			"certificates are not looked at: whoever is in between can pass for a "
			"node");
	judge_certificate(d, -1, ours);
	judge_number(d, s->nodes.count, policy_quorum(&policy));
}
