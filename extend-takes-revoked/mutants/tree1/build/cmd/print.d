build/cmd/print.o: src/cmd/print.c src/cmd/print.h src/base/json.h \
 src/base/clock.h src/cli/settings.h src/cli/node.h src/base/err.h \
 src/lock/policy.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def src/lock/tally.h \
 src/base/duration.h src/base/exit.h src/base/log.h src/base/text.h \
 src/base/token.h src/cli/option.h src/cli/config.h src/report/foreign.h \
 src/report/report.h src/lock/lock.h src/lock/event.h src/lock/peer.h \
 src/lock/rivals.h src/lock/semaphore.h src/lock/waiter.h
src/cmd/print.h:
src/base/json.h:
src/base/clock.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/lock/tally.h:
src/base/duration.h:
src/base/exit.h:
src/base/log.h:
src/base/text.h:
src/base/token.h:
src/cli/option.h:
src/cli/config.h:
src/report/foreign.h:
src/report/report.h:
src/lock/lock.h:
src/lock/event.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/semaphore.h:
src/lock/waiter.h:
