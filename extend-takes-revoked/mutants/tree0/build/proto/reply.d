build/proto/reply.o: src/proto/reply.c src/proto/reply.h src/lock/reply.h \
 src/base/clock.h src/base/duration.h src/base/text.h src/base/token.h \
 src/base/err.h src/proto/request.h src/lock/policy.h
src/proto/reply.h:
src/lock/reply.h:
src/base/clock.h:
src/base/duration.h:
src/base/text.h:
src/base/token.h:
src/base/err.h:
src/proto/request.h:
src/lock/policy.h:
