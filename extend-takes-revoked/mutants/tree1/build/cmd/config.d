build/cmd/config.o: src/cmd/config.c src/base/text.h src/base/utf8.h \
 src/cli/option.h src/cli/config.h src/base/err.h src/cli/settings.h \
 src/cli/node.h src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 src/cmd/commands.h src/cmd/configure.h src/base/log.h src/lock/tally.h \
 src/cmd/print.h src/base/json.h
src/base/text.h:
src/base/utf8.h:
src/cli/option.h:
src/cli/config.h:
src/base/err.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/cmd/commands.h:
src/cmd/configure.h:
src/base/log.h:
src/lock/tally.h:
src/cmd/print.h:
src/base/json.h:
