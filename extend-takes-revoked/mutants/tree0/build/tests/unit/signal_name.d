build/tests/unit/signal_name.o: tests/unit/signal_name.c \
 src/base/signal_name.h tests/unit/unit.h
src/base/signal_name.h:
tests/unit/unit.h:
