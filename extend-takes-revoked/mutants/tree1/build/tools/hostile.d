build/tools/hostile: tests/tools/hostile.c
