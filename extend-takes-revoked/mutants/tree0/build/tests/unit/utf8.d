build/tests/unit/utf8.o: tests/unit/utf8.c src/base/utf8.h \
 src/base/text.h tests/unit/unit.h
src/base/utf8.h:
src/base/text.h:
tests/unit/unit.h:
