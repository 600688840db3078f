/*
 * redlock config: prints each setting with its value and its source, in the form of a configuration
 * file. Defaults are commented out, and so is a value that a file cannot have in that form, such as
 * a masked password.
 */
#include "base/text.h"
#include "base/utf8.h"
#include "cli/option.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/setup.h"
#include "report/list.h"

#include <stdio.h>
#include <string.h>

#define VALUE_MAX (NODES_MAX * NODE_LABEL_MAX)

/* Programs read these names, too. */
static const char *source_name(enum source_kind kind)
{
	switch (kind) {
	case SOURCE_NONE:
		return "default";
	case SOURCE_FILE:
	case SOURCE_PROFILE:
		return "file";
	case SOURCE_ENV:
		return "environment";
	case SOURCE_LINE:
		break;
	}
	return "command line";
}

/* The name of the variable, or the file and its line; "" for other sources. */
static const char *place(
	char *dst, size_t size, const struct option_row *row, const struct source *source)
{
	char env[OPTION_ENV_MAX], path[300];
	size_t used = 0;

	dst[0] = '\0';
	if (source->kind == SOURCE_ENV)
		text_append(dst, size, &used, "%s", option_env_name(env, row));
	if (source->kind == SOURCE_FILE || source->kind == SOURCE_PROFILE)
		text_append(dst, size, &used, "%s:%d",
			utf8_escape(
				path, sizeof(path), setup_file()->path, strlen(setup_file()->path)),
			source->line);
	return dst;
}

/* Several options set one field: show the one that accepts all values. */
static bool is_shown(const struct option_row *row)
{
	return option_is_of(row, COMMAND_CONFIG) && row->kind != OPTION_NO_WAIT &&
	       row->kind != OPTION_OFF && row->field != offsetof(struct settings, help) &&
	       row->field != offsetof(struct settings, version) && strcmp(row->name, "node") != 0;
}

static void show_line(const struct option_row *row, const char *value, bool is_comment)
{
	if (!value)
		value = row->initial ? row->initial : "none";
	print_line("%s%s = %s", is_comment ? "#" : "", row->name, value);
}

/* Each key has a line of its own. */
static void show_keys(const struct settings *s, const struct option_row *row)
{
	char shown[4 * REQUEST_KEY_MAX + 1];

	for (int i = 0; i < s->names.count; i++) {
		const struct settings one = {.names = ONE_KEY(s->names.key[i])};

		(void)option_value(shown, sizeof(shown), &one, row);
		show_line(row, shown, !option_is_exact(&one, row, shown));
	}
}

/* The name of the list of nodes, which hosts compare: it is the same in any order of the nodes. */
static const char *list_name(char name[FINGERPRINT_NAME_MAX], const struct settings *s)
{
	char fingerprint[FINGERPRINT_MAX];

	snprintf(name, FINGERPRINT_NAME_MAX, "%s",
		list_of(node_list_fingerprint(fingerprint, &s->nodes)).name);
	return name;
}

static void show(const struct settings *s, const struct option_row *row, const char *value,
	const struct source *source)
{
	char where[400], name[FINGERPRINT_NAME_MAX];
	bool is_default = source->kind == SOURCE_NONE;

	if (!is_default)
		print_line("# %s%s", source->kind == SOURCE_ENV ? "environment " : "",
			place(where, sizeof(where), row, source)[0] ? where
								    : source_name(source->kind));
	if (row->kind == OPTION_KEY && s->names.count > 0)
		show_keys(s, row);
	else
		show_line(row, value,
			is_default || !value || !option_is_setting(row) ||
				!option_is_exact(s, row, value));
	if (row->field == offsetof(struct settings, nodes))
		print_line("# list %s of %d node%s", list_name(name, s), s->nodes.count,
			s->nodes.count > 1 ? "s" : "");
}

static void print_setting(struct json *j, const struct option_row *row, const char *value,
	const struct source *source)
{
	char where[400];

	json_open(j, NULL, '{');
	json_text(j, "name", row->name);
	if (value)
		json_text(j, "value", value);
	json_text(j, "source", source_name(source->kind));
	if (place(where, sizeof(where), row, source)[0])
		json_text(j, "where", where);
	json_close(j, '}');
}

static void print_file(struct json *j)
{
	const struct config_file *c = setup_file();

	if (!c)
		return;
	json_text(j, "file", c->path);
	json_open(j, "profiles", '[');
	for (int i = 0; i < c->profiles; i++)
		json_text(j, NULL, c->profile[i]);
	json_close(j, ']');
}

int cmd_config(struct settings *s)
{
	static char value[VALUE_MAX];
	char name[FINGERPRINT_NAME_MAX];
	bool is_json = s->format == FORMAT_JSON;
	struct json j;

	if (is_json) {
		print_begin(&j, s);
		print_file(&j);
		json_text(&j, "list", list_name(name, s));
		json_open(&j, "settings", '[');
	} else {
		print_line("# '#name = value': a default, or a value that is not shown in full");
	}
	for (int i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];
		const struct source *source = settings_source(s, row->field);
		const char *shown = option_value(value, sizeof(value), s, row);

		if (!is_shown(row))
			continue;
		/* A file in a default place was not named: show its path. */
		if (row->field == offsetof(struct settings, config) && setup_file())
			shown = setup_file()->path;
		if (is_json)
			print_setting(&j, row, shown, source);
		else
			show(s, row, shown, source);
	}
	if (is_json) {
		json_close(&j, ']');
		print_end(&j);
	}
	return print_finish();
}
