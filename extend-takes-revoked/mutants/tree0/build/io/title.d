build/io/title.o: src/io/title.c src/io/title.h
src/io/title.h:
