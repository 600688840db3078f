build/tools/dying: tests/tools/dying.c
