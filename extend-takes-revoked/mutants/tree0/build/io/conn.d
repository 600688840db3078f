build/io/conn.o: src/io/conn.c src/io/conn.h src/io/resolve.h \
 src/base/clock.h src/cli/node.h src/base/err.h src/lock/policy.h \
 src/proto/push.h src/lock/event.h src/lock/reply.h src/proto/reply.h \
 src/proto/request.h src/io/file.h src/io/tls.h src/cli/settings.h \
 src/lock/deadline.h src/cli/commands.def
src/io/conn.h:
src/io/resolve.h:
src/base/clock.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/proto/push.h:
src/lock/event.h:
src/lock/reply.h:
src/proto/reply.h:
src/proto/request.h:
src/io/file.h:
src/io/tls.h:
src/cli/settings.h:
src/lock/deadline.h:
src/cli/commands.def:
