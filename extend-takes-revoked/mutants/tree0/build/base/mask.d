build/base/mask.o: src/base/mask.c src/base/mask.h src/base/text.h \
 src/base/utf8.h
src/base/mask.h:
src/base/text.h:
src/base/utf8.h:
