build/cli/node.o: src/cli/node.c src/cli/node.h src/base/err.h \
 src/lock/policy.h src/base/clock.h src/base/mask.h src/base/text.h \
 src/base/utf8.h
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
src/base/clock.h:
src/base/mask.h:
src/base/text.h:
src/base/utf8.h:
