#include "file/registry.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name of the file of a lost lock: LOST and the lock's id. */
#define LOST "lost."
#define LOST_NAME (sizeof(LOST) + TOKEN_ID_LEN)
#define LOST_AGE (86400 * USEC_SEC)

static int own_folder = -1;
static char own_name[24];

/* Opens the folder if only this user can change it: another user with access to it could redirect
 * signals of redlock to other processes. Returns a descriptor, or -1 with errno. */
static int open_folder(const char *parent, const char *name, bool is_made)
{
	int above = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, error = ENOENT;
	struct stat st;

	if (above < 0)
		return -1;
	if (is_made && mkdirat(above, name, 0700) < 0)
		error = errno;
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		errno = error;
	error = errno;
	close(above);
	errno = error;
	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0077) == 0))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Returns true if no folder can be opened now: the next one would be made in vain. */
static bool lacks_descriptors(int error)
{
	return error == EMFILE || error == ENFILE;
}

/* Opens the first private folder; `last` is the name of the last choice. Another user may make the
 * folder in /tmp first, but not the one in /run, where only root can. */
static int open_registry(bool is_made, char last[48])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int fd = -1;

	snprintf(last, 48, "redlock-%ld", (long)geteuid());
	errno = ENOENT;
	if (runtime && runtime[0] == '/')
		fd = open_folder(runtime, "redlock", is_made);
	if (fd < 0 && !lacks_descriptors(errno))
		fd = open_folder("/run", "redlock", is_made);
	if (fd < 0 && !lacks_descriptors(errno))
		fd = open_folder("/tmp", last, is_made);
	return fd;
}

static int open_own(struct err *e)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char last[48], shown[80];
	int fd = open_registry(true, last);

	if (fd >= 0)
		return fd;
	if (lacks_descriptors(errno))
		return err_system(e, ERR_SYSTEM, errno, "cannot register the lock");
	err_set(e, ERR_SYSTEM, "cannot register the lock: '/tmp/%s': %s", last,
		errno == EPERM || errno == ENOTDIR || errno == ELOOP || errno == EACCES
			? "not a private directory of this user"
			: strerror(errno));
	return err_hint(e, "set XDG_RUNTIME_DIR%s%s%s to a directory of this user with mode 0700",
		runtime ? ", now '" : "",
		runtime ? utf8_escape(shown, sizeof(shown), runtime, strlen(runtime)) : "",
		runtime ? "'," : "");
}

int registry_check(struct err *e)
{
	int fd = open_own(e);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* ---- entries of all processes ---- */

/* Returns false if `id` is no id of redlock, which cannot be part of a name. */
static bool name_loss(char name[LOST_NAME], const char *id)
{
	snprintf(name, LOST_NAME, LOST "%.*s", TOKEN_ID_LEN, id);
	return strspn(name + strlen(LOST), "0123456789abcdef") == TOKEN_ID_LEN;
}

static bool is_loss(const char *name)
{
	return strncmp(name, LOST, strlen(LOST)) == 0;
}

void registry_open(struct registry *r)
{
	char last[48];
	int fd = open_registry(false, last);

	r->list = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !r->list)
		close(fd);
}

/* Is it an entry as registry_add() writes it, under the right name? */
static bool parse_entry(const char *name, const char *text, struct entry *entry)
{
	long holder, follow;
	long long since;
	char number[24], loss[LOST_NAME];
	int at = 0;

	if (sscanf(text, "%ld %ld %d %lld %40[0-9a-f] %ld %ld %" SCNx64 "%n", &holder, &follow,
		    &entry->keys, &since, entry->id, &entry->limit, &entry->slot, &entry->nodes,
		    &at) != 8 ||
		text[at] != '\n')
		return false;
	entry->holder = (pid_t)holder;
	entry->follow = (pid_t)follow;
	entry->since = since;
	snprintf(entry->key, sizeof(entry->key), "%.4096s", text + at + 1);
	snprintf(number, sizeof(number), "%ld", holder);
	return strcmp(name, number) == 0 || (name_loss(loss, entry->id) && strcmp(name, loss) == 0);
}

/* Reads an entry. Returns false if the file is no entry, or if it is out of date: the background
 * holder is dead, or the loss is old. Removes such an entry. */
static bool take_entry(
	int folder, const char *name, int fd, const struct stat *open, struct entry *entry)
{
	char text[sizeof(entry->key) + 128];
	struct stat named;
	bool stays = is_loss(name) ? clock_wall() - open->st_mtime * USEC_SEC < LOST_AGE
				   : flock(fd, LOCK_SH | LOCK_NB) < 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	if (!parse_entry(name, text, entry))
		return false;
	/* Another background holder may have that pid by now. */
	if (!stays && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		open->st_ino == named.st_ino)
		(void)unlinkat(folder, name, 0);
	return stays;
}

static bool read_entry(int folder, const char *name, struct entry *entry)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	bool is_entry;

	if (fd < 0)
		return false;
	is_entry = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
		   take_entry(folder, name, fd, &st, entry);
	close(fd);
	return is_entry;
}

/* Finds the next entry of a live background holder, or of a lost lock. */
static bool next_entry(struct registry *r, bool is_lost, struct entry *entry)
{
	const struct dirent *file;

	while (r->list && (file = readdir(r->list)))
		if ((is_lost ? is_loss(file->d_name)
			     : file->d_name[strspn(file->d_name, "0123456789")] == '\0') &&
			read_entry(dirfd(r->list), file->d_name, entry))
			return true;
	return false;
}

bool registry_next(struct registry *r, struct entry *entry)
{
	return next_entry(r, false, entry);
}

void registry_close(struct registry *r)
{
	if (r->list)
		closedir(r->list);
	r->list = NULL;
}

static bool is_wanted(const struct entry *one, const struct wanted *w)
{
	return strcmp(one->key, w->key) == 0 && one->keys == w->keys &&
	       (w->slot == 0 || one->slot == w->slot) &&
	       (!w->id || strncmp(one->id, w->id, TOKEN_ID_LEN) == 0) &&
	       (w->nodes == 0 || one->nodes == w->nodes);
}

/* Returns the number of matching entries; *entry is the last one. */
static int find(bool is_lost, const struct wanted *wanted, struct entry *entry)
{
	struct registry r;
	struct entry one;
	int n = 0;

	registry_open(&r);
	while (next_entry(&r, is_lost, &one))
		if (is_wanted(&one, wanted)) {
			*entry = one;
			n++;
		}
	registry_close(&r);
	return n;
}

int registry_find(const struct wanted *wanted, struct entry *entry)
{
	return find(false, wanted, entry);
}

bool registry_find_loss(const struct wanted *wanted, struct entry *entry)
{
	return find(true, wanted, entry) > 0;
}

bool registry_forget(const char *id)
{
	char name[LOST_NAME], last[48];
	int folder = name_loss(name, id) ? open_registry(false, last) : -1;
	bool was_lost = folder >= 0 && unlinkat(folder, name, 0) == 0;

	if (folder >= 0)
		close(folder);
	return was_lost;
}

bool registry_has(pid_t holder)
{
	char name[sizeof(own_name)], last[48];
	int folder = open_registry(false, last);
	bool has;

	snprintf(name, sizeof(name), "%ld", (long)holder);
	has = folder >= 0 && faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (folder >= 0)
		close(folder);
	return has;
}

/* ---- the entry of this process ---- */

/* Returns -1 with errno. The descriptor stays open, because it carries the lock. */
static int write_entry(const char *draft, const char *text, size_t len)
{
	int fd;

	/* The file gets its name after it has been locked. A draft with this name belongs to a dead
	 * process that had this pid. */
	(void)unlinkat(own_folder, draft, 0);
	fd = openat(own_folder, draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, text, len) == (ssize_t)len &&
		renameat(own_folder, draft, own_folder, own_name) == 0)
		return 0;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A new hold replaces the lost entries of its lock. */
static void forget_losses(const struct entry *new)
{
	const struct wanted wanted = {
		.key = new->key, .keys = new->keys, .slot = new->slot, .nodes = new->nodes};
	struct entry old;

	while (registry_find_loss(&wanted, &old) && registry_forget(old.id))
		;
}

int registry_add(const struct entry *entry, struct err *e)
{
	char draft[sizeof(own_name) + 1], text[sizeof(entry->key) + 128];
	int len;

	own_folder = open_own(e);
	if (own_folder < 0)
		return -1;
	snprintf(own_name, sizeof(own_name), "%ld", (long)entry->holder);
	snprintf(draft, sizeof(draft), ".%s", own_name);
	len = snprintf(text, sizeof(text), "%ld %ld %d %lld %s %ld %ld %" PRIx64 "\n%s",
		(long)entry->holder, (long)entry->follow, entry->keys, (long long)entry->since,
		entry->id, entry->limit, entry->slot, entry->nodes, entry->key);
	if (write_entry(draft, text, (size_t)len) == 0) {
		forget_losses(entry);
		return 0;
	}
	err_system(e, ERR_SYSTEM, errno, "cannot register the lock");
	(void)unlinkat(own_folder, draft, 0);
	own_name[0] = '\0';
	registry_remove();
	return -1;
}

void registry_remove(void)
{
	if (own_name[0])
		(void)unlinkat(own_folder, own_name, 0);
	if (own_folder >= 0)
		close(own_folder);
	own_name[0] = '\0';
	own_folder = -1;
}

void registry_lose(const char *id)
{
	char name[LOST_NAME];

	/* The age of the loss counts from now. */
	if (own_name[0] && name_loss(name, id) &&
		utimensat(own_folder, own_name, NULL, AT_SYMLINK_NOFOLLOW) == 0)
		(void)renameat(own_folder, own_name, own_folder, name);
	registry_remove();
}
