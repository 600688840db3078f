build/io/file.o: src/io/file.c src/io/file.h src/base/clock.h \
 src/base/err.h src/base/token.h src/base/utf8.h
src/io/file.h:
src/base/clock.h:
src/base/err.h:
src/base/token.h:
src/base/utf8.h:
