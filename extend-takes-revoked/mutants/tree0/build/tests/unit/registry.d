build/tests/unit/registry.o: tests/unit/registry.c src/io/registry.h \
 src/base/err.h src/base/token.h tests/unit/unit.h
src/io/registry.h:
src/base/err.h:
src/base/token.h:
tests/unit/unit.h:
