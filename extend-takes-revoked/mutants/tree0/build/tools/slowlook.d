build/tools/slowlook.so: tests/tools/slowlook.so.c
