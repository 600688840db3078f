build/base/exit.o: src/base/exit.c src/base/exit.h src/base/err.h
src/base/exit.h:
src/base/err.h:
