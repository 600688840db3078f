build/tests/fuzz/words.o: tests/fuzz/words.c tests/fuzz/fuzz.h \
 src/base/duration.h src/base/clock.h src/base/json.h \
 src/base/signal_name.h src/base/suggest.h src/base/text.h \
 src/base/token.h src/base/err.h src/base/utf8.h src/report/foreign.h \
 src/lock/reply.h src/report/report.h src/cli/node.h src/lock/policy.h \
 src/lock/lock.h src/lock/event.h src/lock/peer.h src/lock/rivals.h \
 src/lock/tally.h src/lock/semaphore.h src/lock/waiter.h \
 src/proto/request.h
tests/fuzz/fuzz.h:
src/base/duration.h:
src/base/clock.h:
src/base/json.h:
src/base/signal_name.h:
src/base/suggest.h:
src/base/text.h:
src/base/token.h:
src/base/err.h:
src/base/utf8.h:
src/report/foreign.h:
src/lock/reply.h:
src/report/report.h:
src/cli/node.h:
src/lock/policy.h:
src/lock/lock.h:
src/lock/event.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/proto/request.h:
