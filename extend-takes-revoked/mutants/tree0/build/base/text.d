build/base/text.o: src/base/text.c src/base/text.h
src/base/text.h:
