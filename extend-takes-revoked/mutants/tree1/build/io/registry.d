build/io/registry.o: src/io/registry.c src/io/registry.h src/base/err.h \
 src/base/token.h src/base/clock.h
src/io/registry.h:
src/base/err.h:
src/base/token.h:
src/base/clock.h:
