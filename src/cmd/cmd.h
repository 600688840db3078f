/* cmd: one function for each command. Each returns the exit status. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "core/settings.h"

/* operands: what stands behind the options, NULL-terminated. May die of a signal instead. */
int cmd_run(struct settings *s, char *const operands[]);

/* name: the command to explain, or NULL for all of them. */
int cmd_help(const char *name);

int cmd_version(void);

#endif
