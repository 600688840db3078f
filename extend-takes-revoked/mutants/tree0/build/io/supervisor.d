build/io/supervisor.o: src/io/supervisor.c src/io/supervisor.h \
 src/base/err.h src/io/signals.h src/io/tree.h src/lock/deadline.h \
 src/base/clock.h src/base/log.h src/io/alarm.h src/io/child.h \
 src/io/inherited.h src/io/kernel.h src/io/title.h
src/io/supervisor.h:
src/base/err.h:
src/io/signals.h:
src/io/tree.h:
src/lock/deadline.h:
src/base/clock.h:
src/base/log.h:
src/io/alarm.h:
src/io/child.h:
src/io/inherited.h:
src/io/kernel.h:
src/io/title.h:
