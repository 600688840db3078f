/*
 * usage: differ SOCKET SEED STEPS
 * Plays random commands on a real server and on the simulator's model of one (sim/server.h), as
 * scripts call them, and compares every reply. The model is of the kind that the server's INFO
 * names, and uses the server's own clock: each call is between two TIMEs in one transaction. If a
 * millisecond passes between them, either of the two may be the call's, and both servers begin
 * again without keys; the exact steps are counted. Some steps are by a user without the right to a
 * few commands. Exit status: 0 when they agree; 1 when they do not; 2 when there is no server.
 */
#include "base/text.h"
#include "sim/server.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 8
#define USER "limited"

/* USER has no right to these. */
static const char *const denied[] = {"get", "set", "zadd", "pexpire", "publish"};

/* Both are connections of the same server: of its default user, and of USER. */
static redisContext *everybody, *limited;
static struct server model, before;
static uint64_t state;
static long exact; /* steps */

static uint64_t next(uint64_t below)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % below;
}

static redisReply *ask(redisContext *c, int argc, const char *const argv[])
{
	redisReply *r = redisCommandArgv(c, argc, (const char **)(uintptr_t)argv, NULL);

	if (!r) {
		fprintf(stderr, "differ: %s\n", c->errstr);
		exit(2);
	}
	return r;
}

static void tell(redisContext *c, int argc, const char *const argv[])
{
	freeReplyObject(ask(c, argc, argv));
}

/* ---- one step ---- */

/* A script, and its arguments. */
struct step {
	const char *script;
	int count;
	const char *word[WORDS_MAX];
	char number[4][32];
	int numbers;
	bool is_limited;
};

/* How scripts see replies and errors. */
static const char *const forms[] = {
	"return redis.call(unpack(ARGV))",
	"return redis.pcall(unpack(ARGV))",
	"local r = redis.pcall(unpack(ARGV)) "
	"if type(r) == 'table' then return {r.err or r.ok or #r, tostring(r[1]), tostring(r[2])} "
	"end return {type(r), tostring(r)}",
	/* numbers as they are */
	"for i, v in ipairs(ARGV) do ARGV[i] = tonumber(v) or v end "
	"return redis.pcall(unpack(ARGV))",
};

/* Scripts find more than commands. */
static const char *const scripts[] = {
	"return 3.99",
	"return -3.99",
	"return {1, 2.5, 'x', nil, 3}",
	"return {'a', false, 'b', true}",
	"return {err = 'ERR of the script'}",
	"return {ok = 'FINE'}",
	"return true",
	"return false",
	"return",
	"return tostring(2 ^ 53)",
	"return 1789000000000 - 1 .. ' x'",
	"return string.format('%.0f %s', 2 ^ 53, 1e15)",
	"return redis.sha1hex('')",
	"return {type(redis.acl_check_cmd), type(math.max), type(table.sort)}",
	"return io",

	"return type(redis.sha1hex)",
	"return new_global",
	"new_global = 1",
	"return #KEYS .. ' ' .. #ARGV",
	"return redis.pcall()",
	"return redis.pcall('nothing', 'k')",
	"return redis.pcall('get')",
	"return redis.pcall('get', 'k', 'more')",
	"return redis.pcall('get', {})",
	"return redis.call('get', true)",
	"return error('of the script')",
	"return {error = 1}",
	"local t = redis.call('TIME') return {#t, type(t[1]), #t[2] < 7 and t[1] > '1700000000'}",
	"local i = redis.call('INFO', 'server') return string.match(i, 'run_id:%x+')",
	"return string.match(redis.call('INFO', 'replication'), 'role:%a+')",
	"return string.match(redis.call('INFO', 'replication'), 'second_repl_offset:%S+')",
	"return string.match(redis.call('INFO', 'replication'), 'master_replid:%x+')",
	"return string.match(redis.call('INFO', 'server'), "
	"'redis_version:(%d%.%d).-mode:st.-executable:/')",
	"redis.call('SET', 'k', 'half', 'PX', 9) redis.call('GET') return 'done'",
	"return redis.call('PUBSUB', 'NUMSUB', 'heard', 'unheard')",
	"return {redis.call('PUBLISH', 'heard', 'x'), redis.call('PUBLISH', 'unheard', 'x')}",
};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define PICK(list) ((list)[next(COUNT(list))])

static void add(struct step *s, const char *word)
{
	s->word[s->count++] = word;
}

static void add_number(struct step *s, int64_t n)
{
	char *text = s->number[s->numbers++];

	snprintf(text, sizeof(s->number[0]), "%" PRId64, n);
	add(s, text);
}

static const char *draw_key(void)
{
	static const char *const keys[] = {"k", "redlock:queue:{k}", "{redlock}:node"};

	return PICK(keys);
}

static const char *draw_member(void)
{
	static const char *const members[] = {"w0001", "r0002", "w0003", "r0004", "a b", ""};

	return PICK(members);
}

/* Short, often: the key ends between two steps. */
static void add_ms(struct step *s)
{
	static const char *const odd[] = {
		"0", "-1", "1.5", "x", "", " 1", "1e3", "+5", "99999999999999999999"};

	if (next(12) == 0)
		add(s, PICK(odd));
	else
		add_number(s, (int64_t)(1 + next(next(2) ? 5 : 4000)));
}

static void add_score(struct step *s)
{
	static const char *const scores[] = {"1", "2", "2.5", "-3", "1e3", "9007199254740991",
		"1789000000123", "inf", "-inf", "x", ""};

	add(s, PICK(scores));
}

static void add_bound(struct step *s)
{
	static const char *const bounds[] = {
		"-inf", "+inf", "2", "(2", "(2.5", "1789000000123", "(", "x"};

	add(s, PICK(bounds));
}

static void add_rank(struct step *s)
{
	static const char *const odd[] = {"x", "1.0", ""};

	if (next(12) == 0)
		add(s, PICK(odd));
	else
		add_number(s, (int64_t)next(6) - 3);
}

static void draw_set(struct step *s)
{
	static const char *const values[] = {"v", "", "1700000000000 1 done", "a\tb"};

	add(s, PICK(values));
	if (next(3) == 0)
		return;
	add(s, next(12) ? "PX" : "XX");
	add_ms(s);
}

static void draw_command(struct step *s)
{
	static const char *const names[] = {"GET", "SET", "SET", "DEL", "EXISTS", "PTTL", "PEXPIRE",
		"TYPE", "ZADD", "ZADD", "ZADD", "ZREM", "ZRANGE", "ZRANK", "ZSCORE",
		"ZRANGEBYSCORE", "ZREMRANGEBYSCORE"};
	const char *name = PICK(names);

	s->script = PICK(forms);
	add(s, name);
	add(s, draw_key());
	if (strcmp(name, "SET") == 0)
		draw_set(s);
	if ((strcmp(name, "DEL") == 0 || strcmp(name, "EXISTS") == 0) && next(2))
		add(s, draw_key());
	if (strcmp(name, "PEXPIRE") == 0)
		add_ms(s);
	if (strcmp(name, "ZADD") == 0 && next(2))
		add(s, "NX");
	if (strcmp(name, "ZADD") == 0)
		add_score(s);
	if (strcmp(name, "ZADD") == 0 || strcmp(name, "ZREM") == 0 || strcmp(name, "ZRANK") == 0 ||
		strcmp(name, "ZSCORE") == 0)
		add(s, draw_member());
	if (strcmp(name, "ZRANGE") == 0)
		add_rank(s), add_rank(s);
	if (strstr(name, "BYSCORE"))
		add_bound(s), add_bound(s);
	if ((strcmp(name, "ZRANGE") == 0 || strcmp(name, "ZRANGEBYSCORE") == 0) && next(2))
		add(s, "WITHSCORES");
}

static void draw_step(struct step *s)
{
	memset(s, 0, sizeof(*s));
	s->is_limited = next(6) == 0;
	if (next(8) == 0)
		s->script = PICK(scripts);
	else
		draw_command(s);
}

