build/io/signals.o: src/io/signals.c src/io/signals.h src/base/err.h
src/io/signals.h:
src/base/err.h:
