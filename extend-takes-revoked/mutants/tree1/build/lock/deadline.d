build/lock/deadline.o: src/lock/deadline.c src/lock/deadline.h \
 src/base/clock.h
src/lock/deadline.h:
src/base/clock.h:
