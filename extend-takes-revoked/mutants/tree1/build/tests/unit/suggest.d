build/tests/unit/suggest.o: tests/unit/suggest.c src/base/suggest.h \
 tests/unit/unit.h
src/base/suggest.h:
tests/unit/unit.h:
