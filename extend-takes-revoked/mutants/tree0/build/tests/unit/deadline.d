build/tests/unit/deadline.o: tests/unit/deadline.c src/lock/deadline.h \
 src/base/clock.h tests/unit/unit.h
src/lock/deadline.h:
src/base/clock.h:
tests/unit/unit.h:
