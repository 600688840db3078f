build/tools/flocked: tests/tools/flocked.c
