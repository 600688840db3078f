/*
 * limit_same: the minimum with the requests of redlock, and with a supervisor: the nodes do the
 * same as for `redlock run`, and a process between ours and the command outlives ours, adopts
 * orphans and waits. All else is as in limit. The nodes must know the scripts: run redlock before.
 * usage: limit_same KEY SOCKET... -- COMMAND...
 */
#include "base/token.h"
#include "limit.h"
#include "proto/request.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>

static sigset_t mask;

static usec wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * USEC_SEC + now.tv_nsec / 1000;
}

static size_t add(char *to, size_t len, const struct request *r)
{
	return limit_add(to, len, r->argc, r->argv);
}

/* The supervisor: begins the command when the other process says so, and tells its status. */
static void supervise(int fd)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.events = POLLIN}};
	sigset_t child;
	char go;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGCONT);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	fds[1].fd = signalfd(-1, &child, SFD_CLOEXEC);
	if (recv(fd, &go, 1, 0) != 1)
		_exit(1);
	status = limit_run(&mask);
	/* redlock polls while the command runs. */
	(void)poll(fds, 2, 0);
	(void)send(fd, &status, sizeof(status), 0);
	_exit(0);
}

int main(int argc, char *argv[])
{
	static char packet[LIMIT_REQUEST_MAX];
	static struct request r;
	char id[TOKEN_ID_LEN + 1], token[TOKEN_MAX];
	struct key_list keys = {.count = 1};
	struct lock_ref lock = {.keys = &keys, .token = token};
	struct request_args args = {.ttl = 30 * USEC_SEC,
		.reserve_time = USEC_SEC,
		.waiter = {.id = "w0123456789abcdef"},
		.guard = {.quarantine = 33002 * USEC_MSEC}};
	int ends[2], status = 0;
	sigset_t all;
	size_t len;
	pid_t pid;

	if (argc < 5)
		return 1;
	keys.key[0] = argv[1];
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	limit_connect(argv);
	snprintf(id, sizeof(id), TOKEN_HOLDER_START "%.26s", limit_token);
	snprintf(token, sizeof(token), "%s:1700000000 @0123456789abcdef0123 user@host:12345 true",
		id);
	args.guard.wall = wall();
	request_script(&r, OP_ACQUIRE, &lock, &args);
	request_by_digest(&r);
	len = add(packet, 0, &r);
	limit_send_all(packet, len);
	/* As redlock does: while the nodes work. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		supervise(ends[1]);
	}
	close(ends[1]);
	limit_read_all();
	if (send(ends[0], "", 1, 0) != 1 ||
		recv(ends[0], &status, sizeof(status), 0) != sizeof(status))
		return 1;
	args.guard.wall = wall();
	args.waiter.id = NULL;
	lock.token_len = TOKEN_ID_LEN;
	lock.token = id;
	request_script(&r, OP_HAND_OFF, &lock, &args);
	request_by_digest(&r);
	len = add(packet, 0, &r);
	limit_send_all(packet, len);
	limit_read_all();
	waitpid(pid, NULL, 0);
	return WEXITSTATUS(status);
}
