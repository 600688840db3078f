build/base/duration.o: src/base/duration.c src/base/duration.h \
 src/base/clock.h src/base/text.h
src/base/duration.h:
src/base/clock.h:
src/base/text.h:
