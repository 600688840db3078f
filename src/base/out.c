#include "base/out.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static enum loudness loud = OUT_NORMAL;
static bool never_block;

void out_set_loudness(enum loudness loudness)
{
	loud = loudness;
}

enum loudness out_loudness(void)
{
	return loud;
}

void out_never_block(void)
{
	never_block = true;
}

__attribute__((format(printf, 2, 0))) static void line(
	const char *prefix, const char *fmt, va_list ap)
{
	char buf[4096]; /* PIPE_BUF: a pipe that polls writable takes this much without blocking */
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
	sigset_t ttou, before;
	int head, n, rc;
	size_t len;

	head = snprintf(buf, sizeof(buf), "%s: ", prefix);
	n = vsnprintf(buf + head, sizeof(buf) - (size_t)head - 1, fmt, ap);
	if (n < 0)
		return;
	len = (size_t)head + (size_t)n;
	if (len > sizeof(buf) - 2)
		len = sizeof(buf) - 2;
	buf[len++] = '\n';
	while (never_block && (rc = poll(&ready, 1, 0)) != 1)
		if (rc == 0 || errno != EINTR)
			return;
	/* A terminal with TOSTOP stops who writes from the background: not us, we keep a lock.
	 * Nobody can be told that stderr is gone, and no outcome depends on it. */
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	(void)!write(STDERR_FILENO, buf, len);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void out_say(enum loudness at, const char *fmt, ...)
{
	va_list ap;

	if (at > loud)
		return;
	va_start(ap, fmt);
	line("redlock", fmt, ap);
	va_end(ap);
}

void out_hint(enum loudness at, const char *fmt, ...)
{
	va_list ap;

	if (at > loud)
		return;
	va_start(ap, fmt);
	line("hint", fmt, ap);
	va_end(ap);
}

void out_err(const struct err *e)
{
	out_say(OUT_ERRORS, "%s", e->text);
	if (e->hint[0])
		out_hint(OUT_ERRORS, "%s", e->hint);
}
