build/tests/unit/report.o: tests/unit/report.c src/report/report.h \
 src/cli/node.h src/base/err.h src/lock/policy.h src/base/clock.h \
 src/lock/lock.h src/base/token.h src/lock/event.h src/lock/reply.h \
 src/lock/peer.h src/lock/rivals.h src/lock/tally.h src/lock/semaphore.h \
 src/lock/waiter.h src/proto/request.h src/cli/settings.h \
 src/lock/deadline.h src/cli/commands.def tests/unit/unit.h
src/report/report.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/lock.h:
src/base/token.h:
src/lock/event.h:
src/lock/reply.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/proto/request.h:
src/cli/settings.h:
src/lock/deadline.h:
src/cli/commands.def:
tests/unit/unit.h:
