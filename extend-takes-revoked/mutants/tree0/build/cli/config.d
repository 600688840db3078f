build/cli/config.o: src/cli/config.c src/cli/config.h src/base/err.h \
 src/base/text.h src/base/utf8.h
src/cli/config.h:
src/base/err.h:
src/base/text.h:
src/base/utf8.h:
