build/tools/inject: tests/tools/inject.c
