/* redlock help, redlock version: all that goes to stdout on request, from the tables. */
#include "base/status.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/print.h"
#include "core/option.h"

#include <stdio.h>
#include <string.h>

static void print_option(const struct option_row *row)
{
	char left[48];

	snprintf(left, sizeof(left), "%c%c%s --%s%s%s", row->letter ? '-' : ' ',
		row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
		row->value ? " " : "", row->value ? row->value : "");
	printf("  %-30s %s%s%s%s\n", left, row->words, row->initial ? " [" : "",
		row->initial ? row->initial : "", row->initial ? "]" : "");
}

static void print_options(enum command command)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		bool is_empty = true;

		for (int i = 0; i < option_rows_count; i++) {
			const struct option_row *row = &option_rows[i];

			if (row->group != (enum option_group)group || !option_is_of(row, command) ||
				row->kind == OPTION_SECRET)
				continue;
			if (is_empty)
				printf("\n%s\n", option_group_words(row->group));
			is_empty = false;
			print_option(row);
		}
	}
	printf("\nDurations: 250ms 1.5s 30s 5m 2h 1d; a bare number is seconds. Most options can "
	       "also "
	       "be set\nin the environment: --node-timeout as REDLOCK_NODE_TIMEOUT, and so on; and "
	       "in "
	       "a configuration\nfile: see 'redlock help config'.\n");
}

static void print_statuses(void)
{
	printf("\nExit status\n");
	for (int i = 0; i < status_rows_count; i++)
		printf("  %-4d %s\n", status_rows[i].number, status_rows[i].words);
}

static void print_examples(const char *examples)
{
	printf("\nExamples\n");
	for (const char *end; *examples; examples = end + 1) {
		end = strchr(examples, '\n');
		printf("  %.*s\n", (int)(end - examples), examples);
	}
}

static void print_command(const struct command_row *row)
{
	printf("redlock %s%s%s\n  %s\n", row->name, *row->operands ? " " : "", row->operands,
		row->summary);
	if (!row->examples)
		return;
	print_options(row->id);
	print_statuses();
	print_examples(row->examples);
}

static void print_overview(void)
{
	printf("redlock runs commands under a lock that is held on a majority of Redis "
	       "servers.\n\n");
	for (int i = 0; i < command_rows_count; i++)
		printf("  redlock %-8s %s\n", command_rows[i].name, command_rows[i].summary);
	printf("\n  redlock run -k nightly --nodes 'redis://a redis://b redis://c' -- backup.sh\n\n"
	       "'redlock help COMMAND' shows its options and the exit statuses.\n");
}

int cmd_help(const char *name)
{
	const struct command_row *row = name ? command_find(name) : NULL;

	if (row)
		print_command(row);
	else
		print_overview();
	return print_finish();
}

int cmd_version(void)
{
	printf("redlock %s\n", REDLOCK_VERSION);
	return print_finish();
}
