build/io/child.o: src/io/child.c src/io/child.h src/base/err.h \
 src/io/alarm.h src/base/clock.h src/io/signals.h
src/io/child.h:
src/base/err.h:
src/io/alarm.h:
src/base/clock.h:
src/io/signals.h:
