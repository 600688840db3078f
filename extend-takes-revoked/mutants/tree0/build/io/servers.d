build/io/servers.o: src/io/servers.c src/io/servers.h src/cli/node.h \
 src/base/err.h src/lock/policy.h src/base/clock.h src/io/query.h \
 src/io/pool.h src/io/conn.h src/io/resolve.h src/proto/push.h \
 src/lock/event.h src/lock/reply.h src/proto/reply.h src/proto/request.h \
 src/lock/lock.h src/base/token.h src/lock/peer.h src/lock/rivals.h \
 src/lock/tally.h src/lock/semaphore.h src/lock/waiter.h src/io/signals.h \
 src/base/utf8.h src/io/child.h src/io/alarm.h src/io/follow.h \
 src/io/tree.h src/proto/scripts.h
src/io/servers.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/io/query.h:
src/io/pool.h:
src/io/conn.h:
src/io/resolve.h:
src/proto/push.h:
src/lock/event.h:
src/lock/reply.h:
src/proto/reply.h:
src/proto/request.h:
src/lock/lock.h:
src/base/token.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/io/signals.h:
src/base/utf8.h:
src/io/child.h:
src/io/alarm.h:
src/io/follow.h:
src/io/tree.h:
src/proto/scripts.h:
