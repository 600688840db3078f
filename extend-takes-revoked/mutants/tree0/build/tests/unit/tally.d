build/tests/unit/tally.o: tests/unit/tally.c src/lock/tally.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/base/token.h \
 src/base/err.h tests/unit/unit.h
src/lock/tally.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/base/token.h:
src/base/err.h:
tests/unit/unit.h:
