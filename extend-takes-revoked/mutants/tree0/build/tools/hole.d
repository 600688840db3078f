build/tools/hole: tests/tools/hole.c
