build/lock/rivals.o: src/lock/rivals.c src/lock/rivals.h src/lock/event.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/lock/tally.h \
 src/lock/step.h src/lock/peer.h src/lock/waiter.h src/base/token.h \
 src/base/err.h
src/lock/rivals.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/lock/tally.h:
src/lock/step.h:
src/lock/peer.h:
src/lock/waiter.h:
src/base/token.h:
src/base/err.h:
