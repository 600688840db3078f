build/tools/suspend.so: tests/tools/suspend.so.c
