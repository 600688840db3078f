#include "proc/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The names that users try as a command, and that no folder of PATH need have. */
static bool is_builtin(const char *name)
{
	static const char *const builtins[] = {".", ":", "[[", "alias", "builtin", "case", "cd",
		"command", "declare", "eval", "exec", "exit", "export", "for", "function", "if",
		"local", "popd", "pushd", "read", "return", "set", "shift", "shopt", "source",
		"time", "trap", "type", "ulimit", "umask", "unset", "until", "wait", "while", "{"};

	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (strcmp(name, builtins[i]) == 0)
			return true;
	return false;
}

static void copy(char *to, const char *from, size_t len)
{
	snprintf(to, PROGRAM_TEXT_MAX, "%.*s", (int)len, from);
}

/* Finds the file of that name in the folders of `path`. Returns false if there is none. */
static bool find_in_path(char *found, const char *path, const char *name)
{
	struct stat st;

	for (;;) {
		size_t len = strcspn(path, ":");

		snprintf(found, PROGRAM_TEXT_MAX, "%.*s%s%s", (int)len, path, len ? "/" : "", name);
		if (stat(found, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		if (!path[len])
			return false;
		path += len + 1;
	}
}

/* exec's own PATH if none is set. */
static const char *search_path(void)
{
	const char *path = getenv("PATH");

	return path ? path : "/bin:/usr/bin";
}

bool program_exists(const char *name)
{
	char found[PROGRAM_TEXT_MAX];
	struct stat st;

	if (strchr(name, '/'))
		copy(found, name, strlen(name));
	else if (!find_in_path(found, search_path(), name))
		return false;
	return stat(found, &st) == 0 && S_ISREG(st.st_mode) && eaccess(found, X_OK) == 0;
}

/* Finds the shortest part of the path that does not exist. */
static void find_missing(char *missing, const char *path)
{
	size_t len = 0;
	struct stat st;

	do {
		len += strspn(path + len, "/");
		len += strcspn(path + len, "/");
		copy(missing, path, len);
	} while (path[len] && stat(missing, &st) == 0);
}

/* Returns false if the file is no script. */
static bool read_interpreter(const char *path, char *interpreter)
{
	char head[PROGRAM_TEXT_MAX] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	const char *word = head + 2;

	if (fd >= 0)
		close(fd);
	if (n < 3 || head[0] != '#' || head[1] != '!')
		return false;
	word += strspn(word, " \t");
	copy(interpreter, word, strcspn(word, " \t\n"));
	return true;
}

static enum program_problem explain_name(struct program_failure *f, const char *name)
{
	const char *path = getenv("PATH");
	struct stat st;

	if (find_in_path(f->path, search_path(), name))
		return PROGRAM_OTHER;
	copy(f->path, name, strlen(name));
	copy(f->detail, path ? path : "", path ? strlen(path) : 0);
	if (f->error != ENOENT)
		return PROGRAM_OTHER;
	if (is_builtin(name))
		return PROGRAM_BUILTIN;
	return stat(name, &st) == 0 && S_ISREG(st.st_mode) ? PROGRAM_IS_HERE : PROGRAM_UNKNOWN;
}

static enum program_problem explain_file(struct program_failure *f)
{
	struct statvfs system;
	struct stat st;

	if (stat(f->path, &st) < 0) {
		find_missing(f->detail, f->path);
		return f->error == ENOENT ? PROGRAM_MISSING : PROGRAM_OTHER;
	}
	if (S_ISDIR(st.st_mode))
		return PROGRAM_FOLDER;
	if (f->error == EACCES && !(st.st_mode & 0111))
		return PROGRAM_NOT_EXECUTABLE;
	if (f->error == EACCES && statvfs(f->path, &system) == 0 && system.f_flag & ST_NOEXEC)
		return PROGRAM_NO_EXEC_MOUNT;
	if ((f->error == ENOENT || f->error == EACCES) && read_interpreter(f->path, f->detail))
		return strchr(f->detail, '\r') ? PROGRAM_CARRIAGE_RETURN : PROGRAM_INTERPRETER;
	return f->error == ENOENT ? PROGRAM_LOADER : PROGRAM_OTHER;
}

void program_explain(struct program_failure *f, const char *name, int error)
{
	*f = (struct program_failure){.error = error};
	copy(f->path, name, strlen(name));
	if (!*name)
		f->problem = PROGRAM_EMPTY;
	else if (!strchr(name, '/'))
		f->problem = explain_name(f, name);
	if (f->problem == PROGRAM_OTHER)
		f->problem = explain_file(f);
}
