build/io/tree.o: src/io/tree.c src/io/tree.h src/io/kernel.h
src/io/tree.h:
src/io/kernel.h:
