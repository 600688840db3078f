build/tools/pings: tests/tools/pings.c