/* ---- the two replies, as texts ---- */

struct text {
	char text[8192];
	size_t used;
};

static void show_item(struct text *t, enum resp_type type, long long integer, const char *text)
{
	static const char *const kinds[] = {
		[RESP_STRING] = "", [RESP_STATUS] = "status ", [RESP_ERROR] = "error "};

	if (type == RESP_NIL)
		text_append(t->text, sizeof(t->text), &t->used, " nil");
	else if (type == RESP_INTEGER)
		text_append(t->text, sizeof(t->text), &t->used, " %lld", integer);
	else
		text_append(t->text, sizeof(t->text), &t->used, " %s'%.300s'", kinds[type], text);
}

static void show_real_item(struct text *t, const redisReply *r)
{
	static const enum resp_type types[] = {
		[REDIS_REPLY_INTEGER] = RESP_INTEGER,
		[REDIS_REPLY_STRING] = RESP_STRING,
		[REDIS_REPLY_STATUS] = RESP_STATUS,
		[REDIS_REPLY_ERROR] = RESP_ERROR,
		[REDIS_REPLY_NIL] = RESP_NIL,
	};

	show_item(t, types[r->type], r->integer, r->str);
}

static void show_real(struct text *t, const redisReply *r)
{
	t->used = 0;
	if (r->type != REDIS_REPLY_ARRAY) {
		show_real_item(t, r);
		return;
	}
	text_append(t->text, sizeof(t->text), &t->used, "array of %d", (int)r->elements);
	for (size_t i = 0; i < r->elements; i++)
		if (i < RESP_ITEMS_MAX - 1 || i + 1 == r->elements)
			show_real_item(t, r->element[i]);
}

static void show_model(struct text *t, const struct resp *r)
{
	t->used = 0;
	if (r->is_array)
		text_append(t->text, sizeof(t->text), &t->used, "array of %d", r->count);
	for (int i = 0; i < r->count && i < RESP_ITEMS_MAX; i++)
		show_item(t, r->item[i].type, r->item[i].integer, r->item[i].text);
}

/* ---- both servers ---- */

static int count_heard(struct server *s, const char *channel)
{
	(void)s;
	return strcmp(channel, "heard") == 0;
}

static int publish_heard(struct server *s, const char *channel, const char *text)
{
	(void)text;
	return count_heard(s, channel);
}

static int64_t time_of(const redisReply *time)
{
	return atoll(time->element[0]->str) * USEC_SEC + atoll(time->element[1]->str);
}

/* The step on the model, at that time. */
static void play(struct server *s, const struct step *step, int64_t at_us, struct text *shown)
{
	static struct resp resp;
	size_t len[WORDS_MAX];

	for (int i = 0; i < step->count; i++)
		len[i] = strlen(step->word[i]);
	s->clock_us = at_us;
	s->denied = 0;
	for (size_t i = 0; i < COUNT(denied) && step->is_limited; i++)
		s->denied |= (uint64_t)1 << server_command_number(denied[i]);
	s->user = step->is_limited ? USER : "default";
	server_eval_text(s, step->script, 0, step->count, step->word, len, &resp);
	show_model(shown, &resp);
}

/* The step on the server, between two TIMEs. */
static redisReply *play_real(const struct step *step)
{
	redisContext *c = step->is_limited ? limited : everybody;
	const char *words[WORDS_MAX + 3] = {"EVAL", step->script, "0"};

	memcpy(words + 3, step->word, (size_t)step->count * sizeof(words[0]));
	tell(c, 1, (const char *const[]){"MULTI"});
	tell(c, 1, (const char *const[]){"TIME"});
	tell(c, 3 + step->count, words);
	tell(c, 1, (const char *const[]){"TIME"});
	return ask(c, 1, (const char *const[]){"EXEC"});
}

static void begin_again(void)
{
	tell(everybody, 1, (const char *const[]){"FLUSHALL"});
	server_flush(&model);
}

/* Returns whether the model agrees: at the first of the two times, or at the second. */
static bool agrees(const struct step *s, const redisReply *all)
{
	static struct text real, shown;
	int64_t first = time_of(all->element[0]), last = time_of(all->element[2]);
	bool is_exact = first / USEC_MSEC == last / USEC_MSEC;

	show_real(&real, all->element[1]);
	server_copy(&before, &model);
	play(&model, s, first, &shown);
	if (!is_exact && strcmp(real.text, shown.text) != 0) {
		server_copy(&model, &before);
		play(&model, s, last, &shown);
	}
	exact += is_exact;
	if (!is_exact)
		begin_again();
	if (strcmp(real.text, shown.text) == 0)
		return true;
	printf("%s", s->script);
	for (int i = 0; i < s->count; i++)
		printf(" '%s'", s->word[i]);
	printf("%s\n  server: %s\n  model:  %s\n", s->is_limited ? " (limited)" : "", real.text,
		shown.text);
	return false;
}

/* ---- the server's kind ---- */

static enum server_kind kind_of(const char *info)
{
	const char *version = strstr(info, "redis_version:");
	int major = version ? atoi(version + 14) : 0;

	return strstr(info, "server_name:valkey")   ? SERVER_VALKEY_8
	       : strstr(info, "mvcc_depth:")        ? SERVER_KEYDB_6
	       : major >= 8                         ? SERVER_REDIS_8
	       : major == 7                         ? SERVER_REDIS_7
	       : strstr(info, "redis_version:6.0.") ? SERVER_REDIS_6_0
						    : SERVER_REDIS_6_2;
}

static void meet_server(void)
{
	redisReply *info = ask(everybody, 2, (const char *const[]){"INFO", "all"});
	const char *id = strstr(info->str, "run_id:");

	model = (struct server){
		.kind = kind_of(info->str), .numsub = count_heard, .publish = publish_heard};
	snprintf(model.run_id, sizeof(model.run_id), "%.40s", id ? id + 7 : "");
	id = strstr(info->str, "master_replid:");
	snprintf(model.replid, sizeof(model.replid), "%.40s", id ? id + 14 : "");
	freeReplyObject(info);
	tell(everybody, 1, (const char *const[]){"FLUSHALL"});
	tell(everybody, 11,
		(const char *const[]){"ACL", "SETUSER", USER, "reset", "on", "nopass", "~*",
			"+@all", "-get", "-set", "-zadd"});
	tell(everybody, 6,
		(const char *const[]){
			"ACL", "SETUSER", USER, "-pexpire", "-publish", "allchannels"});
	tell(limited, 3, (const char *const[]){"AUTH", USER, ""});
}

static redisContext *connect_to(const char *path)
{
	redisContext *c = redisConnectUnix(path);

	if (!c || c->err) {
		fprintf(stderr, "differ: %s: %s\n", path, c ? c->errstr : "out of memory");
		exit(2);
	}
	return c;
}

int main(int argc, char *argv[])
{
	struct step s;
	redisContext *listener;
	long steps;

	if (argc != 4) {
		fputs("usage: differ SOCKET SEED STEPS\n", stderr);
		return 2;
	}
	everybody = connect_to(argv[1]);
	limited = connect_to(argv[1]);
	listener = connect_to(argv[1]);
	tell(listener, 2, (const char *const[]){"SUBSCRIBE", "heard"});
	state = strtoull(argv[2], NULL, 10);
	server_init();
	meet_server();
	steps = atol(argv[3]);
	for (long i = 0; i < steps; i++) {
		redisReply *all;

		draw_step(&s);
		all = play_real(&s);
		if (all->type != REDIS_REPLY_ARRAY || all->elements != 3) {
			printf("no transaction: %s\n",
				all->type == REDIS_REPLY_ERROR ? all->str : "");
			return 1;
		}
		if (!agrees(&s, all))
			return 1;
		freeReplyObject(all);
	}
	printf("differ: %ld of %ld steps agree exactly\n", exact, steps);
	redisFree(everybody);
	redisFree(limited);
	redisFree(listener);
	return 0;
}
