build/tests/unit/node.o: tests/unit/node.c src/cli/node.h src/base/err.h \
 src/lock/policy.h src/base/clock.h tests/unit/unit.h
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
tests/unit/unit.h:
