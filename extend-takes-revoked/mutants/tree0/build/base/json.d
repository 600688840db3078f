build/base/json.o: src/base/json.c src/base/json.h src/base/clock.h \
 src/base/utf8.h
src/base/json.h:
src/base/clock.h:
src/base/utf8.h:
