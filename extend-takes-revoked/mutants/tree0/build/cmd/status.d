build/cmd/status.o: src/cmd/status.c src/base/clock.h src/base/exit.h \
 src/base/err.h src/base/log.h src/cmd/commands.h src/cli/settings.h \
 src/cli/node.h src/lock/policy.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def src/cmd/configure.h \
 src/cli/config.h src/lock/tally.h src/cmd/print.h src/base/json.h \
 src/io/query.h src/io/pool.h src/io/conn.h src/io/resolve.h \
 src/proto/push.h src/lock/event.h src/proto/reply.h src/lock/lock.h \
 src/base/token.h src/lock/peer.h src/lock/rivals.h src/lock/semaphore.h \
 src/lock/waiter.h src/report/report.h
src/base/clock.h:
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/cmd/commands.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/cmd/configure.h:
src/cli/config.h:
src/lock/tally.h:
src/cmd/print.h:
src/base/json.h:
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
src/lock/semaphore.h:
src/lock/waiter.h:
src/report/report.h:
