/*
 * tls: OpenSSL, for the nodes that need TLS. It is loaded only if one does, so a run without TLS
 * has no cost.
 *
 *     tls_prepare()      once
 *     tls_open()         on a connected socket
 *     tls_handshake()    until it returns 1; tls_wants() are the events to poll for
 *     tls_send(), tls_receive()
 *     tls_close_notify() at a clean end
 *     tls_free()
 *
 * Certificates and settings are shared by the process; each connection has a struct tls of its own,
 * which belongs to the thread that has the connection. Certificates are renewed in place:
 * tls_open() reads the files again if one of them has changed. If they cannot be used, as one that
 * is half written or a key whose certificate comes a moment later, those that were read last stay
 * in use. A file is read again only if it is a regular one. The socket stays the caller's. No
 * function prints or asks for a passphrase, and only tls_prepare() waits, for a pipe; after errno
 * EPROTO, tls_failure() has the reason.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "cli/settings.h"
#include "file/file.h"
#include "proto/request.h"

#include <stdbool.h>
#include <sys/types.h>

struct tls;

/* Returns "yes" or "no", and the reason or the library's version. */
const char *tls_version(void);

/* Loads OpenSSL and the files in the settings; an error names that node. `wait`: for a file that is
 * a pipe. Call it once, before tls_open(). Returns -1 with *e (ERR_TLS). */
int tls_prepare(const struct tls_settings *s, const struct node *node, const struct file_wait *wait,
	struct err *e);

/* Were the files changed, and could not be used? The message goes to *e, once for each change. Any
 * thread. */
bool tls_renewal_failed(struct err *e);

/* Returns the end of validity of redlock's own certificate chain, since 1970; 0: there is no
 * certificate. */
usec tls_own_valid_until(void);

/* Is the private key readable for every user? */
bool tls_key_is_exposed(const struct tls_settings *s);

/* Starts TLS on a socket that is connected to that node. NULL: out of memory. */
struct tls *tls_open(int fd, const struct node *node);

/*
 * Like recv(2) and send(2) on a non-blocking socket: 0 if the node has closed the connection, -1
 * with errno; EPROTO: tls_failure() has the reason. tls_handshake() returns 1 when the handshake is
 * complete.
 */
int tls_handshake(struct tls *t);
ssize_t tls_receive(struct tls *t, void *buf, size_t size);
ssize_t tls_send(struct tls *t, const void *buf, size_t len);

/* Returns the events of poll(2) for which the handshake waits. */
short tls_wants(const struct tls *t);

struct reply tls_failure(const struct tls *t);

/* Returns the end of validity of the node's certificate and its issuers, since 1970; 0: unknown. */
usec tls_valid_until(const struct tls *t);

/* Tells the node that no more data will follow, if the socket takes that at once. */
void tls_close_notify(struct tls *t);

/* Accepts NULL. The socket stays open. */
void tls_free(struct tls *t);

#endif
