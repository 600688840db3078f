build/lock/peer.o: src/lock/peer.c src/lock/peer.h src/lock/event.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/lock/step.h \
 src/lock/tally.h
src/lock/peer.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/lock/step.h:
src/lock/tally.h:
