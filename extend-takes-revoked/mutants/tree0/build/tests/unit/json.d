build/tests/unit/json.o: tests/unit/json.c src/base/json.h \
 src/base/clock.h tests/unit/unit.h
src/base/json.h:
src/base/clock.h:
tests/unit/unit.h:
