build/tests/sim/node.o: tests/sim/node.c tests/sim/sim.h src/io/session.h \
 src/base/token.h src/base/err.h src/io/pool.h src/io/conn.h \
 src/io/resolve.h src/base/clock.h src/cli/node.h src/lock/policy.h \
 src/proto/push.h src/lock/event.h src/lock/reply.h src/proto/reply.h \
 src/proto/request.h src/lock/lock.h src/lock/peer.h src/lock/rivals.h \
 src/lock/tally.h src/lock/semaphore.h src/lock/waiter.h \
 src/lock/deadline.h
tests/sim/sim.h:
src/io/session.h:
src/base/token.h:
src/base/err.h:
src/io/pool.h:
src/io/conn.h:
src/io/resolve.h:
src/base/clock.h:
src/cli/node.h:
src/lock/policy.h:
src/proto/push.h:
src/lock/event.h:
src/lock/reply.h:
src/proto/reply.h:
src/proto/request.h:
src/lock/lock.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
src/lock/deadline.h:
