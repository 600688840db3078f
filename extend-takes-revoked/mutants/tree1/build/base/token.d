build/base/token.o: src/base/token.c src/base/token.h src/base/err.h \
 src/base/clock.h
src/base/token.h:
src/base/err.h:
src/base/clock.h:
