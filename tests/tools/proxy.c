/*
 * proxy LISTEN TARGET [FAULT...]: forwards connections, with faults. LISTEN and TARGET are the path
 * of a unix socket, or a port of 127.0.0.1 (0 to listen: any). Prints the port (0 for a path) when
 * it listens, and stays until it is killed, or its parent ends.
 *
 *   --withhold FILE  requests are held back while FILE exists
 *   --while FILE     the faults after it happen only while FILE exists
 *   --delay MS       replies arrive this much later
 *   --slow MS        requests arrive this much later
 *   --hold           replies are held back
 *   --cut-request N  N bytes of a connection's requests pass, then it is reset
 *   --cut-reply N    the same with its replies
 *   --bytewise       each byte travels alone, both ways
 *   --twice MS       requests arrive a second time, on a new connection, this much later
 *   --flip N         the highest bit of byte N of a connection's replies is flipped
 *   --say TEXT       replaces each reply by TEXT, with \r and \n
 *   --flood          ... followed by x's without end
 *   --gush TEXT      a connection with RESP3 gets TEXT, with \r and \n, after its replies without
 * end
 *   --turns FILE     FILE gets a byte for each round trip: for a request that arrives first, or
 * after a reply has passed
 *   --or TARGET      each second connection leads there, as with a load balancer
 *   --strict         a command of more than ten arguments before the first reply ends the
 * connection, as KeyDB does before AUTH is answered
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

#define PAIRS 100
#define CHUNKS 64
#define NEVER (SIZE_MAX / 2)

/* One direction of a connection. */
struct flow {
	int from, to;
	bool is_reply, has_ended, is_shut;
	bool gushes; /* HELLO has been answered */
	char bytes[16384];
	size_t length, passed;
	/* Bytes that arrived together are forwarded together: this many of the buffer, not before
	 * that time. */
	struct chunk {
		size_t end;
		int64_t due;
	} chunk[CHUNKS];
	int chunks;
};

struct pair {
	bool is_used, is_asked, has_hello;
	struct flow request, resp;
};

static const char *target, *other, *withhold, *only_while, *say, *gush;
static int delay, slow, twice = -1;
static int hold, bytewise, flood, strict;
static int turns = -1;
static size_t cut_request = NEVER, cut_reply = NEVER, flip = NEVER;
static struct pair pairs[PAIRS];

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool is_faulty(void)
{
	return !only_while || access(only_while, F_OK) == 0;
}

/* ---- sockets ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_un un;
};

static socklen_t address_of(const char *text, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (strchr(text, '/')) {
		a->un.sun_family = AF_UNIX;
		snprintf(a->un.sun_path, sizeof(a->un.sun_path), "%s", text);
		return sizeof(a->un);
	}
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons((uint16_t)atoi(text));
	a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(a->in);
}

static int connect_to_target(void)
{
	union address a;
	static int connections;
	socklen_t len = address_of(other && connections++ % 2 ? other : target, &a);
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, &a.any, len) == 0)
		return fd;
	close(fd);
	return -1;
}

static int listen_at(const char *text)
{
	union address a;
	socklen_t len = address_of(text, &a);
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a.any.sa_family == AF_UNIX)
		unlink(text);
	if (bind(fd, &a.any, len) < 0 || listen(fd, 100) < 0 || getsockname(fd, &a.any, &len) < 0) {
		perror(text);
		exit(1);
	}
	printf("%d\n", a.any.sa_family == AF_INET ? ntohs(a.in.sin_port) : 0);
	fflush(stdout);
	return fd;
}

static void end(struct pair *p)
{
	struct linger reset = {.l_onoff = 1, .l_linger = 0};

	if (p->request.from >= 0)
		(void)setsockopt(p->request.from, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(p->request.from);
	close(p->request.to);
	p->is_used = false;
}

/* ---- bytes ---- */

static struct pair *join(int client, int server)
{
	struct pair *p = pairs;

	while (p < pairs + PAIRS && p->is_used)
		p++;
	if (server < 0 || p == pairs + PAIRS) {
		close(client);
		close(server);
		return NULL;
	}
	memset(p, 0, sizeof(*p));
	p->is_used = true;
	p->request.from = p->resp.to = client;
	p->request.to = p->resp.from = server;
	p->resp.is_reply = true;
	return p;
}

static void append(struct flow *f, const char *bytes, size_t n, int64_t due)
{
	if (n > sizeof(f->bytes) - f->length)
		n = sizeof(f->bytes) - f->length;
	memcpy(f->bytes + f->length, bytes, n);
	f->length += n;
	if (f->chunks == CHUNKS)
		f->chunks--;
	f->chunk[f->chunks++] = (struct chunk){f->length, due};
}

static size_t due_bytes(const struct flow *f)
{
	size_t n = 0;

	for (int i = 0; i < f->chunks && f->chunk[i].due <= now_ms(); i++)
		n = f->chunk[i].end;
	return n;
}

static void forget(struct flow *f, size_t n)
{
	int kept = 0;

	f->length -= n;
	f->passed += n;
	memmove(f->bytes, f->bytes + n, f->length);
	for (int i = 0; i < f->chunks; i++)
		if (f->chunk[i].end > n)
			f->chunk[kept++] = (struct chunk){f->chunk[i].end - n, f->chunk[i].due};
	f->chunks = kept;
}

/* The server gets it again; the reply to that is dropped. */
static void repeat(const char *bytes, size_t n)
{
	struct pair *p = join(-1, connect_to_target());

	if (p)
		append(&p->request, bytes, n, now_ms() + twice);
}

static void take_in(struct flow *f)
{
	char bytes[sizeof(f->bytes)]; /* a whole request */
	bool faulty = is_faulty();
	ssize_t n = recv(f->from, bytes, sizeof(bytes) - f->length, MSG_DONTWAIT);

	if (n <= 0) {
		f->has_ended = true;
		return;
	}
	if (!f->is_reply) {
		append(f, bytes, (size_t)n, faulty ? now_ms() + slow : 0);
		if (faulty && twice >= 0)
			repeat(bytes, (size_t)n);
	} else if (faulty && say) {
		append(f, say, strlen(say), now_ms() + delay);
	} else {
		append(f, bytes, (size_t)n, faulty ? now_ms() + delay : 0);
	}
}

/* Sends the text as often as the socket takes it, whole to the last one. Returns false when that
 * end is gone. */
static bool send_gush(struct flow *f)
{
	size_t length = strlen(gush);
	ssize_t sent = 0;

	while (sent >= 0 && f->length == 0) {
		while (f->length + length <= sizeof(f->bytes))
			append(f, gush, length, 0);
		sent = send(f->to, f->bytes, f->length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0)
			forget(f, (size_t)sent);
	}
	return sent >= 0 || errno == EAGAIN;
}

/* Returns false when the connection must be reset. */
static bool pass_on(struct flow *f)
{
	bool faulty = is_faulty();
	size_t most = faulty ? f->is_reply ? cut_reply : cut_request : NEVER, n = due_bytes(f);
	ssize_t sent;

	if (n == 0 || (faulty && hold && f->is_reply) ||
		(withhold && !f->is_reply && access(withhold, F_OK) == 0))
		return true;
	if (faulty && bytewise)
		n = 1;
	if (f->passed + n > most)
		n = f->passed < most ? most - f->passed : 0;
	if (faulty && f->is_reply && flip >= f->passed && flip - f->passed < n)
		f->bytes[flip - f->passed] ^= (char)0x80;
	sent = f->to < 0 || n == 0 ? (ssize_t)n
				   : send(f->to, f->bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EAGAIN) /* that end is gone, and the buffer has no reader */
		return false;
	if (sent > 0)
		forget(f, (size_t)sent);
	if (faulty && flood && f->is_reply) {
		static char x[sizeof(f->bytes)];

		memset(x, 'x', sizeof(x));
		append(f, x, sizeof(f->bytes) - f->length, 0);
	}
	if (faulty && gush && f->gushes && f->length == 0)
		return send_gush(f);
	return f->passed < most;
}

/* Bytes before the end of the stream arrive before the end. */
static void shut(struct flow *f)
{
	if (f->has_ended && !f->is_shut && f->length == 0) {
		if (f->to >= 0)
			(void)shutdown(f->to, SHUT_WR);
		f->is_shut = true;
	}
}

static bool is_too_long(const struct flow *request)
{
	char text[sizeof(request->bytes) + 1] = "";

	memcpy(text, request->bytes, request->length);
	for (const char *at = text; (at = strchr(at, '*')); at++)
		if (atoi(at + 1) > 10)
			return true;
	return false;
}

static void count_turn(struct pair *p)
{
	if (turns >= 0 && !p->is_asked && p->request.length > 0)
		p->is_asked = write(turns, ".", 1) == 1;
}

static void serve(struct pair *p, short from_client, short from_server)
{
	size_t replied = p->resp.passed;

	if (from_client && !p->request.has_ended) {
		take_in(&p->request);
		count_turn(p);
	}
	p->has_hello |= memmem(p->request.bytes, p->request.length, "HELLO", 5) != NULL;
	if (from_server && !p->resp.has_ended) {
		take_in(&p->resp);
		p->resp.gushes = p->has_hello;
	}
	if (strict && p->resp.passed == 0 && is_too_long(&p->request)) {
		end(p);
		return;
	}
	if (!pass_on(&p->request) || !pass_on(&p->resp)) {
		end(p);
		return;
	}
	p->is_asked &= p->resp.passed == replied;
	shut(&p->request);
	shut(&p->resp);
	if (p->resp.is_shut && (p->request.is_shut || p->request.from < 0))
		end(p);
}

static struct pollfd look_at(const struct flow *f)
{
	bool full = f->length == sizeof(f->bytes);

	return (struct pollfd){.fd = f->has_ended || full ? -1 : f->from, .events = POLLIN};
}

static void run(int listener)
{
	struct pollfd fds[1 + 2 * PAIRS];
	bool waits;

	for (;;) {
		waits = false;
		fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
		for (int i = 0; i < PAIRS; i++) {
			const struct pair *p = &pairs[i];

			fds[1 + 2 * i] = fds[2 + 2 * i] = (struct pollfd){.fd = -1};
			if (!p->is_used)
				continue;
			fds[1 + 2 * i] = look_at(&p->request);
			fds[2 + 2 * i] = look_at(&p->resp);
			waits |= p->request.length > 0 || p->resp.length > 0 ||
				 (gush && p->resp.gushes);
		}
		poll(fds, 1 + 2 * PAIRS, waits ? !bytewise : -1);
		for (int i = 0; i < PAIRS; i++)
			if (pairs[i].is_used)
				serve(&pairs[i], fds[1 + 2 * i].revents, fds[2 + 2 * i].revents);
		if (fds[0].revents)
			(void)join(accept(listener, NULL, NULL), connect_to_target());
	}
}

static char *unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++, out++) {
		*out = *in;
		if (in[0] == '\\' && (in[1] == 'r' || in[1] == 'n'))
			*out = *++in == 'r' ? '\r' : '\n';
	}
	*out = '\0';
	return text;
}

int main(int argc, char *argv[])
{
	static const struct option options[] = {{"withhold", 1, NULL, 'h'}, {"while", 1, NULL, 'w'},
		{"delay", 1, NULL, 'd'}, {"slow", 1, NULL, 'l'}, {"hold", 0, &hold, 1},
		{"cut-request", 1, NULL, 'q'}, {"cut-reply", 1, NULL, 'r'},
		{"bytewise", 0, &bytewise, 1}, {"twice", 1, NULL, 't'}, {"flip", 1, NULL, 'f'},
		{"say", 1, NULL, 's'}, {"flood", 0, &flood, 1}, {"strict", 0, &strict, 1},
		{"turns", 1, NULL, 'n'}, {"gush", 1, NULL, 'g'}, {"or", 1, NULL, 'o'}, {0}};
	int c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 0:
			break;
		case 'h':
			withhold = optarg;
			break;
		case 'w':
			only_while = optarg;
			break;
		case 'd':
			delay = atoi(optarg);
			break;
		case 'l':
			slow = atoi(optarg);
			break;
		case 'q':
			cut_request = (size_t)atol(optarg);
			break;
		case 'r':
			cut_reply = (size_t)atol(optarg);
			break;
		case 't':
			twice = atoi(optarg);
			break;
		case 'f':
			flip = (size_t)atol(optarg);
			break;
		case 's':
			say = unescape(optarg);
			break;
		case 'o':
			other = optarg;
			break;
		case 'g':
			gush = unescape(optarg);
			break;
		case 'n':
			turns = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
			break;
		default:
			return 64;
		}
	if (argc - optind != 2)
		return 64;
	target = argv[optind + 1];
	run(listen_at(argv[optind]));
}
