#include "base/out.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static enum loudness loud = OUT_NORMAL;
static bool never_block;
static bool is_shown; /* a line without its end */

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

/* A terminal with TOSTOP stops who writes from the background: not us, we keep a lock. Nobody can
 * be told that stderr is gone, and no outcome depends on it. */
static void put(const char *text, size_t len)
{
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
	sigset_t ttou, before;
	int rc;

	while (never_block && (rc = poll(&ready, 1, 0)) != 1)
		if (rc == 0 || errno != EINTR)
			return;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	(void)!write(STDERR_FILENO, text, len);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

#define WIPE "\r\033[K"

__attribute__((format(printf, 2, 0))) static void line(
	const char *prefix, const char *fmt, va_list ap)
{
	char buf[4096]; /* PIPE_BUF: a pipe that polls writable takes this much without blocking */
	size_t head, len;
	int n;

	head = (size_t)snprintf(buf, sizeof(buf), "%s%s: ", is_shown ? WIPE : "", prefix);
	n = vsnprintf(buf + head, sizeof(buf) - head - 1, fmt, ap);
	if (n < 0)
		return;
	len = head + (size_t)n;
	if (len > sizeof(buf) - 2)
		len = sizeof(buf) - 2;
	buf[len++] = '\n';
	is_shown = false;
	put(buf, len);
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

bool out_is_live(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static size_t columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

void out_show(enum loudness at, const char *fmt, ...)
{
	static const char head[] = WIPE "redlock: ";
	char buf[1024];
	size_t len = sizeof(head) - 1, end = len - (sizeof(WIPE) - 1), most = columns();
	va_list ap;

	if (at > loud)
		return;
	memcpy(buf, head, sizeof(head));
	va_start(ap, fmt);
	vsnprintf(buf + len, sizeof(buf) - len, fmt, ap);
	va_end(ap);
	/* One column stays free, and no character of several bytes is cut. */
	for (; buf[len] && end + 1 < most; len++)
		end += (buf[len + 1] & 0xc0) != 0x80;
	while ((buf[len] & 0xc0) == 0x80)
		len--;
	is_shown = true;
	put(buf, len);
}

void out_unshow(void)
{
	if (is_shown)
		put(WIPE, sizeof(WIPE) - 1);
	is_shown = false;
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
