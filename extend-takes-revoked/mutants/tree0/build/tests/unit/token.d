build/tests/unit/token.o: tests/unit/token.c src/base/token.h \
 src/base/err.h tests/unit/unit.h
src/base/token.h:
src/base/err.h:
tests/unit/unit.h:
