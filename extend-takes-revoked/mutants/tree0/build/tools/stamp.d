build/tools/stamp: tests/tools/stamp.c tests/tools/stamp.h
tests/tools/stamp.h:
