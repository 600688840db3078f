build/lock/semaphore.o: src/lock/semaphore.c src/lock/semaphore.h \
 src/lock/event.h src/lock/policy.h src/base/clock.h src/lock/reply.h \
 src/lock/step.h src/lock/tally.h src/lock/waiter.h src/base/token.h \
 src/base/err.h
src/lock/semaphore.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/lock/step.h:
src/lock/tally.h:
src/lock/waiter.h:
src/base/token.h:
src/base/err.h:
