build/tools/count: tests/tools/count.c
