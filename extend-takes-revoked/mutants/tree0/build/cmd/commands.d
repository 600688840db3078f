build/cmd/commands.o: src/cmd/commands.c src/cmd/commands.h \
 src/cli/settings.h src/cli/node.h src/base/err.h src/lock/policy.h \
 src/base/clock.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def
src/cmd/commands.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
