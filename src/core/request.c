#include "core/request.h"

#include "base/token.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Every script answers {code, pttl, holder, run_id}: code 1 yes, 0 somebody else's, -1 gone.
 * `look` reads the key; a key of another type (Redisson keeps a hash) is somebody else's.
 */
#define SCRIPT_LOOK \
	"local v=redis.pcall('GET',KEYS[1]) " \
	"if type(v)=='table' then " \
	"if not string.find(v.err,'WRONGTYPE',1,true) then return v end " \
	"v='('..redis.call('TYPE',KEYS[1]).ok..')' end " \
	"local function other() " \
	"return {0,redis.call('PTTL',KEYS[1]),string.sub(v,1,300),''} end "

/* Which life of which server this is. */
#define SCRIPT_ID \
	"local id=redis.pcall('INFO','server') " \
	"id=type(id)=='string' and string.match(id,'run_id:(%x+)') or '' "

static const char script_acquire[] =
	SCRIPT_LOOK "local id=redis.pcall('INFO','server') "
		    "id=type(id)=='string' and string.match(id,'run_id:(%x+)') or '' "
		    "if v and v~=ARGV[1] then local o=other() o[4]=id return o end "
		    "redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2]) "
		    "return {1,tonumber(ARGV[2]),'',id}";

static const char script_extend[] = SCRIPT_LOOK SCRIPT_ID "if not v then return {-1,0,'',''} end "
							  "if v~=ARGV[1] then return other() end "
							  "redis.call('PEXPIRE',KEYS[1],ARGV[2]) "
							  "return {1,tonumber(ARGV[2]),'',id}";

/* The owner's name stays, so that waiters are told whose it was; the id goes, so that a nested run
 * that outlived the holder does not take the lock for held. */
_Static_assert(TOKEN_ID_LEN == 40, "script_leave has it as a number");
static const char script_leave[] =
	SCRIPT_LOOK "if not v then return {-1,0,'',''} end "
		    "if v~=ARGV[1] then return other() end "
		    "redis.call('SET',KEYS[1],string.rep('0',40)..string.sub(v,41),'PX',ARGV[2]) "
		    "return {1,tonumber(ARGV[2]),'',''}";

static const char script_release[] = SCRIPT_LOOK "if not v then return {-1,0,'',''} end "
						 "if v~=ARGV[1] then return other() end "
						 "redis.call('DEL',KEYS[1]) "
						 "return {1,0,'',''}";

static const char *script_of(enum op op)
{
	static const char *const scripts[] = {
		[OP_ACQUIRE] = script_acquire,
		[OP_HEAL] = script_acquire,
		[OP_EXTEND] = script_extend,
		[OP_RELEASE] = script_release,
		[OP_LEAVE] = script_leave,
	};

	return scripts[op];
}

static void add(struct request *r, const char *arg)
{
	assert(r->argc < (int)(sizeof(r->argv) / sizeof(r->argv[0])));
	r->argv[r->argc] = arg;
	r->len[r->argc++] = strlen(arg);
}

void request_build(struct request *r, enum op op, const char *key, const char *token, usec ttl)
{
	r->argc = 0;
	snprintf(r->ttl, sizeof(r->ttl), "%" PRId64, ttl / USEC_MSEC);
	add(r, "EVAL");
	add(r, script_of(op));
	add(r, "1");
	add(r, key);
	add(r, token);
	add(r, r->ttl);
}

struct answer answer_absent(enum reason reason, const char *detail)
{
	struct answer a = {.vote = VOTE_ABSENT, .reason = reason};

	if (detail) {
		snprintf(a.text, sizeof(a.text), "%s", detail);
		a.text_len = strlen(a.text);
	}
	return a;
}

const char *reason_words(enum reason reason)
{
	static const char *const words[] = {
		[REASON_NONE] = "was not asked",
		[REASON_UNRESOLVED] = "its name does not resolve",
		[REASON_CONNECT] = "cannot be reached",
		[REASON_CLOSED] = "closed the connection",
		[REASON_CONNECT_TIMEOUT] = "did not accept the connection in time",
		[REASON_TIMEOUT] = "did not answer in time",
		[REASON_LOADING] = "is still loading its data",
		[REASON_READONLY] = "is a read-only replica",
		[REASON_MISCONF] = "refuses writes because it cannot save to disk",
		[REASON_OOM] = "is out of memory",
		[REASON_NOAUTH] = "wants a password, or another one",
		[REASON_NOPERM] = "does not permit this user to do it",
		[REASON_MOVED] = "is a cluster member",
		[REASON_CLUSTERDOWN] = "belongs to a cluster that is down",
		[REASON_MASTERDOWN] = "is a replica without its master",
		[REASON_NOREPLICAS] = "refuses writes because it has too few replicas",
		[REASON_BUSY] = "is busy with a script",
		[REASON_MAXCLIENTS] = "has too many clients",
		[REASON_SERVER] = "answered with an error",
		[REASON_GARBAGE] = "does not speak the Redis protocol",
		[REASON_TOO_LONG] = "answered at excessive length",
	};

	return words[reason];
}

/* By the first words of the server's error; inside EVAL Redis keeps them in front. */
static enum reason classify(const char *text)
{
	static const struct {
		const char *start;
		enum reason reason;
	} table[] = {
		{"LOADING", REASON_LOADING},
		{"READONLY", REASON_READONLY},
		{"MISCONF", REASON_MISCONF},
		{"OOM", REASON_OOM},
		{"NOAUTH", REASON_NOAUTH},
		{"WRONGPASS", REASON_NOAUTH},
		{"ERR AUTH", REASON_NOAUTH},
		{"ERR invalid password", REASON_NOAUTH},
		{"ERR Client sent AUTH", REASON_NOAUTH},
		{"NOPERM", REASON_NOPERM},
		{"ERR The user executing the script", REASON_NOPERM},
		{"MOVED", REASON_MOVED},
		{"ASK ", REASON_MOVED},
		{"CLUSTERDOWN", REASON_CLUSTERDOWN},
		{"MASTERDOWN", REASON_MASTERDOWN},
		{"NOREPLICAS", REASON_NOREPLICAS},
		{"BUSY", REASON_BUSY},
		{"ERR max number of clients", REASON_MAXCLIENTS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(text, table[i].start, strlen(table[i].start)) == 0)
			return table[i].reason;
	return REASON_SERVER;
}

struct answer answer_read(const struct reply *reply)
{
	const struct reply_item *item = reply->item;
	struct answer a = {.vote = VOTE_NONE};
	int64_t pttl;

	if (!reply->is_array && reply->count == 1 && item[0].type == REPLY_ERROR)
		return answer_absent(classify(item[0].text), item[0].text);
	if (!reply->is_array || reply->count != 4 || item[0].type != REPLY_INTEGER ||
		item[1].type != REPLY_INTEGER || item[2].type != REPLY_STRING ||
		item[3].type != REPLY_STRING || item[3].len >= sizeof(a.run_id))
		return answer_absent(REASON_GARBAGE, NULL);
	switch (item[0].integer) {
	case 1:
		a.vote = VOTE_YES;
		break;
	case 0:
		a.vote = VOTE_FOREIGN;
		break;
	case -1:
		a.vote = VOTE_GONE;
		break;
	default:
		return answer_absent(REASON_GARBAGE, NULL);
	}
	pttl = item[1].integer;
	a.pttl = pttl < 0 || pttl > NEVER / USEC_MSEC ? NEVER : pttl * USEC_MSEC;
	a.text_len = item[2].len;
	memcpy(a.text, item[2].text, item[2].len + 1);
	memcpy(a.run_id, item[3].text, item[3].len + 1);
	return a;
}
