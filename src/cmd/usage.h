/*
 * usage: messages about an argument that redlock does not understand.
 *
 * Each function prints the message and a hint, such as the nearest name, and returns STATUS_USAGE.
 */
#ifndef CMD_USAGE_H
#define CMD_USAGE_H

#include "cli/settings.h"

#include <stdbool.h>

int usage_unknown_command(const char *word);
int usage_unexpected(const char *word);

/* The same for an operand of a subcommand that takes none. */
int usage_unexpected_operand(const struct settings *s, const char *word);

/* word: an option in the place of a subcommand. */
int usage_early_option(const char *word);

/* Tells whether any subcommand has this option; word: with its dashes. */
bool usage_is_option(const char *word);

#endif
