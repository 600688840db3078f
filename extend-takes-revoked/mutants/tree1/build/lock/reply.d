build/lock/reply.o: src/lock/reply.c src/lock/reply.h src/base/clock.h \
 src/base/token.h src/base/err.h
src/lock/reply.h:
src/base/clock.h:
src/base/token.h:
src/base/err.h:
