#include "sim/server.h"

#include "proto/scripts.h"

#include <assert.h>
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 16 /* of a command */

/* How servers differ: in the texts of the errors that scripts find, and of failed scripts. In
 * no_right, %1$s is the command, and %2$s the user. */
struct texts {
	const char *no_words, *unknown, *wrong_count, *no_string, *no_right, *no_time;
};

static const struct texts old = {
	.no_words = "@user_script: 1: Please specify at least one argument for redis.call()",
	.unknown = "@user_script: 1: Unknown Redis command called from Lua script",
	.wrong_count =
		"@user_script: 1: Wrong number of args calling Redis command From Lua script",
	.no_string = "@user_script: 1: Lua redis() command arguments must be strings or integers",
	.no_right = "@user_script: 1: The user executing the script can't run this command or "
		    "subcommand",
	.no_time = "ERR invalid expire time in set",
};

static const struct texts redis_7 = {
	.no_words = "ERR Please specify at least one argument for this redis lib call",
	.unknown = "ERR Unknown Redis command called from script",
	.wrong_count = "ERR Wrong number of args calling Redis command from script",
	.no_string = "ERR Lua redis lib command arguments must be strings or integers",
	.no_right = "ERR The user executing the script can't run this command or subcommand",
	.no_time = "ERR invalid expire time in 'set' command",
};

static const struct texts redis_8 = {
	.no_words = "ERR Please specify at least one argument for this redis lib call",
	.unknown = "ERR Unknown Redis command called from script",
	.wrong_count = "ERR Wrong number of args calling Redis command from script",
	.no_string = "ERR Lua redis lib command arguments must be strings or integers",
	.no_right = "ERR ACL failure in script: User %2$s has no permissions to run the '%1$s' "
		    "command",
	.no_time = "ERR invalid expire time in 'set' command",
};

static const struct texts valkey_8 = {
	.no_words = "ERR Please specify at least one argument for this call",
	.unknown = "ERR Unknown command called from script",
	.wrong_count = "ERR Wrong number of args calling command from script",
	.no_string = "ERR Command arguments must be strings or integers",
	.no_right = "ERR ACL failure in script: User %2$s has no permissions to run the '%1$s' "
		    "command",
	.no_time = "ERR invalid expire time in 'set' command",
};

static const struct kind {
	const char *version; /* as INFO tells it */
	const struct texts *texts;
	bool is_strict; /* a script of the server's own guards the globals */
} kinds[SERVER_KINDS] = {
	[SERVER_REDIS_6_0] = {"6.0.20", &old, .is_strict = true},
	[SERVER_REDIS_6_2] = {"6.2.16", &old},
	[SERVER_REDIS_7] = {"7.0.15", &redis_7},
	[SERVER_REDIS_8] = {"8.0.2", &redis_8},
	[SERVER_VALKEY_8] = {"7.2.4", &valkey_8},
	[SERVER_KEYDB_6] = {"6.3.4", &old, .is_strict = true},
};

/* A word of a command. */
struct word {
	const char *text;
	size_t len;
};

static lua_State *lua; /* the interpreter; commands push their replies to it */
static struct server *at; /* the server that runs a script or command */

static const struct texts *texts(void)
{
	return kinds[at->kind].texts;
}

/* Before Redis 7: failed scripts are told differently, and redis.acl_check_cmd() is missing. */
static bool is_old(void)
{
	return texts() == &old;
}

/* ---- keys ---- */

static char names[SERVER_KEYS][SERVER_VALUE_MAX];
static size_t lengths[SERVER_KEYS];
static int names_count;

int server_key(const char *name)
{
	size_t len = strlen(name);
	int i = 0;

	while (i < names_count && (lengths[i] != len || memcmp(names[i], name, len) != 0))
		i++;
	if (i == names_count) {
		assert(i < SERVER_KEYS && len < sizeof(names[0]));
		lengths[i] = len;
		memcpy(names[names_count++], name, len + 1);
	}
	return i;
}

static int64_t msec(const struct server *s)
{
	return s->clock_us / USEC_MSEC;
}

static void delete (struct server_entry *e)
{
	e->type = SERVER_NONE;
	e->members = 0;
	e->version++;
}

const struct server_entry *server_entry(const struct server *s, int key)
{
	const struct server_entry *e = &s->entry[key];

	return e->type != SERVER_NONE && msec(s) <= e->ends ? e : NULL;
}

void server_back_up(struct server *s)
{
	snprintf(s->replid, sizeof(s->replid), "%08x%.32s", (unsigned)++s->histories, s->run_id);
}

void server_start(struct server *s, const char *run_id)
{
	snprintf(s->run_id, sizeof(s->run_id), "%s", run_id);
	s->is_promoted = false;
	server_back_up(s);
}

void server_promote(struct server *s)
{
	s->is_promoted = true;
	server_back_up(s);
}

void server_flush(struct server *s)
{
	for (int i = 0; i < SERVER_KEYS; i++)
		delete (&s->entry[i]);
}

static void make_room(struct server_entry *e, int members)
{
	if (members <= e->room)
		return;
	e->room = members * 2;
	e->member = realloc(e->member, (size_t)e->room * sizeof(e->member[0]));
	assert(e->member);
}

void server_copy(struct server *to, const struct server *from)
{
	for (int i = 0; i < names_count; i++) {
		struct server_entry *e = &to->entry[i];
		const struct server_entry *f = &from->entry[i];

		e->type = f->type;
		e->version++;
		e->ends = f->ends;
		e->members = f->members;
		if (f->type == SERVER_STRING)
			memcpy(e->value, f->value, (e->len = f->len) + 1);
		make_room(e, f->members);
		if (f->members > 0)
			memcpy(e->member, f->member, (size_t)f->members * sizeof(e->member[0]));
	}
}

static struct server_entry *key_of(const struct word *w)
{
	struct server_entry *e = &at->entry[server_key(w->text)];

	if (e->type != SERVER_NONE && msec(at) > e->ends)
		delete (e);
	return e;
}

/* ---- sorted sets ---- */

static int find_member(const struct server_entry *e, const char *name)
{
	for (int i = 0; i < e->members; i++)
		if (strcmp(e->member[i].name, name) == 0)
			return i;
	return -1;
}

static void remove_members(struct server_entry *e, int from, int count)
{
	e->members -= count;
	memmove(e->member + from, e->member + from + count,
		(size_t)(e->members - from) * sizeof(e->member[0]));
	if (e->members == 0)
		delete (e);
}

static void add_member(struct server_entry *e, const char *name, double score)
{
	int i = 0;

	while (i < e->members &&
		(e->member[i].score < score ||
			(e->member[i].score == score && strcmp(e->member[i].name, name) < 0)))
		i++;
	make_room(e, e->members + 1);
	memmove(e->member + i + 1, e->member + i, (size_t)(e->members - i) * sizeof(e->member[0]));
	e->members++;
	e->member[i].score = score;
	assert(strlen(name) < sizeof(e->member[i].name));
	strcpy(e->member[i].name, name);
}

/* ---- replies: each function returns false for an error ---- */

static bool say_error(const char *text)
{
	lua_createtable(lua, 0, 1);
	lua_pushstring(lua, text);
	lua_setfield(lua, -2, "err");
	return false;
}

static bool say_wrong_type(void)
{
	return say_error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

static bool say_status(const char *text)
{
	lua_createtable(lua, 0, 1);
	lua_pushstring(lua, text);
	lua_setfield(lua, -2, "ok");
	return true;
}

static bool say_number(int64_t n)
{
	lua_pushnumber(lua, (lua_Number)n);
	return true;
}

static bool say_nil(void)
{
	lua_pushboolean(lua, 0);
	return true;
}

static void push_score(double score)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", score);
	lua_pushstring(lua, text);
}

/* ---- numbers in words ---- */

static bool read_whole(const struct word *w, int64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoll(w->text, &end, 10);
	return w->len > 0 && w->text[0] != '+' && w->text[0] != ' ' && *end == '\0' && errno == 0;
}

static bool say_not_whole(void)
{
	return say_error("ERR value is not an integer or out of range");
}

static bool read_score(const char *text, double *score)
{
	char *end;

	*score = strtod(text, &end);
	return *text && *text != ' ' && *end == '\0' && !isnan(*score);
}

/* A bound of a range: "-inf", "12", "(12": without 12. No number is 0. */
static bool read_bound(const struct word *w, double *score, bool *is_open)
{
	char *end;

	*is_open = w->text[0] == '(';
	*score = strtod(w->text + *is_open, &end);
	return *end == '\0' && !isnan(*score);
}

static bool say_no_bound(void)
{
	return say_error("ERR min or max is not a float");
}

/* ---- commands ---- */

static bool get(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);

	(void)count;
	if (e->type == SERVER_NONE)
		return say_nil();
	if (e->type != SERVER_STRING)
		return say_wrong_type();
	lua_pushlstring(lua, e->value, e->len);
	return true;
}

static bool set(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int64_t ms = 0;

	if (count > 3 && (count != 5 || strcasecmp(w[3].text, "PX") != 0))
		return say_error("ERR syntax error");
	if (count == 5 && !read_whole(&w[4], &ms))
		return say_not_whole();
	if (count == 5 && ms <= 0)
		return say_error(texts()->no_time);
	delete (e);
	assert(w[2].len < sizeof(e->value));
	e->type = SERVER_STRING;
	e->ends = count == 5 ? msec(at) + ms : SERVER_LASTS;
	e->len = w[2].len;
	memcpy(e->value, w[2].text, w[2].len + 1);
	return say_status("OK");
}

static bool del(struct word *w, int count)
{
	int deleted = 0;

	for (int i = 1; i < count; i++) {
		struct server_entry *e = key_of(&w[i]);

		deleted += e->type != SERVER_NONE;
		delete (e);
	}
	return say_number(deleted);
}

static bool exists(struct word *w, int count)
{
	int found = 0;

	for (int i = 1; i < count; i++)
		found += key_of(&w[i])->type != SERVER_NONE;
	return say_number(found);
}

static bool pttl(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);

	(void)count;
	if (e->type == SERVER_NONE)
		return say_number(-2);
	return say_number(e->ends == SERVER_LASTS ? -1 : e->ends - msec(at));
}

static bool pexpire(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int64_t ms;

	(void)count;
	if (!read_whole(&w[2], &ms))
		return say_not_whole();
	if (e->type == SERVER_NONE)
		return say_number(0);
	e->ends = msec(at) + ms;
	e->version++;
	if (ms <= 0)
		delete (e);
	return say_number(1);
}

static bool type(struct word *w, int count)
{
	static const char *const words[] = {"none", "string", "zset"};

	(void)count;
	return say_status(words[key_of(&w[1])->type]);
}

static bool zadd(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	bool only_new = strcasecmp(w[2].text, "NX") == 0;
	struct word *pair = w + 2 + only_new;
	double score;
	int rank;

	if (count != 4 + only_new)
		return say_error("ERR syntax error");
	if (!read_score(pair[0].text, &score))
		return say_error("ERR value is not a valid float");
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	if (e->type == SERVER_NONE)
		e->ends = SERVER_LASTS;
	rank = find_member(e, pair[1].text);
	if (rank >= 0 && only_new)
		return say_number(0);
	if (rank >= 0)
		remove_members(e, rank, 1);
	e->type = SERVER_SET;
	add_member(e, pair[1].text, score);
	return say_number(rank < 0);
}

static bool zrem(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int rank;

	(void)count;
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	rank = find_member(e, w[2].text);
	if (rank >= 0)
		remove_members(e, rank, 1);
	return say_number(rank >= 0);
}

/* The members from `from` to before `to`. */
static bool say_members(const struct server_entry *e, int from, int to, bool with_scores)
{
	int n = 0;

	lua_createtable(lua, from < to ? (to - from) * (1 + with_scores) : 0, 0);
	for (int i = from; i < to; i++) {
		lua_pushstring(lua, e->member[i].name);
		lua_rawseti(lua, -2, ++n);
		if (!with_scores)
			continue;
		push_score(e->member[i].score);
		lua_rawseti(lua, -2, ++n);
	}
	return true;
}

static bool zrange(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int64_t from, to;

	if (!read_whole(&w[2], &from) || !read_whole(&w[3], &to))
		return say_not_whole();
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	from = from < 0 ? from + e->members : from;
	to = to < 0 ? to + e->members : to;
	return say_members(e, (int)(from < 0 ? 0 : from),
		(int)(to < e->members ? to + 1 : e->members), count > 4);
}

static bool zrank(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int rank;

	(void)count;
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	rank = find_member(e, w[2].text);
	return rank < 0 ? say_nil() : say_number(rank);
}

static bool zscore(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int rank;

	(void)count;
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	rank = find_member(e, w[2].text);
	if (rank < 0)
		return say_nil();
	push_score(e->member[rank].score);
	return true;
}

/* The members with a score in the range. */
static bool find_range(const struct server_entry *e, const struct word *w, int *from, int *to)
{
	bool is_open, is_open_above;
	double low, high;

	if (!read_bound(&w[2], &low, &is_open) || !read_bound(&w[3], &high, &is_open_above))
		return false;
	*from = 0;
	while (*from < e->members &&
		(e->member[*from].score < low || (is_open && e->member[*from].score == low)))
		++*from;
	*to = *from;
	while (*to < e->members &&
		(e->member[*to].score < high || (!is_open_above && e->member[*to].score == high)))
		++*to;
	return true;
}

static bool zrangebyscore(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int from, to;

	if (!find_range(e, w, &from, &to))
		return say_no_bound();
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	return say_members(e, from, to, count > 4);
}

static bool zremrangebyscore(struct word *w, int count)
{
	struct server_entry *e = key_of(&w[1]);
	int from, to;

	(void)count;
	if (!find_range(e, w, &from, &to))
		return say_no_bound();
	if (e->type == SERVER_STRING)
		return say_wrong_type();
	if (from < to)
		remove_members(e, from, to - from);
	return say_number(to - from);
}

static bool publish(struct word *w, int count)
{
	(void)count;
	return say_number(at->publish(at, w[1].text, w[2].text));
}

static bool pubsub(struct word *w, int count)
{
	if (strcasecmp(w[1].text, "NUMSUB") != 0)
		return say_error("ERR the model knows PUBSUB NUMSUB only");
	lua_createtable(lua, 2 * (count - 2), 0);
	for (int i = 2; i < count; i++) {
		lua_pushlstring(lua, w[i].text, w[i].len);
		lua_rawseti(lua, -2, 2 * i - 3);
		lua_pushnumber(lua, at->numsub(at, w[i].text));
		lua_rawseti(lua, -2, 2 * i - 2);
	}
	return true;
}

static bool tell_time(struct word *w, int count)
{
	char text[32];

	(void)w;
	(void)count;
	lua_createtable(lua, 2, 0);
	snprintf(text, sizeof(text), "%lld", (long long)(at->clock_us / USEC_SEC));
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, 1);
	snprintf(text, sizeof(text), "%lld", (long long)(at->clock_us % USEC_SEC));
	lua_pushstring(lua, text);
	lua_rawseti(lua, -2, 2);
	return true;
}

static bool info(struct word *w, int count)
{
	const char *section = count > 1 ? w[1].text : "";
	char text[400] = "";

	if (strcasecmp(section, "server") == 0)
		snprintf(text, sizeof(text),
			"# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nprocess_id:1\r\n"
			"run_id:%s\r\ntcp_port:6379\r\nexecutable:/usr/bin/redis-server\r\n",
			kinds[at->kind].version, at->run_id);
	else if (strcasecmp(section, "replication") == 0)
		snprintf(text, sizeof(text),
			"# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:%s\r\n"
			"master_replid2:%040d\r\nmaster_repl_offset:0\r\nsecond_repl_offset:%d\r\n",
			at->replid, 0, at->is_promoted ? 1 : -1);
	lua_pushstring(lua, text);
	return true;
}

static bool flushall(struct word *w, int count)
{
	(void)w;
	(void)count;
	server_flush(at);
	return say_status("OK");
}

static const struct command {
	const char *name;
	int least, most; /* words; most 0: any number */
	bool (*run)(struct word *w, int count);
} commands[] = {
	{"get", 2, 2, get},
	{"set", 3, 0, set},
	{"del", 2, 0, del},
	{"exists", 2, 0, exists},
	{"pttl", 2, 2, pttl},
	{"pexpire", 3, 3, pexpire},
	{"type", 2, 2, type},
	{"zadd", 4, 0, zadd},
	{"zrem", 3, 3, zrem},
	{"zrange", 4, 5, zrange},
	{"zrank", 3, 3, zrank},
	{"zscore", 3, 3, zscore},
	{"zrangebyscore", 4, 5, zrangebyscore},
	{"zremrangebyscore", 4, 4, zremrangebyscore},
	{"publish", 3, 3, publish},
	{"pubsub", 2, 0, pubsub},
	{"time", 1, 1, tell_time},
	{"info", 1, 2, info},
	{"flushall", 1, 1, flushall},
};
#define COMMANDS ((int)(sizeof(commands) / sizeof(commands[0])))

int server_command_number(const char *name)
{
	for (int i = 0; i < COMMANDS; i++)
		if ((name[0] | 0x20) == commands[i].name[0] &&
			strcasecmp(name, commands[i].name) == 0)
			return i;
	return -1;
}

static bool run(struct word *w, int count)
{
	int number = server_command_number(w[0].text);
	const struct command *c = number < 0 ? NULL : &commands[number];

	if (!c)
		return say_error(texts()->unknown);
	if (count < c->least || (c->most > 0 && count > c->most))
		return say_error(texts()->wrong_count);
	if (at->denied >> number & 1) {
		char text[200];

		snprintf(text, sizeof(text), texts()->no_right, c->name,
			at->user ? at->user : "default");
		return say_error(text);
	}
	return c->run(w, count);
}

void server_command(struct server *s, const char *const words[])
{
	struct word w[WORDS_MAX];
	int count = 0;

	for (; words[count]; count++) {
		assert(count < WORDS_MAX);
		w[count] = (struct word){words[count], strlen(words[count])};
	}
	at = s;
	if (!run(w, count))
		abort();
	lua_settop(lua, 0);
}

/* ---- the interpreter ---- */

/* Lua's arguments become the words of a command, as Redis writes numbers. */
static bool run_call(lua_State *l)
{
	char number[WORDS_MAX][40];
	struct word w[WORDS_MAX];
	int count = lua_gettop(l);

	lua = l;
	assert(count <= WORDS_MAX);
	if (count == 0)
		return say_error(texts()->no_words);
	for (int i = 0; i < count; i++)
		if (lua_type(l, i + 1) == LUA_TNUMBER) {
			w[i].text = number[i];
			w[i].len = (size_t)snprintf(
				number[i], sizeof(number[i]), "%.17g", lua_tonumber(l, i + 1));
		} else if (lua_type(l, i + 1) == LUA_TSTRING) {
			w[i].text = lua_tolstring(l, i + 1, &w[i].len);
		} else {
			return say_error(texts()->no_string);
		}
	return run(w, count);
}

static int redis_pcall(lua_State *l)
{
	(void)run_call(l);
	return 1;
}

static int redis_call(lua_State *l)
{
	return run_call(l) ? 1 : lua_error(l);
}

static int redis_acl_check_cmd(lua_State *l)
{
	int number = server_command_number(luaL_checkstring(l, 1));

	lua_pushboolean(l, number < 0 || !(at->denied >> number & 1));
	return 1;
}

static int redis_sha1hex(lua_State *l)
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	char text[2 * sizeof(digest) + 1];
	size_t len;
	const char *of = luaL_checklstring(l, 1, &len);

	SHA1((const unsigned char *)of, len, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	lua_pushstring(l, text);
	return 1;
}

/* `line`: of the server's own script that guards the globals, if it has one. */
static int refuse_global(lua_State *l, int line, const char *what)
{
	if (kinds[at->kind].is_strict)
		lua_pushfstring(l, "@enable_strict_lua:%d: ", line);
	else
		lua_pushstring(l, "");
	luaL_where(l, 1);
	lua_pushstring(l, what);
	lua_concat(l, 3);
	return lua_error(l);
}

static int refuse_new_global(lua_State *l)
{
	return refuse_global(l, 8,
		kinds[at->kind].is_strict
			? lua_pushfstring(l, "Script attempted to create global variable '%s'",
				  lua_tostring(l, 2))
			: "Attempt to modify a readonly table");
}

static int refuse_missing_global(lua_State *l)
{
	return refuse_global(l, 15,
		lua_pushfstring(l, "Script attempted to access nonexistent global variable '%s'",
			lua_tostring(l, 2)));
}

/* redis.acl_check_cmd is nil where the server does not have it. */
static int index_redis(lua_State *l)
{
	if (is_old() || strcmp(lua_tostring(l, 2), "acl_check_cmd") != 0)
		return 0;
	lua_pushcfunction(l, redis_acl_check_cmd);
	return 1;
}

static void protect_globals(void)
{
	static const char *const missing[] = {"dofile", "loadfile", "print", "module", "require",
		"newproxy", "getfenv", "setfenv"};

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		lua_pushnil(lua);
		lua_setglobal(lua, missing[i]);
	}
	lua_createtable(lua, 0, 2);
	lua_pushcfunction(lua, refuse_new_global);
	lua_setfield(lua, -2, "__newindex");
	lua_pushcfunction(lua, refuse_missing_global);
	lua_setfield(lua, -2, "__index");
	lua_setmetatable(lua, LUA_GLOBALSINDEX);
}

static void open_library(const char *name, lua_CFunction open)
{
	lua_pushcfunction(lua, open);
	lua_pushstring(lua, name);
	lua_call(lua, 1, 0);
}

void server_init(void)
{
	static const luaL_Reg redis[] = {
		{"call", redis_call},
		{"pcall", redis_pcall},
		{"sha1hex", redis_sha1hex},
		{NULL, NULL},
	};

	lua = luaL_newstate();
	assert(lua);
	open_library("", luaopen_base);
	open_library(LUA_STRLIBNAME, luaopen_string);
	open_library(LUA_TABLIBNAME, luaopen_table);
	open_library(LUA_MATHLIBNAME, luaopen_math);
#ifdef LUA_JITLIBNAME
	/* The compiler costs such short runs more than it saves. */
	open_library(LUA_JITLIBNAME, luaopen_jit);
	if (luaL_dostring(lua, "jit.off()") != 0)
		abort();
	lua_pushnil(lua);
	lua_setglobal(lua, LUA_JITLIBNAME);
#endif
	luaL_register(lua, "redis", redis);
	lua_createtable(lua, 0, 1);
	lua_pushcfunction(lua, index_redis);
	lua_setfield(lua, -2, "__index");
	lua_setmetatable(lua, -2);
	protect_globals();
	lua_settop(lua, 0);
}

/* ---- scripts ---- */

/* The compiled scripts, by their texts. */
static struct {
	const char *text;
	int chunk;
} compiled[OP_COUNT + 1];

static bool has_no_heads;

void server_without_heads(void)
{
	has_no_heads = true;
}

/* The script, in which no request is plain (parts/plain.lua). */
static const char *without_head(const char *text)
{
	static const char one_key[] = "not KEYS[2]and";
	static char changed[16 * 1024];
	char *one;

	if (!has_no_heads || strlen(text) >= sizeof(changed))
		return text;
	strcpy(changed, text);
	one = strstr(changed, one_key);
	assert(one || text != script_of(OP_ACQUIRE));
	if (one)
		one[strlen("not KEYS[")] = '1';
	return changed;
}

static void push_chunk(const char *text)
{
	int i = 0;

	while (compiled[i].text && compiled[i].text != text)
		i++;
	if (!compiled[i].text || i == OP_COUNT) {
		const char *changed = without_head(text);

		if (luaL_loadbuffer(lua, changed, strlen(changed), "@user_script") != 0) {
			fprintf(stderr, "server: %s\n", lua_tostring(lua, -1));
			abort();
		}
		if (i == OP_COUNT)
			return;
		compiled[i].text = text;
		compiled[i].chunk = luaL_ref(lua, LUA_REGISTRYINDEX);
	}
	lua_rawgeti(lua, LUA_REGISTRYINDEX, compiled[i].chunk);
}

static void set_list(const char *name, int count, const char *const words[], const size_t len[])
{
	lua_pushstring(lua, name);
	lua_createtable(lua, count, 0);
	for (int i = 0; i < count; i++) {
		lua_pushlstring(lua, words[i], len[i]);
		lua_rawseti(lua, -2, i + 1);
	}
	lua_rawset(lua, LUA_GLOBALSINDEX);
}

static void read_text(struct resp_item *item, enum resp_type type, const char *text, size_t len)
{
	item->type = type;
	item->integer = 0;
	item->len = len < sizeof(item->text) ? len : sizeof(item->text) - 1;
	memcpy(item->text, text, item->len);
	item->text[item->len] = '\0';
}

/* The value on top of the stack, which it pops. */
static void read_item(struct resp_item *item)
{
	size_t len;
	const char *text;

	switch (lua_type(lua, -1)) {
	case LUA_TNUMBER:
		item->type = RESP_INTEGER;
		item->integer = (int64_t)lua_tonumber(lua, -1);
		item->len = 0;
		item->text[0] = '\0';
		break;
	case LUA_TSTRING:
		text = lua_tolstring(lua, -1, &len);
		read_text(item, RESP_STRING, text, len);
		break;
	default:
		read_text(item, RESP_NIL, "", 0);
		if (lua_toboolean(lua, -1) && lua_isboolean(lua, -1)) {
			item->type = RESP_INTEGER;
			item->integer = 1;
		}
	}
	lua_pop(lua, 1);
}

/* A table with that field is an error, or a status. */
static bool read_field(struct resp *resp, const char *field, enum resp_type type)
{
	size_t len;
	const char *text;

	lua_pushstring(lua, field);
	lua_rawget(lua, -2);
	text = lua_tolstring(lua, -1, &len);
	if (text)
		read_text(&resp->item[0], type, text, len);
	lua_pop(lua, 1);
	return text;
}

/* The value on top of the stack as the server sends it. */
static void read_reply(struct resp *resp)
{
	resp->is_array = 0;
	resp->count = 1;
	if (lua_type(lua, -1) != LUA_TTABLE) {
		read_item(&resp->item[0]);
		return;
	}
	if (read_field(resp, "err", RESP_ERROR) || read_field(resp, "ok", RESP_STATUS))
		return;
	resp->is_array = 1;
	for (resp->count = 0; resp->count < RESP_ARRAY_MAX;) {
		lua_rawgeti(lua, -1, resp->count + 1);
		if (lua_isnil(lua, -1))
			break;
		resp->count++;
		read_item(&resp->item[resp_last(resp)]);
	}
}

/* The script failed: the error is on top of the stack. */
static void read_failure(struct resp *resp, const char *text)
{
	char digest[41], all[REPLY_TEXT_MAX];
	const char *error;
	bool is_text;

	lua_pushcfunction(lua, redis_sha1hex);
	lua_pushstring(lua, text);
	lua_call(lua, 1, 1);
	snprintf(digest, sizeof(digest), "%s", lua_tostring(lua, -1));
	lua_pop(lua, 1);
	is_text = lua_type(lua, -1) == LUA_TSTRING;
	if (!is_text)
		lua_getfield(lua, -1, "err");
	error = lua_tostring(lua, -1);
	if (is_old())
		snprintf(all, sizeof(all), "ERR Error running script (call to f_%s): %s%s", digest,
			strncmp(error, "@enable", 7) == 0 ? "" : "@user_script:1: ", error);
	else
		snprintf(all, sizeof(all), "%s%s script: %s, on @user_script:1.",
			is_text ? "ERR " : "", error, digest);
	resp->is_array = 0;
	resp->count = 1;
	read_text(&resp->item[0], RESP_ERROR, all, strlen(all));
}

void server_eval_text(struct server *s, const char *text, int keys, int argc,
	const char *const argv[], const size_t len[], struct resp *resp)
{
	lua_State *outer = lua;

	at = s;
	set_list("KEYS", keys, argv, len);
	set_list("ARGV", argc - keys, argv + keys, len + keys);
	push_chunk(text);
	if (lua_pcall(lua, 0, 1, 0) == 0) {
		lua = outer;
		read_reply(resp);
	} else {
		lua = outer;
		read_failure(resp, text);
	}
	lua_settop(lua, 0);
}

void server_eval(struct server *s, const struct request *r, struct resp *resp)
{
	server_eval_text(s, script_of(r->op), r->keys, r->argc - 3, r->argv + 3, r->len + 3, resp);
}
