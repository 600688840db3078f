#include "io/file.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PATIENCE (10 * USEC_SEC)
#define LOOKS_APART_MS 2

/* Some editors mark UTF-8. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static int refuse(struct err *e, const char *path, int error)
{
	char shown[300];

	return err_set(e, ERR_SYSTEM, "cannot write to '%s': %s",
		text_escape(shown, sizeof(shown), path, strlen(path)), strerror(error));
}

int file_append(const char *path, const char *line, size_t len, struct err *e)
{
	/* A pipe that nobody reads is refused, and a full one never waited for. */
	int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
	ssize_t n;
	int error;

	if (fd < 0)
		return refuse(e, path, errno);
	n = write(fd, line, len);
	error = n < 0 ? errno : ENOSPC;
	close(fd);
	return n == (ssize_t)len ? 0 : refuse(e, path, error);
}

/* Returns an errno, or 0 with as much as there is and fits: `size` bytes of what has more. */
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

static int read_file(
	const char *path, int flags, char *dst, size_t size, size_t *len, unsigned *mode)
{
	struct stat st = {0};
	int fd, error;

	do
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0)
		error = errno;
	else if (flags && !S_ISREG(st.st_mode))
		error = EINVAL;
	else
		error = read_some(fd, dst, size, len);
	close(fd);
	*mode = st.st_mode;
	return error;
}

int file_read(const char *path, char *dst, size_t size, size_t *len, unsigned *mode)
{
	int error = read_file(path, 0, dst, size, len, mode);

	if (error || *len == size)
		return error ? error : EFBIG;
	dst[*len] = '\0';
	return 0;
}

int file_read_line(const char *path, char *dst, size_t size, unsigned *mode, bool patient)
{
	size_t len = 0, line = 0;
	int error = read_file(path, patient ? 0 : O_NONBLOCK, dst, size, &len, mode);

	if (error)
		return error;
	while (line < len && !strchr("\r\n", dst[line])) /* nor a byte of zero */
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

/* Returns an errno, or 0 with the old text; a device must not be replaced by a file. */
static int read_old(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error = 0;
	struct stat st = {0};
	ssize_t n = 0;

	*text = NULL;
	*len = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	if (fstat(fd, &st) < 0)
		error = errno;
	else if (!S_ISREG(st.st_mode))
		error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else if (!(*text = malloc((size_t)st.st_size + 1)))
		error = ENOMEM;
	while (!error && *len < (size_t)st.st_size &&
		(n = read(fd, *text + *len, (size_t)st.st_size - *len)) > 0)
		*len += (size_t)n;
	if (n < 0)
		error = errno;
	close(fd);
	return error;
}

/* Returns an errno, or 0. */
static int write_new(const char *path, const char *text, size_t len)
{
	int fd, error = 0;
	ssize_t n;

	/* One that was left by a crash, or laid out for us by somebody else. */
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno;
	for (; len > 0 && !error; text += n, len -= (size_t)n)
		if ((n = write(fd, text, len)) < 0) {
			error = errno;
			n = 0;
		}
	/* Whatever the umask says: the collector is another user. */
	if (!error && fchmod(fd, 0644) < 0)
		error = errno;
	if (close(fd) < 0 && !error)
		error = errno;
	return error;
}

/* Not for ever: its holder may be stopped. Returns an errno, or 0. */
static int take_lock(int fd)
{
	usec until = clock_now() + LOCK_PATIENCE;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errno;
		if (clock_now() >= until)
			return ETIMEDOUT;
		(void)poll(NULL, 0, LOOKS_APART_MS);
	}
	return 0;
}

/* The lock is ours. Returns an errno, or 0. */
static int replace(const char *path, const char *draft, file_change *change, const void *arg)
{
	char *old, *text;
	size_t len;
	int error = read_old(path, &old, &len);

	if (error) {
		free(old);
		return error;
	}
	text = change(old ? old : "", len, arg, &len);
	free(old);
	if (!text)
		return ENOMEM;
	error = write_new(draft, text, len);
	free(text);
	if (!error && rename(draft, path) < 0)
		error = errno;
	if (error)
		(void)unlink(draft);
	return error;
}

int file_replace(const char *path, file_change *change, const void *arg, struct err *e)
{
	char lock[PATH_MAX], draft[PATH_MAX];
	int fd, error;

	if ((size_t)snprintf(lock, sizeof(lock), "%s.lock", path) >= sizeof(lock) ||
		(size_t)snprintf(draft, sizeof(draft), "%s.tmp", path) >= sizeof(draft))
		return refuse(e, path, ENAMETOOLONG);
	/* It stays: whoever removed it would let two others have it, the old one and a new one. */
	fd = open(lock, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (fd < 0)
		return refuse(e, lock, errno);
	error = take_lock(fd);
	if (!error)
		error = replace(path, draft, change, arg);
	close(fd);
	return error ? refuse(e, path, error) : 0;
}
