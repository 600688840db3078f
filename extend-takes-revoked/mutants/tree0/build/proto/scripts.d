build/proto/scripts.o: src/proto/scripts.c src/proto/scripts.h \
 src/lock/reply.h src/base/clock.h build/proto/scripts.inc
src/proto/scripts.h:
src/lock/reply.h:
src/base/clock.h:
build/proto/scripts.inc:
