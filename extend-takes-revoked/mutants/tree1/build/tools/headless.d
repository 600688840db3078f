build/tools/headless: tests/tools/headless.c
