build/base/suggest.o: src/base/suggest.c src/base/suggest.h
src/base/suggest.h:
