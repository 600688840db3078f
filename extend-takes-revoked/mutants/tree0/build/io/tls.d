build/io/tls.o: src/io/tls.c src/io/tls.h src/cli/settings.h \
 src/cli/node.h src/base/err.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/base/duration.h src/base/utf8.h
src/io/tls.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/base/duration.h:
src/base/utf8.h:
