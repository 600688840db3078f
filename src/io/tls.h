/*
 * tls: OpenSSL, for the nodes that want it. It is loaded when one does, and not before: a run
 * without it costs nothing. What is known of certificates is one for the process; each connection
 * has a struct tls of its own, which belongs to whatever thread has the connection. Nothing here
 * blocks, prints, or asks for a passphrase.
 */
#ifndef IO_TLS_H
#define IO_TLS_H

#include "cli/settings.h"
#include "proto/request.h"

#include <stdbool.h>
#include <sys/types.h>

struct tls;

/* Loads OpenSSL, and the files that are named; that node is why. Once, before the first
 * connection. Returns -1 with *e (ERR_CONFIG). */
int tls_prepare(const struct tls_settings *s, const struct node *node, struct err *e);

/* Until when our certificate, and those behind it, are valid, since 1970; 0: we have none. */
usec tls_own_valid_until(void);

/* May everybody read the private key? */
bool tls_key_is_exposed(const struct tls_settings *s);

/* Over a socket that is connected to that node. NULL: no memory. */
struct tls *tls_open(int fd, const struct node *node);

/*
 * As recv(2) and send(2) of a socket that does not block: 0 when the node has closed it, -1 with
 * errno; EPROTO: tls_failure() says what is wrong. The handshake is done when that returns 1.
 */
int tls_handshake(struct tls *t);
ssize_t tls_receive(struct tls *t, void *buf, size_t size);
ssize_t tls_send(struct tls *t, const void *buf, size_t len);

/* The handshake is to go on: when the socket is ready for that (poll(2)). */
short tls_wants(const struct tls *t);

struct reply tls_failure(const struct tls *t);

/* Until when the node's certificate, and those that vouch for it, are valid, since 1970; 0: not
 * known. */
usec tls_valid_until(const struct tls *t);

/* Tells the node that nothing more will come, if that can be done at once. */
void tls_close_notify(struct tls *t);

/* Harmless for NULL. The socket stays open. */
void tls_free(struct tls *t);

#endif
