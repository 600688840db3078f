build/tests/unit/config.o: tests/unit/config.c src/cli/config.h \
 src/base/err.h tests/unit/unit.h
src/cli/config.h:
src/base/err.h:
tests/unit/unit.h:
