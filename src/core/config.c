#include "core/config.h"

#include "base/text.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

#define SPACE " \t\r\v\f"

#define NO_SETTING "is neither 'name = value' nor '[profile]'"

/* How inih reads the text, line by line. */
struct reading {
	struct config *c;
	char *next, *end; /* what has not been read yet */
	char *line; /* what has been read last, */
	int number; /* and which one that is */
	const char *profile;
	struct err *e;
	bool failed;
};

int config_blame(const struct config *c, int line, int column, struct err *e)
{
	char path[200], text[ERR_TEXT_MAX];

	snprintf(text, sizeof(text), "%s", e->text);
	text_escape(path, sizeof(path), c->path, strlen(c->path));
	e->kind = ERR_CONFIG;
	snprintf(e->text, sizeof(e->text), "%s:%d:%d: %.400s", path, line, column, text);
	return -1;
}

static bool refuse(struct reading *r, int column, const char *why)
{
	err_set(r->e, ERR_CONFIG, "%s", why);
	config_blame(r->c, r->number, column, r->e);
	r->failed = true;
	return false;
}

bool config_has(const struct config *c, const char *profile)
{
	for (int i = 0; i < c->profiles; i++)
		if (strcmp(c->profile[i], profile) == 0)
			return true;
	return false;
}

void config_profiles(const struct config *c, char *dst, size_t size)
{
	size_t used = 0;
	char name[100];

	text_append(dst, size, &used, "%s", c->profiles == 0 ? "none" : "");
	for (int i = 0; i < c->profiles; i++)
		text_append(dst, size, &used, "%s%s", i ? ", " : "",
			text_escape(name, sizeof(name), c->profile[i], strlen(c->profile[i])));
}

/* "[name]", whose '[' is at `at`: what follows belongs to it. False: it cannot be one. */
static bool begin_profile(struct reading *r, char *at)
{
	char *end = strchr(at, ']');
	int column = (int)(at - r->line) + 1;

	/* inih will say what it thinks of it. */
	if (!end)
		return true;
	*end++ = '\0';
	end += strspn(end, SPACE);
	if (*end && !strchr("#;", *end))
		return refuse(r, (int)(end - r->line) + 1,
			"behind '[profile]' there can be a comment only");
	r->profile = at + 1;
	if (!*r->profile)
		return refuse(r, column, "a profile without a name");
	if (strcmp(r->profile, CONFIG_DEFAULT) == 0)
		r->profile = "";
	if (!*r->profile || config_has(r->c, r->profile))
		return true;
	if (r->c->profiles == CONFIG_PROFILES_MAX)
		return refuse(r, column, "too many profiles");
	r->c->profile[r->c->profiles++] = r->profile;
	return true;
}

/* The next line, of so many bytes at most. False: there is none, or it cannot be one. */
static bool next_line(struct reading *r, size_t most)
{
	char *feed;
	size_t len;

	if (r->next >= r->end)
		return false;
	r->line = r->next;
	r->number++;
	feed = memchr(r->line, '\n', (size_t)(r->end - r->line));
	r->next = feed ? feed + 1 : r->end;
	if (feed)
		*feed = '\0';
	len = strlen(r->line);
	if (r->line + len < (feed ? feed : r->end))
		return refuse(r, (int)len + 1, "a byte of zero");
	if (len > most)
		return refuse(r, 1, "the line is too long");
	return true;
}

/* What fgets() would do, for inih, which wants room for what ends a line. */
static char *read_line(char *dst, int size, void *arg)
{
	struct reading *r = arg;
	char *at;

	if (!next_line(r, (size_t)size - 3))
		return NULL;
	snprintf(dst, (size_t)size, "%s\n", r->line);
	at = r->line + strspn(r->line, SPACE);
	return *at == '[' && !begin_profile(r, at) ? NULL : dst;
}

/* Where in the line the value stands that inih has found there. */
static char *find_value(struct reading *r, size_t len)
{
	char *value = r->line + strcspn(r->line, "=:") + 1;

	value += strspn(value, SPACE);
	value[len] = '\0';
	return value;
}

/* 1 to go on, 0 to stop, as inih wants it. */
static int take_line(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	struct config *c = r->c;
	char *start = r->line + strspn(r->line, SPACE), *text;
	int column = (int)(start - r->line) + 1;

	(void)section; /* cut to 49 bytes */
	/* A '=' was forgotten, and there is one in the value. */
	if (name[strcspn(name, SPACE)])
		return refuse(r, column, NO_SETTING);
	if (c->count == CONFIG_LINES_MAX)
		return refuse(r, column, "too many settings");
	text = find_value(r, strlen(value));
	start[strlen(name)] = '\0';
	c->line[c->count++] = (struct config_line){
		.profile = r->profile,
		.name = start,
		.value = text,
		.number = r->number,
		.name_column = column,
		.value_column = (int)(text - r->line) + 1,
	};
	return 1;
}

int config_parse(struct config *c, const char *path, char *text, size_t len, struct err *e)
{
	/* Some editors mark UTF-8. */
	size_t mark = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct reading r = {.c = c, .next = text + mark, .end = text + len, .profile = "", .e = e};

	c->path = path;
	c->count = c->profiles = 0;
	/* A password may have " ;" in it, and who indents lines does not mean to go on with one. */
	ini_allow_inline_comments = ini_allow_multiline = false;
	ini_stop_on_first_error = true;
	ini_max_line = CONFIG_LINE_MAX + 3;
	if (ini_parse_stream(read_line, &r, take_line, &r) != 0 && !r.failed)
		refuse(&r, 1, NO_SETTING);
	return r.failed ? -1 : 0;
}
