build/lock/waiter.o: src/lock/waiter.c src/lock/waiter.h src/base/token.h \
 src/base/err.h src/lock/event.h src/lock/policy.h src/base/clock.h \
 src/lock/reply.h src/lock/step.h src/lock/tally.h src/lock/peer.h \
 src/lock/semaphore.h
src/lock/waiter.h:
src/base/token.h:
src/base/err.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/lock/step.h:
src/lock/tally.h:
src/lock/peer.h:
src/lock/semaphore.h:
