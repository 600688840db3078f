build/tools/walljump.so: tests/tools/walljump.so.c
