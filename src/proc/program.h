/*
 * program: why a program could not be run, from its file: the errno of exec alone does not tell a
 * script without its interpreter from a name that does not exist.
 *
 * program_exists() tells it before exec, but not for certain. Call program_explain() after exec has
 * failed, in the process that had called exec or in its parent: a relative name counts from the
 * working directory. The caller owns *f. The function looks at files only, reports no errors, and
 * without a better explanation leaves PROGRAM_OTHER.
 */
#ifndef PROC_PROGRAM_H
#define PROC_PROGRAM_H

#include <stdbool.h>

#define PROGRAM_TEXT_MAX 256

enum program_problem {
	PROGRAM_OTHER, /* the errno tells all */
	PROGRAM_EMPTY, /* the name is "" */
	PROGRAM_UNKNOWN, /* no folder of PATH has it; detail: PATH */
	PROGRAM_IS_HERE, /* the same, but the working directory has it */
	PROGRAM_BUILTIN, /* the same, but a shell has it */
	PROGRAM_MISSING, /* detail: the part of the path that does not exist */
	PROGRAM_FOLDER,
	PROGRAM_NOT_EXECUTABLE,
	PROGRAM_NO_EXEC_MOUNT, /* the file system is mounted noexec */
	PROGRAM_INTERPRETER, /* the script's interpreter cannot be run; detail: the interpreter */
	PROGRAM_CARRIAGE_RETURN, /* the same, because the script's lines end with CR LF */
	PROGRAM_LOADER, /* the loader of the program does not exist */
};

struct program_failure {
	int error; /* exec's errno */
	enum program_problem problem;
	char path[PROGRAM_TEXT_MAX]; /* the file, as found in PATH; the name where none was found */
	char detail[PROGRAM_TEXT_MAX];
};

/* Is there a file for that name, by its path or from PATH, that this user may execute? */
bool program_exists(const char *name);

void program_explain(struct program_failure *f, const char *name, int error);

#endif
