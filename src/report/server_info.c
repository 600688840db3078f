#include "report/server_info.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

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
	{"master_host", FIELD(master_host)},
	{"master_port", FIELD(master_port)},
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

/* A server with one of these fields is of that kind, although servers claim a redis_version for
 * compatibility with clients. The value is its version, except for KeyDB, which has it in
 * redis_version. */
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

int64_t server_info_number(const char *text, size_t len)
{
	int64_t n = 0;
	size_t i = 0;

	for (; i < len && text[i] >= '0' && text[i] <= '9' && n < INT64_MAX / 20; i++)
		n = n * 10 + (text[i] - '0');
	return i == 0 ? INFO_UNKNOWN : n;
}

/* The value of the line "name:value", or NULL. */
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
			*(int64_t *)((char *)info + numbers[i].field) =
				server_info_number(value, len);
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

bool server_info_is_sentinel(const struct server_info *info)
{
	return strcmp(info->mode, "sentinel") == 0;
}
