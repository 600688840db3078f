build/cmd/help.o: src/cmd/help.c src/cmd/help.h src/base/exit.h \
 src/base/err.h src/base/log.h src/base/text.h src/base/version.h \
 src/cli/option.h src/cli/config.h src/cli/settings.h src/cli/node.h \
 src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/cmd/commands.h src/cmd/print.h src/base/json.h src/lock/tally.h \
 src/cmd/usage.h
src/cmd/help.h:
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/base/text.h:
src/base/version.h:
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
src/cmd/commands.h:
src/cmd/print.h:
src/base/json.h:
src/lock/tally.h:
src/cmd/usage.h:
