build/cmd/sandbox.o: src/cmd/sandbox.c src/base/exit.h src/base/err.h \
 src/base/log.h src/cmd/commands.h src/cli/settings.h src/cli/node.h \
 src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/cmd/supervise.h src/io/alarm.h src/io/supervisor.h src/io/signals.h \
 src/io/tree.h src/io/background.h src/io/folder.h src/io/servers.h \
 src/io/query.h src/io/pool.h src/io/conn.h src/io/resolve.h \
 src/proto/push.h src/lock/event.h src/proto/reply.h src/lock/lock.h \
 src/base/token.h src/lock/peer.h src/lock/rivals.h src/lock/tally.h \
 src/lock/semaphore.h src/lock/waiter.h src/io/title.h
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/cmd/commands.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/cmd/supervise.h:
src/io/alarm.h:
src/io/supervisor.h:
src/io/signals.h:
src/io/tree.h:
src/io/background.h:
src/io/folder.h:
src/io/servers.h:
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
src/io/title.h:
