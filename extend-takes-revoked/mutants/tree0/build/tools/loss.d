build/tools/loss: tests/tools/loss.c tests/tools/stamp.h
tests/tools/stamp.h:
