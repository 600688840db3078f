build/tests/fuzz/settings.o: tests/fuzz/settings.c tests/fuzz/fuzz.h \
 src/cli/config.h src/base/err.h src/cli/node.h src/lock/policy.h \
 src/base/clock.h src/cli/option.h src/cli/settings.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/lock/lock.h src/base/token.h src/lock/event.h src/lock/peer.h \
 src/lock/rivals.h src/lock/tally.h src/lock/semaphore.h \
 src/lock/waiter.h
tests/fuzz/fuzz.h:
src/cli/config.h:
src/base/err.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/cli/option.h:
src/cli/settings.h:
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
