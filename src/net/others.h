/*
 * others: the other addresses of a node's name. If a name has several addresses of one family, they
 * may be a master and its replicas, or several masters: then it is no node.
 *
 *     others_look()                when the node is connected, and after each vote
 *     others_poll(), others_due()  before poll(2)
 *     others_handle()              after poll(2)
 *     others_judge()               with each reply: may it be a vote?
 *     others_free()
 *
 * A look connects to each address but the one in use, one after the other, asks for role and run
 * id, and closes the connection. It begins with the connection, needs a round trip less than a
 * vote, and no vote waits for it. A master with another run id is a rival: the node has no vote
 * until each other address has said that it is a replica, or the same server. An address that
 * cannot be reached says nothing.
 *
 * The pool owns a `struct others` for each node whose name is such a one, and passes NULL for the
 * others. Without memory, there is no look.
 */
#ifndef NET_OTHERS_H
#define NET_OTHERS_H

#include "net/conn.h"

struct others;

/* Begins a look at the other addresses, unless one is running, or began within the last second and
 * the connection `c` is not new. Returns `o`, or a new one in place of NULL, if the name needs it.
 */
struct others *others_look(struct others *o, const struct conn *c, bool is_new);

/* Returns the descriptor and the events to poll for; -1: none. */
struct pollfd others_poll(const struct others *o);

/* Returns when to call others_handle() without an event; NEVER: no need. */
usec others_due(const struct others *o);

void others_handle(struct others *o, short revents);

/* A reply has arrived from the server in use, with its run id ("": not told). Returns true if the
 * server has a rival. */
bool others_judge(struct others *o, const char *run_id);

/* Is the run id of the server in use known, as far as it is needed? A name may get another address
 * long after that server has told it. */
bool others_know(const struct others *o);

void others_free(struct others *o);

#endif
