/*
 * confirm: asks before an action that cannot be undone.
 *
 * Call confirm() when the user has seen the effects of the action, and continue only if it returns
 * STATUS_OK.
 */
#ifndef CMD_CONFIRM_H
#define CMD_CONFIRM_H

#include "cli/settings.h"

/*
 * Returns STATUS_OK if --yes is set, or if the user types 'yes' at the terminal (for break, also
 * 'y'). Else prints that nothing was `done` ("removed"), and returns the exit status.
 */
int confirm(const struct settings *s, const char *question, const char *done);

#endif
