/* settings: what the user wants, after the command line, the environment and the defaults. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/node.h"
#include "lock/deadline.h"
#include "lock/policy.h"
#include "proto/request.h"

#define DEFAULT_NODES "redis://127.0.0.1:6379"

/* Not given: the value depends on others, see settings_finish(). */
#define UNSET ((usec)-1)

enum command {
#define COMMAND(id, ...) COMMAND_##id,
#include "cli/commands.def"
};

/* How results look on stdout. */
enum format {
	FORMAT_PLAIN,
	FORMAT_ENV, /* lines for the shell's eval */
	FORMAT_JSON,
};

enum restart_guard {
	GUARD_AUTO, /* on for three nodes or more */
	GUARD_ON,
	GUARD_OFF,
};

/* Where a setting comes from, the weakest first. */
enum source_kind {
	SOURCE_NONE, /* it has its default */
	SOURCE_FILE, /* what the file says for all profiles */
	SOURCE_PROFILE,
	SOURCE_ENV,
	SOURCE_LINE, /* the command line */
};

struct source {
	enum source_kind kind;
	int line; /* of the file */
};

/* There are fewer options. */
#define OPTIONS_MAX 80

/* Files are named as the user did; NULL: not given. */
struct tls_settings {
	const char *cacert; /* whom to trust; NULL: whom this system trusts */
	const char *cert; /* ours, and those behind it */
	const char *key_file; /* its private key */
	const char *sni; /* what the nodes' certificates are for, instead of their hosts */
	long insecure; /* do not look at their certificates */
};

struct settings {
	enum command command;
	char *const *operands; /* the arguments after the options, NULL-terminated */
	struct source source[OPTIONS_MAX]; /* of each row of the option table */
	/* What the nodes have; until settings_finish(), the names. */
	struct key_list keys; /* in the order of their bytes */
	const char *key; /* the same, separated by newlines; NULL: none */
	const char *names; /* as key, without the format; settings_finish() */
	const char *key_format; /* how a name becomes a key; NULL: it is one */
	char key_text[REQUEST_KEY_MAX + 1]; /* of several */
	char key_words[REQUEST_KEY_MAX + 1]; /* of several that came as one text */
	char formatted_text[REQUEST_KEY_MAX + 1]; /* as key_text, */
	char formatted_words[REQUEST_KEY_MAX + 1]; /* and as key_words, by the format */
	long limit; /* of a semaphore: how many holders; 0: not given, 1: an ordinary lock */
	long slot; /* of a semaphore: of a lock that is held; 0: not given */
	const char *token;
	const char *token_file;
	usec min_validity;
	long format; /* enum format */
	long follow; /* the pid of whoever the lock is held for; 0: nobody */
	long list;
	long yes;
	long watch;
	long strict;
	long admit;
	long gate_fence;
	const char *store;
	long servers; /* of a sandbox, */
	const char *server; /* and the program; NULL: the first one that is there */
	const char *record;
	const char *metrics_file;
	const char *log; /* stderr, syslog or a file; NULL: stderr */
	usec ttl;
	usec wait;
	long conflict_exit_code;
	const char *owner; /* NULL: settings_owner() */
	struct node_list nodes;
	const char *username, *password; /* of the nodes whose URL has none */
	const char *password_file; /* NULL: none, or it cannot be read again */
	const char *config; /* NULL: one of the usual places, if there is one */
	const char *profile; /* NULL: none */
	struct tls_settings tls;
	usec node_timeout;
	long drift_permille;
	long restart_guard; /* enum restart_guard */
	usec max_ttl; /* the longest in use; 0: ttl */
	const char *shell; /* a command for the shell, or NULL */
	usec kill_after;
	long on_lost; /* a signal; 0: only warn */
	usec max_run; /* NEVER: none */
	usec min_hold; /* 0: none */
	long fair;
	long shared;
	long fence;
	long reentrant;
	long wait_descendants;
	long verbose;
	long quiet;
	long help;
	long version;
};

void settings_init(struct settings *s, enum command command);

/* Makes keys of the names, fills what depends on other settings, and refuses what cannot work
 * together: ERR_USAGE, or ERR_CONFIG where it is about nodes. Once, for the format is not to be
 * applied to what it made. */
int settings_finish(struct settings *s, struct err *e);

/* Of a password and a file that has one, the one whose source is weaker is dropped; ERR_CONFIG if
 * none is. */
int settings_choose_password(struct settings *s, struct err *e);

/* One more key, which must outlive the settings; one that is there already is the same. ERR_USAGE
 * if it cannot be one. */
int settings_add_key(struct settings *s, const char *key, struct err *e);

/* The keys of REDLOCK_KEY: so many, separated by newlines. */
int settings_add_keys(struct settings *s, const char *text, long count, struct err *e);

/* Can it be one? */
int settings_check_key(const char *key, struct err *e);

/* The key of a name that is an operand; ERR_USAGE if it can have none. */
int settings_operand_key(
	const struct settings *s, const char *name, char key[REQUEST_KEY_MAX + 1], struct err *e);

/* What is wrong with it, in words; NULL: nothing. */
const char *settings_check_format(const char *format);

/* A token that was not known before; "ID#SLOT" names the slot as well. It must outlive the
 * settings. */
int settings_set_token(struct settings *s, const char *token, struct err *e);

/* The rules that follow from the settings. */
struct deadline_policy settings_deadline(const struct settings *s);
struct policy settings_policy(const struct settings *s);

/* Writes "user@host:pid command" (control characters as '?', cut to size) for the holder's card. */
void settings_owner(
	char *dst, size_t size, const char *user, const char *host, long pid, char *const argv[]);

#endif
