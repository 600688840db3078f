/*
 * config_file: splits the text of a configuration file into lines "name = value" under "[profile]".
 * Lines before any profile, or under "[default]", apply to every profile.
 *
 * Calling sequence: the caller reads the file into a buffer and calls config_file_parse(), then
 * passes the result to options_read_config() (cli/option.h). That function reports a wrong name or
 * value with config_file_blame(), which adds the place in the file.
 *
 * Ownership: config_file_parse() changes the buffer, and struct config_file points into it: buffer
 * and path must outlive struct config_file. Errors are ERR_CONFIG, "PATH:LINE:COLUMN: reason".
 */
#ifndef CLI_CONFIG_FILE_H
#define CLI_CONFIG_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_TEXT_MAX ((size_t)64 * 1024)
#define CONFIG_LINE_MAX 4096
#define CONFIG_LINES_MAX 500
#define CONFIG_PROFILES_MAX 50
#define CONFIG_DEFAULT "default"

/* Cut off both ends of a value. */
#define CONFIG_SPACE " \t\r\v\f"

struct config_file_line {
	const char *profile; /* "": for every profile */
	const char *name, *value;
	int number; /* line number, from 1 on */
	int name_column, value_column;
};

struct config_file {
	const char *path; /* as shown in messages */
	int count, profiles;
	const char *profile[CONFIG_PROFILES_MAX]; /* in the order of the file */
	struct config_file_line line[CONFIG_LINES_MAX];
};

/* Parses the NUL-terminated text of `len` bytes in place. Returns -1 with *e on the first error. */
int config_file_parse(
	struct config_file *c, const char *path, char *text, size_t len, struct err *e);

/* Does the file have a section for that profile? */
bool config_file_has(const struct config_file *c, const char *profile);

/* Writes the profiles' names as "a, b" for messages; "none" if there are none. */
void config_file_profiles(const struct config_file *c, char *dst, size_t size);

/* Puts "PATH:LINE:COLUMN: " before the text of *e and makes *e an ERR_CONFIG. Returns -1. */
int config_file_blame(const struct config_file *c, int line, int column, struct err *e);

#endif
