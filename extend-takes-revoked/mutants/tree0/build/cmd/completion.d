build/cmd/completion.o: src/cmd/completion.c src/base/exit.h \
 src/base/err.h src/base/log.h src/base/mask.h src/cmd/commands.h \
 src/cli/settings.h src/cli/node.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/cmd/configure.h src/cli/config.h \
 src/lock/tally.h src/cmd/print.h src/base/json.h src/io/registry.h \
 src/base/token.h
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/base/mask.h:
src/cmd/commands.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/cmd/configure.h:
src/cli/config.h:
src/lock/tally.h:
src/cmd/print.h:
src/base/json.h:
src/io/registry.h:
src/base/token.h:
