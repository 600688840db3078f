build/tests/unit/text.o: tests/unit/text.c src/base/text.h \
 tests/unit/unit.h
src/base/text.h:
tests/unit/unit.h:
