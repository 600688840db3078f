build/lock/tally.o: src/lock/tally.c src/lock/tally.h src/lock/policy.h \
 src/base/clock.h src/lock/reply.h src/base/token.h src/base/err.h
src/lock/tally.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/base/token.h:
src/base/err.h:
