/* log, print: no control character reaches a terminal, whatever a caller passes. */
#include "base/log.h"

#include "base/text.h"
#include "cmd/print.h"

#include "unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTILE "a\x1b]0;x\x07\r\n\xc2\x9b\xe2\x80\xae\xff##[error]\\"
#define HARMLESS "a\\x1b]0;x\\x07\\x0d\\x0a\\xc2\\x9b\\xe2\\x80\\xae\\xff\\x23#[error]\\"

static void say(void)
{
	log_say(LOG_ERRORS, "%s", HOSTILE);
}

static void say_event(void)
{
	const struct log_event event = {.name = "lost"};

	log_event(LOG_ERRORS, &event, "%s", HOSTILE);
}

static void hint(void)
{
	log_hint(LOG_ERRORS, "%s", HOSTILE);
}

static void report(void)
{
	struct err e;

	(void)err_set(&e, ERR_USAGE, "%s", HOSTILE);
	log_err(&e);
}

static void show(void)
{
	log_show(LOG_ERRORS, "%s", HOSTILE);
}

static void print(void)
{
	print_line("%s", HOSTILE);
	print_flush();
}

/* Returns what another process with these standard streams writes. */
static const char *written_by(void (*function)(void))
{
	static char text[1000];
	size_t used = 0;
	ssize_t n;
	int ends[2];
	pid_t pid;

	text[0] = '\0';
	(void)fflush(stdout);
	if (!CHECK(pipe(ends) == 0))
		return text;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		function();
		_exit(0);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(ends[0]);
	CHECK(waitpid(pid, NULL, 0) == pid);
	return text;
}

TEST(lines_have_no_control_character)
{
	CHECK_TEXT(written_by(say), "redlock: " HARMLESS "\n");
	CHECK_TEXT(written_by(say_event), "redlock: " HARMLESS "\n");
	CHECK_TEXT(written_by(hint), "hint: " HARMLESS "\n");
	CHECK_TEXT(written_by(report), "redlock: " HARMLESS "\n");
	CHECK_TEXT(written_by(show), "\r\033[Kredlock: a\\x1b]0;x\\x07\\x0d\\x0a\\xc2\\x9b\\xe2"
				     "\\x80\\xae\\xff\\x23#[error]\\");
	CHECK_TEXT(written_by(print), HARMLESS "\n");
}
