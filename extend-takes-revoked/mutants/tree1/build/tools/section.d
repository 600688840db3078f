build/tools/section: tests/tools/section.c
