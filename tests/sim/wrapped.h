/*
 * The linker leads redlock's calls of a function f() to __wrap_f() here; __real_f() is f() itself
 * (ld, --wrap; mk/tests.mk has the list). conn.c's own calls of its functions stay as they are.
 */
#ifndef SIM_WRAPPED_H
#define SIM_WRAPPED_H

#include "net/conn.h"

#include <sys/socket.h>
#include <sys/types.h>

/* kernel.c: the system calls of a connection. */
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socketpair(int domain, int type, int protocol, int fd[2]);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *len);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *dst, size_t size, int flags);
int __wrap_shutdown(int fd, int how);
int __wrap_ioctl(int fd, unsigned long request, ...);

/* net.c: watches the requests and replies of a lock. */
void __real_conn_open(struct conn *c);
void __wrap_conn_open(struct conn *c);
void __real_conn_send(struct conn *c, const struct request *r, uint32_t round, usec now);
void __wrap_conn_send(struct conn *c, const struct request *r, uint32_t round, usec now);
bool __real_conn_next_reply(struct conn *c, struct pending *request, struct reply *reply);
bool __wrap_conn_next_reply(struct conn *c, struct pending *request, struct reply *reply);

#endif
