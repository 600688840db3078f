build/tests/unit/mask.o: tests/unit/mask.c src/base/mask.h \
 tests/unit/unit.h
src/base/mask.h:
tests/unit/unit.h:
