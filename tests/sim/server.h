/*
 * server: a Redis server, as far as redlock's scripts can tell. It keeps strings and sorted sets,
 * and carries out the scripts that the program sends, byte for byte, in a Lua interpreter. A key
 * expires by the server's own clock, when somebody asks for it. tests/differ compares it with real
 * servers.
 *
 * Calling sequence: server_init() once in a process; then server_eval() for a script, with the
 * clock set, or server_command() for an administrator's command. One script runs at a time, and no
 * other request between its commands. What a script wrote before it failed stays.
 */
#ifndef TESTS_SIM_SERVER_H
#define TESTS_SIM_SERVER_H

#include "base/token.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_KEYS 64 /* names of keys, of all servers in a process */
#define SERVER_VALUE_MAX 1024
#define SERVER_MEMBER_MAX TOKEN_MAX
#define SERVER_LASTS INT64_MAX /* a key without expiry */

/* Servers differ in what scripts see of them. */
enum server_kind {
	SERVER_REDIS_6_0,
	SERVER_REDIS_6_2,
	SERVER_REDIS_7,
	SERVER_REDIS_8,
	SERVER_VALKEY_8,
	SERVER_KEYDB_6,
	SERVER_KINDS
};

/* Of a sorted set. */
struct server_member {
	double score;
	char name[SERVER_MEMBER_MAX];
};

struct server_entry {
	enum server_type { SERVER_NONE, SERVER_STRING, SERVER_SET } type;
	uint32_t version; /* counts the changes */
	int64_t ends; /* by the server's clock, in milliseconds; SERVER_LASTS */
	size_t len;
	char value[SERVER_VALUE_MAX]; /* of a string; it ends with a NUL that is not counted */
	int members, room;
	struct server_member *member; /* by score, then by name */
};

struct server {
	enum server_kind kind;
	int64_t clock_us; /* its time of day, which the caller sets */
	char run_id[RUN_ID_MAX]; /* of its process */
	/* The id of its data's history, and how many it has had: another one with each start, each
	 * promotion, the first replica and the first backup. */
	char replid[RUN_ID_MAX];
	int histories;
	bool is_promoted; /* in the life of this process: it has a second id */
	unsigned known; /* scripts that it has carried out: 1 << op */
	const char *user; /* the user that runs the script; NULL: "default" */
	uint64_t denied; /* commands that the user has no right to: 1 << server_command_number() */
	struct server_entry entry[SERVER_KEYS];

	/* Its subscribers are the caller's. Both return how many a channel has. */
	int (*numsub)(struct server *s, const char *channel);
	int (*publish)(struct server *s, const char *channel, const char *text);
	void *owner; /* the caller's, for these two */
};

void server_init(void);

/* From now on, scripts find no request plain, and answer without their heads (parts/plain.lua). */
void server_without_heads(void);

/* Begins a new process, which is a master; a new history in the same process, which was promoted,
 * or is backed up for the first time. */
void server_start(struct server *s, const char *run_id);
void server_promote(struct server *s);
void server_back_up(struct server *s);

/* Deletes all keys; makes `to` a copy of the keys of `from`. */
void server_flush(struct server *s);
void server_copy(struct server *to, const struct server *from);

/* The number of a key's name, for server_entry(). The first call with a name gives it one. */
int server_key(const char *name);

/* The key, if it is there and has not expired by the server's clock; else NULL. */
const struct server_entry *server_entry(const struct server *s, int key);

/* EVAL or EVALSHA of one of redlock's scripts, with the request's words. */
void server_eval(struct server *s, const struct request *r, struct resp *resp);

/* EVAL of any script, with the words after its text. */
void server_eval_text(struct server *s, const char *text, int keys, int argc,
	const char *const argv[], const size_t len[], struct resp *resp);

/* A command of an administrator; NULL ends the words. */
void server_command(struct server *s, const char *const words[]);

/* -1: the model has no such command. */
int server_command_number(const char *name);

#endif
