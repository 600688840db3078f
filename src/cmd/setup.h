/*
 * setup: completes the settings from files: the configuration file and the nodes' password
 * file.
 *
 * Call setup() after options_read() and before settings_finish(), then setup_warn() when
 * the log is open; setup_command() prepares the environment just before a command starts. The
 * texts that are read are static, and the settings point into them until the process ends.
 */
#ifndef CMD_SETUP_H
#define CMD_SETUP_H

#include "base/log.h"
#include "cli/config_file.h"
#include "cli/settings.h"
#include "file/file.h"
#include "lock/tally.h"

/*
 * Reads the configuration file, if there is one, for settings that the command line and the
 * environment leave open; then reads the password file. Returns -1 with *e (ERR_CONFIG).
 */
int setup(struct settings *s, struct err *e);

/* Warns of each REDLOCK_ variable without effect, and of each of these files that has a password
 * and that other users can read. */
void setup_warn(const struct settings *s);

/* Returns until when redlock waits for the writer of a pipe: 5 s from this call, or --wait or
 * --node-wait if that is shorter, and 2 s if that is 0. */
struct file_wait setup_pipe_wait(const struct settings *s);

/* Is a file that setup_tls() reads a pipe? Its writer may take its time. */
bool setup_tls_waits(const struct settings *s);

/* Loads OpenSSL and the certificates, if a node needs TLS. Returns -1 with *e (ERR_TLS). */
int setup_tls(const struct settings *s, struct err *e);

/* Returns the configuration file, or NULL if there is none. */
const struct config_file *setup_file(void);

/* Prepares the environment for a command: removes secrets, and adds the paths by which a nested
 * redlock finds them. */
void setup_command(const struct settings *s);

/* Prints the same settings for the shell's eval. The shell keeps its REDLOCK_PASSWORD, and a
 * REDLOCK_NODES with passwords. */
void setup_print(const struct settings *s);

/*
 * Tells whether no nodes were configured and no server listens at the default address, given the
 * reply of that node. setup_hint_nodes() then explains how to name nodes, and how to try
 * redlock without any.
 */
bool setup_lacks_nodes(const struct settings *s, const struct reply *reply);
void setup_hint_nodes(enum log_level at);

/* Hints at a cause when too few nodes could be asked, if one is known. setup_hint() asks those
 * nodes for INFO whose fix depends on it, and waits for one node time-out at most. */
bool setup_has_hint(const struct settings *s, const struct tally *t);
void setup_hint(const struct settings *s, const struct tally *t, enum log_level at);

/* Warns of the nodes that voted without a restart guard. Asks them why, and waits for three node
 * time-outs at most. */
void setup_warn_unguarded(const struct settings *s, const struct tally *t);

/* Prints the hint about one node's reply. */
void setup_hint_one(
	const struct settings *s, int node, const struct reply *problem, enum log_level at);

#endif
