/*
 * config: the text of a configuration file: lines "name = value" under "[profile]"; those before
 * any profile, or under "[default]", hold for all.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_TEXT_MAX ((size_t)64 * 1024)
#define CONFIG_LINE_MAX 4096
#define CONFIG_LINES_MAX 500
#define CONFIG_PROFILES_MAX 50
#define CONFIG_DEFAULT "default"

struct config_line {
	const char *profile; /* "": for all */
	const char *name, *value;
	int number; /* of the line, from 1 on */
	int name_column, value_column;
};

struct config {
	const char *path; /* as shown to people */
	int count;
	struct config_line line[CONFIG_LINES_MAX];
	int profiles;
	const char *profile[CONFIG_PROFILES_MAX]; /* in their order */
};

/*
 * Takes the text, NUL-terminated, apart in place: it must outlive *c, as must the path. Returns -1
 * with *e (ERR_CONFIG): "PATH:LINE:COLUMN: ...".
 */
int config_parse(struct config *c, const char *path, char *text, size_t len, struct err *e);

/* Is there that profile? */
bool config_has(const struct config *c, const char *profile);

/* Their names, for people: "a, b". "none", if there are none. */
void config_profiles(const struct config *c, char *dst, size_t size);

/* "PATH:LINE:COLUMN: " before what *e says; it is about the configuration then. Returns -1. */
int config_blame(const struct config *c, int line, int column, struct err *e);

#endif
