build/tools/freeze: tests/tools/freeze.c
