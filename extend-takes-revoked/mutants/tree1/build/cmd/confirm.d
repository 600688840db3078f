build/cmd/confirm.o: src/cmd/confirm.c src/cmd/confirm.h \
 src/cli/settings.h src/cli/node.h src/base/err.h src/lock/policy.h \
 src/base/clock.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def src/base/exit.h src/base/log.h
src/cmd/confirm.h:
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/base/exit.h:
src/base/log.h:
