#include "base/signal_name.h"

#include "base/text.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = {
	[SIGHUP] = "HUP",
	[SIGINT] = "INT",
	[SIGQUIT] = "QUIT",
	[SIGILL] = "ILL",
	[SIGTRAP] = "TRAP",
	[SIGABRT] = "ABRT",
	[SIGBUS] = "BUS",
	[SIGFPE] = "FPE",
	[SIGKILL] = "KILL",
	[SIGUSR1] = "USR1",
	[SIGSEGV] = "SEGV",
	[SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE",
	[SIGALRM] = "ALRM",
	[SIGTERM] = "TERM",
	[SIGSTKFLT] = "STKFLT",
	[SIGCHLD] = "CHLD",
	[SIGCONT] = "CONT",
	[SIGSTOP] = "STOP",
	[SIGTSTP] = "TSTP",
	[SIGTTIN] = "TTIN",
	[SIGTTOU] = "TTOU",
	[SIGURG] = "URG",
	[SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ",
	[SIGVTALRM] = "VTALRM",
	[SIGPROF] = "PROF",
	[SIGWINCH] = "WINCH",
	[SIGPOLL] = "POLL",
	[SIGPWR] = "PWR",
	[SIGSYS] = "SYS",
};

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

const char *signal_name(int number)
{
	return number > 0 && number < NAMES ? names[number] : NULL;
}

/* Reads RTMIN, RTMIN+n, RTMAX, RTMAX-n. The number of real-time signals depends on the C
 * library. */
static bool real_time_signal(const char *name, long *out)
{
	bool from_min = strncasecmp(name, "RTMIN", 5) == 0;
	long base = from_min ? SIGRTMIN : SIGRTMAX, offset = 0;

	if (!from_min && strncasecmp(name, "RTMAX", 5) != 0)
		return false;
	if (name[5] && (name[5] != (from_min ? '+' : '-') ||
			       !text_number(name + 6, 0, SIGRTMAX - SIGRTMIN, &offset)))
		return false;
	*out = from_min ? base + offset : base - offset;
	return true;
}

bool signal_parse(const char *text, long *out)
{
	/* Second names of signals. */
	static const struct {
		const char *name;
		long number;
	} also[] = {{"IO", SIGIO}, {"CLD", SIGCHLD}, {"IOT", SIGABRT}};

	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

	if (text_number(text, 1, SIGRTMAX, out) || real_time_signal(name, out))
		return true;
	for (size_t i = 0; i < sizeof(also) / sizeof(also[0]); i++)
		if (strcasecmp(name, also[i].name) == 0) {
			*out = also[i].number;
			return true;
		}
	for (int i = 1; i < NAMES; i++)
		if (names[i] && strcasecmp(name, names[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}
