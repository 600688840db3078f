/*
 * err: an error as a value, complete enough to print.
 *
 * A function that can fail takes a `struct err *e` as its last argument, fills it with err_set() or
 * err_call(), adds err_hint() if the user can do something, and returns -1. Its caller passes -1 up
 * or prints the error with log_err(). The struct owns its texts; it is valid only after -1.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/frame.h"

enum err_kind {
	ERR_NONE,
	ERR_USAGE, /* the command line is wrong; nothing was done */
	ERR_CONFIG, /* a setting is wrong: a URL, a node named twice */
	ERR_TLS, /* the same: certificates, or there is no OpenSSL */
	ERR_SYSTEM, /* this machine refused: memory, descriptors, fork */
	ERR_CANNOT_RUN, /* the command was found, but cannot be executed */
	ERR_NOT_FOUND, /* the command was not found */
	ERR_NO_SERVER, /* no password for the nodes comes; sandbox: no server program exists, or the
			  server does not start */
};

#define ERR_TEXT_MAX 640
#define ERR_HINT_MAX 160

/* `text` names the failed action, the object and the reason; `hint`, if not empty, says how to fix
 * it. */
struct err {
	enum err_kind kind;
	char text[ERR_TEXT_MAX];
	char hint[ERR_HINT_MAX];
};

/* Fills *e (cut to fit) and drops an earlier hint. Returns -1, so that callers can return it. */
SELDOM int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define ERR_REASON_MAX 100

/* Hints for a process, and for a host, with too many open files. */
#define ERR_FILES_HINT \
	"raise the limit with 'ulimit -n 1024', or with LimitNOFILE= in the systemd unit"
#define ERR_ALL_FILES_HINT "raise the limit of this host: sysctl -w fs.file-max=1000000"

/* Writes the reason of an errno to dst. A limit on open files is named with its value. Returns dst.
 */
SELDOM const char *err_reason(char dst[ERR_REASON_MAX], int error);

/* Fills *e with the text, ": " and the reason of an errno, with a hint if a limit on open files is
 * reached. Returns -1. */
SELDOM int err_system(struct err *e, enum err_kind kind, int error, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Fills *e with "WHAT: CALL: ..." after a system call that failed with errno: ERR_SYSTEM, with a
 * hint if errno means that the call was denied or that a limit on open files is reached. Returns
 * -1. */
SELDOM int err_call(struct err *e, const char *what, const char *call);

/* Adds the hint to *e. Returns -1. */
SELDOM int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
