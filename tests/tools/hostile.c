/*
 * hostile [HOW...] SOCKET TEXT: a server on a unix socket that is no Redis, or a broken one. Prints
 * a line when it listens, and stays until it is killed, or its parent ends. TEXT, with \r
 *  \0 \\ and \xNN, is its reply to each command, and to bytes that are none.
 *
 *   --at-once   sends it to each new connection, before any request
 *   --endless   sends it again and again, as fast as the client reads
 *   --drip MS   sends it byte by byte, one each MS
 *   --close     then closes in an orderly way; without a TEXT, at once
 *   --reset     then resets the connection
 *   --deaf      never reads anything
 *   --silent N  ignores the first N requests
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 60

/* The length of one write of an endless text. */
#define SWELL ((size_t)256 * 1024)

static struct client {
	int fd;
	int unsent; /* number of texts that are still to be sent */
	size_t said;
	int heard; /* number of requests read */
	char line[32]; /* the beginning of the line that is being read */
	size_t line_len;
	long args, skip; /* of the command that is being read: missing arguments, and bytes */
	int64_t due; /* time of the next byte, with --drip */
} clients[CLIENTS];

static int at_once, endless, closes, resets, deaf;
static int drip, silent;
static char *text;
static size_t length;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- the text ---- */

static void unescape(const char *from)
{
	static const char letter[] = "rn0\\", meaning[] = "\r\n\0\\";

	text = malloc(strlen(from) + 1);
	for (; *from; from++) {
		const char *known = from[0] == '\\' && from[1] ? strchr(letter, from[1]) : NULL;
		unsigned byte;

		if (known) {
			text[length++] = meaning[known - letter];
			from++;
		} else if (from[0] == '\\' && sscanf(from + 1, "x%2x", &byte) == 1) {
			text[length++] = (char)byte;
			from += 3;
		} else {
			text[length++] = *from;
		}
	}
}

/* Many copies in a row, so that one call sends much. */
static void swell(void)
{
	size_t times = length > 0 ? SWELL / length : 0;
	char *many = malloc(times * length + 1);

	for (size_t i = 0; i < times; i++)
		memcpy(many + i * length, text, length);
	text = many;
	length *= times;
}

/* ---- clients ---- */

static void part_with(struct client *c)
{
	struct linger reset = {.l_onoff = 1, .l_linger = 0};

	/* Closing a unix socket with unread bytes resets it. */
	if (resets)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(c->fd);
	c->fd = -1;
}

static void say(struct client *c)
{
	size_t most = drip ? 1 : length - c->said;
	ssize_t n = 0;

	if (drip && c->due > now_ms())
		return;
	if (most > 0)
		n = send(c->fd, text + c->said, most, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN) {
		part_with(c);
		return;
	}
	c->said += n > 0 ? (size_t)n : 0;
	c->due = now_ms() + drip;
	if (c->said < length)
		return;
	c->said = 0;
	c->unsent -= !endless;
	if (closes || resets)
		part_with(c);
}

static void end_line(struct client *c)
{
	c->line[c->line_len] = '\0';
	c->line_len = 0;
	if (c->line[0] == '*')
		c->args = atol(c->line + 1);
	else if (c->line[0] == '$' && c->args > 0)
		c->skip = atol(c->line + 1) + 2;
}

/* Reads a part of the requests. Returns the number of commands that it completes. */
static int count_commands(struct client *c, const char *bytes, ssize_t n)
{
	int commands = 0;

	for (ssize_t i = 0; i < n; i++)
		if (c->skip > 0) {
			c->skip--;
			commands += c->skip == 0 && --c->args == 0;
		} else if (bytes[i] == '\n') {
			end_line(c);
		} else if (c->line_len < sizeof(c->line) - 1) {
			c->line[c->line_len++] = bytes[i];
		}
	return commands;
}

static void hear(struct client *c)
{
	char bytes[16384];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	int commands;

	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		part_with(c);
	} else if (n > 0) {
		commands = count_commands(c, bytes, n);
		if (commands == 0 && c->args == 0)
			commands = 1;
		for (; commands > 0; commands--)
			c->unsent += ++c->heard > silent;
	}
}

static void take(int listener)
{
	int fd = accept(listener, NULL, NULL);

	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].fd < 0) {
			clients[i] = (struct client){.fd = fd, .unsent = at_once};
			return;
		}
	close(fd);
}

static struct pollfd look_at(const struct client *c)
{
	/* An endless server sends to every client, whether it reads or has left. */
	short events = deaf || (endless && c->unsent) ? 0 : POLLIN;

	if (c->unsent && !drip)
		events |= POLLOUT;
	return (struct pollfd){.fd = c->fd, .events = events};
}

static void serve(int listener)
{
	struct pollfd fds[1 + CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		clients[i].fd = -1;
	for (;;) {
		fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
		for (int i = 0; i < CLIENTS; i++)
			fds[1 + i] = look_at(&clients[i]);
		if (poll(fds, 1 + CLIENTS, drip ? drip : -1) < 0)
			continue;
		for (int i = 0; i < CLIENTS; i++) {
			struct client *c = &clients[i];

			if (c->fd >= 0 && (fds[1 + i].revents & POLLIN))
				hear(c);
			if (c->fd >= 0 && c->unsent)
				say(c);
			else if (c->fd >= 0 && (fds[1 + i].revents & (POLLHUP | POLLERR)))
				part_with(c);
		}
		if (fds[0].revents)
			take(listener);
	}
}

int main(int argc, char *argv[])
{
	static const struct option options[] = {{"at-once", 0, &at_once, 1},
		{"endless", 0, &endless, 1}, {"close", 0, &closes, 1}, {"reset", 0, &resets, 1},
		{"deaf", 0, &deaf, 1}, {"drip", 1, NULL, 'd'}, {"silent", 1, NULL, 's'}, {0}};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int listener, c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1)
		if (c == 'd')
			drip = atoi(optarg);
		else if (c == 's')
			silent = atoi(optarg);
		else if (c != 0)
			return 64;
	if (argc - optind != 2)
		return 64;
	unescape(argv[optind + 1]);
	if (endless && !drip)
		swell();
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", argv[optind]);
	unlink(un.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&un, sizeof(un)) < 0 || listen(listener, 100) < 0) {
		perror(un.sun_path);
		return 1;
	}
	printf("listening\n");
	fflush(stdout);
	serve(listener);
}
