build/tools/past: tests/tools/past.c
