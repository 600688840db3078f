#include "io/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char own_path[256];

/* A folder that others could write to would let them have our signals sent. */
static bool is_private(const char *folder)
{
	struct stat st;

	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 0077) == 0;
}

static void find_folder(char *folder, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && runtime[0] == '/' && strlen(runtime) < 150)
		snprintf(folder, size, "%s/redlock", runtime);
	else
		snprintf(folder, size, "/tmp/redlock-%ld", (long)geteuid());
}

int registry_add(const struct entry *entry, struct err *e)
{
	char folder[200], draft[sizeof(own_path) + 2], text[sizeof(entry->key) + 128];
	int fd, len;

	find_folder(folder, sizeof(folder));
	(void)mkdir(folder, 0700);
	if (!is_private(folder))
		return err_set(e, ERR_SYSTEM, "'%s' is not a folder of this user alone", folder);
	snprintf(own_path, sizeof(own_path), "%s/%ld", folder, (long)entry->keeper);
	/* It has its name when it is locked. What an earlier process of this number left is
	 * nobody's. */
	snprintf(draft, sizeof(draft), "%s/.%ld", folder, (long)entry->keeper);
	(void)unlink(draft);
	fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	len = snprintf(text, sizeof(text), "%ld %ld %d %lld %s %ld %ld\n%s", (long)entry->keeper,
		(long)entry->follow, entry->keys, (long long)entry->since, entry->id, entry->limit,
		entry->slot, entry->key);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, text, (size_t)len) == len &&
		rename(draft, own_path) == 0)
		return 0; /* fd stays open: it is the lock */
	err_set(e, ERR_SYSTEM, "cannot write '%s': %s", draft, strerror(errno));
	if (fd >= 0)
		close(fd);
	(void)unlink(draft);
	own_path[0] = '\0';
	return -1;
}

void registry_remove(void)
{
	if (own_path[0])
		(void)unlink(own_path);
	own_path[0] = '\0';
}

void registry_open(struct registry *r)
{
	find_folder(r->folder, sizeof(r->folder));
	r->list = is_private(r->folder) ? opendir(r->folder) : NULL;
}

/* False where it is no entry, or its keeper is gone. */
static bool read_entry(const struct registry *r, const char *name, struct entry *entry)
{
	char path[sizeof(r->folder) + 256 + 2], text[sizeof(entry->key) + 128];
	long keeper, follow;
	long long since;
	ssize_t n = 0;
	int fd, at = 0;
	bool is_kept;

	snprintf(path, sizeof(path), "%s/%s", r->folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	is_kept = flock(fd, LOCK_SH | LOCK_NB) < 0;
	if (is_kept)
		n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (!is_kept)
		(void)unlink(path);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (sscanf(text, "%ld %ld %d %lld %40[0-9a-f] %ld %ld%n", &keeper, &follow, &entry->keys,
		    &since, entry->id, &entry->limit, &entry->slot, &at) != 7 ||
		text[at] != '\n')
		return false;
	entry->keeper = (pid_t)keeper;
	entry->follow = (pid_t)follow;
	entry->since = since;
	snprintf(entry->key, sizeof(entry->key), "%.4096s", text + at + 1);
	return true;
}

bool registry_next(struct registry *r, struct entry *entry)
{
	const struct dirent *file;

	while (r->list && (file = readdir(r->list)))
		if (file->d_name[0] != '.' && read_entry(r, file->d_name, entry))
			return true;
	return false;
}

void registry_close(struct registry *r)
{
	if (r->list)
		closedir(r->list);
	r->list = NULL;
}

int registry_find(const char *key, int keys, long slot, const char *id, struct entry *entry)
{
	struct registry r;
	struct entry one;
	int n = 0;

	registry_open(&r);
	while (registry_next(&r, &one))
		if (strcmp(one.key, key) == 0 && one.keys == keys &&
			(slot == 0 || one.slot == slot) &&
			(!id || strncmp(one.id, id, TOKEN_ID_LEN) == 0)) {
			*entry = one;
			n++;
		}
	registry_close(&r);
	return n;
}
