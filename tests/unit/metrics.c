/* metrics: adding a run to a file, whatever the file contains. */
#include "cmd/metrics.h"

#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD(name, type, help) "# HELP " name " " help "\n# TYPE " name " " type "\n"
#define RUNS_HEAD HEAD("redlock_runs_total", "counter", "Runs that have ended, by result.")
#define TIMESTAMP_HEAD \
	HEAD("redlock_last_run_timestamp_seconds", "gauge", "When the last run ended.")
#define SUCCESS_HEAD \
	HEAD("redlock_last_success_timestamp_seconds", "gauge", \
		"When the command last ended with status 0.")
#define STATUS_HEAD \
	HEAD("redlock_last_status", "gauge", "Exit status of the last run, 128 + n for a signal.")
#define WAITED_HEAD \
	HEAD("redlock_last_waited_seconds", "gauge", "How long the last run waited for the lock.")
#define HELD_HEAD \
	HEAD("redlock_last_held_seconds", "gauge", \
		"How long the last run held the lock, if it did.")
#define EXTENSIONS_HEAD \
	HEAD("redlock_last_extensions", "gauge", "How often the last run extended the lock.")
#define MARGIN_HEAD \
	HEAD("redlock_last_worst_margin_seconds", "gauge", \
		"The shortest validity that was left when an extension succeeded.")

static const struct sample failed = {
	.key = "a",
	.outcome = "failed",
	.at = 1000,
	.status = 125,
	.waited = 1500 * USEC_MSEC,
	.held = NEVER,
	.worst_margin = NEVER,
};

#define FAILED_REST \
	TIMESTAMP_HEAD "redlock_last_run_timestamp_seconds{key=\"a\"} 1000\n" STATUS_HEAD \
		       "redlock_last_status{key=\"a\"} 125\n" WAITED_HEAD \
		       "redlock_last_waited_seconds{key=\"a\"} 1.500000\n" EXTENSIONS_HEAD \
		       "redlock_last_extensions{key=\"a\"} 0\n"
#define FAILED_ALONE RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 1\n" FAILED_REST

static void check_merge(const char *old, size_t old_len, const struct sample *s, const char *want)
{
	size_t len;
	char *text = metrics_merge(old, old_len, s, &len);

	if (!CHECK(text != NULL))
		return;
	CHECK_INT(len, strlen(want));
	CHECK_TEXT(text, want);
	free(text);
}

#define CHECK_MERGE(old, s, want) check_merge(old, sizeof(old) - 1, s, want)

/* Broken lines, and lines of other programs, are dropped. */
#define CHECK_DROPPED(line) CHECK_MERGE(line, &failed, FAILED_ALONE)

TEST(metrics_begin_with_one_run)
{
	CHECK_MERGE("", &failed, FAILED_ALONE);
}

TEST(metrics_add_to_the_counter)
{
	CHECK_MERGE(FAILED_ALONE, &failed,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 2\n" FAILED_REST);
	CHECK_MERGE("redlock_runs_total{key=\"a\",result=\"failed\"} 41\n"
		    "redlock_runs_total{key=\"a\",result=\"lost\"} 7\n",
		&failed,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 42\n"
			  "redlock_runs_total{key=\"a\",result=\"lost\"} 7\n" FAILED_REST);
}

TEST(metrics_without_a_value_have_no_series)
{
	const struct sample long_run = {.key = "a",
		.outcome = "completed",
		.at = 2000,
		.extensions = 3,
		.held = 61 * USEC_SEC + 7,
		.worst_margin = -5 * USEC_MSEC};
	size_t len;
	char *text = metrics_merge("", 0, &long_run, &len);

	CHECK(strstr(text, MARGIN_HEAD "redlock_last_worst_margin_seconds{key=\"a\"} -0.005000\n"));
	CHECK(strstr(text, HELD_HEAD "redlock_last_held_seconds{key=\"a\"} 61.000007\n"));
	CHECK(strstr(text, EXTENSIONS_HEAD "redlock_last_extensions{key=\"a\"} 3\n"));
	/* The next run never held the lock: the value of this run must not be taken for its own. */
	check_merge(text, len, &failed,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 1\n"
			  "redlock_runs_total{key=\"a\",result=\"success\"} 1\n" SUCCESS_HEAD
			  "redlock_last_success_timestamp_seconds{key=\"a\"} 2000\n" FAILED_REST);
	free(text);
}

TEST(metrics_count_a_skipped_run_and_change_nothing_else)
{
	const struct sample busy = {
		.key = "a", .outcome = "busy", .at = 3000, .held = NEVER, .worst_margin = NEVER};

	CHECK_MERGE("", &busy, RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"busy\"} 1\n");
	CHECK_MERGE(FAILED_ALONE "redlock_last_held_seconds{key=\"a\"} 1.5\n", &busy,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"busy\"} 1\n"
			  "redlock_runs_total{key=\"a\",result=\"failed\"} 1\n" TIMESTAMP_HEAD
			  "redlock_last_run_timestamp_seconds{key=\"a\"} 1000\n" STATUS_HEAD
			  "redlock_last_status{key=\"a\"} 125\n" WAITED_HEAD
			  "redlock_last_waited_seconds{key=\"a\"} 1.500000\n" HELD_HEAD
			  "redlock_last_held_seconds{key=\"a\"} 1.5\n" EXTENSIONS_HEAD
			  "redlock_last_extensions{key=\"a\"} 0\n");
}

TEST(metrics_know_the_last_success)
{
	static const struct {
		const char *outcome;
		int status;
		bool succeeded;
	} cases[] = {{"completed", 0, true}, {"command-failed", 3, false}, {"lost", 79, false},
		{"signalled", 137, false}};
	const char *old = "redlock_last_success_timestamp_seconds{key=\"a\"} 10\n";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sample run = {.key = "a",
			.at = 2000,
			.outcome = cases[i].outcome,
			.status = cases[i].status};
		size_t len;
		char *text = metrics_merge(old, strlen(old), &run, &len);

		CHECK(strstr(text, cases[i].succeeded
					   ? "success_timestamp_seconds{key=\"a\"} 2000\n"
					   : "success_timestamp_seconds{key=\"a\"} 10\n") != NULL);
		CHECK(strstr(text, "last_run_timestamp_seconds{key=\"a\"} 2000\n") != NULL);
		free(text);
	}
}

TEST(metrics_of_other_keys_are_kept)
{
	CHECK_MERGE("redlock_last_status{key=\"b\"} 3\n"
		    "redlock_runs_total{key=\"b\",result=\"failed\"} 5\n"
		    "redlock_last_held_seconds{key=\"aa\"} 0.5\n"
		    "redlock_last_worst_margin_seconds{key=\"\"} -1.25\n",
		&failed,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 1\n"
			  "redlock_runs_total{key=\"b\",result=\"failed\"} 5\n" TIMESTAMP_HEAD
			  "redlock_last_run_timestamp_seconds{key=\"a\"} 1000\n" STATUS_HEAD
			  "redlock_last_status{key=\"a\"} 125\n"
			  "redlock_last_status{key=\"b\"} 3\n" WAITED_HEAD
			  "redlock_last_waited_seconds{key=\"a\"} 1.500000\n" HELD_HEAD
			  "redlock_last_held_seconds{key=\"aa\"} 0.5\n" EXTENSIONS_HEAD
			  "redlock_last_extensions{key=\"a\"} 0\n" MARGIN_HEAD
			  "redlock_last_worst_margin_seconds{key=\"\"} -1.25\n");
}

TEST(metrics_of_odd_keys_are_escaped_and_found_again)
{
	static const struct {
		const char *key, *label;
	} cases[] = {
		{"say \"x\"", "say \\\"x\\\""},
		{"back\\slash\\", "back\\\\slash\\\\"},
		{"two\nlines", "two\\nlines"},
		{"\xc3\xa4\xff|\xc3", "\xc3\xa4\xef\xbf\xbd|\xef\xbf\xbd"},
		{"{} # 1,result=", "{} # 1,result="},
		{"tab\there\r", "tab\there\r"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sample s = failed;
		char want[200], *once, *twice;
		size_t len;

		s.key = cases[i].key;
		once = metrics_merge("", 0, &s, &len);
		twice = metrics_merge(once, len, &s, &len);
		snprintf(want, sizeof(want), "redlock_runs_total{key=\"%s\",result=\"failed\"} 2\n",
			cases[i].label);
		CHECK(strstr(twice, want) != NULL);
		snprintf(want, sizeof(want), "redlock_last_status{key=\"%s\"} 125\n",
			cases[i].label);
		CHECK(strstr(twice, want) != NULL);
		/* no line occurs twice */
		CHECK_INT(strlen(twice), strlen(once));
		free(once);
		free(twice);
	}
}

TEST(metrics_drop_broken_lines)
{
	CHECK_DROPPED("\n\n");
	CHECK_DROPPED("# a comment\nnode_load1 0.5\nredlock_runs_total 5\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"} \n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"} x\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"} -\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"} 1.2.3\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"} 1 1700000000\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"} 1234567890123456789\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\"}1\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\",x=\"\"} 1\n");
	CHECK_DROPPED("redlock_last_status{key=\"b} 1\n");
	CHECK_DROPPED("redlock_last_status{key=b} 1\n");
	CHECK_DROPPED("redlock_last_status{\n");
	CHECK_DROPPED("redlock_last_statuses{key=\"b\"} 1\n");
	CHECK_DROPPED("redlock_runs_total{key=\"b\"} 1\n");
	CHECK_DROPPED("redlock_runs_total{key=\"b\",result=\"failed\"} -1\n");
	CHECK_DROPPED("redlock_runs_total{key=\"b\",result=\"failed\"} 1.5\n");
	CHECK_DROPPED("redlock_last_status{key=\"\\x\"} 1\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\\\n");
	CHECK_DROPPED("redlock_last_status{key=\"\xff\"} 1\n");
	CHECK_DROPPED("redlock_last_status{key=\"b\0c\"} 1\n");
	/* an incomplete line: it may have an incomplete number */
	CHECK_DROPPED("redlock_last_status{key=\"b\"} 1");
}

TEST(metrics_merge_a_series_that_occurs_twice)
{
	CHECK_MERGE("redlock_runs_total{key=\"a\",result=\"failed\"} 2\n"
		    "redlock_runs_total{key=\"a\",result=\"failed\"} 3\n",
		&failed,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 6\n" FAILED_REST);
	CHECK_MERGE("redlock_last_held_seconds{key=\"b\"} 1\n"
		    "redlock_last_held_seconds{key=\"b\"} 2\n",
		&failed,
		RUNS_HEAD "redlock_runs_total{key=\"a\",result=\"failed\"} 1\n" TIMESTAMP_HEAD
			  "redlock_last_run_timestamp_seconds{key=\"a\"} 1000\n" STATUS_HEAD
			  "redlock_last_status{key=\"a\"} 125\n" WAITED_HEAD
			  "redlock_last_waited_seconds{key=\"a\"} 1.500000\n" HELD_HEAD
			  "redlock_last_held_seconds{key=\"b\"} 2\n" EXTENSIONS_HEAD
			  "redlock_last_extensions{key=\"a\"} 0\n");
}
