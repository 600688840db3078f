#include "proc/tree.h"

#include "proc/kernel.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct process {
	pid_t pid;
	pid_t parent, group;
	bool alive; /* true for a zombie with other threads that still run */
	bool stopped;
	bool found; /* it belongs to the tree */
	long threads;
	unsigned long long started; /* together with the pid, it is unique */
	char name[TREE_NAME_MAX];
};

bool tree_is_visible(void)
{
	char shown[16] = "";

	return readlink("/proc/self", shown, sizeof(shown) - 1) > 0 && atoi(shown) == getpid();
}

/* Reads the beginning of a file of /proc. Returns false if there is none. */
static bool read_text(const char *path, char *text, size_t size)
{
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Reads a whole file of /proc, which does not tell its size, and adds a final '\0'. Returns NULL if
 * it cannot be read; the caller frees it. */
static char *read_whole(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t n = file ? getdelim(&text, &room, EOF, file) : -1;

	if (file)
		fclose(file);
	*len = n > 0 ? (size_t)n : 0;
	return text;
}

/* Returns false if the process no longer exists. */
static bool read_process(pid_t pid, struct process *p)
{
	char path[32], text[512], state;
	const char *name, *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	/* The name may contain spaces and parentheses. */
	name = strchr(text, '(');
	rest = strrchr(text, ')');
	if (!name || !rest)
		return false;
	*p = (struct process){.pid = pid};
	snprintf(p->name, sizeof(p->name), "%.*s", (int)(rest - name - 1), name + 1);
	if (sscanf(rest + 1,
		    " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		    "%llu",
		    &state, &p->parent, &p->group, &p->threads, &p->started) != 5)
		return false;
	p->stopped = state == 'T';
	p->alive = (state != 'Z' && state != 'X') || p->threads > 1;
	return true;
}

static bool is_older(const struct process *p, const struct tree_birth *since)
{
	return p->started < since->ticks || (p->started == since->ticks && p->pid < since->pid);
}

/* Returns false if the signal was refused. Without a descriptor (fd is -1), or if a filter denies
 * the call, sends the signal to the pid, which existed a moment ago. */
static bool send_signal(pid_t pid, int fd, int signal)
{
	if (fd >= 0 && (kernel_pidfd_send_signal(fd, signal) == 0 || errno == ESRCH))
		return true;
	return kill(pid, signal) == 0 || errno != EPERM;
}

/* The bytes of /proc to read at once, about a dozen names: few, so that each name is fresh when it
 * is looked up. */
#define NAMES_SIZE 384

/* All processes, or all threads of a process, in the kernel's order; `fd` is /proc or a folder
 * below it. */
struct listing {
	int fd;
	ssize_t size, at;
	_Alignas(struct dirent64) char names[NAMES_SIZE];
};

static void list_open(struct listing *l, const char *path)
{
	*l = (struct listing){.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

static void list_close(struct listing *l)
{
	if (l->fd >= 0)
		close(l->fd);
}

/* Returns the next pid; 0 at the end. */
static pid_t list_next(struct listing *l)
{
	const struct dirent64 *entry;

	for (;;) {
		if (l->at >= l->size) {
			l->at = 0;
			l->size = l->fd < 0 ? 0
					    : getdents64(l->fd, (void *)l->names, sizeof(l->names));
			if (l->size <= 0)
				return 0;
		}
		entry = (const struct dirent64 *)(l->names + l->at);
		l->at += entry->d_reclen;
		if (isdigit((unsigned char)entry->d_name[0]))
			return (pid_t)atoi(entry->d_name);
	}
}

/* Raises the priority of a process that has received KILL. It runs no more code of its own, but
 * needs a processor to exit, and gets one at once on an overloaded machine: before all but the
 * kernel's threads, if redlock is permitted to do so. A priority below that of other real-time
 * programs would be worse than none: the kernel reserves a share of the processors for normal
 * priority. */
static void raise_priority(const struct process *p)
{
	const struct sched_param ahead = {.sched_priority = sched_get_priority_max(SCHED_RR) - 1};
	struct listing threads;
	char path[32];
	pid_t tid;

	if (p->threads == 1) {
		(void)kernel_sched_set(p->pid, SCHED_RR | SCHED_RESET_ON_FORK, &ahead);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	list_open(&threads, path);
	while ((tid = list_next(&threads)) > 0)
		(void)kernel_sched_set(tid, SCHED_RR | SCHED_RESET_ON_FORK, &ahead);
	list_close(&threads);
}

/* The list grows while /proc is read, in the order of the pids. */
struct scan {
	struct process *list;
	int count, room;
	pid_t root;
	int signal;
	bool continues;
	const struct tree_birth *since;
	bool older_only; /* only processes that are older than `earlier` get the signal */
	const struct tree_request *earlier;
	pid_t except; /* this one does not */
	struct tree tree;
};

static int by_pid(const void *a, const void *b)
{
	return ((const struct process *)a)->pid - ((const struct process *)b)->pid;
}

/* Returns the process if the look has found it; NULL if not. */
static const struct process *find(const struct scan *s, pid_t pid)
{
	const struct process key = {.pid = pid};

	return s->count ? bsearch(&key, s->list, (size_t)s->count, sizeof(key), by_pid) : NULL;
}

static bool belongs(const struct scan *s, const struct process *p)
{
	const struct process *parent;

	if (p->parent == s->root)
		return !s->since || !is_older(p, s->since);
	parent = find(s, p->parent);
	return parent && parent->found;
}

static void add_member(struct scan *s, struct process *p, int fd)
{
	bool existed = s->earlier && is_older(p, &s->earlier->at);
	/* In a pid namespace, the group of a process outside has the number 0. */
	bool has_it = existed && s->earlier->group > 0 && p->group == s->earlier->group;
	struct tree *tree = &s->tree;
	bool refused = false;

	p->found = true;
	if (!p->alive || p->pid == s->except || (s->older_only && !existed))
		return;
	if (!has_it)
		refused = !send_signal(p->pid, fd, s->signal);
	if (s->continues)
		(void)send_signal(p->pid, fd, SIGCONT);
	if (s->signal == SIGKILL && !refused)
		raise_priority(p);
	tree->alive++;
	tree->refused += refused;
	if (tree->pid == 0 || (refused && tree->refused == 1)) {
		tree->pid = p->pid;
		memcpy(tree->name, p->name, sizeof(tree->name));
	}
}

/* Opens the descriptor before it reads the process: if another process gets the pid in between, the
 * descriptor names a dead process, and no process gets the signal. */
static void visit(struct scan *s, pid_t pid)
{
	struct process *p = &s->list[s->count];
	int fd = kernel_pidfd_open(pid);

	if ((fd >= 0 || errno != ESRCH) && read_process(pid, p)) {
		if (belongs(s, p))
			add_member(s, p, fd);
		s->count++;
	}
	if (fd >= 0)
		close(fd);
}

/* Adds a process that was skipped, because its parent was not yet known as a member. */
static void visit_again(struct scan *s, struct process *p)
{
	struct process now;
	int fd = kernel_pidfd_open(p->pid);

	if ((fd < 0 && errno == ESRCH) || !read_process(p->pid, &now) || now.started != p->started)
		p->alive = false;
	add_member(s, p, fd);
	if (fd >= 0)
		close(fd);
}

/* A /proc that is mounted with hidepid does not show processes that are not dumpable. Those whose
 * parent is this process, as that of orphans of its tree, are in the list of its children all the
 * same. Their age is not known. */
static void visit_hidden(struct scan *s)
{
	char path[48], *children, *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = at = read_whole(path, &len);
	for (pid_t pid; children && (pid = (pid_t)strtol(at, &at, 10)) > 0;) {
		struct process p;
		int fd;

		if (find(s, pid))
			continue;
		fd = kernel_pidfd_open(pid);
		if ((fd >= 0 || errno != ESRCH) && !read_process(pid, &p)) {
			p = (struct process){.pid = pid,
				.alive = true,
				.threads = 1,
				.group = getpgid(pid),
				.name = "?"};
			add_member(s, &p, fd);
			s->tree.hidden++;
		}
		if (fd >= 0)
			close(fd);
	}
	free(children);
}

static bool has_room(struct scan *s)
{
	struct process *more;

	if (s->count < s->room)
		return true;
	more = reallocarray(s->list, (size_t)s->room + 256, sizeof(*more));
	if (!more)
		return false; /* the next look finds the rest */
	s->list = more;
	s->room += 256;
	return true;
}

static void scan_all(struct scan *s)
{
	struct listing all;
	bool more = true;
	pid_t pid;

	list_open(&all, "/proc");
	/* Signal each process as soon as it is seen. A process that forks and exits, again and
	 * again, appears at the end of the list, because /proc is read in small parts. */
	while (has_room(s) && (pid = list_next(&all)) > 0)
		visit(s, pid);
	/* Now the children with a pid lower than that of their parent. */
	while (more) {
		more = false;
		for (int i = 0; i < s->count; i++)
			if (!s->list[i].found && belongs(s, &s->list[i])) {
				visit_again(s, &s->list[i]);
				more = true;
			}
	}
	list_close(&all);
	if (s->root == getpid() && !s->since && !s->older_only)
		visit_hidden(s);
	free(s->list);
}

struct tree tree_signal(pid_t root, int signal, const struct tree_birth *since)
{
	struct scan s = {.root = root, .signal = signal, .since = since};

	scan_all(&s);
	return s.tree;
}

struct tree tree_signal_and_continue(
	pid_t root, pid_t except, int signal, const struct tree_request *earlier)
{
	struct scan s = {.root = root,
		.signal = signal,
		.continues = true,
		.earlier = earlier,
		.except = except};

	scan_all(&s);
	return s.tree;
}

void tree_signal_hidden(int signal)
{
	struct scan s = {.signal = signal, .continues = true};

	visit_hidden(&s);
}

void tree_signal_older(pid_t root, pid_t except, int signal, const struct tree_request *earlier)
{
	struct scan s = {.root = root,
		.signal = signal,
		.continues = true,
		.older_only = true,
		.earlier = earlier,
		.except = except};

	scan_all(&s);
}

struct tree_birth tree_now(void)
{
	/* In the same unit as the starts of processes. Within this tick, processes have started
	 * before that have the newest pid or a lower one. */
	struct tree_birth now = {0};
	unsigned long long seconds, hundredths;
	long ticks = sysconf(_SC_CLK_TCK);
	char text[64];

	if (read_text("/proc/uptime", text, sizeof(text)) &&
		sscanf(text, "%llu.%2llu", &seconds, &hundredths) == 2)
		now.ticks = (seconds * 100 + hundredths) * (unsigned long long)ticks / 100;
	if (read_text("/proc/loadavg", text, sizeof(text)) &&
		sscanf(text, "%*s %*s %*s %*s %d", &now.pid) == 1)
		now.pid++;
	return now;
}

struct tree_birth tree_birth(pid_t pid)
{
	struct process p = {0};

	(void)read_process(pid, &p);
	return (struct tree_birth){.ticks = p.started, .pid = pid};
}

bool tree_is_stopped(pid_t pid)
{
	struct process p;

	return read_process(pid, &p) && p.stopped;
}

bool tree_is_below(pid_t pid, const char *name)
{
	struct process p = {.parent = getpid()};

	while (p.parent > 1 && read_process(p.parent, &p))
		if (p.parent == pid && strcmp(p.name, name) == 0)
			return true;
	return false;
}

bool tree_has(pid_t root, pid_t pid)
{
	struct process p = {.parent = pid};

	do
		if (p.parent == root)
			return true;
	while (p.parent > 1 && read_process(p.parent, &p));
	return false;
}

void tree_read_above(
	const char *variable, void (*take)(void *context, const char *value), void *context)
{
	struct process p = {.parent = getppid()};
	size_t name_len = strlen(variable), len;
	char path[32];

	do {
		char *text, *at;

		snprintf(path, sizeof(path), "/proc/%d/environ", (int)p.parent);
		text = read_whole(path, &len);
		for (at = text; at && at < text + len; at += strlen(at) + 1)
			if (strncmp(at, variable, name_len) == 0 && at[name_len] == '=')
				take(context, at + name_len + 1);
		free(text);
	} while (read_process(p.parent, &p) && p.parent > 0);
}

/* Is the file locked with this descriptor of the process? */
static bool locks_with(pid_t pid, const char *fd, const struct stat *file)
{
	char path[64], text[1024];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", (int)pid, fd);
	if (!read_text(path, text, sizeof(text)) || !strstr(text, "FLOCK"))
		return false;
	/* Only now: on a file server that does not answer, stat(2) does not end. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, fd);
	return stat(path, &st) == 0 && st.st_ino == file->st_ino && st.st_dev == file->st_dev;
}

static bool process_locks(pid_t pid, const struct stat *file)
{
	char path[32];
	const struct dirent *entry;
	bool found = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && !found && (entry = readdir(fds)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			locks_with(pid, entry->d_name, file);
	if (fds)
		closedir(fds);
	return found;
}

bool tree_locks(const struct stat *file)
{
	struct process p = {.parent = getpid()};

	do
		if (process_locks(p.parent, file))
			return true;
	while (read_process(p.parent, &p) && p.parent > 0);
	return false;
}

pid_t tree_locker(const struct stat *file, char name[TREE_NAME_MAX])
{
	FILE *locks = fopen("/proc/locks", "re");
	char line[128], wanted[64];
	struct process p;
	int pid, at, found = 0;

	snprintf(wanted, sizeof(wanted), "%02x:%02x:%llu ", major(file->st_dev),
		minor(file->st_dev), (unsigned long long)file->st_ino);
	while (locks && !found && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %n", &pid, &at) == 1 &&
			strncmp(line + at, wanted, strlen(wanted)) == 0 && read_process(pid, &p))
			found = pid;
	if (locks)
		fclose(locks);
	if (found)
		memcpy(name, p.name, TREE_NAME_MAX);
	return found;
}
