build/tests/unit/request.o: tests/unit/request.c src/proto/request.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/base/duration.h \
 src/proto/reply.h src/proto/scripts.h tests/unit/unit.h
src/proto/request.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/base/duration.h:
src/proto/reply.h:
src/proto/scripts.h:
tests/unit/unit.h:
