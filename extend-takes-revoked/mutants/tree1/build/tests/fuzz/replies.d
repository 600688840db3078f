build/tests/fuzz/replies.o: tests/fuzz/replies.c tests/fuzz/fuzz.h \
 src/io/conn.h src/io/resolve.h src/base/clock.h src/cli/node.h \
 src/base/err.h src/lock/policy.h src/proto/push.h src/lock/event.h \
 src/lock/reply.h src/proto/reply.h src/proto/request.h \
 src/report/diagnosis.h src/cli/settings.h src/lock/deadline.h \
 src/cli/commands.def src/report/finding.h src/report/server_info.h \
 src/report/report.h src/lock/lock.h src/base/token.h src/lock/peer.h \
 src/lock/rivals.h src/lock/tally.h src/lock/semaphore.h \
 src/lock/waiter.h
tests/fuzz/fuzz.h:
src/io/conn.h:
src/io/resolve.h:
src/base/clock.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/proto/push.h:
src/lock/event.h:
src/lock/reply.h:
src/proto/reply.h:
src/proto/request.h:
src/report/diagnosis.h:
src/cli/settings.h:
src/lock/deadline.h:
src/cli/commands.def:
src/report/finding.h:
src/report/server_info.h:
src/report/report.h:
src/lock/lock.h:
src/base/token.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
