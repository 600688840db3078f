#include "proc/servers.h"

#include "base/utf8.h"
#include "proc/child.h"
#include "proc/follow.h"
#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time that a killed process may take to end. */
#define END_TIMEOUT USEC_SEC

/* The number of bytes of a server's log in an error. */
#define LOG_SHOWN 300

static const char *const known[] = {"redis-server", "valkey-server", "keydb-server"};

/* ---- the program ---- */

/* Returns true if the program exists in that folder. The path is made absolute, because the program
 * is started from another folder. */
static bool try_in(char program[PATH_MAX], const char *folder, size_t len, const char *name)
{
	char here[PATH_MAX];
	struct stat st;
	int n;

	if (name[0] == '/')
		n = snprintf(program, PATH_MAX, "%s", name);
	else if (len > 0 && folder[0] == '/')
		n = snprintf(program, PATH_MAX, "%.*s/%s", (int)len, folder, name);
	else if (getcwd(here, sizeof(here)))
		n = snprintf(program, PATH_MAX, "%s/%.*s%s%s", here, (int)len, folder,
			len > 0 ? "/" : "", name);
	else
		return false;
	return n < PATH_MAX && stat(program, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(program, X_OK) == 0;
}

static bool find(char program[PATH_MAX], const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return try_in(program, "", 0, name);
	for (const char *end; path; path = *end ? end + 1 : NULL) {
		end = path + strcspn(path, ":");
		if (try_in(program, path, (size_t)(end - path), name))
			return true;
	}
	return false;
}

int servers_find(char program[PATH_MAX], const char *name, struct err *e)
{
	char shown[200];

	if (name && !find(program, name)) {
		err_set(e, ERR_NO_SERVER, "missing server program '%s'",
			utf8_escape(shown, sizeof(shown), name, strlen(name)));
		return err_hint(e, "name one with --server or REDLOCK_SERVER");
	}
	if (name)
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (find(program, known[i]))
			return 0;
	err_set(e, ERR_NO_SERVER,
		"missing server program: PATH has no redis-server, valkey-server or keydb-server");
	return err_hint(e, "install one (apt-get install redis-server), or name another program "
			   "with --server");
}

/* ---- the start ---- */

static int err_write(struct err *e, const char *path)
{
	return err_system(e, ERR_SYSTEM, errno, "cannot write '%s'", path);
}

static const char *path_of(char dst[PATH_MAX], const char *folder, int i, const char *what)
{
	snprintf(dst, PATH_MAX, "%s/%d.%s", folder, i + 1, what);
	return dst;
}

/* The settings are in a file, so that a user can kill a server and start it again in the same
 * way. */
static int write_conf(const struct servers *s, int i, const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const char *f = s->folder;
	int n = i + 1;

	if (fd < 0 || dprintf(fd,
			      "port 0\n"
			      "unixsocket \"%s/%d.sock\"\n"
			      "unixsocketperm 700\n"
			      "pidfile \"%s/%d.pid\"\n"
			      "logfile \"%s/%d.log\"\n"
			      "loglevel warning\n"
			      "dir \"%s\"\n"
			      "dbfilename %d.rdb\n"
			      "save \"\"\n"
			      "appendonly no\n"
			      "daemonize no\n",
			      f, n, f, n, f, n, f, n) < 0)
		return err_write(e, path);
	close(fd);
	return 0;
}

static int start_one(struct servers *s, int i, const struct signals *found, struct err *e)
{
	const struct priority priority = {0};
	char conf[PATH_MAX], log[PATH_MAX];
	char *argv[] = {(char *)s->program, conf, NULL};
	int fd, error;

	if (write_conf(s, i, path_of(conf, s->folder, i, "conf"), e) < 0)
		return -1;
	path_of(log, s->folder, i, "log");
	fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_write(e, log);
	error = child_start(argv, found, -1, &priority, fd, &s->pid[i], NULL);
	close(fd);
	if (!error)
		return 0;
	s->pid[i] = 0;
	return err_system(e, ERR_NO_SERVER, error, "cannot start '%s'", s->program);
}

int servers_start(struct servers *s, const char *program, const char *folder,
	const struct node_list *nodes, const struct signals *found, struct err *e)
{
	memset(s, 0, sizeof(*s));
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	s->program = program;
	s->folder = folder;
	s->nodes = nodes;
	for (int i = 0; i < nodes->count; i++)
		if (start_one(s, i, found, e) < 0)
			return -1;
	return 0;
}

/* Reads the last line that is not empty. */
static void last_log_line(const char *path, char *dst, size_t size)
{
	char text[LOG_SHOWN + 1], *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t length = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = 0;

	if (length > 0)
		n = pread(fd, text, LOG_SHOWN, length > LOG_SHOWN ? length - LOG_SHOWN : 0);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	while ((end = strrchr(text, '\n')) && !end[1])
		*end = '\0';
	end = end ? end + 1 : text;
	utf8_escape(dst, size, end, strlen(end));
}

bool servers_failed(const struct servers *s)
{
	bool failed = false;

	for (int i = 0; i < s->nodes->count; i++)
		failed |= !s->votes[i] && s->pid[i] == 0;
	return failed;
}

int servers_explain(const struct servers *s, struct err *e)
{
	char log[PATH_MAX], words[2 * LOG_SHOWN];
	int at = 0;

	while (s->votes[at] || (s->pid[at] > 0 && servers_failed(s)))
		at++;
	last_log_line(path_of(log, s->folder, at, "log"), words, sizeof(words));
	return err_set(e, ERR_NO_SERVER, "node %d: %s %s%s%s", at + 1, s->program,
		s->pid[at] ? "does not answer" : "exited at its start", *words ? ": " : "", words);
}

/* ---- the end ---- */

void servers_reap(struct servers *s)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < NODES_MAX; i++)
			if (s->pid[i] == pid)
				s->pid[i] = 0;
}

void servers_end(struct servers *s)
{
	int more;

	for (int i = 0; i < NODES_MAX; i++)
		if (s->pid[i] > 0)
			kill(s->pid[i], SIGKILL);
	/* If a script was started in place of a server, redlock adopts its child processes. */
	do {
		(void)tree_signal(getpid(), SIGKILL, NULL);
		more = waitpid(-1, NULL, 0) > 0 || errno == EINTR;
		servers_reap(s);
	} while (more);
	memset(s->pid, 0, sizeof(s->pid));
}

/* Returns the pid of the process that listens on the socket; 0: none. */
static pid_t listener(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		peer.pid = 0;
	if (fd >= 0)
		close(fd);
	return peer.pid;
}

void servers_end_others(const char *folder)
{
	char path[PATH_MAX];
	struct follow other;
	struct err ignored;

	for (int i = 0; i < NODES_MAX; i++) {
		pid_t pid = listener(path_of(path, folder, i, "sock"));

		if (pid <= 1 || pid == getpid() || follow_open(&other, pid, false, &ignored) < 0)
			continue;
		/* The process still listens, so the pid was not reused between the two looks. */
		if (listener(path) == pid) {
			follow_signal(&other, SIGKILL);
			(void)follow_wait(&other, END_TIMEOUT);
		}
		follow_close(&other);
	}
}
