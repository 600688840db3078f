build/tests/unit/clock.o: tests/unit/clock.c src/base/clock.h \
 tests/unit/unit.h
src/base/clock.h:
tests/unit/unit.h:
