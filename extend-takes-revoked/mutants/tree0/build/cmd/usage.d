build/cmd/usage.o: src/cmd/usage.c src/cmd/usage.h src/base/duration.h \
 src/base/clock.h src/base/exit.h src/base/err.h src/base/log.h \
 src/base/mask.h src/cli/option.h src/cli/config.h src/cli/settings.h \
 src/cli/node.h src/lock/policy.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def
src/cmd/usage.h:
src/base/duration.h:
src/base/clock.h:
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/base/mask.h:
src/cli/option.h:
src/cli/config.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
