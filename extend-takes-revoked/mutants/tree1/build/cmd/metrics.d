build/cmd/metrics.o: src/cmd/metrics.c src/cmd/metrics.h src/base/clock.h \
 src/base/utf8.h
src/cmd/metrics.h:
src/base/clock.h:
src/base/utf8.h:
