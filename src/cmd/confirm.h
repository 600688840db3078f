/* confirm: what cannot be undone is done only if somebody says so. */
#ifndef CMD_CONFIRM_H
#define CMD_CONFIRM_H

#include "cli/settings.h"

/*
 * STATUS_OK to go on: because of --yes, or because whoever sits at the terminal answered the
 * question with 'yes'. Else it was said that nothing is, or was, `done` ("removed"), and the status
 * to leave with is returned.
 */
int confirm(const struct settings *s, const char *question, const char *done);

#endif
