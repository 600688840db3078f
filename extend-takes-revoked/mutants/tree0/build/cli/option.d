build/cli/option.o: src/cli/option.c src/cli/option.h src/cli/config.h \
 src/base/err.h src/cli/settings.h src/cli/node.h src/lock/policy.h \
 src/base/clock.h src/lock/deadline.h src/proto/request.h \
 src/lock/reply.h src/cli/commands.def src/base/duration.h \
 src/base/mask.h src/base/signal_name.h src/base/suggest.h \
 src/base/text.h src/base/token.h src/base/utf8.h
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
src/base/duration.h:
src/base/mask.h:
src/base/signal_name.h:
src/base/suggest.h:
src/base/text.h:
src/base/token.h:
src/base/utf8.h:
