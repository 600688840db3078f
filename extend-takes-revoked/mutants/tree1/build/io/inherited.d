build/io/inherited.o: src/io/inherited.c src/io/inherited.h \
 src/io/kernel.h
src/io/inherited.h:
src/io/kernel.h:
