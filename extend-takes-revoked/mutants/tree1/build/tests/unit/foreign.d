build/tests/unit/foreign.o: tests/unit/foreign.c src/report/foreign.h \
 src/lock/reply.h src/base/clock.h tests/unit/unit.h
src/report/foreign.h:
src/lock/reply.h:
src/base/clock.h:
tests/unit/unit.h:
