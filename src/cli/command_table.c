#include "cli/command_table.h"

#include "base/suggest.h"

#include <stddef.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

const struct command_row command_rows[] = {
#define COMMAND(id, name, function, flags, group, operands, summary, common, statuses, examples) \
	{COMMAND_##id, name, flags, group, operands, summary, common, statuses, examples},
#include "cli/commands.def"
};

const int command_rows_count = COUNT_OF(command_rows);

const char *command_group_title(enum command_group group)
{
	static const char *const titles[COMMANDS_COUNT] = {
		[COMMANDS_COMMON] = "Common",
		[COMMANDS_SCRIPT] = "Scripting",
		[COMMANDS_ADMIN] = "Administration",
		[COMMANDS_OTHER] = "Other",
	};

	return titles[group];
}

const char *command_name(enum command command)
{
	for (int i = 0; i < command_rows_count; i++)
		if (command_rows[i].id == command)
			return command_rows[i].name;
	return "";
}

const struct command_row *command_find(const char *name)
{
	for (int i = 0; i < command_rows_count; i++)
		if (strcmp(command_rows[i].name, name) == 0)
			return &command_rows[i];
	return NULL;
}

/* Names of other programs for the same thing, and names that new users try. */
static const struct guess command_guesses[] = {
	{"lock", "run"},
	{"exec", "run"},
	{"with", "run"},
	{"unlock", "release"},
	{"renew", "extend"},
	{"refresh", "extend"},
	{"list", "status"},
	{"ls", "status"},
	{"show", "status"},
	{"info", "status"},
	{"who", "status"},
	{"monitor", "status"},
	{"kill", "break"},
	{"steal", "break"},
	{"delete", "break"},
	{"rm", "break"},
	{"ping", "doctor"},
	{"verify", "doctor"},
};

const char *command_nearest(const char *name)
{
	const char *meant = suggest_meant(command_guesses, COUNT_OF(command_guesses), name);
	struct suggestion n = {.typed = name};

	if (meant)
		return meant;
	for (int i = 0; i < command_rows_count; i++)
		suggest_consider(&n, command_rows[i].name);
	return n.word;
}
