build/tools/lateanswer.so: tests/tools/lateanswer.so.c
