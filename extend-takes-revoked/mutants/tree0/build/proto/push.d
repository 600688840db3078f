build/proto/push.o: src/proto/push.c src/proto/push.h src/lock/event.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/base/text.h \
 src/base/token.h src/base/err.h src/proto/request.h
src/proto/push.h:
src/lock/event.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/base/text.h:
src/base/token.h:
src/base/err.h:
src/proto/request.h:
