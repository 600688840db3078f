build/proto/request.o: src/proto/request.c src/proto/request.h \
 src/lock/policy.h src/base/clock.h src/lock/reply.h src/base/duration.h \
 src/base/text.h src/base/token.h src/base/err.h src/proto/scripts.h
src/proto/request.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/reply.h:
src/base/duration.h:
src/base/text.h:
src/base/token.h:
src/base/err.h:
src/proto/scripts.h:
