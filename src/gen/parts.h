/*
 * parts: what manual pages and completions say of the commands, written from the tables. Each
 * function writes one part, as whole lines; false: it knows no such `word`.
 */
#ifndef GEN_PARTS_H
#define GEN_PARTS_H

#include <stdbool.h>
#include <stdio.h>

/* How each command is called; no word. */
bool man_synopsis(FILE *to, const char *word);

/* How that command is called, and what it does. */
bool man_command(FILE *to, const char *word);

/* The names of the options that nearly all commands have, by group; no word. */
bool man_common(FILE *to, const char *word);

/* The names of that command's other options; of all, where it lacks a common one. */
bool man_names(FILE *to, const char *word);

/* Every option, by group; no word. */
bool man_options(FILE *to, const char *word);

/* Every variable that stands for an option; no word. */
bool man_environment(FILE *to, const char *word);

/* What can stand in a configuration file; no word. */
bool man_settings(FILE *to, const char *word);

/* Every exit status; no word. */
bool man_statuses(FILE *to, const char *word);

/* _redlock_command NAME USAGE SUMMARY, for each; no word. */
bool shell_commands(FILE *to, const char *word);

/* _redlock_option COMMANDS LETTER NAME VALUE WORDS, for each that may stand on a command line; ''
 * for no letter, and where there is no value; no word. */
bool shell_options(FILE *to, const char *word);

/* _redlock_signals NAME...; no word. */
bool shell_signals(FILE *to, const char *word);

#endif
