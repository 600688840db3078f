#include "file/file.h"

#include "base/alarm.h"
#include "base/token.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LOCK_TIMEOUT (10 * USEC_SEC)
#define LOOKS_APART_MS 20

/* A new draft can be taken for an abandoned one before it is locked: then the next one is made. */
#define DRAFT_TRIES 100

/* The text of a file that is replaced is held in memory, so limit it: another user may have put a
 * huge file there. */
#define OLD_MAX ((off_t)64 * 1024 * 1024)

/* Some editors begin UTF-8 files with it. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* How long a pipe with a writer is read. The writer may be a program that asks a person. */
#define WRITER_TIME UNLESS_HASTY(60 * USEC_SEC)

/* Signals can be blocked while a pipe is waited for. */
#define SIGNALS_APART (50 * USEC_MSEC)

/* Flags against waiting for a pipe or a lease, and against getting a controlling terminal. */
#define CAREFULLY (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

const char *file_reason(int error)
{
	switch (error) {
	case ELOOP:
		return "it is a symbolic link";
	case EMLINK:
		return "it has several names (hard links)";
	case EINVAL:
		return "it is not a regular file";
	case EILSEQ:
		return "it has a byte of zero";
	case ENODATA:
		return "nothing writes to this pipe";
	case ETIME:
		return "its writer does not close this pipe";
	case ETIMEDOUT:
		return "another process has it locked";
	default:
		return strerror(error);
	}
}

static int refuse(struct err *e, const char *path, int error)
{
	char shown[300];

	return err_set(e, ERR_SYSTEM, "cannot write to '%s': %s",
		utf8_escape(shown, sizeof(shown), path, strlen(path)), file_reason(error));
}

/* Returns an errno, or 0. */
static int check_regular(int fd, struct stat *st)
{
	if (fstat(fd, st) < 0)
		return errno;
	if (S_ISDIR(st->st_mode))
		return EISDIR;
	return S_ISREG(st->st_mode) ? 0 : EINVAL;
}

/* ---- places ---- */

int file_open_place(struct file_place *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char parent[PATH_MAX] = ".";

	p->dir = -1;
	if (strlen(path) >= sizeof(parent) || strlen(name) >= sizeof(p->name))
		return ENAMETOOLONG;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return EISDIR;
	if (slash)
		snprintf(parent, sizeof(parent), "%.*s", (int)(name - path), path);
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->dir < 0 ? errno : 0;
}

void file_close_place(struct file_place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
}

/* Only this user and root could have put a link there. */
static bool is_ours_alone(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* ---- a file that grows ---- */

/* Returns an errno, or 0 with *fd. */
static int open_end(const struct file_place *p, int *fd)
{
	bool is_safe = is_ours_alone(p->dir);
	struct stat st;

	*fd = openat(p->dir, p->name,
		O_WRONLY | O_APPEND | O_CREAT | CAREFULLY | (is_safe ? 0 : O_NOFOLLOW), 0640);
	if (*fd < 0)
		return errno;
	if (is_safe || fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink <= 1)
		return 0;
	close(*fd);
	return EMLINK;
}

int file_open_append(const char *path, int *fd)
{
	struct file_place place;
	int error = file_open_place(&place, path);

	if (!error)
		error = open_end(&place, fd);
	file_close_place(&place);
	return error;
}

int file_append(const char *path, const char *line, size_t len, struct err *e)
{
	int fd, error = file_open_append(path, &fd);
	ssize_t n;

	if (error)
		return refuse(e, path, error);
	n = write(fd, line, len);
	error = n < 0 ? errno : ENOSPC;
	close(fd);
	return n == (ssize_t)len ? 0 : refuse(e, path, error);
}

/* ---- a file that is locked, and replaced ---- */

/* Returns false if the file was removed or replaced after it had been opened. */
static bool is_named(const struct file_place *p, const char *name, const struct stat *open)
{
	struct stat named;

	return fstatat(p->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == open->st_ino && named.st_dev == open->st_dev;
}

/* Opens it for writing, as NFS requires for a lock; a store that root made may be readable only. */
static int open_lock(const struct file_place *p, const char *name, mode_t mode)
{
	int flags = CAREFULLY | O_NOFOLLOW;
	int fd = openat(p->dir, name, O_RDWR | (mode ? O_CREAT : 0) | flags, mode);

	return fd < 0 && errno == EACCES ? openat(p->dir, name, O_RDONLY | flags) : fd;
}

/* Returns an errno, EWOULDBLOCK to try again, or 0. */
static int try_lock(
	const struct file_place *p, const char *name, mode_t mode, bool forever, int *fd)
{
	struct stat st;
	int error;

	*fd = open_lock(p, name, mode);
	if (*fd < 0)
		return errno;
	error = check_regular(*fd, &st);
	if (!error && flock(*fd, forever ? LOCK_EX : LOCK_EX | LOCK_NB) < 0)
		error = errno == EINTR ? EWOULDBLOCK : errno;
	if (!error && !is_named(p, name, &st))
		error = EWOULDBLOCK;
	if (error)
		close(*fd);
	return error;
}

int file_lock(const struct file_place *p, const char *name, mode_t mode, usec until, int *fd)
{
	int error, pause = 1;

	while ((error = try_lock(p, name, mode, until == NEVER, fd)) == EWOULDBLOCK) {
		if (clock_now() >= until)
			return ETIMEDOUT;
		(void)poll(NULL, 0, pause);
		pause = 2 * pause < LOOKS_APART_MS ? 2 * pause : LOOKS_APART_MS;
	}
	return error;
}

/* Returns an errno, or 0. */
static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len > 0; text += n, len -= (size_t)n) {
		n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			return errno;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

#define DRAFT_STEM "%.200s."
#define DRAFT_END ".tmp"

static bool is_draft(const struct file_place *p, const char *name)
{
	char stem[NAME_MAX + 1];
	int len = snprintf(stem, sizeof(stem), DRAFT_STEM, p->name);

	return strncmp(name, stem, (size_t)len) == 0 &&
	       strspn(name + len, "0123456789abcdef") == 16 &&
	       strcmp(name + len + 16, DRAFT_END) == 0;
}

static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* Removes the draft if its process was killed. The folder may be another user's. */
static void remove_abandoned(const struct file_place *p, const char *draft)
{
	struct stat st;
	int fd;

	if (fstatat(p->dir, draft, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_ours(&st))
		return;
	fd = openat(p->dir, draft, O_RDWR | O_NOFOLLOW | CAREFULLY);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && is_ours(&st) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		is_named(p, draft, &st))
		(void)unlinkat(p->dir, draft, 0);
	close(fd);
}

static void remove_old_drafts(const struct file_place *p)
{
	int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (is_draft(p, entry->d_name))
			remove_abandoned(p, entry->d_name);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
}

/* Returns an errno, or 0 with the name and the descriptor of a new locked draft. */
static int open_draft(const struct file_place *p, char draft[NAME_MAX + 1], int *fd)
{
	struct stat st;
	int error;

	for (int i = 0; i < DRAFT_TRIES; i++) {
		snprintf(draft, NAME_MAX + 1, DRAFT_STEM "%016llx" DRAFT_END, p->name,
			(unsigned long long)random_bits());
		*fd = openat(
			p->dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (*fd < 0)
			return errno;
		error = flock(*fd, LOCK_EX | LOCK_NB) < 0 || fstat(*fd, &st) < 0 ? errno : 0;
		if (!error && is_named(p, draft, &st))
			return 0;
		close(*fd);
		(void)unlinkat(p->dir, draft, 0);
		if (error && error != EWOULDBLOCK)
			return error;
	}
	return ETIMEDOUT;
}

/* Sets the mode in spite of the umask, because another user reads the metrics. Returns an errno, or
 * 0. */
static int finish_draft(int fd, const char *text, size_t len, mode_t mode, bool is_on_disk)
{
	int error = write_all(fd, text, len);

	if (!error && fchmod(fd, mode) < 0)
		error = errno;
	if (!error && is_on_disk && fsync(fd) < 0)
		error = errno;
	/* Some file systems report a full disk only at a close. */
	if (!error && !is_on_disk && close(dup(fd)) < 0)
		error = errno;
	return error;
}

/* Returns an errno, or 0. */
static int name_draft(const struct file_place *p, const char *draft, bool is_new)
{
	int rc = is_new ? linkat(p->dir, draft, p->dir, p->name, 0)
			: renameat(p->dir, draft, p->dir, p->name);

	return rc < 0 ? errno : 0;
}

/* Returns an errno, or 0. */
static int sync_folder(const struct file_place *p)
{
	int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (fd < 0 || fsync(fd) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

int file_put(const struct file_place *p, const char *text, size_t len, mode_t mode, bool is_new,
	int *lock)
{
	char draft[NAME_MAX + 1];
	int fd, error;

	remove_old_drafts(p);
	error = open_draft(p, draft, &fd);
	if (error)
		return error;
	error = finish_draft(fd, text, len, mode, lock);
	if (!error)
		error = name_draft(p, draft, is_new);
	if (error || is_new)
		(void)unlinkat(p->dir, draft, 0);
	if (!error && lock)
		error = sync_folder(p);
	if (!error && lock)
		*lock = fd;
	else
		close(fd);
	return error;
}

/* Reads up to `size` bytes. Returns an errno, or 0. */
static int read_some(int fd, char *dst, size_t size, size_t *len)
{
	ssize_t n;

	for (*len = 0; *len < size; *len += (size_t)n) {
		n = read(fd, dst + *len, size - *len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return errno;
		else if (n == 0)
			break;
	}
	return 0;
}

/* Returns an errno, or 0 with the old text: "" if there is no file. */
static int read_old(const struct file_place *p, char **text, size_t *len)
{
	int fd = openat(p->dir, p->name, O_RDONLY | O_NOFOLLOW | CAREFULLY), error = 0;
	struct stat st = {0};

	*len = 0;
	if (fd < 0 && errno != ENOENT)
		return errno;
	if (fd >= 0)
		error = check_regular(fd, &st);
	if (!error && st.st_size > OLD_MAX)
		error = EFBIG;
	if (!error && !(*text = calloc(1, (size_t)st.st_size + 1)))
		error = ENOMEM;
	if (!error && fd >= 0)
		error = read_some(fd, *text, (size_t)st.st_size, len);
	if (fd >= 0)
		close(fd);
	return error;
}

/* The caller has the lock. Returns an errno, or 0. */
static int replace(const struct file_place *p, file_change *change, const void *arg)
{
	char *old = NULL, *text = NULL;
	size_t len;
	int error = read_old(p, &old, &len);

	if (!error && !(text = change(old, len, arg, &len)))
		error = ENOMEM;
	if (!error)
		error = file_put(p, text, len, 0644, false, NULL);
	free(old);
	free(text);
	return error;
}

/* The lock file remains: after a removal, two processes could lock the old one and a new one. */
static int lock_and_replace(const struct file_place *p, const char *path, file_change *change,
	const void *arg, struct err *e)
{
	char name[NAME_MAX + 1], lock[PATH_MAX];
	int fd, error;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	if ((size_t)snprintf(name, sizeof(name), "%s.lock", p->name) >= sizeof(name))
		return refuse(e, lock, ENAMETOOLONG);
	error = file_lock(p, name, 0600, clock_now() + LOCK_TIMEOUT, &fd);
	if (error)
		return refuse(e, lock, error);
	error = replace(p, change, arg);
	close(fd);
	return error ? refuse(e, path, error) : 0;
}

int file_replace(const char *path, file_change *change, const void *arg, struct err *e)
{
	struct file_place place;
	int error = file_open_place(&place, path), rc;

	rc = error ? refuse(e, path, error) : lock_and_replace(&place, path, change, arg, e);
	file_close_place(&place);
	return rc;
}

/* ---- files that are only read ---- */

static bool is_of_kind(enum file_kind kind, const struct stat *st)
{
	if (kind == FILE_OR_PIPE && S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(1, 3);
	return kind == FILE_ANY || S_ISFIFO(st->st_mode);
}

/* Polls before each read, for an open pipe may have no writer yet, and a read would find its end.
 */
static int read_pipe(
	int fd, const char *path, const struct file_wait *wait, char *dst, size_t size, size_t *len)
{
	const usec end = usec_max(clock_now() + WRITER_TIME, wait->until);
	struct pollfd pipe = {.fd = fd, .events = POLLIN};
	bool is_slow = !wait->is_slow;
	ssize_t n = -1;

	*len = 0;
	while (*len < size && n != 0) {
		int ready = alarm_poll(&pipe, 1, SIGNALS_APART);
		/* By a filter, which alarm_open() reports: then only what is there is read. */
		bool is_denied = ready < 0 && errno != EINTR && errno != ENOMEM;
		usec now = clock_now();

		if (alarm_is_signalled())
			return EINTR;
		n = read(fd, dst + *len, size - *len);
		if (n < 0 && (is_denied || (errno != EAGAIN && errno != EINTR)))
			return errno;
		/* The caller wipes this much, whatever the result. */
		*len += n > 0 ? (size_t)n : 0;
		if (n != 0 && now >= end)
			return ETIME;
		if (n != 0 || ready > 0 || is_denied)
			continue;
		if (now >= wait->until)
			return ENODATA;
		if (now >= wait->slow && !is_slow)
			wait->is_slow(path);
		is_slow |= now >= wait->slow;
		n = -1;
	}
	return 0;
}

/* Returns an errno, or 0. */
static int read_file(const char *path, enum file_kind kind, const struct file_wait *wait, char *dst,
	size_t size, size_t *len, struct stat *st)
{
	int fd, error;

	do
		fd = open(path, O_RDONLY | CAREFULLY);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return errno;
	error = check_regular(fd, st);
	if (!error)
		error = read_some(fd, dst, size, len);
	else if (error == EINVAL && kind != FILE_REGULAR && is_of_kind(kind, st))
		error = read_pipe(fd, path, wait, dst, size, len);
	close(fd);
	return error;
}

int file_read(const char *path, enum file_kind kind, const struct file_wait *wait, char *dst,
	size_t size, size_t *len, struct stat *st)
{
	int error = read_file(path, kind, wait, dst, size, len, st);

	if (error || *len == size)
		return error ? error : EFBIG;
	dst[*len] = '\0';
	return 0;
}

/* Of the text in `dst`. Returns an errno, or 0. */
static int keep_line(char *dst, size_t size, size_t len)
{
	size_t line = 0;

	while (line < len && !strchr("\r\n", dst[line])) /* or at a NUL */
		line++;
	if (line == size)
		return EFBIG;
	if (line < len && dst[line] == '\0')
		return EILSEQ;
	dst[line] = '\0';
	if (strncmp(dst, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		memmove(dst, dst + strlen(BYTE_ORDER_MARK), line + 1 - strlen(BYTE_ORDER_MARK));
	return 0;
}

int file_read_line(const char *path, enum file_kind kind, const struct file_wait *wait, char *dst,
	size_t size, struct stat *st)
{
	size_t len = 0;
	int error = read_file(path, kind, wait, dst, size, &len, st);

	return error ? error : keep_line(dst, size, len);
}

int file_read_line_of(int fd, char *dst, size_t size)
{
	size_t len = 0;
	int error = read_some(fd, dst, size, &len);

	return error ? error : keep_line(dst, size, len);
}
