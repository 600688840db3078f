#include "cli/config_file.h"

#include "base/text.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define COMMENT "#;"

#define NO_SETTING "is neither 'name = value' nor '[profile]'"

struct reading {
	struct config_file *c;
	char *next, *end; /* the part that was not read yet */
	char *line; /* the line that was read last */
	int number; /* its line number */
	const char *profile;
	struct err *e;
};

int config_file_blame(const struct config_file *c, int line, int column, struct err *e)
{
	char path[200], text[ERR_TEXT_MAX];

	snprintf(text, sizeof(text), "%s", e->text);
	utf8_escape(path, sizeof(path), c->path, strlen(c->path));
	e->kind = ERR_CONFIG;
	snprintf(e->text, sizeof(e->text), "%s:%d:%d: %.400s", path, line, column, text);
	return -1;
}

/* `at`: the wrong byte of the line. Returns -1. */
static int refuse(struct reading *r, const char *at, const char *why)
{
	err_set(r->e, ERR_CONFIG, "%s", why);
	config_file_blame(r->c, r->number, (int)(at - r->line) + 1, r->e);
	return err_hint(r->e, "see 'redlock help config'");
}

bool config_file_has(const struct config_file *c, const char *profile)
{
	for (int i = 0; i < c->profiles; i++)
		if (strcmp(c->profile[i], profile) == 0)
			return true;
	return false;
}

void config_file_profiles(const struct config_file *c, char *dst, size_t size)
{
	size_t used = 0;
	char name[100];

	text_append(dst, size, &used, "%s", c->profiles == 0 ? "none" : "");
	for (int i = 0; i < c->profiles; i++)
		text_append(dst, size, &used, "%s%s", i ? ", " : "",
			utf8_escape(name, sizeof(name), c->profile[i], strlen(c->profile[i])));
}

/* Starts the profile "[name]" with its '[' at `at`: the following lines belong to it. Returns -1
 * with *e. */
static int begin_profile(struct reading *r, char *at)
{
	char *end = strchr(at, ']');

	if (!end)
		return refuse(r, at, NO_SETTING);
	*end++ = '\0';
	end += strspn(end, CONFIG_SPACE);
	if (*end && !strchr(COMMENT, *end))
		return refuse(r, end, "after '[profile]' there can only be a comment");
	r->profile = at + 1;
	if (!*r->profile)
		return refuse(r, at, "a profile without a name");
	if (strcmp(r->profile, CONFIG_DEFAULT) == 0)
		r->profile = "";
	if (!*r->profile || config_file_has(r->c, r->profile))
		return 0;
	if (r->c->profiles == CONFIG_PROFILES_MAX)
		return refuse(r, at, "too many profiles");
	r->c->profile[r->c->profiles++] = r->profile;
	return 0;
}

/* Cuts white space off the end of the text. */
static void trim(char *text, size_t len)
{
	while (len > 0 && strchr(CONFIG_SPACE, text[len - 1]))
		len--;
	text[len] = '\0';
}

/* Adds the setting "name = value" or "name: value" that starts at `at`. Returns -1 with *e. */
static int take_setting(struct reading *r, char *at)
{
	struct config_file *c = r->c;
	char *value = at + strcspn(at, "=:");

	if (!*value)
		return refuse(r, at, NO_SETTING);
	trim(at, (size_t)(value - at));
	/* The user forgot the '=', and the value contains one. */
	if (at[strcspn(at, CONFIG_SPACE)])
		return refuse(r, at, NO_SETTING);
	if (c->count == CONFIG_LINES_MAX)
		return refuse(r, at, "too many settings");
	value++;
	value += strspn(value, CONFIG_SPACE);
	trim(value, strlen(value));
	c->line[c->count++] = (struct config_file_line){
		.profile = r->profile,
		.name = at,
		.value = value,
		.number = r->number,
		.name_column = (int)(at - r->line) + 1,
		.value_column = (int)(value - r->line) + 1,
	};
	return 0;
}

/* Makes the next line a string. Returns -1 with *e: a NUL byte, or the line is too long. */
static int next_line(struct reading *r)
{
	char *feed = memchr(r->next, '\n', (size_t)(r->end - r->next));
	char *end = feed ? feed : r->end;

	r->line = r->next;
	r->number++;
	r->next = feed ? feed + 1 : r->end;
	*end = '\0';
	if (strlen(r->line) < (size_t)(end - r->line))
		return refuse(r, r->line + strlen(r->line), "a byte of zero");
	return end - r->line > CONFIG_LINE_MAX ? refuse(r, r->line, "the line is too long") : 0;
}

int config_file_parse(
	struct config_file *c, const char *path, char *text, size_t len, struct err *e)
{
	/* Skip the byte order mark that some editors write. */
	size_t mark = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct reading r = {.c = c, .next = text + mark, .end = text + len, .profile = "", .e = e};
	int rc = 0;

	c->path = path;
	c->count = c->profiles = 0;
	while (rc == 0 && r.next < r.end && (rc = next_line(&r)) == 0) {
		char *at = r.line + strspn(r.line, CONFIG_SPACE);

		if (*at == '[')
			rc = begin_profile(&r, at);
		else if (*at && !strchr(COMMENT, *at))
			rc = take_setting(&r, at);
	}
	return rc;
}
