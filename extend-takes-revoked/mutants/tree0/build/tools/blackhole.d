build/tools/blackhole: tests/tools/blackhole.c
