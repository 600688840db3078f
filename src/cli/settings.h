/*
 * settings: all settings of one invocation, after the command line, the environment, the
 * configuration file and the defaults.
 *
 * Calling sequence: settings_init(), options_read() and options_read_config() (cli/option.h),
 * settings_choose_password(), then settings_finish() once. After that settings_policy() and
 * settings_deadline() give the rules for the lock and for the command. Commands that learn a token
 * later (from a file, or from `hold`) pass it to settings_set_token().
 *
 * Ownership: the texts are borrowed from argv, the environment and the configuration file and must
 * outlive the settings. Errors are ERR_USAGE, or ERR_CONFIG for nodes, users and passwords.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/command_table.h"
#include "cli/node.h"
#include "lock/deadline.h"
#include "lock/policy.h"
#include "proto/request.h"

#define DEFAULT_NODES "redis://127.0.0.1:6379"

/* Not given: settings_finish() computes the value from other settings. */
#define UNSET ((usec)-1)

/* How stdout shows results. */
enum format {
	FORMAT_PLAIN,
	FORMAT_ENV, /* assignments for the shell's eval */
	FORMAT_JSON,
};

enum restart_guard {
	GUARD_AUTO, /* on with three nodes or more */
	GUARD_ON,
	GUARD_OFF,
};

/* The source of a setting, the weakest first. */
enum source_kind {
	SOURCE_NONE, /* the default holds */
	SOURCE_FILE, /* the part of the file for all profiles */
	SOURCE_PROFILE,
	SOURCE_ENV,
	SOURCE_LINE, /* the command line */
};

struct source {
	enum source_kind kind;
	int line; /* of the file */
	const char *variable; /* of the environment, if it is not the option's own; else NULL */
};

/* The number of rows of the option table. */
enum {
	OPTIONS_COUNT = 0
#define OPTION(...) +1
#include "cli/options.def"
};

/* File names are as the user gave them; NULL: not given. */
struct tls_settings {
	const char *cacert; /* trusted authorities; NULL: those of this system */
	const char *cert; /* our certificate chain */
	const char *cert_key; /* the certificate's private key */
	const char *sni; /* the name that the nodes' certificates must have, instead of the host */
	long insecure; /* 1: do not verify the nodes' certificates */
};

struct settings {
	enum command command;
	char *const *operands; /* the arguments after the options, NULL-terminated */
	struct source source[OPTIONS_COUNT]; /* of each row of the option table */
	struct key_list names; /* as the user gave them, sorted by their bytes */
	const char *key_format; /* turns a name into a key; NULL: the name is the key */
	struct key_list keys; /* the Redis keys of the names, sorted by their bytes; empty until
				 settings_finish() */
	long limit; /* holders of a semaphore; 0: not given, 1: an ordinary lock */
	long slot; /* slot of a semaphore's held lock; 0: not given */
	const char *token;
	const char *token_file;
	usec min_validity;
	long format; /* enum format */
	long follow; /* the pid of the process for which `hold` keeps the lock; 0: none */
	long list;
	long yes;
	long force, takeover;
	long watch;
	long strict;
	const char *acl; /* a pattern of keys; NULL: not given */
	long admit;
	long gate_fence;
	const char *store;
	long servers; /* number of a sandbox' nodes */
	const char *server; /* server program of a sandbox; NULL: the first that is installed */
	const char *record;
	const char *metrics_file;
	const char *log; /* stderr, syslog or a file; NULL: stderr */
	usec ttl;
	const char *bare_ttl; /* the TTL as a long number without a unit; NULL: it is none */
	usec wait;
	usec node_wait; /* NEVER: not given */
	long conflict_exit_code;
	const char *owner; /* NULL: settings_owner() */
	const char *username, *password; /* for nodes without one in the URL */
	const char *password_file; /* NULL: none, or a file that cannot be read twice */
	const char *config; /* NULL: the first of the usual places that exists */
	const char *profile; /* NULL: none */
	struct tls_settings tls;
	usec node_timeout;
	long drift_permille;
	long restart_guard; /* enum restart_guard */
	usec max_ttl; /* the longest TTL of any client; 0: ttl */
	const char *shell; /* a command for the shell, or NULL */
	const char *on_event; /* a command for the shell, or NULL */
	usec kill_after; /* NEVER: not given */
	usec grace; /* after a loss, between the first signal and KILL */
	long signal; /* the first signal after max_run, and after a loss unless on_lost differs */
	long on_lost; /* a signal; 0: only warn */
	usec max_run; /* NEVER: no limit */
	usec min_hold; /* 0: none */
	usec once_per; /* 0: not given */
	long fair;
	long shared;
	long fence;
	long reentrant;
	long wait_descendants;
	long verbose;
	long quiet;
	long help;
	long version;
	/* At the end: most of it is never touched. */
	struct node_list nodes;
	char names_storage[REQUEST_KEY_MAX + 1]; /* of names that came as one text */
	char keys_storage[REQUEST_KEY_MAX + 1]; /* of keys that --key-format made, or that came as
						   one text */
};

/* The source of the setting at that offset in struct settings. */
const struct source *settings_source(const struct settings *s, size_t field);

void settings_init(struct settings *s, enum command command);

/* The same for memory that is zero: its pages are touched when they are needed. */
void settings_init_zeroed(struct settings *s, enum command command);

/* Makes keys of the names, computes the settings that depend on others, and refuses combinations
 * that cannot work. */
int settings_finish(struct settings *s, struct err *e);

/* Of `password` and `password_file`, drops the one from the weaker source. ERR_CONFIG if both come
 * from sources of equal strength. */
int settings_choose_password(struct settings *s, struct err *e);

/* Adds a name, which must outlive the settings, unless the list has it already. ERR_USAGE if the
 * name is not valid as a key. */
int settings_add_name(struct settings *s, const char *name, struct err *e);

/* Adds the `count` names of REDLOCK_KEY, separated by newlines. */
int settings_add_names(struct settings *s, const char *text, long count, struct err *e);

/* Sets the keys to those of a lock in the registry: `count` of them, separated by newlines. */
int settings_set_keys(struct settings *s, const char *text, long count, struct err *e);

/* Writes the names, or the keys, separated by newlines; "" if there are none. Returns dst. */
const char *settings_text(char dst[REQUEST_KEY_MAX + 1], const struct key_list *list);

/* Does the subcommand create keys, or wait for keys that others create? */
bool settings_makes_key(const struct settings *s);

/* Returns -1 with *e (ERR_USAGE) if the text is not valid as a key. */
int settings_check_key(const char *key, struct err *e);

/* Writes the key of a name that is an operand. ERR_USAGE if the name, or the key, is invalid. */
int settings_operand_key(
	const struct settings *s, const char *name, char key[REQUEST_KEY_MAX + 1], struct err *e);

/* Sets *e to "WHAT is empty", with a hint. Returns -1 (ERR_USAGE). */
int settings_refuse_empty(const char *what, struct err *e);

/* Why the text is not valid as a --key-format, or NULL. A constant. */
const char *settings_check_format(const char *format);

/* Sets a token that was not known before settings_finish(); "ID#SLOT" sets the slot as well. The
 * token must outlive the settings. */
int settings_set_token(struct settings *s, const char *token, struct err *e);

/* Does this command open a session, and so load certificates while its connections open? */
bool settings_has_session(const struct settings *s);

/* The rules that follow from the settings. */
struct deadline_policy settings_deadline(const struct settings *s);
struct policy settings_policy(const struct settings *s);

/* Writes "user@host:pid command" (control characters as '?', cut to size), the text by which other
 * clients know this holder. */
void settings_owner(
	char *dst, size_t size, const char *user, const char *host, long pid, char *const argv[]);

#endif
