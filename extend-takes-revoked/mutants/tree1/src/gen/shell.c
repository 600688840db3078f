/* Parts of the completions: the rows of the tables as calls of shell functions, quoted so that
 * bash, zsh and fish read them alike. The functions are written by hand in each completion file. */
#include "base/signal_name.h"
#include "cli/option.h"
#include "gen/parts.h"

#include <signal.h>
#include <string.h>

static bool is_quoted_alike(const char *text)
{
	return !strchr(text, '\\') && !strchr(text, '\n');
}

static void put_quoted(FILE *to, const char *text)
{
	fputs(" '", to);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", to);
		else
			fputc(*text, to);
	fputc('\'', to);
}

bool shell_commands(FILE *to, const char *word)
{
	for (int i = 0; i < command_rows_count; i++) {
		const struct command_row *row = &command_rows[i];

		if (!is_quoted_alike(row->operands) || !is_quoted_alike(row->summary))
			return false;
		fprintf(to, "_redlock_command %s", row->name);
		put_quoted(to, row->operands);
		put_quoted(to, row->summary);
		fputc('\n', to);
	}
	return !*word;
}

/* The name of the option's value, from which the completions know how to complete it. */
static const char *value_of(const struct option_row *row)
{
	if (!option_takes_value(row))
		return "";
	return row->field == offsetof(struct settings, profile) ? "PROFILE" : row->value;
}

static void put_owners(FILE *to, const struct option_row *row)
{
	const char *separator = " '";

	for (int i = 0; i < command_rows_count; i++)
		if (option_is_of(row, command_rows[i].id)) {
			fprintf(to, "%s%s", separator, command_rows[i].name);
			separator = " ";
		}
	fputc('\'', to);
}

bool shell_options(FILE *to, const char *word)
{
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		const char letter[] = {row->letter, '\0'};

		if (!is_quoted_alike(row->help))
			return false;
		if (row->kind == OPTION_SECRET)
			continue;
		fputs("_redlock_option", to);
		put_owners(to, row);
		put_quoted(to, letter);
		fprintf(to, " %s", row->name);
		put_quoted(to, value_of(row));
		put_quoted(to, row->help);
		fputc('\n', to);
	}
	return !*word;
}

bool shell_signals(FILE *to, const char *word)
{
	fputs("_redlock_signals", to);
	for (int i = 1; i < NSIG; i++)
		if (signal_name(i))
			fprintf(to, " %s", signal_name(i));
	fputc('\n', to);
	return !*word;
}
