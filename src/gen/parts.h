/*
 * parts: the generated parts of manual pages, made from the tables of commands, options and
 * statuses.
 *
 * Calling sequence: src/gen/main.c finds a part by name and calls its function with the stream and
 * the word after the name ("" if there is none). Each function writes one part as whole lines. It
 * returns false if it does not know `word`.
 */
#ifndef GEN_PARTS_H
#define GEN_PARTS_H

#include <stdbool.h>
#include <stdio.h>

/* The synopsis of every command; no word. */
bool man_synopsis(FILE *to, const char *word);

/* Synopsis and summary of the command `word`. */
bool man_command(FILE *to, const char *word);

/* The commands for scripts, with their summaries; no word. */
bool man_scripts(FILE *to, const char *word);

/* The options that the help of the command `word` shows without --all. */
bool man_usual(FILE *to, const char *word);

/* The names of the options that nearly all commands have, by group; no word. */
bool man_common(FILE *to, const char *word);

/* The names of the other options of the command `word`; all its options, if it lacks a common one.
 */
bool man_names(FILE *to, const char *word);

/* Every option, by group; no word. */
bool man_options(FILE *to, const char *word);

/* Every variable that sets an option; no word. */
bool man_environment(FILE *to, const char *word);

/* Every setting of a configuration file; no word. */
bool man_settings(FILE *to, const char *word);

/* Every exit status; no word. */
bool man_statuses(FILE *to, const char *word);

#endif
