build/io/resolve.o: src/io/resolve.c src/io/resolve.h src/base/clock.h \
 src/cli/node.h src/base/err.h src/lock/policy.h
src/io/resolve.h:
src/base/clock.h:
src/cli/node.h:
src/base/err.h:
src/lock/policy.h:
