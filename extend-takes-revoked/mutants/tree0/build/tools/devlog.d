build/tools/devlog.so: tests/tools/devlog.so.c
