build/tests/unit/option.o: tests/unit/option.c src/cli/option.h \
 src/cli/config.h src/base/err.h src/cli/settings.h src/cli/node.h \
 src/lock/policy.h src/base/clock.h src/lock/deadline.h \
 src/proto/request.h src/lock/reply.h src/cli/commands.def \
 tests/unit/unit.h
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
tests/unit/unit.h:
