/* Parts of the manual pages, in mdoc. */
#include "base/exit.h"
#include "cli/option.h"
#include "gen/parts.h"

#include <ctype.h>
#include <string.h>

/* Column at which the source of the page is wrapped. */
#define WIDTH 70

/* A page that is being written. */
struct page {
	FILE *to;
	int column;
};

static void end_line(struct page *p)
{
	if (p->column > 0)
		fputc('\n', p->to);
	p->column = 0;
}

/* Writes bytes so that paper and every terminal show them unchanged. */
static void put_bytes(struct page *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool is_edge = i == 0 || i + 1 == len;

		if (text[i] == '-' || text[i] == '\\')
			fputs(text[i] == '-' ? "\\-" : "\\e", p->to);
		else if (text[i] == '`')
			fputs("\\(ga", p->to);
		else if (text[i] == '\'' && is_edge)
			fputs("\\(aq", p->to);
		else
			fputc(text[i], p->to);
	}
	p->column += (int)len;
}

static void put_plain(struct page *p, const char *word, size_t len)
{
	if (p->column > 0 && p->column + 1 + (int)len > WIDTH)
		end_line(p);
	if (p->column > 0)
		p->column++, fputc(' ', p->to);
	else if (*word == '.')
		fputs("\\&", p->to);
	if (word[len - 1] == ':' || memchr(word, '/', len)) /* no hyphenation */
		fputs("\\%", p->to);
	put_bytes(p, word, len);
	if (strchr(".?!", word[len - 1]))
		end_line(p);
}

/* Writes a macro on a line of its own: ".Fl \-ttl ,". */
static void put_macro(
	struct page *p, const char *macro, const char *word, size_t len, const char *marks)
{
	end_line(p);
	fprintf(p->to, ".%s ", macro);
	put_bytes(p, word, len);
	for (; *marks && *marks != ' '; marks++)
		fprintf(p->to, " %c", *marks);
	fputc('\n', p->to);
	p->column = 0;
}

static bool is_variable(const char *word, size_t len)
{
	const char *capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	if (*word == '$')
		return len > 1 && strspn(word + 1, capitals) >= len - 1;
	return strspn(word, capitals) >= len && strncmp(word, "REDLOCK_", 8) == 0;
}

/* Writes a word of running text; options, variables and the option's value get their macro. */
static void put_word(struct page *p, const char *word, size_t len, const char *value)
{
	size_t bare = len;

	while (bare > 1 && strchr(",;:.)", word[bare - 1]))
		bare--;
	if (*word == '-' && bare > 1 && (word[1] == '-' || isalpha((unsigned char)word[1])))
		put_macro(p, "Fl", word + 1, bare - 1, word + bare);
	else if (is_variable(word, bare))
		put_macro(p, "Ev", word, bare, word + bare);
	else if (value && strlen(value) == bare && strncmp(word, value, bare) == 0)
		put_macro(p, "Ar", word, bare, word + bare);
	else
		put_plain(p, word, len);
}

static void put_text(struct page *p, const char *text, const char *value)
{
	for (const char *word = text; *word; word += strspn(word, " ")) {
		size_t len = strcspn(word, " ");

		put_word(p, word, len, value);
		word += len;
	}
}

/* Writes a text of the tables, which has no capital and no full stop, as a sentence. */
static void put_sentence(struct page *p, const char *before, const char *phrase, const char *value)
{
	char text[400];

	snprintf(text, sizeof(text), "%s%s.", before, phrase);
	text[0] = (char)toupper((unsigned char)text[0]);
	put_text(p, text, value);
}

/* ---- commands ---- */

static unsigned commands_with_options(void)
{
	unsigned commands = 0;

	for (int i = 0; i < option_rows_count; i++)
		commands |= option_rows[i].commands;
	return commands;
}

static int count_commands(unsigned commands)
{
	return __builtin_popcount(commands);
}

static void put_command_names(struct page *p, unsigned commands, const char *end)
{
	int left = count_commands(commands);

	for (int i = 0; i < command_rows_count; i++)
		if (commands & 1u << command_rows[i].id) {
			const char *name = command_rows[i].name;

			put_macro(p, "Cm", name, strlen(name), --left > 0 ? "," : end);
		}
}

/* "All commands but gate." is shorter than a list of twelve. */
static bool is_common(unsigned commands, unsigned all)
{
	return count_commands(all & ~commands) * 4 <= count_commands(all);
}

static void put_commands(struct page *p, unsigned commands, unsigned all)
{
	unsigned others = all & ~commands;

	commands &= all;
	if (!is_common(commands, all)) {
		put_plain(p, "Commands:", 9);
		put_command_names(p, commands, ".");
	} else if (others) {
		put_text(p, "All commands but", NULL);
		put_command_names(p, others, ".");
	} else {
		put_text(p, "All commands.", NULL);
	}
}

/* Writes one word of a command's synopsis: "-k", "KEY", "[ARG...]", "bash|zsh". */
static void put_operand(FILE *to, const char *word, size_t len)
{
	bool is_option = *word == '-', has_dots = len > 3 && strncmp(word + len - 3, "...", 3) == 0;
	bool is_literal = islower((unsigned char)*word) && strncmp(word, "options", len) != 0;

	fputs(is_option ? "Fl " : is_literal ? "Cm " : "Ar ", to);
	put_bytes(&(struct page){.to = to}, word + is_option, len - is_option - (has_dots ? 3 : 0));
	fputs(has_dots ? " ..." : "", to);
}

/* Writes "[options] -k KEY [--] COMMAND [ARG...]" as a chain of macros. */
static void put_call(FILE *to, const struct command_row *row)
{
	const char *word = row->operands;
	bool is_inner = false;

	fprintf(to, ".Nm redlock\n.Cm %s\n", row->name);
	for (size_t len; *word; word += len, word += strspn(word, " ]")) {
		bool opens = *word == '[';

		word += opens;
		len = strcspn(word, " ]");
		fputs(is_inner ? " " : opens ? ".Op " : ".", to);
		put_operand(to, word, len);
		is_inner = (is_inner || opens) && word[len] == ' ';
		if (!is_inner)
			fputc('\n', to);
	}
}

bool man_synopsis(FILE *to, const char *word)
{
	for (int i = 0; i < command_rows_count; i++)
		put_call(to, &command_rows[i]);
	return *word == '\0';
}

bool man_command(FILE *to, const char *word)
{
	const struct command_row *row = command_find(word);
	struct page p = {.to = to};

	if (!row)
		return false;
	put_call(to, row);
	fputs(".Pp\n", to);
	put_sentence(&p, "", row->summary, NULL);
	end_line(&p);
	return true;
}

bool man_scripts(FILE *to, const char *word)
{
	struct page p = {.to = to};

	fputs(".Bl -tag -width acquire -compact\n", to);
	for (int i = 0; i < command_rows_count; i++) {
		if (command_rows[i].group != COMMANDS_SCRIPT)
			continue;
		fprintf(to, ".It Cm %s\n", command_rows[i].name);
		put_sentence(&p, "", command_rows[i].summary, NULL);
		end_line(&p);
	}
	fputs(".El\n", to);
	return *word == '\0';
}

/* ---- options ---- */

static bool is_on_line(const struct option_row *row)
{
	return row->kind != OPTION_SECRET;
}

/* Writes "Fl \-\-ttl", for a long name or a letter. */
static void put_name(FILE *to, const char *dash, const char *name)
{
	fprintf(to, "Fl %s", dash);
	put_bytes(&(struct page){.to = to}, name, strlen(name));
}

/* Writes the options of a group for which `wanted` is set, as one item of a list. */
static void put_names(struct page *p, enum option_group group, const bool wanted[])
{
	const struct option_row *last = NULL;

	for (int i = 0; i < option_rows_count; i++) {
		if (option_rows[i].group != group || !wanted[i])
			continue;
		if (!last)
			fprintf(p->to, ".It %s", option_group_title(group));
		fputs(last ? " ,\n." : "\n.", p->to);
		last = &option_rows[i];
		put_name(p->to, "\\-", last->name);
	}
	fputs(last ? "\n" : "", p->to);
}

static void put_groups(struct page *p, const bool wanted[])
{
	fputs(".Bl -tag -width \"Output and settings\" -compact\n", p->to);
	for (int group = 0; group < GROUP_COUNT; group++)
		put_names(p, (enum option_group)group, wanted);
	fputs(".El\n", p->to);
}

/* Is it an option for nodes or messages that nearly all commands have? */
static bool is_named_once(const struct option_row *row)
{
	return (row->group == GROUP_NODES || row->group == GROUP_TALK) &&
	       is_common(row->commands, commands_with_options());
}

bool man_common(FILE *to, const char *word)
{
	bool wanted[OPTIONS_COUNT];

	for (int i = 0; i < option_rows_count; i++)
		wanted[i] = is_on_line(&option_rows[i]) && is_named_once(&option_rows[i]);
	put_groups(&(struct page){.to = to}, wanted);
	return *word == '\0';
}

bool man_names(FILE *to, const char *word)
{
	const struct command_row *command = command_find(word);
	bool has_all = true, wanted[OPTIONS_COUNT];

	if (!command)
		return false;
	for (int i = 0; i < option_rows_count; i++)
		has_all &= !is_named_once(&option_rows[i]) ||
			   option_is_of(&option_rows[i], command->id);
	for (int i = 0; i < option_rows_count; i++)
		wanted[i] = is_on_line(&option_rows[i]) &&
			    option_is_of(&option_rows[i], command->id) &&
			    !(has_all && is_named_once(&option_rows[i]));
	put_groups(&(struct page){.to = to}, wanted);
	return true;
}

static void put_option_tag(FILE *to, const struct option_row *row)
{
	fputs(".It ", to);
	if (row->letter) {
		put_name(to, "", (char[]){row->letter, '\0'});
		fputs(" , ", to);
	}
	put_name(to, "\\-", row->name);
	for (const char *const *alias = row->aliases; alias && *alias; alias++) {
		fputs(" , ", to);
		put_name(to, (*alias)[1] ? "\\-" : "", *alias);
	}
	fprintf(to, "%s%s\n", row->value ? " Ar " : "", row->value ? row->value : "");
}

static void put_default(struct page *p, const struct option_row *row)
{
	if (row->initial)
		put_sentence(p, "Default: ", row->initial, NULL);
}

bool man_usual(FILE *to, const char *word)
{
	const struct command_row *command = command_find(word);
	struct page p = {.to = to};
	char text[400];

	if (!command)
		return false;
	fputs(".Bl -tag -width Ds -compact\n", to);
	for (const char *name = command->common; *name; name += strspn(name, " ")) {
		size_t len = strcspn(name, " ");
		const struct option_row *row;

		snprintf(text, sizeof(text), "%.*s", (int)len, name);
		row = option_find(command->id, text);
		put_option_tag(to, row);
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(row->help, ";"), row->help);
		put_sentence(&p, "", text, row->value);
		put_default(&p, row);
		end_line(&p);
		name += len;
	}
	fputs(".El\n", to);
	return true;
}

/* ---- entries: the rows with one name are one entry ---- */

/* Calls for each row with this name. */
#define FOR_ROWS_OF(row, any) \
	for (const struct option_row *row = option_rows; row < option_rows + option_rows_count; \
		row++) \
		if (strcmp(row->name, (any)->name) == 0)

/* The row that the entry begins with: the one of most subcommands. */
static const struct option_row *main_row(const struct option_row *any)
{
	const struct option_row *most = any;

	FOR_ROWS_OF(row, any)
	if (count_commands(row->commands) > count_commands(most->commands))
		most = row;
	return most;
}

static void put_variable(struct page *p, const struct option_row *any)
{
	unsigned commands = 0, env = 0;
	char name[OPTION_ENV_MAX];

	FOR_ROWS_OF(row, any)
	{
		commands |= row->commands;
		env |= row->env;
	}
	if (!env)
		return;
	option_env_name(name, any);
	put_plain(p, "Environment:", 12);
	put_macro(p, "Ev", name, strlen(name), env == commands ? "." : "");
	if (env == commands)
		return;
	put_plain(p, "(only for", 9);
	put_command_names(p, env, ").");
}

/* Writes what the option means to the subcommands of another row. */
static void put_variant(struct page *p, const struct option_row *row, const struct option_row *main)
{
	if (row == main)
		return;
	end_line(p);
	fputs(".Pp\n", p->to);
	put_plain(p, "For", 3);
	put_command_names(p, row->commands, row->value && !main->value ? "" : ":");
	if (row->value && !main->value) {
		fputs(".", p->to);
		put_name(p->to, "\\-", row->name);
		fprintf(p->to, " Ar %s :\n", row->value);
	}
	put_sentence(p, "", row->help, row->value);
	if (row->initial && (!main->initial || strcmp(row->initial, main->initial) != 0))
		put_default(p, row);
}

static void put_option(struct page *p, const struct option_row *any)
{
	const struct option_row *main = main_row(any);
	unsigned commands = 0;

	put_option_tag(p->to, main);
	put_sentence(p, "", main->help, main->value);
	put_default(p, main);
	put_variable(p, main);
	FOR_ROWS_OF(row, main)
	commands |= row->commands;
	put_commands(p, commands, commands_with_options());
	FOR_ROWS_OF(row, main)
	put_variant(p, row, main);
	end_line(p);
}

static bool is_first_of_name(const struct option_row *any)
{
	FOR_ROWS_OF(row, any)
	return row == any;
	return false;
}

bool man_options(FILE *to, const char *word)
{
	struct page p = {.to = to};

	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(to, ".Ss %s\n.Bl -tag -width Ds\n",
			option_group_title((enum option_group)group));
		for (int i = 0; i < option_rows_count; i++)
			if (option_rows[i].group == (enum option_group)group &&
				is_on_line(&option_rows[i]) && is_first_of_name(&option_rows[i]))
				put_option(&p, &option_rows[i]);
		fputs(".El\n", to);
	}
	return *word == '\0';
}

/* ---- variables, settings, statuses ---- */

/* Rows with the same name share one variable: is it the first of them? */
static bool is_first_variable(const struct option_row *row)
{
	for (const struct option_row *other = option_rows; other < row; other++)
		if (other->env && strcmp(other->name, row->name) == 0)
			return false;
	return row->env != 0;
}

bool man_environment(FILE *to, const char *word)
{
	struct page p = {.to = to};

	fputs(".Bl -tag -width REDLOCK_CONFLICT_EXIT_CODE -compact\n", to);
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		char name[OPTION_ENV_MAX], text[OPTION_ENV_MAX];

		if (!is_first_variable(row))
			continue;
		fprintf(to, ".It Ev %s\n", option_env_name(name, row));
		snprintf(text, sizeof(text), "-%s", row->name);
		if (is_on_line(row))
			put_macro(&p, "Fl", text, strlen(text), "");
		else
			put_sentence(&p, "", row->help, NULL);
	}
	fputs(".El\n", to);
	return *word == '\0';
}

/* The commands that read this setting of the file. */
static unsigned commands_reading(const struct option_row *setting)
{
	unsigned commands = 0;

	for (int i = 0; i < option_rows_count; i++)
		if (option_rows[i].field == setting->field &&
			strcmp(option_rows[i].name, setting->name) == 0)
			commands |= option_rows[i].commands;
	return commands;
}

/* Writes the options that the file may not have: no command has a setting of that name. */
static void put_refused(struct page *p)
{
	const char *names[64];
	char text[OPTION_ENV_MAX];
	int count = 0;

	for (int i = 0; i < option_rows_count && count < 64; i++)
		if (is_first_of_name(&option_rows[i]) &&
			!option_is_setting(option_find(COMMAND_CONFIG, option_rows[i].name)))
			names[count++] = option_rows[i].name;
	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "-%s", names[i]);
		put_macro(p, "Fl", text, strlen(text), i < count - 1 ? "," : ".");
	}
}

bool man_settings(FILE *to, const char *word)
{
	struct page p = {.to = to};

	fputs(".Bl -tag -width Ds\n", to);
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!option_is_setting(row))
			continue;
		fputs(".It Ic ", to);
		put_bytes(&(struct page){.to = to}, row->name, strlen(row->name));
		fprintf(to, " No = Ar %s\n", option_takes_value(row) ? row->value : "yes|no");
		put_sentence(&p, "", row->help, row->value);
		put_default(&p, row);
		/* config shows all settings and uses none */
		put_commands(&p, commands_reading(row),
			commands_with_options() & ~(1u << COMMAND_CONFIG));
		end_line(&p);
	}
	fputs(".El\n.Pp\n", to);
	put_text(&p, "These options belong to a single call. In the file, each is an error:", NULL);
	put_refused(&p);
	return *word == '\0';
}

bool man_statuses(FILE *to, const char *word)
{
	struct page p = {.to = to};

	fputs(".Bl -tag -width Ds -compact\n", to);
	for (int i = 0; i < status_rows_count; i++) {
		fprintf(to, ".It %d\n", status_rows[i].number);
		put_text(&p, status_rows[i].meaning, NULL);
		end_line(&p);
	}
	fputs(".El\n", to);
	return *word == '\0';
}
