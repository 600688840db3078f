/*
 * loss: takes a lock with redlock, lets it be lost, and measures how long before the end of the
 * lock the last write of the command's tree (tools/stamp) was.
 *
 * usage: loss BUILD KIND KEY TTL_MS DELAY_MS SPARED SOCKET PID SOCKET PID...
 *
 * The lock is lost DELAY_MS after the command began; SPARED is the number of the node that is left
 * alone when a majority is hurt. Killed nodes are not started again, and KEY stays on the nodes.
 * Files are made in the current folder.
 *
 * Prints: KIND STATUS MARGIN RIVAL TOLD STOLEN. KIND is "unasked" when the lock was lost before its
 * time, STATUS is redlock's; then microseconds, or '-':
 *
 * MARGIN: from the last write to the end of the key on a majority; if the key was stolen, to the
 * end of the validity that the holder relied on at that time.
 * RIVAL: from the last write to the first write of a rival's command.
 * TOLD: from the first message, or TERM, about the loss to the last write.
 * STOLEN: from the theft to the last write.
 *
 * Exit status: 0, or 1 with the reason on stderr, when nothing could be measured. redlock's
 * messages go to stderr if a promise was broken.
 */
#include "stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC ((int64_t)1000)
#define SEC (1000 * MSEC)
#define NEVER INT64_MAX
#define NODES_MAX 15
#define TICK_MS 3

/* The longest pause of a node between its last reply and its end. */
#define HOLD_MS 250

enum kind { KILLED, STOPPED, CUT, STOLEN, PAUSED, DEAD, KINDS };
static const char *const kind_names[KINDS] = {
	"nodes-killed",
	"nodes-stopped",
	"nodes-cut-off",
	"key-stolen",
	"redlock-stopped",
	"redlock-killed",
};

struct node {
	const char *path;
	pid_t pid, hole;
	int port, fd;
	bool is_hurt; /* or will be */
	bool is_asked;
	char in[2048];
	size_t have;
	int64_t asked_at;
	bool held; /* by the holder, at the last query; */
	int64_t ends; /* until then, at least, without interference */
};

/* One `redlock run ... stamp`. */
struct run {
	char file[64];
	struct stamps *stamps;
	pid_t pid;
	bool is_over;
	int status;
	int tree[STAMPERS]; /* pidfds; -1: not known yet */
};

static volatile sig_atomic_t asked_to_end;
static enum kind kind;
static const char *build, *key;
static int64_t ttl, began;
static struct node node[NODES_MAX];
static int nodes, words = -1;
static struct run holder, rival;
static char said[65536];
static int64_t told_at, hurt_at, stolen_at;
static char line[1024];
static size_t line_length;

static void ask_to_end(int number)
{
	(void)number;
	asked_to_end = 1;
}

/* ---- ending ---- */

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < 2; i++) {
			struct run *r = i ? &rival : &holder;

			if (r->pid == pid) {
				r->is_over = true;
				r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
								: WEXITSTATUS(status);
			}
		}
}

static void know_tree(struct run *r)
{
	for (int i = 0; r->stamps && i < STAMPERS; i++)
		if (r->tree[i] < 0 && r->stamps->by[i].pid)
			r->tree[i] = pidfd_open(r->stamps->by[i].pid, 0);
}

static bool tree_is_gone(const struct run *r)
{
	for (int i = 0; i < STAMPERS; i++) {
		struct pollfd fd = {.fd = r->tree[i], .events = POLLIN};

		if (fd.fd >= 0 && poll(&fd, 1, 0) == 0)
			return false;
	}
	return true;
}

static void end_run(struct run *r)
{
	int64_t until = stamp_now() + 5 * SEC;

	if (!r->pid)
		return;
	r->stamps->stop = 1;
	if (!r->is_over)
		kill(r->pid, SIGKILL);
	while (stamp_now() < until && (know_tree(r), !r->is_over || !tree_is_gone(r))) {
		for (int i = 0; i < STAMPERS; i++)
			if (r->tree[i] >= 0)
				(void)pidfd_send_signal(r->tree[i], SIGKILL, NULL, 0);
		usleep(1000);
		reap();
	}
}

static void end_all(void)
{
	end_run(&holder);
	end_run(&rival);
	for (int i = 0; i < nodes; i++) {
		if (node[i].hole)
			kill(node[i].hole, SIGKILL);
		if (node[i].is_hurt && kind == STOPPED)
			kill(node[i].pid, SIGCONT);
	}
	unlink(holder.file);
	unlink(rival.file);
}

_Noreturn static void give_up(const char *why)
{
	end_all();
	fprintf(stderr, "%s %s: %s\n%s", kind_names[kind], key, asked_to_end ? "ended" : why, said);
	exit(1);
}

/* ---- nodes ---- */

static bool open_node(struct node *n)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = 5};

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", n->path);
	n->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(n->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	n->is_asked = connect(n->fd, (struct sockaddr *)&un, sizeof(un)) == 0;
	return n->is_asked;
}

/* Reads that many bytes, or up to and including the next line feed, into text; false: the node is
 * gone. */
static bool take(struct node *n, size_t wanted, char *text, size_t size)
{
	for (;;) {
		const char *end = memchr(n->in, '\n', n->have);
		size_t length = wanted ? wanted : end ? (size_t)(end - n->in) + 1 : 0;
		ssize_t got;

		if (length && length <= n->have && length < size) {
			memcpy(text, n->in, length);
			text[length] = '\0';
			n->have -= length;
			memmove(n->in, n->in + length, n->have);
			return true;
		}
		got = read(n->fd, n->in + n->have, sizeof(n->in) - n->have);
		if (got <= 0) {
			n->is_asked = false;
			return false;
		}
		n->have += (size_t)got;
	}
}

/* A number or a string (empty: nil) or the head of an array. */
static bool hear(struct node *n, char *text, size_t size)
{
	long length;

	if (!take(n, 0, text, size))
		return false;
	if (text[0] != '$') {
		memmove(text, text + 1, strlen(text));
		return true;
	}
	length = atol(text + 1);
	text[0] = '\0';
	if (length < 0)
		return true;
	if (!take(n, (size_t)length + 2, text, size))
		return false;
	text[length] = '\0';
	return true;
}

/* Redis reads lines of words as well. Lines in one packet are executed together. */
static void ask(struct node *n, const char *request)
{
	n->asked_at = stamp_now();
	if (send(n->fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		n->is_asked = false;
}

/* The replies to GET and PTTL. */
static void hear_key(struct node *n)
{
	char value[1200], pttl[64];
	int64_t now;

	if (!n->is_asked || !hear(n, value, sizeof(value)) || !hear(n, pttl, sizeof(pttl)))
		return;
	now = stamp_now();
	if (holder.stamps->token[0] && strcmp(value, holder.stamps->token) == 0 && atol(pttl) > 0) {
		n->held = true;
		n->ends = n->asked_at + atol(pttl) * MSEC;
		return;
	}
	/* It ended early, somewhere between the last look and this one. Take the later time: a
	 * broken promise must be proved. */
	if (n->held && now < n->ends)
		n->ends = now;
	n->held = false;
}

static void ask_all(void)
{
	char request[256];

	snprintf(request, sizeof(request), "GET %s\r\nPTTL %s\r\n", key, key);
	for (int i = 0; i < nodes; i++)
		if (node[i].is_asked)
			ask(&node[i], request);
	for (int i = 0; i < nodes; i++)
		hear_key(&node[i]);
}

/* The time from which the key is no longer on a majority. */
static int64_t lock_ends(void)
{
	int64_t best = 0;

	for (int i = 0; i < nodes; i++) {
		int longer = 0;

		for (int j = 0; j < nodes; j++)
			longer += node[j].ends >= node[i].ends;
		if (longer >= nodes / 2 + 1 && node[i].ends > best)
			best = node[i].ends;
	}
	return best;
}

static int held_by(const char *token)
{
	char request[256], value[1200];
	int count = 0;

	snprintf(request, sizeof(request), "GET %s\r\n", key);
	for (int i = 0; i < nodes; i++)
		if (node[i].is_asked) {
			ask(&node[i], request);
			count += node[i].is_asked && hear(&node[i], value, sizeof(value)) &&
				 strcmp(value, token) == 0;
		}
	return count;
}

/* ---- redlock ---- */

static pid_t spawn(char *const argv[], int out, int err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125);
	signal(SIGTERM, SIG_DFL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv(argv[0], argv);
	_exit(127);
}

static void start_run(struct run *r, const char *name, int err)
{
	bool is_rival = r == &rival;
	char redlock[256], stamp[256], list[4096] = "", duration[32];
	char *argv[] = {redlock, "run", "-vv", "-k", (char *)key, "--ttl", duration, "--wait", "1m",
		"--nodes", list, "--", stamp, r->file, NULL};
	size_t used = 0;
	int fd;

	snprintf(redlock, sizeof(redlock), "%s/redlock", build);
	snprintf(stamp, sizeof(stamp), "%s/tools/stamp", build);
	snprintf(duration, sizeof(duration), "%lldms", (long long)(ttl / MSEC));
	snprintf(r->file, sizeof(r->file), "%s.%s", key, name);
	for (int i = 0; i < nodes; i++)
		used += (size_t)(!is_rival && node[i].hole
					 ? snprintf(list + used, sizeof(list) - used,
						   "redis://127.0.0.1:%d ", node[i].port)
					 : snprintf(list + used, sizeof(list) - used, "unix://%s ",
						   node[i].path));
	fd = open(r->file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*r->stamps)) < 0)
		give_up(strerror(errno));
	r->stamps = mmap(NULL, sizeof(*r->stamps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (r->stamps == MAP_FAILED)
		give_up(strerror(errno));
	memset(r->tree, -1, sizeof(r->tree));
	r->pid = spawn(argv, STDOUT_FILENO, err);
}

static void start_hole(struct node *n)
{
	char path[256], port[16] = "";
	char *argv[] = {path, (char *)n->path, NULL};
	int fds[2];

	snprintf(path, sizeof(path), "%s/tools/hole", build);
	if (pipe2(fds, O_CLOEXEC) < 0)
		give_up(strerror(errno));
	n->hole = spawn(argv, fds[1], STDERR_FILENO);
	close(fds[1]);
	if (read(fds[0], port, sizeof(port) - 1) <= 0)
		give_up("no hole");
	close(fds[0]);
	n->port = atoi(port);
}

static void take_line(int64_t now)
{
	size_t used = strlen(said);

	if (!told_at && (strstr(line, ": lost ") || strstr(line, "redlock was killed")))
		told_at = now;
	snprintf(said + used, sizeof(said) - used, "  %9.3f  %s\n",
		(double)(now - began) / (double)SEC, line);
	line_length = 0;
}

static void read_words(void)
{
	char bytes[1024];
	int64_t now = stamp_now();
	ssize_t n;

	while ((n = read(words, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			line[line_length] = bytes[i] == '\n' ? '\0' : bytes[i];
			if (bytes[i] == '\n' || ++line_length == sizeof(line) - 1) {
				line[line_length] = '\0';
				take_line(now);
			}
		}
}

static void watch(void)
{
	struct pollfd fd = {.fd = words, .events = POLLIN};

	(void)poll(&fd, 1, TICK_MS);
	read_words();
	reap();
	know_tree(&holder);
	if (rival.pid)
		know_tree(&rival);
	if (asked_to_end)
		give_up("ended");
	ask_all();
}

static bool has_begun(const struct run *r)
{
	for (int i = 0; i < STAMPERS; i++)
		if (!r->stamps->by[i].pid)
			return false;
	return true;
}

static int64_t last_write(const struct run *r)
{
	int64_t last = 0;

	for (int i = 0; i < STAMPERS; i++)
		if (r->stamps->by[i].last > last)
			last = r->stamps->by[i].last;
	return last;
}

/* ---- losses ---- */

/*
 * The last reply of a node must be about the key's final state: no client may extend it between
 * that and the node's end. So one packet asks the node and tells it to hold all further requests.
 */
static void hurt_nodes(int signal)
{
	char request[256], ignored[64];

	snprintf(request, sizeof(request), "GET %s\r\nPTTL %s\r\nCLIENT PAUSE %d\r\n", key, key,
		HOLD_MS);
	for (int i = 0; i < nodes; i++)
		if (node[i].is_hurt)
			ask(&node[i], request);
	for (int i = 0; i < nodes; i++)
		if (node[i].is_hurt) {
			hear_key(&node[i]);
			if (!hear(&node[i], ignored, sizeof(ignored)))
				give_up("a node died early");
			kill(node[i].pid, signal);
			node[i].is_asked = false;
			if (stamp_now() > node[i].asked_at + HOLD_MS * MSEC)
				give_up("this machine is too slow to hurt a node in time");
		}
}

static void steal(void)
{
	char request[512];

	snprintf(request, sizeof(request),
		"EVAL \"local v=redis.call('GET',KEYS[1]) local p=redis.call('PTTL',KEYS[1]) "
		"redis.call('SET',KEYS[1],'stolen','PX',60000) return {v,p}\" 1 %s\r\n",
		key);
	for (int i = 0; i < nodes; i++)
		ask(&node[i], request);
	stolen_at = node[0].asked_at;
	for (int i = 0; i < nodes; i++) {
		if (!hear(&node[i], request, sizeof(request)))
			give_up("a node died");
		hear_key(&node[i]);
		node[i].is_asked = false;
	}
}

static void hurt(void)
{
	switch (kind) {
	case KILLED:
		hurt_nodes(SIGKILL);
		break;
	case STOPPED:
		hurt_nodes(SIGSTOP);
		break;
	case CUT:
		for (int i = 0; i < nodes; i++)
			if (node[i].is_hurt)
				kill(node[i].hole, SIGUSR1);
		break;
	case STOLEN:
		steal();
		break;
	case PAUSED:
		kill(holder.pid, SIGSTOP);
		break;
	case DEAD:
		kill(holder.pid, SIGKILL);
		break;
	case KINDS:
		break;
	}
	hurt_at = stamp_now();
}

static bool has_rival(void)
{
	return kind == STOPPED || kind == CUT || kind == PAUSED || kind == DEAD;
}

static bool rival_has_begun(void)
{
	return rival.pid && rival.stamps->by[0].first;
}

/* Stopped processes continue at the worst moment: when a rival can get, or has, the lock. */
static void continue_victims(void)
{
	if (kind == STOPPED && stamp_now() >= lock_ends())
		for (int i = 0; i < nodes; i++)
			if (node[i].is_hurt)
				kill(node[i].pid, SIGCONT);
	if (kind == PAUSED && rival_has_begun())
		kill(holder.pid, SIGCONT);
}

/* Until the loss is complete, or until the time `until`. */
static void watch_loss(int64_t until)
{
	while (stamp_now() < until) {
		watch();
		if (hurt_at)
			continue_victims();
		if (holder.is_over && tree_is_gone(&holder) &&
			(!hurt_at || !rival.pid || has_begun(&rival)))
			return;
	}
}

/* ---- the result ---- */

/* The holder does not release the rival's key, and the rival exits normally. */
static bool end_rival(void)
{
	int64_t until = stamp_now() + 10 * SEC;
	int count;

	if (!has_begun(&rival)) {
		printf(" no-rival");
		return false;
	}
	for (int i = 0; i < nodes; i++)
		node[i].is_asked = true;
	count = held_by(rival.stamps->token);
	if (count < nodes / 2 + 1)
		printf(" rival-has-%d-nodes", count);
	rival.stamps->stop = 1;
	while (!rival.is_over && stamp_now() < until) {
		usleep(1000);
		reap();
	}
	read_words();
	if (!rival.is_over || rival.status != 0)
		printf(" rival-status-%d", rival.is_over ? rival.status : -1);
	return count >= nodes / 2 + 1 && rival.is_over && rival.status == 0;
}

static void print_time(bool is_known, int64_t time)
{
	if (is_known)
		printf(" %lld", (long long)time);
	else
		printf(" -");
}

static void print_result(void)
{
	int64_t last = last_write(&holder), ends = lock_ends(), told = told_at ? told_at : NEVER;
	int expected = hurt_at && kind == DEAD ? 128 + SIGKILL : 79;
	int64_t margin = ends - last, first = rival_has_begun() ? rival.stamps->by[0].first : 0;
	bool is_odd = !tree_is_gone(&holder) || !holder.is_over || holder.status != expected;

	/* The part that the holder does not rely on is no excuse for a late end: a tenth and 2 ms.
	 */
	if (kind == STOLEN && hurt_at)
		margin -= ttl / 10 + 2 * MSEC;
	for (int i = 0; i < STAMPERS; i++)
		if (holder.stamps->by[i].term_at && holder.stamps->by[i].term_at < told)
			told = holder.stamps->by[i].term_at;
	printf("%s %d", hurt_at ? kind_names[kind] : "unasked",
		holder.is_over ? holder.status : -1);
	print_time(true, margin);
	print_time(first, first - last);
	print_time(told != NEVER, last - told);
	print_time(stolen_at, last - stolen_at);
	if (!tree_is_gone(&holder))
		printf(" still-writing");
	if (!holder.is_over || holder.status != expected)
		printf(" status");
	if (hurt_at && rival.pid && !end_rival())
		is_odd = true;
	printf("\n");
	if (margin < 0 || (first && first < last) || is_odd)
		fprintf(stderr,
			"%s %s: ttl %.3f s; after the command began: lost at %.3f s, last write at "
			"%.3f s, key's end at %.3f s\n%s",
			kind_names[kind], key, (double)ttl / (double)SEC,
			(double)(hurt_at - began) / (double)SEC,
			(double)(last - began) / (double)SEC, (double)(ends - began) / (double)SEC,
			said);
}

static void parse(int argc, char *argv[])
{
	if (argc < 9 || (argc - 7) % 2 || (argc - 7) / 2 > NODES_MAX)
		exit(64);
	build = argv[1];
	while (kind < KINDS && strcmp(kind_names[kind], argv[2]) != 0)
		kind++;
	if (kind == KINDS)
		exit(64);
	key = argv[3];
	ttl = atol(argv[4]) * MSEC;
	for (int i = 7; i < argc; i += 2) {
		node[nodes].path = argv[i];
		node[nodes].pid = (pid_t)atoi(argv[i + 1]);
		node[nodes].is_hurt = kind <= CUT && nodes != atoi(argv[6]);
		nodes++;
	}
}

int main(int argc, char *argv[])
{
	int64_t delay, started = stamp_now();
	int fds[2];

	parse(argc, argv);
	delay = atol(argv[5]) * MSEC;
	/* Processes that redlock fails to end are ended here. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, ask_to_end);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		give_up(strerror(errno));
	words = fds[0];
	for (int i = 0; i < nodes; i++) {
		if (!open_node(&node[i]))
			give_up("a node is not there");
		if (kind == CUT && node[i].is_hurt)
			start_hole(&node[i]);
	}
	began = started;
	start_run(&holder, "holder", fds[1]);
	while (!has_begun(&holder)) {
		watch();
		if (holder.is_over || stamp_now() > started + 20 * SEC)
			give_up("the lock was not to be had");
	}
	began = holder.stamps->by[0].first;
	if (has_rival())
		start_run(&rival, "rival", fds[1]);
	watch_loss(began + delay);
	/* Otherwise it was lost without this test's doing. */
	if (!holder.is_over && !tree_is_gone(&holder))
		hurt();
	watch_loss(stamp_now() + 5 * ttl + 2 * SEC);
	read_words();
	print_result();
	end_all();
	return 0;
}
