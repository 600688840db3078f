build/tests/unit/follow.o: tests/unit/follow.c src/io/follow.h \
 src/base/clock.h src/base/err.h tests/unit/unit.h
src/io/follow.h:
src/base/clock.h:
src/base/err.h:
tests/unit/unit.h:
