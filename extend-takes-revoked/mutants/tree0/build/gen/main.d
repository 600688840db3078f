build/gen/main.o: src/gen/main.c src/base/exit.h src/base/err.h \
 src/base/log.h src/gen/parts.h
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/gen/parts.h:
