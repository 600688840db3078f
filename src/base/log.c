#include "base/log.h"

#include "base/alarm.h"
#include "base/duration.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syslog.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A line of this length and its newline fit into PIPE_BUF, so a pipe that polls writable takes the
 * line without blocking. */
#define LINE_BYTES_MAX 4095

/* With the holder, a longer key could fill the line, even without a message: escaping makes both up
 * to six times as long. */
#define KEY_BYTES_MAX 300

static enum log_level level = LOG_NORMAL;
static bool never_block;
static bool is_shown; /* a line of log_show() is on the terminal */
static bool is_json;
static const char *json_key; /* NULL: no lines have a key */

static enum place { PLACE_STDERR, PLACE_FILE, PLACE_SYSLOG } place;
static int fd = STDERR_FILENO; /* of stderr or of the log file */

void log_set_level(enum log_level new_level)
{
	level = new_level;
}

enum log_level log_level(void)
{
	return level;
}

void log_never_block(void)
{
	never_block = true;
}

void log_to_syslog(void)
{
	place = PLACE_SYSLOG;
}

void log_to_file(int opened)
{
	place = PLACE_FILE;
	fd = opened;
}

void log_set_json(bool json)
{
	is_json = json;
}

void log_set_key(const char *key)
{
	json_key = key && strlen(key) <= KEY_BYTES_MAX ? key : NULL;
}

int log_fd(void)
{
	return fd;
}

/* SIGTTOU is blocked during the write: a terminal with TOSTOP stops background processes that write
 * to it, and redlock has to extend a lock. Returns 0, or the errno of a file that takes no more; a
 * line that would block is dropped. */
static int put(int to, const char *text, size_t len)
{
	struct pollfd ready = {.fd = to, .events = POLLOUT};
	sigset_t stops, before;
	int rc, error;
	ssize_t n;

	while (never_block && (rc = alarm_poll(&ready, 1, 0)) != 1)
		if (rc == 0 || errno != EINTR)
			return 0;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stops, &before);
	n = write(to, text, len);
	/* A full disk takes part of a line. */
	error = n == (ssize_t)len ? 0 : n >= 0 ? ENOSPC : errno == EAGAIN ? 0 : errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

/* The log file takes no more: the messages are not lost, but go to stderr from now on. */
static void leave_file(void)
{
	place = PLACE_STDERR;
	fd = STDERR_FILENO;
}

/* ---- syslog ---- */

static int level_number(enum log_level at)
{
	static const int numbers[] = {LOG_ERR, LOG_NOTICE, LOG_INFO, LOG_DEBUG};

	return numbers[at];
}

/* Writes to the socket directly, because syslog(3) waits for a stopped daemon. A new connection for
 * each line leaves no descriptor open, and reaches a restarted daemon. Returns -1 if no daemon
 * listens. */
static int connect_syslog(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (to >= 0 && connect(to, (struct sockaddr *)&un, sizeof(un)) == 0)
		return to;
	if (to >= 0)
		close(to);
	return -1;
}

static void put_syslog(int to, enum log_level at, const char *text, size_t len)
{
	char buf[LINE_BYTES_MAX + 80], when[TIME_TEXT_MAX] = "";
	time_t now = (time_t)(clock_wall() / USEC_SEC);
	size_t used = 0;
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
	text_append(buf, sizeof(buf), &used, "<%d>%s redlock[%ld]: %.*s",
		LOG_DAEMON | level_number(at), when, (long)getpid(), (int)len, text);
	(void)send(to, buf, used, MSG_NOSIGNAL);
	close(to);
}

/* ---- a line ---- */

#define WIPE "\r\033[K"

/* A line: a message with its event, or a hint. */
struct log_line {
	enum log_level at;
	bool is_hint;
	const char *colour; /* NULL: that of the level */
	const struct log_event *event; /* NULL: none */
	const char *message;
};

/* Builds a line without its newline. */
static size_t plain_line(char buf[LINE_BYTES_MAX], enum place to, const struct log_line *line)
{
	/* An event without an exit status is no failure. */
	bool is_failure = line->at == LOG_ERRORS && !(line->event && line->event->status == 0);
	const char *colour = line->is_hint            ? ""
			     : line->colour           ? line->colour
			     : is_failure             ? COLOUR_ERROR
			     : line->at <= LOG_NORMAL ? COLOUR_WARNING
						      : "";
	char when[TIME_TEXT_MAX];
	size_t used = 0;

	switch (to) {
	case PLACE_STDERR:
		text_append(buf, LINE_BYTES_MAX, &used, "%s", is_shown ? WIPE : "");
		if (*colour && log_has_colour(STDERR_FILENO))
			text_append(buf, LINE_BYTES_MAX, &used, "\033[%smredlock:\033[m ", colour);
		else
			text_append(buf, LINE_BYTES_MAX, &used,
				"%s: ", line->is_hint ? "hint" : "redlock");
		break;
	case PLACE_FILE:
		text_append(buf, LINE_BYTES_MAX, &used, "%s redlock[%ld]: %s",
			time_format(when, clock_wall() / USEC_SEC), (long)getpid(),
			line->is_hint ? "hint: " : "");
		break;
	case PLACE_SYSLOG:
		text_append(buf, LINE_BYTES_MAX, &used, "%s", line->is_hint ? "hint: " : "");
		break;
	}
	text_append(buf, LINE_BYTES_MAX, &used, "%s", line->message);
	return used;
}

static struct json json_object(const struct log_line *line, size_t len)
{
	static const char *const levels[] = {"error", "notice", "info", "debug"};
	const struct log_event *event = line->event;
	char when[TIME_TEXT_MAX];
	struct json j = {0};

	json_open(&j, NULL, '{');
	json_text(&j, "time", time_format(when, clock_wall() / USEC_SEC));
	json_text(&j, "level", levels[line->at]);
	if (event)
		json_text(&j, "event", event->name);
	if (json_key)
		json_bytes(&j, "key", json_key, strlen(json_key));
	if (event && event->status > 0)
		json_number(&j, "status", event->status);
	if (event && event->holder && *event->holder)
		json_text(&j, "holder", event->holder);
	json_bytes(&j, line->is_hint ? "hint" : "message", line->message, len);
	json_close(&j, '}');
	return j;
}

/* Escaping makes the message longer, so it is cut until the line fits. Returns 0 if memory is
 * missing. */
static size_t json_line(char buf[LINE_BYTES_MAX], const struct log_line *line)
{
	size_t len = strlen(line->message), used;
	struct json j = json_object(line, len);

	while (!j.failed && j.len >= LINE_BYTES_MAX && len > 0) {
		len = len * (LINE_BYTES_MAX - 1) / j.len;
		while (len > 0 && (line->message[len] & 0xc0) == 0x80)
			len--;
		free(j.text);
		j = json_object(line, len);
	}
	used = j.failed || j.len >= LINE_BYTES_MAX ? 0 : j.len;
	if (used > 0)
		memcpy(buf, j.text, used);
	free(j.text);
	return used;
}

static void write_line(const struct log_line *line)
{
	char buf[LINE_BYTES_MAX + 1], why[200];
	int log = place == PLACE_SYSLOG ? connect_syslog() : -1, error = 0;
	enum place to = place == PLACE_SYSLOG && log < 0 ? PLACE_STDERR : place;
	size_t len;

	len = is_json ? json_line(buf, line) : plain_line(buf, to, line);
	is_shown = false;
	if (log >= 0) {
		put_syslog(log, line->at, buf, len);
	} else if (len > 0) {
		buf[len++] = '\n';
		error = put(fd, buf, len);
	}
	if (error && place == PLACE_FILE) {
		leave_file();
		snprintf(why, sizeof(why),
			"cannot write to the log file: %s; messages go to stderr", strerror(error));
		write_line(&(struct log_line){.at = LOG_ERRORS, .message = why});
		write_line(line);
	}
}

__attribute__((format(printf, 2, 0))) static void format_line(
	struct log_line line, const char *fmt, va_list ap)
{
	char message[LINE_BYTES_MAX], shown[LINE_BYTES_MAX];

	if (vsnprintf(message, sizeof(message), fmt, ap) < 0)
		message[0] = '\0';
	line.message = utf8_escape_line(shown, sizeof(shown), message);
	write_line(&line);
}

void log_say(enum log_level at, const char *fmt, ...)
{
	va_list ap;

	if (at > level)
		return;
	va_start(ap, fmt);
	format_line((struct log_line){.at = at}, fmt, ap);
	va_end(ap);
}

void log_event(enum log_level at, const struct log_event *event, const char *fmt, ...)
{
	va_list ap;

	if (at > level)
		return;
	va_start(ap, fmt);
	format_line((struct log_line){.at = at, .event = event}, fmt, ap);
	va_end(ap);
}

void log_ask(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	format_line((struct log_line){.at = LOG_ERRORS, .colour = ""}, fmt, ap);
	va_end(ap);
}

bool log_has_colour(int to)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR"), *ci = getenv("CI");

	return term && *term && strcmp(term, "dumb") != 0 && !(no && *no) && !(ci && *ci) &&
	       isatty(to);
}

bool log_is_live(void)
{
	const char *term = getenv("TERM");

	return place == PLACE_STDERR && !is_json && isatty(STDERR_FILENO) && term &&
	       strcmp(term, "dumb") != 0 && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static size_t columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

int log_width(void)
{
	return (int)(columns() - strlen("redlock: ")) - 1;
}

void log_show(enum log_level at, const char *fmt, ...)
{
	static const char head[] = WIPE "redlock: ";
	char buf[1024], message[1024];
	size_t len = sizeof(head) - 1;
	va_list ap;

	if (at > level)
		return;
	memcpy(buf, head, sizeof(head));
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	utf8_escape_line(buf + len, sizeof(buf) - len, message);
	utf8_cut(buf + len, log_width());
	len += strlen(buf + len);
	is_shown = true;
	(void)put(STDERR_FILENO, buf, len);
}

void log_clear(void)
{
	if (is_shown)
		(void)put(STDERR_FILENO, WIPE, sizeof(WIPE) - 1);
	is_shown = false;
}

void log_hint(enum log_level at, const char *fmt, ...)
{
	va_list ap;

	if (at > level)
		return;
	va_start(ap, fmt);
	format_line((struct log_line){.at = at, .is_hint = true}, fmt, ap);
	va_end(ap);
}

void log_text(enum log_level at, const char *text)
{
	if (at > level)
		return;
	if (put(fd, text, strlen(text)) && place == PLACE_FILE) {
		leave_file();
		(void)put(fd, text, strlen(text));
	}
}

void log_warning(const struct err *e)
{
	char shown[LINE_BYTES_MAX];

	write_line(&(struct log_line){.at = LOG_ERRORS,
		.colour = COLOUR_WARNING,
		.message = utf8_escape_line(shown, sizeof(shown), e->text)});
	if (e->hint[0])
		log_hint(LOG_ERRORS, "%s", e->hint);
}

void log_err(const struct err *e)
{
	log_say(LOG_ERRORS, "%s", e->text);
	if (e->hint[0])
		log_hint(LOG_ERRORS, "%s", e->hint);
}
