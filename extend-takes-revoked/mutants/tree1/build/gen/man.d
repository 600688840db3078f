build/gen/man.o: src/gen/man.c src/base/exit.h src/base/err.h \
 src/cli/option.h src/cli/config.h src/cli/settings.h src/cli/node.h \
 src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/gen/parts.h
src/base/exit.h:
src/base/err.h:
src/cli/option.h:
src/cli/config.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/gen/parts.h:
