build/tools/limit: tests/tools/limit.c
