build/main.o: src/main.c src/base/exit.h src/base/err.h src/base/log.h \
 src/base/text.h src/base/utf8.h src/cli/option.h src/cli/config.h \
 src/cli/settings.h src/cli/node.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/cmd/commands.h src/cmd/configure.h \
 src/base/log.h src/lock/tally.h src/cmd/help.h src/cmd/print.h \
 src/base/json.h src/cmd/usage.h src/io/file.h src/io/resolve.h \
 src/io/title.h src/io/tls.h
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/base/text.h:
src/base/utf8.h:
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
src/cmd/configure.h:
src/base/log.h:
src/lock/tally.h:
src/cmd/help.h:
src/cmd/print.h:
src/base/json.h:
src/cmd/usage.h:
src/io/file.h:
src/io/resolve.h:
src/io/title.h:
src/io/tls.h:
