build/cmd/record.o: src/cmd/record.c src/cmd/record.h src/cli/settings.h \
 src/cli/node.h src/base/err.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/lock/lock.h src/base/token.h src/lock/event.h \
 src/lock/peer.h src/lock/rivals.h src/lock/tally.h src/lock/semaphore.h \
 src/lock/waiter.h src/base/duration.h src/base/json.h src/base/log.h \
 src/cmd/metrics.h src/cmd/print.h src/io/file.h
src/cmd/record.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/lock/lock.h:
src/base/token.h:
src/lock/event.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/base/duration.h:
src/base/json.h:
src/base/log.h:
src/cmd/metrics.h:
src/cmd/print.h:
src/io/file.h:
