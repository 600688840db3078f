build/io/background.o: src/io/background.c src/io/background.h \
 src/base/err.h src/io/inherited.h
src/io/background.h:
src/base/err.h:
src/io/inherited.h:
