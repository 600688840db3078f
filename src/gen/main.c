/*
 * gen: rewrites the lines of a file between
 *     BEGIN GENERATED part [word]
 *     END GENERATED
 * (each in a comment of the file's language) from the tables of commands, options and statuses.
 * usage: gen [--check] FILE...; with --check it only names the parts that are out of date.
 */
#include "base/exit.h"
#include "base/log.h"
#include "gen/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN "BEGIN GENERATED "
#define END "END GENERATED"

static const struct part {
	const char *name;
	bool (*write)(FILE *to, const char *word);
} parts[] = {
	{"man-synopsis", man_synopsis},
	{"man-command", man_command},
	{"man-scripts", man_scripts},
	{"man-usual", man_usual},
	{"man-common", man_common},
	{"man-names", man_names},
	{"man-options", man_options},
	{"man-environment", man_environment},
	{"man-settings", man_settings},
	{"man-statuses", man_statuses},
};

/* A file that is being rewritten. */
struct work {
	const char *path;
	FILE *from, *to;
	char *line;
	size_t room;
	int number; /* of the line */
	bool is_stale;
};

static int fail(const struct work *w, const char *why)
{
	log_say(LOG_ERRORS, "%s:%d: %s", w->path, w->number, why);
	return -1;
}

static bool next_line(struct work *w)
{
	w->number++;
	return getline(&w->line, &w->room, w->from) >= 0;
}

/* Writes the part that the line `begin` names. */
static int write_part(const struct work *w, const char *begin, FILE *to)
{
	char name[64], word[64] = "";

	if (sscanf(begin + strlen(BEGIN), "%63s %63s", name, word) < 1)
		return fail(w, "which part?");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, name) == 0)
			return parts[i].write(to, word) ? 0 : fail(w, "the part has no such word");
	return fail(w, "no such part: src/gen/main.c has their names");
}

/* Copies the current text of the part to `old`, up to the line with END. */
static int skip_part(struct work *w, FILE *old)
{
	while (next_line(w)) {
		if (strstr(w->line, END))
			return 0;
		if (strstr(w->line, BEGIN))
			break;
		fputs(w->line, old);
	}
	return fail(w, "the part before has no end: '" END "'");
}

static int renew_part(struct work *w, bool is_check)
{
	char *fresh = NULL, *stale = NULL, begin[200];
	size_t fresh_len, stale_len;
	FILE *new = open_memstream(&fresh, &fresh_len), *old = open_memstream(&stale, &stale_len);
	int number = w->number, rc;

	snprintf(begin, sizeof(begin), "%s", strstr(w->line, BEGIN));
	begin[strcspn(begin, "\n")] = '\0';
	rc = write_part(w, begin, new);
	if (rc == 0)
		rc = skip_part(w, old);
	fclose(new);
	fclose(old);
	if (rc == 0 && strcmp(fresh, stale) != 0) {
		w->is_stale = true;
		if (is_check)
			log_say(LOG_ERRORS, "%s:%d: stale: '%s'", w->path, number,
				begin + strlen(BEGIN));
	}
	fputs(fresh, w->to);
	free(fresh);
	free(stale);
	return rc;
}

static int renew_lines(struct work *w, bool is_check)
{
	while (next_line(w)) {
		if (strstr(w->line, END))
			return fail(w, "this ends no part");
		fputs(w->line, w->to);
		if (!strstr(w->line, BEGIN))
			continue;
		if (renew_part(w, is_check) < 0)
			return -1;
		fputs(w->line, w->to);
	}
	return 0;
}

/* Called only if a part has changed: make compares the times of files. */
static int write_file(const struct work *w, const char *text)
{
	FILE *file = fopen(w->path, "w");

	if (file && fputs(text, file) >= 0 && fclose(file) == 0)
		return 0;
	log_say(LOG_ERRORS, "'%s' cannot be written: %s", w->path, strerror(errno));
	return -1;
}

static int renew(const char *path, bool is_check)
{
	struct work w = {.path = path, .from = fopen(path, "r")};
	char *text = NULL;
	size_t len;
	int rc;

	if (!w.from) {
		log_say(LOG_ERRORS, "'%s' cannot be read: %s", path, strerror(errno));
		return -1;
	}
	w.to = open_memstream(&text, &len);
	rc = renew_lines(&w, is_check);
	fclose(w.from);
	fclose(w.to);
	if (rc == 0 && w.is_stale)
		rc = is_check ? -1 : write_file(&w, text);
	free(w.line);
	free(text);
	return rc;
}

int main(int argc, char *argv[])
{
	bool is_check = argc > 1 && strcmp(argv[1], "--check") == 0;
	int rc = 0;

	for (int i = 1 + is_check; i < argc; i++)
		if (renew(argv[i], is_check) < 0)
			rc = 1;
	if (rc && is_check)
		log_hint(LOG_ERRORS, "'make gen' writes them anew");
	return rc;
}
