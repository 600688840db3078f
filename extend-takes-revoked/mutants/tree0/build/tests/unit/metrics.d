build/tests/unit/metrics.o: tests/unit/metrics.c src/cmd/metrics.h \
 src/base/clock.h tests/unit/unit.h
src/cmd/metrics.h:
src/base/clock.h:
tests/unit/unit.h:
