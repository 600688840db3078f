#include "io/tree.h"

#include "io/kernel.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
	pid_t pid;
	pid_t parent;
	bool alive; /* a zombie whose other threads run on is alive */
	bool stopped;
	bool found; /* it belongs to the tree */
	long threads;
	unsigned long long started; /* with the pid, it names one process for ever */
	char name[TREE_NAME_MAX];
};

bool tree_is_visible(void)
{
	char shown[16] = "";

	return readlink("/proc/self", shown, sizeof(shown) - 1) > 0 && atoi(shown) == getpid();
}

/* False if there is no such process any more. */
static bool read_process(pid_t pid, struct process *p)
{
	char path[32], text[512], state;
	const char *name, *rest;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name may have spaces and parentheses of its own. */
	name = strchr(text, '(');
	rest = strrchr(text, ')');
	if (!name || !rest)
		return false;
	*p = (struct process){.pid = pid};
	snprintf(p->name, sizeof(p->name), "%.*s", (int)(rest - name - 1), name + 1);
	if (sscanf(rest + 1,
		    " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		    "%llu",
		    &state, &p->parent, &p->threads, &p->started) != 4)
		return false;
	p->stopped = state == 'T';
	p->alive = (state != 'Z' && state != 'X') || p->threads > 1;
	return true;
}

static bool is_older(const struct process *p, const struct tree_birth *since)
{
	return p->started < since->ticks || (p->started == since->ticks && p->pid < since->pid);
}

/* False if it was refused. Out of descriptors (fd is -1), or where a filter denies the call, a
 * process that was there a moment ago is still worth its signal. */
static bool send_signal(pid_t pid, int fd, int signal)
{
	if (fd >= 0 && (kernel_pidfd_send_signal(fd, signal) == 0 || errno == ESRCH))
		return true;
	return kill(pid, signal) == 0 || errno != EPERM;
}

/* So many bytes of /proc at a time, a dozen names: what is looked up must be fresh. */
#define NAMES_SIZE 384

/* All processes, or all threads of one, as the kernel lists them; `fd` is /proc or what is below.
 */
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

/* The next one; 0 at the end. */
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

/* It has KILL and runs no more code of its own, but wants a processor to end on: on a machine that
 * is far too busy it gets one now, ahead of all but the kernel's threads, where we may give it.
 * Less than other real-time programs have would be worse than nothing: the kernel keeps a share of
 * the processors for those of normal priority. */
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

/* The list grows as /proc is read, in the order of the pids. */
struct scan {
	struct process *list;
	int count, room;
	pid_t root;
	int signal;
	bool continues;
	const struct tree_birth *since;
	struct tree tree;
};

static int by_pid(const void *a, const void *b)
{
	return ((const struct process *)a)->pid - ((const struct process *)b)->pid;
}

static bool belongs(const struct scan *s, const struct process *p)
{
	const struct process key = {.pid = p->parent}, *parent;

	if (p->parent == s->root)
		return !s->since || !is_older(p, s->since);
	parent = s->count ? bsearch(&key, s->list, (size_t)s->count, sizeof(key), by_pid) : NULL;
	return parent && parent->found;
}

static void add_member(struct scan *s, struct process *p, int fd)
{
	struct tree *tree = &s->tree;
	bool refused;

	p->found = true;
	if (!p->alive)
		return;
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

/* The descriptor comes before the look: if the pid goes to another process meanwhile, the
 * descriptor's is dead, and nobody gets a signal. */
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

/* It was passed over, as its parent was not known to belong yet. */
static void visit_again(struct scan *s, struct process *p)
{
	struct process now;
	int fd = kernel_pidfd_open(p->pid);

	if (fd < 0 || !read_process(p->pid, &now) || now.started != p->started)
		p->alive = false;
	add_member(s, p, fd);
	if (fd >= 0)
		close(fd);
}

static bool has_room(struct scan *s)
{
	struct process *more;

	if (s->count < s->room)
		return true;
	more = reallocarray(s->list, (size_t)s->room + 256, sizeof(*more));
	if (!more)
		return false; /* what is missed now is seen by the next look */
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
	/* Each gets its signal as soon as it is seen: one that forks and exits, again and again, is
	 * met at the end of the list, as the list is read bit by bit. */
	while (has_room(s) && (pid = list_next(&all)) > 0)
		visit(s, pid);
	/* Children whose pid is lower than their parent's. */
	while (more) {
		more = false;
		for (int i = 0; i < s->count; i++)
			if (!s->list[i].found && belongs(s, &s->list[i])) {
				visit_again(s, &s->list[i]);
				more = true;
			}
	}
	list_close(&all);
	free(s->list);
}

struct tree tree_signal(pid_t root, int signal, const struct tree_birth *since)
{
	struct scan s = {.root = root, .signal = signal, .since = since};

	scan_all(&s);
	return s.tree;
}

void tree_signal_and_continue(pid_t root, int signal)
{
	struct scan s = {.root = root, .signal = signal, .continues = true};

	scan_all(&s);
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

bool tree_has(pid_t root, pid_t pid)
{
	struct process p = {.parent = pid};

	do
		if (p.parent == root)
			return true;
	while (p.parent > 1 && read_process(p.parent, &p));
	return false;
}
