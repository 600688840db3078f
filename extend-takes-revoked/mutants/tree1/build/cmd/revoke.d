build/cmd/revoke.o: src/cmd/revoke.c src/cmd/revoke.h src/cli/settings.h \
 src/cli/node.h src/base/err.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/io/query.h src/io/pool.h src/io/conn.h \
 src/io/resolve.h src/proto/push.h src/lock/event.h src/proto/reply.h \
 src/lock/lock.h src/base/token.h src/lock/peer.h src/lock/rivals.h \
 src/lock/tally.h src/lock/semaphore.h src/lock/waiter.h src/base/log.h \
 src/report/foreign.h src/report/report.h
src/cmd/revoke.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/io/query.h:
src/io/pool.h:
src/io/conn.h:
src/io/resolve.h:
src/proto/push.h:
src/lock/event.h:
src/proto/reply.h:
src/lock/lock.h:
src/base/token.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/base/log.h:
src/report/foreign.h:
src/report/report.h:
