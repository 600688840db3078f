#include "file/folder.h"

#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "redlock-sandbox."
#define SUFFIX "XXXXXX"
#define NAME_LENGTH ((int)sizeof(PREFIX SUFFIX) - 1)
#define PARENT_MAX (FOLDER_PATH_MAX - sizeof("/" PREFIX SUFFIX))

/* A new folder may be taken for an unused one until it is locked; so make another, up to so many
 * times. */
#define TRIES 100

/* Another process may still be writing there, so remove several times. */
#define REMOVALS 5
#define DESCRIPTORS 16

/* The characters that neither a list of nodes nor a server's configuration can have in a path. */
static const char unfit[] = ", \t\r\n?\"\\";

static const char *find_parent(void)
{
	const char *parent = getenv("TMPDIR");

	return parent && *parent ? parent : "/tmp";
}

/* Another user could replace a folder that is made there. */
static bool is_exposed(const char *parent)
{
	struct stat st;

	if (stat(parent, &st) < 0 || (st.st_mode & S_ISVTX))
		return false;
	return (st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH));
}

static int check_parent(const char *parent, struct err *e)
{
	char shown[200];

	utf8_escape(shown, sizeof(shown), parent, strlen(parent));
	if (strlen(parent) > PARENT_MAX)
		err_set(e, ERR_CONFIG,
			"TMPDIR '%s' is too long: %zu bytes, at most %zu leave room for the "
			"sockets",
			shown, strlen(parent), PARENT_MAX);
	else if (parent[0] != '/')
		err_set(e, ERR_CONFIG, "TMPDIR '%s' does not begin with '/'", shown);
	else if (strpbrk(parent, unfit) || strcmp(shown, parent) != 0)
		err_set(e, ERR_CONFIG,
			"TMPDIR '%s' has a space, a comma, '?', '\"', '\\' or unprintable bytes in "
			"it",
			shown);
	else if (is_exposed(parent))
		err_set(e, ERR_CONFIG, "other users can rename files in TMPDIR '%s'", shown);
	else
		return 0;
	return err_hint(e, "set TMPDIR to another directory, such as /tmp");
}

/* Returns true if the path still names the open folder, which another process may have removed. */
static bool is_named(const struct folder *f)
{
	struct stat open, named;

	return fstat(f->fd, &open) == 0 && lstat(f->path, &named) == 0 &&
	       open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int folder_make(struct folder *f, struct err *e)
{
	const char *parent = find_parent();
	char shown[200];

	if (check_parent(parent, e) < 0)
		return -1;
	for (int i = 0; i < TRIES; i++) {
		snprintf(f->path, sizeof(f->path), "%s/" PREFIX SUFFIX, parent);
		if (!mkdtemp(f->path))
			break;
		f->fd = open_folder(f->path);
		if (f->fd < 0 && errno == ENOENT)
			continue;
		if (f->fd < 0) {
			(void)rmdir(f->path);
			break;
		}
		/* Any other error of flock: the file system has no locks, so no other process has
		 * one either. */
		if ((flock(f->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && is_named(f))
			return 0;
		close(f->fd);
	}
	err_system(e, ERR_CONFIG, errno, "cannot create a folder in '%s'",
		utf8_escape(shown, sizeof(shown), parent, strlen(parent)));
	return e->hint[0] ? -1 : err_hint(e, "set TMPDIR to use another directory than /tmp");
}

static int cannot_create(const struct folder *f, const char *name, struct err *e)
{
	return err_system(e, ERR_CONFIG, errno, "cannot create '%s/%s'", f->path, name);
}

int folder_write(const struct folder *f, const char *name, const char *text, struct err *e)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0 && close(fd) < 0)
		n = -1;
	return n == (ssize_t)strlen(text) ? 0 : cannot_create(f, name, e);
}

int folder_link(const struct folder *f, const char *name, const char *target, struct err *e)
{
	return symlinkat(target, f->fd, name) == 0 ? 0 : cannot_create(f, name, e);
}

bool folder_is_there(const struct folder *f)
{
	return is_named(f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	(void)remove(path);
	return 0;
}

static void remove_tree(const char *path)
{
	/* If nftw() has no descriptors, an empty folder can still be removed. */
	if (nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0)
		(void)rmdir(path);
}

bool folder_remove(struct folder *f)
{
	bool is_there = is_named(f);
	struct stat st;

	for (int i = 0; i < REMOVALS && is_there; i++) {
		remove_tree(f->path);
		is_there = is_named(f);
	}
	close(f->fd);
	f->fd = -1;
	if (is_there) { /* perhaps for lack of this descriptor */
		remove_tree(f->path);
		is_there = lstat(f->path, &st) == 0;
	}
	return !is_there;
}

void folder_walk_open(struct folder_walk *w)
{
	struct err ignored;

	w->list = NULL;
	if (check_parent(find_parent(), &ignored) < 0)
		return;
	snprintf(w->parent, sizeof(w->parent), "%s", find_parent());
	w->list = opendir(w->parent);
}

/* Opens the folder, if it belongs to this user and no process has it open. */
static bool take_unused(struct folder *f)
{
	struct stat st;

	f->fd = open_folder(f->path);
	if (f->fd < 0)
		return false;
	if (fstat(f->fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0077) == 0 &&
		flock(f->fd, LOCK_EX | LOCK_NB) == 0 && is_named(f))
		return true;
	close(f->fd);
	return false;
}

bool folder_walk_next(struct folder_walk *w, struct folder *f)
{
	const struct dirent *entry;

	while (w->list && (entry = readdir(w->list))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
			strlen(entry->d_name) != NAME_LENGTH)
			continue;
		snprintf(f->path, sizeof(f->path), "%.*s/%.*s", (int)PARENT_MAX, w->parent,
			NAME_LENGTH, entry->d_name);
		if (take_unused(f))
			return true;
	}
	return false;
}

void folder_walk_close(struct folder_walk *w)
{
	if (w->list)
		closedir(w->list);
}
