build/report/loss.o: src/report/loss.c src/report/report.h src/cli/node.h \
 src/base/err.h src/lock/policy.h src/base/clock.h src/lock/lock.h \
 src/base/token.h src/lock/event.h src/lock/reply.h src/lock/peer.h \
 src/lock/rivals.h src/lock/tally.h src/lock/semaphore.h \
 src/lock/waiter.h src/proto/request.h src/base/duration.h \
 src/report/line.h src/base/text.h
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
src/base/duration.h:
src/report/line.h:
src/base/text.h:
