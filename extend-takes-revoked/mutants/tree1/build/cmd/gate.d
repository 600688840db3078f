build/cmd/gate.o: src/cmd/gate.c src/base/exit.h src/base/err.h \
 src/base/log.h src/base/text.h src/base/utf8.h src/cmd/commands.h \
 src/cli/settings.h src/cli/node.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/cmd/supervise.h src/io/alarm.h \
 src/io/supervisor.h src/io/signals.h src/io/tree.h src/io/child.h \
 src/io/file.h
src/base/exit.h:
src/base/err.h:
src/base/log.h:
src/base/text.h:
src/base/utf8.h:
src/cmd/commands.h:
src/cli/settings.h:
src/cli/node.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/cmd/supervise.h:
src/io/alarm.h:
src/io/supervisor.h:
src/io/signals.h:
src/io/tree.h:
src/io/child.h:
src/io/file.h:
