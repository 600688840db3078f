build/tests/unit/rig.o: tests/unit/rig.c tests/unit/rig.h \
 src/base/token.h src/base/err.h src/lock/lock.h src/lock/event.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/lock/peer.h \
 src/lock/rivals.h src/lock/tally.h src/lock/semaphore.h \
 src/lock/waiter.h tests/unit/unit.h
tests/unit/rig.h:
src/base/token.h:
src/base/err.h:
src/lock/lock.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/lock/peer.h:
src/lock/rivals.h:
src/lock/tally.h:
src/lock/semaphore.h:
src/lock/waiter.h:
tests/unit/unit.h:
