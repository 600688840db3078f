/* configure: what files say about the settings: the configuration, and the nodes' password. */
#ifndef CMD_CONFIGURE_H
#define CMD_CONFIGURE_H

#include "base/log.h"
#include "cli/config.h"
#include "cli/settings.h"
#include "lock/lock.h"

/*
 * Fills what the command line and the environment left open from the configuration file, if there
 * is one, and reads the password from its file. What is kept lasts as long as the process. Returns
 * -1 with *e (ERR_CONFIG).
 */
int configure(struct settings *s, struct err *e);

/* Says which of these files others can read, though there is a password in it. */
void configure_warn(void);

/* The file that was read, or NULL. */
const struct config *configure_file(void);

/* The environment becomes that of a command: without secrets, and with what a redlock in it needs
 * to find them again. */
void configure_command(const struct settings *s);

/*
 * Did nobody name nodes, and is nobody where they are by default? `a` is what came of asking there.
 * Then the hint says what nodes are, and how to try it without.
 */
bool configure_lacks_nodes(const struct settings *s, const struct reply *a);
void configure_hint_nodes(enum log_level at);

/* What can be done where too few nodes could be asked, if anything is known. */
bool configure_has_hint(const struct settings *s, const struct lock *lock);
void configure_hint(const struct settings *s, const struct lock *lock, enum log_level at);

#endif
