build/io/folder.o: src/io/folder.c src/io/folder.h src/base/err.h \
 src/base/utf8.h
src/io/folder.h:
src/base/err.h:
src/base/utf8.h:
