/* redlock help, redlock version: all that goes to stdout on request, from the tables. */
#include "base/out.h"
#include "base/status.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "core/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A full disk or a closed stdout is a failure like any other. */
static int finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return STATUS_OK;
	out_say(OUT_ERRORS, "cannot write to stdout: %s", strerror(errno));
	return STATUS_INTERNAL;
}

static void print_option(const struct option_row *row)
{
	char left[48];

	snprintf(left, sizeof(left), "%c%c%s --%s%s%s", row->letter ? '-' : ' ',
		row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
		row->value ? " " : "", row->value ? row->value : "");
	printf("  %-30s %s%s%s%s\n", left, row->words, row->initial ? " [" : "",
		row->initial ? row->initial : "", row->initial ? "]" : "");
}

static void print_options(void)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		printf("\n%s\n", option_group_words((enum option_group)group));
		for (int i = 0; i < option_rows_count; i++)
			if (option_rows[i].group == (enum option_group)group)
				print_option(&option_rows[i]);
	}
	printf("\nDurations: 250ms 1.5s 30s 5m 2h 1d; a bare number is seconds. Most options can "
	       "also "
	       "be set\nin the environment: --node-timeout as REDLOCK_NODE_TIMEOUT, and so on.\n");
}

static void print_statuses(void)
{
	printf("\nExit status\n");
	for (int i = 0; i < status_rows_count; i++)
		printf("  %-4d %s\n", status_rows[i].number, status_rows[i].words);
}

static void print_command(const struct command_row *row)
{
	printf("redlock %s%s%s\n  %s\n", row->name, *row->operands ? " " : "", row->operands,
		row->summary);
	if (row->id != COMMAND_RUN)
		return;
	print_options();
	print_statuses();
	printf("\nExamples\n"
	       "  redlock run -k nightly --nodes 'redis://a redis://b redis://c' -- backup.sh\n"
	       "  redlock run -k nightly -n -E 0 -- backup.sh      skip it if another host runs "
	       "it\n"
	       "  redlock run -k deploy -w 10m -c 'make && make deploy'\n");
}

static void print_overview(void)
{
	printf("redlock runs commands under a lock that is held on a majority of Redis "
	       "servers.\n\n");
	for (int i = 0; i < command_rows_count; i++)
		printf("  redlock %-8s %s\n", command_rows[i].name, command_rows[i].summary);
	printf("\n  redlock run -k nightly --nodes 'redis://a redis://b redis://c' -- backup.sh\n\n"
	       "'redlock help run' shows the options and the exit statuses.\n");
}

int cmd_help(const char *name)
{
	const struct command_row *row = name ? command_find(name) : NULL;

	if (row)
		print_command(row);
	else
		print_overview();
	return finish();
}

int cmd_version(void)
{
	printf("redlock %s\n", REDLOCK_VERSION);
	return finish();
}
