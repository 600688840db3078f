build/cmd/wait.o: src/cmd/wait.c src/base/exit.h src/base/err.h \
 src/base/log.h src/cmd/client.h src/cli/settings.h src/cli/node.h \
 src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/io/session.h src/base/token.h src/io/pool.h src/io/conn.h \
 src/io/resolve.h src/proto/push.h src/lock/event.h src/proto/reply.h \
 src/lock/lock.h src/lock/peer.h src/lock/rivals.h src/lock/tally.h \
 src/lock/semaphore.h src/lock/waiter.h src/io/signals.h \
 src/report/report.h src/cmd/commands.h src/cmd/print.h src/base/json.h
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/cmd/client.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/io/session.h:
src/base/token.h:
src/io/pool.h:
src/io/conn.h:
src/io/resolve.h:
src/proto/push.h:
src/lock/event.h:
src/proto/reply.h:
src/lock/lock.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/io/signals.h:
src/report/report.h:
src/cmd/commands.h:
src/cmd/print.h:
src/base/json.h:
