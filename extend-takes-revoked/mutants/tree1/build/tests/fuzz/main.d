build/tests/fuzz/main.o: tests/fuzz/main.c src/base/utf8.h \
 tests/fuzz/fuzz.h
src/base/utf8.h:
tests/fuzz/fuzz.h:
