/* registry: an entry is found while its process keeps it. One process plays all parts, because the
 * lock belongs to the open file, not to the process. */
#include "file/registry.h"

#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef01234567"
#define OTHER_ID "1123456789abcdef0123456789abcdef01234567"

#define NODES 0xfedcba9876543210

static char home[64], folder[80];

static void begin(void)
{
	snprintf(home, sizeof(home), "/tmp/redlock-unit-XXXXXX");
	CHECK(mkdtemp(home) != NULL);
	snprintf(folder, sizeof(folder), "%s/redlock", home);
	setenv("XDG_RUNTIME_DIR", home, 1);
}

static void end(void)
{
	rmdir(folder);
	CHECK_INT(rmdir(home), 0); /* nothing remained in it */
	unsetenv("XDG_RUNTIME_DIR");
}

static void enter(int holder, const char *key, const char *id, int follow)
{
	struct entry entry = {.holder = holder,
		.follow = follow,
		.since = 1700000000,
		.keys = 1,
		.limit = 3,
		.slot = 2,
		.nodes = NODES};
	struct err e;

	snprintf(entry.key, sizeof(entry.key), "%s", key);
	snprintf(entry.id, sizeof(entry.id), "%s", id);
	CHECK_INT(registry_add(&entry, &e), 0);
}

static int find_entry(const char *key, int keys, long slot, const char *id, struct entry *found)
{
	return registry_find(
		&(struct wanted){.key = key, .keys = keys, .slot = slot, .id = id, .nodes = NODES},
		found);
}

static bool find_loss(const char *key, int keys, long slot, struct entry *found)
{
	return registry_find_loss(
		&(struct wanted){.key = key, .keys = keys, .slot = slot, .nodes = NODES}, found);
}

/* Made by hand, without a lock. */
static void leave(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!CHECK(file != NULL))
		return;
	fputs(text, file);
	fclose(file);
}

/* The file exists. */
static void discard(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_INT(unlink(path), 0);
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

TEST(registry_finds_by_key_and_by_id)
{
	static struct entry found;

	begin();
	CHECK_INT(find_entry("job", 1, 0, NULL, &found), 0); /* no folder yet */
	enter(42, "job\nwith \xff bytes", ID, 0);
	CHECK_INT(find_entry("job\nwith \xff bytes", 1, 0, NULL, &found), 1);
	CHECK_INT(found.holder, 42);
	CHECK_INT(found.follow, 0);
	CHECK_INT(found.since, 1700000000);
	CHECK_TEXT(found.id, ID);
	CHECK_TEXT(found.key, "job\nwith \xff bytes");
	CHECK_INT(find_entry("job\nwith \xff bytes", 1, 0, ID ":a@b:1 c", &found), 1);
	CHECK_INT(find_entry("job\nwith \xff bytes", 1, 0, OTHER_ID, &found), 0);
	CHECK_INT(find_entry("job\nwith \xff bytes", 2, 0, NULL, &found), 0);
	CHECK_INT(find_entry("job\nwith \xff bytes", 1, 2, NULL, &found), 1);
	CHECK_INT(find_entry("job\nwith \xff bytes", 1, 1, NULL, &found), 0);
	CHECK_INT(find_entry("job", 1, 0, NULL, &found), 0);
	registry_remove();
	CHECK_INT(find_entry("job\nwith \xff bytes", 1, 0, NULL, &found), 0);
	registry_remove(); /* a second call does no harm */
	end();
}

TEST(registry_distinguishes_sets_of_nodes)
{
	static struct entry found;
	struct wanted wanted = {.key = "job", .keys = 1};

	begin();
	enter(42, "job", ID, 0);
	wanted.nodes = NODES + 1;
	CHECK_INT(registry_find(&wanted, &found), 0);
	wanted.nodes = 0;
	CHECK_INT(registry_find(&wanted, &found), 1);
	CHECK(found.nodes == NODES);
	registry_lose(ID);
	CHECK(registry_find_loss(&wanted, &found));
	wanted.nodes = NODES + 1;
	CHECK(!registry_find_loss(&wanted, &found));
	CHECK(registry_forget(ID));
	end();
}

TEST(registry_takes_the_longest_key)
{
	static struct entry found;
	static char key[sizeof(found.key)];

	begin();
	memset(key, 'k', sizeof(key) - 1);
	enter(42, key, ID, 7);
	CHECK_INT(find_entry(key, 1, 0, NULL, &found), 1);
	CHECK_TEXT(found.key, key);
	CHECK_INT(found.follow, 7);
	registry_remove();
	end();
}

TEST(registry_forgets_dead_processes)
{
	static struct entry found;
	struct registry r;

	begin();
	CHECK_INT(mkdir(folder, 0700), 0);
	leave("99", "99 0 1 1700000000 " ID " 0 0 1\njob");
	leave("98", "99 0 1 1700000000 " ID " 0 0 1\njob");
	leave("README.md", "99 0 1 1700000000 " ID " 0 0 1\njob");
	leave(".99", "a draft");
	CHECK_INT(find_entry("job", 1, 0, NULL, &found), 0);
	CHECK(!is_there("99"));
	CHECK(is_there(".99")); /* a live process may be writing it */
	discard("98");
	discard("README.md");
	/* A later process with that pid starts with a new file. */
	enter(99, "job", ID, 0);
	CHECK(!is_there(".99"));
	registry_open(&r);
	CHECK(registry_next(&r, &found));
	CHECK(!registry_next(&r, &found));
	registry_close(&r);
	registry_remove();
	end();
}

TEST(registry_remembers_a_loss)
{
	static struct entry found;

	begin();
	enter(42, "job", ID, 0);
	CHECK(!find_loss("job", 1, 0, &found));
	registry_lose(ID ":a@b:1 c");
	CHECK_INT(find_entry("job", 1, 0, NULL, &found), 0);
	CHECK(find_loss("job", 1, 0, &found));
	CHECK_TEXT(found.id, ID);
	CHECK_INT(found.slot, 2);
	CHECK(find_loss("job", 1, 2, &found));
	CHECK(!find_loss("job", 1, 1, &found));
	CHECK(!find_loss("other", 1, 0, &found));
	CHECK(!registry_forget(OTHER_ID));
	CHECK(!registry_forget("../lost." ID));
	CHECK(registry_forget(ID ":a@b:1 c"));
	CHECK(!registry_forget(ID));
	/* The next hold of the lock replaces it. */
	enter(42, "job", ID, 0);
	registry_lose(ID);
	enter(43, "other", OTHER_ID, 0);
	CHECK(find_loss("job", 1, 0, &found));
	registry_remove();
	enter(43, "job", OTHER_ID, 0);
	CHECK(!find_loss("job", 1, 0, &found));
	registry_remove();
	/* Another file with such a name is no entry. */
	leave("lost." OTHER_ID, "42 0 1 1700000000 " ID " 3 2 1\njob");
	CHECK(!find_loss("job", 1, 0, &found));
	discard("lost." OTHER_ID);
	end();
}

TEST(registry_is_private)
{
	static struct entry found;
	char elsewhere[96];

	begin();
	CHECK_INT(mkdir(folder, 0700), 0);
	enter(42, "private", ID, 0);
	CHECK_INT(chmod(folder, 0770), 0);
	CHECK_INT(find_entry("private", 1, 0, NULL, &found), 0);
	CHECK_INT(chmod(folder, 0700), 0);
	CHECK_INT(find_entry("private", 1, 0, NULL, &found), 1);
	/* Nor is a link, regardless of the owner of its target. */
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", home);
	CHECK_INT(rename(folder, elsewhere), 0);
	CHECK_INT(symlink(elsewhere, folder), 0);
	CHECK_INT(find_entry("private", 1, 0, NULL, &found), 0);
	CHECK_INT(unlink(folder), 0);
	CHECK_INT(rename(elsewhere, folder), 0);
	registry_remove();
	end();
}
