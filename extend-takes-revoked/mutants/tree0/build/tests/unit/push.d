build/tests/unit/push.o: tests/unit/push.c src/proto/push.h \
 src/lock/event.h src/lock/policy.h src/base/clock.h src/lock/reply.h \
 src/base/token.h src/base/err.h src/proto/request.h tests/unit/unit.h
src/proto/push.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/base/token.h:
src/base/err.h:
src/proto/request.h:
tests/unit/unit.h:
