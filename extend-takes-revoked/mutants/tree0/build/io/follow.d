build/io/follow.o: src/io/follow.c src/io/follow.h src/base/clock.h \
 src/base/err.h src/io/kernel.h
src/io/follow.h:
src/base/clock.h:
src/base/err.h:
src/io/kernel.h:
