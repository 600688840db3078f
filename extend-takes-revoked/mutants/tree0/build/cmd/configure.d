build/cmd/configure.o: src/cmd/configure.c src/cmd/configure.h \
 src/base/log.h src/base/err.h src/cli/config.h src/cli/settings.h \
 src/cli/node.h src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/lock/tally.h src/base/text.h src/base/utf8.h src/cli/option.h \
 src/io/file.h src/report/report.h src/lock/lock.h src/base/token.h \
 src/lock/event.h src/lock/peer.h src/lock/rivals.h src/lock/semaphore.h \
 src/lock/waiter.h
src/cmd/configure.h:
src/base/log.h:
src/base/err.h:
src/cli/config.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/lock/tally.h:
src/base/text.h:
src/base/utf8.h:
src/cli/option.h:
src/io/file.h:
src/report/report.h:
src/lock/lock.h:
src/base/token.h:
src/lock/event.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/semaphore.h:
src/lock/waiter.h:
