build/base/signal_name.o: src/base/signal_name.c src/base/signal_name.h \
 src/base/text.h
src/base/signal_name.h:
src/base/text.h:
