build/cmd/supervise.o: src/cmd/supervise.c src/cmd/supervise.h \
 src/io/alarm.h src/base/clock.h src/base/err.h src/io/supervisor.h \
 src/io/signals.h src/io/tree.h src/lock/deadline.h src/base/duration.h \
 src/base/exit.h src/base/log.h src/base/mask.h src/base/utf8.h
src/cmd/supervise.h:
src/io/alarm.h:
src/base/clock.h:
src/base/err.h:
src/io/supervisor.h:
src/io/signals.h:
src/io/tree.h:
src/lock/deadline.h:
src/base/duration.h:
src/base/exit.h:
src/base/log.h:
src/base/mask.h:
src/base/utf8.h:
