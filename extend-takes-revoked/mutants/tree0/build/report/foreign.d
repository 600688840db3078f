build/report/foreign.o: src/report/foreign.c src/report/foreign.h \
 src/lock/reply.h src/base/clock.h src/base/token.h src/base/err.h
src/report/foreign.h:
src/lock/reply.h:
src/base/clock.h:
src/base/token.h:
src/base/err.h:
