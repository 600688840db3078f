build/base/log.o: src/base/log.c src/base/log.h src/base/err.h \
 src/base/duration.h src/base/clock.h src/base/json.h src/base/text.h
src/base/log.h:
src/base/err.h:
src/base/duration.h:
src/base/clock.h:
src/base/json.h:
src/base/text.h:
