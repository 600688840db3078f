build/io/alarm.o: src/io/alarm.c src/io/alarm.h src/base/clock.h \
 src/base/err.h src/io/kernel.h
src/io/alarm.h:
src/base/clock.h:
src/base/err.h:
src/io/kernel.h:
