build/tests/unit/duration.o: tests/unit/duration.c src/base/duration.h \
 src/base/clock.h src/base/text.h tests/unit/unit.h
src/base/duration.h:
src/base/clock.h:
src/base/text.h:
tests/unit/unit.h:
