#include "io/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

struct process {
	pid_t pid;
	pid_t parent;
	bool alive; /* a zombie whose other threads run on is alive */
	bool found; /* it belongs to the tree */
	unsigned long long started; /* with the pid, it names one process for ever */
	char name[TREE_NAME_MAX];
};

bool tree_is_visible(void)
{
	char shown[16] = "";

	return readlink("/proc/self", shown, sizeof(shown) - 1) > 0 && atoi(shown) == getpid();
}

/* False if there is no such process any more. */
static bool look(pid_t pid, struct process *p)
{
	char path[32], text[512], state;
	const char *name, *rest;
	long threads;
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
		    &state, &p->parent, &threads, &p->started) != 4)
		return false;
	p->alive = (state != 'Z' && state != 'X') || threads > 1;
	return true;
}

static bool is_spared(const struct tree_spared *spared, pid_t pid)
{
	for (int i = 0; spared && i < spared->count; i++)
		if (spared->pid[i] == pid)
			return true;
	return false;
}

/* Only the very process that was seen, though its pid may have gone to another since. True if it
 * was refused. */
static bool send(const struct process *seen, int signal)
{
	struct process now;
	bool refused = false;
	int fd = pidfd_open(seen->pid, 0);

	/* Out of descriptors, a process that was there a moment ago is still worth its signal. */
	if (fd < 0)
		return errno != ESRCH && kill(seen->pid, signal) < 0 && errno == EPERM;
	if (look(seen->pid, &now) && now.started == seen->started)
		refused = pidfd_send_signal(fd, signal, NULL, 0) < 0 && errno == EPERM;
	close(fd);
	return refused;
}

/* The list grows as /proc is read, in the order of the pids. */
struct sight {
	struct process *list;
	int count, room;
	pid_t root;
	int signal;
	const struct tree_spared *spared;
	struct tree tree;
};

static bool belongs(const struct sight *s, const struct process *p)
{
	if (p->parent == s->root)
		return !is_spared(s->spared, p->pid);
	for (int i = 0; i < s->count; i++)
		if (s->list[i].found && s->list[i].pid == p->parent)
			return true;
	return false;
}

static void take(struct sight *s, struct process *p)
{
	struct tree *tree = &s->tree;
	bool refused;

	p->found = true;
	if (!p->alive)
		return;
	refused = send(p, s->signal);
	tree->alive++;
	tree->refused += refused;
	if (tree->pid == 0 || (refused && tree->refused == 1)) {
		tree->pid = p->pid;
		memcpy(tree->name, p->name, sizeof(tree->name));
	}
}

static bool has_room(struct sight *s)
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

struct tree tree_signal(pid_t root, int signal, const struct tree_spared *spared)
{
	struct sight s = {.root = root, .signal = signal, .spared = spared};
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	bool more = true;

	/* Each gets its signal as soon as it is seen: one that forks and exits, again and again, is
	 * met at the end of the list by the time the list is read. */
	while (proc && (entry = readdir(proc)) && has_room(&s))
		if (isdigit((unsigned char)entry->d_name[0]) &&
			look((pid_t)atoi(entry->d_name), &s.list[s.count])) {
			if (belongs(&s, &s.list[s.count]))
				take(&s, &s.list[s.count]);
			s.count++;
		}
	/* Children whose pid is lower than their parent's. */
	while (more) {
		more = false;
		for (int i = 0; i < s.count; i++)
			if (!s.list[i].found && belongs(&s, &s.list[i])) {
				take(&s, &s.list[i]);
				more = true;
			}
	}
	if (proc)
		closedir(proc);
	free(s.list);
	return s.tree;
}

void tree_spare(struct tree_spared *spared)
{
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	struct process p;

	spared->count = 0;
	while (proc && (entry = readdir(proc)) && spared->count < TREE_SPARED_MAX)
		if (isdigit((unsigned char)entry->d_name[0]) &&
			look((pid_t)atoi(entry->d_name), &p) && p.parent == getpid())
			spared->pid[spared->count++] = p.pid;
	if (proc)
		closedir(proc);
}

bool tree_has(pid_t root, pid_t pid)
{
	struct process p = {.parent = pid};

	do
		if (p.parent == root)
			return true;
	while (p.parent > 1 && look(p.parent, &p));
	return false;
}
