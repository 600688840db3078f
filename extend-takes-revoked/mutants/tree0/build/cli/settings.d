build/cli/settings.o: src/cli/settings.c src/cli/settings.h \
 src/cli/node.h src/base/err.h src/lock/policy.h src/base/clock.h \
 src/lock/deadline.h src/proto/request.h src/lock/reply.h \
 src/cli/commands.def src/base/duration.h src/base/mask.h src/base/text.h \
 src/base/token.h src/base/utf8.h src/cli/option.h src/cli/config.h
src/cli/settings.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/lock/deadline.h:
src/proto/request.h:
src/lock/reply.h:
src/cli/commands.def:
src/base/duration.h:
src/base/mask.h:
src/base/text.h:
src/base/token.h:
src/base/utf8.h:
src/cli/option.h:
src/cli/config.h:
