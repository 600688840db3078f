/* Names of signals, in both directions. */
#include "base/signal_name.h"

#include "unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

TEST(signal_names)
{
	/* The number of real-time signals is known only when the program runs. */
	const struct {
		const char *text;
		int want; /* 0: refused */
	} cases[] = {
		{"TERM", SIGTERM},
		{"term", SIGTERM},
		{"tErM", SIGTERM},
		{"SIGTERM", SIGTERM},
		{"sigterm", SIGTERM},
		{"SigTerm", SIGTERM},
		{"KILL", SIGKILL},
		{"sigkill", SIGKILL},
		{"SEGV", SIGSEGV},
		{"sys", SIGSYS},
		{"1", SIGHUP},
		{"15", SIGTERM},
		{"015", SIGTERM},
		{"RTMIN", SIGRTMIN},
		{"rtmin", SIGRTMIN},
		{"SIGRTMIN", SIGRTMIN},
		{"RTMIN+0", SIGRTMIN},
		{"RTMIN+1", SIGRTMIN + 1},
		{"sigrtmin+2", SIGRTMIN + 2},
		{"RTMAX", SIGRTMAX},
		{"RTMAX-0", SIGRTMAX},
		{"RTMAX-1", SIGRTMAX - 1},
		{"SigRtMax-3", SIGRTMAX - 3},
		{"", 0},
		{"SIG", 0},
		{"sig", 0},
		{"0", 0},
		{"-1", 0},
		{"+1", 0},
		{" 15", 0},
		{"15 ", 0},
		{"15x", 0},
		{"0xf", 0},
		{"SIG15", 0},
		{"99999999999999999999", 0},
		{"4294967311", 0},
		{"TER", 0},
		{"TERMS", 0},
		{"TERM ", 0},
		{" TERM", 0},
		{"SIGSIGTERM", 0},
		{"SIG TERM", 0},
		{"SIG_TERM", 0},
		{"T\xc3\x8bRM", 0},
		{"RTMIN+", 0},
		{"RTMIN-", 0},
		{"RTMIN-1", 0},
		{"RTMIN1", 0},
		{"RTMIN 1", 0},
		{"RTMIN+ 1", 0},
		{"RTMIN+-1", 0},
		{"RTMIN++1", 0},
		{"RTMIN+1x", 0},
		{"RTMIN+99", 0},
		{"RTMAX+", 0},
		{"RTMAX+1", 0},
		{"RTMAX-", 0},
		{"RTMAX-99", 0},
		{"RTM", 0},
		{"RTMI", 0},
	};
	long n;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		n = -7;
		unit_check(signal_parse(cases[i].text, &n) == (cases[i].want != 0), __FILE__,
			__LINE__, "'%s'", cases[i].text);
		unit_check(n == (cases[i].want ? cases[i].want : -7), __FILE__, __LINE__,
			"'%s' is %ld", cases[i].text, n);
	}
}

TEST(signal_names_of_all_signals)
{
	char text[32];
	int named = 0;
	long n;

	for (int i = 1; i <= SIGRTMAX; i++) {
		const char *name = i < SIGRTMIN ? signal_name(i) : NULL;

		snprintf(text, sizeof(text), "%d", i);
		CHECK(signal_parse(text, &n));
		CHECK_INT(n, i);
#ifdef __GLIBC__
		CHECK((name == NULL) == (sigabbrev_np(i) == NULL));
		CHECK(!name || strcmp(name, sigabbrev_np(i)) == 0);
#endif
		if (!name)
			continue;
		named++;
		CHECK(signal_parse(name, &n));
		CHECK_INT(n, i);
		snprintf(text, sizeof(text), "sig%s", name);
		CHECK(signal_parse(text, &n));
		CHECK_INT(n, i);
	}
	CHECK(named > 28);
	for (int i = 0; i <= SIGRTMAX - SIGRTMIN; i++) {
		snprintf(text, sizeof(text), "RTMIN+%d", i);
		CHECK(signal_parse(text, &n));
		CHECK_INT(n, SIGRTMIN + i);
		snprintf(text, sizeof(text), "SIGRTMAX-%d", i);
		CHECK(signal_parse(text, &n));
		CHECK_INT(n, SIGRTMAX - i);
	}
	snprintf(text, sizeof(text), "%d", SIGRTMAX + 1);
	CHECK(!signal_parse(text, &n));
	snprintf(text, sizeof(text), "RTMIN+%d", SIGRTMAX - SIGRTMIN + 1);
	CHECK(!signal_parse(text, &n));
	snprintf(text, sizeof(text), "RTMAX-%d", SIGRTMAX - SIGRTMIN + 1);
	CHECK(!signal_parse(text, &n));
}

TEST(signal_name_has_none_out_of_range)
{
	CHECK(!signal_name(-1));
	CHECK(!signal_name(0));
	CHECK(!signal_name(SIGRTMIN));
	CHECK(!signal_name(SIGRTMAX + 1));
}
